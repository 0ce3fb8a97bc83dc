// SPDX-License-Identifier: MIT
// The way to ortscope: requests with the token, and the stream of metrics, which comes back by
// itself when it was cut. docs/api.md describes what is asked and answered.

// The token comes with the address that ortscope opened. It is kept for this tab and taken out of
// the address, so that it gets into no history and no screenshot.
function takeToken() {
    const url = new URL(location.href);
    const given = url.searchParams.get('token');
    if (given !== null) {
        sessionStorage.setItem('token', given);
        url.searchParams.delete('token');
        history.replaceState(null, '', url);
    }
    return sessionStorage.getItem('token') ?? '';
}

let token = takeToken();

export function setToken(text) {
    token = text;
    sessionStorage.setItem('token', text);
}

export class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status; // 0: nobody answered
    }
}

async function request(path, options) {
    let answer;
    try {
        answer = await fetch(path, {...options, cache: 'no-store',
                                    headers: {Authorization: `Bearer ${token}`, ...options?.headers}});
    } catch {
        throw new ApiError(0, 'ortscope does not answer.');
    }
    const body = await answer.json().catch(() => null);
    if (!answer.ok) throw new ApiError(answer.status, body?.error?.message ?? answer.statusText);
    return body;
}

function query(parameters) {
    const given = Object.entries(parameters ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
    return given.length ? `?${new URLSearchParams(given)}` : '';
}

export const get = (name, parameters) => request(`/api/v1/${name}${query(parameters)}`);

export const control = (action, more) =>
    request('/api/v1/control', {method: 'POST', body: JSON.stringify({action, ...more}),
                                headers: {'Content-Type': 'application/json'}});

// A link for a download, which can't carry a header.
export const exportUrl = (parameters) => `/api/v1/export${query({...parameters, token})}`;

const RETRY_MS = [250, 500, 1000, 2000, 4000];
const QUIET_MS = 10000; // ortscope sends a message a second at least

// Metrics as they come. onState: 'connecting', 'open', 'lost', or 'refused' with the reason.
export class Stream {
    constructor({hz, window_s, onMetrics, onState}) {
        Object.assign(this, {hz, window_s, onMetrics, onState, tries: 0});
        this.open();
    }

    open() {
        const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
        this.onState('connecting');
        this.heard = performance.now();
        clearInterval(this.watch);
        this.watch = setInterval(() => this.checkQuiet(), 1000);
        this.socket = new WebSocket(`${scheme}//${location.host}/ws/metrics${
            query({token, hz: this.hz, window: this.window_s})}`);
        this.socket.onmessage = (e) => {
            this.heard = performance.now();
            if (this.tries >= 0) {
                this.tries = -1;
                this.onState('open');
            }
            this.onMetrics(JSON.parse(e.data));
        };
        this.socket.onclose = () => this.closed();
    }

    // A connection that is open and silent is as good as cut, only that nobody says so.
    checkQuiet() {
        if (performance.now() - this.heard < QUIET_MS) return;
        this.socket.onmessage = this.socket.onclose = null; // its own end may take minutes
        this.socket.close();
        const reason = `No message for ${QUIET_MS / 1000} seconds; connecting again.`;
        this.onState('lost', reason);
        this.closed(reason);
    }

    // A refusal looks like a cut from here; a request tells them apart.
    async closed(reason = 'ortscope does not answer; trying again.') {
        clearInterval(this.watch);
        this.tries = Math.max(0, this.tries + 1);
        let state = 'lost';
        try {
            await request('/api/v1/metrics/current', {signal: AbortSignal.timeout(QUIET_MS)});
        } catch (e) {
            if (e.status === 401 || e.status === 403) [state, reason] = ['refused', e.message];
        }
        this.onState(state, reason);
        this.timer = setTimeout(() => this.open(), RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)]);
    }

    setRate(hz) {
        this.hz = hz;
        if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({hz}));
    }

    retryNow() {
        clearTimeout(this.timer);
        if (this.socket.readyState > WebSocket.OPEN) this.open();
    }
}

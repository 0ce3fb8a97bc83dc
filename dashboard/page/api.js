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
let linkToken = null; // null: not known yet

export function setToken(text) {
    token = text;
    linkToken = null;
    sessionStorage.setItem('token', text);
}

export class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status; // 0: nobody answered
    }
}

const ANSWER_MS = 60000; // an old inference is looked for in the whole file

async function request(path, {timeout = ANSWER_MS, headers, ...options} = {}) {
    let answer, body;
    try {
        answer = await fetch(path, {...options, cache: 'no-store', signal: AbortSignal.timeout(timeout),
                                    headers: {Authorization: `Bearer ${token}`, ...headers}});
        body = await answer.json().catch((e) => { if (e.name !== 'SyntaxError') throw e; });
    } catch {
        throw new ApiError(0, 'ortscope does not answer.');
    }
    if (!answer.ok) throw new ApiError(answer.status, body?.error?.message ?? answer.statusText);
    return body;
}

function query(parameters) {
    const given = Object.entries(parameters ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
    return given.length ? `?${new URLSearchParams(given)}` : '';
}

export const get = (name, parameters, options) => request(`/api/v1/${name}${query(parameters)}`, options);

export const control = (action, more) =>
    request('/api/v1/control', {method: 'POST', body: JSON.stringify({action, ...more}),
                                headers: {'Content-Type': 'application/json'}});

// A link for a download can't carry a header, and browsers remember where a download came from: it gets
// the token that may only read, once that is known.
export async function learnLinkToken() {
    linkToken = null;
    linkToken = (await get('access')).read_token ?? token;
}

export const exportUrl = (parameters) =>
    (linkToken === null ? '' : `/api/v1/export${query({...parameters, token: linkToken})}`);

const RETRY_MS = [250, 500, 1000, 2000, 4000];
const SILENT_S = 5; // the server sends at least one message a second, whatever happens
const PROBE_MS = 5000;

const refusal = (e) => (e.status === 401 && token
    ? 'ortscope refuses the token of this page. Give the one that it printed when it was started.' : e.message);

const ENDED = 'ortscope has ended; this is what it told last.';

// Metrics as they come. onState: 'connecting', 'open', 'lost', 'ended', or 'refused' with the reason.
// onLast: ortscope ends and waits a moment for what is asked until that is done.
export class Stream {
    constructor({hz, window_s, onMetrics, onLast, onState}) {
        Object.assign(this, {hz, window_s, onMetrics, onLast, onState, tries: 0, timer: 0, over: false});
        this.open();
        // A page that is looked at again, or a network that came back, does not wait for the next try.
        document.addEventListener('visibilitychange', () => document.hidden || this.retryNow());
        addEventListener('online', () => this.retryNow());
    }

    open() {
        const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
        this.onState('connecting');
        this.socket = new WebSocket(`${scheme}//${location.host}/ws/metrics${
            query({token, hz: this.hz, window: this.window_s})}`);
        this.socket.onmessage = (e) => {
            this.silent = 0;
            if (this.tries >= 0) {
                this.tries = -1;
                this.over = false;
                this.onState('open');
            }
            const metrics = JSON.parse(e.data);
            this.onMetrics(metrics);
            if (metrics.last) this.end(metrics);
        };
        this.socket.onclose = () => this.closed('ortscope does not answer');
        this.silent = 0;
        this.watch = setInterval(() => this.look(), 1000);
    }

    // A connection may be there and yet dead: a server that hangs, a machine that slept. Seconds are
    // counted, not measured: a page that was asleep itself first sees what has come meanwhile.
    look() {
        if (++this.silent >= SILENT_S) this.closed(`Nothing was heard from ortscope for ${this.silent} s`);
    }

    async end(metrics) {
        clearInterval(this.watch);
        this.socket.onmessage = this.socket.onclose = null;
        await this.onLast(metrics).catch(() => {});
        this.over = true;
        this.closed();
    }

    // A refusal looks like a cut from here; a request tells them apart.
    async closed(why) {
        clearInterval(this.watch);
        this.socket.onmessage = this.socket.onclose = null;
        this.socket.close();
        let [state, reason] = this.over ? ['ended', ENDED] : ['lost', `${why}; trying again.`];
        if (this.tries < 0) this.onState(state, reason);
        this.tries = Math.max(0, this.tries + 1);
        try {
            await get('metrics/current', {}, {timeout: PROBE_MS});
        } catch (e) {
            if (e.status === 401 || e.status === 403) [state, reason] = ['refused', refusal(e)];
            else if (e.status && !this.over) reason = `${e.message} Trying again.`;
        }
        this.onState(state, reason);
        this.timer = setTimeout(() => this.again(), RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)]);
    }

    again() {
        clearTimeout(this.timer);
        this.timer = 0;
        this.open();
    }

    // Nothing: the server's own, which only a new connection has.
    setRate(hz) {
        this.hz = hz;
        if (this.socket.readyState !== WebSocket.OPEN) return;
        if (hz) {
            this.socket.send(JSON.stringify({hz: Number(hz)}));
            return;
        }
        clearInterval(this.watch);
        this.socket.onmessage = this.socket.onclose = null;
        this.socket.close();
        this.tries = 0;
        this.open();
    }

    // Only while the next try is being waited for.
    retryNow() {
        if (this.timer) this.again();
    }
}

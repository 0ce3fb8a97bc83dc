// SPDX-License-Identifier: MIT
// What live.mjs needs: a page in Debian's chromium by Playwright that notes all it asks, is answered and
// complains of, comparing what is shown with numbers, and saying what was checked.
import {execFileSync} from 'node:child_process';
import {pathToFileURL} from 'node:url';

export const LIMIT_MS = 240000; // for what hangs; never decides
const MOST_FRAMES = 2000;
const BROWSER = {
    executablePath: process.env.ORTSCOPE_CHROMIUM || '/usr/bin/chromium', headless: true, timeout: LIMIT_MS,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run',
           '--disable-component-update', '--disable-sync'],
};

// ------------------------------------------------------------------------------------------ checks

// A line of JSON for each check; the test that started us counts them.
export function check(what, ok, detail) {
    const line = {what, ok: Boolean(ok)};
    if (!ok && detail !== undefined) line.detail = String(typeof detail === 'string' ? detail : JSON.stringify(detail)).slice(0, 1500);
    console.log(JSON.stringify(line));
    return line.ok;
}

export const same = (what, actual, expected) =>
    check(what, JSON.stringify(actual) === JSON.stringify(expected), `${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Until `condition` gives something true, which is then the answer. What never comes is a failed check.
export async function until(what, condition, last = () => '') {
    const end = Date.now() + LIMIT_MS;
    for (;;) {
        const value = await condition();
        if (value) return check(what, true) && value;
        if (Date.now() > end) return check(what, false, await last());
        await sleep(50);
    }
}

// What is compared again and again until it agrees; `differences` gives a list of sentences.
export async function agrees(what, differences) {
    let found = [];
    return until(what, async () => !(found = await differences()).length, () => found);
}

// ----------------------------------------------------------------------------------------- numbers

const UNITS = {ns: 1e-3, 'µs': 1, ms: 1e3, s: 1e6, min: 6e7, h: 3.6e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, '%': 1, '/s': 1, '': 1};

// [number, half of its last digit] of a text such as "1.822 ms" (in µs), "1,234", "93 %", "105 /s".
export function read(text) {
    const found = /^(-?[\d,]+)(\.\d+)?(?: (\S+))?$/.exec(String(text).trim().replace(/\s+/g, ' '));
    if (!found || !((found[3] ?? '') in UNITS)) return null;
    const scale = UNITS[found[3] ?? ''], decimals = (found[2] ?? '.').length - 1;
    return [Number((found[1] + (found[2] ?? '')).replace(/,/g, '')) * scale, 0.5 * 10 ** -decimals * scale];
}

// Whether a text shows this number, but for rounding; null is shown as a dash.
export function shows(text, value, share = 0) {
    if (value === null || value === undefined) return String(text).trim() === '–';
    const known = read(text);
    return known !== null && Math.abs(known[0] - value) <= known[1] * 1.001 + Math.abs(value) * share + 1e-9;
}

// Sentences for those of [what, text, value] that differ.
export const wrong = (list) => list.filter(([, text, value]) => !shows(text, value))
    .map(([what, text, value]) => `${what}: "${text}" for ${value}`);

// -------------------------------------------------------------------------------------------- page

const IN_PAGE = () => {
    const text = (e) => (typeof e === 'string' ? document.querySelector(e) : e)?.innerText.trim().replace(/\s+/g, ' ') ?? null;
    const rows = (table) => [...document.querySelectorAll(`${table} tbody tr`)].map((tr) => [...tr.cells].map(text));
    const charts = document.querySelector('#charts').dataset;
    return {
        gauges: Object.fromEntries([...document.querySelectorAll('.gauge')].map((g) =>
            [g.dataset.gauge, {value: text(g.querySelector('.value')), more: text(g.querySelector('.more'))}])),
        panels: Object.fromEntries([...document.querySelectorAll('#charts > .card')].map((c) =>
            [c.id.replace('panel-', ''), text(c.querySelector('.number'))])),
        ops: rows('#ops'), opsNumber: text('#ops-number'), sessions: rows('#sessions'), sessionsNumber: text('#sessions-number'),
        timeline: text('#timeline-number'), details: text('#timeline-details'), state: text('#state'), notes: text('#notes'),
        target: text('#target'), from: Number(charts.from || NaN), time: Number(charts.time || NaN),
        summary: document.querySelector('#summary').hidden ? null
            : Object.fromEntries([...document.querySelectorAll('#summary-facts dd[id]')].map((e) => [e.id, text(e)])),
    };
};

export class LivePage {
    static async open({playwright, url, width = 1280, height = 960}) {
        const {chromium} = await import(pathToFileURL(`${playwright}/node_modules/playwright-core/index.mjs`));
        const browser = await chromium.launch(BROWSER);
        const context = await browser.newContext({viewport: {width, height}, colorScheme: 'light', acceptDownloads: true});
        context.setDefaultTimeout(LIMIT_MS);
        const page = new LivePage();
        Object.assign(page, {browser, context, url: new URL(url), p: await context.newPage()});
        page.listen();
        await page.p.goto(url);
        return page;
    }

    listen() {
        Object.assign(this, {frames: [], sent: [], answers: new Map(), errors: [], foreign: [], received: 0});
        this.p.on('websocket', (socket) => {
            if (new URL(socket.url()).host !== this.url.host) this.foreign.push(socket.url());
            socket.on('framereceived', ({payload}) => {
                this.received++;
                this.frames.push(payload);
                if (this.frames.length > MOST_FRAMES) this.frames.splice(0, MOST_FRAMES / 2);
            });
            socket.on('framesent', ({payload}) => this.sent.push(String(payload)));
        });
        this.p.on('request', (r) => { if (new URL(r.url()).host !== this.url.host) this.foreign.push(r.url()); });
        this.p.on('response', (r) => this.note(r));
        this.p.on('pageerror', (e) => this.errors.push(String(e)));
        this.p.on('console', (m) => { if (m.type() === 'error') this.errors.push(m.text()); });
    }

    // The newest answers for each path, with what was asked.
    async note(response) {
        const url = new URL(response.url()), name = url.pathname.replace('/api/v1/', '');
        if (!url.pathname.startsWith('/api/v1/') || name === 'export') return;
        const body = await response.json().catch(() => null);
        const list = this.answers.get(name) ?? [];
        list.push({query: url.searchParams, body});
        this.answers.set(name, list.slice(-20));
    }

    captures() { return this.frames.map((f) => JSON.parse(f).captures[0]).filter(Boolean); }
    seen() { return this.p.evaluate(IN_PAGE); }
    click(selector) { return this.p.click(selector); }
    choose(selector, value) { return this.p.selectOption(selector, value); }
    close() { return this.browser.close(); }

    // What the API says now, past the page.
    async api(path) {
        const answer = await fetch(`${this.url.origin}/api/v1/${path}`,
                                   {headers: {Authorization: `Bearer ${this.url.searchParams.get('token')}`}});
        return answer.json();
    }

    async download(action, to) {
        const [download] = await Promise.all([this.p.waitForEvent('download'), action()]);
        await download.saveAs(to);
        return download.suggestedFilename();
    }

    // Begin and end of what the operator timeline shows, after it was drawn.
    view() {
        return this.p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(
            () => done(document.querySelector('#timeline').dataset.view.split(' ').map(Number))))));
    }
}

export const ortscope = (program, ...options) => execFileSync(program, options, {
    maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore']}).toString(); // that a file is not whole yet goes to stderr
export const summaryOf = (program, file) => JSON.parse(ortscope(program, 'summary', '--json', file));

// SPDX-License-Identifier: MIT
// Playwright on the dashboard while a real program runs (test_live_playwright.py starts all of it and us).
// Argument: JSON with `scenario`, `url`, `playwright` (folder), `ortscope` (that reads files), `trace`, `target`
// (Linux process), `counter` (file with its finished runs), `folder`.
// Numbers that move are compared with the messages and answers that the page got; with the program held (SIGSTOP)
// they stand still, and are compared with the API itself.
import fs from 'node:fs';
import {LivePage, agrees, check, read, same, shows, sleep, summaryOf, until, wrong} from './live_tools.mjs';
import {operateControls, operateTimeline} from './live_controls.mjs';
import {serve} from './live_serve.mjs';

const o = JSON.parse(process.argv[2]);

const runsInFile = () => summaryOf(o.ortscope, o.trace).sessions.reduce((n, s) => n + s.runs, 0);
const model = (s) => String(s.model ?? '').split(/[\\/]/).pop();

// ------------------------------------------------------------------------------ page against API

// Runs under way when the newest of these sessions' runs began, and the most at once; written anew, not
// gauges.js's own: [now, most].
function inFlight(sessions, capture, window_s) {
    const last = sessions.filter((s) => s.last_run).sort((a, b) => b.last_run.begin_s - a.last_run.begin_s)[0];
    if (!last) return [0, 0];
    const at = last.last_run.begin_s, seconds = last.last_run.duration_us / 1e6;
    const runs = (s) => s.recent_runs.begin_s.map((from, i) => ({from, to: from + s.recent_runs.duration_us[i] / 1e6 - 1e-6}));
    const all = sessions.flatMap(runs).filter((r) => r.to >= capture.time_s - window_s);
    const others = sessions.filter((s) => s !== last).flatMap(runs).filter((r) => r.from <= at && at < r.to).length;
    const idle = capture.state === 'ended' || capture.time_s > at + seconds + Math.max(1, 2 * seconds);
    const now = idle ? 0 : last.in_flight + others;
    const atOnce = all.map((r) => all.filter((e) => e.from <= r.from && r.from <= e.to || e === r).length);
    return [now, Math.max(now, ...atOnce, ...sessions.map((s) => s.window.in_flight_max ?? 0))];
}

// What the six gauges must show of these sessions, as gauges.js says it.
function gaugesWrong(gauges, sessions, capture, window_s) {
    const [inFlightNow, mostInFlight] = inFlight(sessions, capture, window_s);
    const sum = (pick) => sessions.reduce((n, s) => n + (pick(s) ?? 0), 0);
    const slowest = (p) => sessions.reduce((a, s) => Math.max(a ?? 0, s.window.latency_us?.[p] ?? 0) || a, null);
    const list = [['throughput', gauges.throughput.value, sum((s) => s.window.throughput_per_s)],
                  ...['p50', 'p95', 'p99'].map((p) => [p, gauges[p].value, slowest(p)]),
                  ['failures', gauges.failures.value, sum((s) => s.failed_runs)],
                  ['in flight', gauges.in_flight.value, inFlightNow],
                  ['runs', /; ([\d,]+) runs in all/.exec(gauges.throughput.more)?.[1], sum((s) => s.runs)],
                  ['window', /last (\d+) s/.exec(gauges.throughput.more)?.[1], window_s],
                  ['most in flight', /at most ([\d,]+) in/.exec(gauges.in_flight.more)?.[1], mostInFlight]];
    if (sessions.length === 1)
        for (const p of ['p50', 'p95', 'p99'])
            list.push([`overall ${p}`, gauges[p].more.replace('overall ', ''), sessions[0].total.latency_us?.[p]]);
    return wrong(list);
}

const sessionsWrong = (rows, sessions) => [
    ...(rows.length === sessions.length ? [] : [`${rows.length} rows for ${sessions.length} sessions`]),
    ...sessions.flatMap((s, i) => (rows[i] ? [
        ...wrong([['runs', rows[i][1], s.runs], ['failed', rows[i][2], s.failed_runs], ['p50', rows[i][3], s.total.latency_us?.p50],
                  ['p99', rows[i][4], s.total.latency_us?.p99], ['max', rows[i][5], s.total.latency_us?.max]]),
        ...(rows[i][0].startsWith(`${s.session} ${model(s) || 'model not known'}`) ? [] : [`name: ${rows[i][0]}`]),
    ] : []))];

const opsWrong = (seen, answer) => [
    ...(seen.ops.length === answer.ops.length ? [] : [`${seen.ops.length} rows for ${answer.ops.length} types`]),
    ...wrong([['executions', seen.opsNumber.split(' ')[0], answer.calls]]),
    ...answer.ops.flatMap((op, i) => (seen.ops[i] ? [
        ...(seen.ops[i][0].startsWith(op.op_type) ? [] : [`${seen.ops[i][0]} instead of ${op.op_type}`]),
        ...(seen.ops[i][1] === op.provider.replace(/ExecutionProvider$/, '') ? [] : [`provider: ${seen.ops[i][1]}`]),
        ...wrong([['calls', seen.ops[i][2], op.calls], ['mean', seen.ops[i][3], op.mean_us], ['self', seen.ops[i][4], op.self_us],
                  ['share', seen.ops[i][5], 100 * op.share]]),
    ] : []))];

// The numbers of the charts, each of some message.
const PANELS = {
    throughput: (text, c) => shows(text.replace('now ', ''), c.sessions.reduce((n, s) => n + (s.window.throughput_per_s ?? 0), 0)),
    memory: (text, c) => shows(text.replace('process ', ''), c.processes[0].working_set_bytes),
    cpu: (text, c) => [/process (.*) of a core/, /machine (.*)/].every((part, i) => shows(
        part.exec(text)?.[1], [c.processes[0].cpu_percent, c.system.cpu_percent][i])),
    arenas: (text, c) => ['held', 'in use'].every((name, i) => shows(new RegExp(`${name} ([^,]*)`).exec(text)?.[1],
        c.sessions.reduce((n, s) => n + (s.ended ? 0 : s.memory?.[['held_bytes', 'in_use_bytes'][i]] ?? 0), 0))),
};

export const ofSession = (sessions, chosen) => sessions.filter((s) => !chosen || s.session === chosen);

// Gauges and charts while everything moves. chosen: a session's number, 0: all.
export async function compareMoving(page, chosen = 0) {
    let seen;
    const close = () => page.captures().map((c) => gaugesWrong(seen.gauges, ofSession(c.sessions, chosen), c, 5))
        .reduce((a, b) => (a && a.length <= b.length ? a : b), null);
    seen = await page.seen();
    await until(`gauges are those of a message (${chosen ? `session ${chosen}` : 'all'})`,
                async () => { await page.seen(); return close()?.length === 0; }, () => [seen.gauges, close()]);
    if (chosen) return;
    for (const [name, fits] of Object.entries(PANELS))
        await until(`number of the chart: ${name}`, async () => {
            await page.seen();
            return page.captures().some((c) => fits(seen.panels[name], c));
        }, () => seen.panels[name]);
    await until('distribution is the one that came', async () => {
        const text = (await page.seen()).panels.distribution;
        const [, name, low, high] = /^(?:(.*): )?most between (.*) and (.*)$/.exec(text) ?? [];
        return (page.answers.get('metrics/distribution') ?? []).some(({body}) => {
            const most = body?.count ? body.count.indexOf(Math.max(...body.count)) : -1;
            return most >= 0 && name && shows(low, body.from_us[most]) && shows(high, body.to_us[most]);
        });
    }, async () => (await page.seen()).panels.distribution);
}

// Everything that stands still with the program: page and API at one moment.
async function compareQuiet(page) {
    process.kill(o.target, 'SIGSTOP');
    try {
        await agrees('page and API agree while the program is held', async () => {
            const [now, ops, facts] = [(await page.api('metrics/current')).captures[0],
                                       await page.api('ops?by=type&limit=30'), await page.api('sessions')];
            const seen = await page.seen(), sum = (pick) => now.sessions.reduce((n, s) => n + pick(s), 0);
            const providers = facts.captures[0].sessions.flatMap((s) => s.providers ?? []);
            return [
                ...wrong([['failures', seen.gauges.failures.value, sum((s) => s.failed_runs)],
                          ['in flight', seen.gauges.in_flight.value, inFlight(now.sessions, now, 5)[0]],
                          ['runs in all', /; ([\d,]+) runs/.exec(seen.gauges.throughput.more)?.[1], sum((s) => s.runs)]]),
                ...sessionsWrong(seen.sessions, now.sessions), ...opsWrong(seen, ops),
                ...(seen.target.includes(`pid ${now.processes[0].pid} · live`) ? [] : [seen.target]),
                ...(seen.sessionsNumber.startsWith(`${now.sessions.length},`) ? [] : [seen.sessionsNumber]),
                ...(providers.length && !seen.sessions.some((r) => r[0].includes('CPU')) ? ['providers are not told'] : []),
                ...(now.dropped_rows || now.lost_events ? [`lost ${now.lost_events}, dropped ${now.dropped_rows}`] : []),
            ];
        });
    } finally {
        process.kill(o.target, 'SIGCONT');
    }
}

// ------------------------------------------------------------------------------------------ the end

const END_US = 5e6; // what the last rows may be apart from the moment at which the live view was told the end

// The page's summary against the file's. Percentiles of the live figures come from buckets of 0.2 %. The newest
// measurement of the overhead is told live, the median of all in the file's summary: both know it or neither does.
function compareWithFile(seen, last) {
    const file = summaryOf(o.ortscope, o.trace), fact = (name) => seen.summary[`sum-${name}`] ?? '';
    check('time of page and summary', Math.abs((read(fact('time'))?.[0] ?? NaN) - file.duration_s * 1e6) <= END_US,
          [fact('time'), file.duration_s]);
    check('overhead of page and last message', shows(fact('overhead'), last?.overhead_per_run_us), [fact('overhead'), last?.overhead_per_run_us]);
    same('overhead is known to page and summary', fact('overhead') !== '–', file.overhead.per_run_ns !== null);
    same('sessions of page and summary', Object.keys(seen.summary).filter((k) => k.startsWith('sum-runs')).sort(),
         file.sessions.map((s) => `sum-runs-${s.id}`).sort());
    same('rows of the table of sessions', seen.sessions.length, file.sessions.length);
    for (const s of file.sessions) {
        const at = (name) => seen.summary[`sum-${name}-${s.id}`] ?? '';
        check(`session ${s.id}: runs of page and summary`, shows(at('runs').split(', ')[0], s.runs), [at('runs'), s.runs]);
        check(`session ${s.id}: throughput of page and summary`, shows(at('rate'), s.throughput_per_s, 0.001),
              [at('rate'), s.throughput_per_s]);
        check(`session ${s.id}: slowest of page and summary`, shows(at('max'), s.latency_us.max), [at('max'), s.latency_us.max]);
        const told = at('latency').split(', ');
        ['p50', 'p95', 'p99'].forEach((p, i) => check(`session ${s.id}: ${p} of page and summary`,
            shows(told[i], s.latency_us[p], 0.002), [told[i], s.latency_us[p]]));
        const row = seen.sessions.find((r) => r[0].startsWith(`${s.id} `)) ?? [];
        check(`session ${s.id}: runs in the table`, shows(row[1], s.runs), [row[1], s.runs]);
        check(`session ${s.id}: failed runs`, shows(row[2], s.failed_runs), [row[2], s.failed_runs]);
    }
    check('lost events of page and summary', shows(seen.summary['sum-lost'], file.lost_events),
          [seen.summary['sum-lost'], file.lost_events]);
    check('runs in all', shows(/; ([\d,]+) runs/.exec(seen.gauges.throughput.more)?.[1], file.sessions.reduce((n, s) => n + s.runs, 0)),
          seen.gauges.throughput.more);
}

// After ortscope has ended the page can only fail to reach it; nothing else may go wrong.
const strange = (page) => page.errors.filter((e) => !/ERR_CONNECTION_|ERR_SOCKET_|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE|ERR_CONTENT_LENGTH|WebSocket/.test(e));

async function atTheEnd(page, sentence) {
    await until(`the banner says it: ${sentence}`, async () => new RegExp(sentence).test((await page.seen()).state), async () => (await page.seen()).state);
    await until('the page has its summary', async () => (await page.seen()).summary);
    await until('ortscope has ended, the page stays', async () => (await page.seen()).notes.includes('ortscope has ended too'),
                async () => (await page.seen()).notes);
    const seen = await page.seen();
    compareWithFile(seen, page.captures().at(-1));
    check('the numbers are said to be the last ones', seen.state.includes('The numbers are the last ones.'), seen.state);
    check('operators stay', seen.ops.length > 5 && read(seen.opsNumber.split(' ')[0])?.[0] > 0, seen.opsNumber);
    return seen;
}

// --------------------------------------------------------------------------------------- scenarios

async function settled(page) {
    await until('the page is there', async () => {
        const seen = await page.seen();
        return seen.time > 0 && seen.ops.length > 0 && seen.timeline.includes('operators') && seen.sessions.length > 0;
    }, async () => page.seen());
    const seen = await page.seen();
    check('attached and armed', /^Attached and armed: recording node\.exe \(pid \d+\)\.$/.test(seen.state), seen.state);
}

async function whole(page) {
    await settled(page);
    check('the token is in no address', !page.p.url().includes('token'), page.p.url());
    await compareMoving(page);
    await compareQuiet(page);
    await operateControls(page, {...o, runsInFile, compareMoving});
    await operateTimeline(page);
    for (const [width, height, name, place] of [[1280, 960, 'light', '#program'], [1280, 960, 'operators', '#timeline-title'],
                                                [400, 900, 'narrow', '#program']]) {
        await page.p.setViewportSize({width, height});
        await page.p.locator(place).evaluate((e, top) => scrollTo(0, top ? 0 : e.getBoundingClientRect().top + scrollY - 20), place === '#program');
        await page.p.waitForFunction(() => new Promise((d) => setTimeout(() => d(true), 1500)));
        await page.p.screenshot({path: `${o.folder}/${name}.png`});
        same(`nothing is wider than ${width}`, await page.p.evaluate(() =>
            Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)), 0);
        if (place !== '#program') await page.p.screenshot({path: `${o.folder}/whole.png`, fullPage: true});
    }
    await page.p.screenshot({path: `${o.folder}/narrow-whole.png`, fullPage: true});
    await page.p.setViewportSize({width: 1280, height: 960});
    same('no errors while it runs', page.errors, []);
    await page.choose('#session', '');
    await page.click('#detach');
    await page.p.click('#ask-yes');
    const seen = await atTheEnd(page, '^Detached from node\\.exe \\(pid \\d+\\), which goes on\\.');
    for (const id of ['#mark', '#detach']) check(`${id} is gone`, !(await page.p.isVisible(id)));
    check('the time of the capture is told', /^\d+:\d\d/.test(seen.notes), seen.notes);
}

async function killed(page) {
    await settled(page);
    await until('runs on the page', async () => read(/; ([\d,]+) runs/.exec((await page.seen()).gauges.throughput.more)?.[1])?.[0] > 50);
    same('no errors while it runs', page.errors, []);
    process.kill(o.target, 'SIGKILL');
    const seen = await atTheEnd(page, '^node\\.exe \\(pid \\d+\\) has ended with code \\d+\\.');
    await page.p.screenshot({path: `${o.folder}/killed.png`, fullPage: true});
    await sleep(5000); // while it may look for ortscope
    const later = await page.seen();
    same('the last numbers stay', [later.gauges, later.summary, later.ops, later.sessions, later.state],
         [seen.gauges, seen.summary, seen.ops, seen.sessions, seen.state]);
}

const page = await LivePage.open(o);
try {
    page.folder = o.folder;
    await {whole, killed, serve}[o.scenario](page, o);
    same('no other errors', strange(page), []);
    same('no foreign requests', page.foreign, []);
} catch (error) {
    check('the scenario itself', false, error.stack);
    await page.p.screenshot({path: `${o.folder}/failed.png`, fullPage: true}).catch(() => {});
} finally {
    await page.close();
}
check('the scenario came to its end', true);
fs.writeFileSync(`${o.folder}/scenario.done`, '');

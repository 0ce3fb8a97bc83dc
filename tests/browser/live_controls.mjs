// SPDX-License-Identifier: MIT
// Every control of the dashboard on a live capture, by Playwright's real mouse and keyboard: what it says must
// happen, on the page, in what the page asks for, or in the recording.
import fs from 'node:fs';
import {check, ortscope, read, same, summaryOf, until} from './live_tools.mjs';

// --------------------------------------------------------------------------------- pause and resume

const still = (seen) => [seen.gauges, seen.panels, seen.ops, seen.opsNumber, seen.sessions, seen.timeline, seen.from, seen.time];

async function pauseAndResume(page, o) {
    await page.click('#pause');
    await until('it says that it is paused', async () => /^Paused: this page stands still, the capture of node\.exe .* goes on\.$/.test((await page.seen()).state));
    // Answers that were on their way when it was pressed.
    let last = '';
    await until('it stands still', async () => {
        const now = JSON.stringify(still(await page.seen())), before = last;
        last = now;
        await new Promise((done) => setTimeout(done, 1000));
        return now === before;
    });
    const before = await page.seen(), runs = o.runsInFile(), messages = page.received;
    await until('meanwhile the file grows', () => o.runsInFile() > runs + 20, () => `${o.runsInFile()} after ${runs}`);
    await until('and messages go on', () => page.received > messages + 10);
    same('nothing on the page has moved', still(await page.seen()), still(before));
    same('it can be resumed', await page.p.innerText('#pause'), 'Resume');
    await page.p.evaluate(() => document.activeElement.blur());
    await page.p.keyboard.press('Space'); // anywhere on the page
    await until('resumed, it moves on', async () => {
        const seen = await page.seen();
        return seen.state.startsWith('Attached and armed') && seen.gauges.throughput.more !== before.gauges.throughput.more && seen.time > before.time;
    });
}

// ---------------------------------------------------------------------------- rate, window, session

// Seconds of the capture between the first and last of the newest messages.
function spanOf(page, count) {
    const times = page.captures().slice(-count).map((c) => c.time_s);
    return times.length < count ? NaN : times.at(-1) - times[0];
}

async function rates(page) {
    await page.choose('#rate', '60');
    await until('60 Hz is asked for', () => page.sent.includes('{"hz":60}'));
    await until('messages come faster than before', () => spanOf(page, 4) < 0.25, () => spanOf(page, 4)); // 10 Hz: 0.3
    await page.choose('#rate', '1');
    await until('1 Hz is asked for', () => page.sent.includes('{"hz":1}'));
    await until('and messages are made at it', () => page.captures().at(-1)?.rates.hz === 1); // others were on their way
    const asked = page.received;
    await until('five more messages', () => page.received >= asked + 6);
    check('they come slowly', spanOf(page, 5) > 2, spanOf(page, 5)); // never faster, however busy the machine
    await page.choose('#rate', '10');
    await until('10 Hz is asked for', () => page.sent.includes('{"hz":10}'));
}

async function windows(page) {
    await until('the capture is older than ten seconds', async () => (await page.seen()).time > 14);
    await page.choose('#window', '10');
    await until('the charts show ten seconds', async () => {
        const {from, time} = await page.seen();
        return from > 1 && time - from < 11.5;
    }, async () => page.seen());
    await page.choose('#window', '0');
    await until('the charts show everything', async () => {
        const {from, time} = await page.seen();
        return from === 0 && time > 14;
    }, async () => page.seen());
    await page.choose('#window', '60');
}

async function sessions(page, o) {
    const all = (await page.api('metrics/current')).captures[0].sessions;
    same('the choice of sessions', await page.p.locator('#session option').allInnerTexts(),
         ['all', ...all.map((s) => `${s.session} ${s.model ? s.model.split(/[\\/]/).pop() : 'model not known'}`)]);
    for (const {session} of all) {
        await page.choose('#session', String(session));
        await until(`operators of session ${session} are asked for and shown`, async () => {
            const seen = await page.seen();
            const of = (page.answers.get('ops') ?? []).filter((a) => a.query.get('session') === String(session));
            return seen.timeline.includes(`of session ${session} `) &&
                of.some((a) => read(seen.opsNumber.split(' ')[0])?.[0] === a.body.calls && seen.ops.length === a.body.ops.length);
        }, async () => page.seen());
        await o.compareMoving(page, session);
    }
    await page.choose('#session', '');
    await until('all sessions again', async () => (await page.seen()).gauges.p50.more.startsWith('slowest: '));
}

// ------------------------------------------------------------------------------ theme, mark, export

async function theme(page) {
    const look = () => page.p.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
    const [before, light] = await look();
    same('light, as the system is', before, 'light');
    await page.click('#theme');
    const [after, dark] = await look();
    same('dark', after, 'dark');
    check('it looks different', light !== dark, dark);
    await page.p.reload();
    await until('after a reload it is there again', async () => (await page.seen()).state.startsWith('Attached and armed'));
    same('and still dark', (await look())[0], 'dark');
    same('with the same window', await page.p.inputValue('#window'), '60');
    await page.click('#theme');
    same('light again', await look(), ['light', light]);
    await until('all of it', async () => { const seen = await page.seen(); return seen.time > 0 && seen.ops.length && seen.timeline; });
}

async function mark(page, o) {
    const text = 'warmed up';
    await page.click('#mark');
    await page.p.keyboard.press('Escape'); // refused: no mark
    await page.click('#mark');
    await page.p.fill('#ask-input', text);
    await page.p.click('#ask-yes');
    await until('the mark is on the page', async () => (await page.p.locator('.marks').innerText()).includes(text));
    const marks = () => JSON.parse(ortscope(o.ortscope, 'dump', '--json', '--kind', 'mark', o.trace)).rows.map((r) => r.text);
    await until('the mark is a row of the file', () => marks().includes(text), marks);
    same('and the only one', marks(), [text]);
}

async function saved(page, o) {
    const runsOf = (file) => summaryOf(o.ortscope, file).sessions.reduce((n, s) => n + s.runs, 0);
    const at = (name) => `${o.folder}/${name}`;
    let known = o.runsInFile();
    await page.choose('#format', 'csv:runs');
    const csv = await page.download(() => page.click('#export'), at('runs.csv'));
    check('the CSV has a name', csv.endsWith('.csv'), csv);
    const lines = fs.readFileSync(at('runs.csv'), 'utf8').trim().split(/\r?\n/);
    check('the CSV has a row for each run so far', lines.length - 1 >= known && lines.length - 1 <= o.runsInFile(), [lines.length, known]);
    check('with a head', lines[0].includes('session') && lines[0].includes('run'), lines[0]);

    known = o.runsInFile();
    await page.choose('#format', 'ortl');
    const ortl = await page.download(() => page.click('#export'), at('saved.ortl'));
    check('the recording has its name', ortl.endsWith('.ortl'), ortl);
    check('the recording can be read and has the runs so far', runsOf(at('saved.ortl')) >= known, runsOf(at('saved.ortl')));

    const name = o.trace.split('/').pop();
    check('the link names the file', (await page.p.innerText('#file')).endsWith(name), await page.p.innerText('#file'));
    const linked = await page.download(() => page.click('#file'), at('linked.ortl'));
    check('its download is a recording', linked.endsWith('.ortl'), linked);
    check('the linked file can be read', runsOf(at('linked.ortl')) >= known, runsOf(at('linked.ortl')));
    for (const [format, begin] of [['chrome', '{'], ['parquet:runs', 'PAR1'], ['json:runs', '{'], ['csv:ops', ''],
                                   ['perfetto', '\n'], ['speedscope', '{']]) {
        await page.choose('#format', format);
        const got = await page.download(() => page.click('#export'), at('other'));
        const head = fs.readFileSync(at('other')).subarray(0, 4).toString('latin1');
        check(`saved as ${format}: ${got}`, head.startsWith(begin) && fs.statSync(at('other')).size > 100, head);
    }
    await page.choose('#format', 'ortl');
}

export async function operateControls(page, o) {
    await pauseAndResume(page, o);
    await rates(page);
    await windows(page);
    await sessions(page, o);
    await theme(page);
    await mark(page, o);
    await saved(page, o);
    for (const id of ['#capture', '#speed', '#seek', '#token']) // of several captures, replays, refusals
        check(`${id} is not offered here`, !(await page.p.isVisible(id)));
}

// -------------------------------------------------------------------------- operators of one inference

const runShown = async (page) => Number(/^run ([\d,]+) of/.exec((await page.seen()).timeline)?.[1].replace(/,/g, ''));

// Clicks, and waits until the inference is shown that the page asks for then.
async function step(page, button) {
    const [answer] = await Promise.all([
        page.p.waitForResponse((r) => new URL(r.url()).pathname.endsWith('/timeline') && new URL(r.url()).searchParams.has('run')),
        page.click(button)]);
    const run = Number(new URL(answer.url()).searchParams.get('run'));
    await until(`${button}: its inference`, async () => (await runShown(page)) === run, () => runShown(page));
    return run;
}

async function inferences(page) {
    const {session} = (await page.api('metrics/current')).captures[0].sessions[0];
    page.session = session;
    await page.choose('#session', String(session));
    await until('one session', async () => !(await page.seen()).gauges.p50.more.startsWith('slowest: '));
    const first = await runShown(page);
    await until('the newest inference changes', async () => (await runShown(page)) > first);
    let run = await step(page, '#run-before');
    same('it is held', await page.p.getAttribute('#run-latest', 'aria-pressed'), 'false');
    same('the field says which', Number(await page.p.inputValue('#run')), run);
    same('the inference before', await step(page, '#run-before'), run - 1);
    same('the inference after', await step(page, '#run-after'), run);
    await page.p.fill('#run', '3');
    await page.p.keyboard.press('Enter');
    await until('an inference by its number', async () => (await runShown(page)) === 3, async () => (await page.seen()).timeline);
    const answer = await page.api(`timeline?session=${session}&run=3`), seen = await page.seen();
    check('its operators are counted as by the API', seen.timeline.includes(` ${answer.ops.kernel.length.toLocaleString('en-US')} operators `), seen.timeline);
    const outlier = page.p.locator('.outliers button').first();
    if (await outlier.count()) {
        await outlier.evaluate((button) => button.click()); // it moves as new ones come
        await until('an outlier', async () => { run = await runShown(page); return run !== 3; });
    }
    await page.click('#run-latest');
    const now = await runShown(page);
    await until('the newest again', async () => (await runShown(page)) > Math.max(3, now));
}

async function filters(page) {
    await step(page, '#run-before'); // held while we look
    await page.p.focus('#timeline');
    const types = (await page.p.locator('#type option').allInnerTexts()).slice(1);
    check('types of operators are offered', types.length > 5 && types.includes('Conv'), types);
    const told = async (key) => { await page.p.keyboard.press(key); return (await page.seen()).details; };
    for (const type of ['Conv', types.find((t) => t !== 'Conv')]) {
        await page.choose('#type', type);
        await page.p.focus('#timeline');
        await page.p.keyboard.press('Escape');
        check(`only ${type} is stepped through`, (await told('n')).startsWith(type) && (await told('n')).startsWith(type), (await page.seen()).details);
    }
    await page.choose('#type', '');
    same('the providers', await page.p.locator('#provider option').allInnerTexts(), ['all', 'CPU']);
    await page.choose('#provider', 'CPU');
    await page.p.focus('#timeline');
    check('the provider is told', (await told('n')).includes('CPU, thread'), (await page.seen()).details);
    await page.choose('#provider', '');
}

async function zoom(page) {
    await page.click('#zoom-fit');
    const whole = await page.view(), length = ([a, b]) => b - a;
    await page.p.locator('#timeline').scrollIntoViewIfNeeded();
    let x = 0, y = 0;
    await until('an operator under the pointer is told', async () => { // what is above may still grow and move it
        const box = await page.p.locator('#timeline').boundingBox();
        [x, y] = [box.x + box.width / 2, box.y + 55];
        await page.p.mouse.move(x - 1, y);
        await page.p.mouse.move(x, y);
        return page.p.isVisible('#tip');
    });
    check('with its time and thread', /[µmn]s, from .* of the run.*thread \d+/s.test(await page.p.innerText('#tip')), await page.p.innerText('#tip'));
    await page.p.mouse.wheel(0, -300);
    const near = await page.view();
    check('the wheel zooms', length(near) < length(whole) && near[0] > 0, [whole, near]);
    await page.p.mouse.down();
    await page.p.mouse.move(x - 150, y, {steps: 4});
    await page.p.mouse.up();
    const dragged = await page.view();
    check('dragging pans', dragged[0] > near[0] && Math.abs(length(dragged) - length(near)) < 2, [near, dragged]);
    await page.p.focus('#timeline');
    for (const [key, what, holds] of [
        ['ArrowLeft', 'pans left', (a, b) => b[0] < a[0]], ['ArrowRight', 'pans right', (a, b) => b[0] > a[0]],
        ['+', 'zooms in', (a, b) => length(b) < length(a)], ['-', 'zooms out', (a, b) => length(b) > length(a)],
        ['0', 'shows all', (a, b) => length(b) === length(whole)]]) {
        const before = await page.view();
        await page.p.keyboard.press(key);
        const after = await page.view();
        check(`${key} ${what}`, holds(before, after), [before, after]);
    }
    await page.click('#zoom-in');
    await page.click('#zoom-in');
    const closer = await page.view();
    check('the button zooms in', length(closer) < length(whole), closer);
    await page.click('#zoom-out');
    check('the button zooms out', length(await page.view()) > length(closer), await page.view());
    await page.click('#zoom-fit');
    same('the button shows all', await page.view(), whole);
}

export async function operateTimeline(page) {
    await inferences(page);
    await filters(page);
    await zoom(page);
    await links(page);
}

// Along the data: an operator that reads another's result and is read itself; it stays chosen for the pictures.
async function links(page) {
    for (let times = 0; times < 4; times++) await page.click('#zoom-in');
    await page.p.focus('#timeline');
    let told = '';
    for (let steps = 0; steps < 60 && (steps < 8 || !/reads \S+ .*feeds \S+/.test(told)); steps++) {
        await page.p.keyboard.press('n');
        told = (await page.seen()).details;
    }
    const [type, name] = told.split(' · '), from = /reads ([^,·]+?)(?: ·|,| and)/.exec(told)?.[1];
    check('what an operator reads and feeds is told', from, told);
    await page.view(); // until it is drawn
    check('and drawn', Number(await page.p.getAttribute('#timeline', 'data-linked')) >= 2, await page.p.getAttribute('#timeline', 'data-linked'));
    const run = Number((await page.seen()).timeline.match(/^run ([\d,]+)/)[1].replace(/,/g, ''));
    const {kernels} = await page.api(`timeline?session=${page.session}&run=${run}`);
    const kernel = kernels.find((k) => k.node === name && k.op_type === type.split(' ')[0]);
    check('as the API has it', kernel?.producers.some((p) => kernels[p].node === from), [told, kernel]);
}

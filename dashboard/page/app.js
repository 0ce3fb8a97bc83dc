// SPDX-License-Identifier: MIT
// The page's conductor: metrics come by the stream and are shown once a frame; history, operators
// and tables are asked for at a slower pace, one request at a time each. Paused, nothing is asked and
// nothing moves but what the viewer chooses; the capture goes on.
import {Stream, control, exportUrl, get, learnLinkToken, setToken} from './api.js';
import {processOf, showBanner} from './banner.js';
import {element, themeChanged} from './charts.js';
import * as format from './format.js';
import {createGauges, nameOf, showGauges} from './gauges.js';
import {History} from './history.js';
import {OpPanel} from './op_panel.js';
import {Panels} from './panels.js';
import {Processes} from './processes.js';
import {ask, remember, setUpTheme, slider} from './settings.js';
import {showFacts, showOps, showSessions, summaryFacts} from './tables.js';

const $ = (id) => document.getElementById(id);
const NEED_SERVER = ['export', 'format', 'mark', 'detach', 'speed', 'seek'];
const GAUGE_WINDOW_S = 5, CHARTS_MS = 500, TABLES_MS = 1000, SYSTEM_MS = 5000;
const FORMATS = [
    ['ortl', 'Recording (.ortl)'], ['chrome', 'Chrome trace'], ['perfetto', 'Perfetto'],
    ['csv:runs', 'CSV of runs'], ['csv:ops', 'CSV of operators'], ['json:runs', 'JSON of runs'],
    ['parquet:runs', 'Parquet of runs'], ['speedscope', 'Speedscope'],
];

const app = {
    metrics: null, capture: null, paused: false, connection: 'connecting', reason: '',
    wanted: '', chosen: '', // session, '' all: what the viewer asked for, and that while there is one
    facts: new Map(), dirty: false, held: null, // held: what came with the end
};
const gauges = createGauges($('gauges'));
const history_ = new History(get);
const operators = new OpPanel();
const panels = new Panels($('charts'), {
    onRun: (session, run) => {
        operators.choose(session, run);
        $('timeline').scrollIntoView({block: 'center'});
        $('timeline').focus({preventScroll: true});
    },
});

const processes = new Processes({mayAttach: () => app.metrics?.control === true, onAttach: attach, onShown: show});

// ---------------------------------------------------------------------------------- what is chosen

const sessionsShown = () =>
    (app.capture?.sessions ?? []).filter((s) => app.chosen === '' || s.session === Number(app.chosen));

// The one whose latencies are counted: of several that with the most runs that did not fail.
const good = (s) => s.runs - s.failed_runs;
const busiest = (sessions = sessionsShown()) => sessions.reduce((a, b) => (!a || good(b) > good(a) ? b : a), null);

function fillSelect(select, options, value) {
    const shape = JSON.stringify(options);
    if (select.shape !== shape) {
        select.shape = shape;
        select.replaceChildren(...options.map(([v, text]) => new Option(text, v)));
    }
    select.value = value;
}

function chooseCapture() {
    const captures = app.metrics.captures;
    const wanted = Number($('capture').value);
    const newest = captures.at(-1) ?? null;
    const next = captures.find((c) => app.captureChosen && c.capture === wanted) ?? newest;
    if (next?.capture !== app.capture?.capture || (next && next.time_s < app.capture.time_s - 0.5)) {
        history_.reset(Number($('window').value));
        app.final = false;
        if (next?.capture !== app.capture?.capture) app.wanted = '';
    }
    if (next?.state !== 'ended') app.final = false; // a replay that was moved back, however little
    app.capture = next;
    fillSelect($('capture'), captures.map((c) => [String(c.capture), `${c.capture} ${format.fileName(c.file)}`]), String(next?.capture));
    $('capture-label').hidden = captures.length < 2;
}

// ------------------------------------------------------------------------------------------ shown

// One that is not offered (of --speed, or of another client) gets its place among the others; 0: as fast as it goes.
function showSpeed(select, speed) {
    const options = [...select.options], value = String(speed);
    if (!options.some((o) => o.value === value))
        select.add(new Option(speed ? `${speed}×` : 'max', value), (speed && options.find((o) => Number(o.value) > speed)) || null);
    select.value = value;
}

function showHeader() {
    const c = app.capture, p = c && processOf(c);
    $('program').textContent = p ? format.fileName(p.program) : 'ortscope';
    document.title = p ? `${format.fileName(p.program)} · ortscope` : 'ortscope';
    $('target').textContent = !c ? 'no capture' : [p && `pid ${p.pid}`, c.mode === 'live' ? 'live' : 'replay',
        c.rates?.counters_hz && `counters ${c.rates.counters_hz} Hz`,
        c.overhead_per_run_us != null && `recording costs ${format.us(c.overhead_per_run_us)} a run`].filter(Boolean).join(' · ');
    const live = c?.mode === 'live' && c.state !== 'ended' && app.metrics.control;
    for (const e of document.querySelectorAll('.live')) e.hidden = !live;
    const replay = c?.mode === 'replay' && app.metrics.control;
    for (const e of document.querySelectorAll('.replay')) e.hidden = !replay;
    if (replay && !seeking()) {
        $('seek').max = c.duration_s ?? 1;
        $('seek').value = c.time_s;
        $('seek').setAttribute('aria-valuetext', format.clock(c.time_s));
    }
    if (replay && c.speed != null && document.activeElement !== $('speed')) showSpeed($('speed'), c.speed);
    if (c && $('rate').value === '') $('rate').options[0].text = `auto, ${c.rates?.hz} Hz`;
}

// What ortscope has to do is offered while it is there; the file's name stays.
function showLinks() {
    const there = app.connection === 'open', link = $('file'), file = app.capture?.file;
    for (const id of NEED_SERVER) $(id).disabled = !there;
    $('export').disabled = !there || !exportUrl({});
    for (const button of $('processes').querySelectorAll('button')) button.inert = !there;
    $('export').title = there ? '' : 'ortscope is not there: its file can be exported with `ortscope export`.';
    link.hidden = !file;
    if (!file) return;
    const url = there ? exportUrl({capture: app.capture.capture, format: 'ortl'}) : '';
    link.textContent = file;
    link.title = $('export').title;
    link.download = format.fileName(file);
    if (url) link.href = url;
    else link.removeAttribute('href');
}

function showNow() {
    app.dirty = false;
    if (app.metrics) {
        chooseCapture();
        const sessions = app.capture?.sessions ?? [];
        app.chosen = sessions.some((s) => String(s.session) === app.wanted) ? app.wanted : '';
        fillSelect($('session'), [['', 'all'], ...sessions.map((s) => [String(s.session), nameOf(s)])], app.chosen);
        operators.setScope(app.capture?.capture, app.wanted);
        showHeader();
        showGauges(gauges, sessionsShown(), app.capture, app.metrics.window_s);
        const ended = app.capture?.state === 'ended';
        $('summary').hidden = !ended;
        if (ended) showFacts($('summary-facts'), summaryFacts(app.capture, app.capture.sessions));
        $('processes-card').hidden = !processes.answer?.supported;
    }
    showState();
}

function showState() {
    const stopped = app.paused || (app.capture?.state === 'paused' && app.metrics.control);
    $('pause').textContent = stopped ? 'Resume' : 'Pause';
    $('pause').setAttribute('aria-pressed', String(stopped));
    $('token-form').hidden = app.connection !== 'refused';
    showLinks();
    showBanner($('banner'), {...app, processes: processes.answer});
}

function show() {
    if (app.dirty) return;
    app.dirty = true;
    requestAnimationFrame(showNow);
}

// --------------------------------------------------------------------------- what is asked for again

const moving = () => app.connection === 'open' && app.capture && !app.paused && !document.hidden && !app.final;

function showCharts() {
    panels.update(history_, sessionsShown(), app.capture);
    $('charts').dataset.from = history_.time[0] ?? '';
    $('charts').dataset.time = history_.time.at(-1) ?? '';
}

async function updateCharts() {
    if (!moving()) return;
    const capture = app.capture;
    const came = await history_.update(capture.capture, capture.time_s, capture.state === 'ended');
    if (came && !app.paused) showCharts();
}

async function askTables(capture, one) {
    const [distribution, ops, sessions] = await Promise.all([
        one ? get('metrics/distribution', {capture, session: one.session}) : null,
        get('ops', {capture, session: app.chosen, by: 'type', limit: 30}),
        get('sessions', {capture}),
    ]);
    return {capture, one, distribution, ops, sessions};
}

function showTables({capture, one, distribution, ops, sessions}) {
    panels.showDistribution(distribution, one, sessionsShown().length > 1);
    showOps($('ops'), $('ops-number'), ops);
    const facts = sessions.captures.find((c) => c.capture === capture);
    app.facts = new Map((facts?.sessions ?? []).map((s) => [s.session, s]));
    showSessions($('sessions'), $('sessions-number'), app.capture.sessions, app.facts);
}

// A session that is not there (a replay that was moved back) has none: it is not asked for.
const hasOperators = ({ops}) => app.chosen === app.wanted && ops.calls > 0;

async function updateTables() {
    if (app.connection === 'open' && !exportUrl({})) await learnLinkToken().then(showState);
    await updateProcesses();
    if (!moving()) return;
    if (!app.system) await updateSystem();
    const capture = app.capture.capture, ended = app.capture.state === 'ended';
    const tables = await askTables(capture, busiest());
    if (app.capture.capture !== capture) return; // another one was chosen meanwhile
    operators.setKnown(hasOperators(tables));
    if (!app.paused) await operators.update();
    if (app.paused || app.capture.capture !== capture) return;
    showTables(tables);
    if (ended) await finish();
}

// After the end everything is asked for once more, and then no longer.
async function finish() {
    await updateSystem();
    await updateCharts();
    if (app.capture.state === 'ended') app.final = true;
}

// ortscope ends: what belongs to its last message is asked for now, also by a page that is not looked at.
// A paused one keeps it until it goes on.
async function takeLast(metrics) {
    if (!app.paused) showNow();
    const capture = metrics.captures.find((c) => c.capture === app.capture?.capture);
    if (!capture) return;
    const shown = capture.sessions.filter((s) => app.chosen === '' || s.session === Number(app.chosen));
    [app.held] = await Promise.all([
        askTables(capture.capture, busiest(shown)), history_.update(capture.capture, capture.time_s, true),
        app.paused ? null : operators.update(), app.paused ? null : updateSystem()]);
    if (!app.paused) showHeld();
}

function showHeld() {
    showCharts();
    showTables(app.held);
    app.final = true;
}

async function updateSystem() {
    if (!moving()) return;
    const system = await get('system', {capture: app.capture.capture});
    app.system = true;
    panels.setMissing(system.missing);
    operators.setMissing(system.missing.find((m) => m.what === 'operators'));
    $('machine').textContent = [system.cpu, system.cpu_count && `${system.cpu_count} processors`, system.os,
                                `ortscope ${system.ortscope_version}`].filter(Boolean).join(' · ');
}

async function updateProcesses() {
    if (app.connection !== 'open' || document.hidden) return;
    await processes.update(app.metrics?.captures.some((c) => c.mode === 'live' && c.state !== 'ended'));
}

// Again and again, never two at a time; what fails now may work next time.
async function repeat(action, ms) {
    for (;;) {
        try {
            await action();
        } catch (e) {
            if (e.status === undefined) console.error(e);
        }
        await new Promise((resolve) => setTimeout(resolve, ms));
    }
}

// --------------------------------------------------------------------------------------- controls

// Whether it was done. What could not be stays in the banner until something else is asked for.
async function act(action, more) {
    app.failure = '';
    try {
        await control(action, {capture: app.capture?.capture, ...more});
        return true;
    } catch (e) {
        app.failure = e.message;
        return false;
    } finally {
        showState();
    }
}

// The new capture is the one that is looked at.
async function attach(pid) {
    const done = await act('attach', {pid, capture: undefined});
    if (done) app.captureChosen = false;
    return done;
}

// A replay stands still for everybody who may decide that, and a capture that somebody paused for everybody
// goes on for everybody; else only the page does.
function pause() {
    const {mode, state} = app.capture ?? {};
    const everybody = state === 'paused' || (mode === 'replay' && state !== 'ended');
    if (everybody && app.metrics.control && !app.paused) {
        act(state === 'paused' ? 'resume' : 'pause');
        return;
    }
    app.paused = operators.paused = !app.paused;
    if (!app.paused) {
        app.metrics = app.waiting ?? app.metrics;
        showNow();
        if (app.held) showHeld();
    }
    showState();
}

function refresh() {
    app.final = false;
    showNow();
    if (app.capture && history_.time.length) showCharts();
    const asked = app.paused ? [showOnce()] : [updateCharts(), updateTables()];
    Promise.all(asked).catch(() => {});
}

// A page that stands still shows what was chosen, as of the moment at which it stopped where that can be asked for.
async function showOnce() {
    if (app.connection !== 'open' || !app.capture) return;
    const {capture, time_s} = app.capture, {chosen} = app;
    const asOf = () => app.paused && app.capture.capture === capture && app.chosen === chosen;
    if (!history_.time.length && await history_.update(capture, time_s, false, time_s) && asOf()) showCharts();
    const tables = await askTables(capture, busiest());
    if (!asOf()) return;
    showTables(tables);
    operators.setKnown(hasOperators(tables));
    await operators.update(true);
}

const seeking = slider($('seek'), (to_s) => act('seek', {to_s}));

function setUpControls() {
    const on = (id, event, action) => $(id).addEventListener(event, action);
    on('pause', 'click', pause);
    on('session', 'change', () => { app.wanted = $('session').value; refresh(); });
    on('capture', 'change', () => { app.captureChosen = true; refresh(); });
    on('speed', 'change', () => act('speed', {speed: Number($('speed').value)}));
    on('detach', 'click', async () => {
        if (await ask('End the recording? The program goes on, the numbers stay.', 'Detach') !== null) act('detach');
    });
    on('mark', 'click', async () => {
        const text = await ask('Text of the mark', 'Mark', true);
        if (text !== null) act('mark', {text: text || 'mark'});
    });
    on('token-form', 'submit', (e) => {
        e.preventDefault();
        setToken($('token').value.trim());
        $('token').value = '';
        stream.retryNow();
    });
    $('format').replaceChildren(...FORMATS.map(([v, text]) => new Option(text, v)));
    on('export', 'click', () => {
        const [kind, table] = $('format').value.split(':');
        const link = element('a');
        link.href = exportUrl({capture: app.capture?.capture, format: kind, table});
        link.download = '';
        link.click();
    });
    remember($('window'), 'window', (v) => {
        if (app.connection === 'open') history_.reset(Number(v));
        else history_.narrow(Number(v));
        refresh();
    });
    remember($('rate'), 'rate', (v) => stream.setRate(v));
    history_.reset(Number($('window').value));
    document.addEventListener('keydown', (e) => {
        if (e.key !== ' ' || e.target.closest('button, select, input:not([type=range]), a, dialog')) return;
        e.preventDefault();
        pause();
    });
    setUpTheme($('theme'), () => { themeChanged(); operators.view.redraw(); });
}

setUpControls();
const stream = new Stream({
    hz: $('rate').value, window_s: GAUGE_WINDOW_S, onLast: takeLast,
    onMetrics: (m) => {
        app.waiting = m;
        if (app.paused) return showState();
        app.metrics = m;
        show();
    },
    onState: (connection, reason) => {
        // Another ortscope may have taken the place of the one before: nothing of it is kept.
        if (connection === 'open' && app.connection !== 'open') {
            history_.reset(Number($('window').value));
            app.final = app.system = false;
            app.held = null;
            processes.reset();
            if (app.reason) operators.reset(); // it was gone; else only the rate is another one
            learnLinkToken().catch(() => {}).then(showState);
        }
        if (connection !== 'connecting') app.reason = reason ?? '';
        app.connection = connection === 'connecting' && app.reason ? app.connection : connection;
        showState();
    },
});
repeat(updateCharts, CHARTS_MS);
repeat(updateTables, TABLES_MS);
repeat(updateSystem, SYSTEM_MS);

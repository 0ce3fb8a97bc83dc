// SPDX-License-Identifier: MIT
// The charts and what they show. A source that is missing says so, and which command would enable
// it. Each chart has its number in text.
import {processOf} from './banner.js';
import {chart, columns, dots, element} from './charts.js';
import * as format from './format.js';
import {nameOf} from './gauges.js';
import {endOf} from './history.js';

const MOST_MARKS = 6; // in words
const COLOURS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];
const DASHES = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];
// How the lines of a chart differ: by colour, and when all were used by dashes as well.
const look = (i) => ({colour: COLOURS[i % COLOURS.length], dash: DASHES[Math.floor(i / COLOURS.length) % DASHES.length]});
const microseconds = (v) => format.shortTime(v * 1000);
const perCent = (v) => (v == null || Number.isNaN(v) ? format.UNKNOWN : `${v.toFixed(v > 0 && v < 10 ? 1 : 0)} %`);

// The mean of the second before each step: processor time is told at its own pace, in some steps not at
// all and in others for several at once.
// Without an array for each point: there are as many lines as processors.
export function overSecond(values, step) {
    const count = Math.max(1, Math.round(1 / step));
    return values.map((_, i) => {
        let sum = 0, known = 0;
        for (let k = Math.max(0, i - count + 1); k <= i; k++) {
            if (values[k] === null) continue;
            sum += values[k];
            known++;
        }
        return known ? sum / known : null;
    });
}

// A level holds until the next one is told; of what has ended or is no longer told the last one does not hold.
function held(values, ended) {
    const end = ended ? values.findLastIndex((v) => v !== null) : values.length;
    let last = null;
    return values.map((v, i) => (i > end ? null : (last = v ?? last)));
}

// A process that ended before the window began has a counter still, and nothing to draw.
const hasValues = (counter) => counter.columns.values.some((v) => v !== null);

// The number of each process that runs; when none does, of the one that the capture is named after.
function ofProcesses(capture, number) {
    const running = capture.processes.filter((p) => p.state === 'running');
    return (running.length ? running : [processOf(capture)]).map(number).join(', ');
}

class Panel {
    constructor(parent, id, title, options) {
        this.card = element('div', 'card');
        this.card.id = `panel-${id}`;
        const head = element('div', 'card-head');
        this.number = element('p', 'number');
        head.append(element('h2', '', title), this.number);
        this.body = element('div');
        this.none = element('div', 'missing');
        this.none.hidden = true;
        this.aside = element('div', 'lacks small');
        this.card.append(head, this.body, this.none);
        parent.append(this.card);
        this.chart = chart(this.body, {title, ...options});
        this.body.append(this.aside);
        this.shape = '';
    }

    // Other lines than before: only then the plot is built anew.
    show(series, data) {
        this.none.hidden = true;
        this.body.hidden = false;
        this.card.classList.remove('absent');
        const shape = JSON.stringify(series.map((s) => [s.label, s.colour, s.dash]));
        this.chart.data = data;
        if (shape !== this.shape) {
            this.shape = shape;
            this.chart.setSeries(series);
        } else {
            this.chart.renewSeries(series);
            this.chart.setData(data);
        }
    }

    missing(why, command) {
        this.body.hidden = true;
        this.none.hidden = false;
        this.card.classList.add('absent');
        this.number.textContent = '';
        tellMissing(this.none, {why, command});
    }

    // Part of what the chart could show is missing; undefined: nothing is.
    lacks(reason) {
        tellMissing(this.aside, reason);
    }
}

// A source that is missing: why, and what would enable it.
export function tellMissing(box, {why = '', command = ''} = {}) {
    if (box.told === why + command) return;
    box.told = why + command;
    box.replaceChildren();
    if (why) box.append(element('span', '', why));
    if (!command) return;
    const line = element('span', '', 'To enable it: ');
    line.append(element('code', '', command));
    box.append(line);
}

export class Panels {
    constructor(parent, {onRun}) {
        this.onRun = onRun;
        const make = (id, title, options) => new Panel(parent, id, title, options);
        this.latency = make('latency', 'Latency over time', {
            format: format.us, axisText: microseconds, onClick: (i) => this.clicked(i)});
        this.distribution = make('distribution', 'Latency distribution', {
            format: format.count, axisText: (v) => (Number.isInteger(v) ? format.count(v) : ''),
            xText: microseconds, xScale: {range: (u, low, high) => [low - this.binWidth / 2, high + this.binWidth / 2]}});
        this.throughput = make('throughput', 'Throughput', {format: format.rate, axisText: (v) => `${+v.toPrecision(3)}`});
        this.cpu = make('cpu', 'Processor', {format: perCent});
        this.memory = make('memory', 'Memory', {format: format.bytes, axisText: format.shortBytes});
        this.arenas = make('arenas', 'Arenas of the sessions', {format: format.bytes, axisText: format.shortBytes});
        this.gpu = make('gpu', 'GPU', {format: perCent, range: () => [0, 100]});
        this.npu = make('npu', 'NPU', {format: perCent, range: () => [0, 100]});
        this.power = make('power', 'Power and energy per inference', {format: format.watts, secondText: format.shortJoules});
        this.outlierList = element('ul', 'legend outliers');
        this.markList = element('ul', 'legend marks');
        this.latency.body.append(this.outlierList, this.markList);
        for (const left of ['pointerleave', 'focusout'])
            this.outlierList.addEventListener(left, () => this.listOutliers());
        this.overTime = [this.latency, this.throughput, this.cpu, this.memory, this.arenas, this.gpu, this.npu, this.power];
        this.reasons = {};
        this.outliers = [];
        this.others = []; // {time_s, rate} of other captures
        this.names = new Map(); // of sessions, where several are shown
    }

    setMissing(list) {
        this.reasons = Object.fromEntries(list.map((m) => [m.what, m]));
    }

    lack(panel, what) {
        const m = this.reasons[what];
        panel.missing(m?.why ?? 'Nothing was measured yet.', m?.command ?? '');
    }

    // history: History; chosen: the sessions to show (of metrics/current); system: its system part.
    update(history, chosen, capture) {
        this.time = history.time;
        this.capture = capture.capture;
        for (const panel of this.overTime) panel.chart.marks = history.marks;
        this.listMarks(history.marks);
        const sessions = chosen.map((s) => ({s, columns: history.sessions.get(s.session)?.columns}))
            .filter((e) => e.columns);
        this.showLatency(history, sessions);
        this.showThroughput(history, sessions);
        this.showCpu(history, capture);
        this.showMemory(history, capture);
        this.showArenas(history, sessions);
        this.showDevices(history, capture, this.gpu, 'gpu');
        this.showDevices(history, capture, this.npu, 'npu');
        this.showPower(history, capture);
    }

    showLatency(history, sessions) {
        if (!sessions.length) return this.latency.missing('No run has ended yet.', '');
        const numbers = new Set(sessions.map((e) => e.s.session));
        const from = history.time[0] ?? 0;
        this.outliers = history.outliers.filter((o) => numbers.has(o.session) && endOf(o) >= from - history.step);
        const marks = new Array(history.time.length).fill(null);
        for (const o of this.outliers) {
            const i = Math.min(marks.length - 1, Math.max(0, Math.floor((endOf(o) - from) / history.step)));
            marks[i] = Math.max(marks[i] ?? 0, o.duration_us);
        }
        const one = sessions.length === 1;
        const lines = one
            ? [['p50', 'p50_us', '--c1'], ['p95', 'p95_us', '--c2'], ['p99', 'p99_us', '--c5']].map(([label, column, c]) =>
                ({label, colour: c, values: sessions[0].columns[column]}))
            : sessions.map((e, i) => ({label: `${nameOf(e.s)} p50`, ...look(i), values: e.columns.p50_us}));
        this.latency.show(
            [...lines.map((l) => ({...l, values: undefined, plot: {spanGaps: true}})),
             {label: 'outliers', colour: '--bad', plot: dots, text: () => format.count(this.outliers.length)}],
            [history.time, ...lines.map((l) => l.values), marks]);
        const last = one && sessions[0].s.last_run;
        this.latency.number.textContent = last ? `latest ${format.us(last.duration_us)}` : `${sessions.length} sessions`;
        this.names = new Map(one ? [] : sessions.map((e) => [e.s.session, nameOf(e.s)]));
        this.listOutliers();
    }

    // Left alone while somebody is about to press one: a button that is made anew meanwhile is never clicked.
    listOutliers() {
        const newest = this.outliers.slice(-4).reverse();
        const nameOfRun = (o) => [this.names.get(o.session), `run ${o.run}: ${format.us(o.duration_us)}`].filter(Boolean).join(', ');
        const shape = JSON.stringify(newest.map((o) => [o.session, nameOfRun(o)]));
        const looked = this.outlierList.matches(':hover, :focus-within') && this.outliersOf === this.capture;
        if (shape === this.outlierShape || looked) return;
        [this.outlierShape, this.outliersOf] = [shape, this.capture];
        this.outlierList.replaceChildren(...newest.map((o) => {
            const item = element('li'), button = element('button', '', nameOfRun(o));
            button.type = 'button';
            button.title = 'Show its operators';
            button.addEventListener('click', () => this.onRun(o.session, o.run));
            item.append(button);
            return item;
        }));
    }

    // The same marks in words.
    listMarks(marks) {
        const shape = JSON.stringify(marks);
        if (shape === this.markShape) return;
        this.markShape = shape;
        const newest = marks.slice(-MOST_MARKS), more = marks.length - newest.length;
        this.markList.replaceChildren(
            ...(more ? [element('li', '', `${format.count(more)} earlier marks`)] : []),
            ...newest.map((m) => {
                const item = element('li', '', 'mark ');
                item.append(element('b', '', format.clock(m.time_s)), ` ${m.text}`);
                return item;
            }));
    }

    clicked(i) {
        const t = this.time[i];
        const near = this.outliers.filter((o) => Math.abs(endOf(o) - t) < (this.time.at(-1) - this.time[0]) / 50);
        if (!near.length) return;
        const o = near.reduce((a, b) => (b.duration_us > a.duration_us ? b : a));
        this.onRun(o.session, o.run);
    }

    showThroughput(history, sessions) {
        if (!sessions.length) return this.throughput.missing('No run has ended yet.', '');
        this.throughput.show(
            sessions.map((e, i) => ({label: sessions.length === 1 ? 'runs a second' : nameOf(e.s), ...look(i),
                                     fill: sessions.length === 1})),
            [history.time, ...sessions.map((e) => overSecond(e.columns.throughput_per_s, history.step))]);
        const now = sessions.reduce((t, e) => t + (e.s.window.throughput_per_s ?? 0), 0);
        this.throughput.number.textContent = `now ${format.rate(now)}`;
    }

    // d: that of the session `one`, whose failed runs are not in it.
    showDistribution(d, one, several) {
        if (!d?.runs) return this.distribution.missing(one?.failed_runs ? 'No run has succeeded yet.' : 'No run has ended yet.', '');
        const middle = d.from_us.map((f, i) => (f + d.to_us[i]) / 2);
        // The last bin holds all that is slower, however long: it gets the width of the others.
        this.binWidth = d.to_us[0] - d.from_us[0] || 1;
        if (middle.length > 1) middle[middle.length - 1] = d.from_us.at(-1) + this.binWidth / 2;
        this.distribution.show([{label: 'runs', colour: '--c1', fill: true, solid: true, width: 0, plot: columns(),
                                 text: () => format.count(d.runs)}], [middle, d.count]);
        const most = d.count.indexOf(Math.max(...d.count));
        this.distribution.number.textContent =
            `${several ? `${nameOf(one)}: ` : ''}most between ${format.us(d.from_us[most])} and ${format.us(d.to_us[most])}`;
    }

    showCpu(history, capture) {
        const cores = history.select('cpu_percent', 'core').sort((a, b) => a.number - b.number);
        const own = history.select('cpu_percent', 'process').filter(hasValues);
        if (!cores.length && !own.length) return this.lack(this.cpu, this.reasons.cores ? 'cores' : 'cpu');
        const busiest = () => perCent(Math.max(...capture.system.cores.map((c) => c.cpu_percent ?? 0)));
        const many = cores.length > 6;
        this.cpu.show([
            ...cores.map((c, i) => ({label: many ? `cores (${cores.length}), busiest` : `core ${c.number}`,
                                     ...(many ? {colour: '--muted'} : look(i + 1)), width: 1, hidden: many && i > 0,
                                     ...(many && {text: busiest}), plot: {spanGaps: true}})),
            ...own.map((c, i) => ({label: `process${own.length > 1 ? ` ${this.pidOf(capture, c)}` : ''}`,
                                   ...look(i && !many ? cores.length + i : i), width: 2.2, plot: {spanGaps: true}}))],
            [history.time, ...[...cores, ...own].map((c) => overSecond(c.columns.values, history.step))]);
        this.cpu.lacks(!cores.length ? this.reasons.cores : !own.length ? this.reasons.cpu : undefined);
        const p = ofProcesses(capture, (e) => perCent(e?.cpu_percent));
        this.cpu.number.textContent = `process ${p} of a core, machine ${perCent(capture.system.cpu_percent)}`;
    }

    pidOf(capture, counter) {
        return capture.processes.find((p) => p.process === counter.process)?.pid ?? counter.process;
    }

    showMemory(history, capture) {
        const lines = [['working_set', 'in RAM'], ['private', 'private']].flatMap(([name, label]) => {
            const own = history.select(name, 'process').filter(hasValues);
            return own.map((c) => ({label: own.length > 1 ? `${label} ${this.pidOf(capture, c)}` : label, values: c.columns.values}));
        });
        if (!lines.length) return this.lack(this.memory, 'memory');
        this.memory.show(lines.map((l, i) => ({label: l.label, ...look(i), plot: {spanGaps: true}})),
                         [history.time, ...lines.map((l) => l.values)]);
        this.memory.number.textContent = `process ${ofProcesses(capture, (p) => format.bytes(p?.working_set_bytes))}`;
    }

    // Of several sessions all together; those that have ended have given theirs back, and what came to be shared by
    // several is nobody's own.
    showArenas(history, sessions) {
        const told = (e) => !e.s.ended && (e.s.memory?.held_bytes ?? null) !== null;
        const sumOf = (name) => {
            const some = sessions.map((e) => held(e.columns[name], !told(e))).filter((values) => values.some((v) => v !== null));
            return some.length && history.time.map((_, i) => some.reduce(
                (t, values) => (values[i] === null ? t : (t ?? 0) + values[i]), null));
        };
        const lines = [['held_bytes', 'held'], ['in_use_bytes', 'in use']].map(([name, label]) => ({label, values: sumOf(name)}))
            .filter((l) => l.values);
        if (!lines.length) return this.lack(this.arenas, 'arena');
        this.arenas.show(lines.map((l, i) => ({label: l.label, ...look(i + 3), plot: {spanGaps: true}})),
                         [history.time, ...lines.map((l) => l.values)]);
        const own = sessions.filter(told);
        const now = (name) => format.bytes(own.reduce((t, e) => t + (e.s.memory[name] ?? 0), 0));
        const shared = sessions.some((e) => !e.s.ended && e.s.memory?.shared);
        this.arenas.number.textContent = own.length ? `held ${now('held_bytes')}, in use ${now('in_use_bytes')}`
            : shared ? 'shared by several sessions' : 'released';
    }

    showDevices(history, capture, panel, kind) {
        const devices = history.select(`${kind}_utilization`, 'device');
        const now = capture.system[`${kind}s`] ?? [];
        if (!devices.length) return this.lack(panel, kind);
        panel.show(devices.map((d, i) => ({label: d.subject ?? `${kind} ${d.number}`, ...look(i), plot: {spanGaps: true}})),
                   [history.time, ...devices.map((d) => d.columns.values)]);
        panel.number.textContent = now.map((d) => [
            perCent(d.utilization_percent), d.memory_bytes == null ? '' : format.bytes(d.memory_bytes),
            d.temperature_c == null ? '' : `${d.temperature_c.toFixed(0)} °C`].filter(Boolean).join(', ')).join('; ');
    }

    // Runs a second of other captures over time: they share the machine's power. Each message tells how many there
    // are now, which is kept as that of the time since the one before.
    othersOver({time, step}, {capture, time_s, sessions, system}) {
        const own = sessions.reduce((t, s) => t + (s.window.throughput_per_s ?? 0), 0);
        if (this.othersOf !== capture || this.others.at(-1)?.time_s > time_s) this.others = [];
        this.othersOf = capture;
        if (this.others.at(-2)?.time_s > time_s - step) this.others.pop(); // one a step is enough
        this.others.push({time_s, rate: Math.max(0, (system.throughput_per_s ?? own) - own)});
        while (this.others.length > 1 && this.others[0].time_s < time[0]) this.others.shift();
        let at = 0;
        return time.map((t) => {
            while (at < this.others.length - 1 && this.others[at].time_s < t) at++;
            return this.others[at].rate;
        });
    }

    // Joules: what the machine's meter told, shared among all runs of that second.
    energyOver(history, capture, watts) {
        const rates = [...history.sessions.values()].map((e) => overSecond(e.columns.throughput_per_s, history.step));
        const others = this.othersOver(history, capture);
        return watts.map((w, i) => {
            const rate = rates.reduce((t, r) => t + (r[i] ?? 0), others[i]);
            return w === null || !rate ? null : w / rate;
        });
    }

    // A device's power is only a part of what an inference takes: without a meter of the machine there is no energy.
    showPower(history, capture) {
        const machine = ['power', 'energy'].map((n) => history.select(n, 'machine')).find((m) => m.length) ?? [];
        const meters = [...machine, ...history.select('power', 'device')];
        if (!meters.length) return this.lack(this.power, 'power');
        const watts = meters.map((m) => overSecond(m.columns.values, history.step));
        const energy = machine.length ? [this.energyOver(history, capture, watts[0])] : [];
        const nameOfMeter = (m) => m.subject ?? `${m.about} ${m.number ?? ''}`;
        this.power.show(
            [...meters.map((m, i) => ({label: nameOfMeter(m), ...look(i), plot: {spanGaps: true}})),
             ...energy.map(() => ({label: 'an inference', colour: '--c4', second: true, dash: [5, 4], format: format.joules,
                                   plot: {spanGaps: true}}))],
            [history.time, ...meters.map((m) => m.columns.values), ...energy]);
        this.power.lacks(machine.length ? undefined : this.reasons.power);
        const {power_w, energy_per_inference_j} = capture.system;
        this.power.number.textContent = machine.length
            ? `${format.watts(power_w ?? watts[0].at(-1))}, ${format.joules(energy_per_inference_j)} an inference`
            : meters.map((m, i) => `${nameOfMeter(m)} ${format.watts(watts[i].at(-1))}`).join(', ');
    }
}

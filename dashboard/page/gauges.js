// SPDX-License-Identifier: MIT
// The six numbers at the top, of the chosen session or of all.
import {element} from './charts.js';
import * as format from './format.js';

const GAUGES = [
    ['throughput', 'Throughput'], ['p50', 'p50 latency'], ['p95', 'p95 latency'],
    ['p99', 'p99 latency'], ['failures', 'Failures'], ['in_flight', 'In flight'],
];

export function createGauges(parent) {
    const gauges = {};
    for (const [id, name] of GAUGES) {
        const box = element('div', 'gauge'), value = element('div', 'value', format.UNKNOWN);
        const more = element('div', 'more');
        box.dataset.gauge = id;
        value.id = `gauge-${id}`;
        box.append(element('div', 'name', name), value, more);
        parent.append(box);
        gauges[id] = {box, value, more, shown: ''};
    }
    return gauges;
}

const sum = (list, pick) => list.reduce((total, item) => total + (pick(item) ?? 0), 0);

// The number large, its unit small.
function put(gauge, text, more) {
    const shown = `${text}|${more}`;
    if (gauge.shown === shown) return;
    gauge.shown = shown;
    const [number, ...unit] = text.split(' ');
    gauge.value.replaceChildren(number);
    if (unit.length) gauge.value.append(' ', element('small', '', unit.join(' ')));
    gauge.more.textContent = more;
}

// With its number: several sessions may have one model.
export const nameOf = (s) => `${s.session} ${format.fileName(s.model) || 'model not known'}`;

// Of several sessions a percentile is that of the slowest one: there is none of all together.
function percentile(sessions, which) {
    const known = sessions.filter((s) => s.window.latency_us && s.window.latency_us[which] != null);
    if (!known.length) return {value: null, more: ''};
    const s = known.reduce((a, b) => (b.window.latency_us[which] > a.window.latency_us[which] ? b : a));
    const total = s.total.latency_us?.[which];
    return {value: s.window.latency_us[which],
            more: sessions.length > 1 ? `slowest: ${nameOf(s)}` : `overall ${format.us(total)}`};
}

// ---------------------------------------------------------------------------------------- in flight

const ROUNDING_S = 1e-6; // of the times of recent runs: one that ends where the next begins is no overlap
const IDLE_S = 1;

// [begin, end] of the newest runs of a session, in seconds.
const spansOf = (s) => s.recent_runs.begin_s.map((begin, i) => [begin, begin + s.recent_runs.duration_us[i] / 1e6 - ROUNDING_S]);

// The most runs that were under way at once since a moment.
function mostAtOnce(spans, from) {
    const changes = spans.filter(([, end]) => end >= from).flatMap(([begin, end]) => [[begin, 1], [Math.max(begin, end), -1]])
        .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let now = 0, most = 0;
    for (const [, change] of changes) most = Math.max(most, now += change);
    return most;
}

// A session tells how many were under way when its newest run began. Of several sessions that holds for the
// one whose run is the newest; of the others those count that were under way at that moment. A run is told
// when it ends, so that the next one is given twice its time before nothing runs.
function inFlight(sessions, capture, window_s) {
    const ran = sessions.filter((s) => s.last_run);
    const newest = ran.reduce((a, b) => (!a || b.last_run.begin_s > a.last_run.begin_s ? b : a), null);
    if (!newest) return {now: 0, most: 0};
    const at = newest.last_run.begin_s, seconds = newest.last_run.duration_us / 1e6;
    const idle = capture.state === 'ended' || capture.time_s > at + seconds + Math.max(IDLE_S, 2 * seconds);
    const others = ran.filter((s) => s !== newest).flatMap(spansOf).filter(([begin, end]) => begin <= at && at < end);
    const now = idle ? 0 : newest.in_flight + others.length;
    const most = mostAtOnce(ran.flatMap(spansOf), capture.time_s - window_s);
    return {now, most: Math.max(now, most, ...ran.map((s) => s.window.in_flight_max))};
}

// sessions: those of the capture that are shown.
export function showGauges(gauges, sessions, capture, window_s) {
    const runs = sum(sessions, (s) => s.runs), failed = sum(sessions, (s) => s.failed_runs);
    put(gauges.throughput, sessions.length ? format.rate(sum(sessions, (s) => s.window.throughput_per_s)) : format.UNKNOWN,
        `last ${window_s} s; ${format.count(runs)} runs in all`);
    for (const which of ['p50', 'p95', 'p99']) {
        const {value, more} = percentile(sessions, which);
        put(gauges[which], format.us(value), more);
    }
    put(gauges.failures, format.count(failed), failed ? `${format.percent(failed / runs)} of all runs` : 'no run failed');
    gauges.failures.box.classList.toggle('bad', failed > 0);
    const {now, most} = inFlight(sessions, capture, window_s);
    put(gauges.in_flight, format.count(now), `at most ${format.count(most)} in ${window_s} s`);
}

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

export const nameOf = (s) => format.fileName(s.model) || `session ${s.session}`;

// Of several sessions a percentile is that of the slowest one: there is none of all together.
function percentile(sessions, which) {
    const known = sessions.filter((s) => s.window.latency_us && s.window.latency_us[which] != null);
    if (!known.length) return {value: null, more: ''};
    const s = known.reduce((a, b) => (b.window.latency_us[which] > a.window.latency_us[which] ? b : a));
    const total = s.total.latency_us?.[which];
    return {value: s.window.latency_us[which],
            more: sessions.length > 1 ? `slowest: ${nameOf(s)}` : `overall ${format.us(total)}`};
}

export function showGauges(gauges, sessions, window_s) {
    const runs = sum(sessions, (s) => s.runs), failed = sum(sessions, (s) => s.failed_runs);
    put(gauges.throughput, sessions.length ? format.rate(sum(sessions, (s) => s.window.throughput_per_s)) : format.UNKNOWN,
        `last ${window_s} s; ${format.count(runs)} runs in all`);
    for (const which of ['p50', 'p95', 'p99']) {
        const {value, more} = percentile(sessions, which);
        put(gauges[which], format.us(value), more);
    }
    put(gauges.failures, format.count(failed), failed ? `${format.percent(failed / runs)} of all runs` : 'no run failed');
    gauges.failures.box.classList.toggle('bad', failed > 0);
    put(gauges.in_flight, format.count(sum(sessions, (s) => s.in_flight)),
        `at most ${format.count(sum(sessions, (s) => s.window.in_flight_max))} in ${window_s} s`);
}

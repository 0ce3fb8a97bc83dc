// SPDX-License-Identifier: MIT
// Tables and lists of facts; all text by textContent.
import {element} from './charts.js';
import {typeColour} from './colours.js';
import * as format from './format.js';
import {nameOf} from './gauges.js';

// columns: [title, is a number, how a row's cell is made (text or element)]
function fill(table, columns, rows, classOf = () => '') {
    const head = element('tr');
    for (const [title, number] of columns) {
        const th = element('th', number ? 'num' : '', title);
        th.scope = 'col';
        head.append(th);
    }
    const body = rows.map((row) => {
        const tr = element('tr', classOf(row));
        for (const [, number, cell] of columns) {
            const td = element('td', number ? 'num' : 'name');
            const made = cell(row);
            td.append(made instanceof Node ? made : String(made));
            tr.append(td);
        }
        return tr;
    });
    const [thead, tbody] = [element('thead'), element('tbody')];
    thead.append(head);
    tbody.append(...body);
    table.replaceChildren(thead, tbody);
}

function share(value) {
    const box = element('span', 'share'), track = element('span', 'track'), bar = element('span', 'bar');
    bar.style.width = `${Math.min(100, 100 * (value ?? 0))}%`;
    track.append(bar);
    box.append(track, element('span', 'text', format.percent(value)));
    return box;
}

function typeCell(o) {
    const box = element('span'), swatch = element('span', 'swatch inline');
    swatch.style.background = typeColour(format.opType(o));
    box.append(swatch, ` ${format.opType(o)}`);
    const domain = o.domain && o.domain !== 'ai.onnx' ? ` ${o.domain.split('.').pop()}` : '';
    box.append(element('span', 'muted', `${domain}${format.timeRemark(o.time)}`));
    return box;
}

export function showOps(table, number, answer) {
    fill(table, [
        ['Operator', false, typeCell],
        ['Provider', false, (o) => String(o.provider ?? '').replace(/ExecutionProvider$/, '')],
        ['Calls', true, (o) => format.count(o.calls)],
        ['Mean', true, (o) => format.us(o.mean_us)],
        ['Self', true, (o) => format.us(o.self_us)],
        ['Share', true, (o) => share(o.share)],
    ], answer.ops);
    number.textContent = answer.calls
        ? `${format.count(answer.calls)} executions, ${format.us(answer.self_us)}${format.timeRemark(answer.time)}${
            answer.more ? `; ${answer.more} more type${answer.more === 1 ? '' : 's'}` : ''}`
        : 'none yet';
}

export function showSessions(table, number, sessions, facts) {
    const name = (s) => {
        const of = facts.get(s.session), box = element('span');
        const more = [(of?.providers ?? []).map((p) => p.replace(/ExecutionProvider$/, '')).join(', '),
                      of?.load_ms != null && `loaded in ${format.us(of.load_ms * 1000)}`, s.ended && 'ended'].filter(Boolean);
        box.append(nameOf(s), element('br'),
                   element('span', 'muted small', more.join(' · ')));
        return box;
    };
    fill(table, [
        ['Session', false, name],
        ['Runs', true, (s) => format.count(s.runs)],
        ['Failed', true, (s) => format.count(s.failed_runs)],
        ['p50', true, (s) => format.us(s.total.latency_us?.p50)],
        ['p99', true, (s) => format.us(s.total.latency_us?.p99)],
        ['Max', true, (s) => format.us(s.total.latency_us?.max)],
    ], sessions, (s) => (s.failed_runs ? 'bad' : ''));
    number.textContent = `${sessions.length}, since the capture began`;
}

// attaching: those that are being attached to; onAttach: null where this page may not.
export function showProcesses(table, number, answer, attaching, onAttach) {
    fill(table, [
        ['Process', false, (p) => p.name],
        ['PID', true, (p) => p.pid],
        ['ONNX Runtime', false, (p) => p.ort_version ?? format.UNKNOWN],
        ['', true, (p) => {
            const underWay = attaching.has(p.pid);
            const button = element('button', '', underWay ? 'Attaching' : p.can_attach ? 'Attach' : 'Not possible');
            button.type = 'button';
            button.disabled = underWay || !p.can_attach || !onAttach;
            if (p.why_not || !onAttach) button.title = p.why_not ?? 'This address may only look.';
            button.addEventListener('click', () => onAttach(p.pid));
            return button;
        }],
    ], answer.processes);
    number.textContent = answer.supported ? `${answer.processes.length} with ONNX Runtime` : 'attaching needs Windows';
}

export function showFacts(list, facts) {
    list.replaceChildren(...facts.map(([name, value, id]) => {
        const box = element('div'), dd = element('dd', '', value);
        if (id) dd.id = id;
        box.append(element('dt', '', name), dd);
        return box;
    }));
}

export function summaryFacts(capture, sessions) {
    const facts = [['Recorded', format.time(capture.time_s * 1e9), 'sum-time'],
                   ['Events lost', format.count(capture.lost_events), 'sum-lost'],
                   ['Cost of recording a run', format.us(capture.overhead_per_run_us), 'sum-overhead']];
    for (const p of capture.processes)
        facts.push([`${format.fileName(p.program)}, pid ${p.pid}`,
                    p.state === 'exited' ? `ended with code ${p.exit_code ?? format.UNKNOWN}` : p.state]);
    for (const s of sessions) {
        const l = s.total.latency_us, name = nameOf(s);
        facts.push([`${name}: runs`, `${format.count(s.runs)}${s.failed_runs ? `, ${format.count(s.failed_runs)} failed` : ''}`, `sum-runs-${s.session}`],
                   [`${name}: throughput`, format.rate(s.total.throughput_per_s), `sum-rate-${s.session}`],
                   [`${name}: p50, p95, p99`, [l?.p50, l?.p95, l?.p99].map(format.us).join(', '), `sum-latency-${s.session}`],
                   [`${name}: slowest`, format.us(l?.max), `sum-max-${s.session}`]);
    }
    return facts;
}

// SPDX-License-Identifier: MIT
// The card around the operator timeline: which inference, which operators, and in words what the
// pointer or the keyboard has found.
import {get} from './api.js';
import {element} from './charts.js';
import {providerColour, typeColour} from './colours.js';
import * as format from './format.js';
import {inWords} from './op_links.js';
import {buildModel} from './op_model.js';
import {tellMissing} from './panels.js';
import {OpTimeline} from './timeline.js';

const $ = (id) => document.getElementById(id);
const MOST_TYPES_IN_LEGEND = 14;
const shortProvider = (p) => String(p ?? '').replace(/ExecutionProvider$/, '') || 'no provider';

// The answer of /timeline as operators.
export function operatorsOf(answer) {
    const {ops, kernels, runs} = answer;
    return ops.kernel.map((k, i) => {
        const kernel = kernels[k] ?? {};
        return {begin_ns: ops.begin_us[i] * 1000, end_ns: (ops.begin_us[i] + ops.duration_us[i]) * 1000,
                thread: ops.thread[i], depth: ops.depth[i], failed: ops.failed[i],
                type: format.opType(kernel), provider: shortProvider(kernel.provider), name: kernel.node ?? '',
                domain: kernel.domain ?? '', submits: kernel.submits === true, run: runs[ops.run[i]]?.run, kernel: k,
                producers: kernel.producers ?? null};
    });
}

const NOTHING = buildModel([]);
const TRIES = 5, TRY_MS = 300;
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms, true));

export class OpPanel {
    constructor() {
        this.latest = true;
        this.session = '';
        this.question = 0; // which was asked last: an answer to another one is not shown
        this.view = new OpTimeline($('timeline'), {onSelect: (o, x, y, links) => this.selected(o, x, y, links)});
        const on = (id, event, action) => $(id).addEventListener(event, action);
        on('run', 'change', () => this.choose(this.shownSession, $('run').valueAsNumber));
        on('run-before', 'click', () => this.choose(this.shownSession, this.run - 1));
        on('run-after', 'click', () => this.choose(this.shownSession, this.run + 1));
        on('run-latest', 'click', () => this.setLatest(!this.latest));
        on('type', 'change', () => this.filter());
        on('provider', 'change', () => this.filter());
        on('zoom-in', 'click', () => this.view.model && this.view.zoom(0.5));
        on('zoom-out', 'click', () => this.view.model && this.view.zoom(2));
        on('zoom-fit', 'click', () => this.view.model && this.view.fit());
    }

    setLatest(latest) {
        this.latest = latest;
        this.question++;
        $('run-latest').setAttribute('aria-pressed', String(latest));
        if (latest) this.wanted = null;
        return latest ? this.update(true) : undefined;
    }

    // The chosen session changed, or another capture is shown.
    setScope(capture, session) {
        if (capture === this.capture && session === this.session) return;
        [this.capture, this.session] = [capture, session];
        this.reset();
    }

    // What is shown is another's now, whoever looks into it and though its run has the same number; whether this one
    // has operators is soon known.
    reset() {
        [this.key, this.known, this.foreign] = ['', undefined, true];
        this.view.select(null);
        this.setLatest(true);
    }

    choose(session, run) {
        if (!Number.isInteger(run) || run < 1) return this.setLatest(true);
        this.wanted = {session, run};
        this.setLatest(false);
        return this.update(true);
    }

    // The newest one is not exchanged while somebody looks into it.
    get busy() { return this.view.zoomed || $('timeline').matches(':hover, :focus'); }

    // Whether there are operators to ask for.
    setKnown(known) { this.known = known; }

    // Why no operator is told, as /system says it; undefined: some are.
    setMissing(reason) { this.reason = reason; }

    tellNone() {
        if (this.foreign && this.run) this.clear();
        $('timeline-details').textContent = '';
        tellMissing($('timeline-missing'), this.reason ?? {why: 'No operators yet.'});
    }

    clear() {
        [this.run, this.shownSession] = [];
        $('run').value = $('timeline-number').textContent = '';
        $('timeline').removeAttribute('aria-label');
        this.fillFilters(NOTHING);
        this.view.show(NOTHING);
    }

    // One request at a time; what was chosen while one is under way is asked for next.
    async update(force = false) {
        if (!this.known && !this.wanted) {
            if (this.known === false) this.tellNone();
            return;
        }
        const kept = !this.latest || (this.view.model && this.busy && !this.foreign);
        if (!this.capture || (!force && kept)) return;
        if (this.asking) this.again ||= force || this.foreign;
        else this.asking = this.askUntilShown(force).finally(() => { this.asking = null; });
        await this.asking;
    }

    async askUntilShown(force) {
        let failures = 0, question = this.question;
        do {
            this.again = false;
            const there = await this.ask(force);
            force = true;
            if (question !== this.question) [failures, question] = [0, this.question];
            // A run that just left the memory may not be in the file yet.
            if (!there && this.wanted && ++failures < TRIES) this.again = await later(TRY_MS);
        } while (this.again);
    }

    // False if it could not be had.
    async ask(force) {
        const question = this.question;
        try {
            const which = this.wanted ?? {session: this.session};
            const answer = await get('timeline', {capture: this.capture, ...which});
            if (question === this.question && (force || !this.paused)) this.show(answer);
            return true;
        } catch (e) {
            if (question !== this.question) return false;
            if (e.status === 404 && !this.wanted) this.tellNone();
            else $('timeline-details').textContent = e.message;
            return false;
        }
    }

    show(answer) {
        const run = answer.runs[0];
        if (!run) return;
        tellMissing($('timeline-missing'));
        const key = `${answer.capture}/${run.session}/${run.run}`;
        this.foreign = false;
        if (key === this.key) return;
        [this.key, this.run, this.shownSession] = [key, run.run, run.session];
        const model = buildModel(operatorsOf(answer));
        model.end_ns = Math.max(model.end_ns, run.duration_us * 1000);
        $('run').value = run.run;
        this.fillFilters(model);
        this.view.show(model);
        this.filter();
        const changes = model.rows.reduce((n, r) => n + r.transitions.length, 0);
        const facts = [`run ${format.count(run.run)} of session ${run.session}`, `${format.count(model.count)} operators`,
                       format.us(run.duration_us), run.status ? 'failed' : '',
                       `${format.count(changes)} provider change${changes === 1 ? '' : 's'}`,
                       answer.ops_left_out ? `${format.count(answer.ops_left_out)} left out` : ''].filter(Boolean);
        $('timeline-number').textContent = facts.join(' · ');
        $('timeline').setAttribute('aria-label', `Operators as bars over time: ${facts.join(', ')}`);
        $('timeline-details').textContent = model.count ? '' : 'This inference has no operators in the recording (--ops).';
    }

    fillFilters(model) {
        // What was chosen stays, also where this inference has none of it: the next one may.
        const fill = (select, names) => {
            const wanted = select.value;
            const offered = !wanted || names.includes(wanted) ? names : [...names, wanted];
            select.replaceChildren(new Option('all', ''), ...offered.map((n) => new Option(n, n)));
            select.value = wanted;
        };
        fill($('type'), [...model.types].sort());
        fill($('provider'), model.providers);
        const item = (name, colour) => {
            const li = element('li'), swatch = element('span', 'swatch');
            swatch.style.background = colour;
            li.append(swatch, element('span', '', name));
            return li;
        };
        const shown = model.types.slice(0, MOST_TYPES_IN_LEGEND);
        $('types').replaceChildren(...shown.map((t) => item(t, typeColour(t))),
                                   ...model.providers.map((p) => item(
                                       `on ${p}${format.timeRemark(model.submitting.has(p) && 'submission')}`, providerColour(p))));
    }

    filter() {
        this.view.filter($('type').value, $('provider').value);
    }

    selected(o, x, y, links) {
        const tip = $('tip');
        tip.hidden = !o;
        if (!o) return;
        const length = o.end_ns - o.begin_ns;
        const lines = [`${format.time(length)}, from ${format.time(o.begin_ns)}, ${format.percent(length / this.view.end)} of the run`,
                       `${o.provider}${format.timeRemark(o.submits && 'submission')}, thread ${o.thread}${
                           o.depth ? `, nested ${o.depth}` : ''}${o.failed ? ', failed' : ''}`];
        if (links)
            lines.push(...[inWords('reads', links.producers) || (o.producers.length ? '' : 'reads inputs and constants only'),
                           inWords('feeds', links.consumers)].filter(Boolean));
        const title = `${o.type}${o.domain && o.domain !== 'ai.onnx' ? ` (${o.domain})` : ''}`;
        tip.replaceChildren(element('b', '', title), element('div', '', o.name),
                            ...lines.map((l) => element('div', 'muted', l)));
        $('timeline-details').textContent = [title, o.name, ...lines].filter(Boolean).join(' · ');
        const width = $('timeline').clientWidth;
        tip.style.left = `${Math.min(x + 14, Math.max(0, width - tip.offsetWidth - 4))}px`;
        tip.style.top = `${y + 24}px`;
    }
}

// SPDX-License-Identifier: MIT
// The last minutes in columns, as metrics/history tells them: asked for as a whole once, then only
// what is new. Pure but for `get`, which is given.

// A step that the server keeps, for at most some two thousand points.
const LONGEST_STEP = 10;
export function stepFor(window_s) {
    if (window_s <= 60) return 0.1;
    return window_s <= 1800 ? 1 : LONGEST_STEP;
}
const MOST_POINTS = 2500; // then everything is asked for anew, in longer steps; of the longest the oldest go
const MOST_EVENTS = 1000; // outliers and marks that are kept
const LATE_S = 2;         // marks and steps that were still filling come so late

const keyOf = (c) => `${c.name}|${c.about}|${c.process ?? ''}|${c.number ?? ''}|${c.subject ?? ''}`;
const COLUMNS = ['runs', 'failed_runs', 'throughput_per_s', 'mean_us', 'p50_us', 'p95_us', 'p99_us', 'max_us',
                 'in_flight_max', 'held_bytes', 'in_use_bytes'];

// Runs count where they end.
export const endOf = (outlier) => outlier.begin_s + outlier.duration_us / 1e6;

// An answer has those of its own span only: what is new is added to what is known.
function added(known, more, name, time) {
    const names = new Set(known.map(name)), fresh = more.filter((e) => !names.has(name(e)));
    return fresh.length ? known.concat(fresh).sort((a, b) => time(a) - time(b)).slice(-MOST_EVENTS) : known;
}

// Without the step that is not over: its numbers are those of a part, which look like a fall. At the end it
// stays, without its rate.
function closed(answer, whole) {
    const last = answer.time_s.length - 1;
    if (last < 1 || answer.now_s === undefined || answer.time_s[last] + answer.step_s <= answer.now_s + 1e-9) return answer;
    if (whole) {
        for (const s of answer.sessions) s.throughput_per_s[last] = null;
        return answer;
    }
    const cut = (o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, Array.isArray(v) ? v.slice(0, last) : v]));
    return {...answer, time_s: answer.time_s.slice(0, last), sessions: answer.sessions.map(cut), counters: answer.counters.map(cut)};
}

export class History {
    constructor(get) {
        this.get = get;
        this.reset(60);
    }

    // window_s 0: everything.
    reset(window_s) {
        this.window_s = window_s;
        this.clearColumns();
        this.outliers = [];
        this.marks = [];
        this.step = 0;
        this.whole = null;
        this.generation = (this.generation ?? 0) + 1;
    }

    clearColumns() {
        this.time = [];
        this.sessions = new Map();
        this.counters = new Map();
        this.stale = false;
    }

    // Another window where nobody can be asked: the newest part of what is there, and more of it again when
    // more is wanted.
    narrow(window_s) {
        const {time, sessions, counters, outliers, marks} = this;
        this.whole ??= {time, sessions, counters, outliers, marks};
        Object.assign(this, structuredClone(this.whole), {window_s});
        this.trim();
    }

    // Asks for what is new, one after the other; now_s is the capture's time. False if nothing came.
    // whole: nothing more will come, the step that is still open counts too. to_s: nothing newer, if given.
    // What is still in the queue when it is reset is about something else and not asked any more.
    update(capture, now_s, whole, to_s) {
        const generation = this.generation;
        this.asking = (this.asking ?? Promise.resolve()).catch(() => {}).then(
            () => generation === this.generation && this.ask(capture, now_s, whole, to_s));
        return this.asking;
    }

    async ask(capture, now_s, whole, to_s) {
        const generation = this.generation;
        const window = this.window_s || Math.max(now_s, 1);
        // Everything, in place of what is there, which is shown until then.
        const anew = !this.time.length || this.stale || (this.time.length > MOST_POINTS && stepFor(window) > this.step);
        // The last steps again: they were still filling when they came.
        const from = anew ? Math.max(0, now_s - window) : Math.max(0, this.time.at(-1) - Math.max(2 * this.step, LATE_S));
        const step = anew ? stepFor(window) : this.step;
        const answer = await this.get('metrics/history', {capture, from: from.toFixed(3), to: to_s, step});
        if (generation !== this.generation) return false;
        if (!anew && answer.step_s !== this.step) {
            this.stale = true;
            return false;
        }
        if (anew) this.clearColumns();
        this.merge(closed(answer, whole));
        return true;
    }

    merge(answer) {
        this.step = answer.step_s;
        this.whole = null;
        const at = answer.time_s.length ? this.place(answer.time_s[0]) : this.time.length;
        const cut = (column) => { column.length = at; return column; };
        const old = this.time.length;
        this.time = cut(this.time).concat(answer.time_s);
        const fresh = (length) => new Array(length).fill(null);
        const told = new Set();
        const join = (map, key, values, facts) => {
            const entry = map.get(key) ?? {columns: {}};
            Object.assign(entry, facts);
            told.add(entry);
            for (const [name, column] of Object.entries(values)) {
                const before = cut(entry.columns[name] ?? fresh(old));
                entry.columns[name] = before.concat(column);
            }
            map.set(key, entry);
        };
        for (const s of answer.sessions)
            join(this.sessions, s.session, Object.fromEntries(COLUMNS.map((c) => [c, s[c] ?? fresh(answer.time_s.length)])),
                 {session: s.session});
        for (const c of answer.counters) join(this.counters, keyOf(c), {values: c.values}, {...c, values: undefined});
        for (const map of [this.sessions, this.counters]) this.pad(map);
        this.outliers = added(this.outliers, answer.outliers, (o) => `${o.session}/${o.run}`, endOf);
        this.marks = added(this.marks, answer.marks, (m) => `${m.time_s}/${m.text}`, (m) => m.time_s);
        this.trim();
        this.forget(told);
    }

    // What was not in the answer has nothing for these steps.
    pad(map) {
        for (const entry of map.values())
            for (const column of Object.values(entry.columns))
                while (column.length < this.time.length) column.push(null);
    }

    place(time) {
        let at = this.time.length;
        while (at > 0 && this.time[at - 1] > time - this.step / 2) at--;
        return at;
    }

    trim() {
        if (!this.time.length) return;
        const all = this.step < LONGEST_STEP ? 0 : this.time.at(-Math.min(MOST_POINTS, this.time.length));
        const from = this.window_s ? this.time.at(-1) - this.window_s : all;
        this.outliers = this.outliers.filter((o) => endOf(o) >= from);
        this.marks = this.marks.filter((m) => m.time_s >= from);
        let drop = 0;
        while (this.time[drop] < from) drop++;
        if (!drop) return;
        this.time.splice(0, drop);
        for (const map of [this.sessions, this.counters])
            for (const entry of map.values())
                for (const column of Object.values(entry.columns)) column.splice(0, drop);
    }

    // What is told no more goes with its last value: sessions and processes come and go as long as the page is open.
    forget(told) {
        const empty = ({columns}) => Object.values(columns).every((column) => column.every((v) => v === null));
        for (const map of [this.sessions, this.counters])
            for (const [key, entry] of map)
                if (!told.has(entry) && empty(entry)) map.delete(key);
    }

    select(name, about) {
        return [...this.counters.values()].filter((c) => c.name === name && c.about === about);
    }
}

// SPDX-License-Identifier: MIT
// Which operators feed which, where the recording knows: a kernel names the kernels whose results it
// reads. Pure: no page.

// Executions by kernel in order of begin, and who reads a kernel's results.
export function indexLinks(model) {
    const runs = new Map(), readers = new Map();
    for (const row of model.rows)
        row.ops.forEach((o, i) => {
            const key = `${o.run}/${o.kernel}`;
            if (!runs.has(key)) runs.set(key, []);
            runs.get(key).push({row, i, o});
        });
    for (const list of runs.values()) {
        list.sort((a, b) => a.o.begin_ns - b.o.begin_ns);
        const {kernel, producers} = list[0].o;
        for (const p of producers ?? []) {
            if (!readers.has(p)) readers.set(p, new Set());
            readers.get(p).add(kernel);
        }
    }
    return {runs, readers};
}

// Of each producer the execution before this one (the last that was over, else the last that had begun: a
// loop around it), of each reader the first one after it that comes before this kernel's next execution.
// null: the recording does not know.
export function linksOf(model, {row, i}) {
    const o = row.ops[i];
    if (!o.producers) return null;
    model.links ??= indexLinks(model);
    const executions = (kernel) => model.links.runs.get(`${o.run}/${kernel}`) ?? [];
    const next = executions(o.kernel).find((e) => e.o.begin_ns > o.begin_ns);
    const producers = o.producers.map((kernel) => {
        const begun = executions(kernel).filter((e) => e.o !== o && e.o.begin_ns <= o.begin_ns);
        return begun.findLast((e) => e.o.end_ns <= o.begin_ns) ?? begun.at(-1);
    }).filter(Boolean);
    const consumers = [...model.links.readers.get(o.kernel) ?? []].map((kernel) => {
        const later = executions(kernel).find((e) => e.o !== o && e.o.end_ns > o.end_ns);
        return later && (!next || later.o.begin_ns < next.o.end_ns) ? later : null;
    }).filter(Boolean);
    const byBegin = (a, b) => a.o.begin_ns - b.o.begin_ns;
    return {producers: producers.sort(byBegin), consumers: consumers.sort(byBegin)};
}

// "reads Conv_0, Add_1 and 3 more"
export function inWords(verb, list, most = 4) {
    if (!list.length) return '';
    const names = list.slice(0, most).map((e) => e.o.name || e.o.type), more = list.length - names.length;
    return `${verb} ${names.join(', ')}${more ? ` and ${more} more` : ''}`;
}

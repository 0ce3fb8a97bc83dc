// SPDX-License-Identifier: MIT
// The operators of one stretch of time, in an order that makes drawing and finding cheap: rows (one
// for each thread and depth of nesting), each sorted by begin, times in typed arrays. Pure: no page.

// Operators: {begin_ns, end_ns, thread, depth, type, provider, name, ...}; begin of the whole is 0.
export function buildModel(operators) {
    const rows = new Map();
    const threads = [...new Set(operators.map((o) => o.thread))];
    const order = new Map(threads.map((t, i) => [t, i]));
    let end = 0;
    for (const o of operators) {
        const key = order.get(o.thread) * 1000 + Math.min(o.depth, 999);
        if (!rows.has(key)) rows.set(key, {key, thread: o.thread, depth: o.depth, ops: []});
        rows.get(key).ops.push(o);
        end = Math.max(end, o.end_ns);
    }
    const sorted = [...rows.values()].sort((a, b) => a.key - b.key);
    for (const row of sorted) finishRow(row);
    return {rows: sorted, end_ns: end, count: operators.length, types: typesOf(operators),
            providers: [...new Set(operators.map((o) => o.provider))].sort(), threads,
            submitting: new Set(operators.filter((o) => o.submits).map((o) => o.provider))};
}

function finishRow(row) {
    row.ops.sort((a, b) => a.begin_ns - b.begin_ns);
    row.begin = Float64Array.from(row.ops, (o) => o.begin_ns);
    // Ends that never go back, so that the first visible one can be searched for.
    row.reach = new Float64Array(row.ops.length);
    let reach = 0;
    row.transitions = [];
    row.ops.forEach((o, i) => {
        row.reach[i] = reach = Math.max(reach, o.end_ns);
        if (i && o.provider !== row.ops[i - 1].provider) row.transitions.push(i);
    });
}

// Types by their time, longest first: the colours go to those that matter.
function typesOf(operators) {
    const total = new Map();
    for (const o of operators)
        total.set(o.type, (total.get(o.type) ?? 0) + (o.end_ns - o.begin_ns));
    return [...total].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([type]) => type);
}

// Index of the first value above `limit` in a sorted array.
export function firstAbove(values, limit) {
    let low = 0, high = values.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] > limit) high = middle;
        else low = middle + 1;
    }
    return low;
}

// What of a row is to be drawn between two times on `width` pixels: [x, width, index] for each bar;
// bars below a pixel are merged into one that shows the longest of them, `keep` first. Calls `bar`.
export function visibleBars(row, from, to, width, keep, bar) {
    const scale = width / (to - from);
    let pixel = -1, best = -1, bestLength = -1;
    const flush = () => {
        if (best >= 0) bar(pixel, 1, best, true);
        best = -1;
        bestLength = -1;
    };
    for (let i = firstAbove(row.reach, from); i < row.ops.length && row.begin[i] < to; i++) {
        const o = row.ops[i];
        if (o.end_ns <= from) continue;
        const x = (o.begin_ns - from) * scale, w = (o.end_ns - o.begin_ns) * scale;
        if (w >= 1) {
            flush();
            const left = Math.max(0, x);
            bar(left, Math.min(width, x + w) - left, i, false);
            continue;
        }
        const at = Math.floor(x);
        if (at !== pixel) {
            flush();
            pixel = at;
        }
        const length = (keep(o) ? 1e18 : 0) + (o.end_ns - o.begin_ns);
        if (length > bestLength) [best, bestLength] = [i, length];
    }
    flush();
}

// The operator at a time, or the nearest within `slack`; -1: none.
export function operatorAt(row, time, slack) {
    let best = -1, distance = slack;
    for (let i = firstAbove(row.reach, time - slack - 1); i < row.ops.length; i++) {
        const o = row.ops[i];
        if (o.begin_ns > time + slack) break;
        if (o.begin_ns <= time && time < o.end_ns) return i;
        const d = Math.min(Math.abs(o.begin_ns - time), Math.abs(o.end_ns - time));
        if (d <= distance) [best, distance] = [i, d];
    }
    return best;
}

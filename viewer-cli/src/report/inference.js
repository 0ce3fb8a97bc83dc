// SPDX-License-Identifier: MIT
// One inference, operator by operator, in lanes of threads.

const WHY = { first: 'first', median: 'median', p99: 'p99', slowest: 'slowest', outlier: 'outlier' };
const ROW = 26;

// The operators of a run as objects, with the colour of their type.
function opsOf(run, kernels, colors) {
  const o = run.ops;
  return o.kernel.map((k, i) => ({
    kernel: k,
    node: kernels[k][0],
    type: opType(kernels[k][1], kernels[k][2]),
    provider: kernels[k][3],
    thread: o.thread[i],
    begin: o.begin_ns[i] / 1e3,
    us: o.ns[i] / 1e3,
    depth: o.depth[i],
    failed: o.failed[i] === 1,
    color: colors.get(opType(kernels[k][1], kernels[k][2])) ?? 8,
  }));
}

// The eight heaviest types of the session have colours of their own.
function typeColors(n, runs, kernels) {
  const sums = new Map();
  for (const run of runs)
    run.ops.kernel.forEach((k, i) => {
      const type = opType(kernels[k][1], kernels[k][2]);
      sums.set(type, (sums.get(type) || 0) + run.ops.ns[i]);
    });
  return new Map(
    [...sums]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 8)
      .map(([type], i) => [type, i]),
  );
}

// Where each thread's rows are: its own first, one row for each depth.
function lanesOf(run, ops) {
  const threads = [run.thread, ...new Set(ops.map((o) => o.thread).filter((t) => t !== run.thread))].filter(
    (t) => ops.some((o) => o.thread === t),
  );
  let y = run.states.length ? 44 : 24;
  const lanes = new Map();
  for (const thread of threads.slice(0, 24)) {
    const rows = 1 + Math.max(...ops.filter((o) => o.thread === thread).map((o) => o.depth));
    lanes.set(thread, { y: y + 16, rows: Math.min(rows, 12) });
    y += 16 + Math.min(rows, 12) * ROW + 8;
  }
  return { lanes, height: y + 8 };
}

function inferenceChart(run, ops, view, onPick) {
  const { lanes, height } = lanesOf(run, ops);
  const says = `Run ${run.run}: ${plural(ops.length, 'operator')} in ${fmtUs(run.us)}. Plus and minus zoom, arrow keys move, 0 shows all.`;
  const box = chart(
    height,
    says,
    (svg, width) => {
      const x = across(view.from, view.to, 0, width);
      const ticks = x.ticks(width < 500 ? 4 : 8);
      const words = timeTexts(ticks);
      ticks.forEach((t) => {
        svg.append(s('line', { class: 'gridline', x1: x(t), x2: x(t), y1: 18, y2: height - 6 }));
        svg.append(
          s(
            'text',
            { x: x(t), y: 11, 'text-anchor': x(t) > width - 30 ? 'end' : x(t) < 30 ? 'start' : 'middle' },
            words(t),
          ),
        );
      });
      drawStates(svg, run, x, width);
      for (const [thread, lane] of lanes) {
        svg.append(
          s(
            'text',
            { x: 0, y: lane.y - 4 },
            thread === run.thread ? `thread ${thread}, which called Run` : `thread ${thread}`,
          ),
        );
        svg.append(s('rect', { class: 'lane', x: 0, width, y: lane.y, height: lane.rows * ROW, rx: 3 }));
      }
      drawOps(svg, ops, lanes, x, width, view, onPick);
      listen(svg, box, width, x, view, run);
    },
    'zoom',
  );
  return box;
}

function drawStates(svg, run, x, width) {
  for (const [state, begin, end, detail] of run.states) {
    const from = Math.max(0, x(begin / 1e3));
    const to = Math.min(width, x(end / 1e3));
    if (to <= from) continue;
    svg.append(
      s('rect', {
        class: `s-${state}`,
        x: from,
        width: Math.max(0.6, to - from),
        y: 22,
        height: 14,
        onpointermove: (e) =>
          showTip(e, `thread ${state}${detail ? ` (${detail})` : ''}: ${fmtUs((end - begin) / 1e3)}`),
        onpointerleave: hideTip,
      }),
    );
  }
}

function drawOps(svg, ops, lanes, x, width, view, onPick) {
  for (const op of ops) {
    const lane = lanes.get(op.thread);
    const from = Math.max(-2, x(op.begin));
    const to = Math.min(width + 2, x(op.begin + op.us));
    if (!lane || op.depth >= lane.rows || to < 0 || from > width) continue;
    const y = lane.y + op.depth * ROW;
    const rect = s('rect', {
      class: `op f${op.color} ${to - from < 3 ? 'thin' : ''} ${op.failed ? 'failed-op' : ''} ${view.chosen === op ? 'chosen' : ''}`,
      x: from.toFixed(2),
      width: Math.max(0.8, to - from).toFixed(2),
      y: y + 1,
      height: ROW - 2,
      rx: to - from > 6 ? 2 : 0,
    });
    rect.addEventListener('pointermove', (e) =>
      showTip(e, `${op.node || op.type}\n${op.type} on ${shortProvider(op.provider)}\n${fmtUs(op.us)}`),
    );
    rect.addEventListener('pointerleave', hideTip);
    rect.addEventListener('click', () => onPick(op));
    svg.append(rect);
    const room = to - Math.max(0, from);
    const label =
      room > 40
        ? op.type.length * 6.4 + 10 < room
          ? op.type
          : op.type.slice(0, Math.max(0, Math.floor((room - 14) / 6.6)))
        : '';
    if (label.length > 1)
      svg.append(s('text', { class: 'op-name', x: Math.max(0, from) + 5, y: y + ROW / 2 + 4 }, label));
  }
}

// ------------------------------------------------------------------------------------- in words

// Time of the run's own thread inside operators; those inside others are in them already.
function insideOps(run, ops) {
  return ops.filter((o) => o.thread === run.thread && o.depth === 0).reduce((sum, o) => sum + o.us, 0);
}

function runWords(run, ops, p50) {
  const times = known(p50) ? run.us / p50 : 1;
  const parts = [
    `Run ${fmtCount(run.run)} took ${fmtUs(run.us)}${times >= 1.1 || times <= 0.9 ? `, ${fmtTimes(times)} the median` : ''}`,
  ];
  if (ops.length) {
    const inside = insideOps(run, ops);
    if (run.op_total === ops.length)
      parts.push(
        `${plural(run.op_total, 'operator')}: ${fmtUs(inside)} in them on its own thread (${fmtPercent(inside / run.us, 0)}), ${fmtUs(Math.max(0, run.us - inside))} between and around them`,
      );
    else parts.push(`the ${fmtCount(ops.length)} longest of ${plural(run.op_total, 'operator')} are drawn`);
  }
  const m = run.machine;
  if (known(m.preempted_us) && m.preempted_us > 0)
    parts.push(
      `preempted for ${fmtUs(m.preempted_us)}${m.preempted_by.length && m.preempted_by[0].program ? ` by ${m.preempted_by[0].program}` : ''}`,
    );
  if (known(m.waiting_us) && m.waiting_us > 0.02 * run.us) parts.push(`waited for ${fmtUs(m.waiting_us)}`);
  if (known(m.page_faults) && m.page_faults > 0) parts.push(plural(m.page_faults, 'page fault'));
  if (known(m.gap_us) && m.gap_us > 1e3) parts.push(`${fmtUs(m.gap_us)} after the run before it`);
  return `${parts.join('; ')}.`;
}

// What took longer than in the median run, by operator.
function againstMedian(run, median, kernels) {
  if (!median || median === run || !run.ops.kernel.length || !median.ops.kernel.length) return null;
  const sums = new Map();
  const add = (r, sign) =>
    r.ops.kernel.forEach((k, i) => sums.set(k, (sums.get(k) || 0) + (sign * r.ops.ns[i]) / 1e3));
  const usual = new Map();
  median.ops.kernel.forEach((k, i) => usual.set(k, (usual.get(k) || 0) + median.ops.ns[i] / 1e3));
  add(run, 1);
  add(median, -1);
  const rows = [...sums]
    .map(([k, us]) => ({ k, us }))
    .sort((a, b) => b.us - a.us)
    .slice(0, 6);
  const more = run.us - median.us;
  const worth = rows.filter((r) => r.us >= 0.02 * more);
  if (!worth.length || more < 0.05 * median.us) return null;
  return h(
    'div',
    { class: 'screen-wide' },
    h('h3', {}, 'Against the median run'),
    h('p', { class: 'says' }, `It took ${fmtUs(more)} more. These operators took the most of that:`),
    table(
      [
        {
          title: 'Operator',
          classes: 'name',
          value: (r) => kernels[r.k][0] || opType(kernels[r.k][1], kernels[r.k][2]),
        },
        { title: 'Type', value: (r) => opType(kernels[r.k][1], kernels[r.k][2]) },
        { title: 'Longer by', num: true, value: (r) => fmtUs(r.us) },
        { title: 'In the median run', num: true, value: (r) => fmtUs(usual.get(r.k)) },
        { title: 'Of the difference', num: true, value: (r) => fmtPercent(Math.min(1, r.us / more), 0) },
      ],
      worth,
      'Operators that took longer',
    ),
  );
}

// What the colours above the operators mean, with the time of each.
function statesLegend(run) {
  const sums = new Map();
  for (const [state, begin, end] of run.states) sums.set(state, (sums.get(state) || 0) + (end - begin) / 1e3);
  if (!sums.size) return null;
  return h(
    'div',
    { class: 'legend' },
    'Its thread:',
    [...sums].map(([state, us]) => h('span', {}, h('i', { class: `p-${state}` }), `${state} ${fmtUs(us)}`)),
  );
}

function runLegend(ops, colors) {
  const sums = new Map();
  for (const o of ops) {
    const key = colors.has(o.type) ? o.type : 'other types';
    sums.set(key, (sums.get(key) || 0) + o.us);
  }
  return h(
    'div',
    { class: 'legend' },
    [...sums]
      .sort((a, b) => b[1] - a[1])
      .map(([type, us]) =>
        h('span', {}, h('i', { class: `b${colors.get(type) ?? 8}` }), `${type} ${fmtUs(us)}`),
      ),
  );
}

function runView(run, state) {
  const { kernels } = state.data.report;
  const ops = opsOf(run, kernels, state.colors);
  const words = h(
    'p',
    { class: 'says', 'data-run-words': run.run },
    runWords(run, ops, state.session.latency_us.p50),
  );
  if (!ops.length) return [words, h('p', { class: 'empty' }, 'No operators were recorded of this run.')];
  const detail = h(
    'div',
    { class: 'detail', 'aria-live': 'polite' },
    h(
      'span',
      { class: 'muted' },
      'Click an operator to see what it is. Drag over a stretch, or use the buttons, to see it closer.',
    ),
  );
  const where = h('span', { class: 'muted', id: 'zoom-range' });
  const view = { from: 0, to: run.us, chosen: null };
  const box = inferenceChart(run, ops, view, (op) => {
    view.chosen = op;
    detail.replaceChildren(
      h('b', {}, op.node || op.type),
      ` ${op.type} on ${shortProvider(op.provider)}: ${fmtUs(op.us)} (${fmtPercent(op.us / run.us)} of the run), from ${fmtUs(op.begin)} on, thread ${op.thread}.`,
    );
    view.changed();
  });
  view.changed = () => {
    where.textContent = `${fmtUs(view.from)} to ${fmtUs(view.to)} of ${fmtUs(run.us)}`;
    box.redraw();
  };
  where.textContent = `all of ${fmtUs(run.us)}`;
  box.setAttribute('tabindex', '0');
  box.setAttribute('id', 'inference-chart');
  box.addEventListener('keydown', (e) => onKey(e, view, run.us));
  const button = (id, text, label, action) =>
    h('button', { class: 'button', type: 'button', id, 'aria-label': label, onclick: action }, text);
  const tools = h(
    'div',
    { class: 'tools' },
    button('zoom-in', '+', 'Zoom in', () => zoomBy(view, 0.5, run.us)),
    button('zoom-out', '−', 'Zoom out', () => zoomBy(view, 2, run.us)),
    button('zoom-all', 'All', 'Show the whole run', () => zoomTo(view, 0, run.us, run.us)),
    where,
  );
  const median = state.runs.find((r) => r.why.includes('median'));
  return [
    words,
    tools,
    box,
    statesLegend(run),
    runLegend(ops, state.colors),
    detail,
    againstMedian(run, median, kernels),
  ];
}

function inferenceSection(n, state) {
  if (!state.runs.length)
    return section(
      'inference',
      'One inference',
      null,
      card('', null, null, h('p', { class: 'empty' }, 'No run of this session is kept in this page.')),
    );
  state.colors = typeColors(n, state.runs, state.data.report.kernels);
  const body = h('div', {});
  const chips = h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': 'Which run' },
    state.runs.map((r) =>
      h(
        'button',
        {
          class: 'chip',
          type: 'button',
          'data-run': r.run,
          'aria-pressed': 'false',
          onclick: () => state.choose(r.run),
        },
        `${r.why.map((w) => WHY[w]).join(', ')} `,
        h('span', {}, `run ${fmtCount(r.run)}, ${fmtUs(r.us)}`),
      ),
    ),
  );
  state.onChoose.push((number) => {
    const run = state.runs.find((r) => r.run === number);
    for (const c of chips.children) c.setAttribute('aria-pressed', String(Number(c.dataset.run) === number));
    body.replaceChildren(...runView(run, state).filter(Boolean));
  });
  return section(
    'inference',
    'One inference',
    `${plural(state.runs.length, 'run')} in full: choose one here or in the chart above.`,
    card('', null, null, chips, body),
  );
}

// SPDX-License-Identifier: MIT
// Every run of a session over time; those that are shown in full can be clicked.

const yScale = (n, bottom) => {
  const l = n.latency_us;
  return l.max > 8 * l.p50
    ? { scale: logarithmic(l.min * 0.9, l.max * 1.15, bottom, 10), log: true }
    : { scale: linear(0, l.max * 1.06, bottom, 10), log: false };
};

function nearest(list, x, y) {
  let best = null;
  let least = 28 * 28;
  for (const p of list) {
    const d = (p.x - x) ** 2 + (p.y - y) ** 2;
    if (d < least) [best, least] = [p, d];
  }
  return best;
}

function pointTip(p, n) {
  const lines = [`run ${fmtCount(p.run)}: ${fmtUs(p.us)}`, `at ${fmtUs(p.ms * 1e3)}`];
  if (known(n.latency_us.p50)) lines.push(`${fmtTimes(p.us / n.latency_us.p50)} the median`);
  if (p.failed) lines.push('failed');
  if (p.outlier) lines.push(mainCause(p.outlier));
  if (p.sample) lines.push('click to see its operators');
  return lines.join('\n');
}

function timelineChart(n, extra, state) {
  const { points, failed } = extra;
  const all = [];
  const slow = new Map(extra.outliers.map((o) => [o.run, o]));
  const shown = new Map(state.runs.map((r) => [r.run, r]));
  points.ms.forEach((ms, i) => all.push({ ms, us: points.us[i], run: points.run[i] }));
  failed.ms.forEach((ms, i) => all.push({ ms, us: failed.us[i], run: failed.run[i], failed: true }));
  const there = new Set(all.map((p) => p.run));
  const add = (list) => {
    for (const p of list)
      if (!there.has(p.run)) {
        there.add(p.run);
        all.push({ ms: p.begin_ms ?? p.ms, us: p.us, run: p.run });
      }
  };
  add(state.runs);
  add(extra.outliers);
  for (const p of all) {
    p.outlier = slow.get(p.run);
    p.sample = shown.get(p.run);
  }
  const says = `Latency of runs over time: median ${fmtUs(n.latency_us.p50)}, slowest ${fmtUs(n.latency_us.max)}.`;
  const box = chart(
    (w) => (w < 500 ? 230 : 280),
    says,
    (svg, width, height) => {
      const [left, right, bottom] = [58, width - 8, height - 26];
      const times = all.map((p) => p.ms);
      const x = across(Math.min(...times), Math.max(...times) || 1, left, right);
      const { scale: y, log } = yScale(n, bottom);
      const levels = y.ticks(5);
      yAxis(svg, y, left, right, levels, log ? tickTime : timeTexts(levels));
      secondsAxis(svg, x, bottom, width < 500 ? 4 : 8);
      svg.append(
        s('line', {
          class: 'rule soft',
          x1: left,
          x2: right,
          y1: y(n.latency_us.p50),
          y2: y(n.latency_us.p50),
        }),
      );
      for (const p of all) [p.x, p.y] = [x(p.ms), y(p.us)];
      for (const p of all) {
        if (p.failed)
          svg.append(s('path', { class: 'failed', d: `M${p.x - 3.5} ${p.y - 3.5}l7 7m0-7l-7 7` }));
        else if (!p.outlier && !p.sample)
          svg.append(
            s('circle', {
              class: 'point',
              cx: p.x.toFixed(1),
              cy: p.y.toFixed(1),
              r: all.length > 800 ? 1.6 : 2.4,
            }),
          );
      }
      for (const p of all)
        if (p.outlier && !p.sample) svg.append(s('circle', { class: 'outlier', cx: p.x, cy: p.y, r: 4 }));
      for (const p of all)
        if (p.sample)
          svg.append(
            s('circle', {
              class: `sample ${p.outlier ? 'is-outlier' : ''} ${state.run === p.run ? 'chosen' : ''}`,
              cx: p.x,
              cy: p.y,
              r: 5.5,
              'data-run': p.run,
            }),
          );
      const local = (e) => {
        const r = svg.getBoundingClientRect();
        return [(e.clientX - r.left) * (width / r.width), (e.clientY - r.top) * (height / r.height)];
      };
      svg.addEventListener('pointermove', (e) => {
        const p = nearest(all, ...local(e));
        if (p) showTip(e, pointTip(p, n));
        else hideTip();
      });
      svg.addEventListener('pointerleave', hideTip);
      svg.addEventListener('click', (e) => {
        const p = nearest(
          all.filter((q) => q.sample),
          ...local(e),
        );
        if (p) state.choose(p.run);
      });
    },
  );
  state.onChoose.push((run) => {
    for (const c of box.querySelectorAll('.sample'))
      c.classList.toggle('chosen', Number(c.dataset.run) === run);
  });
  return box;
}

function timelineLegend(n, extra) {
  return h(
    'div',
    { class: 'legend' },
    h('span', {}, h('i', { class: 'plain-dot' }), 'a run'),
    h('span', {}, h('i', { class: 'ring' }), 'shown in full below: click it'),
    extra.outliers.length ? h('span', {}, h('i', { class: 'ring red' }), 'far slower than usual') : null,
    extra.failed.run.length ? h('span', {}, h('i', { class: 'cross' }, '×'), 'failed') : null,
  );
}

function timelineCard(n, extra, state) {
  const l = n.latency_us;
  const says = [`Median ${fmtUs(l.p50)}`, `slowest ${fmtUs(l.max)}`];
  if (n.stability && n.stability.warmup_runs)
    says.push(`warming up took ${plural(n.stability.warmup_runs, 'run')}`);
  if (n.stability && known(n.stability.drift_percent) && n.stability.verdict)
    says.push(
      n.stability.verdict === 'steady'
        ? 'steady from begin to end'
        : n.stability.verdict === 'inconclusive'
          ? ''
          : `became ${Math.abs(n.stability.drift_percent).toFixed(1)} % ${n.stability.verdict}`,
    );
  const log = l.max > 8 * l.p50 ? ' Logarithmic scale.' : '';
  return card(
    '',
    'Every run over time',
    `${says.filter(Boolean).join(', ')}.${log}`,
    timelineChart(n, extra, state),
    timelineLegend(n, extra),
    extra.decimated
      ? h(
          'p',
          { class: 'note' },
          `Of ${plural(n.runs, 'run')} the chart has ${fmtCount(extra.points.run.length)}: the fastest and the slowest of each stretch of time.`,
        )
      : null,
  );
}

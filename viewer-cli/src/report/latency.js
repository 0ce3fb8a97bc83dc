// SPDX-License-Identifier: MIT
// Latencies of one session: percentiles, histogram, inputs.

const PERCENTILES = [
  ['min', 'Fastest'],
  ['p50', 'Median'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['p99_9', 'p99.9'],
  ['max', 'Slowest'],
  ['mean', 'Mean'],
  ['stddev', 'Standard deviation'],
  ['jitter', 'Jitter'],
  ['first', 'First run'],
];

function percentileTable(n) {
  const l = n.latency_us;
  const rows = PERCENTILES.filter(([key]) => known(l[key]));
  return h(
    'table',
    { class: 'percentiles' },
    h(
      'tbody',
      {},
      rows.map(([key, title]) =>
        h(
          'tr',
          {},
          h('td', {}, title),
          h('td', { class: 'num', 'data-latency': key }, fmtUs(l[key])),
          h(
            'td',
            { class: 'num muted' },
            ['stddev', 'jitter', 'p50'].includes(key) || !known(l.p50) ? '' : fmtTimes(l[key] / l.p50),
          ),
        ),
      ),
    ),
  );
}

function histogramChart(n, extra) {
  const hist = extra.histogram;
  const most = Math.max(1, ...hist.counts, hist.beyond);
  const end = hist.low_us + hist.counts.length * hist.step_us;
  const says = `Histogram of ${plural(n.runs, 'run')}, from ${fmtUs(n.latency_us.min)} to ${fmtUs(n.latency_us.max)}.`;
  return chart(
    (w) => (w < 500 ? 220 : 364),
    says,
    (svg, width, height) => {
      const [left, right, bottom] = [44, width - (hist.beyond ? 62 : 8), height - 26];
      const pad = Math.max(0, (12 - hist.counts.length) / 2) * hist.step_us; // one bar is no wall
      const x = across(hist.low_us - pad, end + pad, left, right);
      const y = linear(0, most, bottom, 16);
      yAxis(svg, y, left, width - 4, y.ticks(4), (v) => tickIn(v));
      hist.counts.forEach((count, i) => {
        const from = x(hist.low_us + i * hist.step_us);
        const to = x(hist.low_us + (i + 1) * hist.step_us);
        if (count)
          svg.append(
            s('rect', {
              class: 'bar-fill',
              x: from + 0.5,
              width: Math.max(1, to - from - 1),
              y: y(count),
              height: bottom - y(count),
              rx: 1.5,
            }),
          );
        svg.append(
          s('rect', {
            class: 'hit',
            x: from,
            width: to - from,
            y: 0,
            height: bottom,
            onpointermove: (e) =>
              showTip(
                e,
                `${fmtUs(hist.low_us + i * hist.step_us)} to ${fmtUs(hist.low_us + (i + 1) * hist.step_us)}\n${plural(count, 'run')}`,
              ),
            onpointerleave: hideTip,
          }),
        );
      });
      if (hist.beyond) {
        svg.append(
          s('rect', {
            class: 'bar-fill tail',
            x: right + 12,
            width: 34,
            y: Math.min(y(hist.beyond), bottom - 2),
            height: Math.max(2, bottom - y(hist.beyond)),
            rx: 1.5,
          }),
        );
        svg.append(
          s(
            'text',
            {
              class: 'strong',
              x: right + 29,
              y: Math.min(y(hist.beyond), bottom - 2) - 5,
              'text-anchor': 'middle',
            },
            fmtCount(hist.beyond),
          ),
        );
        svg.append(s('text', { x: right + 29, y: bottom + 17, 'text-anchor': 'middle' }, 'slower'));
      }
      const ticks = x.ticks(width < 500 ? 4 : 7);
      xAxis(svg, x, bottom, ticks, timeTexts(ticks));
      const [p50, p99] = ['p50', 'p99'].map((key) => x(Math.min(n.latency_us[key], end)));
      for (const [at, name] of p99 - p50 < 64
        ? [[p50, 'median and p99']]
        : [
            [p50, 'median'],
            [p99, 'p99'],
          ]) {
        svg.append(s('line', { class: 'rule', x1: at, x2: at, y1: 14, y2: bottom }));
        svg.append(
          s(
            'text',
            {
              class: 'strong',
              x: at,
              y: 10,
              'text-anchor': at > right - 30 ? 'end' : at < left + 30 ? 'start' : 'middle',
            },
            name,
          ),
        );
      }
    },
  );
}

// ------------------------------------------------------------------------------------------ inputs

function inputsCard(n) {
  const shapes = n.shapes || [];
  const batches = (n.batch || []).filter((b) => b.size > 0);
  if (batches.length > 1) {
    return card(
      '',
      'By batch size',
      `${plural(batches.length, 'size')}; the batch is taken to be the first dimension of the first input.`,
      table(
        [
          { title: 'Batch', num: true, value: (b) => fmtCount(b.size) },
          { title: 'Runs', num: true, value: (b) => fmtCount(b.runs) },
          { title: 'Median', num: true, value: (b) => fmtUs(b.p50_us) },
          { title: 'A sample', num: true, value: (b) => fmtUs(b.per_sample_us) },
          { title: 'Memory at most', num: true, value: (b) => fmtBytes(b.peak_bytes) },
        ],
        batches,
        'Batch sizes',
      ),
    );
  }
  if (!shapes.length || (shapes.length === 1 && !shapes[0].inputs)) return null;
  const most = shapes.slice(0, 12);
  return card(
    '',
    'Inputs',
    `${plural(shapes.length, 'set')} of shapes.`,
    table(
      [
        { title: 'Inputs', classes: 'name', value: (x) => x.inputs || UNKNOWN },
        { title: 'Runs', num: true, value: (x) => fmtCount(x.runs) },
        { title: 'Median', num: true, value: (x) => fmtUs(x.p50_us) },
        { title: 'p99', num: true, value: (x) => fmtUs(x.p99_us) },
      ],
      most,
      'Shapes of inputs',
    ),
    shapes.length > most.length
      ? h('p', { class: 'note' }, `The ${most.length} most used of ${fmtCount(shapes.length)}.`)
      : null,
  );
}

function generationCard(n) {
  const g = n.generation;
  if (!g) return null;
  return card(
    '',
    'Tokens',
    `${plural(g.sequences, 'sequence')}, ${plural(g.tokens, 'token')}, found by the growing shapes of the inputs.`,
    tiles(
      [
        [
          'Tokens a second',
          [known(g.tokens_per_s) ? digits(g.tokens_per_s) : UNKNOWN, ''],
          null,
          'tokens_per_s',
        ],
        [
          'First token, median',
          timeParts(g.first_token_us.p50),
          `p99 ${fmtUs(g.first_token_us.p99)}`,
          'first_token',
        ],
        [
          'Between tokens, median',
          timeParts(g.between_tokens_us.p50),
          `p99 ${fmtUs(g.between_tokens_us.p99)}`,
          'between_tokens',
        ],
      ],
      true,
    ),
  );
}

function latencySection(n, extra, state) {
  if (!known(n.latency_us.p50) || !extra || !extra.histogram) {
    return section(
      'latency',
      'Latency',
      null,
      card(
        '',
        null,
        null,
        h('p', { class: 'empty' }, n.runs ? 'No run succeeded.' : 'This session never ran.'),
      ),
    );
  }
  const says = `Half of ${plural(n.runs - n.failed_runs, 'run')} took ${fmtUs(n.latency_us.p50)} or less, one in a hundred ${fmtUs(n.latency_us.p99)} or more.`;
  return section(
    'latency',
    'Latency',
    null,
    h(
      'div',
      { class: 'grid' },
      card('w8', 'How long runs took', says, histogramChart(n, extra)),
      card('w4', 'In numbers', null, percentileTable(n)),
    ),
    timelineCard(n, extra, state),
    outlierCard(n, state),
    generationCard(n),
    inputsCard(n),
  );
}

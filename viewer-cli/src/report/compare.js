// SPDX-License-Identifier: MIT
// The recording against an earlier one: what `ortscope diff` says, as tables.

const METRICS = [
  ['latency', 'Typical run'],
  ['p50', 'Median'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['p99.9', 'p99.9'],
  ['mean', 'Mean'],
  ['max', 'Slowest'],
  ['throughput', 'Throughput'],
  ['load', 'Loading'],
  ['memory_peak', 'Memory peak'],
  ['memory_growth', 'Memory growth a run'],
];
const VERDICTS = { better: 'good', worse: 'bad', same: '', inconclusive: 'warn' };

// The interval of a change in percents, on a scale that all rows share.
function intervalMark(change, verdict, most) {
  const { value, low, high } = change;
  if (!known(value)) return '';
  const x = (v) => 60 + (Math.max(-most, Math.min(most, v)) / most) * 56;
  return s(
    'svg',
    { class: `interval ${VERDICTS[verdict] || ''}`, viewBox: '0 0 120 16', 'aria-hidden': 'true' },
    s('line', { class: 'zero', x1: 60, x2: 60, y1: 1, y2: 15 }),
    known(low) && known(high) ? s('line', { class: 'whisker', x1: x(low), x2: x(high), y1: 8, y2: 8 }) : null,
    s('circle', { class: 'dot', cx: x(value), cy: 8, r: 4 }),
  );
}

const intervalWords = (c) =>
  known(c.low) && known(c.high) ? `${fmtSigned(c.low)} to ${fmtSigned(c.high)}` : UNKNOWN;

function changeColumns(most) {
  return [
    { title: 'Before', num: true, value: (r) => fmtIn(r.old.value, r.unit) },
    { title: 'Now', num: true, value: (r) => fmtIn(r.new.value, r.unit) },
    {
      title: 'Change',
      num: true,
      value: (r) => (r.difference ? fmtIn(r.change.value, r.unit) : fmtSigned(r.change_percent.value)),
    },
    { title: '', value: (r) => (r.difference ? '' : intervalMark(r.change_percent, r.verdict, most)) },
    {
      title: '95 % sure of',
      num: true,
      value: (r) =>
        r.difference
          ? known(r.change.low) && known(r.change.high)
            ? `${fmtIn(r.change.low, r.unit)} to ${fmtIn(r.change.high, r.unit)}`
            : UNKNOWN
          : intervalWords(r.change_percent),
    },
    { title: 'Verdict', value: (r) => h('span', { class: `badge ${VERDICTS[r.verdict]}` }, r.verdict) },
  ];
}

// Half the width of the marks' scale, in percents: that of the times, whatever else changed.
function scaleOf(rows) {
  const times = rows.filter((r) => r.unit === 'us' && known(r.change_percent.value));
  return Math.max(5, ...times.map((r) => Math.abs(r.change_percent.value))) * 1.3;
}

function groupCard(group) {
  const rows = METRICS.map(([key, title]) => ({
    title,
    key,
    difference: key === 'memory_growth',
    ...group.metrics[key],
  })).filter((r) => r.old && (known(r.old.value) || known(r.new.value)));
  const ops = group.types.filter((t) => known(t.change.value)).slice(0, 8);
  return card(
    '',
    [
      fileName(group.model) || 'a model',
      ' ',
      h('span', { class: `badge ${VERDICTS[group.verdict]}` }, group.verdict),
    ],
    `${plural(group.new.runs, 'run')} now, ${fmtCount(group.old.runs)} before; ${fmtCount(group.new.warmup_runs)} and ${fmtCount(group.old.warmup_runs)} of warming up are left out.`,
    table(
      [
        { title: 'Metric', value: (r) => h('span', { 'data-metric': r.key }, r.title) },
        ...changeColumns(scaleOf(rows)),
      ],
      rows,
      `Comparison of ${group.model}`,
    ),
    ops.length
      ? [
          h('h3', { class: 'later' }, 'Operator types that changed most, self time a run'),
          table(
            [
              { title: 'Type', classes: 'name', value: (r) => opType(r.op_type, r.domain, r.op_type_source) },
              ...changeColumns(scaleOf(ops)),
            ],
            ops,
            'Operators compared',
          ),
        ]
      : null,
  );
}

function compareSection(diff) {
  if (!diff) return null;
  const alone = [
    ...diff.only_old.map((g) => `${fileName(g.model)} ran before only.`),
    ...diff.only_new.map((g) => `${fileName(g.model)} runs now only.`),
  ];
  const notes = diff.differences;
  return section(
    'compare',
    'Against the recording before',
    `${fileName(diff.old)}, with 95 % confidence; changes within ${diff.margin_percent} % count as the same.`,
    diff.sessions.map(groupCard),
    notes.length || alone.length
      ? card(
          '',
          'What else is not the same',
          'Any of these may be the reason.',
          notes.length
            ? table(
                [
                  {
                    title: 'What',
                    classes: 'name',
                    value: (r) => [
                      r.what,
                      r.model ? h('span', { class: 'muted' }, ` ${fileName(r.model)}`) : '',
                    ],
                  },
                  { title: 'Before', classes: 'name', value: (r) => r.old || UNKNOWN },
                  { title: 'Now', classes: 'name', value: (r) => r.new || UNKNOWN },
                ],
                notes,
                'Differences',
              )
            : null,
          alone.length ? h('p', { class: 'note' }, alone.join(' ')) : null,
        )
      : null,
  );
}

// SPDX-License-Identifier: MIT
// The machine while it was recorded: threads, devices, energy, counters over time.

// name: [title, unit of a rate]
const COUNTERS = {
  working_set: ['Memory in RAM'],
  private: ['Memory committed'],
  page_faults: ['Page faults', '1/s'],
  hard_faults: ['Page faults from disk', '1/s'],
  context_switches: ['Context switches', '1/s'],
  threads: ['Threads'],
  io_read: ['Read', 'B/s'],
  io_written: ['Written', 'B/s'],
  gpu_utilization: ['GPU use'],
  npu_utilization: ['NPU use'],
  memory_used: ['Memory used'],
  memory_dedicated: ['Memory used'],
  power: ['Power'],
  temperature: ['Temperature'],
  clock_sm: ['Clock'],
  clock_memory: ['Memory clock'],
  utility: ['Processor use'],
  performance: ['Clock, of the nominal one'],
  frequency: ['Clock'],
  memory_available: ['Memory free on the machine'],
  ortscope_cpu: ['ortscope itself', 'cores'],
};

function summed(counters, names, about) {
  const list = counters.filter((c) => names.includes(c.name) && c.about === about);
  if (!list.length || list.some((c) => c.high.length !== list[0].high.length)) return null;
  const high = list[0].high
    .map((_, i) => list.reduce((sum, c) => sum + (c.high[i] ?? NaN), 0))
    .map((v) => (known(v) ? v : null));
  return { ...list[0], name: 'cpu', high, grown: list.reduce((sum, c) => sum + c.grown, 0) };
}

function smallChart(title, c, unit, headline) {
  const values = c.high.filter(known);
  if (!values.length) return null;
  const most = Math.max(...values);
  const least = c.total || unit === '%' ? 0 : Math.min(...(c.low || c.high).filter(known));
  const from = least > 0.6 * most ? least - (most - least || most) * 0.3 : 0;
  const name = c.subject && c.about !== 'process' ? `${title}, ${c.subject}` : title;
  return h(
    'div',
    { class: 'small', 'data-counter': c.name },
    h('h4', {}, name),
    h('p', {}, headline),
    chart(74, `${name}: ${headline}`, (svg, width, height) => {
      const x = across(0, c.high.length - 1 || 1, 0, width);
      const y = linear(from, most || 1, height - 6, 6);
      const xs = c.high.map((_, i) => x(i));
      svg.append(s('line', { class: 'gridline', x1: 0, x2: width, y1: height - 6, y2: height - 6 }));
      if (c.low)
        svg.append(
          s('path', {
            class: 'band',
            d: bandOf(
              xs,
              c.low.map((v) => (known(v) ? y(v) : null)),
              c.high.map((v) => (known(v) ? y(v) : null)),
            ),
          }),
        );
      svg.append(
        s('path', {
          class: 'line',
          d: pathOf(
            xs,
            c.high.map((v) => (known(v) ? y(v) : null)),
          ),
        }),
      );
      svg.append(
        s('rect', {
          class: 'hit',
          width,
          height,
          onpointermove: (e) => {
            const box = svg.getBoundingClientRect();
            const at = Math.round(((e.clientX - box.left) / box.width) * (c.high.length - 1));
            showTip(e, `${fmtUs(at * c.stretch_ms * 1e3)}: ${fmtIn(c.high[at], unit)}`);
          },
          onpointerleave: hideTip,
        }),
      );
    }),
  );
}

function counterCharts(report) {
  const list = [];
  const cpu = summed(report.counters, ['cpu_user', 'cpu_kernel'], 'process');
  const seconds = (c) => (c.high.length * c.stretch_ms) / 1e3;
  if (cpu)
    list.push(smallChart('Processor cores used', cpu, 'cores', `mean ${digits(cpu.grown / seconds(cpu))}`));
  for (const c of report.counters) {
    const known_ = COUNTERS[c.name];
    if (!known_) continue;
    const unit = c.total ? known_[1] || `${c.unit}/s` : c.unit;
    const headline = c.total
      ? known_[1] === 'cores'
        ? `mean ${digits(c.grown / seconds(c))}`
        : `${fmtIn(c.grown, c.unit)} in all`
      : `mean ${fmtIn(c.mean, c.unit)}, max ${fmtIn(c.max, c.unit)}`;
    list.push(smallChart(known_[0], c, unit, headline));
  }
  return list.filter(Boolean);
}

const STATES = [
  ['on_cpu_share', 'running', 'on a processor'],
  ['ready_share', 'ready', 'ready'],
  ['preempted_share', 'preempted', 'preempted'],
  ['waiting_share', 'waiting', 'waiting'],
  ['unknown_share', 'unknown', 'not known'],
];

function statesCard(n) {
  const m = n.machine;
  const parts = STATES.filter(([key]) => known(m[key]) && m[key] > 0);
  if (!m.covered_runs || !parts.length) return null;
  const by = m.preempted_by
    .filter((p) => p.program)
    .slice(0, 3)
    .map((p) => `${p.program} (${fmtPercent(p.share)})`);
  return card(
    '',
    'What the runs’ threads did',
    `${fmtPercent(m.on_cpu_share)} of ${plural(m.covered_runs, 'run')} on a processor${by.length ? `; preempted by ${by.join(', ')}` : ''}.`,
    h(
      'div',
      { class: 'stack', 'aria-hidden': 'true' },
      parts.map(([key, css]) => h('i', { class: `p-${css}`, 'width%': (m[key] * 100).toFixed(2) })),
    ),
    h(
      'div',
      { class: 'legend' },
      parts.map(([key, css, words]) =>
        h('span', {}, h('i', { class: `p-${css}` }), `${words} ${fmtPercent(m[key])}`),
      ),
    ),
  );
}

// Who had the processors, of all programs on the machine.
function threadsCard(summary) {
  const list = ((summary.threads || {}).list || [])
    .filter((t) => known(t.on_cpu_us) || known(t.sampled_us))
    .slice(0, 12);
  if (!list.length) return null;
  const time = (key) => ({ num: true, value: (t) => fmtUs(t[key]) });
  const some = (key) => list.some((t) => known(t[key]));
  return card(
    '',
    'Who had the processors',
    `The ${plural(list.length, 'thread')} with the most processor time, of all programs.`,
    table(
      [
        { title: 'Program', classes: 'name', value: (t) => t.program || UNKNOWN },
        { title: 'Thread', classes: 'name', value: (t) => [String(t.thread), t.name ? ` ${t.name}` : ''] },
        some('on_cpu_us') && { title: 'On a processor', ...time('on_cpu_us') },
        some('ready_us') && { title: 'Ready', ...time('ready_us') },
        some('preempted_us') && { title: 'Preempted', ...time('preempted_us') },
        some('sampled_us') && { title: 'By samples', ...time('sampled_us') },
      ].filter(Boolean),
      list,
      'Threads',
    ),
  );
}

function energyCard(summary) {
  if (!summary.energy.length) return null;
  return card(
    '',
    'Energy',
    'All that a meter saw while it was recorded, idle time too. Meters are not added up: some contain others.',
    table(
      [
        {
          title: 'Meter',
          classes: 'name',
          value: (e) => [e.meter || e.source, h('span', { class: 'muted' }, ` ${e.source}`)],
        },
        { title: 'Energy', num: true, value: (e) => fmtIn(e.joules, 'J') },
        { title: 'A run', num: true, value: (e) => fmtIn(e.joules_per_run, 'J') },
        {
          title: 'Runs a joule',
          num: true,
          value: (e) => (known(e.runs_per_joule) ? digits(e.runs_per_joule) : UNKNOWN),
        },
        { title: 'Measured for', num: true, value: (e) => fmtUs(e.seconds * 1e6) },
      ],
      summary.energy,
      'Energy by meter',
    ),
  );
}

function devicesCard(summary) {
  if (!summary.devices.length) return null;
  return card(
    '',
    'Devices',
    `${plural(summary.devices.length, 'device')} measured while it was recorded.`,
    table(
      [
        {
          title: 'Device',
          classes: 'name',
          value: (d) => [
            d.model || d.name || UNKNOWN,
            ' ',
            h('span', { class: 'muted' }, `${(d.kind || '').toUpperCase()}, ${d.source}`),
          ],
        },
        { title: 'Use', num: true, value: (d) => fmtIn(d.utilization_percent, '%') },
        { title: 'at most', num: true, value: (d) => fmtIn(d.utilization_max_percent, '%') },
        { title: 'Memory', num: true, value: (d) => fmtBytes(d.memory_peak_bytes) },
        { title: 'Power', num: true, value: (d) => fmtIn(d.power_w, 'W') },
        { title: 'Hottest', num: true, value: (d) => fmtIn(d.temperature_max_c, 'degC') },
        { title: 'Limited by', classes: 'name', value: (d) => (d.throttled_by || []).join(', ') || UNKNOWN },
      ],
      summary.devices,
      'Devices',
    ),
  );
}

function machineSection(n, data) {
  const { summary, report } = data;
  const charts = counterCharts(report);
  const p = summary.process;
  const says = [
    known(p.cpu_percent) ? `${(p.cpu_percent / 100).toFixed(2)} cores in the mean` : '',
    known(p.peak_rss_bytes) ? `at most ${fmtBytes(p.peak_rss_bytes)} of memory` : '',
  ]
    .filter(Boolean)
    .join(', ');
  return section(
    'machine',
    'Machine',
    null,
    statesCard(n || { machine: {} }),
    threadsCard(summary),
    devicesCard(summary),
    energyCard(summary),
    card(
      '',
      'Counters',
      charts.length
        ? `The program used ${says || 'what the charts show'}. Time runs from left to right over the whole recording.`
        : null,
      charts.length
        ? h('div', { class: 'smalls' }, charts)
        : h('p', { class: 'empty' }, 'No counters were recorded.'),
    ),
    energyCard(summary)
      ? null
      : h(
          'p',
          { class: 'note' },
          'No energy meter was found on this machine, so nothing is said about energy.',
        ),
  );
}

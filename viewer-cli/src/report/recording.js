// SPDX-License-Identifier: MIT
// The program, the machine, the recording itself, and what the page leaves out.

function machineFacts(m, report) {
  if (!m)
    return [
      ['System', report.os],
      ['Processor', report.cpu],
      ['Processors', report.cpu_count],
    ];
  const p = m.processor;
  return [
    ['Machine', [m.manufacturer, m.model].filter(Boolean).join(' ')],
    ['Processor', p.name],
    [
      'Cores',
      known(p.cores)
        ? `${fmtCount(p.cores)} cores, ${fmtCount(p.threads)} threads${known(p.nominal_mhz) ? `, ${fmtCount(p.nominal_mhz)} MHz` : ''}`
        : null,
    ],
    ['Memory', known(m.memory.bytes) ? fmtBytes(m.memory.bytes) : null],
    ['System', [m.os.name, m.os.release].filter(Boolean).join(' ') || report.os],
    [
      'Under',
      [m.hypervisor && `virtual machine of ${m.hypervisor}`, m.wine && `Wine ${m.wine}`]
        .filter(Boolean)
        .join(', '),
    ],
    ...m.gpus.map((g) => ['GPU', [g.name, g.driver && `driver ${g.driver}`].filter(Boolean).join(', ')]),
    ...m.npus.map((g) => ['NPU', [g.name, g.driver && `driver ${g.driver}`].filter(Boolean).join(', ')]),
    ['Power', [m.power.plan, m.power.source].filter(Boolean).join(', ')],
  ];
}

function loadWords(n) {
  const l = n.loading;
  const parts = [
    ['read_ms', 'reading'],
    ['optimise_ms', 'optimising'],
    ['kernels_ms', 'kernels and weights'],
  ]
    .filter(([key]) => known(l[key]))
    .map(([key, words]) => `${words} ${fmtUs(l[key] * 1e3)}`);
  return known(l.total_ms)
    ? `${fmtUs(l.total_ms * 1e3)}${parts.length ? ` (${parts.join(', ')})` : ''}`
    : null;
}

function leftOut(data) {
  const { report, summary } = data;
  const list = [];
  if (report.sessions_left_out)
    list.push(`${plural(report.sessions_left_out, 'session')} with less time than those shown.`);
  for (const x of report.sessions)
    if (x.decimated)
      list.push(
        `Session ${x.id}: the chart of latencies has ${fmtCount(x.points.run.length)} runs, the fastest and the slowest of each stretch of time. Percentiles and the histogram count all.`,
      );
  const runs = summary.sessions.reduce((sum, n) => sum + n.runs, 0);
  if (runs > report.runs.length)
    list.push(
      `Operators in order are here for ${fmtCount(report.runs.length)} of ${plural(runs, 'run')}; ortscope timeline FILE --run N draws any of them.`,
    );
  const cut = report.runs.filter((r) => r.op_total > r.ops.kernel.length).length;
  if (cut) list.push(`In ${plural(cut, 'run')} only the longest operators are drawn.`);
  if (report.states_left_out)
    list.push(`${plural(report.states_left_out, 'stretch', 'stretches')} of what threads did.`);
  if (report.counters_left_out) list.push(`${plural(report.counters_left_out, 'counter')}.`);
  list.push('Counters of single threads, cores and other programs.');
  return list;
}

function recordingSection(n, data) {
  const { summary, report } = data;
  const share = summary.overhead.share;
  const cost = known(summary.overhead.per_run_ns)
    ? `${fmtUs(summary.overhead.per_run_ns / 1e3)} a run${known(share) ? ` (${fmtPercent(share, 2)})` : ''}`
    : 'not measured';
  const lost = summary.lost_events
    ? report.lost.map((l) => `${fmtCount(l.events)} because ${l.cause}`).join('; ')
    : 'none';
  const messages = summary.messages.slice(0, 30);
  return section(
    'recording',
    'Recording',
    null,
    h(
      'div',
      { class: 'grid' },
      card(
        'w6',
        'The program',
        null,
        facts([
          ['Program', summary.target.program, 'path'],
          ['Process', known(summary.target.pid) ? String(summary.target.pid) : null],
          ['Exit code', known(summary.target.exit_code) ? String(summary.target.exit_code) : null],
          ...summary.runtime.map((r) => [
            'ONNX Runtime',
            [r.version || UNKNOWN, ' ', h('span', { class: 'path muted' }, r.module || '')],
          ]),
          n && ['Model', n.model, 'path'],
          n && ['Providers', n.providers.map(shortProvider).join(', ')],
          n && ['Loading', loadWords(n)],
        ]),
      ),
      card('w6', 'The machine', null, facts(machineFacts(summary.machine, report))),
      card(
        'w6',
        'What recording did',
        null,
        h(
          'div',
          { id: 'overhead' },
          facts([
            ['It cost', h('span', { 'data-fact': 'overhead' }, cost)],
            [
              'Events lost',
              h('span', { 'data-fact': 'lost', class: summary.lost_events ? 'badge bad' : '' }, lost),
            ],
            ['Recorded', `${fmtUs(summary.duration_s * 1e6)}, from ${fmtDate(report.start_utc)} on`],
            ['File', report.file, 'path'],
            ['By', `ortscope ${report.recorded_by || ''}`],
            ['Damage', report.damage],
          ]),
        ),
      ),
      card(
        'w6',
        'What this page leaves out',
        null,
        h(
          'ul',
          { class: 'plain', id: 'left-out' },
          leftOut(data).map((t) => h('li', {}, t)),
        ),
      ),
    ),
    messages.length
      ? card(
          '',
          'Messages',
          `${plural(summary.messages.length, 'message')} of ONNX Runtime and ortscope.`,
          table(
            [
              {
                title: 'Level',
                value: (m) =>
                  h(
                    'span',
                    {
                      class: `badge ${m.level === 'error' || m.level === 'critical' ? 'bad' : m.level === 'warning' ? 'warn' : ''}`,
                    },
                    m.level,
                  ),
              },
              { title: 'Times', num: true, value: (m) => fmtCount(m.count) },
              { title: 'Message', classes: 'name wide', value: (m) => m.text || '' },
            ],
            messages,
            'Messages',
          ),
        )
      : null,
  );
}

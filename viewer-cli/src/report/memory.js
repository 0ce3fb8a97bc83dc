// SPDX-License-Identifier: MIT
// Memory of a session: what its arenas hold, and whether use grows.

const GROWTH = {
  leak: (g) =>
    `In use grows by ${fmtBytes(g.bytes_per_run)} a run (95 % sure of ${fmtBytes(g.low)} to ${fmtBytes(g.high)}): a leak, or results that the program keeps.`,
  warming: () => 'The arenas were still warming up.',
  steady: (g) =>
    `In use is steady: ${known(g.bytes_per_run) && g.bytes_per_run !== 0 ? `${fmtIn(Math.round(g.bytes_per_run), 'B')} a run` : 'no growth'} over the last ${plural(g.runs, 'run')}.`,
  too_few_runs: () => 'Too few runs to tell whether it grows.',
};

function memoryChart(m) {
  const most = Math.max(...m.held, ...m.high, 1);
  return chart(
    190,
    `Memory of the arenas over time: ${fmtBytes(m.held[m.held.length - 1])} held at the end.`,
    (svg, width, height) => {
      const [left, right, bottom] = [64, width - 8, height - 26];
      const x = across(Math.min(...m.ms), Math.max(...m.ms), left, right);
      const y = linear(0, most * 1.06, bottom, 8);
      yAxis(svg, y, left, right, y.ticks(4), (v) => tickIn(v, 'B'));
      secondsAxis(svg, x, bottom, width < 500 ? 4 : 8);
      const xs = m.ms.map(x);
      svg.append(s('path', { class: 'band', d: bandOf(xs, m.low.map(y), m.high.map(y)) }));
      svg.append(s('path', { class: 'line', d: pathOf(xs, m.high.map(y)) }));
      svg.append(s('path', { class: 'line second', d: pathOf(xs, m.held.map(y)) }));
    },
  );
}

function memorySection(n, extra) {
  const m = n.memory;
  if (!m.source) return null;
  const says = m.growth.verdict && GROWTH[m.growth.verdict] ? GROWTH[m.growth.verdict](m.growth) : '';
  const series = extra && extra.memory;
  return section(
    'memory',
    'Memory',
    null,
    card(
      '',
      null,
      says,
      tiles(
        [
          known(m.arena_bytes) && [
            'Held by arenas',
            byteParts(m.arena_bytes),
            'taken from the system',
            'arena_bytes',
          ],
          known(m.peak_bytes) && [
            'Peak in use',
            byteParts(m.peak_bytes),
            known(m.fragmentation_at_peak_share)
              ? `${fmtPercent(m.fragmentation_at_peak_share)} of what was held lay unused`
              : null,
            'peak_bytes',
          ],
          known(m.in_use_bytes) && [
            'Between runs',
            byteParts(m.in_use_bytes),
            'in use after the last run',
            'in_use_bytes',
          ],
          known(m.allocated_bytes_per_run.p50) && [
            'Allocated by a run',
            byteParts(m.allocated_bytes_per_run.p50),
            `at most ${fmtBytes(m.allocated_bytes_per_run.max)}`,
            'allocated',
          ],
          !known(m.allocated_bytes_per_run.p50) &&
            known(m.allocated_bytes_per_run.mean) && [
              'Allocated by a run',
              byteParts(m.allocated_bytes_per_run.mean),
              'in the mean',
              'allocated',
            ],
          known(m.allocations_per_run.mean) && [
            'Allocations a run',
            [digits(m.allocations_per_run.mean), ''],
            'in the mean',
            'allocations',
          ],
        ],
        true,
      ),
      (m.notes || []).map((note) => h('p', { class: 'note' }, `${note[0].toUpperCase()}${note.slice(1)}.`)),
      known(m.arena_bytes) && series && series.ms.length > 1
        ? [
            memoryChart(series),
            h(
              'div',
              { class: 'legend' },
              h('span', {}, h('i', { class: 'b2' }), 'held'),
              h('span', {}, h('i', { class: 'b0' }), 'in use after runs, least to most'),
            ),
          ]
        : null,
    ),
  );
}

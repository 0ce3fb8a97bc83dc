// SPDX-License-Identifier: MIT
// Runs far slower than usual, and why: in a sentence, and one by one.

const extraOf = (n) => data.report.sessions.find((x) => x.id === n.id);
const outliersOf = (n) => (extraOf(n) || {}).outliers || [];
const mainCause = (o) =>
  o.causes.length && o.causes[0].share >= o.unexplained ? o.causes[0].words : 'unexplained';

// The first run is told apart: alone it is no news.
function outlierCount(n) {
  const groups = (extraOf(n) || {}).outlier_groups || [];
  const all = n.outlier_causes.runs;
  return all === 1 && groups.length === 1 && groups[0].cause === 'first_run' ? 0 : all;
}

// "19 runs took over 3 times their usual time: 14 after more than 200 ms idle, 3 page faults, ..."
function outlierFinding(n) {
  const count = outlierCount(n);
  if (!count) return '';
  const {
    groups,
    explained_runs: explained,
    factor,
  } = { ...n.outlier_causes, groups: extraOf(n).outlier_groups };
  const parts = groups.slice(0, 6).map((g) => `${fmtCount(g.runs)} ${g.words}`);
  const others = groups.slice(6).reduce((sum, g) => sum + g.runs, 0);
  if (others) parts.push(`${fmtCount(others)} for other reasons`);
  if (count > explained) parts.push(`${fmtCount(count - explained)} not looked into`);
  return `${plural(count, 'run')} took over ${factor} times their usual time: ${parts.join(', ')}.`;
}

// The greatest known reason, if it stands for half of them or more: " (mostly preempted by x)"
function mostlyBecause(n) {
  const [group] = extraOf(n).outlier_groups;
  if (!group || group.cause === 'unexplained' || group.runs < outlierCount(n) / 2) return '';
  return ` (${group.runs === outlierCount(n) ? '' : 'mostly '}${group.words})`;
}

// What is known about a cause besides its share.
const AMOUNTS = {
  arena_growth: fmtBytes,
  page_faults: (v) => plural(v, 'fault'),
  idle_before: (v) => fmtUs(v / 1e3),
  throttled: (v) => `clock at ${v.toFixed(0)} %`,
  slow_operator: (v) => `${fmtUs(v / 1e3)} above its usual time`,
};

function causeBadge(c) {
  const amount = known(c.amount) && AMOUNTS[c.cause] ? AMOUNTS[c.cause](c.amount) : '';
  return h(
    'span',
    {
      class: `badge ${c.measured ? 'warn' : ''}`,
      title: c.measured ? 'from times that were recorded' : 'a circumstance: what it cost was not timed',
    },
    `${c.words}${amount ? ` (${amount})` : ''} ${fmtPercent(c.share, 0)}`,
  );
}

function causeList(o) {
  const list = o.causes.map((c) => [causeBadge(c), ' ']);
  if (o.unexplained >= 0.1 || !list.length)
    list.push(h('span', { class: 'muted' }, `unexplained ${fmtPercent(list.length ? o.unexplained : 1, 0)}`));
  return list;
}

function runButton(run, state) {
  if (!state.runs.some((r) => r.run === run)) return fmtCount(run);
  const props = { class: 'button', type: 'button', 'data-run': run, onclick: () => state.choose(run, true) };
  return h('button', props, fmtCount(run));
}

function outlierCard(n, state) {
  const all = outliersOf(n);
  if (!all.length) return null;
  const shown = all.slice(0, 20);
  const columns = [
    { title: 'Run', value: (o) => runButton(o.run, state) },
    { title: 'Latency', num: true, value: (o) => fmtUs(o.us) },
    { title: 'Usual', num: true, value: (o) => fmtUs(o.usual_us) },
    { title: 'Times', num: true, value: (o) => fmtTimes(o.us / o.usual_us) },
    { title: 'Why, of the time above the usual', classes: 'name wide causes', value: causeList },
  ];
  const count = n.outlier_causes.runs;
  return h(
    'div',
    { class: 'card', id: 'outliers' },
    h('h3', {}, 'Runs far slower than usual'),
    h('p', { class: 'says' }, outlierFinding(n) || 'Only the first run, which pays for warming up.'),
    table(columns, shown, 'Slow runs and their causes'),
    h(
      'p',
      { class: 'note' },
      count > shown.length ? `The ${shown.length} worst of ${fmtCount(count)}. ` : '',
      'Usual is the median of runs with the same inputs. Coloured causes were timed; the others are circumstances that usual runs lack.',
    ),
  );
}

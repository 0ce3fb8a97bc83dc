// SPDX-License-Identifier: MIT
// The first ten seconds: one sentence, and what else a reader should know, worst first.

const modelName = (session) => fileName(session.model) || `session ${session.id}`;
const busiest = (sessions) =>
  sessions.slice().sort((a, b) => b.runs * (b.latency_us.mean || 0) - a.runs * (a.latency_us.mean || 0))[0];

function verdictOfComparison(diff) {
  const group =
    diff.sessions.find((g) => g.verdict === 'worse') ||
    diff.sessions.find((g) => g.verdict === 'better') ||
    diff.sessions[0];
  if (!group) return 'Nothing could be compared: the two recordings have no model in common.';
  const name = fileName(group.model);
  const change = group.metrics.latency.change_percent;
  const by = known(change.value) ? `${Math.abs(change.value).toFixed(1)} %` : '';
  if (group.verdict === 'worse') return `${name} became ${by} slower.`;
  if (group.verdict === 'better') return `${name} became ${by} faster.`;
  if (group.verdict === 'same')
    return `${diff.sessions.length > 1 ? 'Every model runs' : `${name} runs`} as fast as before.`;
  return `Whether ${name} became slower can’t be told from these runs.`;
}

// The least and the greatest median by input shapes, if that makes a difference of half or more. Shapes
// that are used now and then say little.
function byInputs(n) {
  const medians = (n.shapes || []).filter((x) => x.runs >= Math.max(10, 0.05 * n.runs)).map((x) => x.p50_us);
  const [least, most] = [Math.min(...medians), Math.max(...medians)];
  return medians.length > 1 && most >= 1.5 * least ? [least, most] : null;
}

function verdictOf(data) {
  const { sessions, target } = data.summary;
  const ran = sessions.filter((n) => n.runs > 0);
  if (data.diff) return verdictOfComparison(data.diff);
  if (!sessions.length)
    return `${fileName(target.program) || 'The program'} used no ONNX Runtime while it was recorded.`;
  if (!ran.length) return `${plural(sessions.length, 'session')} loaded, but nothing ran.`;
  const n = busiest(ran);
  const l = n.latency_us;
  const name = modelName(n);
  if (!known(l.p50)) return `Every run of ${name} failed.`;
  if (n.failed_runs) return `${plural(n.failed_runs, 'run')} of ${name} failed, of ${fmtCount(n.runs)}.`;
  if (n.memory.growth.verdict === 'leak')
    return `${name} keeps ${fmtBytes(n.memory.growth_bytes_per_run)} more memory with every run.`;
  if (n.stability && n.stability.verdict === 'slower')
    return `${name} became ${n.stability.drift_percent.toFixed(0)} % slower while it was recorded.`;
  const slow = outlierCount(n);
  if (slow)
    return `${name} takes ${fmtUs(l.p50)}, but ${fmtCount(slow)} of ${plural(n.runs, 'run')} took over ${n.outlier_causes.factor} times as long as usual${mostlyBecause(n)}.`;
  const inputs = byInputs(n);
  if (inputs)
    return `${name} takes between ${fmtUs(inputs[0])} and ${fmtUs(inputs[1])} in the middle, depending on its inputs.`;
  if (n.runs >= 100 && l.p99 > 2.5 * l.p50)
    return `${name} takes ${fmtUs(l.p50)}, but one run in a hundred takes ${fmtTimes(l.p99 / l.p50)} as long or longer.`;
  if (n.runs >= 100)
    return `${name} runs evenly: ${fmtUs(l.p50)} in the middle, 99 of 100 runs within ${fmtUs(l.p99)}.`;
  return `${name} took ${fmtUs(l.p50)} in the middle of ${plural(n.runs, 'run')}.`;
}

// [severity, text]
function findingsOfSession(n, many) {
  const list = [];
  const name = many ? `${modelName(n)}: ` : '';
  const l = n.latency_us;
  const growth = n.memory.growth;
  if (n.failed_runs)
    list.push(['bad', `${name}${plural(n.failed_runs, 'run')} of ${fmtCount(n.runs)} failed.`]);
  if (growth.verdict === 'leak')
    list.push([
      'bad',
      `${name}memory in use grows by ${fmtBytes(growth.bytes_per_run)} a run (95 % sure of ${fmtBytes(growth.low)} to ${fmtBytes(growth.high)}): a leak, or results that the program keeps.`,
    ]);
  const told = outlierFinding(n);
  if (told) list.push(['warn', name + told]);
  if (known(l.first) && known(l.p50) && l.first > 3 * l.p50)
    list.push(['', `${name}the first run took ${fmtUs(l.first)}, ${fmtTimes(l.first / l.p50)} the median.`]);
  if (n.stability && n.stability.verdict === 'slower')
    list.push([
      'warn',
      `${name}runs became ${n.stability.drift_percent.toFixed(1)} % slower from begin to end.`,
    ]);
  const types = opTypes(n);
  if (types.length && types[0].share >= 0.2)
    list.push(['', `${name}${types[0].name} takes ${fmtPercent(types[0].share, 0)} of the operators’ time.`]);
  const placement = n.placement || [];
  if (placement.length > 1)
    list.push([
      'warn',
      `${name}nodes run on ${placement.map((p) => `${shortProvider(p.provider)} (${fmtCount(p.nodes)})`).join(' and ')}.`,
    ]);
  if (growth.verdict === 'steady') list.push(['good', `${name}memory in use is steady from run to run.`]);
  return list;
}

function findingsOf(data) {
  const { summary, report } = data;
  const ran = summary.sessions.filter((n) => n.runs > 0);
  const list = [];
  if (report.damage) list.push(['bad', `The recording is not whole. ${report.damage}`]);
  if (summary.lost_events)
    list.push([
      'bad',
      `${plural(summary.lost_events, 'event')} were lost: ${report.lost.map((c) => c.cause).join(', ')}.`,
    ]);
  const shown = ran.length > 1 ? [busiest(ran)] : ran;
  for (const n of shown) list.push(...findingsOfSession(n, ran.length > 1));
  if (known(summary.overhead.share) && summary.overhead.share > 0.05)
    list.push(['warn', `Recording itself cost ${fmtPercent(summary.overhead.share)} of each run.`]);
  const order = ['bad', 'warn', '', 'good'];
  return list.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])).slice(0, 6);
}

// Self time by type, largest first.
function opTypes(n) {
  const byType = new Map();
  for (const op of n.ops || []) {
    const name = opType(op.op_type, op.domain, op.op_type_source);
    const t = byType.get(name) || {
      name,
      calls: 0,
      self_us: 0,
      total_us: 0,
      share: 0,
      nodes: 0,
      providers: new Set(),
    };
    t.calls += op.calls;
    t.self_us += op.self_us;
    t.total_us += op.total_us;
    t.share += op.share || 0;
    t.nodes += 1;
    t.providers.add(shortProvider(op.provider));
    byType.set(name, t);
  }
  return [...byType.values()].sort((a, b) => b.self_us - a.self_us);
}

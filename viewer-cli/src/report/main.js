// SPDX-License-Identifier: MIT
// Puts the page together, and again for another session.

const data = JSON.parse(document.getElementById('data').textContent);

function themeSwitch() {
  const button = document.getElementById('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const show = () => {
    const theme = chosen || (dark.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = theme;
    button.setAttribute('aria-pressed', String(theme === 'dark'));
  };
  button.addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    show();
  });
  dark.addEventListener('change', show);
  show();
}

function hero() {
  const { summary, report } = data;
  const versions = [...new Set(summary.runtime.map((r) => r.version).filter(Boolean))];
  return h(
    'div',
    { class: 'hero' },
    h(
      'p',
      { class: 'eyebrow' },
      h('strong', {}, fileName(summary.target.program) || 'unknown program'),
      versions.length ? h('span', {}, `ONNX Runtime ${versions.join(', ')}`) : null,
      report.start_utc ? h('span', {}, fmtDate(report.start_utc)) : null,
      h('span', {}, `${fmtUs(summary.duration_s * 1e6)} recorded`),
    ),
    h('h1', { id: 'verdict' }, verdictOf(data)),
    h(
      'ul',
      { class: 'findings', id: 'findings' },
      findingsOf(data).map(([severity, text]) => h('li', { class: severity || null }, text)),
    ),
  );
}

function sessionTiles(n) {
  const l = n.latency_us;
  return tiles([
    ['Median', timeParts(l.p50), null, 'p50'],
    [
      'p99',
      timeParts(l.p99),
      known(l.p99) && known(l.p50) ? `${fmtTimes(l.p99 / l.p50)} the median` : null,
      'p99',
    ],
    [
      'Slowest',
      timeParts(l.max),
      known(l.max) && known(l.p50) ? `${fmtTimes(l.max / l.p50)} the median` : null,
      'max',
    ],
    [
      'Throughput',
      [known(n.throughput_per_s) ? digits(n.throughput_per_s) : UNKNOWN, 'runs/s'],
      null,
      'throughput',
    ],
    [
      'Runs',
      [fmtCount(n.runs), ''],
      n.failed_runs ? `${fmtCount(n.failed_runs)} failed` : 'all succeeded',
      'runs',
    ],
    known(n.memory.peak_bytes)
      ? ['Peak memory', byteParts(n.memory.peak_bytes), 'of its arenas', 'memory']
      : ['Loading', timeParts(known(n.load_ms) ? n.load_ms * 1e3 : null), null, 'load'],
  ]);
}

function sessionPicker(chosen, choose) {
  const { sessions } = data.summary;
  if (sessions.length < 2) return null;
  return h(
    'div',
    { class: 'sessions', role: 'group', 'aria-label': 'Sessions' },
    sessions.map((n) =>
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(n === chosen),
          'data-session': n.id,
          onclick: () => choose(n),
        },
        h('b', {}, modelName(n)),
        h(
          'span',
          {},
          `session ${n.id}: ${plural(n.runs, 'run')}${known(n.latency_us.p50) ? `, ${fmtUs(n.latency_us.p50)}` : ''}`,
        ),
      ),
    ),
  );
}

// What belongs to the chosen session, and which of its runs is shown.
function stateOf(n) {
  const order = ['median', 'p99', 'slowest', 'first', 'outlier'];
  const rank = (r) => Math.min(...r.why.map((w) => order.indexOf(w)));
  const runs = data.report.runs
    .filter((r) => r.session === n.id)
    .sort((a, b) => rank(a) - rank(b) || b.us - a.us);
  const state = { data, session: n, runs, run: 0, onChoose: [], colors: new Map() };
  state.choose = (run, jump) => {
    if (!runs.some((r) => r.run === run)) return;
    state.run = run;
    for (const f of state.onChoose) f(run);
    if (jump) document.getElementById('inference').scrollIntoView();
  };
  return state;
}

function sessionParts(n) {
  if (!n) return [machineSection(null, data), recordingSection(null, data)];
  const extra = data.report.sessions.find((x) => x.id === n.id);
  const state = stateOf(n);
  const latency = latencySection(n, extra, state);
  const inference = inferenceSection(n, state);
  const parts = [
    h('div', { class: 'session-tiles' }, sessionTiles(n)),
    latency,
    inference,
    operatorsSection(n, state.colors),
    memorySection(n, extra),
    machineSection(n, data),
    recordingSection(n, data),
  ];
  if (state.runs.length) state.choose(state.runs[0].run);
  return parts.filter(Boolean);
}

function navigation() {
  const sections = [...document.querySelectorAll('section.block')];
  document
    .getElementById('nav')
    .replaceChildren(
      ...sections.map((x) =>
        h(
          'a',
          { href: `#${x.id}` },
          x.id === 'inference'
            ? 'Inference'
            : x.id === 'compare'
              ? 'Comparison'
              : x.querySelector('h2').textContent,
        ),
      ),
    );
}

function build() {
  const main = document.getElementById('main');
  const { sessions, target, ortscope_version: version } = data.summary;
  const body = h('div', { id: 'session' });
  const picker = h('div', {});
  const choose = (n) => {
    picker.replaceChildren(sessionPicker(n, choose) || '');
    body.replaceChildren(...sessionParts(n));
    navigation();
  };
  document.title = `${fileName(target.program) || 'Recording'}: ortscope report`;
  main.replaceChildren(hero(), compareSection(data.diff) || '', picker, body);
  choose(sessions.length ? busiest(sessions) : null);
  document.getElementById('footer').textContent =
    `Made by ortscope ${version || ''} from ${data.report.file}. This page loads nothing from anywhere.`;
}

themeSwitch();
build();

// SPDX-License-Identifier: MIT
// What the operators of a session cost: by type or by node, sorted and filtered by the reader.

const SOME_ROWS = 25;

const OP_COLUMNS = [
  { key: 'name', title: 'Operator', text: true },
  { key: 'type', title: 'Type', text: true, node: true },
  { key: 'provider', title: 'Provider', text: true },
  { key: 'calls', title: 'Calls', show: fmtCount },
  { key: 'self_us', title: 'Self', show: fmtUs },
  { key: 'total_us', title: 'Total', show: fmtUs },
  { key: 'mean_us', title: 'Mean', show: fmtUs },
  { key: 'share', title: 'Share', share: true },
];

function opRows(n, by) {
  if (by === 'type')
    return opTypes(n).map((t) => ({
      name: t.name,
      type: t.name,
      provider: [...t.providers].join(', '),
      calls: t.calls,
      self_us: t.self_us,
      total_us: t.total_us,
      mean_us: t.total_us / t.calls,
      share: t.share,
    }));
  return n.ops.map((o) => ({
    name: o.node || '(no name)',
    type: opType(o.op_type, o.domain, o.op_type_source),
    provider: shortProvider(o.provider),
    calls: o.calls,
    self_us: o.self_us,
    total_us: o.total_us,
    mean_us: o.mean_us,
    share: o.share,
  }));
}

function sorted(rows, key, down) {
  const text = OP_COLUMNS.find((c) => c.key === key).text;
  const order = (a, b) =>
    text ? a[key].localeCompare(b[key], 'en', { numeric: true }) : (a[key] || 0) - (b[key] || 0);
  return rows.slice().sort((a, b) => (down ? order(b, a) : order(a, b)));
}

function opTable(rows, view, colors, most) {
  const columns = OP_COLUMNS.filter((c) => view.by === 'node' || !c.node);
  const cell = (c, row) => {
    if (c.share)
      return h(
        'td',
        { class: 'share num' },
        meter(row.share / most, colors.get(row.type) ?? 8),
        h('b', {}, fmtPercent(row.share)),
      );
    if (c.text) return h('td', { class: c.key === 'name' ? 'name' : null }, row[c.key]);
    return h('td', { class: 'num' }, c.show(row[c.key]));
  };
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Operators' },
    h(
      'table',
      { id: 'op-table' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((c) =>
            h(
              'th',
              {
                scope: 'col',
                class: c.text ? null : 'num',
                'aria-sort': view.key === c.key ? (view.down ? 'descending' : 'ascending') : null,
              },
              h('button', { type: 'button', 'data-sort': c.key, onclick: () => view.sortBy(c) }, c.title),
            ),
          ),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {},
            columns.map((c) => cell(c, row)),
          ),
        ),
      ),
    ),
  );
}

function opsWords(n) {
  const types = opTypes(n);
  const time = n.ops.reduce((sum, o) => sum + o.self_us, 0);
  const placed = (n.placement || []).map(
    (p) => `${fmtCount(p.nodes)} on ${shortProvider(p.provider)} (${fmtPercent(p.share)} of the time)`,
  );
  return `${plural(n.ops.length, 'executed node')} of ${plural(types.length, 'type')} took ${fmtUs(time)} in ${plural(n.ops_runs, 'run')}; ${placed.join(', ')}.`;
}

function assignedWords(n) {
  const told = (n.provider_devices || []).filter((d) => d.provider && known(d.nodes));
  const words = [...new Set(told.map((d) => `${plural(d.nodes, 'node')} to ${shortProvider(d.provider)}`))];
  return words.length ? ` ONNX Runtime assigned ${words.join(', ')}.` : '';
}

function operatorsSection(n, colors) {
  if (!n.ops || !n.ops.length)
    return section(
      'operators',
      'Operators',
      null,
      card('', null, null, h('p', { class: 'empty' }, `No operators of this session’s runs were recorded.${assignedWords(n)}`)),
    );
  const body = h('div', {});
  const count = h('span', { class: 'muted', id: 'op-count', 'aria-live': 'polite' });
  const view = { by: 'type', key: 'self_us', down: true, filter: '', all: false };
  const draw = () => {
    const rows = opRows(n, view.by);
    const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = rows.filter((r) =>
      words.every((w) => `${r.name} ${r.type} ${r.provider}`.toLowerCase().includes(w)),
    );
    const shown = sorted(matching, view.key, view.down);
    const some = view.all ? shown : shown.slice(0, SOME_ROWS);
    const most = Math.max(...rows.map((r) => r.share || 0)) || 1;
    count.textContent =
      matching.length === rows.length
        ? plural(rows.length, 'row')
        : `${fmtCount(matching.length)} of ${fmtCount(rows.length)} rows, ${fmtPercent(matching.reduce((sum, r) => sum + (r.share || 0), 0))} of the time`;
    const more = shown.length - some.length;
    body.replaceChildren(
      some.length ? opTable(some, view, colors, most) : h('p', { class: 'empty' }, 'No operator matches.'),
      more > 0
        ? h(
            'p',
            { class: 'note screen-only' },
            h(
              'button',
              {
                class: 'button',
                type: 'button',
                id: 'op-more',
                onclick: () => {
                  view.all = true;
                  draw();
                },
              },
              `Show ${fmtCount(more)} more`,
            ),
          )
        : '',
    );
  };
  view.sortBy = (column) => {
    view.down = view.key === column.key ? !view.down : !column.text;
    view.key = column.key;
    draw();
    body.querySelector(`[data-sort="${column.key}"]`).focus();
  };
  const tools = h(
    'div',
    { class: 'tools' },
    segments(
      'Group by',
      [
        ['type', 'Types'],
        ['node', 'Nodes'],
      ],
      view.by,
      (by) => {
        view.by = by;
        draw();
      },
    ),
    h('input', {
      type: 'search',
      id: 'op-filter',
      placeholder: 'Filter by name, type, provider',
      'aria-label': 'Filter operators',
      oninput: (e) => {
        view.filter = e.target.value;
        draw();
      },
    }),
    count,
  );
  draw();
  return section(
    'operators',
    'Operators',
    null,
    card(
      '',
      null,
      opsWords(n),
      tools,
      body,
      (n.ops_notes || []).map((note) => h('p', { class: 'note' }, `${note}.`)),
    ),
  );
}

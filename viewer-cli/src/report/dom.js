// SPDX-License-Identifier: MIT
// Elements from code. Texts only ever become text nodes: names in a recording are foreign.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'width%') element.style.width = `${value}%`;
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

function section(id, title, says, ...children) {
  return h(
    'section',
    { class: 'block', id, 'aria-labelledby': `${id}-title` },
    h('header', {}, h('h2', { id: `${id}-title` }, title), says ? h('p', {}, says) : null),
    children,
  );
}

const card = (classes, title, says, ...children) =>
  h(
    'div',
    { class: `card ${classes || ''}` },
    title ? h('h3', {}, title) : null,
    says ? h('p', { class: 'says' }, says) : null,
    children,
  );

// [label, [number, unit], remark, key]
function tiles(list, inner) {
  return h(
    'dl',
    { class: inner ? 'tiles inner' : 'tiles' },
    list
      .filter(Boolean)
      .map(([label, [number, unit], remark, key]) =>
        h(
          'div',
          { class: 'tile', 'data-tile': key },
          h('dt', {}, label),
          h('dd', {}, number, unit ? h('small', {}, ` ${unit}`) : null),
          remark ? h('p', {}, remark) : null,
        ),
      ),
  );
}

const facts = (list) =>
  h(
    'dl',
    { class: 'facts' },
    list
      .filter((f) => f && f[1] !== null && f[1] !== undefined && f[1] !== '')
      .map(([name, value, classes]) => [h('dt', {}, name), h('dd', { class: classes }, value)]),
  );

// columns: {title, num, value(row) -> text or node, classes}
function table(columns, rows, caption) {
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((c) => h('th', { scope: 'col', class: c.num ? 'num' : null }, c.title)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {},
            columns.map((c) =>
              h(
                'td',
                { class: [c.num ? 'num' : '', c.classes || ''].join(' ').trim() || null },
                c.value(row),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function segments(label, options, chosen, onChoose) {
  const group = h('div', { class: 'segments', role: 'group', 'aria-label': label });
  for (const [key, text] of options) {
    group.append(
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(key === chosen),
          'data-choice': key,
          onclick: () => {
            for (const b of group.children) b.setAttribute('aria-pressed', String(b.dataset.choice === key));
            onChoose(key);
          },
        },
        text,
      ),
    );
  }
  return group;
}

const meter = (part, color) =>
  h(
    'span',
    { class: 'meter', 'aria-hidden': 'true' },
    h('i', { class: `b${color || 0}`, 'width%': Math.max(0, Math.min(100, part * 100)).toFixed(2) }),
  );

// One box that follows the pointer.
function showTip(event, text) {
  const tip = document.getElementById('tip');
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const y =
    event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18;
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}

function hideTip() {
  document.getElementById('tip').hidden = true;
}

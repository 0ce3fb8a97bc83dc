// SPDX-License-Identifier: MIT
// Seeing a stretch of an inference closer: by dragging, by the wheel with Ctrl, by the keyboard.

function zoomTo(view, from, to, whole) {
  const least = Math.min(whole, 0.05);
  const span = Math.max(least, Math.min(whole, to - from));
  view.from = Math.max(0, Math.min(whole - span, from));
  view.to = view.from + span;
  view.changed();
}

function zoomBy(view, factor, whole, at = (view.from + view.to) / 2) {
  zoomTo(view, at - (at - view.from) * factor, at + (view.to - at) * factor, whole);
}

function onKey(event, view, whole) {
  const span = view.to - view.from;
  const moves = {
    '+': () => zoomBy(view, 0.5, whole),
    '=': () => zoomBy(view, 0.5, whole),
    '-': () => zoomBy(view, 2, whole),
    0: () => zoomTo(view, 0, whole, whole),
    ArrowLeft: () => zoomTo(view, view.from - span / 4, view.to - span / 4, whole),
    ArrowRight: () => zoomTo(view, view.from + span / 4, view.to + span / 4, whole),
  };
  if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  moves[event.key]();
}

function listen(svg, box, width, x, view, run) {
  const place = (e) => {
    const r = svg.getBoundingClientRect();
    return Math.max(0, Math.min(width, (e.clientX - r.left) * (width / r.width)));
  };
  svg.addEventListener(
    'wheel',
    (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      zoomBy(view, e.deltaY > 0 ? 1.3 : 1 / 1.3, run.us, x.back(place(e)));
    },
    { passive: false },
  );
  svg.addEventListener('pointerdown', (e) => {
    if (e.button !== 0 || e.pointerType === 'touch') return;
    const start = place(e);
    const mark = s('rect', { class: 'selection', x: start, width: 0, y: 16, height: 4000 });
    const move = (m) => {
      const now = place(m);
      if (!mark.parentNode && Math.abs(now - start) > 4) svg.append(mark);
      mark.setAttribute('x', Math.min(start, now));
      mark.setAttribute('width', Math.abs(now - start));
    };
    const up = (u) => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
      const now = place(u);
      mark.remove();
      if (Math.abs(now - start) > 4)
        zoomTo(view, x.back(Math.min(start, now)), x.back(Math.max(start, now)), run.us);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
  });
}

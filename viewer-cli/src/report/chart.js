// SPDX-License-Identifier: MIT
// Charts: an SVG that is drawn anew for the width that it has, scales, axes.

const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries)
    if (target.redraw && target.clientWidth !== target.drawnWidth) target.redraw();
});

// draw(svg, width, height) puts shapes into an empty svg. `says` is the chart's content in words.
function chart(height, says, draw, classes) {
  const box = h('div', {});
  box.redraw = () => {
    const width = box.clientWidth;
    if (!width) return;
    box.drawnWidth = width;
    const tall = typeof height === 'function' ? height(width) : height;
    const svg = s('svg', {
      class: `chart ${classes || ''}`,
      viewBox: `0 0 ${width} ${tall}`,
      role: 'img',
      'aria-label': says,
    });
    draw(svg, width, tall, box);
    box.replaceChildren(svg);
  };
  watcher.observe(box);
  return box;
}

function linear(from, to, low, high) {
  const scale = (v) => low + ((v - from) / (to - from || 1)) * (high - low);
  scale.back = (p) => from + ((p - low) / (high - low || 1)) * (to - from);
  scale.ticks = (count) => roundTicks(from, to, count);
  return scale;
}

function logarithmic(from, to, low, high) {
  const inner = linear(Math.log(from), Math.log(to), low, high);
  const scale = (v) => inner(Math.log(Math.max(v, from)));
  scale.ticks = () => {
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10) {
      for (const factor of [1, 2, 5])
        if (power * factor >= from && power * factor <= to) all.push(power * factor);
    }
    return all.length > 7 ? all.filter((v) => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6)) : all;
  };
  return scale;
}

// Values 1, 2, 5, 10, ... apart.
function roundTicks(from, to, count) {
  const span = to - from;
  if (!(span > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = [1, 2, 5, 10].map((f) => f * power).find((v) => span / v <= count) || power * 10;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

// Texts for ticks of an axis: one unit for all of them, and the digits in which they differ.
function timeTexts(ticks) {
  const most = Math.max(...ticks.map(Math.abs));
  const fits = TIMES.filter((step) => step[0] <= most * 1.0001 && (step[0] < 6e7 || most >= 20 * step[0]));
  const [size, unit] = fits.pop() || TIMES[0];
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) / size : 1;
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return (us) => (us === 0 ? '0' : `${(us / size).toFixed(decimals)} ${unit}`);
}

// The same for ticks that are powers apart.
function tickTime(us) {
  if (us === 0) return '0';
  const [number, unit] = timeParts(us);
  return `${Number(Number(number).toPrecision(3))} ${unit}`;
}

const secondsAxis = (svg, x, bottom, count) => {
  const ticks = x.ticks(count);
  const text = timeTexts(ticks.map((ms) => ms * 1e3));
  xAxis(svg, x, bottom, ticks, (ms) => text(ms * 1e3));
};

function tickIn(v, unit) {
  if (v === 0) return '0';
  if (unit === 'B' || unit === 'B/s') {
    const [number, name] = byteParts(v);
    return `${Number(Number(number).toPrecision(3))} ${name}${unit === 'B/s' ? '/s' : ''}`;
  }
  const short =
    Math.abs(v) >= 1e6
      ? `${Number((v / 1e6).toPrecision(3))} M`
      : Math.abs(v) >= 1e4
        ? `${Number((v / 1e3).toPrecision(3))} k`
        : String(Number(v.toPrecision(3)));
  return unit === '%' ? `${short} %` : short;
}

function xAxis(svg, scale, y, ticks, text) {
  const [left, right] = [scale.low, scale.high];
  svg.append(s('line', { class: 'axis', x1: left, x2: right, y1: y, y2: y }));
  for (const t of ticks) {
    const x = scale(t);
    svg.append(
      s(
        'text',
        { x, y: y + 17, 'text-anchor': x > right - 24 ? 'end' : x < left + 14 ? 'start' : 'middle' },
        text(t),
      ),
    );
  }
}

function yAxis(svg, scale, left, right, ticks, text) {
  for (const t of ticks) {
    const y = scale(t);
    svg.append(s('line', { class: 'gridline', x1: left, x2: right, y1: y, y2: y }));
    svg.append(s('text', { x: left - 8, y: y + 4, 'text-anchor': 'end' }, text(t)));
  }
}

// A scale for the axis that also knows its ends on the screen.
function across(from, to, left, right) {
  return Object.assign(linear(from, to, left, right), { low: left, high: right });
}

// Points as a path; null is a gap.
function pathOf(xs, ys) {
  let text = '';
  let pen = 'M';
  xs.forEach((x, i) => {
    if (!known(ys[i])) {
      pen = 'M';
      return;
    }
    text += `${pen}${x.toFixed(1)} ${ys[i].toFixed(1)}`;
    pen = 'L';
  });
  return text;
}

function bandOf(xs, lows, highs) {
  const at = xs.map((_, i) => i).filter((i) => known(lows[i]) && known(highs[i]));
  if (at.length < 2) return '';
  const there = at.map((i) => `${xs[i].toFixed(1)} ${highs[i].toFixed(1)}`);
  const back = at.reverse().map((i) => `${xs[i].toFixed(1)} ${lows[i].toFixed(1)}`);
  return `M${there.join('L')}L${back.join('L')}Z`;
}

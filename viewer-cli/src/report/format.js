// SPDX-License-Identifier: MIT
// Numbers for people: four digits and the unit that fits, as in the terminal. What is not known is "-".

const UNKNOWN = '–';
const known = (v) => typeof v === 'number' && Number.isFinite(v);

// Four significant digits, as many decimals as that needs.
function digits(v) {
  const whole = Math.floor(Math.abs(v)).toString().length;
  return v.toFixed(Math.abs(v) < 1 ? 3 : Math.max(0, 4 - whole));
}

function withUnit(v, scale, base) {
  if (!known(v)) return [UNKNOWN, ''];
  const size = Math.abs(v);
  let best = scale[0];
  for (const step of scale) if (size >= step[0] * 0.99995) best = step;
  return [base && best[0] === 1 ? Math.round(v).toString() : digits(v / best[0]), best[1]];
}

const TIMES = [
  [1e-3, 'ns'],
  [1, 'µs'],
  [1e3, 'ms'],
  [1e6, 's'],
  [6e7, 'min'],
  [3.6e9, 'h'],
];
const BYTES = [
  [1, 'B'],
  [1e3, 'kB'],
  [1e6, 'MB'],
  [1e9, 'GB'],
  [1e12, 'TB'],
];

const joined = ([number, unit]) => (unit ? `${number} ${unit}` : number);
const timeParts = (us) => (us === 0 ? ['0', 'µs'] : withUnit(us, TIMES));
const byteParts = (bytes) => withUnit(bytes, BYTES, true);
const fmtUs = (us) => joined(timeParts(us));
const fmtBytes = (bytes) => joined(byteParts(bytes));
const fmtCount = (n) => (known(n) ? Math.round(n).toLocaleString('en-US') : UNKNOWN);
const fmtPercent = (part, decimals = 1) => (known(part) ? `${(part * 100).toFixed(decimals)} %` : UNKNOWN);
const fmtTimes = (ratio) =>
  known(ratio) ? `${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)} ×` : UNKNOWN;
const fmtSigned = (percent) =>
  known(percent) ? `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %` : UNKNOWN;
const plural = (n, one, many) => `${fmtCount(n)} ${n === 1 ? one : many || `${one}s`}`;

// Values of a counter or a comparison, by the name of their unit.
function fmtIn(v, unit) {
  if (!known(v)) return UNKNOWN;
  if (unit === 'B' || unit === 'bytes') return fmtBytes(v);
  if (unit === 'B/s') return `${fmtBytes(v)}/s`;
  if (unit === 'us') return v < 0 ? `-${fmtUs(-v)}` : fmtUs(v);
  if (unit === '%') return `${v.toFixed(1)} %`;
  if (unit === '1/s' || unit === '/s') return `${digits(v)}/s`;
  if (unit === '1') return fmtCount(v);
  if (unit === 'J' || unit === 'W')
    return joined(
      withUnit(v, [
        [1e-6, `µ${unit}`],
        [1e-3, `m${unit}`],
        [1, unit],
        [1e3, `k${unit}`],
      ]),
    );
  if (unit === 'degC') return `${v.toFixed(1)} °C`;
  return `${digits(v)} ${unit || ''}`.trim();
}

const fileName = (path) => (path || '').split(/[\\/]/).pop();
const shortProvider = (name) => (name || '').replace(/ExecutionProvider$/, '') || UNKNOWN;

// "Conv (nchwc)": the domain where it is not ONNX's own. A type that only the kernel's class tells says so, as in texts.
function opType(type, domain, source) {
  if (!type) return UNKNOWN;
  const last = (domain || '')
    .split('.')
    .filter((w) => w && w !== 'ai' && w !== 'onnx' && w !== 'com')
    .pop();
  const shown = source === 'class' ? `${type} (by class)` : type;
  return last ? `${shown} (${last})` : shown;
}

function fmtDate(utc) {
  return utc ? `${utc.slice(0, 10)} ${utc.slice(11, 19)} UTC` : UNKNOWN;
}

// SPDX-License-Identifier: MIT
// Numbers as people read them. An unknown value is a dash, never a zero.
export const UNKNOWN = '–';

const known = (v) => typeof v === 'number' && Number.isFinite(v);

// Four significant digits, as the command line shows them.
function digits(value, count = 4) {
    const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
    return value.toFixed(Math.min(count - 1, Math.max(0, count - Math.max(1, whole))));
}

function scaled(value, steps, count) {
    if (!known(value)) return UNKNOWN;
    if (value === 0) return `0 ${steps[0][1]}`;
    let [scale, unit] = steps[0];
    for (const [s, u] of steps)
        // 999.96 would be rounded up to "1000.0"
        if (Math.abs(value) >= s * 0.99995) [scale, unit] = [s, u];
    return `${digits(value / scale, count)} ${unit}`;
}

const TIME = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's'], [6e10, 'min'], [3.6e12, 'h']];
const BYTES = [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']];
const ENERGY = [[1e-9, 'nJ'], [1e-6, 'µJ'], [1e-3, 'mJ'], [1, 'J'], [1e3, 'kJ']];

export const time = (ns, count) => scaled(ns, TIME, count);
export const us = (v) => (known(v) ? time(v * 1000) : UNKNOWN);
export const bytes = (v, count) => scaled(v, BYTES, count);
export const joules = (v) => (v === 0 ? '0 J' : scaled(v, ENERGY));
export const watts = (v) => (known(v) ? `${v.toFixed(v < 10 ? 2 : 1)} W` : UNKNOWN);
export const percent = (share) => (known(share) ? `${(share * 100).toFixed(1)} %` : UNKNOWN);
export const count = (v) => (known(v) ? Math.round(v).toLocaleString('en-US') : UNKNOWN);

export function rate(v) {
    if (!known(v)) return UNKNOWN;
    if (v === 0) return '0 /s';
    return v >= 1000 ? `${Math.round(v).toLocaleString('en-US')} /s` : `${digits(v, 3)} /s`;
}

// For the axes of charts: short.
const shorter = (text) => text.replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
export const shortTime = (ns) => (ns === 0 ? '0' : shorter(scaled(ns, TIME, 3)));
export const shortJoules = (v) => (v === 0 ? '0' : shorter(scaled(v, ENERGY, 3)));
export const shortBytes = (v) => (v === 0 ? '0' : shorter(scaled(v, BYTES, 3)));

// Seconds since the capture's start as m:ss or h:mm:ss.
export function clock(seconds) {
    if (!known(seconds)) return UNKNOWN;
    const s = Math.max(0, Math.floor(seconds));
    const two = (n) => String(n).padStart(2, '0');
    const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
    return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

// What an operator is shown as; where its graph did not tell the type it is that of the kernel's class.
export const opType = (o) => (o.op_type ? `${o.op_type}${o.op_type_source === 'class' ? ' (by class)' : ''}` : '?');
// Times of a provider that only hands work to a device are those of the submission; `time` is that of /ops.
export const timeRemark = (time) => ({submission: ', submission time', mixed: ', partly submission time'}[time] ?? '');
// The end of a path, which tells more than its begin.
export const fileName = (path) => String(path ?? '').split(/[\\/]/).pop();

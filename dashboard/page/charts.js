// SPDX-License-Identifier: MIT
// Charts on uPlot, which only draws: title, legend and numbers are ours, as text. A chart that is
// not on the screen is not drawn; what it missed is drawn when it comes back.
import {css, forgetColours} from './colours.js';
import * as format from './format.js';

const HEIGHT = 190;
const seen = new IntersectionObserver((entries) => {
    for (const e of entries) {
        const chart = e.target.chart;
        if (!chart) continue;
        chart.visible = e.isIntersecting;
        chart.draw();
    }
});

export function element(tag, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
}

// Marks of the recording: a line each, and its text where there is room for it.
const MARK_ROOM = 60, MARK_LETTERS = 24;

function drawMarks(u, marks) {
    const g = u.ctx, ratio = uPlot.pxRatio, {left, top, width, height} = u.bbox;
    let free = left, drawn = 0;
    g.save();
    g.font = `${11 * ratio}px ${css('--font')}`;
    g.textBaseline = 'top';
    g.setLineDash([3 * ratio, 3 * ratio]);
    g.lineWidth = ratio;
    g.strokeStyle = g.fillStyle = css('--text');
    for (const m of marks) {
        const x = Math.round(u.valToPos(m.time_s, 'x', true)) + 0.5;
        if (!(x >= left && x <= left + width)) continue;
        g.beginPath();
        g.moveTo(x, top);
        g.lineTo(x, top + height);
        g.stroke();
        drawn++;
        const text = m.text.slice(0, MARK_LETTERS), long = g.measureText(text).width;
        if (x < free || x + long > left + width) continue;
        g.fillText(text, x + 3 * ratio, top);
        free = x + Math.max(long, MARK_ROOM * ratio);
    }
    g.restore();
    return drawn;
}

// A line's colour in the legend, in stripes as its dashes are.
function swatchOf(colour, dash) {
    if (!dash) return colour;
    let at = 0;
    const stripes = dash.map((length, i) => `${i % 2 ? 'transparent' : colour} ${at}px ${at += length / 2}px`);
    return `repeating-linear-gradient(90deg, ${stripes.join(', ')})`;
}

class Chart {
    // series: [{label, colour, format, ...uPlot}]; x is in seconds unless options.x says otherwise.
    constructor(parent, options) {
        this.options = options;
        this.parent = parent;
        this.plotBox = element('div', 'plot');
        this.plotBox.setAttribute('role', 'img');
        this.plotBox.setAttribute('aria-label', options.title);
        this.marks = [];
        this.when = element('li', 'when');
        this.legend = element('ul', 'legend');
        parent.append(this.plotBox, this.legend);
        this.data = null;
        this.visible = true;
        this.plotBox.chart = this;
        seen.observe(this.plotBox);
        new ResizeObserver(() => this.resize()).observe(this.plotBox);
        this.series = [];
    }

    // New lines: the plot is built anew, which also happens when the theme changes.
    setSeries(series) {
        this.series = series;
        this.rebuild();
    }

    rebuild() {
        this.plot?.destroy();
        this.plot = null;
        this.buildLegend();
        this.draw();
        if (!this.visible && this.data) this.showValues();
    }

    buildLegend() {
        this.values = [];
        this.legend.replaceChildren(...this.series.filter((s) => !s.hidden).map((s) => {
            const item = element('li'), swatch = element('span', 'swatch'), value = element('b');
            swatch.style.background = swatchOf(s.colour.startsWith('--') ? css(s.colour) : s.colour, s.dash);
            item.append(swatch, element('span', '', s.label), value);
            this.values.push({value, series: s, index: this.series.indexOf(s) + 1});
            return item;
        }), this.when);
    }

    // The same lines with newer functions for their numbers.
    renewSeries(series) {
        this.series = series;
        for (const v of this.values) v.series = series[v.index - 1];
    }

    setData(data) {
        this.data = data;
        this.draw();
        if (!this.visible) this.showValues();
    }

    draw() {
        if (!this.visible || !this.data || !this.series.length) return;
        const width = this.plotBox.clientWidth;
        if (!width) return;
        if (!this.plot) this.build(width);
        else this.plot.setData(this.data, true);
        this.showValues();
    }

    // The number of the last point that has one, or of the one under the pointer.
    showValues() {
        const pointed = this.plot?.cursor.idx, at = pointed ?? this.data[0].length - 1;
        this.when.textContent = pointed == null ? '' : `at ${(this.options.xText ?? format.clock)(this.data[0][at])}`;
        for (const {value, series, index} of this.values) {
            if (series.text) value.textContent = series.text(pointed);
            else value.textContent = (series.format ?? this.options.format)(
                (pointed == null ? this.data[index].findLast((v) => v != null) : this.data[index][at]) ?? NaN);
        }
    }

    resize() {
        const width = this.plotBox.clientWidth;
        if (this.plot && width && width !== this.plot.width) this.plot.setSize({width, height: HEIGHT});
        else if (!this.plot) this.draw();
    }

    axis(extra) {
        return {stroke: () => css('--muted'), grid: {stroke: () => css('--line'), width: 1},
                ticks: {show: false}, font: `11px ${css('--font')}`, ...extra};
    }

    build(width) {
        const o = this.options;
        const colour = (name) => () => (name.startsWith('--') ? css(name) : name);
        const y = {range: o.range ?? ((u, low, high) => [0, (high || 1) * 1.08])};
        const second = this.series.some((s) => s.second) && this.axis(
            {values: (u, v) => v.map(o.secondText), size: 62, scale: 'second', side: 1, grid: {show: false}});
        this.plot = new uPlot({
            width, height: o.height ?? HEIGHT, legend: {show: false},
            cursor: {y: false, drag: {x: false, y: false}, points: {show: false}},
            scales: {x: {time: false, ...o.xScale}, y, ...(second && {second: {...y}})},
            axes: [this.axis({values: (u, v) => v.map(o.xText ?? format.clock), size: 26, space: 70, ...o.xAxis}),
                   this.axis({values: (u, v) => v.map(o.axisText ?? o.format), size: 62}), ...(second ? [second] : [])],
            series: [{}, ...this.series.map((s) => ({
                scale: s.second ? 'second' : 'y', dash: s.dash, stroke: colour(s.colour), width: s.width ?? 1.5, spanGaps: false, points: {show: false},
                ...(s.fill && {fill: () => `${css(s.colour)}${s.solid ? '99' : '22'}`}), ...s.plot}))],
            hooks: {setCursor: [() => this.data && this.showValues()],
                    draw: [(u) => { this.plotBox.dataset.marks = drawMarks(u, this.marks); }]},
        }, this.data, this.plotBox);
        // A pixel's worth of room for clicks: the chart of latencies opens the run at its point.
        if (o.onClick) this.plot.over.addEventListener('click', () => {
            const i = this.plot.cursor.idx;
            if (i != null) o.onClick(i);
        });
    }
}


export const charts = [];

export function chart(parent, options) {
    const made = new Chart(parent, options);
    charts.push(made);
    return made;
}

export function themeChanged() {
    forgetColours();
    for (const c of charts) c.rebuild();
}

// Points without a line, for outliers.
export const dots = {paths: () => null, width: 0,
                     points: {show: true, size: 6, fill: () => css('--bad'), stroke: () => css('--bad')}};

export const columns = (share = 0.9) => ({paths: uPlot.paths.bars({size: [share, 200]})});

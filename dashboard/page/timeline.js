// SPDX-License-Identifier: MIT
// The operator timeline: a canvas that draws only what is visible, once per frame at most. Zoom and
// pan by wheel, drag and keyboard; an operator under the pointer or chosen by keyboard is told to
// `onSelect`. Names are only drawn or handed on, never made into markup. The canvas is never higher
// than its box, however many threads there are: it stays in place while the box scrolls.
import {INK, css, providerColour, typeColour} from './colours.js';
import {linksOf} from './op_links.js';
import {firstAbove, operatorAt, visibleBars} from './op_model.js';
import {shortTime} from './format.js';

const AXIS = 26, LABEL = 18, ROW = 22, STRIP = 4, GAP = 4, SLACK_PIXELS = 3, TEXT_FROM_PIXELS = 34;
const MOST_HEIGHT = 460; // of the box, as the style sheet has it
const SMALLEST_NS = 50; // the shortest stretch that can be zoomed to

export class OpTimeline {
    constructor(canvas, {onSelect, onView}) {
        this.canvas = canvas;
        this.onSelect = onSelect;
        this.onView = onView ?? (() => {});
        this.context = canvas.getContext('2d');
        this.model = null;
        this.type = this.provider = '';
        this.selected = null;
        this.textWidths = new Map();
        this.frames = 0;
        this.space = canvas.parentElement;
        this.box = this.space.parentElement;
        this.listen();
        new ResizeObserver(() => this.resize()).observe(this.box);
    }

    // ------------------------------------------------------------------------------ what is shown

    show(model, {keepView = false} = {}) {
        this.model = model;
        this.selected = this.links = null;
        for (const type of model.types) typeColour(type);
        let y = AXIS, thread;
        for (const row of model.rows) {
            if (row.thread !== thread) y += LABEL;
            thread = row.thread;
            row.y = y;
            y += ROW + STRIP + GAP;
        }
        this.tops = Float64Array.from(model.rows, (row) => row.y);
        this.height = Math.max(80, y + 2);
        this.end = Math.max(model.end_ns, 1000);
        if (!keepView || !(this.to > this.from) || this.from >= this.end) this.setView(0, this.end);
        else this.setView(this.from, this.to);
        this.resize();
    }

    filter(type, provider) {
        this.type = type;
        this.provider = provider;
        this.redraw();
    }

    setView(from, to) {
        const length = Math.min(Math.max(to - from, SMALLEST_NS), this.end);
        this.from = Math.min(Math.max(0, from), this.end - length);
        this.to = this.from + length;
        this.onView(this.from, this.to);
        this.redraw();
    }

    fit() { this.setView(0, this.end); }
    get zoomed() { return this.to - this.from < this.end * 0.999; }

    zoom(factor, at = (this.from + this.to) / 2) {
        const length = Math.min(Math.max((this.to - this.from) * factor, SMALLEST_NS), this.end);
        const share = (at - this.from) / (this.to - this.from);
        this.setView(at - share * length, at + (1 - share) * length);
    }

    pan(share) {
        const step = (this.to - this.from) * share;
        this.setView(this.from + step, this.to + step);
    }

    matches = (o) => (!this.type || o.type === this.type) &&
                     (!this.provider || o.provider === this.provider);

    // -------------------------------------------------------------------------------------- input

    listen() {
        const c = this.canvas;
        c.addEventListener('wheel', (e) => this.wheel(e), {passive: false});
        c.addEventListener('pointerdown', (e) => {
            if (!this.model || e.button !== 0) return;
            this.drag = {x: e.clientX, from: this.from, to: this.to};
            c.setPointerCapture(e.pointerId);
        });
        c.addEventListener('pointermove', (e) => this.move(e));
        for (const end of ['pointerup', 'pointercancel'])
            c.addEventListener(end, () => { this.drag = null; });
        c.addEventListener('pointerleave', () => { if (!this.drag && !this.pinned) this.select(null); });
        c.addEventListener('dblclick', () => this.model && this.fit());
        c.addEventListener('keydown', (e) => this.key(e));
        this.box.addEventListener('scroll', () => this.redraw());
    }

    wheel(e) {
        if (!this.model) return;
        const sideways = e.shiftKey ? e.deltaY : e.deltaX;
        // All is shown already: the page may scroll on.
        if (!sideways && e.deltaY > 0 && !this.zoomed) return;
        e.preventDefault();
        if (sideways) this.pan(Math.sign(sideways) * 0.1);
        else this.zoom(Math.exp(Math.sign(e.deltaY) * 0.2), this.timeAt(e.offsetX));
    }

    move(e) {
        if (!this.model) return;
        if (this.drag) {
            const step = (this.drag.x - e.clientX) / this.width * (this.drag.to - this.drag.from);
            this.setView(this.drag.from + step, this.drag.to + step);
            return;
        }
        const row = e.offsetY < AXIS ? null : this.rowAt(e.offsetY + this.box.scrollTop);
        const slack = SLACK_PIXELS / this.width * (this.to - this.from);
        const i = row ? operatorAt(row, this.timeAt(e.offsetX), slack) : -1;
        this.pinned = false;
        this.select(i < 0 ? null : {row, i}, e.offsetX, e.offsetY);
    }

    rowAt(y) {
        const row = this.model.rows[firstAbove(this.tops, y) - 1];
        return row && y < row.y + ROW + STRIP ? row : null;
    }

    key(e) {
        const actions = {
            ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
            ArrowUp: () => this.zoom(0.7), ArrowDown: () => this.zoom(1 / 0.7),
            '+': () => this.zoom(0.7), '=': () => this.zoom(0.7), '-': () => this.zoom(1 / 0.7),
            0: () => this.fit(), Home: () => this.fit(),
            n: () => this.step(1), p: () => this.step(-1),
            u: () => this.follow('producers'), d: () => this.follow('consumers'), Escape: () => this.select(null),
        };
        if (!this.model || e.ctrlKey || e.metaKey || e.altKey || !actions[e.key]) return;
        e.preventDefault();
        actions[e.key]();
    }

    // The next operator that the filter lets through, in its row or else in the rows after it; it is brought
    // into view.
    step(direction) {
        const {rows} = this.model;
        if (!rows.length) return;
        let {row, i} = this.selected ?? {row: rows[0]};
        if (!this.selected) i = firstAbove(row.begin, this.from - 1) - (direction > 0 ? 1 : 0);
        i += direction;
        for (let r = rows.indexOf(row); (row = rows[r]); r += direction) {
            i ??= direction > 0 ? 0 : row.ops.length - 1;
            while (row.ops[i] && !this.matches(row.ops[i])) i += direction;
            if (row.ops[i]) return this.goTo(row, i);
            i = null;
        }
    }

    // Along the data: to what the chosen one reads last, or to what reads it first.
    follow(which) {
        const found = this.links?.[which].at(which === 'producers' ? -1 : 0);
        if (found) this.goTo(found.row, found.i);
    }

    goTo(row, i) {
        const o = row.ops[i];
        if (o.begin_ns < this.from || o.end_ns > this.to) {
            const half = Math.max((this.to - this.from) / 2, o.end_ns - o.begin_ns);
            const middle = (o.begin_ns + o.end_ns) / 2;
            this.setView(middle - half, middle + half);
        }
        this.pinned = true;
        this.bringIntoView(row);
        this.selectInPlace({row, i});
    }

    selectInPlace(found) {
        const o = found.row.ops[found.i];
        this.select(found, this.xOf((o.begin_ns + o.end_ns) / 2), found.row.y - this.box.scrollTop);
    }

    bringIntoView(row) {
        const low = row.y + ROW + STRIP + GAP - this.viewHeight, high = row.y - AXIS - LABEL;
        if (this.box.scrollTop < low || this.box.scrollTop > high) this.box.scrollTop = Math.max(0, (low + high) / 2);
    }

    select(found, x = 0, y = 0) {
        this.selected = found;
        this.canvas.style.cursor = found ? 'pointer' : 'grab';
        this.links = found && linksOf(this.model, found);
        this.onSelect(found && found.row.ops[found.i], x, y, this.links);
        this.redraw();
    }

    timeAt(x) { return this.from + x / this.width * (this.to - this.from); }
    xOf(time) { return (time - this.from) / (this.to - this.from) * this.width; }

    // ------------------------------------------------------------------------------------ drawing

    resize() {
        const width = this.box.clientWidth, ratio = devicePixelRatio || 1;
        if (!width || !this.model) return;
        const moved = this.width !== width;
        this.width = width;
        this.viewHeight = Math.min(this.height, MOST_HEIGHT);
        this.space.style.height = `${this.height}px`;
        this.canvas.style.height = `${this.viewHeight}px`;
        const pixels = [Math.round(width * ratio), Math.round(this.viewHeight * ratio)];
        if (this.canvas.width !== pixels[0]) this.canvas.width = pixels[0];
        if (this.canvas.height !== pixels[1]) this.canvas.height = pixels[1];
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        if (moved && this.selected) this.selectInPlace(this.selected);
        this.redraw();
    }

    redraw() {
        if (this.frame || !this.model) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            const start = performance.now();
            this.draw();
            Object.assign(this.canvas.dataset, {
                drawMs: (performance.now() - start).toFixed(2), frames: ++this.frames, bars: this.bars, linked: this.linked, wedges: this.wedges,
                view: `${this.from} ${this.to}`});
        });
    }

    draw() {
        const g = this.context;
        if (!this.width) return;
        this.bars = this.linked = this.wedges = 0;
        this.ink = {text: css('--text'), muted: css('--muted'), line: css('--line')};
        g.clearRect(0, 0, this.width, this.viewHeight);
        g.font = `12px ${css('--font')}`;
        g.textBaseline = 'middle';
        this.drawAxis(g);
        g.save();
        g.beginPath();
        g.rect(0, AXIS - 4, this.width, this.viewHeight);
        g.clip();
        g.translate(0, -this.box.scrollTop);
        this.drawRows(g, this.box.scrollTop, this.box.scrollTop + this.viewHeight);
        g.restore();
    }

    drawRows(g, top, bottom) {
        const {rows} = this.model;
        const first = Math.max(0, firstAbove(this.tops, top - ROW - STRIP - GAP) - 1);
        for (let i = first; i < rows.length && rows[i].y - LABEL < bottom; i++) {
            if (!i || rows[i - 1].thread !== rows[i].thread) {
                g.fillStyle = this.ink.muted;
                g.fillText(`thread ${rows[i].thread}`, 2, rows[i].y - LABEL / 2);
            }
            this.drawRow(g, rows[i]);
        }
        if (this.links) this.drawLinks(g);
    }

    // What the chosen operator reads, what reads it, and lines to them.
    drawLinks(g) {
        const {row, i} = this.selected, o = row.ops[i];
        const [begin, end] = [this.xOf(o.begin_ns), this.xOf(o.end_ns)], middle = row.y + ROW / 2;
        let drawn = 0;
        const draw = (list, colour, from, side) => {
            g.strokeStyle = css(colour);
            g.lineWidth = 2;
            for (const e of list) {
                const [left, right] = [this.xOf(e.o.begin_ns), this.xOf(e.o.end_ns)], to = side < 0 ? right : left;
                g.strokeRect(left, e.row.y, Math.max(2, right - left), ROW);
                g.beginPath();
                g.moveTo(from, middle);
                g.bezierCurveTo(from + 24 * side, middle - 30, to - 24 * side, e.row.y - 20, to, e.row.y + ROW / 2);
                g.stroke();
                drawn++;
            }
        };
        draw(this.links.producers, '--c1', begin, -1);
        draw(this.links.consumers, '--c2', end, 1);
        this.linked = drawn;
    }

    drawAxis(g) {
        const length = this.to - this.from, rough = length / Math.max(2, this.width / 110);
        const power = 10 ** Math.floor(Math.log10(rough));
        const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
        for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
            const x = Math.round(this.xOf(t)) + 0.5;
            g.fillStyle = this.ink.line;
            g.fillRect(x, AXIS - 6, 1, this.viewHeight - AXIS + 6);
            g.fillStyle = this.ink.muted;
            const text = shortTime(t), w = g.measureText(text).width;
            g.fillText(text, Math.min(Math.max(0, x - w / 2), this.width - w), AXIS / 2 - 3);
        }
    }

    drawRow(g, row) {
        const any = this.type || this.provider;
        const strip = {from: 0, to: -1, provider: '', alpha: 1};
        const drawStrip = () => {
            if (strip.to <= strip.from) return;
            g.globalAlpha = strip.alpha;
            g.fillStyle = providerColour(strip.provider);
            g.fillRect(strip.from, row.y + ROW, strip.to - strip.from, STRIP);
        };
        visibleBars(row, this.from, this.to, this.width, this.matches, (x, w, i, merged) => {
            const o = row.ops[i], match = !any || this.matches(o), alpha = match ? 1 : 0.15;
            this.bars++;
            // Neighbours on the same provider share a strip.
            if (strip.provider === o.provider && strip.alpha === alpha && x <= strip.to + 1) {
                strip.to = x + w;
            } else {
                drawStrip();
                Object.assign(strip, {from: x, to: x + w, provider: o.provider, alpha});
            }
            g.globalAlpha = alpha;
            g.fillStyle = typeColour(o.type);
            g.fillRect(x, row.y, merged || w < 3 ? w : w - 0.6, ROW);
            if (match && w >= TEXT_FROM_PIXELS) this.drawText(g, o, x, w, row.y);
        });
        drawStrip();
        g.globalAlpha = 1;
        this.drawTransitions(g, row);
        if (this.selected && this.selected.row === row) this.drawSelected(g, row);
    }

    drawText(g, o, x, w, y) {
        if (!this.textWidths.has(o.type)) this.textWidths.set(o.type, g.measureText(o.type).width);
        if (this.textWidths.get(o.type) > w - 8) return;
        g.fillStyle = INK;
        g.fillText(o.type, x + 4, y + ROW / 2 + 1);
    }

    // A small wedge where the work goes from one provider to another; at most one for 6 pixels.
    drawTransitions(g, row) {
        let last = -10;
        g.fillStyle = this.ink.text;
        for (const i of row.transitions) {
            const x = this.xOf(row.begin[i]);
            if (x < last + 6 || x < 0 || x > this.width) continue;
            last = x;
            this.wedges++;
            g.beginPath();
            g.moveTo(x, row.y + 6);
            g.lineTo(x - 4, row.y - 2);
            g.lineTo(x + 4, row.y - 2);
            g.fill();
        }
    }

    drawSelected(g, row) {
        const o = row.ops[this.selected.i], x = this.xOf(o.begin_ns);
        g.strokeStyle = this.ink.text;
        g.lineWidth = 2;
        g.strokeRect(x, row.y, Math.max(2, this.xOf(o.end_ns) - x), ROW);
    }
}

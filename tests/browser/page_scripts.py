# SPDX-License-Identifier: MIT
"""What is run inside of pages: functions of JavaScript."""

# Where an element is, once it is at the same place in two frames that follow each other.
SETTLED_BOX = """async (selector) => {
    let before = '', box;
    for (let i = 0; i < 100; i++) {
        const e = document.querySelector(selector);
        e.scrollIntoView({block: 'center', behavior: 'instant'});
        const r = e.getBoundingClientRect();
        box = [r.left, r.top, r.width, r.height];
        if (String(box) === before) break;
        before = String(box);
        await new Promise((next) => requestAnimationFrame(next));
    }
    return box;
}"""
# Whether the element is what lies there; from then on it is told where the mouse goes down and clicks.
WATCH_CLICK = """(selector, x, y) => {
    const e = document.querySelector(selector), watch = {pressed: false, clicked: false};
    const within = (event) => event.target instanceof Node && e.contains(event.target);
    window.clickWatch = watch;
    addEventListener('mousedown', (event) => { watch.pressed = within(event); }, {capture: true, once: true});
    addEventListener('click', (event) => { watch.clicked = within(event); }, {capture: true, once: true});
    const there = document.elementFromPoint(x, y);
    return !!e && (e === there || e.contains(there) || e.labels?.[0]?.contains(there) || false);
}"""

# Texts and edges of controls that can't be told from what they lie on, as sentences: WCAG 2.2 asks for 4.5 to 1,
# for large text and edges 3 to 1. Transparent colours are laid over each other first.
POOR_CONTRAST = """() => {
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
    const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
    const ground = (e) => {
        if (!e) return [255, 255, 255, 1];
        const own = parse(getComputedStyle(e).backgroundColor);
        return own[3] === 1 ? own : over(own, ground(e.parentElement));
    };
    const light = (c) => {
        const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
    const poor = [];
    const check = (e, what, colour, on, least) => {
        const found = ratio(over(colour, on), on);
        if (found < least) poor.push(`${what} of ${e.tagName} ${e.id || e.className}: ${found.toFixed(2)}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let texts = 0;
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement, style = getComputedStyle(e);
        if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('script, noscript, :disabled')) continue;
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        check(e, `text "${walker.currentNode.data.trim().slice(0, 20)}"`, parse(style.color), ground(e), large ? 3 : 4.5);
        if (size < 11) poor.push(`text of ${size} pixels: ${walker.currentNode.data.trim()}`);
        texts++;
    }
    for (const e of document.querySelectorAll('button, select, input:not([type=range])'))
        if (e.checkVisibility() && !e.disabled)
            check(e, 'the edge', parse(getComputedStyle(e).borderTopColor), ground(e.parentElement), 3);
    return texts ? poor : ['no text was found'];
}"""

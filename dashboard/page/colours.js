// SPDX-License-Identifier: MIT
// Colours of operator types and providers: given out on first sight and kept, so that a type looks
// the same in every inference. All are light enough for dark text, in both themes.
export const BARS = ['#86b6f2', '#f4b36a', '#8ed0a0', '#e89aa8', '#b9a4e6', '#e6d06c', '#7ccfce',
                 '#d6aa8b', '#aec66c', '#cfa0da', '#9db2cf', '#f2a07c'];
export const PROVIDERS = ['#4f86d6', '#cb7420', '#3f9d62', '#a35fc0', '#c25566', '#5b7083'];
export const INK = '#10161e';

function dealer(colours, other) {
    const given = new Map();
    return (name) => {
        if (!given.has(name))
            given.set(name, given.size < colours.length ? colours[given.size] : other);
        return given.get(name);
    };
}

export const typeColour = dealer(BARS, '#c3c9d1');
export const providerColour = dealer(PROVIDERS, '#8a94a0');

// A colour of the style sheet, as it is now. Asking costs a look at all styles: it is done once.
const kept = new Map();

export function css(name) {
    if (!kept.has(name))
        kept.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return kept.get(name);
}

export const forgetColours = () => kept.clear();

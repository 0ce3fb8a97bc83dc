// SPDX-License-Identifier: MIT
// What the viewer of the page chose, kept in the browser; all of it may be forgotten at any time.
const read = (name) => { try { return localStorage.getItem(`ortscope.${name}`); } catch { return null; } };
const write = (name, value) => { try { localStorage.setItem(`ortscope.${name}`, value); } catch { /* private mode */ } };

// A select that remembers; values that are no longer offered are forgotten.
export function remember(select, name, onChange) {
    const kept = read(name);
    if (kept !== null && [...select.options].some((o) => o.value === kept)) select.value = kept;
    select.addEventListener('change', () => {
        write(name, select.value);
        onChange(select.value);
    });
}

export function setUpTheme(button, onChange) {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const apply = () => {
        const theme = read('theme') ?? (system.matches ? 'dark' : 'light');
        document.documentElement.dataset.theme = theme;
        button.textContent = theme === 'dark' ? 'Light' : 'Dark';
        onChange();
    };
    button.addEventListener('click', () => {
        write('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
        apply();
    });
    system.addEventListener('change', apply);
    apply();
}

// A question in a dialog: the text that was typed, null if it was refused.
export function ask(text, yes, withInput) {
    const dialog = document.getElementById('ask'), input = document.getElementById('ask-input');
    document.getElementById('ask-text').textContent = text;
    document.getElementById('ask-yes').textContent = yes;
    input.hidden = !withInput;
    input.value = '';
    dialog.returnValue = '';
    dialog.showModal();
    return new Promise((resolve) => {
        dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes' ? input.value : null), {once: true});
    });
}

// A slider that others move too: onMoved is called with where it was put and may take its time. The answer
// tells whether somebody is moving it, or what was asked for is not done yet.
export function slider(input, onMoved) {
    let moving = false, asked = 0;
    const letGo = () => setTimeout(() => { if (!asked) moving = false; }); // after 'change', if one comes
    input.addEventListener('input', () => { moving = true; });
    input.addEventListener('change', async () => {
        asked++;
        await onMoved(input.valueAsNumber);
        if (!--asked) moving = false;
    });
    for (const end of ['click', 'pointercancel', 'blur']) input.addEventListener(end, letGo);
    return () => moving || asked > 0;
}

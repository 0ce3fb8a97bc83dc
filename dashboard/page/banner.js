// SPDX-License-Identifier: MIT
// One line that says how things stand: connected, recording, replaying, what was lost, who is gone.
import {element} from './charts.js';
import * as format from './format.js';

const plural = (n, word) => `${format.count(n)} ${word}${n === 1 ? '' : 's'}`;

const MOST_ENDED = 3; // processes that are told to have ended
const whoIs = (p) => `${format.fileName(p.program)} (pid ${p.pid})`;
const howEnded = (p) => (p.exit_code == null ? '' : ` with code ${p.exit_code}`);

// The one that a capture is named after: the first that still runs, else the first that goes on without us.
export function processOf({processes}) {
    const first = (state) => processes.find((p) => p.state === state);
    return first('running') ?? first('detached') ?? processes[0];
}

// Of a page that its viewer stopped; newest: what it does not show.
function standing(who, {mode}, newest) {
    const what = `${mode === 'replay' ? 'replay' : 'capture'} of ${who}`;
    return ['warn', newest?.state === 'ended' ? `Paused: the ${what} has ended meanwhile. Resume shows its last numbers.`
                                              : `Paused: this page stands still, the ${what} goes on.`];
}

// [kind, sentence] for a capture
function stateOf(capture, paused, newest) {
    const p = processOf(capture);
    const who = p ? whoIs(p) : 'the process';
    const gone = capture.processes.length && capture.processes.every((e) => e.state !== 'running');
    if (capture.mode === 'replay') {
        if (capture.state === 'ended') return ['good', `The replay of ${who} has ended.`];
        if ((newest ?? capture).state === 'paused') return ['warn', 'The replay is paused.'];
        return paused ? standing(who, capture, newest) : ['', `Replaying ${who}.`];
    }
    if (capture.failure) return ['bad', `Recording ${who} failed: ${capture.failure} The numbers are the last ones.`];
    if (capture.state === 'ended' || gone) {
        const how = !p ? 'The capture has ended.'
            : p.state === 'exited' ? `${who} has ended${howEnded(p)}.`
            : p.state === 'detached' ? `Detached from ${who}, which goes on.` : `The capture of ${who} has ended.`;
        return [p?.state === 'exited' && p.exit_code ? 'bad' : 'warn', `${how} The numbers are the last ones.`];
    }
    if (paused) return standing(who, capture, newest);
    // By another client: a capture can't stand still.
    if (capture.state === 'paused') return ['warn', `Somebody slowed this page to one message a second; the capture of ${who} goes on.`];
    if (p?.how === 'watched') return ['good', `Watching ${who} from outside (--no-hooks): runs and counters, no operators.`];
    return ['good', `Attached and armed: recording ${who}.${capture.sessions.length ? '' : ' No session yet.'}`];
}

// Beside the one that the sentence is about.
function othersOf(capture) {
    const others = capture.processes.filter((p) => p !== processOf(capture)), ended = others.filter((p) => p.state === 'exited');
    const more = (n) => plural(n, 'more process').replace('processs', 'processes');
    const notes = ended.slice(-MOST_ENDED).map((p) => [p.exit_code ? 'bad' : '', `${whoIs(p)} ended${howEnded(p)}`]);
    if (ended.length > MOST_ENDED) notes.push(['', `${more(ended.length - MOST_ENDED)} ended`]);
    if (others.length > ended.length) notes.unshift(['', more(others.length - ended.length)]);
    return notes;
}

function notesOf(capture) {
    const of = capture.duration_s == null ? '' : ` of ${format.clock(capture.duration_s)}`;
    const notes = [['', `${format.clock(capture.time_s)}${of}`]];
    if (capture.lost_events) notes.push(['bad', `${plural(capture.lost_events, 'event')} dropped`]);
    if (capture.dropped_rows) notes.push(['', `${plural(capture.dropped_rows, 'row')} missing here, not in the file`]);
    notes.push(...othersOf(capture));
    if (capture.file_bytes) notes.push(['', `${format.bytes(capture.file_bytes, 3)} written`]);
    return notes;
}

// processes: what was answered about them; one that can't attach to others is about to record its own.
function nothingYet(processes) {
    if (!processes) return 'No capture yet.';
    return processes.supported ? 'No capture yet: choose a process below.' : 'Attaching: the recording is about to begin.';
}

// waiting: the last message, which a paused page does not show;
// failure: what was asked for last and could not be done.
export function showBanner(banner, {capture, paused, connection, reason, waiting, failure, processes}) {
    let kind = connection === 'ended' ? 'warn' : 'bad', sentence = reason, notes = [];
    const gone = connection === 'lost' || connection === 'ended';
    if (connection === 'open' || (gone && capture?.state === 'ended')) {
        if (capture) {
            const newest = waiting?.captures.find((c) => c.capture === capture.capture);
            [kind, sentence] = stateOf(capture, paused, newest);
            notes = notesOf(capture);
            if (gone) notes.push(['', 'ortscope has ended too; what it wrote is in the file']);
        } else {
            [kind, sentence] = ['', nothingYet(processes)];
        }
    } else if (connection === 'connecting' && !reason) {
        [kind, sentence] = ['', 'Connecting to ortscope'];
    } else if (capture) {
        notes.push(['', `The numbers are those of ${format.clock(capture.time_s)}`]);
    }
    if (failure) notes.push(['bad', failure]);
    const shown = JSON.stringify([kind, sentence, notes]);
    if (banner.shown === shown) return;
    banner.shown = shown;
    banner.className = `banner ${kind}`;
    banner.querySelector('#state').textContent = sentence;
    banner.querySelector('#notes').replaceChildren(
        ...notes.flatMap(([cls, text], i) => [...(i ? [' · '] : []), element('span', cls, text)]));
}

// SPDX-License-Identifier: MIT
// Processes to attach to, as long as this ortscope can.
import {get} from './api.js';
import {showProcesses} from './tables.js';

const $ = (id) => document.getElementById(id);
const EVERY = 5; // times that the list is asked for while something is recorded: looking costs the machine something

export class Processes {
    // mayAttach: tells whether this page may; onAttach: takes a pid, tells whether it worked; onShown: there are other buttons.
    constructor({mayAttach, onAttach, onShown}) {
        Object.assign(this, {mayAttach, onAttach, onShown, attaching: new Set()});
        this.reset();
    }

    // Another ortscope may be able to do what this one can't.
    reset() {
        this.answer = null;
        this.age = 0;
        this.shape = '';
    }

    async update(recording) {
        if (this.answer?.supported === false) return;
        if (this.answer && recording && ++this.age < EVERY) return;
        await this.ask();
    }

    async ask() {
        this.age = 0;
        this.answer = await get('processes');
        this.show();
    }

    // Only what has changed: a button that is made anew while it is pressed is never clicked.
    show() {
        const may = this.mayAttach(), shape = JSON.stringify([this.answer, may, [...this.attaching]]);
        if (!this.answer || shape === this.shape) return;
        this.shape = shape;
        showProcesses($('processes'), $('processes-number'), this.answer, this.attaching, may ? (pid) => this.attach(pid) : null);
        this.onShown();
    }

    // Once, however often it is pressed: until it has failed, or the list knows that it worked.
    async attach(pid) {
        this.attaching.add(pid);
        this.show();
        if (await this.onAttach(pid)) await this.ask().catch(() => {});
        this.attaching.delete(pid);
        this.show();
    }
}

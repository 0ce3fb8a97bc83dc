// SPDX-License-Identifier: MIT
// A node program that knows nothing of ortscope: runs PaddleOCR's direction classifier on fixed
// inputs and says what it did as one line of JSON. With --mixed it holds three sessions (detection,
// recognition, classification) and changes shapes and batch sizes from run to run.
//
//   node classify.js --ort FOLDER --models FOLDER [--runs N] [--seconds S] [--pause MS] [--mixed]
//       [--threads N] [--exit-code N] [--report FILE] [--pid-file FILE] [--go-file FILE]
//       [--stop-file FILE] [--counter FILE]
//
// FOLDER of --ort holds node_modules/onnxruntime-node. Sessions are made first; then the PID file
// is written, and the runs begin when the go file appears. --seconds or the stop file end a program
// that was given no --runs. The counter file holds the number of finished runs as text, always.
// Output goes through fs.writeSync: console.log to a pipe can fail under Wine.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');

function parse(argv) {
    const options = {runs: 0, seconds: 0, pause: 0, threads: 1, 'exit-code': 0, mixed: false};
    for (let i = 0; i < argv.length; i++) {
        const name = argv[i].replace(/^--/, '');
        if (name === 'mixed')
            options.mixed = true;
        else
            options[name] = typeof options[name] === 'number' ? Number(argv[++i]) : argv[++i];
    }
    return options;
}

const options = parse(process.argv.slice(2));
if (!options.ort || !options.models) {
    fs.writeSync(2, 'usage: the head of classify.js tells\n');
    process.exit(2);
}
const ort = require(path.resolve(options.ort, 'node_modules', 'onnxruntime-node'));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function tensor(dims) {
    const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
    let state = 12345;
    for (let i = 0; i < data.length; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        data[i] = state / 4294967296 - 0.5;
    }
    return new ort.Tensor('float32', data, dims);
}

// Which session a run uses and with which shape: [model, dims]
const PLAIN = [['cls', [1, 3, 48, 192]]];
const MIXED = [
    ['cls', [1, 3, 48, 192]],
    ['cls', [4, 3, 48, 192]],
    ['rec', [1, 3, 48, 64]],
    ['det', [1, 3, 64, 64]],
    ['cls', [2, 3, 48, 192]],
    ['rec', [2, 3, 48, 96]],
    ['det', [1, 3, 96, 64]],
];

function writeWhole(file, text) {
    fs.writeFileSync(file + '.new', text);
    fs.renameSync(file + '.new', file);
}

async function main() {
    const plan = options.mixed ? MIXED : PLAIN;
    const sessions = {};
    for (const [name] of plan) {
        if (!sessions[name])
            sessions[name] = await ort.InferenceSession.create(
                path.join(options.models, name + '.onnx'), {intraOpNumThreads: options.threads});
    }
    const inputs = plan.map(([, dims]) => tensor(dims));
    if (options['pid-file'])
        writeWhole(options['pid-file'], String(process.pid));
    while (options['go-file'] && !fs.existsSync(options['go-file']))
        await sleep(5);

    const counter = options.counter ? fs.openSync(options.counter, 'w') : -1;
    const hash = crypto.createHash('sha256');
    const counts = {};
    const start = Date.now();
    const over = (runs) =>
        options.runs ? runs >= options.runs
                     : (options.seconds && Date.now() - start >= options.seconds * 1000) ||
                           (options['stop-file'] && fs.existsSync(options['stop-file']));
    let runs = 0;
    while (!over(runs)) {
        const step = runs % plan.length;
        const [name, dims] = plan[step];
        const session = sessions[name];
        const results = await session.run({[session.inputNames[0]]: inputs[step]});
        for (const output of session.outputNames) {
            const data = results[output].data;
            hash.update(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
        }
        runs++;
        const key = name + ':' + dims.join(',');
        counts[key] = (counts[key] || 0) + 1;
        if (counter >= 0)
            fs.writeSync(counter, String(runs).padStart(12), 0);
        if (options.pause)
            await sleep(options.pause);
    }
    const report = JSON.stringify({
        program: 'classify',
        pid: process.pid,
        runs,
        counts,
        output_hash: hash.digest('hex'),
    });
    if (options.report)
        writeWhole(options.report, report + '\n');
    else
        fs.writeSync(1, report + '\n');
    process.exitCode = options['exit-code'];
}

main().catch((error) => {
    fs.writeSync(2, 'classify: ' + (error && error.stack || error) + '\n');
    process.exitCode = 99;
});

// SPDX-License-Identifier: MIT
// A node program that uses processor and memory and says how much, as one line of JSON, then does
// nothing until the stop file appears. Knows nothing of ortscope and of ONNX Runtime.
//
//   node busy.js --report FILE --stop-file FILE [--cpu-ms N] [--mb N] [--workers N]
//
// Half of --cpu-ms is burnt by the main thread, half by the workers (all of it without workers).
'use strict';

const fs = require('fs');
const {Worker, isMainThread, workerData} = require('worker_threads');

// The same work however busy the machine is: about so many milliseconds.
function burn(ms) {
    let x = 1;
    for (let i = 0; i < ms * 500000; i++)
        x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return x;
}

function writeWhole(file, text) {
    fs.writeFileSync(file + '.new', text);
    fs.renameSync(file + '.new', file);
}

async function main() {
    const options = {'cpu-ms': 1000, mb: 0, workers: 0};
    for (let i = 2; i < process.argv.length; i += 2) {
        const name = process.argv[i].replace(/^--/, '');
        const value = process.argv[i + 1];
        options[name] = typeof options[name] === 'number' ? Number(value) : value;
    }
    const block = Buffer.alloc(options.mb << 20, 1);
    const share = options.workers ? 0.5 : 1;
    const workers = [];
    for (let i = 0; i < options.workers; i++)
        workers.push(new Worker(__filename, {
            workerData: {ms: options['cpu-ms'] * 0.5 / options.workers},
        }));
    burn(options['cpu-ms'] * share);
    await Promise.all(workers.map((w) => new Promise((resolve) => w.once('message', resolve))));
    const {user, system} = process.cpuUsage();
    writeWhole(options.report, JSON.stringify({
        pid: process.pid, cpu_us: user + system, rss: process.memoryUsage().rss,
        held: block.length,
    }));
    while (!fs.existsSync(options['stop-file']))
        await new Promise((resolve) => setTimeout(resolve, 50));
    process.exit(0);
}

if (isMainThread) {
    main();
} else {
    const {parentPort} = require('worker_threads');
    burn(workerData.ms);
    parentPort.postMessage('done');
    parentPort.once('message', () => 0); // stays until the program ends
}

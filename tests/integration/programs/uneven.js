// SPDX-License-Identifier: MIT
// A node program whose runs are not all alike, by a plan. Knows nothing of ortscope.
//
//   node uneven.js --ort FOLDER --model FILE --plan FILE --report FILE [--progress FILE]
//
// The plan is a list of steps: {"dims": [...], "type": "int64" or float32, "runs": N}, with "pause": MS
// before each run, "spoil": MB that are written before it, so that nothing of the model stays in the
// caches, and "until": FILE that ends the step early. The report tells the numbers of each step's first
// and last run, from 1. The progress file holds the number of finished runs and the milliseconds of the
// last one, always.
'use strict';

const fs = require('fs');
const path = require('path');

const options = {};
for (let i = 2; i < process.argv.length; i += 2)
    options[process.argv[i].replace(/^--/, '')] = process.argv[i + 1];
const ort = require(path.resolve(options.ort, 'node_modules', 'onnxruntime-node'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function tensor(step) {
    const size = step.dims.reduce((a, b) => a * b, 1);
    return step.type === 'int64'
        ? new ort.Tensor('int64', new BigInt64Array(size).fill(1n), step.dims)
        : new ort.Tensor('float32', new Float32Array(size).fill(0.25), step.dims);
}

async function main() {
    const plan = JSON.parse(fs.readFileSync(options.plan, 'utf8'));
    const session = await ort.InferenceSession.create(options.model, {intraOpNumThreads: 1});
    const progress = options.progress ? fs.openSync(options.progress, 'w') : -1;
    const report = [];
    let runs = 0;
    for (const step of plan) {
        const feeds = {[session.inputNames[0]]: tensor(step)};
        const block = Buffer.alloc((step.spoil || 0) << 20);
        const first = runs + 1;
        for (let i = 0; i < step.runs && !(step.until && fs.existsSync(step.until)); i++) {
            if (step.pause)
                await sleep(step.pause);
            block.fill(i & 255);
            const start = process.hrtime.bigint();
            await session.run(feeds);
            runs++;
            const ms = Number(process.hrtime.bigint() - start) / 1e6;
            if (progress >= 0)
                fs.writeSync(progress, (runs + ' ' + ms.toFixed(3)).padEnd(32), 0);
        }
        report.push({first, last: runs});
    }
    fs.writeFileSync(options.report, JSON.stringify(report));
}

main().catch((error) => {
    fs.writeSync(2, 'uneven: ' + (error && error.stack || error) + '\n');
    process.exitCode = 99;
});

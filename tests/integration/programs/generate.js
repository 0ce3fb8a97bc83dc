// SPDX-License-Identifier: MIT
// A node program that generates as language models do: a prompt, then one token after the other with
// a cache that grows. Knows nothing of ortscope and says what it did as one line of JSON.
//
//   node generate.js --ort FOLDER --model FILE --prompts 7,30 --tokens N
'use strict';

const fs = require('fs');
const path = require('path');

const options = {};
for (let i = 2; i < process.argv.length; i += 2)
    options[process.argv[i].replace(/^--/, '')] = process.argv[i + 1];
const ort = require(path.resolve(options.ort, 'node_modules', 'onnxruntime-node'));

function inputs(length, cached) {
    return {
        ids: new ort.Tensor('int64', new BigInt64Array(length).fill(3n), [1, length]),
        past: new ort.Tensor('float32', new Float32Array(8 * cached).fill(1), [1, 2, cached, 4]),
    };
}

async function main() {
    const session = await ort.InferenceSession.create(options.model);
    let runs = 0;
    for (const prompt of options.prompts.split(',').map(Number)) {
        await session.run(inputs(prompt, 0));
        for (let i = 0; i < Number(options.tokens); i++)
            await session.run(inputs(1, prompt + i));
        runs += 1 + Number(options.tokens);
    }
    fs.writeSync(1, JSON.stringify({program: 'generate', runs}) + '\n');
}

main().catch((error) => {
    fs.writeSync(2, String(error) + '\n');
    process.exit(1);
});

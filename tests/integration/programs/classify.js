// SPDX-License-Identifier: MIT
// classify.js ORT_FOLDER MODEL RUNS: an ordinary program that uses ONNX Runtime and knows nothing of
// ortscope. Loads the binding from ORT_FOLDER/node_modules, runs PaddleOCR's direction classifier
// RUNS times on one fixed input, and prints as one JSON line how many runs it made and a hash over
// all outputs. Under Wine console.log to a pipe can fail, hence writeSync.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');

const [folder, model, runs] = process.argv.slice(2);
if (!folder || !model || !(Number(runs) > 0)) {
  fs.writeSync(2, 'usage: classify.js ORT_FOLDER MODEL RUNS\n');
  process.exit(2);
}
const ort = require(path.resolve(folder, 'node_modules', 'onnxruntime-node'));

// The same picture on every machine: a small generator instead of Math.random.
function picture(count) {
  const values = new Float32Array(count);
  let state = 12345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    values[i] = (state >>> 8) / 16777216 - 0.5;
  }
  return values;
}

async function main() {
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
  });
  const dims = [1, 3, 48, 192];
  const input = new ort.Tensor('float32', picture(dims.reduce((a, b) => a * b)), dims);
  const hash = crypto.createHash('sha256');
  let done = 0;
  while (done < Number(runs)) {
    const outputs = await session.run({ [session.inputNames[0]]: input });
    const data = outputs[session.outputNames[0]].data;
    hash.update(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    done++;
  }
  fs.writeSync(1, JSON.stringify({ runs: done, outputs_sha256: hash.digest('hex') }) + '\n');
}

main().catch((error) => {
  fs.writeSync(2, String((error && error.stack) || error) + '\n');
  process.exit(1);
});

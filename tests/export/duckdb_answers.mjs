// SPDX-License-Identifier: MIT
// node duckdb_answers.mjs MODULES < questions: asks DuckDB. A question is a line of SQL; the answers
// are one JSON document, an array of rows for each. MODULES: a folder with @duckdb/node-api.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const require = createRequire(path.resolve(process.argv[2]) + '/');
const { DuckDBInstance } = require('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const answers = [];
for (const question of fs.readFileSync(0, 'utf8').split('\n').filter((line) => line)) {
  answers.push((await connection.runAndReadAll(question)).getRowsJson());
}
fs.writeSync(1, JSON.stringify(answers));

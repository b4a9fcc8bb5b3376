// Runs statements in DuckDB, in memory: a line of input is a statement as a JSON string, and the line
// of output its time in milliseconds, with all rows fetched, but not as JavaScript's objects.  Called by
// tpch.pl.
import { createInterface } from 'node:readline';
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:', { threads: process.env.THREADS ?? '2' });
const connection = await instance.connect();

for await (const line of createInterface({ input: process.stdin })) {
	const since = process.hrtime.bigint();
	await connection.runAndReadAll(JSON.parse(line));
	console.log(Number(process.hrtime.bigint() - since) / 1e6);
}

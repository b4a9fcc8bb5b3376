// How the files nested_* were made: nested columns, and beside each the JSON that its writer makes of
// it (of a column c: c_json).
//
//	npm install @duckdb/node-api@1.5.6-r.1 @duckdb/duckdb-wasm@1.32 apache-arrow@21.2 parquet-wasm@0.8
//	node nested.mjs DIRECTORY
//
// DuckDB writes nested_v1.parquet and nested_v2.parquet, and the same columns as nested_duckdb.arrows;
// nested_types.parquet has values of all types, and the same ones nested.  Arrow's implementation in
// JavaScript writes nested_js.arrow, and Arrow's in Rust makes nested_rs.parquet of it, in small pages.
import * as A from 'apache-arrow';
import { DuckDBInstance } from '@duckdb/node-api';
import { createRequire } from 'module';
import fs from 'fs';
import path from 'path';

const require = createRequire(import.meta.url);
const out = name => path.join(process.argv[2], name);

// --- DuckDB ---

const h = k => `((i * 7919 + ${k} * 104729) % 1009)`;
const some = (k, n, value) => `CASE WHEN ${h(k)} % ${n} > 0 THEN ${value} END`;
const list = (k, n, value) => some(k, 5, `[${value} FOR x IN range((${h(k + 1)} % ${n})::BIGINT)]`);
const columns = {
	s: some(1, 4, `{'a': ${some(2, 3, 'i::INTEGER')}, 'b': ${some(3, 5, "'t\"\\ä' || i")}, 'c': {'d': i % 2 = 0, 'e': ${some(4, 2, "DATE '2020-01-01' + i::INTEGER")}}}`),
	ll: list(5, 4, some(6, 4, `[${some(7, 3, '(x + y)::SMALLINT')} FOR y IN range((${h(8)} + x) % 4)]`)),
	lll: list(9, 3, `[[${some(10, 4, "'v' || x || y || z")} FOR z IN range((i + y) % 3)] FOR y IN range((i + x) % 3)]`),
	ls: list(11, 5, some(12, 4, `{'n': ${some(13, 3, 'x * i')}, 'l': [{'k': y, 't': 'k' || y} FOR y IN range((i + x) % 3)]}`)),
	m: some(14, 4, `MAP {'k' || i: ${some(15, 3, 'i * 2')}, 'l': 7}`),
	mi: some(16, 4, `MAP {i::INTEGER: [{'x': ${some(17, 2, 'i')}, 'y': MAP {'z': [i, NULL]}}]}`),
	deep: some(18, 3, `{'a': {'b': {'c': {'d': {'e': {'f': [[[[{'g': ${some(19, 2, 'i')}}]]]]}}}}}}`),
	li: list(20, 4, some(21, 3, 'x')),
};
const rows = 400;
const plain = `SELECT i::INTEGER AS id, ${Object.entries(columns).map(([name, of]) => `${of} AS ${name}`).join(', ')} FROM range(${rows}) t(i)`;
const judged = `SELECT *, ${Object.keys(columns).map(name => `to_json(${name})::VARCHAR AS ${name}_json`).join(', ')} FROM (${plain})`;
const db = await (await DuckDBInstance.create(':memory:')).connect();
await db.run('SET threads = 1');
await db.run(`CREATE TABLE nested AS ${judged}`);
for (const version of [1, 2])
	await db.run(`COPY nested TO '${out(`nested_v${version}.parquet`)}' (FORMAT parquet, PARQUET_VERSION v${version}, COMPRESSION ${version == 1 ? 'snappy' : 'zstd'}, ROW_GROUP_SIZE 150)`);

// values of all types, alone and in a struct, a list and as keys of a map
const types = `SELECT i % 3 = 0 AS bo, (i % 100 - 50)::TINYINT AS i1, (i * 3 - 100)::SMALLINT AS i2, (i * 3)::UINTEGER AS u4,
	(i + 18446744073709551000)::UBIGINT AS u8, (i * 1.25 - 9)::DECIMAL(9,2) AS d9, (i * 1.25 - 9)::DECIMAL(38,5) AS d38,
	(i / 7)::FLOAT AS f4, CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE i / 7 END::DOUBLE AS f8,
	CASE i % 5 WHEN 0 THEN DATE '0044-03-15 (BC)' ELSE DATE '1700-01-01' + (i * 999)::INTEGER END AS dt, TIME '00:00:00' + INTERVAL 61500 MILLISECOND * i AS tm,
	TIMESTAMP '1960-01-01 00:00:00.000120' + INTERVAL 1000 HOUR * i AS ts, to_timestamp(978307200 + i / 4) AS tz,
	CASE WHEN i % 4 > 0 THEN md5(i::VARCHAR)::UUID END AS uu, unhex('00' || md5(i::VARCHAR)) AS bl,
	('{"k": [' || i || ']}')::JSON AS j, 'text' || chr(9) || chr(10) || '\\"' || i AS t FROM range(60) t(i)`;
const names = ['bo', 'i1', 'i2', 'u4', 'u8', 'd9', 'd38', 'f4', 'f8', 'dt', 'tm', 'ts', 'tz', 'uu', 'bl', 'j', 't'];
await db.run(`CREATE TABLE types AS ${types}`);
await db.run(`COPY (SELECT *, {${names.map(name => `'${name}': ${name}`)}} AS s, [{'v': dt}] AS ls, MAP {dt: i2} AS md, MAP {ts: 1} AS mt, [tz, NULL] AS tzs, MAP {[i1]: i2} AS ml FROM types)
	TO '${out('nested_types.parquet')}' (FORMAT parquet)`);

const wasm = require('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs');
const dist = path.dirname(require.resolve('@duckdb/duckdb-wasm'));
const other = await wasm.createDuckDB({ mvp: { mainModule: path.join(dist, 'duckdb-mvp.wasm') },
	eh: { mainModule: path.join(dist, 'duckdb-eh.wasm') } }, new wasm.VoidLogger(), wasm.NODE_RUNTIME);
await other.instantiate(() => {});
const connection = other.connect();
connection.query('SET autoinstall_known_extensions = false');
connection.query('SET autoload_known_extensions = false');
fs.writeFileSync(out('nested_duckdb.arrows'), other.runQuery(connection._conn, plain));

// --- Arrow, in JavaScript and in Rust ---

const N = 300;
const r = (i, k) => (i * 7919 + k * 104729) % 1009;
const maybe = (i, k, n, f) => r(i, k) % n > 0 ? f() : null;
const times = (n, f) => Array.from({ length: n }, (_, x) => f(x));
const field = (name, type) => new A.Field(name, type, true);
const word = new A.Dictionary(new A.Utf8, new A.Int16, 11);
const point = new A.Struct([field('x', new A.Int32), field('y', new A.Float64)]);
const entry = (key, value) => new A.Map_(new A.Field('entries', new A.Struct([new A.Field('key', key, false), field('value', value)]), false));
const trees = {
	s: [new A.Struct([field('p', point), field('w', word), field('l', new A.List(field('item', new A.Utf8)))]),
		i => maybe(i, 1, 4, () => ({ p: maybe(i, 2, 3, () => ({ x: maybe(i, 3, 3, () => i), y: i / 4 })), w: maybe(i, 4, 4, () => 'word' + i % 5),
			l: maybe(i, 5, 3, () => times(i % 3, x => maybe(i + x, 6, 3, () => 'ü"' + x))) }))],
	ll: [new A.List(field('item', new A.List(field('item', new A.Int32)))),
		i => maybe(i, 7, 4, () => times(i % 4, x => maybe(i + x, 8, 4, () => times((i + x) % 3, y => maybe(i + x + y, 9, 3, () => x - y)))))],
	ls: [new A.List(field('item', point)), i => maybe(i, 10, 5, () => times(i % 5, x => maybe(i + x, 11, 3, () => ({ x, y: -x / 8 }))))],
	fs: [new A.FixedSizeList(2, field('item', point)), i => maybe(i, 12, 4, () => times(2, x => ({ x: i + x, y: 0.5 })))],
	m: [entry(new A.Utf8, new A.Int32), i => maybe(i, 13, 4, () => times(i % 4, x => ['k' + x, maybe(i + x, 14, 3, () => x)]))],
	ml: [entry(new A.Int32, new A.List(field('item', new A.Bool))), i => maybe(i, 15, 4, () => times(i % 3, x => [x * 10, times(x, y => y % 2 == 0)]))],
};
// a map's value is an object in JSON
const json = (name, value) => value === null ? null : JSON.stringify(name[0] === 'm' ? Object.fromEntries(value) : value);
const fields = [new A.Field('id', new A.Int32, false)], vectors = { id: A.vectorFromArray(times(N, i => i), new A.Int32) };
for (const [name, [type, f]] of Object.entries(trees)) {
	const values = times(N, f);
	const builder = A.makeBuilder({ type, nullValues: [null] });
	for (const value of values) builder.append(value !== null && name[0] === 'm' ? new Map(value) : value);
	vectors[name] = builder.finish().toVector();
	vectors[name + '_json'] = A.vectorFromArray(values.map(value => json(name, value)), new A.Utf8);
	fields.push(field(name, type), field(name + '_json', new A.Utf8));
}
const table = new A.Table(new A.Schema(fields), vectors);
fs.writeFileSync(out('nested_js.arrow'), A.tableToIPC(table, 'file'));

const P = require('parquet-wasm');
const properties = new P.WriterPropertiesBuilder().setCompression(P.Compression.SNAPPY).setWriterVersion(P.WriterVersion.V2)
	.setDataPageSizeLimit(100).setWriteBatchSize(7).setMaxRowGroupSize(200).build();
fs.writeFileSync(out('nested_rs.parquet'), P.writeParquet(P.Table.fromIPCStream(A.tableToIPC(table, 'stream')), properties));
process.exit(0);

// How duckdb_types.arrows was made, by DuckDB 1.4.3, which uses Arrow's implementation in C++:
//
//	npm install @duckdb/duckdb-wasm
//	node duckdb.mjs DIRECTORY
import { createRequire } from 'module';
import fs from 'fs';
import path from 'path';

const require = createRequire(import.meta.url);
const duckdb = require('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs');
const dist = path.dirname(require.resolve('@duckdb/duckdb-wasm'));
const db = await duckdb.createDuckDB({ mvp: { mainModule: path.join(dist, 'duckdb-mvp.wasm') },
	eh: { mainModule: path.join(dist, 'duckdb-eh.wasm') } }, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
await db.instantiate(() => {});
const connection = db.connect();
connection.query('SET autoinstall_known_extensions = false');
connection.query('SET autoload_known_extensions = false');
const types = `SELECT i % 3 = 0 AS bo, (i % 100 - 50)::TINYINT AS i1, (i * 3 - 100)::SMALLINT AS i2, (i % 200)::UTINYINT AS u1,
	(i * 300)::USMALLINT AS u2, (i * 3)::UINTEGER AS u4, (i + 18446744073709551000)::UBIGINT AS u8,
	(i * 1.25 - 9)::DECIMAL(9,2) AS d9, (i * 1.25 - 9)::DECIMAL(18,4) AS d18, (i * 1.25 - 9)::DECIMAL(38,5) AS d38,
	DATE '1700-01-01' + (i * 999)::INTEGER AS dt, TIME '00:00:00' + INTERVAL 61 SECOND * i AS tm,
	TIMESTAMP '1960-01-01 00:00:00.000123' + INTERVAL 1000 HOUR * i AS ts, to_timestamp(978307200 + i) AS tz,
	TIMESTAMP_NS '2001-01-01 00:00:00.123456' AS tn, TIMESTAMP_MS '2001-01-01 00:00:00.123' AS tms,
	TIMESTAMP_S '2001-01-01 00:00:00' AS tsec, CASE WHEN i % 4 > 0 THEN md5(i::VARCHAR)::UUID END AS uu,
	unhex('00' || md5(i::VARCHAR)) AS bl, INTERVAL 1 MONTH * i + INTERVAL 1500 MILLISECOND AS iv,
	CASE WHEN i % 7 > 0 THEN [i, NULL, -i] END AS li, CASE WHEN i % 6 > 0 THEN 'text' || i END AS s,
	(CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'happy' END)::ENUM ('sad', 'happy') AS mood, [i, i + 1]::INTEGER[2] AS fl
	FROM range(100) t(i)`;
fs.writeFileSync(path.join(process.argv[2], 'duckdb_types.arrows'), db.runQuery(connection._conn, types));
process.exit(0);

// Reads and writes files with DuckDB and with Arrow's implementation in JavaScript.  A line of input is
// a request in JSON, and the line of output its answer; called by judges.pl.
//
//	{"query": SQL}         rows of DuckDB; its columns with the names in "json" have JSON
//	{"arrow": FILE}        rows of an Arrow file or stream; "again": one that Arrow's implementation makes
//	                       of the rows from "from" to "to", in two record batches; "stream": as a stream
//	{"lines": FILE}        rows of a file that has one in JSON a line, as the server gives them
//
// The answer has "rows", each an array in JSON, whose values are texts, arrays of such, or null; the
// columns' "types"; of Arrow the numbers of rows of the record "batches".  Values are what the file
// has, not what one of these implementations prints: days, microseconds, bytes in hexadecimal digits
// (also of floats, the first byte the highest), months/days/microseconds.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import * as A from 'apache-arrow';

const require = createRequire(import.meta.url);
const lz4 = require('lz4js');
const zstd = require('@bokuweb/zstd-wasm');

const hex = bytes => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

function hexFloat(value, width) {
	const view = new DataView(new ArrayBuffer(width));
	if (width === 4) view.setFloat32(0, value); else view.setFloat64(0, value);
	return hex(view);
}

function decimalText(value, scale) {
	const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
	const whole = digits.slice(0, digits.length - scale);
	return (value < 0n ? '-' : '') + whole + (scale > 0 ? '.' + digits.slice(digits.length - scale) : '');
}

const uuidText = digits => digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

// --- DuckDB ---

const duckdbValues = {
	DuckDBDecimalValue: v => decimalText(v.value, v.scale),
	DuckDBDateValue: v => v.days.toString(),
	DuckDBTimeValue: v => v.micros.toString(),
	DuckDBTimestampValue: v => v.micros.toString(),
	DuckDBTimestampTZValue: v => v.micros.toString(),
	DuckDBTimestampNanosecondsValue: v => (v.nanos / 1000n).toString(),
	DuckDBTimestampMillisecondsValue: v => (v.millis * 1000n).toString(),
	DuckDBTimestampSecondsValue: v => (v.seconds * 1000000n).toString(),
	DuckDBUUIDValue: v => v.toString(),
	DuckDBBlobValue: v => hex(v.bytes),
	DuckDBIntervalValue: v => `${v.months}/${v.days}/${v.micros}`,
};

function duckdbValue(value, type) {
	if (value === null) return null;
	if (typeof value === 'number' && /^(FLOAT|DOUBLE)$/.test(type)) return hexFloat(value, type === 'FLOAT' ? 4 : 8);
	if (typeof value !== 'object') return value.toString();
	if (value.constructor.name === 'DuckDBListValue') return value.items.map(item => duckdbValue(item, type.replace(/\[\]$/, '')));
	return duckdbValues[value.constructor.name](value);
}

const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await instance.connect();

async function query(sql, json = []) {
	const result = await connection.runAndReadAll(sql);
	const types = result.columnTypes().map(type => type.toString());
	const names = result.columnNames();
	const valueOf = (value, i) => value !== null && json.includes(names[i]) ? JSON.parse(value) : duckdbValue(value, types[i]);
	return { types, rows: result.getRows().map(row => JSON.stringify(row.map(valueOf))) };
}

// --- Arrow ---

await zstd.init();
A.compressionRegistry.set(A.CompressionType.LZ4_FRAME, { encode: d => lz4.compress(d), decode: d => lz4.decompress(d) });
A.compressionRegistry.set(A.CompressionType.ZSTD, { encode: d => zstd.compress(d, 3), decode: d => zstd.decompress(d) });

// A number of words, the lowest first, of which the last has the sign.
function wide(words) {
	let value = 0n;
	for (let i = words.length - 1; i >= 0; i--) value = value << 32n | BigInt(words[i] >>> 0);
	return BigInt.asIntN(32 * words.length, value);
}

function isNull(data, i) {
	return data.nullCount > 0 && (data.nullBitmap[data.offset + i >> 3] >> (data.offset + i & 7) & 1) === 0;
}

// Of numbers the values as they are in the buffers: this implementation makes others of them, with less digits.
function arrowValue(data, i) {
	if (data.type.typeId === A.Type.Null || isNull(data, i)) return null;
	const { type, values, stride } = data;
	switch (type.typeId) {
		case A.Type.Int: case A.Type.Date: case A.Type.Time: case A.Type.Timestamp:
			return values[i].toString();
		case A.Type.Float:
			return hexFloat(values[i], type.precision === A.Precision.SINGLE ? 4 : 8);
		case A.Type.Decimal:
			return decimalText(wide(values.subarray(i * stride, (i + 1) * stride)), type.scale);
		case A.Type.Interval: {
			const at = i * 4;
			return `${values[at]}/${values[at + 1]}/${wide([values[at + 2], values[at + 3]]) / 1000n}`;
		}
		case A.Type.FixedSizeBinary: {
			const digits = hex(values.subarray(i * type.byteWidth, (i + 1) * type.byteWidth));
			return type.byteWidth === 16 ? uuidText(digits) : digits;
		}
		case A.Type.Binary:
			return hex(values.subarray(data.valueOffsets[i], data.valueOffsets[i + 1]));
		case A.Type.Utf8:
			return Buffer.from(values.subarray(data.valueOffsets[i], data.valueOffsets[i + 1])).toString('utf8');
		case A.Type.Bool:
			return ((values[data.offset + i >> 3] >> (data.offset + i & 7) & 1) === 1).toString();
		case A.Type.List: {
			const items = [];
			for (let k = data.valueOffsets[i]; k < data.valueOffsets[i + 1]; k++) items.push(arrowValue(data.children[0], k));
			return items;
		}
	}
	throw new Error(`no values of ${type}`);
}

function rowsOf(table) {
	const rows = [];
	for (const batch of table.batches)
		for (let i = 0; i < batch.numRows; i++) rows.push(JSON.stringify(batch.data.children.map(data => arrowValue(data, i))));
	return rows;
}

function arrow(request) {
	const table = A.tableFromIPC(fs.readFileSync(request.arrow));
	if (request.again !== undefined) {
		const middle = request.from + (request.to - request.from >> 1);
		const parts = [table.slice(request.from, middle), table.slice(middle, request.to)].flatMap(part => part.batches);
		fs.writeFileSync(request.again, A.tableToIPC(new A.Table(table.schema, parts), request.stream ? 'stream' : 'file'));
		return { rows: [] };
	}
	const fields = table.schema.fields;
	return { types: fields.map(f => f.type.toString()), batches: table.batches.map(b => b.numRows), rows: rowsOf(table) };
}

function lines(file) {
	return { rows: fs.readFileSync(file, 'utf8').split('\n').slice(0, -1).map(line => JSON.stringify(JSON.parse(line))) };
}

for await (const line of createInterface({ input: process.stdin })) {
	const request = JSON.parse(line);
	let answer;
	try {
		answer = request.query !== undefined ? await query(request.query, request.json) :
			request.arrow !== undefined ? arrow(request) : lines(request.lines);
	} catch (error) {
		answer = { error: error.message };
	}
	console.log(JSON.stringify(answer));
}
process.exit(0);

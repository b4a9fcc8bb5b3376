// How the files js_* were made, by Arrow's own implementation in JavaScript:
//
//	npm install apache-arrow@21.2 lz4js @bokuweb/zstd-wasm
//	node arrow.mjs DIRECTORY
import * as A from 'apache-arrow';
import { createRequire } from 'module';
import fs from 'fs';
import path from 'path';

const require = createRequire(import.meta.url);
const { BufferRegion: Region } = require('apache-arrow/ipc/metadata/message');
const lz4 = require('lz4js');
const zstd = require('@bokuweb/zstd-wasm');

const out = process.argv[2];
const N = 120;
const rows = f => Array.from({ length: N }, (_, i) => f(i));
const nulls = (k, f) => rows(i => i % k === 0 ? null : f(i));
const field = (name, type, values, nullable = true) => ({ name, type, values, nullable });

const columns = [
	field('bo', new A.Bool, nulls(7, i => i % 3 === 0)),
	field('i1', new A.Int8, nulls(5, i => i - 60)),
	field('i2', new A.Int16, rows(i => i * 100 - 6000), false),
	field('i4', new A.Int32, nulls(4, i => i * 1000003 - 5)),
	field('i8', new A.Int64, nulls(6, i => BigInt(i) * 1000000007n - 5n)),
	field('u1', new A.Uint8, rows(i => i * 2)),
	field('u2', new A.Uint16, nulls(3, i => i * 500)),
	field('u4', new A.Uint32, rows(i => i * 35000000)),
	field('u8', new A.Uint64, rows(i => 18446744073709551000n + BigInt(i))),
	field('f2', new A.Float16, nulls(9, i => i / 8)),
	field('f4', new A.Float32, rows(i => i / 16)),
	field('f8', new A.Float64, nulls(5, i => i / 3)),
	field('d32', new A.DateDay, nulls(8, i => new Date(Date.UTC(1960, 0, 1 + i)))),
	field('d64', new A.DateMillisecond, nulls(8, i => new Date(Date.UTC(1960, 0, 1 + i)))),
	field('ts0', new A.TimestampSecond, rows(i => 1000 * (i * 1000 - 3000))),
	field('ts3', new A.TimestampMillisecond('Europe/Berlin'), nulls(3, i => i * 1001 - 3000)),
	field('s', new A.Utf8, nulls(6, i => 'text ' + 'ä'.repeat(i % 9) + i)),
	field('bl', new A.Binary, nulls(5, i => new Uint8Array([0, 255, i]))),
	field('ls', new A.LargeUtf8, nulls(2, i => 'large' + i)),
	field('lb', new A.LargeBinary, rows(i => new Uint8Array([i, 1]))),
	field('fb', new A.FixedSizeBinary(4), nulls(3, i => new Uint8Array([1, 2, 3, i]))),
	field('di', new A.Dictionary(new A.Utf8, new A.Int8, 1), nulls(4, i => 'word' + i % 5)),
	field('du', new A.Dictionary(new A.Int64, new A.Uint16, 2), rows(i => BigInt(i % 3) * 10000000000n)),
	field('li', new A.List(new A.Field('item', new A.Int32, true)), rows(i => i % 7 === 0 ? null : i % 7 === 1 ? [] : [i, null, -i])),
	field('lt', new A.List(new A.Field('item', new A.Utf8, true)), rows(i => i % 5 === 0 ? null : Array.from({ length: i % 4 }, (_, k) => 'e' + k + i))),
	field('fl', new A.FixedSizeList(2, new A.Field('item', new A.Float64, false)), nulls(4, i => [i, i / 2])),
	field('nu', new A.Null, rows(() => null)),
];

// types whose builders of this library take other values: made of their buffers
function raw(type, width, put, isNull, name, more = {}) {
	const data = new Uint8Array(N * width), view = new DataView(data.buffer), bits = new Uint8Array(16);
	let nullCount = 0;
	for (let i = 0; i < N; i++) {
		put(view, i * width, i);
		if (isNull(i)) nullCount++; else bits[i >> 3] |= 1 << (i & 7);
	}
	const array = new type.ArrayType(data.buffer);
	return { name, vector: A.makeVector(A.makeData({ type, length: N, nullCount, nullBitmap: bits, data: array })), type, more };
}
const wide = (words, f) => (v, at, i) => { let x = BigInt.asUintN(64 * words, f(i)); for (let w = 0; w < words; w++) { v.setBigUint64(at + 8 * w, x & 0xffffffffffffffffn, true); x >>= 64n; } };
const word = f => (v, at, i) => v.setBigInt64(at, f(i), true);
const half = f => (v, at, i) => v.setInt32(at, f(i), true);
const raws = [
	raw(new A.Decimal(2, 9, 128), 16, wide(2, i => BigInt(i) * 125n - 900n), i => i % 5 === 0, 'd9'),
	raw(new A.Decimal(5, 38, 128), 16, wide(2, i => BigInt(i) * 12345678901234567890123n - 900n), i => false, 'd38'),
	raw(new A.Decimal(3, 50, 256), 32, wide(4, i => -(BigInt(i) ** 20n) ), i => i % 6 === 0, 'd50'),
	raw(new A.TimeSecond, 4, half(i => i * 61), i => i % 4 === 0, 't0'),
	raw(new A.TimeMillisecond, 4, half(i => i * 61001), i => false, 't3'),
	raw(new A.TimeMicrosecond, 8, word(i => BigInt(i) * 61000001n), i => i % 3 === 0, 't6'),
	raw(new A.TimeNanosecond, 8, word(i => BigInt(i) * 61000001000n), i => false, 't9'),
	raw(new A.TimestampMicrosecond, 8, word(i => -315619200000000n + BigInt(i) * 3600000001n), i => i % 3 === 0, 'ts6'),
	raw(new A.TimestampNanosecond('UTC'), 8, word(i => 978307200123456000n + BigInt(i) * 1000000000n), i => false, 'ts9'),
	raw(new A.IntervalYearMonth, 4, half(i => i - 20), i => i % 5 === 0, 'ym'),
	raw(new A.IntervalDayTime, 8, (v, at, i) => { v.setInt32(at, i - 10, true); v.setInt32(at + 4, i * 1500, true); }, i => false, 'dt'),
	raw(new A.IntervalMonthDayNano, 16, (v, at, i) => { v.setInt32(at, i - 10, true); v.setInt32(at + 4, -i, true); v.setBigInt64(at + 8, BigInt(i) * 1500000000n, true); }, i => i % 4 === 0, 'mdn'),
	raw(new A.DurationMillisecond, 8, word(i => BigInt(i) * 90061001n - 5n), i => i % 7 === 0, 'dur'),
];
function table(from, to) {
	const vectors = {}, fields = [];
	for (const c of columns) {
		const v = A.vectorFromArray(c.values, c.type).slice(from, to);
		vectors[c.name] = v; fields.push(new A.Field(c.name, c.type, c.nullable));
	}
	for (const r of raws) { vectors[r.name] = r.vector.slice(from, to); fields.push(new A.Field(r.name, r.type, true)); }
	return new A.Table(new A.Schema(fields), vectors);
}
const write = (name, bytes) => fs.writeFileSync(path.join(out, name), bytes);
const all = table(0, N);
write('js_file.arrow', A.tableToIPC(all, 'file'));
// several record batches, whose first rows are not at the beginning of their buffers
const batches = [...table(0, 50).batches, ...table(50, 51).batches, ...table(51, N).batches];
write('js_batches.arrows', A.tableToIPC(new A.Table(all.schema, batches), 'stream'));

await zstd.init();
A.compressionRegistry.set(A.CompressionType.LZ4_FRAME, { encode: d => lz4.compress(d), decode: d => lz4.decompress(d) });
A.compressionRegistry.set(A.CompressionType.ZSTD, { encode: d => zstd.compress(d, 3), decode: d => zstd.decompress(d) });
// its own function writes the compressed length before a buffer, where the format has the other one
A.RecordBatchWriter.prototype._compressBodyBuffers = function (buffers) {
	const codec = A.compressionRegistry.get(this._compression.type), parts = [], bufferRegions = [];
	let at = 0;
	for (const buffer of buffers) {
		const raw = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
		const packed = raw.length === 0 ? raw : codec.encode(raw), packs = packed.length < raw.length;
		const bytes = packs ? packed : raw, prefix = new Uint8Array(raw.length === 0 ? 0 : 8);
		if (raw.length > 0) new DataView(prefix.buffer).setBigInt64(0, packs ? BigInt(raw.length) : -1n, true);
		parts.push(prefix, new Uint8Array(bytes));
		bufferRegions.push(new Region(at, prefix.length + bytes.length));
		at += prefix.length + ((bytes.length + 7) & ~7);
	}
	return { byteLength: at, bufferRegions, buffers: parts };
};
write('js_zstd.arrow', A.RecordBatchFileWriter.writeAll(all, { compressionType: A.CompressionType.ZSTD }).toUint8Array(true));
write('js_lz4.arrows', A.RecordBatchStreamWriter.writeAll(new A.Table(all.schema, batches), { compressionType: A.CompressionType.LZ4_FRAME }).toUint8Array(true));
write('js_legacy.arrows', A.RecordBatchStreamWriter.writeAll(all.select(['i4', 's', 'li']), { writeLegacyIpcFormat: true }).toUint8Array(true));

// views, in the buffers of several arrays
function views(type, f) {
	const builder = A.makeBuilder({ type, nullValues: [null] });
	for (let i = 0; i < N; i++) builder.append(f(i));
	return builder.finish().toVector();
}
const long = i => i % 5 === 0 ? null : i % 3 === 0 ? 'short' + i : 'a string that is longer than a view ' + i;
const viewTable = new A.Table({ i: A.vectorFromArray(rows(i => i), new A.Int32), sv: views(new A.Utf8View, long),
	bv: views(new A.BinaryView, i => i % 4 === 0 ? null : new Uint8Array(Array.from({ length: i % 30 }, (_, k) => k + i))) });
write('js_views.arrow', A.tableToIPC(viewTable, 'file'));
write('js_views.arrows', A.RecordBatchStreamWriter.writeAll(viewTable, { compressionType: A.CompressionType.LZ4_FRAME }).toUint8Array(true));

// columns that are nested, between others
function either(type) {
	const builder = A.makeBuilder({ type, nullValues: [null], valueToChildTypeId: (b, value) => typeof value === 'number' ? 0 : 1 });
	for (let i = 0; i < N; i++) builder.append(i % 2 === 0 ? i : 's' + i);
	return builder.finish().toVector();
}
const pair = new A.Struct([new A.Field('x', new A.Int32, true), new A.Field('y', new A.Utf8, true)]);
const map = new A.Map_(new A.Field('entries', new A.Struct([new A.Field('key', new A.Utf8, false), new A.Field('value', new A.Int32, true)]), false));
const nested = new A.Table({ before: A.vectorFromArray(rows(i => i), new A.Int32),
	pair: A.vectorFromArray(nulls(4, i => ({ x: i, y: 'y' + i })), pair),
	map: A.vectorFromArray(rows(i => new Map([['k' + i, i]])), map),
	lists: A.vectorFromArray(rows(i => [[i], [i, i]]), new A.List(new A.Field('item', new A.List(new A.Field('item', new A.Int32, true)), true))),
	either: either(new A.DenseUnion([0, 1], [new A.Field('n', new A.Int32, true), new A.Field('s', new A.Utf8, true)])),
	after: A.vectorFromArray(nulls(3, i => 'after' + i), new A.Utf8) });
write('js_nested.arrow', A.tableToIPC(nested, 'file'));

// a dictionary that grows, and one that is replaced
const dictionary = new A.Dictionary(new A.Utf8, new A.Int32, 7);
const schema = new A.Schema([new A.Field('word', dictionary, true)]);
function words(known, indexes) {
	const values = A.vectorFromArray(known, new A.Utf8);
	const data = A.makeData({ type: dictionary, length: indexes.length, nullCount: 0, data: Int32Array.from(indexes), dictionary: values });
	return new A.RecordBatch(schema, A.makeData({ type: new A.Struct(schema.fields), length: indexes.length, nullCount: 0, children: [data] }));
}
const delta = A.RecordBatchStreamWriter.writeAll([words(['a', 'b'], [0, 1, 1]), words(['a', 'b', 'c', 'd'], [3, 2, 0]), words(['x', 'y'], [1, 0, 1])]);
write('js_dictionary.arrows', delta.toUint8Array(true));

// days that are out of range, of which the numbers mean infinity where dates are numbers of days
const days = BigInt64Array.from([19782n, -2147483647n, -2147483648n], day => day * 86400000n);
const dates = A.makeVector(A.makeData({ type: new A.DateMillisecond, length: 3, nullCount: 0, data: days }));
write('js_days.arrow', A.tableToIPC(new A.Table({ d: dates }), 'file'));
process.exit(0);

-- Rows with an index on each of some columns, whose values lie anywhere and have nothing to do with each other, in schemas heap and ours.
-- psql variables rows: how many; kept: UNLOGGED or nothing, of ordinary tables.
\set ON_ERROR_STOP on
CREATE :kept TABLE heap.thing (id bigint PRIMARY KEY, a int, b int, c int, d int, tags int[], note text);
CREATE FOREIGN TABLE ours.thing (id bigint PRIMARY KEY, a int, b int, c int, d int, tags int[], note text) SERVER tsurugi;
INSERT INTO heap.thing SELECT i, abs(hashint4extended(i, 1)) % 100, abs(hashint4extended(i, 2)) % 100, abs(hashint4extended(i, 3)) % 20, abs(hashint4extended(i, 4)) % 20,
	ARRAY(SELECT abs(hashint4extended(i, 4 + k)) % 300 FROM generate_series(1, 4) k), repeat(md5(i::text), 2) FROM generate_series(1, :rows) i;
INSERT INTO ours.thing TABLE heap.thing;
CREATE INDEX ON heap.thing (a);
CREATE INDEX ON heap.thing (b);
CREATE INDEX ON heap.thing (c);
CREATE INDEX ON heap.thing (d);
CREATE INDEX ON heap.thing USING gin (tags);
CREATE INDEX ON ours.thing (a);
CREATE INDEX ON ours.thing (b);
CREATE INDEX ON ours.thing (c);
CREATE INDEX ON ours.thing (d);
CREATE INDEX ON ours.thing USING gin (tags);
VACUUM ANALYZE heap.thing;
ANALYZE ours.thing;

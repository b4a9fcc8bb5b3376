-- Documents with indexes USING gin, in schemas heap and ours: each key is in ten of them, or in very many.
-- psql variables rows: how many; keys: rows / 10; kept: UNLOGGED or nothing, of ordinary tables.
\set ON_ERROR_STOP on
CREATE :kept TABLE heap.doc (id bigint PRIMARY KEY, j jsonb, tags int[], v tsvector);
CREATE FOREIGN TABLE ours.doc (id bigint PRIMARY KEY, j jsonb, tags int[], v tsvector) SERVER tsurugi;
INSERT INTO heap.doc SELECT i, jsonb_build_object('k', i % :keys, 'n', i, 'list', ARRAY['a' || i % 97, 'b' || i % 7]),
	ARRAY[i % :keys, :keys + i % 97, :keys + 100 + i % 7], to_tsvector('simple', concat_ws(' ', 'w' || i % :keys, 'x' || i % 97, 'common'))
	FROM generate_series(1, :rows) i;
INSERT INTO ours.doc TABLE heap.doc;
-- what is inserted: into an empty table, ordinary ones with PostgreSQL's list of pending entries and without
CREATE :kept TABLE heap.fresh (id bigint PRIMARY KEY, j jsonb, tags int[], v tsvector);
CREATE SCHEMA at_once;
CREATE :kept TABLE at_once.fresh (LIKE heap.fresh INCLUDING INDEXES);
CREATE FOREIGN TABLE ours.fresh (id bigint PRIMARY KEY, j jsonb, tags int[], v tsvector) SERVER tsurugi;
CREATE INDEX ON heap.fresh USING gin (j);
CREATE INDEX ON heap.fresh USING gin (tags);
CREATE INDEX ON heap.fresh USING gin (v);
CREATE INDEX ON at_once.fresh USING gin (j) WITH (fastupdate = off);
CREATE INDEX ON at_once.fresh USING gin (tags) WITH (fastupdate = off);
CREATE INDEX ON at_once.fresh USING gin (v) WITH (fastupdate = off);
CREATE INDEX ON ours.fresh USING gin (j);
CREATE INDEX ON ours.fresh USING gin (tags);
CREATE INDEX ON ours.fresh USING gin (v);

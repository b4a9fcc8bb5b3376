-- Access methods of indexes: which plans hash and brin are good for, and what they refuse here alone.  That they find what those of
-- ordinary tables find: test/same/access_methods.sql.
CREATE SCHEMA index_methods;
SET search_path = index_methods;
SET client_min_messages = warning;
CREATE SERVER index_methods FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE t (id int PRIMARY KEY, i int, b text COLLATE "C", r int4range) SERVER index_methods;
INSERT INTO t SELECT g, g % 100, 'b' || g % 100, int4range(g, g + 2) FROM generate_series(1, 2000) g;
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT '-- ' || query;
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
CREATE FUNCTION plans(VARIADIC list text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT plan(q) FROM unnest(list) q';
CREATE INDEX h_i ON t USING hash (i);
CREATE INDEX h_b ON t USING hash (b) WITH (fillfactor = 60);
-- equality alone, and no order; what a hash has found is looked at again, a short value need not be
SELECT plans('SELECT * FROM t WHERE i = 3', 'SELECT * FROM t WHERE b = ''b3''', 'SELECT * FROM t WHERE b IN (''b3'', ''b4'') ORDER BY b',
	'SELECT * FROM t WHERE b IS NULL', 'SELECT * FROM t WHERE b < ''b3''', 'SELECT * FROM t ORDER BY i', 'SELECT max(i) FROM t',
	'SELECT x.id FROM t x JOIN t y USING (b) WHERE y.id = 3', 'UPDATE t SET i = 0 WHERE b = ''b3''', 'DELETE FROM t WHERE i = 3',
	'SELECT * FROM t WHERE i = 3 AND b = ''b3'' FOR UPDATE');
PREPARE by_hash AS SELECT count(*) FROM t WHERE b = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_hash('b3');
EXECUTE by_hash(NULL);
UPDATE t SET b = repeat('long', 5000) WHERE i = 7;
EXECUTE by_hash(repeat('long', 5000));
RESET plan_cache_mode;
DROP INDEX h_i, h_b;
CREATE INDEX b_ib ON t USING brin (i, id) WITH (pages_per_range = 4, autosummarize);
CREATE INDEX b_bloom ON t USING brin (b text_bloom_ops);
CREATE INDEX b_mixed ON t USING brin (r, id);
SELECT plans('SELECT * FROM t WHERE i BETWEEN 3 AND 4 ORDER BY i', 'SELECT * FROM t WHERE i = 3 AND id > 100', 'SELECT * FROM t WHERE i IS NULL',
	'SELECT * FROM t WHERE b = ''b3''', 'SELECT * FROM t WHERE b > ''b3''', 'SELECT max(i) FROM t', 'SELECT x.id FROM t x JOIN t y ON x.b = y.b WHERE y.id = 3');
\d t
-- inclusion goes by covers
CREATE INDEX b_inclusion ON t USING brin (r);
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE r && '[3,5)';
DROP INDEX b_inclusion;
-- of other operator classes an index is there for the definition's sake
CREATE INDEX unserved ON t USING gist (to_tsquery('simple', b));
DROP INDEX unserved;
-- refused here only
SELECT brin_summarize_new_values('b_ib');
CREATE EXTENSION bloom;
CREATE INDEX ON t USING bloom (i);
DROP EXTENSION bloom;
-- the definition goes with its transaction
BEGIN;
ALTER INDEX b_ib SET (pages_per_range = 8);
SELECT reloptions FROM pg_class WHERE relname = 'b_ib';
ROLLBACK;
SELECT reloptions FROM pg_class WHERE relname = 'b_ib';
ALTER TABLE t SET ACCESS METHOD heap;
\d t
DROP SCHEMA index_methods CASCADE;
DROP SERVER index_methods;

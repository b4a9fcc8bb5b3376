-- Access methods of indexes: which plans hash, brin and those of extensions and users are good for, and what they refuse here alone.
-- That they find what those of ordinary tables find: test/same/access_methods.sql, test/same/other_methods.sql.
CREATE SCHEMA index_methods;
SET search_path = index_methods;
SET tsurugi_fdw.jobs = off;
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
-- of access methods that extensions and users have made, by what the operators of a class are
CREATE EXTENSION bloom;
SET tsurugi_fdw.default_server = index_methods;
CREATE TABLE o (id int, i int, b text COLLATE "C", plot box, x xid, m money) USING tsurugi;
INSERT INTO o SELECT g, g % 100, 'b' || g % 70, box(point(g, 0), point(g, 1)), (g % 90)::text::xid, (g % 80)::money FROM generate_series(1, 2000) g;
CREATE ACCESS METHOD btree2 TYPE INDEX HANDLER bthandler;
CREATE ACCESS METHOD gist2 TYPE INDEX HANDLER gisthandler;
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int USING btree2 AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE OPERATOR CLASS box_ops DEFAULT FOR TYPE box USING gist2 AS OPERATOR 3 &&, OPERATOR 6 ~=, OPERATOR 8 <@, FUNCTION 1 gist_box_consistent(internal, box, smallint, oid, internal),
	FUNCTION 2 gist_box_union(internal, internal), FUNCTION 5 gist_box_penalty(internal, internal, internal), FUNCTION 6 gist_box_picksplit(internal, internal), FUNCTION 7 gist_box_same(box, box, internal);
CREATE OPERATOR CLASS point_ops DEFAULT FOR TYPE point USING gist2 AS OPERATOR 15 <-> FOR ORDER BY float_ops;
CREATE OPERATOR CLASS money_ops DEFAULT FOR TYPE money USING bloom AS OPERATOR 1 =, FUNCTION 1 hashint8(bigint);
CREATE OPERATOR CLASS xid_ops DEFAULT FOR TYPE xid USING bloom AS OPERATOR 1 =(xid, xid), FUNCTION 1 hashint4(int);
CREATE OPERATOR CLASS other_ops FOR TYPE int USING bloom AS OPERATOR 1 <>, FUNCTION 1 hashint4(int);
CREATE INDEX o_bloom ON o USING bloom (i, b) WITH (length = 100);
CREATE INDEX o_xid ON o USING bloom (x);
CREATE INDEX o_money ON o USING bloom (m);
CREATE INDEX o_gist ON o USING gist2 (plot);
CREATE INDEX o_order ON o USING btree2 ((id + i) DESC NULLS LAST);
CREATE INDEX o_none ON o USING bloom (b, i other_ops);
CREATE INDEX o_near ON o USING gist2 (center(plot));
CREATE UNIQUE INDEX ON o USING btree2 (id);
SELECT plans('SELECT * FROM o WHERE i = 3', 'SELECT * FROM o WHERE i = 3 AND b = ''b3''', 'SELECT * FROM o WHERE b = ''b3''', 'SELECT * FROM o WHERE i < 3', 'SELECT * FROM o WHERE x = ''5''',
	'SELECT * FROM o WHERE m = ''5''', 'SELECT * FROM o WHERE plot && ''(1,1),(0,0)''', 'SELECT * FROM o WHERE plot << ''(1,1),(0,0)''', 'SELECT * FROM o WHERE id + i > 2080', 'SELECT * FROM o ORDER BY id + i DESC NULLS LAST',
	'SELECT * FROM o WHERE i <> 3', 'SELECT x.id FROM o x JOIN o y ON x.i = y.i AND x.b = y.b WHERE y.x = ''3''', 'DELETE FROM o WHERE i = 3 AND b = ''b4''');
SELECT count(*), sum(id) FROM o WHERE m = '5';
SELECT count(*), sum(id) FROM o WHERE id + i > 2080;
SELECT count(*), sum(id) FROM o WHERE plot && '(7,1),(3,0)';
\d o
-- a table moves with them
DROP INDEX o_order, o_near; -- which PostgreSQL cannot have on the disk
ALTER TABLE o SET ACCESS METHOD heap;
\d o
ALTER TABLE o SET ACCESS METHOD tsurugi;
SELECT count(*) FROM o WHERE i = 3 AND b = 'b3';
\d o
DROP EXTENSION bloom CASCADE;
DROP ACCESS METHOD gist2 CASCADE;
DROP ACCESS METHOD btree2 CASCADE;
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

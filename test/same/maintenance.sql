-- VACUUM, CLUSTER, REINDEX, and ALTERs that are about a heap on the disk.
-- alone: rows that are dead have to be so for REINDEX
CREATE TABLE t (k int PRIMARY KEY, v text, big text) WITH (fillfactor = 50);
INSERT INTO t SELECT (g * 7) % 100, 'v' || g, repeat('x', 3000) FROM generate_series(0, 99) g;
DELETE FROM t WHERE k % 3 = 0;
VACUUM t;
VACUUM (FULL, ANALYZE) t;
VACUUM (FREEZE, VERBOSE off, INDEX_CLEANUP off, PARALLEL 0) t;
VACUUM (nothing) t;
VACUUM (FULL, PARALLEL 2) t;
VACUUM (FULL, DISABLE_PAGE_SKIPPING) t;
VACUUM (FULL, DISABLE_PAGE_SKIPPING off) t;
VACUUM (DISABLE_PAGE_SKIPPING) t;
VACUUM (PARALLEL -1) t;
VACUUM (PARALLEL 2000) t;
VACUUM (PARALLEL) t;
VACUUM (FREEZE maybe) t;
VACUUM (INDEX_CLEANUP maybe) t;
VACUUM (INDEX_CLEANUP auto, TRUNCATE off) t;
BEGIN;
VACUUM (FULL, DISABLE_PAGE_SKIPPING) t;
ROLLBACK;
BEGIN;
VACUUM t;
ROLLBACK;
SELECT count(*), sum(k), count(DISTINCT big) FROM t;
CLUSTER t USING t_pkey;
SELECT k FROM t LIMIT 5;
INSERT INTO t VALUES (0), (99);
INSERT INTO t VALUES (0);
CLUSTER VERBOSE t USING nothing;
CLUSTER (nothing) t;
CREATE TABLE u (k int PRIMARY KEY);
CLUSTER t USING u_pkey;
REINDEX TABLE t;
REINDEX (VERBOSE off) TABLE t;
REINDEX TABLE CONCURRENTLY t;
REINDEX INDEX CONCURRENTLY t_pkey;
REINDEX INDEX t_pkey;
CREATE TABLE told (a int PRIMARY KEY, b int UNIQUE);
\set VERBOSITY terse
REINDEX (VERBOSE) TABLE told;
REINDEX (VERBOSE) INDEX told_b_key;
REINDEX (VERBOSE) TABLE CONCURRENTLY told;
REINDEX (VERBOSE) INDEX CONCURRENTLY told_pkey;
REINDEX (VERBOSE, CONCURRENTLY) INDEX told_b_key;
\set VERBOSITY verbose
DROP TABLE told;
INSERT INTO t VALUES (1);
CREATE TABLE bare (v int);
REINDEX TABLE bare;
SELECT count(*), sum(k) FROM t;
-- rolled back
BEGIN;
INSERT INTO t VALUES (200);
REINDEX TABLE t;
CLUSTER t USING t_pkey;
INSERT INTO t VALUES (201);
SELECT count(*), sum(k) FROM t;
ROLLBACK;
SELECT count(*), sum(k) FROM t;
-- rights
CREATE ROLE maintenance_role;
GRANT ALL ON t TO maintenance_role;
SET ROLE maintenance_role;
VACUUM t;
VACUUM FULL t;
CLUSTER t USING t_pkey;
REINDEX TABLE t;
RESET ROLE;
REVOKE ALL ON t FROM maintenance_role;
DROP ROLE maintenance_role;

ALTER TABLE t SET (fillfactor = 90, autovacuum_enabled = off);
ALTER TABLE t SET (fillfactor = 9);
ALTER TABLE t SET (nothing = 9);
ALTER TABLE t RESET (fillfactor);
ALTER TABLE t CLUSTER ON t_pkey, SET TABLESPACE pg_default, ALTER COLUMN v SET COMPRESSION pglz, ADD COLUMN w int DEFAULT 3;
ALTER TABLE t SET WITHOUT CLUSTER;
ALTER TABLE t SET UNLOGGED;
ALTER TABLE t SET LOGGED;
ALTER TABLE t ALTER COLUMN big SET STORAGE external;
ALTER TABLE t ALTER COLUMN v SET STATISTICS 10, ALTER COLUMN v SET (n_distinct = 5);
SELECT k, v, w FROM t ORDER BY k LIMIT 3;

-- statistics
CREATE TABLE s (a int, b int, c text);
INSERT INTO s SELECT g % 10, g % 10, 'c' || g FROM generate_series(1, 1000) g;
CREATE STATISTICS s_ab (ndistinct, dependencies, mcv) ON a, b FROM s;
CREATE STATISTICS s_expression ON (a + b) FROM s;
ANALYZE s;
ANALYZE s (a, nothing);
SELECT attname, n_distinct, null_frac FROM pg_stats WHERE tablename = 's' ORDER BY 1;
SELECT statistics_name, n_distinct, dependencies, most_common_freqs[1] FROM pg_stats_ext WHERE tablename = 's' ORDER BY 1;
SELECT n_distinct FROM pg_stats_ext_exprs WHERE tablename = 's';
SELECT reltuples FROM pg_class WHERE relname = 's';
CREATE TABLE sampled (up int, down int);
ALTER TABLE sampled ALTER up SET STATISTICS 1, ALTER down SET STATISTICS 1;
INSERT INTO sampled SELECT g, -g FROM generate_series(1, 5000) g;
ANALYZE sampled;
SELECT attname, correlation FROM pg_stats WHERE tablename = 'sampled' ORDER BY 1;
-- of all tables
\set analyzed 'SELECT reltuples, (SELECT count(*) FROM pg_stats WHERE tablename = relname) FROM pg_class WHERE relname = ''every'''
CREATE TABLE every (a int, b text);
INSERT INTO every VALUES (1, 'one');
CREATE ROLE nobodys_analyst;
SET client_min_messages = error; -- all that it does not own
SET ROLE nobodys_analyst;
ANALYZE;
RESET ROLE;
:analyzed;
ANALYZE (nothing);
ANALYZE;
:analyzed;
INSERT INTO every VALUES (2, 'two');
VACUUM;
BEGIN;
ANALYZE (SKIP_LOCKED);
ROLLBACK;
:analyzed;
DROP TABLE every;
CREATE TABLE every (a int, b text);
BEGIN;
INSERT INTO every VALUES (2, 'two');
VACUUM ANALYZE;
ROLLBACK;
VACUUM (VERBOSE off, ANALYZE, PARALLEL 0);
:analyzed;
INSERT INTO every VALUES (2, 'two'), (3, 'three');
VACUUM (ANALYZE off);
VACUUM (ANALYZE, FREEZE);
:analyzed;
DROP ROLE nobodys_analyst;
RESET client_min_messages;

-- LOCK TABLE of views: what is below them is locked, with the rights of their owners
CREATE TABLE locked (id int PRIMARY KEY);
CREATE TABLE locked_child () INHERITS (locked);
CREATE VIEW locked_view AS SELECT * FROM locked WHERE id IN (SELECT id FROM locked);
CREATE VIEW locked_above AS SELECT v.id FROM locked_view v;
CREATE VIEW locked_invoker WITH (security_invoker) AS SELECT * FROM locked;
CREATE ROLE same_locker;
GRANT ALL ON locked_view, locked_above, locked_invoker TO same_locker;
BEGIN;
LOCK TABLE locked_above IN SHARE MODE;
SELECT relation::regclass, mode FROM pg_locks WHERE relation::regclass::text LIKE 'locked%' AND pid = pg_backend_pid() ORDER BY 1, 2;
ROLLBACK;
SET ROLE same_locker;
BEGIN;
LOCK TABLE locked_above NOWAIT;
ROLLBACK;
BEGIN;
LOCK TABLE locked_invoker;
ROLLBACK;
LOCK TABLE locked_view;
RESET ROLE;
DROP TABLE locked CASCADE;
DROP OWNED BY same_locker;
DROP ROLE same_locker;

-- one more partition beside a default one
CREATE TABLE parted (a int, b int) PARTITION BY LIST (a);
CREATE TABLE parted_other PARTITION OF parted DEFAULT PARTITION BY LIST (b);
CREATE TABLE parted_first PARTITION OF parted_other FOR VALUES IN (1);
CREATE TABLE parted_second PARTITION OF parted_other DEFAULT;
INSERT INTO parted VALUES (5, 1), (6, 2);
CREATE TABLE parted_more PARTITION OF parted FOR VALUES IN (5);
CREATE TABLE parted_more PARTITION OF parted FOR VALUES IN (7);
CREATE TABLE parted_late (a int, b int);
ALTER TABLE parted ATTACH PARTITION parted_late FOR VALUES IN (6);
ALTER TABLE parted ATTACH PARTITION parted_late FOR VALUES IN (8);
DROP TABLE parted;

-- an index that is no constraint's
CREATE TABLE classes (a text);
CREATE UNIQUE INDEX classes_pattern ON classes (a text_pattern_ops);
CREATE UNIQUE INDEX classes_varchar ON classes (a varchar_ops);
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['classes_pattern', 'classes_varchar'] LOOP
		BEGIN
			EXECUTE format('ALTER TABLE classes ADD CONSTRAINT classes_a UNIQUE USING INDEX %I', name);
		EXCEPTION WHEN wrong_object_type THEN
			RAISE NOTICE '%', SQLERRM;
		END;
	END LOOP;
END $$;
DROP TABLE classes;

-- REINDEX: what CONCURRENTLY asks for, and an index that was left behind
CREATE TABLE without_indexes (a int);
REINDEX TABLE without_indexes;
REINDEX TABLE CONCURRENTLY without_indexes;
CREATE TABLE left_behind (a int, b text);
INSERT INTO left_behind VALUES (1, 'x'), (2, 'x');
CREATE INDEX left_behind_a ON left_behind (a);
CREATE UNIQUE INDEX CONCURRENTLY left_behind_b ON left_behind (b);
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'left_behind'::regclass ORDER BY indexrelid::regclass::text;
REINDEX TABLE left_behind;
REINDEX TABLE CONCURRENTLY left_behind;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'left_behind'::regclass ORDER BY indexrelid::regclass::text;
DELETE FROM left_behind WHERE a = 2;
REINDEX TABLE left_behind;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'left_behind'::regclass ORDER BY indexrelid::regclass::text;
INSERT INTO left_behind VALUES (3, 'x');
SELECT * FROM left_behind WHERE b = 'x';
BEGIN;
REINDEX TABLE CONCURRENTLY left_behind;
ROLLBACK;

-- REINDEX of a schema and of the database reaches tables of both kinds
CREATE SCHEMA several;
CREATE TABLE several.t (a int PRIMARY KEY, b int);
INSERT INTO several.t VALUES (1, 5), (2, 5);
CREATE UNIQUE INDEX CONCURRENTLY t_b ON several.t (b);
CREATE TABLE several.bare (a int);
CREATE VIEW several.valid AS SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'several.t'::regclass ORDER BY indexrelid;
TABLE several.valid;
DELETE FROM several.t WHERE a = 2;
\set VERBOSITY terse
REINDEX (VERBOSE) SCHEMA several;
TABLE several.valid;
REINDEX (VERBOSE) SCHEMA CONCURRENTLY several;
\set VERBOSITY verbose
REINDEX SCHEMA nowhere;
REINDEX DATABASE nowhere;
BEGIN;
REINDEX SCHEMA several;
ROLLBACK;
DROP SCHEMA several CASCADE;

-- CLUSTER by any index: rows as they lie, and which one it was
CREATE TABLE clustered (id int PRIMARY KEY, v int, w text COLLATE "C");
INSERT INTO clustered SELECT g, (g * 7) % 20, chr(97 + g % 5) FROM generate_series(1, 12) g;
CREATE INDEX clustered_v ON clustered (v DESC);
CREATE INDEX clustered_w ON clustered (w, id);
CREATE INDEX clustered_expression ON clustered ((v % 3), (id * 2) DESC);
CREATE INDEX clustered_part ON clustered (v) WHERE v > 3;
CREATE VIEW clustered_indexes AS SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'clustered'::regclass AND indisclustered;
SET enable_indexscan = off;
CLUSTER clustered;
CLUSTER clustered USING clustered_v;
SELECT array_agg(id) FROM clustered;
TABLE clustered_indexes;
CLUSTER clustered USING clustered_expression;
SELECT array_agg(id) FROM clustered;
CLUSTER clustered USING clustered_part;
CLUSTER clustered USING clustered;
ALTER TABLE clustered CLUSTER ON clustered_part;
ALTER TABLE clustered CLUSTER ON nothing;
ALTER TABLE clustered CLUSTER ON clustered_w;
TABLE clustered_indexes;
BEGIN;
CLUSTER clustered;
SELECT array_agg(id) FROM clustered;
ROLLBACK;
SELECT array_agg(id) FROM clustered;
-- all that were; one that is another's not
CREATE TABLE clustered_too (k int PRIMARY KEY);
INSERT INTO clustered_too VALUES (3), (1), (2);
ALTER TABLE clustered_too CLUSTER ON clustered_too_pkey;
CREATE TABLE clustered_heap (k int PRIMARY KEY) USING heap;
INSERT INTO clustered_heap VALUES (3), (1), (2);
ALTER TABLE clustered_heap CLUSTER ON clustered_heap_pkey;
CREATE TABLE clustered_other (k int PRIMARY KEY);
INSERT INTO clustered_other VALUES (3), (1), (2);
ALTER TABLE clustered_other CLUSTER ON clustered_other_pkey;
CREATE ROLE same_clusterer;
ALTER TABLE clustered OWNER TO same_clusterer;
ALTER TABLE clustered_too OWNER TO same_clusterer;
ALTER TABLE clustered_heap OWNER TO same_clusterer;
BEGIN;
CLUSTER;
ROLLBACK;
SET ROLE same_clusterer;
CLUSTER clustered_other;
CLUSTER (nothing);
CLUSTER;
RESET ROLE;
SELECT array_agg(id) FROM clustered;
SELECT array_agg(k) FROM clustered_too;
SELECT array_agg(k) FROM clustered_heap;
SELECT array_agg(k) FROM clustered_other;
-- it stays where the index is made again, or the table stored elsewhere
ALTER TABLE clustered ALTER w TYPE varchar(9) COLLATE "C", SET WITHOUT CLUSTER;
TABLE clustered_indexes;
ALTER TABLE clustered CLUSTER ON clustered_w;
ALTER TABLE clustered ALTER w TYPE text COLLATE "C";
TABLE clustered_indexes;
REINDEX INDEX CONCURRENTLY clustered_w;
TABLE clustered_indexes;
DROP VIEW clustered_indexes;
ALTER TABLE clustered SET ACCESS METHOD heap;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'clustered'::regclass AND indisclustered;
RESET enable_indexscan;
DROP TABLE clustered, clustered_too, clustered_heap, clustered_other;
DROP ROLE same_clusterer;
-- tablespaces have no meaning, but have to be there
CREATE TABLE nope.bad (a int); CREATE TABLE IF NOT EXISTS nope.bad AS SELECT 1; CREATE TABLE nope.bad (a int PRIMARY KEY);
CREATE TABLE e (n int, CONSTRAINT k PRIMARY KEY (n)) TABLESPACE nope; CREATE TABLE e (n int) TABLESPACE pg_global; CREATE TABLE e (n int, CONSTRAINT k PRIMARY KEY (n)) TABLESPACE pg_default;
ALTER TABLE e SET TABLESPACE nope; ALTER TABLE e SET TABLESPACE pg_global; ALTER TABLE e SET TABLESPACE pg_default;
CREATE INDEX i ON e (n) TABLESPACE nope; CREATE INDEX i ON e (n) TABLESPACE pg_default; ALTER INDEX i SET TABLESPACE nope; REINDEX (TABLESPACE nope) INDEX i; REINDEX (TABLESPACE pg_global) INDEX i; REINDEX (TABLESPACE pg_global, CONCURRENTLY) INDEX i; REINDEX (TABLESPACE pg_global) TABLE e; REINDEX (TABLESPACE pg_default) TABLE e; 
CREATE TABLE f TABLESPACE nope AS SELECT 1;
SELECT count(*) FROM e;
-- what is said of tables elsewhere
CREATE TABLE member (a int);
ALTER EXTENSION plpgsql ADD TABLE member;
DROP TABLE member;
ALTER EXTENSION plpgsql DROP TABLE member;
SECURITY LABEL ON TABLE member IS 'secret';
DROP TABLE member;
-- CREATE INDEX CONCURRENTLY that fails leaves an index that nobody minds
CREATE TABLE l (a int, b int);
INSERT INTO l VALUES (1, 0), (1, 1), (2, 2);
CREATE UNIQUE INDEX CONCURRENTLY l_a ON l (a);
CREATE INDEX CONCURRENTLY l_b ON l ((1 / b));
CREATE INDEX CONCURRENTLY l_p ON l (a) WHERE 1 / b > 0;
SELECT indexrelid::regclass, indisvalid, indisready, indislive FROM pg_index WHERE indrelid = 'l'::regclass ORDER BY 1;
INSERT INTO l VALUES (1, 0), (2, 0);
UPDATE l SET a = 1 WHERE a = 2;
INSERT INTO l VALUES (1, 5) ON CONFLICT DO NOTHING;
REINDEX INDEX l_b;
UPDATE l SET b = 3 WHERE b = 0;
REINDEX INDEX l_b;
REINDEX INDEX CONCURRENTLY l_p;
INSERT INTO l VALUES (1, 0);
DELETE FROM l WHERE b <> 2;
REINDEX TABLE l;
INSERT INTO l VALUES (1, 7);
SELECT indexrelid::regclass, indisvalid, indisready, indislive FROM pg_index WHERE indrelid = 'l'::regclass ORDER BY 1;
CREATE UNIQUE INDEX CONCURRENTLY l_c ON l ((b / b));
INSERT INTO l VALUES (10, 4);
CREATE UNIQUE INDEX CONCURRENTLY l_d ON l ((b / b));
DROP INDEX CONCURRENTLY l_c;
INSERT INTO l VALUES (11, 4);
DROP INDEX l_d;
SELECT * FROM l ORDER BY a;

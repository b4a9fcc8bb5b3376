-- Secondary indexes: how they are shown, the index that an INSERT ... ON CONFLICT or a look-up goes by,
-- what is refused here only, moves between the two kinds of tables, the view.  The rest is in test/same.
SET client_min_messages = warning;
CREATE SERVER index FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE t (id int PRIMARY KEY, a int UNIQUE, b text, c numeric, d date, UNIQUE (b, c), CONSTRAINT named UNIQUE NULLS NOT DISTINCT (d)) SERVER index;
CREATE INDEX ON t (lower(b), a, (c + 1));
CREATE INDEX ON t (a DESC, b NULLS FIRST) INCLUDE (c);
CREATE UNIQUE INDEX part ON t (b COLLATE "POSIX") WHERE c > 10;
CREATE INDEX ON t (b text_pattern_ops);
CREATE UNIQUE INDEX good_part ON t (b) WHERE a > 50;
\d t
ALTER TABLE t ADD EXCLUDE USING gin (a WITH =);
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (9, 70) ON CONFLICT (b) WHERE a > 50 DO NOTHING;
INSERT INTO t VALUES (1, 10, 'x', 1, '2000-01-01'), (2, 20, 'y', 12, '2000-01-02'), (3, 60, 'z', 3, '2000-01-03');
BEGIN;
ALTER TABLE t DROP CONSTRAINT t_a_key;
CREATE UNIQUE INDEX again ON t (a);
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE a = 1;
ROLLBACK;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE a = 1;
SELECT relation, index, definition, is_unique, is_valid, entries, bytes > 0 FROM tsurugi.indexes WHERE relation = 't' ORDER BY index;

-- into memory, and back
CREATE FUNCTION indexes(relation regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_get_indexdef(indexrelid) || coalesce(': ' || obj_description(indexrelid), '') FROM pg_index WHERE indrelid = relation ORDER BY 1
$$;
CREATE TABLE again (id int PRIMARY KEY, a int UNIQUE, b text);
CREATE INDEX again_expr ON again (lower(b)) WHERE a > 0;
COMMENT ON INDEX again_expr IS 'kept';
INSERT INTO again VALUES (1, 1, 'B'), (2, -1, 'b');
SET tsurugi_fdw.default_server = index;
ALTER TABLE again SET ACCESS METHOD tsurugi;
SELECT indexes('again');
SELECT * FROM again WHERE lower(b) = 'b' AND a > 0;
INSERT INTO again VALUES (3, 1);
ALTER TABLE again SET ACCESS METHOD heap;
SELECT indexes('again');
SELECT * FROM again WHERE lower(b) = 'b' AND a > 0;
INSERT INTO again VALUES (3, 1);

SET client_min_messages = warning;
DROP SERVER index CASCADE;
DROP TABLE again;
DROP FUNCTION indexes;

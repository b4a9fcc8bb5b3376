-- Indexes USING gin: own writes, cursors, what is refused, changes of the table.  That they are used, and
-- what they find, is in sql/; with others at work: the specification gin.
CREATE EXTENSION pg_trgm;
CREATE TABLE t (id int PRIMARY KEY, tags int[], names text[], j jsonb, s text, v tsvector);
CREATE FUNCTION row_of(i int) RETURNS t IMMUTABLE LANGUAGE sql AS $$
	SELECT ROW(i, ARRAY[i % 7, i % 11, i % 13], ARRAY['n' || i % 5, repeat('long', 150) || i % 9, CASE WHEN i % 10 > 0 THEN 'x' END],
		jsonb_build_object('a', i % 5, 'b', jsonb_build_array(i % 3, 'x' || i % 40)), 'word' || i || ' text ' || i % 17,
		to_tsvector('simple', 'the cat ' || i % 90 || ' sat on mats ' || i % 5))::t
$$;
INSERT INTO t SELECT (row_of(i)).* FROM generate_series(1, 400) i;
CREATE INDEX ON t USING gin (tags);
CREATE INDEX t_names ON t USING gin (names array_ops) WITH (fastupdate = off);
CREATE INDEX ON t USING gin (j);
CREATE INDEX t_path ON t USING gin (j jsonb_path_ops);
CREATE INDEX ON t USING gin (s gin_trgm_ops);
CREATE INDEX CONCURRENTLY t_v ON t USING gin (v tsvector_ops, tags) WHERE id <> 77;
INSERT INTO t SELECT (row_of(i)).* FROM generate_series(401, 1000) i;
INSERT INTO t VALUES (2000, '{}', '{}', '{}', '', ''), (2001, NULL, NULL, NULL, NULL, NULL), (2002, '{NULL,1}', '{NULL}', '[]', '%', 'a b'),
	(2003, '{3,3,3}', '{{a,b},{a,c}}', '"x"', 'word', 'word:3A'), (2004, '{5}', '{""}', '{"a":{"a":[{"b":null}]}}', 'WORD99', NULL);

-- own writes, and what is taken back
BEGIN;
UPDATE t SET tags = tags || 100 WHERE tags @> '{3,5}' AND id < 500;
SELECT count(*), count(*) FILTER (WHERE tags @> '{3,5}') FROM t WHERE tags @> '{100}';
SAVEPOINT a;
DELETE FROM t WHERE tags @> '{100,0}';
UPDATE t SET tags = array_replace(tags, 100, 101) WHERE tags @> '{100}';
SELECT (SELECT count(*) FROM t WHERE tags @> '{100}'), (SELECT count(*) FROM t WHERE tags @> '{101}'), (SELECT count(*) FROM t WHERE tags && '{100,101}');
ROLLBACK TO a;
SELECT (SELECT count(*) FROM t WHERE tags @> '{100}'), (SELECT count(*) FROM t WHERE tags @> '{101}'), (SELECT count(*) FROM t WHERE tags && '{100,101}');
ROLLBACK;
SELECT count(*) FROM t WHERE tags && '{100,101}';

-- parameters, the inner side of a join, a row once, cursors
PREPARE by_tags(int[]) AS SELECT count(*) FROM t WHERE tags @> $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_tags('{3,5}');
EXECUTE by_tags('{}');
EXECUTE by_tags(NULL);
RESET plan_cache_mode;
CREATE TEMP TABLE w (a int[]);
INSERT INTO w VALUES ('{3,5}'), ('{6,10}'), (NULL), ('{1000}');
SELECT w.a, count(t.id) FROM w LEFT JOIN t ON t.tags @> w.a GROUP BY w.a ORDER BY w.a;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE tags && '{3,100}' AND id < 30;
FETCH 2 FROM c;
UPDATE t SET tags = '{100}' WHERE CURRENT OF c;
FETCH ALL FROM c;
SELECT id FROM t WHERE tags && '{100}' FOR UPDATE;
ROLLBACK;

-- what cannot be, in PostgreSQL's words
CREATE UNIQUE INDEX ON t USING gin (tags);
CREATE INDEX ON t USING gin (tags) INCLUDE (id);
CREATE INDEX ON t USING gin (tags DESC);
CREATE INDEX ON t USING gin (tags NULLS FIRST);
CREATE INDEX ON t USING gin (id);
CREATE INDEX ON t USING gin (tags jsonb_ops);
CREATE INDEX ON t USING gin (tags array_ops(x = 1));
CREATE INDEX ON t USING gin (tags) WITH (fillfactor = 70);
ALTER TABLE t ADD UNIQUE USING INDEX t_path;
CLUSTER t USING t_path;
ALTER INDEX t_path SET (gin_pending_list_limit = 64);
SELECT pg_get_indexdef('t_path'::regclass) LIKE '%gin_pending_list_limit=''64''%';

-- the table changes, and its indexes with it
CREATE TABLE u (id int, a int[], e text);
CREATE INDEX u_a ON u USING gin (a, (string_to_array(e, ' ')));
INSERT INTO u SELECT i, ARRAY[i, i + 1], i || ' ' || -i FROM generate_series(1, 300) i;
ALTER TABLE u ALTER COLUMN a TYPE bigint[];
REINDEX INDEX u_a;
REINDEX TABLE u;
ALTER TABLE u DROP COLUMN id, ADD COLUMN z int DEFAULT 1;
SELECT * FROM u WHERE a @> '{7}' AND string_to_array(e, ' ') && '{7}';
BEGIN;
TRUNCATE u;
INSERT INTO u VALUES ('{7}', '7 x');
SELECT * FROM u WHERE a @> '{7}';
DROP INDEX u_a;
SELECT count(*) FROM u WHERE a @> '{7}';
ROLLBACK;
SELECT count(*) FROM u WHERE a && '{7,300}';
CREATE TABLE l (LIKE u INCLUDING INDEXES);
CREATE TABLE p (id int, a int[]) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (500) USING heap;
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (500) TO (1000);
INSERT INTO p SELECT i, ARRAY[i % 10, i] FROM generate_series(0, 999) i;
CREATE INDEX p_a ON p USING gin (a);
SELECT inhrelid::regclass, replace(pg_get_indexdef(inhrelid), ' ON ONLY ', ' ON ') FROM pg_inherits WHERE inhparent = 'p_a'::regclass ORDER BY 1;
SET enable_seqscan = off;
SELECT * FROM p WHERE a && '{3,503}' AND id IN (3, 503, 504);
RESET enable_seqscan;


-- COPY in every form, both ways; what tasks of the pool can do is done by them.
SELECT set_config('tsurugi_fdw.failpoints', 'copy_any_by_pool', false) \gset
CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT 'default', n numeric(5,2), g int GENERATED ALWAYS AS (k * 2) STORED, CHECK (n < 100));
COPY t (k, v, n) FROM STDIN;
1	one	1.5
2	\N	\N
3	tab\tnewline\nbackslash\\	-99.99
\.
COPY t FROM STDIN WITH (FORMAT csv, HEADER, DELIMITER ';', QUOTE '''', NULL 'nil', FORCE_NOT_NULL (v), ENCODING 'latin1');
k;v;n
4;'quoted; ''twice''';4
5;nil;nil
\.
COPY t (k) FROM STDIN (FORMAT csv);
6
7
\.
COPY t (k, v) FROM STDIN WHERE k % 2 = 0 AND v <> 'no';
8	yes
9	yes
10	no
\.
BEGIN;
CREATE TABLE f (LIKE t);
COPY f (k, v, n) FROM STDIN (FREEZE);
11	frozen	1
\.
COMMIT;
SELECT * FROM f;
-- only of a table that the subtransaction has made, emptied, or stored anew, and before anything else is going on
COPY f FROM STDIN (FREEZE);
12	late	1
\.
COPY f FROM STDIN (FREEZE off);
\.
BEGIN;
TRUNCATE f;
COPY f (k, v, n) FROM STDIN (FREEZE);
11	frozen	1
\.
SAVEPOINT s;
COPY f FROM STDIN (FREEZE);
\.
ROLLBACK TO s;
TRUNCATE f;
ROLLBACK TO s;
SAVEPOINT part;
TRUNCATE f;
RELEASE part;
COPY f (k, v, n) FROM STDIN (FREEZE);
11	frozen	1
\.
COPY f FROM STDIN (FREEZE, FREEZE);
\.
ROLLBACK TO s;
COMMIT;
BEGIN;
ALTER TABLE f ALTER n TYPE numeric(7,2);
COPY f (k, v, n) FROM STDIN (FREEZE);
12	frozen	1
\.
DECLARE c CURSOR FOR SELECT 1;
COPY f FROM STDIN (FREEZE);
\.
ROLLBACK;
-- beside a cursor, without
BEGIN;
DECLARE c CURSOR FOR SELECT 1;
TRUNCATE f;
COPY f (k, v, n) FROM STDIN;
11	thawed	1
\.
COMMIT;
BEGIN;
SAVEPOINT s;
TRUNCATE f;
ROLLBACK TO s;
COPY f FROM STDIN (FREEZE);
\.
ROLLBACK;
SELECT * FROM f;
COPY t TO STDOUT;
COPY t (v, k) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *);
COPY t TO STDOUT (NULL 'nil', DELIMITER '|');
COPY (SELECT k, g FROM t WHERE k > 5 ORDER BY k) TO STDOUT;
COPY (UPDATE t SET v = 'updated' WHERE k = 1 RETURNING *) TO STDOUT;
COPY (DELETE FROM t WHERE k = 11 RETURNING k) TO STDOUT (FORMAT csv);
COPY (INSERT INTO t (k) VALUES (12) RETURNING *) TO STDOUT;

-- binary, through a file of the server's, and through programs
COPY t (k, v, n) TO '/tmp/tsurugi_same_copy.bin' (FORMAT binary);
CREATE TABLE u (LIKE t INCLUDING ALL);
COPY u (k, v, n) FROM '/tmp/tsurugi_same_copy.bin' (FORMAT binary);
SELECT count(*) FROM (TABLE t EXCEPT TABLE u) d;
TRUNCATE u;
COPY t (k, v, n) TO PROGRAM 'cat > /tmp/tsurugi_same_copy.txt';
COPY u (k, v, n) FROM PROGRAM 'cat /tmp/tsurugi_same_copy.txt';
SELECT count(*) FROM (TABLE t EXCEPT TABLE u) d;
\! rm -f /tmp/tsurugi_same_copy.bin /tmp/tsurugi_same_copy.txt
COPY u FROM '/nowhere/nothing';
COPY u TO '/nowhere/nothing';
COPY u FROM PROGRAM 'false';

-- what goes wrong, and that nothing is left of it
COPY t (k, v) FROM STDIN;
100	x
1	again
\.
COPY t (k, n) FROM STDIN;
101	1
102	100
\.
COPY t (k, n) FROM STDIN;
103	1
104	1e10
\.
COPY t (k) FROM STDIN;
105
x
\.
COPY t (k) FROM STDIN;
\N
\.
COPY t (k, v) FROM STDIN;
106
\.
COPY t (k, v) FROM STDIN;
106	x	y
\.
COPY t (k, g) FROM STDIN;
\.
COPY t (k, nothing) FROM STDIN;
\.
COPY t (k, k) FROM STDIN;
\.
COPY t (g) TO STDOUT;
COPY t (nothing) TO STDOUT;
COPY t FROM STDIN (FORMAT nothing);
\.
COPY t TO STDOUT (FORMAT binary, DELIMITER ',');
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (nothing));
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (g));
COPY t (k) TO STDOUT (FORMAT csv, FORCE_QUOTE (k, v));
COPY t (k, n) TO STDOUT (FORMAT csv, FORCE_QUOTE (k, k));
COPY t TO STDOUT (FORCE_QUOTE (nothing));
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (nothing), HEADER maybe);
COPY t FROM STDIN (FORMAT csv, HEADER match);
k;nothing
\.
SELECT count(*) FROM t WHERE k >= 100;

-- triggers, partitions, views
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', tg_when, tg_level, tg_table_name, CASE WHEN tg_level = 'ROW' THEN new::text END;
	IF tg_level = 'ROW' AND new.v = 'skip' THEN RETURN NULL; END IF;
	RETURN new;
END $$;
CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER a AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER s AFTER INSERT ON t EXECUTE FUNCTION tell();
COPY t (k, v) FROM STDIN;
200	two
201	skip
202	more
\.
CREATE TABLE whole (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10);
CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (20) USING heap;
COPY whole FROM STDIN;
1	one
11	eleven
2	two
\.
COPY whole FROM STDIN;
3	three
20	twenty
\.
COPY low FROM STDIN;
15	fifteen
\.
COPY whole TO STDOUT;
SELECT tableoid::regclass, * FROM whole ORDER BY k;
CREATE VIEW w AS SELECT k, v FROM t;
COPY w TO STDOUT;
COPY w FROM STDIN;
\.
CREATE ROLE copy_role;
GRANT SELECT (k), INSERT (k) ON t TO copy_role;
SET ROLE copy_role;
COPY (SELECT k FROM t ORDER BY k) TO STDOUT;
COPY (SELECT v FROM t) TO STDOUT;
COPY t TO STDOUT;
COPY t (k, v) FROM STDIN;
\.
COPY t (k) FROM STDIN;
300
\.
COPY t (k) TO '/tmp/tsurugi_same_copy.bin';
RESET ROLE;
DROP OWNED BY copy_role;
DROP ROLE copy_role;
BEGIN READ ONLY;
COPY t (k) FROM STDIN;
\.
ROLLBACK;

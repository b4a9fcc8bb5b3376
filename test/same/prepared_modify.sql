-- INSERT of a row of values, UPDATE and DELETE by key, executed again and again: they
-- keep their executor state, and nobody can tell but by the time it takes, and here by memory contexts.

CREATE TABLE item (id int PRIMARY KEY, v int, name text);
INSERT INTO item SELECT i, i * 10, 'name ' || i FROM generate_series(1, 100) i;

-- how many states this session keeps, and how many of them run; of ordinary tables, what is expected
\if :memory
CREATE FUNCTION kept(expected bigint) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_backend_memory_contexts WHERE ident = 'kept by tsurugi_fdw'
$$;
CREATE FUNCTION running(expected bigint) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'tsurugi_fdw execution' AND ident = 'running'
$$;
\else
CREATE FUNCTION kept(expected bigint) RETURNS bigint LANGUAGE sql AS 'SELECT expected';
CREATE FUNCTION running(expected bigint) RETURNS bigint LANGUAGE sql AS 'SELECT expected';
\endif

-- From the second sighting of the same plan on; \echo tells how many rows PostgreSQL was told of
SET plan_cache_mode = force_generic_plan;
PREPARE up (int, int) AS UPDATE item SET v = v + $2 WHERE id = $1;
PREPARE del (int) AS DELETE FROM item WHERE id = $1;
PREPARE ins (int, int, text) AS INSERT INTO item VALUES ($1, $2, upper($3));
SELECT kept(0);
EXECUTE up(1, 1);
EXECUTE ins(101, 1, 'a');
EXECUTE del(101);
SELECT kept(0);
EXECUTE up(1, 2);
EXECUTE ins(101, 2, 'b');
EXECUTE del(101);
SELECT kept(3);
EXECUTE up(2, 3);
\echo :ROW_COUNT
EXECUTE ins(101, 3, 'c');
\echo :ROW_COUNT
EXECUTE del(3);
\echo :ROW_COUNT
EXECUTE up(NULL, 1);
\echo :ROW_COUNT
EXECUTE up(-1, 1);
\echo :ROW_COUNT
EXECUTE del(3);
\echo :ROW_COUNT
EXECUTE up(4, NULL);
\echo :ROW_COUNT
EXECUTE ins(102, NULL, NULL);
\echo :ROW_COUNT
SELECT kept(3);
SELECT running(0);
SELECT * FROM item WHERE id NOT BETWEEN 5 AND 100 ORDER BY id;

-- Each execution is a command of its own, also in one transaction, and sees what those before it have done
BEGIN;
EXECUTE up(5, 1);
EXECUTE up(5, 10);
EXECUTE del(6);
EXECUTE ins(6, 0, 'six');
EXECUTE up(6, 7);
SAVEPOINT a;
EXECUTE up(5, 1000);
EXECUTE ins(103, 0, 'rolled back');
EXECUTE del(6);
ROLLBACK TO a;
EXECUTE up(5, 100);
SELECT * FROM item WHERE id IN (5, 6, 103) ORDER BY id;
COMMIT;
SELECT * FROM item WHERE id IN (5, 6, 103) ORDER BY id;

-- Parameters of PL/pgSQL are fetched from its variables, each time anew
CREATE FUNCTION many(low int, high int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	changed bigint := 0;
	n bigint;
	label text;
BEGIN
	FOR i IN low..high LOOP
		label := 'row ' || i;
		INSERT INTO item VALUES (i, -i, label);
		UPDATE item SET v = v - low, name = label || name WHERE id = i;
		GET DIAGNOSTICS n = ROW_COUNT;
		changed := changed + n;
		IF i % 2 = 0 THEN
			DELETE FROM item WHERE id = i AND v < 0;
		END IF;
	END LOOP;
	RETURN changed;
END $$;
SELECT many(200, 210);
SELECT many(220, 225);
SELECT * FROM item WHERE id >= 200 ORDER BY id;
SELECT kept(6);
SELECT running(0);

-- Errors in the middle end the state, and the next execution finds everything in order
EXECUTE ins(1, 0, 'there');
EXECUTE ins(NULL, 0, 'nothing');
SELECT running(0);
EXECUTE ins(104, 0, 'next');
EXECUTE ins(105, 0, 'next');
PREPARE divide (int, int) AS UPDATE item SET v = v / $2 WHERE id = $1;
EXECUTE divide(104, 1);
EXECUTE divide(104, 1);
EXECUTE divide(104, 0);
EXECUTE divide(105, 1);
EXECUTE divide(105, 1);
SELECT running(0);
CREATE FUNCTION careful(low int, high int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen text := '';
BEGIN
	FOR i IN low..high LOOP
		BEGIN
			INSERT INTO item VALUES (i, 0, 'careful');
			UPDATE item SET v = 10 / (i % 3) WHERE id = i;
			seen := seen || ' stored';
		EXCEPTION
			WHEN unique_violation THEN seen := seen || ' there';
			WHEN division_by_zero THEN seen := seen || ' zero';
		END;
	END LOOP;
	RETURN seen;
END $$;
SELECT careful(96, 110);
SELECT careful(96, 110);
SELECT careful(106, 112);
SELECT count(*), sum(v) FROM item WHERE name = 'careful';
SELECT running(0);
BEGIN;
EXECUTE ins(1, 0, 'there');
EXECUTE up(1, 1);
ROLLBACK;
SELECT running(0);
EXECUTE up(1, 1);
SELECT v FROM item WHERE id = 1;

-- A transaction that is read-only
BEGIN READ ONLY;
EXECUTE up(1, 1);
ROLLBACK;
BEGIN;
SET TRANSACTION READ ONLY;
EXECUTE ins(130, 1, '');
ROLLBACK;
BEGIN;
EXECUTE up(1, 1);
SET TRANSACTION READ ONLY;
EXECUTE del(1);
ROLLBACK;

-- The levels above
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE up(7, 1);
EXECUTE up(7, 1);
EXECUTE del(8);
EXECUTE ins(8, 8, 'again');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
EXECUTE up(7, 1);
EXECUTE up(7, 1);
EXECUTE del(8);
EXECUTE del(8);
COMMIT;
SELECT * FROM item WHERE id IN (7, 8);

-- Others that look at executions
EXECUTE up(7, 1);
EXECUTE ins(132, 1, 'next');
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_level = notice;
SET client_min_messages = warning;
SET auto_explain.log_nested_statements = on;
EXECUTE up(7, 1);
EXECUTE ins(133, 1, 'logged');
SELECT many(300, 302);
SET auto_explain.log_analyze = on;
EXECUTE up(7, 1);
EXECUTE ins(134, 1, 'logged');
SELECT many(310, 312);
SET auto_explain.log_min_duration = -1;
RESET client_min_messages;
EXECUTE up(7, 1);
EXECUTE ins(135, 1, 'next');
SELECT v FROM item WHERE id = 7;

-- The table changes between executions: each execution does what the table of the moment wants
ALTER TABLE item ADD COLUMN extra int DEFAULT 7;
EXECUTE up(10, 1);
EXECUTE ins(140, 1, 'wider');
ALTER TABLE item RENAME COLUMN v TO value;
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, 1);
ALTER TABLE item RENAME COLUMN value TO v;
ALTER TABLE item DROP COLUMN extra;
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE ins(141, 1, 'narrower');
EXECUTE ins(142, 1, 'narrower');
EXECUTE ins(143, 1, 'narrower');
ALTER TABLE item ALTER v SET NOT NULL;
ALTER TABLE item ALTER v DROP NOT NULL;
DELETE FROM item WHERE v IS NULL;
ALTER TABLE item ALTER v SET NOT NULL;
EXECUTE up(10, NULL);
EXECUTE ins(144, NULL, '');
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, NULL);
ALTER TABLE item ALTER v DROP NOT NULL;
EXECUTE ins(144, NULL, 'may be null');
EXECUTE ins(145, NULL, 'may be null');
EXECUTE ins(146, NULL, 'may be null');
-- a check constraint
ALTER TABLE item ADD CONSTRAINT low CHECK (v < 100000);
EXECUTE up(10, 100000);
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, 100000);
EXECUTE ins(147, 100000, 'too much');
EXECUTE ins(147, 1, 'not too much');
EXECUTE ins(148, 100000, 'too much');
ALTER TABLE item DROP CONSTRAINT low;
EXECUTE up(10, 100000);
EXECUTE up(10, -100000);
EXECUTE up(10, 0);
-- triggers
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', TG_WHEN, TG_OP, TG_LEVEL, NEW.id;
	RETURN NEW;
END $$;
CREATE TRIGGER of_rows BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION tell();
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE ins(149, 1, 'told');
DROP TRIGGER of_rows ON item;
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, 1);
CREATE TRIGGER of_statements AFTER INSERT OR UPDATE OR DELETE ON item EXECUTE FUNCTION tell();
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE up(10, 1);
EXECUTE del(149);
EXECUTE ins(149, 1, 'told');
DROP TRIGGER of_statements ON item;
EXECUTE up(10, 1);
-- generated columns, and hidden ones, of an index on an expression
ALTER TABLE item ADD COLUMN twice int GENERATED ALWAYS AS (v * 2) STORED;
EXECUTE up(11, 1);
EXECUTE up(11, 1);
EXECUTE up(11, 1);
EXECUTE ins(150, 4, 'generated');
SELECT id, v, twice FROM item WHERE id IN (11, 150) ORDER BY id;
ALTER TABLE item DROP COLUMN twice;
EXECUTE up(11, 1);
EXECUTE up(11, 1);
CREATE UNIQUE INDEX item_half ON item ((v / 2)) WHERE id > 1000;
EXECUTE ins(1001, 10, 'half');
EXECUTE ins(1002, 11, 'the same half');
EXECUTE ins(1002, 12, 'another half');
EXECUTE up(1002, -1);
EXECUTE up(1002, 1);
DROP INDEX item_half;
-- an ordinary index, which an UPDATE keeps
CREATE UNIQUE INDEX item_v ON item (v) WHERE id > 1000;
DROP INDEX item_v;
CREATE INDEX item_name ON item (name);
EXECUTE ins(1003, 1, 'looked for');
EXECUTE ins(1004, 1, 'looked for');
EXECUTE ins(1005, 1, 'looked for');
SET enable_seqscan = off;
SELECT id FROM item WHERE name = 'LOOKED FOR' ORDER BY id;
RESET enable_seqscan;
DROP INDEX item_name;
-- another key
ALTER TABLE item DROP CONSTRAINT item_pkey;
EXECUTE up(12, 1);
EXECUTE up(12, 1);
EXECUTE up(12, 1);
EXECUTE ins(12, 1, 'a second one');
EXECUTE del(12);
\echo :ROW_COUNT
ALTER TABLE item ADD PRIMARY KEY (id);
EXECUTE ins(12, 1, 'one');
EXECUTE up(12, 1);
EXECUTE up(12, 1);
EXECUTE ins(12, 1, 'a second one');
-- a deferrable one
CREATE TABLE later (id int PRIMARY KEY, k int CONSTRAINT later_k UNIQUE DEFERRABLE INITIALLY DEFERRED);
PREPARE put (int, int) AS INSERT INTO later VALUES ($1, $2);
EXECUTE put(1, 1);
EXECUTE put(2, 2);
EXECUTE put(3, 3);
EXECUTE put(4, 3);
BEGIN;
EXECUTE put(4, 3);
DELETE FROM later WHERE id = 3;
COMMIT;
DROP TABLE later;
-- foreign keys, both ways
CREATE TABLE child (id int PRIMARY KEY, item int);
PREPARE child_ins (int, int) AS INSERT INTO child VALUES ($1, $2);
EXECUTE child_ins(1, -1);
EXECUTE child_ins(2, -1);
EXECUTE child_ins(3, -1);
DELETE FROM child;
ALTER TABLE child ADD CONSTRAINT child_item FOREIGN KEY (item) REFERENCES item;
EXECUTE child_ins(1, -1);
EXECUTE child_ins(1, 13);
EXECUTE del(13);
EXECUTE del(14);
EXECUTE child_ins(2, 14);
DROP TABLE child;
EXECUTE del(13);
\echo :ROW_COUNT
-- becomes a partition
CREATE TABLE whole (id int NOT NULL, v int, name text) PARTITION BY RANGE (id);
ALTER TABLE whole ATTACH PARTITION item FOR VALUES FROM (0) TO (2000);
EXECUTE ins(2000, 1, 'outside');
EXECUTE ins(1999, 1, 'inside');
EXECUTE ins(2000, 1, 'outside');
ALTER TABLE whole DETACH PARTITION item;
EXECUTE ins(2000, 1, 'no bound any more');
EXECUTE ins(2001, 1, 'no bound any more');
DROP TABLE whole;
-- empty, and gone
BEGIN;
TRUNCATE item;
EXECUTE up(1, 1);
\echo :ROW_COUNT
EXECUTE ins(1, 1, 'alone');
EXECUTE ins(2, 1, 'alone');
SELECT count(*) FROM item;
ROLLBACK;
EXECUTE up(1, 0);
\echo :ROW_COUNT
BEGIN;
DROP TABLE item;
EXECUTE up(1, 1);
ROLLBACK;
EXECUTE up(1, 1);
EXECUTE up(1, 1);
SELECT v FROM item WHERE id = 1;
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.item (id int PRIMARY KEY, v int, name text);
SET search_path = elsewhere, public;
EXECUTE ins(1, 1, 'elsewhere');
EXECUTE up(1, 1);
EXECUTE up(1, 1);
EXECUTE up(1, 1);
TABLE elsewhere.item;
RESET search_path;
EXECUTE up(1, 1);
SELECT v FROM item WHERE id = 1;
TABLE elsewhere.item;
DROP SCHEMA elsewhere CASCADE;

-- Privileges are those of each execution, those of functions and of a view's owner, too
CREATE ROLE regress_prepared_modify;
GRANT SELECT, UPDATE ON item TO regress_prepared_modify;
EXECUTE up(1, 0);
EXECUTE ins(3001, 1, 'mine');
SET ROLE regress_prepared_modify;
EXECUTE up(1, 1);
EXECUTE up(1, 1);
EXECUTE ins(3002, 1, 'not allowed');
RESET ROLE;
REVOKE UPDATE ON item FROM regress_prepared_modify;
EXECUTE up(1, 0);
SET ROLE regress_prepared_modify;
EXECUTE up(1, 1);
RESET ROLE;
GRANT UPDATE (v), INSERT ON item TO regress_prepared_modify;
SET ROLE regress_prepared_modify;
EXECUTE up(1, 1);
EXECUTE up(1, 1);
EXECUTE ins(3002, 1, 'allowed');
EXECUTE ins(3003, 1, 'allowed');
EXECUTE del(3002);
RESET ROLE;
REVOKE SELECT ON item FROM regress_prepared_modify;
SET ROLE regress_prepared_modify;
EXECUTE up(1, 1);
RESET ROLE;
GRANT SELECT ON item TO regress_prepared_modify;
BEGIN;
SET LOCAL ROLE regress_prepared_modify;
EXECUTE up(1, 1);
EXECUTE up(1, 1);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION int4pl(int, int) FROM PUBLIC;
EXECUTE up(1, 0);
SET LOCAL ROLE regress_prepared_modify;
EXECUTE up(1, 1);
ROLLBACK;
CREATE VIEW item_view AS SELECT id, v FROM item;
GRANT SELECT, UPDATE ON item_view TO regress_prepared_modify;
REVOKE ALL ON item FROM regress_prepared_modify;
PREPARE by_view (int) AS UPDATE item_view SET v = -7 WHERE id = $1;
SET ROLE regress_prepared_modify;
EXECUTE by_view(21);
EXECUTE by_view(22);
EXECUTE by_view(23);
RESET ROLE;
REVOKE UPDATE ON item_view FROM regress_prepared_modify;
SET ROLE regress_prepared_modify;
EXECUTE by_view(24);
RESET ROLE;
SELECT id FROM item WHERE v = -7 ORDER BY id;
DROP VIEW item_view;
DROP ROLE regress_prepared_modify;

-- What is kept, and what is not
CREATE FUNCTION keeps(statement text, expected boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	before bigint := kept(0);
	after bigint;
BEGIN
	EXECUTE 'PREPARE statement (int) AS ' || statement;
	FOR i IN 1..4 LOOP
		EXECUTE format('EXECUTE statement(%s)', i);
	END LOOP;
	after := kept(expected::int);
	DEALLOCATE statement;
	RETURN after > before;
END $$;
CREATE SEQUENCE numbers START 10000;
CREATE FUNCTION plus(a int, b int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN a + b; END $$;
CREATE FUNCTION next_one(a int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF a > 50 THEN
		RETURN 0;
	END IF;
	EXECUTE format('EXECUTE statement(%s)', a + 10);
	RETURN a;
END $$;
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE TABLE felt (id int PRIMARY KEY, m mood, d small, a int[]);
INSERT INTO felt VALUES (1, 'sad', 1, '{1}');
CREATE TABLE pair (a text COLLATE "C", b numeric(8,2), c int, PRIMARY KEY (a, b));
CREATE TABLE word (w text COLLATE "und-x-icu" PRIMARY KEY, n numeric UNIQUE, l varchar(20) COLLATE "und-x-icu");
CREATE INDEX ON word (l, n);
INSERT INTO word VALUES ('a', 0.5, 'L');
CREATE TABLE stamped (id int PRIMARY KEY, at timestamptz, local timestamp);
CREATE TABLE halved (id int PRIMARY KEY, v int);
CREATE INDEX ON halved ((v / 2));
CREATE TABLE keyless (a int, b int);
CREATE VIEW checked AS SELECT * FROM item WHERE v < 100000 WITH CHECK OPTION;
CREATE VIEW unchecked AS SELECT * FROM item WHERE v < 100000;
CREATE TABLE ordinary (id int PRIMARY KEY, v int) USING heap;
\c -
SET plan_cache_mode = force_generic_plan;
SELECT statement, keeps(statement, true) FROM (VALUES
	('UPDATE item SET v = 1 WHERE id = $1'),
	('UPDATE item SET v = v * 2 + 1, name = name || ''!'' WHERE id = $1 AND v > 3 AND name IS NOT NULL'),
	('UPDATE item SET name = coalesce(name, ''none''), v = $1 WHERE id = 7'),
	('UPDATE item SET id = $1 + 5000 WHERE id = $1'),
	('UPDATE item SET v = $1 WHERE id BETWEEN $1 AND 3'),
	('DELETE FROM item WHERE id = $1'),
	('DELETE FROM item WHERE id = 40'),
	('INSERT INTO item VALUES ($1 + 6000, length(''x''))'),
	('INSERT INTO item SELECT $1 + 6100'),
	('INSERT INTO item VALUES (nextval(''numbers''))'),
	('INSERT INTO pair VALUES (''a'', $1::numeric / 3, 1)'),
	('UPDATE pair SET c = c + 1 WHERE a = ''a'' AND b = 0.33'),
	('UPDATE word SET n = $1 / 3.0, l = upper(l) || l WHERE w = ''a'''),
	('INSERT INTO word VALUES (repeat(''b'', $1), $1 + 1, ''l'')'),
	('UPDATE word SET w = repeat(''B'', $1 + 3) WHERE w = ''bb'''),
	('DELETE FROM word WHERE w = ''bbb'''),
	('INSERT INTO keyless VALUES ($1, $1)'),
	('INSERT INTO stamped VALUES ($1, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)'),
	('UPDATE stamped SET at = now(), local = clock_timestamp() WHERE id = $1'),
	('INSERT INTO unchecked VALUES ($1 + 6200, 1)')) s (statement);
SELECT running(0);
SELECT id, v, name FROM item WHERE id < 8 OR id > 5000 ORDER BY id;
TABLE pair ORDER BY b;
TABLE word ORDER BY w;
SELECT w FROM word WHERE n > 1 AND n < 5 ORDER BY n;
SELECT w, l FROM word WHERE l < 'll' ORDER BY l, n;
\c -
SET plan_cache_mode = force_generic_plan;
SELECT statement, keeps(statement, false) FROM (VALUES
	('UPDATE item SET v = 1 WHERE v = $1'),
	('DELETE FROM item WHERE id = $1 + 0'),
	('UPDATE item SET v = 1 WHERE id = $1 RETURNING v'),
	('UPDATE item SET v = plus(v, 1) WHERE id = $1'),
	('UPDATE item SET v = next_one(id) WHERE id = $1'),
	('UPDATE item SET v = ascii(version()) WHERE id = $1'),
	('UPDATE item SET v = (SELECT 1 FROM ordinary WHERE id = $1) WHERE id = $1'),
	('UPDATE item SET v = item.v FROM ordinary o WHERE item.id = $1 AND o.id = item.id'),
	('UPDATE item SET name = to_char(now(), ''YYYY'') WHERE id = $1'),
	('UPDATE item SET v = 1 WHERE id = ANY (ARRAY[$1, 1])'),
	('UPDATE item SET v = tableoid::int WHERE id = $1'),
	('UPDATE item SET name = item::text WHERE id = $1'),
	('UPDATE checked SET v = 1 WHERE id = $1'),
	('UPDATE felt SET a = a || $1 WHERE id = 1'),
	('UPDATE felt SET d = $1 WHERE id = 1'),
	('INSERT INTO felt (id) VALUES ($1 + 1)'),
	('INSERT INTO halved VALUES ($1, $1)'),
	('UPDATE halved SET v = v + 1 WHERE id = $1'),
	('INSERT INTO item VALUES ($1 + 7000) RETURNING id'),
	('INSERT INTO item VALUES ($1 + 7100), ($1 + 7200)'),
	('INSERT INTO item VALUES ($1 + 7000) ON CONFLICT DO NOTHING'),
	('INSERT INTO item VALUES ($1 + 7000) ON CONFLICT (id) DO UPDATE SET v = 1'),
	('INSERT INTO item SELECT g + 7300 + $1 * 10 FROM generate_series(1, $1) g'),
	('INSERT INTO item SELECT $1 + 7400 WHERE $1 > 2'),
	('WITH x AS (DELETE FROM item WHERE id = $1 + 7400) INSERT INTO item VALUES ($1 + 7500)'),
	('INSERT INTO checked VALUES ($1 + 7600, 1)'),
	('INSERT INTO ordinary VALUES ($1, 1)'),
	('UPDATE ordinary SET v = 2 WHERE id = $1')) s (statement);
SELECT running(0);
SELECT count(*), min(id), max(id) FROM item WHERE id > 7000;
SELECT id, v FROM item WHERE id % 10 < 5 AND id < 65 ORDER BY id;
TABLE felt ORDER BY id LIMIT 1;

-- Look-ups by key that are executed again and again: they keep their executor
-- state, and nobody can tell but by the time it takes, and here by memory contexts.

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

-- From the second sighting of the same plan on
SET plan_cache_mode = force_generic_plan;
PREPARE look (int) AS SELECT v, name FROM item WHERE id = $1;
SELECT kept(0);
EXECUTE look(1);
SELECT kept(0);
EXECUTE look(2);
SELECT kept(1);
EXECUTE look(3);
EXECUTE look(NULL);
EXECUTE look(101);
EXECUTE look(-1);
EXECUTE look(4);
SELECT kept(1);
SELECT running(0);

-- Plans for one execution leave nothing behind
SET plan_cache_mode = force_custom_plan;
EXECUTE look(5);
EXECUTE look(6);
EXECUTE look(7);
SELECT v FROM item WHERE id = 8;
SELECT v FROM item WHERE id = 8;
SELECT kept(1);
SET plan_cache_mode = force_generic_plan;
EXECUTE look(9);
SELECT kept(1);
DEALLOCATE look;
PREPARE look (int) AS SELECT v, name FROM item WHERE id = $1;
EXECUTE look(1);
EXECUTE look(2);
EXECUTE look(3);

-- By default a generic plan comes after five of the other kind
RESET plan_cache_mode;
PREPARE by_default (int) AS SELECT name FROM item WHERE id = $1;
DO $$
DECLARE n text;
BEGIN
	FOR i IN 1..20 LOOP
		EXECUTE format('EXECUTE by_default(%s)', i) INTO n;
		IF n IS DISTINCT FROM 'name ' || i THEN
			RAISE EXCEPTION 'wrong: %', n;
		END IF;
	END LOOP;
END $$;
SELECT kept(3);
SET plan_cache_mode = force_generic_plan;

-- Keys of other types, of several columns, ranges; a constant in the place of a parameter
CREATE TABLE pair (a text COLLATE "C", b numeric(8,2), c int, PRIMARY KEY (a, b));
INSERT INTO pair SELECT 'a' || i / 10, i / 100.0, i FROM generate_series(0, 99) i;
PREPARE both_keys (text, numeric) AS SELECT c, a, b FROM pair WHERE a = $1 AND b = $2;
EXECUTE both_keys('a1', 0.15);
EXECUTE both_keys('a2', 0.29);
EXECUTE both_keys('a2', 0.291);
EXECUTE both_keys('a2', 1e20);
EXECUTE both_keys(repeat('x', 10000), 0);
EXECUTE both_keys('a2', NULL);
EXECUTE both_keys(NULL, 0.29);
EXECUTE both_keys('a2', 'NaN');
EXECUTE both_keys('a3', 0.30);
PREPARE one_key (text) AS SELECT b, c FROM pair WHERE a = $1;
EXECUTE one_key('a0');
EXECUTE one_key('none');
EXECUTE one_key('a9');
EXECUTE one_key('a0');
PREPARE range (bigint, bigint) AS SELECT id FROM item WHERE id > $1 AND id <= $2 ORDER BY id DESC;
EXECUTE range(1, 3);
EXECUTE range(99, 20000000000);
EXECUTE range(3, 1);
EXECUTE range(NULL, 1);
EXECUTE range(-20000000000, 2);
PREPARE constant AS SELECT name, id FROM item WHERE id = 42;
EXECUTE constant;
EXECUTE constant;
EXECUTE constant;
SELECT kept(7);

-- What computes something is not kept
PREPARE computes (int) AS SELECT v + 1 FROM item WHERE id = $1;
PREPARE filters (int) AS SELECT v FROM item WHERE id = $1 AND v > 10;
PREPARE divides (int) AS SELECT v FROM item WHERE id = 10 / $1;
PREPARE counts (int) AS SELECT count(*) FROM item WHERE id = $1;
DO $$
BEGIN
	FOR i IN 1..4 LOOP
		EXECUTE 'EXECUTE computes(1)';
		EXECUTE 'EXECUTE filters(1)';
		EXECUTE 'EXECUTE divides(1)';
		EXECUTE 'EXECUTE counts(1)';
	END LOOP;
END $$;
SELECT kept(7);
EXECUTE divides(0);
EXECUTE divides(2);
EXECUTE look(1 / 0);
EXECUTE look(1);

-- The table changes between executions
UPDATE item SET v = -1 WHERE id = 1;
EXECUTE look(1);
DELETE FROM item WHERE id = 1;
EXECUTE look(1);
INSERT INTO item VALUES (1, 11, 'again');
EXECUTE look(1);
ANALYZE item;
EXECUTE look(1);
ALTER TABLE item ADD COLUMN extra int DEFAULT 7;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ALTER TABLE item RENAME COLUMN v TO value;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ALTER TABLE item DROP COLUMN extra;
EXECUTE look(2);
BEGIN;
ALTER TABLE item ADD COLUMN other int;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ROLLBACK;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ALTER TABLE item RENAME COLUMN value TO v;
PREPARE everything (int) AS SELECT * FROM item WHERE id = $1;
EXECUTE everything(5);
EXECUTE everything(6);
EXECUTE everything(7);
ALTER TABLE item ADD COLUMN last int DEFAULT 8;
EXECUTE everything(7);
ALTER TABLE item DROP COLUMN last;
EXECUTE everything(7);
ALTER TABLE item DROP CONSTRAINT item_pkey;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ALTER TABLE item ADD PRIMARY KEY (id);
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
BEGIN;
TRUNCATE item;
EXECUTE look(2);
INSERT INTO item VALUES (2, 2, 'two');
EXECUTE look(2);
EXECUTE look(2);
ROLLBACK;
EXECUTE look(2);
EXECUTE look(3);
BEGIN;
DROP TABLE item CASCADE;
EXECUTE look(2);
ROLLBACK;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);

-- A table that is gone, and another of its name
CREATE TABLE short (id int PRIMARY KEY, v int);
INSERT INTO short VALUES (1, 1);
PREPARE short_lived (int) AS SELECT v FROM short WHERE id = $1;
EXECUTE short_lived(1);
EXECUTE short_lived(1);
EXECUTE short_lived(1);
DROP TABLE short;
EXECUTE short_lived(1);
CREATE TABLE short (v int, id int PRIMARY KEY);
INSERT INTO short VALUES (2, 1);
EXECUTE short_lived(1);
EXECUTE short_lived(1);
EXECUTE short_lived(1);
DROP TABLE short;
BEGIN;
CREATE TABLE short (id int PRIMARY KEY, v int);
INSERT INTO short VALUES (1, 3);
EXECUTE short_lived(1);
EXECUTE short_lived(1);
EXECUTE short_lived(1);
ROLLBACK;
EXECUTE short_lived(1);
CREATE TABLE short (id int PRIMARY KEY, v int) USING heap;
INSERT INTO short VALUES (1, 4);
EXECUTE short_lived(1);
DROP TABLE short;

-- The same names elsewhere
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.item (id int PRIMARY KEY, v int, name text);
INSERT INTO elsewhere.item VALUES (1, 1, 'elsewhere');
EXECUTE look(1);
SET search_path = elsewhere, public;
EXECUTE look(1);
EXECUTE look(1);
EXECUTE look(1);
RESET search_path;
EXECUTE look(1);
EXECUTE look(1);
EXECUTE look(1);
DROP SCHEMA elsewhere CASCADE;

-- Privileges are those of each execution
CREATE ROLE regress_prepared;
GRANT SELECT ON item TO regress_prepared;
SET ROLE regress_prepared;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
RESET ROLE;
REVOKE SELECT ON item FROM regress_prepared;
EXECUTE look(4);
EXECUTE look(4);
EXECUTE look(4);
SET ROLE regress_prepared;
EXECUTE look(2);
EXECUTE look(3);
RESET ROLE;
EXECUTE look(4);
GRANT SELECT (id, v) ON item TO regress_prepared;
PREPARE part (int) AS SELECT v FROM item WHERE id = $1;
SET ROLE regress_prepared;
EXECUTE part(1);
EXECUTE part(2);
EXECUTE part(3);
EXECUTE look(2);
RESET ROLE;
REVOKE SELECT (v) ON item FROM regress_prepared;
SET ROLE regress_prepared;
EXECUTE part(1);
RESET ROLE;
REVOKE ALL ON item FROM regress_prepared;
-- through a view: the owner's on the table, the caller's on the view
CREATE VIEW item_view AS SELECT id, name FROM item;
GRANT SELECT ON item_view TO regress_prepared;
PREPARE by_view (int) AS SELECT name FROM item_view WHERE id = $1;
SET ROLE regress_prepared;
EXECUTE by_view(1);
EXECUTE by_view(2);
EXECUTE by_view(3);
RESET ROLE;
REVOKE SELECT ON item_view FROM regress_prepared;
SET ROLE regress_prepared;
EXECUTE by_view(1);
RESET ROLE;
DROP VIEW item_view;
-- that come from elsewhere: a group, an attribute of the role, ownership; and that are taken back
CREATE ROLE regress_prepared_group;
GRANT SELECT ON item TO regress_prepared_group;
EXECUTE look(2);
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
GRANT regress_prepared_group TO regress_prepared;
SET ROLE regress_prepared;
EXECUTE look(2);
EXECUTE look(3);
RESET ROLE;
ALTER ROLE regress_prepared NOINHERIT;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
ALTER ROLE regress_prepared INHERIT;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
REVOKE regress_prepared_group FROM regress_prepared;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
ALTER ROLE regress_prepared SUPERUSER;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
ALTER ROLE regress_prepared NOSUPERUSER;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
ALTER TABLE item OWNER TO regress_prepared;
SET ROLE regress_prepared;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
RESET ROLE;
ALTER TABLE item OWNER TO CURRENT_USER;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
BEGIN;
GRANT SELECT ON item TO regress_prepared;
SET LOCAL ROLE regress_prepared;
EXECUTE look(2);
EXECUTE look(3);
EXECUTE look(4);
ROLLBACK;
SET ROLE regress_prepared;
EXECUTE look(2);
RESET ROLE;
CREATE FUNCTION as_owner(n int) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE found text;
BEGIN
	SELECT name INTO found FROM item WHERE id = n;
	RETURN found;
END $$;
SELECT as_owner(n) FROM generate_series(2, 5) n;
SET ROLE regress_prepared;
SELECT as_owner(n) FROM generate_series(2, 5) n;
RESET ROLE;
ALTER FUNCTION as_owner SECURITY INVOKER;
SELECT as_owner(2);
SET ROLE regress_prepared;
SELECT as_owner(2);
RESET ROLE;
SELECT as_owner(2);
DROP FUNCTION as_owner;
REVOKE ALL ON item FROM regress_prepared_group;
DROP ROLE regress_prepared_group;

-- Row security, where there can be some: on a partitioned table above
CREATE TABLE above (id int NOT NULL, v int) PARTITION BY RANGE (id);
CREATE TABLE below PARTITION OF above (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (100);
INSERT INTO above VALUES (1, 1), (2, 2);
GRANT SELECT ON above TO regress_prepared;
PREPARE by_parent (int) AS SELECT id, v FROM above WHERE id = $1;
SET ROLE regress_prepared;
EXECUTE by_parent(1);
EXECUTE by_parent(1);
EXECUTE by_parent(1);
RESET ROLE;
CREATE POLICY even ON above USING (v % 2 = 0);
ALTER TABLE above ENABLE ROW LEVEL SECURITY;
SET ROLE regress_prepared;
EXECUTE by_parent(1);
EXECUTE by_parent(2);
RESET ROLE;
EXECUTE by_parent(1);
DROP TABLE above;
DROP ROLE regress_prepared;

-- A transaction sees what it has written, until it takes it back
BEGIN;
UPDATE item SET v = 1000 WHERE id = 5;
EXECUTE look(5);
SAVEPOINT a;
DELETE FROM item WHERE id = 5;
EXECUTE look(5);
EXECUTE look(1 / 0);
ROLLBACK TO a;
EXECUTE look(5);
ROLLBACK;
EXECUTE look(5);
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
EXECUTE look(5);
EXECUTE look(6);
COMMIT;

-- Cursors over one and the same plan: one runs, the others go the usual way
CREATE FUNCTION open_look(id int, c refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$
BEGIN
	OPEN c FOR SELECT i.id, i.v FROM item i WHERE i.id = open_look.id;
	RETURN c;
END $$;
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		PERFORM open_look(i, ('warm' || i)::refcursor);
	END LOOP;
END $$;
BEGIN;
SELECT open_look(1, 'c1'), open_look(2, 'c2'), open_look(3, 'c3');
SELECT running(1);
UPDATE item SET v = 0 WHERE id IN (1, 2, 3);
SELECT open_look(1, 'c4');
FETCH c1;
FETCH ALL FROM c2;
FETCH FIRST FROM c3;
FETCH c4;
FETCH c1;
FETCH c1;
CLOSE c1;
SELECT running(0);
SELECT open_look(4, 'c1');
SELECT running(1);
DROP TABLE item;
ROLLBACK;
SELECT running(0);
-- of a subtransaction
BEGIN;
SELECT open_look(1, 'c0');
CLOSE c0;
SAVEPOINT a;
SELECT open_look(1, 'c1');
ROLLBACK TO a;
SELECT running(0);
SELECT open_look(2, 'c2');
SAVEPOINT b;
SELECT open_look(3, 'c3');
RELEASE b;
SAVEPOINT c;
FETCH c2;
ROLLBACK TO c;
FETCH c2;
FETCH c3;
COMMIT;
SELECT running(0);
-- that outlives its transaction
CREATE PROCEDURE walk() LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT v, name FROM item WHERE id BETWEEN 7 AND 9 ORDER BY id LOOP
		COMMIT;
		RAISE NOTICE '% %', r.v, r.name;
	END LOOP;
END $$;
CALL walk();
CALL walk();
CALL walk();
-- forward and backward
CREATE FUNCTION scroll(id int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	c SCROLL CURSOR FOR SELECT v FROM item WHERE item.id = scroll.id;
	n int;
BEGIN
	OPEN c;
	FETCH c INTO n;
	RETURN NEXT n;
	FETCH c INTO n;
	RETURN NEXT n;
	FETCH PRIOR FROM c INTO n;
	RETURN NEXT n;
	CLOSE c;
END $$;
SELECT scroll(8);
SELECT scroll(8);
SELECT scroll(8);

-- Recursion through a function, in the middle of the loop over its own plan
CREATE FUNCTION sum_down(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	r record;
	total int := 0;
BEGIN
	FOR r IN SELECT v FROM item WHERE id = n LOOP
		total := total + r.v + sum_down(n - 1);
	END LOOP;
	RETURN total;
END $$;
SELECT sum_down(9);
SELECT sum_down(9);
SELECT sum_down(n) FROM generate_series(1, 9) n;
SELECT running(0);

-- PL/pgSQL: many executions, errors in the middle, and on with the same plan
CREATE FUNCTION careful(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT v FROM item WHERE id = n LOOP
		IF n % 3 = 0 THEN
			RAISE EXCEPTION 'three';
		END IF;
		PERFORM 1 / (n % 5);
	END LOOP;
	RETURN 'good';
EXCEPTION
	WHEN division_by_zero THEN RETURN 'five';
	WHEN raise_exception THEN RETURN 'three';
END $$;
SELECT n, careful(n) FROM generate_series(1, 15) n;
CREATE FUNCTION total(high int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	x int;
	total bigint := 0;
BEGIN
	FOR i IN 1..high LOOP
		SELECT v INTO STRICT x FROM item WHERE id = i;
		total := total + x;
	END LOOP;
	RETURN total;
END $$;
SELECT total(100);
SELECT total(101);
SELECT total(100);
SELECT running(0);
CREATE FUNCTION in_sql(n int) RETURNS text STABLE LANGUAGE sql AS $$ SELECT name FROM item WHERE id = n $$;
SELECT n, in_sql(n) FROM generate_series(98, 102) n;
-- a function that is not volatile sees what its caller sees
UPDATE item SET name = in_sql(id) || ' of ' || id WHERE id IN (10, 11);
SELECT name FROM item WHERE id IN (10, 11) ORDER BY id;

-- Others that look at executions
EXECUTE look(2);
CREATE TABLE filled USING heap AS EXECUTE look(2);
CREATE TABLE empty USING heap AS EXECUTE look(2) WITH NO DATA;
TABLE filled;
TABLE empty;
DROP TABLE filled, empty;
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_level = debug1;
SET auto_explain.log_nested_statements = on;
EXECUTE look(2);
EXECUTE look(3);
SELECT total(100);
SET auto_explain.log_analyze = on;
EXECUTE look(2);
EXECUTE look(3);
SELECT total(100);
SET auto_explain.log_min_duration = -1;
EXECUTE look(2);

-- Where a row lies is guessed from where the last ones lay: rows in the order of their keys, then some elsewhere,
-- some gone, some of other chunks, others under the old keys
CREATE TABLE in_order (id int PRIMARY KEY, v int, w text);
CREATE TABLE mirror (id int PRIMARY KEY, v int, w text) USING heap;
PREPARE guess (int) AS SELECT v, w FROM in_order WHERE id = $1;
PREPARE guess_range (int, int) AS SELECT id, v FROM in_order WHERE id BETWEEN $1 AND $2 ORDER BY id;
CREATE FUNCTION wrong_guesses() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found record;
	expected record;
	text_found text;
	wrong bigint := 0;
BEGIN
	FOR i IN -5..2600 LOOP
		SELECT v, w INTO expected FROM mirror WHERE id = i;
		EXECUTE format('EXECUTE guess(%s)', i) INTO found;
		wrong := wrong + (found IS DISTINCT FROM expected)::int;
		CONTINUE WHEN i % 25 > 0;
		text_found := '';
		FOR found IN EXECUTE format('EXECUTE guess_range(%s, %s)', i, i + 40) LOOP
			text_found := text_found || found::text;
		END LOOP;
		SELECT string_agg((m.id, m.v)::text, '' ORDER BY id) INTO expected FROM mirror m WHERE id BETWEEN i AND i + 40;
		wrong := wrong + (text_found <> coalesce(expected.string_agg, ''))::int;
	END LOOP;
	RETURN wrong;
END $$;
INSERT INTO in_order SELECT i, -i, 'w' || i FROM generate_series(1, 2500) i;
INSERT INTO mirror SELECT * FROM in_order;
SELECT wrong_guesses();
UPDATE in_order SET v = 0 WHERE id % 3 = 0;
DELETE FROM in_order WHERE id BETWEEN 1000 AND 1500 OR id % 7 = 0;
INSERT INTO in_order SELECT i, i, NULL FROM generate_series(1400, 1000, -1) i WHERE i % 7 > 0;
TRUNCATE mirror;
INSERT INTO mirror SELECT * FROM in_order;
SELECT wrong_guesses();
ALTER TABLE in_order ADD COLUMN x int DEFAULT 1;
SELECT wrong_guesses();
TRUNCATE in_order, mirror;
SELECT wrong_guesses();
INSERT INTO in_order SELECT 2600 - i, i, 'again' FROM generate_series(1, 2500) i;
INSERT INTO mirror SELECT id, v, w FROM in_order;
SELECT wrong_guesses();
DEALLOCATE guess;
DEALLOCATE guess_range;
DROP FUNCTION wrong_guesses;
DROP TABLE in_order;
DROP TABLE mirror;

-- There are 64 places
DO $$
DECLARE
	n int;
	wrong int := 0;
BEGIN
	FOR i IN 1..100 LOOP
		EXECUTE format('PREPARE many_%s (int) AS SELECT id FROM item WHERE id = $1', i);
	END LOOP;
	FOR round IN 1..4 LOOP
		FOR i IN 1..100 LOOP
			EXECUTE format('EXECUTE many_%s(%s)', i, i) INTO n;
			wrong := wrong + (n IS DISTINCT FROM i)::int;
		END LOOP;
	END LOOP;
	RAISE NOTICE '% wrong', wrong;
END $$;
SELECT kept(62) BETWEEN 60 AND 64 AS bounded;
SELECT running(0);
EXECUTE look(2);
DISCARD ALL;
SELECT running(0);

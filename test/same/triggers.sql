-- Triggers of all kinds.
CREATE TABLE t (k int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE log (id int GENERATED ALWAYS AS IDENTITY, line text) USING heap;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (line) VALUES (concat_ws(' ', tg_name, tg_when, tg_op, tg_level, tg_table_name, tg_relid = tg_table_name::regclass,
		tg_nargs, tg_argv[0],
		CASE WHEN tg_level = 'ROW' AND tg_op <> 'INSERT' THEN 'old ' || old::text END,
		CASE WHEN tg_level = 'ROW' AND tg_op <> 'DELETE' THEN 'new ' || new::text END));
	RETURN CASE WHEN tg_op = 'DELETE' THEN old ELSE new END;
END $$;
CREATE FUNCTION show() RETURNS SETOF text LANGUAGE sql AS $$ WITH d AS (DELETE FROM log RETURNING *) SELECT line FROM d ORDER BY id $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('x');
CREATE TRIGGER b_after AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER c_before BEFORE INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER d_after AFTER INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER e_when AFTER UPDATE ON t FOR EACH ROW WHEN (old.v IS DISTINCT FROM new.v) EXECUTE FUNCTION note();
CREATE TRIGGER f_of BEFORE UPDATE OF n ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 'one'), (2, 'two');
SELECT show();
UPDATE t SET v = 'uno' WHERE k = 1;
SELECT show();
UPDATE t SET n = 5 WHERE k = 2 RETURNING *;
SELECT show();
UPDATE t SET k = 3 WHERE k = 2;
SELECT show();
INSERT INTO t VALUES (1, 'conflict') ON CONFLICT (k) DO UPDATE SET v = excluded.v;
SELECT show();
INSERT INTO t VALUES (1, 'conflict') ON CONFLICT (k) DO NOTHING;
SELECT show();
DELETE FROM t WHERE k = 3;
SELECT show();
UPDATE t SET v = 'none' WHERE k = 77;
SELECT show();
ALTER TABLE t DISABLE TRIGGER ALL;
UPDATE t SET v = 'quiet';
SELECT show();
ALTER TABLE t ENABLE TRIGGER a_before;
ALTER TABLE t ENABLE ALWAYS TRIGGER b_after;
UPDATE t SET v = 'less quiet';
SELECT show();
ALTER TRIGGER a_before ON t RENAME TO aa_before;
ALTER TABLE t ENABLE TRIGGER USER;
SET session_replication_role = replica;
UPDATE t SET v = 'replica';
RESET session_replication_role;
SELECT show();
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY 1;
DROP TRIGGER aa_before ON t;
DROP TRIGGER nothing ON t;
DROP FUNCTION note();
DROP FUNCTION note() CASCADE;

-- what BEFORE triggers may do
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'DELETE' THEN
		RETURN CASE WHEN old.v = 'keep' THEN NULL ELSE old END;
	END IF;
	IF new.v = 'refuse' THEN RAISE EXCEPTION 'refused' USING errcode = 'check_violation', table = 't', column = 'v', constraint = 'mine', datatype = 'd', schema = 's'; END IF;
	IF new.v = 'skip' THEN RETURN NULL; END IF;
	new.n := new.n + 1;
	new.k := CASE WHEN new.v = 'move' THEN new.k + 100 ELSE new.k END;
	RETURN new;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION change();
TRUNCATE t;
INSERT INTO t VALUES (1, 'a'), (2, 'skip'), (3, 'move') RETURNING *;
UPDATE t SET v = 'move' WHERE k = 1 RETURNING *;
UPDATE t SET v = 'refuse';
UPDATE t SET v = 'keep' WHERE k = 103 RETURNING *;
DELETE FROM t RETURNING *;
INSERT INTO t VALUES (3, 'move');
SELECT * FROM t ORDER BY k;
DROP TRIGGER change ON t;

-- one that writes the same table
CREATE FUNCTION chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.n > 0 THEN INSERT INTO t VALUES (new.k + 1, 'chain', new.n - 1); END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER chain AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION chain();
INSERT INTO t VALUES (200, 'start', 3);
SELECT * FROM t ORDER BY k;
CREATE FUNCTION self() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = n + 10 WHERE k = old.k; RETURN new; END $$;
CREATE TRIGGER self BEFORE UPDATE ON t FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION self();
UPDATE t SET v = 'both' WHERE k = 200;
CREATE FUNCTION self_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = 0 WHERE k = old.k; RETURN old; END $$;
CREATE TRIGGER self_delete BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION self_delete();
DELETE FROM t WHERE k = 200;
SELECT * FROM t ORDER BY k;

-- generated columns and triggers
CREATE TABLE g (k int PRIMARY KEY, d int GENERATED ALWAYS AS (k * 10) STORED, v text);
CREATE FUNCTION gnote() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % % %', tg_when, tg_op, old, new; RETURN coalesce(new, old); END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION gnote();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION gnote();
INSERT INTO g (k, v) VALUES (1, 'a');
UPDATE g SET k = 2;
INSERT INTO g (k, v) VALUES (2, 'b') ON CONFLICT (k) DO UPDATE SET k = 5, v = excluded.v;
UPDATE g SET d = DEFAULT, v = 'c';
UPDATE g SET d = 7;
DELETE FROM g;

-- a partitioned parent's
CREATE TABLE whole (k int, v text) PARTITION BY LIST (v);
CREATE TABLE part_a PARTITION OF whole FOR VALUES IN ('a');
CREATE TABLE part_b PARTITION OF whole FOR VALUES IN ('b');
CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON whole FOR EACH ROW EXECUTE FUNCTION gnote();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON whole FOR EACH ROW EXECUTE FUNCTION gnote();
INSERT INTO whole VALUES (1, 'a'), (2, 'b');
UPDATE whole SET k = k + 1;
UPDATE whole SET v = 'b' WHERE v = 'a';
DELETE FROM whole;
CREATE TABLE part_c PARTITION OF whole FOR VALUES IN ('c');
INSERT INTO whole VALUES (1, 'c');
ALTER TABLE whole DETACH PARTITION part_c;
INSERT INTO part_c VALUES (2, 'c');
DROP TRIGGER a ON part_a;
DROP TRIGGER a ON whole;
INSERT INTO whole VALUES (1, 'a');

-- a row that a statement comes to twice, or that what it calls changes: BEFORE triggers are fired once, before that is told
CREATE TABLE once (k int PRIMARY KEY, n int);
CREATE TABLE pairs (k int, n int);
INSERT INTO once VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO pairs VALUES (1, 10), (1, 11), (2, 20), (2, 21);
CREATE TRIGGER b BEFORE UPDATE OR DELETE ON once FOR EACH ROW EXECUTE FUNCTION gnote();
CREATE TRIGGER a AFTER UPDATE OR DELETE ON once FOR EACH ROW EXECUTE FUNCTION gnote();
BEGIN;
UPDATE once SET n = once.n + 1 FROM pairs WHERE pairs.k = once.k RETURNING once.*;
DELETE FROM once USING pairs WHERE pairs.k = once.k RETURNING once.*;
ROLLBACK;
BEGIN;
WITH x AS (DELETE FROM once WHERE k = 1 RETURNING k), y AS (SELECT count(*) FROM x) UPDATE once SET n = 7 FROM y WHERE k < 3 RETURNING k;
WITH x AS (UPDATE once SET n = 8 WHERE k = 2 RETURNING k), y AS (SELECT count(*) FROM x) DELETE FROM once USING y RETURNING k;
ROLLBACK;
CREATE FUNCTION next_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE once SET n = n + 100 WHERE k = old.k + 1 AND pg_trigger_depth() < 2;
	RETURN coalesce(new, old);
END $$;
CREATE TRIGGER c BEFORE UPDATE OR DELETE ON once FOR EACH ROW EXECUTE FUNCTION next_one();
DELETE FROM once;
UPDATE once SET n = 0;
DELETE FROM once WHERE k = 3 RETURNING *;
SELECT * FROM once ORDER BY k;
-- EXPLAIN shows the triggers that there are
CREATE FUNCTION triggers_of(text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || $1 LOOP
		IF line LIKE 'Trigger %' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
SELECT triggers_of('UPDATE once SET n = 0 WHERE k = 2');
SELECT triggers_of('DELETE FROM once WHERE k = 2');
SELECT triggers_of('UPDATE once SET n = 0 WHERE k > 100');

-- Savepoints and PL/pgSQL's exception blocks take back exactly what they should.

CREATE TABLE account (id int PRIMARY KEY, v int);
INSERT INTO account SELECT i, 0 FROM generate_series(1, 5) i;
-- how many locks parts of this transaction hold; of ordinary tables, what is expected
\if :memory
CREATE FUNCTION part_locks(expected bigint) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND pid = pg_backend_pid()
$$;
\else
CREATE FUNCTION part_locks(expected bigint) RETURNS bigint LANGUAGE sql AS 'SELECT expected';
\endif

-- Nested, released and rolled back, also where the outer one has not written
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
UPDATE account SET v = 1 WHERE id = 1;
INSERT INTO account VALUES (6, 6);
DELETE FROM account WHERE id = 5;
RELEASE b;
SELECT part_locks(1);
SELECT * FROM account ORDER BY id;
SAVEPOINT c;
UPDATE account SET v = 2 WHERE id = 1;
UPDATE account SET id = 7 WHERE id = 6;
SELECT * FROM account ORDER BY id;
ROLLBACK TO c;
SELECT * FROM account ORDER BY id;
ROLLBACK TO a;
SELECT * FROM account ORDER BY id;
SELECT part_locks(0);
INSERT INTO account VALUES (6, 60);
COMMIT;
SELECT * FROM account ORDER BY id;

-- The same row again and again
BEGIN;
UPDATE account SET v = v + 1 WHERE id = 2;
SAVEPOINT a;
UPDATE account SET v = v + 1 WHERE id = 2;
SAVEPOINT b;
DELETE FROM account WHERE id = 2;
INSERT INTO account VALUES (2, 100);
SAVEPOINT c;
DELETE FROM account WHERE id = 2;
ROLLBACK TO c;
SELECT * FROM account WHERE id = 2;
ROLLBACK TO b;
SELECT * FROM account WHERE id = 2;
RELEASE a;
COMMIT;
SELECT * FROM account WHERE id = 2;

-- Errors inside of blocks
CREATE FUNCTION try(count int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	done int := 0;
BEGIN
	FOR i IN 1 .. count LOOP
		BEGIN
			INSERT INTO account VALUES (i % 70 + 100, i);
			done := done + 1;
			IF i % 3 = 0 THEN
				RAISE EXCEPTION 'no';
			END IF;
		EXCEPTION
			WHEN unique_violation THEN
				UPDATE account SET v = i WHERE id = i % 70 + 100;
			WHEN raise_exception THEN
				NULL;
		END;
	END LOOP;
	RETURN done;
END $$;
SELECT try(100);
SELECT count(*), sum(v) FROM account WHERE id >= 100;
BEGIN;
DELETE FROM account WHERE id >= 100;
SELECT try(5000);
-- one lock per level, not one per block
SELECT part_locks(0);
SELECT count(*) FROM account WHERE id >= 100;
ROLLBACK;
SELECT count(*), sum(v) FROM account WHERE id >= 100;
DELETE FROM account WHERE id >= 100;

-- A cursor goes on over what is rolled back, and over the commit
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM account ORDER BY id;
FETCH 1 FROM c;
SAVEPOINT s;
FETCH 1 FROM c;
UPDATE account SET v = 99;
INSERT INTO account VALUES (0, 0), (50, 0);
FETCH 1 FROM c;
ROLLBACK TO s;
FETCH 1 FROM c;
DELETE FROM account WHERE id = 6;
COMMIT;
FETCH ALL FROM c;
CLOSE c;

-- A statement does not see its own rows
INSERT INTO account SELECT id + 10, v FROM account;
UPDATE account SET id = id + 100;
SELECT count(*), min(id), max(id) FROM account;

-- What a function sees: STABLE its caller's snapshot, VOLATILE what happened since
CREATE FUNCTION rows_stable() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM account';
CREATE FUNCTION rows_volatile() RETURNS bigint VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM account); END';
INSERT INTO account SELECT i, rows_stable() FROM generate_series(1, 3) i RETURNING v;
INSERT INTO account SELECT i, rows_volatile() FROM generate_series(4, 6) i RETURNING v;

-- Refused
BEGIN READ ONLY;
DELETE FROM account;
ROLLBACK;

-- Transactions in PostgreSQL's own words: READ ONLY refuses every way of writing; foreign and ordinary
-- tables go together, savepoints included; blocks, procedures, cursors that are held.
CREATE TABLE account (id int PRIMARY KEY, v int);
CREATE TABLE ordinary (id int PRIMARY KEY, v int) USING heap;
INSERT INTO account SELECT i, 0 FROM generate_series(1, 3) i;
INSERT INTO ordinary SELECT * FROM account;
CREATE FUNCTION state(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ': ' || sqlerrm;
END $$;

-- READ ONLY: at each level, and begun in whatever way
PREPARE direct AS UPDATE account SET v = v + 1 WHERE id = 1;
EXECUTE direct;
BEGIN READ ONLY;
SELECT state(c) FROM (VALUES
	('INSERT INTO account VALUES (9, 9)'),
	('INSERT INTO account VALUES (1, 9) ON CONFLICT DO NOTHING'),
	('INSERT INTO account VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET v = 9'),
	('UPDATE account SET v = 9 WHERE id = 1'),
	('UPDATE account SET v = 9 WHERE false'),
	('UPDATE account a SET v = 9 FROM ordinary o WHERE o.id = a.id'),
	('DELETE FROM account'),
	('WITH w AS (DELETE FROM account RETURNING *) SELECT * FROM w'),
	('TRUNCATE account'),
	('CREATE TABLE new (id int)'),
	('ALTER TABLE account ADD COLUMN w int'),
	('ALTER TABLE account ADD CONSTRAINT more CHECK (v > 0)'),
	('COMMENT ON TABLE account IS ''x'''),
	('DROP TABLE account'),
	('LOCK TABLE account IN ROW EXCLUSIVE MODE'),
	('LOCK TABLE account IN ACCESS SHARE MODE'),
	('EXPLAIN (ANALYZE, COSTS OFF) UPDATE account SET v = 9 WHERE id = 1'),
	('EXPLAIN (COSTS OFF) UPDATE account SET v = 9 WHERE id = 1'),
	('ANALYZE account')) AS t (c);
ROLLBACK;
BEGIN READ ONLY;
EXECUTE direct;
ROLLBACK;
BEGIN READ ONLY;
COPY account FROM stdin;
\.
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT state('DELETE FROM account'), count(*) FROM account;
COPY account TO stdout;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT state('DELETE FROM account'), count(*) FROM account;
COMMIT;
SET default_transaction_read_only = on;
SELECT state('DELETE FROM account');
RESET default_transaction_read_only;
-- READ WRITE again is refused once something has been read
BEGIN READ ONLY;
SELECT count(*) FROM account;
SAVEPOINT s;
SET TRANSACTION READ WRITE;
ROLLBACK;
-- only a part of it
BEGIN;
UPDATE account SET v = 7 WHERE id = 1;
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SELECT state('DELETE FROM account');
ROLLBACK TO s;
UPDATE account SET v = v + 1 WHERE id = 1 RETURNING *;
COMMIT;
DEALLOCATE direct;

-- both kinds of tables: together, and apart by savepoints
BEGIN;
UPDATE account SET v = 10;
UPDATE ordinary SET v = 10;
SAVEPOINT a;
UPDATE ordinary SET v = 20 WHERE id = 1;
SAVEPOINT b;
UPDATE account SET v = 30 WHERE id = 1;
INSERT INTO account VALUES (4, 4);
INSERT INTO ordinary VALUES (4, 4);
RELEASE b;
SELECT a.*, o.v FROM account a JOIN ordinary o USING (id) ORDER BY 1;
ROLLBACK TO a;
SELECT a.*, o.v FROM account a JOIN ordinary o USING (id) ORDER BY 1;
INSERT INTO ordinary SELECT id + 10, v FROM account;
INSERT INTO account SELECT * FROM ordinary WHERE id > 10;
SAVEPOINT c;
INSERT INTO ordinary VALUES (11, 0);
ROLLBACK TO c;
INSERT INTO account VALUES (11, 0);
ROLLBACK TO c;
COMMIT;
SELECT a.*, o.v FROM account a JOIN ordinary o USING (id) ORDER BY 1;
BEGIN;
DELETE FROM account;
DELETE FROM ordinary;
ROLLBACK;
SELECT count(*) FROM account JOIN ordinary USING (id, v);
-- an error of the one takes the other back
BEGIN;
DELETE FROM account WHERE id > 10;
INSERT INTO ordinary VALUES (1, 1);
COMMIT;
BEGIN;
DELETE FROM ordinary WHERE id > 10;
INSERT INTO account VALUES (1, 1);
COMMIT;
SELECT count(*) FROM account JOIN ordinary USING (id, v);
-- one that comes with the commit
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not so'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ordinary DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION refuse();
BEGIN;
DELETE FROM account;
INSERT INTO ordinary VALUES (100, 0);
COMMIT;
SELECT count(*) FROM account;
DROP TRIGGER refuse ON ordinary;

-- blocks
DO $$
DECLARE n int;
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			UPDATE account SET v = 100 + i WHERE id = i;
			UPDATE ordinary SET v = 100 + i WHERE id = i;
			IF i = 2 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			SELECT v INTO n FROM account WHERE id = i;
			RAISE NOTICE 'row % is %', i, n;
		END;
	END LOOP;
END $$;
SELECT a.*, o.v FROM account a JOIN ordinary o USING (id) WHERE id < 4 ORDER BY 1;
-- procedures and blocks that commit and roll back on their way, cursors included
CREATE PROCEDURE batch() LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT id FROM account WHERE id < 10 ORDER BY id LOOP
		UPDATE account SET v = r.id * 1000 WHERE id = r.id;
		UPDATE ordinary SET v = r.id * 1000 WHERE id = r.id;
		IF r.id = 2 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END $$;
CALL batch();
SELECT a.*, o.v FROM account a JOIN ordinary o USING (id) WHERE id < 4 ORDER BY 1;
DO $$
BEGIN
	FOR i IN 1 .. 2 LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
		UPDATE account SET v = v + i WHERE id = 3;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
		UPDATE account SET v = v + 10 * i WHERE id = 3;
		COMMIT AND CHAIN;
		RAISE NOTICE '%', current_setting('transaction_isolation');
		ROLLBACK;
	END LOOP;
END $$;
SELECT * FROM account WHERE id = 3;
BEGIN;
CALL batch();
ROLLBACK;

-- cursors that are held, at each level; what is held is what was seen
BEGIN ISOLATION LEVEL SERIALIZABLE;
DECLARE c CURSOR WITH HOLD FOR SELECT a.*, o.v AS ordinary FROM account a JOIN ordinary o USING (id) ORDER BY id;
FETCH 1 FROM c;
UPDATE account SET v = 0;
COMMIT;
DELETE FROM account WHERE id > 10;
FETCH 2 FROM c;
CLOSE c;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM account ORDER BY id;
UPDATE account SET v = 5;
COMMIT;
FETCH ALL FROM c;
FETCH FIRST FROM c;
CLOSE c;

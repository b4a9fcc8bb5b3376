-- SELECT ... FOR UPDATE and its like in one session: what is accepted and what is refused.  Which
-- transaction waits for which is in test/specs.
CREATE TABLE job (id int PRIMARY KEY, state text, owner int);
CREATE TABLE keyless (v int);
CREATE TABLE ordinary (id int PRIMARY KEY, name text) USING heap;
INSERT INTO job SELECT i, 'new', i % 3 FROM generate_series(1, 9) i;
INSERT INTO keyless SELECT generate_series(1, 3);
INSERT INTO ordinary VALUES (0, 'zero'), (1, 'one'), (2, 'two');

-- every strength
BEGIN;
SELECT * FROM job WHERE id = 1 FOR UPDATE;
SELECT * FROM job WHERE id = 2 FOR NO KEY UPDATE;
SELECT * FROM job WHERE id = 3 FOR SHARE;
SELECT * FROM job WHERE id = 4 FOR KEY SHARE;
COMMIT;

-- late: a LIMIT locks what it returns
BEGIN;
SELECT id FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT id FROM job WHERE id = 1 FOR SHARE;
ROLLBACK;

-- tables of a join, OF, with an ordinary table, without a key
BEGIN;
SELECT j.id, o.name FROM job j JOIN ordinary o ON o.id = j.owner WHERE j.id < 4 ORDER BY j.id FOR UPDATE;
SELECT j.id, o.name FROM job j JOIN ordinary o ON o.id = j.owner WHERE j.id < 4 ORDER BY j.id FOR SHARE OF o FOR UPDATE OF j;
SELECT a.id, b.v FROM job a, keyless b WHERE a.id = b.v ORDER BY 1 FOR NO KEY UPDATE OF b NOWAIT;
SELECT count(*) FROM (SELECT * FROM job FOR UPDATE) s;
WITH mine AS (SELECT id FROM job WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)
	UPDATE job SET state = 'taken' FROM mine WHERE job.id = mine.id RETURNING job.id, job.state;
UPDATE job SET state = 'done' WHERE id IN (SELECT id FROM job WHERE state = 'taken' FOR UPDATE) RETURNING id;
SELECT id, state FROM job WHERE id < 4 ORDER BY id FOR SHARE;
ROLLBACK;

-- the own changes
BEGIN;
UPDATE job SET state = 'mine' WHERE id = 1;
DELETE FROM job WHERE id = 2;
INSERT INTO job VALUES (10, 'fresh', 0);
UPDATE job SET id = 30 WHERE id = 3;
SELECT * FROM job WHERE id IN (1, 2, 3, 10, 30) ORDER BY id FOR UPDATE;
UPDATE job SET state = state || '!' WHERE id IN (1, 10, 30) RETURNING *;
SAVEPOINT s;
SELECT id FROM job ORDER BY id FOR UPDATE;
UPDATE job SET state = 'again' WHERE id = 4;
DELETE FROM job WHERE id = 1;
ROLLBACK TO s;
SELECT id, state FROM job WHERE id IN (1, 4) ORDER BY id FOR UPDATE;
COMMIT;
SELECT * FROM job ORDER BY id;

-- cursors and PL/pgSQL
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM job ORDER BY id FOR UPDATE;
FETCH 2 FROM c;
FETCH 1 FROM c;
CLOSE c;
COMMIT;
DO $$
DECLARE
	r record;
	taken int[];
BEGIN
	FOR r IN SELECT * FROM job WHERE owner = 1 ORDER BY id FOR UPDATE LOOP
		UPDATE job SET owner = 5 WHERE id = r.id;
		taken := taken || r.id;
	END LOOP;
	RAISE NOTICE '%', taken;
	BEGIN
		PERFORM 1 FROM job FOR UPDATE NOWAIT;
		RAISE EXCEPTION 'out';
	EXCEPTION WHEN raise_exception THEN
		RAISE NOTICE 'released';
	END;
END $$;
PREPARE lock_one(int) AS SELECT state FROM job WHERE id = $1 FOR UPDATE;
EXECUTE lock_one(4);
EXECUTE lock_one(5);
EXECUTE lock_one(50);

-- views, partitions
CREATE VIEW open_jobs AS SELECT id, owner FROM job WHERE state = 'new';
SELECT * FROM open_jobs WHERE id < 7 ORDER BY id FOR UPDATE;
CREATE TABLE part (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (10) TO (20) USING heap;
INSERT INTO part VALUES (1, 'low'), (11, 'high');
SELECT *, tableoid::regclass FROM part ORDER BY k FOR UPDATE;

-- what is refused
SELECT count(*) FROM job GROUP BY owner FOR UPDATE;
SELECT * FROM job LEFT JOIN keyless ON v = id FOR UPDATE OF keyless;
BEGIN READ ONLY;
SELECT * FROM job FOR UPDATE;
ROLLBACK;
CREATE ROLE row_lock_reader;
GRANT SELECT ON job TO row_lock_reader;
SET ROLE row_lock_reader;
SELECT id FROM job WHERE id = 4;
SELECT id FROM job WHERE id = 4 FOR KEY SHARE;
RESET ROLE;
-- many
CREATE TABLE many (id int PRIMARY KEY);
INSERT INTO many SELECT generate_series(1, 20000);
BEGIN;
SELECT count(*) FROM (SELECT * FROM many FOR SHARE) s;
SELECT count(*) FROM (SELECT * FROM many FOR KEY SHARE) s;
UPDATE many SET id = -id;
SELECT count(*) FROM many WHERE id < 0;
ROLLBACK;
SELECT count(*) FROM many WHERE id > 0;

DROP OWNED BY row_lock_reader;
DROP ROLE row_lock_reader;

-- What a DELETE leaves here and there is moved together beside transactions that have seen it,
-- and they do not notice: nobody is refused for it at any isolation level.

CREATE SCHEMA compaction;
SET search_path = compaction;
SET client_min_messages = warning;
CREATE SERVER compaction_server FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE item (id int PRIMARY KEY, n int, t text) SERVER compaction_server;

-- Waits until rows have been moved, or, if so asked, until few chunks are left.
CREATE PROCEDURE wait_for_chunks(until_few boolean, chunk_count int DEFAULT 5) LANGUAGE plpgsql AS $$
DECLARE
	reached boolean := false;
BEGIN
	FOR i IN 1 .. 18000 LOOP
		IF until_few THEN
			SELECT chunks <= chunk_count INTO reached FROM tsurugi.garbage
			WHERE database = current_database() AND relation = 'compaction.item'::regclass::text;
		ELSE
			SELECT versions_moved > current_setting('compaction.moved')::bigint INTO reached FROM tsurugi.collector;
		END IF;
		EXIT WHEN reached;
		PERFORM pg_sleep(0.01);
	END LOOP;
	IF NOT reached THEN
		RAISE 'nothing has moved: %', (SELECT g FROM tsurugi.garbage g WHERE relation = 'compaction.item'::regclass::text);
	END IF;
END $$;

-- with an ordinary table, so that this commit holds up the horizon for a while, though no other transaction ends
BEGIN;
CREATE TABLE ordinary ();
INSERT INTO item SELECT i, i % 7, repeat(i::text, 20) FROM generate_series(1, 20000) i;
COMMIT;
SELECT set_config('compaction.moved', versions_moved::text, false) IS NOT NULL FROM tsurugi.collector;
DELETE FROM item WHERE id % 10 <> 0;

-- a transaction that has read everything, and then writes it
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(n) FROM item;
CALL wait_for_chunks(false);
SELECT count(*), sum(n) FROM item;
SELECT count(*) FROM item WHERE id BETWEEN 5000 AND 6000;
UPDATE item SET n = n + 1 WHERE id BETWEEN 5000 AND 6000;
DELETE FROM item WHERE id > 19000;
SELECT count(*) FROM (SELECT FROM item WHERE id < 100 FOR UPDATE) l;
COMMIT;
SELECT count(*), sum(n), count(*) FILTER (WHERE t = repeat(id::text, 20)) FROM item;

CALL wait_for_chunks(true);
SELECT chunks <= 5 AS few_chunks, chunks_sparse <= 2 AS few_sparse FROM tsurugi.garbage WHERE relation = 'compaction.item'::regclass::text;
SELECT count(*), sum(n), count(*) FILTER (WHERE t = repeat(id::text, 20)) FROM item;

SET client_min_messages = warning;
DROP SCHEMA compaction CASCADE;
DROP SERVER compaction_server;

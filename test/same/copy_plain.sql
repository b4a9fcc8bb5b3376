-- COPY of files that tasks of the pool may store, of any size: what they do not do is as it is without them.
SELECT set_config('tsurugi_fdw.failpoints', 'copy_any_by_pool', false) \gset
SELECT current_setting('data_directory') || '/copy_plain' AS base \gset
\set file :base .csv
\set pattern :base _*.csv
\set packed :base .csv.gz
\set broken :base _broken.csv
COPY (SELECT i, 'v' || i, i / 3.0 FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
COPY (SELECT 5000, 'of a pattern', 1) TO :'pattern' (FORMAT csv);
COPY (SELECT 5001, 'not compressed', 1) TO :'packed' (FORMAT csv);
COPY (SELECT CASE i WHEN 700 THEN 'x' WHEN 900 THEN 'y' ELSE i::text END, 'v' || i, i FROM generate_series(1, 1000) i) TO :'broken' (FORMAT csv);
CREATE TABLE t (k int PRIMARY KEY, v text NOT NULL, n numeric(8,2));
\set QUIET off
COPY t FROM :'file' (FORMAT csv);
COPY t (k, v, n) FROM :'pattern' CSV;
COPY t FROM :'packed' (FORMAT 'csv', ENCODING 'UTF8');
SELECT count(*), sum(n), max(v) FROM t;
COPY t FROM :'file' (FORMAT csv);
TRUNCATE t;
COPY t FROM :'broken' (FORMAT csv);
-- in parts of a transaction
BEGIN;
TRUNCATE t;
INSERT INTO t VALUES (-1, 'own', 0);
SAVEPOINT s;
COPY t FROM :'file' (FORMAT csv);
SELECT count(*) FROM t;
ROLLBACK TO s;
COPY t FROM :'broken' (FORMAT csv);
ROLLBACK TO s;
DECLARE before CURSOR FOR SELECT count(*) FROM t;
COPY t FROM :'file' (FORMAT csv);
FETCH before;
SELECT count(*) FROM t;
COMMIT;
CREATE FUNCTION copied(file text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE rows bigint;
BEGIN
	EXECUTE format('COPY t FROM %L (FORMAT csv)', file);
	GET DIAGNOSTICS rows = ROW_COUNT;
	RETURN rows;
EXCEPTION WHEN others THEN
	RAISE NOTICE '% %', SQLSTATE, SQLERRM;
	RETURN (SELECT -count(*) FROM t);
END $$;
SELECT copied(:'file');
TRUNCATE t;
SELECT copied(:'broken');
SELECT copied(:'file');
-- options, and which of several mistakes is told
COPY t FROM :'file' (FORMAT csv, FORMAT csv);
COPY t FROM :'file' (FORMAT csv, nothing);
COPY t FROM :'file' (FORMAT csv, DELIMITER ';;');
COPY t FROM :'file' (FORMAT csv, QUOTE 'a', DELIMITER 'a');
COPY t FROM :'file' (FORMAT csv, FORCE_QUOTE (k));
COPY t (k, v) FROM :'file' (FORMAT csv, FORCE_NULL (n));
COPY t (k, k) FROM :'file' (FORMAT csv);
COPY t (x) FROM :'file' (FORMAT csv);
COPY t (k, v) FROM :'file' (FORMAT csv);
COPY t FROM :'file' (FORMAT csv, HEADER match);
COPY t FROM :'file' (FORMAT csv, FREEZE);
COPY t FROM :'file' (FORMAT csv, FREEZE false, HEADER);
COPY none FROM :'file' (FORMAT csv, nothing);
COPY t FROM '/nowhere/at/all.csv' (FORMAT csv);
COPY t FROM '/' (FORMAT csv);
TRUNCATE t;
COPY t FROM :'file' (FORMAT csv) WHERE k % 2 = 0;
BEGIN;
TRUNCATE t;
COPY t FROM :'file' (FORMAT csv, FREEZE);
COMMIT;
BEGIN READ ONLY;
COPY t FROM :'file' (FORMAT csv);
ROLLBACK;
SELECT count(*) FROM t;
-- rights
CREATE ROLE copier;
CREATE ROLE reader IN ROLE pg_read_server_files;
GRANT USAGE ON SCHEMA public TO copier, reader;
GRANT INSERT ON t TO copier;
GRANT INSERT (k, v) ON t TO reader;
TRUNCATE t;
SET ROLE copier;
COPY t FROM :'file' (FORMAT csv);
SET ROLE reader;
COPY t FROM :'file' (FORMAT csv);
COPY t FROM :'file' (FORMAT csv, nothing);
COPY t (k, v) FROM :'file' (FORMAT csv);
RESET ROLE;
GRANT INSERT ON t TO reader;
CREATE VIEW of_t AS SELECT * FROM t;
COPY of_t FROM :'file' (FORMAT csv);
SET ROLE reader;
COPY t FROM :'file' (FORMAT csv);
RESET ROLE;
SELECT count(*) FROM t;
DROP OWNED BY copier, reader;
DROP ROLE copier, reader;
-- what is done for each row, or looked at
CREATE SEQUENCE numbers;
CREATE TABLE u (k int, v text, n numeric CHECK (n < 330), g int GENERATED ALWAYS AS (k * 2) STORED, d int DEFAULT nextval('numbers'), UNIQUE (k) DEFERRABLE INITIALLY DEFERRED);
COPY u (k, v, n) FROM :'file' (FORMAT csv);
ALTER TABLE u DROP CONSTRAINT u_n_check;
COPY u (k, v, n) FROM :'file' (FORMAT csv);
COPY u (k, v, n) FROM :'file' (FORMAT csv);
SELECT count(*), sum(g), min(d), max(d) FROM u;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.k % 10 = 0 THEN RETURN NULL; END IF;
	NEW.v := NEW.v || '!';
	RETURN NEW;
END $$;
CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', TG_WHEN, TG_OP, (SELECT count(*) FROM t); RETURN NULL; END $$;
CREATE TRIGGER before BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER once AFTER INSERT ON t EXECUTE FUNCTION say();
TRUNCATE t;
COPY t FROM :'file' (FORMAT csv);
SELECT count(*), max(v) FROM t;
DROP TRIGGER before ON t;
TRUNCATE t;
COPY t FROM :'file' (FORMAT csv);
CREATE TABLE refers (k int REFERENCES t, v text, n numeric);
COPY refers FROM :'file' (FORMAT csv);
DELETE FROM t WHERE k = 500;
TRUNCATE refers;
COPY refers FROM :'file' (FORMAT csv);
SELECT count(*) FROM refers;
CREATE TABLE whole (k int, v text, n numeric) PARTITION BY RANGE (k);
CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (600);
COPY whole FROM :'file' (FORMAT csv);
COPY low FROM :'file' (FORMAT csv);
CREATE TABLE high PARTITION OF whole FOR VALUES FROM (600) TO (2000);
COPY whole FROM :'file' (FORMAT csv);
SELECT tableoid::regclass, count(*) FROM whole GROUP BY 1 ORDER BY 1;
-- a quote that numbers and dates have, too
\set quoted :base _quoted.csv
CREATE TABLE dated (i int, n numeric(8,2), d date, v text);
INSERT INTO dated SELECT i, i + 0.01, date '2001-01-01' + i, 'x' || i FROM generate_series(1, 500) i;
CREATE TABLE read (LIKE dated);
COPY dated TO :'quoted' (FORMAT csv, QUOTE '1', FORCE_QUOTE (i, n, d));
COPY read FROM :'quoted' (FORMAT csv, QUOTE '1');
COPY dated TO :'quoted' (FORMAT csv, QUOTE '-', FORCE_QUOTE (i, n, d));
COPY read FROM :'quoted' (FORMAT csv, QUOTE '-');
COPY dated TO :'quoted' (FORMAT csv, QUOTE '.', FORCE_QUOTE (i, n, d));
COPY read FROM :'quoted' (FORMAT csv, QUOTE '.');
SELECT count(*), sum(n) FROM read NATURAL JOIN dated;
-- an option that other extensions use: values that are not converted are NULL
TRUNCATE read;
COPY read FROM :'quoted' (FORMAT csv, QUOTE '.', CONVERT_SELECTIVELY (i, v));
SELECT count(i), count(n), count(d), count(v) FROM read;
-- the same rows as text, with what is special there
\set text :base .txt
CREATE TABLE special (k int PRIMARY KEY, v text, b bytea);
INSERT INTO special SELECT i, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN E'a\tb\\c\nd\re' WHEN 2 THEN '' WHEN 3 THEN '\N' WHEN 4 THEN '\.' WHEN 5 THEN E'é\b\f\v' ELSE 'plain' END,
	decode(lpad(to_hex(i), 8, '0'), 'hex') FROM generate_series(1, 500) i;
COPY special TO :'text';
CREATE TABLE again (LIKE special, PRIMARY KEY (k));
COPY again FROM :'text';
SELECT count(*) FROM special NATURAL JOIN again;
TABLE special EXCEPT TABLE again;
COPY special TO :'text' (DELIMITER '|', NULL 'nil', HEADER);
TRUNCATE again;
COPY again FROM :'text' (FORMAT text, DELIMITER '|', NULL 'nil', HEADER match);
TABLE special EXCEPT TABLE again;
COPY again FROM :'text' (DELIMITER '|', NULL 'nil');
COPY again FROM :'text' (DELIMITER '|', QUOTE 'x');
COPY again FROM :'text' (FORMAT binary);

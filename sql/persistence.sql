-- Logged and unlogged tables: the option, PostgreSQL's own words, foreign keys, and rows that are
-- stored anew.  What survives a restart is tested in test/t.
CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE SCHEMA pe;
SET search_path = pe, public;
CREATE VIEW options AS SELECT ftrelid::regclass AS relation, ftoptions FROM pg_foreign_table WHERE ftrelid::regclass::text !~ '\.' ORDER BY ftrelid::regclass::text;

-- the option of a table
CREATE FOREIGN TABLE t_logged (id int) SERVER tsurugi OPTIONS (persistence 'logged');
CREATE FOREIGN TABLE t_unlogged (id int) SERVER tsurugi OPTIONS (persistence 'unlogged');
CREATE UNLOGGED TABLE u_using (id int PRIMARY KEY, s serial, g int GENERATED ALWAYS AS IDENTITY) USING tsurugi;
CREATE UNLOGGED TABLE u_as USING tsurugi AS SELECT 1 AS id;
CREATE TABLE t_using (id int) USING tsurugi;
CREATE UNLOGGED TABLE u_like (LIKE u_using INCLUDING ALL) USING tsurugi;
CREATE TABLE t_like (LIKE u_using INCLUDING ALL) USING tsurugi;
SET tsurugi_fdw.create_table = on;
CREATE UNLOGGED TABLE u_implied (id int);
CREATE UNLOGGED TABLE u_implied_as AS SELECT 2 AS id;
RESET tsurugi_fdw.create_table;
SELECT * FROM options;
SELECT relname, relpersistence FROM pg_class WHERE relkind = 'S' AND relnamespace = 'pe'::regnamespace ORDER BY 1;
SELECT * FROM u_as, u_implied_as;

-- what is refused
CREATE FOREIGN TABLE bad (id int) SERVER tsurugi OPTIONS (persistence 'temporary');
CREATE FOREIGN TABLE bad (id int) SERVER tsurugi OPTIONS (persistence 'Unlogged');
ALTER FOREIGN TABLE t_unlogged OPTIONS (SET persistence 'none');
ALTER FOREIGN TABLE t_using OPTIONS (SET persistence 'unlogged');
CREATE SERVER bad FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (persistence 'temporary');
CREATE SERVER bad FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (fillfactor '70');
ALTER SERVER tsurugi OPTIONS (ADD persistence 'none');
ALTER FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (ADD persistence 'unlogged');

-- SET LOGGED and SET UNLOGGED store the table anew, and keep what is in it
CREATE TABLE kept (id int PRIMARY KEY, v text, w int) USING tsurugi;
INSERT INTO kept SELECT i, 'v' || i, i % 10 FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX kept_v ON kept (v);
CREATE INDEX kept_w ON kept ((w + 1)) WHERE w > 2;
CREATE FUNCTION rewritten() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'rewrite of %, reason %', pg_event_trigger_table_rewrite_oid()::regclass, pg_event_trigger_table_rewrite_reason();
END $$;
CREATE EVENT TRIGGER rewritten ON table_rewrite EXECUTE FUNCTION rewritten();
CREATE FUNCTION look() RETURNS TABLE (options text[], n bigint, by_key text, by_index int, by_expression bigint) LANGUAGE sql AS $$
	SELECT (SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'kept'::regclass), (SELECT count(*) FROM kept),
		(SELECT v FROM kept WHERE id = 500), (SELECT id FROM kept WHERE v = 'v77'), (SELECT count(*) FROM kept WHERE w > 2 AND w + 1 = 5) $$;
SELECT * FROM look();
ALTER TABLE kept SET LOGGED;
ALTER TABLE kept SET UNLOGGED;
SELECT * FROM look();
ALTER TABLE kept SET UNLOGGED;
INSERT INTO kept VALUES (1001, 'v77', 0);
ALTER TABLE kept SET LOGGED;
SELECT * FROM look();
INSERT INTO kept VALUES (500, 'other', 0);
ALTER FOREIGN TABLE kept OPTIONS (ADD persistence 'unlogged', ADD fillfactor '70');
SELECT * FROM look();
ALTER FOREIGN TABLE kept OPTIONS (SET fillfactor '80');
ALTER FOREIGN TABLE kept OPTIONS (SET persistence 'logged');
ALTER FOREIGN TABLE kept OPTIONS (DROP persistence);
SELECT * FROM look();
ALTER FOREIGN TABLE kept OPTIONS (ADD persistence 'unlogged', DROP fillfactor), ADD x int DEFAULT 7, ADD UNIQUE (id, w);
SELECT * FROM look();
SELECT sum(x) FROM kept;
BEGIN;
ALTER TABLE kept SET LOGGED;
DELETE FROM kept WHERE id <= 500;
SELECT * FROM look();
ROLLBACK;
SELECT * FROM look();
BEGIN;
DELETE FROM kept WHERE id <= 500;
SAVEPOINT a;
ALTER TABLE kept SET LOGGED;
INSERT INTO kept VALUES (0, 'zero', 5);
ROLLBACK TO a;
INSERT INTO kept VALUES (1, 'one', 5);
SELECT * FROM look();
COMMIT;
SELECT * FROM look();
BEGIN;
DECLARE open_kept CURSOR FOR SELECT * FROM kept;
ALTER TABLE kept SET LOGGED;
ROLLBACK;
VACUUM FULL kept;
TRUNCATE kept;
SELECT * FROM look();
ALTER TABLE kept SET LOGGED;
TRUNCATE kept;
ALTER TABLE kept SET UNLOGGED;
DROP EVENT TRIGGER rewritten;

-- sequences follow
ALTER FOREIGN TABLE u_using OPTIONS (SET persistence 'logged');
ALTER TABLE t_like SET UNLOGGED;
SELECT relname, relpersistence FROM pg_class WHERE relkind = 'S' AND relname ~ '^(u_using|t_like)_' ORDER BY 1;
DROP TABLE t_logged, t_unlogged, u_using, u_as, t_using, u_like, t_like, u_implied, u_implied_as, kept CASCADE;

-- foreign keys: a logged table refers to logged ones only
CREATE TABLE p (id int PRIMARY KEY, other int REFERENCES p) USING tsurugi;
CREATE UNLOGGED TABLE up (id int PRIMARY KEY) USING tsurugi;
CREATE TABLE c (id int REFERENCES up) USING tsurugi;
CREATE FOREIGN TABLE c (id int REFERENCES up) SERVER tsurugi OPTIONS (persistence 'logged');
CREATE TABLE c (id int REFERENCES up) USING heap;
CREATE TABLE c (id int REFERENCES p) USING tsurugi;
CREATE UNLOGGED TABLE uc (id int REFERENCES p, u int REFERENCES up) USING tsurugi;
CREATE UNLOGGED TABLE heap_uc (id int REFERENCES up);
CREATE TEMP TABLE temp_p (id int PRIMARY KEY);
ALTER TABLE uc ADD t int REFERENCES temp_p;
ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES up;
ALTER TABLE c ADD u int REFERENCES up;
ALTER TABLE c ADD u int REFERENCES up, SET UNLOGGED;
ALTER TABLE p SET UNLOGGED;
ALTER TABLE uc SET LOGGED;
ALTER TABLE c SET LOGGED;
ALTER FOREIGN TABLE c OPTIONS (DROP persistence);
ALTER FOREIGN TABLE uc OPTIONS (SET persistence 'logged');
ALTER TABLE heap_uc SET LOGGED;
ALTER TABLE up SET LOGGED;
ALTER TABLE uc SET LOGGED;
ALTER TABLE heap_uc SET LOGGED;
ALTER TABLE up SET UNLOGGED;
ALTER TABLE p SET LOGGED;
ALTER TABLE c SET LOGGED;
SELECT * FROM options;
SELECT relname, relpersistence FROM pg_class WHERE relname = 'heap_uc';
DROP TABLE c, uc, heap_uc, p, up, temp_p;
CREATE TABLE heap_p (id int PRIMARY KEY);
CREATE UNLOGGED TABLE uc (id int REFERENCES heap_p) USING tsurugi;
ALTER TABLE heap_p SET UNLOGGED;
ALTER TABLE uc DROP CONSTRAINT uc_id_fkey;
ALTER TABLE heap_p SET UNLOGGED;
ALTER TABLE uc ADD FOREIGN KEY (id) REFERENCES heap_p;
ALTER TABLE uc SET LOGGED;
ALTER TABLE heap_p SET ACCESS METHOD tsurugi;
ALTER TABLE uc SET LOGGED;
SELECT * FROM options;
DROP TABLE uc, heap_p;
CREATE TABLE self (id int PRIMARY KEY, other int REFERENCES self) USING tsurugi;
INSERT INTO self VALUES (1, NULL), (2, 1);
ALTER TABLE self SET UNLOGGED;
DELETE FROM self WHERE id = 1;
ALTER TABLE self SET LOGGED;
INSERT INTO self VALUES (3, 4);
DROP TABLE self;

-- each partition has a persistence of its own
CREATE TABLE pt (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE pt_1 PARTITION OF pt FOR VALUES FROM (0) TO (10) USING tsurugi;
CREATE TABLE pt_2 PARTITION OF pt FOR VALUES FROM (10) TO (20) USING tsurugi;
INSERT INTO pt VALUES (1, 'one'), (11, 'eleven');
ALTER TABLE pt_2 SET UNLOGGED;
ALTER TABLE pt_1 SET LOGGED;
ALTER TABLE pt SET UNLOGGED;
SELECT * FROM options;
SELECT tableoid::regclass, * FROM pt ORDER BY id;
DROP TABLE pt;

-- a server's default: the tables that are made from then on have it as their own
CREATE TABLE before_it (id int) USING tsurugi;
CREATE TABLE before_too (id int) USING tsurugi;
ALTER TABLE before_too SET UNLOGGED;
ALTER SERVER tsurugi OPTIONS (ADD persistence 'unlogged');
CREATE TABLE by_default (id serial) USING tsurugi;
CREATE FOREIGN TABLE by_option (id serial) SERVER tsurugi OPTIONS (persistence 'logged');
CREATE TABLE dropped_option (id int) USING tsurugi;
ALTER FOREIGN TABLE dropped_option OPTIONS (DROP persistence);
CREATE TABLE set_logged (id int) USING tsurugi;
ALTER TABLE set_logged SET LOGGED;
CREATE TABLE moved (id serial);
ALTER TABLE moved SET ACCESS METHOD tsurugi;
CREATE UNLOGGED TABLE moved_unlogged (id serial);
ALTER TABLE moved_unlogged SET ACCESS METHOD tsurugi;
PREPARE one AS SELECT 1 AS one;
DO $$ BEGIN EXECUTE 'EXPLAIN (ANALYZE) CREATE TABLE explained USING tsurugi AS EXECUTE one'; END $$;
SELECT * FROM options;
SELECT relname, relpersistence FROM pg_class WHERE relkind = 'S' AND relnamespace = 'pe'::regnamespace ORDER BY 1;
ALTER TABLE moved SET ACCESS METHOD heap;
ALTER TABLE moved_unlogged SET ACCESS METHOD heap;
SELECT relname, relpersistence FROM pg_class WHERE relname ~ '^moved' ORDER BY 1;
ALTER SERVER tsurugi OPTIONS (SET persistence 'logged');
CREATE TABLE after_it (id int) USING tsurugi;
ALTER SERVER tsurugi OPTIONS (DROP persistence);
SELECT * FROM options;

-- the contents of an unlogged table are not missed
SET client_min_messages = warning;
\set home :DBNAME
CREATE DATABASE pe_source;
\c pe_source
SET client_min_messages = warning;
CREATE EXTENSION tsurugi_fdw;
CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE UNLOGGED TABLE kept (id int PRIMARY KEY) USING tsurugi;
INSERT INTO kept VALUES (1);
\c :home
CREATE DATABASE pe_copy TEMPLATE pe_source;
\c pe_copy
SELECT * FROM kept;
\c :home
DROP DATABASE pe_copy;
DROP DATABASE pe_source;

SET client_min_messages = warning;
DROP SCHEMA pe CASCADE;
DROP SERVER tsurugi CASCADE;

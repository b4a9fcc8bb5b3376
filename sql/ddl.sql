-- CREATE, ALTER, DROP and TRUNCATE: what stays, what is taken back, and what is
-- refused.  The catalog entries of keys rest on no promise of PostgreSQL's: each
-- use of them is shown here and in key.sql.

CREATE SERVER ddl FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE SERVER IF NOT EXISTS ddl FOREIGN DATA WRAPPER tsurugi_fdw;

-- Forms of CREATE
CREATE FOREIGN TABLE plain (a int, b text) SERVER ddl;
CREATE FOREIGN TABLE in_column (id bigint PRIMARY KEY, v text DEFAULT 'none') SERVER ddl;
CREATE FOREIGN TABLE named (a int CONSTRAINT named_key PRIMARY KEY, b int CHECK (b > 0)) SERVER ddl;
CREATE FOREIGN TABLE pair (a int, b text, c int, CONSTRAINT pair_key PRIMARY KEY (b, a)) SERVER ddl;
CREATE FOREIGN TABLE numbered (id serial PRIMARY KEY NOT DEFERRABLE, g int GENERATED ALWAYS AS (id * 2) STORED) SERVER ddl;
CREATE FOREIGN TABLE included (id int, v int, PRIMARY KEY (id) INCLUDE (v) WITH (fillfactor = 50)) SERVER ddl;
CREATE FOREIGN TABLE identified (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int) SERVER ddl;
\d in_column
\d named
\d pair
\d numbered
\d included
CREATE FOREIGN TABLE IF NOT EXISTS pair (a int PRIMARY KEY) SERVER ddl;
CREATE FOREIGN TABLE pair (a int PRIMARY KEY) SERVER ddl;
INSERT INTO numbered DEFAULT VALUES;
INSERT INTO numbered DEFAULT VALUES RETURNING *;
INSERT INTO identified (v) VALUES (7) RETURNING *;

-- A plan that is used again does not lose its key
CREATE FUNCTION make_table() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE FOREIGN TABLE made (id int PRIMARY KEY) SERVER ddl;
END $$;
SELECT make_table();
DROP FOREIGN TABLE made;
SELECT make_table();
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'made'::regclass;
DROP FOREIGN TABLE made;

-- Partitions and children: the key may name inherited columns
CREATE TABLE parent (id int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part_1 PARTITION OF parent (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (10) SERVER ddl;
CREATE FOREIGN TABLE part_2 PARTITION OF parent (v DEFAULT 'two') FOR VALUES FROM (10) TO (20) SERVER ddl;
INSERT INTO parent SELECT i, 'row ' || i FROM generate_series(1, 19, 6) i;
SELECT tableoid::regclass, * FROM parent ORDER BY id;
ALTER TABLE parent ADD COLUMN n int DEFAULT 5;
SELECT * FROM parent ORDER BY id;
ALTER TABLE parent ALTER COLUMN v TYPE varchar(5);
\d part_1
DROP TABLE parent;
CREATE TABLE elder (id int);
CREATE FOREIGN TABLE child (v int, PRIMARY KEY (id)) INHERITS (elder) SERVER ddl;
INSERT INTO child VALUES (1, 1), (1, 2);
DROP TABLE elder CASCADE;
-- what a parent's ALTER asks for is asked of their rows, too
CREATE TABLE elder (id int);
CREATE FOREIGN TABLE child (v int) INHERITS (elder) SERVER ddl;
CREATE FOREIGN TABLE grandchild () INHERITS (child) SERVER ddl;
INSERT INTO child VALUES (1, 1);
INSERT INTO grandchild VALUES (5, NULL), (NULL, 1);
ALTER TABLE elder ALTER COLUMN id SET NOT NULL;
ALTER FOREIGN TABLE child ALTER COLUMN v SET NOT NULL;
ALTER TABLE elder ADD CONSTRAINT small CHECK (id < 5);
ALTER TABLE elder ADD CONSTRAINT small CHECK (id < 5) NOT VALID;
ALTER TABLE elder VALIDATE CONSTRAINT small;
ALTER TABLE elder ADD COLUMN n int DEFAULT 5 CHECK (n > 5);
DELETE FROM grandchild;
ALTER TABLE elder VALIDATE CONSTRAINT small;
ALTER TABLE elder ALTER COLUMN id SET NOT NULL;
DROP TABLE elder CASCADE;

-- What is refused
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (host 'x');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (fillfactor '5');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS ("host.fillfactor" '50');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (persistence 'temporary');
CREATE FOREIGN TABLE bad (id int OPTIONS (fillfactor '50') PRIMARY KEY) SERVER ddl;
CREATE SERVER bad FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (host 'x');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER nowhere;
CREATE FOREIGN TABLE bad (id int, PRIMARY KEY (nope)) SERVER ddl;
CREATE FOREIGN TABLE bad (id int, PRIMARY KEY (id, id)) SERVER ddl;
CREATE FOREIGN TABLE bad (id int PRIMARY KEY, v int PRIMARY KEY) SERVER ddl;
CREATE FOREIGN TABLE bad (id int CONSTRAINT pair_key PRIMARY KEY) SERVER ddl;
CREATE FOREIGN TABLE bad (id int, EXCLUDE (nope WITH =)) SERVER ddl;
SELECT count(*) FROM pg_class WHERE relname LIKE 'bad%';

-- ALTER: columns
INSERT INTO plain VALUES (1, 'one'), (2, NULL);
ALTER FOREIGN TABLE plain ADD COLUMN c int;
SELECT * FROM plain ORDER BY a;
ALTER FOREIGN TABLE plain ADD COLUMN d text DEFAULT 'a default that is longer than twelve', ADD COLUMN e int NOT NULL DEFAULT 3;
ALTER FOREIGN TABLE plain ADD COLUMN f int GENERATED ALWAYS AS (a * e) STORED;
ALTER FOREIGN TABLE plain ADD COLUMN g int NOT NULL;
ALTER FOREIGN TABLE plain ADD COLUMN g int CHECK (g > 5) DEFAULT 5;
ALTER FOREIGN TABLE plain ALTER COLUMN b SET NOT NULL;
ALTER FOREIGN TABLE plain ADD CONSTRAINT small CHECK (a < 2);
ALTER FOREIGN TABLE plain ADD CONSTRAINT small CHECK (a < 2) NOT VALID;
ALTER FOREIGN TABLE plain VALIDATE CONSTRAINT small;
ALTER FOREIGN TABLE plain DROP CONSTRAINT small;
SELECT * FROM plain ORDER BY a;
ALTER FOREIGN TABLE plain DROP COLUMN b;
INSERT INTO plain (a, c) VALUES (3, 33);
SELECT * FROM plain ORDER BY a;
ALTER FOREIGN TABLE plain ALTER COLUMN c TYPE bigint;
DELETE FROM plain;
ALTER FOREIGN TABLE plain ALTER COLUMN c TYPE text;
INSERT INTO plain (a, c) VALUES (4, 'a text, and a long one');
SELECT * FROM plain;
ALTER FOREIGN TABLE pair ALTER COLUMN b TYPE varchar(10);

-- ALTER that is rolled back leaves nothing that a later one could meet
BEGIN;
ALTER FOREIGN TABLE plain ADD COLUMN x int;
INSERT INTO plain (a, x) VALUES (5, 5);
ROLLBACK;
INSERT INTO plain (a) VALUES (6);
ALTER FOREIGN TABLE plain ADD COLUMN y text;
INSERT INTO plain (a, y) VALUES (7, 'seven, as a text of some length');
SELECT a, c, y FROM plain ORDER BY a;
BEGIN;
ALTER FOREIGN TABLE plain ADD COLUMN z int DEFAULT 9;
SELECT a, z FROM plain ORDER BY a;
ROLLBACK;
SELECT a, y FROM plain ORDER BY a;

-- rows of any width are copied
CREATE FOREIGN TABLE wide (c0 text) SERVER ddl;
INSERT INTO wide VALUES ('first'), ('second, which is longer than twelve');
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		EXECUTE format('ALTER FOREIGN TABLE wide ADD COLUMN c%s text DEFAULT %L', i, repeat(i::text, i));
	END LOOP;
END $$;
SELECT c0, c1, c7, length(wide::text) FROM wide ORDER BY c0;
DROP FOREIGN TABLE wide;

-- ALTER: keys
ALTER FOREIGN TABLE plain ADD PRIMARY KEY (a), ADD COLUMN w int;
ALTER FOREIGN TABLE plain ADD PRIMARY KEY (w);
ALTER FOREIGN TABLE plain DROP CONSTRAINT plain_pkey;
INSERT INTO plain (a) VALUES (7);
ALTER FOREIGN TABLE ONLY plain ADD CONSTRAINT plain_pkey PRIMARY KEY (a);
ALTER FOREIGN TABLE plain ADD PRIMARY KEY (w);
DELETE FROM plain WHERE a = 7 AND y IS NULL;
ALTER TABLE ONLY plain ADD CONSTRAINT plain_pkey PRIMARY KEY (a);
INSERT INTO plain (a) VALUES (7);
BEGIN;
ALTER FOREIGN TABLE plain DROP CONSTRAINT plain_pkey;
INSERT INTO plain (a) VALUES (7);
SELECT count(*) FROM plain WHERE a = 7;
ROLLBACK;
INSERT INTO plain (a) VALUES (7);
SELECT count(*) FROM plain WHERE a = 7;
ALTER FOREIGN TABLE plain DROP COLUMN a;
ALTER FOREIGN TABLE plain DROP COLUMN a CASCADE;
\d plain
SELECT count(*) FROM plain;
ALTER FOREIGN TABLE plain ADD COLUMN id serial PRIMARY KEY;
SELECT id FROM plain ORDER BY id;

-- Names, comments, dependencies are PostgreSQL's own
ALTER INDEX pair_key RENAME TO pair_key_2;
COMMENT ON CONSTRAINT pair_key_2 ON pair IS 'a key';
ALTER FOREIGN TABLE pair RENAME COLUMN a TO aa;
DROP INDEX pair_key_2;
CREATE SCHEMA elsewhere;
ALTER FOREIGN TABLE pair SET SCHEMA elsewhere;
\d elsewhere.pair
INSERT INTO elsewhere.pair VALUES (1, 'x', 1), (1, 'x', 2);
REINDEX TABLE elsewhere.pair;
SELECT pg_get_constraintdef(oid), obj_description(oid) FROM pg_constraint WHERE conname = 'pair_key_2';
DROP SCHEMA elsewhere CASCADE;

-- TRUNCATE and DROP, and what takes them back
INSERT INTO in_column VALUES (1, 'one'), (2, 'two');
BEGIN;
TRUNCATE in_column;
INSERT INTO in_column VALUES (3, 'three');
SAVEPOINT s;
TRUNCATE in_column;
INSERT INTO in_column VALUES (4, 'four');
SELECT * FROM in_column;
ROLLBACK TO s;
SELECT * FROM in_column;
ROLLBACK;
SELECT * FROM in_column ORDER BY id;
BEGIN;
SAVEPOINT s;
DROP FOREIGN TABLE in_column;
ROLLBACK TO s;
SELECT * FROM in_column ORDER BY id;
DROP FOREIGN TABLE in_column;
CREATE FOREIGN TABLE in_column (other text PRIMARY KEY) SERVER ddl;
INSERT INTO in_column VALUES ('other');
ROLLBACK;
SELECT * FROM in_column ORDER BY id;
BEGIN;
CREATE FOREIGN TABLE passing (id int PRIMARY KEY) SERVER ddl;
SAVEPOINT s;
INSERT INTO passing VALUES (1);
ROLLBACK TO s;
INSERT INTO passing VALUES (2);
SELECT * FROM passing;
ROLLBACK;
TRUNCATE in_column, named RESTART IDENTITY;
SELECT count(*) FROM in_column;

-- Event triggers fire once for what the user wrote
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %', tg_event, tg_tag;
END $$;
CREATE EVENT TRIGGER tell_end ON ddl_command_end EXECUTE FUNCTION tell();
CREATE FOREIGN TABLE told (id int PRIMARY KEY) SERVER ddl;
ALTER FOREIGN TABLE told DROP CONSTRAINT told_pkey;
ALTER FOREIGN TABLE told ADD PRIMARY KEY (id);
DROP EVENT TRIGGER tell_end;

-- Others' tables are left alone
CREATE FOREIGN DATA WRAPPER nobody;
CREATE SERVER nobody FOREIGN DATA WRAPPER nobody;
CREATE FOREIGN TABLE theirs (id int PRIMARY KEY) SERVER nobody;
CREATE FOREIGN TABLE theirs (id int) SERVER nobody;
ALTER FOREIGN TABLE theirs ADD PRIMARY KEY (id);
ALTER FOREIGN TABLE theirs ALTER COLUMN id TYPE text;
DROP FOREIGN DATA WRAPPER nobody CASCADE;

-- Rights
CREATE ROLE ddl_stranger;
SET ROLE ddl_stranger;
ALTER FOREIGN TABLE named DROP CONSTRAINT named_key;
ALTER FOREIGN TABLE in_column ADD PRIMARY KEY (v);
TRUNCATE named;
RESET ROLE;
DROP ROLE ddl_stranger;

SET client_min_messages = warning;
DROP SERVER ddl CASCADE;
RESET client_min_messages;
DROP FUNCTION make_table(), tell();

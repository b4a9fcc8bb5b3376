-- CREATE, ALTER, DROP and TRUNCATE: what stays, what is taken back, and what is refused.

-- what a table consists of
CREATE FUNCTION described(relation regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT * FROM (SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END,
			attgenerated, attidentity, pg_get_expr(adbin, adrelid))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped ORDER BY attnum) columns
	UNION ALL SELECT * FROM (SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = relation ORDER BY conname) constraints
	UNION ALL SELECT * FROM (SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') FROM pg_index WHERE indrelid = relation ORDER BY 1) indexes
$$;

-- Forms of CREATE
CREATE TABLE plain (a int, b text);
CREATE TABLE in_column (id bigint PRIMARY KEY, v text DEFAULT 'none');
CREATE TABLE named (a int CONSTRAINT named_key PRIMARY KEY, b int CHECK (b > 0));
CREATE TABLE pair (a int, b text, c int, CONSTRAINT pair_key PRIMARY KEY (b, a));
CREATE TABLE numbered (id serial PRIMARY KEY NOT DEFERRABLE, g int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE included (id int, v int, PRIMARY KEY (id) INCLUDE (v) WITH (fillfactor = 50));
CREATE TABLE identified (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int);
SELECT * FROM described('in_column');
SELECT * FROM described('named');
SELECT * FROM described('pair');
SELECT * FROM described('numbered');
SELECT * FROM described('included');
CREATE TABLE IF NOT EXISTS pair (a int PRIMARY KEY);
CREATE TABLE pair (a int PRIMARY KEY);
INSERT INTO numbered DEFAULT VALUES;
INSERT INTO numbered DEFAULT VALUES RETURNING *;
INSERT INTO identified (v) VALUES (7) RETURNING *;

-- A plan that is used again does not lose its key
CREATE FUNCTION make_table() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE made (id int PRIMARY KEY);
END $$;
SELECT make_table();
DROP TABLE made;
SELECT make_table();
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'made'::regclass;
DROP TABLE made;

-- Partitions and children: the key may name inherited columns
CREATE TABLE parent (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parent (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF parent (v DEFAULT 'two') FOR VALUES FROM (10) TO (20);
INSERT INTO parent SELECT i, 'row ' || i FROM generate_series(1, 19, 6) i;
SELECT tableoid::regclass, * FROM parent ORDER BY id;
ALTER TABLE parent ADD COLUMN n int DEFAULT 5;
SELECT * FROM parent ORDER BY id;
ALTER TABLE parent ALTER COLUMN v TYPE varchar(5);
SELECT * FROM described('part_1');
DROP TABLE parent;
CREATE TABLE elder (id int) USING heap;
CREATE TABLE child (v int, PRIMARY KEY (id)) INHERITS (elder);
INSERT INTO child VALUES (1, 1), (1, 2);
DROP TABLE elder CASCADE;
-- what a parent's ALTER asks for is asked of their rows, too
CREATE TABLE elder (id int) USING heap;
CREATE TABLE child (v int) INHERITS (elder);
CREATE TABLE grandchild () INHERITS (child);
INSERT INTO child VALUES (1, 1);
INSERT INTO grandchild VALUES (5, NULL), (NULL, 1);
ALTER TABLE elder ALTER COLUMN id SET NOT NULL;
ALTER TABLE child ALTER COLUMN v SET NOT NULL;
ALTER TABLE elder ADD CONSTRAINT small CHECK (id < 5);
ALTER TABLE elder ADD CONSTRAINT small CHECK (id < 5) NOT VALID;
ALTER TABLE elder VALIDATE CONSTRAINT small;
ALTER TABLE elder ADD COLUMN n int DEFAULT 5 CHECK (n > 5);
DELETE FROM grandchild;
ALTER TABLE elder VALIDATE CONSTRAINT small;
ALTER TABLE elder ALTER COLUMN id SET NOT NULL;
DROP TABLE elder CASCADE;

-- What is refused
CREATE TABLE bad (id int, PRIMARY KEY (nope));
CREATE TABLE bad (id int, PRIMARY KEY (id, id));
CREATE TABLE bad (id int PRIMARY KEY, v int PRIMARY KEY);
CREATE TABLE bad (id int CONSTRAINT pair_key PRIMARY KEY);
CREATE TABLE bad (id int, EXCLUDE (nope WITH =));
SELECT count(*) FROM pg_class WHERE relname LIKE 'bad%';

-- ALTER: columns
INSERT INTO plain VALUES (1, 'one'), (2, NULL);
ALTER TABLE plain ADD COLUMN c int;
SELECT * FROM plain ORDER BY a;
ALTER TABLE plain ADD COLUMN d text DEFAULT 'a default that is longer than twelve', ADD COLUMN e int NOT NULL DEFAULT 3;
ALTER TABLE plain ADD COLUMN f int GENERATED ALWAYS AS (a * e) STORED;
ALTER TABLE plain ADD COLUMN g int NOT NULL;
ALTER TABLE plain ADD COLUMN g int CHECK (g > 5) DEFAULT 5;
ALTER TABLE plain ALTER COLUMN b SET NOT NULL;
ALTER TABLE plain ADD CONSTRAINT small CHECK (a < 2);
ALTER TABLE plain ADD CONSTRAINT small CHECK (a < 2) NOT VALID;
ALTER TABLE plain VALIDATE CONSTRAINT small;
ALTER TABLE plain DROP CONSTRAINT small;
SELECT * FROM plain ORDER BY a;
ALTER TABLE plain DROP COLUMN b;
INSERT INTO plain (a, c) VALUES (3, 33);
SELECT * FROM plain ORDER BY a;
ALTER TABLE plain ALTER COLUMN c TYPE bigint;
DELETE FROM plain;
ALTER TABLE plain ALTER COLUMN c TYPE text;
INSERT INTO plain (a, c) VALUES (4, 'a text, and a long one');
SELECT * FROM plain;
ALTER TABLE pair ALTER COLUMN b TYPE varchar(10);

-- ALTER that is rolled back leaves nothing that a later one could meet
BEGIN;
ALTER TABLE plain ADD COLUMN x int;
INSERT INTO plain (a, x) VALUES (5, 5);
ROLLBACK;
INSERT INTO plain (a) VALUES (6);
ALTER TABLE plain ADD COLUMN y text;
INSERT INTO plain (a, y) VALUES (7, 'seven, as a text of some length');
SELECT a, c, y FROM plain ORDER BY a;
BEGIN;
ALTER TABLE plain ADD COLUMN z int DEFAULT 9;
SELECT a, z FROM plain ORDER BY a;
ROLLBACK;
SELECT a, y FROM plain ORDER BY a;

-- rows of any width are copied
CREATE TABLE wide (c0 text);
INSERT INTO wide VALUES ('first'), ('second, which is longer than twelve');
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		EXECUTE format('ALTER TABLE wide ADD COLUMN c%s text DEFAULT %L', i, repeat(i::text, i));
	END LOOP;
END $$;
SELECT c0, c1, c7, length(wide::text) FROM wide ORDER BY c0;
DROP TABLE wide;

-- ALTER: keys
ALTER TABLE plain ADD PRIMARY KEY (a), ADD COLUMN w int;
ALTER TABLE plain ADD PRIMARY KEY (w);
ALTER TABLE plain DROP CONSTRAINT plain_pkey;
INSERT INTO plain (a) VALUES (7);
ALTER TABLE ONLY plain ADD CONSTRAINT plain_pkey PRIMARY KEY (a);
ALTER TABLE plain ADD PRIMARY KEY (w);
DELETE FROM plain WHERE a = 7 AND y IS NULL;
ALTER TABLE ONLY plain ADD CONSTRAINT plain_pkey PRIMARY KEY (a);
INSERT INTO plain (a) VALUES (7);
BEGIN;
ALTER TABLE plain DROP CONSTRAINT plain_pkey;
INSERT INTO plain (a) VALUES (7);
SELECT count(*) FROM plain WHERE a = 7;
ROLLBACK;
INSERT INTO plain (a) VALUES (7);
SELECT count(*) FROM plain WHERE a = 7;
ALTER TABLE plain DROP COLUMN a;
ALTER TABLE plain DROP COLUMN a CASCADE;
SELECT * FROM described('plain');
SELECT count(*) FROM plain;
ALTER TABLE plain ADD COLUMN id serial PRIMARY KEY;
SELECT id FROM plain ORDER BY id;

-- Names, comments, dependencies are PostgreSQL's own
ALTER INDEX pair_key RENAME TO pair_key_2;
COMMENT ON CONSTRAINT pair_key_2 ON pair IS 'a key';
ALTER TABLE pair RENAME COLUMN a TO aa;
DROP INDEX pair_key_2;
CREATE SCHEMA elsewhere;
ALTER TABLE pair SET SCHEMA elsewhere;
SELECT * FROM described('elsewhere.pair');
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
DROP TABLE in_column;
ROLLBACK TO s;
SELECT * FROM in_column ORDER BY id;
DROP TABLE in_column;
CREATE TABLE in_column (other text PRIMARY KEY);
INSERT INTO in_column VALUES ('other');
ROLLBACK;
SELECT * FROM in_column ORDER BY id;
BEGIN;
CREATE TABLE passing (id int PRIMARY KEY);
SAVEPOINT s;
INSERT INTO passing VALUES (1);
ROLLBACK TO s;
INSERT INTO passing VALUES (2);
SELECT * FROM passing;
ROLLBACK;
TRUNCATE in_column, named RESTART IDENTITY;
SELECT count(*) FROM in_column;

-- Rights
CREATE ROLE ddl_stranger;
SET ROLE ddl_stranger;
ALTER TABLE named DROP CONSTRAINT named_key;
ALTER TABLE in_column ADD PRIMARY KEY (v);
TRUNCATE named;
RESET ROLE;
DROP ROLE ddl_stranger;

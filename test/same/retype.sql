-- ALTER COLUMN TYPE on tables with rows.
CREATE TABLE ours (id int PRIMARY KEY, n int, t text, m numeric(10,2), CONSTRAINT positive CHECK (n > 0));
INSERT INTO ours SELECT i, nullif(i, 3), nullif('1' || i, '14'), i * 1.25 FROM generate_series(1, 2000) i;

-- Makes a change, and tells what the rows are then.
CREATE FUNCTION altered(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text := 'done';
BEGIN
	BEGIN
		EXECUTE 'ALTER TABLE ours ' || change;
	EXCEPTION WHEN OTHERS THEN
		answer := sqlstate || ' ' || sqlerrm;
	END;
	RETURN answer || (SELECT format(', %s rows %s', count(*), md5(string_agg(o::text, ';' ORDER BY o::text))) FROM ours o);
END $$;

SELECT altered(change) AS answer, change FROM (VALUES
	('ALTER n TYPE bigint'), ('ALTER n TYPE text'), ('ALTER n TYPE int'), ('ALTER n TYPE int USING n::int'),
	('DROP CONSTRAINT positive'), ('ALTER n TYPE text'), ('ALTER n TYPE int USING n::int'), ('ALTER n TYPE int USING n * 2'),
	('ALTER n TYPE smallint'), ('ALTER n TYPE smallint USING n % 100'), ('ALTER n TYPE varchar(2)'), ('ALTER n TYPE varchar(1)'),
	('ALTER n TYPE int USING t::int'), ('ALTER n TYPE int USING nothing'), ('ALTER n TYPE int USING row(1)'),
	('ALTER n TYPE nothing'), ('ALTER nothing TYPE int'), ('ALTER n TYPE int USING 1 / (id - 7)'),
	('ALTER t TYPE varchar(10)'), ('ALTER t TYPE text'), ('ALTER t TYPE varchar(3)'), ('ALTER t TYPE jsonb USING to_jsonb(t)'),
	('ALTER t TYPE text[] USING ARRAY[t::text]'), ('ALTER t TYPE text USING t[1]'),
	('ALTER m TYPE numeric(12,2)'), ('ALTER m TYPE numeric(12,4)'), ('ALTER m TYPE numeric(4,1)'), ('ALTER m TYPE numeric'),
	('ALTER m TYPE float8'), ('ALTER m TYPE numeric(8,3)'),
	('ALTER id TYPE bigint'), ('ALTER id TYPE text'), ('ALTER id TYPE int USING id::int % 1000'), ('ALTER id TYPE int USING -id::int'),
	('ALTER id TYPE bigint, ALTER n TYPE bigint, ADD COLUMN more int DEFAULT 9, DROP COLUMN t'),
	('ADD CONSTRAINT sane CHECK (more < 10)'), ('ALTER more TYPE bigint USING more * 2'), ('ALTER more TYPE bigint')) c (change);
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'ours'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'ours'::regclass ORDER BY conname;
SELECT * FROM ours WHERE id = -5;
SELECT count(*), min(id), max(id) FROM ours WHERE id BETWEEN -10 AND -1;
INSERT INTO ours (id, n) VALUES (-5, 1);

-- the key keeps its name and its comment
CREATE TABLE named (a int, b text, CONSTRAINT the_key PRIMARY KEY (b, a));
COMMENT ON CONSTRAINT the_key ON named IS 'kept';
INSERT INTO named VALUES (1, 'x'), (2, 'x');
ALTER TABLE named ALTER a TYPE bigint;
SELECT obj_description(oid) FROM pg_constraint WHERE conname = 'the_key';
INSERT INTO named VALUES (2, 'x');
ALTER TABLE named ALTER a TYPE int USING 1;
ALTER TABLE named ALTER a TYPE int USING 1, DROP CONSTRAINT the_key, ADD PRIMARY KEY (b);
SELECT * FROM named ORDER BY a;

-- rolled back, whole or in part
BEGIN;
ALTER TABLE named ALTER a TYPE text;
INSERT INTO named VALUES ('three', 'y');
SAVEPOINT s;
ALTER TABLE named ALTER b TYPE bytea USING b::bytea;
SELECT * FROM named ORDER BY a;
ROLLBACK TO s;
SELECT * FROM named ORDER BY a;
ROLLBACK;
SELECT * FROM named ORDER BY a;

-- views, generated columns, inheritance, partitions
CREATE VIEW on_named AS SELECT a FROM named;
ALTER TABLE named ALTER a TYPE text;
DROP VIEW on_named;
CREATE TABLE made (a int, b int GENERATED ALWAYS AS (a * 2) STORED);
INSERT INTO made VALUES (1), (2);
ALTER TABLE made ALTER a TYPE bigint;
ALTER TABLE made ALTER b TYPE bigint USING 7;
ALTER TABLE made ALTER b TYPE text;
INSERT INTO made VALUES (3);
SELECT * FROM made ORDER BY a;
CREATE TABLE elder (a int, b text);
CREATE TABLE younger (c int PRIMARY KEY) INHERITS (elder);
INSERT INTO elder VALUES (1, '1');
INSERT INTO younger VALUES (2, '2', 2);
ALTER TABLE elder ALTER a TYPE text;
SELECT a, pg_typeof(a) FROM elder ORDER BY a;
ALTER TABLE elder ALTER b TYPE int USING b::int;
CREATE TABLE ordinary_younger () INHERITS (elder) USING heap;
INSERT INTO ordinary_younger VALUES (3, 3);
ALTER TABLE elder ALTER b TYPE text USING b || ' years';
SELECT tableoid::regclass, a, b FROM elder ORDER BY a;
ALTER TABLE elder ALTER b TYPE int USING rtrim(b, ' years')::int;
DROP TABLE ordinary_younger;
CREATE TABLE keyed (PRIMARY KEY (b)) INHERITS (elder);
ALTER TABLE elder ALTER b TYPE varchar(5);
CREATE TABLE parted (id int, v int) PARTITION BY LIST (id);
CREATE TABLE part PARTITION OF parted FOR VALUES IN (1);
INSERT INTO parted VALUES (1, 10);
ALTER TABLE parted ALTER v TYPE text;
ALTER TABLE parted ALTER v TYPE int USING v::int;
SELECT v, pg_typeof(v) FROM parted;

-- an open cursor, and a prepared statement
PREPARE all_named AS SELECT * FROM named ORDER BY a;
EXECUTE all_named;
BEGIN;
DECLARE reader CURSOR FOR SELECT * FROM named ORDER BY a;
FETCH 1 FROM reader;
ALTER TABLE named ALTER a TYPE text;
ROLLBACK;
ALTER TABLE named ALTER a TYPE text;
EXECUTE all_named;

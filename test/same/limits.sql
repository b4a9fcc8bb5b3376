-- Limits that rows can reach, and input that is refused.  The limit of memory has a server of its own
-- (test/t).

-- Keys: of any length
CREATE TABLE long_key (k text COLLATE "C", n int, PRIMARY KEY (k, n));
INSERT INTO long_key VALUES (repeat('k', 2690), 1);
INSERT INTO long_key VALUES (repeat('k', 2690), 2);
INSERT INTO long_key VALUES (repeat('k', 2800), 1);
UPDATE long_key SET k = repeat(k, 2) WHERE n = 1;
SELECT length(k), n FROM long_key ORDER BY k, n;
SELECT n FROM long_key WHERE k = repeat('k', 2690) AND n = 2;
SELECT n FROM long_key WHERE k = repeat('k', 2800) AND n = 2;
SELECT count(*) FROM long_key WHERE k < repeat('l', 5000);
SELECT count(*) FROM long_key WHERE k > repeat('l', 5000);

-- Values: many megabytes; rows of very many columns
CREATE TABLE big (id int PRIMARY KEY, v text, w bytea);
INSERT INTO big VALUES (1, repeat('x', 50000000), decode(repeat('00', 20000000), 'hex'));
SELECT id, length(v), octet_length(w) FROM big;
UPDATE big SET v = NULL;
SELECT id, length(v), octet_length(w) FROM big;
DROP TABLE big;

DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE wide (' || string_agg(format('c%s int', i), ', ') || ', PRIMARY KEY (c1))'
		FROM generate_series(1, 1600) i);
	EXECUTE (SELECT 'INSERT INTO wide SELECT ' || string_agg('i + ' || i, ', ') || ' FROM generate_series(1, 100) i'
		FROM generate_series(1, 1600) i);
END $$;
SELECT c1, c2, c800, c1600 FROM wide WHERE c1 = 50;
SELECT sum(c1600) FROM wide;
DROP TABLE wide;

DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE keyed (' || string_agg(format('c%s int', i), ', ') || ', PRIMARY KEY (' ||
		string_agg(format('c%s', i), ', ') FILTER (WHERE i <= 32) || '))' FROM generate_series(1, 33) i);
	EXECUTE (SELECT 'INSERT INTO keyed SELECT ' || string_agg('i + ' || i, ', ') || ' FROM generate_series(1, 10) i'
		FROM generate_series(1, 33) i);
END $$;
SELECT count(*), min(c33) FROM keyed WHERE c1 > 5;
ALTER TABLE keyed DROP CONSTRAINT keyed_pkey;
DO $$
BEGIN
	EXECUTE (SELECT 'ALTER TABLE keyed ADD PRIMARY KEY (' || string_agg(format('c%s', i), ', ') || ')' FROM generate_series(1, 33) i);
END $$;

-- A table without columns, and one without rows
CREATE TABLE nothing ();
INSERT INTO nothing DEFAULT VALUES;
INSERT INTO nothing DEFAULT VALUES;
SELECT count(*) FROM nothing;
ALTER TABLE nothing ADD COLUMN id int;
SELECT * FROM nothing;

-- Keys that are not there, and that are there already
CREATE TABLE item (id int PRIMARY KEY, v int NOT NULL);
INSERT INTO item VALUES (1, 1), (NULL, 2);
INSERT INTO item VALUES (1, 1), (2, 2), (1, 3);
INSERT INTO item VALUES (1, 1), (2, 2), (3, 3);
UPDATE item SET id = NULL;
UPDATE item SET id = 2 WHERE id = 1;
UPDATE item SET v = NULL WHERE id = 1;
UPDATE item SET id = id + 10;
SELECT * FROM item ORDER BY id;

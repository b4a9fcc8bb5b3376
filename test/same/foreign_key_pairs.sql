-- Foreign keys from and to tables in memory: the same statements for each pair of kinds of tables.
-- Races are in test/specs.

-- what a statement answers, with all fields of an error
CREATE FUNCTION answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; constr text; tab text; n bigint;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n || ' rows';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		constr = CONSTRAINT_NAME, tab = TABLE_NAME;
	RETURN concat_ws(' | ', state, message, nullif(detail, ''), nullif(tab, ''), nullif(constr, ''));
END $$;

-- runs the script on tables of these kinds and keeps the answers
CREATE TABLE answers (pair text, step int, statement text, answer text) USING heap;
CREATE FUNCTION play(pair text, parent text, child text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	script text[] := ARRAY[
	-- simple
	'CREATE TABLE p (id int PRIMARY KEY, v text) ' || parent,
	'CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p) ' || child,
	'INSERT INTO p VALUES (1, ''one''), (2, ''two''), (3, ''three'')',
	'INSERT INTO c VALUES (1, 1), (2, 2), (3, NULL), (4, 2)',
	'INSERT INTO c VALUES (5, 9)',
	'INSERT INTO c SELECT i, i FROM generate_series(5, 9) i',
	'UPDATE c SET p = 7 WHERE id = 1',
	'UPDATE c SET p = 3 WHERE id = 1',
	'UPDATE c SET id = id + 10 WHERE p = 3',
	'UPDATE c SET p = NULL WHERE id = 4',
	'DELETE FROM p WHERE id = 2',
	'DELETE FROM p WHERE id = 1',
	'UPDATE p SET v = v || ''!''',
	'UPDATE p SET id = 20 WHERE id = 2',
	'UPDATE p SET id = id WHERE id = 2',
	'INSERT INTO p VALUES (2, ''dup'') ON CONFLICT (id) DO UPDATE SET v = ''again''',
	'INSERT INTO p VALUES (2, ''dup'') ON CONFLICT (id) DO UPDATE SET id = 22',
	'INSERT INTO c VALUES (2, 8) ON CONFLICT (id) DO UPDATE SET p = excluded.p',
	'WITH d AS (DELETE FROM c WHERE p = 2 RETURNING 1) DELETE FROM p WHERE id = 2',
	'DELETE FROM c WHERE p = 3',
	'DELETE FROM p WHERE id = 3',
	'TRUNCATE p',
	'TRUNCATE p, c',
	'DROP TABLE p',
	'ALTER TABLE c DROP CONSTRAINT c_p_fkey',
	'INSERT INTO c VALUES (1, 99)',
	'ALTER TABLE c ADD FOREIGN KEY (p) REFERENCES p',
	'ALTER TABLE c ADD CONSTRAINT later FOREIGN KEY (p) REFERENCES p NOT VALID',
	'INSERT INTO c VALUES (2, 98)',
	'ALTER TABLE c VALIDATE CONSTRAINT later',
	'DELETE FROM c WHERE p = 99',
	'ALTER TABLE c VALIDATE CONSTRAINT later',
	'DROP TABLE p CASCADE',
	'INSERT INTO c VALUES (3, 98)',
	'DROP TABLE c',
	-- actions
	'CREATE TABLE p (id int PRIMARY KEY) ' || parent,
	'CREATE TABLE cc (id int, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE) ' || child,
	'CREATE TABLE cn (id int, p int REFERENCES p ON DELETE SET NULL ON UPDATE SET NULL) ' || child,
	'CREATE TABLE cd (id int, p int DEFAULT 1 REFERENCES p ON DELETE SET DEFAULT ON UPDATE SET DEFAULT) ' || child,
	'CREATE TABLE cr (id int, p int REFERENCES p ON DELETE RESTRICT ON UPDATE RESTRICT) ' || child,
	'INSERT INTO p SELECT generate_series(1, 9)',
	'INSERT INTO cc SELECT i, i FROM generate_series(1, 5) i',
	'INSERT INTO cn SELECT i, i FROM generate_series(1, 5) i',
	'INSERT INTO cd SELECT i, i FROM generate_series(1, 5) i',
	'INSERT INTO cr VALUES (1, 5)',
	'DELETE FROM p WHERE id IN (2, 3)',
	'UPDATE p SET id = 40 WHERE id = 4',
	'DELETE FROM p WHERE id = 5',
	'UPDATE p SET id = 50 WHERE id = 5',
	'DELETE FROM p WHERE id = 1',
	'INSERT INTO answers SELECT NULL, NULL, ''cc'', string_agg(cc::text, '' '' ORDER BY id) FROM cc',
	'INSERT INTO answers SELECT NULL, NULL, ''cn'', string_agg(cn::text, '' '' ORDER BY id) FROM cn',
	'INSERT INTO answers SELECT NULL, NULL, ''cd'', string_agg(cd::text, '' '' ORDER BY id) FROM cd',
	'INSERT INTO answers SELECT NULL, NULL, ''p'', string_agg(p::text, '' '' ORDER BY id) FROM p',
	'DROP TABLE cc, cn, cd, cr, p',
	-- several columns, MATCH, types
	'CREATE TABLE p (a int, b text, PRIMARY KEY (a, b)) ' || parent,
	'CREATE TABLE c (x bigint, y varchar, FOREIGN KEY (y, x) REFERENCES p (b, a) ON DELETE SET NULL (y)) ' || child,
	'CREATE TABLE f (x int, y text, CONSTRAINT full_one FOREIGN KEY (x, y) REFERENCES p MATCH FULL ON UPDATE CASCADE) ' || child,
	'INSERT INTO p VALUES (1, ''a''), (1, ''b''), (2, ''a'')',
	'INSERT INTO c VALUES (1, ''a''), (2, NULL), (NULL, ''z''), (NULL, NULL)',
	'INSERT INTO c VALUES (2, ''b'')',
	'INSERT INTO f VALUES (1, ''b''), (NULL, NULL)',
	'INSERT INTO f VALUES (1, NULL)',
	'INSERT INTO f VALUES (3, ''b'')',
	'UPDATE f SET y = NULL WHERE x = 1',
	'UPDATE p SET b = ''bb'' WHERE b = ''b''',
	'DELETE FROM p WHERE a = 1 AND b = ''a''',
	'INSERT INTO answers SELECT NULL, NULL, ''c'', string_agg(c::text, '' '' ORDER BY x, y) FROM c',
	'INSERT INTO answers SELECT NULL, NULL, ''f'', string_agg(f::text, '' '' ORDER BY x, y) FROM f',
	'ALTER TABLE p RENAME COLUMN a TO aa',
	'ALTER TABLE c RENAME COLUMN x TO xx',
	'ALTER TABLE p RENAME TO pp',
	'INSERT INTO c VALUES (5, ''x'')',
	'DELETE FROM pp WHERE aa = 1',
	'ALTER TABLE pp RENAME TO p',
	'DROP TABLE c, f, p',
	-- a unique key that is not the primary one
	'CREATE TABLE p (id int PRIMARY KEY, code text UNIQUE, v int) ' || parent,
	'CREATE TABLE c (code text REFERENCES p (code) ON UPDATE CASCADE) ' || child,
	'INSERT INTO p VALUES (1, ''a''), (2, ''b''), (3, NULL), (4, NULL)',
	'INSERT INTO c VALUES (''a''), (NULL)',
	'INSERT INTO c VALUES (''z'')',
	'UPDATE p SET code = ''aa'' WHERE id = 1',
	'UPDATE p SET id = 10 WHERE id = 1',
	'DELETE FROM p WHERE code = ''aa''',
	'DELETE FROM p WHERE code IS NULL',
	'INSERT INTO answers SELECT NULL, NULL, ''c'', string_agg(c::text, '' '' ORDER BY code) FROM c',
	'DROP TABLE c, p',
	-- other types
	'CREATE TABLE p (id int PRIMARY KEY, v int) ' || parent,
	'CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, up int REFERENCES c) ' || child,
	'INSERT INTO p VALUES (1), (2)',
	'INSERT INTO c VALUES (1, 1, 1), (2, 2, 1)',
	'ALTER TABLE c ADD CONSTRAINT late FOREIGN KEY (p) REFERENCES p NOT VALID',
	'COMMENT ON CONSTRAINT late ON c IS ''late''',
	'ALTER TABLE p ALTER id TYPE bigint',
	'ALTER TABLE c ALTER p TYPE smallint',
	'ALTER TABLE c ALTER id TYPE bigint, ALTER up TYPE bigint',
	'ALTER TABLE p ALTER v TYPE text',
	'ALTER TABLE c ALTER p TYPE text',
	'ALTER TABLE c ALTER p TYPE int USING p + 1',
	'ALTER TABLE c DROP CONSTRAINT late, ALTER p TYPE int',
	'INSERT INTO c VALUES (3, 7, 1)',
	'INSERT INTO c VALUES (3, 1, 9)',
	'DELETE FROM p WHERE id = 2',
	'INSERT INTO answers SELECT NULL, NULL, ''c'', string_agg(c::text, '' '' ORDER BY id) FROM c',
	'INSERT INTO answers SELECT NULL, NULL, ''keys'', string_agg(conname || pg_get_constraintdef(oid), '' '' ORDER BY conname)
		FROM pg_constraint WHERE contype = ''f'' AND conrelid = ''c''::regclass',
	'DROP TABLE c, p',
	-- later
	'CREATE TABLE p (id int PRIMARY KEY) ' || parent,
	'CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED) ' || child,
	'INSERT INTO c VALUES (1)',
	'SET CONSTRAINTS ALL IMMEDIATE',
	'INSERT INTO p VALUES (1)',
	'SET CONSTRAINTS ALL IMMEDIATE',
	'INSERT INTO c VALUES (2)',
	'DELETE FROM p',
	'SET CONSTRAINTS c_p_fkey DEFERRED',
	'DELETE FROM p',
	'SET CONSTRAINTS c_p_fkey IMMEDIATE',
	'INSERT INTO c VALUES (2)',
	'INSERT INTO p VALUES (2)',
	'SET CONSTRAINTS c_p_fkey IMMEDIATE',
	'DELETE FROM c WHERE p = 1',
	'SET CONSTRAINTS c_p_fkey IMMEDIATE',
	'ALTER TABLE c ALTER CONSTRAINT c_p_fkey NOT DEFERRABLE',
	'SET CONSTRAINTS c_p_fkey DEFERRED',
	'INSERT INTO c VALUES (3)',
	'DELETE FROM p',
	'SET CONSTRAINTS ALL DEFERRED',
	'ALTER TABLE c ALTER CONSTRAINT c_p_fkey DEFERRABLE',
	'SET CONSTRAINTS ALL DEFERRED',
	'DELETE FROM p',
	'DELETE FROM c',
	'SET CONSTRAINTS ALL IMMEDIATE',
	'DROP TABLE c, p',
	-- what is refused
	'CREATE TABLE p (id int PRIMARY KEY, v text, w int) ' || parent,
	'CREATE TABLE c (id text, n int) ' || child,
	'ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p',
	'ALTER TABLE c ADD FOREIGN KEY (nobody) REFERENCES p',
	'ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p (nobody)',
	'ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p (w)',
	'ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p (id, w)',
	'ALTER TABLE c ADD FOREIGN KEY (n, n) REFERENCES p (id, id)',
	'ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p (ctid)',
	'ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES nowhere',
	'ALTER TABLE c ADD CONSTRAINT one FOREIGN KEY (n) REFERENCES p',
	'ALTER TABLE c ADD CONSTRAINT one FOREIGN KEY (n) REFERENCES p',
	'ALTER TABLE c ADD COLUMN m int REFERENCES p, ADD CHECK (n > 0)',
	'INSERT INTO c (m) VALUES (3)',
	'INSERT INTO p VALUES (3)',
	'INSERT INTO c (m) VALUES (3)',
	'ALTER TABLE p DROP CONSTRAINT p_pkey',
	'ALTER TABLE p DROP COLUMN id',
	'ALTER TABLE c DROP COLUMN m',
	'DELETE FROM p',
	'ALTER TABLE p DROP CONSTRAINT p_pkey CASCADE',
	'INSERT INTO c (n) VALUES (9)',
	'DROP TABLE c, p'];
BEGIN
	FOR i IN 1 .. array_length(script, 1) LOOP
		INSERT INTO answers VALUES (pair, i, regexp_replace(script[i], '\) [^)]*$', ')'), replace(answer(script[i]), 'foreign table', 'table'));
		UPDATE answers SET pair = play.pair, step = i WHERE answers.pair IS NULL;
	END LOOP;
END $$;
SELECT play('memory', '', '');
SELECT play('to memory', '', 'USING heap');
SELECT play('from memory', 'USING heap', '');
SELECT step, statement, answer FROM answers WHERE pair = 'memory' ORDER BY step, statement;
SELECT a.pair, a.step, a.statement, a.answer AS answer, o.answer AS expected
FROM answers a FULL JOIN answers o ON o.pair = 'memory' AND o.step = a.step AND o.statement = a.statement
WHERE a.pair <> 'memory' AND a.answer IS DISTINCT FROM o.answer ORDER BY 1, 2;
SELECT pair, count(*) FROM answers GROUP BY pair ORDER BY pair;

-- a table that refers to itself
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE, name text);
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 2), (5, 5);
INSERT INTO tree VALUES (6, 7);
UPDATE tree SET id = 20 WHERE id = 2;
SELECT * FROM tree ORDER BY id;
DELETE FROM tree WHERE id = 1;
SELECT * FROM tree ORDER BY id;
DELETE FROM tree;
COPY tree FROM stdin;
1	\N	a
2	1	b
3	9	c
\.
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2);
BEGIN;
SAVEPOINT s;
DELETE FROM tree WHERE id = 2;
SELECT count(*) FROM tree;
ROLLBACK TO s;
SELECT count(*) FROM tree;
COMMIT;

-- rights: REFERENCES to make one; the check reads as the owner of the referenced table
CREATE ROLE fk_owner;
CREATE ROLE fk_other;
CREATE SCHEMA fk AUTHORIZATION fk_other;
GRANT ALL ON SCHEMA fk TO fk_owner;
SET ROLE fk_owner;
CREATE TABLE fk.p (id int PRIMARY KEY, v int);
INSERT INTO fk.p VALUES (1), (2);
SET ROLE fk_other;
CREATE TABLE fk.c (id int, p int REFERENCES fk.p);
RESET ROLE;
GRANT REFERENCES (id) ON fk.p TO fk_other;
SET ROLE fk_other;
CREATE TABLE fk.c (id int, p int);
INSERT INTO fk.c VALUES (1, 1), (2, 3);
ALTER TABLE fk.c ADD FOREIGN KEY (p) REFERENCES fk.p;
DELETE FROM fk.c WHERE id = 2;
ALTER TABLE fk.c ADD FOREIGN KEY (p) REFERENCES fk.p;
INSERT INTO fk.c VALUES (2, 2);
INSERT INTO fk.c VALUES (3, 3);
ALTER TABLE fk.c ADD UNIQUE (p) DEFERRABLE;
INSERT INTO fk.c VALUES (3, 2);
RESET ROLE;
GRANT INSERT ON fk.c TO fk_owner;
SET ROLE fk_owner;
INSERT INTO fk.c VALUES (3, 3);
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA fk CASCADE;
DROP OWNED BY fk_owner, fk_other;
DROP ROLE fk_owner, fk_other;

-- Foreign keys from and to tables in memory: how they are shown, what cannot be, and the functions of
-- their triggers.  What they do is in test/same, races are in test/specs.
SET client_min_messages = warning;
CREATE SERVER foreign_key FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
SET tsurugi_fdw.default_server = foreign_key;
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE, name text) USING tsurugi;
INSERT INTO tree VALUES (1, NULL), (2, 1);

-- catalogs
CREATE TABLE c (id int PRIMARY KEY, t int CONSTRAINT leaf REFERENCES tree (id) ON DELETE SET NULL) USING tsurugi;
CREATE TABLE h (t int REFERENCES tree NOT NULL);
COMMENT ON CONSTRAINT leaf ON c IS 'a leaf';
\d tree
\d c
\d h
SELECT conname, conrelid::regclass, confrelid::regclass, convalidated, pg_get_constraintdef(oid), obj_description(oid)
FROM pg_constraint WHERE contype = 'f' AND conrelid IN ('tree'::regclass, 'c'::regclass, 'h'::regclass) ORDER BY 1;
ALTER TABLE c RENAME CONSTRAINT leaf TO leaves;
INSERT INTO c VALUES (1, 99);
DROP TABLE tree;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'c'::regclass;
ALTER FOREIGN TABLE c DROP CONSTRAINT leaves;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'c'::regclass;

-- partitioned tables: as PostgreSQL shows them (test/same has the rest)
CREATE TABLE whole_p (id int PRIMARY KEY, up int REFERENCES whole_p) PARTITION BY RANGE (id);
CREATE TABLE whole_p1 PARTITION OF whole_p FOR VALUES FROM (0) TO (10) USING tsurugi;
CREATE TABLE whole_p2 PARTITION OF whole_p FOR VALUES FROM (10) TO (20);
CREATE TABLE whole_c (id int, p int REFERENCES whole_p ON DELETE CASCADE) PARTITION BY LIST (id);
CREATE TABLE whole_c1 PARTITION OF whole_c FOR VALUES IN (1) USING tsurugi;
CREATE TABLE whole_c2 PARTITION OF whole_c FOR VALUES IN (2);
\d whole_p
\d whole_p1
\d whole_c1
\d whole_c2
ALTER TABLE whole_p DETACH PARTITION whole_p1;
ALTER TABLE whole_c DETACH PARTITION whole_c1;
\d whole_p1
\d whole_c1
DROP TABLE whole_p1, whole_c1, whole_c, whole_p;

-- not possible
CREATE TEMP TABLE d (t int REFERENCES tree);
CREATE UNLOGGED TABLE u (id int PRIMARY KEY);
CREATE TABLE d (t int REFERENCES u) USING tsurugi;
CREATE VIEW v AS SELECT 1 AS id;
CREATE TABLE d (t int REFERENCES v) USING tsurugi;
CREATE TABLE d (t int, g int GENERATED ALWAYS AS (t) STORED REFERENCES tree ON DELETE SET NULL) USING tsurugi;
SELECT tsurugi.tsurugi_fdw_foreign_key_check();

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

-- the functions of triggers are the extension's own: nobody makes triggers of them, and they take no table but theirs
CREATE TABLE plain (id int PRIMARY KEY, v int);
INSERT INTO plain VALUES (1, 1);
CREATE CONSTRAINT TRIGGER own AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_unique_check();
SELECT answer('INSERT INTO plain VALUES (2, 2)');
DROP TRIGGER own ON plain;
CREATE CONSTRAINT TRIGGER own AFTER UPDATE ON plain FROM tree FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_foreign_key_check();
SELECT answer('UPDATE plain SET v = 2');
DROP TRIGGER own ON plain;
CREATE CONSTRAINT TRIGGER own AFTER DELETE ON plain FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_foreign_key_action();
SELECT answer('DELETE FROM plain');
DROP TRIGGER own ON plain;
CREATE TRIGGER own BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_unique_check();
SELECT answer('INSERT INTO plain VALUES (2, 2)');
DROP TRIGGER own ON plain;
CREATE TRIGGER own AFTER INSERT ON tree FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_unique_check();
SELECT answer('INSERT INTO tree VALUES (99, NULL)');
DROP TRIGGER own ON tree;
SELECT count(*) FROM tsurugi.tables WHERE relation = 'plain';
SELECT * FROM plain;
CREATE ROLE fk_nobody;
GRANT CREATE ON SCHEMA public TO fk_nobody;
SET ROLE fk_nobody;
CREATE TABLE nobodys (id int);
CREATE CONSTRAINT TRIGGER own AFTER INSERT ON nobodys FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_unique_check();
CREATE CONSTRAINT TRIGGER own AFTER INSERT ON nobodys FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_foreign_key_check();
CREATE CONSTRAINT TRIGGER own AFTER INSERT ON nobodys FOR EACH ROW EXECUTE FUNCTION tsurugi.tsurugi_fdw_foreign_key_action();
SELECT tsurugi.tsurugi_fdw_validator('{}', 0);
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM fk_nobody;
DROP TABLE plain, nobodys;
DROP ROLE fk_nobody;

SET client_min_messages = warning;
DROP SERVER foreign_key CASCADE;
DROP TABLE u, h;
DROP VIEW v;
DROP FUNCTION answer;

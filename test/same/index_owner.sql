-- Functions in a table's indexes run as the table's owner, whoever maintains the table.
CREATE ROLE index_owner;
CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN ASSERT current_user = 'index_owner', format('f(%s) called by %s', $1, current_user); RETURN $1; END $$;
CREATE TABLE t (a int PRIMARY KEY);
ALTER TABLE t OWNER TO index_owner;
INSERT INTO t VALUES (1), (2), (3);
CREATE INDEX i ON t ((f(a) + f(0))) WHERE f(a + 10) > f(10);
DROP INDEX i;
CREATE INDEX CONCURRENTLY i ON t ((f(a) + f(0))) WHERE f(a + 10) > f(10);
REINDEX TABLE t;
REINDEX INDEX i;
REINDEX TABLE CONCURRENTLY t;
CLUSTER t USING t_pkey;
VACUUM FULL t;
ALTER TABLE t ALTER a TYPE int USING a + 0;
ANALYZE t;
SET ROLE index_owner;
INSERT INTO t VALUES (4);
SELECT a FROM t WHERE f(a) + f(0) = 4 AND f(a + 10) > f(10);
RESET ROLE;
SET search_path = pg_catalog, public;
REINDEX TABLE public.t;
SHOW search_path;
SELECT current_user;
ALTER TABLE t OWNER TO CURRENT_USER;
DROP INDEX i;
DROP ROLE index_owner;

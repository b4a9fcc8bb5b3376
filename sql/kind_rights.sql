-- Rights that the areas of Tsurugi's kinds ask for: which ones, whose, and in which moment.
SET client_min_messages = warning;
CREATE SERVER kind_rights FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE ROLE kr_owner;
CREATE ROLE kr_caller;
RESET client_min_messages;
CREATE SCHEMA kind_rights;
GRANT USAGE ON SCHEMA kind_rights, tsurugi TO kr_owner, kr_caller;
SET search_path = kind_rights;
CREATE FOREIGN TABLE secret (id int PRIMARY KEY, v int) SERVER kind_rights;
CREATE FOREIGN TABLE common (id int PRIMARY KEY, v int) SERVER kind_rights;
CREATE FOREIGN TABLE read (id int PRIMARY KEY) SERVER kind_rights;
ALTER FOREIGN TABLE secret OWNER TO kr_owner;
ALTER FOREIGN TABLE common OWNER TO kr_owner;
ALTER FOREIGN TABLE read OWNER TO kr_owner;
GRANT SELECT ON common, read TO kr_caller;
-- what others run with the owner's rights; the first access to a table may be in any of them
CREATE FUNCTION first_access() RETURNS bigint LANGUAGE sql SECURITY DEFINER
	AS 'SELECT count(*) FROM kind_rights.read';
CREATE FUNCTION with_setting() RETURNS bigint LANGUAGE sql SECURITY DEFINER
	SET tsurugi_fdw.write_preserve = 'kind_rights.secret' AS 'SELECT count(*) FROM kind_rights.read';
CREATE FUNCTION sets_and_leaves() RETURNS text LANGUAGE sql SECURITY DEFINER
	SET tsurugi_fdw.write_preserve = 'kind_rights.secret' AS 'SELECT current_user::text';
CREATE FUNCTION adds_range() RETURNS boolean LANGUAGE sql SECURITY DEFINER
	AS $$SELECT tsurugi.write_preserve_range('kind_rights.common', '{1}', '{2}') IS NOT NULL$$;
CREATE FUNCTION lends() RETURNS text LANGUAGE sql SECURITY DEFINER
	AS $$SELECT set_config('tsurugi_fdw.write_preserve', 'kind_rights.secret', true)$$;
ALTER FUNCTION first_access() OWNER TO kr_owner;
ALTER FUNCTION with_setting() OWNER TO kr_owner;
ALTER FUNCTION sets_and_leaves() OWNER TO kr_owner;
ALTER FUNCTION adds_range() OWNER TO kr_owner;
ALTER FUNCTION lends() OWNER TO kr_owner;
CREATE VIEW own AS SELECT kind, write_preserve FROM tsurugi.transactions WHERE pid = pg_backend_pid();

-- whoever keeps everybody's writes out needs a right that LOCK TABLE in such a mode asks for
SET ROLE kr_caller;
SET tsurugi_fdw.transaction_type = long;
SET tsurugi_fdw.write_preserve = common;
SELECT first_access();
RESET ROLE;
GRANT INSERT (id), UPDATE (v) ON common TO kr_caller;
SET ROLE kr_caller;
SELECT first_access();
SELECT tsurugi.tg_set_write_preserve('common');
SELECT tsurugi.write_preserve_range('common', '{1}', '{2}');
RESET ROLE;
GRANT INSERT ON common TO kr_caller;
SET ROLE kr_caller;
SELECT first_access();
RESET ROLE;
GRANT TRUNCATE ON common TO kr_caller;
SET ROLE kr_caller;
SELECT first_access();
RESET ROLE;
REVOKE TRUNCATE ON common FROM kr_caller;
GRANT DELETE ON common TO kr_caller;
SET ROLE kr_caller;
SELECT first_access();

-- the rights of the role that has set it count, wherever the first access is
SET tsurugi_fdw.write_preserve = secret;
SELECT first_access();
SELECT count(*) FROM read;
SELECT with_setting();
BEGIN;
SELECT sets_and_leaves();
SELECT first_access();
ROLLBACK;
BEGIN;
SELECT lends();
SELECT count(*) FROM read;
RESET ROLE;
TABLE own;
ROLLBACK;
SELECT first_access();
SELECT adds_range();
SET tsurugi_fdw.write_preserve = common;
BEGIN;
SELECT adds_range();
SELECT count(*) FROM read;
RESET ROLE;
TABLE own;
ROLLBACK;
SET tsurugi_fdw.write_preserve = '';
SET tsurugi_fdw.inclusive_read_areas = secret;
SELECT first_access();
SET tsurugi_fdw.inclusive_read_areas = '';
SET tsurugi_fdw.exclusive_read_areas = secret;
SELECT first_access();
RESET ROLE;
SET tsurugi_fdw.exclusive_read_areas = '';
-- as does its way to the table
SET tsurugi_fdw.write_preserve = secret;
SET ROLE kr_caller;
SELECT first_access();
RESET ROLE;
REVOKE USAGE ON SCHEMA kind_rights FROM kr_caller;
SET ROLE kr_caller;
SET tsurugi_fdw.write_preserve = 'kind_rights.common';
RESET ROLE;
SELECT count(*) FROM read;
GRANT USAGE ON SCHEMA kind_rights TO kr_caller;
SELECT count(*) FROM read;

-- what nobody has set in the session is the session user's
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET tsurugi_fdw.write_preserve = %L', current_database(), 'kind_rights.secret'); END $$;
\c -
SET search_path = kind_rights;
SET tsurugi_fdw.transaction_type = long;
SET ROLE kr_caller;
SHOW tsurugi_fdw.write_preserve;
SELECT count(*) FROM read;
SET tsurugi_fdw.write_preserve = 'kind_rights.secret';
SELECT count(*) FROM read;
RESET tsurugi_fdw.write_preserve;
SELECT count(*) FROM read;
RESET ROLE;
SET SESSION AUTHORIZATION kr_caller;
SELECT count(*) FROM read;
RESET SESSION AUTHORIZATION;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET tsurugi_fdw.write_preserve', current_database()); END $$;
ALTER ROLE kr_caller SET tsurugi_fdw.write_preserve = 'kind_rights.secret';

RESET tsurugi_fdw.transaction_type;
SET client_min_messages = warning;
DROP SCHEMA kind_rights CASCADE;
DROP SERVER kind_rights CASCADE;
DROP OWNED BY kr_owner, kr_caller;
DROP ROLE kr_owner, kr_caller;

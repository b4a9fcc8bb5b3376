-- CREATE and ALTER of tables in memory: how their keys and columns are shown, what is refused of options
-- and servers, event triggers, tables of other wrappers.  The rest is in test/same.

CREATE SERVER ddl FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE SERVER IF NOT EXISTS ddl FOREIGN DATA WRAPPER tsurugi_fdw;

-- Forms of CREATE
CREATE FOREIGN TABLE in_column (id bigint PRIMARY KEY, v text DEFAULT 'none') SERVER ddl;
CREATE FOREIGN TABLE named (a int CONSTRAINT named_key PRIMARY KEY, b int CHECK (b > 0)) SERVER ddl;
CREATE FOREIGN TABLE pair (a int, b text, c int, CONSTRAINT pair_key PRIMARY KEY (b, a)) SERVER ddl;
CREATE FOREIGN TABLE numbered (id serial PRIMARY KEY NOT DEFERRABLE, g int GENERATED ALWAYS AS (id * 2) STORED) SERVER ddl;
CREATE FOREIGN TABLE included (id int, v int, PRIMARY KEY (id) INCLUDE (v) WITH (fillfactor = 50)) SERVER ddl;
\d in_column
\d named
\d pair
\d numbered
\d included
CREATE FOREIGN TABLE IF NOT EXISTS pair (a int PRIMARY KEY) SERVER ddl;
CREATE FOREIGN TABLE pair (a int PRIMARY KEY) SERVER ddl;
CREATE FUNCTION make_table() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE FOREIGN TABLE made (id int PRIMARY KEY) SERVER ddl;
END $$;
SELECT make_table();
DROP FOREIGN TABLE made;
SELECT make_table();
\d made
CREATE TABLE elder (id int);
CREATE FOREIGN TABLE child (v int, PRIMARY KEY (id)) INHERITS (elder) SERVER ddl;
\d child
DROP TABLE elder CASCADE;
CREATE TABLE parent (id int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part_1 PARTITION OF parent (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (10) SERVER ddl;
ALTER TABLE parent ADD COLUMN n int DEFAULT 5;
\d part_1
DROP TABLE parent;

-- What is refused
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (host 'x');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (fillfactor '5');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS ("host.fillfactor" '50');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER ddl OPTIONS (persistence 'temporary');
CREATE FOREIGN TABLE bad (id int OPTIONS (fillfactor '50') PRIMARY KEY) SERVER ddl;
CREATE SERVER bad FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (host 'x');
CREATE FOREIGN TABLE bad (id int PRIMARY KEY) SERVER nowhere;
SELECT count(*) FROM pg_class WHERE relname LIKE 'bad%';

-- ALTER
ALTER FOREIGN TABLE named ADD COLUMN c text DEFAULT 'none', ADD COLUMN e int NOT NULL DEFAULT 3, DROP CONSTRAINT named_key;
ALTER FOREIGN TABLE ONLY named ADD CONSTRAINT named_again PRIMARY KEY (e);
\d named
ALTER FOREIGN TABLE named DROP COLUMN e;
\d named
CREATE SCHEMA elsewhere;
ALTER FOREIGN TABLE pair SET SCHEMA elsewhere;
ALTER FOREIGN TABLE elsewhere.pair RENAME COLUMN a TO aa;
\d elsewhere.pair
DROP SCHEMA elsewhere CASCADE;

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

SET client_min_messages = warning;
DROP SERVER ddl CASCADE;
DROP FUNCTION make_table(), tell();

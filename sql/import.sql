-- IMPORT FOREIGN SCHEMA; tg_show_tables and tg_verify_tables; sizes.
SET client_min_messages = warning;
CREATE SERVER import_server FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE SCHEMA import_from;
CREATE SCHEMA import_to;
CREATE TABLE import_from.a (k int PRIMARY KEY, v text DEFAULT 'v' CHECK (v <> ''), i int GENERATED ALWAYS AS IDENTITY, g int GENERATED ALWAYS AS (k * 2) STORED);
COMMENT ON COLUMN import_from.a.v IS 'a value';
INSERT INTO import_from.a (k) SELECT generate_series(1, 5);
CREATE TABLE import_from.parted (k int, "Quoted" text) PARTITION BY RANGE (k);
CREATE TABLE import_from.part PARTITION OF import_from.parted FOR VALUES FROM (0) TO (10);
INSERT INTO import_from.parted VALUES (1, 'one'), (2, NULL);
CREATE VIEW import_from.v AS SELECT k, g FROM import_from.a WHERE k > 3;
CREATE SEQUENCE import_from.s;
CREATE FOREIGN TABLE import_from.ours (k int) SERVER import_server;
INSERT INTO import_from.ours VALUES (7);

IMPORT FOREIGN SCHEMA nowhere FROM SERVER import_server INTO import_to;
IMPORT FOREIGN SCHEMA import_from FROM SERVER import_server INTO import_to OPTIONS (nothing 'x');
IMPORT FOREIGN SCHEMA import_from LIMIT TO (a) FROM SERVER import_server INTO import_to OPTIONS (data 'x');
IMPORT FOREIGN SCHEMA import_from FROM SERVER import_server INTO import_to;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'import_to'::regnamespace AND relkind IN ('f', 'r') ORDER BY 1;
\d import_to.a
SELECT count(*) FROM import_to.a;
SELECT col_description('import_to.a'::regclass, 2);
IMPORT FOREIGN SCHEMA import_from FROM SERVER import_server INTO import_to;

SELECT tsurugi.tg_show_tables('import_to', 'import_server', 'detail');
SELECT tsurugi.tg_show_tables('import_to', 'import_server', 'summary', false);
SELECT tsurugi.tg_show_tables('any other name', 'import_server', pretty => false, mode => 'DETAIL');
SELECT tsurugi.tg_verify_tables('import_from', 'import_server', 'import_to', 'detail');
ALTER TABLE import_to.ours ADD COLUMN more int;
SELECT tsurugi.tg_verify_tables('import_from', 'import_server', 'import_to', pretty => false);
SELECT tsurugi.tg_verify_tables('import_to', 'import_server', 'import_to', 'detail', false) -> 'verification' -> 'available_foreign_table';
SELECT tsurugi.tg_show_tables();
SELECT tsurugi.tg_show_tables('import_to');
SELECT tsurugi.tg_show_tables('import_to', 'nowhere');
SELECT tsurugi.tg_show_tables('import_to', 'import_server', 'all');
SELECT tsurugi.tg_show_tables('import_to', 'import_server', 'summary', NULL);
SELECT tsurugi.tg_verify_tables('import_to', 'import_server', 'nowhere');
SELECT tsurugi.tg_verify_tables('import_to', 'import_server');

-- with their rows
DROP SCHEMA import_to CASCADE;
CREATE SCHEMA import_to;
IMPORT FOREIGN SCHEMA import_from EXCEPT (v) FROM SERVER import_server INTO import_to OPTIONS (data 'true');
SELECT * FROM import_to.a ORDER BY k;
INSERT INTO import_to.a (k) VALUES (6) RETURNING *;
SELECT tableoid::regclass, * FROM import_to.parted ORDER BY k;
SELECT * FROM import_to.ours;
IMPORT FOREIGN SCHEMA import_from LIMIT TO (part, v) FROM SERVER import_server INTO import_to OPTIONS (data 'true');
SELECT * FROM import_to.part ORDER BY k;
SELECT * FROM import_to.v ORDER BY k;

-- sizes
SELECT tsurugi.table_size('import_to.a') > 0, tsurugi.table_size('import_from.a');
SELECT tsurugi.table_size('import_to.a') = total_bytes FROM tsurugi.tables WHERE relation = 'import_to.a';

SET client_min_messages = warning;
DROP SCHEMA import_from, import_to CASCADE;
DROP SERVER import_server;

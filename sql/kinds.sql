-- Tsurugi's kinds of transactions in one session: how one is chosen, what it may do, what is
-- refused.  What others do meanwhile is in test/specs.
SET client_min_messages = warning;
CREATE SERVER kinds FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE SCHEMA kinds;
SET search_path = kinds, public, tsurugi;
CREATE FOREIGN TABLE contract (id int PRIMARY KEY, v int) SERVER kinds;
CREATE FOREIGN TABLE history (contract int, day date, amount numeric(6,2), PRIMARY KEY (contract, day)) SERVER kinds;
CREATE FOREIGN TABLE named (name text COLLATE "und-x-icu" PRIMARY KEY, v int) SERVER kinds;
CREATE FOREIGN TABLE searched (words tsvector PRIMARY KEY) SERVER kinds;
CREATE FOREIGN TABLE keyless (v int) SERVER kinds;
CREATE TABLE ordinary (id int PRIMARY KEY, v int);
CREATE TABLE parent (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF parent FOR VALUES FROM (0) TO (100) SERVER kinds;
CREATE FOREIGN TABLE high PARTITION OF parent FOR VALUES FROM (100) TO (200) SERVER kinds;
INSERT INTO contract SELECT i, 0 FROM generate_series(1, 5) i;
CREATE VIEW own AS SELECT kind, label, isolation, read_only, state, writes, write_preserve
	FROM tsurugi.transactions WHERE pid = pg_backend_pid();

-- choosing
\a
SELECT tg_show_transaction();
SELECT tg_set_transaction('OCC');
SELECT tg_set_transaction('long', '7', 'nightly batch');
SELECT tg_set_write_preserve('contract', 'Public.nothing');
SELECT tg_set_write_preserve('contract', 'kinds.history');
SELECT tg_set_inclusive_read_areas('contract');
SELECT tg_set_exclusive_read_areas('history');
SELECT tg_set_transaction('LTX');
SELECT tg_set_transaction('RTX', 'default');
SELECT tg_set_transaction('default');
SELECT tg_set_transaction('wait');
SELECT tg_set_transaction('short', 'interrupt');
SELECT tg_set_transaction('long', 'WAIT_EXCLUDE');
SELECT tg_set_transaction('long', 'high');
SELECT tg_set_transaction('long', '1000');
SELECT tg_set_transaction('long', 'default', '');
SELECT tg_set_transaction('long', 'default', repeat('x', 64));
SELECT tg_set_transaction('short', '1');
SELECT tg_set_write_preserve('ordinary');
SELECT tg_set_write_preserve(NULL::text);
SELECT tg_set_write_preserve('contract', 'a.b.c.d');
SELECT tg_show_transaction();
-- ranges of keys
SELECT write_preserve_range('contract', '{10}', '{20}');
SELECT write_preserve_range('history', '{1,2024-01-01}', '{1}', '[]');
SELECT write_preserve_range('history', NULL, '{7}', '()');
SHOW tsurugi_fdw.write_preserve;
SELECT write_preserve_range('contract', '{1,2}', '{20}');
SELECT write_preserve_range('contract', '{x}', '{20}');
SELECT write_preserve_range('contract', '{NULL}', '{20}');
SELECT write_preserve_range('contract', '{}', '{20}');
SELECT write_preserve_range('contract', '{1}', '{20}', '[}');
SELECT write_preserve_range('searched', '{a}', '{b}');
SELECT write_preserve_range('keyless', '{1}', '{2}');
SELECT write_preserve_range('ordinary', '{1}', '{2}');
SELECT write_preserve_range('parent', '{1}', '{2}');
SELECT write_preserve_range(0, '{1}', '{2}');
\a
-- settings: as any other
SET tsurugi_fdw.transaction_type = 'ltx';
SHOW tsurugi_fdw.transaction_type;
SET tsurugi_fdw.transaction_type = 'epoch';
SET tsurugi_fdw.write_preserve = contract, history;
SHOW tsurugi_fdw.write_preserve;
BEGIN;
SELECT tg_set_transaction('short')::text <> '' AS set;
ROLLBACK;
SHOW tsurugi_fdw.transaction_type;
BEGIN;
SET LOCAL tsurugi_fdw.write_preserve = 'contract [{1},';
SELECT * FROM contract;
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.write_preserve = 'nothing';
SELECT * FROM contract;
ROLLBACK;
RESET tsurugi_fdw.transaction_type;
RESET tsurugi_fdw.write_preserve;

-- LONG
BEGIN;
SELECT tg_set_transaction('long', '5', 'batch')::text <> '' AS set;
SELECT tg_set_write_preserve('contract', 'parent')::text <> '' AS set;
TABLE own;
SELECT count(*) FROM contract;
TABLE own;
UPDATE contract SET v = v + 1 WHERE id <= 2 RETURNING *;
INSERT INTO contract VALUES (6, 6);
INSERT INTO contract VALUES (1, 6) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
DELETE FROM contract WHERE id = 5;
SAVEPOINT s;
UPDATE contract SET v = -1;
ROLLBACK TO s;
INSERT INTO parent VALUES (1, 1), (101, 1);
SELECT * FROM contract ORDER BY id;
TABLE own;
-- too late for this one: it is for the next
SELECT tg_set_transaction('short')::text <> '' AS set;
TABLE own;
SAVEPOINT s;
INSERT INTO history VALUES (1, '2024-01-01', 1);
ROLLBACK TO s;
TRUNCATE contract;
ROLLBACK TO s;
COMMIT;
SELECT * FROM contract ORDER BY id;
SELECT tg_show_transaction();
BEGIN;
SELECT count(*) FROM contract;
TABLE own;
COMMIT;
-- within ranges only, before and after a change of the key
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = 'contract [{1},{3}], history ({1,2024-01-31},{1}]';
INSERT INTO history VALUES (1, '2024-02-01', 1);
SAVEPOINT s;
INSERT INTO history VALUES (1, '2024-01-31', 1);
ROLLBACK TO s;
INSERT INTO history VALUES (2, '2024-02-01', 1);
ROLLBACK TO s;
UPDATE contract SET v = 5;
ROLLBACK TO s;
UPDATE contract SET id = 30 WHERE id = 3;
ROLLBACK TO s;
DELETE FROM contract WHERE id = 6;
ROLLBACK TO s;
UPDATE contract SET v = 5 WHERE id BETWEEN 2 AND 3;
DELETE FROM contract WHERE id = 1;
INSERT INTO contract VALUES (1, 1);
TABLE own;
COMMIT;
SELECT * FROM contract ORDER BY id;
-- by COPY, and begun in a subtransaction that is taken back: the tables stay locked
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = contract;
SAVEPOINT s;
COPY contract FROM stdin;
40	0
\.
ROLLBACK TO s;
SELECT kind, write_preserve FROM own;
SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'contract'::regclass;
INSERT INTO contract VALUES (41, 0);
ROLLBACK;
-- declared reads
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = contract;
SET LOCAL tsurugi_fdw.inclusive_read_areas = 'history [{1},{1}]';
SELECT count(*) FROM history WHERE contract = 1;
SELECT count(*) FROM contract;
SAVEPOINT s;
SELECT count(*) FROM history WHERE contract = 2;
ROLLBACK TO s;
SELECT count(*) FROM history;
ROLLBACK TO s;
SELECT count(*) FROM low;
ROLLBACK;
-- as another role: rights
CREATE ROLE kinds_role;
GRANT USAGE ON SCHEMA kinds TO kinds_role;
GRANT SELECT ON contract, history TO kinds_role;
GRANT UPDATE ON contract TO kinds_role;
SET ROLE kinds_role;
SELECT tg_set_write_preserve('contract')::text <> '' AS set;
SELECT tg_set_write_preserve('history');
SELECT tg_set_inclusive_read_areas('keyless');
SET tsurugi_fdw.write_preserve = history;
SET tsurugi_fdw.transaction_type = long;
SELECT count(*) FROM contract;
RESET tsurugi_fdw.write_preserve;
RESET tsurugi_fdw.transaction_type;
RESET ROLE;
-- who only reads, and ordinary tables beside
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SELECT count(*) FROM contract;
INSERT INTO ordinary VALUES (1, 1);
SELECT * FROM ordinary;
UPDATE contract SET v = 0;
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = contract;
INSERT INTO ordinary VALUES (1, 1);
UPDATE contract SET v = 0;
COMMIT;

-- READ ONLY
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = read_only;
SELECT count(*) FROM contract;
SHOW transaction_read_only;
TABLE own;
UPDATE contract SET v = 0;
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = rtx;
INSERT INTO contract VALUES (50, 0);
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = rtx;
SAVEPOINT s;
SELECT count(*) FROM contract;
ROLLBACK TO s;
INSERT INTO contract VALUES (50, 0);
ROLLBACK;
BEGIN READ ONLY DEFERRABLE;
SET LOCAL tsurugi_fdw.transaction_type = rtx;
SET LOCAL tsurugi_fdw.exclusive_read_areas = history;
SELECT count(*) FROM contract;
SELECT count(*) FROM history;
COMMIT;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = rtx;
SELECT count(*) FROM contract;
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SELECT count(*) FROM contract;
PREPARE TRANSACTION 'kinds';

-- SHORT
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = short;
SET LOCAL tsurugi_fdw.transaction_label = 'quick';
SELECT count(*) FROM contract;
UPDATE contract SET v = v + 1 WHERE id = 2 RETURNING *;
TABLE own;
COMMIT;
-- the other levels beside
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT tg_set_transaction('long', 'default', 'late')::text <> '' AS set;
SELECT tg_set_write_preserve('contract')::text <> '' AS set;
UPDATE contract SET v = v + 1 WHERE id = 2 RETURNING *;
TABLE own;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT tg_set_transaction('short')::text <> '' AS set;
UPDATE contract SET v = v + 1 WHERE id = 2 RETURNING *;
COMMIT;
SELECT tg_set_transaction('default')::text <> '' AS set;
SET tsurugi_fdw.transaction_priority = 1;
SELECT count(*) FROM contract;
RESET tsurugi_fdw.transaction_priority;

-- a savepoint in which it has begun does not end it
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = read_only;
SAVEPOINT s;
SELECT count(*) FROM contract;
RELEASE s;
INSERT INTO ordinary VALUES (9, 9);
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = read_only;
SAVEPOINT s;
SELECT count(*) FROM contract;
ROLLBACK TO s;
CREATE TABLE made (id int);
ROLLBACK;

-- who replaces a table's rows is of the kind, too, though it accesses none
SET tsurugi_fdw.transaction_type = read_only;
TRUNCATE contract;
VACUUM FULL contract;
SET tsurugi_fdw.transaction_type = long;
TRUNCATE contract;
ALTER TABLE contract ALTER v TYPE bigint;
RESET tsurugi_fdw.transaction_type;

-- for a role
ALTER ROLE kinds_role SET tsurugi_fdw.transaction_type = long;
SELECT rolconfig FROM pg_roles WHERE rolname = 'kinds_role';

SET client_min_messages = warning;
DROP SERVER kinds CASCADE;
DROP SCHEMA kinds CASCADE;
DROP ROLE kinds_role;

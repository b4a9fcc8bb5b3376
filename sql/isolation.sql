-- SERIALIZABLE transactions that write both kinds of tables.  What one transaction sees of itself at
-- each level is in test/same, what others do meanwhile in test/specs.
SET client_min_messages = warning;
CREATE SERVER isolation FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE account (id int PRIMARY KEY, v int) SERVER isolation;
CREATE TABLE ordinary (id int PRIMARY KEY, v int);
INSERT INTO account SELECT i, 0 FROM generate_series(1, 5) i;

BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO ordinary VALUES (1, 1);
UPDATE account SET v = 0 WHERE id = 1;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
COPY ordinary FROM stdin;
1	1
\.
DELETE FROM account WHERE id = 1;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO ordinary VALUES (1, 1);
SELECT count(*) FROM account;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL tsurugi_fdw.serializable_mixed = relaxed;
UPDATE ordinary SET v = 2;
UPDATE account SET v = 2 WHERE id = 1;
COMMIT;
SELECT ordinary.v, account.v FROM ordinary JOIN account USING (id);

SET client_min_messages = warning;
DROP TABLE ordinary;
DROP SERVER isolation CASCADE;

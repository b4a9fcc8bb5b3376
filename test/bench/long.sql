-- Contracts and their history, in schemas heap and ours: online clients insert
-- history and change contracts, a batch reads all and writes a result for each.
-- A contract's total is the sum of its history, at every moment.
-- psql variables contracts: how many, each with ten of history; kept: UNLOGGED or nothing, of ordinary tables.
\set ON_ERROR_STOP on
CREATE :kept TABLE heap.contract (id int PRIMARY KEY, total bigint);
CREATE :kept TABLE heap.contract_history (contract int, n bigint, amount int, PRIMARY KEY (contract, n));
CREATE :kept TABLE heap.result (contract int PRIMARY KEY, total bigint, summed bigint);
CREATE FOREIGN TABLE ours.contract (id int PRIMARY KEY, total bigint) SERVER tsurugi;
CREATE FOREIGN TABLE ours.contract_history (contract int, n bigint, amount int, PRIMARY KEY (contract, n)) SERVER tsurugi;
CREATE FOREIGN TABLE ours.result (contract int PRIMARY KEY, total bigint, summed bigint) SERVER tsurugi;
INSERT INTO heap.contract SELECT i, 55 FROM generate_series(1, :contracts) i;
INSERT INTO heap.contract_history SELECT i, n, n FROM generate_series(1, :contracts) i, generate_series(1, 10) n;
INSERT INTO ours.contract TABLE heap.contract;
INSERT INTO ours.contract_history TABLE heap.contract_history;
VACUUM ANALYZE heap.contract, heap.contract_history;
ANALYZE ours.contract, ours.contract_history;

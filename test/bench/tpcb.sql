-- The four pgbench tables in schema ours, after those that pgbench -i made in heap.
\set ON_ERROR_STOP on
CREATE FOREIGN TABLE ours.pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88)) SERVER tsurugi;
CREATE FOREIGN TABLE ours.pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84)) SERVER tsurugi;
CREATE FOREIGN TABLE ours.pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84)) SERVER tsurugi;
CREATE FOREIGN TABLE ours.pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)) SERVER tsurugi;
INSERT INTO ours.pgbench_branches SELECT * FROM heap.pgbench_branches;
INSERT INTO ours.pgbench_tellers SELECT * FROM heap.pgbench_tellers;
INSERT INTO ours.pgbench_accounts SELECT * FROM heap.pgbench_accounts;
ANALYZE ours.pgbench_branches, ours.pgbench_tellers, ours.pgbench_accounts;

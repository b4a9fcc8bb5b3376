-- 11. The runtime from inside: memory, workers and what they did, tables.
SELECT * FROM tsurugi.memory;
SELECT * FROM tsurugi.workers;
SELECT * FROM tsurugi.tables;

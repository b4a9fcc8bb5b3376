-- Plans of prepared statements that keep their executor state, shown between executions that use it.
-- What the statements do, and which of them keep their state, is in test/same.
SET client_min_messages = warning;
CREATE SERVER prepared FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE item (id int PRIMARY KEY, v int, name text) SERVER prepared;
INSERT INTO item SELECT i, i * 10, 'name ' || i FROM generate_series(1, 100) i;
SET plan_cache_mode = force_generic_plan;
PREPARE look (int) AS SELECT v, name FROM item WHERE id = $1;
PREPARE up (int, int) AS UPDATE item SET v = v + $2 WHERE id = $1;
PREPARE ins (int, int, text) AS INSERT INTO item VALUES ($1, $2, upper($3));
EXECUTE look(1);
EXECUTE look(2);
EXECUTE up(7, 1);
EXECUTE up(7, 1);
EXECUTE ins(101, 1, 'a');
EXECUTE ins(102, 1, 'b');

EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE look(2);
EXPLAIN (COSTS OFF) EXECUTE look(2);
EXECUTE look(2);
EXPLAIN (COSTS OFF) EXECUTE up(7, 1);
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE up(7, 1);
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE ins(131, 1, 'explained');
EXECUTE up(7, 1);
EXECUTE ins(132, 1, 'next');
SELECT * FROM item WHERE id = 7 OR id > 100 ORDER BY id;

DROP FOREIGN TABLE item;
DROP SERVER prepared;

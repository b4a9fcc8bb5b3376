-- Jobs of queries: what EXPLAIN shows of them, when they are chosen, and when their fallback runs.
CREATE SERVER jobs FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE FOREIGN TABLE orders (id int PRIMARY KEY, customer int, day date, total numeric(12,2), status char(1)) SERVER jobs;
CREATE FOREIGN TABLE items (order_id int, part text, price numeric(12,2), count int) SERVER jobs;
CREATE FOREIGN TABLE few (id int, name text) SERVER jobs;
CREATE TABLE ordinary (id int);
INSERT INTO orders SELECT g, g % 100, date '2024-01-01' + g % 366, g * 1.5, chr(65 + g % 3) FROM generate_series(1, 20000) g;
INSERT INTO items SELECT g % 20000, 'part ' || g % 50, g % 100 + 0.25, g % 7 FROM generate_series(1, 60000) g;
INSERT INTO few VALUES (1, 'one'), (2, 'two'), (3, 'three');
ANALYZE orders, items, few;
CREATE FUNCTION fallback(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		IF line LIKE '%Fallback:%' THEN
			RETURN substr(line, strpos(line, ': ') + 2);
		END IF;
	END LOOP;
END $$;

-- chosen by cost
EXPLAIN (COSTS off) SELECT status, count(*) FROM orders GROUP BY status;
-- as many groups as rows
EXPLAIN (COSTS off) SELECT total, count(*), max(day) FROM orders GROUP BY total;
EXPLAIN (COSTS off) SELECT count(*) FROM few;
EXPLAIN (COSTS off) SELECT count(*) FROM orders WHERE id = 7;
SET tsurugi_fdw.jobs = off;
EXPLAIN (COSTS off) SELECT status, count(*) FROM orders GROUP BY status;
SET tsurugi_fdw.jobs = force;
EXPLAIN (COSTS off) SELECT count(*) FROM few;
EXPLAIN (COSTS off) SELECT count(*) FROM orders WHERE id = 7;

-- a join by a key of two columns has more rows than PostgreSQL expects, which nested loops cost
CREATE FOREIGN TABLE stock (part int, place int, kind int, PRIMARY KEY (part, place)) SERVER jobs;
CREATE FOREIGN TABLE sales (part int, place int, order_id int, amount int) SERVER jobs;
CREATE INDEX ON sales (part, place);
INSERT INTO stock SELECT g / 4, g % 4 * 500 + g / 4 % 500, g % 50 FROM generate_series(0, 7999) g;
INSERT INTO sales SELECT g / 4 % 2000, g % 4 * 500 + g / 4 % 2000 % 500, g % 20000, g % 10 FROM generate_series(0, 59999) g;
ANALYZE stock, sales;
SET tsurugi_fdw.jobs = on;
EXPLAIN (COSTS off) SELECT o.status, sum(x.amount) FROM stock s JOIN sales x ON x.part = s.part AND x.place = s.place JOIN orders o ON o.id = x.order_id WHERE s.kind < 3 GROUP BY o.status;
DROP FOREIGN TABLE stock, sales;
SET tsurugi_fdw.jobs = force;

-- steps
EXPLAIN (COSTS off) SELECT status, sum(total) FROM orders WHERE day < '2024-03-01' AND customer <> 7 GROUP BY status HAVING sum(total) > 10 ORDER BY 2 DESC LIMIT 1;
EXPLAIN (COSTS off) SELECT o.status, sum(i.price * i.count) FROM orders o JOIN items i ON o.id = i.order_id AND i.price > o.total WHERE o.day < '2024-03-01' GROUP BY o.status;
EXPLAIN (COSTS off) SELECT few.name, count(i.part) FROM few LEFT JOIN items i ON few.id = i.count AND i.part LIKE 'part 1%' GROUP BY few.name;
EXPLAIN (COSTS off) SELECT count(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.price > o.total);
EXPLAIN (COSTS off) SELECT count(*) FROM items i WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.id = i.count);
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT few.name, count(*) FROM few WHERE EXISTS (SELECT 1 FROM items i WHERE i.count = few.id AND i.price > 50) AND id > 1 GROUP BY few.name;
EXPLAIN (COSTS off, VERBOSE) SELECT count(*) FROM orders o WHERE customer IN (SELECT id FROM few) AND day < current_date;
EXPLAIN (COSTS off) SELECT DISTINCT customer % 3 FROM orders;
EXPLAIN (COSTS off) SELECT x.status, (SELECT count(*) FROM items i WHERE i.count > x.n % 7) FROM (SELECT status, count(*) AS n FROM orders GROUP BY status) x;
EXPLAIN (COSTS off, FORMAT json) SELECT count(*) FROM orders o JOIN few ON few.id = o.customer;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT o.status, count(*) FROM orders o JOIN few ON few.id = o.customer GROUP BY o.status HAVING count(*) > 200;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, FORMAT yaml) SELECT count(*) FROM orders o JOIN few ON few.id = o.customer;
EXPLAIN (COSTS off) SELECT count(*) FROM items i WHERE i.order_id NOT IN (SELECT o.id FROM orders o WHERE o.total > 100) AND i.count NOT IN (SELECT f.id FROM few f GROUP BY f.id HAVING count(*) = 1);
EXPLAIN (COSTS off) SELECT status, count(DISTINCT customer) FROM orders GROUP BY status;
EXPLAIN (COSTS off, VERBOSE) SELECT x.n, count(*) FROM (SELECT o.customer, count(i.part) AS n FROM orders o LEFT JOIN items i ON o.id = i.order_id AND i.count > 2 GROUP BY o.customer HAVING max(i.price) > 7) x WHERE x.customer > 3 GROUP BY x.n;
EXPLAIN (COSTS off) SELECT sum(i.price) FROM items i WHERE i.order_id IN (SELECT o.order_id FROM items o GROUP BY o.order_id HAVING sum(o.count) > 10);
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT count(*), sum(x.n) FROM (SELECT y.status, count(*) AS n FROM (SELECT DISTINCT status, customer FROM orders) y GROUP BY y.status) x;

-- in order
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT id, total FROM orders WHERE customer < 50 ORDER BY day DESC NULLS LAST, id LIMIT 5 OFFSET 2;
EXPLAIN (COSTS off, VERBOSE) SELECT o.id, i.part || '!' FROM orders o JOIN items i ON o.id = i.order_id ORDER BY i.price * i.count DESC, o.total NULLS FIRST;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT customer, max(day), avg(total) FROM orders GROUP BY customer HAVING count(*) > 100 ORDER BY max(day) DESC, 1 LIMIT 3;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, FORMAT yaml) SELECT id FROM orders ORDER BY customer;
PREPARE top (bigint, bigint) AS SELECT id FROM orders ORDER BY total LIMIT $1 + 1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS off) EXECUTE top (1, 2);
RESET plan_cache_mode;
SET tsurugi_fdw.jobs = on;
EXPLAIN (COSTS off) SELECT id, status FROM orders WHERE customer < 50 ORDER BY total LIMIT 5;
EXPLAIN (COSTS off) SELECT id, status FROM orders WHERE customer < 50 ORDER BY id LIMIT 5;
EXPLAIN (COSTS off) SELECT id, part FROM orders JOIN items ON id = order_id ORDER BY total, price LIMIT 5;
EXPLAIN (COSTS off) SELECT id, name FROM few ORDER BY name COLLATE "C" LIMIT 2;
SET tsurugi_fdw.jobs = force;

-- what PostgreSQL reads for a job
EXPLAIN (COSTS off) SELECT count(*) FROM orders o JOIN ordinary ON ordinary.id = o.id;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT customer FROM orders WHERE id < 100 EXCEPT ALL SELECT id % 7 FROM ordinary;
EXPLAIN (COSTS off) SELECT customer FROM orders INTERSECT SELECT generate_series(1, 10) UNION VALUES (7), (8) ORDER BY 1 LIMIT 3;
SET tsurugi_fdw.jobs = on;
EXPLAIN (COSTS off) SELECT customer FROM orders INTERSECT SELECT id FROM ordinary;
EXPLAIN (COSTS off) SELECT customer FROM orders WHERE id < 3 UNION VALUES (7);
SET tsurugi_fdw.jobs = force;
EXPLAIN (COSTS off) SELECT id FROM ordinary UNION SELECT id FROM ordinary;
-- what stays PostgreSQL's
EXPLAIN (COSTS off) SELECT count(*) FROM few a JOIN few b ON a.id < b.id;
EXPLAIN (COSTS off) SELECT status, count(DISTINCT customer), count(DISTINCT day) FROM orders GROUP BY status;
EXPLAIN (COSTS off) SELECT count(*) FROM (SELECT customer, count(*) FROM orders GROUP BY customer LIMIT 3) x;

-- the fallback: an error, a value beyond a job's arithmetic, memory, a value of a parameter
SELECT sum(total / (id - 3)) FROM orders;
SELECT sum(count % (count - 3)) FROM items;
SELECT fallback('SELECT sum(price * price * price * price * price * price * price * price * price * price) FROM items WHERE count > 9');
SELECT fallback('SELECT sum((price + 1000000000) * (price + 1000000000)) FROM items WHERE order_id = 6');
SELECT sum((price + 1000000000) * (price + 1000000000)) FROM items WHERE order_id = 6;
PREPARE like_what (text) AS SELECT count(*) FROM items WHERE part LIKE $1;
SET plan_cache_mode = force_generic_plan;
SELECT fallback('EXECUTE like_what (''part 1%'')');
SELECT fallback('EXECUTE like_what (NULL)');
EXECUTE like_what ('part _');
SET tsurugi_fdw.job_memory = '64kB';
SELECT fallback('SELECT count(*) FROM orders o JOIN items i ON o.id = i.order_id');
SELECT count(*) FROM orders o JOIN items i ON o.id = i.order_id;
RESET tsurugi_fdw.job_memory;
SET tsurugi_fdw.job_tasks = 1;
SELECT count(*), sum(i.price) FROM orders o JOIN items i ON o.id = i.order_id;
RESET tsurugi_fdw.job_tasks;

-- a plan that is kept follows its tables
PREPARE kept (int) AS SELECT count(*), min(name COLLATE "C") FROM few WHERE id >= $1;
EXECUTE kept (2);
INSERT INTO few VALUES (4, 'four');
EXECUTE kept (2);
ALTER FOREIGN TABLE few ADD COLUMN more numeric(5,2) DEFAULT 1.25;
EXECUTE kept (2);
SELECT sum(more), count(*) FROM few WHERE more > 1;
ALTER FOREIGN TABLE few DROP COLUMN name;
EXECUTE kept (2);
TRUNCATE few;
SELECT sum(more), count(*) FROM few WHERE more > 1;

-- a failed statement, and rollbacks to savepoints, end jobs that see what is undone
BEGIN;
SAVEPOINT a;
INSERT INTO orders SELECT g, 1, '2024-01-01', 1, 'X' FROM generate_series(30001, 30100) g;
DECLARE c CURSOR FOR SELECT status, count(*) FROM orders GROUP BY status;
FETCH 1 FROM c \gset
SELECT 1 / 0;
ROLLBACK TO a;
SELECT count(*) FROM orders WHERE status = 'X';
FETCH 1 FROM c;
ROLLBACK;

-- one that would take days is cancelled, also where it sees the transaction's own writes
BEGIN;
SAVEPOINT a;
INSERT INTO items VALUES (1, 'new', 1, 1);
SET LOCAL statement_timeout = '100ms';
SELECT count(*) FROM items a JOIN items b ON a.count = b.count JOIN items c ON b.count = c.count;
ROLLBACK TO a;
SET LOCAL statement_timeout = '100ms';
SELECT a.part FROM items a JOIN items b ON a.count = b.count JOIN items c ON b.count = c.count ORDER BY a.price, b.part DESC LIMIT 5000;
ROLLBACK TO a;
SET LOCAL statement_timeout = '100ms';
SELECT pg_sleep(0.001) FROM items ORDER BY price, part;
ROLLBACK TO a;
SELECT count(*) FROM items;
ROLLBACK;
DROP FOREIGN TABLE orders, items, few;
DROP TABLE ordinary;
DROP SERVER jobs;
DROP FUNCTION fallback;

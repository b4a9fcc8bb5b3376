-- Rows that are compared, as whoever reads page by page does: (a, b) > (1, 2), by indexes in either direction, with NULLs at either end.
CREATE TABLE t (k int, n int, c text COLLATE "C", s smallint);
INSERT INTO t SELECT g, CASE WHEN g % 11 > 0 THEN g % 20 END, 'c' || g % 7, g % 5 FROM generate_series(1, 300) g;
INSERT INTO t VALUES (NULL, 3, 'c1', 1), (1000, 3, NULL, NULL);
CREATE INDEX t_n ON t (n, k);
CREATE INDEX t_d ON t (n DESC, c DESC, k DESC);
CREATE INDEX t_m ON t (s, n DESC, k);
ANALYZE t;
SET enable_seqscan = off;
SET enable_sort = off;

-- pages, both ways
SELECT k, n FROM t WHERE (n, k) > (3, 203) ORDER BY n, k LIMIT 5;
SELECT k, n FROM t WHERE (n, k) >= (3, 203) ORDER BY n, k LIMIT 5;
SELECT k, n FROM t WHERE (n, k) < (3, 203) ORDER BY n DESC, k DESC LIMIT 5;
SELECT k, n FROM t WHERE (3, 203) >= (n, k) ORDER BY n DESC, k DESC LIMIT 5;
PREPARE page (int, int) AS SELECT k, n FROM t WHERE (n, k) > ($1, $2) ORDER BY n, k LIMIT 3;
EXECUTE page (3, 203);
EXECUTE page (3, 263);
EXECUTE page (4, 4);
EXECUTE page (NULL, 4);
EXECUTE page (18, NULL);
EXECUTE page (19, 259);
EXECUTE page (0, -5);

-- columns in other directions than the index's, columns it has not, behind fixed ones, both ends
SELECT count(*) FROM t WHERE (n, c, k) > (10, 'c3', 30);
SELECT count(*) FROM t WHERE (n, c, k) < (10, 'c3', 30);
SELECT count(*) FROM t WHERE (s, n, k) > (2, 5, 10);
SELECT count(*) FROM t WHERE (s, n, k) <= (2, 5, 10);
SELECT count(*) FROM t WHERE (n, s) >= (10, 2);
SELECT count(*) FROM t WHERE s = 2 AND (n, k) < (10, 100);
SELECT count(*) FROM t WHERE s = 2 AND n = 7 AND (n, k) < (10, 100);
SELECT count(*) FROM t WHERE s IN (1, 3) AND (n, k) >= (10, 100);
SELECT count(*) FROM t WHERE (n, k) > (3, 100) AND (n, k) <= (5, 10);
SELECT count(*) FROM t WHERE (n, k) > (5, 3) AND (n, k) <= (3, 1);
SELECT count(*) FROM t WHERE n > 5 AND (n, k) > (3, 1) AND n < 15 AND (n, k) < (10, 1);

-- values that the columns cannot have
SELECT count(*) FROM t WHERE (n, k) > (NULL, 3);
SELECT count(*) FROM t WHERE (n, k) > (15, NULL);
SELECT count(*) FROM t WHERE (n, k) < (1, NULL);
SELECT count(*) FROM t WHERE (n, k) > (10, 10000000000);
SELECT count(*) FROM t WHERE (n, k) < (10, 10000000000);
SELECT count(*) FROM t WHERE (n, k) > (10000000000, 1);
SELECT count(*) FROM t WHERE (n, k) < (10000000000, 1);
SELECT count(*) FROM t WHERE (s, k) > (100000, 1);
SELECT count(*) FROM t WHERE (n, k) > (10.5, 3);

-- of the row itself, of another table
SELECT count(*) FROM t WHERE (n, k) > (k, n);
SELECT count(*) FROM t WHERE (n, k) > (5, n);
SELECT count(*) FROM t WHERE (n, k) > (5, (random() * 0)::int);
SELECT count(*) FROM t a JOIN t b ON (b.n, b.k) > (a.n, a.k) WHERE a.k IN (90, 95, 99);
SELECT a.k, x.k FROM t a, LATERAL (SELECT * FROM t b WHERE (b.n, b.k) > (a.n, a.k) ORDER BY b.n, b.k LIMIT 2) x WHERE a.k < 4 ORDER BY 1, 2;
SELECT count(*) FROM t WHERE NOT (n, k) > (3, 203);
SELECT count(*) FROM t WHERE (n, k) <> (3, 203);

-- written
WITH gone AS (DELETE FROM t WHERE (n, k) > (18, 118) RETURNING k) SELECT count(*), min(k), max(k) FROM gone;
WITH new AS (UPDATE t SET c = 'x' WHERE (n, k) < (1, 101) RETURNING k) SELECT count(*), min(k), max(k) FROM new;

-- NULLs first
DROP INDEX t_n;
CREATE INDEX t_f ON t (n NULLS FIRST, k NULLS FIRST);
SELECT count(*) FROM t WHERE (n, k) > (3, 203);
SELECT count(*) FROM t WHERE (n, k) < (3, 203);

-- Joins of partitioned tables, taken apart into joins of their partitions.
CREATE TABLE l (a int, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE l1 PARTITION OF l FOR VALUES FROM (0) TO (250);
CREATE TABLE l2 PARTITION OF l FOR VALUES FROM (250) TO (600) PARTITION BY LIST (b);
CREATE TABLE l21 PARTITION OF l2 FOR VALUES IN (0, 1, 2, 3);
CREATE TABLE l22 PARTITION OF l2 DEFAULT;
CREATE TABLE r (b int, a int, c text) PARTITION BY RANGE (b);
CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (0) TO (250);
CREATE TABLE r2 (c text, a int, b int);
ALTER TABLE r ATTACH PARTITION r2 FOR VALUES FROM (250) TO (600);
INSERT INTO l SELECT i, i % 25, to_char(i, 'FM0000') FROM generate_series(0, 599) i WHERE i % 2 = 0;
INSERT INTO r SELECT i, i % 25, to_char(i, 'FM0000') FROM generate_series(0, 599) i WHERE i % 3 = 0;
CREATE INDEX ON l1 (a);
CREATE INDEX ON l21 (a);
CREATE INDEX ON l22 (a, b);
CREATE INDEX ON r1 (b);
CREATE INDEX ON r2 (b, a);
ANALYZE l;
ANALYZE r;
SET enable_partitionwise_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SELECT l.a, l.c, r.b, r.c FROM l JOIN r ON l.a = r.b WHERE l.b = 0 ORDER BY 1;
SELECT l.a, l.c, r.b, r.c FROM l JOIN r ON l.a = r.b AND r.a = l.b WHERE l.b IN (1, 5) ORDER BY 1;
SELECT l.a, r.b FROM l LEFT JOIN r ON l.a = r.b AND r.b > l.b + 1 WHERE l.b = 0 ORDER BY 1, 2;
SELECT l.a, r.b FROM l RIGHT JOIN r ON l.a = r.b WHERE r.a = 0 ORDER BY 2;
SELECT * FROM l WHERE EXISTS (SELECT FROM r WHERE r.b = l.a AND r.c >= l.c) AND l.b = 0 ORDER BY a;
SELECT * FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.b = l.a) AND l.b = 0 ORDER BY a;
SELECT l.a, s.* FROM l LEFT JOIN LATERAL
	(SELECT x.a AS xa, y.a AS ya, least(l.a, x.a, y.b) FROM l x JOIN r y ON x.a = y.b) s ON l.a = s.xa
	WHERE l.b = 0 ORDER BY 1;
SELECT l.a, r.b, l.c || r.c FROM l, r, l m WHERE l.a = r.b AND m.a = l.a AND m.b = ANY (ARRAY[l.b, r.a]) AND l.b = 0 ORDER BY 1;
UPDATE l SET c = r.c || '!' FROM r WHERE l.a = r.b AND l.b = 0;
DELETE FROM r USING l WHERE r.b = l.a AND l.c LIKE '%!' AND l.a > 200;
SELECT l.a, l.c, r.c FROM l LEFT JOIN r ON l.a = r.b WHERE l.b = 0 ORDER BY 1;

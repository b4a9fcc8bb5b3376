-- Points and boxes with indexes USING gist, in schemas heap and ours, anywhere in a square of 1,000 by 1,000; boxes of many sizes, up to 2.
-- psql variables rows: how many; kept: UNLOGGED or nothing, of ordinary tables.
\set ON_ERROR_STOP on
-- a plan with workers, for so few rows, is not what is compared
CREATE :kept TABLE heap.place (id int, p point, b box) WITH (parallel_workers = 0);
CREATE FOREIGN TABLE ours.place (id int, p point, b box) SERVER tsurugi;
SELECT setseed(0.5);
INSERT INTO heap.place SELECT i, point(x, y), box(point(x, y), point(x + w, y + h)) FROM
	(SELECT i, random() * 1000 AS x, random() * 1000 AS y, random() * random() * 2 AS w, random() * random() * 2 AS h FROM generate_series(1, :rows) i) q;
INSERT INTO ours.place TABLE heap.place;

-- Keys of partitioned tables, made before or after their partitions.
CREATE TABLE late (id int, code text, n int) PARTITION BY RANGE (id);
CREATE TABLE late1 PARTITION OF late FOR VALUES FROM (0) TO (10);
CREATE TABLE late2 (n int, id int, code text) PARTITION BY LIST (id);
CREATE TABLE late2a PARTITION OF late2 FOR VALUES IN (10, 11);
CREATE TABLE late2b PARTITION OF late2 FOR VALUES IN (12, 13);
ALTER TABLE late ATTACH PARTITION late2 FOR VALUES FROM (10) TO (20);
INSERT INTO late VALUES (1, 'a', 1), (1, 'b', 1), (12, 'c', 1), (NULL, 'd', 1);
INSERT INTO late VALUES (1, 'a', 1), (1, 'b', 1), (12, 'c', 1);
ALTER TABLE late ADD PRIMARY KEY (id);
DELETE FROM late WHERE code = 'b';
INSERT INTO late1 VALUES (1, 'b', 1);
ALTER TABLE late ADD PRIMARY KEY (id);
DELETE FROM late WHERE code = 'b';
ALTER TABLE late ADD PRIMARY KEY (id), ADD UNIQUE (code);
ALTER TABLE late ADD PRIMARY KEY (id), ADD CONSTRAINT uc UNIQUE (code, id) DEFERRABLE, ADD COLUMN w int DEFAULT 4;
CREATE UNIQUE INDEX ON late (n);
CREATE UNIQUE INDEX ON late (n, id);
CREATE UNIQUE INDEX late_x ON late (id) INCLUDE (n);
CREATE UNIQUE INDEX IF NOT EXISTS late_x ON late (id) INCLUDE (n);
SELECT i.indexrelid::regclass, indrelid::regclass, indisunique, indisprimary, indisvalid, indimmediate, inhparent::regclass FROM pg_index i LEFT JOIN pg_inherits ON inhrelid = indexrelid
	WHERE indrelid::regclass::text LIKE 'late%' ORDER BY i.indexrelid::regclass::text;
SELECT conname, conrelid::regclass, conparentid <> 0, conislocal, coninhcount FROM pg_constraint WHERE conrelid::regclass::text LIKE 'late%' ORDER BY 1, 2;
INSERT INTO late VALUES (1, 'x', 3);
INSERT INTO late VALUES (12, 'x', 3);
INSERT INTO late VALUES (2, 'x', 3), (13, 'y', 4) ON CONFLICT (n, id) DO NOTHING;
INSERT INTO late VALUES (2, 'x', 3), (13, 'y', 4) ON CONFLICT (id) DO UPDATE SET code = 'updated' RETURNING *;
DROP INDEX late_x;
DROP INDEX late2a_pkey;
ALTER TABLE late2b DROP CONSTRAINT late2b_pkey;
ALTER TABLE late DROP CONSTRAINT uc;
ALTER TABLE late DETACH PARTITION late1;
INSERT INTO late1 VALUES (1, 'x', 3);
ALTER TABLE late ATTACH PARTITION late1 FOR VALUES FROM (0) TO (10);
SELECT i.indexrelid::regclass, indrelid::regclass, indisunique, indisprimary, indisvalid, indimmediate, inhparent::regclass FROM pg_index i LEFT JOIN pg_inherits ON inhrelid = indexrelid
	WHERE indrelid::regclass::text LIKE 'late%' ORDER BY i.indexrelid::regclass::text;
ALTER TABLE late ADD COLUMN k int UNIQUE;
-- ONLY, and one by one
CREATE TABLE one (id int) PARTITION BY RANGE (id);
CREATE TABLE one1 PARTITION OF one FOR VALUES FROM (0) TO (10);
ALTER TABLE ONLY one ADD CONSTRAINT one_key UNIQUE (id);
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'one'::regclass;
ALTER TABLE one1 ADD CONSTRAINT one1_key UNIQUE (id);
ALTER INDEX one_key ATTACH PARTITION one1_key;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'one'::regclass;
CREATE TABLE one2 PARTITION OF one FOR VALUES FROM (10) TO (20);
CREATE TABLE one3 (id int, CONSTRAINT mine UNIQUE (id));
INSERT INTO one3 VALUES (21);
ALTER TABLE one ATTACH PARTITION one3 FOR VALUES FROM (20) TO (30);
SELECT conname, conparentid <> 0, conislocal, coninhcount, connoinherit FROM pg_constraint WHERE conname ~ 'one|mine' ORDER BY 1;
INSERT INTO one VALUES (21);
DROP TABLE late;
-- a new partition's own keys stand beside the parts of its parent's
CREATE TABLE own (k int PRIMARY KEY, v int) PARTITION BY RANGE (k);
CREATE TABLE own1 PARTITION OF own (PRIMARY KEY (k)) FOR VALUES FROM (0) TO (10);
CREATE TABLE own2 PARTITION OF own (UNIQUE (k), UNIQUE (v)) FOR VALUES FROM (10) TO (20);
SELECT indexrelid::regclass, inhparent::regclass FROM pg_index LEFT JOIN pg_inherits ON inhrelid = indexrelid WHERE indrelid = 'own2'::regclass ORDER BY indexrelid::regclass::text;
INSERT INTO own VALUES (10, 1), (11, 2);
ALTER TABLE own2 DROP CONSTRAINT own2_k_key;
INSERT INTO own VALUES (10, 3);
-- ON CONFLICT DO UPDATE: a row that is new in its partition has its generated columns
CREATE TABLE computed (id int PRIMARY KEY, k int, twice int GENERATED ALWAYS AS (k * 2) STORED, v int) PARTITION BY RANGE (id);
CREATE TABLE computed1 PARTITION OF computed FOR VALUES FROM (0) TO (10);
CREATE TABLE computed2 (v int, twice int GENERATED ALWAYS AS (k * 2) STORED, k int, id int NOT NULL);
ALTER TABLE computed ATTACH PARTITION computed2 FOR VALUES FROM (10) TO (20);
INSERT INTO computed VALUES (1, 1), (10, 10);
INSERT INTO computed (id, k, v) VALUES (1, 5, 5), (2, 2, 2), (11, 11, 11), (10, 5, 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
SELECT * FROM computed ORDER BY id;

-- Partitions that move out of memory, and back into it: the same in the end.  And REINDEX of what is partitioned.
CREATE TABLE other (id int PRIMARY KEY);
INSERT INTO other SELECT generate_series(1, 100);
CREATE TABLE pt (a int, b int DEFAULT 7, c text COLLATE "C", PRIMARY KEY (a), CONSTRAINT positive CHECK (b > 0), FOREIGN KEY (b) REFERENCES other) PARTITION BY RANGE (a);
CREATE INDEX pt_b ON pt (b DESC);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM (1) TO (10);
CREATE TABLE pt2 (x int, c text COLLATE "C", a int NOT NULL, b int CHECK (b < 90), CONSTRAINT positive CHECK (b > 0));
ALTER TABLE pt2 DROP x;
ALTER TABLE pt ATTACH PARTITION pt2 FOR VALUES FROM (10) TO (20);
CREATE TABLE ptd PARTITION OF pt DEFAULT;
CREATE TABLE pth (LIKE pt INCLUDING ALL) USING heap;
INSERT INTO pt SELECT i, i % 5 + 1, 'c' || i FROM generate_series(1, 30) i;
CREATE FUNCTION said() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''% % %'', tg_name, tg_op, tg_table_name; RETURN new; END';
CREATE TRIGGER says AFTER INSERT ON pt FOR EACH ROW EXECUTE FUNCTION said();
CREATE INDEX pt1_own ON pt1 (c);
COMMENT ON TABLE pt1 IS 'first';
COMMENT ON COLUMN pt1.b IS 'its b';
CREATE VIEW v1 AS SELECT a, b FROM pt1;
CREATE PROCEDURE tell() LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
 FOR r IN SELECT c.relname, CASE WHEN relname ~ '^pt[12d]$' THEN 'T' END, pg_get_expr(relpartbound, oid) AS b, relispartition AS p, obj_description(oid) AS d FROM pg_class c WHERE relname ~ '^pt' AND relnamespace = 'public'::regnamespace ORDER BY 1 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT attrelid::regclass::text, attname, attislocal, attinhcount, attnotnull, col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid IN ('pt1'::regclass, 'pt2'::regclass, 'ptd'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT conrelid::regclass::text, conname, conislocal, coninhcount, convalidated, conparentid <> 0, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid::regclass::text ~ '^pt' ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT i.inhrelid::regclass::text, i.inhparent::regclass::text, x.indisvalid FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT tgrelid::regclass::text, tgname, tgparentid <> 0 FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
END $$;
CALL tell();
DO $$
BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'pt1'::regclass) = 'f' THEN
		ALTER TABLE pt1 SET ACCESS METHOD heap;
		ALTER TABLE pt2 SET ACCESS METHOD heap;
		ALTER TABLE ptd SET ACCESS METHOD heap;
		ASSERT (SELECT count(*) FROM pg_class WHERE relname IN ('pt1', 'pt2', 'ptd') AND relkind = 'r') = 3;
		CREATE TABLE moved AS SELECT tableoid::regclass::text AS place, * FROM pt;
		ASSERT (SELECT count(*) FROM moved) = 30;
		DROP TABLE moved;
		ALTER TABLE pt2 SET ACCESS METHOD tsurugi;
		ALTER TABLE pt1 SET ACCESS METHOD tsurugi;
		ALTER TABLE ptd SET ACCESS METHOD tsurugi;
		ASSERT (SELECT count(*) FROM pg_class WHERE relname IN ('pt1', 'pt2', 'ptd') AND relkind = 'f') = 3;
	END IF;
END $$;
CALL tell();
SELECT tableoid::regclass, * FROM pt ORDER BY a;
INSERT INTO pt VALUES (5), (15), (35);
INSERT INTO pt VALUES (5);
INSERT INTO pt VALUES (50, 200);
INSERT INTO pt1 VALUES (9999, 2);
INSERT INTO pt2 VALUES ('x', 15, 91);
UPDATE pt SET a = 100 WHERE a = 3;
SELECT * FROM v1 ORDER BY a;
DROP INDEX pt_b;
ALTER TABLE pt DROP CONSTRAINT positive;
ALTER TABLE pt ADD z int DEFAULT 4;
CALL tell();
-- a key to a partitioned table
CREATE TABLE refers (a int REFERENCES pt);
INSERT INTO refers VALUES (1), (12);
REINDEX TABLE pt;
REINDEX INDEX pt_pkey;
REINDEX TABLE CONCURRENTLY pt;
BEGIN;
REINDEX TABLE pt;
ROLLBACK;
BEGIN;
REINDEX INDEX pt_pkey;
ROLLBACK;
SELECT count(*) FROM pt;
-- that rows refer to through it: their keys are made again
CREATE TABLE up (a int PRIMARY KEY, up int CONSTRAINT self REFERENCES up) PARTITION BY LIST (a);
CREATE TABLE up12 PARTITION OF up FOR VALUES IN (1, 2) PARTITION BY LIST (a);
CREATE TABLE up1 PARTITION OF up12 FOR VALUES IN (1);
CREATE TABLE up2 PARTITION OF up12 FOR VALUES IN (2);
CREATE TABLE down (id int, a int CONSTRAINT down REFERENCES up ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED) PARTITION BY LIST (id);
CREATE TABLE down1 PARTITION OF down FOR VALUES IN (1);
CREATE TABLE beside (a int CONSTRAINT beside REFERENCES up12);
COMMENT ON CONSTRAINT down ON down IS 'downwards';
CREATE TRIGGER says AFTER INSERT ON up FOR EACH ROW EXECUTE FUNCTION said();
CREATE TRIGGER rests AFTER INSERT ON up FOR EACH ROW EXECUTE FUNCTION said();
ALTER TABLE up1 DISABLE TRIGGER says;
ALTER TABLE ONLY up DISABLE TRIGGER rests;
ALTER TABLE beside DISABLE TRIGGER ALL;
ALTER TABLE up1 DISABLE TRIGGER ALL;
ALTER TABLE up1 ENABLE TRIGGER rests;
SELECT tgrelid::regclass::text, tgconstrrelid::regclass::text, regexp_replace(tgname, '[0-9]+$', ''), tgtype, tgenabled FROM pg_trigger WHERE tgrelid::regclass::text ~ '^(up|down|beside)' ORDER BY 1, 2, 3, 4, 5;
INSERT INTO up VALUES (1, 1), (2, 1);
INSERT INTO down VALUES (1, 1), (1, 2);
INSERT INTO beside VALUES (1);
DO $$ BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'up1'::regclass) = 'f' THEN
		ALTER TABLE up1 SET ACCESS METHOD heap;
		ASSERT (SELECT count(*) FROM up1) = 1;
		ALTER TABLE up1 SET ACCESS METHOD tsurugi;
		ASSERT (SELECT count(*) FROM up1) = 1;
	END IF;
END $$;
SELECT tgrelid::regclass::text, tgconstrrelid::regclass::text, regexp_replace(tgname, '[0-9]+$', ''), tgtype, tgenabled FROM pg_trigger WHERE tgrelid::regclass::text ~ '^(up|down|beside)' ORDER BY 1, 2, 3, 4, 5;
ALTER TABLE up1 ENABLE TRIGGER ALL;
ALTER TABLE beside ENABLE TRIGGER ALL;
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), conparentid <> 0, obj_description(oid) FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text ~ '^(up|down|beside)' AND confrelid::regclass::text !~ '[0-9]$' ORDER BY 1, 2;
SELECT * FROM up ORDER BY a;
INSERT INTO beside VALUES (3);
INSERT INTO down VALUES (1, 3);
DELETE FROM up WHERE a = 2;
DELETE FROM up WHERE a = 1;
SELECT * FROM down ORDER BY a;
DROP TABLE down, beside, up;
-- an index of the table ONLY gets no part by that, and none that it has is changed for another
CREATE TABLE only_above (a int, b int) PARTITION BY LIST (a);
CREATE TABLE below1 PARTITION OF only_above FOR VALUES IN (1);
CREATE TABLE below2 PARTITION OF only_above FOR VALUES IN (2);
CREATE INDEX only_above_b ON ONLY only_above (b);
CREATE INDEX below1_own ON below1 (b);
CREATE INDEX only_above_a ON ONLY only_above (a);
CREATE INDEX below1_a ON below1 (a);
ALTER INDEX only_above_a ATTACH PARTITION below1_a;
ALTER TABLE ONLY only_above ADD UNIQUE (a, b);
CREATE INDEX only_above_ba ON only_above (b, a);
DO $$ BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'below1'::regclass) = 'f' THEN
		ALTER TABLE below1 SET ACCESS METHOD heap;
		ALTER TABLE below1 SET ACCESS METHOD tsurugi;
	END IF;
END $$;
SELECT x.indexrelid::regclass, inhparent::regclass, indisvalid, indislive FROM pg_index x LEFT JOIN pg_inherits ON inhrelid = indexrelid WHERE indrelid::regclass::text ~ '^(only_above|below)' ORDER BY indexrelid::regclass::text;
CREATE INDEX below2_a ON below2 (a);
ALTER INDEX only_above_a ATTACH PARTITION below2_a;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'only_above_a'::regclass;
DROP TABLE only_above;
-- a table that partitioned ones refer to, and that refers to one
CREATE TABLE up (a int PRIMARY KEY) PARTITION BY LIST (a);
CREATE TABLE up1 PARTITION OF up FOR VALUES IN (1);
CREATE TABLE up2 PARTITION OF up FOR VALUES IN (2) PARTITION BY LIST (a);
CREATE TABLE up21 PARTITION OF up2 FOR VALUES IN (2);
CREATE TABLE amid (id int PRIMARY KEY, up int CONSTRAINT upwards REFERENCES up ON UPDATE CASCADE, self int REFERENCES amid);
CREATE TABLE down (id int, amid int CONSTRAINT downwards REFERENCES amid ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED) PARTITION BY LIST (id);
CREATE TABLE down1 (id int, amid int CONSTRAINT own REFERENCES amid ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE down2 PARTITION OF down FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE down21 PARTITION OF down2 FOR VALUES IN (2);
COMMENT ON CONSTRAINT own ON down1 IS 'its own';
COMMENT ON CONSTRAINT downwards ON down IS 'downwards';
ALTER TABLE down ATTACH PARTITION down1 FOR VALUES IN (1);
INSERT INTO up VALUES (1), (2);
INSERT INTO amid VALUES (1, 1, 1), (2, 2, 1);
INSERT INTO down VALUES (1, 1), (2, 2);
ALTER TABLE up2 DISABLE TRIGGER ALL;
ALTER TABLE down1 DISABLE TRIGGER ALL;
DO $$ BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'amid'::regclass) = 'f' THEN
		ALTER TABLE amid SET ACCESS METHOD heap;
		ASSERT (SELECT count(*) FROM amid) = 2;
		ALTER TABLE amid SET ACCESS METHOD tsurugi;
		ASSERT (SELECT count(*) FROM amid) = 2;
	END IF;
END $$;
SELECT c.conrelid::regclass::text, c.conname, pg_get_constraintdef(c.oid), p.conname, c.convalidated, c.conislocal, c.coninhcount, obj_description(c.oid) FROM pg_constraint c LEFT JOIN pg_constraint p ON p.oid = c.conparentid WHERE c.contype = 'f' AND c.conrelid::regclass::text ~ '^(amid|down)' ORDER BY 1, 2;
SELECT tgrelid::regclass::text, tgconstrrelid::regclass::text, regexp_replace(tgname, '[0-9]+$', ''), tgtype, tgenabled, tgparentid <> 0 FROM pg_trigger WHERE tgrelid::regclass::text ~ '^(up|amid|down)' ORDER BY 1, 2, 3, 4, 5;
ALTER TABLE up2 ENABLE TRIGGER ALL;
ALTER TABLE down1 ENABLE TRIGGER ALL;
INSERT INTO amid VALUES (3, 3, 3);
INSERT INTO down VALUES (1, 3);
INSERT INTO down VALUES (2, 3);
UPDATE up SET a = 1 WHERE a = 2;
DELETE FROM up WHERE a = 2;
DELETE FROM amid WHERE id = 2;
SELECT * FROM down ORDER BY id;
DROP TABLE down, amid, up;

-- Tables that inherit, and that others inherit from, move into memory and back: the same in the end.
CREATE TABLE top (a int NOT NULL, b text DEFAULT 'b', CONSTRAINT positive CHECK (a > 0), CONSTRAINT own CHECK (a < 1000) NO INHERIT);
CREATE TABLE side (b text, c int CHECK (c <> 13));
CREATE TABLE middle (gone int, d int, b text DEFAULT 'mb', CONSTRAINT positive CHECK (a > 0)) INHERITS (top, side);
ALTER TABLE middle DROP COLUMN gone;
CREATE TABLE low (e int) INHERITS (middle);
CREATE TABLE other (f int) INHERITS (top);
ALTER TABLE low ALTER b SET DEFAULT 'lb';
ALTER TABLE low ALTER a SET STATISTICS 7;
ALTER TABLE middle ALTER a SET STATISTICS 70;
ALTER TABLE low ALTER a SET STATISTICS 7;
CREATE INDEX ON middle (a);
CREATE VIEW seen AS SELECT a, b FROM top;
CREATE VIEW seen_middle AS SELECT * FROM middle;
INSERT INTO top VALUES (1), (2);
INSERT INTO side VALUES ('s', 3);
INSERT INTO middle (a, c, d) VALUES (10, 1, 2), (11, NULL, NULL);
INSERT INTO low (a, e) VALUES (20, 5);
INSERT INTO other (a, f) VALUES (30, 6);
ALTER TABLE top ADD CONSTRAINT unasked CHECK (a < 30) NOT VALID;
CREATE PROCEDURE tell() LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
 FOR r IN SELECT inhrelid::regclass::text, inhparent::regclass::text, inhseqno FROM pg_inherits WHERE inhparent::regclass::text IN ('top', 'side', 'middle', 'low') ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT attrelid::regclass::text, attname, attislocal, attinhcount, attnotnull, attstattarget, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid IN ('top'::regclass, 'side'::regclass, 'middle'::regclass, 'low'::regclass, 'other'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT conrelid::regclass::text, conname, conislocal, coninhcount, connoinherit, convalidated FROM pg_constraint WHERE conrelid::regclass::text IN ('top', 'side', 'middle', 'low', 'other') ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT objid::regclass::text, refobjid::regclass::text, deptype FROM pg_depend d JOIN pg_inherits ON objid = inhrelid AND refobjid = inhparent AND classid = refclassid AND classid = 'pg_class'::regclass ORDER BY 1, 2 LOOP RAISE NOTICE '%', r; END LOOP;
 FOR r IN SELECT relname, relhassubclass FROM pg_class WHERE relname IN ('top', 'side', 'middle', 'low', 'other') ORDER BY 1 LOOP RAISE NOTICE '%', r; END LOOP;
END $$;
CALL tell();
PREPARE all_of_top AS SELECT tableoid::regclass, * FROM top ORDER BY a;
EXECUTE all_of_top;
DO $$
DECLARE
	t text;
BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'top'::regclass) = 'f' THEN
		FOREACH t IN ARRAY ARRAY['middle', 'top', 'low', 'side', 'other'] LOOP
			EXECUTE 'ALTER TABLE ' || t || ' SET ACCESS METHOD heap';
			ASSERT (SELECT count(*) FROM top) = 6;
		END LOOP;
		ASSERT (SELECT count(*) FROM pg_class WHERE relname IN ('top', 'side', 'middle', 'low', 'other') AND relkind = 'r') = 5;
		CALL tell();
		FOREACH t IN ARRAY ARRAY['other', 'low', 'middle', 'top', 'side'] LOOP
			EXECUTE 'ALTER TABLE ' || t || ' SET ACCESS METHOD tsurugi';
		END LOOP;
		ASSERT (SELECT count(*) FROM pg_class WHERE relname IN ('top', 'side', 'middle', 'low', 'other') AND relkind = 'f') = 5;
	ELSE
		CALL tell();
	END IF;
END $$;
CALL tell();
EXECUTE all_of_top;
SELECT * FROM seen ORDER BY a;
SELECT * FROM seen_middle ORDER BY a;
INSERT INTO middle (a) VALUES (-1);
INSERT INTO middle (a, c) VALUES (12, 13);
INSERT INTO low (a, c, e) VALUES (21, 14, 13) RETURNING *;
UPDATE top SET b = 'new' WHERE a = 20;
DELETE FROM side WHERE c = 1;
ALTER TABLE top ADD z int DEFAULT 4;
ALTER TABLE top RENAME b TO bb;
ALTER TABLE side RENAME b TO bb;
ALTER TABLE top DROP CONSTRAINT positive;
ALTER TABLE middle NO INHERIT side;
ALTER TABLE middle DROP COLUMN c;
CALL tell();
EXECUTE all_of_top;
SELECT * FROM top ORDER BY a;
\set VERBOSITY terse
DROP TABLE top;
DROP TABLE top CASCADE;
SELECT * FROM side;

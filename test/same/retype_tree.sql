-- ALTER COLUMN TYPE ... USING of tables in memory and ordinary ones that inherit from each other.
CREATE VIEW constraints AS SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) AS definition, conislocal, coninhcount, convalidated FROM pg_constraint
	WHERE conrelid::regclass::text ~ '^[pqh][0-9a-z]*$' ORDER BY conrelid::regclass::text, conname;
CREATE VIEW columns AS SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod) AS type, attislocal, attinhcount, pg_get_expr(adbin, adrelid) AS value
	FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	WHERE attrelid::regclass::text ~ '^[pqh][0-9a-z]*$' AND attnum > 0 AND NOT attisdropped AND attrelid::regclass::text NOT LIKE '%\_%'
	ORDER BY attrelid::regclass::text, attnum;
CREATE VIEW tree AS SELECT inhrelid::regclass, inhparent::regclass, inhseqno FROM pg_inherits WHERE inhrelid::regclass::text ~ '^[pqh][0-9a-z]*$' ORDER BY inhrelid::regclass::text, 3;
-- partitions of both kinds
CREATE TABLE p (a int NOT NULL, b text DEFAULT '7', c text, CONSTRAINT cb CHECK (b <> ''), CONSTRAINT cc CHECK (c <> '')) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (x int, c text, b text DEFAULT '8', a int NOT NULL, CONSTRAINT cb CHECK (b <> ''), CONSTRAINT cc CHECK (c <> ''), CONSTRAINT own CHECK (b <> 'own')) USING heap;
ALTER TABLE p2 DROP COLUMN x;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30) PARTITION BY LIST (a);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES IN (20, 21);
CREATE TABLE p3b (c text, b text, a int NOT NULL, CONSTRAINT cb CHECK (b <> ''), CONSTRAINT cc CHECK (c <> ''));
ALTER TABLE p3 ATTACH PARTITION p3b DEFAULT;
CREATE TABLE p3c PARTITION OF p3 FOR VALUES IN (28) USING heap;
CREATE INDEX ON p (b);
CREATE UNIQUE INDEX ON p (a, b) WHERE c = '1';
CREATE INDEX own1 ON p1 (c, b);
INSERT INTO p SELECT i, (i * 10)::text, (i % 3 + 1)::text FROM generate_series(0, 29, 4) i;
ALTER TABLE p ALTER b TYPE int USING length(b);
SELECT * FROM columns;
ALTER TABLE p DROP CONSTRAINT cb;
ALTER TABLE p2 DROP CONSTRAINT own;
ALTER TABLE p ALTER b DROP DEFAULT, ALTER b TYPE int USING b::int + a, ALTER c TYPE varchar USING c || '!', ALTER b SET DEFAULT 9,
	ADD COLUMN d int DEFAULT 5, ADD CHECK (d > 0);
ALTER TABLE p2 ALTER b DROP DEFAULT;
ALTER TABLE p ALTER b DROP DEFAULT, ALTER b TYPE int USING b::int + a, ALTER c TYPE varchar USING c || '!', ALTER b SET DEFAULT 9,
	ADD COLUMN d int DEFAULT 5, ADD CHECK (d > 0);
SELECT tableoid::regclass, * FROM p ORDER BY a;
SELECT * FROM columns;
SELECT * FROM constraints;
SELECT * FROM tree;
SELECT indexrelid::regclass, inhparent::regclass, indisvalid FROM pg_index LEFT JOIN pg_inherits ON inhrelid = indexrelid
	WHERE indrelid::regclass::text ~ '^p[0-9a-z]*$' ORDER BY indexrelid::regclass::text;
INSERT INTO p VALUES (5, 1, '');
INSERT INTO p VALUES (15, 1, '');
INSERT INTO p VALUES (5, 1, 'x', -1);
INSERT INTO p (a, c) VALUES (5, 'x'), (15, 'x'), (25, 'x') RETURNING tableoid::regclass, *;
SELECT a FROM p WHERE b = 9 ORDER BY a;
-- what is refused
ALTER TABLE p ALTER b TYPE date USING b;
ALTER TABLE p ALTER b TYPE int USING p::text::int;
ALTER TABLE p ALTER a TYPE bigint USING a + 1;
ALTER TABLE p ALTER nothing TYPE bigint USING a + 1;
ALTER TABLE p ALTER b TYPE bigint USING nothing;
ALTER TABLE p ALTER b TYPE int USING 1 / (b - 9);
ALTER TABLE ONLY p ALTER b TYPE bigint USING b;
ALTER TABLE p3a ALTER b TYPE bigint USING b;
ALTER TABLE p ALTER c TYPE text USING CASE WHEN a = 4 THEN '' ELSE c END;
ALTER TABLE p ALTER c TYPE text USING CASE WHEN a = 28 THEN '' ELSE c END;
ALTER TABLE p ALTER b TYPE text USING p.b;
SELECT * FROM tree;
SELECT * FROM constraints;
BEGIN;
ALTER TABLE p ALTER b TYPE text USING 'changed';
SELECT DISTINCT b FROM p;
ROLLBACK;
SELECT * FROM p ORDER BY a;
ALTER TABLE p DETACH PARTITION p1;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10);
DROP TABLE p;

-- tables that inherit
CREATE TABLE h (a int, b text, CHECK (b::text <> 'no'));
CREATE TABLE ho (b text, a int, z int, CONSTRAINT h_b_check CHECK (b::text <> 'no')) USING heap;
ALTER TABLE ho INHERIT h;
CREATE TABLE hom () INHERITS (ho);
CREATE TABLE hm () INHERITS (h);
CREATE TABLE hmo (y int) INHERITS (hm) USING heap;
CREATE TABLE q (b text);
CREATE TABLE hq () INHERITS (h, q);
INSERT INTO h VALUES (1, '10');
INSERT INTO ho VALUES ('20', 2, 3);
INSERT INTO hom VALUES ('30', 3, 4);
INSERT INTO hm VALUES (4, '40');
INSERT INTO hmo VALUES (5, '50', 6);
ALTER TABLE h ALTER b TYPE int USING b::int + a;
DROP TABLE hq;
ALTER TABLE h ADD CHECK (a > 0);
ALTER TABLE h ALTER b TYPE int USING b::int + a, ALTER a TYPE bigint USING a * 2;
SELECT tableoid::regclass, * FROM h ORDER BY a;
SELECT * FROM ONLY ho;
SELECT * FROM columns;
SELECT * FROM constraints;
SELECT * FROM tree;
ALTER TABLE h ALTER b TYPE text USING h::text;
ALTER TABLE h ALTER b TYPE text USING (h.*)::text;
ALTER TABLE ho ALTER b TYPE bigint USING b;
SET client_min_messages = warning;
ALTER TABLE h ALTER b TYPE text USING b || '!';
RESET client_min_messages;
SELECT tableoid::regclass, * FROM h ORDER BY a;
INSERT INTO hmo VALUES (-1, 'x');
DROP TABLE h CASCADE;
DROP TABLE q;

-- keys, and who refers to them
CREATE TABLE p (a int, b text, PRIMARY KEY (a, b)) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) USING heap;
CREATE TABLE q (x int, y text, FOREIGN KEY (x, y) REFERENCES p ON DELETE CASCADE);
INSERT INTO p VALUES (1, '1'), (11, '11');
INSERT INTO q VALUES (1, '1'), (11, '11');
ALTER TABLE p ALTER b TYPE varchar USING b || '!';
ALTER TABLE p ALTER b TYPE varchar USING substr(b, 1, 2);
SELECT * FROM constraints;
INSERT INTO q VALUES (2, '2');
INSERT INTO p VALUES (1, '1');
INSERT INTO p VALUES (11, '11');
DELETE FROM p;
SELECT * FROM q;
DROP TABLE q, p;

-- event triggers
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_event = 'table_rewrite' THEN
		RAISE NOTICE '% % % %', tg_event, tg_tag, pg_event_trigger_table_rewrite_oid()::regclass, pg_event_trigger_table_rewrite_reason();
	ELSE
		RAISE NOTICE '% %', tg_event, tg_tag;
	END IF;
END $$;
CREATE EVENT TRIGGER starts ON ddl_command_start EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER ends ON ddl_command_end EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER rewrites ON table_rewrite EXECUTE FUNCTION tell();
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10) USING heap;
CREATE TABLE p2 PARTITION OF p DEFAULT;
ALTER TABLE p ALTER b TYPE int USING b::int;
DROP EVENT TRIGGER starts;
DROP EVENT TRIGGER ends;
DROP EVENT TRIGGER rewrites;

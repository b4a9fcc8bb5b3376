-- Event triggers of statements on tables: they see the whole of it, under the name that it was written by.
CREATE TABLE t (id int PRIMARY KEY, v int, w varchar(5), CHECK (v < 1000));
CREATE TABLE other (id int REFERENCES t);
INSERT INTO t SELECT i, i, 'w' || i FROM generate_series(1, 3) i;
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	IF tg_event = 'table_rewrite' THEN
		RAISE NOTICE '% % % %', tg_event, tg_tag, pg_event_trigger_table_rewrite_oid()::regclass, pg_event_trigger_table_rewrite_reason();
		RETURN;
	END IF;
	SELECT string_agg(t::text, ' ' ORDER BY t::text) INTO r FROM t;
	RAISE NOTICE '% % %', tg_event, tg_tag, r;
	IF tg_event = 'sql_drop' THEN
		FOR r IN SELECT object_type || ' ' || object_identity FROM pg_event_trigger_dropped_objects() WHERE object_type <> 'trigger' ORDER BY 1 LOOP
			RAISE NOTICE '%', r;
		END LOOP;
	END IF;
END $$;
CREATE EVENT TRIGGER starts ON ddl_command_start WHEN tag IN ('ALTER TABLE') EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER ends ON ddl_command_end WHEN tag IN ('ALTER TABLE') EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER drops ON sql_drop WHEN tag IN ('ALTER TABLE') EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER rewrites ON table_rewrite EXECUTE FUNCTION tell();
ALTER TABLE t ALTER v TYPE bigint;
ALTER TABLE t ALTER v TYPE numeric USING v * 2;
ALTER TABLE t ALTER w TYPE varchar(10);
ALTER TABLE t ALTER w TYPE text;
ALTER TABLE t ADD x int DEFAULT 5;
ALTER TABLE t ADD y int DEFAULT (random() * 0)::int;
ALTER TABLE t ADD g int GENERATED ALWAYS AS (id * 2) STORED, ALTER v TYPE int;
ALTER TABLE t ADD n int, ALTER id TYPE bigint;
ALTER TABLE t DROP COLUMN x, DROP CONSTRAINT t_v_check;
ALTER TABLE t ADD UNIQUE (w);
ALTER TABLE t ADD CHECK (v < 3);
ALTER TABLE other ADD FOREIGN KEY (id) REFERENCES t;
ALTER TABLE other DROP CONSTRAINT other_id_fkey;
ALTER TABLE t RENAME COLUMN n TO m;
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not now''; END';
CREATE EVENT TRIGGER refuses ON table_rewrite EXECUTE FUNCTION refuse();
ALTER TABLE t ALTER id TYPE int;
ALTER TABLE t ADD k int;
DROP EVENT TRIGGER refuses;
ALTER EVENT TRIGGER starts DISABLE;
ALTER TABLE t ALTER id TYPE int;
DROP EVENT TRIGGER ends, drops, rewrites;
ALTER TABLE t ALTER id TYPE text;
SELECT * FROM t ORDER BY id;
-- CREATE TABLE in every form, and others: with keys and constraints, as it was written
CREATE FUNCTION tell_all() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	RAISE NOTICE '% %', tg_event, tg_tag;
	IF tg_event = 'sql_drop' THEN
		FOR r IN SELECT object_type, object_identity FROM pg_event_trigger_dropped_objects() WHERE object_type IN ('table', 'foreign table', 'index', 'table column', 'view') AND schema_name = 'public' ORDER BY 2 LOOP
			RAISE NOTICE '% %', r.object_type, r.object_identity;
		END LOOP;
	ELSIF tg_event = 'ddl_command_end' THEN
		FOR r IN SELECT object_identity, (SELECT count(*) FROM pg_constraint WHERE conrelid = c.objid) AS n FROM pg_event_trigger_ddl_commands() c
			WHERE command_tag NOT LIKE 'ALTER%' AND object_type IN ('table', 'foreign table') LOOP
			RAISE NOTICE '% %', r.object_identity, r.n;
		END LOOP;
		RAISE NOTICE '%', (SELECT count(*) FROM pg_constraint);
	END IF;
END $$;
CREATE TABLE parent (id int PRIMARY KEY, v int);
CREATE EVENT TRIGGER starts_all ON ddl_command_start EXECUTE FUNCTION tell_all();
CREATE EVENT TRIGGER ends_all ON ddl_command_end EXECUTE FUNCTION tell_all();
CREATE EVENT TRIGGER drops_all ON sql_drop EXECUTE FUNCTION tell_all();
CREATE TABLE c1 (id int PRIMARY KEY, p int REFERENCES parent, UNIQUE (p));
CREATE TABLE c2 AS SELECT 1 AS a, 2 AS b;
SELECT 5 AS x INTO c3;
CREATE TABLE c4 (LIKE c1 INCLUDING ALL);
CREATE TABLE IF NOT EXISTS c4 (a int);
CREATE TABLE IF NOT EXISTS c2 AS SELECT 1 AS a;
CREATE INDEX ON c2 (a);
CREATE TABLE o (id int REFERENCES parent) USING heap;
ALTER TABLE o ADD CONSTRAINT again FOREIGN KEY (id) REFERENCES parent;
ALTER TABLE c1 ADD x int;
ALTER TABLE c1 ALTER x TYPE text;
ALTER TABLE c2 RENAME TO c5;
DROP TABLE c3, c5;
DROP TABLE c1, o;
DROP INDEX IF EXISTS nope;
ALTER TABLE parent ALTER v TYPE bigint USING v + 1;
COMMENT ON TABLE parent IS 'x';
CREATE TABLE pt (a int PRIMARY KEY, b int) PARTITION BY RANGE (a);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM (1) TO (10);
CREATE TABLE pt2 (a int NOT NULL, b int);
ALTER TABLE pt ATTACH PARTITION pt2 FOR VALUES FROM (10) TO (20);
CREATE INDEX ON pt (b);
DROP TABLE pt;
DROP EVENT TRIGGER starts_all, ends_all, drops_all;
-- which commands there are to be told of
CREATE FUNCTION tell_commands() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %', tg_event, tg_tag, (SELECT string_agg(DISTINCT replace(command_tag, 'FOREIGN ', '') || ' ' || object_identity, ', ' ORDER BY replace(command_tag, 'FOREIGN ', '') || ' ' || object_identity) FROM pg_event_trigger_ddl_commands());
END $$;
CREATE TABLE told (id int PRIMARY KEY, p int REFERENCES parent, v int);
CREATE TABLE teller (id int);
CREATE EVENT TRIGGER ends_told ON ddl_command_end EXECUTE FUNCTION tell_commands();
CREATE TABLE told_1 (id int PRIMARY KEY, u int UNIQUE, p int REFERENCES parent, EXCLUDE (u WITH =));
CREATE TABLE told_2 (id int REFERENCES parent) USING heap;
CREATE TABLE told_3 AS SELECT 1 AS a;
SELECT 1 AS a INTO told_4;
PREPARE row AS SELECT 1 AS a;
CREATE TABLE told_5 AS EXECUTE row;
ALTER INDEX told_1_pkey SET (fillfactor = 40);
ALTER INDEX told_1_pkey RESET (fillfactor);
DROP TABLE told_1, told_2, told_3, told_4, told_5;
ALTER TABLE told ADD UNIQUE (v);
ALTER TABLE told ADD w int DEFAULT 5, ADD UNIQUE (w), ADD FOREIGN KEY (v) REFERENCES told;
ALTER TABLE told SET (fillfactor = 40);
ALTER TABLE told RESET (fillfactor);
ALTER TABLE told CLUSTER ON told_pkey;
ALTER TABLE told SET WITHOUT CLUSTER;
ALTER TABLE told ALTER v SET COMPRESSION pglz;
ALTER TABLE told ADD FOREIGN KEY (w) REFERENCES parent NOT VALID;
ALTER TABLE told VALIDATE CONSTRAINT told_w_fkey;
ALTER TABLE told ALTER CONSTRAINT told_w_fkey DEFERRABLE;
ALTER TABLE told DROP CONSTRAINT told_w_fkey;
ALTER TABLE teller ADD FOREIGN KEY (id) REFERENCES told;
ALTER TABLE told ALTER v TYPE bigint;
CREATE INDEX ON told (v);
REINDEX TABLE told;
DROP TABLE teller, told;
DROP TABLE parent;
-- partitions that are written anew
CREATE TABLE pt (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM (1) TO (10);
CREATE FUNCTION tell_rewrite() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %', tg_event, pg_event_trigger_table_rewrite_oid()::regclass, pg_event_trigger_table_rewrite_reason();
END $$;
CREATE EVENT TRIGGER rewrites_told ON table_rewrite EXECUTE FUNCTION tell_rewrite();
ALTER TABLE pt ALTER b TYPE bigint;
ALTER TABLE pt ADD c float8 DEFAULT random();
ALTER TABLE pt ADD d int DEFAULT 5;
DROP TABLE pt;

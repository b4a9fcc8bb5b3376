-- Event triggers of ALTER TABLE: they see the whole of it.
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

-- Indexes of partitioned tables, and their parts in the partitions.
CREATE VIEW indexes AS SELECT i.indrelid::regclass AS "table", i.indexrelid::regclass AS index, inhparent::regclass AS part_of,
	c.relispartition, indisvalid, indisunique, regexp_replace(regexp_replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), '.* ON ', '') AS definition
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_inherits ON inhrelid = i.indexrelid
	WHERE i.indrelid::regclass::text ~ '^(t|u|v|w)[0-9ab]*$' ORDER BY i.indrelid::regclass::text, i.indexrelid::regclass::text;
CREATE TABLE t (a int, b text, c int) PARTITION BY RANGE (a);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10);
CREATE TABLE t2 (c int, x int, b text, a int) PARTITION BY LIST (a);
ALTER TABLE t2 DROP COLUMN x;
CREATE TABLE t2a PARTITION OF t2 FOR VALUES IN (10, 11);
CREATE TABLE t2b PARTITION OF t2 DEFAULT;
ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (10) TO (20);
INSERT INTO t SELECT i, 'text ' || i, i % 3 FROM generate_series(0, 19) i;
-- one that is there is taken
CREATE INDEX mine ON t1 (c);
CREATE INDEX mine2 ON t2b (c);
CREATE INDEX t_c ON t (c);
CREATE INDEX ON t (b DESC NULLS LAST, a);
CREATE INDEX ON t (lower(b)) WHERE c > 0;
CREATE INDEX ON t ((a + c), (a - c));
CREATE INDEX ON t (c) INCLUDE (b);
CREATE INDEX IF NOT EXISTS t_c ON t (a);
CREATE INDEX t_c ON t (a);
CREATE INDEX ON t (nothing);
CREATE INDEX CONCURRENTLY ON t (a);
SELECT * FROM indexes;
SELECT relid, parentrelid, level FROM pg_partition_tree('t_c') ORDER BY relid::text;
SELECT * FROM t WHERE c = 1 ORDER BY a;
SELECT * FROM t WHERE lower(b) = 'text 5' AND c > 0;
-- a part is its index's
DROP INDEX mine;
DROP INDEX t2_c_idx;
ALTER TABLE t1 DROP COLUMN c;
-- new partitions get theirs
CREATE TABLE t3 PARTITION OF t FOR VALUES FROM (20) TO (30);
CREATE TABLE t4 (c int, b text, a int);
CREATE INDEX own4 ON t4 (lower(b)) WHERE c > 0;
CREATE INDEX other4 ON t4 (lower(b)) WHERE c > 1;
INSERT INTO t4 VALUES (1, 'TEXT 35', 35);
ALTER TABLE t ATTACH PARTITION t4 FOR VALUES FROM (30) TO (40);
SELECT * FROM indexes WHERE "table"::text IN ('t3', 't4');
SELECT * FROM t WHERE lower(b) = 'text 35' AND c > 0;
-- who leaves keeps them, and may come back
ALTER TABLE t DETACH PARTITION t4;
ALTER TABLE t DETACH PARTITION t2;
SELECT * FROM indexes WHERE "table"::text ~ '^t[24]';
DROP INDEX other4;
DROP INDEX own4;
DROP INDEX t2_c_idx;
ALTER TABLE t ATTACH PARTITION t4 FOR VALUES FROM (30) TO (40);
ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (10) TO (20);
SELECT * FROM indexes WHERE "table"::text ~ '^t[24]';
-- DROP of the whole
DROP INDEX t_c;
DROP INDEX t_c_b_idx, t_expr_expr1_idx;
SELECT * FROM indexes;
BEGIN;
DROP INDEX t_b_a_idx;
SELECT * FROM indexes WHERE index::text LIKE '%b_a%';
ROLLBACK;
SELECT * FROM indexes WHERE index::text LIKE '%b_a%';
-- names, comments, owners
ALTER INDEX t_b_a_idx RENAME TO by_b;
COMMENT ON INDEX by_b IS 'by b';
ALTER INDEX t1_b_a_idx RENAME TO by_b1;
-- other types
ALTER TABLE t ALTER c TYPE bigint;
ALTER TABLE t ALTER b TYPE varchar(20);
SELECT * FROM indexes;
SELECT indrelid::regclass, obj_description(indexrelid) FROM pg_index WHERE indrelid::regclass::text ~ '^t[0-9]*$' AND obj_description(indexrelid) IS NOT NULL ORDER BY indrelid::regclass::text;
SELECT * FROM t WHERE b >= 'text 7' ORDER BY b DESC NULLS LAST, a LIMIT 2;
SELECT * FROM t WHERE lower(b) = 'text 5' AND c > 0;
ALTER TABLE t ALTER a TYPE bigint;
DROP TABLE t;

-- ONLY, and one by one
CREATE TABLE u (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE u1 PARTITION OF u FOR VALUES FROM (0) TO (10);
CREATE TABLE u2 PARTITION OF u FOR VALUES FROM (10) TO (20);
CREATE INDEX u_b ON ONLY u (b);
CREATE INDEX u_a ON u (a);
CREATE UNIQUE INDEX u_ab ON u (a, b);
SELECT * FROM indexes;
CREATE INDEX u1_b ON u1 (b);
CREATE INDEX u2_b ON u2 (b);
CREATE INDEX u2_x ON u2 (b, a);
ALTER INDEX u_b ATTACH PARTITION u1_b;
ALTER INDEX u_b ATTACH PARTITION u2_x;
SELECT * FROM indexes WHERE index = 'u_b'::regclass;
CREATE TABLE u3 PARTITION OF u FOR VALUES FROM (20) TO (30);
ALTER INDEX u_b ATTACH PARTITION u2_b;
ALTER INDEX u_b ATTACH PARTITION u2_b;
SELECT * FROM indexes;
DROP TABLE u2;
SELECT * FROM indexes;
ALTER TABLE u DETACH PARTITION u1 CONCURRENTLY;
SELECT * FROM indexes;
DROP TABLE u;
DROP TABLE u1;

-- keys, and a change of type
CREATE TABLE v (a int, b int, c int, d int UNIQUE, PRIMARY KEY (a, b), UNIQUE (a, c) DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (a);
CREATE TABLE v (a int, b int, c int, d int, PRIMARY KEY (a, b), CONSTRAINT vc UNIQUE (a, c) DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (a);
CREATE TABLE v1 PARTITION OF v FOR VALUES FROM (0) TO (10);
CREATE TABLE v2 (d int, c int, b int, a int) PARTITION BY LIST (a);
CREATE TABLE v2a PARTITION OF v2 FOR VALUES IN (10, 11);
ALTER TABLE v2 ADD UNIQUE (a, b, c);
ALTER TABLE v2 ALTER a SET NOT NULL, ALTER b SET NOT NULL;
ALTER TABLE v ATTACH PARTITION v2 DEFAULT;
CREATE UNIQUE INDEX ON v (a, d) WHERE b > 0;
CREATE INDEX v1_own ON v1 (b);
COMMENT ON CONSTRAINT vc ON v IS 'deferred';
COMMENT ON INDEX vc IS 'its index';
COMMENT ON INDEX v2_a_b_c_key IS 'of v2';
INSERT INTO v VALUES (1, 1, 1, 1), (2, 2, 2, 2), (10, 1, 1, 1), (11, 2, 2, 2);
ALTER TABLE v ALTER b TYPE bigint, ALTER c TYPE smallint;
SELECT * FROM indexes;
SELECT conname, conrelid::regclass, contype, condeferrable, condeferred, conislocal, coninhcount, conparentid <> 0 FROM pg_constraint WHERE conrelid::regclass::text ~ '^v' ORDER BY 2::text, 1;
SELECT obj_description(oid) FROM pg_constraint WHERE conname = 'vc';
SELECT indexrelid::regclass, obj_description(indexrelid) FROM pg_index WHERE indrelid::regclass::text ~ '^v[0-9a]*$' AND obj_description(indexrelid) IS NOT NULL ORDER BY indexrelid::regclass::text;
INSERT INTO v VALUES (1, 1, 5, 5);
INSERT INTO v VALUES (10, 9, 1, 5);
INSERT INTO v VALUES (1, 1, 7, 8), (10, 1, 7, 8) ON CONFLICT (a, b) DO UPDATE SET d = excluded.d RETURNING *;
INSERT INTO v VALUES (1, 20, 20, 8);
CREATE TABLE w (a int, b bigint, FOREIGN KEY (a, b) REFERENCES v);
INSERT INTO w VALUES (1, 1), (10, 1);
ALTER TABLE v ALTER b TYPE numeric;
ALTER TABLE v ALTER b TYPE int;
DELETE FROM v WHERE a = 10;
SELECT conname, conrelid::regclass, confrelid::regclass FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 ORDER BY conname, conrelid::regclass::text;
ALTER TABLE v2a ALTER b TYPE bigint;
ALTER TABLE ONLY v ALTER b TYPE bigint;
ALTER TABLE v DROP CONSTRAINT vc, ALTER c TYPE int;
ALTER TABLE v ALTER c TYPE int;
SELECT * FROM indexes;
DROP TABLE w;
DROP TABLE v;
-- what event triggers see
CREATE TABLE w (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE w1 PARTITION OF w DEFAULT;
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	RAISE NOTICE '% %', tg_event, tg_tag;
	IF tg_event = 'ddl_command_end' THEN
		FOR r IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP RAISE NOTICE '% %', r.command_tag, r.object_identity; END LOOP;
		RAISE NOTICE '%', (SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'w1'::regclass);
	END IF;
END $$;
CREATE EVENT TRIGGER starts ON ddl_command_start EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER ends ON ddl_command_end EXECUTE FUNCTION tell();
CREATE INDEX w_b ON w (b);
CREATE UNIQUE INDEX w_ab ON w (a, b);
DROP EVENT TRIGGER starts;
DROP EVENT TRIGGER ends;
-- in use; rights
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM w1;
FETCH c;
CREATE INDEX ON w (a);
ROLLBACK;
CREATE ROLE partition_index_user;
CREATE SCHEMA closed;
CREATE TABLE closed.w2 (a int, b int);
GRANT USAGE ON SCHEMA closed TO partition_index_user;
ALTER TABLE w ATTACH PARTITION closed.w2 FOR VALUES FROM (0) TO (10);
ALTER TABLE w OWNER TO partition_index_user;
SET ROLE partition_index_user;
CREATE INDEX ON w (b, a);
CREATE INDEX ON w1 (b, a);
RESET ROLE;
GRANT CREATE ON SCHEMA closed TO partition_index_user;
SET ROLE partition_index_user;
CREATE INDEX ON w (b, a);
RESET ROLE;
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'w_b_a_idx';
SELECT relname, relowner::regrole = current_user::regrole FROM pg_class WHERE relname IN ('w1_b_a_idx', 'w2_b_a_idx') ORDER BY relname;
DROP SCHEMA closed CASCADE;
DROP TABLE w;
DROP ROLE partition_index_user;
-- functions in indexes run as the owner
CREATE ROLE partition_index_owner;
CREATE FUNCTION owners(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN ASSERT current_user = 'partition_index_owner', format('called by %s', current_user); RETURN $1; END $$;
CREATE TABLE w (a int) PARTITION BY RANGE (a);
CREATE TABLE w1 PARTITION OF w DEFAULT;
ALTER TABLE w OWNER TO partition_index_owner;
ALTER TABLE w1 OWNER TO partition_index_owner;
INSERT INTO w VALUES (1), (50);
CREATE INDEX ON w ((owners(a) + owners(0))) WHERE owners(a + 10) > owners(10);
CREATE INDEX ON w ((owners(a) + owners(0))) WHERE owners(a + 10) > owners(10);
SELECT "table", index, part_of FROM indexes;
DROP TABLE w;
DROP FUNCTION owners;
DROP ROLE partition_index_owner;
-- a part that is not valid
CREATE TABLE w (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE w1 PARTITION OF w FOR VALUES FROM (0) TO (10);
CREATE TABLE w2 PARTITION OF w FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (a);
CREATE TABLE w2a PARTITION OF w2 DEFAULT;
INSERT INTO w VALUES (1, 1), (11, 1), (11, 1);
CREATE UNIQUE INDEX CONCURRENTLY bad ON w2a (a, b);
CREATE UNIQUE INDEX ON w (a, b);
SELECT * FROM indexes;
DROP INDEX w_a_b_idx;
CREATE TABLE last (a int);

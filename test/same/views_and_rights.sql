-- Views over tables, rights by column, policies of parents.
CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT 'default', secret text, n numeric DEFAULT 1, g int GENERATED ALWAYS AS (k + 1) STORED);
INSERT INTO t (k, v, secret) SELECT g, 'v' || g, 's' || g FROM generate_series(1, 6) g;

-- updatable views
CREATE VIEW plain AS SELECT k, v, n FROM t;
CREATE VIEW small AS SELECT * FROM plain WHERE k < 5 WITH LOCAL CHECK OPTION;
CREATE VIEW smaller AS SELECT k AS key, upper(v) AS up, v, n FROM small WHERE n > 0 WITH CASCADED CHECK OPTION;
CREATE VIEW grouped AS SELECT v, count(*) FROM t GROUP BY v;
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, v FROM t WHERE n = 1;
SELECT table_name, is_insertable_into FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'VIEW' ORDER BY 1;
SELECT table_name, column_name, is_updatable FROM information_schema.columns WHERE table_schema = 'public' AND table_name IN ('plain', 'smaller', 'grouped') ORDER BY 1, 2;
INSERT INTO plain VALUES (10, 'ten', 2) RETURNING *;
INSERT INTO small (k) VALUES (4) ON CONFLICT (k) DO UPDATE SET v = 'conflict' RETURNING *;
INSERT INTO small (k) VALUES (7);
UPDATE small SET k = 8 WHERE k = 1;
UPDATE smaller SET n = -1 WHERE key = 1;
UPDATE smaller SET v = 'one', n = n + 1 WHERE key = 1 RETURNING *;
UPDATE smaller SET up = 'x';
DELETE FROM smaller WHERE key = 2 RETURNING key, up;
DELETE FROM grouped;
INSERT INTO grouped VALUES ('x');
CREATE VIEW open AS SELECT k, v, n FROM t WHERE k < 5;
INSERT INTO open VALUES (5, 'hidden', 1) ON CONFLICT (k) DO UPDATE SET n = 5;
INSERT INTO open VALUES (5, 'hidden', 1) ON CONFLICT (k) DO UPDATE SET n = 5 WHERE open.k = 0;
INSERT INTO open VALUES (5, 'hidden', 1) ON CONFLICT (k) DO NOTHING RETURNING *;
INSERT INTO open VALUES (4, 'shown', 1) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v WHERE open.k = 0 RETURNING *;
INSERT INTO open VALUES (4, 'shown', 1) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v RETURNING *;
UPDATE barrier SET v = v || '!' WHERE k > 3 RETURNING *;
DELETE FROM barrier WHERE v = 'nothing';
UPDATE plain SET v = 'moved' FROM small s WHERE plain.k = s.k AND s.k = 3 RETURNING plain.*, s.*;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t (k, v) VALUES (1000 + new.count, new.v); RETURN new; END $$;
CREATE TRIGGER i INSTEAD OF INSERT ON grouped FOR EACH ROW EXECUTE FUNCTION instead();
INSERT INTO grouped VALUES ('instead', 5);
CREATE RULE r AS ON DELETE TO grouped DO INSTEAD DELETE FROM t WHERE v = old.v;
DELETE FROM grouped WHERE v = 'instead';
SELECT * FROM t ORDER BY k;
CREATE MATERIALIZED VIEW m AS SELECT v, k FROM t;
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m ORDER BY k;
ALTER TABLE t DROP COLUMN v;
ALTER TABLE t ALTER COLUMN v TYPE varchar;
DROP TABLE t;

-- rights
CREATE ROLE reader;
CREATE ROLE writer;
CREATE FUNCTION try(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE 'SET LOCAL ROLE ' || role;
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	RESET ROLE;
	RETURN n || ' rows';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
GRANT SELECT (k, v) ON t TO reader;
GRANT INSERT (k, v), UPDATE (v), SELECT (k) ON t TO writer;
SELECT try('reader', 'SELECT k, v FROM t');
SELECT try('reader', 'SELECT * FROM t');
SELECT try('reader', 'SELECT secret FROM t');
SELECT try('reader', 'SELECT t FROM t');
SELECT try('reader', 'SELECT count(*) FROM t');
SELECT try('reader', 'SELECT 1 FROM t WHERE secret = ''s1''');
SELECT try('reader', 'SELECT tableoid FROM t');
SELECT try('reader', 'INSERT INTO t (k) VALUES (50)');
SELECT try('reader', 'LOCK TABLE t IN ACCESS SHARE MODE');
SELECT try('writer', 'LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
SELECT try('writer', 'INSERT INTO t (k, v) VALUES (50, ''fifty'')');
SELECT try('writer', 'INSERT INTO t (k, secret) VALUES (51, ''x'')');
SELECT try('writer', 'INSERT INTO t (k) VALUES (51) RETURNING k');
SELECT try('writer', 'INSERT INTO t (k) VALUES (52) RETURNING v');
SELECT try('writer', 'INSERT INTO t (k) VALUES (51) ON CONFLICT (k) DO UPDATE SET v = ''again''');
SELECT try('writer', 'INSERT INTO t (k) VALUES (51) ON CONFLICT (k) DO UPDATE SET n = 3');
SELECT try('writer', 'UPDATE t SET v = ''changed'' WHERE k = 50');
SELECT try('writer', 'UPDATE t SET v = ''changed'' WHERE v = ''x''');
SELECT try('writer', 'UPDATE t SET k = 60 WHERE k = 50');
SELECT try('writer', 'DELETE FROM t WHERE k = 50');
SELECT try('writer', 'TRUNCATE t');
SELECT try('writer', 'ALTER TABLE t ADD COLUMN x int');
SELECT try('writer', 'DROP TABLE t');
SELECT try('writer', 'ANALYZE t');
SELECT try('writer', 'COMMENT ON TABLE t IS ''mine''');
GRANT ALL ON t TO writer;
SELECT try('writer', 'DELETE FROM t WHERE k = 50');
SELECT try('writer', 'TRUNCATE t');
REVOKE ALL ON t FROM writer;
REVOKE SELECT (v) ON t FROM reader;
SELECT try('reader', 'SELECT k, v FROM t');
SELECT has_table_privilege('writer', 't', 'select'), has_column_privilege('reader', 't', 'k', 'select'), has_any_column_privilege('reader', 't', 'select');
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 't'::regclass AND attacl IS NOT NULL;
ALTER TABLE t OWNER TO writer;
SELECT try('writer', 'COMMENT ON TABLE t IS ''mine''');
ALTER TABLE t OWNER TO CURRENT_USER;
DROP OWNED BY reader, writer;

-- a parent's policies
CREATE TABLE whole (k int, owner name DEFAULT current_user, v text) PARTITION BY RANGE (k);
CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10);
CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (20);
ALTER TABLE whole ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON whole FOR SELECT USING (owner = current_user OR v = 'public');
CREATE POLICY made ON whole FOR INSERT WITH CHECK (owner = current_user AND v <> 'forbidden');
CREATE POLICY changed ON whole FOR UPDATE USING (owner = current_user) WITH CHECK (v <> 'wrong');
CREATE POLICY gone ON whole FOR DELETE USING (k <> 3);
GRANT ALL ON whole TO reader, writer;
INSERT INTO whole VALUES (1, 'reader', 'a'), (2, 'writer', 'b'), (3, 'reader', 'c'), (11, 'reader', 'd'), (12, 'writer', 'public');
SET ROLE reader;
SELECT * FROM whole ORDER BY k;
INSERT INTO whole VALUES (4, 'reader', 'mine');
INSERT INTO whole VALUES (4, 'writer', 'not mine');
INSERT INTO whole (k, v) VALUES (5, 'forbidden');
UPDATE whole SET v = 'wrong' WHERE k = 1;
UPDATE whole SET v = v || '!' RETURNING k IS NULL;
UPDATE whole SET owner = 'writer' WHERE k = 4;
UPDATE whole SET k = 15 WHERE k = 1 RETURNING *;
DELETE FROM whole WHERE k IN (3, 11) RETURNING *;
SELECT * FROM low;
COPY whole TO STDOUT;
COPY whole FROM STDIN;
\.
RESET ROLE;
SELECT * FROM whole ORDER BY k;
DROP OWNED BY reader, writer;
DROP ROLE reader, writer;

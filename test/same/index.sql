-- Secondary indexes and unique constraints.
CREATE FUNCTION run(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text; n bigint; c text; d text; s text;
BEGIN
	IF statement ~* '^(select|with|values|table)' THEN
		EXECUTE format('SELECT string_agg(x::text, '' '') FROM (%s) x', statement) INTO result;
		RETURN coalesce(result, 'none');
	END IF;
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN CASE WHEN statement ~* '^(insert|update|delete|merge)' THEN n || ' rows' ELSE 'done' END;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, d = PG_EXCEPTION_DETAIL, s = SCHEMA_NAME;
	RETURN format('%s %s%s%s', SQLSTATE, SQLERRM, ' <' || nullif(c, '') || '>', ' ' || nullif(d, ''));
END $$;
-- all indexes of a table, by name
CREATE FUNCTION indexes(name text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT run(format($q$SELECT c.relname || ': ' || replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') ||
		CASE WHEN indisprimary THEN ' primary' ELSE '' END || coalesce(' ' || pg_get_constraintdef(o.oid), '')
		FROM pg_index i JOIN pg_class c ON c.oid = indexrelid LEFT JOIN pg_constraint o ON conindid = c.oid
		WHERE indrelid = %L::regclass ORDER BY 1$q$, name));
$$;
\pset tuples_only on
\pset format unaligned

-- Forms, and the names they get
SELECT run('CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE, b text, c numeric, d date, UNIQUE (b, c), CONSTRAINT named UNIQUE NULLS NOT DISTINCT (d))');
SELECT run(s) FROM unnest(ARRAY['CREATE INDEX ON t (b)', 'CREATE INDEX ON t (b)', 'CREATE INDEX ON t (lower(b), a, (c + 1))',
	'CREATE INDEX ON t (a DESC, b NULLS FIRST) INCLUDE (c)', 'CREATE UNIQUE INDEX part ON t (b COLLATE "POSIX") WHERE c > 10',
	'CREATE INDEX ON t (b text_pattern_ops)', 'CREATE INDEX IF NOT EXISTS part ON t (a)',
	'CREATE INDEX part ON t (a)', 'CREATE INDEX ON t ((a))']) s;
SELECT indexes('t');
SELECT run(s) FROM unnest(ARRAY['CREATE INDEX ON t (nope)', 'CREATE INDEX ON t (ctid)', 'CREATE INDEX ON t (a int8_ops)',
	'CREATE INDEX ON t (a COLLATE "C")', 'CREATE INDEX ON t ((random()))', 'CREATE INDEX ON t (a) WHERE random() > 0.5',
	'CREATE INDEX ON t (a) INCLUDE ((b))', 'CREATE INDEX ON t (a) INCLUDE (b DESC)', 'CREATE INDEX ON t USING nope (a)',
	'CREATE TABLE bad (a int UNIQUE, UNIQUE (a, a))', 'CREATE TABLE bad (a int, UNIQUE (nope))',
	'CREATE TABLE bad (a int PRIMARY KEY, PRIMARY KEY (a))', 'ALTER TABLE t ADD PRIMARY KEY (a)']) s;
-- What is unique, and what it says
SELECT run(s) FROM unnest(ARRAY['INSERT INTO t VALUES (1, 10, ''x'', 1, ''2000-01-01'')', 'INSERT INTO t VALUES (2, 10)',
	'INSERT INTO t VALUES (2, NULL, ''x'', 1.00)', 'INSERT INTO t VALUES (2, NULL, ''x'', NULL), (3, NULL, ''x'', NULL)',
	'INSERT INTO t VALUES (2, NULL, ''x'', NULL, ''2000-01-01'')', 'INSERT INTO t VALUES (2, NULL, ''x'', NULL, ''2000-01-02''), (3, NULL, ''x'', NULL, ''2000-01-03'')', 'INSERT INTO t (id) VALUES (4)',
	'UPDATE t SET a = 10 WHERE id = 2', 'UPDATE t SET a = id', 'UPDATE t SET d = NULL', 'UPDATE t SET id = 5 WHERE id = 1',
	'INSERT INTO t VALUES (6, 60, ''y'', 11, ''2000-01-06''), (7, 70, ''y'', 12, ''2000-01-07'')', 'INSERT INTO t VALUES (7, 70, ''y'', 9, ''2000-01-07'')',
	'INSERT INTO t VALUES (6, 60, ''y'', 11, ''2000-01-06'')', 'UPDATE t SET c = 20 WHERE id = 7', 'DELETE FROM t WHERE id = 6',
	'UPDATE t SET c = 20 WHERE id = 7', 'TABLE t ORDER BY id']) s;
-- on a table with rows
SELECT run(s) FROM unnest(ARRAY['CREATE UNIQUE INDEX bad ON t ((a > 0))', 'CREATE UNIQUE INDEX bad ON t (b)', 'ALTER TABLE t ADD CONSTRAINT bad UNIQUE (b)', 'CREATE UNIQUE INDEX bad ON t (b) WHERE id < 4', 'CREATE UNIQUE INDEX good ON t (b, id)', 'CREATE UNIQUE INDEX good_part ON t (b) WHERE a > 50',
	'INSERT INTO t VALUES (8, 80, ''y'', 0, ''2000-01-08'')']) s;
SELECT indexes('t');

-- ON CONFLICT with any of them
SELECT run(s) FROM unnest(ARRAY['INSERT INTO t VALUES (9, 70) ON CONFLICT DO NOTHING', 'INSERT INTO t VALUES (9, 70) ON CONFLICT (a) DO NOTHING',
	'INSERT INTO t VALUES (9, 70) ON CONFLICT (id) DO NOTHING', 'INSERT INTO t VALUES (9, 70, ''q'') ON CONFLICT (a) DO UPDATE SET b = excluded.b || t.a',
	'INSERT INTO t VALUES (9, 70, ''q'') ON CONFLICT ON CONSTRAINT t_a_key DO UPDATE SET b = ''w'' WHERE t.a > 100',
	'INSERT INTO t VALUES (9, 90, ''q70'', 99) ON CONFLICT (b COLLATE "POSIX") WHERE c > 10 DO UPDATE SET c = 100',
	'INSERT INTO t VALUES (9, 90, ''q70'', 99) ON CONFLICT (b) DO NOTHING', 'INSERT INTO t VALUES (9, 90, ''q71'', 99, ''2000-01-01'') ON CONFLICT (b) WHERE a > 50 DO UPDATE SET c = 3',
	'INSERT INTO t VALUES (9, 90, ''q71'', 99, ''2000-01-09'') ON CONFLICT (b) WHERE a > 50 DO UPDATE SET c = 3', 'INSERT INTO t VALUES (10, 70, ''q71'', 99, ''2000-01-10'') ON CONFLICT (b) WHERE a > 50 DO UPDATE SET c = 4',
	'INSERT INTO t VALUES (5, 70) ON CONFLICT (a) DO UPDATE SET id = excluded.id', 'INSERT INTO t VALUES (5, 71, ''r'', 1, ''2000-01-07'') ON CONFLICT (d) DO UPDATE SET a = excluded.a', 'INSERT INTO t VALUES (8, 10) ON CONFLICT (a) DO UPDATE SET a = 71',
	'INSERT INTO t VALUES (20, 200, ''a'', 0, ''2000-02-20''), (21, 200, ''b'', 0, ''2000-02-21'') ON CONFLICT (a) DO UPDATE SET b = ''z''', 'INSERT INTO t VALUES (20, 201) ON CONFLICT (a) DO UPDATE SET b = ''z''', 'INSERT INTO t VALUES (20, 71) ON CONFLICT DO NOTHING', 'TABLE t ORDER BY id']) s;

-- Transactions: an index that is dropped binds nobody, and does again if it is not dropped
CREATE FUNCTION steps(VARIADIC list text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT run(s) FROM unnest(list) s';
BEGIN;
SELECT steps('DROP INDEX good', 'ALTER TABLE t DROP CONSTRAINT t_a_key', 'INSERT INTO t SELECT id + 100, a, b, c + 1000, d + 100 FROM t WHERE id = 5', 'SELECT id, a FROM t WHERE a = 1 ORDER BY id');
SAVEPOINT s;
SELECT steps('DELETE FROM t WHERE id = 105', 'CREATE UNIQUE INDEX again ON t (a)', 'INSERT INTO t SELECT id + 100, a, b, c + 1000, d + 100 FROM t WHERE id = 5');
ROLLBACK TO s;
SELECT steps('CREATE UNIQUE INDEX again ON t (a)', 'SELECT id, a FROM t WHERE a = 1 ORDER BY id');
ROLLBACK;
SELECT steps('INSERT INTO t SELECT id + 100, a, b, c + 1000, d + 100 FROM t WHERE id = 5', 'SELECT id, a FROM t WHERE a = 1');
BEGIN;
SELECT steps('CREATE INDEX gone ON t (d)', 'UPDATE t SET d = ''2010-10-10'' WHERE id = 5', 'SELECT id FROM t WHERE d = ''2010-10-10''');
ROLLBACK;
SELECT steps('SELECT id FROM t WHERE d = ''2010-10-10''');
SELECT indexes('t');
BEGIN;
SELECT steps('DROP INDEX good_part', 'TRUNCATE t', 'INSERT INTO t SELECT i, i, ''same'', i - 50, DATE ''2020-01-01'' + i FROM generate_series(51, 53) i');
COMMIT;
SELECT steps('INSERT INTO t VALUES (54, 51, NULL, NULL, ''2000-01-01'')', 'INSERT INTO t VALUES (54, 54, ''same'', 1, ''2000-01-01'')', 'SELECT id FROM t WHERE b = ''same'' ORDER BY c');

-- ALTER, DROP, COMMENT, RENAME, REINDEX
SELECT steps('ALTER INDEX t_b_idx RENAME TO by_b', 'COMMENT ON INDEX by_b IS ''of b''', 'ALTER TABLE t RENAME CONSTRAINT named TO d_once', 'REINDEX INDEX by_b',
	'REINDEX TABLE t', 'COMMENT ON CONSTRAINT t_a_key ON t IS ''of a''', 'ALTER TABLE t ALTER a TYPE bigint', 'ALTER TABLE t ALTER b TYPE varchar(30)',
	'SELECT obj_description(''by_b''::regclass), obj_description(oid) FROM pg_constraint WHERE conname = ''t_a_key'' AND conrelid = ''t''::regclass');
SELECT steps('ALTER INDEX by_b SET (fillfactor = 70, deduplicate_items = off)', 'ALTER INDEX by_b RESET (fillfactor, deduplicate_items)', 'ALTER INDEX by_b SET (nonsense = 1)', 'ALTER INDEX by_b SET TABLESPACE pg_default',
	'ALTER INDEX by_b OWNER TO current_user', 'ALTER INDEX by_b OWNER TO pg_monitor', 'CREATE INDEX ON t (a) WITH (nonsense = 1)');
SELECT indexes('t');
SELECT steps('INSERT INTO t VALUES (55, 51, NULL, NULL, ''2000-01-01'')', 'ALTER TABLE t DROP COLUMN c', 'ALTER TABLE t ADD COLUMN e int DEFAULT 7 UNIQUE', 'ALTER TABLE t ADD COLUMN e int CONSTRAINT e_once UNIQUE CHECK (e > 0), ADD UNIQUE (e, a)', 'UPDATE t SET e = 1');
SELECT indexes('t');
SELECT steps('CREATE UNIQUE INDEX adopted ON t (b, a)', 'ALTER TABLE t ADD CONSTRAINT taken UNIQUE USING INDEX adopted', 'ALTER TABLE t ADD UNIQUE USING INDEX taken', 'ALTER TABLE t ADD UNIQUE USING INDEX by_b',
	'ALTER TABLE t DROP CONSTRAINT t_pkey', 'CREATE UNIQUE INDEX p ON t (a)', 'ALTER TABLE t ADD PRIMARY KEY USING INDEX p', 'INSERT INTO t (id, b) VALUES (1, ''z'')', 'ALTER TABLE t DROP CONSTRAINT t_a_key', 'INSERT INTO t (id, a, b, d) VALUES (1, 51, ''z'', ''2000-01-01'')',
	'SELECT * FROM t WHERE a = 52', 'DROP INDEX by_b, t_b_idx1', 'DROP INDEX IF EXISTS nope', 'DROP INDEX nope');
SELECT indexes('t');
DROP INDEX e_once;
DROP INDEX CONCURRENTLY adopted, good;
DROP INDEX CONCURRENTLY good;
CREATE INDEX CONCURRENTLY index_now ON t (b);
BEGIN;
CREATE INDEX CONCURRENTLY ON t (b);
ROLLBACK;

-- A constraint takes no index with another collation than its column's
SELECT steps('CREATE UNIQUE INDEX other ON t (b COLLATE "POSIX", a)', 'ALTER TABLE t ADD UNIQUE USING INDEX other', 'DROP INDEX other', 'CREATE INDEX ON t (b COLLATE nope)');

-- Hidden columns stay hidden: columns come and go beside indexes on expressions
SELECT steps('CREATE TABLE h (id int PRIMARY KEY, v text)', 'CREATE INDEX h_upper ON h (upper(v))', 'CREATE UNIQUE INDEX h_part ON h (v) WHERE id > 2', 'INSERT INTO h VALUES (1, ''a''), (2, ''A''), (3, ''b'')',
	'SELECT * FROM h WHERE upper(v) = ''A'' ORDER BY id', 'ALTER TABLE h ADD COLUMN n int', 'ALTER TABLE h ADD COLUMN m text DEFAULT ''long enough not to be inline''', 'UPDATE h SET n = id * 2, v = v || v WHERE id < 3',
	'TABLE h', 'SELECT * FROM h WHERE upper(v) = ''AA'' ORDER BY id', 'INSERT INTO h VALUES (4, ''b'')', 'INSERT INTO h VALUES (0, ''b'')', 'DROP INDEX h_upper', 'ALTER TABLE h ADD COLUMN o int', 'TABLE h', 'INSERT INTO h VALUES (4, ''b'')',
	'CREATE INDEX h_n ON h ((n + 1))', 'SELECT id FROM h WHERE n + 1 = 5', 'DROP INDEX h_part', 'INSERT INTO h VALUES (4, ''b'')', 'ALTER TABLE h DROP COLUMN n', 'ALTER TABLE h ALTER v TYPE int USING length(v)', 'TABLE h');
SELECT indexes('h');

-- A composite type grows, and keys stay what they are
CREATE TYPE index_pair AS (x int, y text);
SELECT steps('CREATE TABLE pairs (p index_pair PRIMARY KEY, q index_pair[] UNIQUE)', 'INSERT INTO pairs VALUES ((1, ''a''), ARRAY[(1, NULL)]::index_pair[]), ((NULL, NULL), ''{}'')');
ALTER TYPE index_pair ADD ATTRIBUTE z int;
SELECT steps('INSERT INTO pairs VALUES ((1, ''a'', NULL))', 'INSERT INTO pairs VALUES ((NULL, NULL, NULL))', 'INSERT INTO pairs VALUES ((1, ''a'', 1), ARRAY[(1, NULL, NULL)]::index_pair[])',
	'INSERT INTO pairs VALUES ((1, ''a'', 1), ARRAY[(1, NULL, 2)]::index_pair[])', 'INSERT INTO pairs VALUES ((1, ''a'', 1))', 'SELECT * FROM pairs WHERE p = (1, ''a'', NULL)::index_pair');
ALTER TYPE index_pair DROP ATTRIBUTE y;
SELECT steps('SELECT p FROM pairs ORDER BY p', 'INSERT INTO pairs SELECT * FROM pairs');
DROP TYPE index_pair CASCADE;

-- LIKE
SELECT steps('CREATE TABLE copied (LIKE h INCLUDING ALL)', 'CREATE TABLE again (id int PRIMARY KEY, a int UNIQUE, b text)', 'CREATE INDEX again_expr ON again (lower(b)) WHERE a > 0', 'COMMENT ON INDEX again_expr IS ''kept''',
	'INSERT INTO again VALUES (1, 1, ''B''), (2, -1, ''b'')', 'CREATE TABLE copy_again (LIKE again INCLUDING ALL)');
SELECT indexes('copied');
SELECT indexes('copy_again');
SELECT indexes('again');
SELECT steps('SELECT obj_description(''again_expr''::regclass)', 'SELECT * FROM again WHERE lower(b) = ''b'' AND a > 0', 'INSERT INTO again VALUES (3, 1)');

-- Owners follow
CREATE ROLE index_owner;
CREATE ROLE index_reader;
GRANT USAGE, CREATE ON SCHEMA public TO index_owner, index_reader;
SELECT steps('ALTER TABLE h OWNER TO index_owner', 'SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE ''h\_%'' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = ''h''::regclass) ORDER BY 1');
SET ROLE index_owner;
SELECT steps('CREATE INDEX h_more ON h (v)', 'DROP INDEX h_more', 'DROP INDEX t_b_idx2');
\set VERBOSITY terse
CREATE INDEX ON t (id);
REINDEX TABLE t;
REINDEX INDEX t_b_idx2;
\set VERBOSITY default
RESET ROLE;
REASSIGN OWNED BY index_owner TO index_reader;
SELECT steps('SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE ''h\_%'' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = ''h''::regclass) ORDER BY 1');
-- the key only for those who may see it
GRANT INSERT ON t TO index_reader;
SET ROLE index_reader;
SELECT steps('INSERT INTO t (id, a, b, d) VALUES (1, 51, ''z'', ''2000-01-01'')');
RESET ROLE;

-- Event triggers hear of CREATE INDEX
CREATE FUNCTION heard() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
		RAISE WARNING '% % % %', tg_event, r.command_tag, r.object_type, r.object_identity;
	END LOOP;
END $$;
CREATE EVENT TRIGGER index_heard ON ddl_command_end EXECUTE FUNCTION heard();
CREATE INDEX heard_of ON t (d);
DROP EVENT TRIGGER index_heard;

DROP OWNED BY index_owner, index_reader;
DROP ROLE index_owner, index_reader;

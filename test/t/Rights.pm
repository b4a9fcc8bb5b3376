# Roles, objects and statements for a matrix of rights.  The tables are in memory where the words
# USING tsurugi are not taken out (Twice.pm).
package Rights;

use strict;
use warnings;

# Privileges of roles on the relations of which they are asked: s.t, the views of it, and the
# partitioned s.p.
our %granted = (
	sel => 'SELECT', ins => 'INSERT', upd => 'UPDATE', del => 'DELETE', trunc => 'TRUNCATE', refs => 'REFERENCES', trig => 'TRIGGER',
	ins_sel => 'SELECT, INSERT', upd_sel => 'SELECT, UPDATE', del_sel => 'SELECT, DELETE', everything => 'ALL', blind => 'ALL',
	sel_a => 'SELECT (a)', ins_a => 'INSERT (a)', upd_a => 'UPDATE (a)', upd_b => 'UPDATE (b)', refs_a => 'REFERENCES (a)',
	mixed_a => 'SELECT (a), INSERT (a), UPDATE (a, b)', ins_sel_a => 'INSERT, SELECT (a)', upd_sel_a => 'UPDATE, SELECT (a)', del_sel_a => 'DELETE, SELECT (a)',
	grants => 'SELECT, INSERT', grants_a => 'SELECT (a)');
our @relations = qw(t v iv bv p);

# The session's role, and a statement that changes it.
our @actors = (
	qw(postgres owner heir other nobody dbo reader writer viewer outside),
	'stranger SET ROLE owner', (sort keys %granted));

sub setup
{
	my $sql = q{
		GRANT USAGE ON SCHEMA s TO PUBLIC;
		GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC;
		CREATE SCHEMA w;
		GRANT ALL ON SCHEMA w TO PUBLIC;
		GRANT CREATE ON SCHEMA s TO owner;
		SET SESSION AUTHORIZATION owner;
		SET search_path = s;
		CREATE TYPE mood AS ENUM ('good', 'bad');
		CREATE DOMAIN positive AS int CHECK (VALUE > 0);
		CREATE TABLE up (k int PRIMARY KEY, x text) USING tsurugi;
		CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT 'none', c int UNIQUE, d text CHECK (d <> 'bad'), e int REFERENCES up, f positive, m mood,
			EXCLUDE USING btree (f WITH =), CHECK (c < 1000) NOT VALID) USING tsurugi;
		CREATE INDEX t_b ON t (b);
		CREATE INDEX t_dropped ON t (a, b);
		CREATE TABLE down (x int PRIMARY KEY, a int REFERENCES t) USING tsurugi;
		CREATE TABLE p (a int PRIMARY KEY, b text, c int) PARTITION BY RANGE (a);
		CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100) USING tsurugi;
		CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
		CREATE INDEX p_b ON p (b);
		CREATE TABLE o (a int, b text);
		CREATE FUNCTION who(part text, x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
		DECLARE
			state text := 'may become another';
		BEGIN
			BEGIN
				PERFORM set_config('role', 'none', true), set_config('role', 'postgres', true);
			EXCEPTION WHEN OTHERS THEN
				state := sqlstate;
			END;
			RAISE WARNING 'ran % as %: %', part, current_user, state;
			RETURN x;
		END $$;
		CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM s.who(tg_op, NEW.a); RETURN NEW; END';
		CREATE TABLE code (a int PRIMARY KEY, b int DEFAULT s.who('default', 5), g int GENERATED ALWAYS AS (s.who('generated', b)) STORED,
			CHECK (s.who('check', b) > 0), EXCLUDE USING btree ((s.who('exclude', a)) WITH =)) USING tsurugi;
		CREATE INDEX code_e ON code ((s.who('index', b)));
		CREATE INDEX code_p ON code (b) WHERE s.who('predicate', b) > 0;
		CREATE INDEX code_k ON code ((b + s.who('constant', 1))) WHERE b > s.who('constant condition', 0);
		CREATE STATISTICS code_s ON (s.who('statistics', b)), a FROM code;
		CREATE TRIGGER code_t BEFORE INSERT OR UPDATE ON code FOR EACH ROW EXECUTE FUNCTION told();
		CREATE TABLE cp (a int, b int) PARTITION BY LIST ((s.who('partition', a)));
		CREATE TABLE cp1 PARTITION OF cp FOR VALUES IN (1) USING tsurugi;
		CREATE VIEW cv AS SELECT a, s.who('view', b) b FROM code;
		CREATE TABLE rls (a int, n int) PARTITION BY RANGE (a);
		CREATE TABLE rls1 PARTITION OF rls FOR VALUES FROM (0) TO (100) USING tsurugi;
		INSERT INTO rls SELECT i, i FROM generate_series(1, 5) i;
		CREATE INDEX ON rls (n);
		ALTER TABLE rls ENABLE ROW LEVEL SECURITY;
		CREATE POLICY shown ON rls USING (n <> 3);
		GRANT SELECT, UPDATE, DELETE ON rls TO PUBLIC;
		CREATE TABLE boss (k int PRIMARY KEY, x text) USING tsurugi;
		CREATE TABLE hand (k int REFERENCES boss ON DELETE CASCADE ON UPDATE CASCADE) USING tsurugi;
		CREATE TABLE hand_of_heap (k int REFERENCES boss ON DELETE SET NULL ON UPDATE CASCADE);
		CREATE TABLE bare_boss (k int PRIMARY KEY, x text) USING tsurugi;
		CREATE TABLE bare_hand (k int REFERENCES bare_boss ON DELETE CASCADE ON UPDATE CASCADE) USING tsurugi;
		INSERT INTO boss VALUES (1), (2);
		INSERT INTO hand VALUES (1), (2);
		INSERT INTO hand_of_heap VALUES (1), (2);
		INSERT INTO bare_boss VALUES (1), (2);
		INSERT INTO bare_hand VALUES (1);
		GRANT SELECT, UPDATE, DELETE, TRUNCATE ON boss, bare_boss TO PUBLIC;
		GRANT INSERT ON hand, hand_of_heap, bare_hand TO PUBLIC;
		REVOKE ALL ON bare_boss, bare_hand FROM owner;
		CREATE TABLE above (a int);
		CREATE TABLE below (LIKE above) INHERITS (above) USING tsurugi;
		INSERT INTO code SELECT n FROM generate_series(1, 3) n;
		INSERT INTO up VALUES (1, 'one'), (2, 'two');
		INSERT INTO t VALUES (1, 'one', 1, 'd1', 1, 1, 'good'), (2, 'two', 2, 'd2', 2, 2, 'bad'), (3, 'three', 3, 'd3', NULL, NULL, NULL);
		INSERT INTO p VALUES (1, 'one', 1), (2, 'two', 2), (101, 'more', 3);
		INSERT INTO down VALUES (1, 1);
		CREATE FUNCTION does_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER there BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION does_nothing();
		CREATE TABLE bare (a int PRIMARY KEY, b text, c int UNIQUE DEFERRABLE, d int REFERENCES up DEFERRABLE INITIALLY DEFERRED, CHECK (a > 0) NOT VALID,
			FOREIGN KEY (c) REFERENCES up) USING tsurugi;
		CREATE INDEX bare_b ON bare (b);
		CREATE INDEX bare_dropped ON bare (b, c);
		INSERT INTO bare VALUES (1, 'one', 1, 1), (2, 'two', 2, 2), (3, 'three', NULL, NULL);
		CREATE VIEW bare_v AS SELECT a, b, c FROM bare;
		REVOKE ALL ON bare FROM owner;
		CREATE STATISTICS t_stat ON a, b FROM t;
		CREATE VIEW iv WITH (security_invoker) AS SELECT a, b, c FROM t;
		CREATE VIEW bv WITH (security_barrier) AS SELECT a, b, c FROM t WHERE a < 3;
		CREATE FUNCTION defined() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(b) FROM s.t';
		CREATE FUNCTION invoked() RETURNS bigint LANGUAGE sql AS 'SELECT count(b) FROM s.t';
		CREATE FUNCTION writes() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'UPDATE s.t SET b = b';
		GRANT SELECT, UPDATE ON t TO viewer;
		GRANT ALL ON o, down TO PUBLIC;
		GRANT SELECT, DELETE ON up TO PUBLIC;
		GRANT INSERT, UPDATE ON bare TO ins, ins_sel;
		RESET SESSION AUTHORIZATION;
		CREATE VIEW s.v AS SELECT a, b, c FROM s.t;
		ALTER VIEW s.v OWNER TO viewer;
		GRANT CREATE ON SCHEMA s TO other;
		ALTER TABLE s.below OWNER TO other;
		REVOKE USAGE ON SCHEMA s FROM PUBLIC;
		REVOKE USAGE ON FOREIGN SERVER tsurugi FROM PUBLIC;
	};
	my %roles = map { (split ' ')[0] => 1 } @actors;

	delete $roles{postgres};
	for my $role (sort keys %roles)
	{
		$sql .= "GRANT USAGE ON SCHEMA s TO $role;\n" unless $role eq 'blind';
		$sql .= "GRANT USAGE ON FOREIGN SERVER tsurugi TO $role;\n" unless $role eq 'outside';
		for my $relation ($granted{$role} ? @relations : ())
		{
			$sql .= "GRANT $granted{$role} ON s.$relation TO $role" . ($role =~ /^grants/ ? ' WITH GRANT OPTION' : '') . ";\n";
		}
	}
	return $sql;
}

# For all databases.
sub roles
{
	my %roles = map { (split ' ')[0] => 1 } @actors;

	delete $roles{postgres};
	return join('', map { "CREATE ROLE $_ LOGIN;\n" } sort keys %roles) . q{
		GRANT owner TO heir;
		ALTER ROLE stranger NOINHERIT;
		GRANT owner TO stranger;
		GRANT pg_read_all_data TO reader;
		GRANT pg_write_all_data TO writer;
	};
}

# Statements about the rows of a relation; %t stands for its name.
our @data = grep { $_ ne '' } split /\n\t*/, q{
	SELECT * FROM %t ORDER BY a
	SELECT a FROM %t ORDER BY a
	SELECT b FROM %t ORDER BY 1
	SELECT a FROM %t ORDER BY b
	SELECT count(*) FROM %t
	SELECT 1 FROM %t
	SELECT x FROM %t x ORDER BY 1
	SELECT ctid IS NULL FROM %t
	SELECT tableoid = 0 FROM %t
	SELECT xmin IS NULL, cmin IS NULL FROM %t
	SELECT a FROM %t WHERE a = 1
	SELECT a FROM %t WHERE b = 'one'
	SELECT a FROM %t WHERE ctid = '(0,1)' AND false
	SELECT a FROM %t WHERE a = (SELECT min(k) FROM s.up)
	SELECT max(a) FROM %t GROUP BY c ORDER BY 1
	SELECT a FROM %t JOIN s.up ON a = k ORDER BY 1
	SELECT k FROM s.up WHERE EXISTS (SELECT FROM %t WHERE a = k AND b = x) ORDER BY 1
	SELECT k FROM s.up, LATERAL (SELECT b FROM %t WHERE a = k) q ORDER BY 1
	SELECT a FROM %t ORDER BY a FOR UPDATE
	SELECT a FROM %t ORDER BY a FOR SHARE
	SELECT a FROM %t WHERE a = 1 FOR KEY SHARE NOWAIT
	SELECT a FROM %t WHERE a = 1 FOR NO KEY UPDATE SKIP LOCKED
	INSERT INTO %t (a, b, c) VALUES (9, 'nine', 9)
	INSERT INTO %t (a) VALUES (9)
	INSERT INTO %t (a) VALUES (9), (10) RETURNING a
	INSERT INTO %t (a) VALUES (9) RETURNING b
	INSERT INTO %t (a) VALUES (9) RETURNING *
	INSERT INTO %t (a) VALUES (9) RETURNING 1
	INSERT INTO %t DEFAULT VALUES
	INSERT INTO %t (a) SELECT k + 10 FROM s.up
	INSERT INTO %t (a) SELECT a + 10 FROM %t
	INSERT INTO %t (a) VALUES (1)
	INSERT INTO %t (a, c) VALUES (9, 1)
	INSERT INTO %t (a) VALUES (1) ON CONFLICT DO NOTHING
	INSERT INTO %t (a) VALUES (1) ON CONFLICT (a) DO NOTHING
	INSERT INTO %t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 7
	INSERT INTO %t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 'x'
	INSERT INTO %t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 'x' WHERE excluded.b = 'none'
	INSERT INTO %t AS x (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 'x' WHERE x.b = 'none'
	INSERT INTO %t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 'x' RETURNING a
	UPDATE %t SET a = 70 WHERE false
	UPDATE %t SET a = 70
	UPDATE %t SET b = 'x'
	UPDATE %t SET b = b || 'x'
	UPDATE %t SET b = 'x' WHERE a = 1
	UPDATE %t SET b = 'x' WHERE b = 'one'
	UPDATE %t SET a = a + 10 WHERE a = 2
	UPDATE %t SET a = 2 WHERE a = 3
	UPDATE %t SET a = 150 WHERE a = 2
	UPDATE %t SET c = 2 WHERE a = 3
	UPDATE %t SET b = 'x' WHERE a = 1 RETURNING a
	UPDATE %t SET b = 'x' WHERE a = 1 RETURNING *
	UPDATE %t SET b = 'x' FROM s.up WHERE a = k
	UPDATE %t SET b = x FROM s.up WHERE k = 1
	UPDATE %t SET (a, b) = (SELECT 77, x FROM s.up WHERE k = 1) WHERE a = 2
	DELETE FROM %t
	DELETE FROM %t WHERE a = 2
	DELETE FROM %t WHERE b = 'two'
	DELETE FROM %t USING s.up WHERE k = 2 AND a = k
	DELETE FROM %t WHERE a = 2 RETURNING a
	DELETE FROM %t WHERE a = 2 RETURNING *
	DELETE FROM %t WHERE a = 1
	WITH w AS (DELETE FROM %t WHERE a = 2 RETURNING b) SELECT * FROM w
	WITH w AS (UPDATE %t SET b = 'x' WHERE a = 2 RETURNING a) INSERT INTO s.o (a) SELECT a FROM w
	MERGE INTO s.o USING %t q ON q.a = o.a WHEN NOT MATCHED THEN INSERT VALUES (q.a)
	MERGE INTO s.o USING %t q ON q.a = o.a WHEN NOT MATCHED THEN INSERT VALUES (q.a, q.b)
	MERGE INTO %t USING s.up ON k = a WHEN MATCHED THEN DO NOTHING
	DO $$ BEGIN EXECUTE 'EXPLAIN SELECT a FROM %t'; EXECUTE 'EXPLAIN (ANALYZE) UPDATE %t SET b = 1'; END $$
	DO $$ BEGIN EXECUTE 'EXPLAIN DELETE FROM %t'; EXECUTE 'EXPLAIN (VERBOSE) SELECT b FROM %t WHERE a = 1'; END $$
	DO $$ BEGIN PERFORM a FROM %t WHERE a = 1; UPDATE %t SET b = 'y' WHERE a = 1; END $$
	COPY %t TO STDOUT
	COPY %t (a) TO STDOUT
	COPY (SELECT a FROM %t ORDER BY a) TO STDOUT
	\copy %t (a) from :one
	\copy %t (a, b) from :two
	\copy %t (b) from :one
	DECLARE c CURSOR FOR SELECT a FROM %t WHERE a = 2; FETCH c; UPDATE %t SET b = 'x' WHERE CURRENT OF c; DELETE FROM %t WHERE CURRENT OF c
	DECLARE c CURSOR FOR SELECT a FROM %t WHERE a = 2 FOR UPDATE; FETCH c; DELETE FROM %t WHERE CURRENT OF c
	PREPARE q AS SELECT a FROM %t WHERE a = $1; EXECUTE q (1); DEALLOCATE q
	PREPARE q AS SELECT b FROM %t WHERE a = $1; EXECUTE q (1); DEALLOCATE q
	PREPARE q AS UPDATE %t SET b = 'z' WHERE a = $1; EXECUTE q (1); DEALLOCATE q
	PREPARE q AS INSERT INTO %t (a) VALUES ($1); EXECUTE q (9); DEALLOCATE q
	PREPARE q AS DELETE FROM %t WHERE a = $1; EXECUTE q (2); DEALLOCATE q
	TRUNCATE %t
	TRUNCATE %t CASCADE
	LOCK TABLE %t IN ACCESS SHARE MODE
	LOCK TABLE %t IN ROW SHARE MODE
	LOCK TABLE %t IN ROW EXCLUSIVE MODE
	LOCK TABLE %t IN SHARE UPDATE EXCLUSIVE MODE
	LOCK TABLE %t IN SHARE MODE NOWAIT
	LOCK TABLE %t IN SHARE ROW EXCLUSIVE MODE
	LOCK TABLE %t IN EXCLUSIVE MODE
	LOCK TABLE ONLY %t
	SELECT a FROM %t TABLESAMPLE system (100)
};

# Statements whose errors may show keys or rows.
our @errors = grep { $_ ne '' } split /\n\t*/, q{
	INSERT INTO s.t (a) VALUES (NULL)
	INSERT INTO s.t (a, c) VALUES (9, 2)
	INSERT INTO s.t (a, d) VALUES (9, 'bad')
	INSERT INTO s.t (a, e) VALUES (9, 9)
	INSERT INTO s.t (a, f) VALUES (9, 1)
	INSERT INTO s.t (a, f) VALUES (9, -1)
	INSERT INTO s.t (a, c) VALUES (9, 1001)
	INSERT INTO s.t (a, c) SELECT k, k FROM s.up
	UPDATE s.t SET d = 'bad'
	UPDATE s.t SET e = 9 WHERE a = 3
	UPDATE s.t SET c = 1001
	UPDATE s.t SET f = 1
	UPDATE s.t SET a = NULL
	UPDATE s.t SET a = 1
	UPDATE s.t SET b = a, a = 1 WHERE a = 3
	DELETE FROM s.up
	DELETE FROM s.t WHERE a = 1
	INSERT INTO s.p1 (a) VALUES (150)
	INSERT INTO s.p (a) VALUES (250)
	UPDATE s.p SET a = 250
	UPDATE s.p SET a = 101 WHERE a = 1
	INSERT INTO s.p (a, b) VALUES (1, 'dup')
	DELETE FROM s.boss WHERE k = 1
	UPDATE s.boss SET k = 9 WHERE k = 1
	UPDATE s.boss SET x = 'y'
	TRUNCATE s.boss
	TRUNCATE s.boss CASCADE
	INSERT INTO s.hand VALUES (2); INSERT INTO s.hand VALUES (3)
	INSERT INTO s.hand_of_heap VALUES (2); INSERT INTO s.hand_of_heap VALUES (3)
	DELETE FROM s.bare_boss WHERE k = 1
	DELETE FROM s.bare_boss WHERE k = 2
	UPDATE s.bare_boss SET k = 9 WHERE k = 1
	INSERT INTO s.bare_hand VALUES (2)
	SELECT s.defined()
	SELECT s.invoked()
	SELECT s.writes()
	INSERT INTO s.bv VALUES (11)
	SELECT a / 0 FROM s.t
	SELECT b::int FROM s.t
	SELECT a FROM s.bv WHERE 1 / (a - 3) > -5 ORDER BY a
	SELECT a FROM s.rls WHERE 1 / (n - 3) > -5 ORDER BY a
	SELECT a FROM s.rls WHERE 1 / (n - 3) > -5 AND n BETWEEN 3 AND 5 ORDER BY a
	SET LOCAL tsurugi_fdw.scan_pool_rows = 0; SELECT a FROM s.bv WHERE 1 / (a - 3) > -5 ORDER BY a
	SET LOCAL tsurugi_fdw.scan_pool_rows = 0; SELECT a FROM s.rls WHERE 1 / (n - 3) > -5 ORDER BY a
	UPDATE s.rls SET n = 9 WHERE 1 / (n - 3) > -5
	DELETE FROM s.rls WHERE 1 / (n - 3) > -5
};

# Statements about definitions.
our @definitions = grep { $_ ne '' } split /\n\t*/, q{
	ANALYZE s.t
	ANALYZE s.t (a)
	ANALYZE s.p
	CLUSTER s.t USING t_b
	CLUSTER s.t
	REINDEX TABLE s.t
	REINDEX INDEX s.t_b
	REINDEX INDEX s.t_pkey
	CREATE INDEX ON s.t (a)
	CREATE UNIQUE INDEX w ON s.t (b)
	CREATE INDEX ON s.p (c)
	CREATE INDEX ON s.p1 (c)
	CREATE INDEX ON s.t ((a + c)) WHERE b > 'a'
	CREATE INDEX IF NOT EXISTS t_b ON s.t (b)
	DROP INDEX s.t_b
	DROP INDEX s.t_pkey
	DROP INDEX s.p_b
	ALTER INDEX s.t_b RENAME TO t_bb
	ALTER INDEX s.t_b SET (fillfactor = 50)
	ALTER INDEX s.t_b RESET (fillfactor)
	ALTER INDEX s.t_b SET TABLESPACE pg_default
	ALTER INDEX s.t_b OWNER TO nobody
	ALTER INDEX s.t_b DEPENDS ON EXTENSION tsurugi_fdw
	ALTER INDEX s.p_b ATTACH PARTITION s.t_b
	ALTER INDEX s.t_b ALTER COLUMN 1 SET STATISTICS 10
	ALTER TABLE s.t ADD COLUMN z int
	ALTER TABLE s.t ADD COLUMN z int DEFAULT 7 NOT NULL UNIQUE
	ALTER TABLE s.t ADD COLUMN z int REFERENCES s.up
	ALTER TABLE s.t ADD COLUMN IF NOT EXISTS a int
	ALTER TABLE s.t DROP COLUMN b
	ALTER TABLE s.t DROP COLUMN a CASCADE
	ALTER TABLE s.t ALTER b TYPE varchar
	ALTER TABLE s.t ALTER c TYPE bigint USING c + 1
	ALTER TABLE s.t ALTER b SET DEFAULT 'x'
	ALTER TABLE s.t ALTER b DROP DEFAULT
	ALTER TABLE s.t ALTER b SET NOT NULL
	ALTER TABLE s.t ALTER b DROP NOT NULL
	ALTER TABLE s.t ALTER c ADD GENERATED ALWAYS AS IDENTITY
	ALTER TABLE s.t ALTER b SET STATISTICS 10
	ALTER TABLE s.t ALTER b SET STORAGE EXTERNAL
	ALTER TABLE s.t ALTER b SET (n_distinct = 5)
	ALTER TABLE s.t ALTER b SET COMPRESSION pglz
	ALTER TABLE s.t ADD CHECK (a > 0)
	ALTER TABLE s.t ADD CONSTRAINT z CHECK (a > 0) NOT VALID
	ALTER TABLE s.t VALIDATE CONSTRAINT t_c_check
	ALTER TABLE s.t ADD UNIQUE (b)
	ALTER TABLE s.t ADD PRIMARY KEY (b)
	ALTER TABLE s.t ADD EXCLUDE USING btree (b WITH =)
	ALTER TABLE s.t ADD FOREIGN KEY (c) REFERENCES s.up NOT VALID
	ALTER TABLE s.t ADD FOREIGN KEY (c) REFERENCES s.down
	ALTER TABLE s.t ALTER CONSTRAINT t_e_fkey DEFERRABLE
	ALTER TABLE s.t DROP CONSTRAINT t_d_check
	ALTER TABLE s.t DROP CONSTRAINT t_c_key
	ALTER TABLE s.t DROP CONSTRAINT t_pkey CASCADE
	ALTER TABLE s.t DROP CONSTRAINT t_e_fkey
	ALTER TABLE s.t RENAME TO tt
	ALTER TABLE s.t RENAME a TO aa
	ALTER TABLE s.t RENAME CONSTRAINT t_pkey TO tp
	ALTER TABLE s.t OWNER TO nobody
	ALTER TABLE s.t OWNER TO owner
	ALTER TABLE s.t OWNER TO CURRENT_USER
	ALTER TABLE s.t SET SCHEMA w
	ALTER TABLE s.t SET ACCESS METHOD heap
	ALTER TABLE s.t SET ACCESS METHOD tsurugi
	ALTER TABLE s.below SET ACCESS METHOD heap
	ALTER TABLE s.t SET TABLESPACE pg_default
	ALTER TABLE s.t SET (fillfactor = 50)
	ALTER TABLE s.t RESET (fillfactor)
	ALTER TABLE s.down SET UNLOGGED
	ALTER TABLE s.t SET WITHOUT OIDS
	ALTER TABLE s.t CLUSTER ON t_b
	ALTER TABLE s.t SET WITHOUT CLUSTER
	ALTER TABLE s.t REPLICA IDENTITY FULL
	ALTER TABLE s.t DISABLE TRIGGER there
	ALTER TABLE s.t ENABLE ALWAYS TRIGGER there
	ALTER TABLE s.t DISABLE TRIGGER ALL
	ALTER TABLE s.t DISABLE TRIGGER USER
	ALTER TABLE s.t ENABLE ROW LEVEL SECURITY
	ALTER TABLE s.t DISABLE RULE r
	ALTER TABLE s.t OF s.mood
	ALTER TABLE s.p DETACH PARTITION s.p1
	ALTER TABLE s.p DETACH PARTITION s.p1; ALTER TABLE s.p ATTACH PARTITION s.p1 FOR VALUES FROM (0) TO (100)
	ALTER TABLE s.p ADD COLUMN z int DEFAULT 3
	ALTER TABLE s.p ALTER c TYPE bigint
	ALTER TABLE s.p DROP COLUMN c
	ALTER TABLE s.p ADD CHECK (c > 0)
	ALTER TABLE s.p1 ADD CHECK (c > 0)
	ALTER TABLE s.p1 SET ACCESS METHOD heap
	ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE pg_default
	CREATE TABLE w.own (a int NOT NULL, b text, c int) USING tsurugi; ALTER TABLE s.p ATTACH PARTITION w.own FOR VALUES FROM (500) TO (600)
	CREATE TABLE w.own (a int NOT NULL, b text DEFAULT 'x', c int, d text, e int, f s.positive, m s.mood, CONSTRAINT t_d_check CHECK (d <> 'bad'), CONSTRAINT t_c_check CHECK (c < 1000)) USING tsurugi; ALTER TABLE w.own INHERIT s.t; SELECT count(*) FROM s.t
	CREATE TABLE w.own (a int) USING tsurugi; ALTER TABLE s.t INHERIT w.own
	CREATE TABLE w.own () INHERITS (s.t) USING tsurugi; SELECT count(*) FROM s.t
	CREATE TABLE w.own PARTITION OF s.p FOR VALUES FROM (500) TO (600) USING tsurugi
	CREATE TABLE w.own (LIKE s.t INCLUDING ALL) USING tsurugi; SELECT * FROM w.own
	CREATE TABLE w.own (x int REFERENCES s.t) USING tsurugi; INSERT INTO w.own VALUES (1); INSERT INTO w.own VALUES (99)
	CREATE TABLE w.own (x int REFERENCES s.t (a) ON DELETE CASCADE ON UPDATE CASCADE) USING tsurugi
	CREATE TABLE w.own (x int REFERENCES s.t (c)) USING tsurugi
	CREATE TABLE w.own (x int REFERENCES s.t); INSERT INTO w.own VALUES (1); INSERT INTO w.own VALUES (99)
	CREATE TABLE w.own (x int REFERENCES s.p) USING tsurugi; INSERT INTO w.own VALUES (1); INSERT INTO w.own VALUES (99)
	CREATE TABLE w.own (x int) USING tsurugi; ALTER TABLE w.own ADD FOREIGN KEY (x) REFERENCES s.t
	CREATE TABLE w.own USING tsurugi AS SELECT a FROM s.t; SELECT * FROM w.own ORDER BY 1
	CREATE TABLE w.own USING tsurugi AS SELECT b FROM s.t WITH NO DATA
	CREATE TABLE s.own (a int) USING tsurugi
	CREATE TABLE IF NOT EXISTS s.t (a int) USING tsurugi
	CREATE TABLE w.own (a s.positive, m s.mood PRIMARY KEY) USING tsurugi; INSERT INTO w.own VALUES (1, 'good'); DROP TABLE w.own
	CREATE VIEW w.own AS SELECT b FROM s.t; SELECT count(*) FROM w.own
	CREATE MATERIALIZED VIEW w.own AS SELECT a FROM s.t; SELECT count(*) FROM w.own
	CREATE FUNCTION w.own(s.t) RETURNS int LANGUAGE sql AS 'SELECT $1.a'
	CREATE TRIGGER z BEFORE INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.does_nothing()
	CREATE TRIGGER z AFTER UPDATE OF b ON s.t FOR EACH ROW WHEN (old.b <> new.b) EXECUTE FUNCTION s.does_nothing()
	CREATE TRIGGER z AFTER INSERT ON s.t FOR EACH STATEMENT EXECUTE FUNCTION s.does_nothing()
	CREATE OR REPLACE TRIGGER there AFTER DELETE ON s.t FOR EACH ROW EXECUTE FUNCTION s.does_nothing()
	ALTER TRIGGER there ON s.t RENAME TO here
	ALTER TRIGGER there ON s.t DEPENDS ON EXTENSION tsurugi_fdw
	DROP TRIGGER there ON s.t
	CREATE RULE r AS ON INSERT TO s.t DO ALSO NOTHING
	CREATE POLICY z ON s.t USING (true)
	CREATE STATISTICS w.z ON b, c FROM s.t
	ALTER STATISTICS s.t_stat SET STATISTICS 5
	DROP STATISTICS s.t_stat
	CREATE PUBLICATION z FOR TABLE s.t
	COMMENT ON TABLE s.t IS 'x'
	COMMENT ON COLUMN s.t.a IS 'x'
	COMMENT ON INDEX s.t_b IS 'x'
	COMMENT ON CONSTRAINT t_pkey ON s.t IS 'x'
	COMMENT ON TRIGGER there ON s.t IS 'x'
	SECURITY LABEL ON TABLE s.t IS 'x'
	GRANT SELECT ON s.t TO nobody; SELECT relacl FROM pg_class WHERE oid = 's.t'::regclass
	GRANT SELECT (a), UPDATE (b) ON s.t TO nobody; SELECT attname, attacl FROM pg_attribute WHERE attrelid = 's.t'::regclass ORDER BY attnum
	GRANT ALL ON s.t TO nobody WITH GRANT OPTION; SELECT relacl FROM pg_class WHERE oid = 's.t'::regclass
	GRANT INSERT ON ALL TABLES IN SCHEMA s TO nobody; SELECT relacl FROM pg_class WHERE oid = 's.t'::regclass
	REVOKE SELECT ON s.t FROM grants, sel; SELECT relacl FROM pg_class WHERE oid = 's.t'::regclass
	REVOKE ALL ON s.t FROM owner; SELECT count(*) FROM s.t
	REVOKE ALL ON s.t FROM CURRENT_USER; SELECT count(*) FROM s.t
	REVOKE GRANT OPTION FOR SELECT (a) ON s.t FROM grants_a
	ALTER DEFAULT PRIVILEGES IN SCHEMA w GRANT SELECT ON TABLES TO nobody; CREATE TABLE w.own (a int) USING tsurugi; SELECT relacl FROM pg_class WHERE oid = 'w.own'::regclass
	DROP TABLE s.t
	DROP TABLE s.t CASCADE
	DROP TABLE s.p1
	DROP TABLE s.p
	DROP TABLE IF EXISTS s.nothing, s.down
	DROP TABLE s.o, s.down
	DROP SCHEMA s CASCADE
	DROP TYPE s.mood CASCADE
	DROP OWNED BY owner
	REASSIGN OWNED BY owner TO nobody
	ALTER TYPE s.mood RENAME VALUE 'bad' TO 'worse'
	ALTER TYPE s.mood ADD VALUE 'ugly'
	ALTER DOMAIN s.positive ADD CHECK (VALUE < 100)
	ALTER DOMAIN s.positive SET NOT NULL
	SET CONSTRAINTS ALL DEFERRED
	REFRESH MATERIALIZED VIEW s.v
	ALTER VIEW s.v SET (security_invoker = true); SELECT a FROM s.v ORDER BY a
	CREATE OR REPLACE VIEW s.v AS SELECT a, b, c FROM s.t WHERE a > 1
	SELECT has_table_privilege('s.t', 'SELECT'), has_column_privilege('s.t', 'a', 'SELECT'), has_any_column_privilege('s.t', 'INSERT')
	SELECT count(*) FROM information_schema.columns WHERE table_name = 't' AND table_schema = 's'
	SELECT privilege_type, grantee, is_grantable FROM information_schema.table_privileges WHERE table_name = 't' ORDER BY 1, 2
};

# Statements about s.bare, whose owner has no right but that of an owner.
our @bare = grep { $_ ne '' } split /\n\t*/, q{
	ALTER TABLE s.bare ADD UNIQUE (b) DEFERRABLE
	ALTER TABLE s.bare ADD UNIQUE (b)
	ALTER TABLE s.bare ADD EXCLUDE USING btree (b WITH =)
	ALTER TABLE s.bare ADD EXCLUDE USING btree (b WITH =) DEFERRABLE
	ALTER TABLE s.bare ADD FOREIGN KEY (a) REFERENCES s.up
	ALTER TABLE s.bare ADD FOREIGN KEY (c) REFERENCES s.up
	ALTER TABLE s.bare ADD COLUMN z int REFERENCES s.up
	ALTER TABLE s.bare ADD COLUMN z int DEFAULT 1 CHECK (z > 0) NOT NULL
	ALTER TABLE s.bare ADD CHECK (a > 1)
	ALTER TABLE s.bare VALIDATE CONSTRAINT bare_a_check
	ALTER TABLE s.bare ALTER b TYPE varchar USING b || 'x'
	ALTER TABLE s.bare ALTER c TYPE bigint
	ALTER TABLE s.bare ALTER b SET NOT NULL
	ALTER TABLE s.bare DROP COLUMN c
	ALTER TABLE s.bare SET ACCESS METHOD heap
	ALTER TABLE s.bare CLUSTER ON bare_b
	CLUSTER s.bare USING bare_b
	REINDEX TABLE s.bare
	REINDEX INDEX s.bare_b
	CREATE INDEX ON s.bare (b, a)
	CREATE UNIQUE INDEX ON s.bare (b)
	CREATE TABLE s.copy (LIKE s.bare INCLUDING ALL) USING tsurugi
	CREATE TABLE s.child () INHERITS (s.bare) USING tsurugi
	CREATE TABLE s.child (x int REFERENCES s.bare) USING tsurugi
	CREATE TABLE w.child USING tsurugi AS SELECT * FROM s.bare
	ANALYZE s.bare
	COMMENT ON TABLE s.bare IS 'x'
	CREATE TRIGGER z BEFORE INSERT ON s.bare FOR EACH ROW EXECUTE FUNCTION s.does_nothing()
	CREATE STATISTICS s.z ON b, c FROM s.bare
	INSERT INTO s.bare VALUES (9, 'nine', NULL, 9); SET CONSTRAINTS ALL IMMEDIATE
	INSERT INTO s.bare VALUES (9, 'nine', NULL, 1); SET CONSTRAINTS ALL IMMEDIATE
	UPDATE s.bare SET d = 9; SET CONSTRAINTS ALL IMMEDIATE
	INSERT INTO s.bare VALUES (9, 'nine', 1, 1)
	DELETE FROM s.up
	GRANT SELECT ON s.bare TO owner; SELECT b FROM s.bare WHERE a = 1
	DROP TABLE s.bare CASCADE
	ALTER TABLE s.bare OWNER TO owner
	ALTER TABLE s.bare RENAME b TO bb
};

# Statements that have no place in a transaction block.
our @alone = grep { $_ ne '' } split /\n\t*/, q{
	VACUUM s.t
	VACUUM FULL s.t
	VACUUM ANALYZE s.t
	VACUUM (SKIP_LOCKED) s.t
	VACUUM (ANALYZE) s.t (a)
	VACUUM s.p
	VACUUM FULL s.p
	VACUUM s.t, s.o, s.p
	VACUUM s.p1
	ANALYZE s.t, s.p, s.o
	ANALYZE
	CLUSTER
	DROP INDEX CONCURRENTLY s.t_dropped
	CREATE INDEX CONCURRENTLY t_dropped ON s.t (a, b)
	REINDEX TABLE CONCURRENTLY s.t
	REINDEX INDEX CONCURRENTLY s.t_b
	REINDEX TABLE s.p
	REINDEX INDEX s.p_b
	REINDEX SCHEMA s
	REINDEX SCHEMA CONCURRENTLY w
	ALTER TABLE s.p DETACH PARTITION s.p1 CONCURRENTLY
	ALTER TABLE s.p ATTACH PARTITION s.p1 FOR VALUES FROM (0) TO (100)
};

# Statements that run what the owner has put into a table, for the superuser.
our @code = grep { $_ ne '' } split /\n\t*/, q{
	INSERT INTO s.code VALUES (10)
	INSERT INTO s.code VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 8
	UPDATE s.code SET b = 6 WHERE a = 2
	UPDATE s.code SET a = 7 WHERE a = 2
	DELETE FROM s.code WHERE a = 7
	SELECT a, b FROM s.cv ORDER BY a
	\copy s.code (a) from :one
	CREATE INDEX ON s.code (s.who('new index', b)) WHERE s.who('new predicate', b) > 0
	CREATE UNIQUE INDEX ON s.code (s.who('new unique', a))
	CREATE INDEX CONCURRENTLY code_c ON s.code (s.who('concurrent', b)) WHERE s.who('concurrent predicate', b) > 0
	CREATE INDEX ON s.code ((b + s.who('new constant', 1))) WHERE b > s.who('new constant condition', 0)
	CREATE UNIQUE INDEX ON s.code ((b + s.who('constant twin', 1))) WHERE b > s.who('twin constant condition', 0)
	ALTER TABLE s.code ADD EXCLUDE USING btree ((s.who('new exclude', a)) WITH =)
	ALTER TABLE s.code ADD EXCLUDE USING btree ((a + s.who('constant exclude', 0)) WITH =) WHERE (b > s.who('exclude constant condition', 0))
	REINDEX TABLE s.code
	REINDEX INDEX s.code_e
	REINDEX INDEX s.code_p
	REINDEX INDEX s.code_k
	REINDEX INDEX CONCURRENTLY s.code_e
	REINDEX TABLE CONCURRENTLY s.code
	CLUSTER s.code USING code_e
	VACUUM FULL s.code
	VACUUM ANALYZE s.code
	ANALYZE s.code
	ALTER TABLE s.code ADD CHECK (s.who('new check', a) > 0)
	ALTER TABLE s.code ADD CONSTRAINT later CHECK (s.who('later check', a) > 0) NOT VALID
	ALTER TABLE s.code VALIDATE CONSTRAINT later
	ALTER TABLE s.code ADD COLUMN n int DEFAULT s.who('new default', 1)
	ALTER TABLE s.code ADD COLUMN n2 int GENERATED ALWAYS AS (s.who('new generated', a)) STORED
	ALTER TABLE s.code ADD UNIQUE (a, n)
	ALTER TABLE s.code ALTER n TYPE text USING s.who('using', n)::text
	ALTER TABLE s.code ALTER b SET NOT NULL
	ALTER TABLE s.code DROP COLUMN n
	ALTER TABLE s.code SET ACCESS METHOD heap
	ALTER TABLE s.code SET ACCESS METHOD tsurugi
	CREATE TABLE s.code2 (LIKE s.code INCLUDING ALL) USING tsurugi
	DROP TABLE s.code2
	INSERT INTO s.cp VALUES (1, 1)
	UPDATE s.cp SET b = 2
	CREATE TABLE s.cp2 (a int, b int) USING tsurugi
	INSERT INTO s.cp2 VALUES (2, 2)
	ALTER TABLE s.cp ATTACH PARTITION s.cp2 FOR VALUES IN (2)
	CREATE INDEX ON s.cp (s.who('partitioned index', b))
	REINDEX TABLE s.cp
	VACUUM FULL s.cp
	VACUUM ANALYZE s.cp
	CREATE TABLE s.cp3 PARTITION OF s.cp DEFAULT USING tsurugi
	INSERT INTO s.cp VALUES (9, 9)
	CREATE TABLE s.cp4 PARTITION OF s.cp FOR VALUES IN (4) USING tsurugi
	TRUNCATE s.code
};

# A session's prepared statements and functions, run after each of several changes of rights.
sub kept
{
	my @ways = (
		'EXECUTE q (1)', 'EXECUTE q2 (1)', 'EXECUTE u (1)', 'EXECUTE i (50)', 'EXECUTE d (50)', 'SELECT w.looks(1)', 'EXECUTE v (1)', 'EXECUTE f (1)', 'EXECUTE c (1)', 'SELECT s.defined()');
	my @changes = (
		'REVOKE SELECT ON s.t FROM keeper', 'GRANT SELECT (a) ON s.t TO keeper', 'GRANT SELECT ON s.t TO keeper', 'REVOKE UPDATE ON s.t FROM keeper', 'GRANT UPDATE (b) ON s.t TO keeper',
		'REVOKE INSERT ON s.t FROM keeper', 'REVOKE DELETE ON s.t FROM keeper', 'REVOKE ALL ON s.t FROM keeper', 'GRANT owner TO keeper', 'REVOKE owner FROM keeper', 'GRANT ALL ON s.t TO keeper',
		'REVOKE USAGE ON SCHEMA s FROM keeper', 'GRANT USAGE ON SCHEMA s TO keeper', 'REVOKE SELECT ON s.t FROM viewer', 'GRANT SELECT ON s.t TO viewer', 'REVOKE EXECUTE ON FUNCTION w.f(int) FROM PUBLIC',
		'ALTER TABLE s.t OWNER TO keeper', 'REVOKE ALL ON s.t FROM keeper', 'ALTER TABLE s.t OWNER TO owner', 'GRANT ALL ON s.t TO keeper', 'ALTER FUNCTION s.defined() OWNER TO nobody',
		'REVOKE USAGE ON FOREIGN SERVER tsurugi FROM keeper');
	my $all = join '', map { "$_;\n\\echo :SQLSTATE :ROW_COUNT\n" } @ways;
	my $script = q{
		\set VERBOSITY verbose
		CREATE ROLE :"DBNAME";
		\set keeper :DBNAME
		GRANT USAGE ON SCHEMA s TO keeper;
		GRANT ALL ON s.t TO keeper;
		GRANT SELECT ON s.v TO keeper;
		CREATE FUNCTION w.looks(int) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT b FROM s.t WHERE a = $1); END';
		CREATE FUNCTION w.f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
		SET SESSION AUTHORIZATION keeper;
		PREPARE q (int) AS SELECT b FROM s.t WHERE a = $1;
		PREPARE q2 (int) AS SELECT a FROM s.t WHERE a >= $1 ORDER BY a;
		PREPARE u (int) AS UPDATE s.t SET b = 'one' WHERE a = $1;
		PREPARE i (int) AS INSERT INTO s.t (a) VALUES ($1);
		PREPARE d (int) AS DELETE FROM s.t WHERE a = $1;
		PREPARE v (int) AS SELECT b FROM s.v WHERE a = $1;
		PREPARE f (int) AS SELECT b FROM s.t WHERE a = w.f($1);
		PREPARE c (int) AS SELECT count(*) FROM s.t WHERE c > $1;
	};
	$script .= $all for 1 .. 7;
	$script .= "\\echo == $_\nRESET SESSION AUTHORIZATION;\n$_;\nSET SESSION AUTHORIZATION keeper;\nBEGIN; ROLLBACK;\n$all" for @changes;
	$script .= "RESET SESSION AUTHORIZATION;\nDROP OWNED BY keeper;\nDROP ROLE keeper;\n";
	return $script =~ s/\bkeeper\b/:"DBNAME"/gr;
}

1;

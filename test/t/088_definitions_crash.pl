# Definitions by one session beside changes by others, kills of both servers, and a standby: no row is
# lost, doubled or comes back.
#
# Each change is made to a table in memory and to its ordinary twin, in one transaction, with savepoints
# that are rolled back, rows that move between partitions, and transactions that are prepared, and ended
# by whoever comes next.  Meanwhile a session stores these tables anew, empties and renames them, changes
# their types, columns, keys, partitions and persistence, and moves them to the heap and back; and bases
# are written.  At any time the two are the same, in what a standby shows, too, after each kill, and
# promoted, although its worker has all of the last round to apply then.
#
# SEED takes other statements.  ROUNDS: how many kills (3).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{ROUNDS} // 3;
my $primary = PostgreSQL::Test::Cluster->new('primary');

srand seed();
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off', 'jit = off', 'fsync = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '120s'", 'wal_keep_size = 4GB', 'restart_after_crash = on',
	'max_prepared_transactions = 10', "deadlock_timeout = '50ms'", "tsurugi_fdw.journal_size = '2MB'", 'tsurugi_fdw.create_table = on',
	"max_standby_streaming_delay = '20s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE TABLE p (id int PRIMARY KEY, n int, v text) PARTITION BY RANGE (id);
	CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (300);
	CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (300) TO (1000);
	CREATE INDEX ON p (n);
	CREATE TABLE p_heap (id int PRIMARY KEY, n int, v text) USING heap;
	CREATE TABLE q (id int PRIMARY KEY, n int, v text);
	CREATE INDEX ON q (lower(v));
	CREATE TABLE q_heap (id int PRIMARY KEY, n int, v text) USING heap;
	CREATE FUNCTION change(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		part int := seed / 8 % 10;
		id int := (seed * 79) % 100 * 10 + part;
		at text;
		statement text;
	BEGIN
		-- of the same part, one after the other: so each statement finds the same in both
		PERFORM pg_advisory_xact_lock(hashtext(t), part);
		FOREACH at IN ARRAY ARRAY[t || '_heap', t] LOOP
			CASE seed % 8
				WHEN 0, 1, 2 THEN statement := format('INSERT INTO %I (id, n, v) VALUES (%s, %s, %L) ON CONFLICT (id) DO UPDATE SET n = excluded.n', at, id, seed % 50, 'V' || seed);
				WHEN 3 THEN statement := format('UPDATE %I SET v = %L, n = n + 1 WHERE id BETWEEN %s AND %s + 50 AND id %% 10 = %s', at, repeat('w' || seed, seed % 40), id, id, part);
				WHEN 4 THEN statement := format('DELETE FROM %I WHERE id BETWEEN %s AND %s + 50 AND id %% 10 = %s', at, id, id, part);
				WHEN 5 THEN statement := format('UPDATE %I a SET id = %s WHERE id = %s AND NOT EXISTS (SELECT FROM %I b WHERE b.id = %s)', at, (id + 500) % 1000, id, at, (id + 500) % 1000);
				WHEN 6 THEN statement := format('INSERT INTO %I (id, n, v) SELECT i, i %% 7, repeat(%L, 30) FROM generate_series(%s, 999, 10) i ON CONFLICT (id) DO NOTHING', at, 'x' || seed, id);
				ELSE statement := format('DELETE FROM %I WHERE n = %s AND id %% 10 = %s', at, seed % 50, part);
			END CASE;
			EXECUTE statement;
		END LOOP;
	END $$;
	CREATE FUNCTION change_in_part(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM change(t, seed);
		BEGIN
			PERFORM change(t, seed + 1);
			PERFORM change(t, seed / 8 * 8 + 6);
			PERFORM change(t, seed / 8 * 8 + 5);
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		PERFORM change(t, seed / 8 * 8 + 3);
	END $$;
	SELECT change('p', i), change('q', i) FROM generate_series(1, 300) i});
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

# --- statements ----------------------------------------------------------------------------------------

sub change
{
	my $seed = some(1, 1_000_000);
	my $table = pick('p', 'q');

	return "SELECT change('$table', $seed)" if chance(0.7);
	return "SELECT change_in_part('$table', $seed)" if chance(0.8);
	my $name = "'prepared " . some(1, 2) . "'";
	return chance(0.4) ? "BEGIN; SELECT change('$table', $seed); PREPARE TRANSACTION $name" : pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED $name";
}

my $number = 0;

sub definition
{
	my $part = pick('p_low', 'p_high');
	my $bounds = $part eq 'p_low' ? 'FROM (0) TO (300)' : 'FROM (300) TO (1000)';
	my $table = pick('q', 'p_low', 'p_high');
	my $new = 'c' . ++$number;

	return pick(
		"VACUUM FULL $table", 'TRUNCATE p, p_heap', 'TRUNCATE q, q_heap',
		"BEGIN; LOCK TABLE p, p_heap; TRUNCATE p, p_heap; SELECT change('p', " . some(1, 100000) . ") FROM generate_series(1, 20); ROLLBACK",
		"BEGIN; LOCK TABLE q, q_heap; TRUNCATE q, q_heap; SAVEPOINT s; SELECT change('q', 6); ROLLBACK TO s; SELECT change('q', " . 8 * some(1, 100000) . '+ 6); COMMIT',
		"BEGIN; ALTER TABLE p DETACH PARTITION $part; ALTER TABLE p ATTACH PARTITION $part FOR VALUES $bounds; COMMIT",
		"BEGIN; ALTER TABLE p DETACH PARTITION $part; SELECT change('q', " . some(1, 100000) . '); ROLLBACK',
		"BEGIN; LOCK TABLE p; ALTER TABLE p DETACH PARTITION $part; CREATE TABLE $new (LIKE p INCLUDING ALL); INSERT INTO $new SELECT * FROM $part; DROP TABLE $part; "
			. "ALTER TABLE $new RENAME TO $part; ALTER TABLE p ATTACH PARTITION $part FOR VALUES $bounds; COMMIT",
		"BEGIN; LOCK TABLE q; CREATE TABLE $new (LIKE q INCLUDING ALL); INSERT INTO $new SELECT * FROM q; DROP TABLE q; ALTER TABLE $new RENAME TO q; COMMIT",
		'ALTER TABLE q ALTER n TYPE ' . pick('bigint', 'int', 'numeric'), 'ALTER TABLE q ALTER v TYPE ' . pick('text', 'varchar', 'text COLLATE "C"'),
		"BEGIN; ALTER TABLE q ALTER n TYPE numeric; SELECT change('q', " . some(1, 100000) . '); SAVEPOINT s; ALTER TABLE q ALTER n TYPE int; ROLLBACK TO s; '
			. pick('COMMIT', 'ROLLBACK'),
		"BEGIN; ALTER TABLE $table SET UNLOGGED; ALTER TABLE $table SET LOGGED; COMMIT",
		"BEGIN; ALTER TABLE q SET UNLOGGED; SELECT change('q', " . some(1, 100000) . '); ALTER TABLE q SET LOGGED; ' . pick('COMMIT', 'ROLLBACK'),
		'ALTER TABLE q SET ACCESS METHOD ' . pick('heap', 'tsurugi', 'tsurugi'),
		"BEGIN; ALTER TABLE q ADD COLUMN x int DEFAULT 7; SELECT change('q', " . some(1, 100000) . '); ' . pick('COMMIT', 'ROLLBACK'), 'ALTER TABLE q DROP COLUMN x',
		"ALTER TABLE q ADD COLUMN x text DEFAULT md5(random()::text)", "CREATE INDEX CONCURRENTLY i ON $table (v, n)", 'DROP INDEX CONCURRENTLY i', 'DROP INDEX i',
		"CREATE INDEX i ON $table (upper(v))", "BEGIN; CREATE INDEX i ON q (n); SELECT change('q', " . some(1, 100000) . '); ROLLBACK', "REINDEX TABLE $table",
		'ALTER TABLE q DROP CONSTRAINT q_pkey', 'ALTER TABLE q ADD CONSTRAINT q_pkey PRIMARY KEY (id)', 'CLUSTER q USING q_pkey', 'CHECKPOINT', 'SELECT tsurugi.write_base()');
}

# A session's statements, in a file.  They go on after errors, until the server has gone.
sub start_session
{
	my ($name, $node, $count, $statement) = @_;
	my $file = $primary->basedir . "/session_$name.sql";
	my $run = { out => "$file.out" };

	unlink $file;
	append_to_file($file, "SET lock_timeout = '100ms'; SET statement_timeout = '60s'; SET client_min_messages = error;\n" . join '', map { $statement->() . ";\nROLLBACK;\n" } 1 .. $count);
	$run->{handle} = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') . ' application_name=beside', '-f', $file ],
		'<', \undef, '>', $run->{out}, '2>&1');
	return $run;
}

sub end_session
{
	my ($run) = @_;

	$run->{handle}->kill_kill(grace => 0);
	$run->{handle}->finish;
	return slurp_file($run->{out});
}

# --- what is there ------------------------------------------------------------------------------------

my $difference = join ' + ', map {
	"(SELECT count(*) FROM (SELECT id, n::int, v::text FROM $_) o FULL JOIN ${_}_heap h USING (id, n) WHERE o IS NULL OR h IS NULL OR o.v <> h.v COLLATE \"C\")"
	. " + (SELECT count(*) - count(DISTINCT id) FROM $_)"
} 'p', 'q';

sub is_same
{
	my ($node, $name) = @_;

	return is($node->safe_psql('postgres', "SET statement_timeout = '120s'; SELECT $difference"), '0', "$name: both kinds of tables have the same");
}

my $digest = join ', ', map { "(SELECT count(*) || ' ' || coalesce(sum(hashtextextended(concat_ws(' ', id, n, v), 0)), 0) FROM $_)" } 'p', 'p_heap', 'q', 'q_heap';

# What was prepared ends.
sub end_prepared
{
	my ($node) = @_;

	$node->safe_psql('postgres', pick('COMMIT', 'ROLLBACK') . " PREPARED '$_'")
		for split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts ORDER BY gid');
}

# --- the test --------------------------------------------------------------------------------------------

my $log = '';
my $worker; # of the standby, while it stands

for my $round (1 .. $rounds)
{
	if ($round == $rounds)
	{
		TestServer::catch_up($primary, $standby);
		$worker = TestServer::stop_worker($standby);
	}
	my @sessions = ((map { start_session("change_${_}", $primary, 4000, \&change) } 1 .. 3), start_session('define', $primary, 2000, \&definition));
	my $reader = start_session('reader', $standby, 10000, sub { "SELECT 'differs', d FROM (SELECT $difference AS d) x WHERE d <> 0" });
	my $end = pick('kill -9', 'kill -9', 'immediate', 'the worker');

	$primary->poll_query_until('postgres', 'SELECT count(*) > 0 FROM p') or die;
	select undef, undef, undef, some(10, 60) / 10;
	if (chance(0.5) && $round < $rounds)
	{
		Acknowledged::kill_all($standby) if chance(0.5);
		$standby->stop('immediate') if defined $standby->{_pid};
		$standby->start;
	}
	Acknowledged::kill_all($primary) if $end eq 'kill -9';
	$primary->stop('immediate') if $end eq 'immediate';
	TestServer::crash_by($primary, TestServer::worker_pid($primary)) if $end eq 'the worker';
	my $shown = end_session($reader);
	my @written = map { end_session($_) } @sessions;

	$primary->start if $end ne 'the worker';
	$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'beside'") or die;
	$log = join "\n", $log, $end, @written;
	unlike($shown, qr/differs/, "$round: a standby never shows another state of one of them") or diag($shown =~ /(.*differs.*)/);
	is_same($primary, "$round, $end") or last;
	last if $round == $rounds;
	# a standby releases locks of transactions that have crashed when those from before them have ended
	end_prepared($primary);
	$primary->safe_psql('postgres', 'CHECKPOINT');
	TestServer::catch_up($primary, $standby);
	is_same($standby, "$round, the standby") or last;
	is($standby->safe_psql('postgres', "SELECT $digest"), $primary->safe_psql('postgres', "SELECT $digest"), 'and the same as its primary') or last;
	if (chance(0.5))
	{
		$primary->restart;
		is_same($primary, "$round, started again") or last;
	}
}

# promoted, with transactions prepared
my $before = $primary->safe_psql('postgres', "SELECT $digest");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$primary->stop('immediate');
$standby->promote;
kill 'CONT', $worker // ();
is($standby->safe_psql('postgres', "SELECT $digest"), $before, 'promoted, the standby has all');
end_prepared($standby);
is_same($standby, 'prepared transactions end there');
$before = $standby->safe_psql('postgres', "SELECT $digest");
Acknowledged::kill_all($standby);
$standby->start;
is($standby->safe_psql('postgres', "SELECT $digest"), $before, 'after a crash, too');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'its files are whole');
is(TestServer::internal_errors($_) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error') for $primary, $standby;
append_to_file($primary->basedir . '/statements', $log);
$standby->stop;
done_testing();

# Random definitions and changes, starts between them, and a standby.
#
# Two sessions take turns: statements about a handful of tables, in transactions with savepoints or
# alone.  Then the server ends, with transactions open or not, with a base written or not.  After each
# start, every table has the rows that it had, and each index finds the same.  Nothing else is
# checked here: the changes go on, and are to be there after the next start.  What was prepared is
# ended by the server that comes next.
#
# Before each end the standby has the same, but for unlogged tables, after an end of its own or of its
# worker, or with a base of its own.  At the last one it is promoted, with transactions open or
# prepared; what is prepared ends in the same way on both servers.
#
# SEED takes another seed.  ROUNDS: how many starts (6).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{ROUNDS} // 6;
my $node = TestServer::start('recovery_random', max_connections => 20, jit => 'off', fsync => 'off',
	max_prepared_transactions => 2, statement_timeout => '20s',
	'tsurugi_fdw.load_wait' => '180s', 'tsurugi_fdw.create_table' => 'on',
	wal_level => 'replica', max_wal_senders => 5, wal_keep_size => '4GB');
my @databases = ('postgres', 'other');
my @tables = map { "t$_" } 1 .. 5;
my @columns = qw(id n t u e p g r);
my %type = (
	id => [qw(int bigint numeric)],
	n => [qw(int bigint numeric real)],
	t => [ 'text', 'text COLLATE "de-x-icu"', 'text COLLATE "C"', 'varchar', 'text COLLATE "en_US"' ],
	u => [ 'text COLLATE "cs-x-icu"', 'text', 'bytea' ],
	e => [qw(mood text)], p => [qw(point)], g => [ 'int[]', 'bigint[]' ], r => [qw(int4range)]);

srand seed();

# --- statements ----------------------------------------------------------------------------

sub value
{
	my ($column) = @_;
	my %value = (
		id => 'i', n => '(i * 7919) % 1000',
		t => pick(q{'t' || i}, q{md5(i::text)}, q{chr(65 + i % 50) || repeat('x', i % 300)}, q{repeat(md5(i::text), 40)}, 'NULL'),
		u => pick(q{md5(i::text)}, q{'Ž' || i % 20}, 'NULL'),
		e => pick(q{(enum_range(NULL::mood))[1 + i % 3]}, 'NULL'),
		p => 'point(i, i % 17)', g => 'ARRAY[i, i % 5, i % 11]', r => 'int4range(i, i + 1)');

	return $value{$column};
}

sub rows_from { my $first = some(1, 3000); return sprintf 'generate_series(%d, %d) i', $first, $first + some(0, 150) }
sub some_rows { return pick(sprintf('id %% %d = %d', some(2, 9), some(0, 2)), sprintf('id BETWEEN %d AND %d', (some(1, 2000)) x 2), 'id < ' . some(1, 3000), 'n > ' . some(0, 990)) }

sub insert
{
	my ($table) = @_;
	my @set = ('id', grep { chance(0.7) } @columns[ 1 .. $#columns ]);

	return sprintf 'INSERT INTO %s (%s) SELECT %s FROM %s ON CONFLICT DO NOTHING', $table, join(', ', @set),
		join(', ', map { value($_) } @set), rows_from();
}

sub update
{
	my ($table) = @_;
	my $column = pick(@columns);
	my $value = $column eq 'id' ? 'id + ' . some(1, 5000) : value($column) =~ s/\bi\b/id::int/gr;

	return "UPDATE $table SET $column = $value WHERE " . some_rows();
}

sub key_column { my ($what) = @_; return $what =~ /^[te]$/ ? "$what" . pick('', ' DESC', ' NULLS FIRST') : $what }

sub create_index
{
	my ($table, $concurrently) = @_;
	my @two = (shuffled(qw(id n t u e)))[ 0, 1 ];
	my $columns = pick(
		'(' . key_column(pick(qw(id n t u e))) . ')', '(' . join(', ', map { key_column($_) } @two) . ')',
		'(t COLLATE "sv-x-icu")', '(t COLLATE "de_DE")', '(lower(t))', '(n, (id % 10))', '(id) INCLUDE (t)', 'USING gin (g)',
		'USING gist (p)', 'USING gist (r)', 'USING hash (t)', '(u)', '(id) WHERE n > 100', '(t) WHERE id % 2 = 0', '(e, t)', '(md5(u::text))');
	my $unique = chance(0.2) && $columns !~ /USING/ ? 'UNIQUE' : '';

	return "CREATE $unique INDEX $concurrently ON $table $columns";
}

sub create
{
	my ($table) = @_;
	my @definitions = map { "$_ " . pick(@{ $type{$_} }) } @columns;
	my $key = pick('PRIMARY KEY (id)', 'PRIMARY KEY (id, n)', 'PRIMARY KEY (t, id)', 'PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED',
		'UNIQUE (id, t)', 'UNIQUE (u, id) DEFERRABLE', 'EXCLUDE USING gist (r WITH &&)', '');
	my $how = chance(0.1) ? 'UNLOGGED' : '';

	return "CREATE $how TABLE $table (" . join(', ', @definitions, $key || ()) . ')';
}

sub statement
{
	my $table = pick(@tables);
	my $other = pick(@tables);
	my $column = pick(@columns);
	my $chance = rand;

	return insert($table) if $chance < 0.25;
	return update($table) if $chance < 0.40;
	return "DELETE FROM $table WHERE " . some_rows() if $chance < 0.48;
	return create($table) if $chance < 0.53;
	return create_index($table, '') if $chance < 0.64;
	return pick(
		pick("DROP TABLE $table CASCADE; " . create($table), "DROP TABLE $table"), "TRUNCATE $table", "TRUNCATE $table, $other",
		sprintf('ALTER TABLE %s ALTER %s TYPE %s', $table, $column, pick(@{ $type{$column} })),
		"ALTER TABLE $table ADD COLUMN x" . some(1, 3) . ' ' . pick('int DEFAULT 7', 'text DEFAULT md5(random()::text)', 'int', "mood DEFAULT 'sad'", 'text'),
		"ALTER TABLE $table DROP COLUMN x" . some(1, 3) . ' CASCADE', "UPDATE $table SET x" . some(1, 3) . ' = NULL WHERE ' . some_rows(),
		"ALTER TABLE $table SET ACCESS METHOD " . pick(qw(heap tsurugi)), "ALTER TABLE $table SET " . pick(qw(LOGGED LOGGED LOGGED UNLOGGED)),
		"CREATE TABLE $table USING tsurugi AS SELECT * FROM $other", "ALTER TABLE $table OWNER TO " . pick(qw(somebody CURRENT_USER)),
		"ALTER TABLE $table ADD UNIQUE (" . pick('id', 'id, t', 'u, id') . ')', "CREATE TABLE $table (LIKE $other INCLUDING ALL)",
		"CREATE TABLE $table (LIKE $other) PARTITION BY RANGE (id)", "CREATE TABLE $table PARTITION OF $other FOR VALUES FROM (0) TO (1000)",
		"CREATE TABLE $table PARTITION OF $other DEFAULT", "ALTER TABLE $table DETACH PARTITION $other",
		"ALTER TABLE $table ATTACH PARTITION $other FOR VALUES FROM (1000) TO (2000)", "CREATE TABLE $table () INHERITS ($other)",
		"ALTER TABLE $table RENAME TO $other", "ALTER TABLE $table DROP CONSTRAINT ${table}_pkey CASCADE",
		"DO \$\$ DECLARE name text; BEGIN SELECT indexrelid::regclass INTO name FROM pg_index WHERE indrelid = '$table'::regclass ORDER BY indexrelid LIMIT 1; EXECUTE 'DROP INDEX ' || name; END \$\$",
		"REINDEX TABLE $table", 'ALTER TYPE mood ADD VALUE IF NOT EXISTS ' . "'m" . some(1, 30) . "' " . pick('BEFORE', 'AFTER') . " 'sad'",
		"INSERT INTO $table (id, t, u) SELECT i, (SELECT string_agg(md5((i * k)::text), '') FROM generate_series(1, 40000) k), NULL FROM generate_series(1, 2) i ON CONFLICT DO NOTHING",
		"INSERT INTO $table (id, t, n) SELECT i, md5(i::text), i FROM generate_series(10000, 25000) i ON CONFLICT DO NOTHING",
		"UPDATE $table SET t = repeat(md5(t), 3) WHERE id > 9000", "DELETE FROM $table WHERE id > 9000", 'SET CONSTRAINTS ALL IMMEDIATE',
		"ALTER TABLE $table ADD FOREIGN KEY (id) REFERENCES $other ON DELETE CASCADE", "CLUSTER $table USING ${table}_pkey", 'SELECT 1/0',
		"INSERT INTO $table SELECT * FROM $other ON CONFLICT DO NOTHING");
}

# What a transaction block refuses.
sub statement_alone
{
	my $table = pick(@tables);

	return pick(
		"VACUUM FULL $table", "VACUUM $table", create_index($table, 'CONCURRENTLY'), "REINDEX TABLE CONCURRENTLY $table", 'CHECKPOINT',
		'CREATE DATABASE third TEMPLATE other', 'DROP DATABASE third', 'SELECT tsurugi.write_base()', "ALTER TABLE $table DETACH PARTITION " . pick(@tables) . ' CONCURRENTLY');
}

sub next_statement
{
	my ($session) = @_;

	if ($session->{prepared} && !$session->{inside} && chance(0.2))
	{
		$session->{prepared} = 0;
		return pick(qw(COMMIT ROLLBACK)) . " PREPARED 'p'";
	}
	if (!$session->{inside})
	{
		return chance(0.3) ? statement_alone() : statement() if chance(0.6);
		$session->{inside} = 1;
		return 'BEGIN' . pick('', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE');
	}
	return statement() if chance(0.7);
	my $next = pick('SAVEPOINT s', 'SAVEPOINT s2', 'ROLLBACK TO s', 'ROLLBACK TO s2', 'RELEASE s', 'COMMIT', 'COMMIT', 'ROLLBACK', "PREPARE TRANSACTION 'p'");
	$session->{inside} = 0 if $next =~ /^(COMMIT|ROLLBACK|PREPARE.*)$/;
	$session->{prepared} = 1 if $next =~ /^PREPARE/;
	return $next;
}

# --- what is there ---------------------------------------------------------------------------

my $digest = q{
	CREATE FUNCTION public.digest() RETURNS SETOF text LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off
	SET enable_memoize = off SET enable_sort = off SET search_path = pg_catalog SET extra_float_digits = 3 SET lock_timeout = '200ms'
	AS $$
	DECLARE
		r record;
		i record;
		answer text;
	BEGIN
		FOR r IN SELECT oid, relname, oid::regclass AS name, relpersistence = 'u' OR coalesce('persistence=unlogged' = ANY (ftoptions), false) AS unlogged
			FROM pg_class LEFT JOIN pg_foreign_table ON ftrelid = oid WHERE relname ~ '^t[1-5]$' AND relkind IN ('f', 'r') ORDER BY relname LOOP
			CONTINUE WHEN r.unlogged AND pg_is_in_recovery();
			EXECUTE format('SELECT count(*) || %L || coalesce(md5(string_agg(ctid::text || t::text, chr(10) ORDER BY t::text COLLATE "C", ctid)), %L) FROM ONLY %s t',
				' ', '', r.name) INTO answer;
			RETURN NEXT r.relname || ' ' || answer;
			FOR i IN SELECT indexrelid::regclass AS name, indisvalid, attname, indexrelid FROM pg_index, pg_attribute
				WHERE indrelid = r.oid AND attrelid = indrelid AND attnum = indkey[0] AND atttypid <> 'point'::regtype ORDER BY indexrelid LOOP
				EXECUTE format('SELECT count(*) FROM (SELECT FROM ONLY %1$s a WHERE EXISTS (SELECT FROM ONLY %1$s b WHERE b.%2$I = a.%2$I) LIMIT 2000) x',
					r.name, i.attname) INTO answer;
				RETURN NEXT r.relname || ' ' || i.name || ' ' || i.indisvalid || ' ' || pg_get_indexdef(i.indexrelid) || ' ' || answer;
				EXECUTE format('SELECT md5(string_agg(k::text, chr(10))) FROM (SELECT %2$I AS k FROM ONLY %1$s t ORDER BY %2$I) x', r.name, i.attname) INTO answer;
				RETURN NEXT r.relname || ' ' || i.name || ' in order ' || coalesce(answer, '');
			END LOOP;
		END LOOP;
	END $$};

sub digests
{
	my ($server) = @_;
	my %digest;

	for (@databases)
	{
		my ($code, $out, $err) = $server->psql($_, 'SET statement_timeout = 0; SELECT digest()');
		$digest{$_} = $code ? "ERROR $err" : $out;
	}
	return %digest;
}

# A digest of a database without its unlogged tables, which are empty after a start.
sub logged
{
	my ($digest, $database) = @_;
	my $unlogged = q{SELECT relname FROM pg_class WHERE relname ~ '^t[1-5]$' AND (relpersistence = 'u'
		OR EXISTS (SELECT FROM pg_foreign_table WHERE ftrelid = pg_class.oid AND 'persistence=unlogged' = ANY (ftoptions)))};

	my %empty = map { $_ => 1 } split /\n/, $node->safe_psql($database, $unlogged);

	return join "\n", grep { /^(\S+)/ && !$empty{$1} } split /\n/, $digest;
}

# --- the test --------------------------------------------------------------------------------

my @definitions = (
	"CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", 'GRANT ALL ON SCHEMA public TO somebody', $digest,
	'GRANT USAGE ON FOREIGN SERVER tsurugi TO somebody');

$node->safe_psql('postgres', 'CREATE ROLE somebody');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
for my $database (@databases) { $node->safe_psql($database, $_) for @definitions; }

for my $database (@databases) { $node->safe_psql($database, create($_)) for @tables; }

# Rows that have hidden values of an index which their own transaction drops.
$node->safe_psql('postgres', 'BEGIN; CREATE TABLE made (id int, n numeric); CREATE INDEX i ON made (n); INSERT INTO made VALUES (1, 1.5), (2, NULL); DROP INDEX i; COMMIT');

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('random_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

my $log = '';
my $different = 0; # how many digests

# It counts when the standby has replayed another record.
sub write_base_there
{
	my $session = TestServer::Session->new($standby);

	$session->send('SELECT tsurugi.write_base();');
	$node->safe_psql('postgres', 'SELECT txid_current()') until $session->has_answered;
	$session->wait;
	$session->close;
}

sub kill_worker
{
	my $worker = TestServer::worker_pid($standby) // return;

	TestServer::crash_by($standby, $worker);
}

# What happens to the standby, in the middle of what it has to replay or after it.
sub end_standby
{
	my $how = pick('nothing', 'a start', 'a crash', 'kill -9', 'kill -9 of the worker', 'a base');

	TestServer::catch_up($node, $standby) if chance(0.5);
	$standby->restart if $how eq 'a start';
	$standby->stop('immediate'), $standby->start if $how eq 'a crash';
	Acknowledged::kill_all($standby), $standby->start if $how eq 'kill -9';
	kill_worker() if $how eq 'kill -9 of the worker';
	write_base_there() if $how eq 'a base';
	return $how;
}

# Whether a server has what the primary had.
sub is_same
{
	my ($server, $name, %wanted) = @_;
	my %is = digests($server);

	for (@databases)
	{
		$different++ unless is(logged($is{$_}, $_), logged($wanted{$_}, $_), "$name, $_");
	}
}

sub promote
{
	my %wanted = @_;

	$standby->promote;
	is_same($standby, 'the standby, promoted', %wanted);
	Acknowledged::kill_all($standby);
	$standby->start;
	is_same($standby, 'after a crash', %wanted);
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'its files are whole');
}

for my $round (1 .. $rounds)
{
	my @sessions = map { TestServer::Session->new($node, pick('other', 'postgres', 'postgres')) } 1 .. 2;

	for my $session (@sessions)
	{
		$session->query($_)
			for "SET lock_timeout = '100ms'", 'SET client_min_messages = error',
			'\set ON_ERROR_ROLLBACK ' . pick(qw(on on on off));
	}
	for (1 .. some(20, 120))
	{
		my $number = some(0, 1);
		my $session = $sessions[$number];
		my $statement = next_statement($session);
		my $answer = $session->query($statement);

		$log .= "$round.$number $statement -- $answer\n";
	}
	my $how = pick('immediate', 'immediate', 'fast');
	my %before;

	if (!chance(0.5) || do { %before = digests($node); grep { /lock timeout/ } values %before })
	{
		$_->query(pick('COMMIT', 'COMMIT', 'ROLLBACK')) for @sessions;
		$_->query("ROLLBACK PREPARED 'p'") for grep { $_->{prepared} } @sessions;
		%before = digests($node);
		$how .= ', nothing open';
	}
	my $there = end_standby();

	$log .= "$round: the standby, $there\n";
	TestServer::catch_up($node, $standby);
	is_same($standby, "$round: the standby, $there", %before);
	promote(%before) if $round == $rounds;
	last if $different;
	my $base = pick('', '', 'a base', 'a checkpoint');
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()') if $base eq 'a base';
	$node->safe_psql('postgres', 'CHECKPOINT') if $base eq 'a checkpoint';
	$node->stop($how =~ /^(\w+)/);
	$_->close for @sessions;
	$node->start;
	$log .= "$round: $how, $base\n";
	unlike($before{$_}, qr/^ERROR/, "$round, $_: is read") for @databases;
	is_same($node, "$round: $how, $base", %before);
	last if $different;
	for (@databases)
	{
		my $end = pick(qw(COMMIT ROLLBACK)) . " PREPARED 'p'"; # if there is one, it has gone on through the start
		my ($code) = $node->psql($_, $end);

		$log .= "$round: $end -- $code\n";
		is(($standby->psql($_, $end))[0], $code, "$end on both servers") if $round == $rounds;
	}
}
is_same($standby, 'what was prepared', digests($node)) unless $different;
diag($log) if $different;
append_to_file("${PostgreSQL::Test::Utils::tmp_check}/statements", $log);
is(TestServer::internal_errors($_) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no error was internal') for $node, $standby;
$_->stop for $node, $standby;
done_testing();

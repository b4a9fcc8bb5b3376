# A standby is promoted while its journal has a fault in what it has applied already.  What is in
# memory is right, so the server goes on with it.  It writes a base by itself, and the damaged part is
# needed no more; also if the worker is terminated before, or cannot read the journal for a while.
# Until then it is named, and a start refuses the tables; and so are tables whose keys are in an order
# that the journal has alone.  A journal that has lost its end, or all that a file had, is damaged, too.
# Of large transactions that are prepared, those that it damages can only be rolled back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '60s'", 'max_prepared_transactions = 2';
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE EXTENSION ltree;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE a (id int PRIMARY KEY, what text) SERVER tsurugi;
	INSERT INTO a SELECT i, 'base' FROM generate_series(1, 50) i;
	SELECT tsurugi.write_base();
	CREATE FOREIGN TABLE b (id int PRIMARY KEY) SERVER tsurugi});
$primary->safe_psql('postgres', "INSERT INTO a VALUES ($_, 'journal')") for 51 .. 100;
$primary->safe_psql('postgres', 'DELETE FROM a WHERE id <= 10; INSERT INTO b VALUES (1)');
my $digest = q{SELECT count(*), sum(id), string_agg(DISTINCT what, ',' ORDER BY what) FROM a};
my $rows = $primary->safe_psql('postgres', $digest);

# Damages the journal in its middle, or behind so much of it; or cuts it there.
sub damage_journal
{
	my ($standby, $behind, $is_cut) = @_;
	my ($journal) = glob $standby->data_dir . '/pg_tsurugi/journal/*';

	$behind //= int((-s $journal) / 2);
	if ($is_cut)
	{
		truncate $journal, $behind or die;
		return;
	}
	open(my $handle, '+<:raw', $journal) or die;
	seek $handle, $behind, 0;
	read $handle, my $byte, 1;
	seek $handle, -1, 1;
	print $handle chr(255 - ord $byte);
	close $handle or die;
}

# A standby that has applied everything, with a damaged journal.
sub damaged_standby
{
	my ($name, @damage) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->start;
	$primary->safe_psql('postgres', $_) for 'UPDATE b SET id = id + 1', 'CHECKPOINT'; # both by the log
	TestServer::catch_up($primary, $standby);
	is($standby->safe_psql('postgres', $digest), $rows, "$name: the standby has all rows");
	damage_journal($standby, @damage);
	is(faults($standby), 1, "$name: verify_files() finds the fault");
	return $standby;
}

# Bytes of the journal.
sub journal_bytes { return -s (glob $_[0]->data_dir . '/pg_tsurugi/journal/*')[0] }

sub faults { $_[0]->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()') }

sub base { $_[0]->safe_psql('postgres', 'SELECT base FROM tsurugi.durability') }

sub promote
{
	my ($standby) = @_;

	$standby->promote;
	$standby->poll_query_until('postgres', q{SELECT state IN ('open', 'refused') FROM tsurugi.durability}) or die;
}

sub is_named
{
	my ($standby, $name) = @_;

	ok($standby->poll_query_until('postgres', q{SELECT last_error ~ 'pg_tsurugi/journal/' FROM tsurugi.durability}),
		"$name: tsurugi.durability names the damaged file");
	like(slurp_file($standby->logfile), qr/the journal of tsurugi_fdw is damaged: .*pg_tsurugi\/journal\//, 'and so does the log');
}

# --- a base is written ------------------------------------------------------------------------------

$primary->safe_psql('postgres', q{BEGIN; INSERT INTO a VALUES (1000, 'prepared'); PREPARE TRANSACTION 'p'});
{
	my $standby = damaged_standby('whole');
	my $base = base($standby);

	TestServer::configure($standby, failpoints => 'base_again_at_once') if TestServer::has_failpoints($standby);
	promote($standby);
	is($standby->safe_psql('postgres', $digest), $rows, 'promoted, it has all rows') or last;
	$standby->safe_psql('postgres', q{INSERT INTO a VALUES (200, 'promoted'); UPDATE a SET what = 'changed' WHERE id = 100});
	is_named($standby, 'whole');
	# with what is prepared, bases need the journal from there on
	ok($standby->poll_query_until('postgres', "SELECT base > $base FROM tsurugi.durability"), 'a base is written by itself');
	is(faults($standby), 1, 'which needs the damage, for what is prepared');
	$standby->safe_psql('postgres', 'CHECKPOINT') for 1 .. 3;
	is(base($standby), ++$base, 'so would another one, and none is written');
	$standby->safe_psql('postgres', q{COMMIT PREPARED 'p'; SELECT tsurugi.write_base()});
	cmp_ok(base($standby), '>', $base, 'a base was written');
	is(faults($standby), 0, 'and the damage is not needed any more');
	my $after = $standby->safe_psql('postgres', $digest);
	Acknowledged::kill_all($standby);
	$standby->start;
	is($standby->safe_psql('postgres', $digest), $after, 'it survives a crash');
	is(TestServer::internal_errors($standby), '', 'no internal error');
	$standby->stop;
}
$primary->safe_psql('postgres', q{ROLLBACK PREPARED 'p'});
# Nothing is prepared any more.  A file that has lost all of its bytes, or its end, has no frame that is damaged.
for my $case ([ 'alone' ], map { [ "cut_at_$_", $_, 1 ] } 0, 20, journal_bytes($primary))
{
	my $standby = damaged_standby(@$case);
	my $base = base($standby);

	promote($standby);
	is($standby->safe_psql('postgres', $digest), $rows, 'promoted, it has all rows') or last;
	ok($standby->poll_query_until('postgres', "SELECT base > $base FROM tsurugi.durability"), 'a base is written by itself');
	is_named($standby, $case->[0]);
	is(faults($standby), 0, 'and the damage is not needed any more');
	$standby->restart;
	is($standby->safe_psql('postgres', $digest), $rows, 'a start has all rows');
	$standby->stop;
}

# So has one that another one follows, once nobody's memory has what it had.
{
	my $name = 'followed';
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->start;
	TestServer::catch_up($primary, $standby);
	promote($standby);
	is($standby->safe_psql('postgres', $digest), $rows, 'promoted, it has all rows') or last;
	$standby->stop;
	is(scalar(() = glob $standby->data_dir . '/pg_tsurugi/journal/*'), 2, 'the journal has two files');
	damage_journal($standby, 0, 1);
	$standby->start;
	is(TestServer::sqlstate($standby, $digest), 'XX001', 'a start refuses the tables, because the first one is empty');
	like(slurp_file($standby->logfile), qr/the file's header is damaged: file "pg_tsurugi\/journal\//, 'and names the file');
	$standby->stop;
}

# --- a crash before there is a base -----------------------------------------------------------------

{
	my $standby = damaged_standby('crashed');
	my $copier = TestServer::Session->new($standby);

	$copier->query(q{SELECT pg_backup_start('so that no base is begun', true);});
	promote($standby);
	is($standby->safe_psql('postgres', $digest), $rows, 'promoted, it has all rows') or last;
	is_named($standby, 'crashed');
	is(faults($standby), 1, 'verify_files() tells of it');
	$standby->safe_psql('postgres', q{INSERT INTO a VALUES (200, 'promoted')});
	Acknowledged::kill_all($standby);
	$standby->start;
	is(TestServer::sqlstate($standby, $digest), 'XX001', 'a start refuses the tables');
	like(slurp_file($standby->logfile), qr/the journal cannot be read: .*file "pg_tsurugi\/journal\//, 'and names the file');
	$standby->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = on');
	$standby->restart;
	is($standby->safe_psql('postgres', q{SELECT count(*) FROM a WHERE what = 'base'}), 50, 'ignore_damage: it has what can be read');
	is($standby->safe_psql('postgres', 'SELECT tsurugi.write_base(); SELECT count(*) FROM tsurugi.verify_files()') =~ s/.*\n//r, 0,
		'of which a base can be written');
	$standby->stop;
}

# --- large transactions that are prepared: the journal alone has their changes -----------------------

{
	my @bytes;
	my $prepare = sub {
		my ($name, $first) = @_;

		$primary->safe_psql('postgres', "BEGIN; INSERT INTO a SELECT i, repeat('large', 20) FROM generate_series($first, $first + 24999) i; PREPARE TRANSACTION '$name'");
		$primary->safe_psql('postgres', 'CHECKPOINT');
		push @bytes, journal_bytes($primary);
	};

	$prepare->('before', 10001);
	$prepare->('damaged', 40001);
	my $cut = damaged_standby('large_cut', $bytes[0], 1);

	promote($cut);
	is(TestServer::sqlstate($cut, q{COMMIT PREPARED 'damaged'}), 'XX001', 'one that the journal does not have cannot be committed');
	like(slurp_file($cut->logfile), qr/what prepared transaction \d+ has changed cannot be read: frames are missing: file "pg_tsurugi\/journal/,
		'the log says why');
	$cut->safe_psql('postgres', q{ROLLBACK PREPARED 'damaged'; COMMIT PREPARED 'before'});
	$cut->stop;

	my $standby = damaged_standby('large', int(($bytes[0] + $bytes[1]) / 2));

	promote($standby);
	is($standby->safe_psql('postgres', $digest), $rows, 'promoted, it has all rows') or last;
	is_named($standby, 'large');
	like(slurp_file($standby->logfile), qr/what prepared transaction \d+ has changed cannot be read: .*pg_tsurugi\/journal\//,
		'the log names what is lost');
	is(TestServer::sqlstate($standby, q{COMMIT PREPARED 'damaged'}), 'XX001', 'which cannot be committed');
	$standby->safe_psql('postgres', q{ROLLBACK PREPARED 'damaged'; INSERT INTO a VALUES (40001, 'free')});
	$standby->safe_psql('postgres', q{COMMIT PREPARED 'before'; SELECT tsurugi.write_base()});
	is($standby->safe_psql('postgres', q{SELECT count(*) FROM a WHERE what LIKE 'large%'}), 25000, 'another one is committed');
	is(faults($standby), 0, 'the damage is not needed any more');
	my $after = $standby->safe_psql('postgres', $digest);
	Acknowledged::kill_all($standby);
	$standby->start;
	is($standby->safe_psql('postgres', $digest), $after, 'it survives a crash');
	$standby->stop;
	$primary->safe_psql('postgres', "ROLLBACK PREPARED '$_'") for 'before', 'damaged';
}

# --- the worker is terminated before there is a base, and the journal cannot be read for a while -----

{
	my $standby = damaged_standby('terminated');
	my $named = sub { my @all = slurp_file($standby->logfile) =~ /the journal of tsurugi_fdw is damaged/g; scalar @all };
	my $copier = TestServer::Session->new($standby);
	my $worker = TestServer::worker_pid($standby);

	$copier->query(q{SELECT pg_backup_start('so that no base is begun', true);});
	promote($standby);
	is_named($standby, 'terminated');
	# the next worker knows of these, and of what was there before
	$standby->safe_psql('postgres', q{
		CREATE FOREIGN TABLE c (id int PRIMARY KEY, n int) SERVER tsurugi; INSERT INTO c VALUES (1, 1); DROP FOREIGN TABLE b});
	$standby->safe_psql('postgres', q{
		BEGIN; INSERT INTO a SELECT i, repeat('large', 20) FROM generate_series(1001, 26000) i; PREPARE TRANSACTION 'q'});
	is($standby->safe_psql('postgres', "SELECT pg_terminate_backend($worker)"), 't', 'the worker is terminated');
	TestServer::has_other_worker($standby, $worker) or die 'there is no other worker';
	$standby->safe_psql('postgres', 'CREATE INDEX c_n ON c (n); INSERT INTO c VALUES (2, 2)');
	is($standby->safe_psql('postgres', $digest), $rows, 'the tables stay');
	TestServer::eventually(sub { $named->() == 2 }) or die 'the next worker does not find the damage';
	SKIP:
	{
		skip 'no failpoints', 1 unless TestServer::has_failpoints($standby);
		TestServer::configure($standby, failpoints => 'journal_read');
		$copier->query('SELECT pg_backup_stop()');
		is(TestServer::sqlstate($standby, 'SELECT tsurugi.write_base()'), '58030', 'a journal that cannot be read at all is told');
		TestServer::configure($standby, failpoints => '');
	}
	$copier->close;
	$standby->safe_psql('postgres', 'SELECT tsurugi.write_base()');
	is(faults($standby), 0, 'a base is written that does not need the damage');
	Acknowledged::kill_all($standby);
	$standby->start;
	is($standby->safe_psql('postgres', $digest), $rows, 'it survives a crash');
	is($standby->safe_psql('postgres', 'SELECT sum(n) FROM c'), 3, 'and so does what was defined meanwhile');
	$standby->safe_psql('postgres', q{COMMIT PREPARED 'q'});
	is($standby->safe_psql('postgres', q{SELECT count(*) FROM a WHERE what LIKE 'large%'}), 25000, 'and what was prepared');
	is(TestServer::internal_errors($standby) =~ s/.* the journal of tsurugi_fdw is damaged: .*\n//gr, '', 'no internal error');
	$standby->stop;
}

# --- keys in an order that only PostgreSQL knows ----------------------------------------------------

{
	$primary->safe_psql('postgres', q{
		CREATE FOREIGN TABLE path (way ltree PRIMARY KEY) SERVER tsurugi;
		INSERT INTO path VALUES ('b'), ('a.b'), ('a')});
	$primary->safe_psql('postgres', "INSERT INTO path VALUES ('c.$_')") for 1 .. 50;
	my $standby = damaged_standby('ranked');

	promote($standby);
	is(TestServer::sqlstate($standby, 'SELECT count(*) FROM path'), 'XX001', 'their table is refused');
	is($standby->safe_psql('postgres', $digest), $rows, 'the others are not') or last;
	is(TestServer::sqlstate($standby, 'SELECT tsurugi.write_base()'), '58030', 'and no base is written');
	$standby->safe_psql('postgres', q{INSERT INTO a VALUES (200, 'promoted'); TRUNCATE path; INSERT INTO path VALUES ('d')});
	cmp_ok($standby->safe_psql('postgres', 'SELECT tsurugi.write_base()'), '>', 0, 'until the table is emptied');
	is(faults($standby), 0, 'and the damage is not needed any more');
	my $after = $standby->safe_psql('postgres', $digest);
	Acknowledged::kill_all($standby);
	$standby->start;
	is($standby->safe_psql('postgres', $digest), $after, 'it survives a crash');
	is($standby->safe_psql('postgres', q{SELECT way FROM path WHERE way > 'c'}), 'd', 'and so does what is in the emptied one');
	$standby->stop;
}
$primary->stop;
done_testing();

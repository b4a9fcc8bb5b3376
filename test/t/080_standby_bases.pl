# Bases of a standby: it starts from the last one, with what has come since.
#
# Clients work on the primary while a standby that follows writes bases, by journal_size and on
# demand.  It is stopped and killed, before a base counts, when it counts and after that; each time
# it has what the primary has.  A transaction that is prepared, and a large one, are open over bases.
# Keys of a type that only its operator class can compare are found after the promotion: their ranks
# come from files of ranks of several bases.
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
	'max_connections = 30', "tsurugi_fdw.load_wait = '60s'", 'wal_keep_size = 1GB', 'restart_after_crash = on',
	'max_prepared_transactions = 5', "log_line_prefix = '%m [%p] %q%a %e '", 'max_standby_streaming_delay = -1';
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE EXTENSION ltree;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, n int, v text) SERVER tsurugi;
	CREATE INDEX ON ours (n);
	CREATE TABLE heap (id int PRIMARY KEY, n int, v text);
	CREATE FOREIGN TABLE path (way ltree PRIMARY KEY, n int) SERVER tsurugi;
	CREATE FOREIGN TABLE quiet (way ltree PRIMARY KEY) SERVER tsurugi;
	INSERT INTO quiet SELECT ('q' || i)::ltree FROM generate_series(1, 100) i;
	CREATE FOREIGN TABLE still (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO still SELECT i, 'still ' || i FROM generate_series(1, 1000) i;
	CREATE SEQUENCE number;
	CREATE FUNCTION change(count int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		next int := nextval('number') * 1000;
	BEGIN
		INSERT INTO ours SELECT next + i, i % 7, repeat('v', 100) FROM generate_series(1, count) i;
		INSERT INTO heap SELECT next + i, i % 7, repeat('v', 100) FROM generate_series(1, count) i;
		UPDATE ours SET n = n + 1 WHERE id % 10 = 3;
		UPDATE heap SET n = n + 1 WHERE id % 10 = 3;
		DELETE FROM ours WHERE id < next - 3000;
		DELETE FROM heap WHERE id < next - 3000;
		DELETE FROM path WHERE n < next - 2000;
		INSERT INTO path SELECT ('p' || (next + i) || '.x')::ltree, next + i FROM generate_series(1, count, 10) i;
	END $$;
	SELECT change(500);
	SELECT tsurugi.write_base()});
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

my $digest = q{SELECT (SELECT count(*) || '/' || coalesce(sum(hashtext(ours::text)), 0) FROM ours),
	(SELECT count(*) || '/' || coalesce(sum(hashtext(path::text)), 0) FROM path), (SELECT sum(hashtext(still::text)) FROM still)};
my $difference = q{SELECT count(*) FROM (SELECT * FROM ours) o FULL JOIN heap h USING (id, n, v) WHERE o IS NULL OR h IS NULL};

sub change { $primary->safe_psql('postgres', 'SELECT change(500)') for 1 .. $_[0] // 1 }
sub catch_up { TestServer::catch_up($primary, $standby) }
sub base { return $standby->safe_psql('postgres', 'SELECT base FROM tsurugi.durability') }
sub is_same
{
	my ($name) = @_;

	catch_up();
	is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), $name);
	is($standby->safe_psql('postgres', $difference), '0', 'the same in both kinds of tables');
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'files are whole');
}

# It counts when the standby has replayed another record.
sub write_base
{
	my $session = TestServer::Session->new($standby);
	my $number;

	$session->send('SELECT tsurugi.write_base();');
	$primary->safe_psql('postgres', 'UPDATE heap SET n = n WHERE id = (SELECT min(id) FROM heap)') until $session->has_answered;
	$number = $session->wait;
	$session->close;
	return $number;
}

# --- on demand ----------------------------------------------------------------------------------------

catch_up();
my $first = base();
change(3);
$primary->safe_psql('postgres', q{BEGIN; INSERT INTO ours VALUES (-1, 1, 'prepared'); INSERT INTO path VALUES ('prepared.path', 1000000); PREPARE TRANSACTION 'open'});
my $large = TestServer::Session->new($primary);
$large->query(q{BEGIN; INSERT INTO ours SELECT -i, 1, repeat('l', 200) FROM generate_series(100001, 110000) i;});
catch_up();
is(write_base(), $first + 1, 'a standby writes a base');
is(base(), $first + 1, 'the view has its number');
is(write_base(), $first + 2, 'and another one');
is(scalar(() = glob $standby->data_dir . '/pg_tsurugi/base/manifest.*'), 2, 'the last two are kept');
$standby->restart;
is_same('after a restart');
cmp_ok($standby->safe_psql('postgres', 'SELECT changes_loaded FROM tsurugi.durability'), '<', 1000, 'of the journal, what came after the base was loaded alone');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM ours WHERE id < 0'), '0', 'of open transactions nothing is seen');
$large->query(q{INSERT INTO heap SELECT -i, 1, repeat('l', 200) FROM generate_series(100001, 110000) i; COMMIT;});
$large->close;
is_same('a large transaction that was open over bases');

# --- by journal_size, beside clients and readers -----------------------------------------------------------

$standby->append_conf('postgresql.conf', "tsurugi_fdw.journal_size = '1MB'");
$standby->reload;
for my $end ('fast', 'immediate', 'kill -9')
{
	my $before = base();

	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	for (my $round = 1; base() <= $before + 1 && time < $until; $round++)
	{
		change(2);
		is($standby->safe_psql('postgres', $difference), '0', 'a reader beside a base sees both kinds of tables alike') if $round % 10 == 0;
	}
	cmp_ok(base(), '>', $before + 1, 'bases are written by journal_size');
	change(1);
	$end eq 'kill -9' ? Acknowledged::kill_all($standby) : $standby->stop($end);
	$standby->start;
	is_same("after an end that is $end");
}
like($standby->safe_psql('postgres', 'SELECT count(*) FROM still'), qr/^1000$/, 'a table that has not changed is there');
is($standby->safe_psql('postgres', q{SELECT count(*) > 0 FROM pg_ls_dir('pg_tsurugi/base') f WHERE f ~ ('^part.*\.' || to_hex((SELECT base FROM tsurugi.durability)) || '$')}), 't', 'the last base has files of its own');

# --- killed while one begins to count -------------------------------------------------------------------------

SKIP:
{
	skip 'no failpoints in this build', 6 unless TestServer::has_failpoints($primary);
	for my $point ('base_finished', 'base_counts')
	{
		$standby->append_conf('postgresql.conf', "tsurugi_fdw.journal_size = '1GB'\ntsurugi_fdw.failpoints = 'kill:$point'");
		$standby->restart;
		$standby->append_conf('postgresql.conf', "tsurugi_fdw.journal_size = '1MB'");
		$standby->reload;
		my $until = time + $PostgreSQL::Test::Utils::timeout_default;

		while (slurp_file($standby->logfile) !~ /terminated by signal 9/ && time < $until)
		{
			change(2);
			select undef, undef, undef, 0.1;
		}
		like(slurp_file($standby->logfile), qr/terminated by signal 9/, "the process at $point is killed");
		$standby->stop('immediate', fail_ok => 1);
		$standby->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
		$standby->rotate_logfile;
		$standby->start;
		is_same("after that at $point");
	}
}

# --- a backup of the standby, the promotion ---------------------------------------------------------------------

change(5);
catch_up();
$standby->backup('of_standby');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($standby, 'of_standby', has_streaming => 1);
$second->start;
catch_up();
TestServer::catch_up($standby, $second);
is($second->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'a standby of the standby has the same');
# its last base is damaged, and it is promoted after it has loaded the one before
my $rows = $second->safe_psql('postgres', $digest);
$second->stop;
my ($last) = sort { $b <=> $a } map { hex s/.*\.//r } glob($second->data_dir . '/pg_tsurugi/base/manifest.*');
for my $part (grep { hex s/.*\.//r == $last } glob($second->data_dir . '/pg_tsurugi/base/part.*'))
{
	open my $file, '+<:raw', $part or die;
	seek $file, (-s $part) / 2, 0;
	print $file 'damaged';
	close $file;
}
$second->append_conf('postgresql.conf', "tsurugi_fdw.journal_size = '1GB'");
$second->start;
$second->promote;
is($second->safe_psql('postgres', $digest), $rows, 'a standby whose last base is damaged, promoted: the same rows');
ok($second->poll_query_until('postgres', "SELECT base = $last - 1 FROM tsurugi.durability"), 'it goes on from the base before');
$second->safe_psql('postgres', 'SELECT tsurugi.write_base()');
Acknowledged::kill_all($second);
$second->start;
is($second->safe_psql('postgres', $digest), $rows, 'whose successor has them, too');
is($second->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'and no damaged file');
$second->stop;

write_base();
# the rank of the new value is in the log before the transaction's own record, and its table does not
# change otherwise
$primary->safe_psql('postgres', q{BEGIN; INSERT INTO quiet VALUES ('new'); PREPARE TRANSACTION 'rank'});
change(2);
catch_up();
my $all = $primary->safe_psql('postgres', $digest);
my $ways = $primary->safe_psql('postgres', 'SELECT count(*) FROM path');
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', $digest), $all, 'promoted: the same rows');
my $by_key = 'SET enable_seqscan = off; SELECT count(*) FROM path a WHERE (SELECT n FROM path b WHERE b.way = a.way) = a.n';
is($standby->safe_psql('postgres', $by_key), $ways, 'keys of a type that only its class compares are found');
is(TestServer::sqlstate($standby, 'INSERT INTO path SELECT way FROM path LIMIT 1'), '23505', 'and are unique');
is(TestServer::sqlstate($standby, q{SET lock_timeout = '100ms'; INSERT INTO path VALUES ('prepared.path', 2)}), '55P03', 'also that of a prepared transaction');
is($standby->safe_psql('postgres', 'SELECT tsurugi.write_base()'), base(), 'the promoted server writes a base');
Acknowledged::kill_all($standby);
$standby->start;
is($standby->safe_psql('postgres', $digest), $all, 'and starts from it');
is($standby->safe_psql('postgres', $by_key), $ways, 'with all keys');
is($standby->safe_psql('postgres', q{COMMIT PREPARED 'rank'; SET enable_seqscan = off; SELECT count(*) FROM quiet WHERE way IN ('new', 'q1')}), '2', 'also one that came between two bases');
is($standby->safe_psql('postgres', q{COMMIT PREPARED 'open'; SELECT p.n, o.v FROM path p, ours o WHERE p.way = 'prepared.path' AND o.id = -1}), '1000000|prepared', 'a prepared transaction goes on');
is($standby->safe_psql('postgres', 'SELECT tsurugi.write_base() > 0'), 't', 'it is in the next base');
Acknowledged::kill_all($standby);
$standby->start;
is($standby->safe_psql('postgres', q{SELECT n FROM path WHERE way = 'prepared.path'}), '1000000', 'with its key');
is(join('', grep { !/terminated by signal 9/ } split /^/, TestServer::internal_errors($standby)), '', 'no internal errors');
$standby->stop;
done_testing();

# An index that is given up while a transaction that has filled it is undecided: the transaction's
# records name it, so bases and starts know what its hidden values were, until the transaction ends.
#
# CREATE INDEX CONCURRENTLY waits for transactions that have written to its index, on an expression.
# It is cancelled, or the server crashes.  Then a base is written, and the server starts again; and a
# standby is promoted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('given_up', 'max_prepared_transactions' => 5, 'tsurugi_fdw.load_wait' => "'60s'",
	'wal_level' => 'replica', 'max_wal_senders' => 3);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, t text) SERVER tsurugi;
	INSERT INTO ours SELECT i, 't' || i FROM generate_series(1, 9) i});

sub reaches { $node->poll_query_until('postgres', "SELECT phase = '$_[0]' FROM pg_stat_progress_create_index") or die "not $_[0]" }

# Prepares one transaction, and leaves another one open, which have values for an index that waits for
# them; returns the sessions of both, and of the index.
sub fill
{
	my ($number) = @_;
	my ($first, $second, $large, $builder) = map { TestServer::Session->new($node) } 1 .. 4;

	$first->query("BEGIN; UPDATE ours SET t = 'first' WHERE id = 9");
	$builder->send("CREATE INDEX CONCURRENTLY by_t ON ours (upper(t || '!'));");
	reaches('waiting for writers before build');
	$second->query("BEGIN; UPDATE ours SET t = 'second' WHERE id = 8");
	$first->query('COMMIT');
	reaches('waiting for writers before validation');
	is($large->query("BEGIN; INSERT INTO ours SELECT $number + i, repeat('l', 500) FROM generate_series(1, 2000) i"), '', 'a large transaction');
	is($node->safe_psql('postgres', "BEGIN; UPDATE ours SET t = 'prepared' WHERE id = 1; INSERT INTO ours VALUES ($number, 'new'); PREPARE TRANSACTION 'p'"), '', 'one that is prepared');
	$first->close;
	return ($large, $builder, $second);
}

# --- it is cancelled ---------------------------------------------------------------------------------

my ($large, $builder, $other) = fill(10000);
my $pid = $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_progress_create_index');

$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is($builder->wait, 'ERROR 57014', 'the index is given up');
$_->close for $builder, $other;
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()') for 1 .. 2;
is($large->query('COMMIT'), '', 'the large one commits');
$large->close;
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM ours; SELECT last_error IS NULL FROM tsurugi.durability'), "2009\nt", 'a start has its rows');
is($node->safe_psql('postgres', "COMMIT PREPARED 'p'; SELECT t FROM ours WHERE id IN (1, 10000) ORDER BY id"), "prepared\nnew", 'and those of the prepared one');
$node->safe_psql('postgres', 'DROP INDEX by_t');

# --- the server crashes ------------------------------------------------------------------------------

($large, $builder, $other) = fill(20000);
$node->stop('immediate');
$node->start;
$_->close for $large, $builder, $other;
$node->backup('copy');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()') for 1 .. 2;
$node->restart;
is($node->safe_psql('postgres', 'SELECT last_error IS NULL FROM tsurugi.durability, (SELECT count(*) FROM ours) waited'), 't', 'after a crash, bases and a start nothing is damaged');
is($node->safe_psql('postgres', "COMMIT PREPARED 'p'; SELECT t FROM ours WHERE id IN (1, 20000) ORDER BY id"), "prepared\nnew", 'and the prepared one has its rows');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ours'), '2011', 'all of them');
is(TestServer::internal_errors($node), '', 'no internal errors');
$node->stop;

# --- a standby ---------------------------------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($node, 'copy');
$standby->set_standby_mode;
$standby->start;
is($standby->safe_psql('postgres', 'SELECT count(*) FROM ours'), '2010', 'a standby follows behind the crash');
$standby->promote;
is($standby->safe_psql('postgres', "COMMIT PREPARED 'p'; SELECT t FROM ours WHERE id IN (1, 20000) ORDER BY id"), "prepared\nnew", 'and its promotion has the prepared one');
is(TestServer::internal_errors($standby), '', 'no internal errors there');
$standby->stop;
done_testing();

# Databases and the extension come and go on a primary, and on its standby likewise.
#
# A database is made from a template, in both ways, moved to a tablespace, renamed and dropped, with
# sessions of the standby in another one; the extension is dropped with its tables, and created anew.
# The standby has the same at once, after a crash, and promoted.
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
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '60s'", 'allow_in_place_tablespaces = on';
$primary->start;

my $fill = q{CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) i};

$primary->safe_psql('postgres', "$fill; CREATE DATABASE model; CREATE DATABASE moved; CREATE DATABASE gone");
$primary->safe_psql($_, $fill) for qw(model moved gone);
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

sub ask
{
	my ($database, $sql) = @_;
	my ($code, $out, $err) = $standby->psql($database, $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);

	return $code == 0 ? $out : $err =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : $err;
}

# --- while it follows ----------------------------------------------------------------------------------

my $reader = TestServer::Session->new($standby);
is($reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t'), '100', 'a session of another database has a snapshot');
$primary->safe_psql('postgres', $_) for 'CREATE DATABASE copied TEMPLATE model STRATEGY file_copy', 'CREATE DATABASE logged TEMPLATE model STRATEGY wal_log',
	"CREATE TABLESPACE place LOCATION ''", 'ALTER DATABASE moved SET TABLESPACE place', 'DROP DATABASE gone', 'CREATE DATABASE gone';
$primary->safe_psql('gone', $fill . '; DELETE FROM t WHERE id > 7');
$primary->safe_psql('postgres', 'ALTER DATABASE gone RENAME TO renamed');
$primary->safe_psql('moved', 'UPDATE t SET v = NULL WHERE id = 7');
TestServer::catch_up($primary, $standby);
is($reader->query('SELECT count(*) FROM t; COMMIT'), '100', 'and goes on');
is(ask($_, 'SELECT count(*) FROM t'), '55000', "of a database that was copied ($_) the rows are missing, and are not taken for none") for 'copied', 'logged';
$primary->safe_psql('logged', q{SET tsurugi_fdw.missing_contents = empty; INSERT INTO t VALUES (1, 'own')});
$primary->safe_psql('copied', 'TRUNCATE t');

my %expected = (
	model => '100|100', moved => '100|99', renamed => '7|7', postgres => '100|100', logged => '1|1', copied => '0|0');

sub is_same
{
	my ($name) = @_;

	is(ask($_, 'SELECT count(*), count(v) FROM t'), $expected{$_}, "$name: $_") for sort keys %expected;
}

TestServer::catch_up($primary, $standby);
is_same('a standby');

# --- the extension -------------------------------------------------------------------------------------

$primary->safe_psql('renamed', 'DROP EXTENSION tsurugi_fdw CASCADE');
TestServer::catch_up($primary, $standby);
is(ask('renamed', 'SELECT count(*) FROM t'), '42P01', 'without the extension its tables have gone');
$primary->safe_psql('renamed', $fill . '; DELETE FROM t WHERE id > 3');
$primary->safe_psql('model', 'BEGIN; DROP EXTENSION tsurugi_fdw CASCADE; ROLLBACK');
$expected{renamed} = '3|3';
TestServer::catch_up($primary, $standby);
is_same('with the extension created anew');
# (PostgreSQL cannot replay twice that a database was moved, and makes a checkpoint on the primary)
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->safe_psql('renamed', 'DROP EXTENSION tsurugi_fdw CASCADE');
$primary->safe_psql('renamed', $fill . '; DELETE FROM t WHERE id > 3');
TestServer::catch_up($primary, $standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
Acknowledged::kill_all($standby);
$standby->start;
TestServer::catch_up($primary, $standby);
is_same('after a crash');
$primary->stop('immediate');
$standby->promote;
is_same('promoted');
$standby->safe_psql('renamed', 'UPDATE t SET v = NULL WHERE id = 1');
$expected{renamed} = '3|2';
is(ask('postgres', 'SELECT tsurugi.write_base() > 0'), 't', 'it writes a base');
Acknowledged::kill_all($standby);
$standby->start;
is_same('which a start reads');
is(ask('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
is(TestServer::internal_errors($standby) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$reader->close;
$standby->stop;
done_testing();

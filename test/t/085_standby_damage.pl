# A standby whose files are damaged, with ignore_damage: it refuses what is damaged, follows with the
# rest, and keeps the files, also when it is promoted.  What can be read of them, the next start has.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '60s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE a (id int PRIMARY KEY) SERVER tsurugi;
	CREATE FOREIGN TABLE b (id int PRIMARY KEY) SERVER tsurugi;
	INSERT INTO a SELECT generate_series(1, 50);
	INSERT INTO b SELECT generate_series(1, 50);
	SELECT tsurugi.write_base()});
$primary->restart; # so that the rows of one table are taken over
$primary->safe_psql('postgres', $_) for 'INSERT INTO b VALUES (51)', 'SELECT tsurugi.write_base()', 'INSERT INTO a VALUES (51), (52)';
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = on');

my $files = $standby->data_dir . '/pg_tsurugi/base';
my @parts = sort grep { !/manifest/ } glob "$files/*";
is(@parts, 3, 'the second base names a file of the first one');
unlink $parts[0] or die;
$standby->start;

# --- a journal with a fault --------------------------------------------------------------------------

# Changes one byte of a file, and back.
sub change_byte
{
	my ($file, $at) = @_;

	open(my $handle, '+<:raw', $file) or die;
	seek $handle, $at, 0;
	read $handle, my $byte, 1;
	seek $handle, $at, 0;
	print $handle chr(255 - ord $byte);
	close $handle or die;
}

my $other = PostgreSQL::Test::Cluster->new('other');
$other->init_from_backup($primary, 'copy', has_streaming => 1);
$other->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = on');
$other->start;
TestServer::catch_up($primary, $other);
my ($journal) = glob $other->data_dir . '/pg_tsurugi/journal/*';
my $half = int((-s $journal) / 2);
$other->stop;
my $bytes = -s $journal;
change_byte($journal, $half);
$other->start;
is(TestServer::sqlstate($other, 'SELECT count(*) FROM b'), 'XX001', 'a standby with a fault in its journal is refused');
$other->stop;
cmp_ok(-s $journal, '>=', $bytes, 'and keeps it');
change_byte($journal, $half);
$other->start;
is($other->safe_psql('postgres', 'SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)'), '52|51', 'without the fault it has all');
$other->stop;

# --- a base without a file -----------------------------------------------------------------------------

sub is_refused
{
	my ($name) = @_;

	is(TestServer::sqlstate($standby, 'SELECT count(*) FROM a'), 'XX001', "$name: the damaged table is refused");
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM b'), $_[1], 'the other one is there');
	is(TestServer::sqlstate($standby, 'SELECT tsurugi.write_base()'), '58030', 'and no base is written');
}

is_refused('a standby', 51);
$primary->safe_psql('postgres', 'INSERT INTO b VALUES (52); DELETE FROM a WHERE id = 1');
TestServer::catch_up($primary, $standby);
is_refused('what comes later', 52);
$standby->restart;
is_refused('after a restart', 52);
$primary->stop;
$standby->promote;
$standby->poll_query_until('postgres', "SELECT state = 'open' FROM tsurugi.durability") or die;
is_refused('promoted', 52);
$standby->restart;
is($standby->safe_psql('postgres', 'SELECT count(*), min(id) FROM a'), '2|51', 'a start behind that has what can be read');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM b'), '52', 'and the rest');
is($standby->safe_psql('postgres', 'SELECT tsurugi.write_base()'), '3', 'which a base has, too');
$standby->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = off');
$standby->restart;
is($standby->safe_psql('postgres', 'SELECT count(*) FROM a'), '2', 'from then on nothing is damaged');
$standby->stop;
done_testing();

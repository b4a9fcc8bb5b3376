# What a start of the server leaves in tables: all of a logged one, nothing of an unlogged one, also
# where the persistence has changed.  A rollback changes nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('persistence');
my @tables = qw(always never gone come both_ways back kept lost);

# The rows of each table, and those that its index finds.
sub rows
{
	return join ' ', map {
		"$_ " . $node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) || '/' || count(*) FILTER (WHERE EXISTS (SELECT FROM $_ b WHERE b.v = a.v)) FROM $_ a")
	} @tables;
}

$node->safe_psql('postgres', join '', map {
	my $unlogged = /never|come|back|lost/ ? 'UNLOGGED' : '';

	"CREATE $unlogged TABLE $_ (id int PRIMARY KEY, v text UNIQUE) USING tsurugi; INSERT INTO $_ SELECT i, 'v' || i FROM generate_series(1, 1000) i;"
} @tables);
$node->safe_psql('postgres', $_)
	for 'ALTER TABLE gone SET UNLOGGED', 'INSERT INTO gone VALUES (0, NULL)', 'ALTER TABLE come SET LOGGED',
	'DELETE FROM come WHERE id = 7', 'BEGIN; ALTER TABLE both_ways SET UNLOGGED; DELETE FROM both_ways WHERE id > 10; ALTER TABLE both_ways SET LOGGED; COMMIT',
	'BEGIN; ALTER TABLE back SET LOGGED; ALTER TABLE back SET UNLOGGED; COMMIT', 'BEGIN; ALTER TABLE kept SET UNLOGGED; DELETE FROM kept; ROLLBACK',
	'BEGIN; ALTER TABLE lost SET LOGGED; ROLLBACK', 'BEGIN; INSERT INTO always VALUES (0, NULL); INSERT INTO never VALUES (0, NULL); COMMIT';

my $after = 'always 1001/1000 never 0/0 gone 0/0 come 999/999 both_ways 10/10 back 0/0 kept 1000/1000 lost 0/0';

for my $mode ('immediate', 'fast')
{
	$node->stop($mode);
	$node->start;
	is(rows(), $after, "after a stop that is $mode");
	$node->safe_psql('postgres', "INSERT INTO $_ VALUES (1, 'v1')") for qw(never gone back lost);
}
$node->safe_psql('postgres', 'ALTER TABLE gone SET LOGGED; ALTER TABLE kept SET UNLOGGED; DROP TABLE never, always; DROP TABLE back');
@tables = qw(gone kept);
$node->stop('immediate');
$node->start;
is(rows(), 'gone 1/1 kept 0/0', 'after another change');
$node->restart;
$node->safe_psql('postgres', 'ALTER TABLE kept SET LOGGED');
is(rows(), 'gone 1/1 kept 0/0', 'an unlogged table that nobody has used since the start is logged, and empty');
$node->safe_psql('postgres', "INSERT INTO kept VALUES (1, 'v1')");
$node->stop('immediate');
$node->start;
is(rows(), 'gone 1/1 kept 1/1', 'and keeps what it gets');
unlike(slurp_file($node->logfile), qr/WARNING:.*contents/, 'no contents are missed');
is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

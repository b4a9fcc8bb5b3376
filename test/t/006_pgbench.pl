# Other people's scripts: pgbench makes, fills and uses its tables, none the
# wiser that tsurugi_fdw.create_table puts them in memory.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('pgbench', 'tsurugi_fdw.create_table' => 'on');
my $totals = q{SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history),
	(SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history),
	(SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history),
	(SELECT count(*) FROM pgbench_history)};

for my $steps ('dtgvp', 'dtGvp')
{
	$node->command_ok([ 'pgbench', '-q', '-i', '-I', $steps, '-s', '2', $node->connstr('postgres') ], "pgbench -i -I $steps");
	is($node->safe_psql('postgres', q{SELECT string_agg(relname || ' ' || relkind::text, ', ' ORDER BY relname) FROM pg_class
		WHERE relname ~ '^pgbench_' AND relkind <> 'I'}),
		'pgbench_accounts f, pgbench_branches f, pgbench_history f, pgbench_tellers f', 'the tables are in memory');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'), '200000', 'and filled');
	$node->command_ok([ 'pgbench', '--random-seed=1', '-n', '-M', 'prepared', '-c', '4', '-t', '50', $node->connstr('postgres') ], 'transactions');
	is($node->safe_psql('postgres', $totals), 't|t|t|200', 'none was lost');
}
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

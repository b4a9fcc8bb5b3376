# Beside other libraries: auto_explain and pg_stat_statements see statements on
# tables in memory as they see others, loaded before tsurugi_fdw or after it; and
# EXPLAIN in its machine-readable formats.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

for my $order ('tsurugi_fdw, auto_explain, pg_stat_statements', 'pg_stat_statements, auto_explain, tsurugi_fdw')
{
	my $node = TestServer::start(
		'beside' . ($order =~ /^ts/ ? '1' : '2'),
		'shared_preload_libraries' => "'$order'",
		'auto_explain.log_min_duration' => 0,
		'auto_explain.log_analyze' => 'on',
		'auto_explain.log_nested_statements' => 'on',
		'auto_explain.log_format' => 'json',
		'pg_stat_statements.track' => 'all');

	$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
	$node->safe_psql('postgres', q{
		CREATE FOREIGN TABLE t (k int PRIMARY KEY, v text) SERVER tsurugi;
		INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 100) g;
		CREATE FUNCTION f(i int) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			UPDATE t SET v = v || '!' WHERE k = i;
			RETURN (SELECT v FROM t WHERE k = i);
		END $$});
	$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
	my $log = -s $node->logfile;
	my @statements = (
		'SELECT v FROM t WHERE k = 5',
		'SELECT count(*) FROM t WHERE k BETWEEN 3 AND 12',
		"UPDATE t SET v = 'x' WHERE k > 90",
		'DELETE FROM t WHERE k = 100',
		"INSERT INTO t VALUES (200, 'y') ON CONFLICT (k) DO UPDATE SET v = excluded.v");
	$node->safe_psql('postgres', $_) for @statements;
	# by the extended protocol, often enough for kept executor state
	$node->safe_psql('postgres', 'PREPARE p (int) AS SELECT v FROM t WHERE k = $1; ' . 'EXECUTE p (7); ' x 10);
	is($node->safe_psql('postgres', 'SELECT f(8)'), 'v8!', "$order: a function");
	is( $node->safe_psql('postgres', q{
		SELECT string_agg(calls || ':' || rows, ' ' ORDER BY query) FROM pg_stat_statements
		WHERE query ~ '^(SELECT v FROM|SELECT count|UPDATE t SET v = \$1 WHERE k >|DELETE|INSERT)'}),
		'1:1 1:1 1:1 1:1 1:10', "$order: statements are counted with their rows");
	is( $node->safe_psql('postgres', q{SELECT calls || ':' || rows FROM pg_stat_statements WHERE query LIKE 'PREPARE p%'}),
		'10:10', "$order: and those that were prepared");
	is( $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_statements WHERE NOT toplevel AND query ~ 'v \|\| '}),
		1, "$order: and those in functions");

	my $text = substr PostgreSQL::Test::Utils::slurp_file($node->logfile), $log;
	for my $statement (@statements)
	{
		my ($plan) = $text =~ /plan:\s*(\{\s*"Query Text": "\Q$statement\E",.*?\n\s?\})/s;
		ok($plan && $plan =~ /"Tsurugi (?:Scan|Update|Delete)"|"ModifyTable"/, "$order: auto_explain tells of: $statement");
	}
	my $executions = () = $text =~ /"Query Text": "PREPARE p/g;
	is($executions, 10, "$order: each execution of a prepared statement");

	if ($order =~ /^ts/)
	{
		my $json = decode_json($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, VERBOSE, FORMAT json) SELECT * FROM t WHERE k = 1'));
		my $plan = $json->[0]{Plan};
		is($plan->{'Node Type'}, 'Foreign Scan', 'JSON: node');
		is($plan->{'Operation'}, 'Select', 'JSON: operation');
		like($plan->{'Tsurugi Scan'}, qr/^key look-up/, 'JSON: way');
		is($plan->{'Key Cond'}, '(k = 1)', 'JSON: condition');
		is($plan->{'Actual Rows'}, 1, 'JSON: rows');
		$json = decode_json($node->safe_psql('postgres', "EXPLAIN (ANALYZE, FORMAT json) UPDATE t SET v = 'j' WHERE k < 4 AND v <> 'q'"));
		$plan = $json->[0]{Plan};
		is($plan->{'Node Type'}, 'ModifyTable', 'JSON: modification');
		like($plan->{Plans}[0]{'Tsurugi Update'}, qr/^direct, key range/, 'JSON: its way');
		is($plan->{Plans}[0]{'Rows Removed by Filter'}, undef, 'JSON: nothing was filtered');
		like($node->safe_psql('postgres', 'EXPLAIN (FORMAT yaml, COSTS off) SELECT * FROM t ORDER BY k DESC'),
			qr/Tsurugi Scan: "all keys, descending, in place"/, 'YAML');
		like($node->safe_psql('postgres', 'EXPLAIN (FORMAT xml, COSTS off) SELECT * FROM t WHERE k > 3'),
			qr{<Tsurugi-Scan>key range, ascending, in place</Tsurugi-Scan>\s*<Key-Cond>\(k &gt; 3\)</Key-Cond>}, 'XML');
		like($node->safe_psql('postgres', "EXPLAIN (FORMAT json, COSTS off) DELETE FROM t WHERE ctid = '(0,1)'"),
			qr{"TID Cond": "\(ctid = '\(0,1\)'::tid\)"}, 'by ctid');
	}
	$node->stop;
}
done_testing();

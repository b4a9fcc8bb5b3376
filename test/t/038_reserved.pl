# The last part of the memory is kept for superusers: where another role has filled all that it
# gets, a superuser's statements still find room.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('reserved', 'tsurugi_fdw.memory' => "'32MB'", 'tsurugi_fdw.memory_reserved' => 10);

$node->safe_psql('postgres', q{
	CREATE ROLE alice;
	CREATE ROLE boss SUPERUSER;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO alice;
	GRANT CREATE ON SCHEMA public TO alice;
	CREATE FOREIGN TABLE small (id int PRIMARY KEY, v text) SERVER tsurugi;
	GRANT ALL ON small TO alice;
	SET ROLE alice;
	CREATE FOREIGN TABLE big (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE empty (id int PRIMARY KEY) SERVER tsurugi;
	RESET ROLE;
	CREATE FUNCTION insert_as_owner(int) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ INSERT INTO small VALUES ($1, 'x') $$;
});

# Alice fills what she can get: first by many rows at a time, then by single ones.
my $next = 1;
for my $rows (4000, 400, 40, 4, 1)
{
	for (1 .. 1000)
	{
		my $last = $next + $rows - 1;
		last if TestServer::sqlstate($node, "SET ROLE alice; INSERT INTO big SELECT i, repeat('x', 500) FROM generate_series($next, $last) i") ne '00000';
		$next += $rows;
	}
}
cmp_ok($next, '>', 20000, "alice's table takes what she gets");

# What a role's single row ends with; nothing if it is stored.
sub single
{
	my ($role) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		"SET ROLE $role; INSERT INTO small VALUES ((SELECT coalesce(max(id), 0) FROM small) + 1, repeat('y', 20000))",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err;
}

# What was refused before has been freed, sooner or later: there may be room for some rows more.
sub alice_until_refused
{
	my $error = '';

	for (1 .. 200)
	{
		last if ($error = single('alice')) ne '';
	}
	return $error;
}

like(alice_until_refused(), qr/53200.*memory_reserved keeps for superusers/s, 'a single row of hers is refused, with a detail that names the setting');
is(TestServer::sqlstate($node, "SET ROLE alice; SELECT insert_as_owner(i) FROM generate_series(100001, 200000) i"), '53200',
	'so is what a function inserts for her as its owner, who is a superuser');
alice_until_refused();
is(single('boss'), '', "a superuser's is not");
like(alice_until_refused(), qr/53200/, 'and hers still is');

# Empty tables and indexes take memory, too.  Alice makes them until one is refused.
sub make_many
{
	my ($statement) = @_;
	my ($code, $out, $err) = $node->psql('postgres', join("\n", 'SET ROLE alice;', map { sprintf "$statement;", $_ } 1 .. 400),
		on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err;
}
like(make_many('CREATE FOREIGN TABLE empty%d (id int PRIMARY KEY) SERVER tsurugi'), qr/ERROR:  53200: out of memory for tables/, 'empty tables of hers are refused');
like(make_many('CREATE INDEX ON small (id) WHERE id > %d'), qr/ERROR:  42501/, "(she makes no indexes on others' tables)");
is(TestServer::sqlstate($node, 'SET ROLE alice; TRUNCATE empty'), '00000', 'she empties a table');
like(make_many('CREATE INDEX ON empty (id) WHERE id > %d'), qr/ERROR:  53200: out of memory for tables/, 'indexes on empty tables are refused');
like(make_many('BEGIN; TRUNCATE empty'), qr/ERROR:  53200: out of memory for tables/,
	'so is emptying a table again and again in a transaction, which keeps all that it has made');
is(TestServer::sqlstate($node, "SET ROLE alice; $_"), '00000', "at the limit: $_")
  for 'TRUNCATE empty', 'VACUUM FULL empty', 'ALTER TABLE empty ADD COLUMN v int', 'BEGIN; DROP TABLE empty; ROLLBACK', 'SELECT FROM empty';
is(TestServer::sqlstate($node, 'CREATE FOREIGN TABLE spare (id int PRIMARY KEY) SERVER tsurugi'), '00000', 'a superuser makes a table');
is(TestServer::sqlstate($node, 'CREATE INDEX ON big (id) WHERE id % 3 = 0'), '00000', 'a superuser makes an index');
is(TestServer::sqlstate($node, 'VACUUM FULL small'), '00000', 'and stores a table anew');
is(TestServer::sqlstate($node, 'ANALYZE big'), '00000', 'and analyzes');
# A reload changes it.
$node->append_conf('postgresql.conf', 'tsurugi_fdw.memory_reserved = 0');
$node->reload;
ok($node->poll_query_until('postgres', "SELECT current_setting('tsurugi_fdw.memory_reserved') = '0'"), 'a reload lowers it');
is(single('alice'), '', 'and other roles have all of the memory');

done_testing();

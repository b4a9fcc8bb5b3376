# Every kind of table, key and index comes back.
#
# The scripts of test/same leave tables of all sorts behind, in a database each.  A digest of every
# table, of its rows and of what look-ups by each of its indexes find, is the same before and after
# a crash, a clean restart, and a crash after a base was written.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('recovery', max_connections => 20, jit => 'off', 'tsurugi_fdw.load_wait' => '20s');
my @files = sort glob(dirname($0) . '/../same/*.sql');

# Rows of each table, and how many of them a look-up by the first column of an index finds.
my $digest = q{
	CREATE FUNCTION public.digest() RETURNS SETOF text LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off
	SET enable_memoize = off SET search_path = pg_catalog SET row_security = off SET extra_float_digits = 3
	AS $$
	DECLARE
		r record;
		i record;
		answer text;
	BEGIN
		FOR r IN SELECT oid, oid::regclass AS name FROM pg_class WHERE relkind = 'f' ORDER BY oid LOOP
			BEGIN
				EXECUTE format('SELECT count(*) || %L || coalesce(md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")), %L) FROM ONLY %s t',
					' ', '', r.name) INTO answer;
			EXCEPTION WHEN OTHERS THEN answer := SQLERRM;
			END;
			RETURN NEXT r.name || ' ' || answer;
			FOR i IN SELECT indexrelid::regclass AS name, indisvalid, attname FROM pg_index, pg_attribute
				WHERE indrelid = r.oid AND attrelid = indrelid AND attnum = indkey[0] ORDER BY indexrelid LOOP
				BEGIN
					EXECUTE format('SELECT count(*) FROM ONLY %s a WHERE EXISTS (SELECT FROM ONLY %1$s b WHERE b.%I = a.%2$I)',
						r.name, i.attname) INTO answer;
				EXCEPTION WHEN OTHERS THEN answer := SQLERRM;
				END;
				RETURN NEXT r.name || ' ' || i.name || ' ' || i.indisvalid || ' ' || answer;
			END LOOP;
		END LOOP;
	END $$};

$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', $_)
	for 'CREATE EXTENSION tsurugi_fdw', 'CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw',
	'GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC', 'GRANT CREATE ON SCHEMA public TO PUBLIC', $digest;

my %named = map { $_ => 1 } split(' ', $ENV{SCRIPTS} // '');
@files = grep { %named == 0 || $named{ basename($_, '.sql') } } @files;
my @databases = map { basename($_, '.sql') . '_memory' } @files;

for my $i (0 .. $#files)
{
	$node->safe_psql('postgres', "CREATE DATABASE $databases[$i] TEMPLATE model STRATEGY file_copy");
	IPC::Run::run(
		[
			'psql', '-XaqA', '-v', 'memory=1', '-f', $files[$i],
			'-d', $node->connstr($databases[$i]) . " options='-c tsurugi_fdw.create_table=on'"
		],
		'<', \undef, '>', \my $out, '2>&1');
}

sub digests
{
	return map { $_ => $node->safe_psql($_, 'SELECT digest()') } @databases;
}

sub compare
{
	my ($what, %before) = @_;
	my %after = digests();

	is($after{$_}, $before{$_}, "$_: $what") for @databases;
}

my %before = digests();
my $rows = 0;
my $all = join "\n", values %before;

$rows += $1 while $all =~ /^\S+ (\d+) [0-9a-f]{32}$/mg;
note("$rows rows");
ok($rows > 1000, 'the scripts leave tables with rows');

$node->stop('immediate');
$node->start;
compare('the same after a crash', %before);
BAIL_OUT('the tables do not come back') if $node->safe_psql('model', 'SELECT state FROM tsurugi.durability') ne 'open';
$node->restart;
compare('the same after a clean restart', %before);
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
$node->stop('immediate');
$node->start;
compare('the same after a crash, from a base', %before);

# (one that PostgreSQL has for a statement of the scripts)
unlike(TestServer::internal_errors($node) =~ s/^.* XX000 .*\n//mgr, qr/./, 'no process has ended by an error');
$node->stop;
done_testing();

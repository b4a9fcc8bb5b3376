# Scripts of the other suites, replayed on a standby, and a crash in the middle of each.
#
# Each script of sql/ and test/same/ is run by psql in databases of its own, up to some line: there
# the session ends, with whatever transaction is open.  On the standby, every table of every database
# has the same rows then, under the same ctids, and each index gives the same order; and again when the
# standby has started from a base of its own.
#
# Later the server is killed.  After the start it has them, too, and unlogged tables are empty.  Then
# the same once more from a base; and the standby is promoted.  What the scripts print is the business
# of their suites.
#
# SEED takes other lines, and other scripts.  SCRIPT_COUNT: how many (8), or "all" (make restart-regress).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

srand seed();

my $count = $ENV{SCRIPT_COUNT} // 8;
my @scripts = shuffled(grep { !/--/ } glob("$FindBin::RealBin/../../sql/*.sql $FindBin::RealBin/../same/*.sql"));
@scripts = @scripts[ 0 .. $count - 1 ] if $count ne 'all';

my $node = TestServer::start('scripts_restart', max_connections => 20, jit => 'off', fsync => 'off',
	max_prepared_transactions => 10, statement_timeout => '60s', lock_timeout => '5s', 'tsurugi_fdw.load_wait' => '60s',
	wal_level => 'replica', max_wal_senders => 5, wal_keep_size => '1GB', allow_in_place_tablespaces => 'on');

$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', $_)
	for 'CREATE EXTENSION tsurugi_fdw', 'CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw',
	'GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC', 'GRANT CREATE ON SCHEMA public TO PUBLIC';

# A line for each table, and for each index that has an order by a column (equals that look different, as
# numerics may, have none).  The rows of ordinary tables
# are in the log with their ctids, too.
$node->safe_psql('model', q{
CREATE SCHEMA digest;
CREATE FUNCTION digest.tables() RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
	DECLARE r record; i record; answer text;
	BEGIN
		FOR r IN SELECT c.oid, c.oid::regclass AS name,
				c.relpersistence = 'u' OR coalesce('persistence=unlogged' = ANY (ftoptions || srvoptions), false) AS unlogged
			FROM pg_class c LEFT JOIN pg_foreign_table f ON ftrelid = c.oid LEFT JOIN pg_foreign_server s ON s.oid = ftserver
				LEFT JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw
			WHERE (relkind = 'r' OR relkind = 'f' AND fdwname = 'tsurugi_fdw') AND c.oid >= 16384 AND relpersistence <> 't' ORDER BY c.oid LOOP
			BEGIN
				EXECUTE format('SELECT count(*) || %L || coalesce(md5(string_agg(ctid::text || t::text, chr(10) ORDER BY ctid)), %L) FROM ONLY %s t',
					' ', '', r.name) INTO answer;
			EXCEPTION WHEN OTHERS THEN answer := SQLSTATE || ' ' || SQLERRM;
			END;
			RETURN NEXT concat_ws(' ', CASE WHEN r.unlogged THEN 'unlogged' ELSE 'logged' END, r.name, answer);
			CONTINUE WHEN r.unlogged;
			FOR i IN SELECT indexrelid::regclass AS name, indisvalid, attname, pg_get_indexdef(indexrelid) AS definition
				FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] JOIN pg_opclass o ON o.oid = indclass[0]
					JOIN pg_am a ON a.oid = opcmethod
				WHERE indrelid = r.oid AND amname = 'btree' ORDER BY indexrelid LOOP
				BEGIN
					EXECUTE format('SELECT md5(string_agg(k::text, chr(10))) FROM (SELECT %2$I AS k FROM ONLY %1$s t ORDER BY %2$I, %2$I::text COLLATE "C") x', r.name, i.attname) INTO answer;
				EXCEPTION WHEN OTHERS THEN answer := SQLSTATE || ' ' || SQLERRM;
				END;
				RETURN NEXT concat_ws(' ', 'logged', r.name, i.name, i.indisvalid, i.definition, answer);
			END LOOP;
		END LOOP;
	END $$});

sub digest
{
	my ($server, $database) = @_;
	my ($code, $out, $err) = $server->psql($database, 'SET client_min_messages = error; SELECT digest.tables()');

	return $code ? "ERROR $err" : $out;
}

# Some first lines of a script.
sub beginning
{
	my ($script) = @_;
	my @lines = split /^/, slurp_file($script);

	return join '', @lines[ 0 .. int(@lines * (0.3 + rand(0.7))) - 1 ];
}

sub run_script
{
	my ($script, $database) = @_;
	my $file = $node->basedir . '/script.sql';

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE model STRATEGY file_copy");
	open my $out, '>', $file or die;
	print $out beginning($script);
	close $out;
	IPC::Run::run([ 'psql', '-Xq', '-v', 'memory=1', '-f', $file, '-d', $node->connstr($database) . " options='-c tsurugi_fdw.create_table=on'" ],
		'<', \undef, '>', \my $ignored, '2>&1');
}

# The tables of a database whose contents a start keeps.
sub logged { return join "\n", grep { /^logged/ } split /\n/, $_[0] }

sub tables_with_rows { return scalar grep { /^logged \S+ [1-9]\d* / } map { split /\n/ } @_ }

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('scripts_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

my %before;

for my $script (@scripts)
{
	my $database = 'db_' . basename(dirname($script)) . '_' . basename($script, '.sql');

	run_script($script, $database);
	$before{$database} = digest($node, $database);
	unlike($before{$database}, qr/^ERROR/, "$database is read");
}
cmp_ok(tables_with_rows(values %before), '>', 0, 'there are tables with rows: ' . tables_with_rows(values %before));

# --- the standby ----------------------------------------------------------------------------------

# Unlogged tables cannot be read there.
sub is_same_there
{
	my ($name) = @_;

	is(logged(digest($standby, $_)), logged($before{$_}), "$_ is the same on a standby$name") for sort keys %before;
}

TestServer::catch_up($node, $standby);
is_same_there('');

# it counts when the standby has replayed another record
my $asked = TestServer::Session->new($standby);
$asked->send('SELECT tsurugi.write_base() > 0;');
$node->safe_psql('postgres', 'SELECT txid_current()') until $asked->has_answered;
is($asked->wait, 't', 'it writes a base');
$asked->close;
$standby->restart;
is_same_there(', from its base');

# --- a crash --------------------------------------------------------------------------------------

for my $from ('the journal', 'a base')
{
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()') if $from eq 'a base';
	$node->stop('immediate');
	$node->start;
	for my $database (sort keys %before)
	{
		my $after = digest($node, $database);

		is(logged($after), logged($before{$database}), "$database is as it was, from $from");
		unlike($after, qr/^unlogged \S+ [1-9]/m, 'and what is unlogged is empty');
	}
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM tsurugi.durability WHERE last_error <> ''}), 0, 'nothing is damaged');
# PostgreSQL itself says XX000 of a constraint that is another one's; and a script changes an operator class
my $errors = TestServer::internal_errors($node) =~ s/^.* XX001 ERROR:  .*was stored with other keys\n(?:.* XX001 (?:DETAIL|HINT|STATEMENT): .*\n)*//mgr =~ s/^.* XX000 ERROR:  cannot alter constraint .*\n(?:.* XX000 (?:DETAIL|HINT|STATEMENT): .*\n)*//mgr;
is($errors, '', 'no other error was internal');
TestServer::catch_up($node, $standby);
is_same_there(' after a crash of its primary');
$node->stop;
$standby->promote;
is_same_there(' that is promoted');
is(TestServer::internal_errors($standby), '', 'no internal error there');
$standby->stop;
done_testing();

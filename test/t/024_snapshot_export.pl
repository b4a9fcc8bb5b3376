# pg_export_snapshot() and SET TRANSACTION SNAPSHOT carry the snapshot of foreign tables, too (src/txn/snapshot_export.c): at each level
# and kind, with a committer stopped at its commit, after the exporter has gone, in several pg_dump; and with rules taken out.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('export');
my ($exporter, $importer, $writer, $other) = map { TestServer::Session->new($node) } 1 .. 4;
my $both = 'SELECT (SELECT v FROM ordinary WHERE id = 1), (SELECT v FROM inmemory WHERE id = 1);';
my $write = 'UPDATE ordinary SET v = v + 1 WHERE id = 1; UPDATE inmemory SET v = v + 1 WHERE id = 1;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE inmemory (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE mine (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
	CREATE FUNCTION exported() RETURNS text LANGUAGE plpgsql AS 'DECLARE id text := pg_export_snapshot(); BEGIN RETURN id; END';
	INSERT INTO mine VALUES (1, 0);
});
my $importer_pid = $importer->query('SELECT pg_backend_pid();');
my $writer_pid = $writer->query('SELECT pg_backend_pid();');
my $has_failpoints = TestServer::has_failpoints($node);

sub reset_rows
{
	$_->query('ROLLBACK;') for $exporter, $importer, $writer;
	$_->query('DISCARD ALL;') for $exporter, $importer, $writer; # no case is the next try of the one before
	$writer->query('BEGIN; TRUNCATE inmemory, ordinary; INSERT INTO inmemory VALUES (1, 0), (2, 0);
		INSERT INTO ordinary VALUES (1, 0), (2, 0); COMMIT;');
}

# Begins a transaction; what SET LOCAL says of its kind, and its failpoints.
sub begin
{
	my ($session, $level, $kind, $bug) = @_;

	return $session->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.transaction_type = '" . ($kind // 'default') .
		"'; SET LOCAL tsurugi_fdw.write_preserve = '" . (($kind // '') eq 'long' ? 'mine' : '') . "';" .
		($has_failpoints ? "SET LOCAL tsurugi_fdw.failpoints = '" . ($bug // '') . "';" : ''));
}

sub import_snapshot
{
	my ($id, $level, $kind, $bug) = @_;

	$importer->query('ROLLBACK;');
	begin($importer, $level, $kind, $bug);
	return $importer->query("SET TRANSACTION SNAPSHOT '$id';");
}

# each level, and commits of one kind and of both after the export
for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	my $importing = $level eq 'READ COMMITTED' ? 'REPEATABLE READ' : $level;

	for my $bug ($has_failpoints ? ('', 'skip_import') : (''))
	{
		reset_rows();
		begin($exporter, $level);
		my $id = $exporter->query('SELECT pg_export_snapshot();');
		like($id, qr/^[0-9A-F]+-[0-9A-F]+-1$/, "$level: a snapshot is exported");
		$writer->query('UPDATE inmemory SET v = v + 10;');
		$writer->query('UPDATE ordinary SET v = v + 10;');
		$writer->query("BEGIN; $write COMMIT;");
		$writer->query('INSERT INTO inmemory VALUES (3, 3); DELETE FROM inmemory WHERE id = 2;');
		is(import_snapshot($id, $importing, 'default', $bug), '', 'it is imported');
		if ($bug ne '')
		{
			isnt($importer->query($both), '0|0', 'without ours with it foreign tables are of another moment');
			next;
		}
		is($importer->query($both), '0|0', 'none of what came later is seen');
		is($exporter->query($both), $level eq 'READ COMMITTED' ? '11|11' : '0|0', 'the exporter sees what it saw');
		is($exporter->query('COMMIT;'), '', 'and goes');
		$writer->query('UPDATE inmemory SET v = v + 1;') for 1 .. 3;
		is($importer->query('SELECT string_agg(id || \' \' || v, \',\' ORDER BY id) FROM inmemory;'), '1 0,2 0', 'what was there stays there');
		is($importer->query('UPDATE inmemory SET v = 5 WHERE id = 1;'), 'ERROR 40001', 'and may not be written over');
		is(import_snapshot($id, $importing), 'ERROR 22023', 'the exporter has gone');
	}
}

# READ COMMITTED: each export has its own; also one from within a function
reset_rows();
begin($exporter, 'READ COMMITTED');
my @ids = ($exporter->query('SELECT pg_export_snapshot();'));
for my $statement ('SELECT exported();', 'SELECT pg_export_snapshot() FROM inmemory LIMIT 1;', 'DECLARE c CURSOR FOR SELECT pg_export_snapshot(); FETCH c;')
{
	$writer->query("BEGIN; $write COMMIT;");
	push @ids, $exporter->query($statement);
}
for my $i (0 .. 3)
{
	is(import_snapshot($ids[$i], 'REPEATABLE READ'), '', "export $i");
	is($importer->query($both), "$i|$i", 'is of its moment');
}
is($importer->query('SELECT pg_export_snapshot();') =~ /-1$/ ? 1 : 0, 1, 'an imported one can be exported');

# one that excludes a commit: the writer is PREPARED when it is taken; long afterwards
SKIP:
{
	skip 'built without failpoints', 1 if !$has_failpoints;

	for my $level ('READ COMMITTED', 'REPEATABLE READ')
	{
		for my $bug ('', 'export_no_exclusions')
		{
			reset_rows();
			$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:pre_commit'; $write");
			$writer->send('COMMIT;');
			ok(TestServer::has_stopped($writer_pid), "$level: a committer of both has stopped");
			begin($exporter, $level, 'default', $bug);
			my $id = $exporter->query('SELECT pg_export_snapshot();');
			kill 'CONT', $writer_pid;
			$writer->wait;
			$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'mixed_forget'; $write COMMIT;") for 1 .. 2;
			import_snapshot($id, 'REPEATABLE READ');
			is($importer->query($both), $bug eq '' ? '0|0' : '0|1', $bug eq '' ? 'neither half is seen' : 'without exclusions one is');
		}
	}

	# the exporter ends between PostgreSQL's import and ours
	reset_rows();
	begin($exporter, 'REPEATABLE READ');
	my $id = $exporter->query('SELECT pg_export_snapshot();');
	begin($importer, 'REPEATABLE READ', 'default', 'stop:import');
	$importer->send("SET TRANSACTION SNAPSHOT '$id';");
	ok(TestServer::has_stopped($importer_pid), 'an importer has stopped');
	$exporter->query('COMMIT;');
	kill 'CONT', $importer_pid;
	is($importer->wait, 'ERROR 55000', 'it notices that the exporter has gone');

	# SERIALIZABLE does not extend a snapshot that others read at
	for my $bug ('', 'skip_fix')
	{
		reset_rows();
		begin($exporter, 'SERIALIZABLE', 'default', $bug);
		$exporter->query('SELECT pg_export_snapshot(); SELECT v FROM inmemory WHERE id = 2;');
		$writer->query('UPDATE inmemory SET v = v + 1 WHERE id = 1;');
		is($exporter->query('UPDATE inmemory SET v = v + 1 WHERE id = 1;'), $bug eq '' ? 'ERROR 40001' : '',
			$bug eq '' ? 'an exported snapshot is not extended' : 'else it would be');
	}
}

# SERIALIZABLE: what importers read is validated
reset_rows();
begin($exporter, 'SERIALIZABLE');
my $id = $exporter->query('SELECT pg_export_snapshot();');
import_snapshot($id, 'SERIALIZABLE');
$exporter->query('SELECT v FROM inmemory WHERE id = 1; UPDATE inmemory SET v = 1 WHERE id = 2;');
$importer->query('SELECT v FROM inmemory WHERE id = 2; UPDATE inmemory SET v = 1 WHERE id = 1;');
is($exporter->query('COMMIT;'), '', 'of a write skew one commits');
is($importer->query('COMMIT;'), 'ERROR 40001', 'and the other does not');

# DEFERRABLE exports its safe snapshot
begin($exporter, 'SERIALIZABLE READ ONLY DEFERRABLE');
$id = $exporter->query('SELECT pg_export_snapshot();');
is(import_snapshot($id, 'SERIALIZABLE READ ONLY', 'read_only'), '', 'READ ONLY imports a safe snapshot');
is($importer->query('SELECT v FROM inmemory WHERE id = 2;'), 1, 'and reads at it');
is($importer->query('COMMIT;'), '', 'and ends');

# Tsurugi's kinds
for my $case (
	[ 'short', 'short', 'REPEATABLE READ', '' ], [ 'default', 'short', 'SERIALIZABLE', '' ],
	[ 'default', 'short', 'REPEATABLE READ', 'ERROR 0A000' ], [ 'read_only', 'read_only', 'REPEATABLE READ', '' ],
	[ 'read_only', 'default', 'REPEATABLE READ', '' ], [ 'default', 'read_only', 'REPEATABLE READ', 'ERROR 0A000' ],
	[ 'long', 'default', 'REPEATABLE READ', '' ], [ 'long', 'default', 'SERIALIZABLE', 'ERROR 0A000' ],
	[ 'default', 'long', 'REPEATABLE READ', 'ERROR 0A000' ])
{
	my ($kind, $importing, $level, $error) = @$case;

	reset_rows();
	begin($exporter, $level, $kind);
	$id = $exporter->query('SELECT pg_export_snapshot();');
	$writer->query("BEGIN; $write COMMIT;");
	is(import_snapshot($id, $level, $importing), '', "$kind, $level, is imported by $importing");
	is($importer->query($both), $error eq '' ? '0|0' : $error, $error eq '' ? 'which sees the same' : 'which cannot use it');
	is($importer->query('COMMIT;'), '', 'and ends');
}
$exporter->query('ROLLBACK;');

# a session that works in another's transaction has that one's snapshot
my $handle = $other->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT tsurugi.export_transaction('mine');");
begin($exporter, 'REPEATABLE READ');
$id = $exporter->query('SELECT pg_export_snapshot();');
$importer->query("SELECT tsurugi.attach_transaction('$handle');");
is(import_snapshot($id, 'REPEATABLE READ'), 'ERROR 0A000', 'a session that works in a shared transaction imports none');
$importer->query('ROLLBACK; SELECT tsurugi.detach_transaction();');
is($other->query('SELECT pg_export_snapshot();'), 'ERROR 0A000', 'nor exports one');
$other->query('ROLLBACK;');
$exporter->query('ROLLBACK;');

# several pg_dump at one snapshot (one with --jobs does not do foreign data): sums over tables of both kinds, as every commit leaves them
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE a (v bigint) SERVER tsurugi;
	CREATE FOREIGN TABLE b (v bigint) SERVER tsurugi;
	CREATE TABLE c (v bigint);
	INSERT INTO a SELECT 0 FROM generate_series(1, 1000);
	INSERT INTO b VALUES (0);
	INSERT INTO c VALUES (0);
	CREATE PROCEDURE transfer() LANGUAGE plpgsql AS $$
		BEGIN
			LOOP
				INSERT INTO a VALUES (1), (-3);
				UPDATE b SET v = v + 1;
				UPDATE c SET v = v + 1;
				COMMIT;
				EXIT WHEN EXISTS (SELECT FROM ordinary WHERE id = 99);
			END LOOP;
		END $$;
});
$writer->send('CALL transfer();');
$node->poll_query_until('postgres', 'SELECT count(*) > 1020 FROM a');
begin($exporter, 'REPEATABLE READ');
$id = $exporter->query('SELECT pg_export_snapshot();');
my %sum;
for my $table ('a', 'b', 'c')
{
	my ($data) = run_command([ 'pg_dump', '-a', "--snapshot=$id", '-t', $table, '--include-foreign-data=tsurugi', $node->connstr('postgres') ]);

	$sum{$table} += $_ for grep { /^-?\d+$/ } split /\n/, $data;
}
is($sum{b}, $sum{c}, 'see foreign and ordinary tables as of one moment');
is($sum{a}, -2 * $sum{b}, 'and all foreign ones');
cmp_ok($sum{c}, '>', 0, 'in the midst of commits');
$node->safe_psql('postgres', 'INSERT INTO ordinary VALUES (99, 0)');
$writer->wait;

# nothing is left
$_->query('ROLLBACK;') for $exporter, $importer, $writer, $other;
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.sessions WHERE oldest_snapshot IS NOT NULL AND pid <> pg_backend_pid()'), 0,
	'no snapshot is left');
unlike(slurp_file($node->logfile), qr/leak|TRAP/, 'nothing leaks');

$_->close for $exporter, $importer, $writer, $other;
$node->stop;
done_testing();

# A commit that changes foreign and ordinary tables is seen as a whole by every
# statement at READ COMMITTED: with the committer, or the reader, stopped between PostgreSQL's
# moment and ours, and under load.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('mixed', 'max_prepared_transactions' => 2);
my $writer = TestServer::Session->new($node);
my $reader = TestServer::Session->new($node);
my $both = 'SELECT o.v, f.v FROM ordinary o JOIN inmemory f USING (id) WHERE id = 1;';
my $write = 'UPDATE ordinary SET v = v + 1 WHERE id = 1; UPDATE inmemory SET v = v + 1 WHERE id = 1;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE inmemory (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
	INSERT INTO inmemory SELECT i, 0 FROM generate_series(1, 4) i;
	INSERT INTO ordinary SELECT i, 0 FROM generate_series(1, 4) i;
});
my $pid = $reader->query('SELECT pg_backend_pid();');
my $writer_pid = $writer->query('SELECT pg_backend_pid();');

# Waits until a process has stopped at its failpoint.
sub has_stopped
{
	my ($pid) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if slurp_file("/proc/$pid/stat") =~ /\) T /;
		select(undef, undef, undef, 0.01);
	}
	return 0;
}

# The reader is where the condition on its pg_stat_activity says.
sub reader_is
{
	my ($condition) = @_;

	return $node->poll_query_until('postgres', "SELECT $condition FROM pg_stat_activity WHERE pid = $pid");
}

SKIP:
{
	skip 'built without failpoints', 16
		if $node->safe_psql('postgres', "SELECT current_setting('tsurugi_fdw.failpoints', true) IS NULL") eq 't';

	# the committer stops before PostgreSQL's moment, then after it
	for my $place (qw(pre_commit commit))
	{
		my ($before) = split(/\|/, $reader->query($both));

		$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:$place'; $write");
		$writer->send('COMMIT;');
		ok(has_stopped($writer_pid), "a committer has stopped: $place");
		is($node->safe_psql('postgres', 'SELECT v FROM ordinary WHERE id = 1'), $before + ($place eq 'commit' ? 1 : 0),
			'where it stands');
		$reader->send($both);
		ok(reader_is(q{wait_event_type = 'Extension'}), 'who reads both waits');
		kill 'CONT', $writer_pid;
		my ($o, $f) = split(/\|/, $reader->wait);
		is($o, $f, 'and sees both');
		$writer->wait;
	}

	# the reader stops between its snapshot and its moment; then with the rule left out
	for my $bug ('', ',skip_match')
	{
		$reader->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:executor_start$bug';");
		$reader->send($both);
		ok(has_stopped($pid), 'a reader has stopped');
		$writer->query("BEGIN; $write COMMIT;");
		kill 'CONT', $pid;
		my ($o, $f) = split(/\|/, $reader->wait);
		is($o, $bug eq '' ? $f : $f - 1, $bug eq '' ? 'a snapshot that is too old gives way' : 'or shows the foreign half only');
		$reader->query('COMMIT;');
	}

	# interrupts while it waits; the gate is open again
	$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:commit'; $write");
	$writer->send('COMMIT;');
	ok(has_stopped($writer_pid), 'a committer has stopped');
	$reader->query("SET statement_timeout = '300ms';");
	is($reader->query($both), 'ERROR 57014', 'the wait for it can be interrupted');
	$reader->query("RESET statement_timeout; SET tsurugi_fdw.failpoints = 'skip_match,mixed_commit';");
	my ($o, $f) = split(/\|/, $reader->query($both));
	is($o, $f + 1, 'without both rules the ordinary half is seen');
	$reader->query('RESET tsurugi_fdw.failpoints;');
	kill 'CONT', $writer_pid;
	$writer->wait;
	is($writer->query("BEGIN; $write COMMIT;"), '', 'and nobody is hindered afterwards');
}

# under load: several who commit, some of them slowly, one who looks
$node->safe_psql('postgres', q{
	CREATE PROCEDURE change(id int, times int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. times LOOP
			UPDATE ordinary o SET v = v + 1 WHERE o.id = change.id;
			UPDATE inmemory f SET v = v + 1 WHERE f.id = change.id;
			IF i % 7 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
		END LOOP;
	END $$;
	CREATE PROCEDURE look(times int) LANGUAGE plpgsql AS $$
	DECLARE wrong int := 0; n int; row record;
	BEGIN
		FOR i IN 1 .. times LOOP
			SELECT count(*) INTO n FROM ordinary o JOIN inmemory f USING (id) WHERE o.v <> f.v;
			wrong := wrong + n;
			COMMIT;
		END LOOP;
		ASSERT wrong = 0;
	END $$;
	UPDATE ordinary SET v = 0;
	UPDATE inmemory SET v = 0;
});
my @writers = map { TestServer::Session->new($node) } 1 .. 3;
$writers[$_ - 1]->send("CALL change($_, 1500);") for 1 .. 3;
$reader->send('CALL look(1500);');
is($reader->wait, '', 'no half of a commit is seen');
is($_->wait, '', 'a writer has ended') for @writers;
is($node->safe_psql('postgres', 'SELECT count(*) FROM ordinary JOIN inmemory USING (id, v)'), 4, 'all halves are there');

# PREPARE TRANSACTION: refused after a change of foreign tables, possible after reading them
$writer->query('BEGIN; UPDATE inmemory SET v = 0 WHERE id = 1;');
is($writer->query("PREPARE TRANSACTION 'a';"), 'ERROR 0A000', 'a change is not prepared');
$writer->query('BEGIN; SELECT * FROM inmemory; UPDATE ordinary SET v = -1 WHERE id = 1;');
is($writer->query("PREPARE TRANSACTION 'b';"), '', 'what only reads is');
$writer->query("COMMIT PREPARED 'b';");
is($writer->query('SELECT v FROM ordinary WHERE id = 1;'), -1, 'and commits');

$_->close for $writer, $reader, @writers;
$node->stop;
done_testing();

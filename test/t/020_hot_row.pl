# A hot row changed by statements that go through the executor (triggers, generated columns, joins): clients whose
# transactions are single statements wait for each other and go on, at every level; and without early locks they do not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('hot_row', 'tsurugi_fdw.scan_pool_rows' => -1);
my $holder = TestServer::Session->new($node);
my $waiter = TestServer::Session->new($node);
my $pid = $waiter->query('SELECT pg_backend_pid();');
my @levels = ('read committed', 'repeatable read', 'serializable');

$node->safe_psql('postgres', q{
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.changes := OLD.changes + 1; RETURN NEW; END $$;
	CREATE FUNCTION let() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
	CREATE FOREIGN TABLE triggered (id int PRIMARY KEY, v int, changes int DEFAULT 0) SERVER tsurugi;
	CREATE TRIGGER note BEFORE UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER let BEFORE DELETE ON triggered FOR EACH ROW EXECUTE FUNCTION let();
	CREATE FOREIGN TABLE generated (id int PRIMARY KEY, v int, twice int GENERATED ALWAYS AS (v * 2) STORED) SERVER tsurugi;
	CREATE FOREIGN TABLE plain (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE delta (id int PRIMARY KEY, d int) SERVER tsurugi;
	CREATE TABLE ordinary_delta (id int PRIMARY KEY, d int);
	INSERT INTO delta VALUES (1, 1);
	INSERT INTO ordinary_delta VALUES (1, 1);
});

sub reset_rows
{
	$node->safe_psql('postgres', 'TRUNCATE triggered, generated, plain;' . join('', map {
		"INSERT INTO $_ (id, v) VALUES (1, 0), (2, 0);" } qw(triggered generated plain)));
}

my %statements = (
	'a trigger, by key' => 'UPDATE triggered SET v = v + 1 WHERE id = 1',
	'a trigger, a range' => 'UPDATE triggered SET v = v + 1 WHERE id < 2',
	'a trigger, a scan' => 'UPDATE triggered SET v = v + 1 WHERE changes >= 0 AND id % 2 = 1',
	'a generated column' => 'UPDATE generated SET v = v + 1 WHERE id = 1',
	'UPDATE ... FROM, ordinary' => 'UPDATE plain p SET v = v + d FROM ordinary_delta o WHERE p.id = 1 AND o.id = 1',
	'INSERT ON CONFLICT' => 'INSERT INTO triggered VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET v = triggered.v + 1',
	'a sub-select' => 'UPDATE triggered SET v = v + (SELECT d FROM ordinary_delta WHERE id = 1) WHERE id = 1',
);

sub waits
{
	return $node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid");
}

# One statement waits for a row, which then has changed.
sub collide
{
	my ($level, $statement, $bug) = @_;

	reset_rows();
	$waiter->query('DISCARD ALL;'); # it is not the next try of the one before
	$holder->query("BEGIN; $statement;");
	$waiter->query("SET default_transaction_isolation = '$level'; SET tsurugi_fdw.failpoints = '$bug';");
	$waiter->send("$statement;");
	return 'does not wait' unless waits();
	$holder->query('COMMIT;');
	my $answer = $waiter->wait;
	$waiter->query("RESET default_transaction_isolation; SET tsurugi_fdw.failpoints = '';");
	return $answer ne '' ? $answer : $node->safe_psql('postgres',
		'SELECT max(v) FROM (SELECT v FROM triggered UNION ALL SELECT v FROM generated UNION ALL SELECT v FROM plain) t');
}

SKIP:
{
	skip 'built without failpoints', 1
		if !TestServer::has_failpoints($node);

	for my $level (@levels)
	{
		for my $name (sort keys %statements)
		{
			is(collide($level, $statements{$name}, ''), 2, "$level, $name: both changes are there");
		}
	}
	for my $level (@levels[1, 2])
	{
		for my $name ('a trigger, by key', 'a trigger, a scan', 'a generated column', 'UPDATE ... FROM, ordinary')
		{
			is(collide($level, $statements{$name}, 'early_locks'), 'ERROR 40001', "$level, $name: not without early locks");
		}
	}

	# SERIALIZABLE goes on though the statement has read another foreign table, if that is as it was
	my $from = 'UPDATE plain p SET v = v + d FROM delta o WHERE p.id = 1 AND o.id = 1';
	is(collide('serializable', $from, ''), 2, 'UPDATE ... FROM, foreign: the snapshot is extended');

	# a DELETE with a trigger: the row has changed, or is gone
	for my $level (@levels)
	{
		reset_rows();
		$holder->query('BEGIN; UPDATE triggered SET v = 5 WHERE id = 1;');
		$waiter->query("SET default_transaction_isolation = '$level';");
		$waiter->send('DELETE FROM triggered WHERE id = 1 AND v = 0 RETURNING id;');
		waits();
		$holder->query('COMMIT;');
		is($waiter->wait, '', "$level: a DELETE looks at the row as it is now");
		$holder->query('BEGIN; DELETE FROM triggered WHERE id = 1;');
		$waiter->send('DELETE FROM triggered WHERE id = 1 RETURNING id;');
		waits();
		$holder->query('COMMIT;');
		is($waiter->wait, '', 'and finds that it is gone');
		$waiter->query('RESET default_transaction_isolation;');
	}

	# what has been told stays so: a transaction that has read the row before
	for my $level (@levels[1, 2])
	{
		reset_rows();
		$waiter->query("BEGIN ISOLATION LEVEL $level; SELECT v FROM triggered WHERE id = 1;");
		$holder->query('UPDATE triggered SET v = 7 WHERE id = 1;');
		is($waiter->query('UPDATE triggered SET v = v + 1 WHERE id = 1;'), 'ERROR 40001', "$level: no update is lost");
		$waiter->query('ROLLBACK;');
	}

	# SHORT does not wait, but goes on with what has been committed
	reset_rows();
	$waiter->query("SET tsurugi_fdw.transaction_type = 'short'; BEGIN; SELECT v FROM plain WHERE id = 2;");
	$holder->query('UPDATE triggered SET v = 7 WHERE id = 1;');
	is($waiter->query('UPDATE triggered SET v = v + 1 WHERE id = 1 RETURNING v;'), 8, 'short: the snapshot is extended');
	$waiter->query('COMMIT;');
	$holder->query('BEGIN; UPDATE triggered SET v = 7 WHERE id = 1;');
	is($waiter->query('UPDATE triggered SET v = v + 1 WHERE id = 1 RETURNING v;'), 'ERROR 40001', 'and fails at a row that is held');
	$holder->query('COMMIT;');
	$waiter->query('RESET tsurugi_fdw.transaction_type;');
}

# four clients at each level
for my $level (@levels)
{
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . $level =~ s/ /\\ /r;
	reset_rows();
	my @scripts;
	for my $name (sort keys %statements)
	{
		my $file = $node->basedir . '/' . ($name =~ s/\W+/_/gr) . '.sql';
		open(my $out, '>', $file) or die;
		print $out "$statements{$name};\n";
		close($out);
		push @scripts, '-f', $file;
	}
	$node->command_ok([ 'pgbench', '--random-seed=1', '-n', '-c', '4', '-t', '150', @scripts, 'postgres' ], "$level: nobody fails");
	is($node->safe_psql('postgres', 'SELECT sum(v) FROM (SELECT v FROM triggered UNION ALL SELECT v FROM generated
		UNION ALL SELECT v FROM plain) t'), 600, 'and no change is lost');
}

$_->close for $holder, $waiter;
$node->stop;
done_testing();

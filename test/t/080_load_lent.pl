# tsurugi.load() in the caller's transaction, and COPY of Parquet: tasks of the pool store the rows in it, or
# the session does, where a row has to wait or does not fit.  The rows are there in the end, or none of them is.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load_lent', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my $rows = 20000;

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub psql_error { return TestServer::psql_error($node, @_) }

sub configure { TestServer::configure($node, failpoints => $_[0]) }

sub is_empty
{
	my ($name) = @_;

	is(ask('SELECT count(*) FROM t'), '0', $name);
}

ask(qq{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text NOT NULL, w numeric(8,2)) SERVER tsurugi;
	CREATE UNIQUE INDEX t_v ON t (v);
	CREATE INDEX ON t (w);
	CREATE TABLE source AS SELECT i AS id, 'value ' || i AS v, (i / 7.0)::numeric(8,2) AS w FROM generate_series(1, $rows) i;
	COPY (SELECT * FROM source WHERE id <= $rows / 2) TO '$own/in_1.csv' (FORMAT csv);
	COPY (SELECT * FROM source WHERE id > $rows / 2) TO '$own/in_2.csv' (FORMAT csv);
	COPY source TO '$own/in.parquet' (FORMAT parquet, ROW_GROUP_ROWS 1000)});
my $load = "tsurugi.load('t', '{$own/in_*.csv}')";
my $differs = '(SELECT count(*) FROM ((TABLE t EXCEPT TABLE source) UNION ALL (TABLE source EXCEPT TABLE t)) d)';

# --- one transaction, with what it does before and afterwards ---

for my $files ("$own/in_*.csv", "$own/in.parquet")
{
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	{
		is(ask(qq{
			BEGIN ISOLATION LEVEL $level;
			INSERT INTO t VALUES (-1, 'own', 0);
			SAVEPOINT s;
			SELECT rows, transactions, way FROM tsurugi.load('t', '{$files}');
			SELECT count(*), count(*) FILTER (WHERE v = 'own') FROM t;
			ROLLBACK TO s;
			SELECT count(*) FROM t;
			SELECT rows, way FROM tsurugi.load('t', '{$files}');
			UPDATE t SET v = v || '.' WHERE id % 2 = 0; DELETE FROM t WHERE id < 0 OR id % 1000 = 3;
			COMMIT;
			SELECT count(*), count(*) FILTER (WHERE v LIKE '%.'), sum(id) FILTER (WHERE w = 100) FROM t;
			TRUNCATE t}),
			join("\n", "$rows|1|pool", $rows + 1 . '|1', 1, "$rows|pool", $rows - $rows / 1000 . '|' . $rows / 2 . '|700'),
			"$files at $level: its own rows, and those of the load, to a savepoint, and to the end");
	}
}
is(ask("DO \$\$ BEGIN PERFORM $load; IF (SELECT count(*) FROM t) <> $rows THEN RAISE 'not seen'; END IF; END \$\$; SELECT $differs"), '0', 'the next command of a function sees them');
$node->stop('immediate');
$node->start;
is(ask("SELECT $differs"), '0', 'they are there after a crash, which came after the commit');
my $session = TestServer::Session->new($node);
ask('TRUNCATE t');
is($session->query("BEGIN; SELECT rows, way FROM $load"), "$rows|pool", 'a load');
$node->stop('immediate');
$node->start;
eval { $session->close };
is_empty('none of them is after one that came before it');

# --- COPY ---

ask("COPY source TO '$own/in.ndjson' (FORMAT ndjson)");
for my $format ('ndjson', 'parquet')
{
	my $worker = TestServer::worker_pid($node);
	my $copier = TestServer::Session->new($node);

	configure('stop:load_stored');
	$copier->send("COPY t FROM '$own/in.$format' (FORMAT $format);");
	ok(TestServer::has_stopped($worker), "COPY of a file in $format is stored by tasks");
	TestServer::go_on_to_end($node, $worker, '', $copier);
	is($copier->wait, '', 'and ends');
	$copier->close;
	is(ask("SELECT $differs; TRUNCATE t"), '0', 'with all rows');
}
like(psql_error("BEGIN; INSERT INTO t VALUES (7, '', 0); COPY t FROM '$own/in.parquet' (FORMAT parquet)"),
	qr/23505: duplicate key value violates unique constraint "t_pkey"\nDETAIL:  Key \(id\)=\(7\) already exists\.\nCONTEXT:  COPY t, line 7/, 'its errors');
is_empty('leave nothing');
ask('TRUNCATE t');
my ($code, $out) = $node->psql('postgres', "\\set QUIET off\nCOPY t FROM '$own/in.parquet' (FORMAT parquet)");
is($out, "COPY $rows", 'its tag');
ask(qq{
	TRUNCATE t;
	COPY (SELECT id, v FROM source WHERE id <= 10) TO '$own/some_1.parquet' (FORMAT parquet);
	COPY (SELECT * FROM source WHERE id > 10) TO '$own/some_2.parquet' (FORMAT parquet);
	COPY (SELECT id, repeat(md5(id::text), 40) AS v, w FROM source) TO '$own/wide.parquet' (FORMAT parquet, ROW_GROUP_ROWS 10000, CODEC none)});
like(psql_error("COPY t FROM '$own/some_*.parquet' (FORMAT parquet)"), qr/has 3 columns, expected 2/, 'files of a COPY have the same columns');
is_empty('and no row of the first one stays');
is(ask("SET tsurugi_fdw.batch_memory = '5MB'; SELECT rows, way FROM tsurugi.load('t', '{$own/wide.parquet}'); TRUNCATE t"), "$rows|session",
	'what is too much for a task, and not for the session, is read by that');

# --- ways ---

ask(qq{CREATE DOMAIN any_text AS text CHECK (value <> 'x'); CREATE FOREIGN TABLE of_domain (id int, v any_text, w numeric) SERVER tsurugi;
	CREATE TYPE with_domain AS (a int, b any_text[]); CREATE FOREIGN TABLE of_parts (id int, v with_domain, w numeric) SERVER tsurugi});
for my $case (["SELECT way, reason FROM tsurugi.load('t', '{$own/in_*.csv}', on_error => 'skip', dry_run => true)", 'session|rows are left out of the caller\'s transaction by sessions'],
	["SELECT way, reason FROM tsurugi.load('of_domain', '{$own/in_1.csv}', dry_run => true)", 'session|values of column "v" may call functions of users'],
	["SELECT way, reason FROM tsurugi.load('of_parts', '{$own/in_1.csv}', dry_run => true)", 'session|values of column "v" may call functions of users'],
	["BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 't'; SELECT way, reason FROM tsurugi.load('t', '{$own/in_*.csv}')",
		'session|the caller\'s transaction is of another kind than ordinary'],
	["SELECT way, rows FROM tsurugi.load('source', '{$own/in_*.csv}', dry_run => true)", 'session|'])
{
	is(ask($case->[0]), $case->[1], "by a session: $case->[1]");
}
is_empty('a LONG that has ended without COMMIT leaves no row');

# --- what does not fit is told as COPY tells it ---

ask(qq{
	COPY (SELECT * FROM source UNION ALL SELECT 7, 'seven', 1) TO '$own/twice.csv' (FORMAT csv);
	COPY (SELECT id, CASE id WHEN 19000 THEN 'value 5' ELSE v END, w FROM source) TO '$own/twice_v.csv' (FORMAT csv);
	COPY (SELECT id, CASE WHEN id <> 15000 THEN v END, w FROM source) TO '$own/null.csv' (FORMAT csv);
	COPY (SELECT id, v, w * CASE id WHEN 16000 THEN 1e6 ELSE 1 END FROM source) TO '$own/large.csv' (FORMAT csv)});
for my $case (['twice', '23505: duplicate key value violates unique constraint "t_pkey"\nDETAIL:  Key (id)=(7) already exists.\nCONTEXT:  COPY t, line ' . ($rows + 1)],
	['twice_v', '23505: duplicate key value violates unique constraint "t_v"\nDETAIL:  Key (v)=(value 5) already exists.\nCONTEXT:  COPY t, line 19000'],
	['null', '23502: null value in column "v" of relation "t" violates not-null constraint\nDETAIL:  Failing row contains (15000, null, 2142.86).'],
	['large', '22003: numeric field overflow'])
{
	my $expected = quotemeta($case->[1]) =~ s/\\\\n/\\n/gr;

	like(psql_error("SELECT tsurugi.load('t', '{$own/$case->[0].csv}')"), qr/$expected/, "$case->[0]: the error is that of COPY");
	is_empty('and no row stays');
	is(ask("BEGIN; INSERT INTO t VALUES (0, '', 0); SAVEPOINT s; DO \$\$ BEGIN PERFORM tsurugi.load('t', '{$own/$case->[0].csv}'); EXCEPTION WHEN others THEN NULL; END \$\$; COMMIT; SELECT count(*) FROM t; TRUNCATE t"),
		'1', 'nor if the error is caught, but what was there before does');
}
like(psql_error("SELECT tsurugi.load('t', '{$own/in_1.csv,$own/none.csv}')"), qr/58P01/, 'a file that is not there');
is_empty('no row of the other one stays');

# --- strings that are too long to be in a key as a whole: of records that tasks convert, and of others ---

sub load_long
{
	my ($id, $bytes, $more) = @_;

	unlink "$own/long.csv";
	append_to_file("$own/long.csv", "$id," . 'x' x $bytes . ",1\n");
	ask("COPY (SELECT 5 AS id, repeat('x', $bytes) AS v, 1::numeric(8,2) AS w) TO '$own/long.parquet' (FORMAT parquet)");
	return psql_error("SELECT tsurugi.load('t', '{$own/long." . ($id eq '' ? 'parquet' : 'csv') . "}'$more)") =~ /ERROR:  (\w+)/ ? $1 : ask('SELECT sum(length(v)) FROM t; TRUNCATE t');
}
my ($fits, $long) = (1000, 1500);
while ($long - $fits > 1)
{
	my $middle = int(($fits + $long) / 2);

	(load_long('', $middle, ', transactional => false') eq '54000' ? $long : $fits) = $middle;
}
for my $id ('', '5', '+5')
{
	is(load_long($id, $fits, ', transactional => false'), $fits, "'$id': a string that fits");
	is(load_long($id, $long, ', transactional => false'), '54000', 'one that does not');
	is(load_long($id, $long, ''), $long, 'the session stores it');
}

# Of a load that the pool gives up, COPY does not ask the pool again: it would be a batch of its own,
# with a number.
my ($before, $after) = (0, 0);
for (1 .. 100)
{
	my $number = "SELECT tsurugi.dump('SELECT job FROM tsurugi.batches', '$own', 'csv', 'number', '{\"overwrite\": true}')";

	ask($number);
	$before = slurp_file("$own/number_00001.csv");
	is(ask("SELECT rows, way FROM tsurugi.load('t', '{$own/long.parquet}'); TRUNCATE t"), '1|session', 'the pool gives a load up') if $_ == 1;
	ask("SELECT rows FROM tsurugi.load('t', '{$own/long.parquet}'); TRUNCATE t") if $_ > 1;
	ask($number);
	$after = slurp_file("$own/number_00001.csv");
	last if $after == $before + 2; # no job of another process has come between
}
is($after - $before, 2, 'and is not asked again');

# --- other transactions ---

my $holder = TestServer::Session->new($node);
$session = TestServer::Session->new($node);
for my $case (['ROLLBACK', "$rows|session|a row had to wait for another transaction, or the pool could not take the load", $rows], ['COMMIT', 'ERROR 23505', 1])
{
	$holder->query("BEGIN; INSERT INTO t VALUES (1234, 'other', 0)");
	$session->send("SELECT rows, way, reason FROM $load;");
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), 'the session waits for a transaction that has a key');
	$holder->query($case->[0]);
	is($session->wait, $case->[1], "$case->[0] of that one");
	is(ask('SELECT count(*) FROM t'), $case->[2], 'all rows are there, or none');
	ask('TRUNCATE t');
}
$holder->query('BEGIN; LOCK TABLE t IN SHARE MODE');
is($session->query("SET lock_timeout = '50ms'; SELECT $load"), 'ERROR 55P03', 'a lock on the table');
$holder->query('ROLLBACK');
is($session->query("RESET lock_timeout; SELECT rows, way FROM $load"), "$rows|pool", 'the next one');
is($session->query("BEGIN; DELETE FROM t; SELECT rows, way FROM $load"), "$rows|pool", 'rows whose keys the transaction has deleted');
is($session->query("COMMIT; SELECT $differs"), '0', 'are there again');
is($session->query("BEGIN; TRUNCATE t; SELECT rows, way FROM $load"), "$rows|pool", 'and those of a table that it has emptied');
is($session->query("ROLLBACK; SELECT $differs"), '0', 'which is as it was after ROLLBACK');
ask('TRUNCATE t');

# --- a task is stopped in the middle, and the session is interrupted ---

my $pid = $session->query('SELECT pg_backend_pid()');
for my $what ('cancel', 'terminate', 'rollback to')
{
	my $worker = TestServer::worker_pid($node);

	$session->query($what eq 'rollback to' ? "BEGIN; INSERT INTO t VALUES (-5, '', 0); SAVEPOINT s" : 'BEGIN');
	configure('stop:load_stored');
	$session->send("SELECT $load;");
	TestServer::has_stopped($worker) or die 'no task has stored';
	ask('SELECT pg_' . ($what eq 'terminate' ? 'terminate' : 'cancel') . "_backend($pid)");
	TestServer::go_on_to_end($node, $worker, '', $session);
	is($session->wait, $what eq 'terminate' ? 'ERROR 57P01' : 'ERROR 57014', "$what: the load ends");
	$session->query('ROLLBACK TO s; COMMIT') if $what eq 'rollback to';
	$session->query('ROLLBACK') if $what eq 'cancel';
	if ($what eq 'terminate')
	{
		$session->close;
		$session = TestServer::Session->new($node);
		$pid = $session->query('SELECT pg_backend_pid()');
	}
	is(ask('SELECT count(*), min(id) FROM t'), $what eq 'rollback to' ? '1|-5' : '0|', 'and none of its rows is left');
}
is($session->query("DELETE FROM t; SELECT rows, way FROM $load"), "$rows|pool", 'the next one stores them');
is(ask("SELECT $differs"), '0', 'all');
is(ask("SELECT count(*) FROM tsurugi.transactions"), '0', 'no transaction is open');
$_->close for $holder, $session;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

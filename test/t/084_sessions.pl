# Loads and batches that are not transactional, by sessions of their own: what they store and
# commit, as whom, and how they end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('sessions', 'tsurugi_fdw.workers' => 2, deadlock_timeout => '10ms', max_worker_processes => 7);
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask { return $node->safe_psql('postgres', $_[0]) }

# Of the view, without the test's own.
my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'tsurugi_fdw batch'};

sub load { return "tsurugi.load('$_[0]', '{$_[1]}', transactional => false" . (defined $_[2] ? ", $_[2]" : '') . ')' }
sub batch { return "tsurugi.batch(\$s\$$_[0]\$s\$, '{$_[1]}', transactional => false" . (defined $_[2] ? ", $_[2]" : '') . ')' }

ask(qq{
	CREATE TABLE source AS SELECT i AS id, 'text ' || i AS t FROM generate_series(1, 2500) i;
	COPY source TO '$own/in.csv' (FORMAT csv);
	COPY source TO '$own/in.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	COPY source TO '$own/in.ndjson' (FORMAT ndjson);
	COPY (SELECT id + 100000, t FROM source) TO '$own/more.csv' (FORMAT csv);
	CREATE TABLE logged (id int, xact xid8 DEFAULT pg_current_xact_id(), pid int DEFAULT pg_backend_pid());
	CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO logged VALUES (new.id); RETURN new; END';
	CREATE TABLE heap (id int PRIMARY KEY, t text);
	CREATE TABLE parent (id int, t text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE part_1 PARTITION OF parent FOR VALUES FROM (0) TO (1000) SERVER tsurugi;
	CREATE TABLE part_2 PARTITION OF parent FOR VALUES FROM (1000) TO (5000);
	CREATE TABLE keys AS SELECT id FROM source; ALTER TABLE keys ADD PRIMARY KEY (id);
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY REFERENCES keys, t text CHECK (t <> 'bad'), l int GENERATED ALWAYS AS (length(t)) STORED) SERVER tsurugi;
	CREATE TRIGGER logs AFTER INSERT ON heap FOR EACH ROW EXECUTE FUNCTION log_row()});

# --- what is stored, and in how many transactions ---

for my $table ('heap', 'parent', 'memory')
{
	for my $format ('csv', 'parquet', 'ndjson')
	{
		is(ask("SELECT rows, rejected, files, transactions, way FROM " . load($table, "$own/in.$format", q(options => '{"commit_rows": 1000}'))), '2500|0|1|3|session', "$table from $format");
		is(ask("SELECT count(*) FROM source FULL JOIN $table x USING (id) WHERE source.t IS DISTINCT FROM x.t"), '0', 'has the rows');
		is(ask("SELECT string_agg(n::text, ',' ORDER BY n), count(DISTINCT pid) <= 2 AND bool_and(pid <> pg_backend_pid()) FROM (SELECT count(*) n, min(pid) AS pid FROM logged GROUP BY xact) x"), '500,1000,1000|t', 'in as many transactions, of sessions') if $table eq 'heap';
		ask("TRUNCATE $table; TRUNCATE logged");
	}
}
is(ask("SELECT rows, transactions, way FROM " . batch('INSERT INTO public.heap VALUES ($1, $2)', "$own/in.parquet", q(options => '{"commit_rows": 1}'))), '2500|2500|session', 'a batch that commits each row');
is(ask('SELECT count(*), count(DISTINCT xact) FROM logged'), '2500|2500', 'does so');
is(ask("SELECT rows, transactions FROM " . batch('UPDATE public.heap SET t = $2 || $1 WHERE id = $1', "$own/in.*")), '7500|3', 'a batch commits 10000 rows at once, of a file');
is(ask(q(SELECT count(*) FROM heap WHERE t = 'text ' || id || id)), '2500', 'and has changed them');
is(ask("SELECT rows, transactions, way FROM " . load('heap', "$own/in.csv", q(on_conflict => 'replace'))), '2500|1|session', 'rows are replaced');
is(ask("SELECT rows, rejected FROM " . load('heap', "$own/in.parquet", q(on_error => 'skip', reject_limit => 5000, reject_file => ) . "'$own/rejects.csv'")), '0|2500', 'and rejected');
is(scalar(my @lines = split(/\n/, slurp_file("$own/rejects.csv"))), 2501, 'each of them');
like($lines[1], qr(^".*in.parquet",1,1,,,23505,"duplicate key value violates unique constraint ""heap_pkey""","\{""id"": ""1"", ""t"": ""text 1""\}"$), 'with what is wrong');
is(ask($sessions), '0', 'no session is left');
is(ask("SELECT count(*) FROM pg_locks WHERE relation = 'heap'::regclass"), '0', 'nor a lock');

ask('CREATE FOREIGN TABLE plain (id int PRIMARY KEY, t text) SERVER tsurugi');
is(ask("SELECT rows, transactions > 1, way FROM " . load('plain', "$own/in.csv", q(options => '{"commit_rows": 1000}'))), '2500|t|pool', 'tasks of the pool commit as often, up to a few rows');

# --- errors ---

ask("TRUNCATE heap; COPY (SELECT CASE i WHEN 2345 THEN 1 ELSE i END AS id, 'x' AS t FROM generate_series(1, 5000) i) TO '$own/twice.csv' (FORMAT csv)");
my $error = psql_error("SET tsurugi_fdw.batch_sessions = 1; SELECT * FROM " . load('heap', "$own/twice.csv", q(options => '{"commit_rows": 1000}')));
like($error, qr/23505: duplicate key value violates unique constraint "heap_pkey"\nDETAIL:  Key \(id\)=\(1\) already exists.\nCONTEXT:  COPY heap, line 2345\nload of file ".*twice.csv"\nload of heap; 2000 rows are committed/, 'an error of a session');
is(ask('SELECT count(*) FROM heap'), '2000', 'as many rows are there');
$error = psql_error("SELECT * FROM " . batch('UPDATE public.heap SET id = $1 WHERE id = 1 + $1 AND $2 > \'\'', "$own/twice.csv", q(options => '{"commit_rows": 10}')));
like($error, qr/23505: .*CONTEXT:  .*batch of file ".*twice.csv", block 1, row \d+\nbatch; \d+ rows are committed/s, 'an error of a batch');
like(psql_error($_->[0]), $_->[1], $_->[2]) for (
	["BEGIN; INSERT INTO source VALUES (0); SELECT * FROM " . load('heap', "$own/in.csv"), qr/25001: a load that is not transactional cannot run in a transaction that has written/, 'a transaction that has written'],
	["BEGIN; LOCK heap IN SHARE MODE; SELECT * FROM " . load('heap', "$own/in.csv"), qr/25001: a load that is not transactional cannot run in a transaction that has locked the table "heap"/, 'one that has locked the table'],
	["BEGIN; LOCK logged IN SHARE MODE; SELECT * FROM " . load('heap', "$own/more.csv"), qr/25001: a load that is not transactional cannot run in a transaction that holds locks its sessions wait for\nCONTEXT:  load of heap; 0 rows are committed/, 'one that has locked another'],
	["CREATE TEMP TABLE own (id int, t text); SELECT * FROM " . load('own', "$own/in.csv"), qr/0A000: a load of "own" that is not transactional is not supported/, 'a temporary table'],
	["CREATE TEMP TABLE heap (id int, t text); SELECT * FROM " . batch('INSERT INTO heap VALUES ($1, $2)', "$own/in.csv"), qr/0A000: a batch that is not transactional cannot use temporary tables/, 'the same of a batch'],
	["SET default_transaction_read_only = on; SELECT * FROM " . load('heap', "$own/in.csv"), qr/25006/, 'a read-only transaction'],
	["SELECT * FROM tsurugi.load('heap', '{$own/in.csv}', options => '{\"commit_rows\": 5}')", qr/22023: option "commit_rows" needs a load or a batch that is not transactional/, 'commit_rows in one transaction'],
	["SELECT * FROM " . load('heap', "$own/in.csv", q(options => '{"commit_rows": 0}')), qr/22023: option "commit_rows" of a load must be a number of rows/, 'no rows'],
	["SELECT * FROM " . load('heap', "$own/in.csv", q(on_error => 'skip', reject_limit => 3)), qr/22P04: more than 3 rows of a load into "heap" are rejected\nDETAIL:  The first one: File.*CONTEXT:  load of heap; \d+ rows are committed/s, 'too many rejects']);
is(ask($sessions), '0', 'no session is left');

# --- as whom ---

ask(qq{
	CREATE ROLE login LOGIN; CREATE ROLE worker IN ROLE pg_read_server_files; CREATE ROLE definer IN ROLE pg_read_server_files; GRANT worker TO login; GRANT CREATE ON SCHEMA public TO definer;
	COPY (SELECT 1 AS id, 'x' AS t) TO '$own/one.csv' (FORMAT csv);
	CREATE SCHEMA own; CREATE TABLE own.who (n int, role text DEFAULT current_user, login text DEFAULT session_user, word text DEFAULT current_setting('my.word'), zone text DEFAULT current_setting('timezone'));
	GRANT USAGE ON SCHEMA own TO PUBLIC; GRANT INSERT ON own.who TO worker, definer; GRANT INSERT ON heap TO worker;
	CREATE TABLE ruled (id int, t text); ALTER TABLE ruled ENABLE ROW LEVEL SECURITY; CREATE POLICY small ON ruled FOR INSERT WITH CHECK (id < 1); GRANT INSERT ON ruled TO worker;
	CREATE FUNCTION run(file text) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = own, pg_catalog AS
		\$\$ SELECT rows FROM tsurugi.batch('INSERT INTO who VALUES (\$1 + length(\$2))', ARRAY[file], transactional => false) \$\$;
	ALTER FUNCTION run OWNER TO definer});
my $login = "SET SESSION AUTHORIZATION login; SET my.word = 'said'; SET timezone = 'Asia/Tokyo';";
is(ask("$login SET ROLE worker; SELECT rows FROM " . batch('INSERT INTO own.who VALUES ($1 * length($2))', "$own/one.csv")), '1', 'a batch of a role');
is(ask("$login SELECT run('$own/one.csv')"), '1', 'one in a function of its owner');
is(ask('SELECT * FROM own.who ORDER BY n'), "1|worker|login|said|Asia/Tokyo\n2|definer|login|said|Asia/Tokyo", 'sessions have the role, the settings and the search_path');
like(psql_error("$login SET ROLE worker; $_->[0]"), $_->[1], $_->[2]) for (
	["SELECT * FROM " . load('source', "$own/one.csv"), qr/42501: permission denied for table source/, 'no right to insert'],
	["SELECT * FROM " . batch('UPDATE heap SET t = $2 WHERE id = $1', "$own/one.csv"), qr/42501: permission denied for table heap\nCONTEXT:.*batch; 0 rows are committed/s, 'nor to update'],
	["SELECT * FROM " . load('heap', "$own/more.csv"), qr/42501: permission denied for table logged\nCONTEXT:.*; 0 rows are committed/s, 'nor what a trigger does'],
	["SELECT * FROM " . load('ruled', "$own/one.csv"), qr/0A000: COPY FROM not supported with row-level security/, 'row-level security'],
	["SELECT * FROM " . batch('INSERT INTO ruled VALUES ($1, $2)', "$own/one.csv"), qr/42501: new row violates row-level security policy for table "ruled"/, 'which holds for a batch']);
is(ask("SELECT count(*) FROM ruled"), '0', 'and nothing is stored');
ask("CREATE FUNCTION tell(i int, t text) RETURNS int LANGUAGE plpgsql AS \$\$ BEGIN RAISE NOTICE 'row % %', i, t; RETURN i; END \$\$");
open(my $file, '>:raw', "$own/latin.csv") or die;
print $file "1,\xe9\n";
close $file;
like(psql_error("SET client_encoding = 'LATIN1'; SELECT * FROM " . batch('SELECT tell($1, $2)', "$own/latin.csv")), qr/NOTICE:  00000: row 1 \xe9\n/, "notices, and the client's encoding");

# --- how they end ---

my $holder = TestServer::Session->new($node);
my $caller = TestServer::Session->new($node);
my $pid = $caller->query('SELECT pg_backend_pid()');
ask(q{DROP TRIGGER logs ON heap; CREATE FUNCTION hold(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN IF i % 100000 = 1700 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN i; END';
	CREATE FUNCTION hold_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM hold(new.id); RETURN new; END';
	CREATE TRIGGER holds BEFORE INSERT ON heap FOR EACH ROW EXECUTE FUNCTION hold_row(); TRUNCATE heap});

# The caller's statement, until it waits for the holder, and all that can be stored is.
sub begin_load
{
	$holder->query('SELECT pg_advisory_lock(7)');
	$caller->send('SELECT rows, transactions FROM ' . load('heap', "$own/more.csv", q(options => '{"commit_rows": 100}')) . ';');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), 'a session waits');
	ok($node->poll_query_until('postgres', 'SELECT transactions >= 16 FROM tsurugi.batches'), 'blocks before it are committed');
}

sub is_over
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', "SELECT ($sessions) = 0"), "$name: no session is left") if $name eq 'the caller is terminated';
	is(ask($sessions), '0', "$name: no session is left");
	is(ask("SELECT count(*) FROM pg_locks WHERE relation = 'heap'::regclass"), '0', 'nor a lock');
	is(ask("SELECT count(*) FROM tsurugi.batches"), '0', 'nor an entry of the view');
	is(ask('SELECT count(*) % 100, count(*) >= 1600 AND count(*) <= 2400 FROM heap'), '0|t', 'what is committed stays');
	ask('TRUNCATE heap');
	$holder->query('SELECT pg_advisory_unlock(7)');
}

begin_load();
is(ask("SELECT kind, relation, state, files, rows = transactions * 100, rejected, way, bytes_done > 0 FROM tsurugi.batches"), 'load|heap|running|1|t|0|session|t', 'the view');
my $waiting = TestServer::Session->new($node);
$waiting->send('ALTER TABLE heap ADD CHECK (id > 0);');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'heap'::regclass AND NOT granted"), 'another session waits for the table');
$holder->query('SELECT pg_advisory_unlock(7)');
is($caller->wait, '2500|25', 'the load does not wait for that one');
$waiting->wait;
is(ask('SELECT count(*) FROM heap'), '2500', 'which goes on');
$waiting->close;
ask('TRUNCATE heap');
for my $case (['tsurugi.cancel_job(job) FROM tsurugi.batches', 'ERROR 57014', 'cancel_job'], ["pg_cancel_backend($pid)", 'ERROR 57014', 'pg_cancel_backend'],
	["bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'tsurugi_fdw batch' AND wait_event = 'advisory'", 'ERROR 57P01', 'a session is terminated'],
	["pg_terminate_backend($pid)", undef, 'the caller is terminated'])
{
	begin_load();
	is(ask("SELECT $case->[0]"), 't', $case->[2]);
	is($caller->wait, $case->[1], 'the error') if defined $case->[1];
	is_over($case->[2]);
}
eval { $caller->close };
ok(slurp_file($node->logfile) =~ /FATAL:  terminating background worker "tsurugi_fdw batch" due to administrator command/, 'the session says why');
like(psql_error("SET statement_timeout = '1s'; SELECT * FROM " . batch('SELECT pg_sleep($1), $2', "$own/in.csv")), qr/57014: canceling statement due to statement timeout\nCONTEXT:  batch; \d+ rows are committed/, 'statement_timeout');
is(ask($sessions), '0', 'no session is left');

# --- full slots ---

my @callers = map { TestServer::Session->new($node) } 1 .. 2;
$holder->query('SELECT pg_advisory_lock(7)');
$_->query('SET tsurugi_fdw.batch_sessions = 4') for @callers;
for my $i (0 .. 1)
{
	$callers[$i]->send('SELECT rows FROM ' . batch('SELECT hold($1), $2', "$own/in.parquet", q(options => '{"commit_rows": 10}')) . ';');
	ok($node->poll_query_until('postgres', "SELECT count(*) = $i + 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), 'a batch waits');
}
is(ask($sessions), '5', 'the second has fewer sessions');
like(psql_error('SELECT * FROM ' . batch('SELECT hold($1), $2', "$own/in.csv")), qr/53000: could not register background process\nHINT:  You may need to increase max_worker_processes.\nCONTEXT:  batch; 0 rows are committed/, 'a third has none');
$holder->query('SELECT pg_advisory_unlock(7)');
is($_->wait, '2500', 'the others go on') for @callers;

# --- a deadlock that PostgreSQL does not see ---

ask('CREATE TABLE locked (); CREATE TRIGGER logs AFTER INSERT ON heap FOR EACH ROW EXECUTE FUNCTION log_row()');
$holder->query('BEGIN; LOCK logged IN EXCLUSIVE MODE');
$callers[0]->query('BEGIN; LOCK locked IN SHARE MODE');
$holder->send('LOCK locked IN ROW EXCLUSIVE MODE;');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"), 'another session waits for the caller');
is($callers[0]->query('SELECT * FROM ' . load('heap', "$own/in.csv")), 'ERROR 40P01', 'and a session of the caller for that one');
$callers[0]->query('ROLLBACK');
$holder->wait;
$holder->query('ROLLBACK');
is(ask('SELECT count(*) FROM heap'), '0', 'nothing is stored');
$_->close for $holder, @callers;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

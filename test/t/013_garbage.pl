# What old snapshots keep, who is told of it, and who is ended; a backend that
# dies in the middle of a collection.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

# The sizes below are of nearly all the memory that large transactions get, which is less by what is
# reserved.
my $node = TestServer::start('garbage', 'tsurugi_fdw.memory' => "'24MB'", 'tsurugi_fdw.memory_reserved' => 0,
	'tsurugi_fdw.held_versions_warning' => 500);

sub sql { return $node->safe_psql('postgres', $_[0]) }
sub poll { return $node->poll_query_until("postgres", $_[0]) }

sql(q{CREATE FOREIGN TABLE t (id int PRIMARY KEY, n int) SERVER tsurugi; INSERT INTO t SELECT i, 0 FROM generate_series(1, 1000) i});

# A session that writes a row and then does nothing (looked at below).
my $idle = TestServer::Session->new($node);
sql('CREATE FOREIGN TABLE idle (id int PRIMARY KEY) SERVER tsurugi');
is($idle->query('INSERT INTO idle VALUES (1) RETURNING id;'), '1', 'a session writes a row, and is idle');

# --- a long reader ---------------------------------------------------------------

my $reader = TestServer::Session->new($node);
sub ask { return $reader->query("$_[0];") }
my $pid = ask('SELECT pg_backend_pid()');
ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask('SELECT sum(n) FROM t'), '0', 'a reader takes its snapshot');
sql('UPDATE t SET n = n + 1') for 1 .. 30;
ok(poll('SELECT versions_held = 1000 FROM tsurugi.collector'), 'of each row that has changed it keeps the version that it sees');
ok(poll("SELECT versions = 1000 FROM tsurugi.garbage WHERE relation = 't'"), 'and no other is left');
is(sql('SELECT oldest_snapshot_pid, oldest_snapshot_holds FROM tsurugi.collector'), "$pid|1000", 'the view says whose it is, and how many it keeps');
is(ask('SELECT sum(n) FROM t'), '0', 'it still sees them');

my $told = qr/a snapshot of process $pid keeps 1000 row versions/;
ok($node->wait_for_log($told), 'the log tells of it');
sql('UPDATE t SET n = n + 1');
ok(poll('SELECT versions_held = 1000 FROM tsurugi.collector'), 'another change');
# another snapshot is another incident: when that is told the worker has looked again
my $later = TestServer::Session->new($node);
my $later_pid = $later->query('SELECT pg_backend_pid()');
$later->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sum(n) FROM t');
sql('UPDATE t SET n = n + 1');
ok($node->wait_for_log(qr/a snapshot of process $later_pid keeps 1000 row versions/), 'of another snapshot, too');
my @times = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /$told/g;
is(scalar @times, 1, 'of each once');
$later->query('COMMIT');
$later->close;

ask("SET tsurugi_fdw.snapshot_age_limit = '1h'");
is(ask('SELECT sum(n) FROM t'), '0', 'younger than the limit');
ask("SET tsurugi_fdw.snapshot_age_limit = 1");
is(ask('SELECT sum(n) FROM t'), 'ERROR 72000', 'older, and in the way: snapshot too old');
ask('ROLLBACK');
ok(poll('SELECT versions_held = 0 FROM tsurugi.collector'), 'what it kept goes');
ok(poll("SELECT versions = 0 FROM tsurugi.garbage WHERE relation = 't'"), 'all of it');

# An open cursor at READ COMMITTED is a snapshot, too.
ask('SET tsurugi_fdw.snapshot_age_limit = 0');
ask('BEGIN; DECLARE c CURSOR FOR SELECT id, n FROM t ORDER BY id');
is(ask('FETCH 1 FROM c'), '1|32', 'a cursor');
sql('UPDATE t SET n = n + 1') for 1 .. 3;
ok(poll('SELECT versions_held BETWEEN 1 AND 1000 FROM tsurugi.collector'), 'keeps what it has yet to read');
is(ask('FETCH 2 FROM c'), "2|32\n3|32", 'and reads it');
ask("SET tsurugi_fdw.snapshot_age_limit = 1");
is(ask('FETCH ALL FROM c'), 'ERROR 72000', 'but not past its limit');
ask('ROLLBACK');

# So is a statement's that takes long, whatever it looks up its rows by.
for my $rows ('SELECT i FROM generate_series(1, 1000) i', 'SELECT id FROM t')
{
	ok(poll('SELECT versions_held = 0 FROM tsurugi.collector'), 'nothing is kept');
	ask("SET tsurugi_fdw.snapshot_age_limit = '100ms'; SET enable_hashjoin = off; SET enable_mergejoin = off; SET tsurugi_fdw.scan_pool_rows = -1");
	# one that has to wait for a CPU is past the limit before its first row
	my $sleeps = 0;
	for my $try (1 .. 100)
	{
		my $its = "FROM pg_stat_activity WHERE pid = $pid AND query LIKE '%/* $try */%'";
		$reader->send("SELECT /* $try */ count(pg_sleep(0.1)) FROM ($rows OFFSET 0) x (i) JOIN t ON id = i;");
		poll("SELECT count(*) = 1 $its AND (state = 'idle' OR wait_event = 'PgSleep')");
		$sleeps = sql("SELECT count(*) $its AND state = 'active'");
		last if $sleeps;
		note('ended: ' . $reader->wait);
	}
	ok($sleeps, 'a long statement');
	sql('UPDATE t SET n = n + 1');
	is($reader->wait, 'ERROR 72000', 'ends at its next row past the limit');
}

# Other readers that keep one version of each row, and one that keeps all: what it has read is validated as of a later time.
# (All is also what copies have replaced, if a sparse chunk is emptied meanwhile.)
my $shared_told = qr/a snapshot of a transaction of several sessions keeps/;
sub is_kept
{
	my ($what, $whose, $keeps, $since, $line) = @_;

	sql('UPDATE t SET n = n + 1') for 1 .. 3;
	ok(poll("SELECT versions_held $keeps FROM tsurugi.collector"), "$what keeps versions: $keeps") or diag(sql('SELECT * FROM tsurugi.collector'));
	ok(poll("SELECT coalesce(oldest_snapshot_pid, 0) = $whose AND oldest_snapshot_holds $keeps FROM tsurugi.collector"), 'as the view says');
	ok($node->wait_for_log($line, $since), 'and the log');
}
my $moved = sql('SELECT versions_moved FROM tsurugi.collector');
for my $reads ([ 'BEGIN', '= 1000', 'long' ], [ 'BEGIN ISOLATION LEVEL SERIALIZABLE', "BETWEEN 3000 AND 3000 + versions_moved - $moved", 'default' ])
{
	my ($begin, $keeps, $type) = @$reads;
	my $since = -s $node->logfile;

	ask('SET tsurugi_fdw.snapshot_age_limit = 0');
	ask("$begin; SET LOCAL tsurugi_fdw.transaction_type = '$type'");
	ask('SELECT sum(n) FROM t');
	is_kept("$begin, $type", $pid, $keeps, $since, qr/a snapshot of process $pid keeps/);
	ask('SET tsurugi_fdw.snapshot_age_limit = 1');
	is(ask('SELECT sum(n) FROM t'), 'ERROR 72000', 'until it is too old');
	ask('ROLLBACK');
	ok(poll('SELECT versions_held = 0 FROM tsurugi.collector'), 'then all goes');
}
{
	my $since = -s $node->logfile;
	my $handle = ask("SET default_transaction_isolation = 'repeatable read'; SELECT tsurugi.begin_transaction('t')");

	ask("SELECT tsurugi.attach_transaction('$handle')");
	ask('SET tsurugi_fdw.snapshot_age_limit = 0');
	ask('SELECT sum(n) FROM t');
	is_kept('one that no session owns', 0, '= 1000', $since, $shared_told);
	ask('SET tsurugi_fdw.snapshot_age_limit = 1');
	is(ask('SELECT sum(n) FROM t'), 'ERROR 72000', 'until it is too old');
	ask("SELECT tsurugi.detach_transaction()");
	ask("SELECT tsurugi.abort_transaction('$handle')");
	ok(poll('SELECT versions_held = 0 FROM tsurugi.collector'), 'then all goes');
}
$reader->close;

# --- an idle session -------------------------------------------------------------

ok(poll("SELECT header_bytes = 0 FROM tsurugi.tables WHERE relation = 'idle'"), 'an idle session keeps no chunk to write to: its headers go');
is($idle->query('INSERT INTO idle VALUES (2) RETURNING id;'), '2', 'it goes on');
$idle->close;

# --- who collects ------------------------------------------------------------------

# The pool has: what it did is deposited while a cycle is open, and gone at its end.
my ($quanta, $deposited, $bank) = split /\|/, sql('SELECT quanta, deposited_us, bank_us FROM tsurugi.collector');
cmp_ok($quanta, '>', 0, 'the pool has collected, in quanta');
cmp_ok($deposited, '>', 0, 'for which it was given credit');
ok(poll("SELECT stage = 'idle' AND bank_us = 0 FROM tsurugi.collector"), 'which goes with the cycle');

# A backend that stands still inside of an epoch is named.
my $standing = TestServer::Session->new($node);
my $standing_pid = $standing->query('SELECT pg_backend_pid()');
$standing->query("SET tsurugi_fdw.failpoints = 'collector_eager,stop:collector_prune'");
# what a change has left the pool may have collected before it: then another one
my $stands = 0;
for (my $tries = 0; $tries < 1000 && !$stands; $tries++)
{
	$standing->send('UPDATE t SET n = n + 1 WHERE id = 1;');
	select undef, undef, undef, 0.01 until $standing->has_answered || ($stands = TestServer::is_stopped($standing_pid));
	$standing->wait unless $stands;
}
ok(poll("SELECT epoch_pid = $standing_pid AND epoch_lag > 0 FROM tsurugi.collector"), 'the session that holds back the epoch is named');
ok(poll("SELECT stage IN ('prune', 'epoch') FROM tsurugi.collector"), 'and the cycle does not end');
is(sql('UPDATE t SET n = n + 1 WHERE id BETWEEN 1 AND 100 RETURNING 1') =~ tr/1//, 100, 'which nobody waits for');
sql("SELECT pg_terminate_backend($standing_pid)");
while (sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $standing_pid") > 0) { kill CONT => $standing_pid } # it stops at each row
eval { $standing->close };
ok(poll("SELECT stage = 'idle' AND logs_waiting = 0 AND epoch_pid IS NULL FROM tsurugi.collector"), 'when it is gone, the cycle ends');

# No thread of the pool has time: who writes collects.
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'collector_pool'");
$node->restart;
my $payer = TestServer::Session->new($node);
$payer->query("SET tsurugi_fdw.min_mutator_utilization = 0.5");
$payer->query("DO \$\$ BEGIN FOR i IN 1 .. 20000 LOOP UPDATE t SET n = n + 1 WHERE id = i % 1000 + 1; COMMIT; END LOOP; END \$\$");
my $payer_pid = $payer->query('SELECT pg_backend_pid()');
is(sql("SELECT target, ran_us > 0, paid_us > 0, achieved < 1 FROM tsurugi.taxes WHERE pid = $payer_pid"), '0.5|t|t|t', 'a session pays by its own work');
is(sql('SELECT paid_us > 0 AND sessions_cpu_us > 0 AND pool_cpu_us = 0 AND deposited_us = 0 FROM tsurugi.collector'), 't', 'nobody else does');
is(sql('SELECT versions_removed > 5000 AND logs_waiting < 15000 FROM tsurugi.collector'), 't', 'so that garbage goes')
	or diag(sql('SELECT * FROM tsurugi.collector'));
$payer->close;

# --- deaths -----------------------------------------------------------------------

# The places are those that the sources name.  At each a backend dies that goes through all there is to
# collect: a table of nearly half the memory is updated as a whole, the second time the session meets
# the limit, and collects, since nobody else does; another one has rows here and there, and few.
# (Two generations of the table fit into the memory with what surrounds them, three do not: these
# would be 27 of 24 MB.)
sub slurp { return PostgreSQL::Test::Utils::slurp_file($_[0]) }
my @places = sort keys %{ { map { $_ => 1 } map { slurp($_) =~ /tg_failpoint\("(\w+)"\)/g }
	glob('runtime/reclaim/{collector*,cycle,prune,sweep,compact,tax}.c runtime/txn/relocate.c runtime/mem/presence.c runtime/btree/btree_merge.c') } };
cmp_ok(scalar @places, '>=', 15, "places to die at: @places");
sql('DROP FOREIGN TABLE t, idle');
for my $point (@places, qw(horizon_session horizon_scanned settle_take_away))
{
	next if $point eq 'tax_gives_way'; # it holds nothing there, and it is not sure to come there
	sql(q{CREATE FOREIGN TABLE IF NOT EXISTS g (id int PRIMARY KEY, v text) SERVER tsurugi;
		CREATE FOREIGN TABLE IF NOT EXISTS few (id int PRIMARY KEY, n int) SERVER tsurugi;
		TRUNCATE few, g;
		INSERT INTO few SELECT i, 0 FROM generate_series(1, 20000) i;
		INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 31000) i});
	my $away = TestServer::Session->new($node);
	is($away->query('SELECT count(*) FROM g;'), '31000', 'somebody is there, and idle');
	my $away_pid = $away->query('SELECT pg_backend_pid()');
	my ($code, $out, $err) = $node->psql('postgres', "SET tsurugi_fdw.failpoints = 'kill:$point'; DELETE FROM few WHERE id % 10 <> 0;"
		. join(';', ("UPDATE g SET v = repeat('z', 200)") x 4));
	isnt($code, 0, "a backend dies at $point");
	# the server ends all sessions some time after this one has
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $away_pid"), 'the server comes back');
	eval { $away->close };
	is(sql('SELECT count(*) FROM g'), '31000', 'with all rows');
}
sql('DROP FOREIGN TABLE few');
# On a busy machine another process may be held up inside an epoch, or with a snapshot, and keep the garbage for as long.
my $rows = '';
for my $try (1 .. 10)
{
	my ($code, $out) = $node->psql('postgres', "TRUNCATE g; INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 31000) i; "
		. join(';', ("UPDATE g SET v = repeat('z', 200)") x 5) . '; SELECT count(*) FROM g', on_error_stop => 1);

	$rows = $out if $code == 0;
	last if $code == 0;
	select undef, undef, undef, 0.5;
}
is($rows, '31000', 'a transaction that has come through collects whenever it meets the limit');
$node->stop;
done_testing();

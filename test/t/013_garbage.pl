# What old snapshots keep, who is told of it, and who is ended; a backend that
# dies in the middle of a collection.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('garbage', 'tsurugi_fdw.memory' => "'24MB'", 'tsurugi_fdw.held_versions_warning' => 500);

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
sleep 2; # the worker looks twice a second
my @times = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /$told/g;
is(scalar @times, 1, 'once');

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
is(ask('FETCH 1 FROM c'), '1|31', 'a cursor');
sql('UPDATE t SET n = n + 1') for 1 .. 3;
ok(poll('SELECT versions_held BETWEEN 1 AND 1000 FROM tsurugi.collector'), 'keeps what it has yet to read');
is(ask('FETCH 2 FROM c'), "2|31\n3|31", 'and reads it');
ask('COMMIT');
$reader->close;

# --- an idle session -------------------------------------------------------------

ok(poll("SELECT header_bytes = 0 FROM tsurugi.tables WHERE relation = 'idle'"), 'an idle session keeps no chunk to write to: its headers go');
is($idle->query('INSERT INTO idle VALUES (2) RETURNING id;'), '2', 'it goes on');
$idle->close;

# --- deaths -----------------------------------------------------------------------

# A table of nearly half the memory is updated as a whole: the second time the
# session meets the limit, and collects, since nobody else does.
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'collector_pool'");
$node->restart;
for my $point (qw(collector_gathered collector_prune collector_pruned collector_freed cycle_take presence_visit))
{
	sql(q{CREATE FOREIGN TABLE IF NOT EXISTS g (id int PRIMARY KEY, v text) SERVER tsurugi;
		INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 36000) i});
	my $away = TestServer::Session->new($node);
	is($away->query('SELECT count(*) FROM g;'), '36000', 'somebody is there, and idle');
	my ($code, $out, $err) = $node->psql('postgres',
		"SET tsurugi_fdw.failpoints = 'kill:$point';" . join(';', ("UPDATE g SET v = repeat('z', 200)") x 4));
	isnt($code, 0, "a backend dies at $point");
	eval { $away->close };
	ok($node->poll_query_until('postgres', 'SELECT true'), 'the server comes back');
	is(sql('SELECT count(*) FROM g'), '0', 'and begins anew');
}
is(sql("INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 36000) i; " . join(';', ("UPDATE g SET v = repeat('z', 200)") x 5) .
	'; SELECT count(*) FROM g'), '36000', 'who has come through collects whenever it meets the limit');
$node->stop;
done_testing();

# All memory is accounted for: after a day's work in small, and DROP of all of it, what
# is in use is what was at the start, to the byte, by each use; and what sessions and
# threads of the pool had taken in advance has gone back, too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('accounts', 'tsurugi_fdw.memory' => "'128MB'", 'tsurugi_fdw.worker_suspend_timeout' => "'100ms'");

sub sql { return $node->safe_psql('postgres', $_[0]) }
sub state_of { return TestServer::sqlstate($node, $_[0]) }

my $in_use = q{SELECT string_agg(use || ' ' || bytes, ', ' ORDER BY use) FROM tsurugi.memory_uses};

sub make_all
{
	sql(q{
		CREATE TYPE mood AS ENUM ('good', 'bad');
		CREATE FOREIGN TABLE owner (id int PRIMARY KEY, name text UNIQUE) SERVER tsurugi;
		CREATE FOREIGN TABLE item (id bigint PRIMARY KEY, owner int REFERENCES owner ON DELETE CASCADE, n int, v text, tags text[],
			doc jsonb, price numeric(12,2), m mood, u uuid DEFAULT gen_random_uuid()) SERVER tsurugi;
		CREATE INDEX ON item (n);
		CREATE INDEX ON item (lower(left(v, 50)));
		CREATE UNIQUE INDEX ON item (u) WHERE n > 0;
		CREATE INDEX ON item (tags);
		CREATE FOREIGN TABLE log (at timestamptz DEFAULT now(), line text) SERVER tsurugi;
		CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
		CREATE FOREIGN TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (1000) SERVER tsurugi;
		CREATE FOREIGN TABLE parted_high PARTITION OF parted FOR VALUES FROM (1000) TO (2000) SERVER tsurugi;
		INSERT INTO owner SELECT i, 'owner ' || i FROM generate_series(1, 100) i;
		INSERT INTO item SELECT i, i % 100 + 1, i % 50, repeat(md5(i::text), 1 + i % 20), ARRAY[md5(i::text), 'x'],
			jsonb_build_object('i', i), i / 7.0, 'good' FROM generate_series(1, 5000) i;
		INSERT INTO log (line) SELECT repeat('l', i % 3000) FROM generate_series(1, 5000) i;
		INSERT INTO parted SELECT i, repeat('p', i) FROM generate_series(0, 999) i;
	});
}

sub work
{
	# what commits, and what does not
	sql(q{UPDATE item SET n = n + 1, v = v || 'w' WHERE id % 3 = 0; DELETE FROM owner WHERE id > 90; UPDATE parted SET id = id + 1000 WHERE id % 2 = 0;
		INSERT INTO item (id, n) SELECT i, 0 FROM generate_series(1, 100) i ON CONFLICT (id) DO UPDATE SET n = -item.n});
	sql(q{BEGIN; DELETE FROM item; INSERT INTO log (line) SELECT repeat('r', 10000) FROM generate_series(1, 100); ROLLBACK});
	sql(q{BEGIN; UPDATE item SET n = n + 1; SAVEPOINT a; DELETE FROM item WHERE id % 2 = 0; SAVEPOINT b; UPDATE item SET v = repeat('s', 5000);
		ROLLBACK TO a; SELECT count(*) FROM (SELECT FROM item WHERE id < 100 FOR UPDATE) x; COMMIT});
	is(state_of(q{INSERT INTO item SELECT i, 1, 1, repeat('d', 1000) FROM generate_series(10000, 1, -1) i}), '23505', 'a statement fails half way');
	is(state_of(q{DO $$ BEGIN FOR i IN 1 .. 50 LOOP BEGIN INSERT INTO item (id, n, v) VALUES (20000 + i, i, repeat('e', 9000));
		IF i % 2 = 0 THEN RAISE EXCEPTION 'no'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$}), '00000', 'subtransactions are undone');
	is(state_of(q{SET statement_timeout = '50ms'; INSERT INTO log (line) SELECT repeat('t', 10) FROM item a, item b}), '57014', 'one is cancelled');
	is(state_of(q{INSERT INTO log (line) SELECT repeat('m', 10000) FROM item a, item b}), '53200', 'and one does not fit');
	is(state_of(q{SET tsurugi_fdw.scan_pool_rows = 0; SELECT count(*) FROM (SELECT * FROM item OFFSET 0) x}), '00000', 'the pool scans');

	is(state_of(q{BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'log'; DELETE FROM log WHERE line = 'none'; TRUNCATE log}),
		'0A000', 'a LONG does not truncate');

	# definitions, and those that are rolled back
	sql(q{ALTER FOREIGN TABLE item ADD COLUMN more text DEFAULT 'more'; UPDATE item SET more = 'some' WHERE id % 4 = 0;
		ALTER FOREIGN TABLE item ALTER COLUMN n TYPE bigint; ALTER FOREIGN TABLE item DROP COLUMN doc; REINDEX TABLE item});
	sql('CREATE INDEX CONCURRENTLY item_price ON item (price)');
	sql(q{DROP INDEX item_price; CREATE INDEX ON parted_low (v); TRUNCATE log; INSERT INTO log (line) VALUES ('after');
		CREATE TABLE copied USING tsurugi AS SELECT * FROM item; VACUUM FULL copied; ALTER TABLE copied SET ACCESS METHOD heap; DROP TABLE copied});
	sql(q{BEGIN; CREATE FOREIGN TABLE gone (id int PRIMARY KEY, v text) SERVER tsurugi; INSERT INTO gone SELECT i, repeat('g', 100) FROM generate_series(1, 5000) i;
		TRUNCATE item; DROP FOREIGN TABLE log; CREATE INDEX ON parted_high (v); ROLLBACK});

	# other kinds of transactions
	sql(q{BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'log';
		INSERT INTO log (line) SELECT v FROM item; COMMIT});
	sql(q{BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(n) FROM item; UPDATE item SET n = 0 WHERE id = 1; COMMIT});
	my $handle = sql(q{SELECT tsurugi.begin_transaction('log')});
	sql(qq{SELECT tsurugi.attach_transaction('$handle'); INSERT INTO log (line) VALUES ('shared'); SELECT tsurugi.detach_transaction()});
	sql(qq{SELECT tsurugi.commit_transaction('$handle')});
	sql(q{SET tsurugi_fdw.transaction_lease = '1s'; SELECT tsurugi.begin_transaction('item')}); # left alone

	# partitioned indexes; what outlives a transaction, or is another session's, and is not given up by whoever has it
	sql(q{CREATE INDEX parted_upper ON parted (upper(left(v, 9))); CREATE INDEX ON parted (id) WHERE id % 2 = 0;
		UPDATE parted SET v = 'short' WHERE id % 5 = 0; DELETE FROM parted WHERE id % 7 = 0; DROP INDEX parted_upper});
	sql(q{BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM item; COMMIT; UPDATE item SET n = n + 1 WHERE id % 3 = 1; FETCH 5 FROM c});
	my $exporter = TestServer::Session->new($node);
	$exporter->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM item');
	my $snapshot = $exporter->query('SELECT pg_export_snapshot()');
	sql(q{UPDATE item SET n = n + 1});
	sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'; SELECT count(*) FROM item; COMMIT");
	$exporter->query(q{ROLLBACK; BEGIN; SELECT tsurugi.export_transaction('log')});
	$exporter->query(q{INSERT INTO log (line) VALUES ('exported')});
	$exporter->close;

	# sessions that end in the middle of what they do
	for my $way ('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'BEGIN ISOLATION LEVEL SERIALIZABLE')
	{
		my $session = TestServer::Session->new($node);
		my $pid = $session->query('SELECT pg_backend_pid()');
		$session->query("$way; DECLARE c CURSOR FOR SELECT * FROM item ORDER BY id; FETCH 1 FROM c");
		$session->query("UPDATE item SET v = v || 'k' WHERE id % 5 = 0; SAVEPOINT s; INSERT INTO log (line) SELECT repeat('k', 500) FROM generate_series(1, 1000)");
		sql("UPDATE owner SET name = name || '!'");
		sql("SELECT pg_terminate_backend($pid, 10000)");
		eval { $session->close };
	}
	my $busy = TestServer::Session->new($node);
	my $pid = $busy->query('SELECT pg_backend_pid()');
	$busy->send("INSERT INTO log (line) SELECT repeat('b', 10) FROM item a, item b;");
	$node->poll_query_until('postgres', "SELECT writes > 10 FROM tsurugi.sessions WHERE pid = $pid");
	sql("SELECT pg_terminate_backend($pid, 10000)");
	eval { $busy->close };
}

sub drop_all
{
	sql('DROP FOREIGN TABLE item, owner, log; DROP TABLE parted; DROP TYPE mood');
}

my $at_start = sql($in_use);
for my $round (1 .. 2)
{
	make_all();
	work();
	drop_all();
	ok($node->poll_query_until('postgres', "SELECT ($in_use) = '$at_start'"), "round $round: what is in use is what was at the start, to the byte")
		or diag("at the start $at_start\nnow          " . sql($in_use));
}
# beside what is in use there is a free slab of each size
ok($node->poll_query_until('postgres', 'SELECT committed < 12 * 1024 * 1024 FROM tsurugi.memory'), 'nor does anybody keep much in advance')
	or diag(sql('SELECT * FROM tsurugi.memory'));
like(sql('SELECT count(*) FROM tsurugi.tables'), qr/^0$/, 'no table is left');
is(sql("SELECT logs_waiting || ' ' || versions_held FROM tsurugi.collector"), '0 0', 'and no garbage');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

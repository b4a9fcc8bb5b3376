# COPY FROM in PostgreSQL's own formats into tables in memory: whether tasks of the pool store the rows, or
# PostgreSQL's COPY does (as with a WHERE), users see the same: rows, tags, errors with their lines and columns.
# Random files are stored by both, and into ordinary tables; then what the pool does not do, or is given up in.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use CopyFiles;
use Wire;
use PostgreSQL::Test::Utils;
use Test::More;

srand(seed());
my $rounds = $ENV{CSV_FILES} // 60;
my $node = TestServer::start('copy_plain', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;

# --- random files ---

my $digest = 'SELECT count(*), md5(string_agg(x::text, E\'\\n\' ORDER BY x::text COLLATE "C"))';
my $tables = 'CREATE %s TABLE %s.t (k int PRIMARY KEY, %s) %s';
my $script = "\\set VERBOSITY verbose\n\\set QUIET off\nSET DateStyle = 'ISO, DMY'; SET TimeZone = 'Asia/Kathmandu';\n";

sub options
{
	my ($dialect, @chosen) = @_;
	my @options = map { "$_ '" . $dialect->{$_} =~ s/'/''/gr . "'" } grep { exists $dialect->{$_} } qw(format delimiter null quote escape);

	push @options, 'header ' . pick('true', 'match') if $dialect->{header};
	push @options, "force_null ($chosen[0])" if $dialect->{format} eq 'csv' && chance(0.2);
	push @options, "force_not_null ($chosen[-1])" if $dialect->{format} eq 'csv' && chance(0.2);
	return join ', ', shuffled(@options);
}

my %copies; # by rounds
for my $round (1 .. $rounds)
{
	my $dialect = dialect(pick('csv', 'text'));
	my @all = shuffled(column_names());
	my @chosen = shuffled('k', @all[ 0 .. some(0, $#all) ]);
	my $file = "$own/$round.txt";
	my $copy = 'COPY t (' . join(', ', @chosen) . ") FROM '$file' (" . options($dialect, @chosen) . ')';
	my $blocks = chance(0.5) ? ',load_tiny_blocks' : '';

	$copies{$round} = $copy;
	append_to_file($file, contents($dialect, \@chosen));
	$script .= "SET tsurugi_fdw.failpoints = 'copy_any_by_pool$blocks';\n";
	for my $way ([ 'heap', '' ], [ 'memory', '' ], [ 'memory', ' WHERE true' ])
	{
		$script .= "SET search_path = $way->[0];\n\\echo == $round $way->[0]$way->[1]\n$copy$way->[1];\n$digest FROM t x;\n\\echo == end\nTRUNCATE t;\n";
	}
}
$node->safe_psql('postgres', join ';', 'CREATE SCHEMA heap', 'CREATE SCHEMA memory',
	sprintf($tables, '', 'heap', definition(), ''), sprintf($tables, 'FOREIGN', 'memory', definition(), 'SERVER tsurugi'));
append_to_file("$own/script.sql", $script);
system('sh', '-c', 'psql -Xt -d "$1" -f "$2" >"$3" 2>&1', 'sh', $node->connstr('postgres'), "$own/script.sql", "$own/answers");
my %answers = map { (split /\n/, $_, 2)[ 0, 1 ] } grep { !/^end/ } split /^== /m, slurp_file("$own/answers") =~ s/^psql:\S+ |^LOCATION.*\n//mgr;
my ($failed, $whole) = (0, 0);
for my $round (1 .. $rounds)
{
	my ($heap, $pool, $session) = @answers{ map { "$round $_" } 'heap', 'memory', 'memory WHERE true' };

	$session =~ /ERROR/ ? $failed++ : $whole++;
	next if $pool eq $session && ($heap =~ /ERROR/ && $session =~ /ERROR/ || $heap eq $session);
	is($pool, $session, "file $round by the pool is as by PostgreSQL") or diag(slurp_file("$own/$round.txt"));
	is($session, $heap, "file $round is as in an ordinary table");
}
pass('files are as by PostgreSQL');
cmp_ok($failed, '>', $rounds / 20, "of which many do not fit: $failed");
cmp_ok($whole, '>', $rounds / 4, "and many do: $whole");

# --- the same files, sent by a client ---

my $wire = Wire->new($node);
$wire->{fields} = 'MDHW';
sub parts
{
	my ($contents) = @_;
	my @parts;

	push @parts, substr($contents, 0, pick(1, 10, 100, 1000, 10000), '') while $contents ne '';
	return @parts;
}

$wire->query($_) for "SET DateStyle = 'ISO, DMY'", "SET TimeZone = 'Asia/Kathmandu'", 'SET client_encoding = UTF8';
for my $round (1 .. $rounds)
{
	my @parts = parts(slurp_file("$own/$round.txt"));
	my @seen;

	$wire->query("SET tsurugi_fdw.failpoints = 'copy_any_by_pool" . (chance(0.5) ? ',load_tiny_blocks' : '') . "'");
	for my $way (['heap', ''], ['memory', ''], ['memory', ' WHERE true'])
	{
		$wire->query("SET search_path = $way->[0]");
		push @seen, $wire->copy($copies{$round} =~ s/ FROM '.*?' / FROM STDIN /r . $way->[1], @parts) . "\n" . $wire->query("$digest FROM t x");
		$wire->query('TRUNCATE t');
	}
	next if $seen[1] eq $seen[2] && ($seen[0] =~ /ERROR/ && $seen[2] =~ /ERROR/ || $seen[0] eq $seen[2]);
	is($seen[1], $seen[2], "file $round, sent, by the pool is as by PostgreSQL") or diag("$copies{$round}\n" . slurp_file("$own/$round.txt"));
	is($seen[2], $seen[0], "file $round, sent, is as in an ordinary table");
}
pass('what a client sends is as by PostgreSQL');

# --- tasks store the rows, and the session can be watched, interrupted, and made to wait ---

my $rows = 2000;
my $session = TestServer::Session->new($node);

my $asker = TestServer::Session->new($node);

sub ask { return $asker->query($_[0]) }

sub configure { TestServer::configure($node, failpoints => $_[0]) }

ask("CREATE FOREIGN TABLE t (k int PRIMARY KEY, v text) SERVER tsurugi");
ask("COPY (SELECT i, 'v' || i FROM generate_series(1, $rows) i) TO '$own/t.$_' (FORMAT $_)") for 'csv', 'text';
my $copy = "COPY t FROM '$own/t.csv' (FORMAT csv);";
my $shown = 'FROM pg_stat_progress_copy WHERE relid = \'t\'::regclass';
my $pid = $session->query('SELECT pg_backend_pid()');
for my $case ([ 'csv', '' ], [ 'text', '' ], [ 'text', 'cancel' ])
{
	my ($format, $end) = @$case;
	my $worker = TestServer::worker_pid($node);

	configure('copy_any_by_pool,load_tiny_blocks,stop:load_stored');
	$session->send("COPY t FROM '$own/t.$format' (FORMAT $format);");
	ok(TestServer::has_stopped($worker), "tasks store the rows of a file in $format");
	is(ask("SELECT command, type, bytes_total $shown"), 'COPY FROM|FILE|' . -s "$own/t.$format", 'the view of COPY shows it');
	ok(TestServer::go_on_until($worker, sub { ask("SELECT count(*) $shown AND tuples_processed > 1 AND bytes_processed BETWEEN 1 AND bytes_total") eq '1' }), 'and how far it is');
	ask("SELECT pg_cancel_backend($pid)") if $end eq 'cancel';
	TestServer::go_on_to_end($node, $worker, 'copy_any_by_pool', $session);
	is($session->wait, $end eq 'cancel' ? 'ERROR 57014' : '', "$end: it ends");
	is(ask("SELECT (SELECT count(*) FROM t), (SELECT count(*) $shown)"), ($end eq 'cancel' ? 0 : $rows) . '|0', 'with all rows, or none, and is shown no more');
	ask('TRUNCATE t');
}

# --- a client that sends, and does not go on as it should ---

my @lines = map { "$_,v$_\n" } 1 .. $rows;
my $from_client = 'COPY t FROM STDIN (FORMAT csv)';
my $client = Wire->new($node);
my $client_pid = pack('H*', (split / /, $client->query('SELECT pg_backend_pid()'))[0]);
my $on_its_way = "(SELECT count(*) FROM pg_stat_progress_copy WHERE pid = $client_pid AND command = 'COPY FROM' AND type = 'PIPE' AND tuples_processed BETWEEN 100 AND $rows - 1 AND bytes_processed > 100)";

$client->{fields} = 'M';
$client->query("SET tsurugi_fdw.failpoints = 'copy_any_by_pool,load_tiny_blocks'");
configure('stop:load_stored');
$client->begin_copy($from_client, @lines)->add('c', '')->send;
my $stopped = TestServer::worker_pid($node);
ok(TestServer::has_stopped($stopped), 'what a client sends is stored by tasks');
TestServer::go_on($node, $stopped, '', sub { ask("SELECT count(*) FROM pg_stat_progress_copy WHERE pid = $client_pid") eq '0' });
is($client->sync, "COPY $rows", 'to its end');
is(ask("SELECT count(*), count(DISTINCT k) FROM t"), "$rows|$rows", 'all of it');
ask('TRUNCATE t');
# the line is the first that need not be stored yet, as if they were stored one after the other
for my $case ([$from_client, @lines], [$copy =~ s/;$//r])
{
	my ($statement, @given) = @$case;

	configure('stop:load_stored');
	$client->{fields} = 'MW';
	$client->query("SET tsurugi_fdw.failpoints = 'copy_any_by_pool,load_tiny_blocks'");
	if (@given) { $client->begin_copy($statement, @given)->add('c', '')->send }
	else { $client->parse('', $statement)->bind('', '', 0)->execute('', 0)->send }
	ok(TestServer::has_stopped($stopped), "$statement: tasks store rows");
	ask("SELECT pg_cancel_backend($client_pid)");
	TestServer::go_on($node, $stopped, '', sub { ask("SELECT count(*) FROM pg_stat_progress_copy WHERE pid = $client_pid") eq '0' });
	like($client->sync, qr/^ERROR 57014 canceling statement due to user request COPY t, line [1-9]\d*$/, 'the error of a cancel has the context of COPY');
	$client->{fields} = 'M';
	is(ask('SELECT count(*) FROM t'), '0', 'no row is left');
}
$client->{fields} = 'MW';
$client->query("SET tsurugi_fdw.failpoints = 'copy_any_by_pool,stop:load_cuts'");
$client->parse('', $copy =~ s/;$//r)->bind('', '', 0)->execute('', 0)->send;
ok(TestServer::has_stopped($client_pid), 'the session goes through a file, to find where blocks begin');
ask("SELECT pg_cancel_backend($client_pid)");
kill 'CONT', $client_pid;
is($client->sync, 'ERROR 57014 canceling statement due to user request COPY t, line 1', 'a cancel meanwhile has it, too');
$client->{fields} = 'M';
$client->query("SET tsurugi_fdw.failpoints = 'copy_any_by_pool,load_tiny_blocks'");
for my $case (['f', "enough\0", 'ERROR 57014 COPY from stdin failed: enough'], ['', '', 'ERROR 57014 canceling statement due to user request'])
{
	$client->begin_copy($from_client, @lines)->send;
	ok($node->poll_query_until('postgres', "SELECT $on_its_way = 1"), 'some of it is stored, and shown');
	if ($case->[0] eq '') # it is noticed with the next message, and a Sync before that would be ignored
	{
		ask("SELECT pg_cancel_backend($client_pid)");
		$client->add('d', $lines[0])->send;
		$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_progress_copy WHERE pid = $client_pid") or die 'no end';
	}
	$client->add($case->[0], $case->[1])->send if $case->[0] ne '';
	is($client->sync, $case->[2], "$case->[2]: the client is told");
	is(ask('SELECT count(*) FROM t'), '0', 'no row is left');
}
is($client->begin_copy($from_client, $lines[0])->add('H', '')->add('S', '')->add('d', $lines[1])->add('c', '')->sync, 'COPY 2', 'Flush and Sync are ignored in between');
is($client->copy($from_client, @lines[ 2 .. 9 ], "\\.\n", 'nothing', ' of it'), 'COPY 8', 'and what follows the end');
like($client->copy($from_client, @lines[ 10 .. 999 ], "x,y\n", @lines[ 1000 .. 1010 ]), qr/^ERROR 22P02/, 'a row that does not fit, far behind others');
is($client->query('SELECT count(*) FROM t'), '3130 SELECT 1', 'ends the statement, and no other');
for my $case ([$from_client, "-1,x\n-2,\xc3\"\xa9\"\n", '0x22'], ['COPY t FROM STDIN', "-1\tx\n-2\t\xc3\\\xa9\n", '0x5c'])
{
	is($client->copy(@$case[ 0, 1 ]), "ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xc3 $case->[2]", 'bytes that are a character only without what is between them');
}
ask('TRUNCATE t');
# In text format the end of the data may stand in the line of the last row.
for my $case (["\n", 'x\.', 1], ["\r\n", 'x\.', 1], ["\r", 'x\.', 1], ["\n", 'x\\\\.', 2], ["\n", "\x83\\.", 2, 'SJIS'])
{
	my ($eol, $value, $stored, $encoding) = @$case;

	$client->query('SET client_encoding = ' . ($encoding // 'UTF8'));
	for my $before (0, $rows)
	{
		for my $options ('', ' WHERE true')
		{
			my @parts = (join('', map { "$_\tv$_$eol" } 1 .. $before), split(//, "-1\t$value$eol-2\ty$eol"));

			is($client->copy("COPY t FROM STDIN$options", @parts), 'COPY ' . ($before + $stored), unpack('H*', "$value$eol") . " after $before rows$options");
			ask('TRUNCATE t');
		}
	}
}
$client->query('SET client_encoding = UTF8');
$client->{fields} = 'MW';
for my $case (['', 0], ['', 3, '4,'], ['', 3, "4,\"x\n"], ['', 1500, '7'], [', HEADER', 3], [', HEADER', 0])
{
	my ($options, $before, $last) = @$case;
	my @told = map { $client->begin_copy("COPY t FROM STDIN (FORMAT csv$options)$_", @lines[ 0 .. $before - 1 ], $last // ())->add('f', "enough\0")->sync } '', ' WHERE true';

	is($told[0], $told[1], "a client that gives up is told of the same line: $told[1]");
}
$client->{fields} = 'M';
$client->begin_copy($from_client, @lines)->send;
ok($node->poll_query_until('postgres', "SELECT $on_its_way = 1"), 'some of it is stored');
$client->{socket}->close;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $client_pid"), 'the client has gone, and the session with it');
is(ask('SELECT count(*) FROM t'), '0', 'no row is left');
is(ask('SELECT count(*) FROM tsurugi.transactions'), '0', 'and no transaction');

# --- rows of others ---

configure('copy_any_by_pool');
my $holder = TestServer::Session->new($node);
for my $case (['ROLLBACK', ''], ['COMMIT', 'ERROR 23505'])
{
	$holder->query("BEGIN; INSERT INTO t VALUES (1234, 'other')");
	$session->send($copy);
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), 'the session waits for a transaction that has a key');
	$holder->query($case->[0]);
	is($session->wait, $case->[1], "$case->[0] of that one");
	is(ask('SELECT count(*) FROM t; TRUNCATE t'), $case->[1] eq '' ? $rows : 1, 'all rows are there, or none');
}

# --- who asks is told why the pool has not stored the rows ---

sub debug
{
	my ($statement) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "SET tsurugi_fdw.failpoints = 'copy_any_by_pool'; SET client_min_messages = debug1; SET lock_timeout = '1ms'; $statement");
	return join "\n", $err =~ /(?:DEBUG:  |ERROR:  )((?:the pool|canceling).*)/g;
}

ask('CREATE FOREIGN TABLE checked (k int PRIMARY KEY CHECK (k > 0), v text) SERVER tsurugi; TRUNCATE t');
is(debug("$copy; DELETE FROM t"), '', 'nothing is said where the pool stores the rows');
is(debug("COPY checked FROM '$own/t.csv' (FORMAT csv)"), 'the pool does not load table "checked": the table has a CHECK constraint', 'a table that is not for it');
is(debug("COPY checked FROM STDIN;\n1\tx\n\\.\n"), 'the pool does not load table "checked": the table has a CHECK constraint', 'nor what a client sends for it');
like(debug("COPY t FROM '$own/t.csv' (FORMAT csv, HEADER match)"), qr/^the pool gives up a COPY: column name mismatch/, 'what is wrong with a file');
$holder->query("BEGIN; INSERT INTO t VALUES (1234, 'other')");
is(debug($copy), "the pool does not load table \"t\": a row has to wait for another transaction\ncanceling statement due to lock timeout", 'a row of another transaction');
$holder->query('ROLLBACK');
configure('');
$_->close for $session, $holder, $asker;
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

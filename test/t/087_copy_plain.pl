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

for my $round (1 .. $rounds)
{
	my $dialect = dialect('csv');
	my @all = shuffled(column_names());
	my @chosen = shuffled('k', @all[ 0 .. some(0, $#all) ]);
	my $file = "$own/$round.txt";
	my $copy = 'COPY t (' . join(', ', @chosen) . ") FROM '$file' (" . options($dialect, @chosen) . ')';
	my $blocks = chance(0.5) ? ',load_tiny_blocks' : '';

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

# --- tasks store the rows, and the session can be watched, interrupted, and made to wait ---

my $rows = 2000;
my $session = TestServer::Session->new($node);

my $asker = TestServer::Session->new($node);

sub ask { return $asker->query($_[0]) }

sub configure
{
	my ($failpoints) = @_;

	ask("ALTER SYSTEM SET tsurugi_fdw.failpoints = '$failpoints'");
	ask('SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', "SELECT current_setting('tsurugi_fdw.failpoints') = '$failpoints'") or die;
}

# A worker that stops again and again goes on until something is so.
sub go_on_until
{
	my ($worker, $is_so) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $is_so->();
		kill 'CONT', $worker;
		select undef, undef, undef, 0.01;
	}
	return 0;
}

sub go_on
{
	my ($worker) = @_;

	configure('copy_any_by_pool');
	go_on_until($worker, sub { $session->has_answered || !$session->{run}->pumpable }) or die 'no end';
}

ask("CREATE FOREIGN TABLE t (k int PRIMARY KEY, v text) SERVER tsurugi; COPY (SELECT i, 'v' || i FROM generate_series(1, $rows) i) TO '$own/t.csv' (FORMAT csv)");
my $copy = "COPY t FROM '$own/t.csv' (FORMAT csv);";
my $shown = 'FROM pg_stat_progress_copy WHERE relid = \'t\'::regclass';
my $pid = $session->query('SELECT pg_backend_pid()');
for my $end ('', 'cancel')
{
	my $worker = TestServer::worker_pid($node);

	configure('copy_any_by_pool,load_tiny_blocks,stop:load_stored');
	$session->send($copy);
	ok(TestServer::has_stopped($worker), 'tasks store the rows of a file');
	is(ask("SELECT command, type, bytes_total $shown"), 'COPY FROM|FILE|' . -s "$own/t.csv", 'the view of COPY shows it');
	ok(go_on_until($worker, sub { ask("SELECT count(*) $shown AND tuples_processed > 1 AND bytes_processed BETWEEN 1 AND bytes_total") eq '1' }), 'and how far it is');
	ask("SELECT pg_cancel_backend($pid)") if $end eq 'cancel';
	go_on($worker);
	is($session->wait, $end eq 'cancel' ? 'ERROR 57014' : '', "$end: it ends");
	is(ask("SELECT (SELECT count(*) FROM t), (SELECT count(*) $shown)"), ($end eq 'cancel' ? 0 : $rows) . '|0', 'with all rows, or none, and is shown no more');
	ask('TRUNCATE t');
}
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
configure('');
$_->close for $session, $holder, $asker;
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

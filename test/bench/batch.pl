#!/usr/bin/perl
# Loads and dumps of TPC-H's lineitem, from and to CSV, Parquet and Arrow; dumps also of the half of it
# that a condition leaves, and of its join with orders.  Called by batch.sh with a cluster running.
# Each is done in turn by tsurugi.load() and tsurugi.dump() with tables in memory, unlogged and logged,
# by COPY of ordinary tables, and by DuckDB (if it is there), in rounds.  Prints the medians, in ms, and
# their ratios; of dumps also the processor time, of the session and the workers, or of DuckDB.
#
#   unlogged, logged   tables in memory, loaded by all workers
#   caller's           the same in the caller's transaction
#   heap               COPY; from Parquet and Arrow by this extension, too, so that only the table differs
#
# DuckDB has no Arrow files of its own: what is done with these is compared with its Parquet.
#
# All but DuckDB's table have the primary key, before the load.  Strings are text: of Parquet tasks do
# not store columns of a length.
#
# Then loads into one shared transaction, of Parquet files of one row group each, by one session and by
# two, each with half of the files: attached to it, by its handle file by file (one task a load), and
# by its handle with all files at once (all workers).  The commit is not in their times.  Beside the
# times stands the server's processor time: where two sessions take as much of it as one, two free
# CPUs halve the time, whatever else the machine does.
#
# Then loads by one worker and by WORKERS of them: the server is restarted for each, and loads once
# before what is measured, because the first load of a server also touches its memory for the first
# time.  Before all that, what one thread makes of the CSV file, without a table (csv_bench.c).
#
# At last 8 clients update rows of another table by key, for SECONDS, alone and beside loads of lineitem that follow one
# another: how much is left of the clients' rate.
#
# Environment: SCALE (1) of TPC-H, ROUNDS (3), WORKERS (2), THREADS (WORKERS) of DuckDB, MEMORY (6GB), SECONDS (10);
# ONLY: a pattern of what is measured, by its name in the output ('^dump').
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;
use POSIX ':sys_wait_h';
use Time::HiRes 'time';

my $scale = $ENV{SCALE} || 1;
my $rounds = $ENV{ROUNDS} || 3;
my $workers = $ENV{WORKERS} || 2;
my $work = $ENV{TG_WORK} or die "to be run by batch.sh\n";
my $json = JSON::PP->new->allow_nonref;
my $csv = "$work/lineitem.csv";
my $parquet = "$work/lineitem.parquet";
my $arrow = "$work/lineitem.arrow";
my $out = "$work/out";
my $rows;

$ENV{THREADS} //= $workers;

sub slurp { my ($file) = @_; open(my $in, '<', $file) or die "$file: $!"; local $/; return scalar <$in>; }

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[ int(@sorted / 2) ]; }

# --- sessions: statements, and their times in ms ---

my ($from_psql, $to_psql);

sub connect_psql { open2($from_psql, $to_psql, 'psql', '-XAtqv', 'ON_ERROR_STOP=1') or die; }

sub sql
{
	my ($statements) = @_;
	my ($answer, $ms) = ('', 0);

	print $to_psql "\\timing on\n$statements\n;\n\\timing off\n\\echo end\n";
	$to_psql->flush;
	while (defined(my $line = <$from_psql>))
	{
		return ($answer, $ms) if $line eq "end\n";
		if ($line =~ /^Time: ([\d.]+) ms/) { $ms += $1; }
		else { $answer .= $line; }
	}
	die "psql failed: $statements\n";
}

my ($from_duckdb, $to_duckdb, $duckdb);
my %processor; # ms of each measurement

sub duckdb
{
	my ($statement) = @_;

	print $to_duckdb $json->encode($statement), "\n";
	$to_duckdb->flush;
	return scalar(<$from_duckdb>) // die "DuckDB failed: $statement\n";
}

# --- what is measured ---

sub check_rows
{
	my ($table) = @_;
	my ($count) = sql("SELECT count(*) FROM $table");

	die "$table has $count" unless $count == $rows;
}

# A load into an empty table, of which the time is only the load's.  The checkpoint lets files of
# the log be used again, as they are in a server that has run for a while: a new one is first filled
# with zeros, which doubles what is written.
sub load
{
	my ($table, $statement) = @_;

	sql("TRUNCATE $table; CHECKPOINT");
	my (undef, $ms) = sql($statement);
	check_rows($table);
	return $ms;
}

sub load_ours { my ($table, $file, $more) = @_; return load($table, "SELECT rows FROM tsurugi.load('$table', '{$file}'" . ($file eq $csv ? q{, options => '{"delimiter": "|"}'} : '') . "$more)"); }

sub dump_ours
{
	my ($name, $format, $query) = @_;

	system('rm', '-rf', $out) == 0 && mkdir($out) && chmod(0777, $out) or die;
	chomp(my $backend = (sql('SELECT pg_backend_pid()'))[0]);
	my @processes = ($backend, worker());
	my $before = processor_ms_of(@processes);
	my (undef, $ms) = sql("SELECT rows FROM tsurugi.dump(\$query\$$query\$query\$, '$out', '$format')");
	push @{ $processor{$name} }, processor_ms_of(@processes) - $before;
	return $ms;
}

sub dump_duckdb
{
	my ($name, $options, $query) = @_;
	my $before = processor_ms_of($duckdb);
	my $ms = duckdb("COPY ($query) TO '$work/out.duckdb' (FORMAT $options)");

	push @{ $processor{$name} }, processor_ms_of($duckdb) - $before;
	return $ms;
}

sub copy_options { my ($file) = @_; return $file eq $csv ? "DELIMITER '|', FORMAT csv" : 'FORMAT ' . ($file =~ /(\w+)$/)[0]; }

sub duckdb_table { duckdb('DROP TABLE IF EXISTS lineitem'); return; }

sub columns_of
{
	my ($table) = @_;
	my $columns = slurp('test/bench/tpch/schema.sql') =~ /^CREATE TABLE $table (\(.*?\));$/ms ? $1 : die "no $table\n";

	return $columns =~ s/\b(?:var)?char\(\d+\)/text/gr;
}

my ($lineitem, $orders) = (columns_of('lineitem'), columns_of('orders'));
my $without_key = $lineitem =~ s/,\s*PRIMARY KEY \([^)]*\)//r;
my $apart = ', transactional => false';
my @loads = map { my ($format, $file) = @$_; (
	["$format unlogged", sub { load_ours('unlogged', $file, $apart) }],
	["$format unlogged, caller's", sub { load_ours('unlogged', $file, '') }],
	["$format logged", sub { load_ours('logged', $file, $apart) }],
	["$format heap unlogged", sub { load('heap_unlogged', "COPY heap_unlogged FROM '$file' (" . copy_options($file) . ')') }],
	["$format heap logged", sub { load('heap_logged', "COPY heap_logged FROM '$file' (" . copy_options($file) . ')') }],
	["$format DuckDB", sub { return undef unless $to_duckdb && $file ne $arrow; duckdb_table();
		return duckdb("CREATE TABLE lineitem AS FROM '$file'") if $file eq $parquet;
		duckdb("CREATE TABLE lineitem $without_key");
		return duckdb("COPY lineitem FROM '$file' (DELIMITER '|', HEADER false)"); }]) } ['CSV', $csv], ['Parquet', $parquet], ['Arrow', $arrow];
my %queries = ('' => 'FROM lineitem', ' filtered' => "FROM lineitem WHERE l_shipdate >= DATE '1995-06-17'",
	' joined' => "FROM lineitem JOIN orders ON o_orderkey = l_orderkey WHERE o_orderdate < DATE '1995-01-01'");
my %selected = ('' => '*', ' filtered' => '*', ' joined' => 'lineitem.*, o_orderdate, o_orderpriority');
my @formats = (['CSV', 'csv'], ['Parquet', 'parquet, COMPRESSION snappy'], ['Arrow', undef]);
my @dumps = map { my $kind = $_; my $query = "SELECT $selected{$kind} $queries{$kind}"; map { my ($format, $options) = @$_; (
	["dump $format$kind", sub { dump_ours("dump $format$kind", lc $format, $query =~ s/FROM lineitem/FROM public.unlogged lineitem/r) }],
	["dump $format$kind DuckDB", sub { return $to_duckdb && $options ? dump_duckdb("dump $format$kind DuckDB", $options, $query) : undef; }]) } @formats }
	sort keys %queries;

# --- several sessions in one transaction ---

my @parts; # files of one block each

sub make_parts
{
	for (my $first = 0; $first < $rows; $first += 100000)
	{
		push @parts, "$work/part_" . @parts . '.parquet';
		sql("COPY (SELECT * FROM heap_unlogged OFFSET $first LIMIT 100000) TO '$parts[-1]' (FORMAT parquet)");
	}
}

sub postmaster { return (split /\n/, slurp("$work/data/postmaster.pid"))[0]; }

sub children_of { my ($process) = @_; return split ' ', slurp("/proc/$process/task/$process/children"); }

sub worker { return (grep { (eval { slurp("/proc/$_/cmdline") } // '') =~ /tsurugi_fdw worker/ } children_of(postmaster()))[0]; }

# Of processes, in ms.
sub processor_ms_of
{
	my $sum = 0;

	for my $process (@_)
	{
		my @own = split ' ', slurp("/proc/$process/stat") =~ s/.*\) //r;

		$sum += ($own[11] + $own[12]) * 10;
	}
	return $sum;
}

# Of the server, in ms: of the worker, and of backends that have ended.
sub processor_ms
{
	my @children = split ' ', slurp('/proc/' . postmaster() . '/stat') =~ s/.*\) //r;

	return processor_ms_of(worker()) + ($children[13] + $children[14]) * 10;
}

# Each session loads its share of the files, beside the others; the first and the last word of one, and what a load has
# besides the files, with HANDLE in them.
sub load_shared
{
	my ($name, $sessions, $first, $more, $last, $is_whole) = @_;
	my @running;

	sql('TRUNCATE unlogged');
	chomp(my $handle = (sql("SELECT tsurugi.begin_transaction('unlogged')"))[0]);
	my ($before, $children) = (processor_ms(), scalar(children_of(postmaster())));
	my $start = time;
	for my $i (0 .. $sessions - 1)
	{
		my @share = @parts[ grep { $_ % $sessions == $i } 0 .. $#parts ];
		my $loads = join('', map { "SELECT tsurugi.load('unlogged', '{$_}'$more);\n" } $is_whole ? join(',', @share) : @share);

		open($running[$i], '|-', 'psql', '-XAtqv', 'ON_ERROR_STOP=1', '-o', '/dev/null') or die;
		print { $running[$i] } "$first$loads$last" =~ s/HANDLE/$handle/gr;
		$running[$i]->flush;
	}
	close($_) || die "a session failed\n" for @running;
	my $ms = (time - $start) * 1000;
	1 while children_of(postmaster()) > $children; # until the sessions' backends have ended
	push @{ $processor{$name} }, processor_ms() - $before;
	sql("SELECT tsurugi.commit_transaction('$handle')");
	check_rows('unlogged');
	return $ms;
}

my $by_handle = ", handle => 'HANDLE'";
my @attached = ("SELECT tsurugi.attach_transaction('HANDLE');\n", '', "SELECT tsurugi.detach_transaction();\n");
my @shared = map { my ($sessions, $how, @arguments) = @$_; my $name = "shared, $how, sessions: $sessions";
	[$name, sub { load_shared($name, $sessions, @arguments) }] }
	map { [$_, 'attached', @attached], [$_, 'by handle', '', $by_handle, ''], [$_, 'by handle, all files at once', '', $by_handle, '', 1] } 1, 2;
my %times;

sub measure
{
	my ($what) = @_;

	return if defined $ENV{ONLY} && $what->[0] !~ /$ENV{ONLY}/;
	my $ms = $what->[1]->();

	push @{ $times{ $what->[0] } }, $ms if defined $ms;
}

sub ms { my ($name) = @_; return $times{$name} ? median(@{ $times{$name} }) : undef; }

sub line
{
	my ($name, @others) = @_;
	my $own = ms($name) // return;
	my ($ownformat) = $name =~ /^(?:dump )?(\w+)/;

	printf "%-28s %9.0f  %6.2f M rows/s", $name, $own, $rows / $own / 1000;
	printf '  processor %6.0f', median(@{ $processor{$name} }) if $name =~ /^dump/;
	for my $other (@others)
	{
		printf '   %.2f of %s', $own / ms($other), $other =~ s/^(?:dump )?$ownformat //r if defined ms($other);
	}
	print "\n";
}

sub restart
{
	my ($count) = @_;

	sql("ALTER SYSTEM SET tsurugi_fdw.workers = $count");
	close $to_psql;
	system("pg_ctl -D $work/data -w -m fast -l $work/server.log restart >/dev/null 2>&1") == 0 or die "pg_ctl failed\n";
	connect_psql();
}

# --- beside clients ---

my (%rates, %loads_beside); # of each measurement

sub make_clients
{
	my $script = "$work/client.sql";

	for my $table ('unlogged', 'logged')
	{
		my $options = $table eq 'unlogged' ? "OPTIONS (persistence 'unlogged')" : '';

		sql("CREATE FOREIGN TABLE client_$table (id int PRIMARY KEY, n int) SERVER tsurugi $options; INSERT INTO client_$table SELECT i, 0 FROM generate_series(1, 100000) i");
		open(my $out, '>', "$script.$table") or die;
		print $out "\\set id random(1, 100000)\nUPDATE client_$table SET n = n + 1 WHERE id = :id;\n";
		close($out) or die;
	}
	return $script;
}

# The clients' transactions a second, while $meanwhile is called again and again.
sub rate_of_clients
{
	my ($script, $meanwhile) = @_;
	my $seconds = $ENV{SECONDS} || 10;
	my $process = open(my $out, '-|', "exec pgbench -n -M prepared -c 8 -j 2 -T $seconds -f $script 2>&1") or die;

	while (waitpid($process, WNOHANG) == 0)
	{
		$meanwhile ? $meanwhile->() : select(undef, undef, undef, 0.1);
	}
	my $said = do { local $/; <$out> };
	return $said =~ /^tps = ([\d.]+)/m ? $1 : die "pgbench failed:\n$said";
}

sub measure_beside_clients
{
	my ($script) = @_;

	for my $table ('unlogged', 'logged')
	{
		push @{ $rates{"$table alone"} }, rate_of_clients("$script.$table");
		for my $format (['CSV', $csv], ['Parquet', $parquet])
		{
			my ($name, $loads) = ("$table beside $format->[0]", 0);

			push @{ $rates{$name} }, rate_of_clients("$script.$table", sub { load_ours($table, $format->[1], $apart); $loads++; });
			push @{ $loads_beside{$name} }, $loads;
		}
	}
}

sub line_of_clients
{
	my ($table, $format) = @_;
	my ($name, $alone) = ("$table beside $format", median(@{ $rates{"$table alone"} }));
	my $rate = median(@{ $rates{$name} });

	printf "8 clients %-26s %9.0f   %.2f of %.0f alone, and %d loads\n", $name, $rate, $rate / $alone, $alone, median(@{ $loads_beside{$name} });
}

# --- the run ---

$| = 1;
connect_psql();
$duckdb = open2($from_duckdb, $to_duckdb, 'node', "$work/duckdb/duckdb.mjs") if -d "$work/duckdb/node_modules";
sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
sql("CREATE FOREIGN TABLE unlogged $lineitem SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE FOREIGN TABLE orders $orders SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE FOREIGN TABLE logged $lineitem SERVER tsurugi; CREATE UNLOGGED TABLE heap_unlogged $lineitem; CREATE TABLE heap_logged $lineitem");
print "commit      $ENV{TG_COMMIT}\n";
print 'settings    ', (sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'tsurugi_fdw.memory', 'tsurugi_fdw.batch_memory', 'tsurugi_fdw.workers')"))[0];
system("$work/rows $scale lineitem >$csv") == 0 or die "rows failed\n";
sql("COPY heap_unlogged FROM '$csv' (DELIMITER '|', FORMAT csv)");
$rows = (sql('SELECT count(*) FROM heap_unlogged'))[0] + 0;
system("$work/rows $scale orders >$work/orders.csv") == 0 or die "rows failed\n";
sql("COPY orders FROM '$work/orders.csv' (DELIMITER '|', FORMAT csv); ANALYZE orders; COPY (TABLE orders) TO '$work/orders.parquet' (FORMAT parquet)");
duckdb("CREATE TABLE orders AS FROM '$work/orders.parquet'") if $to_duckdb;
sql("COPY heap_unlogged TO '$parquet' (FORMAT parquet)");
sql("COPY heap_unlogged TO '$arrow' (FORMAT arrow)");
printf "runs        scale %s: %d rows, CSV %d MB, Parquet %d MB, Arrow %d MB; medians of %d rounds, ms; %s\n\n", $scale, $rows, (-s $csv) / 1e6, (-s $parquet) / 1e6, (-s $arrow) / 1e6,
	$rounds,
	$to_duckdb ? "DuckDB with $ENV{THREADS} threads" : 'without DuckDB';
defined $ENV{ONLY} || system("$work/csv_bench", $csv, $rounds) == 0 or die "csv_bench failed\n";
print "\n";
# files of the log that are there for the first round
load('heap_logged', "COPY heap_logged FROM '$csv' (DELIMITER '|', FORMAT csv)") for 1 .. 2;
for (1 .. $rounds)
{
	measure($_) for @loads;
	load_ours('unlogged', $csv, $apart);
	if ($to_duckdb)
	{
		duckdb_table();
		duckdb("CREATE TABLE lineitem AS FROM '$parquet'");
	}
	sql('ANALYZE unlogged');
	measure($_) for @dumps;
}
for my $format ('CSV', 'Parquet', 'Arrow')
{
	line("$format unlogged", $format eq 'Arrow' ? 'Parquet DuckDB' : "$format DuckDB", "$format heap unlogged");
	line("$format unlogged, caller's", "$format unlogged");
	line("$format logged", "$format unlogged", "$format heap logged");
	line("$format $_") for 'heap unlogged', 'heap logged', 'DuckDB';
}
for my $kind (sort keys %queries)
{
	for my $format ('CSV', 'Parquet', 'Arrow')
	{
		line("dump $format$kind", 'dump ' . ($format eq 'Arrow' ? 'Parquet' : $format) . "$kind DuckDB");
		line("dump $format$kind DuckDB");
	}
}
make_parts() if !defined $ENV{ONLY} || 'shared' =~ /$ENV{ONLY}/;
for (1 .. $rounds)
{
	measure($_) for @shared;
}
for my $how ('attached', 'by handle', 'by handle, all files at once')
{
	line("shared, $how, sessions: 1");
	line("shared, $how, sessions: 2", "shared, $how, sessions: 1");
	my @processor = map { my $ms = $processor{"shared, $how, sessions: $_"}; $ms ? sprintf('%.0f', median(@$ms)) : () } 1, 2;
	print '    processor time, ms: ', join(', ', @processor), "\n" if @processor;
}
for (1 .. $rounds)
{
	for my $count (defined $ENV{ONLY} && 'workers' !~ /$ENV{ONLY}/ ? () : (1, $workers))
	{
		restart($count);
		load_ours('unlogged', $csv, $apart);
		measure(["CSV, workers: $count", sub { load_ours('unlogged', $csv, $apart) }]);
		measure(["Parquet, workers: $count", sub { load_ours('unlogged', $parquet, $apart) }]);
	}
}
for my $format ('CSV', 'Parquet')
{
	line("$format, workers: 1");
	line("$format, workers: $workers", "$format, workers: 1");
}
if (!defined $ENV{ONLY} || 'clients' =~ /$ENV{ONLY}/)
{
	my $script = make_clients();

	measure_beside_clients($script) for 1 .. $rounds;
	for my $table ('unlogged', 'logged')
	{
		line_of_clients($table, $_) for 'CSV', 'Parquet';
	}
}

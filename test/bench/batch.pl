#!/usr/bin/perl
# Loads and dumps of TPC-H's lineitem, from and to CSV, Parquet and Arrow: called by batch.sh with a
# cluster running.  Each is done in turn by tsurugi.load() and tsurugi.dump() with tables in memory, unlogged and
# logged, by COPY of ordinary tables, and by DuckDB (if it is there), in rounds.  Prints the medians, in
# ms, and their ratios.
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
# Then loads by one worker and by WORKERS of them: the server is restarted for each, and loads once
# before what is measured, because the first load of a server also touches its memory for the first
# time.  Before all that, what one thread makes of the CSV file, without a table (csv_bench.c).
#
# Environment: SCALE (1) of TPC-H, ROUNDS (3), WORKERS (2), THREADS (WORKERS) of DuckDB, MEMORY (6GB);
# ONLY: a pattern of what is measured, by its name in the output ('^dump').
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;

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

my ($from_duckdb, $to_duckdb);

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
	my ($format) = @_;

	system('rm', '-rf', $out) == 0 && mkdir($out) && chmod(0777, $out) or die;
	my (undef, $ms) = sql("SELECT rows FROM tsurugi.dump('TABLE public.unlogged', '$out', '$format')");
	return $ms;
}

sub copy_options { my ($file) = @_; return $file eq $csv ? "DELIMITER '|', FORMAT csv" : 'FORMAT ' . ($file =~ /(\w+)$/)[0]; }

sub duckdb_table { duckdb('DROP TABLE IF EXISTS lineitem'); return; }

my $lineitem = slurp('test/bench/tpch/schema.sql') =~ /^CREATE TABLE lineitem (\(.*?\));$/ms ? $1 : die "no lineitem\n";
$lineitem =~ s/\b(?:var)?char\(\d+\)/text/g;
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
my @dumps = map { my ($format, $options) = @$_; (
	["dump $format", sub { dump_ours(lc $format) }],
	["dump $format DuckDB", sub { return $to_duckdb && $options ? duckdb("COPY lineitem TO '$work/out.duckdb' (FORMAT $options)") : undef; }]) }
	['CSV', 'csv'], ['Parquet', 'parquet, COMPRESSION snappy'], ['Arrow', undef];
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

# --- the run ---

$| = 1;
connect_psql();
open2($from_duckdb, $to_duckdb, 'node', "$work/duckdb/duckdb.mjs") if -d "$work/duckdb/node_modules";
sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
sql("CREATE FOREIGN TABLE unlogged $lineitem SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE FOREIGN TABLE logged $lineitem SERVER tsurugi; CREATE UNLOGGED TABLE heap_unlogged $lineitem; CREATE TABLE heap_logged $lineitem");
print "commit      $ENV{TG_COMMIT}\n";
print 'settings    ', (sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'tsurugi_fdw.memory', 'tsurugi_fdw.batch_memory', 'tsurugi_fdw.workers')"))[0];
system("$work/rows $scale lineitem >$csv") == 0 or die "rows failed\n";
sql("COPY heap_unlogged FROM '$csv' (DELIMITER '|', FORMAT csv)");
$rows = (sql('SELECT count(*) FROM heap_unlogged'))[0] + 0;
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
	measure($_) for @dumps;
}
for my $format ('CSV', 'Parquet', 'Arrow')
{
	line("$format unlogged", $format eq 'Arrow' ? 'Parquet DuckDB' : "$format DuckDB", "$format heap unlogged");
	line("$format unlogged, caller's", "$format unlogged");
	line("$format logged", "$format unlogged", "$format heap logged");
	line("$format $_") for 'heap unlogged', 'heap logged', 'DuckDB';
}
for my $format ('CSV', 'Parquet', 'Arrow')
{
	line("dump $format", $format eq 'Arrow' ? 'dump Parquet DuckDB' : "dump $format DuckDB");
	line("dump $format DuckDB");
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

#!/usr/bin/perl
# TPC-H's queries, each in turn on ordinary tables, on tables in memory and in DuckDB (if it is there):
# called by tpch.sh with a cluster running.  Prints each query's median time, the sums and the ratios, and
# dies if the answers of the two kinds of tables differ by a byte.
#
# Environment: SCALE (1), ROUNDS (5), QUERIES (all; numbers), HEAP (1; 0: only answers in the first
# round), THREADS (2) of DuckDB.
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;

my $scale = $ENV{SCALE} || 1;
my $rounds = $ENV{ROUNDS} || 5;
my $heap = $ENV{HEAP} // 1;
my $work = $ENV{TG_WORK} or die "to be run by tpch.sh\n";
my $here = 'test/bench/tpch';
my @tables = qw(region nation supplier part partsupp customer orders lineitem);
my $json = JSON::PP->new->allow_nonref;

sub slurp { my ($file) = @_; open(my $in, '<', $file) or die "$file: $!"; local $/; return scalar <$in>; }

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[ int(@sorted / 2) ]; }

# A session of psql that stays; returns what statements print, and their time in ms.
open2(my $from_psql, my $to_psql, 'psql', '-XAtqv', 'ON_ERROR_STOP=1') or die;

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
open2($from_duckdb, $to_duckdb, 'node', "$work/duckdb/duckdb.mjs") if -d "$work/duckdb/node_modules";

sub duckdb
{
	my ($statement) = @_;
	print $to_duckdb $json->encode($statement), "\n";
	$to_duckdb->flush;
	return scalar(<$from_duckdb>) // die "DuckDB failed: $statement\n";
}

sub load
{
	my $schema = slurp("$here/schema.sql");
	sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw; CREATE SCHEMA heap; CREATE SCHEMA ours');
	sql("SET search_path = heap; $schema");
	sql("SET search_path = ours; SET tsurugi_fdw.create_table = on; $schema; RESET tsurugi_fdw.create_table");
	duckdb($_) for $to_duckdb ? split /;\n/, $schema =~ s/^CREATE INDEX.*$//mgr =~ s/--.*//gr : ();
	for my $table (@tables)
	{
		my $file = "$work/$table.csv";
		system("$work/rows $scale $table >$file") == 0 or die "rows failed\n";
		sql("COPY $_.$table FROM '$file' (DELIMITER '|')") for qw(heap ours);
		duckdb("COPY $table FROM '$file' (DELIMITER '|', HEADER false)") if $to_duckdb;
		unlink $file;
		sql("VACUUM ANALYZE heap.$table; ANALYZE ours.$table");
	}
}

my %queries = do { my (undef, @parts) = split /^-- (\d+)\n/m, slurp("$here/queries.sql"); @parts };
my @numbers = $ENV{QUERIES} ? split(' ', $ENV{QUERIES}) : sort { $a <=> $b } keys %queries;
my %times;

$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print 'settings    ', (sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE name IN ('jit', 'max_parallel_workers_per_gather', 'shared_buffers', 'work_mem', 'tsurugi_fdw.memory')"))[0];
print "runs        scale $scale, medians of $rounds rounds, ms\n\n";
load();
for my $round (0 .. $rounds) # the first one warms up
{
	for my $number (@numbers)
	{
		my %answer;
		my $query = $queries{$number} =~ s/;\s*$//r;
		for my $kind (qw(heap ours))
		{
			next if $kind eq 'heap' && $round > 0 && !$heap;
			sql("SET search_path = $kind");
			($answer{$kind}, my $ms) = sql($query);
			push @{ $times{$kind}{$number} }, $ms if $round > 0;
		}
		die "query $number: the answers differ\nheap:\n$answer{heap}\nours:\n$answer{ours}\n"
			if exists $answer{heap} && $answer{heap} ne $answer{ours};
		my $ms = $to_duckdb ? duckdb($query) : next;
		push @{ $times{DuckDB}{$number} }, $ms if $round > 0;
	}
}

my @kinds = grep { $times{$_} } qw(heap ours DuckDB);
my %sums;

sub show
{
	my ($name, %ms) = @_;
	printf '%-6s', $name;
	printf '%10.1f', $ms{$_} for @kinds;
	printf '%12.2f', $ms{ours} / $ms{$_} for grep { $_ ne 'ours' } @kinds;
	print "\n";
}

printf '%-6s' . '%10s' x @kinds . '%12s' x (@kinds - 1) . "\n", 'query', @kinds, map { "of $_" } grep { $_ ne 'ours' } @kinds;
for my $number (@numbers)
{
	my %ms = map { $_ => median(@{ $times{$_}{$number} }) } @kinds;
	show($number, %ms);
	$sums{$_} += $ms{$_} for @kinds;
}
show('sum', %sums);

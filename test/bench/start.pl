#!/usr/bin/perl
# How long a server takes from kill -9 of all its processes to the first answer from a table: called
# by start.sh with a cluster running (PGHOST is set).  A table, bigint PRIMARY KEY, int, int, text of
# 80, ordinary (logged) and in memory, each alone in its server's log:
#
#   copied    filled by COPY since the last checkpoint: heap's redo, our journal
#   changed   and then updated by single-row transactions
#   settled   after CHECKPOINT, and for ours after tsurugi.write_base()
#
# And, on the way there: the COPY itself, whose commit waits for the log; the writing of a base; and
# the start of a server that has nothing to do, with the extension's library and without.
#
# Environment: ROWS (1000000 5000000), CHANGES (500000), ROUNDS (3) of all that.
# What is read lies in the system's cache, as after a crash of the server alone.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(time sleep);

my @rows = split ' ', ($ENV{ROWS} || '1000000 5000000');
my $changes = $ENV{CHANGES} || 500_000;
my $rounds = $ENV{ROUNDS} || 3;
my $work = $ENV{TG_WORK} or die "to be run by start.sh\n";
my $data = "$work/data";
my $columns = '(id bigint PRIMARY KEY, a int, b int, c text)';
my $file = "$work/item.csv";

sub try_sql
{
	my ($statement) = @_;
	open(my $psql, '-|', 'bash', '-c', 'exec psql -XAtqv ON_ERROR_STOP=1 -c "$0" 2>/dev/null', $statement) or die;
	my $answer = join '', <$psql>;
	chomp $answer;
	return close $psql ? $answer : undef;
}

sub sql { my ($statement) = @_; return try_sql($statement) // die "failed: $statement\n"; }

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[ int(@sorted / 2) ]; }

# Kills the postmaster and its children.  Its parent may be slow to take note of its end; until then
# files with its number would keep the next one from starting.
sub kill_all
{
	open(my $in, '<', "$data/postmaster.pid") or die;
	chomp(my $postmaster = <$in>);
	open(my $children, '<', "/proc/$postmaster/task/$postmaster/children") or die;
	kill 'STOP', $postmaster; # it would end the children itself
	kill 'KILL', $postmaster, split ' ', join '', <$children>;
	sleep 0.5;
	unlink "$data/postmaster.pid", glob("$work/socket/.s.PGSQL.*");
}

# Seconds until the server answers from the table; it is asked every 10 ms.
sub start
{
	my ($table) = @_;
	my $since = time;
	system("pg_ctl -D $data -l $work/server.log -W start >/dev/null 2>&1") == 0 or die "pg_ctl failed\n";
	until (defined try_sql("SELECT a FROM $table WHERE id = 1"))
	{
		die "no start\n" if time - $since > 300;
		sleep 0.01;
	}
	return time - $since;
}

# Of each kind of start: seconds, those of the load, what was loaded, CPU seconds of the worker.
my %seen;

# What the worker has used so far, all threads: at a start, nearly all of it is the load.
sub worker_cpu
{
	my $pid = sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'tsurugi_fdw worker'");
	open(my $in, '<', "/proc/$pid/stat") or die;
	my @fields = split ' ', (split /\) /, <$in>)[1];
	return ($fields[11] + $fields[12]) / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

# One start from each state, because PostgreSQL writes a checkpoint at the end of its recovery.
sub measure
{
	my ($table, $state, $count) = @_;
	my $sum = sql("SELECT count(*), sum(a) FROM $table");
	kill_all();
	push @{ $seen{"$table $state $count"} }, [ start($table), (split /\|/, sql('SELECT load_ms / 1000, rows_loaded, changes_loaded, bytes_loaded FROM tsurugi.durability')), worker_cpu() ];
	die "$table is not what it was\n" unless sql("SELECT count(*), sum(a) FROM $table") eq $sum;
}

sub show
{
	my ($kind) = @_;
	my @starts = @{ $seen{$kind} };
	my ($seconds, $load) = map { my $i = $_; median(map { $_->[$i] } @starts) } 0, 1;
	my $cpu = median(map { $_->[5] } @starts);
	my (undef, undef, $rows, $changes, $bytes) = @{ $starts[0] };
	printf '%-24s %7.2f s', $kind, $seconds;
	printf ', of it load %.2f s: %.2f million rows/s, %.2f million changes/s, %.0f MB/s; CPU of the worker %.2f s', $load, (map { $_ / $load / 1e6 } $rows, $changes, $bytes), $cpu
		if $kind =~ /ours/;
	print "\n";
}

# Seconds that a statement takes, kept under a name.
my %taken;

sub timed
{
	my ($name, $statement) = @_;
	my $since = time;
	sql($statement);
	push @{ $taken{$name} }, time - $since;
}

# Seconds until a server that was stopped cleanly answers, with nothing to load.
sub empty_start
{
	my ($with) = @_;
	my $since;
	system("pg_ctl -D $data -w -m fast stop >/dev/null 2>&1") == 0 or die "pg_ctl failed\n";
	$since = time;
	system("pg_ctl -D $data -l $work/server.log -W " . ($with ? '' : q(-o "-c shared_preload_libraries=''")) . ' start >/dev/null 2>&1') == 0 or die "pg_ctl failed\n";
	sleep 0.005 until defined try_sql('SELECT 1');
	push @{ $taken{ 'empty start ' . ($with ? 'with' : 'without') . ' the library' } }, time - $since;
}

# COPY, updates, and what a checkpoint leaves.
sub run
{
	my ($table, $count) = @_;
	sql($table eq 'ours' ? "CREATE FOREIGN TABLE ours $columns SERVER tsurugi" : "CREATE TABLE heap $columns");
	sql('SELECT tsurugi.write_base()');
	sql('CHECKPOINT');
	timed("COPY of $count rows, $table", "COPY $table FROM '$file' (FORMAT csv)");
	measure($table, 'copied', $count);
	sql('CHECKPOINT') if $table eq 'heap';
	timed("base of $count rows", 'SELECT tsurugi.write_base()') if $table eq 'ours';
	sql("DO \$\$ BEGIN FOR i IN 1 .. $changes LOOP UPDATE $table SET a = a + 1 WHERE id = 1 + i * 7919::bigint % $count; COMMIT; END LOOP; END \$\$");
	measure($table, 'changed', $count);
	sql('SELECT tsurugi.write_base()') if $table eq 'ours';
	sql('CHECKPOINT');
	measure($table, 'settled', $count);
	sql($table eq 'ours' ? 'DROP FOREIGN TABLE ours' : 'DROP TABLE heap');
}

$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print 'settings    ', sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE name IN ('fsync', 'full_page_writes', 'shared_buffers', 'tsurugi_fdw.memory')"), "\n";
print "runs        medians of $rounds starts, $changes changes\n\n";
sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
for (1 .. $rounds)
{
	empty_start($_) for 0, 1;
}
for my $count (@rows)
{
	open(my $out, '>', $file) or die;
	printf $out "%d,%d,%d,%s\n", $_, $_ % 1000, int($_ / 7), sprintf('%080d', $_ * 7919) for 1 .. $count;
	close $out or die;
	for (1 .. $rounds)
	{
		run($_, $count) for qw(heap ours);
	}
	for my $state (qw(copied changed settled))
	{
		show("$_ $state $count") for qw(heap ours);
	}
}
unlink $file;
print "\n";
printf "%-34s %7.2f s\n", $_, median(@{ $taken{$_} }) for sort keys %taken;

#!/usr/bin/perl
# How long a server takes from kill -9 of all its processes to the first answer from a table: called
# by start.sh with a cluster running (PGHOST is set).  A table, bigint PRIMARY KEY, int, int, text of
# 80, ordinary (logged) and in memory, each alone in its server's log:
#
#   copied    filled by COPY since the last checkpoint: heap's redo, our journal
#   changed   and then updated by single-row transactions
#   settled   after CHECKPOINT, and for ours after tsurugi.write_base()
#
# And, on the way there: the COPY itself, whose commit waits for the log; and the writing of a base.
# These are the part "start".  The others, of which the last three have 8 clients that update rows by
# their keys, in a table of the first of ROWS:
#
#   copy        COPY in each way: a file of the server or a client's, in CSV or text; seconds, and CPU
#               seconds of all processes of the server
#   empty       the start of a server that has nothing to do, with the extension's library and without
#   checkpoint  the worst second from a CHECKPOINT on, as a share of the median one
#   base        what is left of the clients' rate while bases are written, one after the other
#   standby     how far a standby falls behind, and when it has caught up after the last commit
#
# Environment: ONLY (copy empty start checkpoint base standby), ROWS (1000000 5000000), CHANGES (500000),
# SECONDS_EACH (30) of clients at work, SYNC (off) for their synchronous_commit, ROUNDS (3) of all that.
# What is read lies in the system's cache, as after a crash of the server alone.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(time sleep);

my @rows = split ' ', ($ENV{ROWS} || '1000000 5000000');
my $changes = $ENV{CHANGES} || 500_000;
my $rounds = $ENV{ROUNDS} || 3;
my $seconds = $ENV{SECONDS_EACH} || 30;
my $sync = $ENV{SYNC} || 'off';
my %only = map { $_ => 1 } split ' ', ($ENV{ONLY} || 'copy empty start checkpoint base standby');
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

sub read_first { my ($name) = @_; open(my $in, '<', $name) or return ''; return scalar(<$in>) // ''; }
sub postmaster { return int read_first("$data/postmaster.pid"); }
sub children_of { my ($parent) = @_; return split ' ', read_first("/proc/$parent/task/$parent/children"); }
sub command_of { my ($pid) = @_; return read_first("/proc/$pid/cmdline"); }

# Kills the postmaster and its children.  Its parent may be slow to take note of its end; until then
# files with its number would keep the next one from starting.
sub kill_all
{
	my $postmaster = postmaster();
	kill 'STOP', $postmaster; # it would end the children itself
	kill 'KILL', $postmaster, children_of($postmaster);
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
	my ($pid) = grep { command_of($_) =~ /tsurugi_fdw worker/ } children_of(postmaster());
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
	push @{ $taken{ 'empty start ' . ($with ? 'with' : 'without') . ' the library, s' } }, time - $since;
}

sub drop_table { sql($_[0] eq 'ours' ? 'DROP FOREIGN TABLE ours' : 'DROP TABLE heap'); }

# COPY, updates, and what a checkpoint leaves.
sub run
{
	my ($table, $count) = @_;
	sql($table eq 'ours' ? "CREATE FOREIGN TABLE ours $columns SERVER tsurugi" : "CREATE TABLE heap $columns");
	sql('SELECT tsurugi.write_base()');
	sql('CHECKPOINT');
	timed("COPY of $count rows, s, $table", "COPY $table FROM '$file' (FORMAT csv)");
	measure($table, 'copied', $count);
	sql('CHECKPOINT') if $table eq 'heap';
	timed("base of $count rows, s", 'SELECT tsurugi.write_base()') if $table eq 'ours';
	sql("DO \$\$ BEGIN FOR i IN 1 .. $changes LOOP UPDATE $table SET a = a + 1 WHERE id = 1 + i * 7919::bigint % $count; COMMIT; END LOOP; END \$\$");
	measure($table, 'changed', $count);
	sql('SELECT tsurugi.write_base()') if $table eq 'ours';
	sql('CHECKPOINT');
	measure($table, 'settled', $count);
	drop_table($table);
}

# --- COPY ---------------------------------------------------------------------------------------------

# What the server has used so far; processes that have ended are the postmaster's.
sub server_cpu
{
	my $postmaster = postmaster();
	my $ticks = 0;
	for my $pid ($postmaster, children_of($postmaster))
	{
		my @fields = split ' ', (split /\) /, read_first("/proc/$pid/stat"))[1] // '';
		$ticks += $fields[$_] for @fields ? (11, 12, $pid == $postmaster ? (13, 14) : ()) : ();
	}
	return $ticks / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

sub bench_copy
{
	for my $format (qw(csv text))
	{
		sql("COPY heap TO '$file' (FORMAT $format)");
		for my $way ('COPY %s FROM', '\\copy %s FROM')
		{
			for my $table (qw(heap_copy ours))
			{
				my $name = sprintf('%s of a %s in %s', $table eq 'ours' ? 'ours' : 'heap', $way =~ /^C/ ? 'file' : 'client\'s file', $format);
				sql($table eq 'ours' ? "CREATE FOREIGN TABLE ours $columns SERVER tsurugi" : "CREATE TABLE heap_copy $columns");
				my $before = server_cpu();
				timed("COPY, s, $name", sprintf("$way '$file' (FORMAT $format)", $table));
				push @{ $taken{"COPY, CPU s, $name"} }, server_cpu() - $before;
				sql($table eq 'ours' ? 'DROP FOREIGN TABLE ours' : 'DROP TABLE heap_copy');
				sql('CHECKPOINT');
			}
		}
	}
}

# --- beside clients ----------------------------------------------------------------------------------

sub write_file
{
	my ($count) = @_;
	open(my $out, '>', $file) or die;
	printf $out "%d,%d,%d,%s\n", $_, $_ % 1000, int($_ / 7), sprintf('%080d', $_ * 7919) for 1 .. $count;
	close $out or die;
}

# Makes and fills a table, and leaves nothing for a checkpoint or a base to do.
sub make_table
{
	my ($table) = @_;
	sql($table eq 'ours' ? "CREATE FOREIGN TABLE ours $columns SERVER tsurugi" : "CREATE TABLE heap $columns");
	sql($_) for "COPY $table FROM '$file' (FORMAT csv)", 'SELECT tsurugi.write_base()', "ANALYZE $table", 'CHECKPOINT';
}

# Changes of each second that 8 clients have made; the code is called when they are at work.
sub work
{
	my ($table, $beside) = @_;
	my $script = "$work/update.sql";
	my @rates;
	open(my $out, '>', $script) or die;
	print $out "\\set id random(1, $rows[0])\nUPDATE $table SET a = a + 1 WHERE id = :id;\n";
	close $out or die;
	local $ENV{PGOPTIONS} = "-c synchronous_commit=$sync";
	my $pid = open(my $pgbench, '-|', "exec pgbench -n -M prepared -c 8 -j 2 -P 1 -T $seconds -f $script 2>&1") or die;
	scalar <$pgbench> for 1 .. 2; # its version, and the first second
	$beside->();
	while (my $line = <$pgbench>)
	{
		push @rates, $1 if $line =~ /^progress: [0-9.]+ s, ([0-9.]+) tps/;
	}
	close $pgbench or die "pgbench failed\n";
	return @rates;
}

# The checkpoint is asked for, so it writes as fast as it can.
sub bench_checkpoint
{
	my ($table) = @_;
	make_table($table);
	my @rates = work($table, sub { sleep 4; sql('CHECKPOINT') });
	my $median = median(@rates);
	my ($worst) = sort { $a <=> $b } @rates;
	drop_table($table);
	push @{ $taken{"checkpoint: changes of the median second, $table"} }, $median;
	push @{ $taken{"checkpoint: changes of the worst one, of these, $table"} }, $worst / $median;
}

# Bases follow each other for the first half of the clients' time; in turns with as much time without.
sub bench_base
{
	my ($count, $taken) = (0, 0);
	my @rates = map { my $with = $_; [ work('ours', sub {
		my $since = time;
		while ($with && time - $since < $seconds / 2)
		{
			sql('SELECT tsurugi.write_base()');
			$count++;
		}
		$taken += time - $since;
	}) ] } 0, 1;
	my ($without, $with) = map { my @half = @$_; median(@half[ 0 .. int($seconds / 2) - 2 ]) } @rates;
	push @{ $taken{'base: changes a second beside bases, of those without'} }, $with / $without;
	push @{ $taken{'base: seconds that each takes'} }, $taken / $count;
}

my $standby = "$work/standby";

sub standby_sql
{
	my ($statement) = @_;
	local $ENV{PGPORT} = 5433;
	return try_sql($statement);
}

sub start_standby
{
	system("pg_basebackup -D $standby -c fast -R >/dev/null 2>&1 && echo 'port = 5433' >>$standby/postgresql.conf && " .
		"pg_ctl -D $standby -l $work/standby.log -w start >/dev/null 2>&1") == 0 or die "no standby\n";
	sleep 0.1 until (standby_sql('SELECT count(*) FROM ours') // 0) == $rows[0];
}

sub bench_standby
{
	my $behind = 0;
	my @rates = work('ours', sub {
		for (1 .. $seconds - 4)
		{
			my $ms = standby_sql('SELECT coalesce(behind_ms, 0) FROM tsurugi.durability');
			$behind = $ms if defined $ms && $ms > $behind;
			sleep 1;
		}
	});
	my $end = sql('SELECT pg_current_wal_insert_lsn()');
	my $since = time;
	sleep 0.01 until (standby_sql("SELECT applied_lsn >= '$end' FROM tsurugi.durability") // '') eq 't';
	push @{ $taken{'standby: changes a second of the primary'} }, median(@rates);
	push @{ $taken{'standby: behind its redo at most, ms'} }, $behind;
	push @{ $taken{'standby: applies the rest after the end, s'} }, time - $since;
	die "the standby has other rows\n" unless sql('SELECT count(*), sum(a) FROM ours') eq standby_sql('SELECT count(*), sum(a) FROM ours');
}

sub bench_beside
{
	write_file($rows[0]);
	for (1 .. $rounds)
	{
		next unless $only{checkpoint};
		bench_checkpoint($_) for qw(heap ours);
	}
	return unless $only{base} || $only{standby};
	make_table('ours');
	for (1 .. $rounds)
	{
		bench_base() if $only{base};
	}
	return unless $only{standby};
	start_standby();
	bench_standby() for 1 .. $rounds;
	system("pg_ctl -D $standby -m immediate -w stop >/dev/null 2>&1");
}

$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print 'settings    ', sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE name IN ('fsync', 'full_page_writes', 'shared_buffers', 'tsurugi_fdw.memory')"), "\n";
print "runs        medians of $rounds starts, $changes changes\n\n";
sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
for (1 .. $rounds)
{
	next unless $only{empty};
	empty_start($_) for 0, 1;
}
if ($only{copy})
{
	write_file($rows[0]);
	make_table('heap');
	bench_copy() for 1 .. $rounds;
	drop_table('heap');
}
for my $count ($only{start} ? @rows : ())
{
	write_file($count);
	for (1 .. $rounds)
	{
		run($_, $count) for qw(heap ours);
	}
	for my $state (qw(copied changed settled))
	{
		show("$_ $state $count") for qw(heap ours);
	}
}
bench_beside() if $only{checkpoint} || $only{base} || $only{standby};
unlink $file;
print "\n";
printf "%-58s %9.2f\n", $_, median(@{ $taken{$_} }) for sort keys %taken;

#!/usr/bin/perl
# Memory and latency while garbage is collected: called by collection.sh with a
# cluster running.  The same load on an unlogged heap table, with autovacuum as
# shipped but looking every 10 s, and on a table of ours: single-row updates by
# key, with
#
#   uniform, zipf          keys equally likely, or as 1 / rank^0.99
#   uniform-reader ...     while a REPEATABLE READ transaction keeps its snapshot
#   uniform-cursor         while a cursor is open that has read one row
#   reader, cursor         the same beside and without such a transaction in turns, in one run: throughput beside it
#                          as a part of that before and after; each turn begins when what the one before has left is collected
#   delete                 while half of the rows are deleted by one statement in mid-run
#   utilization            by two roles at once, min_mutator_utilization 0.9 and 0.5, beside that delete, with a client of each for
#                          a CPU (or half of CLIENTS); p99 of the same second are compared, because from one second to the next it
#                          moves by more
#   cost                   of the collection: its CPU time by update, as a part of all; and throughput in short windows
#                          against windows in between in which an open transaction's SERIALIZABLE snapshot holds it off
#   sparse                 what is left in use of the memory, and taken from the system, after nine of ten rows,
#                          anywhere in the table, have been deleted; heap: and VACUUM has been there
#   memory                 bytes of a row, of MEMORY_ROWS rows
#
# Memory is sampled every half second: heap, its relation and index; ours, all
# that is in use.  "most" is the most that it was, as a multiple of what the
# rows took before; a row of ours that was changed lately needs a header of 32 bytes.
#
# Throughput of the last sixth of the time is given as a part of the first's. Virtual
# machines do not run at one speed: beside each sample a fixed piece of work, some
# milliseconds of this script's own, is done, and «even» is the same ratio at equal
# speed, by the CPU time that this work took in both sixths.
#
# What is not as it should be is marked with «!», and counted at the end.
#
# Environment: SECONDS_EACH (60), WINDOW (0.7, seconds; of cost), ROWS (1000000), CLIENTS (8), MEMORY_ROWS (10000000), ONLY.
use strict;
use warnings;
use IO::Handle;
use IPC::Open2;
use Time::HiRes qw(time sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);
use POSIX qw(:sys_wait_h);

my $seconds = $ENV{SECONDS_EACH} || 60;
my $rows = $ENV{ROWS} || 1_000_000;
my $clients = $ENV{CLIENTS} || 8;
my $memory_rows = $ENV{MEMORY_ROWS} || 10_000_000;
my $window = $ENV{WINDOW} || 0.7;
my @all = qw(uniform zipf uniform-reader zipf-reader uniform-cursor reader cursor delete utilization cost sparse memory);
my %only = map { $_ => 1 } split ' ', ($ENV{ONLY} || join ' ', @all);
my $work = $ENV{TG_WORK} or die "to be run by collection.sh\n";
my %server = (heap => 'UNLOGGED TABLE', ours => 'FOREIGN TABLE');

my $missed = 0;

# A figure of ours, and whether it is as it should be: "<=" or ">=" a target.
sub judged
{
	my ($text, $figure, $relation, $target) = @_;
	return $text if $relation eq '<=' ? $figure <= $target : $figure >= $target;
	$missed++;
	return "$text !";
}

sub sql
{
	my ($statement) = @_;
	open(my $psql, '-|', 'psql', '-XAtqv', 'ON_ERROR_STOP=1', '-c', $statement) or die;
	my $answer = join '', <$psql>;
	close $psql or die "failed: $statement\n";
	chomp $answer;
	return $answer;
}

sub write_file
{
	my ($name, $text) = @_;
	open(my $out, '>', "$work/$name") or die;
	print $out $text;
	close $out or die;
	return "$work/$name";
}

# pgbench's own Zipf distribution wants an exponent above 1: this inverts the
# continuous one of 0.99.
my $update = "UPDATE item SET a = a + 1 WHERE id = :id;\n";
my %script = (
	uniform => write_file('uniform.sql', "\\set id random(1, :rows)\n$update"),
	zipf => write_file('zipf.sql',
		"\\set u random(0, 999999999)\n\\set id greatest(1, least(:rows, int(pow((pow(:rows, 0.01) - 1) * :u / 1000000000.0 + 1, 100))))\n$update"));

sub make_table
{
	my ($schema, $count) = @_;
	my $foreign = $schema eq 'ours' ? 'SERVER tsurugi' : '';

	sql("CREATE $server{$schema} $schema.item (id bigint PRIMARY KEY, a int, b int, c text) $foreign");
	sql("INSERT INTO $schema.item SELECT i, i % 1000, i / 7, left(repeat(md5(i::text), 3), 80) FROM generate_series(1, $count) i");
	sql($schema eq 'heap' ? "VACUUM ANALYZE $schema.item" : "ANALYZE $schema.item");
	sleep 4 if $schema eq 'ours'; # version headers go
	return bytes($schema);
}

sub drop_table { my ($schema) = @_; sql($schema eq 'ours' ? 'DROP FOREIGN TABLE ours.item' : 'DROP TABLE heap.item'); }

sub bytes
{
	my ($schema) = @_;
	return sql("SELECT pg_relation_size('heap.item') + pg_relation_size('heap.item_pkey')") if $schema eq 'heap';
	return sql("SELECT sum(bytes) FROM tsurugi.memory_uses WHERE use NOT IN ('jobs', 'runtime')");
}

# Starts a command; waits for it by finish().
sub start
{
	my (@command) = @_;
	my $pid = fork // die;
	return $pid if $pid;
	open(STDOUT, '>', '/dev/null');
	exec @command or die;
}

sub finish { waitpid($_[0], 0); }

# Options: role; length in seconds; told => file: each second's rate goes there, instead of a log of each transaction.
sub start_pgbench
{
	my ($schema, $keys, $count, $name, %option) = @_;
	unlink glob "$work/log_$name.*";
	local $ENV{PGOPTIONS} = "-c search_path=$schema,public";
	local $ENV{PGUSER} = $option{role} if defined $option{role};
	my @command = ('pgbench', '-n', '-M', 'prepared', '-c', $count, '-j', 2, '-T', $option{length} // $seconds, '-D', "rows=$rows", '-f', $script{$keys});
	return start('sh', '-c', 'exec "$@" 2>"$0"', $option{told}, @command, '-P', 1, '--progress-timestamp', 'postgres') if $option{told};
	return start(@command, '-l', '--log-prefix', "$work/log_$name", 'postgres');
}

# What pgbench has logged: [end in s, latency in us] by transaction.
sub logged
{
	my ($name) = @_;
	my @all;
	for my $file (glob "$work/log_$name.*")
	{
		open(my $in, '<', $file) or die;
		while (<$in>) { my @f = split ' '; push @all, [ $f[4] + $f[5] / 1e6, $f[2] ]; }
	}
	unlink glob "$work/log_$name.*";
	die "nothing was logged\n" unless @all;
	return sort { $a->[0] <=> $b->[0] } @all;
}

sub percentile { my ($share, @times) = @_; my @sorted = sort { $a <=> $b } @times; return $sorted[ int($share * $#sorted) ]; }

sub rate_between { my ($from, $to, @log) = @_; return grep({ $_->[0] >= $from && $_->[0] < $to } @log) / ($to - $from); }

# CPU seconds for a fixed piece of work: steps through a few megabytes in no order.
my @steps = map { $_ * 7919 % 300007 } 0 .. 300006;

sub fixed_work
{
	my $began = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
	my $at = 1;

	$at = ($steps[$at] * 31 + $_) % 300007 for 1 .. 40000;
	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $began;
}

sub mean_between
{
	my ($from, $to, @samples) = @_;
	my @within = map { $_->[1] } grep { $_->[0] >= $from && $_->[0] < $to } @samples;
	my $sum = 0;

	$sum += $_ for @within;
	return @within ? $sum / @within : 1;
}

# Runs the load with something beside it; samples memory and the machine's speed.
sub load
{
	my ($schema, $keys, $beside, $at) = @_;
	my $before = make_table($schema, $rows);
	my @beside = $beside && !$at ? (start(@$beside)) : ();
	sleep 1 if @beside;
	my $began = time;
	my $pid = start_pgbench($schema, $keys, $clients, $schema);
	my ($most, $delete_began, $delete_ended) = (0);
	my @works;
	while (waitpid($pid, WNOHANG) == 0)
	{
		my $now = bytes($schema);
		$most = $now if $now > $most;
		push @works, [ time, fixed_work() ];
		if ($at && !$delete_began && time - $began > $at)
		{
			$delete_began = time;
			push @beside, start(@$beside);
		}
		sleep 0.5;
	}
	my @log = logged($schema);
	my $held = $schema eq 'ours' ? sql('SELECT versions_held FROM tsurugi.collector') : '';
	finish($_) for @beside;
	drop_table($schema);
	my $first = $log[0][0];
	my $last = $log[-1][0];
	my $sixth = ($last - $first) / 6;
	my $kept = rate_between($last - $sixth, $last, @log) / (rate_between($first, $first + $sixth, @log) || 1);
	my $slower = mean_between($last - $sixth, $last, @works) / mean_between($first, $first + $sixth, @works);
	return {rate => @log / ($last - $first), most => $most / $before, held => $held, log => \@log, delete => $delete_began,
		kept => $kept, even => $kept * $slower};
}

sub row { printf "%-16s %-6s %10s %12s %8s %10s %16s\n", @_; }

my $hold = $seconds + 5;

sub beside
{
	my ($schema, $what) = @_;
	return undef unless $what;
	my $table = "$schema.item";
	return ['psql', '-Xq', '-c', "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM (SELECT FROM $table LIMIT 1) x; SELECT pg_sleep($hold); COMMIT"]
		if $what eq 'reader';
	return ['psql', '-Xq', '-c', "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $table ORDER BY id; FETCH 1 FROM c; SELECT pg_sleep($hold); COMMIT"]
		if $what eq 'cursor';
	return ['psql', '-Xq', '-c', "DELETE FROM $table WHERE id % 2 = 0"];
}

sub bench_load
{
	my ($name) = @_;
	my ($keys, $what) = split /-/, $name;
	for my $schema (qw(heap ours))
	{
		my $r = load($schema, $keys, beside($schema, $what));
		my @figures = map { sprintf '%.2f', $_ } @$r{qw(kept even most)};
		my $versions = '';
		if ($schema eq 'ours')
		{
			# beside a snapshot memory is what it keeps: that has a target of its own
			$figures[1] = judged($figures[1], $r->{even}, '>=', 0.95);
			$figures[2] = judged($figures[2], $r->{most}, '<=', 1.3) unless $what;
			$versions = judged(sprintf('%.2f', 1 + $r->{held} / $rows), 1 + $r->{held} / $rows, '<=', 2);
		}
		row($name, $schema, sprintf('%.0f', $r->{rate}), @figures, $versions);
	}
}

# p99 in the seconds after the delete has begun, against that of the seconds before.
sub bench_delete
{
	for my $schema (qw(heap ours))
	{
		my $r = load($schema, 'uniform', beside($schema, 'delete'), $seconds / 3);
		my @before = map { $_->[1] } grep { $_->[0] < $r->{delete} } @{ $r->{log} };
		my @after = map { $_->[1] } grep { $_->[0] >= $r->{delete} && $_->[0] < $r->{delete} + $seconds / 3 } @{ $r->{log} };
		my $times = percentile(0.99, @after) / percentile(0.99, @before);
		printf "%-22s %-6s p99 %.0f us before, %.0f us beside the delete and its collection: %s times%s; p50 %.0f, %.0f\n",
			'delete', $schema, percentile(0.99, @before), percentile(0.99, @after),
			$schema eq 'ours' ? judged(sprintf('%.2f', $times), $times, '<=', 1.5) : sprintf('%.2f', $times),
			$schema eq 'ours' ? ' (target <= 1.50)' : '', percentile(0.5, @before), percentile(0.5, @after);
	}
}

# --- beside a snapshot ----------------------------------------------------------

# A psql that stays: one statement at a time, its answer back.
sub talk
{
	my $pid = open2(my $from, my $to, 'psql', '-XAtq');
	return {pid => $pid, to => $to, from => $from};
}

sub ask
{
	my ($psql, $statement) = @_;
	my @answer;
	print { $psql->{to} } "$statement;\n\\echo answered\n";
	$psql->{to}->flush;
	while (defined(my $line = readline $psql->{from}))
	{
		return join "\n", @answer if $line eq "answered\n";
		chomp $line;
		push @answer, $line;
	}
	die "no answer: $statement\n";
}

sub hang_up { for (@_) { close $_->{to}; finish($_->{pid}); } }

# Seconds that the threads of these processes have been on a CPU.
sub cpu_of
{
	my $sum = 0;
	for my $file (map { glob "/proc/$_/task/*/schedstat" } @_)
	{
		open(my $in, '<', $file) or next;
		$sum += (split ' ', <$in>)[0];
	}
	return $sum / 1e9;
}

sub sorted_at { my ($share, @values) = @_; my @sorted = sort { $a <=> $b } @values; return $sorted[ int($share * $#sorted + 0.5) ]; }

# The worker, which is a child of the same process as any backend.
sub pool_process
{
	my ($backend) = @_;
	my $postmaster = `ps -o ppid= -p $backend` + 0;

	return map { /^\s*(\d+) .*tsurugi_fdw worker/ ? $1 : () } `ps -o pid=,args= --ppid $postmaster`;
}

# Whose CPU time is looked at.
sub pids_of
{
	my ($psql, $pgbench) = @_;
	return {
		pool => [ pool_process(ask($psql, 'SELECT pg_backend_pid()')) ],
		backends => [ split /\n/, ask($psql, "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'") ],
		client => [$pgbench]};
}

# Mean of the seconds that lie within a turn.
sub rate_told
{
	my ($turn, @told) = @_;
	my @within = map { $_->[1] } grep { $_->[0] - 1 >= $turn->[0] && $_->[0] <= $turn->[1] } @told;
	my $sum = 0;

	$sum += $_ for @within;
	return $sum / (@within || die "a turn is too short\n");
}

# Without, beside, without, beside, without ...
sub bench_beside
{
	my ($name) = @_;
	my $turn = $seconds / 3 > 4 ? $seconds / 3 : 4;
	my $turns = 5;

	for my $schema (qw(heap ours))
	{
		make_table($schema, $rows);
		my $holder = talk();
		my $pgbench = start_pgbench($schema, 'uniform', $clients, 'beside', told => "$work/told", length => int($turns * ($turn + 8)));
		my (@turns, $piled);
		sleep 2;
		my $pids = pids_of($holder, $pgbench);
		for my $number (0 .. $turns - 1)
		{
			if ($number % 2)
			{
				ask($holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM (SELECT FROM $schema.item LIMIT 1) x") if $name eq 'reader';
				ask($holder, "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $schema.item ORDER BY id; FETCH 1 FROM c") if $name eq 'cursor';
			}
			my ($from, %spent) = (time, map { $_ => -cpu_of(@{ $pids->{$_} }) } keys %$pids);
			sleep $turn;
			$spent{$_} += cpu_of(@{ $pids->{$_} }) for keys %spent;
			push @turns, [ $from, time, \%spent ];
			$piled = ask($holder, 'SELECT versions_held FROM tsurugi.collector') if $number % 2 && $schema eq 'ours';
			ask($holder, 'COMMIT') if $number % 2;
			my $ends = time + 6;
			if ($number % 2 && $schema eq 'ours') { sleep 0.1 while time < $ends && ask($holder, 'SELECT versions_held + logs_waiting FROM tsurugi.collector') > $rows / 50; }
		}
		kill TERM => $pgbench;
		finish($pgbench);
		hang_up($holder);
		drop_table($schema);
		open(my $in, '<', "$work/told") or die;
		my @told = map { /^progress: ([\d.]+) s, ([\d.]+) tps/ ? [ $1, $2 ] : () } <$in>;
		my @rates = map { rate_told($_, @told) } @turns;
		my @parts = map { 2 * $rates[$_] / ($rates[ $_ - 1 ] + $rates[ $_ + 1 ]) } grep { $_ % 2 } 0 .. $#rates;
		my ($mean, @cost) = (0);
		$mean += $_ / @parts for @parts;
		for my $number (0 .. $#turns)
		{
			my $updates = $rates[$number] * ($turns[$number][1] - $turns[$number][0]);
			$cost[ $number % 2 ]{$_} += 1e6 * $turns[$number][2]{$_} / $updates / (int(@turns / 2) + ($number + 1) % 2) for keys %{ $turns[$number][2] };
		}
		printf "%-22s %-6s %.0f updates/s without, beside it %s of that%s; turns of %.0f s: %s%s\n", $name, $schema, $rates[0],
			$schema eq 'ours' ? judged(sprintf('%.2f', $mean), $mean, '>=', 0.9) : sprintf('%.2f', $mean),
			$schema eq 'ours' ? ' (target >= 0.90)' : '', $turn, join(', ', map { sprintf '%.0f', $_ } @rates),
			$schema eq 'ours' ? sprintf('; %.2f versions a row at the end', 1 + $piled / $rows) : '';
		printf "%-22s %-6s CPU us an update, without and beside it: %s\n", '', $schema,
			join ', ', map { sprintf '%s %.2f and %.2f', $_, $cost[0]{$_} // 0, $cost[1]{$_} // 0 } qw(client backends pool);
	}
}

sub bench_utilization
{
	make_table('ours', $rows);
	for my $role ([ 'latency', 0.9 ], [ 'batch', 0.5 ])
	{
		sql("CREATE ROLE $role->[0] LOGIN; GRANT USAGE ON SCHEMA ours TO $role->[0]; GRANT SELECT, UPDATE ON ours.item TO $role->[0]; "
			. "ALTER ROLE $role->[0] SET tsurugi_fdw.min_mutator_utilization = $role->[1]");
	}
	# one of each role for a CPU: of more the slowest ones are those that waited for a CPU, longer than any tax takes
	chomp(my $each = $ENV{CLIENTS} ? int($ENV{CLIENTS} / 2) || 1 : `nproc`);
	my @pids = map { start_pgbench('ours', 'uniform', $each, $_, role => $_) } qw(latency batch);
	sleep $seconds / 3;
	my $delete = start(@{ beside('ours', 'delete') });
	sleep $seconds / 2;
	my %pays = map { split /\|/ } split /\n/, sql('SELECT role, round((sum(paid_us) / sum(ran_us))::numeric, 2) FROM tsurugi.taxes GROUP BY role HAVING sum(ran_us) > 0');
	finish($_) for @pids, $delete;
	my %seconds;
	for my $role (qw(batch latency))
	{
		my @log = logged($role);
		push @{ $seconds{$role}{ int $_->[0] } }, $_->[1] for @log;
		printf "%-22s %-6s %.0f/s, p50 %.0f us, p99 %.0f us, p99.9 %.0f us; pays %s of its running time\n", 'utilization',
			$role eq 'latency' ? '0.9' : '0.5', @log / $seconds,
			map({ my $share = $_; percentile($share, map { $_->[1] } @log) } 0.5, 0.99, 0.999), $pays{$role} // 'nothing';
	}
	my @both = grep { $seconds{latency}{$_} } keys %{ $seconds{batch} };
	my @parts = map { percentile(0.99, @{ $seconds{latency}{$_} }) / percentile(0.99, @{ $seconds{batch}{$_} }) } @both;
	my $part = sorted_at(0.5, @parts);
	printf "%-22s p99 with 0.9 of that with 0.5, second by second: median %s (target <= 1.00; quartiles %.2f, %.2f), lower in %d of %d\n", '',
		judged(sprintf('%.2f', $part), $part, '<=', 1), map({ sorted_at($_, @parts) } 0.25, 0.75), scalar grep({ $_ < 1 } @parts), scalar @parts;
	drop_table('ours');
}

# --- the cost -----------------------------------------------------------------

# What there is of updates and CPU time by now.
sub meter
{
	my ($psql, $pids) = @_;
	my ($commits, $sessions) = split /\|/, ask($psql, 'SELECT r.commits, c.sessions_cpu_us FROM tsurugi.runtime r, tsurugi.collector c');
	return {at => time, updates => $commits, sessions => $sessions / 1e6, pool => cpu_of(@{ $pids->{pool} }),
		all => cpu_of(map { @$_ } values %$pids)};
}

# Runs on for a while; by update, in us: time, CPU of everybody, of the collection.
sub window
{
	my ($psql, $pids, $length) = @_;
	my $from = meter($psql, $pids);
	sleep $length;
	my $to = meter($psql, $pids);
	my %spent = map { $_ => 1e6 * ($to->{$_} - $from->{$_}) / (($to->{updates} - $from->{updates}) || 1) } qw(at all pool sessions);
	$spent{collection} = $spent{pool} + $spent{sessions};
	return \%spent;
}

# While a SERIALIZABLE transaction is open nothing that has ended since goes: no collection, but more
# memory.  What has been put off so is collected before the next pair of windows is measured, and counts for neither.
sub bench_cost
{
	make_table('ours', $rows);
	my ($meter, $holder) = (talk(), talk());
	my $pgbench = start_pgbench('ours', 'uniform', $clients, 'cost', told => '/dev/null');
	sleep 2;
	my $pids = pids_of($meter, $pgbench);
	my $ends = time + $seconds - 4;
	my (@on, @off, @ratios);
	while (time < $ends)
	{
		my $on = window($meter, $pids, $window);
		ask($holder, 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT a FROM ours.item WHERE id = 1');
		sleep 0.05;
		my $off = window($meter, $pids, $window);
		my $piled = ask($meter, 'SELECT logs_waiting FROM tsurugi.collector');
		ask($holder, 'COMMIT');
		while (time < $ends && ask($meter, 'SELECT logs_waiting FROM tsurugi.collector') > $piled / 10) { sleep 0.05; }
		sleep 0.1;
		# each window without it against those before it and after it
		push @ratios, 1 - 2 * $off[-1]{at} / ($on[-1]{at} + $on->{at}) if @on;
		push @on, $on;
		push @off, $off;
	}
	finish($pgbench);
	hang_up($meter, $holder);
	drop_table('ours');
	my %median = map { my $what = $_; ($what => sorted_at(0.5, map { $_->{$what} } @on)) } qw(at all pool sessions collection);
	my @shares = map { 100 * $_->{collection} / $_->{all} } @on;
	printf "%-22s %d windows of %.1f s each way, %.0f updates/s, %.2f CPUs busy\n", 'cost', scalar @on, $window, 1e6 / $median{at},
		$median{all} / $median{at};
	printf "%-22s CPU of the collection, us an update: %.2f of %.2f (server and client): median %s %% (quartiles %.1f, %.1f; target <= 10); pool %.2f, sessions %.2f; held off %.2f\n",
		'', $median{collection}, $median{all}, judged(sprintf('%.1f', sorted_at(0.5, @shares)), sorted_at(0.5, @shares), '<=', 10),
		map({ sorted_at($_, @shares) } 0.25, 0.75), $median{pool}, $median{sessions},
		sorted_at(0.5, map { $_->{collection} } @off);
	printf "%-22s throughput lost beside windows without it: median %.1f %% (quartiles %.1f, %.1f)\n", '',
		map { 100 * sorted_at($_, @ratios) } 0.5, 0.25, 0.75;
}

# What the rows that are left would take alone, then what they take.
sub bench_sparse
{
	for my $schema (qw(heap ours))
	{
		my $alone = make_table($schema, int($rows / 10));
		drop_table($schema);
		my $start = $schema eq 'ours' ? sql('SELECT committed FROM tsurugi.memory') : 0;
		my $before = make_table($schema, $rows);
		my $taken_before = $schema eq 'ours' ? sql('SELECT committed FROM tsurugi.memory') - $start : $before;
		sql("DELETE FROM $schema.item WHERE abs(hashint8(id)::bigint) % 10 <> 0");
		my $began = time;
		my ($after, $since) = (bytes($schema), time);
		if ($schema eq 'heap')
		{
			sql("VACUUM $schema.item");
			$after = bytes($schema);
		}
		# until nothing has gone for some sweeps
		while ($schema eq 'ours' && time - $since < 5)
		{
			my $now = bytes($schema);
			($after, $since) = ($now, time) if $now != $after;
			sleep 0.2;
		}
		my $taken = $schema eq 'ours' ? sql('SELECT committed FROM tsurugi.memory') - $start : $after;
		printf "%-22s %-6s %.1f MB before, %.1f after, %.2f times what its rows take alone; of the system %.1f, then %.1f MB%s\n",
			'sparse', $schema, $before / 1e6, $after / 1e6, $after / $alone, $taken_before / 1e6, $taken / 1e6,
			$schema eq 'ours' ? sprintf(', after %.1f s', $since - $began) : '';
		drop_table($schema);
	}
}

sub bench_memory
{
	my %bytes = map { my $bytes = make_table($_, $memory_rows); drop_table($_); ($_ => $bytes / $memory_rows) } qw(heap ours);
	my $part = $bytes{ours} / $bytes{heap};
	printf "%-22s %d rows: heap and its key %.1f bytes a row, ours %.1f: %s (target <= 1.00)\n", 'memory', $memory_rows,
		$bytes{heap}, $bytes{ours}, judged(sprintf('%.2f', $part), $part, '<=', 1);
}

$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print 'server      ', sql('SELECT version()'), "\n";
print "machine     ", `nproc` =~ s/\n//r, " CPUs\n";
print "runs        $seconds s each, $rows rows of (bigint, int, int, text(80)), $clients clients, prepared single-row updates by key\n\n";
sql('CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (persistence 'unlogged'); CREATE SCHEMA heap; CREATE SCHEMA ours');

row('', '', 'updates/s', 'last/first', 'even', 'memory', 'versions a row');
row('  (target)', '', '', '', '>= 0.95', '<= 1.30', '<= 2');
my $failed = 0;
for my $name (@all)
{
	next unless $only{$name};
	my $code = {reader => \&bench_beside, cursor => \&bench_beside, delete => \&bench_delete, utilization => \&bench_utilization, cost => \&bench_cost, sparse => \&bench_sparse, memory => \&bench_memory}->{$name} // \&bench_load;
	next if eval { $code->($name); 1 };
	print "$name: not measured: $@";
	$failed = 1;
	eval { drop_table($_) } for qw(heap ours);
}
print $missed ? "\n$missed not as they should be: marked with !\n" : "\nall as they should be\n" unless $failed;
exit $failed;

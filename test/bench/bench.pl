#!/usr/bin/perl
# The benchmark proper: called by run.sh with a cluster running (PGHOST is set).
# Heap and ours take turns in every round; medians and ratios are
# printed.  "CPU" is the time of all of the server's processes per statement.
#
# Environment: PERSISTENCE of both kinds of tables: unlogged or logged (unlogged), ROUNDS, SECONDS_EACH, ROWS (of the tables read), COPY_ROWS, SCALE (pgbench),
# ONLY (names of parts: point update upsert index gin space both insert tpcb copy fill join scan memory
# serializable hot levels long long_ranges; logged: commit, too), GIN_ROWS (200000) of part gin, SPACE_ROWS (1000000) of part space, BOTH_ROWS (1000000) of part both, CONTRACTS (30000) and CLIENTS (4) of part long.
use strict;
use warnings;
use File::Basename;
use Time::HiRes qw(time sleep);

my $here = dirname(__FILE__);
my $rounds = $ENV{ROUNDS} || 5;
my $seconds = $ENV{SECONDS_EACH} || 4;
my $rows = $ENV{ROWS} || 1_000_000;
my $copy_rows = $ENV{COPY_ROWS} || 1_000_000;
my $scale = $ENV{SCALE} || 10;
my $persistence = $ENV{PERSISTENCE} || 'unlogged';
my $kept = $persistence eq 'unlogged' ? 'UNLOGGED' : '';
my %only = map { $_ => 1 } split ' ', ($ENV{ONLY} || 'point update upsert index gin space both insert tpcb copy fill join scan memory serializable hot levels long long_ranges' . ($persistence eq 'logged' ? ' commit' : ''));
my $work = $ENV{TG_WORK} or die "to be run by run.sh\n";
my $ticks_per_second = 0 + `getconf CLK_TCK`;
my $postmaster = (read_lines("$work/data/postmaster.pid"))[0];
my $bytes_in_use = 'SELECT sum(bytes) FROM tsurugi.memory_uses';

sub read_lines { my ($file) = @_; open(my $in, '<', $file) or return; my @lines = <$in>; chomp @lines; return @lines; }

sub sql
{
	my ($statement) = @_;
	open(my $psql, '-|', 'psql', '-XAtqv', 'ON_ERROR_STOP=1', '-c', $statement) or die;
	my $answer = join '', <$psql>;
	close $psql or die "failed: $statement\n";
	chomp $answer;
	return $answer;
}

my ($all_cpus) = map { /^Cpus_allowed_list:\s*(\S+)/ ? $1 : () } read_lines("/proc/$postmaster/status");

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $middle = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$middle] : ($sorted[ $middle - 1 ] + $sorted[$middle]) / 2;
}

# utime and stime; cutime and cstime, of children that have ended.
sub cpu_of
{
	my ($pid, $with_children) = @_;
	my ($line) = read_lines("/proc/$pid/stat") or return 0;
	$line =~ s/^.*\) //;
	my @field = split ' ', $line;
	return $field[11] + $field[12] + ($with_children ? $field[13] + $field[14] : 0);
}

sub children { return map { split ' ' } read_lines("/proc/$postmaster/task/$postmaster/children"); }

# Seconds of CPU that the server has used so far: of all processes, living and ended.
sub server_cpu
{
	# the backends of a run that is over are counted once the postmaster has reaped them
	sleep 0.3;
	my $ticks = cpu_of($postmaster, 1);
	$ticks += cpu_of($_, 0) for children();
	return $ticks / $ticks_per_second;
}

sub bind_postmaster { system("taskset -cp $_[0] $postmaster >/dev/null") == 0 or die "taskset failed\n"; }

# Of the transactions of pgbench's runs.
our $level = 'read committed';
our $synchronous = 'on';

# Starts a pgbench; a handle to read what it says.
sub start_pgbench
{
	my ($schema, $clients, $name, $pin, @options) = @_;
	local $ENV{PGOPTIONS} = "-c search_path=$schema,public -c synchronous_commit=$synchronous -c default_transaction_isolation=" . $level =~ s/ /\\ /r;
	local $ENV{PGAPPNAME} = $name;
	my $threads = $clients < 2 ? 1 : 2;
	open(my $out, '-|', "$pin pgbench -n -M prepared --max-tries=1000 -c $clients -j $threads -T $seconds @options postgres 2>&1") or die;
	return $out;
}

# Transactions per second, and how many there were.
sub finish_pgbench
{
	my ($out) = @_;
	my $output = join '', <$out>;
	close $out;
	my ($rate) = $output =~ /^tps = ([\d.]+)/m;
	my ($count) = $output =~ /transactions actually processed: (\d+)/;
	my ($failed) = $output =~ /^number of failed transactions: (\d+)/m;
	die "pgbench failed:\n$output" unless $? == 0 && $rate && $count && !$failed;
	return ($rate, $count);
}

# A pgbench of one client for each of that many CPUs, where its backend runs, too: they take turns.  Left to itself
# the system puts client and backend together or apart, and what is measured is how it wakes another CPU.
sub run_pairs
{
	my ($schema, $clients, @options) = @_;
	bind_postmaster('0');
	my @out = map { start_pgbench($schema, 1, "pair_$_", "taskset -c $_", @options) } 0 .. $clients - 1;
	if ($clients > 1)
	{
		sleep 0.15;
		for (split ' ', sql(q{SELECT pid || '/' || substr(application_name, 6) FROM pg_stat_activity WHERE application_name LIKE 'pair\_%'}))
		{
			my ($pid, $on) = split '/';
			system("taskset -cp $on $pid >/dev/null") == 0 or die "taskset failed\n";
		}
	}
	my ($rate, $count) = (0, 0);
	for my $out (@out)
	{
		my @figures = finish_pgbench($out);
		$rate += $figures[0];
		$count += $figures[1];
	}
	bind_postmaster($all_cpus);
	return ($rate, $count);
}

sub log_position { return sql("SELECT pg_current_wal_insert_lsn() - '0/0'"); }

# One run of pgbench: transactions per second, CPU in microseconds and bytes of log per transaction.
# What cannot be serialized is tried again.
sub pgbench
{
	my ($schema, $clients, @options) = @_;
	my $pairs = $clients <= 2 && $clients <= `nproc`;
	my $cpu = server_cpu();
	my $position = log_position();
	my ($rate, $count) = $pairs ? run_pairs(@_) : finish_pgbench(start_pgbench($schema, $clients, 'pgbench', '', @options));
	return ($rate, (server_cpu() - $cpu) / $count * 1e6, (log_position() - $position) / $count);
}

# Rounds of runs that take turns: sides are [name, code returning (value, cpu, bytes of log)].
sub compare
{
	my (@sides) = @_;
	my (%value, %cpu, %bytes);
	for my $round (1 .. $rounds)
	{
		# who begins changes
		for my $side ($round % 2 ? @sides : reverse @sides)
		{
			my ($value, $cpu, $bytes) = $side->[1]->();
			push @{ $value{ $side->[0] } }, $value;
			push @{ $bytes{ $side->[0] } }, $bytes if defined $bytes;
			push @{ $cpu{ $side->[0] } }, $cpu if defined $cpu;
		}
	}
	return map { my $of = $_; +{ map { $_ => median(@{ $of->{$_} }) } keys %$of } } \%value, \%cpu, \%bytes;
}

sub row { printf "%-26s %12s %12s %12s   %s\n", @_; }

sub show_rates
{
	my ($name, $rate, $cpu, $target) = @_;
	my @ratios = sprintf('%.2f of heap', $rate->{ours} / $rate->{heap});
	push @ratios, sprintf('%.2f of SELECT 1', $rate->{ours} / $rate->{select1}) if $rate->{select1};
	row("$name, 1/s", (map { defined $_ ? sprintf('%.0f', $_) : '' } @$rate{qw(select1 heap ours)}),
		join(', ', @ratios) . ($target->[0] ? "  (target $target->[0])" : ''));
	row("    CPU, us", (map { defined $_ ? sprintf('%.1f', $_) : '' } @$cpu{qw(select1 heap ours)}),
		sprintf('%.2f of heap', $cpu->{ours} / $cpu->{heap}) . ($target->[1] ? "  (target $target->[1])" : ''));
}

sub show_times
{
	my ($name, $time, $target) = @_;
	row("$name, ms", '', (map { sprintf('%.0f', $_ * 1000) } @$time{qw(heap ours)}),
		sprintf('%.2f times as fast', $time->{heap} / $time->{ours}) . "  (target $target)");
}

# One of the files that make tables, in both schemas.
sub run_file
{
	my ($name, @variables) = @_;
	system('psql', '-Xq', '-v', "kept=$kept", '-v', "persistence=$persistence", @variables, '-f', "$here/$name.sql") == 0 or die "$name.sql failed\n";
}

sub script { return ("-f $here/statements/$_[0].sql", "-D rows=$rows"); }

sub timed { my ($code) = @_; my $start = time; $code->(); return time - $start; }

sub bench_point
{
	for my $clients (1, 2, 8)
	{
		my ($rate, $cpu) = compare(
			[ select1 => sub { pgbench('heap', $clients, script('select1')) } ],
			[ heap => sub { pgbench('heap', $clients, script('point')) } ],
			[ ours => sub { pgbench('ours', $clients, script('point')) } ]);
		show_rates("point SELECT, $clients clients", $rate, $cpu, [ '>= 1.40, >= 0.85', '<= 0.70' ]);
	}
}

sub bench_update
{
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, $clients, script('update')) } ] } qw(heap ours));
		show_rates("UPDATE, $clients clients", $rate, $cpu, ['>= 1.50']);
	}
}

# ON CONFLICT DO UPDATE of rows that are there.
sub bench_upsert
{
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, $clients, script('upsert')) } ] } qw(heap ours));
		show_rates("ON CONFLICT, $clients clients", $rate, $cpu, ['>= 1.30']);
	}
}

# Secondary keys: one row by a unique one, 100 rows by another, what either finds, and making an index.
sub bench_index
{
	for my $line ([ 'index_point', 'by unique key' ], [ 'index_range', '100 rows by key' ], [ 'index_or', '1 OR 10 rows by two keys' ])
	{
		my ($statement, $name) = @$line;
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, 1, script($statement)) } ] } qw(heap ours));
		show_rates("$name, 1 client", $rate, $cpu, ['>= 1.30']);
	}
	for my $line ([ 's', 'INDEX' ], [ 'k', 'UNIQUE INDEX' ])
	{
		my ($column, $kind) = @$line;
		my ($time) = compare(map { my $schema = $_;
				[ $schema => sub {
					my $time = timed(sub { sql("CREATE $kind made ON $schema.keyed ($column)") });
					sql("DROP INDEX $schema.made");
					return $time } ] } qw(heap ours));
		show_times("CREATE $kind", $time, '>= 2.00');
	}
}

# Documents found by a key that ten of them have, of three operator classes; indexes made; documents added.
sub bench_gin
{
	my $documents = $ENV{GIN_ROWS} || 200_000;
	my @keys = ('-D keys=' . int($documents / 10));

	run_file('gin', '-v', "rows=$documents", '-v', 'keys=' . int($documents / 10));
	for my $line ([ 'j', 'jsonb' ], [ 'tags', 'int[]' ], [ 'v', 'tsvector' ])
	{
		my ($column, $type) = @$line;
		my ($time) = compare(map { my $schema = $_;
				[ $schema => sub {
					sql("SET client_min_messages = warning; DROP INDEX IF EXISTS $schema.doc_$column");
					timed(sub { sql("CREATE INDEX doc_$column ON $schema.doc USING gin ($column)") }) } ] } qw(heap ours));
		show_times("CREATE INDEX, gin ($type)", $time, '>= 1.00');
	}
	sql('VACUUM ANALYZE heap.doc');
	sql('ANALYZE ours.doc');
	for my $line ([ 'gin_jsonb', 'jsonb @>' ], [ 'gin_array', 'int[] &&' ], [ 'gin_text', 'tsvector @@' ])
	{
		my ($statement, $name) = @$line;
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, 1, script($statement), @keys) } ] } qw(heap ours));
		show_rates("gin, $name, 1 client", $rate, $cpu, ['>= 1.00']);
	}
	my $add = sub {
		my ($schema) = @_;
		sql("TRUNCATE $schema.fresh");
		return pgbench($schema, 1, script('gin_insert'), @keys, '-D n=0', '-D first=0');
	};
	for my $line ([ 'heap', 'INSERT, 3 gin' ], [ 'at_once', '  without a pending list' ])
	{
		my ($heap, $name) = @$line;
		my ($rate, $cpu) = compare([ heap => sub { $add->($heap) } ], [ ours => sub { $add->('ours') } ]);
		show_rates($name, $rate, $cpu, ['>= 1.00']);
	}
	sql("TRUNCATE $_.fresh") for qw(heap at_once ours);
}

# What lies in a square, of points and of boxes, by indexes USING gist: next to nothing, a hundred rows, nine hundred; and what is nearest.
sub bench_space
{
	my $places = $ENV{SPACE_ROWS} || 1_000_000;

	run_file('space', '-o', '/dev/null', '-v', "rows=$places");
	for my $line ([ 'p', 'point' ], [ 'b', 'box' ])
	{
		my ($column, $type) = @$line;
		my ($time) = compare(map { my $schema = $_;
				[ $schema => sub {
					sql("SET client_min_messages = warning; DROP INDEX IF EXISTS $schema.place_$column");
					timed(sub { sql("CREATE INDEX place_$column ON $schema.place USING gist ($column)") }) } ] } qw(heap ours));
		show_times("CREATE INDEX, gist ($type)", $time, '>= 1.00');
	}
	sql('VACUUM ANALYZE heap.place');
	sql('ANALYZE ours.place');
	for my $line ([ 'space_point', 'point <@' ], [ 'space_box', 'box &&' ])
	{
		my ($statement, $name) = @$line;
		for my $side (0.5, 10, 30)
		{
			my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, 1, script($statement), "-D side=$side") } ] } qw(heap ours));
			show_rates("gist, $name a square of $side, 1 client", $rate, $cpu, ['>= 1.00']);
		}
	}
	for my $line ([ 'p', 'points' ], [ 'b', 'boxes' ])
	{
		my ($column, $name) = @$line;
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, 1, script("space_nearest_$column")) } ] } qw(heap ours));
		show_rates("gist, the 10 nearest $name, 1 client", $rate, $cpu, ['>= 1.00']);
	}
}

# What two or three conditions leave that each have an index, which has a hundredth or a twentieth of the rows.
sub bench_both
{
	my $items = $ENV{BOTH_ROWS} || 1_000_000;

	run_file('both', '-v', "rows=$items");
	for my $line ([ 'both_100', '1 % AND 1 %' ], [ 'both_20', '5 % AND 5 %' ], [ 'both_three', '1 % AND 1 % AND 5 %' ], [ 'both_range', '1 % AND a range of 2 %' ], [ 'both_keys', '1 % AND int[] @>' ])
	{
		my ($statement, $name) = @$line;
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, 1, script($statement)) } ] } qw(heap ours));
		show_rates("$name, 1 client", $rate, $cpu, ['>= 1.00']);
	}
}

sub bench_insert
{
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map {
				my $schema = $_;
				[ $schema => sub {
					sql("TRUNCATE $schema.narrow");
					pgbench($schema, $clients, script('insert'), '-D n=0', '-D first=0') } ]
			} qw(heap ours));
		show_rates("INSERT, $clients clients", $rate, $cpu, ['>= 1.50']);
	}
	sql("TRUNCATE $_.narrow") for qw(heap ours);
}

sub bench_tpcb
{
	make_tpcb();
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map { my $schema = $_; [ $schema => sub { pgbench($schema, $clients, '-b tpcb-like') } ] } qw(heap ours));
		show_rates("pgbench TPC-B, $clients clients", $rate, $cpu, ['>= 1.30']);
	}
}

# pgbench's tables in both schemas, once.
my $tpcb_made;
sub make_tpcb
{
	return if $tpcb_made++;
	my $unlogged = $kept ? '--unlogged-tables' : '';
	local $ENV{PGOPTIONS} = '-c search_path=heap';
	system("pgbench -i -q -s $scale $unlogged postgres >$work/pgbench_init.log 2>&1") == 0 or die "pgbench -i failed, see $work/pgbench_init.log\n";
	delete local $ENV{PGOPTIONS};
	run_file('tpcb');
}

sub bench_copy
{
	my $file = "$work/narrow.csv";
	open(my $out, '>', $file) or die;
	printf $out "%d,%d,%d\n", $_, $_ % 1000, int($_ / 7) for 1 .. $copy_rows;
	close $out or die;
	my ($time) = compare(map {
			my $schema = $_;
			[ $schema => sub {
				sql("TRUNCATE $schema.narrow");
				timed(sub { sql("COPY $schema.narrow FROM '$file' (FORMAT csv)") }) } ]
		} qw(heap ours));
	show_times("COPY of $copy_rows rows", $time, '>= 1.50');
	sql("TRUNCATE $_.narrow") for qw(heap ours);
	unlink $file;
}

# INSERT ... SELECT, from a table of the same kind; and of ours, by tasks and by the session.
sub bench_fill
{
	my $fill = sub {
		my ($schema, $jobs) = @_;

		sql("TRUNCATE $schema.narrow");
		return timed(sub { sql("SET tsurugi_fdw.jobs = $jobs; INSERT INTO $schema.narrow SELECT id, a, b FROM $schema.item WHERE id <= $copy_rows") });
	};
	my ($time) = compare(map { my $schema = $_; [ $schema => sub { $fill->($schema, 'on') } ] } qw(heap ours));

	show_times("INSERT ... SELECT of $copy_rows rows", $time, '>= 1.50');
	($time) = compare([ session => sub { $fill->('ours', 'off') } ], [ tasks => sub { $fill->('ours', 'on') } ]);
	row('    by session, tasks, ms', '', (map { sprintf('%.0f', $_ * 1000) } @$time{qw(session tasks)}),
		sprintf('%.2f of the session\'s', $time->{tasks} / $time->{session}) . '  (target <= 0.60)');
	sql("TRUNCATE $_.narrow") for qw(heap ours);
}

# The inner side of a nested loop, by key: PostgreSQL would hash so many rows, and a job, too.  Then an ordinary table joined with
# one in memory, by PostgreSQL's executor and by a job that is fed.
sub bench_join
{
	my $loop = 'SET tsurugi_fdw.jobs = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off; SET enable_material = off; SET max_parallel_workers_per_gather = 0';
	my $outer = "(SELECT 1 + (g * 7919::bigint) % $rows AS id FROM generate_series(1, 200000) g) o";
	my ($time) = compare(map { my $schema = $_;
			[ $schema => sub { timed(sub { sql("$loop; SELECT sum(i.b) FROM $outer JOIN $schema.item i USING (id)") }) } ] } qw(heap ours));
	show_times('nested loop, 200000 look-ups', $time, '>= 1.20');
	($time) = compare(map { my ($name, $jobs) = @$_;
			[ $name => sub { timed(sub { sql("SET tsurugi_fdw.jobs = $jobs; SET max_parallel_workers_per_gather = 0; SELECT i.b % 10, count(*), sum(o.a) FROM heap.item o JOIN ours.item i USING (id) GROUP BY 1") }) } ] } [ plan => 'off' ], [ job => 'on' ]);
	row("ordinary JOIN in memory, $rows rows: plan, job, ms", '', (map { sprintf('%.0f', $_ * 1000) } @$time{qw(plan job)}),
		sprintf('%.2f of the plan\'s', $time->{job} / $time->{plan}));
}

# No client takes part: what is read is counted and dropped in the server.
sub bench_scan
{
	my ($time) = compare(map { my $schema = $_;
			[ $schema => sub { timed(sub { sql("COPY (SELECT a FROM $schema.item) TO '/dev/null'") }) } ] } qw(heap ours));
	show_times("scan, COPY to /dev/null", $time, '>= 1.00');
	($time) = compare(map { my $schema = $_;
			[ $schema => sub { timed(sub { sql("EXPLAIN (ANALYZE, TIMING OFF) SELECT a FROM $schema.item") }) } ] } qw(heap ours));
	show_times("scan, rows dropped", $time, '>= 1.00');
}

sub at_level { local $level = shift; return pgbench(@_); }

# Four reads and an update by key, a transaction.
sub bench_serializable
{
	my $accounts = 100_000;

	for my $table ("CREATE $kept TABLE heap.mix (id int PRIMARY KEY, balance int)", 'CREATE FOREIGN TABLE ours.mix (id int PRIMARY KEY, balance int) SERVER tsurugi')
	{
		sql($table);
	}
	sql("INSERT INTO $_.mix SELECT i, 0 FROM generate_series(1, $accounts) i") for qw(heap ours);
	sql('VACUUM ANALYZE heap.mix');
	sql('ANALYZE ours.mix');
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map { my $schema = $_;
				[ $schema => sub { at_level('serializable', $schema, $clients, script('serializable'), "-D accounts=$accounts") } ] } qw(heap ours));
		show_rates("SERIALIZABLE mix, $clients clients", $rate, $cpu, ['>= 1.50']);
	}
	sql('DROP TABLE heap.mix');
	sql('DROP FOREIGN TABLE ours.mix');
}

# Latencies of the transactions that pgbench has logged under a prefix, as percentiles in
# microseconds; the logs go.
sub percentiles_of
{
	my ($prefix, @shares) = @_;
	my @logs = glob("$prefix.*");
	my @times = sort { $a <=> $b } map { (split ' ')[2] } map { read_lines($_) } @logs;
	unlink @logs;
	die "pgbench has logged nothing\n" unless @times;
	return map { $times[ int($_ * $#times) ] } @shares;
}

# One row that all clients update, each statement a transaction.  No statement may fail, at whatever level.
# Percentiles are of each run, medians over the rounds.
sub bench_hot
{
	my @shares = (0.5, 0.99, 0.999);
	for my $ours ('read committed', 'repeatable read', 'serializable')
	{
		my %tail;
		my $run = sub {
			my ($schema, $level, @options) = @_;
			my @figures = at_level($level, $schema, 8, script('hot'), @options, '-l', "--log-prefix=$work/hot");
			push @{ $tail{$schema} }, [ percentiles_of("$work/hot", @shares) ];
			return @figures;
		};
		my ($rate, $cpu) = compare([ heap => sub { $run->('heap', 'read committed') } ],
			[ ours => sub { $run->('ours', $ours, '--max-tries=1') } ]);
		show_rates("hot row, ours $ours", $rate, $cpu, ['>= 1.00']);
		for my $at (0 .. $#shares)
		{
			my ($heap, $mine) = map { my $of = $_; median(map { $_->[$at] } @{ $tail{$of} }) } qw(heap ours);
			row(sprintf('    p%g, us', 100 * $shares[$at]), '', $heap, $mine, sprintf('%.2f of heap%s', $mine / $heap,
				$shares[$at] == 0.999 ? '  (target <= 1.00)' : ''));
		}
	}
}

# Seconds of CPU of the worker, and of the threads of its pool, so far.
sub worker_cpu
{
	my ($worker) = grep { join('', read_lines("/proc/$_/cmdline")) =~ /tsurugi_fdw worker/ } children();
	return cpu_of($worker, 0) / $ticks_per_second;
}

# What a commit costs with both kinds of tables logged and the log on the disk: rates, CPU and bytes of log, by synchronous_commit.
# A checkpoint before each run: each page that a heap's run touches for the first time goes into the log whole, as after any checkpoint.
sub bench_commit
{
	die "needs PERSISTENCE=logged\n" if $kept;
	make_tpcb();
	sql($_) for 'ALTER SYSTEM SET fsync = on', 'SELECT pg_reload_conf()';
	for my $part ([ 'UPDATE', 0, script('update') ], [ 'INSERT', 1, script('insert'), '-D n=0', '-D first=0' ], [ 'TPC-B', 0, '-b tpcb-like' ], [ 'hot row', 0, script('hot') ])
	{
		my ($name, $empty, @options) = @$part;
		for my $run ([ 'on', 1 ], [ 'on', 8 ], [ 'off', 1 ], [ 'off', 8 ])
		{
			local $synchronous = $run->[0];
			my $clients = $run->[1];
			my @worker;
			my ($rate, $cpu, $bytes) = compare(map { my $schema = $_;
					[ $schema => sub {
						sql("TRUNCATE $schema.narrow") if $empty;
						sql('CHECKPOINT');
						my ($start, $since) = (worker_cpu(), time);
						my @figures = pgbench($schema, $clients, @options);
						push @worker, (worker_cpu() - $start) / (time - $since) if $schema eq 'ours';
						return @figures } ] } qw(heap ours));
			show_rates("$name, $clients, sync $synchronous", $rate, $cpu, []);
			row('    bytes of log', '', (map { sprintf('%.0f', $_) } @$bytes{qw(heap ours)}),
				sprintf('%.2f of heap; CPU of the worker %.1f %%', $bytes->{ours} / $bytes->{heap}, 100 * median(@worker)));
		}
		# the same without whole pages, which a page that is touched for the first time since a checkpoint needs
		sql($_) for 'ALTER SYSTEM SET full_page_writes = off', 'SELECT pg_reload_conf()', 'CHECKPOINT';
		my %bytes = map { my $schema = $_; local $synchronous = 'off'; sql("TRUNCATE $schema.narrow") if $empty; $schema => (pgbench($schema, 1, @options))[2] } qw(heap ours);
		row("$name, bytes, no full pages", '', (map { sprintf('%.0f', $_) } @bytes{qw(heap ours)}), sprintf('%.2f of heap', $bytes{ours} / $bytes{heap}));
		sql($_) for 'ALTER SYSTEM RESET full_page_writes', 'SELECT pg_reload_conf()';
	}
	sql("TRUNCATE $_.narrow") for qw(heap ours);
	printf "a checkpoint was held for %s ms at most, of %s\n", split /\|/, sql('SELECT longest_hold_ms, checkpoints_held FROM tsurugi.durability');
	sql($_) for 'ALTER SYSTEM RESET fsync', 'SELECT pg_reload_conf()';
}

# What SERIALIZABLE costs pgbench's transaction: both columns are ours.
sub bench_levels
{
	make_tpcb();
	for my $clients (1, 8)
	{
		my ($rate, $cpu) = compare(map { my $of = $_; [ $of => sub { at_level($of, 'ours', $clients, '-b tpcb-like') } ] } 'read committed', 'serializable');
		row("pgbench, $clients clients, 1/s", '', (map { sprintf('%.0f', $_) } @$rate{ 'read committed', 'serializable' }),
			sprintf('%.2f of READ COMMITTED  (target >= 0.87)', $rate->{serializable} / $rate->{'read committed'}));
		row('    CPU, us', '', (map { sprintf('%.1f', $_) } @$cpu{ 'read committed', 'serializable' }),
			sprintf('%.2f of READ COMMITTED  (target <= 1.15)', $cpu->{serializable} / $cpu->{'read committed'}));
	}
}

# What the backends of that many online clients have used so far; nothing if they are not there (yet, or any more).
sub online_cpu
{
	my ($clients) = @_;
	my @pids = split ' ', sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'");
	my $ticks = 0;
	return if @pids != $clients;
	$ticks += cpu_of($_, 0) for @pids;
	return $ticks / $ticks_per_second;
}

# Clients at a pace (0: as fast as they can), while the code runs, which gets how long it has, and what to call now and then:
# it looks at the clients' CPU, which is known as of the last look before they ended, if there was one.  $load: their settings, how many
# they are, how often each transaction is tried (that one fails for good is an error of ours), for how long,
# pgbench's options.  Transactions per second, CPU of their backends in microseconds per transaction, their latency in
# milliseconds, tries in vain of a hundred transactions.
sub online
{
	my ($schema, $load, $pace, $code) = @_;
	my $log = "$work/online.log";
	my $limit = $load->{seconds};
	my $rate = $pace > 0 ? sprintf('-R %.0f', $pace) : '';
	my @looks;
	my $look = sub {
		my $cpu = online_cpu($load->{clients});
		push @looks, [ $cpu, time ] if defined $cpu;
	};

	defined(my $pid = fork) or die;
	if ($pid == 0)
	{
		$ENV{PGOPTIONS} = "-c search_path=$schema,public $load->{settings}";
		exec "exec pgbench -n -M prepared --max-tries=$load->{tries} -c $load->{clients} -j 1 -T $limit $rate @{ $load->{options} } postgres >$log 2>&1";
	}
	my $start = time;
	until (@looks || time > $start + $limit)
	{
		sleep 0.3;
		$look->();
	}
	$code->($start + $limit - 1 - time, $look);
	my $left = $start + $limit - 0.5 - time;
	sleep $left if $left > 0;
	$look->();
	waitpid $pid, 0;
	my $output = join "\n", read_lines($log);
	my ($tps) = $output =~ /^tps = ([\d.]+)/m;
	my ($failed) = $output =~ /^number of failed transactions: (\d+)/m;
	die "pgbench failed:\n$output" unless $? == 0 && $tps && ($schema eq 'heap' || !$failed);
	my ($count) = $output =~ /^number of transactions actually processed: (\d+)/m;
	my ($retries) = $output =~ /^total number of retries: (\d+)/m;
	my ($latency) = $output =~ /^latency average = ([\d.]+) ms/m;
	my %seen = (rate => $tps, latency => $latency, retries => 100 * ($retries || 0) / $count);
	$seen{cpu} = ($looks[-1][0] - $looks[0][0]) / ($tps * ($looks[-1][1] - $looks[0][1])) * 1e6 if @looks > 1;
	return \%seen;
}

# Seconds that a loop takes which only computes: what the machine leaves to anybody beside the clients.  In a session of its
# own, as each backend is: where the kernel groups processes by sessions (sched_autogroup), it would share pgbench's time.
sub yardstick
{
	my ($rounds) = @_;
	open(my $loop, '-|', 'setsid', '-w', 'perl', '-MTime::HiRes=time', '-e', 'my ($s, $t) = (0, time); $s += $_ & 7 for 1 .. shift; print time - $t', $rounds) or die;
	my $time = <$loop>;
	close $loop or die "the loop failed\n";
	return $time;
}

# The batch, tried once: the seconds of its transaction, or nothing if that could not be serialized.  What it found must be exact.
sub batch
{
	my ($schema, $statement, $contracts) = @_;
	my $settings = $schema eq 'heap' ? '-c default_transaction_isolation=serializable'
		: '-c tsurugi_fdw.transaction_type=long -c tsurugi_fdw.write_preserve=result';

	sql("TRUNCATE $schema.result");
	my $log = "$work/batch.log";
	my $output = do
	{
		local $ENV{PGOPTIONS} = "-c search_path=$schema,public $settings";
		my $text = join ' ', grep { !/^--/ } read_lines("$here/statements/$statement.sql");
		open(my $psql, '-|', 'bash', '-c', 'exec psql -XAtq -c "\timing" -c "$0" 2>"$1"', "BEGIN; $text COMMIT", $log) or die;
		join '', <$psql>;
	};
	my $errors = join "\n", read_lines($log);
	return if $errors =~ /could not serialize access/;
	die "$schema: $errors\n" if $errors;
	my $good = sql("SELECT count(*) FROM $schema.result WHERE total = summed");
	die "$schema: $good of $contracts results are right\n" unless $good == $contracts;
	my ($ms) = $output =~ /^Time: ([\d.]+) ms/m or die "no time in: $output\n";
	return $ms / 1000;
}

# One kind of batch on one kind of table: alone and beside clients at that pace, in turns, as the history grows all the time.
sub bench_batch
{
	my ($schema, $statement, $contracts, $load, $most) = @_;
	my ($tries, $through, %all) = (0, 0);
	my $time = median(map { batch($schema, $statement, $contracts) } 1 .. 3);
	my $loops = int(1e6 * $time / yardstick(1e6));

	$load->{seconds} = 2 + int($time > $seconds / 5 ? 5 * $time : $seconds);

	for (1 .. $rounds)
	{
		my $without = online($schema, $load, $most / 2, sub {});
		my (@alone, @beside, @loop_alone, @loop_beside);
		my $alone = sub {
			push @alone, batch($schema, $statement, $contracts);
			push @loop_alone, yardstick($loops);
		};

		$alone->() for 1 .. 2;
		my $with = online($schema, $load, $most / 2, sub {
			my ($left, $look) = @_;
			my $end = time + $left;
			my $longest = 0;
			while (time + $longest < $end)
			{
				my $start = time;
				push @beside, batch($schema, $statement, $contracts);
				push @loop_beside, yardstick($loops);
				$longest = time - $start if time - $start > $longest;
				$tries++;
				$look->();
			}
		});
		$alone->() for 1 .. 2;
		$through += @beside;
		push @{ $all{alone} }, median(@alone);
		push @{ $all{loop} }, median(@loop_beside) / median(@loop_alone);
		if (@beside)
		{
			push @{ $all{beside} }, median(@beside);
			push @{ $all{ratio} }, median(@beside) / median(@alone);
		}
		push @{ $all{"without_$_"} }, $without->{$_} for keys %$without;
		push @{ $all{"with_$_"} }, $with->{$_} for keys %$with;
		push @{ $all{cpu_ratio} }, $with->{cpu} / $without->{cpu} if $with->{cpu} && $without->{cpu};
	}
	my %of = (with_cpu => 0, cpu_ratio => 0, map { $_ => median(@{ $all{$_} }) } keys %all);
	my $ours = $schema eq 'ours';
	printf "%s, %s: alone %.3f s; beside clients %d of %d got through%s; a loop that computes for as long: %.2f of alone\n", $schema, $statement,
		$of{alone}, $through, $tries, $through ? sprintf(' in %.3f s (%.2f of alone%s)', @of{qw(beside ratio)}, $ours ? '; target all, <= 1.5' : '') : '', $of{loop};
	printf "    clients, 1/s: most %.0f, paced alone %.0f, beside %.0f; CPU, us: %.1f, %.1f (%.2f%s); latency, ms: %.2f, %.2f; tries in vain, of a hundred transactions: %.2f, %.2f\n",
		$most, @of{qw(without_rate with_rate without_cpu with_cpu cpu_ratio)}, $ours ? '; target <= 1.2' : '', @of{qw(without_latency with_latency without_retries with_retries)};
}

# A batch that reads all contracts and their history and writes a result for each, in one serializable transaction, beside
# online clients at half their own maximum: by one statement, and contract after contract.  None of ours may fail for a LONG.
sub bench_long
{
	my $contracts = $ENV{CONTRACTS} || 30_000;
	my $load = {
		settings => '-c default_transaction_isolation=serializable',
		clients => $ENV{CLIENTS} || 4,
		tries => 1000,
		seconds => $seconds + 1,
		options => [ "-f $here/statements/online_history.sql", "-f $here/statements/online_contract.sql", "-D contracts=$contracts" ]
	};

	run_file('long', '-v', "contracts=$contracts");
	for my $schema (qw(heap ours))
	{
		my $most = online($schema, $load, 0, sub {})->{rate};
		bench_batch($schema, $_, $contracts, $load, $most) for qw(batch batch_rows);
	}
	my $for_long = sql("SELECT sum(failures) FROM tsurugi.conflicts WHERE reason LIKE '% area%'");
	die "$for_long transactions failed for a LONG\n" if $for_long;
}

# A LONG that updates the first hundredth of the rows, again and again, beside four SHORT writers on the rest of
# that table and on another one, each in a range of its own, at half their own maximum: nobody fails.
sub bench_long_ranges
{
	my $last = int($rows / 100);
	my $load = { settings => '-c tsurugi_fdw.transaction_type=short', clients => 4, tries => 1, seconds => 5 * $seconds, options => [ script('ranges') ] };
	my $batch = sub {
		return timed(sub {
			sql("BEGIN; SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = 'ours.item [{1},{$last}]';
				UPDATE ours.item SET b = b + 1 WHERE id BETWEEN 1 AND $last; COMMIT");
		});
	};
	my @alone = map { $batch->() } 1 .. $rounds;
	my $most = online('ours', $load, 0, sub {})->{rate};
	my $without = online('ours', $load, $most / 2, sub {});
	my $sum = sql('SELECT sum(b) FROM ours.item');
	my @beside;
	my $with = online('ours', $load, $most / 2, sub {
		my $end = time + shift;
		do { push @beside, $batch->() } while (time + median(@beside) < $end);
	});
	die "updates of the LONG are missing\n" unless sql('SELECT sum(b) FROM ours.item') == $sum + @beside * $last;
	printf "LONG, %d rows: alone %.3f s; beside 4 SHORT writers all %d got through, %.3f s (%.2f of alone)\n", $last, median(@alone),
		scalar @beside, median(@beside), median(@beside) / median(@alone);
	printf "    the writers, 1/s: most %.0f, paced alone %.0f, beside the LONG %.0f, none failed; their CPU, us: %.1f, %.1f (%.2f; target <= 1.1)\n",
		$most, $without->{rate}, $with->{rate}, $without->{cpu}, $with->{cpu}, $with->{cpu} / $without->{cpu};
}

# A fresh table each: what a row and its index entry take, nothing updated yet.
sub bench_memory
{
	my $columns = '(id bigint PRIMARY KEY, a int, b int, c text)';
	my $fill = "SELECT i, i % 1000, i / 7, left(repeat(md5(i::text), 3), 80) FROM generate_series(1, $rows) i";

	sql("CREATE $kept TABLE heap.wide $columns");
	sql("INSERT INTO heap.wide $fill");
	my $heap = sql("SELECT pg_relation_size('heap.wide') + pg_relation_size('heap.wide_pkey')") / $rows;
	sql("CREATE FOREIGN TABLE ours.wide $columns SERVER tsurugi");
	my $before = sql($bytes_in_use);
	my $headers = "SELECT bytes FROM tsurugi.memory_uses WHERE use = 'headers'";
	my $headers_before = sql($headers);
	sql("INSERT INTO ours.wide $fill");
	my $loaded = (sql($bytes_in_use) - $before) / $rows;
	# version headers go once nobody needs them: a sweep a second or two later
	for (1 .. 60)
	{
		last if sql($headers) <= $headers_before;
		sleep 0.5;
	}
	my $ours = (sql($bytes_in_use) - $before) / $rows;
	row('memory per row, bytes', '', sprintf('%.1f', $heap), sprintf('%.1f', $ours), sprintf('%.2f of heap  (target <= 1.00); just loaded %.1f', $ours / $heap, $loaded));
	sql("DROP TABLE heap.wide");
	sql('DROP FOREIGN TABLE ours.wide');
}

sub cpu_model { for (read_lines('/proc/cpuinfo')) { return $1 if /^model name\s*:\s*(.*)/ } return 'unknown'; }

$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print 'server      ', sql('SELECT version()'), "\n";
printf "machine     %s, %d CPUs\n", cpu_model(), `nproc`;
print 'settings    ', sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
	WHERE source = 'configuration file' AND (name LIKE 'tsurugi_fdw.%' OR name IN ('shared_buffers', 'fsync', 'full_page_writes', 'max_wal_size', 'jit', 'autovacuum'))"), "\n";
print "runs        $rounds rounds of $seconds s, $rows rows, tables $persistence, prepared statements; medians\n\n";

run_file('schema', '-v', "rows=$rows");
sql('CHECKPOINT');

row('', 'SELECT 1', 'heap', 'ours', 'ours');
my $failed = 0;
for my $part ([ point => \&bench_point ], [ update => \&bench_update ], [ upsert => \&bench_upsert ], [ index => \&bench_index ], [ gin => \&bench_gin ], [ space => \&bench_space ], [ both => \&bench_both ], [ insert => \&bench_insert ], [ tpcb => \&bench_tpcb ],
	[ copy => \&bench_copy ], [ fill => \&bench_fill ], [ join => \&bench_join ], [ scan => \&bench_scan ], [ memory => \&bench_memory ],
	[ serializable => \&bench_serializable ], [ hot => \&bench_hot ], [ levels => \&bench_levels ], [ commit => \&bench_commit ],
	[ long => \&bench_long ],
	[ long_ranges => \&bench_long_ranges ])
{
	next unless $only{ $part->[0] };
	next if eval { $part->[1]->(); 1 };
	print "$part->[0]: not measured: $@";
	$failed = 1;
}
exit $failed;

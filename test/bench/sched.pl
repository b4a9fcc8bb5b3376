#!/usr/bin/perl
# The scheduler's benchmark proper: called by sched.sh with the programs built.
# Each figure is a process of its own; all sides take turns in every round; medians.
#
# Environment: ROUNDS, THREADS (a list), ONLY (names of parts: fib skynet uts loop
# outside wake idle settings).
use strict;
use warnings;

my $bin = $ENV{TG_BIN} or die "to be run by sched.sh\n";
my $rounds = $ENV{ROUNDS} || 7;
my $cores = 0 + `nproc`;
my @threads = split ' ', $ENV{THREADS} || join(' ', 1, 2, $cores > 2 ? $cores : ());
my %only = map { $_ => 1 } split ' ', ($ENV{ONLY} || 'fib skynet uts loop outside wake idle settings');
my @peers = qw(tbb libgomp libomp);
my %name = (ours => 'ours', tbb => 'oneTBB', libgomp => 'libgomp', libomp => 'libomp');

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $middle = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$middle] : ($sorted[ $middle - 1 ] + $sorted[$middle]) / 2;
}

# One run: its figures by name.
sub run_once
{
	my ($side, @arguments) = @_;
	my $program = $side eq 'ours' ? 'sched' : "sched_$side";
	my $line = `timeout 120 $bin/$program @arguments`;
	die "failed: $program @arguments\n" unless $? == 0 && $line =~ /wall/;
	return { split ' ', $line };
}

# Runs that take turns: [label, side, arguments ...].  Medians by label.
sub compare
{
	my (@runs) = @_;
	my %all;
	for my $round (1 .. $rounds)
	{
		# who begins changes
		for my $run ($round % 2 ? @runs : reverse @runs)
		{
			my ($label, @command) = @$run;
			my $figures = run_once(@command);
			push @{ $all{$label}{$_} }, $figures->{$_} for keys %$figures;
		}
	}
	my %median;
	for my $label (keys %all)
	{
		$median{$label}{$_} = median(@{ $all{$label}{$_} }) for keys %{ $all{$label} };
	}
	return \%median;
}

sub same_results
{
	my ($of) = @_;
	my %results = map { $_->{check} => 1 } values %$of;
	die "the sides do not agree\n" if keys %results > 1;
}

sub head { printf "\n%-34s %12s %12s %12s\n", @_; }
sub row { printf "%-34s %12s %12s %12s   %s\n", @_; }
sub number { my ($value, $digits) = @_; return sprintf "%.${digits}f", $value; }
sub as_long { my ($value, $ours) = @_; return $ours > 0 ? sprintf('%.1f times ours', $value / $ours) : ''; }

# fib(n) with a task per call; sizes so that every side takes about as long.
sub bench_fib
{
	my %size = (ours => 32, tbb => 28, libgomp => 24, libomp => 24);
	my %flat;
	head('fib, per call', 'wall ns', 'CPU ns', 'RSS MB');
	for my $count (@threads)
	{
		my $of = compare([ 'ours', 'ours', 'fib', $count, $size{ours} ],
			map { ([ $_, $_, 'fib', $count, $size{$_} ], [ "$_ both", $_, 'fib-both', $count, $size{$_} ]) } @peers);
		$flat{$count} = $of->{ours}{cpu};
		for my $label ('ours', map { ($_, "$_ both") } @peers)
		{
			my ($side) = $label =~ /^(\w+)/;
			my $figures = $of->{$label};
			my $how = $label =~ /both/ ? ', both calls spawned' : '';
			row("$name{$side}, $count threads$how", number($figures->{wall}, 1), number($figures->{cpu}, 1), number($figures->{rss_kb} / 1024, 1),
				$label eq 'ours' ? 'wanted: <= 12 CPU ns' : as_long($figures->{wall}, $of->{ours}{wall}) . ', CPU ' . as_long($figures->{cpu}, $of->{ours}{cpu}));
		}
	}
	printf "ours, CPU per call of that on one worker: %s\n", join ', ', map { sprintf '%.2f with %d', $flat{$_} / $flat{ $threads[0] }, $_ } @threads;
}

sub bench_tree
{
	my ($part, $size, $title, $digits, $wanted) = @_;
	my (%wall, $one);
	head($title, 'wall', 'CPU', 'RSS MB');
	for my $count (@threads)
	{
		my $of = compare(map { [ $_, $_, $part, $count, $size ] } 'ours', @peers);
		same_results($of);
		$wall{$count} = $of->{ours}{wall};
		for my $side ('ours', @peers)
		{
			my $figures = $of->{$side};
			row("$name{$side}, $count threads", number($figures->{wall}, $digits), number($figures->{cpu}, $digits), number($figures->{rss_kb} / 1024, 1),
				$side eq 'ours' ? $wanted : as_long($figures->{wall}, $of->{ours}{wall}));
		}
	}
}

# Of perfect balance: what one worker needs, divided by the workers, to what they need; on a
# machine that is busy otherwise that says nothing, but how long the workers slept does.
sub bench_settings
{
	my @settings;
	for my $distributor (qw(off worker thread))
	{
		push @settings, "distributor=$distributor steal_after_last=$_" for qw(off on);
	}
	for my $part (qw(uts loop))
	{
		# with as many workers as CPUs, and with more, so that there is a choice of victims
		for my $count ($cores, $cores * 2)
		{
			printf "\n%-40s %8s %8s %10s %8s %8s %12s\n", "$part, $count workers", 'CPU ms', 'slept %', 'of perfect', 'steals', 'misses', 'suspensions';
			my $of = compare([ 'one worker, defaults', 'ours', $part, 1, 1 ], map { [ $_, 'ours', $part, $count, 1, $_ ] } @settings);
			my $one = $of->{'one worker, defaults'};
			for my $setting (@settings, 'one worker, defaults')
			{
				my $figures = $of->{$setting};
				my $on = $setting =~ /^one/ ? 1 : $cores;
				printf "%-40s %8.1f %8.2f %10.3f %8d %8d %12d\n", $setting, $figures->{cpu}, $figures->{slept} * 100,
					$one->{wall} / $on / $figures->{wall}, @$figures{qw(steals misses suspensions)};
			}
		}
	}
}

sub bench_outside
{
	head('100,000 tasks from outside', 'submit ns', 'to the end', 'CPU ns');
	for my $part ([ 'outside', 'workers inside tasks' ], [ 'outside-idle', 'an idle pool' ])
	{
		my $of = compare(map { [ $_, $_, $part->[0], 1, 100000 ] } 'ours', @peers);
		for my $side ('ours', @peers)
		{
			my $figures = $of->{$side};
			row("$name{$side}, $part->[1]", number($figures->{submit}, 1), number($figures->{wall}, 1), number($figures->{cpu}, 1),
				$side eq 'ours' ? $part->[0] eq 'outside' ? 'wanted: submit <= 60 ns' : '' : as_long($figures->{submit}, $of->{ours}{submit}) . ', to the end ' . as_long($figures->{wall}, $of->{ours}{wall}));
		}
	}
}

sub bench_wake
{
	head('one task from outside', 'runs after ns', 'submit ns', 'system calls');
	my $of = compare([ 'ours', 'ours', 'wake', 1, 200 ], [ 'searching', 'ours', 'wake-searching', 1, 200, 'busy_worker=on' ], [ 'tbb', 'tbb', 'wake', 1, 200 ]);
	for my $label (qw(ours searching tbb))
	{
		my $figures = $of->{$label};
		row($label eq 'ours' ? 'ours, worker asleep' : $label eq 'tbb' ? 'oneTBB, worker asleep' : 'ours, worker searching',
			number($figures->{wall}, 0), number($figures->{submit}, 0), defined $figures->{syscalls} ? number($figures->{syscalls}, 2) : '',
			$label eq 'ours' ? 'wanted: 1 system call' : $label eq 'searching' ? 'wanted: none' : '');
	}
}

sub bench_idle
{
	head("idle for 3 s, $cores threads", '', 'CPU ms a s', 'RSS MB');
	my $rounds_before = $rounds;
	$rounds = 3 if $rounds > 3;
	my $of = compare(map { [ $_, $_, 'idle', $cores, 3 ] } 'ours', @peers);
	$rounds = $rounds_before;
	row($name{$_}, '', number($of->{$_}{cpu} / 1e6, 3), number($of->{$_}{rss_kb} / 1024, 1), '') for 'ours', @peers;
	my $beside = run_once('ours', 'beside', $cores, 10);
	row('ours beside one task of 10 s', '', number($beside->{cpu} / 1e6, 3), '', 'without the task itself');
}

my ($cpu) = `grep -m1 'model name' /proc/cpuinfo` =~ /:\s*(.*)/;
my ($gcc) = `gcc --version` =~ /^(.*)/;
my ($clang) = `clang-14 --version` =~ /^(.*)/;
my ($tbb) = `dpkg-query -W -f '\${Version}' libtbb-dev`;
$| = 1;
print "commit      $ENV{TG_COMMIT}\n";
print "machine     $cpu, $cores CPUs, load ", (split ' ', `cat /proc/loadavg`)[0], " before\n";
print "compilers   $gcc; $clang; oneTBB $tbb; -O2\n";
print "settings    where no others are named: ", `$bin/sched settings $cores 0`;
print "runs        $rounds rounds, each run a process, sides in turns; medians\n";

bench_fib() if $only{fib};
bench_tree('skynet', 1000000, 'skynet, per leaf', 1, 'wanted: RSS <= 15 MB') if $only{skynet};
bench_tree('uts', 1, 'unbalanced tree, ms', 1, '') if $only{uts};
bench_tree('loop', 1, '3,000 unequal tasks, ms', 1, '') if $only{loop};
bench_settings() if $only{settings};
bench_outside() if $only{outside};
bench_wake() if $only{wake};
bench_idle() if $only{idle};

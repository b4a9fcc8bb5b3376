#!/usr/bin/perl
# make test-frozen: the tests of make test, while processes and threads of theirs stand still.
#
# Some times a second, a process of the run is taken at random and frozen for a while by the kernel's
# cgroup freezer: a postmaster, a backend, the worker or one of its threads, a client, the test
# itself.  It stands wherever it is, as if the machine had no CPU for it, and nothing but the clock can
# tell.  A test that fails then has relied on a process being in time, or has found a race.
#
#   SEED=n             of what is drawn; if it is not given, a new one, which is printed
#   SUITES, TESTS      as for make test; SUITES=tap if it is not given
#   WHO=pattern        of the command lines of those that are frozen, as 'tsurugi_fdw worker'
#   FREEZES=10         how many a second
#   FROZEN_MS=400      the longest of them, in milliseconds; the shortest is 20
#
# It needs root and the freezer of cgroups: version 1, or version 2, which freezes no single threads.  A
# process belongs to the run if its executable lies below the run's directory, or if it is a test that
# works there.  Each freeze has a group of its own, since a process may fork before it stands.  Whatever
# the end is, all are thawed; if this program itself is killed, "THAWED", or 0, written into the file of
# the group's state does it.
use strict;
use warnings;
use File::Temp;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time sleep);

my $per_second = $ENV{FREEZES} // 10;
my $longest = ($ENV{FROZEN_MS} // 400) / 1000;
my $shortest = 0.02;
my $who = $ENV{WHO} // '';
my $seed = $ENV{SEED} // int(rand(2**31));
my %thawed_at; # by the group's directory
my %origin; # of its members, likewise
my $freeze_count = 0;

sub skip { print "test-frozen is skipped: $_[0]\n"; exit 0 }

# Writes a line to a file of the kernel's; a process may have ended.
sub put
{
	my ($file, $line) = @_;

	open(my $out, '>', $file) or return 0;
	my $is_put = syswrite($out, "$line\n");
	return close($out) && $is_put;
}

sub lines_of
{
	open(my $in, '<', $_[0]) or return ();
	my @lines = <$in>;
	return @lines;
}

# The freezer: its root directory, its name in /proc/PID/cgroup, the file of a group's members, each of
# which is a thread, or a process, and that of its state, with the words for thawed and frozen.
sub find_freezer
{
	my @mounts = map { [ (split)[1 .. 3] ] } lines_of('/proc/mounts');

	for (@mounts)
	{
		return { root => $_->[0], name => 'freezer', members => 'tasks', state => 'freezer.state', words => [ 'THAWED', 'FROZEN' ] }
			if $_->[1] eq 'cgroup' && $_->[2] =~ /\bfreezer\b/;
	}
	for (@mounts)
	{
		return { root => $_->[0], name => '', members => 'cgroup.procs', state => 'cgroup.freeze', words => [ 0, 1 ] }
			if $_->[1] eq 'cgroup2';
	}
	skip('there is no freezer of cgroups');
}

skip('it takes root') if $> != 0;
my $freezer = find_freezer();

# A thread, or a process, by the file that takes it.
sub freeze
{
	my ($id, $file) = @_;
	my ($from) = map { /^\d+:\Q$freezer->{name}\E:(.*)$/ ? $1 : () } lines_of("/proc/$id/cgroup");
	my $group = "$freezer->{root}/tsurugi_fdw.$$.$freeze_count";

	# it has ended, or stands already, as where a test has stopped it, who might be looking for that
	return if !defined $from || $from =~ /tsurugi_fdw/ || (lines_of("/proc/$id/stat"), "")[0] =~ /\) T /;
	mkdir $group or skip("$group: $!");
	$freeze_count++;
	$origin{$group} = "$freezer->{root}$from/$freezer->{members}";
	$thawed_at{$group} = time + $shortest + rand($longest - $shortest);
	put("$group/$file", $id);
	put("$group/$freezer->{state}", $freezer->{words}[1]);
}

sub thaw
{
	my ($group) = @_;

	put("$group/$freezer->{state}", $freezer->{words}[0]);
	for (1 .. 1000)
	{
		put($origin{$group}, $_) for lines_of("$group/$freezer->{members}");
		last if rmdir $group;
		sleep(0.01);
	}
	delete $thawed_at{$group};
	delete $origin{$group};
}

# A process, or, every second time that it has several threads, one of these.
sub freeze_some_part_of
{
	my ($process) = @_;
	my @threads = map { s{.*/}{}r } glob "/proc/$process/task/*";

	return freeze($process, 'cgroup.procs') if $freezer->{members} ne 'tasks' || @threads < 2 || rand() < 0.5;
	return freeze($threads[ rand @threads ], 'tasks');
}

# The run's processes, but for those that only drive it, or compile.
sub processes_in
{
	my ($directory) = @_;
	my @found;

	for my $process (map { s{/proc/}{}r } glob '/proc/[0-9]*')
	{
		my $executable = readlink("/proc/$process/exe") // next;
		my $works_in = readlink("/proc/$process/cwd") // next;
		my ($command) = (lines_of("/proc/$process/cmdline"), '');

		push @found, $process if $command =~ /$who/ && (index($executable, "$directory/") == 0
			|| index($works_in, "$directory/") == 0 && $command =~ m{^\S*perl\0test/t/|isolationtester});
	}
	return @found;
}

my $directory = File::Temp::tempdir('frozen.XXXXXX', TMPDIR => 1);
my $run;

END
{
	my $status = $?;

	kill 'TERM', $run if $run;
	thaw($_) for keys %thawed_at;
	waitpid $run, 0 if $run;
	rmdir $directory if defined $directory; # it is empty, but with KEEP=1
	$? = $status;
}
$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);
chmod 01777, $directory; # the run's user removes what is its own
$ENV{SUITES} //= 'tap';
delete $ENV{SEED}; # of the tests' own draws
srand $seed;
print "SEED=$seed\n";
$run = fork() // die $!;
if ($run == 0)
{
	$ENV{TMPDIR} = $directory;
	exec 'test/run.sh' or POSIX::_exit(1);
}
while (waitpid($run, WNOHANG) == 0)
{
	my @processes = processes_in($directory);

	freeze_some_part_of($processes[ rand @processes ]) if @processes;
	my $next = time + rand(2 / $per_second);
	while ((my $left = $next - time) > 0)
	{
		$thawed_at{$_} > time || thaw($_) for keys %thawed_at;
		sleep($left < 0.01 ? $left : 0.01);
	}
}
my $status = $? >> 8;
undef $run;
print "$freeze_count times a process or a thread has stood still; SEED=$seed\n";
exit $status;

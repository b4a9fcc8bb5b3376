# A private server with the library preloaded, and sessions that can be sent
# statements without waiting for them.
package TestServer;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# IPC::Run dies if psql ends before it has read what it is given, as it may while a server goes away.
{
	no warnings 'redefine';
	my $poll = \&PostgreSQL::Test::Cluster::poll_query_until;

	*PostgreSQL::Test::Cluster::poll_query_until = sub {
		my @given = @_;

		while (1)
		{
			my $there = eval { $poll->(@given) };

			return $there unless $@;
			die $@ unless $@ =~ /Broken pipe/;
		}
	};
}

# TestServer::start($name, %settings): a running server with the extension, the
# wrapper's server "tsurugi" and whatever settings are given.
sub start
{
	my ($name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$settings{'shared_preload_libraries'} = "'tsurugi_fdw'" unless exists $settings{'shared_preload_libraries'};
	$settings{'restart_after_crash'} //= 'on';
	$settings{'log_line_prefix'} //= "'%m [%p] %q%a %e '";
	$settings{'autovacuum'} //= 'off'; # plans are to be by what a test itself has analyzed
	$node->init;
	$node->append_conf('postgresql.conf', "$_ = $settings{$_}") for sort keys %settings;
	$node->start;
	$node->safe_psql('postgres',
		'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
	return $node;
}

# The SQLSTATE that a statement ends with.
sub sqlstate
{
	my ($node, $sql, $database) = @_;
	my ($code, $stdout, $stderr) = $node->psql($database // 'postgres', $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);

	return $stderr =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : '00000';
}

# What psql says of a statement, with all that belongs to an error; options as of psql().
sub psql_error
{
	my ($node, $sql, @options) = @_;
	my ($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", @options);

	return $stderr;
}

# What the server's log has of errors that nobody should ever see, and of processes that ended by
# them.
sub internal_errors
{
	my ($node) = @_;

	return internal_errors_in(PostgreSQL::Test::Utils::slurp_file($node->logfile));
}

# The same of the log's text.
sub internal_errors_in
{
	my ($log) = @_;

	return join '', $log =~ /^(?:.* XX[0-9A-Z]{3} .*|.*(?:PANIC|TRAP|check failed|terminated by signal).*)\n(?:.*STATEMENT:.*\n)?/mg;
}

# Bytes in use, once what was freed has passed its epoch.
sub bytes_used
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT used FROM tsurugi.memory');
}

# Whether the server was built with failpoints.
sub has_failpoints
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "SELECT current_setting('tsurugi_fdw.failpoints', true) IS NOT NULL") eq 't';
}

sub read_if_there
{
	open(my $file, '<', $_[0]) or return '';
	return join('', <$file>);
}

# Waits until something is so.
sub eventually
{
	my ($is_so) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $is_so->();
		select undef, undef, undef, 0.01;
	}
	return 0;
}

# Starts a server whose processes have been killed, and waits only until its postmaster can be found.
sub begin_start
{
	my ($node) = @_;
	my $pidfile = $node->data_dir . '/postmaster.pid';

	unlink $pidfile;
	PostgreSQL::Test::Utils::system_log('pg_ctl', '-W', '-s', '-D', $node->data_dir, '-l', $node->logfile, 'start');
	eventually(sub { read_if_there($pidfile) =~ /^(\d+)\n/ && -e "/proc/$1" }) or die "the postmaster does not start\n";
}

# The process that the pool's threads run in, or undef while there is none.
sub worker_pid
{
	my ($node) = @_;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

	for my $directory (glob '/proc/[0-9]*')
	{
		# it may be gone between two looks
		my ($status, $command) = map { read_if_there("$directory/$_") } qw(status cmdline);

		return $1 if $status =~ /^PPid:\s*$postmaster$/m && $command =~ /tsurugi_fdw worker/ && $directory =~ /(\d+)$/;
	}
	return undef;
}

# Waits until there is another worker than one that is to end.
sub has_other_worker
{
	my ($node, $worker) = @_;

	# the postmaster may be on its way
	return eventually(sub { (eval { worker_pid($node) } // $worker) != $worker });
}

# Kills a process of the server, and waits until the server has noticed, and starts over.
sub crash_by
{
	my ($node, $pid) = @_;
	my $worker = worker_pid($node) // 0;

	kill 'KILL', $pid;
	has_other_worker($node, $worker) or die "the server does not start over\n";
}

# The names of the pool's threads.
sub threads
{
	my ($node) = @_;
	my $pid = worker_pid($node) or return;

	return map { read_if_there($_) =~ /^(.*)$/m } glob("/proc/$pid/task/*/comm");
}

sub is_stopped { return slurp_file("/proc/$_[0]/stat") =~ /\) T /; }

# Waits until a process has stopped at its failpoint.
sub has_stopped
{
	my ($pid) = @_;

	return eventually(sub { is_stopped($pid) });
}

# Stops the worker while all of its threads sleep: elsewhere one could hold a latch that others need.  Returns its pid.
sub stop_worker
{
	my ($node) = @_;
	my $worker = worker_pid($node) // die 'there is no worker';
	# how often they have been woken or have given way, and what they do
	my $look = sub { return join '', map { read_if_there($_) =~ /^(State:.*\n|\w*voluntary_ctxt_switches:.*\n)/mg } glob("/proc/$worker/task/*/status") };

	eventually(sub {
		my $before = $look->();

		select undef, undef, undef, 0.002;
		return $before eq $look->() && $before !~ /State:\s+[^S]/;
	}) or die 'the worker does not sleep';
	kill 'STOP', $worker;
	has_stopped($worker) or die 'the worker does not stop';
	return $worker;
}

# Writes settings of tsurugi_fdw into the configuration, which sessions that start, or get a statement, from
# now on have.  Returns a name that the worker logs as soon as it has them, too.
my $writings = 0;

sub write_settings
{
	my ($node, %settings) = @_;
	my ($loaded_at, $failpoints) = split /,/, $node->safe_psql('postgres', "SELECT pg_conf_load_time() || ',' || coalesce(current_setting('tsurugi_fdw.failpoints', true), 'none')"), 2;
	my $read = "read_" . ++$writings;

	$settings{failpoints} //= $failpoints =~ s/,?read_\d+$//r;
	# no failpoint has this name
	$settings{failpoints} .= ",$read";
	delete $settings{failpoints} if $failpoints eq 'none';
	$node->safe_psql('postgres', join ';', (map { "ALTER SYSTEM SET tsurugi_fdw.$_ = '$settings{$_}'" } sort keys %settings), 'SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', $failpoints eq 'none' ? "SELECT pg_conf_load_time() > '$loaded_at'" : "SELECT current_setting('tsurugi_fdw.failpoints') LIKE '%,$read'")
		or die "the configuration is not read\n";
	return $failpoints eq 'none' ? undef : $read;
}

# Whether the worker has them.
sub has_settings
{
	my ($node, $read) = @_;

	return !defined $read || slurp_file($node->logfile) =~ /the worker has failpoints ".*\b$read"/;
}

# Puts settings of tsurugi_fdw into force, in the worker as well, which reads the configuration when it comes
# to it.
sub configure
{
	my ($node, %settings) = @_;
	my $read = write_settings($node, %settings);

	eventually(sub { has_settings($node, $read) }) or die "the worker does not read its configuration\n";
}

# The same for the next start of a server that does not run, or is about to end.
sub configure_start
{
	my ($node, %settings) = @_;

	$node->append_conf('postgresql.auto.conf', "tsurugi_fdw.$_ = '$settings{$_}'") for sort keys %settings;
}

# Lets a worker go on that stops at a failpoint, again and again, until something is so.
sub go_on_until
{
	my ($worker, $is_so) = @_;

	return eventually(sub { $is_so->() or kill('CONT', $worker) < 0 });
}

# The same with other failpoints, which the worker has in the end.
sub go_on
{
	my ($node, $worker, $failpoints, $is_so) = @_;
	my $read = write_settings($node, failpoints => $failpoints);

	go_on_until($worker, sub { has_settings($node, $read) && $is_so->() }) or die "the worker does not go on\n";
}

# Until the statements of sessions have ended.
sub go_on_to_end
{
	my ($node, $worker, $failpoints, @sessions) = @_;

	go_on($node, $worker, $failpoints, sub { !grep { !$_->has_answered && $_->{run}->pumpable } @sessions });
}

# Waits until the tables of a standby have all that its primary has logged, or are refused.  Redo, which
# wait_for_catchup waits for, only passes the log on to the worker.  A statement on these tables waits
# for the worker by itself; a look at views, at files or at the worker's doings does not.
sub catch_up
{
	my ($primary, $standby) = @_;
	my $end = $primary->safe_psql('postgres',
		'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END');

	$primary->wait_for_catchup($standby, 'replay', $end);
	$standby->poll_query_until('postgres',
		"SELECT state = 'refused' OR (state = 'following' AND behind_ms = 0) FROM tsurugi.durability")
		or die $standby->name . " has not applied the log\n";
}

# Stops the process that flushes commits with synchronous_commit = off, while it sleeps: elsewhere it
# could hold a lock that others need.  Returns its pid.  It should not sleep for less than seconds.
sub stop_wal_writer
{
	my ($session) = @_;
	my $sleeps = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter' AND wait_event = 'WalWriterMain'};

	for (1 .. 600)
	{
		my $pid = $session->query($sleeps);

		if ($pid ne '')
		{
			kill 'STOP', $pid;
			return $pid if $session->query($sleeps) eq $pid;
			kill 'CONT', $pid;
		}
		select undef, undef, undef, 0.1;
	}
	die 'the WAL writer does not sleep';
}

package TestServer::Session;

use IPC::Run;
use PostgreSQL::Test::Utils;

sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless { in => '', out => '', err => '', number => 0 }, $class;

	$self->{timer} = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$self->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr($database // 'postgres') ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, $self->{timer});
	return $self;
}

# Sends a statement and returns at once.  With LATE_STATEMENTS=seconds the server gets it so much later, with
# LATE_TEST=seconds the test goes on so much later.
sub send
{
	my ($self, $sql) = @_;

	$self->{number}++;
	$self->{in} .= "\\! sleep $ENV{LATE_STATEMENTS}\n" if $ENV{LATE_STATEMENTS} && !$self->{is_waited_for};
	$self->{in} .= "$sql\n\\echo done $self->{number}\n";
	$self->{run}->pump_nb;
	select undef, undef, undef, $ENV{LATE_TEST} if $ENV{LATE_TEST} && !$self->{is_waited_for};
	return $self;
}

# Whether what was sent last has ended.
sub has_answered
{
	my ($self) = @_;

	$self->{run}->pump_nb;
	return index($self->{out}, "done $self->{number}\n") >= 0;
}

# Waits for what was sent last; returns the mark that ends its output, that and what was written to standard error.
sub wait_mark
{
	my ($self) = @_;
	my $mark = "done $self->{number}\n";

	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	$self->{run}->pump while index($self->{out}, $mark) < 0 && $self->{run}->pumpable;
	$self->{run}->pump_nb if $self->{run}->pumpable; # an error written just before the mark
	$self->{timer}->reset;
	my @written = ($mark, $self->{out}, $self->{err});
	$self->{out} = $self->{err} = '';
	return @written;
}

# The same; returns its output, or "ERROR <SQLSTATE>".
sub wait
{
	my ($self) = @_;
	my ($mark, $out, $err) = $self->wait_mark;

	return "ERROR $1" if $err =~ /(?:ERROR|FATAL):\s+(\w{5})/;
	$out =~ s/\Q$mark\E//;
	$out =~ s/^done \d+\n//mg;
	chomp $out;
	return $out;
}

# The same, but returns what was written to standard error.
sub wait_messages
{
	my ($self) = @_;

	return ($self->wait_mark)[2];
}

# A statement, with its semicolon or without, or a command of psql.
sub query
{
	my ($self, $sql) = @_;

	local $self->{is_waited_for} = 1;

	$sql .= ';' unless $sql =~ /;\s*$|^\\/;
	return $self->send($sql)->wait;
}

sub close
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{run}->finish };
}

1;

# Calls on the files of pg_tsurugi and on PostgreSQL's log that fail, each kind of call, the first of
# them and later ones, once and for a while: no acknowledged change is lost, and without the error
# all goes on (Power.pm, Acknowledged.pm).
#
# Clients work, checkpoints and bases are made, while the call fails; then the power is cut, or the
# server is stopped or killed.  A sync that fails is a PANIC, and so is a write of the log, after
# which the server comes back.  (If the log cannot be written for a while, PostgreSQL starts over and
# over; so that is left out.)
#
# CYCLES: how many cases of each kind of call (1).  SEED takes another seed.
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use Chance;
use Errno qw(EACCES EIO EMFILE ENOSPC);
use Power;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $cycles = $ENV{CYCLES} // 1;
srand seed();

my $node = PostgreSQL::Test::Cluster->new('calls');
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'tsurugi_fdw'
restart_after_crash = on
log_line_prefix = '%m [%p] %q%a %e '
autovacuum = off
max_wal_size = '8MB'
min_wal_size = '2MB'
tsurugi_fdw.journal_size = '1MB'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');

my $clients = Acknowledged->new($node, 2);

$node->stop;
my $power = Power->new($node);
my @cases;

for my $file ('pg_tsurugi/journal/', 'pg_tsurugi/state', 'pg_tsurugi/base/manifest', 'pg_tsurugi/base/part')
{
	push @cases, [ 'open', $file, EMFILE ], [ 'write', $file, ENOSPC ], [ 'write', $file, EIO ], [ 'sync', $file, EIO ],
		[ 'remove', $file, EACCES ];
}
push @cases, [ 'rename', 'pg_tsurugi/state', EIO ], [ 'cut', 'pg_tsurugi/journal/', EIO ],
	(map { [ 'sync_directory', "pg_tsurugi$_", EIO ] } '', '/journal', '/base'),
	[ 'write', 'pg_wal/', ENOSPC ], [ 'write', 'pg_wal/', EIO ], [ 'sync', 'pg_wal/', EIO ];

# The server may be on its way down or up.  If psql ends before it has read what it is given, IPC::Run dies.
sub ask { return eval { ($node->psql('postgres', $_[0], timeout => 10, timed_out => \my $timed_out))[1] } // '' }

# Until sessions are served again, or the server is gone, because the call has failed in recovery, too.
sub is_there
{
	my $postmaster = $node->{_pid};

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 0 unless kill 0, $postmaster;
		return 1 if ask('SELECT true') eq 't';
		select undef, undef, undef, 0.1;
	}
	die 'the server does not answer';
}

# It may go by itself meanwhile.
sub end_server
{
	my ($how) = @_;

	if ($how =~ /(\w+) stop/)
	{
		system_log('pg_ctl', '-D', $node->data_dir, '-m', $1, '-w', 'stop');
	}
	else { Acknowledged::kill_all($node) }
}

$power->start;
for my $cycle (1 .. $cycles)
{
	for my $case (shuffled(@cases))
	{
		my ($kind, $text, $error) = @$case;
		my ($number, $stays) = (pick(1, 1, 2, some(3, 20)), chance(0.3) ? 1 : 0);
		$stays = 0 if $text eq 'pg_wal/';
		my $name = "$kind $text, number $number" . ($stays ? ' and further ones' : '');
		my $end = pick('the power is cut', 'killed', 'an immediate stop', 'a fast stop');

		$power->fail($kind, $text, $number, $error, $stays);
		$clients->run(0.1,
			sub {
				ask("SET statement_timeout = '2s'; $_") for 'SELECT tsurugi.write_base()', 'CHECKPOINT', 'SELECT tsurugi.write_base()';
				$power->fail_nothing if $end eq 'a fast stop'; # which makes a checkpoint
				end_server($end) if is_there();
			});
		$node->{_pid} = undef;
		$power->cut if $end eq 'the power is cut';
		note("$name, $end: " . $power->failures . ' have failed');
		# the call may fail in recovery, too, and end it
		$node->_update_pid(0) if !$power->start(fail_ok => 1);
		$power->fail_nothing;
		$power->start unless $node->{_pid};
		$clients->check("$name, $end");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
		is($node->safe_psql('postgres', "SELECT tsurugi.write_base() > 0"), 't', 'a base is written');
	}
}
is(TestServer::internal_errors($node) =~ s/^.*(?:PANIC:  could not (?:f?sync|fdatasync|write to)|terminated by signal [69]).*\n(?:.*STATEMENT.*\n)?//mgr, '', 'no internal error');
$node->stop;
done_testing();

# While tables are loaded at a start, the view and the statements that have waited long enough say
# how far the load is.
#
# The worker stops wherever the load lets it serve PostgreSQL, and goes on when it has been looked at.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('progress', 'tsurugi_fdw.load_wait' => '10ms');

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE u (id int PRIMARY KEY) SERVER tsurugi;
	INSERT INTO t SELECT i, repeat('v', 200) FROM generate_series(1, 6000) i;
	SELECT tsurugi.write_base()});
$node->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 600 LOOP UPDATE t SET v = i WHERE id = i; COMMIT; END LOOP; END $$});
is($node->safe_psql('postgres', 'SELECT load_phase IS NULL AND load_done IS NULL AND load_total IS NULL FROM tsurugi.durability'), 't',
	'before a start, nothing is told of a load');
$node->stop('immediate');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:load_goes_on'");
$node->start;

# What the view says each time: phase, done, total; and the phase that the error names.
my (@seen, $faults);
my @phases = qw(definitions base changes keys);
my $worker = TestServer::worker_pid($node);

for (1 .. 1000)
{
	my $is_open = 0;

	select(undef, undef, undef, 0.005)
		until TestServer::is_stopped($worker) || ($is_open = $node->safe_psql('postgres', 'SELECT state FROM tsurugi.durability') eq 'open');
	last if $is_open;
	my @now = split /\|/, $node->safe_psql('postgres', q{SELECT state, load_phase, load_done, load_total FROM tsurugi.durability});
	my ($code, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM t', extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my ($phase) = grep { $phases[$_] eq $now[1] } 0 .. $#phases;

	$faults .= "@now; $err" if $now[0] ne 'loading' || !defined $phase || $now[2] > $now[3] || (@seen && ($phase < $seen[-1][0] || ($phase == $seen[-1][0] && $now[2] < $seen[-1][1])))
		|| $err !~ /57P03.*being loaded \($now[1]: $now[2] of $now[3]\); the wait ended after 10 ms/s;
	push @seen, [ $phase, $now[2], $now[3] ];
	kill 'CONT', $worker;
}
is($faults, undef, 'all along, the view and the error say the same, and it grows');
my %phases = map { $_->[0] => 1 } @seen;
is(join(' ', map { $phases[$_] } sort keys %phases), join(' ', @phases), 'phase by phase');
cmp_ok((grep { $_->[1] > 0 && $_->[1] < $_->[2] } @seen), '>', 0, 'also in the middle of one');
is($node->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE v <> repeat('v', 200)) FROM t"), '6000|600', 'then all is there');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
$node->stop;
done_testing();

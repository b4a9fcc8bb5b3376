#!/usr/bin/perl
# Serializable transactions that are tried again: called by retries.sh with a cluster running.
#
#   hot      8 clients read one of ten rows and write it; beside it READ COMMITTED with FOR UPDATE
#   orders   8 clients, orders and payments in two warehouses, as in TPC-C
#   batch    a batch that reads all contracts and their history, tried up to five times beside 4 clients
#            that insert history
#
# Sides take turns in each round: as it is; with promote_after = 0; where failpoints are built in, also
# without locks of rows that a try has failed by.  Rates of the rounds, and tries for a commit.
use strict;
use warnings;
use File::Basename;

$| = 1;
my $here = dirname(__FILE__);
my $rounds = $ENV{ROUNDS} || 3;
my $seconds = $ENV{SECONDS_EACH} || 4;
my $contracts = $ENV{CONTRACTS} || 10_000;
my @sides = ([ 'as it is', '' ], [ 'promote_after = 0', '-c tsurugi_fdw.promote_after=0' ]);

sub pgbench
{
	my ($level, $settings, $options, @scripts) = @_;

	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . $level =~ s/ /\\ /r . " $settings";
	my $output = join '', map { "-f $here/statements/$_.sql " } @scripts;
	$output = `pgbench -n -M prepared $options $output postgres 2>&1`;
	my ($done) = $output =~ /^number of transactions actually processed: (\d+)/m;
	my ($failed) = $output =~ /^number of failed transactions: (\d+)/m;
	my ($retries) = $output =~ /^total number of retries: (\d+)/m;
	my ($rate) = $output =~ /^tps = ([\d.]+)/m;
	die "pgbench failed:\n$output" unless defined $done && $output !~ /aborted/;
	return (rate => $rate // 0, done => $done, failed => $failed, tries => ($done + $failed + $retries) / ($done || 1),
		tries_each => ($done + $failed + $retries) / ($done + $failed));
}

sub compare
{
	my ($name, $options, @runs) = @_;

	for my $round (1 .. $rounds)
	{
		for my $run ($round % 2 ? @runs : reverse @runs)
		{
			my ($side, $level, $settings, @scripts) = @$run;
			my %result = pgbench($level, $settings, $options, @scripts);
			printf "%-8s %-34s %8.0f/s  %.3f tries a commit\n", $name, $side, @result{qw(rate tries)};
		}
	}
}

system('psql', '-Xq', '-v', "contracts=$contracts", '-f', "$here/retries.sql", 'postgres') == 0 or die "retries.sql failed\n";
push @sides, [ 'as without this', '-c tsurugi_fdw.promote_after=0 -c tsurugi_fdw.failpoints=skip_p1,skip_p5' ]
	if `psql -XAtc "SELECT current_setting('tsurugi_fdw.failpoints', true) IS NOT NULL" postgres` =~ /t/;

my $clients = "--max-tries=1000 -c 8 -T $seconds";
compare('hot', $clients, [ 'READ COMMITTED, FOR UPDATE', 'read committed', '', 'hot_lock' ],
	map { [ $_->[0], 'serializable', $_->[1], 'hot_read' ] } @sides);
compare('orders', $clients, map { [ $_->[0], 'serializable', $_->[1], 'new_order', 'payment' ] } @sides);
for my $batch ('batch', 'batch_rows')
{
	for my $side (@sides)
	{
		defined(my $pid = fork) or die;
		if ($pid == 0)
		{
			pgbench('serializable', '', '--max-tries=1000 -c 4 -T ' . 5 * $seconds . " -D contracts=$contracts", 'online_history', 'online_contract');
			exit;
		}
		sleep 1;
		my %result = pgbench('serializable', $side->[1], '-c 1 -t 3 --max-tries=5', "tried_$batch");
		printf "%-8s %-34s %d of 3 got through, %.1f tries each\n", $batch, $side->[0], @result{qw(done tries_each)};
		waitpid $pid, 0;
	}
}
print `psql -Xc 'SELECT * FROM tsurugi.retries' postgres`;

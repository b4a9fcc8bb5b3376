#!/usr/bin/perl
# Runs test programs that print TAP, like prove, and appends their totals to a
# file as a line "passed failed skipped".  A program that prints no failure but
# ends badly (exit status, plan) counts as one failure.
#
#   test/tap.pl TOTALS-FILE [--jobs N] [--exec 'COMMAND'] PROGRAM...
use strict;
use warnings;
use TAP::Harness;

my $totals_file = shift @ARGV;
my $jobs = 1; # programs at a time
if (@ARGV && $ARGV[0] eq '--jobs')
{
	shift @ARGV;
	$jobs = shift @ARGV;
}
my @exec;
if (@ARGV && $ARGV[0] eq '--exec')
{
	shift @ARGV;
	@exec = split ' ', shift @ARGV;
}
# programs are run as they are; with --exec, as the command's last argument
my $exec = @exec ? \@exec : sub {
	my ($harness, $program) = @_;
	return $program =~ /\.pl$/ ? [ $^X, $program ] : [ $program =~ m{/} ? $program : "./$program" ];
};

my $harness = TAP::Harness->new({ exec => $exec, failures => 1, timer => 1, jobs => $jobs });
my $result = $harness->runtests(@ARGV);

my ($passed, $failed, $skipped) = (0, 0, 0);
for my $parser ($result->parsers)
{
	my $skips = () = $parser->skipped;
	my $passes = () = $parser->passed;
	my $failures = () = $parser->failed;

	$skips = 1 if $parser->skip_all;
	$failures = 1 if $failures == 0 && $parser->has_problems;
	$passed += $passes - ($parser->skip_all ? 0 : $skips);
	$failed += $failures;
	$skipped += $skips;
}

open(my $out, '>>', $totals_file) or die "$totals_file: $!";
print $out "$passed $failed $skipped\n";
close $out or die;
exit($failed > 0 ? 1 : 0);

#!/usr/bin/perl
# Prepares PostgreSQL's isolation suite, and compares runs of it, for postgres_isolation.sh.
#
#   postgres_isolation.pl prepare SUITE                    ends what a session leaves open
#   postgres_isolation.pl serial SUITE ORDINARY FOREIGN OUT NAME...
#                                                          writes specs of serial executions to OUT
#   postgres_isolation.pl compare SUITE ORDINARY FOREIGN SERIAL NAME...
#
# SUITE is the suite's directory, ORDINARY, FOREIGN and SERIAL are those of answers, NAMEs are
# specs.
#
# A spec's permutation is a sequence of steps of several sessions.  A place is a step of a
# permutation, as often as it comes, whose answers differ: its rows and messages, that it waits,
# and until which other step.  postgres_isolation.causes names the causes, each of a class:
#
#   a  PostgreSQL refuses it on foreign tables, out of the reach of any hook
#   b  the same rows in another order, another plan, an expression that is evaluated earlier
#   c  the catalogs say what kind of table it is
#   d  of our making: gaps and differences, which doc/differences.md names
#   e  refused, as it cannot be for tables in memory
#   s  another transaction fails, or the same one at another step, with 40001; see below
#
# What comes later in a permutation than a place of class a, d or e, and has no cause of its own,
# follows it.
#
# Two systems that are both right may choose other transactions to fail.  So class s has no
# patterns.  A permutation in which either run has a 40001 is right if the transactions that did not
# fail in it answer what they answer in some serial execution, of them alone, on ordinary tables.
# "serial" writes all of these as specs, of the permutations concerned, and "compare"
# looks for one that has the answers.
#
# What nothing explains goes to FOREIGN/unexplained.diff and makes the run fail, as do internal
# errors (SQLSTATE XX...), and steps that were cancelled because they hung; all places go to
# FOREIGN/all.diff.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgresCauses;

my $serialization = qr/^(?:teardown of session (\S+) failed: )?ERROR: could not serialize access/;
my $hang = qr/^isolationtester: canceling|^step .* timed out|due to statement timeout|^failed to complete|^setup failed/;

# --- specs -----------------------------------------------------------------------------

# The words of a spec, each with where it begins: names, "names", and { blocks }.
sub words
{
	my ($text) = @_;
	my @words;

	while ($text =~ /\G(?:\s+|#[^\n]*\n|(\{[^}]*\}|"[^"]*"|[^\s{}"#]+))/gc)
	{
		push @words, [ $1, pos($text) - length $1 ] if defined $1;
	}
	return @words;
}

sub read_text
{
	my ($path) = @_;

	return join "\n", @{ lines_of($path) }, '';
}

sub write_text
{
	my ($path, $text) = @_;

	open(my $file, '>', $path) or die "$path: $!\n";
	print $file $text;
	close $file;
}

# What a step waits for beside locks is how many notices another has raised, which ours need not
# raise.
sub without_notices
{
	my ($text) = @_;

	return $text =~ s/\(\w+ notices \d+\)//gr;
}

# Lets each session that has no end of its own commit at the end of each permutation: with ordinary
# tables a statement may fail where with others the transaction goes on, and the tester, which then
# removes the tables, waits for it.
sub with_commits
{
	my ($text) = @_;
	my @words = words($text);
	my $in_session = 0;
	my $ends = 0;
	my @at;

	for my $i (0 .. $#words)
	{
		my ($word, $begin) = @{ $words[$i] };

		next if $i > 0 && $words[ $i - 1 ][0] =~ /^(?:session|step)$/;
		$ends = 1 if $word eq 'teardown';
		next unless $word eq 'session' || $word eq 'permutation';
		push @at, $begin if $in_session && !$ends;
		$in_session = $word eq 'session';
		$ends = 0;
		last if $word eq 'permutation';
	}
	push @at, length $text if $in_session && !$ends;
	substr($text, $_, 0) = "teardown { COMMIT; }\n" for reverse @at;
	return $text;
}

# The session of each step of a spec.
sub sessions
{
	my ($text) = @_;
	my ($session, %sessions);
	my @words = map { $_->[0] =~ s/^"(.*)"$/$1/r } words($text);

	for my $i (1 .. $#words)
	{
		$session = $words[$i] if $words[ $i - 1 ] eq 'session';
		$sessions{ $words[$i] } = $session if $words[ $i - 1 ] eq 'step';
	}
	return \%sessions;
}

sub without_permutations
{
	my ($text) = @_;

	for (words($text))
	{
		return substr $text, 0, $_->[1] if $_->[0] eq 'permutation';
	}
	return $text;
}

# --- answers ---------------------------------------------------------------------------

# The lines of a step, without what is only layout.
sub plain
{
	return map { s/ ?\| ?/|/gr } without_kind(@_);
}

# The permutations in a file of results, each {name, steps, other}: steps in the order of their end,
# each {name, statement, lines}; other: the lines of no step.
sub permutations
{
	my ($path) = @_;
	my (@permutations, $current, $into, %running, $launched);

	return () unless -f $path;
	for my $line (@{ lines_of($path) })
	{
		# see with_commits
		next if $line =~ /WARNING:  there is no transaction in progress$|^(?:DETAIL|HINT): /;
		if ($line =~ /^starting permutation: (.*)/)
		{
			$current = { name => $1, steps => [], other => [] };
			push @permutations, $current;
			$into = $current->{other};
			%running = ();
		}
		elsif (!$current)
		{
			next;
		}
		elsif ($line =~ /^step ([^:]+): <\.\.\. completed>$/ && $running{$1})
		{
			my $step = $running{$1};

			@{ $current->{steps} } = ((grep { $_ != $step } @{ $current->{steps} }), $step);
			push @{ $step->{lines} }, "waits until $launched";
			$into = $step->{lines};
		}
		elsif ($line =~ /^step ([^:]+): (.*)$/)
		{
			my $step = { name => $1, lines => [$2] };

			$running{$1} = $step;
			$launched = $1;
			push @{ $current->{steps} }, $step;
			$into = $step->{lines};
		}
		elsif ($line !~ /^(?:ERROR|FATAL): / && $line =~ /^(?:\w+: |teardown |setup |isolationtester: |step \S+ timed out|failed to )/)
		{
			push @{ $current->{other} }, $line;
		}
		else
		{
			push @$into, $line;
		}
	}
	return @permutations;
}

sub by_name
{
	return map { $_->{name} => $_ } @_;
}

sub has_failure
{
	my ($permutation) = @_;

	return grep { $_ =~ $serialization } plain((map { @{ $_->{lines} } } @{ $permutation->{steps} }), @{ $permutation->{other} });
}

sub answers_of
{
	my ($permutation) = @_;

	return join "\n", map { ($_->{name}, plain(@{ $_->{lines} })) } @{ $permutation->{steps} };
}

# --- serial executions -----------------------------------------------------------------

# The transactions of a permutation that did not fail, each {session, steps}, by session, in its
# order.
sub transactions
{
	my ($permutation, $sessions) = @_;
	my (%open, %kept);
	my %by_name;
	my @steps;

	push @{ $by_name{ $_->{name} } }, $_ for @{ $permutation->{steps} };
	push @steps, shift @{ $by_name{$_} // [] } for split / /, $permutation->{name};
	for my $step (grep { defined } @steps)
	{
		my $session = $sessions->{ $step->{name} };
		my $one = $open{$session} //= { steps => [] };

		push @{ $one->{steps} }, $step;
		$one->{failed} = 1 if grep { $_ =~ $serialization } plain(@{ $step->{lines} });
		next unless $step->{lines}[0] =~ /^\s*(?:COMMIT|ROLLBACK|ABORT|END)\b/i;
		push @{ $kept{$session} }, $one;
		delete $open{$session};
	}
	for (plain(@{ $permutation->{other} }))
	{
		$open{$1}{failed} = 1 if $_ =~ $serialization;
	}
	push @{ $kept{$_} }, $open{$_} for keys %open;
	for my $session (keys %kept)
	{
		@{ $kept{$session} } = grep { !$_->{failed} } @{ $kept{$session} };
		delete $kept{$session} unless @{ $kept{$session} };
	}
	return \%kept;
}

# All orders of the sessions' transactions: lists of lists of steps.
sub orders
{
	my ($sessions) = @_;
	my @orders;

	return ([]) unless grep { @$_ } values %$sessions;
	for my $session (sort keys %$sessions)
	{
		my ($first, @rest) = @{ $sessions->{$session} } or next;

		push @orders, map { [ @{ $first->{steps} }, @$_ ] } orders({ %$sessions, $session => \@rest });
	}
	return @orders;
}

# What a step says, but for its waiting, which it does not in a serial execution.
sub says
{
	my ($step) = @_;

	return join "\n", grep { !/^waits until/ } plain(map { s/ <waiting \.\.\.>$//r } @{ $step->{lines} });
}

# A serial execution that has the answers of the permutation's transactions that did not fail.
sub is_serial
{
	my ($permutation, $sessions, $serial) = @_;

	for my $order (orders(transactions($permutation, $sessions)))
	{
		my $found = $serial->{ join ' ', map { $_->{name} } @$order } or next;
		my @steps = @{ $found->{steps} };

		return 1 if @steps == @$order && !grep { says($order->[$_]) ne says($steps[$_]) } 0 .. $#steps;
	}
	return 0;
}

# --- explaining ------------------------------------------------------------------------

my @causes = read_causes("$FindBin::RealBin/postgres_isolation.causes");

# The places of a permutation: lists of [statement, minus, plus], in the order of the steps' ends.
sub places
{
	my ($left, $right) = @_;
	my (%right, @places);

	push @{ $right{ $_->{name} } }, $_ for @{ $right->{steps} };
	for my $step (@{ $left->{steps} })
	{
		my $other = shift @{ $right{ $step->{name} } // [] };
		my @left = plain(@{ $step->{lines} });
		my @right = $other ? plain(@{ $other->{lines} }) : ('(not run)');

		push @places, [ "$step->{name}: @{[$step->{lines}[0] =~ s/ <waiting.*//r]}", difference(\@left, \@right) ]
			unless "@left" eq "@right";
	}
	my @left = plain(@{ $left->{other} });
	my @right = plain(@{ $right->{other} });
	push @places, [ 'beside the steps', difference(\@left, \@right) ] unless "@left" eq "@right";
	return @places;
}

# --- the three commands ----------------------------------------------------------------

my ($command, $suite, $ordinary, $foreign, $serial, @names) = @ARGV;

if ($command eq 'prepare')
{
	write_text($_, with_commits(without_notices(read_text($_)))) for glob "$suite/specs/*.spec";
	exit;
}

if ($command eq 'serial')
{
	for my $name (@names)
	{
		my $text = read_text("$suite/specs/$name.spec");
		my $sessions = sessions($text);
		my %ordinary = by_name(permutations("$ordinary/results/$name.out"));
		my %wanted;

		for my $permutation (permutations("$foreign/results/$name.out"))
		{
			my $left = $ordinary{ $permutation->{name} };

			next if !$left || answers_of($left) eq answers_of($permutation);
			next unless has_failure($left) || has_failure($permutation);
			$wanted{ join ' ', map { "\"$_->{name}\"" } @$_ } = 1 for orders(transactions($permutation, $sessions));
		}
		delete $wanted{''};
		next unless %wanted;
		write_text("$serial/specs/$name.spec", join "\n", without_permutations($text), (map { "permutation $_" } sort(keys %wanted)), '');
		print "$name\n";
	}
	exit;
}

open(my $all, '>', "$foreign/all.diff") or die;
open(my $unexplained, '>', "$foreign/unexplained.diff") or die;
my (%total, @same, @bad, @hung);
my ($differ, $with_gaps, $permutations, $other, $failed_left, $failed_right) = (0) x 6;

for my $name (@names)
{
	my $sessions = sessions(read_text("$suite/specs/$name.spec"));
	my %serial = by_name(permutations("$serial/results/$name.out"));
	my @left = permutations("$ordinary/results/$name.out");
	my %right = by_name(permutations("$foreign/results/$name.out"));
	my (%count, %hangs);

	for my $left (@left)
	{
		my $right = $right{ $left->{name} } // { steps => [], other => ['(not run)'] };
		my @places = places($left, $right);

		$failed_left += has_failure($left) ? 1 : 0;
		$failed_right += has_failure($right) ? 1 : 0;
		my $is_serial = (has_failure($left) || has_failure($right)) && is_serial($right, $sessions, \%serial);
		my $follows;

		$permutations++;
		$other++ if @places;
		for my $place (@places)
		{
			my ($statement, $minus, $plus) = @$place;
			my $text = text_of($statement, $minus // [], $plus // []);
			my $cause = !$minus ? { class => 'b', name => 'order' } : find_cause(\@causes, $name, $text);

			$cause //= { class => 's', name => 'serial' } if $is_serial;
			$cause //= { class => $follows, name => 'follows' } if $follows;
			my $label = $cause ? "$cause->{class} $cause->{name}" : 'unexplained';

			$follows = $cause->{class} if $cause && $cause->{class} =~ /[ade]/;
			$count{$label}++;
			$total{$label}++;
			$hangs{$_}++ for grep { !$cause && $_ =~ $hang } @{ $plus // [] };
			$text = "== $name: $label\npermutation $left->{name}\n$text\n";
			print $all $text;
			print $unexplained $text unless $cause;
		}
	}
	push @same, $name unless %count;
	push @bad, $name if $count{unexplained} || !@left;
	push @hung, map { "$name: $_" } sort keys %hangs;
	if (%count && !$count{unexplained})
	{
		if (grep { /^d / } keys %count) { $with_gaps++ }
		else                            { $differ++ }
	}
	printf "%-32s %s\n", $name, %count ? join(', ', map { "$_ $count{$_}" } sort keys %count) : 'same';
}

my @internal = internal_errors(\@causes, $ordinary, $foreign);

print "\nplaces by cause:\n";
printf "  %-24s %5d\n", $_, $total{$_} for sort keys %total;
printf "\n%4d specs of %d have the same answers; of %d permutations %d\n", scalar @same, scalar @names, $permutations,
	$permutations - $other;
printf "%4d permutations have a transaction that fails with 40001 on ordinary tables, %d in memory\n", $failed_left, $failed_right;
printf "%4d differ by what PostgreSQL refuses (a), by order and plans (b), by what kind of table it is (c), by what cannot be in memory (e), by which transaction fails (s)\n",
	$differ;
printf "%4d also by what is of our making (d)\n", $with_gaps;
printf "%4d have differences that nothing explains%s\n", scalar @bad, @bad ? ": @bad" : '';
print "HANG: $_\n" for @hung;
print "INTERNAL ERROR: $_\n" for @internal;
exit(@bad || @internal ? 1 : 0);

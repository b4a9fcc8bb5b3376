#!/usr/bin/perl
# Compares two runs of PostgreSQL's regression suite, for postgres_regress.sh.
#
#   postgres_regress.pl SUITE ORDINARY FOREIGN FILE...   the suite's directory, those of answers, names of files
#
# The unit is a statement: psql echoes the lines of a file, so that what stands in
# between is the answer to the line before.  A place is a statement whose answers
# differ.  Places are told apart by causes, which postgres_regress.causes names,
# each of a class:
#
#   a  PostgreSQL refuses it on foreign tables, out of the reach of any hook
#   b  the same rows in another order, or another plan
#   c  the catalogs say what kind of table it is
#   d  of our making: gaps, which doc/differences.md names, and small differences
#   e  refused, as it cannot be for tables in memory
#
# A refusal (a, d, e) has followers: later statements about what it was refused for.  So
# the names in a refused statement are remembered up to the end of the file, and a
# statement with one of them, which no cause of its own fits, follows it.
#
# What nothing explains is "unexplained", goes to FOREIGN/unexplained.diff, and
# makes the run fail, as do internal errors (SQLSTATE XX...) that ordinary tables do not
# raise; all places go to FOREIGN/all.diff.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgresCauses;

my ($suite, $ordinary, $foreign, @names) = @ARGV;

# --- causes ---------------------------------------------------------------------------

my @causes = read_causes("$FindBin::RealBin/postgres_regress.causes");

# --- answers ----------------------------------------------------------------------------

# The answers in a file of results: an array, at each line of the script the lines after it.
sub answers
{
	my ($script, $results) = @_;
	my @answers;
	my $at = -1;

	for my $line (@$results)
	{
		my $next = $at + 1;

		# data of COPY is not echoed; if COPY has failed, it is
		if ($at >= 0 && $script->[$at] =~ /\bfrom stdin\b.*;/i && $next < @$script && $line ne $script->[$next])
		{
			$next++ while $next < @$script && $script->[$next] ne '\.';
			$next++;
		}
		if ($next < @$script && $line eq $script->[$next])
		{
			$at = $next;
		}
		else
		{
			push @{ $answers[ $at < 0 ? 0 : $at ] }, $line;
		}
	}
	return \@answers;
}

# The statement that ends at each line of the script: the lines since the last one.
sub statements
{
	my ($script) = @_;
	my (@statements, @current);
	my $quote;

	for my $line (@$script)
	{
		push @current, $line unless !@current && $line =~ /^\s*(?:--.*)?$/;
		push @statements, join("\n", @current);
		while ($line =~ /(\$\w*\$)/g)
		{
			$quote = !defined $quote ? $1 : $1 eq $quote ? undef : $quote;
		}
		@current = () if !defined $quote && ($line =~ /;\s*(?:--.*)?$/ || $line =~ /^\\/ || $line =~ /\\g\w*\b/);
	}
	return \@statements;
}

# --- explaining ---------------------------------------------------------------------------

# Names that a refused statement is about: after the words that objects are named by.
sub remember
{
	my ($touched, $statement) = @_;

	while ($statement =~ /\b(?:table|index|view|rule|trigger|policy|publication|constraint|only|into|on|exists|attach partition|partition of|update|from|to|references|transaction|concurrently|statistics)\s+((?:"[^"]+"|'[^']+'|[\w.]+))/gi)
	{
		my $name = $1;

		next if $name =~ /^(?:only|if|not|for|all|in|as|select|update|delete|insert|table|conflict|schema|set|using|values|add|the|current|a|to)$/i;
		$name =~ s/["']//g;
		$name =~ s/.*\.//;
		$touched->{ lc $name } = 1 if length $name > 1;
	}
}

sub is_about
{
	my ($touched, $text) = @_;

	for my $word (map { lc } $text =~ /\w+/g)
	{
		# an index or a constraint has its table's name before its own
		do { return 1 if $touched->{$word} } while $word =~ s/_[^_]*$//;
	}
	return 0;
}

# The cause of a place, as [class, name].
sub explain
{
	my ($name, $statement, $left, $right, $state) = @_;
	my @left = without_kind(@$left);
	my @right = without_kind(@$right);

	return [ 'c', 'kind' ] if "@left" eq "@right";
	my ($minus, $plus) = difference(\@left, \@right);
	return [ 'b', 'order' ] unless $minus;
	my $text = text_of($statement, $minus, $plus);
	my $cause = find_cause(\@causes, $name, $text);

	if ($cause)
	{
		remember($state, $statement) if $cause->{class} =~ /[ade]/;
		return [ $cause->{class}, $cause->{name} ];
	}
	if (is_about($state, $text) || "@$minus @$plus" =~ /current transaction is aborted|savepoint ".*" does not exist/)
	{
		remember($state, $statement);
		return [ 'a', 'follows' ];
	}
	return undef;
}

# --- the files ------------------------------------------------------------------------------

open(my $all, '>', "$foreign/all.diff") or die;
open(my $unexplained, '>', "$foreign/unexplained.diff") or die;
my (%total, @same, %by_class, @bad);

for my $name (@names)
{
	my ($left, $right) = map { "$_/results/$name.out" } $ordinary, $foreign;
	next unless -f $left && -f $right;
	my $script = [ grep { /\S/ } @{ lines_of("$suite/sql/$name.sql") } ]; # psql does not echo empty lines
	my $statements = statements($script);
	my $answers_left = answers($script, lines_of($left));
	my $answers_right = answers($script, lines_of($right));
	my (%count, %state);
	my $unexplained_count = 0;

	for my $i (0 .. $#$script)
	{
		my @left = @{ $answers_left->[$i] // [] };
		my @right = @{ $answers_right->[$i] // [] };
		next if join("\n", @left) eq join("\n", @right);
		my $cause = explain($name, $statements->[$i], \@left, \@right, \%state);
		my $label = $cause ? "$cause->[0] $cause->[1]" : 'unexplained';
		my ($minus, $plus) = difference(\@left, \@right);
		my $text = join "\n", "== $name: $label", $statements->[$i],
			(map { "- $_" } @{ $minus // \@left }), (map { "+ $_" } @{ $plus // \@right }), '';

		$count{$label}++;
		$total{$label}++;
		print $all $text;
		next if $cause;
		print $unexplained $text;
		$unexplained_count++;
	}
	push @same, $name unless %count;
	my $class = join '', sort(keys %{ { map { substr($_, 0, 1) => 1 } keys %count } });
	push @bad, $name if $unexplained_count;
	$by_class{$class}++ if %count && !$unexplained_count;
	printf "%-24s %s\n", $name, %count ? join(', ', map { "$_ $count{$_}" } sort keys %count) : 'same';
}

my @internal = internal_errors(\@causes, $ordinary, $foreign);

# --- the end --------------------------------------------------------------------------------

my $only_abc = 0;
my $with_gaps = 0;
for my $class (keys %by_class)
{
	if   ($class =~ /d/) { $with_gaps += $by_class{$class} }
	else                 { $only_abc += $by_class{$class} }
}
print "\nplaces by cause:\n";
printf "  %-20s %5d\n", $_, $total{$_} for sort keys %total;
printf "\n%4d files have the same answers\n", scalar @same;
printf "%4d differ by what PostgreSQL refuses (a), by order and plans (b), by what kind of table it is (c), by what cannot be in memory (e)\n",
	$only_abc;
printf "%4d also by what is of our making (d)\n", $with_gaps;
printf "%4d have differences that nothing explains%s\n", scalar @bad, @bad ? ": @bad" : '';
print "INTERNAL ERROR: $_\n" for @internal;
exit(@bad || @internal ? 1 : 0);

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
#   d  of our making: gaps, which the README names, and small differences
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
use File::Basename;

my ($suite, $ordinary, $foreign, @names) = @ARGV;

# --- causes ---------------------------------------------------------------------------

# The causes, in the order of the file: class, name, and patterns, some for certain files only.
sub read_causes
{
	my ($path) = @_;
	my @causes;

	open(my $file, '<', $path) or die "$path: $!\n";
	while (<$file>)
	{
		chomp;
		next if /^#/ || /^\s*$/;
		if (/^([a-e]) (\w+): /)
		{
			push @causes, { class => $1, name => $2, patterns => [], used => 0 };
		}
		elsif (@causes && /^\t(?:@(\S+) )?(.+)$/)
		{
			my ($files, $pattern) = ($1, $2);
			my %only = map { $_ => 1 } split /,/, $files // '';

			push @{ $causes[-1]{patterns} }, { only => $files ? \%only : undef, regex => qr/$pattern/mi };
		}
		else
		{
			die "$path:$.: neither a cause nor a pattern\n";
		}
	}
	return @causes;
}

my @causes = read_causes(dirname($0) . '/postgres_regress.causes');

# --- answers ----------------------------------------------------------------------------

sub lines_of
{
	my ($path) = @_;

	open(my $file, '<', $path) or die "$path: $!\n";
	my @lines = <$file>;
	chomp @lines;
	return \@lines;
}

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

# What is said of the kind of a table, taken out: words, and the columns and lines of \d that only one kind has.
sub without_kind
{
	my (@lines) = @_;
	my ($column, @kept);

	for (@lines)
	{
		s/\bforeign table\b/table/g;
		s/\bForeign table\b/Table/g;
		s/\bFOREIGN TABLE\b/TABLE/g;
		s/\bPartitioned index\b/Index/g;
		s/ ON ONLY / ON /g;
		s/table "(\S+)" is a child table/$1/;
		next if /^(?:Server: tsurugi|FDW options:.*|Number of partitions: 0|Access method: heap|Replica Identity: .*)$/;
		my @cells = split /\|/, $_, -1;

		if (@cells == 1 && !/^[-+]+$/)
		{
			$column = undef if /^\(/ || $_ eq '' || /^\s*(?:\w+ )+"\S+"$/;
		}
		for my $i (0 .. $#cells)
		{
			$column = $i if $cells[$i] =~ /^ (?:FDW options|Compression) *$/;
		}
		splice @cells, $column, 1 if defined $column && @cells > $column;
		$_ = join '|', @cells;
		s/[ \t]+/ /g;
		s/^ | $//g;
		push @kept, $_ unless /^[-+]*$/;
	}
	return @kept;
}

# What one side has and the other has not, in order; undef if only the order of lines differs.
sub difference
{
	my ($left, $right) = @_;
	my (%count, @minus, @plus);

	$count{$_}++ for @$left;
	for (@$right)
	{
		if   ($count{$_}) { $count{$_}-- }
		else              { push @plus, $_ }
	}
	for (reverse @$left)
	{
		next unless $count{$_};
		$count{$_}--;
		unshift @minus, $_;
	}
	return @minus || @plus ? (\@minus, \@plus) : ();
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
	my $text = join "\n", (map { "S $_" } split /\n/, $statement), (map { "- $_" } @$minus), (map { "+ $_" } @$plus);

	for my $cause (@causes)
	{
		for my $pattern (@{ $cause->{patterns} })
		{
			next if $pattern->{only} && !$pattern->{only}{$name};
			next unless $text =~ $pattern->{regex};
			remember($state, $statement) if $cause->{class} =~ /[ade]/;
			return [ $cause->{class}, $cause->{name} ];
		}
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

# --- internal errors ------------------------------------------------------------------------

# The messages in a server's log whose SQLSTATE (at the end of the prefix) is an internal error's.
sub internal_errors
{
	my ($path) = @_;
	my %messages;

	for (@{ lines_of($path) })
	{
		$messages{$1} = 1 if /\bXX\d\d\d (?:ERROR|FATAL|PANIC|WARNING):  (.*)/;
	}
	return \%messages;
}

# Whether a cause names the message.
sub is_named
{
	my ($message) = @_;

	return grep { "+ ERROR: $message" =~ $_->{regex} } map { @{ $_->{patterns} } } @causes;
}

my %known = map { s/\d+/N/gr => 1 } keys %{ internal_errors("$ordinary/server.log") };
my @internal = grep { !$known{ s/\d+/N/gr } && !is_named($_) } sort keys %{ internal_errors("$foreign/server.log") };

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

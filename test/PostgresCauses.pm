package PostgresCauses;

# What postgres_regress.pl and postgres_isolation.pl share: causes, and what differs between two
# answers.
#
# A file of causes has a line "class name: what it is" for each, where the class is a letter,
# and below it patterns, after a tab.  A pattern is tried, line by line and in either case, on the
# text of a place; "@file,file " before it restricts it to these files.
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(read_causes find_cause lines_of without_kind difference text_of internal_errors);

# The causes, in the order of the file.
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
			push @causes, { class => $1, name => $2, patterns => [] };
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

# The first cause that fits the text of a place in a file, or undef.
sub find_cause
{
	my ($causes, $name, $text) = @_;

	for my $cause (@$causes)
	{
		return $cause
			if grep { !($_->{only} && !$_->{only}{$name}) && $text =~ $_->{regex} } @{ $cause->{patterns} };
	}
	return undef;
}

sub lines_of
{
	my ($path) = @_;

	open(my $file, '<', $path) or die "$path: $!\n";
	my @lines = <$file>;
	chomp @lines;
	return \@lines;
}

# What is said of the kind of a table, taken out: words, and the columns and lines of \d that only
# one kind has.
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

# A place as a pattern sees it: the statement, what only the first answers, what only the second.
sub text_of
{
	my ($statement, $minus, $plus) = @_;

	return join "\n", (map { "S $_" } split /\n/, $statement), (map { "- $_" } @$minus), (map { "+ $_" } @$plus);
}

# The messages in a server's log whose SQLSTATE (at the end of the prefix) is an internal error's.
sub internal_messages
{
	my ($path) = @_;
	my %messages;

	for (@{ lines_of($path) })
	{
		$messages{$1} = 1 if /\bXX\d\d\d (?:ERROR|FATAL|PANIC|WARNING):  (.*)/;
	}
	return keys %messages;
}

# Those in the log of one directory that are not in the other's, and that no cause names.
sub internal_errors
{
	my ($causes, $ordinary, $foreign) = @_;
	my %known = map { s/\d+/N/gr => 1 } internal_messages("$ordinary/server.log");
	my @patterns = map { @{ $_->{patterns} } } @$causes;

	return grep {
		my $message = $_;
		!$known{ $message =~ s/\d+/N/gr } && !grep { "+ ERROR: $message" =~ $_->{regex} } @patterns
	} sort(internal_messages("$foreign/server.log"));
}

1;

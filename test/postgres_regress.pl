#!/usr/bin/perl
# Compares two runs of PostgreSQL's regression suite, for postgres_regress.sh.
#
#   postgres_regress.pl ORDINARY FOREIGN FILE...   directories of answers, names of files
#
# For each file: whether all answers are the same, and if not, how many places
# differ by cause.  Causes are told from the lines that differ; what fits none is
# "other" and worth a look: it goes to FOREIGN/other.diff, everything that differs to
# FOREIGN/all.diff.
use strict;
use warnings;

my ($ordinary, $foreign, @names) = @ARGV;

# A place belongs to the first cause whose pattern is found in it.
my @causes = (
	[ index => qr/cannot create (?:unique )?index on|unique constraints are not supported|primary keys of tables in memory|ON CONFLICT specification|duplicate key value|does not exist.*skipping|REINDEX|cannot be in a primary key/ ],
	[ foreign_key => qr/foreign key|referenced relation|exclusion constraints are not supported/i ],
	[ row_lock => qr/row-level locks are not supported|cannot lock rows/ ],
	[ rule => qr/cannot have rules|\brule\b.*does not exist/ ],
	[ refused => qr/not supported (?:for|on) foreign tables|cannot be performed on relation|is not a table|is a foreign table|MERGE on relation|TABLESAMPLE|publication|foreign partition|cannot attach foreign table|unique index on partitioned|PREPARE a transaction|access method|cannot inherit|transition tables|constraint triggers|TRUNCATE triggers|replica identity|tablespace|expected foreign|foreign tables/i ],
	[ plan => qr/QUERY PLAN|Scan on |Scan using|^[-+]\s+->|Tsurugi Scan|Filter:|Cond:|Sort Key|^[-+]\(\d+ rows?\)$|Output:|Worker|Gather|Sort Method|Nested Loop|Join|Aggregate/m ],
	[ shape => qr/Foreign table|FDW options|Server: tsurugi|Indexes:|Access method|Disabled|^[-+] .*\| *$|"btree|relkind|FOREIGN/m ],
	[ follow_up => qr/does not exist|transaction is aborted|already exists|still referenced|depends on/ ],
);

sub lines
{
	my ($path) = @_;
	open(my $file, '<', $path) or die "$path: $!\n";
	my @lines = map { s/\bforeign table\b/table/g; $_ } <$file>;
	return \@lines;
}

sub write_file
{
	my ($path, $lines) = @_;
	open(my $file, '>', $path) or die "$path: $!\n";
	print $file @$lines;
	close $file;
}

# The lines of a place that were taken away, or added, in order.
sub side
{
	my ($place, $sign) = @_;
	return join '', sort map { substr $_, 1 } grep { /^\Q$sign\E/ } @$place;
}

sub cause_of
{
	my ($place) = @_;
	my $changed = join '', grep { /^[-+]/ } @$place;

	return 'order' if side($place, '-') eq side($place, '+');
	for my $cause (@causes)
	{
		return $cause->[0] if $changed =~ $cause->[1];
	}
	return 'other';
}

my (%total, $same, @others);
open(my $all, '>', "$foreign/all.diff") or die;
open(my $other, '>', "$foreign/other.diff") or die;
for my $name (@names)
{
	my ($left, $right) = map { "$_/results/$name.out" } $ordinary, $foreign;
	next unless -f $left && -f $right;
	write_file("$foreign/left", lines($left));
	write_file("$foreign/right", lines($right));
	my @difference = `diff -U2 $foreign/left $foreign/right`;
	splice @difference, 0, 2;
	my (@places, %count);
	for (@difference)
	{
		push @places, [] if /^@@/;
		push @{ $places[-1] }, $_;
	}
	for my $place (@places)
	{
		my $cause = cause_of($place);

		$count{$cause}++;
		$total{$cause}++;
		print $all "== $name: $cause\n", @$place;
		print $other "== $name\n", @$place if $cause eq 'other';
	}
	$same++ unless @places;
	printf "%-28s %s\n", $name, @places ? join(', ', map { "$_ $count{$_}" } sort keys %count) : 'same';
}
unlink "$foreign/left", "$foreign/right";
printf "\n%d of %d files have the same answers; places that differ: %s\n", $same // 0, scalar @names,
	join(', ', map { "$_ $total{$_}" } sort keys %total);

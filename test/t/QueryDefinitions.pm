# Random changes of the definitions of the tables of QueryTables.pm, as scripts for psql: what fills, converts or verifies their rows, and
# moves tables into memory and out of it.
#
# What the generator knows of a table holds whether such a statement succeeds or not: what may fail is a statement of its own, a
# column that is made NOT NULL is given no NULLs, a type becomes one that takes more values, and what goes is named no more.
package QueryDefinitions;

use strict;
use warnings;
use Chance;
use QueryTables;

# Columns that the statement says something of already.
our %changed;

# Columns that no view and no other column is made of.
sub free
{
	my ($schema, $table) = @_;
	my %taken = (id => 1, %changed, map { map { $_->{name} => 1 } @{ $_->{columns} } } grep { $_->{of} == $table } @{ $schema->{views} });

	$taken{k} = 1 if grep { $_->{generated} } @{ $table->{columns} };
	return grep { !$taken{ $_->{name} } && !$_->{generated} } @{ $table->{columns} };
}

# A column with a default, which rows that are there get; of those that queries name anyway.
sub add_column
{
	my ($table) = @_;
	my %names = (%changed, map { $_->{name} => 1 } @{ $table->{columns} });
	my @able = grep { !$names{$_} } sort keys %QueryTables::others;
	my $name = @able ? pick(@able) : return ();
	my $column = { name => $name, type => $QueryTables::others{$name}, nulls => pick(0, 0.15, 0.15) };
	my $default = $column->{nulls} && chance(0.4) ? '' : ' DEFAULT ' . $QueryTables::types{ $column->{type} }{value}->();

	push @{ $table->{columns} }, $column;
	return "ADD COLUMN $name $column->{type}$default" . ($column->{nulls} ? '' : ' NOT NULL');
}

# With its indexes.
sub drop_column
{
	my ($schema, $table) = @_;
	my $constraints = "@{ $table->{constraints} }";
	my @able = grep { $QueryTables::others{ $_->{name} } && $constraints !~ /\b$_->{name}\b/ } free($schema, $table);
	my $column = @able ? pick(@able) : return ();

	@{ $table->{columns} } = grep { $_ != $column } @{ $table->{columns} };
	@{ $table->{orders} } = grep { !grep { $_->[0] eq $column->{name} } @$_ } @{ $table->{orders} };
	return "DROP COLUMN $column->{name}";
}

sub change_type
{
	my ($schema, $table) = @_;
	my %more = ('smallint' => 'int', 'int' => 'bigint', 'varchar(6)' => 'text', 'text COLLATE "C"' => 'text COLLATE "en_US.utf8"', 'text' => 'text COLLATE "C"', 'date' => 'timestamp', 'numeric(8,2)' => 'float8');
	# an index that is a partition's own may have got the name that PostgreSQL makes up again for that of the whole table (42P07)
	my @able = grep { $more{ $_->{type} } && $_->{name} =~ /^[msdq]$/ && !$_->{one_type} && !$table->{of_parts} } free($schema, $table);
	my $column = @able ? pick(@able) : return ();

	$column->{type} = $more{ $column->{type} };
	$table->{reordered} = 1;
	return "ALTER COLUMN $column->{name} TYPE $column->{type}";
}

sub change_nulls
{
	my ($schema, $table) = @_;
	my $column = pick(free($schema, $table)) // return ();

	if ($column->{nulls} == 0 && chance(0.7))
	{
		$column->{nulls} = 0.2;
		return "ALTER COLUMN $column->{name} DROP NOT NULL";
	}
	$column->{nulls} = 0;
	return "ALTER COLUMN $column->{name} SET NOT NULL";
}

sub change_default
{
	my ($schema, $table) = @_;
	my $column = pick(free($schema, $table)) // return ();

	return "ALTER COLUMN $column->{name} " . ($column->{nulls} && chance(0.3) ? 'DROP DEFAULT' : 'SET DEFAULT ' . $QueryTables::types{ $column->{type} }{value}->());
}

# Tables that hold rows.
sub stored { my ($table) = @_; return $table->{kind} eq 'partitioned' ? @{ $table->{parts} } : ($table->{name}, @{ $table->{parts} }) }

# What changes no column: rows are stored elsewhere, or anew. (Indexes may be others afterwards, and so in another order.)
sub movement
{
	my ($schema, $in_block) = @_;
	my $table = pick(@{ $schema->{tables} });
	my $name = pick(stored($table));

	$table->{reordered} = 1;
	if ($in_block || chance(0.7))
	{
		# from now on some tables are ordinary
		$schema->{mixed} = 1;
		$table->{kind} = 'ordinary' if $table->{kind} eq 'memory';
		$table->{moved} = 1;
		return "ALTER TABLE $name SET ACCESS METHOD " . pick('tsurugi', 'heap');
	}
	return pick("VACUUM FULL $name", "VACUUM (ANALYZE) $name", "REINDEX TABLE $name", "REINDEX TABLE CONCURRENTLY $name");
}

# One statement, without its semicolon.
sub definition
{
	my ($schema, $in_block) = @_;
	my $table = pick(@{ $schema->{tables} });
	my $name = $table->{name};
	my $kind = rand;

	return movement($schema, $in_block) if $kind < 0.3;
	if ($kind < 0.4 && (my ($change) = change_nulls($schema, $table))) { return "ALTER TABLE $name $change" }
	return "ALTER TABLE $name ADD CHECK (" . pick('k < 14', 'm IS NULL OR m > -2', "coalesce(s, '') <> 'cab'") . ')' . pick('', ' NOT VALID') if $kind < 0.45;
	if ($kind < 0.5 && !$in_block)
	{
		my $mood = 'mood ' . @QueryTables::moods;
		my $place = pick('BEFORE', 'AFTER') . " '" . pick(@QueryTables::moods) . "'";

		push @QueryTables::moods, $mood;
		return "ALTER TYPE mood ADD VALUE '$mood' $place";
	}
	local %changed = ();
	my @some;
	for (1 .. pick(1, 1, 2))
	{
		my ($change) = pick(\&change_type, \&change_default, \&drop_column, sub { add_column($table) })->($schema, $table);

		push @some, $change if defined $change;
		$changed{$1} = 1 if ($change // '') =~ /COLUMN (\w+)/;
	}
	return @some ? "ALTER TABLE $name " . join(', ', @some) : movement($schema, $in_block);
}

1;

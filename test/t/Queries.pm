# Random queries over the tables of QueryTables.pm, whose answers depend on their rows alone.
#
# Not on the order that rows are met in: ORDER BY goes by all that is returned, or by what is unique; windows and aggregates that
# need an order have one by their own argument. No expression can fail. Texts of two columns are compared under a collation that
# is named, and returned under "C".
#
# A scope is what an expression can name: { relations, outer }; a relation has an alias and columns with their class.
package Queries;

use strict;
use warnings;
use Chance;
use QueryTables;

our $schema;
our $fuel = 0;      # how many more queries this statement may have
our $parameters;    # of a statement that is prepared: the classes of $1 ...
our @with;          # names of WITH that can be read

my $aliases = 0;

# What a class is called in a cast, and a value of it.
my %type_of = ('int' => 'int', 'num' => 'numeric(8,2)', 'float' => 'float8', 'text' => 'text', 'char' => 'char(4)', 'bool' => 'boolean', 'date' => 'date',
	'array' => 'int[]', 'range' => 'int4range', 'multirange' => 'int4multirange', 'json' => 'jsonb', 'text search' => 'tsvector', 'point' => 'point',
	'box' => 'box', 'inet' => 'inet', 'uuid' => 'uuid', 'mood' => 'mood', 'query' => 'tsquery', 'path' => 'jsonpath', 'pattern' => 'text');
my %value_of = ('num' => 'numeric(8,2)', 'float' => 'float8', 'array' => 'int[]', 'range' => 'int4range', 'text search' => 'tsvector');
my %more_values = (
	'query' => sub { "'" . join(pick(' & ', ' | '), map { pick('', '', '!') . pick('a' .. 'e') . pick('', '', ':*') } 1 .. some(1, 2)) . "'" },
	'path' => sub { pick(q('$.a ? (@ > 2)'), q('$.c[*] ? (@ == 1)'), q('$.b ? (@ == "x")')) },
	'pattern' => sub { "'" . pick('', 'a', 'b', 'ab', 'B') . pick('%', '_', '%b', '_%', '') . "'" });
# those that can be sorted and returned
my @returned = ('int', 'int', 'int', 'text', 'num', 'bool', 'date', 'array', 'range', 'json');
# those that are compared by the usual operators
my @ordered = ('int', 'int', 'int', 'int', 'text', 'text', 'num', 'float', 'date', 'array', 'range', 'multirange', 'json', 'inet', 'uuid', 'mood', 'char', 'bool');

sub type_named { my ($class) = @_; return $type_of{$class} }

sub value
{
	my ($class) = @_;
	my $make = $more_values{$class} // $QueryTables::types{ $value_of{$class} // $type_of{$class} }{value};

	return $make->();
}

# A constant of a class; raw: where its type is clear without a cast.
sub constant
{
	my ($class, $raw) = @_;

	if ($parameters && chance(0.6))
	{
		push @$parameters, $class;
		return $class eq 'num' ? '$' . @$parameters . '::numeric(8,2)' : '$' . @$parameters;
	}
	return "NULL::$type_of{$class}" if chance(0.02);
	return value($class) if $raw && $class ne 'int' || $class eq 'int' && chance(0.8);
	return '(' . value($class) . ')::' . ($class eq 'int' ? pick('bigint', 'smallint') : $type_of{$class});
}

# --- names ----------------------------------------------------------------------------------

sub alias { return 'q' . ++$aliases }

# A column of a class as { of: alias, name, type }: of this query, else or seldom of one around it.
sub find
{
	my ($scope, $class) = @_;
	my @found;

	for my $relation (@{ $scope->{relations} })
	{
		push @found, map { +{ of => $relation->{alias}, %$_ } } grep { $_->{class} eq $class } @{ $relation->{columns} };
	}
	return find($scope->{outer}, $class) // (@found ? pick(@found) : undef) if $scope->{outer} && (!@found || chance(0.15));
	return @found ? pick(@found) : undef;
}

sub reference { my ($column) = @_; return "$column->{of}.$column->{name}" }

sub column { my ($scope, $class) = @_; my $found = find($scope, $class); return $found ? reference($found) : undef }

# Of this query alone, of any class that has an order.
sub own_columns
{
	my ($scope) = @_;

	return map { my $relation = $_; map { +{ of => $relation->{alias}, %$_ } } grep { my $class = $_->{class}; grep { $_ eq $class } @ordered } @{ $relation->{columns} } } @{ $scope->{relations} };
}

sub own { my ($scope) = @_; return { relations => $scope->{relations} } }

# What tells the rows of a query apart, if all that it reads are tables.
sub identity
{
	my ($scope) = @_;

	return undef if grep { !$_->{table} } @{ $scope->{relations} };
	return map { "$_->{alias}.id" } @{ $scope->{relations} };
}

sub classes_of { my ($table) = @_; return [ map { { name => $_->{name}, type => $_->{type}, class => QueryTables::class_of($_), indexed => $_->{indexed} } } @{ $table->{columns} } ] }

sub readable { return (@{ $schema->{tables} }, @{ $schema->{views} }) }

# --- expressions ----------------------------------------------------------------------------------

# depth: how much more there may be in it.
sub expression
{
	my ($scope, $class, $depth) = @_;
	my $column = column($scope, $class);
	my $again = sub { expression($scope, $_[0] // $class, $depth - 1) };

	return $column if defined $column && ($depth <= 0 || chance(0.6));
	return constant($class) if $depth <= 0;
	return '(' . condition($scope, $depth) . ')' if $class eq 'bool';
	return 'CASE WHEN ' . condition($scope, $depth - 1) . ' THEN ' . collated($class, $again->()) . ' ELSE ' . collated($class, $again->()) . ' END' if chance(0.15);
	return 'coalesce(' . collated($class, $again->()) . ', ' . collated($class, $again->()) . ')' if chance(0.2);
	return 'nullif(' . collated($class, $again->()) . ', ' . collated($class, $again->()) . ')' if chance(0.08) && grep { $_ eq $class } @ordered;
	return pick('greatest', 'least') . '(' . collated($class, $again->()) . ', ' . collated($class, $again->()) . ')' if chance(0.1) && grep { $_ eq $class } @ordered;
	return scalar_query($scope, $class, $depth) if chance(0.25) && $fuel > 0 && grep { $_ eq $class } @returned;
	return number($scope, $depth) if $class eq 'int';
	return text($scope, $depth) if $class eq 'text';
	return '(' . $again->() . ' + ' . pick('0.25', '1.50') . ')' if $class eq 'num';
	return '(' . $again->() . ' || ' . $again->() . ')' if $class eq 'array' && chance(0.5);
	return $column // constant($class);
}

# Texts of several sources in one expression, under one collation.
sub collated { my ($class, $sql) = @_; return $class eq 'text' ? "($sql COLLATE \"C\")" : $sql }

sub number
{
	my ($scope, $depth) = @_;
	my $again = sub { expression($scope, $_[0] // 'int', $depth - 1) };

	return pick(sub { '(' . $again->() . pick(' + ', ' - ') . $again->() . ')' },
		sub { '(' . $again->() . ' % ' . some(2, 4) . ')' },
		sub { 'abs(' . $again->() . ')' },
		sub { '(- ' . $again->() . ')' },
		sub { 'length(' . $again->('text') . ')' },
		sub { 'cardinality(' . $again->('array') . ')' },
		sub { pick('lower', 'upper') . '(' . $again->('range') . ')' },
		sub { '(' . $again->('json') . " ->> 'a')::int" },
		sub { '(' . $again->('array') . ')[1]' },
		sub { $schema->{large} ? $again->() : 'counted((' . $again->() . ')::int)' },
		sub { 'extract(' . pick('day', 'week', 'dow', 'isodow', 'doy', 'quarter', 'month', 'year') . ' FROM ' . $again->('date') . ')::int' })->();
}

sub text
{
	my ($scope, $depth) = @_;
	my $again = sub { expression($scope, $_[0] // 'text', $depth - 1) };
	my $whole = pick(@{ $scope->{relations} });

	return pick(sub { '(' . collated('text', $again->()) . ' || ' . collated('text', $again->()) . ')' },
		sub { pick('upper', 'lower', 'reverse') . '(' . collated('text', $again->()) . ')' },
		sub { 'left(' . collated('text', $again->()) . ', 2)' },
		sub { '(' . $again->('json') . " ->> 'b')" },
		sub { '(' . $again->(pick('int', 'num', 'bool', 'date', 'range', 'mood')) . ')::text' },
		sub { defined $whole && !$whole->{function} ? "$whole->{alias}::text" : $again->() })->();
}

# One value: of an aggregate, since that is one row.
sub scalar_query
{
	my ($scope, $class, $depth) = @_;
	my $query = aggregate_query($scope, $depth - 1, [$class]);

	return '(' . $query->{sql} . ')';
}

# --- conditions ----------------------------------------------------------------------------------

sub comparison { return pick('=', '=', '=', '<', '<=', '>', '>=', '<>') }

# Classes that are compared with each other.
sub comparable { my ($class) = @_; return $class =~ /^(?:int|num|float)$/ ? pick($class, $class, 'int', 'int', 'num', 'float') : $class }

# A column with constants: what an index may answer.
sub simple_condition
{
	my ($scope) = @_;
	my $column = chance(0.5) ? indexed_column($scope) : undef;
	my @predicates = map { my $of = $_->{alias}; map { s/\b([kmbs])\b/$of.$1/gr } @{ $_->{predicates} // [] } } @{ $scope->{relations} };

	# what a partial index is about
	return pick(@predicates) if @predicates && chance(0.1);
	while (!$column) { $column = find($scope, pick(@ordered, keys_of_methods())) // (chance(0.02) ? return constant('bool') : undef) }
	my $class = $column->{class};
	my $name = reference($column);
	my $constant = sub { my $other = comparable($class); constant($other, $other eq $class) };
	my $special = special_condition($name, $class, sub { constant($_[0], $_[0] eq $class && $class ne 'range') });

	return $special if defined $special && ($class =~ /^(?:text search|point|box)$/ || chance(0.6));
	return "$name IS " . pick('', 'NOT ') . 'NULL' if chance(0.1);
	return pick($name, "NOT $name", "$name IS " . pick('', 'NOT ') . pick('TRUE', 'FALSE', 'UNKNOWN')) if $class eq 'bool' && chance(0.7);
	return pick(sub { "$name = " . $constant->() },
		sub { "$name = " . $constant->() },
		sub { "$name " . comparison() . ' ' . $constant->() },
		sub { $constant->() . ' ' . comparison() . " $name" },
		sub { "$name " . pick('', '', 'NOT ') . 'BETWEEN ' . pick('', '', 'SYMMETRIC ') . $constant->() . ' AND ' . $constant->() },
		sub { "$name " . pick('', '', 'NOT ') . 'IN (' . join(', ', map { $constant->() } 1 .. some(1, 4)) . ')' },
		sub { $class eq 'array' ? "$name = " . $constant->() : "$name " . pick('= ANY', '= ANY', '<> ALL', '< ANY', '>= ALL') . ' (ARRAY[' . join(', ', map { constant($class) } 1 .. some(1, 3)) . ']::' . $type_of{$class} . '[])' },
		sub { "$name IS " . pick('', 'NOT ') . 'DISTINCT FROM ' . $constant->() },
		sub { $class eq 'int' ? "$name % 3 = " . some(0, 2) : "NOT ($name = " . $constant->() . ')' },
		sub { $class eq 'int' ? "coalesce($name, 0) " . comparison() . ' ' . $constant->() : "coalesce($name = " . $constant->() . ', true)' },
		sub { row_condition($scope) },
		sub { "($name = " . $constant->() . ' OR ' . "$name = " . $constant->() . " OR $name IS NULL)" })->();
}

my @special = ('text search', 'point', 'box', 'array', 'range', 'json');
sub keys_of_methods { return @special }

# Of this query alone, one that an index is on.
sub indexed_column
{
	my ($scope) = @_;
	my @found = map { my $relation = $_; map { +{ of => $relation->{alias}, %$_ } } grep { $_->{indexed} } @{ $relation->{columns} } } @{ $scope->{relations} };

	return @found ? pick(@found) : undef;
}

# Of several columns with constants, or with each other.
sub row_condition
{
	my ($scope) = @_;
	my @columns = grep { $_->{class} =~ /^(?:int|date|bool|num)$/ } own_columns($scope);

	return constant('bool') if @columns < 2;
	my @some = (shuffled(@columns))[ 0 .. (@columns > 2 ? pick(1, 1, 2) : 1) ];
	my $row = sub { '(' . join(', ', map { constant($_->{class}) } @some) . ')' };
	my $names = '(' . join(', ', map { reference($_) } @some) . ')';

	return "$names IN (" . join(', ', map { $row->() } 1 .. some(1, 3)) . ')' if chance(0.3);
	return "$names IS " . pick('', 'NOT ') . pick('NULL', 'DISTINCT FROM ' . $row->()) if chance(0.1);
	return "$names " . comparison() . ' ' . $row->();
}

# By operators of the type's own; operand: makes what is on the other side, of a class.
sub special_condition
{
	my ($name, $class, $operand) = @_;
	my %by = (
		'text' => sub { pick(sub { "$name LIKE " . $operand->('pattern') }, sub { "$name LIKE " . $operand->('pattern') }, sub { "$name NOT LIKE " . $operand->('pattern') }, sub { "$name ~ '^" . pick('a', 'ab', '(a|b)', '[bc]') . "'" },
			sub { "lower($name) " . comparison() . ' ' . $operand->('text') }, sub { "starts_with($name, " . $operand->('text') . ')' }, sub { "$name ^@ " . $operand->('text') },
			sub { "$name " . pick('~<~', '~>=~') . ' ' . $operand->('text') }, sub { "$name COLLATE \"C\" " . comparison() . ' ' . $operand->('text') })->() },
		'array' => sub { pick(sub { "$name " . pick('@>', '<@', '&&', '=') . ' ' . $operand->('array') }, sub { $operand->('int') . " = ANY ($name)" }, sub { "cardinality($name) = " . $operand->('int') })->() },
		'range' => sub { pick(sub { "$name " . pick('@>', '<@', '&&', '=', '<<', '>>', '&<', '&>', '-|-') . ' ' . $operand->('range') },
			sub { "$name " . pick('@>', '<@', '&&', '<<') . ' ' . $operand->('multirange') }, sub { "$name @> " . $operand->('int') . '::int' }, sub { "lower($name) " . comparison() . ' ' . $operand->('int') }, sub { "isempty($name)" })->() },
		'multirange' => sub { pick(sub { "$name " . pick('@>', '<@', '&&', '=', '<<', '>>', '-|-') . ' ' . $operand->('multirange') }, sub { "$name " . pick('@>', '&&') . ' ' . $operand->('range') }, sub { "$name @> " . $operand->('int') . '::int' })->() },
		'json' => sub { pick(sub { "$name @> " . $operand->('json') }, sub { "$name <@ " . $operand->('json') }, sub { "$name ? '" . pick('a' .. 'd') . "'" },
			sub { "$name " . pick('?|', '?&') . " ARRAY['" . pick('a', 'b') . "', '" . pick('c', 'd') . "']" }, sub { "$name ->> 'b' = " . $operand->('text') }, sub { "$name " . pick('@?', '@?') . ' ' . $operand->('path') },
			sub { "$name -> 'c' @> '[" . some(0, 4) . "]'" })->() },
		'text search' => sub { "$name @@ " . $operand->('query') },
		'point' => sub { pick(sub { "$name <@ " . $operand->('box') }, sub { "$name <@ " . $operand->('box') }, sub { "$name " . pick('<<', '>>', '<<|', '|>>', '~=') . ' ' . $operand->('point') }, sub { "$name <@ circle '((" . some(0, 5) . ',' . some(0, 5) . '),' . some(1, 3) . ")'" })->() },
		'box' => sub { "$name " . pick('&&', '@>', '<@', '<<', '>>', '&<', '&>', '<<|', '|>>', '&<|', '|&>', '~=') . ' ' . $operand->('box') },
		'inet' => sub { "$name " . pick('<<', '<<=', '>>', '>>=', '&&') . ' ' . $operand->('inet') });

	return $by{$class} ? $by{$class}->() : undef;
}

# What two relations are joined by.
sub join_condition
{
	my ($left, $right, $equal) = @_;
	my @both = grep { $_->[1] } map { [ $_, column({ relations => $right }, comparable($_->{class})) ] } own_columns({ relations => $left });
	my ($column, $other) = @both ? @{ pick(@both) } : return 'true';
	my $name = reference($column);
	my @ints = map { find({ relations => $_ }, 'int') } $left, $right;

	return reference($ints[0]) . ($equal ? ' = ' : ' ' . comparison() . ' ') . reference($ints[1]) if $ints[0] && $ints[1] && chance(0.4);
	$other = "($other COLLATE \"" . pick('C', 'en_US.utf8') . '")' if $column->{class} eq 'text';
	return "$name = $other" if $equal || chance(0.6);
	return "($name = $other OR " . join_condition($left, $right) . ')' if chance(0.2);
	if (my $special = special_condition($name, $column->{class}, sub { column({ relations => $right }, $_[0]) // constant($_[0]) }))
	{
		# not with a text of another collation
		return $special unless $column->{class} eq 'text';
	}
	return '(' . $name . ', ' . reference($ints[0]) . ") = ($other, " . reference($ints[1]) . ')' if $ints[0] && $ints[1];
	return "$name " . pick(comparison(), 'IS NOT DISTINCT FROM') . " $other";
}

# Anything that is true, false or NULL.
sub condition
{
	my ($scope, $depth) = @_;
	my $again = sub { condition($scope, $depth - 1) };
	my $kind = rand 100;

	return simple_condition($scope) if $depth <= 0 || $kind < 50;
	return '(' . $again->() . pick(' AND ', ' OR ') . $again->() . ')' if $kind < 64;
	return 'NOT ' . $again->() if $kind < 67;
	return '(' . $again->() . ') IS ' . pick('', 'NOT ') . pick('TRUE', 'FALSE', 'UNKNOWN', 'NULL') if $kind < 70;
	if ($kind < 78)
	{
		my $class = pick(@returned);
		my ($left, $right) = map { collated($class, expression($scope, $class, $depth - 1)) } 1 .. 2;

		return "$left " . pick(comparison(), comparison(), 'IS DISTINCT FROM') . " $right";
	}
	if ($kind < 80 && grep { !$_->{function} } @{ $scope->{relations} })
	{
		my $whole = pick(grep { !$_->{function} } @{ $scope->{relations} });

		return "$whole->{alias} IS " . pick('', 'NOT ') . 'NULL' if !$whole->{table} || chance(0.5);
		return "$whole->{alias}.tableoid = '$whole->{table}'::regclass" if $whole->{plain};
		return "$whole->{alias}.tableoid IS NOT NULL";
	}
	return exists_condition($scope, $depth) if $fuel > 0;
	return simple_condition($scope);
}

# EXISTS, IN, ANY, ALL.
sub exists_condition
{
	my ($scope, $depth) = @_;
	my $kind = rand;

	if ($kind < 0.45)
	{
		my $from = from($scope, $depth - 1);
		my $inner = { relations => $from->{relations}, outer => $scope };
		my $joined = join_condition($scope->{relations}, $from->{relations}, chance(0.7));

		$fuel--;
		return pick('', 'NOT ') . "EXISTS (SELECT " . pick('1', '*') . " FROM $from->{sql} WHERE $joined" . (chance(0.5) ? ' AND ' . condition($inner, $depth - 1) : '') . ')';
	}
	my $class = pick('int', 'int', 'text', 'date', 'num');
	my $left = collated($class, expression($scope, $class, 0));

	if ($kind < 0.55)
	{
		my $query = query($scope, $depth - 1, [ $class, 'int' ]);

		return "($left, " . expression($scope, 'int', 0) . ') ' . pick('', 'NOT ') . "IN ($query->{sql})";
	}
	my $query = query($scope, $depth - 1, [$class]);
	return "$left " . pick('', '', 'NOT ') . "IN ($query->{sql})" if $kind < 0.85;
	return "$left " . comparison() . ' ' . pick('ANY', 'ALL') . " ($query->{sql})";
}

# --- what is read from ----------------------------------------------------------------------------------

# How many relations in a FROM, so that their product stays small.
sub width { my ($depth) = @_; return $schema->{large} ? pick(1, 1, 2) : $depth > 1 ? pick(1, 1, 2, 2, 2, 3) : pick(1, 1, 1, 2) }

# { sql, relations: [ one ] }
sub relation
{
	my ($outer, $depth, $lateral) = @_;
	my $alias = alias();
	my $kind = rand 100;

	if ($kind > 72 && $depth > 0 && $fuel > 0)
	{
		my $query = query($lateral // $outer, $depth - 1);

		return { sql => (defined $lateral ? 'LATERAL ' : '') . "($query->{sql}) $alias" . names_of($query), relations => [ { alias => $alias, columns => columns_of($query) } ] };
	}
	if ($kind > 66 && @with)
	{
		my $with = pick(@with);

		return { sql => "$with->{name} $alias", relations => [ { alias => $alias, columns => $with->{columns} } ] };
	}
	return { sql => "generate_series(0, " . some(1, 6) . ") $alias (c1)", relations => [ { alias => $alias, function => 1, columns => [ { name => 'c1', class => 'int' } ] } ] } if $kind > 64;
	if ($kind > 62)
	{
		my @rows = map { '(' . join(', ', constant('int'), "('" . pick('a', 'b', 'ab') . "' COLLATE \"C\")") . ')' } 1 .. some(1, 4);

		return { sql => '(VALUES ' . join(', ', @rows) . ") $alias (c1, c2)", relations => [ { alias => $alias, columns => [ { name => 'c1', class => 'int' }, { name => 'c2', class => 'text' } ] } ] };
	}
	my $table = pick(readable());
	my $only = $table->{kind} eq 'inherited' && chance(0.3) ? 'ONLY ' : '';
	my $part = @{ $table->{parts} } && $table->{kind} eq 'partitioned' && chance(0.15) ? pick(@{ $table->{parts} }) : $table->{name};
	return { sql => "$only$part $alias", relations => [ { alias => $alias, table => $table->{kind} eq 'view' ? undef : $part, plain => scalar($table->{kind} =~ /memory|ordinary/), predicates => $table->{predicates}, columns => classes_of($table) } ] };
}

sub columns_of { my ($query) = @_; my $number = 0; return [ map { { name => 'c' . ++$number, class => $_ } } @{ $query->{classes} } ] }
sub names_of { my ($query) = @_; return ' (' . join(', ', map { "c$_" } 1 .. @{ $query->{classes} }) . ')' }

sub from
{
	my ($outer, $depth) = @_;
	my $from = relation($outer, $depth);

	$from = joined($from, $outer, $depth) for 2 .. width($depth);
	return $from;
}

sub joined
{
	my ($left, $outer, $depth) = @_;
	my $kind = pick('JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN', 'LATERAL');
	my $lateral = $kind eq 'LATERAL' ? { relations => $left->{relations}, outer => $outer } : undef;
	my $right = relation($outer, $depth, $lateral);
	my @relations = (@{ $left->{relations} }, @{ $right->{relations} });

	# several together on the right
	$right = joined($right, $outer, $depth - 1) if $kind ne 'LATERAL' && $depth > 2 && chance(0.1);
	@relations = (@{ $left->{relations} }, @{ $right->{relations} });
	my $on = join_condition($left->{relations}, $right->{relations}, $kind eq 'FULL JOIN' || chance(0.6));
	my $inner = $right->{sql} =~ / JOIN / && $right->{sql} !~ /^(?:LATERAL )?\(/ ? "($right->{sql})" : $right->{sql};
	return { sql => "$left->{sql} CROSS JOIN $inner", relations => \@relations } if $kind eq 'CROSS JOIN' && chance(0.5);
	$kind = pick('JOIN', 'LEFT JOIN') if $kind eq 'LATERAL';
	$kind = 'JOIN' if $kind eq 'CROSS JOIN';
	$on .= ' AND ' . simple_condition({ relations => chance(0.5) ? $right->{relations} : \@relations }) if chance(0.3);
	return { sql => "$left->{sql} $kind $inner ON $on", relations => \@relations };
}

# --- aggregates and windows -------------------------------------------------------------------------------

# An aggregate of a class over a query's own columns.
sub aggregate
{
	my ($scope, $class) = @_;
	my $own = own($scope);
	my $of = sub { my ($class) = @_; return expression($own, $class, chance(0.2) ? 1 : 0) };
	my $distinct = pick('', '', '', 'DISTINCT ');
	local $fuel = 0; # no queries in it
	my $sql;

	if ($class eq 'int')
	{
		$sql = pick(sub { 'count(*)' }, sub { 'count(*)' }, sub { "count($distinct" . collated('', $of->(pick(@returned))) . ')' }, sub { "sum($distinct" . $of->('int') . ')' },
			sub { pick('min', 'max') . '(' . $of->('int') . ')' }, sub { pick('min', 'max') . '(' . $of->('int') . ')' }, sub { 'percentile_disc(0.5) WITHIN GROUP (ORDER BY ' . $of->('int') . ')' },
			sub { 'rank(5) WITHIN GROUP (ORDER BY ' . $of->('int') . pick('', ' DESC') . ')' })->();
	}
	elsif ($class eq 'bool') { $sql = pick('bool_and', 'bool_or') . '(' . $of->('bool') . ')' }
	elsif ($class eq 'text')
	{
		my $some = $of->(pick('int', 'date', 'bool', 'json', 'range'));
		my $text = '((' . $of->('text') . ')::text COLLATE "C")';

		$sql = pick("min($text)", "max($text)", "string_agg($distinct$text, ',' ORDER BY $text)", "array_agg($distinct$some ORDER BY $some)::text", "jsonb_agg($some ORDER BY $some DESC)::text");
	}
	elsif ($class eq 'num') { $sql = pick('sum', 'min', 'max') . '(' . $of->('num') . ')' }
	elsif ($class eq 'array') { my $some = $of->('int'); $sql = "array_agg($distinct$some ORDER BY $some)::int[]" }
	elsif ($class eq 'json') { my $some = $of->('int'); $sql = "jsonb_agg($some ORDER BY $some)" }
	elsif ($class eq 'range') { my $some = $of->('range'); $sql = "(array_agg($some ORDER BY $some))[1]" }
	else { $sql = pick('min', 'max') . '(' . $of->($class) . ')' }
	return $sql =~ /^\(|::/ || chance(0.8) ? $sql : "$sql FILTER (WHERE " . condition($own, 0) . ')';
}

sub window
{
	my ($scope, $class) = @_;
	my @own = own_columns($scope);
	my @identity = identity($scope);
	my $partition = chance(0.5) && @own ? 'PARTITION BY ' . reference(pick(@own)) . ' ' : '';
	my $value = collated($class, expression($scope, $class, 0));
	my $direction = pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST');
	my $by = @own ? reference(pick(@own)) . $direction : '1';

	return pick('min', 'max') . "($value) OVER ($partition" . (chance(0.5) ? "ORDER BY $by" : '') . ')' if $class =~ /^(?:text|num|date|array)$/ && chance(0.5);
	return pick('lag', 'lead', 'first_value', 'last_value') . "($value) OVER (${partition}ORDER BY $by, " . join(', ', @identity) . ')' if defined $identity[0] && chance(0.4);
	return pick('first_value', 'last_value') . "($value) OVER (${partition}ORDER BY $value$direction)" if $class ne 'int' || chance(0.3);
	return "row_number() OVER (${partition}ORDER BY $by, " . join(', ', @identity) . ')' if defined $identity[0] && chance(0.5);
	return pick('rank()', 'dense_rank()', 'count(*)') . " OVER (${partition}ORDER BY $by)" if chance(0.6);
	my $int = expression($scope, 'int', 0);
	return pick('sum', 'count', 'max') . "($int) OVER (${partition}ORDER BY $int " . pick('RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING', 'GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW',
		'RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW') . ')' =~ s/EXCLUDE CURRENT ROW/EXCLUDE GROUP/r;
}

# --- queries ----------------------------------------------------------------------------------

sub where { my ($scope, $depth) = @_; return chance(0.75) ? ' WHERE ' . join(' AND ', map { condition($scope, $depth) } 1 .. pick(1, 1, 2, 3)) : '' }

sub returned_classes { my ($wanted) = @_; return $wanted ? @$wanted : map { pick(@returned) } 1 .. some(1, 4) }

sub output { my ($class, $sql) = @_; return $class eq 'text' ? "($sql COLLATE \"C\")" : $sql }

# One row, whatever there is.
sub aggregate_query
{
	my ($outer, $depth, $wanted) = @_;
	$fuel--;
	my $from = from($outer, $depth);
	my $scope = { relations => $from->{relations}, outer => $outer };
	my @classes = returned_classes($wanted);
	my $joined = $outer && @{ $outer->{relations} } && chance(0.7) ? join_condition($outer->{relations}, $from->{relations}, chance(0.7)) : undef;
	my $where = where($scope, $depth);

	$where = ($where eq '' ? ' WHERE ' : "$where AND ") . $joined if defined $joined;
	return { sql => 'SELECT ' . join(', ', map { output($_, aggregate($scope, $_)) } @classes) . " FROM $from->{sql}$where", classes => \@classes };
}

sub grouped_query
{
	my ($outer, $depth, $wanted) = @_;
	my $from = from($outer, $depth);
	my $scope = { relations => $from->{relations}, outer => $outer };
	my @own = own_columns($scope);
	my @classes = returned_classes($wanted);
	my @by = (shuffled(@own))[ 0 .. ($#own < 2 ? $#own : some(0, 2)) ];
	my %seen;
	@by = grep { !$seen{ reference($_) }++ } @by;
	my @names = map { reference($_) } @by;
	my $sets = @names < 2 || chance(0.6) ? join(', ', @names)
	  : pick('ROLLUP (' . join(', ', @names) . ')', 'CUBE (' . join(', ', @names) . ')', "GROUPING SETS (($names[0]), (" . join(', ', @names[ 1 .. $#names ]) . '), ())', "$names[0], ROLLUP (" . join(', ', @names[ 1 .. $#names ]) . ')');
	# what may be said of a group: its columns, and those around
	my $group = { relations => [ map { { alias => $_->{of}, columns => [$_], function => 1 } } @by ], outer => $outer };
	my $where = where($scope, $depth);
	my $having = chance(0.3) ? ' HAVING ' . pick('count(*) ' . comparison() . ' ' . some(1, 3), condition($group, 1), aggregate($scope, 'int') . ' > ' . some(0, 9)) : '';
	my @columns = map { output($_, chance(0.4) ? aggregate($scope, $_) : expression($group, $_, 1)) } @classes;

	if (!$wanted && $sets =~ /\(/)
	{
		push @columns, 'grouping(' . join(', ', @names) . ')';
		push @classes, 'int';
	}
	return { sql => 'SELECT ' . join(', ', @columns) . " FROM $from->{sql}$where GROUP BY $sets$having", classes => \@classes };
}

# Rows, with windows at times.
sub plain_query
{
	my ($outer, $depth, $wanted) = @_;
	my $from = from($outer, $depth);
	my $scope = { relations => $from->{relations}, outer => $outer };
	my @classes = returned_classes($wanted);
	my $windows = chance(0.15);
	my $distinct = pick('', '', '', '', 'DISTINCT ');
	my @columns = map { output($_, $windows && chance(0.6) ? window($scope, $_) : expression($scope, $_, pick(0, 0, 1, 2))) } @classes;

	return { sql => "SELECT $distinct" . join(', ', @columns) . " FROM $from->{sql}" . where($scope, $depth), classes => \@classes };
}

sub order { my ($classes) = @_; return ' ORDER BY ' . join(', ', map { $_ . pick('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } shuffled(1 .. @$classes)) }

sub limit { return pick(' LIMIT ' . some(0, 6), ' LIMIT ' . some(0, 6), ' OFFSET ' . some(0, 4), ' LIMIT ' . some(1, 4) . ' OFFSET ' . some(0, 4), ' FETCH FIRST ' . some(1, 3) . ' ROWS WITH TIES') }

sub query
{
	my ($outer, $depth, $wanted) = @_;
	my $query;
	my $kind = rand;
	$fuel--;

	if ($depth > 0 && $kind < 0.12 && $fuel > 0)
	{
		# half of them of what a job reads: few relations, types that it computes with
		my $simple = chance(0.5);
		my @classes = $simple && !$wanted ? map { pick('int', 'int', 'num', 'bool', 'date') } 1 .. some(1, 3) : returned_classes($wanted);
		my ($left, $right) = map { $simple ? plain_query($outer, 0, \@classes)->{sql} : query($outer, $depth - 1, \@classes)->{sql} } 1 .. 2;

		$query = { sql => "($left) " . pick('UNION', 'UNION ALL', 'UNION ALL', 'INTERSECT', 'INTERSECT ALL', 'EXCEPT', 'EXCEPT ALL') . " ($right)", classes => \@classes };
	}
	elsif ($kind < 0.2) { $query = aggregate_query($outer, $depth, $wanted) }
	elsif ($kind < 0.4) { $query = grouped_query($outer, $depth, $wanted) }
	else { $query = plain_query($outer, $depth, $wanted) }
	if (chance(0.25))
	{
		if (@{ $query->{classes} } > 1 && $query->{sql} =~ /^SELECT (?!DISTINCT)/ && chance(0.25))
		{
			my @first = (1 .. some(1, 2));
			my @rest = grep { $_ > @first } 1 .. @{ $query->{classes} };

			$query->{sql} =~ s/^SELECT /'SELECT DISTINCT ON (' . join(', ', @first) . ') '/e;
			$query->{sql} .= ' ORDER BY ' . join(', ', map { $_ . pick('', ' DESC') } @first, @rest);
		}
		else { $query->{sql} .= order($query->{classes}) }
		$query->{sql} .= limit() if chance(0.6);
		$query->{ordered} = 1;
	}
	return $query;
}

# Of one table, with its columns as they are, in an order that is whole: what an index may serve, to its end or not.
sub ordered_query
{
	my ($lock) = @_;
	my $table = pick(readable());
	my $scope = { relations => [ { alias => 'q', table => $table->{kind} eq 'view' ? undef : 1, predicates => $table->{predicates}, columns => classes_of($table) } ] };
	my @columns = grep { $_->{name} ne 'id' } own_columns($scope);
	my @by = ((map { reference($_) . pick('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } (shuffled(@columns))[ 0 .. some(0, 2) - 1 ]), 'q.id' . pick('', ' DESC'));
	my @some = map { reference($_) } (shuffled(@columns))[ 0 .. some(0, 3) ];
	my @orders = @{ $table->{orders} };

	# as an index has it, or the other way round
	if (@orders && chance(0.5))
	{
		my @order = map { [ @$_, 'NULLS ' . ($_->[1] =~ /NULLS (\w+)/ ? $1 : $_->[1] =~ /DESC/ ? 'FIRST' : 'LAST') ] } @{ pick(@orders) };
		my $backward = chance(0.4);

		@by = map { my ($name, $direction, $nulls) = @$_; "q.$name" . (($direction =~ /DESC/ xor $backward) ? ' DESC' : '') . ' ' . ($backward ? $nulls =~ /FIRST/ ? 'NULLS LAST' : 'NULLS FIRST' : $nulls) } @order;
		push @by, 'q.id' unless grep { $_->[0] eq 'id' } @order;
	}
	my $place = find($scope, pick('point', 'box'));
	@by = ("$place->{of}.$place->{name} <-> " . constant('point'), 'q.id') if $place && chance(0.4);
	my $number = find($scope, pick('int', 'int', 'date', 'float'));
	@by = ("$number->{of}.$number->{name} <-> " . value($number->{class}), 'q.id') if $number && chance(0.15);
	my $where = chance(0.8) ? ' WHERE ' . join(' AND ', map { condition($scope, $lock ? 0 : pick(0, 0, 0, 1)) } 1 .. pick(1, 1, 2)) : '';

	return { sql => 'SELECT ' . join(', ', 'q.id', @some, pick('q.*', 'q::text', $table->{kind} eq 'view' ? () : 'q.tableoid::regclass', 'q.id')) . " FROM $table->{name} q$where ORDER BY " . join(', ', @by) .
		(chance(0.5) ? limit() =~ s/ FETCH.*//r : '') . ($lock ? pick(' FOR UPDATE', ' FOR SHARE', ' FOR NO KEY UPDATE', ' FOR KEY SHARE') : ''), ordered => 1 };
}

# Joins of a table with itself by what PostgreSQL calls system columns, or by the whole row.
sub system_query
{
	my $table = pick(@{ $schema->{tables} });
	my $scope = { relations => [ { alias => 'y', table => 1, columns => classes_of($table) } ] };
	my $whole = grep { $_->{name} =~ /[px]/ } @{ $table->{columns} }; # points and boxes are not equal as others are
	my $by = pick('y.ctid = z.ctid AND y.tableoid = z.tableoid', $whole ? () : 'y.* IS NOT DISTINCT FROM z.*', 'y.id = z.id AND y.xmin IS NOT NULL', 'y.tableoid = z.tableoid AND y.k = z.k');

	return { sql => "SELECT y.id, z.id, y.tableoid = z.tableoid, " . pick('y IS NULL', 'z::text', 'row_to_json(y)::text', '(y).k', 'count(*) OVER ()') . " FROM $table->{name} y " .
		pick('JOIN', 'LEFT JOIN') . " $table->{name} z ON $by WHERE " . condition($scope, 1) };
}

sub recursive_query
{
	my $table = pick(@{ $schema->{tables} });
	my $scope = { relations => [ { alias => 'q', table => 1, columns => classes_of($table) } ] };

	return { sql => "WITH RECURSIVE r (n) AS (SELECT min(id) FROM $table->{name} UNION ALL SELECT (SELECT min(q.id) FROM $table->{name} q WHERE q.id > r.n AND " . simple_condition($scope) .
		") FROM r WHERE r.n IS NOT NULL) SELECT n FROM r" } if chance(0.5);
	return { sql => "WITH RECURSIVE r (n) AS (SELECT " . some(0, 9) . "::bigint UNION SELECT q.m::bigint FROM r JOIN $table->{name} q ON q.k = r.n WHERE " . condition($scope, 1) . ') SELECT n FROM r' };
}

# A whole one, with WITH.
sub top
{
	my $depth = pick(1, 2, 2, 3);
	local @with = ();
	my @parts;

	$aliases = 0;
	$fuel = $schema->{large} ? 2 : pick(2, 4, 8, 12);
	return system_query() if chance(0.03);
	return recursive_query() if chance(0.03);
	for my $number (1 .. pick(0, 0, 0, 0, 0, 1, 2))
	{
		my $query = query(undef, $depth - 1);

		push @parts, "w_$number" . names_of($query) . ' AS ' . pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "($query->{sql})";
		push @with, { name => "w_$number", columns => columns_of($query) };
	}
	my $query = query(undef, $depth);
	return { sql => (@parts ? 'WITH ' . join(', ', @parts) . ' ' : '') . $query->{sql}, ordered => $query->{ordered}, classes => $query->{classes} };
}

1;

# Random tables for random queries: columns, indexes, partitions, children and views, with rows.
#
# A script that creates tables USING tsurugi says the same without these words of ordinary ones.  All tables have the columns
# id (unique), k, m, q, s, d and b, so that they can be joined, of types that differ in part, and some others.  Values come from
# small ranges.  Of two that are equal both look the same (no '-0', no 1.0 beside 1.00), so that it does not show which of them
# DISTINCT has kept; sums of them are exact.
package QueryTables;

use strict;
use warnings;
use utf8;
use Chance;

# Values of the type mood; more may be added.
our @moods;

# Of each type its class, by which expressions are put together, and its values.
our %types = (
	'int' => { class => 'int', value => sub { some(0, 14) } },
	'bigint' => { class => 'int', value => sub { some(0, 14) } },
	'smallint' => { class => 'int', value => sub { some(-2, 14) } },
	'numeric(8,2)' => { class => 'num', value => sub { some(0, 56) / 4 } },
	'float8' => { class => 'float', value => sub { pick(some(0, 56) / 4, some(0, 14), some(0, 14), "'NaN'", "'-Infinity'") } },
	(map { $_ => { class => 'text', value => \&word } } 'text', 'text COLLATE "C"', 'text COLLATE "en_US.utf8"', 'varchar(6)'),
	'char(4)' => { class => 'char', value => sub { "'" . pick('a' .. 'd') x some(0, 3) . "'" } },
	'boolean' => { class => 'bool', value => sub { pick('true', 'false') } },
	'date' => { class => 'date', value => sub { sprintf "'2020-01-%02d'", some(1, 14) } },
	'timestamp' => { class => 'date', value => sub { sprintf "'2020-01-%02d %02d:00'", some(1, 14), pick(0, 0, 12) } },
	'int[]' => { class => 'array', value => sub { "'{" . join(',', map { chance(0.05) ? 'NULL' : some(0, 5) } 1 .. some(0, 3)) . "}'" } },
	'int4range' => { class => 'range', value => sub { my $from = some(0, 9); pick("'empty'", "'(,$from)'", map { "'[$from," . ($from + some(1, 5)) . ")'" } 1 .. 6) } },
	'int4multirange' => { class => 'multirange', value => sub { my $from = some(0, 9); "'{" . pick('', "[$from," . ($from + 1) . ')', "[$from," . ($from + 1) . '), [' . ($from + 3) . ',' . ($from + some(4, 8)) . ')') . "}'" } },
	'jsonb' => { class => 'json', value => \&document },
	'tsvector' => { class => 'text search', value => sub { "'" . join(' ', map { pick('a' .. 'e') } 1 .. some(0, 3)) . "'" } },
	'point' => { class => 'point', value => sub { "'(" . some(0, 5) . ',' . some(0, 5) . ")'" } },
	'box' => { class => 'box', value => sub { my ($x, $y) = (some(0, 5), some(0, 5)); "'(" . ($x + some(0, 4)) . ',' . ($y + some(0, 4)) . "),($x,$y)'" } },
	'inet' => { class => 'inet', value => sub { "'10." . some(0, 1) . '.0.' . pick(some(0, 6), '0/24', '0/25') . "'" } },
	'uuid' => { class => 'uuid', value => sub { sprintf "'00000000-0000-0000-0000-%012d'", some(0, 9) } },
	'mood' => { class => 'mood', value => sub { "'" . pick(@moods) . "'" } });

# Common columns: types to pick from, share of NULLs.
my @common = (
	[ 'k', 0.1, 'int' ],
	[ 'm', 0.2, 'int', 'int', 'bigint', 'smallint' ],
	[ 'q', 0.2, 'numeric(8,2)', 'numeric(8,2)', 'float8' ],
	[ 's', 0.1, 'text', 'text COLLATE "C"', 'text COLLATE "en_US.utf8"', 'varchar(6)' ],
	[ 'd', 0.2, 'date', 'timestamp' ],
	[ 'b', 0.2, 'boolean' ]);
our %others = (a => 'int[]', r => 'int4range', n => 'int4multirange', j => 'jsonb', v => 'tsvector', p => 'point', x => 'box', i => 'inet', u => 'uuid', e => 'mood', c => 'char(4)');

# How an index of another method than btree is made on a column of a class.
my %methods = (
	'int' => [ 'hash (#)', 'brin (#)', 'brin (# int%_bloom_ops)', 'brin (# int%_minmax_multi_ops)', 'gist (#)' ],
	'float' => [ 'hash (#)', 'brin (#)', 'gist (#)' ],
	'text' => [ 'hash (#)', 'brin (#)', 'spgist (#)', 'btree (# text_pattern_ops)', 'btree (# COLLATE "C")', 'btree (lower(#))', 'btree (lower(#) COLLATE "C" DESC)' ],
	'date' => [ 'hash (#)', 'brin (#)', 'gist (#)' ],
	'array' => [ 'gin (#)', 'gin (#)', 'hash (#)', 'btree (#)', 'btree (cardinality(#))' ],
	'range' => [ 'gist (#)', 'spgist (#)', 'brin (#)', 'btree (#)', 'hash (#)', 'btree (lower(#), upper(#) DESC)' ],
	'multirange' => [ 'gist (#)', 'btree (#)' ],
	'json' => [ 'gin (#)', 'gin (# jsonb_path_ops)', 'btree (#)', q{btree ((# ->> 'b'))}, q{gin ((# -> 'c'))} ],
	'text search' => [ 'gin (#)', 'gist (#)' ],
	'point' => [ 'gist (#)', 'spgist (#)', 'spgist (# kd_point_ops)' ],
	'box' => [ 'gist (#)', 'spgist (#)', 'brin (#)' ],
	'inet' => [ 'gist (# inet_ops)', 'spgist (#)', 'btree (#)', 'brin (#)', 'hash (#)' ],
	'uuid' => [ 'hash (#)', 'btree (#)', 'brin (#)' ],
	'mood' => [ 'hash (#)', 'btree (# DESC)' ],
	'char' => [ 'hash (#)', 'btree (#)', 'btree (# bpchar_pattern_ops)' ]);

sub word { return "'" . join('', map { pick('a' .. 'c', 'a' .. 'c', 'B', ' ', '-', 'é') } 1 .. some(0, 4)) . "'" }

sub document
{
	my @members = ((chance(0.7) ? '"a": ' . some(0, 5) : ()), (chance(0.6) ? '"b": "' . pick('x' .. 'z') . '"' : ()),
		(chance(0.5) ? '"c": [' . join(', ', map { some(0, 4) } 1 .. some(0, 3)) . ']' : ()), (chance(0.1) ? '"d": null' : ()));

	return pick("'[1, 2]'", "'3'", map { q(') . '{' . join(', ', @members) . q(}') } 1 .. 8);
}

# Without what PostgreSQL does not take in a cast.
sub cast { my ($type) = @_; return $type =~ s/ COLLATE.*//r }

sub value_of { my ($column) = @_; return chance($column->{nulls}) ? 'NULL' : $types{ $column->{type} }{value}->() }

sub class_of { my ($column) = @_; return $types{ $column->{type} }{class} }

# --- tables --------------------------------------------------------------------------------------

sub make_columns
{
	my ($generated) = @_;
	my @columns = ({ name => 'id', type => 'int', nulls => 0 });

	push @columns, map { my ($name, $nulls, @of) = @$_; { name => $name, type => pick(@of), nulls => chance(0.2) ? 0 : $nulls } } @common;
	push @columns, map { { name => $_, type => $others{$_}, nulls => chance(0.2) ? 0 : 0.15 } } (shuffled(sort keys %others))[ 0 .. some(0, 4) ];
	push @columns, { name => 'g', type => 'int', nulls => 1, generated => 'k * 2 - 5' } if $generated;
	return @columns;
}

sub make_table
{
	my ($name, $kind) = @_;
	my @columns = make_columns(chance(0.2));
	my $table = { name => $name, kind => $kind, columns => [ shuffled(@columns) ], key => chance(0.8), next => 1, parts => [], predicates => [], orders => [], constraints => [] };

	# what is partitioned by another column has no key
	if ($kind eq 'partitioned')
	{
		$table->{by} = pick('RANGE (id)', 'HASH (id)', 'LIST (k)', 'RANGE (k)', 'LIST (b)');
		$table->{key} = 0 if $table->{by} !~ /id/;
	}
	$table->{key} = 1 if $kind eq 'ordinary';
	# children have keys of their own
	$table->{deferrable} = $table->{key} && $kind ne 'inherited' && chance(0.15);
	make_constraints($table) if $kind =~ /memory|ordinary/ && chance(0.25);
	return $table;
}

# What is to hold of several rows: deferrable, so that it does not matter in which order a statement changes them.
sub make_constraints
{
	my ($table) = @_;
	my @able = ('UNIQUE (k, m, s)', 'UNIQUE NULLS NOT DISTINCT (k, m, q)', 'UNIQUE (s, q, b)', 'EXCLUDE (k WITH =, m WITH =)', 'EXCLUDE USING hash (s WITH =) WHERE (k > 9)', 'EXCLUDE ((k % 7) WITH =, lower(s) WITH =)');
	my %by = (r => [ 'r WITH &&) WHERE (k < 4', 'r WITH -|-) WHERE (m > 6' ], n => ['n WITH &&) WHERE (m > 9'], x => [ 'x WITH &&) WHERE (k < 3', 'x WITH ~=' ], p => [ 'p WITH ~=' ], i => ['i inet_ops WITH &&) WHERE (m < 4']);

	push @able, map { map { "EXCLUDE USING gist ($_)" } @{ $by{ $_->{name} } // [] } } @{ $table->{columns} };
	my $number = 0;
	push @{ $table->{constraints} }, map { "CONSTRAINT $table->{name}_" . $number++ . " $_ DEFERRABLE" . pick('', ' INITIALLY DEFERRED') } (shuffled(@able))[ 0 .. some(0, 1) ];
}

sub column_definition
{
	my ($column) = @_;

	return "$column->{name} $column->{type}" . ($column->{generated} ? " GENERATED ALWAYS AS ($column->{generated}) STORED" : '') .
		($column->{nulls} == 0 ? ' NOT NULL' : '');
}

# CREATE TABLE, with a column that is dropped or added later, at times: the columns' numbers have gaps.
sub create
{
	my ($name, $using, $columns, $more, $after) = @_;
	my @columns = @$columns;
	my @added = $using ne '' && chance(0.15) ? grep { $_->{name} =~ /^[dj]$/ && $_->{nulls} } @columns : ();
	my @lines = map { column_definition($_) } grep { my $column = $_; !grep { $_ == $column } @added } @columns;
	my $gap = chance(0.2);

	splice @lines, rand @lines, 0, 'gone text' if $gap;
	return "CREATE TABLE $name (" . join(', ', @lines) . "$more)$after$using;\n" . ($gap ? "ALTER TABLE $name DROP COLUMN gone;\n" : '') .
		join('', map { "ALTER TABLE $name ADD COLUMN " . column_definition($_) . ";\n" } @added);
}

sub using { return chance(0.7) ? ' USING tsurugi' : '' }

sub partitions
{
	my ($by) = @_;

	return map { "FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2 if $by =~ /HASH/;
	return ('FOR VALUES IN (1, 2, 3, NULL)', 'FOR VALUES IN (4, 5, 6, 7)', 'DEFAULT') if $by eq 'LIST (k)';
	return ('FOR VALUES IN (true)', 'FOR VALUES IN (false)', 'DEFAULT') if $by eq 'LIST (b)';
	return ('FOR VALUES FROM (MINVALUE) TO (4)', 'FOR VALUES FROM (4) TO (9)', 'DEFAULT') if $by eq 'RANGE (k)';
	return ('FOR VALUES FROM (MINVALUE) TO (10)', 'FOR VALUES FROM (10) TO (25)', 'DEFAULT');
}

# Columns of an index of B-tree.
sub key_columns
{
	my ($table) = @_;
	my @columns = grep { $_->{name} =~ /^(?:id|[kmqsdbgec])$/ } @{ $table->{columns} };
	my @some = (shuffled(@columns))[ 0 .. pick(0, 1, 1, 2) ];

	$_->{indexed} = 1 for @some;
	my @order = map { [ $_->{name}, pick('', '', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') ] } @some;
	push @{ $table->{orders} }, \@order;
	return join ', ', map { join '', @$_ } @order;
}

sub create_index
{
	my ($table) = @_;
	my @able = grep { $methods{ class_of($_) } } @{ $table->{columns} };
	my $where = chance(0.2) ? ' WHERE ' . pick('k IS NOT NULL', 'k > 4', 'b', 'm % 2 = 0', 'k < 9 AND m > 2', 'NOT b', 's IS NOT NULL') : '';
	my $kind = rand;
	push @{ $table->{predicates} }, $where =~ s/ WHERE //r if $where ne '';
	my $on = ' ON ' . (@{ $table->{parts} } && chance(0.3) ? pick(@{ $table->{parts} }) : $table->{name});
	$table->{of_parts} = 1 if $table->{kind} eq 'partitioned' && $on ne " ON $table->{name}";

	# never violated
	return "CREATE UNIQUE INDEX$on (" . pick('id', 'id DESC', 'k, id', 's, id DESC', 'm DESC, id') . ")$where;\n" if $kind < 0.12 && !@{ $table->{parts} } && !$table->{deferrable};
	return "CREATE INDEX$on (" . key_columns($table) . ")$where;\n" if $kind < 0.5;
	return "CREATE INDEX$on (" . pick('(k % 3)', '(k + m)', '(coalesce(k, 0)), id', 'lower(s), k', '(k % 3) DESC, (m)') . ")$where;\n" if $kind < 0.6;
	if ($kind < 0.7)
	{
		my %names = map { $_->{name} => 1 } @{ $table->{columns} };

		return "CREATE INDEX$on USING gin (a, j)$where;\n" if $names{a} && $names{j};
		return "CREATE INDEX$on USING gist (r, x)$where;\n" if $names{r} && $names{x};
		return "CREATE INDEX$on USING gist (p, i inet_ops)$where;\n" if $names{p} && $names{i};
	}
	my $column = pick(@able);
	$column->{indexed} = 1;
	my $bytes = { 'smallint' => 2, 'int' => 4, 'bigint' => 8 }->{ $column->{type} };
	my $method = pick(@{ $methods{ class_of($column) } });
	# its operator class is of this one
	$column->{one_type} = 1 if $method =~ /%/;
	return "CREATE INDEX$on USING " . ($method =~ s/#/$column->{name}/gr =~ s/%/$bytes/r) . "$where;\n";
}

sub create_table
{
	my ($table) = @_;
	my ($name, $columns) = @$table{ 'name', 'columns' };
	my $key = join '', map { ", $_" } $table->{key} ? 'PRIMARY KEY (id)' . ($table->{deferrable} ? ' DEFERRABLE' : '') : (), @{ $table->{constraints} };
	my $text = '';

	return create($name, ' USING tsurugi', $columns, $key, '') if $table->{kind} eq 'memory';
	return create($name, '', $columns, $key, '') if $table->{kind} eq 'ordinary';
	if ($table->{kind} eq 'inherited')
	{
		$text = create($name, using(), $columns, $key, '');
		for my $number (0 .. 1)
		{
			my @own = chance(0.5) ? () : map { "$_->{name} $_->{type}" } (grep { !$_->{generated} && $_->{name} ne 'id' } shuffled(@$columns))[ 0 .. 1 ];

			$text .= "CREATE TABLE ${name}_$number (" . join(', ', 'extra int', @own) . "$key) INHERITS ($name)" . using() . ";\n";
			push @{ $table->{parts} }, "${name}_$number";
		}
		return $text;
	}
	$text = create($name, '', $columns, $key, " PARTITION BY $table->{by}");
	for my $bound (partitions($table->{by}))
	{
		my $part = $name . '_' . @{ $table->{parts} };

		# with the columns in another order
		$text .= chance(0.5)
			? "CREATE TABLE $part PARTITION OF $name $bound" . using() . ";\n"
			: create($part, using(), [ shuffled(@$columns) ], '', '') . "ALTER TABLE $name ATTACH PARTITION $part $bound;\n";
		push @{ $table->{parts} }, $part;
	}
	return $text;
}

sub insertable { my ($table) = @_; return grep { !$_->{generated} } @{ $table->{columns} } }

# Rows with new ids, or with given ones.
sub rows
{
	my ($table, @ids) = @_;

	return join ', ', map { my $id = $_; '(' . join(', ', map { $_->{name} eq 'id' ? $id : value_of($_) } insertable($table)) . ')' } @ids;
}

sub new_id { my ($table) = @_; return $table->{next}++ }

sub names { return join ', ', map { $_->{name} } @_ }

sub fill
{
	my ($table, $count) = @_;
	my @into = ($table->{name}, $table->{kind} eq 'inherited' ? @{ $table->{parts} } : ());
	my $text = '';

	return '' if $count == 0;
	# one by one where some are refused
	my $at_once = @{ $table->{constraints} } ? 1 : 1 + $count / @into;
	for my $name (@into)
	{
		$text .= "INSERT INTO $name (" . names(insertable($table)) . ') VALUES ' . rows($table, map { new_id($table) } 1 .. $at_once) . ";\n" for 1 .. (1 + $count / @into) / $at_once;
	}
	return $text;
}

# A view of a table that can be written through.
sub make_view
{
	my ($table, $number) = @_;
	my @columns = grep { $_->{name} =~ /^(?:id|[kmsb])$/ || chance(0.3) } insertable($table);
	my $name = "w$number";

	return { name => $name, kind => 'view', of => $table, columns => \@columns, key => $table->{key}, parts => [], predicates => $table->{predicates}, orders => [],
		sql => "CREATE VIEW $name" . pick('', '', ' WITH (security_barrier)') . ' AS SELECT ' . names(@columns) . " FROM $table->{name}" .
			pick('', ' WHERE k > 3', ' WHERE m < 12 OR b', ' WHERE id % 2 = 0') };
}

# Triggers: some change rows before they are written, or leave them alone; some keep what was done in a table, and how many rows
# there are then.
sub make_triggers
{
	my ($schema) = @_;
	my $text = 'CREATE TABLE log (what text)' . ($schema->{mixed} ? '' : ' USING tsurugi') . q{;
CREATE FUNCTION adjust() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'DELETE' THEN RETURN CASE WHEN OLD.k % 6 = 4 THEN NULL ELSE OLD END; END IF;
	IF NEW.k % 7 = 5 THEN RETURN NULL; END IF;
	NEW.m := coalesce(NEW.m, NEW.k, 0) % 15;
	RETURN NEW;
END $$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE rows int;
BEGIN
	EXECUTE format('SELECT count(*) FROM %I', tg_argv[0]) INTO rows;
	INSERT INTO log SELECT concat_ws(' ', tg_argv[0], rows, tg_op, OLD, NEW);
	RETURN NULL;
END $$;
};

	$schema->{log} = 1;
	for my $name (map { $_->{name} } @{ $schema->{tables} })
	{
		$text .= "CREATE TRIGGER adjust BEFORE " . pick('INSERT OR UPDATE', 'UPDATE OR DELETE', 'INSERT', 'INSERT OR UPDATE OR DELETE') . " ON $name FOR EACH ROW EXECUTE FUNCTION adjust();\n" if chance(0.3);
		$text .= "CREATE TRIGGER note AFTER " . pick('INSERT', 'UPDATE OF k', 'DELETE', 'INSERT OR UPDATE OR DELETE') . " ON $name FOR EACH ROW EXECUTE FUNCTION note('$name');\n" if chance(0.5);
	}
	return $text;
}

# What tables there are, and the script that creates them.  Each is { name, kind, columns, key: is id one?, parts: their names }.
sub make_schema
{
	my @kinds = @{ pick([ 'memory' ], [ 'memory' ], [ 'memory', 'memory', 'ordinary' ], [ 'memory', 'ordinary', 'partitioned', 'inherited' ], [ 'memory', 'partitioned' ]) };
	my @tables = map { make_table("t$_", $_ == 1 ? 'memory' : pick(@kinds)) } 1 .. some(2, 4);
	my $large = chance(0.04) ? pick(@tables) : undef;
	my $schema = { tables => \@tables, large => defined $large, mixed => scalar grep { $_->{kind} ne 'memory' } @tables };
	my $text = '';

	for my $table (@tables)
	{
		my $count = $large && $table == $large ? 1200 : pick(0, 3, 12, 25, 25, 40);
		my @indexes;
		my $created = create_table($table);

		push @indexes, create_index($table) for 1 .. some(2, 6);
		$text .= chance(0.5) ? join('', $created, @indexes, fill($table, $count)) : join('', $created, fill($table, $count), @indexes);
		$text .= "DELETE FROM $table->{name} WHERE id % 7 = 3;\n" if chance(0.3);
	}
	$schema->{views} = [ map { my $view = make_view(pick(@tables), $_); my $check = $view->{sql} =~ /WHERE/ && chance(0.4);
		$text .= $view->{sql} . ($check ? ' WITH CHECK OPTION' : '') . ";\n"; $view } 1 .. some(0, 2) ];
	$text .= make_triggers($schema) if !$large && chance(0.2);
	$text .= "ANALYZE;\n" if chance(0.5);
	return ($schema, $text);
}

1;

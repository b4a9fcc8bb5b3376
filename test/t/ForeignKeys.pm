# Random schemas of tables with foreign keys, and random transactions on them, as scripts for psql.
#
# A script in which the tables that are to be in memory are created USING tsurugi says the same without
# these words of ordinary ones: rows, row counts and errors have to be the same.  For that the order
# in which rows are met must be the same, too, since it decides which of two errors is raised.  So every
# statement finds its rows by a key that is unique, or by an index that ends with one, and so do the actions of foreign keys,
# which have indexes (columns, id).  Values come from a small range: keys collide, and references often find something.
package ForeignKeys;

use strict;
use warnings;
use Chance;

# Values of a key, 1 to this.
our $range = 8;

# A type of a key: how it writes a number, and what types may refer to it.
my %types = (
	'int' => { of => sub { $_[0] }, like => [ 'int', 'int', 'bigint', 'smallint' ], counts => 1 },
	'bigint' => { of => sub { $_[0] }, like => [ 'bigint', 'int' ], counts => 1 },
	'smallint' => { of => sub { $_[0] }, like => [ 'smallint', 'int' ], counts => 1 },
	'numeric' => { of => sub { pick('', '', '.0', '.00') eq '' ? $_[0] : "$_[0].0" }, like => [ 'numeric', 'numeric', 'int' ], counts => 1 },
	'text' => { of => sub { "'x$_[0]'" }, like => [ 'text', 'varchar(9)' ] },
	'varchar(9)' => { of => sub { "'x$_[0]'" }, like => [ 'varchar(9)', 'text' ] },
	'char(4)' => { of => sub { "'x$_[0]'" }, like => ['char(4)'] },
	'date' => { of => sub { sprintf "'2020-01-%02d'", 1 + $_[0] % 28 }, like => ['date'] },
	'int[]' => { of => sub { "'{$_[0]}'" }, like => ['int[]'] });

sub value_of { my ($column, $nulls) = @_; return chance($nulls) ? 'NULL' : $types{ $column->{type} }{of}->(some(1, $range)) }

# --- schemas --------------------------------------------------------------------------------------

sub make_table
{
	my ($name, $kind) = @_;
	my @columns = ({ name => 'id', type => 'int', key => 1 });
	my @keys = (['id']);
	my $definition;

	push @columns, { name => 'k', type => pick(sort keys %types), key => 1 } if chance(0.5);
	push @keys, [ $kind eq 'partitioned' ? ('k', 'id') : 'k' ] if @columns > 1;
	if ($kind ne 'partitioned' && chance(0.5))
	{
		push @columns, map { { name => $_, type => pick('int', 'int', 'text', 'numeric'), key => 1 } } 'a', 'b';
		push @keys, [ 'a', 'b' ];
	}
	push @columns, { name => 'v', type => 'int', bound => chance(0.2) };
	return { name => $name, kind => $kind, columns => \@columns, keys => \@keys, partitions => [] };
}

# A column for a reference to another one: the child's own key at times, so that chains of them form.
sub make_referencing
{
	my ($child, $parent_column, $taken) = @_;
	my @own = grep { $_->{name} ne 'v' && !$taken->{ $_->{name} } && $_->{type} eq $parent_column->{type} } @{ $child->{columns} };
	my $column;

	return pick(@own) if @own && chance(0.15);
	$column = { name => 'r' . (1 + grep { $_->{name} =~ /^r/ } @{ $child->{columns} }), type => pick(@{ $types{ $parent_column->{type} }{like} }) };
	$column->{default} = value_of($column, 0) if chance(0.3);
	$column->{not_null} = 1 if chance(0.1);
	push @{ $child->{columns} }, $column;
	return $column;
}

sub actions
{
	my ($on, @columns) = @_;
	my $action = pick('CASCADE', 'CASCADE', 'SET NULL', 'SET DEFAULT', 'RESTRICT', 'NO ACTION', '');

	return '' if $action eq '';
	$action .= ' (' . pick(@columns) . ')' if $on eq 'DELETE' && $action =~ /^SET/ && chance(0.3);
	return " ON $on $action";
}

sub when { return pick('', '', ' NOT DEFERRABLE', ' DEFERRABLE', ' DEFERRABLE INITIALLY DEFERRED', ' DEFERRABLE INITIALLY DEFERRED') }

sub make_key
{
	my ($name, $child, $parent) = @_;
	my @parent_columns = @{ pick(@{ $parent->{keys} }) };
	my (@child_columns, %taken);

	for my $wanted (@parent_columns)
	{
		my ($parent_column) = grep { $_->{name} eq $wanted } @{ $parent->{columns} };
		my $column = make_referencing($child, $parent_column, \%taken);

		$taken{ $column->{name} } = 1;
		push @child_columns, $column->{name};
	}
	my $definition = 'FOREIGN KEY (' . join(', ', @child_columns) . ") REFERENCES $parent->{name} (" . join(', ', @parent_columns) . ')';
	$definition .= ' MATCH FULL' if chance(@child_columns > 1 ? 0.4 : 0.1);
	$definition .= actions('DELETE', @child_columns) . actions('UPDATE') . when();
	return { name => $name, child => $child, parent => $parent, deferred => scalar($definition =~ /DEFERRED/), columns => \@child_columns, parent_columns => \@parent_columns, definition => $definition };
}

# kinds: of tables, to pick from.
sub make_schema
{
	my (@kinds) = @_;
	# one at least has something to do with memory
	my @others = grep { $_ ne 'ordinary' } @kinds;
	my @tables = (make_table('t1', pick(@others)), map { make_table("t$_", pick(@kinds)) } 2 .. some(2, 4));
	my $schema = { tables => \@tables, keys => [] };

	for my $number (1 .. some(1, 1 + @tables))
	{
		push @{ $schema->{keys} }, make_key("f$number", pick(@tables), pick(@tables));
	}
	return $schema;
}

sub column_definition
{
	my ($column) = @_;

	return "$column->{name} $column->{type}" . (defined $column->{default} ? " DEFAULT $column->{default}" : '') .
		($column->{not_null} ? ' NOT NULL' : '') . ($column->{bound} ? ' CHECK (v < 50)' : '');
}

sub key_definition { my ($key, $what) = @_; return ", $what (" . join(', ', @$key) . ')' }

sub create_table
{
	my ($table) = @_;
	my ($first, @others) = @{ $table->{keys} };
	my $body = join(', ', map { column_definition($_) } @{ $table->{columns} }) . key_definition($first, 'PRIMARY KEY') .
		join('', map { key_definition($_, 'UNIQUE') } @others);
	my @parts;

	return "CREATE TABLE $table->{name} ($body)" . ($table->{kind} eq 'memory' ? ' USING tsurugi' : '') . ";\n" if $table->{kind} ne 'partitioned';
	@parts = chance(0.5)
		? map { "FOR VALUES WITH (MODULUS 2, REMAINDER $_)" } 0 .. 1
		: ('FOR VALUES FROM (0) TO (4)', 'FOR VALUES FROM (4) TO (12)', 'DEFAULT');
	my $text = "CREATE TABLE $table->{name} ($body) PARTITION BY " . ($parts[0] =~ /MODULUS/ ? 'HASH' : 'RANGE') . " (id);\n";
	my $memory = int rand @parts;
	for my $i (0 .. $#parts)
	{
		my $name = "$table->{name}_$i";

		$text .= "CREATE TABLE $name PARTITION OF $table->{name} $parts[$i]" . ($i == $memory || chance(0.5) ? ' USING tsurugi' : '') . ";\n";
		push @{ $table->{partitions} }, $name;
	}
	return $text;
}

# Where another of several rows that are wrong may be met first only the SQLSTATE is told: of ADD CONSTRAINT and VALIDATE; and
# of deferred checks, since PostgreSQL knows when a row has been changed since, and ours of ordinary tables come before those of others.
sub state_only { return join '', "\\set VERBOSITY sqlstate\n", @_, "\\set VERBOSITY verbose\n" }

sub add_key { my ($key, $more) = @_; return state_only("ALTER TABLE $key->{child}{name} ADD CONSTRAINT $key->{name} $key->{definition}$more;\n") }

sub value_list { return '(' . join(', ', @_) . ')' }

sub row { my ($table) = @_; return value_list(map { value_of($_, $_->{name} eq 'id' ? 0.01 : $_->{key} ? 0.1 : 0.2) } @{ $table->{columns} }) }

# Statements that sessions prepare, once they have the tables.
sub prepared
{
	my ($schema) = @_;
	my $text = "DEALLOCATE ALL;\n";

	for my $table (@{ $schema->{tables} })
	{
		my $name = $table->{name};
		my @references = grep { $_->{name} =~ /^r/ } @{ $table->{columns} };

		$text .= "PREPARE insert_$name AS INSERT INTO $name VALUES (" . join(', ', map { "\$$_" } 1 .. @{ $table->{columns} }) . ");\n" .
			"PREPARE delete_$name AS DELETE FROM $name WHERE id = \$1;\n" . "PREPARE move_$name AS UPDATE $name SET id = \$2 WHERE id = \$1;\n";
		$text .= "PREPARE refer_$name AS UPDATE $name SET $references[0]{name} = \$2 WHERE id = \$1;\n" if @references;
	}
	return $text;
}

# What creates a schema, with some rows in it.  filled: the rows come before the keys, which then may not be possible.
sub create_schema
{
	my ($schema, $filled) = @_;
	my $text = join '', map { create_table($_) } @{ $schema->{tables} };
	my $keys = join '', map { add_key($_, '') } @{ $schema->{keys} };

	for my $key (@{ $schema->{keys} })
	{
		my @columns = (@{ $key->{columns} }, grep { !grep { $_ eq 'id' } @{ $key->{columns} } } 'id');
		my $tables = $key->{child}{partitions};

		$text .= "CREATE INDEX ON $_ (" . join(', ', @columns) . ");\n" for @$tables ? @$tables : $key->{child}{name};
	}
	$text .= $keys unless $filled;
	for my $table (map { @{ $schema->{tables} } } 1 .. 4)
	{
		$text .= alone($schema, "INSERT INTO $table->{name} VALUES " . join(', ', map { row($table) } 1 .. 2) . " ON CONFLICT DO NOTHING;\n");
	}
	$text .= $keys if $filled;
	return $text;
}

# A view of rows that refer to nothing.
sub orphans
{
	my ($schema) = @_;

	return 'CREATE VIEW orphan AS ' . join(' UNION ALL ', map {
		my $key = $_;
		my @columns = @{ $key->{columns} };
		my @parent = @{ $key->{parent_columns} };
		my $broken = 'num_nulls(' . join(', ', map { "c.$_" } @columns) . ') = 0 AND NOT EXISTS (SELECT 1 FROM ' . $key->{parent}{name} .
			' p WHERE ' . join(' AND ', map { "p.$parent[$_] = c.$columns[$_]" } 0 .. $#columns) . ')';
		$broken = "($broken) OR (num_nulls(" . join(', ', map { "c.$_" } @columns) . ') BETWEEN 1 AND ' . $#columns . ')'
			if $key->{definition} =~ /MATCH FULL/;
		"SELECT '$key->{name}' AS key, c::text AS row FROM $key->{child}{name} c WHERE $broken"
	} @{ $schema->{keys} }) . ";\n";
}

# Triggers of users beside those of foreign keys, whose names are fired before them or after: some
# log what happens, some change the row again, some let a change not happen.
sub create_triggers
{
	my ($schema) = @_;
	my $text = q{
CREATE TABLE log (at serial, what text);
CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'INSERT' THEN INSERT INTO log (what) VALUES (concat_ws(' ', tg_name, tg_table_name, 'INSERT', NEW));
	ELSIF tg_op = 'DELETE' THEN INSERT INTO log (what) VALUES (concat_ws(' ', tg_name, tg_table_name, 'DELETE', OLD));
	ELSE INSERT INTO log (what) VALUES (concat_ws(' ', tg_name, tg_table_name, 'UPDATE', OLD, NEW));
	END IF;
	RETURN NULL;
END $$;
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.v % 7 = 3 THEN RETURN NULL; END IF;
	IF tg_op = 'DELETE' THEN RETURN OLD; END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v % 4 = 1 THEN EXECUTE format('DELETE FROM %I WHERE id = $1', tg_table_name) USING NEW.id;
	ELSIF NEW.v % 4 = 2 THEN EXECUTE format('UPDATE %I SET v = v + 1 WHERE id = $1', tg_table_name) USING NEW.id;
	END IF;
	RETURN NULL;
END $$;
};

	for my $table (map { $_->{name} } @{ $schema->{tables} })
	{
		$text .= "CREATE TRIGGER \"" . pick('A', 'z') . "_log\" AFTER INSERT OR UPDATE OR DELETE ON $table FOR EACH ROW EXECUTE FUNCTION log();\n" if chance(0.6);
		$text .= "CREATE TRIGGER skip BEFORE UPDATE OR DELETE ON $table FOR EACH ROW EXECUTE FUNCTION skip();\n" if chance(0.2);
		$text .= "CREATE TRIGGER \"" . pick('A', 'z') . "_again\" AFTER INSERT OR UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION again();\n" if chance(0.2);
	}
	return $text;
}

sub contents
{
	my ($schema) = @_;

	return join(' UNION ALL ', map { "(SELECT '$_->{name}', q::text FROM $_->{name} q ORDER BY id)" } @{ $schema->{tables} }) . ";\n";
}

# --- statements -----------------------------------------------------------------------------------------

sub references { my ($table) = @_; return grep { $_->{name} =~ /^r/ } @{ $table->{columns} } }

# Rows of a table, in the order of an index.
sub condition
{
	my ($schema, $table) = @_;
	my @first = map { $_->{columns}[0] } grep { $_->{child} == $table } @{ $schema->{keys} };
	my $from = some(1, $range);

	if (@first && chance(0.2))
	{
		my $name = pick(@first);
		my ($column) = grep { $_->{name} eq $name } @{ $table->{columns} };

		return "$name = " . value_of($column, 0);
	}
	return pick("id = $from", "id = $from", "id = $from", "id BETWEEN $from AND " . ($from + some(0, 4)), 'id IN (' . join(', ', map { some(1, $range) } 1 .. 3) . ')',
		"id > $from", "id >= 9", 'id > 0');
}

sub insert
{
	my ($table) = @_;
	my $text = "INSERT INTO $table->{name} VALUES " . join(', ', map { row($table) } 1 .. pick(1, 1, 1, 2, 3));
	my @references = references($table);
	my $set = @references && chance(0.5) ? pick(@references)->{name} : 'v';
	my $target = chance(0.5) ? '(id)' : value_list(@{ pick(@{ $table->{keys} }) });

	return $text if chance(0.6);
	return "$text ON CONFLICT DO NOTHING" if chance(0.3);
	return "$text ON CONFLICT $target DO NOTHING" if chance(0.3);
	$set = 'id' if chance(0.15);
	return "$text ON CONFLICT $target DO UPDATE SET $set = " . ($set eq 'id' ? "$table->{name}.id + 10" : "EXCLUDED.$set") .
		(chance(0.2) ? " WHERE $table->{name}.id > 3" : '');
}

sub assignments
{
	my ($table) = @_;
	my @references = references($table);
	my @keys = grep { $_->{key} } @{ $table->{columns} };
	my %set;

	if (@references && chance(0.5))
	{
		my $column = pick(@references);

		$set{ $column->{name} } = pick(value_of($column, 0.1), value_of($column, 0.1), value_of($column, 0.1), $column->{name}, 'DEFAULT');
	}
	if (chance(0.5))
	{
		my $column = pick(@keys);

		$set{ $column->{name} } = $types{ $column->{type} }{counts} && chance(0.5) ? $column->{name} . pick(' + 10', ' - 10', ' + 1', '') : value_of($column, 0.05);
	}
	$set{v} = pick('v + 1', 'v', some(0, 55), 'NULL') if !%set || chance(0.2);
	return join ', ', map { "$_ = $set{$_}" } sort keys %set;
}

sub update { my ($schema, $table) = @_; return "UPDATE $table->{name} SET " . assignments($table) . ' WHERE ' . condition($schema, $table) }

sub delete { my ($schema, $table) = @_; return "DELETE FROM $table->{name} WHERE " . condition($schema, $table) }

# A change of one table in WITH, and another of one: what both see, and when checks are made.
sub with_change
{
	my ($schema) = @_;
	my $key = pick(@{ $schema->{keys} });
	my ($child, $parent) = ($key->{child}, $key->{parent});
	my $first = pick(insert($parent), insert($child), update($schema, $parent), ForeignKeys::delete($schema, $parent), ForeignKeys::delete($schema, $child));
	my $second = pick(insert($child), insert($parent), update($schema, $child), ForeignKeys::delete($schema, $parent), ForeignKeys::delete($schema, $child));

	return "WITH x AS ($first RETURNING id) $second" . pick('', ' RETURNING id, (SELECT count(*) FROM x)') if chance(0.7);
	return "WITH x AS ($first), y AS ($second RETURNING id) SELECT id FROM y";
}

sub copy
{
	my ($table) = @_;
	my $text = "COPY $table->{name} FROM stdin;\n";

	# ordinary partitions are filled one after the other
	for (1 .. ($table->{kind} eq 'partitioned' ? 1 : some(1, 3)))
	{
		# rows that are wrong by themselves are found before others are stored
		$text .= join("\t", map { my $value = value_of($_, $_->{key} || $_->{not_null} ? 0 : 0.1); $value eq 'NULL' ? '\N' : $value =~ s/'//gr } @{ $table->{columns} }) . "\n";
	}
	return "$text\\.\n";
}

sub execute
{
	my ($table) = @_;
	my @references = references($table);
	my $name = $table->{name};
	my $id = some(1, $range);

	return "EXECUTE insert_$name" . row($table) if chance(0.4);
	return "EXECUTE delete_$name ($id)" if chance(0.4);
	return "EXECUTE refer_$name ($id, " . value_of($references[0], 0.1) . ')' if @references && chance(0.5);
	return "EXECUTE move_$name ($id, " . some(1, 2 * $range) . ')';
}

sub truncate_tables
{
	my ($schema) = @_;

	return 'TRUNCATE ' . join(', ', map { pick(@{ $schema->{tables} })->{name} } 1 .. some(1, 2)) . pick('', ' CASCADE', ' CASCADE');
}

# A statement on rows, with its semicolon.
sub change
{
	my ($schema) = @_;
	my $table = pick(@{ $schema->{tables} });
	my $kind = rand 100;

	return insert($table) . pick('', '', ' RETURNING id') . ";\n" if $kind < 30;
	return update($schema, $table) . pick('', '', ' RETURNING id') . ";\n" if $kind < 52;
	return ForeignKeys::delete($schema, $table) . pick('', '', ' RETURNING id') . ";\n" if $kind < 68;
	return with_change($schema) . ";\n" if $kind < 78;
	return copy($table) if $kind < 82;
	return execute($table) . ";\n" if $kind < 94;
	return "INSERT INTO $table->{name} (id, v) SELECT g, g FROM generate_series(" . join(', ', sort { $a <=> $b } some(1, 20), some(1, 20)) . ") g ON CONFLICT DO NOTHING;\n" if $kind < 97;
	return truncate_tables($schema) . ";\n" if $kind < 98;
	return update($schema, $table) . '\; ' . insert(pick(@{ $schema->{tables} })) . ";\n";
}

# SET CONSTRAINTS of all keys, or some.
sub set_constraints
{
	my ($schema) = @_;
	my @names = map { $_->{name} } grep { $_->{definition} =~ /(?<!NOT )DEFERRABLE/ } @{ $schema->{keys} };

	return state_only('SET CONSTRAINTS ' . (!@names || chance(0.5) ? 'ALL' : join(', ', map { pick(@names) } 1 .. some(1, 2))) . pick(' DEFERRED', ' DEFERRED', ' IMMEDIATE') . ";\n");
}

# A foreign key comes, goes or changes; also with rows that it has something to say about.
sub define
{
	my ($schema) = @_;
	my $key = pick(@{ $schema->{keys} });
	my $table = $key->{child}{name};

	$key->{deferred} = 1;
	return "ALTER TABLE $table ALTER CONSTRAINT $key->{name}" . when() . ";\n" if chance(0.4);
	return "ALTER TABLE $table DROP CONSTRAINT $key->{name};\n" if chance(0.4);
	return add_key($key, chance(0.4) && $key->{child}{kind} ne 'partitioned' ? ' NOT VALID' : '') if chance(0.7);
	return state_only("ALTER TABLE $table VALIDATE CONSTRAINT $key->{name};\n");
}

# A statement that is a transaction of its own.
sub alone
{
	my ($schema, $statement) = @_;

	return (grep { $_->{deferred} } @{ $schema->{keys} }) ? state_only($statement) : $statement;
}

# A transaction: one statement, or a block with savepoints.  how: isolation => what BEGIN says of it;
# definitions => how often one of them is an ALTER TABLE.
sub transaction
{
	my ($schema, %how) = @_;
	my $definitions = $how{definitions} // 0;
	my $depth = 0;
	my $text;

	return chance($definitions) ? define($schema) : alone($schema, change($schema)) if chance(0.4);
	$text = 'BEGIN' . ($how{isolation} // '') . ";\n";
	for (1 .. some(2, 9))
	{
		my $kind = rand 100;

		if    ($kind < 12) { $text .= set_constraints($schema) }
		elsif ($kind < 22) { $text .= "SAVEPOINT s$depth;\n"; $depth++ }
		elsif ($kind < 30 && $depth > 0)
		{
			my $to = int rand $depth;

			$text .= "ROLLBACK TO s$to;\n";
			$depth = $to + 1;
		}
		elsif ($kind < 33 && $depth > 0 && $text !~ /SET CONSTRAINTS/) { $depth = int rand $depth; $text .= "RELEASE s$depth;\n" }
		elsif (chance($definitions)) { $text .= define($schema) }
		else                         { $text .= change($schema) }
	}
	return $text . state_only(pick('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK') . ";\n");
}

1;

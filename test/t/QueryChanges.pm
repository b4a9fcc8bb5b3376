# Random changes of the tables of QueryTables.pm, and transactions of them and of random queries, as scripts for psql.
#
# What a change does depends on the rows alone: a row is not changed twice, what it becomes comes from itself, from what is unique in
# another table or from an aggregate, and no two rows become the same id. Where several rows may be wrong, only that there is an error is told.
package QueryChanges;

use strict;
use warnings;
use Chance;
use QueryTables;
use QueryDefinitions;
use Queries;
use Storable 'dclone';

# --- changes ------------------------------------------------------------------------------

sub scope_of { my ($table, $alias) = @_; return { relations => [ { alias => $alias // $table->{name}, table => $table->{kind} eq 'view' ? undef : $table->{name}, plain => scalar($table->{kind} =~ /memory|ordinary/), columns => Queries::classes_of($table) } ] } }

sub changeable { my ($table) = @_; return grep { !$_->{generated} && $_->{name} ne 'id' } @{ $table->{columns} } }

# A value for a column: of another type it is cast.
sub new_value
{
	my ($scope, $column) = @_;
	my $class = QueryTables::class_of($column);

	return QueryTables::value_of($column) if chance(0.4);
	return "$column->{name} + 1" if $class eq 'int' && chance(0.3);
	return 'DEFAULT' if chance(0.03);
	return '(' . Queries::expression($scope, $class, pick(0, 1)) . ')' . ($class eq 'text' && $column->{type} =~ /\(/ ? '::varchar(6)' : $class eq 'int' ? '' : '::' . QueryTables::cast($column->{type}));
}

sub returning
{
	my ($table, $alias) = @_;
	my $scope = scope_of($table, $alias);
	my $name = $alias // $table->{name};

	return chance(0.5) ? '' : ' RETURNING ' . pick("$name.*", "$name.id, $name.k, $name.s", $table->{kind} eq 'view' ? () : "$name.tableoid::regclass, $name.id", "${name}::text", "$name.id, " . Queries::expression($scope, 'int', 1));
}

# Whether no two rows can have the same id: children have keys of their own.
sub has_key { my ($table) = @_; return $table->{key} && ($table->{of} // $table)->{kind} ne 'inherited' }

# Rows to change: one by its id, some, or by other tables.
sub which
{
	my ($scope) = @_;
	my $name = $scope->{relations}[0]{alias};

	return "$name.id " . pick('= ' . Queries::constant('int'), 'IN (' . join(', ', map { some(1, 40) } 1 .. 3) . ')', 'BETWEEN ' . some(1, 15) . ' AND ' . some(16, 40)) if chance(0.4);
	return join ' AND ', map { Queries::condition($scope, pick(0, 1, 1, 2)) } 1 .. pick(1, 1, 2);
}

sub insert
{
	my ($table) = @_;
	my $base = $table->{of} // $table;
	my @columns = QueryTables::insertable($table);
	my $collides = has_key($table);
	my $kind = rand;
	my $names = QueryTables::names(@columns);
	my $source;

	if ($kind < 0.5)
	{
		my @ids = map { chance(0.3) && $collides ? some(1, 40) : QueryTables::new_id($base) } 1 .. pick(1, 1, 2, 3);

		$source = 'VALUES ' . QueryTables::rows($table, @ids);
	}
	else
	{
		# ids far from others, or the same
		my $from = pick(grep { $_->{kind} ne 'view' || $_->{key} } Queries::readable());
		my $scope = scope_of($from, 'f');
		my $again = chance(0.3) && $collides;
		my $first = $again ? 0 : $base->{next} + 1000;

		$base->{next} += 3000 if !$again;
		$source = 'SELECT ' . join(', ', map { $_->{name} eq 'id' ? "f.id % 1000 + $first" : ($_->{nulls} ? '' : 'coalesce(') . Queries::expression($scope, QueryTables::class_of($_), 0) .
			($_->{nulls} ? '' : ', ' . QueryTables::value_of($_) . ')') . '::' . QueryTables::cast($_->{type}) } @columns) . " FROM $from->{name} f WHERE f.id < 1000 AND " . which($scope);
	}
	my $sql = "INSERT INTO $table->{name} ($names) $source";
	if ($table->{key} && chance($base->{deferrable} ? 0.05 : 0.5))
	{
		my @set = map { my $column = pick(changeable($table)); "$column->{name} = " . pick("EXCLUDED.$column->{name}", "$table->{name}.$column->{name}", "EXCLUDED.$column->{name}") } 1;

		# with no index named the first conflict, or the first index that is DEFERRABLE, decides
		my $any = $table->{kind} ne 'inherited' && !($base->{reordered} && @{ $base->{constraints} // [] });

		$sql .= ' ON CONFLICT ' . (!$any || chance(0.6) ? '(id) ' : '') . 'DO NOTHING' if chance(0.4);
		$sql .= ' ON CONFLICT (id) DO UPDATE SET ' . join(', ', @set) . (chance(0.3) ? " WHERE $table->{name}.k > EXCLUDED.k - 5" : '') if $sql !~ /ON CONFLICT/;
	}
	return $sql . returning($table);
}

sub update
{
	my ($table) = @_;
	my $scope = scope_of($table);
	my $name = $table->{name};
	my $base = $table->{of} // $table;
	my $only = $table->{kind} eq 'inherited' && chance(0.2) ? 'ONLY ' : '';
	my $kind = rand;

	$Queries::fuel = 2;
	# a key that is deferrable is looked at when all rows are changed
	return "UPDATE $name SET id = " . pick('id + 1', 'id - 1', '41 - id') . ' WHERE ' . pick('id BETWEEN 1 AND 40', which($scope)) . returning($table) if $base->{deferrable} && $kind < 0.15;
	return "UPDATE $name SET id = " . QueryTables::new_id($base) . " WHERE $name.id = " . some(1, 40) . returning($table) if $kind < 0.1;
	if ($kind < 0.3)
	{
		# another table, of which one row at most goes with each
		my $other = pick(Queries::readable());
		my ($column) = grep { $_->{name} =~ /^[km]$/ } shuffled(changeable($table));
		my $from = chance(0.5) ? "(SELECT k, count(*) AS m, max(id) AS id FROM $other->{name} GROUP BY k) f" : "$other->{name} f";
		my $by = $from =~ /GROUP/ ? "f.k = $name.m" : "f.id = $name.id";

		return "UPDATE $only$name SET $column->{name} = coalesce(f.m, 0) + " . some(0, 2) . " FROM $from WHERE $by AND " . which($scope) . returning($table);
	}
	if ($kind < 0.4)
	{
		my $query = Queries::aggregate_query($scope, 1, [ 'int', 'text' ]);
		my %null = map { $_->{name} => $_->{nulls} } @{ $base->{columns} };

		return "UPDATE $only$name SET (m, s) = (SELECT m, left(s, 6) FROM ($query->{sql}) f (m, s)) WHERE " . which($scope) . returning($table) if $null{m} && $null{s} && $name =~ /^t/;
	}
	my %set;
	for (1 .. pick(1, 1, 2)) { my $column = pick(changeable($table)); $set{ $column->{name} } = new_value($scope, $column) }
	return "UPDATE $only$name SET " . join(', ', map { "$_ = $set{$_}" } sort keys %set) . ' WHERE ' . which($scope) . returning($table);
}

sub remove
{
	my ($table) = @_;
	my $scope = scope_of($table);
	my $other = pick(Queries::readable());

	$Queries::fuel = 2;
	return "DELETE FROM $table->{name} USING $other->{name} f WHERE f.id = $table->{name}.id AND " . which($scope) . returning($table) if chance(0.2);
	return "DELETE FROM $table->{name} WHERE $table->{name}.id % 5 = " . some(0, 4) . ' AND ' . which($scope) . returning($table);
}

sub changed_tables { return (@{ $Queries::schema->{tables} }, @{ $Queries::schema->{tables} }, @{ $Queries::schema->{views} }) }

# A change of a table, or of this one.
sub change
{
	my $table = shift // pick(changed_tables());
	my $kind = rand;

	local @Queries::with = ();
	$Queries::fuel = 2;
	return insert($table) if $kind < 0.4;
	return update($table) if $kind < 0.8;
	return remove($table);
}

# A change in WITH, and a query of what it returns and of what was there before.
sub change_in_with
{
	my $table = pick(@{ $Queries::schema->{tables} });
	local @Queries::with = ();
	$Queries::fuel = 2;
	my $change = pick(\&insert, \&update, \&remove)->($table) =~ s/ RETURNING .*//sr;

	@Queries::with = { name => 'changed', columns => [ { name => 'id', class => 'int' }, { name => 'k', class => 'int' } ] };
	my $query = Queries::query(undef, 1);
	return { sql => "WITH changed AS ($change RETURNING $table->{name}.id, $table->{name}.k) $query->{sql}", ordered => $query->{ordered} };
}

# MERGE into an ordinary table, of rows that are one for each of its own.
sub merge
{
	my ($table) = @_;
	my $from = pick(grep { $_->{kind} ne 'view' || $_->{key} } Queries::readable());
	my @columns = QueryTables::insertable($table);
	my $first = $table->{next} + 1000;
	my $set = sub { my ($column) = grep { $_->{name} =~ /^[km]$/ } shuffled(changeable($table)); "$column->{name} = coalesce(f.m, 0) + " . some(0, 2) };
	my $when = sub { chance(0.4) ? ' AND ' . Queries::condition({ relations => [ map { @{ $_->{relations} } } @_ ] }, 0) : '' };
	my ($into, $other) = (scope_of($table), scope_of($from, 'f'));

	$table->{next} += 3000;
	$Queries::fuel = 2;
	return "MERGE INTO $table->{name} USING $from->{name} f ON f.id = $table->{name}.id" .
		(chance(0.8) ? ' WHEN MATCHED' . $when->($into, $other) . ' THEN ' . pick('UPDATE SET ' . $set->(), 'UPDATE SET ' . $set->(), 'DELETE', 'DO NOTHING') : '') .
		' WHEN NOT MATCHED AND f.id < 1000' . $when->($other) . ' THEN INSERT (' . QueryTables::names(@columns) . ') VALUES (' .
		join(', ', map { $_->{name} eq 'id' ? "f.id + $first" : $_->{name} eq 'k' ? 'coalesce(f.k, 1)' : QueryTables::value_of($_) } @columns) . ')';
}

# --- statements for psql -----------------------------------------------------------------------

my $prepared = 0;

# A statement with how its answer is looked at: o in order, u rows in any, v as u, but one error is like another
sub marked { my ($how, $sql) = @_; return "\\echo \@ $how\n$sql;\n" }

sub queried { my ($query) = @_; return marked($query->{ordered} ? 'o' : 'u', $query->{sql}) }

sub changed { my ($sql) = @_; return marked('v', $sql) }

# Prepared, and executed until a plan for all parameters is looked for.
sub prepared
{
	my ($in_block) = @_;
	local $Queries::parameters = [];
	# what gives a new id is executed several times
	my @able = grep { has_key($_) } changed_tables();
	my $query = @able && chance(0.25) ? { sql => change(pick(@able)), change => 1 } : chance(0.4) ? Queries::ordered_query() : Queries::top();
	my @classes = @$Queries::parameters;
	my $name = 'p' . ++$prepared;
	my $moves = !$in_block && chance(0.15);
	my $text = marked('u', "PREPARE $name" . (@classes ? ' (' . join(', ', map { Queries::type_named($_) } @classes) . ')' : '') . " AS $query->{sql}");

	for (1 .. pick(2, 7, 7))
	{
		my $execute = "EXECUTE $name" . (@classes ? ' (' . join(', ', map { chance(0.05) ? 'NULL' : Queries::value($_) } @classes) . ')' : '');

		$text .= marked('u', QueryDefinitions::movement($Queries::schema, 0)) if $moves && chance(0.3);
		$text .= $query->{change} ? changed($execute) : queried({ %$query, sql => $execute });
	}
	return $text . marked('u', "DEALLOCATE $name");
}

sub cursor
{
	my $query = chance(0.6) ? Queries::ordered_query() : Queries::top();
	my $scroll = pick('SCROLL ', 'NO SCROLL ', '');
	my $hold = chance(0.2);
	my $text;

	return queried($query) if !$query->{ordered};
	$text = marked('u', "DECLARE c ${scroll}CURSOR " . ($hold ? 'WITH HOLD ' : '') . "FOR $query->{sql}");
	$text .= marked('o', 'FETCH ' . ($scroll eq 'SCROLL ' ? pick('NEXT', 'PRIOR', 'FIRST', 'LAST', 'ABSOLUTE ' . some(-3, 9), 'RELATIVE ' . some(-3, 3), 'FORWARD 3', 'BACKWARD 2', 'ALL', 'BACKWARD ALL') : pick('NEXT', 'FORWARD 2', 'ALL')) . ' FROM c')
	  for 1 .. some(1, 6);
	return $text . marked('u', 'CLOSE c');
}

# A row that a cursor is at.
sub current
{
	my $table = pick(grep { $_->{kind} ne 'inherited' } @{ $Queries::schema->{tables} });

	return '' if !$table;
	my $column = pick(changeable($table));
	return marked('u', "DECLARE c CURSOR FOR SELECT * FROM $table->{name} WHERE id = " . some(1, 40) . pick('', ' FOR UPDATE')) . marked('u', 'FETCH c') .
		marked('v', pick("UPDATE $table->{name} SET $column->{name} = " . QueryTables::value_of($column) . ' WHERE CURRENT OF c RETURNING *', "DELETE FROM $table->{name} WHERE CURRENT OF c RETURNING id")) . marked('u', 'CLOSE c');
}

# COPY to psql, or rows from it.
sub copied
{
	my $table = pick(@{ $Queries::schema->{tables} });
	my @columns = QueryTables::insertable($table);

	return marked('u', "COPY $table->{name} (" . QueryTables::names(shuffled(@columns)) . ') TO STDOUT' . pick('', ' CSV')) if $table->{kind} ne 'partitioned' && chance(0.3);
	return marked('u', 'COPY (' . Queries::top()->{sql} . ') TO STDOUT') if chance(0.3);
	my $rows = join '', map {
		join("\t", map { my $value = $_->{name} eq 'id' ? QueryTables::new_id($table->{of} // $table) : QueryTables::value_of($_); $value eq 'NULL' ? '\N' : $value =~ s/'//gr } @columns) . "\n"
	} 1 .. some(0, 4);
	return "\\echo \@ v\nCOPY $table->{name} (" . QueryTables::names(@columns) . ") FROM STDIN;\n$rows\\.\n";
}

# A table made of a query, and read.
sub created
{
	my $query;

	# with columns that are known
	do { $query = Queries::top() } until $query->{classes};
	return marked('u', 'CREATE TABLE made (' . join(', ', map { "c$_" } 1 .. @{ $query->{classes} }) . ") USING tsurugi AS $query->{sql}") . marked('u', pick('SELECT * FROM made', 'TABLE made', 'SELECT made::text FROM made')) . marked('u', 'DROP TABLE made');
}

my @switches = qw(enable_hashjoin enable_mergejoin enable_nestloop enable_material enable_memoize enable_sort enable_incremental_sort enable_hashagg enable_bitmapscan
	enable_indexscan enable_seqscan enable_partitionwise_join enable_partitionwise_aggregate enable_async_append enable_partition_pruning);

# What makes an index of a kind that is not served, or partitions of both kinds, is told.
my $settings = "SET client_min_messages = error;\nSET search_path = s;\nSET statement_timeout = 60000;\nSET tsurugi_fdw.serializable_mixed = relaxed";

# A setting, mostly of plans: with dear operators every index that can be used is.
sub setting
{
	return "RESET ALL;\n$settings" if chance(0.2);
	return 'SET cpu_operator_cost = ' . pick(1, 1, 0.0001) if chance(0.3);
	return "SET parallel_setup_cost = 0;\nSET parallel_tuple_cost = 0;\nSET min_parallel_table_scan_size = 0;\nSET max_parallel_workers_per_gather = 2" if chance(0.05);
	return 'SET force_parallel_mode = ' . pick('on', 'off') if chance(0.05);
	return pick((map { "SET $_ = " . pick('off', 'off', 'on') } (shuffled(@switches))[ 0 .. 5 ]), 'SET tsurugi_fdw.scan_pool_rows = ' . pick(0, 0, 10000, -1),
		'SET plan_cache_mode = ' . pick('auto', 'force_generic_plan', 'force_custom_plan'), 'SET work_mem = ' . pick("'64kB'", "'4MB'"), 'SET cursor_tuple_fraction = ' . pick(0.01, 1));
}

sub statement
{
	my ($in_block) = @_;
	my $kind = rand 100;

	return queried(Queries::top()) if $kind < 45;
	return queried(Queries::ordered_query($in_block && chance(0.3))) if $kind < 65;
	return prepared($in_block) if $kind < 70;
	return $in_block ? cursor() : queried(Queries::top()) if $kind < 74;
	return $in_block ? current() : setting() . ";\n" if $kind < 76;
	return copied() if $kind < 78;
	return created() if $kind < 79 && !$in_block;
	# not one that may be in memory by now
	my @merged = grep { $_->{kind} eq 'ordinary' && !$_->{moved} } @{ $Queries::schema->{tables} };
	return changed(merge(pick(@merged))) if $kind < 81 && @merged;
	return changed(change()) if $kind < 94;
	return do { my $query = change_in_with(); marked($query->{ordered} ? 'w' : 'v', $query->{sql}) };
}

sub contents { return join '', (map { marked('u', "SELECT tableoid::regclass, $_->{name}::text FROM $_->{name}") } @{ $Queries::schema->{tables} }), $Queries::schema->{log} ? marked('u', 'SELECT * FROM log') : () }

# A block at some level, or of a kind, with savepoints.
sub block
{
	my $read_only = chance(0.15);
	my $level = pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	my $text = "BEGIN ISOLATION LEVEL $level" . ($read_only ? ' READ ONLY' . pick('', ' DEFERRABLE') : '') . ";\n";

	# its snapshot waits for what is SERIALIZABLE in the other database, which may be at something that takes long
	$text .= "SET LOCAL statement_timeout = 0;\n" . marked('u', 'SELECT 1') . "SET LOCAL statement_timeout = 60000;\n" if $text =~ /DEFERRABLE/;
	if (!$read_only && !$Queries::schema->{mixed} && chance(0.25))
	{
		$text .= "SET LOCAL tsurugi_fdw.transaction_type = '" . pick('long', 'long', 'short', 'read_only') . "';\n";
		$text .= "SET LOCAL tsurugi_fdw.write_preserve = '" . join(', ', (map { $_->{name} } @{ $Queries::schema->{tables} }), $Queries::schema->{log} ? 'log' : ()) . "';\n" if $text =~ /long/;
		$read_only = $text =~ /read_only/;
	}
	for (1 .. some(1, 7))
	{
		if ($read_only) { $text .= chance(0.7) ? queried(Queries::top()) : queried(Queries::ordered_query()); next }
		if (chance(0.15))
		{
			$text .= "SAVEPOINT a;\n" . statement(1) . statement(1) . pick('ROLLBACK TO a', 'RELEASE a') . ";\n";
			next;
		}
		$text .= marked('u', 'SELECT 1 / 0') if chance(0.03);
		# not in a savepoint that is released: what it says there PostgreSQL does not undo with the one around it; nor of a primary key,
		# by which rows are told apart
		my @constraints = map { /CONSTRAINT (\w+)/ ? $1 : () } map { @{ $_->{constraints} } } @{ $Queries::schema->{tables} };
		$text .= marked('v', 'SET CONSTRAINTS ' . join(', ', pick(@constraints), grep { chance(0.4) } @constraints) . pick(' DEFERRED', ' IMMEDIATE')) if @constraints && chance(0.2);
		$text .= statement(1);
	}
	return $text . marked('v', pick('COMMIT', 'COMMIT', 'ROLLBACK'));
}

# Definitions in a transaction, which may be taken back. Of constraints that are deferred there may be something left to be checked,
# with which PostgreSQL alters no table.
sub defining_block
{
	my $schema = $Queries::schema;
	my $end = pick('COMMIT', 'ROLLBACK', 'ROLLBACK');
	my $before = dclone($schema);
	my $text = "BEGIN;\n";

	for (1 .. some(1, 4))
	{
		$text .= marked('v', QueryDefinitions::definition($schema, 1));
		$text .= statement(1) for 1 .. some(1, 2);
	}
	%$schema = %$before if $end eq 'ROLLBACK';
	return $text . marked('v', $end);
}

# The script of a schema: its tables, and so many statements or blocks.
sub script
{
	my ($count) = @_;
	local @QueryTables::moods = ('sad', 'ok', 'happy');
	my ($schema, $text) = QueryTables::make_schema();

	local $Queries::schema = $schema;
	my $defines = chance(0.3) ? 0.1 : 0;
	my $constraints = grep { @{ $_->{constraints} } } @{ $schema->{tables} };
	$prepared = 0;
	$text = "$settings;\nDROP SCHEMA IF EXISTS s CASCADE;\nCREATE SCHEMA s;\n" . (chance(0.6) ? "SET cpu_operator_cost = 1;\n" : '') .
		"CREATE EXTENSION btree_gist;\n" . pick("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');\n", "CREATE TYPE mood AS ENUM ('sad', 'happy');\nALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';\n") . "\\echo @ v\n$text" .
		"CREATE FUNCTION counted(int) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t1 WHERE k = \$1); END';\n" . contents();
	for (1 .. $count)
	{
		my $one = chance($defines) ? $constraints || chance(0.6) ? marked('v', QueryDefinitions::definition($schema, 0)) : defining_block() : chance(0.75) ? statement(0) : block();

		$text .= $one;
		$text .= contents() if $one =~ /\b(?:INSERT|UPDATE|DELETE|ALTER)\b/ && chance(0.5);
		$text .= marked('u', 'TRUNCATE ' . pick(@{ $schema->{tables} })->{name}) if chance(0.003);
		$text .= marked('u', QueryTables::create_index(pick(@{ $schema->{tables} })) =~ s/;\n//r) if chance(0.02);
		$text .= marked('u', 'ANALYZE') if chance(0.01);
	}
	return $text . contents();
}

1;

# Files in Parquet and Arrow, judged by implementations that are not ours: DuckDB and Arrow's own in
# JavaScript.  Called by judges.sh with a cluster running.  Prints TAP, and totals at the end.
#
# We write, they read.  A table in memory has a column of each type of JudgedTypes.pm.  Its rows are in
# groups, which are row groups or record batches in the files; from group to group and column to column
# go the patterns of NULL (none, all, the first row, the last, every other, any), and values are those at
# the type's edges, or all different, or both.  Files are written by COPY and tsurugi.dump(), from that
# table and from an ordinary one, with each codec, with and without dictionaries.  Of each file are
# compared: types, the number of rows of each group, all values, and, of Parquet, counts of NULL,
# that the statistics enclose the values, and what filters find, for which DuckDB goes by these.
#
# They write, we read.  DuckDB writes files of its types with each codec, in both versions of pages, with
# and without dictionaries.  tsurugi.load() and COPY read them into tables that have the columns of
# tsurugi.describe_file().
#
# Environment: SEED (1) of the NULLs at any place.
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;
use Test::More;
use Chance;
use JudgedTypes;

my $work = $ENV{TG_WORK} or die "to be run by judges.sh\n";
my $group_rows = 50;
my $groups = 18;
my $rows = $groups * $group_rows + 7;
my $seed = seed();
my @types = judged_types();
my $json = JSON::PP->new->allow_nonref->canonical;
my ($files, $values) = (0, 0);

# --- the server, and the judges ---

# The answer; an error is one, too, since it is a file's fault.
sub sql
{
	my ($statements) = @_;

	open(my $in, '>', "$work/statements.sql") or die;
	print $in "SET intervalstyle = iso_8601;\n$statements\n";
	close $in;
	open(my $out, '-|', "psql -XAtqv ON_ERROR_STOP=1 -f $work/statements.sql 2>&1") or die;
	my $answer = do { local $/; <$out> } // '';
	close $out;
	chomp $answer;
	return $answer;
}

sub sql_done
{
	my ($statements) = @_;
	my $answer = sql($statements);

	die substr($statements, 0, 500) . "\n$answer\n" if $answer =~ /ERROR:/;
	return $answer;
}

my ($from_judge, $to_judge);
open2($from_judge, $to_judge, 'node', "$work/node/judge.mjs");

sub judge
{
	my ($request) = @_;

	print $to_judge $json->encode($request), "\n";
	$to_judge->flush;
	return JSON::PP->new->decode(scalar(<$from_judge>) // die "the judge has ended\n");
}

sub judge_done
{
	my ($request) = @_;
	my $answer = judge($request);

	die substr($request->{query} // '', 0, 500) . "\n$answer->{error}\n" if $answer->{error};
	return $answer;
}

sub duckdb { my ($query) = @_; return [map { $json->decode($_) } @{ judge_done({ query => $query })->{rows} }]; }

# A file, by the judge of its format.
sub read_by_judge
{
	my ($format, $file) = @_;

	return judge($format eq 'arrow' ? { arrow => $file } : { query => "SELECT * FROM read_parquet('$file')" });
}

# --- the table ---

sub quoted { my ($value) = @_; return "'" . $value =~ s/'/''/gr . "'"; }

# Whether column k is NULL in row i, which is row r of group g.
sub null_of
{
	my ($k) = @_;

	return "CASE (g + $k) % 6 WHEN 0 THEN false WHEN 1 THEN true WHEN 2 THEN r = 0 WHEN 3 THEN r = $group_rows - 1
		WHEN 4 THEN r % 2 = 0 ELSE hashint8(i * 1000::bigint + $k + $seed) % 3 = 0 END";
}

# Groups 0 to 5 have values at the edges, 6 to 11 others, the last ones both.
sub value_of
{
	my ($k) = @_;
	my ($type, $edges, $others) = @{ $types[ $k - 1 ] }{qw(name edges others)};
	my $whens = join(' ', map { "WHEN $_ THEN " . quoted($edges->[$_]) . "::$type" } 0 .. $#$edges);
	my $is_edge = 'g < 6 OR g >= 12 AND r % 2 = 1';

	return 'CASE WHEN ' . null_of($k) . " THEN NULL WHEN $is_edge THEN CASE i % " . @$edges . " $whens END ELSE ($others)::$type END";
}

sub columns_of { my ($id) = @_; return join(', ', $id, map { "c$_ $types[$_ - 1]{name}" } 1 .. @types); }

sub make_tables
{
	my $columns = columns_of('id int PRIMARY KEY');

	sql_done("CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
		CREATE TYPE mood AS ENUM ('sad', 'happy')");
	sql_done("CREATE FOREIGN TABLE judged ($columns) SERVER tsurugi; CREATE TABLE heap ($columns)");
	sql_done('INSERT INTO judged SELECT i, ' . join(', ', map { value_of($_) } 1 .. @types) .
		" FROM generate_series(0, $rows - 1) i, LATERAL (SELECT i / $group_rows AS g, i % $group_rows AS r) p");
	sql_done('INSERT INTO heap TABLE judged');
}

# What the server says of a table's rows, as judge.mjs says it of a file's.
sub query_of
{
	my ($format) = @_;
	my @values = map { $types[ $_ - 1 ]{ $format eq 'arrow' ? 'value_of_arrow' : 'value' } =~ s/\bV\b/c$_/gr } 1 .. @types;

	return 'SELECT json_build_array(id::text, ' . join(', ', @values) . ')';
}

sub rows_of { my ($table, $format) = @_; return expected(query_of($format) . " FROM $table ORDER BY id"); }

sub expected
{
	my ($query) = @_;
	my $answer = sql_done($query);

	open(my $out, '>', "$work/expected.json") or die;
	print $out $answer, $answer eq '' ? '' : "\n";
	close $out;
	return judge({ lines => "$work/expected.json" })->{rows};
}

# --- comparisons ---

# All rows; says what differs in the first row in which something does.
sub same_rows
{
	my ($answer, $expected, $name) = @_;
	my $found = $answer->{rows};

	$files++;
	return fail("$name: it is read") || diag($answer->{error}) if $answer->{error};
	$values += @$found && @$found * @{ $json->decode($found->[0]) };
	my ($differs) = grep { $found->[$_] ne ($expected->[$_] // '') } 0 .. $#$found;
	ok(@$found == @$expected && !defined $differs, "$name: its rows");
	diag(scalar(@$found) . ' rows, not ' . scalar(@$expected)) if @$found != @$expected;
	return if !defined $differs || $differs > $#$expected;
	my ($theirs, $ours) = map { $json->decode($_->[$differs]) } $found, $expected;
	for my $column (0 .. $#$ours)
	{
		my ($value, $right) = map { $json->encode($_->[$column]) } $theirs, $ours;

		diag("row $differs, column $column: $value, not $right") if $value ne $right;
	}
}

sub group_sizes { return [(($group_rows) x $groups), 7]; }

# What DuckDB says of a file without looking at its values.
sub same_parquet_schema
{
	my ($file, $answer, $name) = @_;
	my $sizes = duckdb("SELECT row_group_num_rows FROM parquet_metadata('$file') WHERE column_id = 0 ORDER BY row_group_id");

	is_deeply($answer->{types}, ['INTEGER', map { $_->{duckdb} } @types], "$name: its types");
	is_deeply([map { $_->[0] } @$sizes], group_sizes(), "$name: its row groups");
}

# Counts of NULL are right, the smallest and largest value enclose all others, and are there.
sub right_statistics
{
	my ($file, $name) = @_;
	my @wrong;

	duckdb("CREATE OR REPLACE TABLE r AS SELECT *, file_row_number // $group_rows AS g
		FROM read_parquet('$file', file_row_number = true)");
	duckdb("CREATE OR REPLACE TABLE m AS SELECT row_group_id AS g, path_in_schema AS p, stats_min_value AS least,
		stats_max_value AS most, stats_null_count AS nulls FROM parquet_metadata('$file')");
	for my $k (grep { $types[ $_ - 1 ]{duckdb} !~ /\[\]$/ } 1 .. @types)
	{
		my $type = $types[ $k - 1 ]{duckdb};
		my $is_float = $type =~ /FLOAT|DOUBLE/;
		my $is_judged = $is_float ? "NOT isnan(c$k)" : 'true';
		# groups with long values or NaN have none, and DuckDB does not show infinite ones
		my $is_without = $is_float ? "NOT isfinite(c$k)" : $type eq 'VARCHAR' ? "strlen(c$k) > 64" : 'false';
		my $counts = duckdb("SELECT count(*) FILTER (WHERE c$k < least::$type OR c$k > most::$type),
				count(*) FILTER (WHERE (least IS NULL OR most IS NULL) AND
					g NOT IN (SELECT g FROM r WHERE c$k IS NOT NULL AND $is_without)),
				(SELECT count(*) FROM m WHERE p = 'c$k' AND
					nulls IS DISTINCT FROM (SELECT count(*) FROM r WHERE r.g = m.g AND c$k IS NULL))
			FROM r JOIN m USING (g) WHERE p = 'c$k' AND c$k IS NOT NULL AND $is_judged")->[0];

		next if "@$counts" eq '0 0 0';
		push @wrong, "c$k $type: $counts->[0] values outside, $counts->[1] without, $counts->[2] counts of NULL";
	}
	is(join("\n", @wrong), '', "$name: its statistics");
}

# Filters find what they find in the table.
sub same_filters
{
	my ($file, $name) = @_;
	my @conditions; # each in the server's words and in DuckDB's

	for my $k (1 .. @types)
	{
		my ($own, $theirs, $filters) = @{ $types[ $k - 1 ] }{qw(name duckdb filters)};

		push @conditions, ["c$k IS NULL", "c$k IS NULL"];
		for my $value (map { quoted($_) } @$filters)
		{
			push @conditions, map { ["c$k $_ CAST($value AS $own)", "c$k $_ CAST($value AS $theirs)"] } '=', '<', '>=';
		}
	}
	my @ours = split /\|/, sql_done('SELECT ' . join(', ', map { "count(*) FILTER (WHERE $_->[0])" } @conditions) . ' FROM heap');
	my $found = duckdb('SELECT ' . join(', ', map { "(SELECT count(*) FROM read_parquet('$file') WHERE $_->[1])" } @conditions))->[0];
	my @wrong = map { "$conditions[$_][1]: $found->[$_], not $ours[$_]" } grep { $found->[$_] ne $ours[$_] } 0 .. $#ours;

	is(join("\n", @wrong), '', "$name: what filters find");
}

# --- we write, they read ---

# Writes a file in this way; its name.
sub write_file
{
	my ($way, $table, $format, %options) = @_;
	my $file = "$work/out/part_00001.$format";
	my $query = delete $options{query} // "SELECT * FROM $table ORDER BY id";

	unlink $file;
	$options{row_group_rows} //= $group_rows;
	my @options = map { [$_, $options{$_}] } sort keys %options;
	my $answer = $way eq 'dump'
		? sql("SELECT rows FROM tsurugi.dump(\$query\$$query\$query\$, '$work/out', '$format', options => '{" .
			join(', ', map { qq{"$_->[0]": } . ($_->[1] =~ /^(true|false|\d+)$/ ? $_->[1] : qq{"$_->[1]"}) } @options) . "}')")
		: sql("COPY ($query) TO '$file' (FORMAT $format, " . join(', ', map { "$_->[0] $_->[1]" } @options) . ')');
	diag($answer) if $answer =~ /ERROR:/;
	return $file;
}

my @ways = (['copy', 'judged'], ['dump', 'judged'], ['copy', 'heap']);

sub judge_parquet
{
	my $expected = rows_of('judged', 'parquet');

	for my $way (@ways)
	{
		for my $codec (['none'], ['snappy'], ['gzip', level => 9], ['zstd', level => 19], ['lz4_raw'])
		{
			for my $dictionary ('true', 'false')
			{
				my ($codec_name, @level) = @$codec;
				my $name = "parquet by @$way, $codec_name, dictionary $dictionary";
				my $file = write_file(@$way, 'parquet', codec => $codec_name, @level, dictionary => $dictionary);
				my $answer = read_by_judge('parquet', $file);

				same_rows($answer, $expected, $name);
				next if $answer->{error};
				same_parquet_schema($file, $answer, $name);
				next unless $codec_name eq 'none';
				right_statistics($file, $name);
				same_filters($file, $name);
			}
		}
	}
}

sub judge_arrow
{
	my $expected = rows_of('judged', 'arrow');

	for my $way (@ways)
	{
		for my $codec ('none', 'lz4', 'zstd')
		{
			for my $stream ('true', 'false')
			{
				my $name = "arrow by @$way, $codec, stream $stream";
				my $answer = read_by_judge('arrow', write_file(@$way, 'arrow', codec => $codec, stream => $stream));

				same_rows($answer, $expected, $name);
				next if $answer->{error};
				is_deeply($answer->{types}, ['Int32', map { $_->{arrow} } @types], "$name: its types");
				is_deeply($answer->{batches}, group_sizes(), "$name: its record batches");
			}
		}
	}
}

# Columns of several pages, with dictionaries that grow too large: the fingerprints of columns.
sub judge_large
{
	my $count = 150000;
	my %columns = (
		a => ['int', 'CASE WHEN i % 5 > 0 THEN i % 100 END'],
		b => ['bigint', 'i * 1000003::bigint'],
		c => ['float8', 'CASE WHEN i % 1000 > 0 THEN i + 0.5::float8 END'],
		d => ['text', 'CASE WHEN i > 70000 THEN md5(i::text) END'],
		e => ['text', "CASE WHEN i < 140000 THEN 'word' || i % 7 END"],
		f => ['boolean', 'CASE WHEN i % 3 > 0 THEN i % 2 = 0 END'],
		g => ['int[]', 'CASE WHEN i % 4 > 0 THEN (ARRAY[i, i % 9, -i])[1 : i % 4] END']);
	my @names = sort keys %columns;
	my @texts = map { $columns{$_}[0] eq 'int[]' ? "array_to_string($_, '/')" : "CAST($_ AS text)" } @names;
	my $prints = 'SELECT ' . join(', ', map { "md5(string_agg(coalesce($_, '-'), ',' ORDER BY id))" } @texts);
	my $table = '(id int PRIMARY KEY, ' . join(', ', map { "$_ $columns{$_}[0]" } @names) . ')';

	sql_done("CREATE TABLE large $table; CREATE FOREIGN TABLE large_judged $table SERVER tsurugi");
	sql_done('INSERT INTO large SELECT i, ' . join(', ', map { $columns{$_}[1] } @names) . " FROM generate_series(1, $count) i;
		INSERT INTO large_judged TABLE large");
	my $expected = [split /\|/, sql_done("$prints FROM large")];
	for my $way (['copy', 'large_judged'], ['dump', 'large_judged'], ['copy', 'large'])
	{
		for my $dictionary ('true', 'false')
		{
			my $name = "parquet by @$way, of several pages, dictionary $dictionary";
			my $file = write_file(@$way, 'parquet', dictionary => $dictionary, row_group_rows => 131072);

			$files++;
			$values += $count * @names;
			is_deeply(duckdb("$prints FROM read_parquet('$file')")->[0], $expected, $name);
		}
	}
}

# Files without rows.
sub judge_empty
{
	for my $way ('copy', 'dump')
	{
		for my $format ('parquet', 'arrow')
		{
			my $theirs = $format eq 'arrow' ? 'arrow' : 'duckdb';
			my @types_of_file = ($format eq 'arrow' ? 'Int32' : 'INTEGER', map { $_->{$theirs} } @types);
			my $file = write_file($way, 'judged', $format, query => 'SELECT * FROM judged WHERE id < 0');
			my $none = read_by_judge($format, $file);

			same_rows($none, [], "$format by $way, without rows");
			is_deeply($none->{types}, \@types_of_file, "$format by $way, without rows: its types");
		}
	}
}

# --- they write, we read ---

# Loads a file into a table in memory and copies it into an ordinary one, both with these columns.
sub judge_ours
{
	my ($file, $format, $columns, $query, $expected, $name) = @_;
	my %ways = (loaded => "SELECT rows FROM tsurugi.load('loaded', '{$file}')", copied => "COPY copied FROM '$file' (FORMAT $format)");

	sql_done("DROP TABLE IF EXISTS copied; CREATE TABLE copied ($columns);
		DROP FOREIGN TABLE IF EXISTS loaded; CREATE FOREIGN TABLE loaded ($columns) SERVER tsurugi");
	for my $table (sort keys %ways)
	{
		my $answer = sql($ways{$table});
		my $found = $answer =~ /ERROR:/ ? { error => $answer } : { rows => expected("$query FROM $table ORDER BY id") };

		same_rows($found, $expected, "$name, $table");
	}
}

# DuckDB's and Arrow's own files of the rows that they have read from ours.
sub judge_rewritten
{
	my $columns = columns_of('id int');
	my $from = write_file('copy', 'judged', 'parquet');
	my $expected = rows_of('judged', 'parquet');

	for my $options (map { my $version = "PARQUET_VERSION $_"; ($version, "$version, DICTIONARY_SIZE_LIMIT 1") } 'V1', 'V2')
	{
		duckdb("COPY (FROM read_parquet('$from')) TO '$work/theirs.parquet' (FORMAT parquet, $options)");
		judge_ours("$work/theirs.parquet", 'parquet', $columns, query_of('parquet'), $expected, "DuckDB's of our rows, $options");
	}
	$from = write_file('copy', 'judged', 'arrow');
	$expected = rows_of('judged', 'arrow');
	for my $part ([0, $rows], [3, 411], [449, 450])
	{
		my ($first, $end) = @$part;

		for my $stream (JSON::PP::false, JSON::PP::true)
		{
			my $name = "Arrow's of our rows $first to $end, " . ($stream ? 'stream' : 'file');

			judge_done({ arrow => $from, again => "$work/theirs.arrow", from => $first, to => $end, stream => $stream });
			judge_ours("$work/theirs.arrow", 'arrow', $columns, query_of('arrow'), [@$expected[ $first .. $end - 1 ]], $name);
		}
	}
}

# A table in DuckDB of its own types; its rows.
sub make_foreign
{
	my @columns = foreign_columns();
	my (@made, @read, @nested);

	for my $k (1 .. @columns)
	{
		my ($value, $in_file, $is_nested) = @{ $columns[ $k - 1 ] };
		my $null = "CASE (i // 700 + $k) % 6 WHEN 0 THEN false WHEN 1 THEN true WHEN 2 THEN i % 700 = 0 WHEN 3 THEN i % 2048 = 2047
			WHEN 4 THEN i % 2 = 0 ELSE hash(i * 1000 + $k + $seed) % 3 = 0 END OR i // 2048 = 1 AND $k % 3 = 0";

		push @made, "CASE WHEN $null THEN NULL ELSE $value END AS c$k";
		push @read, ($is_nested ? 'to_json(V)' : $in_file // 'V') =~ s/\bV\b/c$k/gr . " AS c$k";
		push @nested, "c$k" if $is_nested;
	}
	duckdb("SET TimeZone = 'UTC'");
	duckdb('CREATE TABLE f AS SELECT i::INTEGER AS id, ' . join(', ', @made) . ' FROM range(4200) t(i)');
	return judge_done({ query => 'SELECT id, ' . join(', ', @read) . ' FROM f ORDER BY id', json => \@nested })->{rows};
}

# DuckDB's files of its own types.
sub judge_foreign
{
	my $file = "$work/foreign.parquet";
	my $expected = make_foreign();
	my @options = map { my $codec = "COMPRESSION $_"; map { "$codec, PARQUET_VERSION $_" } 'V1', 'V2' }
		'uncompressed', 'snappy', 'gzip', 'zstd', 'lz4_raw', 'brotli';

	for my $options (@options, map { "$_, DICTIONARY_SIZE_LIMIT 1" } @options[ 0, 1 ])
	{
		duckdb("COPY f TO '$file' (FORMAT parquet, ROW_GROUP_SIZE 2048, $options)");
		my $described = sql_done("SELECT name, type FROM tsurugi.describe_file('$file') ORDER BY n");
		my %types = $described =~ /^(\w+)\|(.*)$/mg;
		my @names = $described =~ /^(\w+)/mg;
		my @values = map { my $name = $_; value_in($types{$name}) =~ s/\bV\b/$name/gr } @names;
		my $columns = join(', ', map { "$_ $types{$_}" } @names);

		judge_ours($file, 'parquet', $columns, 'SELECT json_build_array(' . join(', ', @values) . ')', $expected, "DuckDB's, $options");
	}
}

make_tables();
mkdir "$work/out";
judge_parquet();
judge_arrow();
judge_large();
judge_empty();
judge_rewritten();
judge_foreign();
print "# $files files read, $values values compared\n";
done_testing();

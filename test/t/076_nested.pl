# Nested columns of files in Parquet and Arrow, into jsonb: by COPY, loads and batches, into both kinds
# of tables.
#
# The files nested_* were written by DuckDB and by Arrow's implementations in JavaScript and Rust
# (test/files/nested.mjs says how).  Beside each nested column c is c_json, what the writer's own JSON
# of it is; so each row says itself what it has to be.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('nested');
my $files = "$FindBin::RealBin/../files";
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask { return $node->safe_psql('postgres', $_[0]) }

# Creates tables of both kinds as described: heap_NAME, memory_NAME.
sub create
{
	my ($name, $file) = @_;

	ask(qq{
		SELECT format('CREATE TABLE heap_$name (%1\$s); CREATE FOREIGN TABLE memory_$name (%1\$s) SERVER tsurugi', string_agg(format('%I %s', name, type), ', ' ORDER BY n))
			FROM tsurugi.describe_file('$files/$file')
		\\gexec});
}

# The rows whose nested values are not what their JSON says, and how many values there are at all.
sub judge
{
	my ($table, @columns) = @_;

	return ask('SELECT ' . join(', ', map { "count(*) FILTER (WHERE $_ IS DISTINCT FROM ${_}_json::jsonb), count($_) > 100" } @columns) . ", count(*) FROM $table");
}

# --- files of other programs ---

my %columns = (duck => ['s', 'll', 'lll', 'ls', 'm', 'mi', 'deep'], arrow => ['s', 'll', 'ls', 'fs', 'm', 'ml']);
my %rows = (duck => 400, arrow => 300);
my %kinds = ('nested_v1.parquet' => 'duck', 'nested_v2.parquet' => 'duck', 'nested_js.arrow' => 'arrow', 'nested_rs.parquet' => 'arrow');

create('duck', 'nested_v1.parquet');
create('arrow', 'nested_js.arrow');
for my $file (sort keys %kinds)
{
	my $kind = $kinds{$file};
	my $right = '0|t|' x @{ $columns{$kind} } . $rows{$kind};

	for my $table ("heap_$kind", "memory_$kind")
	{
		my $format = $file =~ /parquet$/ ? 'parquet' : 'arrow';

		ask("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; TRUNCATE $table; COPY $table FROM '$files/$file' (FORMAT $format)");
		is(judge($table, @{ $columns{$kind} }), $right, "$file: $table has what its writer says");
	}
}
is(ask(qq{SELECT string_agg(concat_ws(' ', name, type, file_type), '; ' ORDER BY n) FROM tsurugi.describe_file('$files/nested_v2.parquet') WHERE name !~ '_json'}),
	'id integer INT32; s jsonb STRUCT; ll jsonb LIST; lll jsonb LIST; ls jsonb LIST; m jsonb MAP; mi jsonb MAP; deep jsonb STRUCT; li bigint[] INT64',
	'describe_file says jsonb for them, and arrays of lists of values');
is(ask(qq{SELECT string_agg(concat_ws(' ', name, type, file_type, encodings), '; ' ORDER BY n) FROM tsurugi.describe_file('$files/nested_js.arrow') WHERE name !~ '_json'}),
	'id integer Int32 plain; s jsonb Struct plain; ll jsonb List plain; ls jsonb List plain; fs jsonb List plain; m jsonb Map plain; ml jsonb Map plain',
	'and of Arrow');

# what DuckDB writes as Arrow is the same
my $names = join ', ', 'id', @{ $columns{duck} }, 'li';
ask(qq{TRUNCATE heap_duck; COPY heap_duck FROM '$files/nested_v1.parquet' (FORMAT parquet);
	CREATE TABLE ducks AS SELECT $names FROM heap_duck WHERE false; COPY ducks FROM '$files/nested_duckdb.arrows' (FORMAT arrow)});
is(ask("SELECT count(*) FROM ((TABLE ducks EXCEPT ALL SELECT $names FROM heap_duck) UNION ALL (SELECT $names FROM heap_duck EXCEPT ALL TABLE ducks)) d"), '0',
	'the same columns in Arrow have the same values');

# --- values ---

create('types', 'nested_types.parquet');
ask("COPY heap_types FROM '$files/nested_types.parquet' (FORMAT parquet)");
my @types = qw(bo i1 i2 u4 u8 d9 d38 f4 f8 dt tm ts tz uu bl j t);
is(ask(q{SET TimeZone = UTC; SELECT } . join(', ', map { "count(*) FILTER (WHERE s -> '$_' IS DISTINCT FROM to_jsonb($_) AND NOT (s -> '$_' = 'null' AND $_ IS NULL))" } @types) .
	q{, count(*) FILTER (WHERE ls IS DISTINCT FROM jsonb_build_array(jsonb_build_object('v', dt))), count(*) FILTER (WHERE md IS DISTINCT FROM jsonb_build_object(dt::text, i2)),
	count(*) FILTER (WHERE mt IS DISTINCT FROM jsonb_build_object(to_jsonb(ts) #>> '{}', 1)), count(*) FILTER (WHERE ml IS DISTINCT FROM jsonb_build_array(jsonb_build_object('key', ARRAY[i1], 'value', i2))),
	count(*) FROM heap_types}), '0|' x (@types + 4) . '60', 'values of all types are as to_jsonb() makes them, and so are keys; keys that are no values are in pairs');
ask(qq{CREATE TABLE lists (tzs jsonb, ls json, s text); INSERT INTO lists SELECT NULL WHERE false});
is(ask(qq{SET TimeZone = 'Asia/Tokyo'; SELECT rows FROM tsurugi.batch('INSERT INTO lists VALUES (\$1, \$2, \$3)', ARRAY['$files/nested_types.parquet'], columns => '{tzs,ls,s}')}), '60',
	'parameters of a batch');
is(ask(q{SET TimeZone = UTC; SELECT count(*) FROM lists, heap_types t WHERE lists.s::jsonb = t.s AND lists.tzs = to_jsonb(t.tzs) AND lists.ls::jsonb = t.ls}), '60',
	'a list becomes an array of JSON, too, and all of them become json and text');

# --- loads ---

is(ask("SELECT rows, blocks, way FROM tsurugi.load('memory_duck', '{$files/nested_v1.parquet,$files/nested_v2.parquet}', transactional => false)"), '800|2|session', 'a load that is not transactional');
is(judge('memory_duck', @{ $columns{duck} }), '0|t|' x 7 . 1200, 'has the rows');
is(ask("SELECT rows, way FROM tsurugi.load('heap_duck', '{$files/nested_v2.parquet}')"), '400|session', 'a load');
ask("TRUNCATE heap_arrow; \\copy heap_arrow from '$files/nested_rs.parquet' (format parquet)
	\\copy heap_arrow from '$files/nested_js.arrow' (format arrow)");
is(judge('heap_arrow', @{ $columns{arrow} }), '0|t|' x 6 . 600, 'a client sends files');

# --- what does not fit ---

for (['a number', 'int', qr/42804: column "s" is of type integer but column "s" of file .* is of type jsonb/],
	['an array', 'text[]', qr/42804/], ['bytes', 'bytea', qr/42804/])
{
	my ($name, $type, $error) = @$_;

	like(psql_error("CREATE TABLE other (s $type); SELECT * FROM tsurugi.batch('INSERT INTO other VALUES (\$1)', '{$files/nested_v1.parquet}', columns => '{s}')"), $error, "$name cannot be nested");
	ask('DROP TABLE IF EXISTS other');
}
done_testing();

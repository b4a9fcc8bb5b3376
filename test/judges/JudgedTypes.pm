# The types of columns that files in Parquet and Arrow have: values at their edges and between, what
# each is in a file, and expressions by which the server gives a value as judge.mjs does (intervals of
# Parquet with intervalstyle iso_8601).
package JudgedTypes;

use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(judged_types foreign_columns value_in);

my $hex4 = q{encode(float4send(V), 'hex')};
my $hex8 = q{encode(float8send(V), 'hex')};
my $days = q{(CASE V WHEN 'infinity' THEN 2147483647 WHEN '-infinity' THEN -2147483647 ELSE V - date '1970-01-01' END)::text};
my $moment = q{(CASE V WHEN 'infinity' THEN 9223372036854775807 WHEN '-infinity' THEN -9223372036854775807
	ELSE extract(epoch FROM V) * 1000000 END)::bigint::text};
my $time = q{(extract(epoch FROM V) * 1000000)::bigint::text};
my $parts = q{((extract(year FROM V) * 12 + extract(month FROM V))::int || '/' || extract(day FROM V)::int || '/' ||
	((extract(hour FROM V) * 60 + extract(minute FROM V)) * 60000000 + extract(microseconds FROM V))::bigint)};
my $bytes = q{encode(V, 'hex')};
my $text = 'V::text';

# A type: its name in the server, in DuckDB and in Arrow; the expression for its value V, or one for
# Parquet and one for Arrow; literals at the edges; an expression of i for others; literals that
# filters compare with.
my @plain = (
	['boolean', 'BOOLEAN', 'Bool', $text, [qw(true false)], 'i % 3 = 0', ['true']],
	['smallint', 'SMALLINT', 'Int16', $text,
		[qw(-32768 32767 0 -1)], '(i * 37 % 65536 - 32768)::smallint', [qw(-32768 -1)]],
	['integer', 'INTEGER', 'Int32', $text,
		[qw(-2147483648 2147483647 0 -1)], 'i * 1003 - 77777', [qw(2147483647 0)]],
	['bigint', 'BIGINT', 'Int64', $text,
		[qw(-9223372036854775808 9223372036854775807 0 -1)],
		'i * 1000000000039 - 5', [qw(9223372036854775807 -5)]],
	['oid', 'UINTEGER', 'Uint32', $text,
		[qw(0 4294967295 2147483648)], '(i * 7919::bigint)::oid', [qw(4294967295 7919)]],
	['real', 'FLOAT', 'Float32', $hex4,
		[qw(-0 0 1e-45 -3.4028235e38 3.4028235e38 0.1 Infinity -Infinity)],
		'(i / 7.0)::float4', [qw(0 0.1 -3.4e38)]],
	['double precision', 'DOUBLE', 'Float64', $hex8,
		[qw(0 -0 5e-324 -1.7976931348623157e308 1.7976931348623157e308 0.1 -Infinity Infinity)],
		'(i / 7.0)::float8', [qw(0 0.1 -1e300)]],
	['real', 'FLOAT', 'Float32', $hex4,
		[qw(NaN 1 -1)], "(CASE i % 7 WHEN 0 THEN 'NaN'::float4 ELSE i END)", [qw(1 2 1000)]],
	['double precision', 'DOUBLE', 'Float64', $hex8,
		[qw(NaN 1 -1)], "(CASE i % 7 WHEN 0 THEN 'NaN'::float8 ELSE i END)", [qw(1 2 1000)]],
	['numeric(4,2)', 'DECIMAL(4,2)', 'Decimal[4e+2]', $text,
		[qw(-99.99 99.99 0.00 -0.01)], '(i % 9999) / 100.0', [qw(-0.01 3.00)]],
	['numeric(9,0)', 'DECIMAL(9,0)', 'Decimal[9e0]', $text,
		[qw(-999999999 999999999 0)], 'i * 1001', [qw(0 999999999)]],
	['numeric(18,6)', 'DECIMAL(18,6)', 'Decimal[18e+6]', $text,
		[qw(-999999999999.999999 999999999999.999999 -0.000001)], 'i / 7.0', [qw(0 -0.000001)]],
	['numeric(19,2)', 'DECIMAL(19,2)', 'Decimal[19e+2]', $text,
		[qw(-99999999999999999.99 99999999999999999.99 0.01)],
		'i * 92233720368547.75', [qw(0 99999999999999999.99)]],
	['numeric(38,0)', 'DECIMAL(38,0)', 'Decimal[38e0]', $text,
		['-' . '9' x 38, '9' x 38, '-1', '18446744073709551616'],
		'i::numeric * 340282366920938463463374607431', [-1, '18446744073709551616']],
	['numeric(38,38)', 'DECIMAL(38,38)', 'Decimal[38e+38]', $text,
		['-0.' . '9' x 38, '0.' . '9' x 38, '0'], 'i / 100001.0', ['0', '0.5']],
	['date', 'DATE', 'Date32<DAY>', $days,
		['infinity', '-infinity', '4713-01-01 BC', '5874897-12-31', '1969-12-31', '0001-01-01'],
		"date '1960-01-01' + i", [qw(1969-12-31 1960-03-01)]],
	['time', 'TIME', 'Time64<MICROSECOND>', $time,
		[qw(00:00:00 24:00:00 23:59:59.999999 00:00:00.000001)],
		"time '00:00:00' + i * interval '61.000001 s'", [qw(00:00:00.000001 23:59:59.999999)]],
	['timestamp', 'TIMESTAMP', 'Timestamp<MICROSECOND>', $moment,
		['infinity', '-infinity', '4713-01-01 00:00:00 BC', '294247-01-10 04:00:54.775806', '1969-12-31 23:59:59.999999'],
		"timestamp '1960-01-01' + i * interval '1000.000001 h'", ['1969-12-31 23:59:59.999999', '1960-03-01 00:00:00']],
	['timestamptz', 'TIMESTAMP WITH TIME ZONE', 'Timestamp<MICROSECOND, UTC>', $moment,
		['infinity', '-infinity', '4713-01-01 00:00:00+00 BC', '294247-01-10 04:00:54.775806+00', '1969-12-31 23:59:59.999999+00'],
		"timestamptz '1960-01-01 00:00+00' + i * interval '1000.000001 h'", ['1969-12-31 23:59:59.999999+00', '1960-03-01 00:00:00+00']],
	['interval', 'VARCHAR', 'Interval<MONTH_DAY_NANO>', [$text, $parts],
		['0', '-1 year 3 days', '1 mon -1 day 00:00:00.000001', '-00:00:00.5', '178000000 years'],
		"i * interval '1 month 1 day 61.5 s'", []],
	['text', 'VARCHAR', 'Utf8', $text,
		['', 'a', "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "tab\tline\nback\\slash\"quote\"", 'x' x 5000, "\xf4\x8f\xbf\xbd" x 30],
		"'text/common/prefix/' || i", ['a', 'text/common/prefix/2', "\xc3\xa4"]],
	['varchar(12)', 'VARCHAR', 'Utf8', $text,
		['', 'a', "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"], "i || 'v'", ['a', '7v']],
	['char(5)', 'VARCHAR', 'Utf8', 'rpad(V::text, 5)',
		['', 'a', "\xc3\xa4"], "(i % 1000) || 'v'", []],
	['bytea', 'BLOB', 'Binary', $bytes,
		['\x', '\x00', '\xff', '\xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', '\x7f80'],
		"decode(md5(i::text), 'hex')", []],
	['uuid', 'UUID', 'FixedSizeBinary[16]', $text,
		['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000001'],
		'md5(i::text)::uuid',
		['80000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000000']],
	['json', 'VARCHAR', 'Utf8', $text,
		['{"a": [1, null, "\u00e4"]}', 'null', '"x"', '[]', '  7  '],
		q{('{"n":' || i || '}')::json}, []],
	['jsonb', 'VARCHAR', 'Utf8', $text,
		['{"a": [1, null, "b"]}', 'null', '"x"', '[]'], q{('{"n":' || i || '}')::jsonb}, []],
	['numeric', 'VARCHAR', 'Utf8', $text,
		['NaN', 'Infinity', '0.' . '0' x 50 . '1', '1' . '0' x 60, '-1.50'], 'i / 7.0', []],
	['numeric(3,5)', 'VARCHAR', 'Utf8', $text,
		[qw(0.00999 -0.00999 0)], '(i % 999) / 100000.0', [qw(0.00999)]],
	['numeric(5,-2)', 'VARCHAR', 'Utf8', $text, [qw(9999900 -100 0)], 'i * 100', []],
	['mood', 'VARCHAR', 'Utf8', $text,
		[qw(sad happy)], "(CASE i % 2 WHEN 0 THEN 'sad' ELSE 'happy' END)::mood", []],
	['int4range', 'VARCHAR', 'Utf8', $text, ['empty', '(,)', '[1,5)'], 'int4range(i, i + 3)', []],
	['inet', 'VARCHAR', 'Utf8', "CASE WHEN V IS NOT NULL THEN format('%s', V) END",
		['::1', '10.0.0.0/8'], "'10.0.0.0'::inet + i", []]);

# Arrays of a type that has these in common.
sub array_of
{
	my ($type, $edges) = @_;
	my ($plain) = grep { $_->[0] eq $type } @plain;
	my $element = $plain->[3] =~ s/\bV\b/e/gr;
	my $elements = "SELECT coalesce(json_agg($element ORDER BY n), '[]') FROM unnest(V) WITH ORDINALITY u(e, n)";
	my $others = "ARRAY[$plain->[5], NULL, $plain->[5]]";

	return ["$type\[]", "$plain->[1]\[]", "List<$plain->[2]>", "(CASE WHEN V IS NOT NULL THEN ($elements) END)", $edges, $others, []];
}

# The types, with names for what they have.
sub judged_types
{
	my @types;

	for my $row (@plain,
		array_of('boolean', ['{}', '{NULL}', '{t,f}']),
		array_of('integer', ['{}', '{NULL}', '{1,NULL,-2147483648}', '{NULL,NULL}']),
		array_of('text', ['{}', '{""}', '{a,NULL,"b c"}']),
		array_of('double precision', ['{}', '{NaN,-0,NULL}']),
		array_of('numeric(18,6)', ['{}', '{0.5,NULL}']),
		array_of('timestamptz', ['{}', '{infinity,-infinity,NULL}']),
		array_of('uuid', ['{}', '{00000000-0000-0000-0000-000000000000}']),
		array_of('bytea', ['{}', '{"\\\\x00",NULL}']))
	{
		my %type;

		@type{qw(name duckdb arrow value edges others filters)} = @$row;
		@type{qw(value value_of_arrow)} = ref $type{value} ? @{ $type{value} } : ($type{value}) x 2;
		push @types, \%type;
	}
	return @types;
}

# The expression for a value V of a type that a file's description names.
sub value_in
{
	my ($type) = @_;
	my %names = ('time without time zone' => 'time', 'timestamp without time zone' => 'timestamp',
		'timestamp with time zone' => 'timestamptz');
	my ($element) = $type =~ /^(.*)\[\]$/;

	return $parts if $type eq 'interval';
	return 'to_json(V)' if $type eq 'jsonb';
	return array_of($names{$element} // $element, [])->[3] if defined $element;
	return (map { $_->[3] } grep { $_->[0] eq ($names{$type} // $type) } @plain)[0] // $text;
}

# Columns of DuckDB's: an expression of i, and what is in the file if it is not the column itself; of
# nested ones JSON.
sub foreign_columns
{
		return (['i % 3 = 0'], ['(i % 256 - 128)::TINYINT'], ['(i * 37 % 65536 - 32768)::SMALLINT'],
		['(i * 1003 - 77777)::INTEGER'], ['(i * 1000000000039 - 5)::BIGINT'],
		['(i % 256)::UTINYINT'], ['(i * 37 % 65536)::USMALLINT'], ['(4294967295 - i)::UINTEGER'],
		['(18446744073709551615 - i)::UBIGINT'],
		['(i * 1000)::HUGEINT', 'V::DOUBLE'], ['(i / 7)::FLOAT'],
		["CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE i / 7 END::DOUBLE"],
		["(i % 4)::DOUBLE"],
		['(i % 99 / 10)::DECIMAL(4,1)'], ['(i * 1.25 - 9)::DECIMAL(9,2)'],
		['(i * 1.25 - 9)::DECIMAL(18,4)'], ['(i * 12345678901234567.125 - 9)::DECIMAL(38,5)'],
		["DATE '0001-01-01' + (i * 999)::INTEGER"],
		["TIME '00:00:00' + INTERVAL 19000001 MICROSECOND * i"],
		["TIMESTAMP '1960-01-01 00:00:00.000123' + INTERVAL 1000 HOUR * i"],
		["TIMESTAMPTZ '1960-01-01 00:00:00.000123+00' + INTERVAL 1000 HOUR * i"],
		["(TIMESTAMP '2001-01-01 00:00:00.123456' + INTERVAL 7 HOUR * i)::TIMESTAMP_NS"],
		["(TIMESTAMP '1901-01-01 00:00:00.123' + INTERVAL 7 HOUR * i)::TIMESTAMP_MS"],
		["(TIMESTAMP '1901-01-01 00:00:00' + INTERVAL 7 HOUR * i)::TIMESTAMP_S"],
		["CASE i % 3 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2001-01-01' END::DATE"],
		["CASE i % 3 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2001-01-01' END::TIMESTAMP"],
		["[CASE i % 3 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2001-01-01 00:00:00+00' END::TIMESTAMPTZ]"],
		['md5(i::VARCHAR)::UUID'], ["unhex('00' || md5(i::VARCHAR))"],
		["INTERVAL 1 MONTH * (i % 1000) + INTERVAL 3 DAY + INTERVAL 1500 MILLISECOND"],
		["'text/common/prefix/' || i"], ["repeat('\xc3\xa4', (i % 50)::INTEGER) || i % 7"],
		["CASE i % 3 WHEN 0 THEN 'sad' ELSE 'happy' END::ENUM ('sad', 'happy')"],
		["repeat('x', CASE i % 1000 WHEN 7 THEN 70000 ELSE 1 END)"],
		['[i, NULL, -i]'],
		['CASE i % 4 WHEN 0 THEN [] WHEN 1 THEN [NULL] ELSE [md5(i::VARCHAR), NULL, i::VARCHAR] END'],
		['[i / 4]::DOUBLE[]'],
		["{'a': i, 'b': 'text' || i}", undef, 1], ["MAP {'k' || i % 5: i, 'l0': NULL}", undef, 1],
		['[[i], [], NULL, [NULL, -i]]', undef, 1], ["[{'a': i, 'b': [i]}, NULL]", undef, 1]);
}

1;

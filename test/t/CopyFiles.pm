# Random files for COPY, in CSV or its text format: values of many types, well and badly written, in
# random dialects; some files fit a table of these columns, others do not.
package CopyFiles;

use strict;
use warnings;
use Exporter 'import';
use Chance;
our @EXPORT = qw(column_names definition dialect contents);

# Beside the columns of these types files may have one, k, of a key: numbers of which few are there twice.
my %types = (i => 'int', s => 'smallint', b => 'bigint', f => 'float8', g => 'float4', n => 'numeric(8,2)', w => 'numeric(30,5)', m => 'numeric', d => 'date',
	tm => 'time', ts => 'timestamp', tz => 'timestamptz', t => 'text', v => 'varchar(5)', c => 'char(4)', o => 'boolean', u => 'uuid', y => 'bytea', j => 'jsonb');

sub column_names { return sort keys %types }
sub definition { return join ', ', map { "$_ $types{$_}" } column_names() }

sub digits { return join '', map { int rand 10 } 1 .. some(1, shift) }
sub date { return sprintf '%04d-%02d-%02d', some(1, 9999), some(1, 12), some(1, 28) }
sub moment { return sprintf '%02d:%02d:%02d%s', some(0, 23), some(0, 59), some(0, 59), chance(0.5) ? '.' . digits(6) : '' }
sub number { return (chance(0.3) ? '-' : '') . digits(shift) . (chance(0.5) ? '.' . digits(shift) : '') }
my @words = ('a', 'bc', "d\ne", 'f"g', "h,i", "\\.", "\\", "'", "\xc3\xa9", "\xe2\x82\xac\xf0\x9f\x8e\x88", ' ', "\r\n", ';', 'N', "\t", '1');
sub text { return join '', map { pick(@words) } 1 .. some(0, shift) }

my $key;

# Well written values; others that are values, too; and what is none.
my %good = (
	k => sub { chance(0.002) ? some(1, $key) : ++$key },
	i => sub { number(9) =~ s/\..*//r }, s => sub { number(4) =~ s/\..*//r }, b => sub { number(18) =~ s/\..*//r },
	f => sub { number(17, 17) . (chance(0.3) ? 'e' . some(-300, 280) : '') }, g => sub { number(9, 9) . (chance(0.3) ? 'e' . some(-30, 20) : '') },
	n => sub { number(5, 4) }, w => sub { number(24, 12) }, m => sub { number(30, 30) }, d => \&date, tm => \&moment, ts => sub { date() . pick(' ', 'T') . moment() },
	tz => sub { date() . ' ' . moment() . pick('+00', '-05', '+05:30', '-11:45', '+14', 'Z') }, t => sub { text(6) }, v => sub { pick('', 'abc', "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 'a    ') },
	c => sub { pick('', 'a', 'abcd', "\xc3\xa9\xc3\xa9", 'b     ') }, o => sub { pick(qw(t f true false 0 1)) }, u => sub { sprintf '%08x-%04X-%04x-%04x-%012x', map { int rand 65536 } 1 .. 5 },
	y => sub { '\\x' . join '', map { sprintf '%02x', rand 256 } 1 .. some(0, 20) }, j => sub { '{"a": ' . int(rand 9) . '}' });
my %other = (
	k => [ '+1', '01' ],
	i => [ '+7', ' 8', '2147483647', '-2147483648', '00000000000000000000012' ], s => [ '32767', '-32768', '+1' ], b => [ '9223372036854775807', '-9223372036854775808', '1 ' ],
	f => [ 'NaN', '-Infinity', '1e-310', '.5', '5.', '4.9406564584124654e-324', '0x10', '1e22', '9007199254740993', '-0', '1.7976931348623157e308' ],
	g => [ 'inf', '1e-40', '3.4028235e38', '16777217', '0.1', '1e10', '-0.0', '8388608.5' ], n => [ 'NaN', '1e3', '999999.994', '0.005', '-0.005', '.1', '00001.1' ], w => [ 'NaN', '1e20', '0.000005', '9999999999999999999999999.99999' ],
	m => [ 'Infinity', '1e100', '-0.0' ], d => [ '2024-02-29', 'today', 'infinity', '0044-03-15 BC', 'Jan 1 2024', '20240101', '2024-1-1', '10000-01-01', '9999-12-31', '0001-01-01' ],
	tm => [ '24:00:00', '1:2', '23:59:60', '00:00:00.1234567', 'allballs' ], ts => [ 'infinity', '2024-01-01', '2024-01-01 00:00', '2024-01-01 00:00:00+05', 'epoch', '294276-12-31 23:59:59' ],
	tz => [ '2024-01-01 00:00:00', '2024-01-01 00:00:00 Europe/Berlin', '-infinity', '2024-01-01T00:00:00Z', '2024-01-01 00:00:00+15:59:59', '2024-01-01 00:00:00-0130' ],
	t => [ 'x' x 300 ], v => [ 'abcde', 'abcde   ' ], c => [ 'abcd  ' ], o => [ 'yes', 'off', ' true ', 'TRUE', 'tr' ], u => [ '{a0eebc999c0b4ef8bb6d6bb9bd380a11}', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' ],
	y => [ 'abc', '\\\\000', '\\xDE AD', '\\001' ], j => [ '[]', ' 1 ' ]);
my %bad = (
	k => [ '', 'x', '1' ],
	i => [ '2147483648', 'x', '', '1.5', '-' ], s => [ '32768', '1e2' ], b => [ '9223372036854775808', '0x1' ], f => [ '1e400', '1.2.3', 'e5', '1e' ], g => [ '1e39', '1e-50', '--1' ],
	n => [ '1000000', '999999.995', '1 2' ], w => [ '9999999999999999999999999.999995', '-' ], m => [ 'one' ], d => [ '2023-02-29', '2024-13-01', '0000-01-01', '2024-04-31' ], tm => [ '24:00:01', '12' ],
	ts => [ '2024-02-30 00:00:00', '2024-01-01 25:00:00' ], tz => [ '2024-01-01 00:00:00+16', '2024-01-01 00:00:00 Nowhere' ], t => [ "\xff", "a\xc3", "\xed\xa0\x80" ], v => [ 'abcdef', "\xc3\xa9abcde" ],
	c => [ 'abcde' ], o => [ '2', 'y e s' ], u => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1', 'g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' ], y => [ '\\xabc', '\\xzz', '\\8' ], j => [ '{', '' ]);

# A dialect: COPY's options, as of load's; and what a field looks like in it.
sub dialect
{
	my ($format) = @_;
	my %dialect = (format => $format, end => pick("\n", "\n", "\r\n", "\r"), header => chance(0.3));

	return { %dialect, delimiter => pick("\t", "\t", ',', '|'), null => pick('\\N', '\\N', '', 'N', '-') } if $format eq 'text';
	$dialect{$_->[0]} = pick(@$_[ 1 .. $#$_ ]) for ['delimiter', ',', ',', ';', "\t", '|'], ['quote', '"', '"', "'", '1'], ['null', '', '', 'N', '-'];
	$dialect{escape} = chance(0.7) ? $dialect{quote} : pick('\\', '^');
	return \%dialect;
}

my %escaped = ("\b" => 'b', "\f" => 'f', "\n" => 'n', "\r" => 'r', "\t" => 't', "\x0b" => 'v');

# A character of a field in text format, which may have to be written with a backslash, or just is.
sub escape
{
	my ($dialect, $character) = @_;
	my $special = index("\\\r\n$dialect->{delimiter}", $character) >= 0;

	return $character if !$special && chance(0.97);
	return '\\' . $escaped{$character} if exists $escaped{$character} && chance(0.7);
	return sprintf(pick('\\%03o', '\\%o', '\\x%x', '\\x%02X'), ord $character) if chance(0.2);
	return $special || $character !~ /[a-z0-9.]/ ? "\\$character" : $character;
}

sub field
{
	my ($dialect, $value) = @_;
	my ($quote, $escape) = @$dialect{qw(quote escape)};

	return $dialect->{null} if !defined $value;
	return join '', map { escape($dialect, $_) } split //, $value if $dialect->{format} eq 'text';
	if (chance(0.2) || $value eq $dialect->{null} || $value =~ /[\r\n]/ || index($value, $quote) >= 0 || index($value, $dialect->{delimiter}) >= 0)
	{
		$value =~ s/(\Q$quote\E|\Q$escape\E)/$escape$1/g;
		return $quote . $value . $quote if chance(0.95) || $value eq '';
		# a quote in the middle
		return substr($value, 0, 1) =~ /\w/ ? substr($value, 0, 1) . $quote . substr($value, 1) . $quote : $quote . $value . $quote;
	}
	return $value;
}

sub value
{
	my ($column, $faults) = @_;

	return undef if chance($column eq 'k' ? 0.001 : 0.1);
	return pick(@{ $bad{$column} }) if chance($faults);
	return chance($column eq 'k' ? 0.001 : 0.1) ? pick(@{ $other{$column} }) : $good{$column}->();
}

# Lines that are none of the table's, or end the file.
sub odd_line
{
	my ($dialect) = @_;
	my $quote = $dialect->{quote} // '\\';

	return pick("\\.", "\\.", '', 'x', "a$dialect->{delimiter}b", "${quote}x", "\\.x", "a\nb", "a\rb", ($dialect->{format} eq 'text' ? ("x\\.", "\\\\.", "\\") : ()));
}

sub contents
{
	my ($dialect, $chosen) = @_;
	my $faults = pick(0, 0, 0.01);
	$key = 10;
	my @lines = map { join $dialect->{delimiter}, map { field($dialect, value($_, $faults)) } @$chosen } 1 .. some(0, 40);

	unshift @lines, join $dialect->{delimiter}, @$chosen if $dialect->{header};
	splice @lines, rand @lines, 0, odd_line($dialect) if chance(0.2);
	my $contents = join $dialect->{end}, @lines;
	$contents .= $dialect->{end} if chance(0.8);
	return $contents;
}

1;

# Ranges and orders of texts under collations, of the C library (also where its strxfrm() is wrong) and of ICU: what an
# index of a table in memory, its primary key or UNIQUE answers is what PostgreSQL computes of an ordinary table, for strings
# that differ in little.
#
# SEED takes another seed.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use Test::More;

srand seed();

my $node = TestServer::start('collation', 'jit' => 'off');


# Alphabets: signs that are ignored, digits, marks that combine, letters that count as two or as one, nothing known.
my @alphabets = (
	[ 'a' .. 'c', 'A', 'B', ' ', '-', '.', "'" ],
	[ 'i', '1', '9', '=', ';', '%', ':', 'u', ' ', '*' ],
	[ 'c', 'h', 'C', 'H', 'd', 'z', 's', 'l' ],
	[ 'a', 'e', 'é', "\x{301}", "\x{300}", "\x{327}", ' ', 'ê', 'b', '3' ],
	[ 'i', 'ı', 'I', 'İ', 'ß', 'ss', 'ö', 'o', 'z', 'å', 'æ', 'ü' ],
	[ 'あ', 'ア', 'ぁ', '日', '本', '一', "\x{3099}", 'ー', 'か', 'が' ],
	[ "\x{e000}", "\x{10ffff}", "\x{fffd}", "\x{378}", '塋', '⨝', '1', 'x', "\x{1f600}" ]);

sub text_of
{
	my ($length) = @_;
	my @from = rand() < 0.2 ? map { @$_ } @alphabets : @{ pick(@alphabets) };

	return join '', map { pick(@from) } 1 .. $length;
}

# A text, and one that differs from it in a place.
sub texts
{
	my $text = text_of(int rand pick(4, 10, 10, 200));
	my $other = $text;

	substr($other, int rand(1 + length $other), int rand 2) = text_of(int rand 3);
	return ($text, $other);
}

sub literals { return join ', ', map { "('" . ($_ =~ s/'/''/gr) . "')" } @_ }

my %seen;
my @texts = grep { !$seen{$_}++ } '', 'i9=ug', 'i9=;%ug', '塋1;-', '塋1-', ' ' x 300, 'x' x 2700, ('x' x 2700) . '-', map { texts() } 1 .. 110;
my @sought = map { texts() } 1 .. 6;

# Compares all of a collation, in a database: the order both ways, and ranges.
sub compare
{
	my ($database, $collation) = @_;
	my $collate = $collation eq '' ? '' : qq( COLLATE "$collation");
	my @stored = grep { $collation ne 'C.utf8' || length $_ < 600 } @texts; # as bytes in a key, which has its limit
	my @keys = ([ 'primary', 'p', 'f_pkey' ], [ 'unique', 'u', 'f_u_key' ], [ 'index', 't', 'f_t' ]);

	$node->safe_psql($database, qq{
		CREATE TABLE h (t text$collate);
		INSERT INTO h VALUES ${\ literals(@stored)};
		CREATE FOREIGN TABLE f (p text$collate PRIMARY KEY, u text$collate UNIQUE, t text$collate) SERVER tsurugi;
		CREATE INDEX f_t ON f (t);
		INSERT INTO f SELECT t, t, t FROM h});
	is(TestServer::sqlstate($node, "INSERT INTO f SELECT t, t || 'x', t FROM h OFFSET 3 LIMIT 1", $database), '23505', "$database $collation: a key is there once");
	is(TestServer::sqlstate($node, "INSERT INTO f SELECT t || 'x', t, t FROM h OFFSET 3 LIMIT 1", $database), '23505', "$database $collation: and once as UNIQUE");
	for (@keys)
	{
		my ($kind, $c, $index) = @$_;
		my $plan = $node->safe_psql($database, "SET enable_sort = off; EXPLAIN (COSTS OFF) SELECT $c FROM f WHERE $c >= 'b' ORDER BY $c DESC");
		my $of = $kind eq 'primary' ? 'key range' : 'index range';

		like($plan, qr/$of, descending.*$c >= 'b'/s, "$database $collation, $kind: range and order are the index's");
		is($node->safe_psql($database, qq{
			SET enable_seqscan = off;
			SELECT 'order' FROM (SELECT array_agg($c) a FROM (SELECT $c FROM f ORDER BY $c) s) s WHERE a <> (SELECT array_agg(t ORDER BY t) FROM h);
			SELECT 'backward' FROM (SELECT array_agg($c) a FROM (SELECT $c FROM f ORDER BY $c DESC) s) s WHERE a <> (SELECT array_agg(t ORDER BY t DESC) FROM h);
			SELECT 'ends' FROM (SELECT min($c), max($c) FROM f) f, (SELECT (array_agg(t ORDER BY t))[1] least, (array_agg(t ORDER BY t DESC))[1] greatest FROM h) h
				WHERE (min, max) <> (least, greatest);
			SELECT 'range', s FROM (VALUES ${\ literals(@sought, @texts[0 .. 8])}) v(s), LATERAL (SELECT
				(SELECT array_agg($c) FROM (SELECT $c FROM f WHERE $c < s) x) below, (SELECT array_agg($c) FROM (SELECT $c FROM f WHERE $c >= s) x) above,
				(SELECT count(*) FROM f WHERE $c = s) same,
				(SELECT array_agg(t ORDER BY t) FROM h WHERE t < s) h_below, (SELECT array_agg(t ORDER BY t) FROM h WHERE t >= s) h_above,
				(SELECT count(*) FROM h WHERE t = s) h_same) x
				WHERE (below, above, same) IS DISTINCT FROM (h_below, h_above, h_same)}), '', "$database $collation, $kind: all as on an ordinary table");
	}
	$node->safe_psql($database, 'DROP TABLE h; DROP FOREIGN TABLE f');
}

compare('postgres', $_) for ('en_US.utf8', 'de_DE.utf8', 'cs_CZ.utf8', 'sv_SE.utf8', 'fr_CA.utf8', 'ja_JP.utf8', 'C.utf8'); # of the C library
compare('postgres', $_) for ('de-x-icu', 'cs-x-icu', 'tr-x-icu', 'ja-x-icu');
$node->safe_psql('postgres', q{CREATE COLLATION upper (provider = icu, locale = 'en-u-kf-upper-ka-shifted-ks-level4');
	CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)});
compare('postgres', 'upper');

# A database's own.
$node->safe_psql('postgres', $_)
  for ("CREATE DATABASE english TEMPLATE template0 LOCALE 'en_US.utf8'", "CREATE DATABASE icu TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv' LOCALE 'C.utf8'");
for my $database ('english', 'icu')
{
	$node->safe_psql($database, 'CREATE EXTENSION tsurugi_fdw; CREATE EXTENSION citext; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
	compare($database, '');
}

# Types of texts, and what contains them.
for my $database ('english', 'icu')
{
	$node->safe_psql($database, 'CREATE TYPE pair AS (t text, n int); CREATE TYPE textrange AS RANGE (subtype = text); CREATE DOMAIN word AS text');
	for my $type ('char(12)', 'name', 'citext', 'text[]', 'jsonb', $database eq 'icu' ? () : ('varchar(300)', 'word', 'pair', 'textrange'))
	{
		my $made = $type eq 'text[]' ? 'ARRAY[t, left(t, 2)]' : $type eq 'pair' ? 'ROW(t, 1)::pair' : $type eq 'jsonb' ? 'jsonb_build_array(t, 1)'
		  : $type eq 'textrange' ? "textrange(t, NULL)" : "left(t, 12)::$type";
		my $unique = pick('', 'UNIQUE');
		my $differences = $node->safe_psql($database, qq{
			CREATE TABLE h (n int, v $type);
			INSERT INTO h SELECT row_number() OVER (), $made FROM (VALUES ${\ literals(@texts[0 .. 60])}) v(t);
			CREATE FOREIGN TABLE f (n int, v $type) SERVER tsurugi;
			CREATE $unique INDEX f_v ON f (v, n);
			INSERT INTO f SELECT * FROM h;
			SET enable_sort = off; SET enable_incremental_sort = off; SET enable_seqscan = off;
			CREATE FUNCTION ways() RETURNS text LANGUAGE plpgsql AS \$\$ DECLARE line text; BEGIN
				FOR line IN EXPLAIN (COSTS OFF) SELECT n FROM f ORDER BY v, n LOOP IF line ~ 'Sort' THEN RETURN 'sorts'; END IF; END LOOP; RETURN NULL; END \$\$;
			SELECT ways() WHERE ways() IS NOT NULL;
			SELECT 'order' FROM (SELECT array_agg(n) a FROM (SELECT n FROM f ORDER BY v, n) s) s WHERE a <> (SELECT array_agg(n ORDER BY v, n) FROM h);
			SELECT 'range', s.n FROM (SELECT * FROM h LIMIT 8) s, LATERAL (SELECT (SELECT array_agg(n) FROM (SELECT n FROM f WHERE v > s.v) x) a,
				(SELECT array_agg(n ORDER BY v, n) FROM h WHERE v > s.v) b, (SELECT count(*) FROM f WHERE v = s.v) c, (SELECT count(*) FROM h WHERE v = s.v) d) x
				WHERE a IS DISTINCT FROM b OR c <> d;
			DROP FUNCTION ways; DROP TABLE h; DROP FOREIGN TABLE f});

		is($differences, '', "$database: $type");
	}
}

# Several collations of one column, and what the plan needs to be of one of them; a change of the column's; a refreshed version.
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE m (id int PRIMARY KEY, t text COLLATE "en_US.utf8", u text COLLATE "en_US.utf8" UNIQUE) SERVER tsurugi;
	INSERT INTO m SELECT i, chr(97 + i % 26) || i, i FROM generate_series(1, 2000) i;
	CREATE INDEX m_en ON m (t);
	CREATE INDEX m_de ON m (t COLLATE "de-x-icu" DESC);
	CREATE INDEX m_c ON m (t COLLATE "C");
	ANALYZE m});
sub plan_of { return $node->safe_psql('postgres', "SET enable_sort = off; SET enable_seqscan = off; EXPLAIN (COSTS OFF) $_[0]") }
like(plan_of(q{SELECT t FROM m ORDER BY t LIMIT 1}), qr/m_en/, "the column's collation");
like(plan_of(q{SELECT t FROM m ORDER BY t COLLATE "de-x-icu" LIMIT 1}), qr/ascending|descending.*m_de|m_de/s, "the query's");
like(plan_of(q{SELECT t FROM m WHERE t COLLATE "C" > 'x' ORDER BY t COLLATE "C" LIMIT 1}), qr/m_c.*Index Cond/s, "another one's");
unlike(plan_of(q{SELECT t FROM m WHERE t COLLATE "sv-x-icu" > 'x'}), qr/Index Cond/, "none has this one");
like(plan_of(q{SELECT u FROM m WHERE u > '7' ORDER BY u LIMIT 1}), qr/m_u_key.*Index Cond/s, "what is unique has an order");
like(plan_of(q{SELECT u FROM m WHERE u = '7'}), qr/Index Cond: \(u = '7'/, "and equality");
$node->safe_psql('postgres', q{ALTER FOREIGN TABLE m ALTER t TYPE text COLLATE "sv-x-icu"; ALTER COLLATION "sv-x-icu" REFRESH VERSION});
like(plan_of(q{SELECT t FROM m WHERE t > 'x' ORDER BY t}), qr/m_en.*Index Cond/s, "the column's, altered");
is($node->safe_psql('postgres', q{SELECT string_agg(t, ',') FROM (SELECT t FROM m WHERE t < 'a2' ORDER BY t) s}),
	$node->safe_psql('postgres', q{SELECT string_agg(t, ',' ORDER BY t) FROM m WHERE (t || '') < 'a2'}), 'and in order');

# A collation that takes different texts for equal.
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE l (t text COLLATE nocase) SERVER tsurugi; CREATE INDEX ON l (t);
	CREATE FOREIGN TABLE lu (t text COLLATE nocase UNIQUE) SERVER tsurugi; INSERT INTO lu VALUES ('a'), ('B'); INSERT INTO l VALUES ('a'), ('A'), ('b'), ('B')});
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM l WHERE t = 'A' UNION ALL SELECT count(*) FROM l WHERE t > 'a'}), "2\n2", 'not deterministic');
is(TestServer::sqlstate($node, "INSERT INTO lu VALUES ('b')"), '23505', 'where one key is several texts');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT t FROM lu WHERE t > 'A'}), 'B', 'and in order');

is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing;

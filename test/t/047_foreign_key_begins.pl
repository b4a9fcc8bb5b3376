# Every way in which a foreign key begins to hold for rows that are there, against every way in
# which a row that they refer to can go meanwhile: no row refers to nothing under a key that is
# valid.
#
# A table of tests, for the isolation tester: each cell, a way to begin and a way to go, has both
# orders, each with the other session's snapshot taken before it and its commit after it.  By
# default a cell is for one kind of tables, and its orders are at different levels.
#
#	FOREIGN_KEY_ALL=1              all cells for all kinds of tables, at all levels
#	FOREIGN_KEY_ONLY=kind.way      these cells, at all levels
#	FOREIGN_KEY_HEAP=1             with ordinary tables only
#	FOREIGN_KEY_OUT=directory      keeps what the tester says
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use File::Basename;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $tester = dirname($ENV{PG_REGRESS}) . '/../isolation/isolationtester';
my $node = TestServer::start('foreign_key_begins', deadlock_timeout => "'20ms'", statement_timeout => "'60s'",
	'tsurugi_fdw.serializable_mixed' => 'relaxed', lc_messages => "'C'");

# --- tables ------------------------------------------------------------------------------

# The tables of a kind: pk has the rows 1 and 2, which fk (or fk1, to be attached) refers to; snap
# gives a snapshot.
my %kinds = (
	memory => { pk => 'USING tsurugi', fk => 'USING tsurugi' },
	from_ordinary => { pk => 'USING tsurugi', fk => 'USING heap' },
	to_ordinary => { pk => 'USING heap', fk => 'USING tsurugi' },
	partitioned => { pk => 'USING tsurugi', fk => 'USING tsurugi', parted => 1 },
	partitioned_to_ordinary => { pk => 'USING heap', fk => 'USING tsurugi', parted => 1 },
	partitioned_from_ordinary => { pk => 'USING tsurugi', fk => 'USING heap', parted => 1 });

sub referenced
{
	my ($kind) = @_;

	return "CREATE TABLE pk (a int PRIMARY KEY, t text) $kind->{pk};" unless $kind->{parted};
	return 'CREATE TABLE pk (a int PRIMARY KEY, t text) PARTITION BY LIST (a);'
		. "CREATE TABLE pk1 PARTITION OF pk FOR VALUES IN (1, 5) $kind->{pk};"
		. "CREATE TABLE pk2 PARTITION OF pk FOR VALUES IN (2, 3) $kind->{pk};";
}

# How a key begins: what is there before, the statement, what kinds of tables it is for, and the
# referencing table, if it is not fk.
my %ways = (
	insert_deferred => [ 'CREATE TABLE fk (a int REFERENCES pk INITIALLY DEFERRED) %s;', 'INSERT INTO fk VALUES (1)' ],
	insert => [ 'CREATE TABLE fk (a int REFERENCES pk) %s;', 'INSERT INTO fk VALUES (1)' ],
	add => [ 'CREATE TABLE fk (a int) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE fk ADD FOREIGN KEY (a) REFERENCES pk' ],
	not_valid => [ 'CREATE TABLE fk (a int) %s; INSERT INTO fk VALUES (1);',
		'ALTER TABLE fk ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES pk NOT VALID; ALTER TABLE fk VALIDATE CONSTRAINT k' ],
	validate => [ 'CREATE TABLE fk (a int) %s; INSERT INTO fk VALUES (1); ALTER TABLE fk ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES pk NOT VALID;',
		'ALTER TABLE fk VALIDATE CONSTRAINT k' ],
	attach => [ 'CREATE TABLE fk (a int REFERENCES pk) PARTITION BY LIST (a); CREATE TABLE fk1 (a int) %s; INSERT INTO fk1 VALUES (1);',
		'ALTER TABLE fk ATTACH PARTITION fk1 FOR VALUES IN (1)' ],
	attach_with_key => [ 'CREATE TABLE fk (a int REFERENCES pk) PARTITION BY LIST (a); CREATE TABLE fk1 (a int REFERENCES pk) %s; INSERT INTO fk1 VALUES (1);',
		'ALTER TABLE fk ATTACH PARTITION fk1 FOR VALUES IN (1)' ],
	partition => [ 'CREATE TABLE fk (a int REFERENCES pk) PARTITION BY LIST (a);',
		'CREATE TABLE fk1 PARTITION OF fk FOR VALUES IN (1) %s; INSERT INTO fk VALUES (1)' ],
	method => [ 'CREATE TABLE fk (a int REFERENCES pk) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE fk SET ACCESS METHOD %o' ],
	method_attached => [ 'CREATE TABLE fk (a int REFERENCES pk) PARTITION BY LIST (a); CREATE TABLE fk1 PARTITION OF fk FOR VALUES IN (1) %s; INSERT INTO fk VALUES (1);',
		'ALTER TABLE fk1 SET ACCESS METHOD %o' ],
	method_partition => [ 'CREATE TABLE fk (a int REFERENCES pk) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE pk1 SET ACCESS METHOD %p', 'parted' ],
	leave => [ 'CREATE TABLE fk (a int REFERENCES pk) PARTITION BY LIST (a); CREATE TABLE fk1 PARTITION OF fk FOR VALUES IN (1) %s; INSERT INTO fk VALUES (1);',
		'ALTER TABLE fk DETACH PARTITION fk1', '', 'fk1' ],
	type => [ 'CREATE TABLE fk (a int REFERENCES pk) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE fk ALTER a TYPE bigint' ],
	method_referenced => [ 'CREATE TABLE fk (a int REFERENCES pk) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE pk SET ACCESS METHOD %p', 'plain' ],
	type_referenced => [ 'CREATE TABLE fk (a int REFERENCES pk) %s; INSERT INTO fk VALUES (1);', 'ALTER TABLE pk ALTER a TYPE bigint', 'plain' ],
	attach_referenced => [ 'ALTER TABLE pk DETACH PARTITION pk1; CREATE TABLE fk (a int) %s; INSERT INTO fk VALUES (1); ALTER TABLE fk ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES pk NOT VALID;',
		'ALTER TABLE pk ATTACH PARTITION pk1 FOR VALUES IN (1, 5); ALTER TABLE fk VALIDATE CONSTRAINT k', 'parted' ]);

# How a row goes.
my %goes = (
	delete => [ 'DELETE FROM pk WHERE a = 1' ],
	update => [ 'UPDATE pk SET a = 4 WHERE a = 1', 'plain' ],
	truncate => [ 'TRUNCATE pk' ],
	drop => [ 'DROP TABLE pk' ],
	delete_part => [ 'DELETE FROM pk1', 'parted' ],
	update_part => [ 'UPDATE pk SET a = 5 WHERE a = 1', 'parted' ],
	move => [ 'UPDATE pk SET a = 3 WHERE a = 1', 'parted' ],
	truncate_part => [ 'TRUNCATE pk1', 'parted' ],
	drop_part => [ 'DROP TABLE pk1', 'parted' ],
	detach => [ 'ALTER TABLE pk DETACH PARTITION pk1', 'parted' ],
	# not within a transaction: it waits for another that has a snapshot of the table
	detach_concurrently => [ 'ALTER TABLE pk DETACH PARTITION pk1 CONCURRENTLY', 'parted', 'alone' ]);

my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

# The orders; "look" is the answer.
my @orders = (
	's1b s2b s1go s2way s1c s2c look',
	's1b s2b s2way s1go s2c s1c look',
	's1b s2b s1go s1c s2way s2c look',
	's1b s2b s2way s2c s1go s1c look');
my @orders_alone = ('s2b s3b s1go s2way s3c s2c look', 's2b s3b s1go s3c s2way s2c look', 's2b s2way s1go s2c look');

# --- specs ---------------------------------------------------------------------------------

sub fits { my ($kind, $what) = @_; return !$what || ($what eq 'parted' ? $kind->{parted} : !$kind->{parted}) }

sub spec
{
	my ($kind, $way, $number) = @_;
	my ($before, $statement, undef, $fk) = @$way;
	my $other = sub { $_[0] =~ /heap/ ? 'tsurugi' : 'heap' };
	my $all = defined $ENV{FOREIGN_KEY_ALL} || defined $ENV{FOREIGN_KEY_ONLY};
	my $level = 0;
	my @permutations;

	$fk //= 'fk';
	s/%s/$kind->{fk}/g, s/%o/$other->($kind->{fk})/ge, s/%p/$other->($kind->{pk})/ge for $before, $statement;
	my $spec = 'setup { CREATE TABLE snap (a int) ' . "$kind->{pk}; " . referenced($kind) . " INSERT INTO pk VALUES (1, 'x'), (2, 'x'); $before }\n"
		. "teardown { DROP TABLE IF EXISTS fk, fk1, pk, pk1, snap CASCADE; }\n";
	$spec .= "session s1\n";
	for my $i (0 .. $#levels)
	{
		$spec .= "step s1b$i { BEGIN ISOLATION LEVEL $levels[$i]; SELECT FROM snap; }\n";
	}
	$spec .= "step s1go_$_ { $goes{$_}[0]; }\n" for sort keys %goes;
	$spec .= "step s1c { COMMIT; }\nteardown { ROLLBACK; }\nsession s2\n";
	for my $i (0 .. $#levels)
	{
		$spec .= "step s2b$i { BEGIN ISOLATION LEVEL $levels[$i]; SELECT FROM snap; }\n";
	}
	$spec .= "step s2way { $statement; }\nstep s2c { COMMIT; }\nteardown { ROLLBACK; }\n";
	$spec .= "session s3\nstep s3b { BEGIN; SELECT count(*) FROM pk; }\nstep s3c { COMMIT; }\n"
		. "step look { SELECT (SELECT count(*) FROM $fk f WHERE NOT EXISTS (SELECT FROM pk WHERE pk.a = f.a)) AS orphans, (SELECT bool_and(convalidated) FROM pg_constraint WHERE contype = 'f' AND conrelid = '$fk'::regclass) AS holds; }\n"
		. "teardown { ROLLBACK; }\n";
	for my $go (sort grep { fits($kind, $goes{$_}[1]) } keys %goes)
	{
		next unless $number++ % 3 == 0 || $all;
		for my $order ($goes{$go}[2] ? @orders_alone : @orders)
		{
			$level++;
			for my $i ($all || $goes{$go}[2] ? 0 .. $#levels : $level % @levels)
			{
				push @permutations, $order =~ s/s1go/s1go_$go/r =~ s/\b(s\db)\b/$1 eq 's3b' ? $1 : "$1$i"/ger;
			}
		}
	}
	return @permutations ? $spec . join('', map { "permutation $_\n" } @permutations) : undef;
}

my @kinds = sort keys %kinds;
my @ways = sort keys %ways;
for my $i (0 .. $#kinds)
{
	my $kind = $kinds[$i];

	for my $way (grep { fits($kinds{$kind}, $ways{$_}[2]) } @ways)
	{
		next if defined $ENV{FOREIGN_KEY_ONLY} && $ENV{FOREIGN_KEY_ONLY} ne "$kind.$way";
		my ($way_number) = grep { $ways[$_] eq $way } 0 .. $#ways;
		my $spec = spec($kinds{$kind}, $ways{$way}, $i + $way_number) // next;
		my ($out, $err);

		$spec =~ s/USING tsurugi/USING heap/g if $ENV{FOREIGN_KEY_HEAP};
		IPC::Run::run([ $tester, $node->connstr('postgres') . " options='-c client_min_messages=error'" ], '<', \$spec, '>', \$out, '2>', \$err);
		append_to_file("$ENV{FOREIGN_KEY_OUT}/$kind.$way", $out . $err) if $ENV{FOREIGN_KEY_OUT};
		my @permutations = split /^starting permutation: /m, $out;

		shift @permutations;
		is(join("\n", grep { /\n *[1-9]\d*\|t *\n/ } @permutations), '', "$kind: $way");
		is(scalar(grep { /^orphans\|holds$|^ERROR:  relation "pk" does not exist$/m } @permutations),
			scalar(() = $spec =~ /^permutation/mg), 'all have run') or diag $err;
	}
}
is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

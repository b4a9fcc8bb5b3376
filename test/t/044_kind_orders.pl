# Transactions in which definitions, reads, writes, the choice of a kind and of its areas,
# savepoints, errors and refusals of memory come in every order, at every level, with every end.  No
# answer is an internal error, the server stays, and the tables hold what ordinary tables hold after
# the statements that were not refused.
#
# A number of an order says what its steps are about; the seed says which statements they are.  Each
# script of orders runs on tables in memory first.  On ordinary tables it runs with what was refused
# replaced: by the same statement, which has to be refused there, too, or, where only tables in
# memory refuse it, by another that fails.  SEED takes another seed, KIND_ONLY=n,n,... runs some
# orders of it.  All of them:
#
#	KIND_ORDERS=28812 make test SUITES=tap TESTS=044_kind_orders
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use Twice;
use PostgreSQL::Test::Utils;
use Test::More;

my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
my @ends = qw(commit rollback refused mixed);
my @about = qw(define read write kind savepoint error memory);
my $steps = 4;
my $all = @levels * @ends * @about**$steps;

my $seed = seed();
my $orders = $ENV{KIND_ORDERS} // 700;
my $script_orders = 50;
note "KIND_ORDERS=$orders of $all";

my $node = TestServer::start('kind_orders', 'fsync' => 'off', 'jit' => 'off', 'tsurugi_fdw.memory' => "'16MB'", 'deadlock_timeout' => '100ms');
my $has_failpoints = TestServer::has_failpoints($node);
Twice::databases($node);

# What tables in memory alone refuse: memory, what a kind may not do, areas that are not there, both
# kinds of tables at SERIALIZABLE.
my $ours = qr/^(?:53200|0A000|25006|42809|42P01)$/;

my $schema = q{
	SET client_min_messages = error;
	DROP TABLE IF EXISTS late, f, p, h, big;
	CREATE TABLE p (id int PRIMARY KEY, n int, t varchar(40)) USING tsurugi;
	CREATE TABLE f (id int PRIMARY KEY, p int CONSTRAINT f_p REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE, n int) USING tsurugi;
	CREATE TABLE late (id int PRIMARY KEY, p int REFERENCES p DEFERRABLE INITIALLY DEFERRED) USING tsurugi;
	CREATE TABLE big (id int, t text) USING tsurugi;
	CREATE TABLE h (id int PRIMARY KEY, n int);
	INSERT INTO p SELECT i, i, i FROM generate_series(1, 9) i;
	INSERT INTO f SELECT i, i % 5 + 1, i FROM generate_series(1, 9) i;
	INSERT INTO h SELECT i, i FROM generate_series(1, 9) i;
};

# Statements of each sort; {} is a number.
my @reads = (
	'SELECT n FROM p WHERE id = {}', 'SELECT count(*), sum(n) FROM p', 'SELECT id FROM f WHERE id BETWEEN {} AND {} ORDER BY id',
	'SELECT p.n, f.n FROM f JOIN p ON p.id = f.p WHERE f.id < {} ORDER BY f.id', 'SELECT count(*) FROM p JOIN h USING (id)',
	'SELECT n FROM p WHERE id = {} FOR UPDATE', 'SELECT id FROM f WHERE p = {} ORDER BY id FOR KEY SHARE', 'SELECT sum(n) FROM h', 'SELECT n FROM f WHERE id = 1000 + {}');
my @writes = (
	'UPDATE p SET n = n + {} WHERE id = {}', 'UPDATE p SET n = n + 1', 'UPDATE p SET id = id + 20 WHERE id = {}', 'DELETE FROM p WHERE id = {}',
	'DELETE FROM f WHERE id < {}', 'UPDATE f SET p = {} WHERE id = {}', 'INSERT INTO p VALUES ({} + 40, {}) ON CONFLICT (id) DO UPDATE SET n = p.n + 1',
	'INSERT INTO f SELECT max(f.id) + 1, min(p.id), {} FROM f, p', 'INSERT INTO late SELECT coalesce(max(late.id), 0) + 1, (SELECT min(id) FROM p) FROM late',
	'INSERT INTO p VALUES (100 + {})', 'WITH gone AS (DELETE FROM p WHERE id = {} RETURNING n) INSERT INTO f SELECT 60 + {}, NULL, n FROM gone ON CONFLICT DO NOTHING');
my @definitions = (
	'ALTER TABLE p ALTER id TYPE bigint', 'ALTER TABLE p ALTER id TYPE int', 'ALTER TABLE f ALTER p TYPE bigint', 'ALTER TABLE f ALTER p TYPE int', 'ALTER TABLE p ALTER t TYPE text',
	'ALTER TABLE p ALTER t TYPE varchar(40)', 'ALTER TABLE late ALTER p TYPE bigint', 'ALTER TABLE late ALTER p TYPE int', 'ALTER TABLE f DROP CONSTRAINT IF EXISTS f_p', 'ALTER TABLE f ADD CONSTRAINT f_p FOREIGN KEY (p) REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE',
	'ALTER TABLE f ADD CONSTRAINT f_q FOREIGN KEY (p) REFERENCES p NOT VALID; ALTER TABLE f VALIDATE CONSTRAINT f_q; ALTER TABLE f DROP CONSTRAINT f_q', 'CREATE INDEX IF NOT EXISTS p_n ON p (n)',
	'DROP INDEX IF EXISTS p_n', 'ALTER TABLE p ADD u int DEFAULT 7; ALTER TABLE p DROP u', 'ALTER TABLE f ADD CHECK (id > -{})', 'TRUNCATE f', 'TRUNCATE p CASCADE', 'TRUNCATE big',
	'ALTER TABLE h SET ACCESS METHOD tsurugi', 'ALTER TABLE h SET ACCESS METHOD heap', 'ALTER TABLE p ALTER n SET NOT NULL; ALTER TABLE p ALTER n DROP NOT NULL', 'CREATE TABLE extra (id int PRIMARY KEY REFERENCES p) USING tsurugi; DROP TABLE extra');
my @errors = ('SELECT 1 / 0', 'INSERT INTO p SELECT id, 0 FROM p', 'INSERT INTO f VALUES (70 + {}, 1000)', 'UPDATE p SET n = 1 / (id - {})', 'SELECT nothing FROM p',
	'INSERT INTO p VALUES (200, 1), (200, 2)', 'ALTER TABLE p ALTER t TYPE int USING 1 / (n - n)', 'CREATE UNIQUE INDEX wrong ON f ((1))');
my @areas = ('p, f, late, big, h', 'p, f, late, big', 'p', 'f', 'p [{1},{5}], f', '', 'nowhere', 'p, h');
my @failpoints = ('alloc', 'areas_create', 'reads_table', 'reads_words,reads_range');

sub filled { my ($statement) = @_; return $statement =~ s/\{\}/1 + int rand 9/ger }

# Of a kind, or of what is to be known of one.
sub kind_settings
{
	my $kind = pick(qw(default short long long long read_only));
	my $settings = "SET LOCAL tsurugi_fdw.transaction_type = $kind; SET LOCAL tsurugi_fdw.write_preserve = '" . ($kind eq 'long' || chance(0.1) ? pick(@areas) : '') . "'";

	$settings .= "; SET LOCAL tsurugi_fdw." . pick('inclusive', 'exclusive') . "_read_areas = '" . pick('p, f', 'p', 'f', 'nowhere') . "'" if chance(0.2);
	$settings .= "; SET LOCAL tsurugi_fdw.transaction_priority = 1" if chance(0.1);
	return $settings;
}

# A refusal of memory: of every claim of a statement, or of one that is too big.
sub refusal
{
	my $statement = filled(pick(@reads, @writes, @definitions));

	return [ 'memory', 'INSERT INTO big SELECT i, repeat(md5(i::text), 900) FROM generate_series(1, 700) i' ] if !$has_failpoints || chance(0.15);
	return ([ 'set', "SET LOCAL tsurugi_fdw.failpoints = '" . pick(@failpoints) . "'" ], [ 'memory', $statement ], [ 'set', "SET LOCAL tsurugi_fdw.failpoints = ''" ]);
}

# The statements of an order, each [ what it is about, text ].
sub transaction
{
	my ($number) = @_;
	my $level = $levels[ $number % @levels ];
	my $end = $ends[ int($number / @levels) % @ends ];
	my @order = map { $about[ int($number / @levels / @ends / @about**$_) % @about ] } 0 .. $steps - 1;
	my @statements = [ 'begin', "BEGIN ISOLATION LEVEL $level" . (chance(0.05) ? ' READ ONLY' : '') ];
	my $depth = 0;

	for my $about (@order)
	{
		if ($about eq 'savepoint')
		{
			push @statements, [ 'savepoint', $depth > 0 && chance(0.6) ? pick('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s') : 'SAVEPOINT s' ];
			$depth += $statements[-1][1] =~ /^SAVE/ ? 1 : $statements[-1][1] =~ /^REL/ ? -1 : 0;
			next;
		}
		# most errors are survived
		my $guarded = $about =~ /error|memory/ && chance(0.7);
		push @statements, [ 'savepoint', 'SAVEPOINT g' ] if $guarded;
		push @statements, $about eq 'define' ? [ $about, filled(pick(@definitions)) ]
			: $about eq 'read' ? [ $about, filled(pick(@reads)) ]
			: $about eq 'write' ? [ $about, filled(pick(@writes)) ]
			: $about eq 'kind' ? [ 'set', kind_settings() ]
			: $about eq 'error' ? [ $about, filled(pick(@errors)) ]
			: refusal();
		push @statements, [ 'savepoint', chance(0.8) ? 'ROLLBACK TO g' : 'RELEASE g' ] if $guarded;
	}
	push @statements, [ 'write', 'INSERT INTO late VALUES (1000, 1000)' ] if $end eq 'refused';
	push @statements, [ 'write', 'UPDATE h SET n = n + 1; UPDATE p SET n = n + 1' ] if $end eq 'mixed';
	push @statements, [ 'end', $end eq 'rollback' ? 'ROLLBACK' : 'COMMIT' ];
	push @statements, map { [ 'look', "SELECT * FROM $_ ORDER BY 1" ] } qw(p f late h);
	push @statements, [ 'look', 'SELECT count(*) FROM big' ];
	return map { $_->[0] eq 'set' ? $_ : one_by_one($_) } @statements;
}

sub one_by_one { my ($statement) = @_; return map { [ $statement->[0], $_ ] } split /; /, $statement->[1] }

# Runs a script on one side; what each statement says, as sorted lines.
sub run
{
	my ($database, $statements) = @_;
	my $text = $schema . join '', map { "\\echo \@\n$_;\n" } @$statements;

	$text =~ s/ USING tsurugi\b//g, $text =~ s/ACCESS METHOD tsurugi\b/ACCESS METHOD heap/g if $database eq 'ordinary';
	Twice::start($node, $database, $text, '-t', '-v', 'VERBOSITY=sqlstate')->finish;
	my (undef, @answers) = split /^\@\n/m, slurp_file($node->basedir . "/$database.sql.out");
	return map { join "\n", sort map { /(ERROR|FATAL):  (\w{5})/ ? "ERROR $2" : $_ } split /\n/ } @answers;
}

my %count;
my @wrong;

sub complain
{
	my ($number, $what, @more) = @_;

	push @wrong, $number;
	diag join "\n", "SEED=$seed KIND_ONLY=$number: $what", @more if @wrong <= 3;
	return 1;
}

# What the ordinary side is to be asked for a statement that has this answer.
sub replayed
{
	my ($statement, $answer) = @_;
	my ($about, $text) = @$statement;
	my ($error) = $answer =~ /^ERROR (\w{5})/;

	return 'SELECT 1 WHERE false' if $about eq 'set' && !defined $error;
	return $text if !defined $error || $error !~ $ours;
	return $about eq 'end' ? 'ROLLBACK' : 'SELECT 1 / 0';
}

sub compare
{
	my ($number, $statements, $memory, $ordinary) = @_;
	my @told;

	for my $at (0 .. $#$statements)
	{
		my ($about, $text) = @{ $statements->[$at] };
		my ($error) = $memory->[$at] =~ /^ERROR (\w{5})/;
		my ($theirs) = $ordinary->[$at] =~ /^ERROR (\w{5})/;
		my $is_ours = defined $error && $error =~ $ours;

		push @told, "\t$text", $memory->[$at] eq '' ? () : $memory->[$at];
		$count{statements}++;
		$count{ $error // 'answers' }++;
		return complain($number, "internal error", @told) if ($error // '') =~ /^XX/;
		next if $memory->[$at] eq $ordinary->[$at] || ($is_ours && ($about eq 'end' || defined $theirs)) || $about eq 'set';
		return complain($number, 'another answer', @told, 'on ordinary tables:', $ordinary->[$at]);
	}
}

# Orders of a script, and whether the server has lived through it.
sub run_orders
{
	my @numbers = @_;
	my @orders = map { srand($seed * 100_003 + $_); [ transaction($_) ] } @numbers;
	my @statements = map { @$_ } @orders;
	my @memory = run('memory', [ map { $_->[1] } @statements ]);
	my @ordinary;

	if (@memory < @statements)
	{
		my $at = $#memory;

		for my $order (0 .. $#orders)
		{
			next if ($at -= @{ $orders[$order] }) >= 0;
			complain($numbers[$order], 'the server has ended', (map { $_->[1] } @{ $orders[$order] }), $memory[-1]);
			last;
		}
		return 0;
	}
	@ordinary = run('ordinary', [ map { replayed($statements[$_], $memory[$_]) } 0 .. $#statements ]);
	for my $order (0 .. $#orders)
	{
		my $last = $#{ $orders[$order] };

		# what comes after a difference, in other tables, may be another
		return 1 if compare($numbers[$order], $orders[$order], [ splice @memory, 0, $last + 1 ], [ splice @ordinary, 0, $last + 1 ]);
	}
	return 1;
}

srand $seed;
my @numbers = defined $ENV{KIND_ONLY} ? split /,/, $ENV{KIND_ONLY} : $orders >= $all ? (0 .. $all - 1) : map { int rand $all } 1 .. $orders;
while (my @some = splice @numbers, 0, $script_orders)
{
	last if !run_orders(@some);
	last if @wrong >= 10;
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
is("@wrong", '', 'every order has the answers of ordinary tables, and leaves what they hold');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.transactions'), '0', 'no transaction is left');
is(TestServer::internal_errors($node), '', 'no error was internal, and no process has ended by one');
$node->stop;
done_testing();

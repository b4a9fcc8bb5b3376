# Rights are those of ordinary tables: many roles try every statement, on ordinary tables and on
# tables in memory, and the answers are the same (rows, counts, errors with their SQLSTATE and all
# their fields), but for the differences that are named here, each with its reason.  A statement
# without the right to it is refused before it waits for another session's lock.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Rights;
use Twice;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('rights', max_connections => 20, jit => 'off');
my @databases = ('ordinary', 'memory');
my $data = $node->basedir;

append_to_file("$data/one", "9\n");
append_to_file("$data/two", "9\tnine\n");
$node->safe_psql('postgres', Rights::roles());
$node->safe_psql('postgres', 'CREATE SCHEMA s');
Twice::databases($node);
$node->safe_psql('postgres', "ALTER DATABASE $_ OWNER TO dbo") for @databases;
Twice::run($node, Rights::setup(), '-v', 'ON_ERROR_STOP=1');

# --- answers --------------------------------------------------------------------------------------

# The session's role.
sub become
{
	my ($actor) = @_;
	my ($role, $more) = split / /, $actor, 2;

	return "SET SESSION AUTHORIZATION $role;\n" . (defined $more ? "$more;\n" : '');
}

# Labels have the statement's number, for the words of it are not the same in both databases.
sub labelled
{
	my ($actor, $number, $statement) = @_;
	return "\\echo == $actor: $number\n" . $statement . ($statement =~ /^\\/ ? "\n" : ";\n") . "\\echo :SQLSTATE :ROW_COUNT\n";
}

my $head = "\\set VERBOSITY verbose\n\\set one '$data/one'\n\\set two '$data/two'\n\\set ECHO none\n";

sub script
{
	my ($actors, $statements, $before, $after) = @_;
	my $script = $head;

	for my $actor (@$actors)
	{
		$script .= become($actor);
		$script .= $before . labelled($actor, $_, $statements->[$_]) . $after for 0 .. $#$statements;
		$script .= "RESET SESSION AUTHORIZATION;\n";
	}
	return $script;
}

# Without what one of s.t's rows has of its own: at which of them a statement fails first is no
# matter of rights, and memory has them in another order once they have been moved together.  Parts
# of two rows in a line stay.
sub of_any_row
{
	my ($line) = @_;
	my ($row) = grep { $line =~ /\b(?:$_->[0])\b/ } ([ 'one', 1, '1, 1, good' ], [ 'two', 2, '2, 2, bad' ], [ 'three', 3, 'null, null, null' ]);

	($row) = map { [ $_, $_, $_ ] } $line =~ /\b([123])\b/ unless $row;
	return $line unless $row;
	my ($word, $number, $rest) = @$row;

	return $line =~ s/, $rest\)/, the rest)/r =~ s/\b$word\b/word/gr =~ s/\b(d?)$number\b/$1number/gr;
}

# By role and statement.
sub by_label
{
	my ($printed) = @_;
	my %answers;

	$printed =~ s/^LOCATION:.*\n//mg;
	$printed =~ s/^(.*(?:Failing row contains|invalid input syntax for type integer).*)$/of_any_row($1)/meg;
	$printed =~ s/\bforeign tables\b/tables/g;
	$printed =~ s/^LINE \d+:.*\n +\^\n|^QUERY: .*\n//mg;
	$printed =~ s/database (?:ordinary|memory)/database/g;
	$printed =~ s/(RI_ConstraintTrigger_[ac]_)\d+/$1/g;
	for my $part (split /^== /m, $printed)
	{
		my ($label, $answer) = split /\n/, $part, 2;
		next unless defined $answer;
		# the order in which ANALYZE takes all tables, and how often a function is called, are no
		# matter of rights
		my @skipped = $answer =~ /^(.* skipping "(?:t|up|down|o|p|p1|p2)" .*\n)/mg;
		my %ran = map { $_ => 1 } grep { !/ran .*constant.* as owner/ } $answer =~ /^(.* ran .*\n)/mg; # constants once a session
		$answer =~ s/^.* (?:skipping "|ran ).*\n//mg;
		$answers{$label} = join('', sort(@skipped), sort keys %ran) . $answer;
	}
	return \%answers;
}

# Differences that are meant: what statement, whose (all by default), what the answers have in
# memory and, if it matters, on ordinary tables, why.
my @meant = (
	{ of => qr/USING tsurugi/, by => qr/^(?:outside|owner)$/, has => qr/42501: permission denied for foreign server tsurugi/,
		why => 'making a table takes USAGE on the server, which a table that is there does not' },
	{ of => qr/^MERGE INTO (?!s\.o)/, has => qr/0A000: cannot execute MERGE on relation/, why => 'PostgreSQL refuses MERGE into foreign tables' },
	{ of => qr/TABLESAMPLE/, has => qr/0A000: TABLESAMPLE clause can only be applied to tables/, why => 'PostgreSQL refuses TABLESAMPLE of foreign tables' },
	{ of => qr/ROW LEVEL SECURITY|POLICY|RULE|TABLE s\.t OF|PUBLICATION/, has => qr/42809|22023/, why => 'PostgreSQL refuses policies, rules and the like of foreign tables, some before it looks for rights' },
	{ of => qr/ALL TABLES IN SCHEMA/, has => qr/42501: permission denied for table|01007: no privileges were granted for "p2"/, why => 'PostgreSQL goes from one kind of relations to the next' },
	{ of => qr/s\.code (?:ADD CHECK|VALIDATE)|s\.cp ATTACH|PARTITION OF s\.cp/, has => qr/\A(?!.*as postgres).*ran [\w ]+ as owner/s, instead => qr/as postgres/, why => 'constraints and bounds are verified as the role that has written them' },
	{ of => qr/s\.p1 SET ACCESS METHOD heap/, has => qr/42501: permission denied for schema s/, why => 'a partition that moves is attached as the owner of the table above' },
	{ of => qr/s\.code ADD COLUMN n int/, has => qr/ran index as owner/, why => 'where rows are stored anew, keys are, too, as the owner' },
	{ of => qr/^(?:INSERT|UPDATE|DELETE|SELECT) .*s\.(?:code|cv)/, has => qr/\A(?!.*ran [\w ]*constant)/s, instead => qr/ran constant as postgres/, why => 'constant parts of the expressions of indexes are computed as the owner' },
	{ of => qr/s\.code SET ACCESS METHOD/, has => qr/\A(?!.*as postgres).*ran check as owner/s, instead => qr/\A00000 0\n\z/, why => 'a table that moves is filled as the owner' },
	{ of => qr/s\.below SET ACCESS METHOD heap/, has => qr/42501: must be owner of table above/, why => 'a table that inherits is moved by the owner of both' },
	{ of => qr/SET ACCESS METHOD heap/, has => qr/42501: permission denied for table (?:bare|t)/, why => 'a table that moves is made anew like the old one, which takes SELECT' },
	{ of => qr/s\.t SET ACCESS METHOD heap/, has => qr/42501: must be owner of view v/, why => 'a table that moves has its views made anew' },
	{ of => qr/^VACUUM/, has => qr/\A(?:WARNING:  01000: skipping .*\n)+00000 0\n\z/, instead => qr/55P03/,
		why => 'VACUUM without the right to it does not wait, where PostgreSQL does for partitions, and for ACCESS EXCLUSIVE locks' });

# Whether it is one, and has been seen.
sub is_meant
{
	my ($statement, $actor, $memory, $ordinary) = @_;

	for my $difference (@meant)
	{
		next unless $statement =~ $difference->{of} && $actor =~ ($difference->{by} // qr/./);
		next unless $memory =~ $difference->{has} && $ordinary =~ ($difference->{instead} // qr/./);
		$difference->{seen} = 1;
		return 1;
	}
	return 0;
}

# What else differs: by statement, by the two answers, the roles.
sub compare
{
	my ($name, $script, $statements) = @_;
	my ($ordinary, $memory) = map { by_label($_) } Twice::run($node, $script);
	my %differ;
	my $refused = grep { /^42501 /m } values %$ordinary;

	is(scalar keys %$memory, scalar keys %$ordinary, "$name: " . scalar(keys %$ordinary) . " combinations, $refused without the right to it");
	for my $label (sort keys %$ordinary)
	{
		my ($actor, $number) = split /: /, $label, 2;
		my $statement = $statements->[$number];
		my @answers = ($ordinary->{$label}, $memory->{$label} // '');

		my @sorted = map { join "\n", sort split /\n/ } @answers; # the order of rows is no matter of rights
		next if $sorted[0] eq $sorted[1] || is_meant($statement, $actor, $answers[1], $answers[0]);
		push @{$differ{$statement}{"ordinary:\n$answers[0]\nin memory:\n$answers[1]"}}, $actor;
	}
	is(scalar keys %differ, 0, "$name: the same answers");
	for my $statement (sort keys %differ)
	{
		diag("$statement\nby @{$differ{$statement}{$_}}\n$_") for sort keys %{$differ{$statement}};
	}
}

sub matrix
{
	my ($name, @statements) = @_;
	compare($name, script(\@Rights::actors, \@statements, "BEGIN;\n", "ROLLBACK;\n"), \@statements);
}

matrix('data', map { my $relation = $_; map { s/%t/s.$relation/gr } @Rights::data } @Rights::relations, 'p1');
matrix('errors', @Rights::errors);
matrix('definitions', @Rights::definitions);
matrix('foreign tables', map { s/ TABLE / FOREIGN TABLE /gr } grep { !/RENAME CONSTRAINT/ && /^(?:ALTER|DROP|COMMENT ON) TABLE (?:s\.t|s\.down|s\.p1)\b/ } @Rights::definitions);

# an owner whose own rights have been revoked, and roles that may only write
my @bare = ((map { s/%t/s.bare/gr } @Rights::data), @Rights::bare);
compare('bare', script([qw(owner heir ins ins_sel)], \@bare, "BEGIN;\n", "ROLLBACK;\n"), \@bare);
my @bare_alone = map { s/s\.t\b/s.bare/gr =~ s/t_(b|dropped)/bare_$1/gr } grep { /s\.t/ } @Rights::alone;
compare('bare, alone', script(['owner'], \@bare_alone, '', ''), \@bare_alone);

# Statements that have no place in a transaction block.  What one of them leaves behind is the same
# in both databases; the owner comes last.
my @alone = (@Rights::alone, 'REINDEX DATABASE :"DBNAME"');
compare('alone', script([ grep { !/^(?:postgres|owner)$/ } @Rights::actors, 'postgres', 'owner' ], \@alone, '', ''), \@alone);

# The role that code runs as which the owner has put into a table.  A new session has computed
# nothing in advance.
compare('code', script(['postgres'], \@Rights::code, "\\c\n", ''), \@Rights::code);

# A plan or an executor state that a session keeps does not outlive the right to use it.
my @kept = map { s/^LOCATION:.*\n//mgr =~ s/ordinary|memory/keeper/gr } Twice::run($node, Rights::kept());
is($kept[1], $kept[0], 'rights are given and taken');

# The owner of tables need not have USAGE on their server.
$node->safe_psql($_, 'REVOKE USAGE ON FOREIGN SERVER tsurugi FROM owner') for @databases;
my @of_owner = ((map { s/%t/s.t/gr } @Rights::data), @Rights::definitions);
compare('without the server', script(['owner'], \@of_owner, "BEGIN;\n", "ROLLBACK;\n"), \@of_owner);

# Nor USAGE on their schema.
$node->safe_psql($_, 'REVOKE ALL ON SCHEMA s FROM owner') for @databases;
my @anew = (grep({ !/^DROP SCHEMA/ } @Rights::definitions), @Rights::errors, @Rights::bare);
compare('without the schema', script([qw(postgres owner everything ins_sel)], \@anew, "BEGIN;\n", "ROLLBACK;\n"), \@anew);
my @code_again = grep { !/CREATE|ADD|ATTACH|DROP|CONCURRENTLY/ } @Rights::code;
compare('code, without the schema', script(['postgres'], \@code_again, "\\c\n", ''), \@code_again);

# A serialization failure names the row to a role that may see its key.
for my $role ('upd_sel', 'upd_b')
{
	my $reader = TestServer::Session->new($node, 'memory');

	$reader->query("SET SESSION AUTHORIZATION $role");
	$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->query("UPDATE s.t SET b = 'x' WHERE false"); # takes the snapshot
	$node->safe_psql('memory', "UPDATE s.t SET b = b || '!' WHERE a = 3");
	$reader->query('\\set VERBOSITY verbose');
	my $said = $reader->send("UPDATE s.t SET b = 'x';")->wait_messages;
	like($said, $role eq 'upd_b' ? qr/40001: .*DETAIL:  A row of/s : qr/40001: .*DETAIL:  Row \(a\)=\(3\) of/s, "$role, in vain");
	$reader->close;
}

# --- locks ----------------------------------------------------------------------------------------

# Another session holds locks on all tables.  A statement that is refused for the lack of a right
# does not wait for them.
for my $mode ('ACCESS SHARE', 'ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE', 'ACCESS EXCLUSIVE')
{
	my @holders = map { TestServer::Session->new($node, $_)->send("BEGIN; LOCK TABLE s.t, s.p, s.up, s.down, s.o IN $mode MODE;") } @databases;

	is($_->wait, '', "another session holds $mode") for @holders;
	my @tried = ((map { s/%t/s.t/gr } @Rights::data), @Rights::errors, @Rights::definitions);
	my $before = "SET lock_timeout = '5ms';\n";
	compare("beside $mode", $before . script([qw(nobody sel_a upd del trunc)], \@tried, "BEGIN;\n", "ROLLBACK;\n"), \@tried);
	compare("alone beside $mode", $before . script([qw(nobody everything)], \@alone, '', ''), \@alone);
	$_->close for @holders;
}
ok($_->{seen}, "is meant: $_->{why}") for @meant;
$node->stop;
done_testing();

# The catalogue of anomalies (test/specs/anomalies_*.spec): the schedules are the
# same at every level, and at READ COMMITTED and REPEATABLE READ foreign tables
# answer as ordinary tables do.  A REPEATABLE READ transaction here may take a new
# snapshot while the first has not been used, so for the comparison both are used
# at once.
use strict;
use warnings;

use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $tester = dirname($ENV{PG_REGRESS}) . '/../isolation/isolationtester';
my $node = TestServer::start('anomalies');

sub spec_of
{
	my ($level) = @_;

	open my $file, '<', "test/specs/anomalies_$level.spec" or die "anomalies_$level.spec: $!";
	local $/;
	return <$file>;
}

sub answer_to
{
	my ($name, $spec) = @_;
	my $path = "$ENV{TESTDIR}/$name.spec";

	open my $file, '>', $path or die "$path: $!";
	print $file $spec;
	close $file;
	my $connection = $node->connstr('postgres');
	return `"$tester" "$connection" <"$path" 2>&1`;
}

sub for_ordinary_tables
{
	my ($spec) = @_;

	$spec =~ s/CREATE FOREIGN TABLE (.*) SERVER \w+;/CREATE TABLE $1;/g;
	$spec =~ s/DROP FOREIGN TABLE/DROP TABLE/g;
	$spec =~ s/^\t(CREATE|DROP) SERVER.*\n//mg;
	return $spec;
}

my %schedules = map { $_ => join('', spec_of($_) =~ /^permutation .*\n/mg) } qw(rc rr ser);
is($schedules{rr}, $schedules{rc}, 'REPEATABLE READ has the schedules of READ COMMITTED');
is($schedules{ser}, $schedules{rc}, 'and so has SERIALIZABLE');

my $rc = spec_of('rc');
is(answer_to('rc', $rc), answer_to('rc_ordinary', for_ordinary_tables($rc)), 'READ COMMITTED: as ordinary tables');

my $rr = spec_of('rr');
$rr =~ s/(BEGIN ISOLATION LEVEL REPEATABLE READ;)/$1 SELECT FROM test;/g;
# a session that a schedule leaves out has locked the table by that
$rr =~ s/^(step s\dr\t.*\n)/$1teardown { ROLLBACK; }\n/mg;
is(answer_to('rr', $rr), answer_to('rr_ordinary', for_ordinary_tables($rr)), 'REPEATABLE READ: as ordinary tables');

$node->stop;
done_testing();

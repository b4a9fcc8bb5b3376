# A disk that is full while a dump or COPY writes a file, or when it syncs it: 53100 with the file's
# name, no file under its name, and none under another.  What had the name before stays as it was.
use strict;
use warnings;
use lib 'test/t';
use Errno qw(EIO ENOSPC);
use Power;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('full');
my $own = $node->basedir . '/exported';

mkdir $own or die;
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT g, md5(g::text) FROM generate_series(1, 20000) g});
$node->stop;
my $power = Power->new($node);
$power->start;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub fails
{
	my ($sql, $wanted, $what) = @_;
	my ($code, $out, $error) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	like($error, $wanted, $what);
	$power->fail_nothing;
}

# Names of the files there, hidden ones included.
sub files
{
	opendir(my $directory, $own) or die;
	return join ' ', sort grep { !/^\.\.?$/ } readdir $directory;
}

for my $format ('parquet', 'arrow', 'csv', 'ndjson')
{
	my $rows = $format eq 'parquet' || $format eq 'arrow' ? ', "row_group_rows": 2000' : '';
	my $v = $format eq 'csv' ? 'repeat(v, 40)' : 'v'; # it is written by larger blocks
	my $dump = sub { "SELECT count(*) FROM tsurugi.dump('SELECT id, $v AS v FROM t ORDER BY id', '$own', '$format', 'p', '{\"max_rows_per_file\": 15000$rows$_[0]}')" };

	for my $case ([ 'write', 1, 'write to' ], [ 'write', 4, 'write to' ], [ 'sync', 1, 'fsync' ])
	{
		my ($kind, $number, $words) = @$case;

		$power->fail($kind, '/exported/', $number, ENOSPC);
		fails($dump->(''), qr{ERROR:  53100: could not $words file "$own/p_00001\.$format": No space left on device}, "$format, $kind $number: the error");
		is(files(), '', 'no file');
	}
	$power->fail('write', 'p_00002', 1, ENOSPC);
	fails($dump->(', "keep_files": true'), qr{ERROR:  53100: could not write to file "$own/p_00002\.$format": No space left on device}, "$format: in the second file");
	is(files(), "p_00001.$format", 'the first one is kept, as asked for');
	my $before = slurp_file("$own/p_00001.$format");
	$power->fail('write', '/exported/', 2, ENOSPC);
	fails($dump->(', "overwrite": true'), qr/ERROR:  53100: /, "$format: over it");
	is(files(), "p_00001.$format", 'it is there');
	ok(slurp_file("$own/p_00001.$format") eq $before, 'as it was');
	is(ask($dump->(', "overwrite": true')), '2', "$format: and when the disk has room");
	unlink glob("$own/*");
	next if $format eq 'csv';
	$power->fail('write', '/exported/', 1, ENOSPC);
	fails("COPY t TO '$own/copy' (FORMAT $format)", qr{ERROR:  53100: could not write to file "$own/copy": No space left on device}, "$format: COPY");
	is(files(), '', 'no file');
}
$power->fail('sync', '/exported/', 1, EIO);
fails("COPY t TO '$own/copy' (FORMAT parquet)", qr{ERROR:  58030: could not fsync file "$own/copy": Input/output error}, 'a sync that fails is an error, and no panic');
is(files(), '', 'no file');
is(ask('SELECT count(*) FROM t'), '20000', 'the server goes on');

done_testing();

# The examples of the documents: each block of SQL runs without an error, page by page, in a
# database of the page's own.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('documents');
my $top = dirname($0) . '/../..';
my $files = PostgreSQL::Test::Utils::tempdir;

PostgreSQL::Test::Utils::append_to_file("$files/part$_.csv", join('', map { "$_,2024-01-0$_ 00:00,$_.5\n" } ($_ * 3 - 2 .. $_ * 3)))
	for 1 .. 2;

# The blocks of a page, as one script.
sub script_of
{
	my ($page) = @_;
	my $text = PostgreSQL::Test::Utils::slurp_file("$top/$page");

	return join('', $text =~ /^```sql\n(.*?)^```$/msg);
}

for my $page ('README.md', map { 'doc/' . basename($_) } sort glob("$top/doc/*.md"))
{
	my $script = script_of($page);
	my ($out, $err) = ('', '');
	my $name = 'page_' . basename($page, '.md') =~ s/\W/_/gr;

	next if $script eq '';
	$node->safe_psql('postgres', "CREATE DATABASE \"$name\"");
	$script = "CREATE EXTENSION tsurugi_fdw;\nCREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;\n$script"
	  unless $script =~ /CREATE EXTENSION/;
	my $done = IPC::Run::run([ 'sh', '-c', 'cd "$1" && exec psql -Xq -v ON_ERROR_STOP=1 -d "$2"', 'sh', $files, $node->connstr($name) ],
		'<', \$script, '>', \$out, '2>', \$err);
	ok($done, "the examples of $page run") or diag($err);
}

# Links lead to files, and to headings, that are there.
my @broken;
for my $page ('README.md', 'test/README.md', 'src/README.md', map { 'doc/' . basename($_) } glob("$top/doc/*.md"))
{
	my $text = PostgreSQL::Test::Utils::slurp_file("$top/$page");

	while ($text =~ /\]\(([^)#\s:]*)(?:#([^)\s]+))?\)/g)
	{
		my ($file, $heading) = ($1, $2);
		my $target = $file eq '' ? "$top/$page" : dirname("$top/$page") . "/$file";

		push @broken, "$page: $file" unless -e $target;
		next if !defined $heading || !-f $target;
		my @headings = map { lc($_ =~ s/[^\w\s-]//gr) =~ s/\s/-/gr } PostgreSQL::Test::Utils::slurp_file($target) =~ /^#+ (.*)$/mg;
		push @broken, "$page: $file#$heading" unless grep { $_ eq $heading } @headings;
	}
}
is(join("\n", @broken), '', 'links of the documents lead somewhere');

$node->stop;
done_testing();

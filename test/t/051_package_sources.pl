# The scripts that run PostgreSQL's own suites get its source package by the machine's own package
# sources, also where these name binary packages alone.
use strict;
use warnings;
use FindBin;
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;
use Test::More;

my $apt = PostgreSQL::Test::Utils::tempdir();

sub write_file
{
	my ($path, $text) = @_;

	open my $file, '>', $path or die "$path: $!";
	print $file $text;
	close $file;
}

# What apt would read of the sources that are made of those in $apt.
sub derive
{
	my $own = PostgreSQL::Test::Utils::tempdir();

	system_or_bail('bash', '-euo', 'pipefail', '-c', '. "$1" && suite_sources "$2" "$3"', 'bash',
		"$FindBin::RealBin/../postgres_suite.sh", $apt, $own);
	return map { join '', map { slurp_file($_) } sort glob "$own/$_" } 'sources.list', 'sources.list.d/*';
}

make_path("$apt/sources.list.d");
is_deeply([ derive() ], [ '', '' ], 'a machine without sources');

write_file("$apt/sources.list", "# one\ndeb http://a.example/debian suite main\ndeb-src http://a.example/debian suite main\n");
write_file("$apt/sources.list.d/b.list", " deb [signed-by=/key] http://b.example/debian suite main # two\n");
is_deeply([ derive() ],
	[ "deb-src [signed-by=/key] http://b.example/debian suite main # two\ndeb-src http://a.example/debian suite main\n", '' ],
	'lines of binary packages become lines of source packages');

write_file("$apt/sources.list.d/c.sources", "Types: deb\nURIs: http://c.example/debian\nSuites: suite\n\ntypes: deb deb-src\nURIs: http://d.example/debian\n");
is((derive())[1], "Types: deb-src\nURIs: http://c.example/debian\nSuites: suite\n\nTypes: deb-src\nURIs: http://d.example/debian\n",
	'and so do stanzas');
done_testing();

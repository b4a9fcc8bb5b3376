# A script for psql, run twice at once, in databases of their own: as it is, and without the words that put its tables in memory.
# What it prints has to be the same.
package Twice;

use strict;
use warnings;

# Databases "ordinary" and "memory" of a server.
sub databases
{
	my ($node) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE postgres STRATEGY file_copy") for 'ordinary', 'memory';
}

sub start
{
	my ($node, $database, $text, $out, @options) = @_;
	my $file = $node->basedir . "/$database.sql";

	open my $script, '>:utf8', $file or die;
	print $script $text;
	close $script;
	return IPC::Run::start([ 'psql', '-XqA', @options, '-v', 'SHOW_CONTEXT=never', '-f', $file, '-d', $node->connstr($database) . ' client_encoding=utf8' ],
		'<', \undef, '>', $out, '2>&1');
}

# What psql with some options prints for a script, of ordinary tables and of those in memory.
sub run
{
	my ($node, $text, @options) = @_;
	my ($ordinary, $memory) = ('', '');
	my @runs = (start($node, 'ordinary', $text =~ s/ USING tsurugi\b//gr =~ s/ACCESS METHOD tsurugi\b/ACCESS METHOD heap/gr, \$ordinary, @options), start($node, 'memory', $text, \$memory, @options));

	$_->finish for @runs;
	s/^psql:.*?: //mg, s/\bforeign table\b/table/g, s/ USING tsurugi\b//g for $ordinary, $memory;
	return ($ordinary, $memory);
}

1;

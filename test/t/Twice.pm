# A script for psql, run twice at once, in databases of their own: as it is, and without the words that put its tables in memory.
# What it prints has to be the same.
package Twice;

use strict;
use warnings;
use PostgreSQL::Test::Utils;

# Databases "ordinary" and "memory" of a server.
sub databases
{
	my ($node) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE postgres STRATEGY file_copy") for 'ordinary', 'memory';
}

# Writes to a file: who waits for a reader of his pipe keeps a transaction open, which the other may be waiting for.
sub start
{
	my ($node, $database, $text, @options) = @_;
	my $file = $node->basedir . "/$database.sql";

	open my $script, '>:utf8', $file or die;
	print $script $text;
	close $script;
	return IPC::Run::start([ 'psql', '-XqA', @options, '-v', 'SHOW_CONTEXT=never', '-f', $file, '-d', $node->connstr($database) . ' client_encoding=utf8' ],
		'<', \undef, '>', "$file.out", '2>&1');
}

# What psql with some options prints for a script, of tables in memory.
sub run_memory
{
	my ($node, $text, @options) = @_;

	start($node, 'memory', $text, @options)->finish;
	return cleaned(slurp_file($node->basedir . '/memory.sql.out'));
}

# Without where in the script it was said, and of which kind of table.
sub cleaned
{
	return $_[0] =~ s/^psql:.*?: //mgr =~ s/\bforeign table\b/table/gr =~ s/ USING tsurugi\b//gr;
}

# What psql with some options prints for a script, of ordinary tables and of those in memory.
sub run
{
	my ($node, $text, @options) = @_;
	my @runs = (start($node, 'ordinary', $text =~ s/ USING tsurugi\b//gr =~ s/ACCESS METHOD tsurugi\b/ACCESS METHOD heap/gr =~ s/\bFOREIGN TABLE\b/TABLE/gr, @options), start($node, 'memory', $text, @options));

	$_->finish for @runs;
	return map { cleaned(slurp_file($node->basedir . "/$_.sql.out")) } 'ordinary', 'memory';
}

1;

# What tests of transactions that several sessions work in have in common.
package SharedTransaction;

use strict;
use warnings;
use Exporter 'import';
use Test::More;

our @EXPORT = qw(attach detach by_handle wait_for_waiter lines_of load_with_a_wrong_file);

# A function of a handle, called in a session.
sub by_handle
{
	my ($session, $function, $handle) = @_;

	return $session->query("SELECT tsurugi.$function('$handle')");
}

sub attach
{
	my ($handle, @sessions) = @_;

	by_handle($_, 'attach_transaction', $handle) for @sessions;
}

sub detach
{
	$_->query('SELECT tsurugi.detach_transaction()') for @_;
}

# Waits until a session's statement, which begins with the text, waits: for a lock, or as waits of ours are shown.
sub wait_for_waiter
{
	my ($node, $text) = @_;

	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE starts_with(query, '$text') AND wait_event_type IN ('Lock', 'Extension')")
		or die "nobody waits";
}

# A file's lines of a load by the i-th of several loaders, for COPY.
sub lines_of
{
	my ($i, $rows) = @_;

	return join('', map { "$_\t$i\n" } $i * $rows .. ($i + 1) * $rows - 1);
}

# Sessions load files of a directory, 0 and so on, but the second one "wrong", where there is a key of another one's, in a
# transaction that is not to be committed then.
sub load_with_a_wrong_file
{
	my ($directory, $handle, $other, @loaders) = @_;

	attach($handle, @loaders);
	$loaders[$_]->send("\\copy load FROM '$directory/" . ($_ == 1 ? 'wrong' : $_) . "'") for 0 .. $#loaders;
	my @outcomes = map { $_->wait } @loaders;
	cmp_ok(scalar(grep { /^ERROR (23505|25P02)$/ } @outcomes), '>=', 1, 'a key is there twice');
	detach(@loaders);
	is(by_handle($other, 'commit_transaction', $handle), 'ERROR 25P02', 'no commit');
}

1;

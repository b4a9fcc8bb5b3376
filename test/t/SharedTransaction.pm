# What tests of transactions that several sessions work in have in common.
package SharedTransaction;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(attach detach by_handle wait_for_waiter is_without_failpoints lines_of);

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

sub is_without_failpoints
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "SELECT current_setting('tsurugi_fdw.failpoints', true) IS NULL") eq 't';
}

# A file's lines of a load by the i-th of several loaders, for COPY.
sub lines_of
{
	my ($i, $rows) = @_;

	return join('', map { "$_\t$i\n" } $i * $rows .. ($i + 1) * $rows - 1);
}

1;

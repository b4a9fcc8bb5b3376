# Text that sessions of other databases have written, in their encodings, and text that is cut.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('encodings', max_connections => 20);

$node->safe_psql('postgres', "CREATE DATABASE $_->[0] ENCODING '$_->[1]' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	for [ 'latin', 'LATIN1' ], [ 'utf', 'UTF8' ];
$node->safe_psql($_, 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY) SERVER tsurugi') for 'latin', 'utf';
my $latin = TestServer::Session->new($node, 'latin');
$latin->query('SET client_encoding = UTF8');
$latin->query("SET tsurugi_fdw.transaction_label = 'caf\xc3\xa9'");
my $handle = $latin->query("SELECT tsurugi.begin_transaction('t')");
my $failing = $latin->query("SELECT tsurugi.begin_transaction('t')");
$latin->query("SELECT tsurugi.attach_transaction('$failing')");
$latin->query('BEGIN');
$latin->query('INSERT INTO t VALUES (1)');
$latin->query("DO \$\$ BEGIN RAISE 'd\xc3\xa9fendu'; END \$\$");
$latin->query('ROLLBACK');
$latin->query('SELECT tsurugi.detach_transaction()');
$latin->query('BEGIN');
$latin->query('INSERT INTO t VALUES (2)');
my $utf = TestServer::Session->new($node, 'utf');
$utf->query('SET client_encoding = LATIN1'); # so that characters have to be some
is($utf->query("SELECT DISTINCT label FROM tsurugi.transactions WHERE label LIKE 'caf%'"), 'caf?',
	'of a label of another encoding what is no character is replaced');
is($utf->query("SELECT DISTINCT label FROM tsurugi.shared_transactions WHERE database = 'latin' AND label <> ''"), 'caf?',
	'in each view');
is($utf->query("SELECT error FROM tsurugi.shared_transactions WHERE database = 'latin' AND error <> ''"),
	'A session that worked in it failed with P0001: d?fendu', 'and of an error');
is($latin->query("SELECT DISTINCT label FROM tsurugi.transactions WHERE database = 'latin'"), "caf\xc3\xa9", 'in its own it is as it was set');
$latin->query('ROLLBACK');
$latin->query("SELECT tsurugi.abort_transaction('$handle')");
$latin->close;

# a message that is cut is cut between characters, wherever they begin
for my $before ('', 'x')
{
	$handle = $utf->query("SELECT tsurugi.begin_transaction('t')");
	$utf->query("SELECT tsurugi.attach_transaction('$handle')");
	$utf->query('BEGIN');
	$utf->query('INSERT INTO t VALUES (1)');
	$utf->query("DO \$\$ BEGIN RAISE '$before%', repeat(chr(233), 300); END \$\$");
	$utf->query('ROLLBACK');
	$utf->query('SELECT tsurugi.detach_transaction()');
	is($utf->query("SELECT right(tsurugi.transaction_error('$handle'), 3)"), "\xe9\xe9\xe9", 'a long message is cut after a character');
}
$utf->close;
$node->stop;
done_testing();

# Tables in memory are analyzed without being asked, as autovacuum does it with ordinary ones: those that have changed enough, in every
# database; who needs them locked does not wait for it, and what could not be analyzed is tried again.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use Test::More;

my $node = TestServer::start('analyze', autovacuum => 'on', autovacuum_naptime => '1s', deadlock_timeout => "'100ms'",
	'tsurugi_fdw.create_table' => 'on');
my $values = sub { "SELECT n_distinct FROM pg_stats WHERE tablename = '$_[0]' AND attname = 'v'" };
my $process = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'tsurugi_fdw analyze'};

$node->safe_psql('postgres', q{
	CREATE TABLE few (id int PRIMARY KEY, v int);
	INSERT INTO few SELECT g, 1 FROM generate_series(1, 40) g;
	CREATE TABLE many (id int PRIMARY KEY, v int);
	INSERT INTO many SELECT g, g % 10 FROM generate_series(1, 5000) g});
ok($node->poll_query_until('postgres', $values->('many'), '10'), 'a table that was filled is analyzed');
is($node->safe_psql('postgres', "SELECT relname, reltuples FROM pg_class WHERE relname IN ('few', 'many') ORDER BY 1"), "few|-1\nmany|5000",
	'one with few rows is not');
$node->safe_psql('postgres', 'UPDATE many SET v = id % 5');
ok($node->poll_query_until('postgres', $values->('many'), '5'), 'changed rows count');
$node->safe_psql('postgres', 'DELETE FROM many WHERE v > 1');
ok($node->poll_query_until('postgres', $values->('many'), '2'), 'and deleted ones');

# what was analyzed by hand has not changed since
$node->safe_psql('postgres', q{
	BEGIN;
	CREATE TABLE by_hand (id int, v int);
	INSERT INTO by_hand SELECT g, g % 7 FROM generate_series(1, 1000) g;
	ALTER TABLE by_hand ALTER v SET (n_distinct = 3);
	ANALYZE by_hand;
	COMMIT;
	ALTER TABLE by_hand ALTER v RESET (n_distinct);
	CREATE DATABASE other});

# in a second database; and a table that somebody has locked is done later
$node->safe_psql('other', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE TABLE locked (v int);
	CREATE TABLE beside (v int)});
my $holder = TestServer::Session->new($node, 'other');
$holder->query('BEGIN; LOCK TABLE locked IN SHARE UPDATE EXCLUSIVE MODE');
$node->safe_psql('other', "INSERT INTO $_ SELECT g % 10 FROM generate_series(1, 1000) g") for 'locked', 'beside';
ok($node->poll_query_until('other', $values->('beside'), '10'), 'in another database, too');
is($node->safe_psql('other', $values->('locked')), '', 'who has a table locked is let be');
$holder->query('COMMIT');
$holder->close;
ok($node->poll_query_until('other', $values->('locked'), '10'), 'and it is analyzed afterwards');
is($node->safe_psql('postgres', $values->('by_hand')), '3', 'what was analyzed by hand is not analyzed again');

# an index expression that fails, and then hangs, in that process alone
my $in_background = q{(SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) LIKE '%analyze'};
$node->safe_psql('other', qq{
	CREATE FUNCTION odd(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS \$\$
		BEGIN IF $in_background THEN RAISE 'not here'; END IF; RETURN v; END \$\$;
	CREATE TABLE fails (v int);
	CREATE INDEX ON fails (odd(v));
	CREATE TABLE after (v int);
	INSERT INTO fails SELECT g % 10 FROM generate_series(1, 1000) g;
	INSERT INTO after SELECT g % 10 FROM generate_series(1, 1000) g});
ok($node->poll_query_until('other', $values->('after'), '10'), 'one that fails does not keep it from the next one');
is($node->safe_psql('other', $values->('fails')), '', 'but has no statistics');
$node->safe_psql('other', q{CREATE OR REPLACE FUNCTION odd(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v'});
ok($node->poll_query_until('other', $values->('fails'), '10'), 'until it does not fail any more');
$node->safe_psql('other', qq{
	CREATE OR REPLACE FUNCTION odd(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS \$\$
		BEGIN IF $in_background THEN PERFORM pg_sleep(1000); END IF; RETURN v; END \$\$;
	UPDATE fails SET v = 1});
my $hangs = q{SELECT count(*) FROM pg_stat_progress_analyze WHERE relid = 'fails'::regclass};
ok($node->poll_query_until('other', $hangs, '1'), 'one hangs');
is(TestServer::sqlstate($node, "SET statement_timeout = '60s'; ALTER TABLE fails ADD w int", 'other'), '00000', 'who needs the table ends it');
ok($node->poll_query_until('other', $hangs, '1'), 'another hangs');
is(TestServer::sqlstate($node, "SET statement_timeout = '60s'; DROP DATABASE other"), '00000', 'who drops the database ends it');
ok($node->poll_query_until('postgres', $process, '0'), 'and nobody is left');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

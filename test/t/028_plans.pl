# Plans on the data of the demo: which way each query takes.  What is sensible is
# said beside it; costs are not looked at.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('plans', 'jit' => 'off');
my $data = "$FindBin::RealBin/../../demo/data";

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE airlines (carrier text COLLATE "C" PRIMARY KEY, name text) SERVER tsurugi;
	CREATE FOREIGN TABLE airports (faa text COLLATE "C" PRIMARY KEY, name text, lat float, lon float, alt int, tz int, dst text, tzone text) SERVER tsurugi;
	CREATE FOREIGN TABLE planes (tailnum text COLLATE "C" PRIMARY KEY, year int, type text, manufacturer text COLLATE "C", model text, engines int,
		seats int, speed int, engine text) SERVER tsurugi;
	CREATE FOREIGN TABLE weather (origin text COLLATE "C", year int, month int, day int, hour int, temp float, dewp float, humid float, wind_dir int,
		wind_speed float, wind_gust float, precip float, pressure float, visib float, time_hour timestamptz, PRIMARY KEY (origin, time_hour)) SERVER tsurugi;
	CREATE INDEX ON weather (temp);
	CREATE INDEX ON planes (manufacturer, year DESC);
	CREATE TABLE notes (origin text COLLATE "C", at timestamptz, note text)});
for my $table (qw(airlines airports planes weather))
{
	my $file = -f "$data/$table.csv" ? "cat \"$data/$table.csv\"" : "gzip -dc \"$data/$table.csv.gz\"";

	$node->safe_psql('postgres', "\\copy $table FROM PROGRAM '$file' (FORMAT csv, HEADER, NULL 'NA')");
}
$node->safe_psql('postgres', q{INSERT INTO notes SELECT origin, time_hour, 'windy' FROM weather WHERE wind_speed > 35;
	ANALYZE airlines, airports, planes, weather, notes});

# A plan as one line, without what belongs to PostgreSQL's words for a scan.
sub plan_of
{
	my ($query) = @_;
	my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query");

	$plan =~ s/\n\s*(?:->)?\s*/ > /g;
	return $plan;
}

sub takes { my ($query, $pattern, $why) = @_; like(plan_of($query), $pattern, $why); }
sub avoids { my ($query, $pattern, $why) = @_; unlike(plan_of($query), $pattern, $why); }

takes("SELECT * FROM planes WHERE tailnum = 'N10156'", qr/key look-up/, 'a whole key: look-up');
takes("SELECT * FROM planes WHERE tailnum IN ('N10156', 'N102UW', 'N103US')", qr/key look-up/, 'an IN list: several');
takes("SELECT * FROM weather WHERE origin = 'JFK' AND time_hour = '2013-03-01 05:00 UTC'", qr/key look-up/, 'two columns');
takes("SELECT * FROM weather WHERE origin = 'JFK' AND time_hour BETWEEN '2013-03-01' AND '2013-03-02'", qr/key range/, 'a day of one place: range');
takes("SELECT * FROM weather WHERE time_hour = '2013-03-01 05:00 UTC'", qr/whole table/, 'not the first column: scan');
takes('SELECT * FROM weather', qr/whole table/, 'everything: scan');
takes('SELECT count(*) FROM weather', qr/Tsurugi Job.*scan weather, aggregate/, 'the number of all: a job');
takes('SELECT temp FROM weather WHERE wind_speed > 20', qr/whole table/, 'no index: scan');
takes('SELECT avg(temp) FROM weather WHERE wind_speed > 20', qr/Tsurugi Job.*scan weather, filter.*, aggregate/, 'an average of some: a job');
takes("SELECT * FROM planes WHERE tailnum LIKE 'N10%'", qr/Foreign Scan/, 'a prefix');
takes('SELECT * FROM weather ORDER BY origin, time_hour LIMIT 10', qr/^Limit > Foreign Scan.*ascending/, 'the first by key: no sort');
takes('SELECT * FROM weather ORDER BY origin DESC, time_hour DESC LIMIT 10', qr/^Limit > Foreign Scan.*descending/, 'the last');
takes("SELECT max(time_hour) FROM weather WHERE origin = 'LGA'", qr/Limit > Foreign Scan.*key range, descending/, 'a maximum: the end of a range');
takes('SELECT * FROM weather ORDER BY temp DESC NULLS LAST, origin', qr{Tsurugi Job.*scan weather, sort by}, 'all in another order: a job that sorts');
takes('SELECT * FROM weather WHERE temp > 98', qr/weather_temp_idx|index range/i, 'few by a second index');
takes('SELECT * FROM weather WHERE temp > 20', qr/whole table/, 'nearly all: scan');
takes("SELECT * FROM planes WHERE manufacturer = 'BOMBARDIER INC' ORDER BY year DESC LIMIT 5", qr/Limit > Foreign Scan/, 'an index gives the order, too');
takes("SELECT p.* FROM (VALUES ('N10156'), ('N102UW')) v (t) JOIN planes p ON p.tailnum = v.t", qr/Nested Loop.*key look-up/, 'two rows with many: look-ups');
takes('SELECT w.temp, n.note FROM notes n JOIN weather w ON w.origin = n.origin AND w.time_hour = n.at WHERE n.at < \'2013-01-20\'',
	qr/Nested Loop.*Seq Scan on notes.*key look-up/, 'few ordinary rows with many: look-ups');
takes('SELECT a.name, avg(w.temp) FROM weather w JOIN airports a ON a.faa = w.origin GROUP BY a.name', qr/Tsurugi Job.*scan airports a, build.*scan weather w, probe 1/, 'all with all, in groups: a job');
takes('SELECT a.name, w.temp FROM weather w JOIN airports a ON a.faa = w.origin', qr/Hash Join|Merge Join|Memoize/, 'all with all: no loop of look-ups');
takes('SELECT a.faa, l.temp FROM airports a, LATERAL (SELECT temp FROM weather w WHERE w.origin = a.faa ORDER BY time_hour DESC LIMIT 1) l',
	qr/Nested Loop.*Limit > Foreign Scan on weather w > .*key range, descending/, 'the last of each: the end of a range');
avoids('SELECT w.temp FROM weather w LEFT JOIN airports a ON a.faa = w.origin', qr/airports/, 'a join that changes nothing is left out');
takes('SELECT origin, count(*) FROM weather GROUP BY origin', qr/Tsurugi Job.*scan weather, group by/, 'groups: a job');
takes('SELECT DISTINCT origin FROM weather', qr/Tsurugi Job/, 'distinct: a job');
takes(q{SELECT count(*) FROM weather WHERE origin = 'JFK' AND time_hour BETWEEN '2013-03-01' AND '2013-03-02'}, qr/Aggregate.*key range/, 'an aggregate of a day: no job');
takes("UPDATE planes SET seats = seats + 1 WHERE tailnum = 'N10156'", qr/Tsurugi Update: direct, key look-up/, 'UPDATE by key: direct');
takes("DELETE FROM weather WHERE origin = 'JFK' AND time_hour < '2013-01-02'", qr/Tsurugi Delete: direct, key range/, 'DELETE of a range: direct');
takes("UPDATE planes p SET seats = 0 FROM notes n WHERE p.tailnum = n.note", qr/row by row/, 'UPDATE by a join: row by row');
takes('SELECT * FROM weather WHERE EXISTS (SELECT 1 FROM notes n WHERE n.origin = weather.origin AND n.at = weather.time_hour)',
	qr/Hash|Nested Loop/, 'a semi-join');
# rows that the transaction has just made count, too
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE fresh (id int, v int) SERVER tsurugi});
unlike($node->safe_psql('postgres', q{BEGIN; INSERT INTO fresh SELECT g, g FROM generate_series(1, 20000) g;
	EXPLAIN (COSTS OFF) SELECT count(*) FROM fresh a JOIN fresh b USING (id)}), qr/Nested Loop/, 'a table filled by the same transaction is not taken for empty');
$node->stop;
done_testing();

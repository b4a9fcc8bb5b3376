-- A tour of tsurugi_fdw, one psql session.  Run by demo/run.sh.
-- 1. Tables in memory are declared the usual way; the key is a real one.
CREATE EXTENSION tsurugi_fdw;
CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;

CREATE FOREIGN TABLE airlines (
    carrier text PRIMARY KEY,
    name    text NOT NULL
) SERVER tsurugi;

CREATE FOREIGN TABLE airports (
    faa   text PRIMARY KEY,
    name  text NOT NULL,
    lat   double precision,
    lon   double precision,
    alt   integer,
    tz    integer,
    dst   text,
    tzone text
) SERVER tsurugi;

CREATE FOREIGN TABLE planes (
    tailnum      text PRIMARY KEY,
    year         integer,
    type         text,
    manufacturer text,
    model        text,
    engines      integer CHECK (engines > 0),
    seats        integer,
    speed        integer,
    engine       text
) SERVER tsurugi;

-- One row per airport and hour.  The local hour is not unique, as the clocks
-- were put back in November; the point in time is.
CREATE FOREIGN TABLE weather (
    origin     text,
    year       integer,
    month      integer,
    day        integer,
    hour       integer,
    temp       double precision,
    dewp       double precision,
    humid      double precision,
    wind_dir   integer,
    wind_speed double precision,
    wind_gust  double precision,
    precip     double precision,
    pressure   double precision,
    visib      double precision,
    time_hour  timestamptz,
    PRIMARY KEY (origin, time_hour)
) SERVER tsurugi;

\d weather

-- 2. COPY loads them, and so do loads of files of the server: in a transaction, or by all workers.
\copy airlines FROM 'demo/data/airlines.csv' (FORMAT csv, HEADER, NULL 'NA')
\copy airports FROM 'demo/data/airports.csv' (FORMAT csv, HEADER, NULL 'NA')
\! gzip -d demo/data/*.gz
\set data `pwd`/demo/data
SELECT rows, rejected, way FROM tsurugi.load('planes', ARRAY[:'data' || '/planes.csv'],
    on_error => 'skip', options => '{"header": true, "null": "NA"}');
SELECT rows, transactions, way FROM tsurugi.load('weather', ARRAY[:'data' || '/weather.csv'], transactional => false,
    options => '{"header": true, "null": "NA"}');
ANALYZE airlines, airports, planes, weather;

-- 3. A point and a range by key; anything else that SQL can say.
SELECT name, lat, lon FROM airports WHERE faa = 'JFK';

SELECT time_hour, temp, wind_speed, wind_gust
FROM weather
WHERE origin = 'JFK' AND time_hour BETWEEN '2013-07-04 12:00Z' AND '2013-07-04 17:00Z'
ORDER BY time_hour;

SELECT a.name, round(avg(w.temp)::numeric, 1) AS temp, round(max(w.wind_gust)::numeric, 1) AS gust, count(*) AS hours
FROM weather w JOIN airports a ON a.faa = w.origin
GROUP BY a.name
ORDER BY a.name;

-- The same goes into a file in Parquet, which tells its columns.
SELECT rows FROM tsurugi.dump('SELECT origin, time_hour, temp FROM weather WHERE temp > 90', :'data', prefix => 'hot');
SELECT name, type FROM tsurugi.describe_file(:'data' || '/hot_00001.parquet');

-- So two statements make a table of such a file, and load it.
SELECT format('CREATE FOREIGN TABLE hot (%s) SERVER tsurugi', string_agg(format('%I %s', name, type), ', ' ORDER BY n))
FROM tsurugi.describe_file(:'data' || '/hot_00001.parquet') \gexec
SELECT rows, way FROM tsurugi.load('hot', ARRAY[:'data' || '/hot_00001.parquet']);

-- 4. One transaction over a table in memory and an ordinary one.
CREATE TABLE inspection (
    tailnum text PRIMARY KEY,
    due     date NOT NULL
);

BEGIN;
INSERT INTO inspection
SELECT tailnum, DATE '2014-01-01' + engines
FROM planes
WHERE manufacturer = 'CESSNA' AND seats > 5;

SELECT p.tailnum, p.model, p.seats, i.due
FROM inspection i JOIN planes p USING (tailnum)
ORDER BY p.tailnum;
COMMIT;
ANALYZE inspection;

-- 5. UPDATE and DELETE, with RETURNING.
UPDATE planes SET seats = seats + 2 WHERE tailnum = 'N10156' RETURNING tailnum, model, seats;
DELETE FROM airlines WHERE carrier IN ('OO', 'HA') RETURNING *;

-- 6. What is rolled back did not happen.
SELECT count(*), sum(seats) FROM planes;
BEGIN;
DELETE FROM planes WHERE engines = 2;
SELECT count(*), sum(seats) FROM planes;
ROLLBACK;
SELECT count(*), sum(seats) FROM planes;

BEGIN;
INSERT INTO airlines VALUES ('ZZ', 'Kept Airways');
SAVEPOINT before_doubt;
UPDATE airlines SET name = 'Doubtful Airways' WHERE carrier = 'ZZ';
DELETE FROM airlines WHERE carrier <> 'ZZ';
SELECT * FROM airlines;
ROLLBACK TO before_doubt;
COMMIT;
SELECT count(*) AS carriers, max(name) FILTER (WHERE carrier = 'ZZ') AS zz FROM airlines;

-- 7. How a statement is run: a look-up by key in place,
EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT name FROM airports WHERE faa = 'JFK';

-- an UPDATE by key without a row passing through the executor,
EXPLAIN (VERBOSE, COSTS OFF)
UPDATE planes SET seats = seats + 1 WHERE tailnum = 'N10156';

-- a join by look-ups,
EXPLAIN (COSTS OFF)
SELECT p.model FROM inspection i JOIN planes p USING (tailnum);

-- a scan of a whole table by the workers,
EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT origin, temp FROM weather WHERE temp > 95;

-- and joins and aggregates as a job of theirs.
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT a.name, avg(w.temp), max(w.wind_gust), count(*)
FROM weather w JOIN airports a ON a.faa = w.origin
GROUP BY a.name;

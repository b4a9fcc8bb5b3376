-- Every type of PostgreSQL's can be stored, and comes back as it was.
CREATE TYPE types_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE types_pair AS (a int, b text);
CREATE DOMAIN types_positive AS int CHECK (value > 0);
CREATE DOMAIN types_amount AS numeric(5, 2);

-- The same rows in an ordinary table
CREATE TABLE stored (
	id int PRIMARY KEY,
	c_bool bool, c_int2 int2, c_int8 int8, c_float4 float4, c_float8 float8, c_char "char", c_oid oid, c_regclass regclass,
	c_name name, c_text text, c_varchar varchar(20), c_bpchar char(5), c_bytea bytea, c_bit bit(5), c_varbit varbit,
	c_date date, c_time time, c_timetz timetz, c_timestamp timestamp, c_timestamptz timestamptz, c_interval interval,
	c_uuid uuid, c_macaddr macaddr, c_macaddr8 macaddr8, c_inet inet, c_cidr cidr, c_money money, c_lsn pg_lsn,
	c_xid xid, c_xid8 xid8, c_tid tid, c_json json, c_jsonb jsonb, c_jsonpath jsonpath, c_xml xml,
	c_ints int[], c_texts text[], c_int2vector int2vector, c_oidvector oidvector,
	c_point point, c_box box, c_line line, c_lseg lseg, c_circle circle, c_path path, c_polygon polygon,
	c_range int4range, c_multirange int4multirange, c_tsvector tsvector, c_tsquery tsquery, c_snapshot pg_snapshot,
	c_mood types_mood, c_pair types_pair, c_positive types_positive, c_amount types_amount, c_numeric numeric
);
CREATE TABLE ordinary (LIKE stored) USING heap;
INSERT INTO ordinary
SELECT i, i % 2 = 0, -i, -i * 10000000000, i / 3.0, -i / 7.0, chr(60 + i)::"char", i, 'pg_class',
	'name' || i, repeat('t', i * 3), 'vc' || i, 'b' || i % 3, decode(repeat('00ff', i), 'hex'), B'10101', B'1',
	'2020-01-01'::date + i, '10:00'::time + i * interval '1 s', '10:00+02'::timetz, '2020-01-01'::timestamp + i * interval '1 h',
	'infinity', (i || ' mon -3 days 4.5 s')::interval,
	md5(i::text)::uuid, '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', ('10.0.0.' || i)::inet, '10.0.0.0/8', i::money, '0/16B3748',
	'77', '123', '(1,2)', '{"a":1}', ('{"b":"' || repeat('z', i) || '"}')::jsonb, '$.a[*] ? (@ > 1)', '<a>x</a>',
	ARRAY[i, NULL, 3], ARRAY['a', NULL, repeat('q', i)], '1 2 3', '4 5 6',
	point(i, -i), box(point(0, 0), point(i, i)), line(point(0, 0), point(1, i)), lseg(point(0, 0), point(1, i)),
	circle(point(0, 0), i), '[(0,0),(1,1),(2,0)]', '((0,0),(1,1),(2,0))',
	int4range(i, i + 5), '{[1,3),[5,9)}', to_tsvector('simple', 'a quick fox ' || i), 'a & b', '10:20:10,14,15',
	(ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::types_mood, ROW(i, repeat('c', i))::types_pair, i, i + 0.25, i * 1.5
FROM generate_series(1, 10) i;
INSERT INTO ordinary (id) VALUES (11);
-- around the longest string that lies in the row
INSERT INTO ordinary (id, c_text, c_bytea) SELECT 20 + i, repeat('x', i), decode(repeat('ab', i), 'hex') FROM generate_series(0, 20) i;
-- compressed and out of line in the ordinary table
INSERT INTO ordinary (id, c_text) VALUES (12, repeat('compressible ', 10000));
INSERT INTO ordinary (id, c_text, c_bytea, c_texts)
SELECT 13, string_agg(md5(i::text), ''), decode(string_agg(md5(i::text), ''), 'hex'), array_agg(md5(i::text)) FROM generate_series(1, 10000) i;

INSERT INTO stored SELECT * FROM ordinary;
SELECT count(*), count(*) FILTER (WHERE s::text IS DISTINCT FROM o::text) AS wrong FROM ordinary o LEFT JOIN stored s USING (id);
SELECT c_text, c_name, c_pair, c_box, c_amount, c_numeric, c_ints FROM stored WHERE id = 3;

-- Types whose functions expect no short header
SELECT c_tsvector @@ c_tsquery AS matches, numnode(c_tsquery) AS nodes, c_int2vector[0], array_length(c_oidvector, 1) FROM stored WHERE id = 1;

-- What an UPDATE does not change stays
UPDATE stored SET c_int2 = 1;
UPDATE stored SET c_text = c_text || 'y' WHERE id % 2 = 0;
UPDATE stored SET c_bytea = NULL, c_texts = ARRAY['new'] WHERE id > 10;
UPDATE ordinary SET c_int2 = 1;
UPDATE ordinary SET c_text = c_text || 'y' WHERE id % 2 = 0;
UPDATE ordinary SET c_bytea = NULL, c_texts = ARRAY['new'] WHERE id > 10;
SELECT count(*), count(*) FILTER (WHERE s::text IS DISTINCT FROM o::text) AS wrong FROM ordinary o LEFT JOIN stored s USING (id);

-- numeric with a precision is stored as an integer: bit by bit what PostgreSQL makes of it
CREATE TABLE numbers (
	id int PRIMARY KEY, a numeric(18, 0), b numeric(18, 7), c numeric(38, 19), d numeric(38, 38), e numeric(5, 2), f numeric(30, 0),
	g numeric, h numeric(10, -2), i numeric(3, 5), j numeric(18, 18), k numeric(19, 1)
);
CREATE TABLE ordinary_numbers (LIKE numbers) USING heap;
INSERT INTO ordinary_numbers
SELECT id, mod(trunc(x), 1e18), mod(x, 1e10), mod(x, 1e18), mod(x, 0.9), mod(x, 999), mod(x, 1e29), x, mod(x, 1e9), mod(x, 0.0099), mod(x, 0.9), mod(x, 1e17)
FROM (
	SELECT id, (('x' || substr(md5(id::text), 1, 8))::bit(32)::int)::numeric * power(10::numeric, id % 41 - 25) AS x
	FROM generate_series(1, 1000) id
) source;
INSERT INTO ordinary_numbers VALUES
	(9001, 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', 'Infinity', 'NaN', 'NaN', 'NaN', 'NaN'),
	(9002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	(9003, 999999999999999999, 99999999999.9999999, 9999999999999999999.9999999999999999999,
		0.99999999999999999999999999999999999999, 999.99, 999999999999999999999999999999, 1e100, 9999999999, 0.00999,
		0.999999999999999999, 999999999999999999.9);
INSERT INTO ordinary_numbers SELECT 9004, -a, -b, -c, -d, -e, -f, -g, -h, -i, -j, -k FROM ordinary_numbers WHERE id = 9003;
INSERT INTO numbers SELECT * FROM ordinary_numbers;
SELECT count(*), count(*) FILTER (WHERE numeric_send(n.a) <> numeric_send(o.a) OR numeric_send(n.b) <> numeric_send(o.b)
	OR numeric_send(n.c) <> numeric_send(o.c) OR numeric_send(n.d) <> numeric_send(o.d) OR numeric_send(n.e) <> numeric_send(o.e)
	OR numeric_send(n.f) <> numeric_send(o.f) OR numeric_send(n.g) <> numeric_send(o.g) OR numeric_send(n.h) <> numeric_send(o.h)
	OR numeric_send(n.i) <> numeric_send(o.i) OR numeric_send(n.j) <> numeric_send(o.j) OR numeric_send(n.k) <> numeric_send(o.k)) AS wrong
FROM ordinary_numbers o LEFT JOIN numbers n USING (id);
SELECT * FROM numbers WHERE id > 9000 ORDER BY id;
INSERT INTO numbers (id, e) VALUES (1, 1000);
SELECT sum(a), min(c), max(k) FROM numbers WHERE id > 9001;

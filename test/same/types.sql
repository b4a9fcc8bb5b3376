-- Every type: stored, returned, compared, sorted, grouped, joined, changed, aggregated.
CREATE EXTENSION citext;
CREATE EXTENSION hstore;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE point3 AS (x int, y numeric, z text);
CREATE TYPE nested AS (p point3, ps point3[]);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN word AS varchar(20) NOT NULL;
CREATE TYPE textrange AS RANGE (subtype = text);

-- the type, and values of it
CREATE TABLE samples (id int GENERATED ALWAYS AS IDENTITY, type text, value text) USING heap;
INSERT INTO samples (type, value)
SELECT type, unnest(vals) FROM (VALUES
	('boolean', ARRAY['t', 'f', NULL]),
	('smallint', ARRAY['0', '-32768', '32767', NULL]),
	('integer', ARRAY['0', '-2147483648', '2147483647', NULL]),
	('bigint', ARRAY['0', '-9223372036854775808', '9223372036854775807', NULL]),
	('real', ARRAY['0', '-0', '1.5', 'NaN', 'Infinity', '-Infinity', '1e-37', NULL]),
	('double precision', ARRAY['0', '-0', '1.5', 'NaN', 'Infinity', '-Infinity', '1e-300', NULL]),
	('numeric', ARRAY['0', '0.00', '-1.5', 'NaN', 'Infinity', '-Infinity', '1e1000', '123456789012345678901234567890.123456789', NULL]),
	('numeric(10,2)', ARRAY['0', '-1.5', 'NaN', '99999999.99', '-99999999.99', NULL]),
	('numeric(18,0)', ARRAY['999999999999999999', '-999999999999999999', NULL]),
	('numeric(38,10)', ARRAY['9999999999999999999999999999.9999999999', '-0.0000000001', 'NaN', NULL]),
	('numeric(100,50)', ARRAY['1e49', '-1e-50', NULL]),
	('numeric(3,-2)', ARRAY['12345', '-99900', NULL]),
	('money', ARRAY['0', '-$1.50', '$92233720368547758.07', NULL]),
	('text', ARRAY['', 'a', 'B', 'ä', repeat('long ', 1000), E'tab\tline\nquote''back\\slash', NULL]),
	('varchar(5)', ARRAY['', 'a', 'abcde', 'äöüßé', NULL]),
	('char(5)', ARRAY['', 'a', 'a  ', 'abcde', NULL]),
	('"char"', ARRAY['', 'a', 'z', NULL]),
	('name', ARRAY['', 'a', repeat('n', 63), NULL]),
	('citext', ARRAY['', 'a', 'A', 'b', 'Ä', NULL]),
	('hstore', ARRAY['', 'a=>1', 'a=>1, b=>NULL', NULL]),
	('bytea', ARRAY['', '\x00ff', '\x' || repeat('ab', 3000), NULL]),
	('date', ARRAY['2000-01-01', '4713-01-01 BC', '5874897-12-31', 'infinity', '-infinity', NULL]),
	('time', ARRAY['00:00', '24:00', '12:34:56.789012', NULL]),
	('time(2)', ARRAY['12:34:56.789012', NULL]),
	('timetz', ARRAY['00:00+15', '24:00-15', '12:34:56.789012+01', NULL]),
	('timestamp', ARRAY['2000-01-01', '4713-01-01 BC', '294276-12-31 23:59:59.999999', 'infinity', '-infinity', NULL]),
	('timestamptz', ARRAY['2000-01-01 UTC', '4713-01-02 BC UTC', 'infinity', '-infinity', NULL]),
	('interval', ARRAY['0', '1 month', '30 days', '720:00:00', '-178000000 years', '1 year 2 mons -3 days 04:05:06.7', NULL]),
	('interval day to second(2)', ARRAY['1 day 02:03:04.567', NULL]),
	('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', NULL]),
	('inet', ARRAY['192.168.1.5/24', '192.168.1.5', '::1', 'fe80::1/64', NULL]),
	('cidr', ARRAY['192.168.1.0/24', '10.0.0.0/8', '::/0', NULL]),
	('macaddr', ARRAY['08:00:2b:01:02:03', 'ff:ff:ff:ff:ff:ff', NULL]),
	('macaddr8', ARRAY['08:00:2b:01:02:03:04:05', NULL]),
	('bit(5)', ARRAY['10101', '00000', NULL]),
	('bit varying(70)', ARRAY['', '1', repeat('10', 35), NULL]),
	('point', ARRAY['(1,2)', '(NaN,Infinity)', NULL]),
	('line', ARRAY['{1,2,3}', NULL]),
	('lseg', ARRAY['[(0,0),(1,1)]', NULL]),
	('box', ARRAY['(1,1),(0,0)', NULL]),
	('path', ARRAY['[(0,0),(1,1),(2,0)]', '((0,0),(1,1),(2,0))', NULL]),
	('polygon', ARRAY['((0,0),(1,1),(2,0))', NULL]),
	('circle', ARRAY['<(0,0),2>', NULL]),
	('json', ARRAY['{"b": 1,  "a": [1, 2, null]}', 'null', '"text"', NULL]),
	('jsonb', ARRAY['{"b": 1,  "a": [1, 2, null]}', 'null', '[]', '1e100', NULL]),
	('jsonpath', ARRAY['$.a[*] ? (@ > 1)', NULL]),
	('xml', ARRAY['<a b="c">text</a>', 'content only', NULL]),
	('tsvector', ARRAY['', 'a:1A fat:2B,4C cat:5', NULL]),
	('tsquery', ARRAY['', 'fat & (cat | rat)', NULL]),
	('pg_lsn', ARRAY['0/0', 'FFFFFFFF/FFFFFFFF', NULL]),
	('oid', ARRAY['0', '4294967295', NULL]),
	('xid', ARRAY['0', '4294967295', NULL]),
	('xid8', ARRAY['0', '18446744073709551615', NULL]),
	('tid', ARRAY['(0,1)', '(4294967295,65535)', NULL]),
	('regclass', ARRAY['pg_class', NULL]),
	('regtype', ARRAY['integer', NULL]),
	('int4range', ARRAY['empty', '[1,5)', '(,)', '[3,)', NULL]),
	('int8range', ARRAY['[1,5]', NULL]),
	('numrange', ARRAY['[1.5,2.5]', '(,1e100)', NULL]),
	('tsrange', ARRAY['[2000-01-01,2001-01-01)', NULL]),
	('tstzrange', ARRAY['[2000-01-01 UTC,2001-01-01 UTC)', NULL]),
	('daterange', ARRAY['[2000-01-01,2001-01-01]', NULL]),
	('textrange', ARRAY['[a,b]', 'empty', NULL]),
	('int4multirange', ARRAY['{}', '{[1,3),[5,7)}', NULL]),
	('nummultirange', ARRAY['{[1.5,2.5]}', NULL]),
	('datemultirange', ARRAY['{[2000-01-01,2001-01-01)}', NULL]),
	('int[]', ARRAY['{}', '{1,NULL,3}', '{{1,2},{3,4}}', '[2:3]={7,8}', NULL]),
	('text[]', ARRAY['{}', '{"a b",NULL,"{}"}', '{' || repeat('long,', 1000) || 'x}', NULL]),
	('numeric(5,1)[]', ARRAY['{1.25,-99.9}', NULL]),
	('mood', ARRAY['happy', 'sad', 'ok', NULL]),
	('mood[]', ARRAY['{sad,happy}', NULL]),
	('point3', ARRAY['(1,2.50,three)', '(,,)', '(1,2,"' || repeat('z', 3000) || '")', NULL]),
	('point3[]', ARRAY['{"(1,2,three)",NULL}', NULL]),
	('nested', ARRAY['("(1,2,three)","{""(4,5,six)""}")', NULL]),
	('positive', ARRAY['1', '2147483647', NULL]),
	('word', ARRAY['word', 'another']),
	('daterange[]', ARRAY['{"[2000-01-01,2001-01-01)"}', NULL])
) AS v (type, vals);

-- Runs a statement on a table of each type, and shows what it returns, as text.
CREATE FUNCTION on_each(statement text) RETURNS TABLE (type text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT DISTINCT s.type, min(s.id) OVER (PARTITION BY s.type) AS number FROM samples s ORDER BY 2 LOOP
		type := t.type;
		BEGIN
			EXECUTE replace(replace(statement, 'TABLE_', 'type_' || t.number), 'TYPE_', t.type) INTO answer;
		EXCEPTION WHEN OTHERS THEN
			answer := sqlstate || ' ' || sqlerrm;
		END;
		answer := CASE WHEN length(answer) > 200 THEN md5(answer) ELSE answer END;
		RETURN NEXT;
	END LOOP;
END $$;
-- some of these fail for want of an operator; they have to fail alike
SET search_path = public;
DO $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT s.type, min(s.id) AS number FROM samples s GROUP BY 1 ORDER BY 2 LOOP
		EXECUTE format('CREATE TABLE type_%s (id int PRIMARY KEY, v %s)', t.number, t.type);
		EXECUTE format('INSERT INTO type_%s SELECT id, value::%s FROM samples WHERE type = %L', t.number, t.type, t.type);
	END LOOP;
END $$;
SELECT * FROM on_each($q$SELECT string_agg(coalesce(v::text, 'NULL'), ' | ' ORDER BY id) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT string_agg(id::text, ',' ORDER BY v, id) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT string_agg(id::text, ',' ORDER BY v DESC NULLS LAST, id) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a JOIN TABLE_ b ON a.v = b.v$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a JOIN TABLE_ b ON a.v < b.v$q$);
SELECT * FROM on_each($q$SELECT count(DISTINCT v) || ' ' || count(v) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT string_agg(v::text, ' ' ORDER BY v::text) FROM (SELECT DISTINCT v FROM TABLE_) d$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ t, samples s WHERE s.type = 'TYPE_' AND s.id = t.id AND (s.value::TYPE_)::text IS NOT DISTINCT FROM t.v::text$q$);
SELECT * FROM on_each($q$SELECT string_agg(pg_column_size(v) IS NULL || '', ',' ORDER BY id) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT min(v) || ' ' || max(v) FROM TABLE_$q$);
SELECT * FROM on_each($q$SELECT json_agg(t ORDER BY id) FROM TABLE_ t$q$);
SELECT * FROM on_each($q$SELECT array_agg(v ORDER BY id) FROM TABLE_$q$);
-- as a key
SELECT * FROM on_each($q$WITH d AS (DELETE FROM TABLE_ WHERE v IS NULL RETURNING 1) SELECT count(*) FROM d$q$);
SELECT * FROM on_each($q$WITH u AS (UPDATE TABLE_ SET v = v WHERE id > 0 RETURNING v) SELECT md5(string_agg(v::text, ',' ORDER BY v::text)) FROM u$q$);
SELECT * FROM on_each($q$WITH u AS (UPDATE TABLE_ a SET v = (SELECT b.v FROM TABLE_ b ORDER BY id LIMIT 1) RETURNING v) SELECT md5(string_agg(v::text, ',' ORDER BY v::text)) FROM u$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a, TABLE_ b WHERE a.v::text = b.v::text$q$);

-- with an index, and as a primary key; among equal ones any may come first
DELETE FROM samples WHERE samples.value = 'A';
DELETE FROM samples WHERE length(value) > 100; -- no key is that long
CREATE FUNCTION do_each(statement text) RETURNS TABLE (type text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT s.type, min(s.id) AS number FROM samples s GROUP BY 1 ORDER BY 2 LOOP
		BEGIN
			EXECUTE replace(replace(statement, 'TABLE_', 'type_' || t.number), 'TYPE_', t.type);
		EXCEPTION WHEN OTHERS THEN
			type := t.type;
			answer := sqlstate || ' ' || sqlerrm;
			RETURN NEXT;
		END;
	END LOOP;
END $$;
SELECT * FROM do_each('TRUNCATE TABLE_');
SELECT * FROM do_each('CREATE INDEX ON TABLE_ (v)');
SELECT * FROM do_each($q$INSERT INTO TABLE_ SELECT id, value::TYPE_ FROM samples WHERE type = 'TYPE_'$q$);
SET enable_seqscan = off;
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a WHERE a.v = (SELECT v FROM TABLE_ ORDER BY id LIMIT 1)$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a WHERE a.v > (SELECT v FROM TABLE_ ORDER BY id LIMIT 1)$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a WHERE a.v <= (SELECT v FROM TABLE_ ORDER BY id OFFSET 1 LIMIT 1)$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM TABLE_ a WHERE a.v IS NULL$q$);
SELECT * FROM on_each($q$SELECT count(*) FROM samples s, TABLE_ a WHERE s.type = 'TYPE_' AND a.v = s.value::TYPE_$q$);
SELECT * FROM on_each($q$SELECT string_agg(v::text, ' ') FROM (SELECT v FROM TABLE_ ORDER BY v) s$q$);
SELECT * FROM on_each($q$SELECT string_agg(v::text, ' ') FROM (SELECT v FROM TABLE_ ORDER BY v DESC) s$q$);
SELECT * FROM on_each($q$SELECT max(v) FROM TABLE_$q$);
RESET enable_seqscan;
SELECT * FROM do_each('DELETE FROM TABLE_ WHERE v IS NULL');
SELECT * FROM do_each('ALTER TABLE TABLE_ ADD UNIQUE (v)');
SELECT * FROM do_each($q$INSERT INTO TABLE_ SELECT 1000 + id, value::TYPE_ FROM samples WHERE type = 'TYPE_' AND value IS NOT NULL$q$);
SELECT * FROM do_each($q$INSERT INTO TABLE_ SELECT 1000 + id, value::TYPE_ FROM samples WHERE type = 'TYPE_' AND value IS NOT NULL ON CONFLICT (v) DO NOTHING$q$);
SELECT * FROM do_each('ALTER TABLE TABLE_ DROP CONSTRAINT IF EXISTS TABLE__pkey, ADD PRIMARY KEY (v)');
SELECT * FROM on_each($q$SELECT string_agg(id::text, ' ') FROM (SELECT id FROM TABLE_ ORDER BY v, id) s$q$);

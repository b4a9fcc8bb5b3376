-- Conditions on indexed columns with values that are not of the column's own type, size or scale:
-- each is a range of the index, and finds what an ordinary table does.

SET client_min_messages = warning;
CREATE SERVER index_bound FOREIGN DATA WRAPPER tsurugi_fdw;
SET timezone = 'Europe/Berlin';
-- every operator with every bound, in an ascending and a descending index
CREATE FUNCTION check_bounds(type text, vals text, bounds text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	bound text; operator text; direction text; query text; line text; answers text[]; t text; checked int = 0; found int = 0;
BEGIN
	DROP TABLE IF EXISTS ordinary;
	DROP FOREIGN TABLE IF EXISTS ours;
	EXECUTE format('CREATE TABLE ordinary (id serial, v %s)', type);
	EXECUTE format('CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v %s) SERVER index_bound', type);
	EXECUTE format('INSERT INTO ordinary (v) SELECT unnest(%L::%s[])', vals, split_part(type, ' COLLATE', 1));
	INSERT INTO ordinary (v) VALUES (NULL);
	INSERT INTO ours TABLE ordinary;
	FOREACH direction IN ARRAY ARRAY['ASC', 'DESC'] LOOP
		EXECUTE format('CREATE INDEX by_v ON ours (v %s)', direction);
		FOREACH bound IN ARRAY bounds LOOP
			FOREACH operator IN ARRAY ARRAY['<', '<=', '=', '>=', '>'] LOOP
				answers := '{}';
				FOREACH t IN ARRAY ARRAY['ordinary', 'ours'] LOOP
					query := format('SELECT id FROM %s WHERE v %s %s', t, operator, bound);
					EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), '''') FROM (%s) x', query) INTO line;
					answers := answers || line;
				END LOOP;
				IF answers[1] <> answers[2] THEN
					RETURN format('%s: %s %s finds %s, not %s', type, operator, bound, answers[2], answers[1]);
				END IF;
				checked := checked + 1;
				found := found + (answers[1] <> '')::int;
				FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
					IF line ~ 'Filter|Seq' THEN
						RETURN format('%s: %s %s is not by the index', type, operator, bound);
					END IF;
				END LOOP;
			END LOOP;
		END LOOP;
		DROP INDEX by_v;
	END LOOP;
	RETURN format('%s: %s of %s find rows', type, found, checked);
END $$;
SET enable_seqscan = off; SET jit = off; -- what is off costs so much that each query of it would be compiled
\pset tuples_only on
\pset format unaligned
SELECT check_bounds(t, v, b) FROM (VALUES
	('numeric(5,2)', '{-999.99,-0.01,0,0.01,1.5,999.99,NaN}', ARRAY['1.5', '1.500', '1.4999', '-0.005', '0.005', '-0.015', '999.99', '999.991', '999.999', '1000', '1e40',
		'-999.991', '-999.999', '-1000', '-1e40', '''NaN''', '''Infinity''', '''-Infinity''', '0::int', '2::bigint']),
	('numeric(38,10)', '{-9999999999999999999999999999.9999999999,-1e-10,0,1e-10,9999999999999999999999999999.9999999999,NaN}',
		ARRAY['0.00000000005', '-0.00000000015', '1e28', '-1e28', '9999999999999999999999999999.99999999995', '''Infinity''', '''NaN''']),
	('numeric(3,3)', '{-0.999,0,0.5,0.999}', ARRAY['0.4995', '1', '-1', '0.9999', '-0.9999', '0.5']),
	('numeric(4)', '{-9999,0,1,9999,NaN}', ARRAY['0.5', '-0.5', '10000', '9999.5', '-9999.5', '1']),
	('numeric', '{-5,0,0.1,1e50,NaN,Infinity}', ARRAY['0.05', '1', '''Infinity''', '''NaN''', '-4::int']),
	('int2', '{-32768,-1,0,1,32767}', ARRAY['0::bigint', '40000', '-40000', '32767::bigint', '1::int2']),
	('int4', '{-2147483648,0,5,2147483647}', ARRAY['5::bigint', '99999999999', '-99999999999', '5::int2']),
	('int8', '{-9223372036854775808,0,5,9223372036854775807}', ARRAY['5', '5::int2', '9223372036854775807']),
	('float4', '{-Infinity,-3.4028235e38,-1.5,0,0.1,1.5,3.4028235e38,Infinity,NaN}', ARRAY['1.5::float8', '0.1::float8', '0.1::float4', '1e300::float8', '-1e300::float8',
		'1e-300::float8', '-1e-300::float8', '''NaN''::float8', '''Infinity''::float8', '''-Infinity''::float8', '''-0''::float8']),
	('float8', '{-Infinity,-1.5,0,0.1,1.5,Infinity,NaN}', ARRAY['1.5::float4', '0.1::float4', '''NaN''::float4', '''Infinity''::float4', '1', '0.1']),
	('date', '{-infinity,4713-01-01 BC,1999-12-31,2000-01-01,2000-01-02,5874897-12-31,infinity}', ARRAY['''2000-01-01''::timestamp', '''2000-01-01 00:00:01''::timestamp',
		'''1999-12-31 23:59:59''::timestamp', '''1999-12-31''::timestamp', '''infinity''::timestamp', '''-infinity''::timestamp', '''294276-12-31 23:59''::timestamp']),
	('timestamp(3)', '{-infinity,1999-12-31 23:59:59.999,2000-01-01,2000-01-01 00:00:00.001,294276-12-31 23:59:59.999,infinity}', ARRAY['''2000-01-01''::date', '''2000-01-01 00:00:00.0005''::timestamp',
		'''2000-01-01 00:00:00.001''::timestamp(0)', '''5874897-12-31''::date', '''infinity''::date', '''-infinity''::date']),
	('timestamptz(0)', '{-infinity,1999-12-31 23:00+00,2000-01-01 00:00+00,2000-03-26 01:00+00,294276-12-31 23:59:59+00,infinity}', ARRAY['''2000-01-01''::date', '''2000-01-01 01:00''::timestamp',
		'''2000-03-26 02:30''::timestamp', '''2000-03-26 03:00''::timestamp', '''5874897-12-31''::date', '''infinity''::date', '''-infinity''::timestamp', '''2000-01-01 00:00:00.5+00''::timestamptz']),
	('varchar(3) COLLATE "C"', '{"","a","abc","abd","b"}', ARRAY['''abc''', '''abcd''', '''abcc''::varchar(4)', '''''', '''abd''::text']),
	('char(3) COLLATE "C"', '{"","a","a b","abd","b"}', ARRAY['''a''', '''a  ''', '''abcd''', '''''', '''abd''::char(9)']),
	('time(1)', '{00:00,12:00:00.1,24:00}', ARRAY['''12:00:00.05''', '''12:00:00.15''::time']),
	('interval(0)', '{0,1 s,1 mon,30 days}', ARRAY['''0.5 s''', '''30 days'''])) AS x (t, v, b);
RESET enable_seqscan; RESET jit;

-- lists of another type, joins, a partial index, and a zone that changes under a prepared statement
CREATE FOREIGN TABLE account (id int PRIMARY KEY, balance numeric(12,2), at timestamptz, f float4) SERVER index_bound;
INSERT INTO account SELECT i, i * 10 - 0.5, TIMESTAMPTZ '2024-01-01 00:00+01' + i * interval '1 hour', i / 10.0 FROM generate_series(1, 5000) i;
CREATE INDEX account_rich ON account (balance) WHERE balance > 0;
CREATE INDEX account_at ON account (at);
CREATE INDEX account_f ON account (f);
ANALYZE account;
EXPLAIN (COSTS OFF) SELECT id FROM account WHERE balance > 49980 ORDER BY balance DESC;
SELECT id FROM account WHERE balance > 49980 ORDER BY balance DESC;
EXPLAIN (COSTS OFF) SELECT count(*) FROM account WHERE f = ANY ('{0.1,0.5,1e300}'::float8[]);
SELECT count(*) FROM account WHERE f = ANY ('{0.1,0.5,1e300}'::float8[]);
SELECT d, (SELECT count(*) FROM account WHERE at >= d AND at < d + 1) FROM generate_series(DATE '2024-01-01', DATE '2024-01-03', '1 day') g (m), date(m) d;
PREPARE of_day (date) AS SELECT min(id), max(id) FROM account WHERE at >= $1 AND at < $1 + 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of_day('2024-01-02');
EXECUTE of_day('2024-01-02');
SET timezone = 'Asia/Tokyo';
EXECUTE of_day('2024-01-02');

DROP SERVER index_bound CASCADE;
DROP TABLE ordinary;
DROP FUNCTION check_bounds(text, text, text[]);

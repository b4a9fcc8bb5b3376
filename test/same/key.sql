-- Primary keys: which types can be in one, order and equality, what is reported.

-- Several columns of variable length: no key runs into another
CREATE TABLE triple (a text COLLATE "C", b int, c bytea, PRIMARY KEY (a, b, c));
INSERT INTO triple VALUES ('', 0, ''), ('', 0, '\x00'), (E'a\x01', 1, '\xff'), ('a', -5, '\x0000'), ('a', -5, '\x00'),
	('aa', 2147483647, ''), ('aa', -2147483648, ''), ('ab', 0, '\x01');
SELECT * FROM triple ORDER BY a, b, c;
SELECT * FROM triple ORDER BY a DESC, b DESC, c DESC;
SELECT * FROM triple WHERE a = 'a' AND b = -5 AND c = '\x00';
SELECT * FROM triple WHERE a = 'aa' AND b < 5;
SELECT * FROM triple WHERE a > 'a' ORDER BY a, b, c;
INSERT INTO triple VALUES ('a', -5, '\x0000');

-- Each type that can be ordered byte by byte, against an ordinary table
CREATE FUNCTION check_type(type text, list text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ordinary text;
	ours text;
	backwards text;
	found int;
BEGIN
	EXECUTE format('CREATE TABLE one (k %s PRIMARY KEY)', type);
	EXECUTE format('CREATE TEMP TABLE two (k %s PRIMARY KEY)', type);
	EXECUTE format('INSERT INTO two SELECT DISTINCT v::%s FROM unnest(%L::text[]) v', type, list);
	INSERT INTO one TABLE two;
	SELECT string_agg(k::text, ' ') INTO ordinary FROM (SELECT k FROM two ORDER BY k) x;
	SELECT string_agg(k::text, ' ') INTO ours FROM (SELECT k FROM one ORDER BY k) x;
	SELECT string_agg(k::text, ' ') INTO backwards FROM (SELECT k FROM one ORDER BY k DESC) x;
	SELECT count(*) INTO found FROM two JOIN one USING (k);
	DROP TABLE one;
	DROP TABLE two;
	RETURN format('%s: %s%s', type, ours,
		CASE WHEN ours IS DISTINCT FROM ordinary THEN ', but should be ' || ordinary
			WHEN found <> array_length(list::text[], 1) THEN ', but found ' || found
			WHEN backwards <> (SELECT string_agg(v, ' ' ORDER BY n DESC) FROM regexp_split_to_table(ours, ' ') WITH ORDINALITY x (v, n))
				AND type NOT LIKE 'interval%' AND type NOT LIKE 'timestamp%' THEN ', but backwards ' || backwards END);
END $$;
SELECT check_type(t, l) FROM (VALUES
	('int2', '{-32768,-1,0,1,32767}'),
	('int4', '{-2147483648,-256,-1,0,1,255,256,2147483647}'),
	('int8', '{-9223372036854775808,-1,0,1,4294967296,9223372036854775807}'),
	('oid', '{0,1,2147483648,4294967295}'),
	('bool', '{false,true}'),
	('"char"', '{a,Z,\\200}'),
	('float4', '{-Infinity,-1e30,-1,-1e-30,0,1e-30,1,Infinity,NaN}'),
	('float8', '{-Infinity,-1e300,-1,-1e-300,0,1e-300,1,Infinity,NaN}'),
	('date', '{-infinity,0001-01-01,1999-12-31,2000-01-01,infinity}'),
	('time', '{00:00,12:34:56.789,24:00}'),
	('timestamp', '{-infinity,1999-12-31 23:59:59.999999,2000-01-01,infinity}'),
	('timestamptz', '{-infinity,1999-12-31 23:59:59+00,2000-01-01 00:00+02,infinity}'),
	('interval', '{-1 mon,-1 day,0,1 day,25:00,29 days,1 mon,31 days}'),
	('uuid', '{00000000-0000-0000-0000-000000000000,7fffffff-0000-0000-0000-000000000001,80000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	('macaddr', '{00:00:00:00:00:00,08:00:2b:01:02:03,ff:ff:ff:ff:ff:ff}'),
	('macaddr8', '{00:00:00:00:00:00:00:00,08:00:2b:01:02:03:04:05,ff:ff:ff:ff:ff:ff:ff:ff}'),
	('money', '{-1.00,0,1.00}'),
	('numeric(10,2)', '{-99999999.99,-0.01,0,0.01,99999999.99,NaN}'),
	('numeric(18,18)', '{-0.999999999999999999,0,0.000000000000000001,NaN}'),
	('numeric(38,10)', '{-9999999999999999999999999999.9999999999,-1,0,0.0000000001,9999999999999999999999999999.9999999999,NaN}'),
	('numeric', '{-Infinity,-1e20,-10000.5,-10000,-1.5,-1,-0.00010001,-0.0001,0,0.00001,0.5,1,9999,10000,123456789.987654321,1e20,Infinity,NaN}'),
	('numeric(50,2)', '{-1e40,-0.01,0,0.01,1e40,NaN}'),
	('name', '{a,A,aa,b}'),
	('varchar(8) COLLATE "C"', '{a,A,aa,ab,é}'),
	('char(4) COLLATE "POSIX"', '{a,A,aa,ab}'),
	('bytea', '{\\x,\\x00,\\x0001,\\x01,\\xff}'),
	-- by bytes made for the purpose
	('int[]', '{"{}","{NULL}","{1}","{1,2}","{{1,2}}","[0:1]={1,2}"}'),
	('numeric[]', '{"{1.5}","{1.50,2}"}'),
	('bit varying(8)', '{0,1,00,10,1010}'),
	('inet', '{10.0.0.1,10.0.0.1/8,::1}'),
	('timetz', '{00:00+00,01:00+02,12:00-05}'),
	('numrange', '{empty,"[1,2)","(1,2)","(,5.0)","(,)"}'),
	('jsonb', '{true,1.50,"\"x\"","[1]","{}","[]","[[]]"}')) AS x (t, l);

-- Enums; and text in a language's order
CREATE TYPE key_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE moods (m key_mood PRIMARY KEY);
INSERT INTO moods VALUES ('happy'), ('sad'), ('ok');
SELECT * FROM moods ORDER BY m;
SELECT * FROM moods WHERE m > 'sad' ORDER BY m;
SELECT * FROM moods WHERE m = 'ok';
INSERT INTO moods VALUES ('ok');
CREATE TABLE words (w text COLLATE "und-x-icu" PRIMARY KEY);
INSERT INTO words VALUES ('b'), ('A'), ('a'), ('B');
SELECT * FROM words ORDER BY w;
SELECT * FROM words WHERE w < 'b' ORDER BY w;
SELECT * FROM words WHERE w = 'A';
INSERT INTO words VALUES ('A');

-- Domains are what they are made of
CREATE DOMAIN key_positive AS int CHECK (value > 0);
CREATE TABLE positive (p key_positive PRIMARY KEY);
INSERT INTO positive VALUES (2), (1);
SELECT * FROM positive ORDER BY p;
INSERT INTO positive VALUES (-1);

-- One key in several spellings
CREATE TABLE spelled (f float8, i interval, c char(5), n numeric(5, 2), PRIMARY KEY (f, i, c, n));
INSERT INTO spelled VALUES (0, '1 mon', 'a', 1);
INSERT INTO spelled VALUES ('-0', '30 days', 'a  ', 1.000);
SELECT * FROM spelled WHERE f = '-0' AND i = '30 days' AND c = 'a' AND n = 1.00;

CREATE TYPE key_pair AS (n numeric, w text);
CREATE TABLE canonical (n numeric, j jsonb, r numrange, p key_pair, PRIMARY KEY (n, j, r, p));
INSERT INTO canonical VALUES (1.0, '{"a": [1.0, "x"], "b": null}', '[1,2)', '(5,w)');
INSERT INTO canonical VALUES (1.000, '{"b": null, "a": [1, "x"]}', '[1.00,2.0)', '(5.0,w)');
INSERT INTO canonical VALUES (1.000, '{"b": null, "a": [1, "y"]}', '[1.00,2.0)', '(5.0,w)'), (1.000, '{"b": null, "a": [1, "x"]}', '[1.00,2.0]', '(5.0,w)'), (1.000, '{"b": null, "a": [1, "x"]}', '[1.00,2.0)', '(5.0,)');
SELECT * FROM canonical WHERE n = 1.00 AND j = '{"b": null, "a": [1.00, "x"]}' AND r = '[1,2.0)' AND p = '(5.00,w)'::key_pair;

-- Refused types
CREATE TABLE bad (k json PRIMARY KEY);

-- Text search: equality is PostgreSQL's, which looks at sizes, positions and their weights, and not at weights in queries
CREATE TABLE search (v tsvector, q tsquery, n int, PRIMARY KEY (v, q));
INSERT INTO search VALUES ('a:1A fat:2B,4C cat', 'fat & (cat | !rat)', 1), ('a:1 fat:2B,4C cat', 'fat & (cat | !rat)', 2), ('a:1A fat:2B,4C cat', 'fat & cat | !rat', 3), ('', '', 4);
INSERT INTO search VALUES ('cat fat:4C,2B a:1A', 'fat:A & (cat | !rat)', 5);
INSERT INTO search VALUES ('cat fat:4C,2B a:1A', 'fat <-> (cat | !rat)', 6), ('cat fat:4C,2B a:1A', 'fat <2> (cat | !rat)', 7);
INSERT INTO search VALUES (''::tsvector, ''::tsquery, 8);
SELECT n FROM search WHERE v = 'fat:2B,4C a:1A cat' AND q = 'fat:*B & (cat | !rat)';
SELECT n FROM search WHERE v = 'fat:2B,4C a:1A cat' AND q = 'fat <2> (cat | !rat)';
SELECT n FROM search WHERE v = strip('fat:2B,4C a:1A cat') AND q = 'fat';
SELECT n FROM search WHERE v = '' AND q = '';

-- Strings that are equal, but not byte by byte; types of extensions
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS hstore;
RESET client_min_messages;
CREATE COLLATION key_loose (provider = icu, locale = '@colStrength=secondary', deterministic = false);
CREATE TABLE loose (t text COLLATE key_loose, c char(5) COLLATE key_loose, i citext, h hstore, a citext[], n int, PRIMARY KEY (t, c, i, h, a));
INSERT INTO loose VALUES ('Key', 'Ab', 'Case', 'a=>1, b=>NULL', '{X,NULL}', 1);
INSERT INTO loose VALUES ('kEY', 'aB ', 'cASE', 'b=>NULL, a=>1', '{x,NULL}', 2);
INSERT INTO loose VALUES ('kEY', 'aB ', 'cASE', 'b=>NULL, a=>1', '{x,NULL}', 2) ON CONFLICT (t, c, i, h, a) DO UPDATE SET n = loose.n + excluded.n RETURNING *;
INSERT INTO loose VALUES ('key', 'ab', 'case', 'a=>1, b=>""', '{x,NULL}', 3), ('key', 'ab', 'cas', 'a=>1, b=>NULL', '{x,NULL}', 4), ('ke', 'ab', 'case', 'a=>1, b=>NULL', '{x,NULL}', 5);
SELECT n FROM loose WHERE t = 'KEY' AND c = 'AB' AND i = 'CASE' AND h = 'b=>NULL,a=>1' AND a = '{x,NULL}';
CREATE TABLE loose_words (w text COLLATE key_loose, i citext) USING heap;
INSERT INTO loose_words SELECT w, w FROM unnest('{a,A,ab,aB,Ä,ä,Äb,b,B,-,"","A-b",ß,ss,z,Z,é,É,e}'::text[]) w;
CREATE TABLE loose_index (w text COLLATE key_loose, i citext);
INSERT INTO loose_index SELECT * FROM loose_words;
CREATE INDEX ON loose_index (w);
CREATE INDEX ON loose_index (i);
\set VERBOSITY terse
CREATE UNIQUE INDEX ON loose_index (i);
\set VERBOSITY default
CREATE INDEX ON loose_index (w text_pattern_ops);
-- the same words as in an ordinary table, for each word as bounds
SELECT count(*), sum((here IS DISTINCT FROM there)::int) AS different
FROM (SELECT ARRAY(SELECT w FROM loose_index f WHERE f.w >= low.w AND f.w < high.w ORDER BY w COLLATE "C") AS here,
             ARRAY(SELECT w FROM loose_words o WHERE o.w >= low.w AND o.w < high.w ORDER BY w COLLATE "C") AS there
      FROM loose_words low, loose_words high) pairs;
SELECT count(*), sum((here <> there)::int) AS different
FROM (SELECT (SELECT count(*) FROM loose_index f WHERE f.i = o.i) AS here, (SELECT count(*) FROM loose_words f WHERE f.i = o.i) AS there FROM loose_words o) words;
DROP TABLE loose, loose_index;
DROP TABLE loose_words;
DROP EXTENSION citext, hstore;

-- Catalog: functional dependency, ON CONFLICT's arbiter, what LIKE copies
CREATE TABLE dependent (id int PRIMARY KEY, a text, b text);
INSERT INTO dependent VALUES (1, 'a', 'b');
SELECT id, a, b FROM dependent GROUP BY id;
CREATE TABLE copied (LIKE dependent INCLUDING ALL) USING heap;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'copied'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'copied'::regclass;

-- Errors name the constraint; the key only to those who may see it
INSERT INTO dependent VALUES (NULL);
DO $$
DECLARE
	s text; t text; c text;
BEGIN
	INSERT INTO dependent VALUES (1);
EXCEPTION
	WHEN unique_violation THEN
		GET STACKED DIAGNOSTICS s = SCHEMA_NAME, t = TABLE_NAME, c = CONSTRAINT_NAME;
		RAISE NOTICE '% % % %', SQLSTATE, s, t, c;
END $$;
CREATE ROLE key_writer;
GRANT INSERT ON dependent TO key_writer;
SET ROLE key_writer;
INSERT INTO dependent VALUES (1);
RESET ROLE;
GRANT SELECT (id) ON dependent TO key_writer;
SET ROLE key_writer;
INSERT INTO dependent VALUES (1);
RESET ROLE;
DROP TABLE copied;

DROP OWNED BY key_writer;
DROP ROLE key_writer;

-- Keys of long strings, as long as PostgreSQL takes them when it has compressed them: order, equality, uniqueness.
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE k (id int PRIMARY KEY, t text COLLATE "C" UNIQUE, b bytea, c char(5000) COLLATE "C", e text);
-- equal up to somewhere before, at and behind where keys are cut
INSERT INTO k SELECT row_number() OVER (), v, convert_to(v, 'UTF8'), v, v FROM (SELECT repeat('m', same) || repeat(rest, more) AS v
	FROM unnest('{0,1,400,614,615,616,1300,1315,1316,1317,1318,2690,2704,4000}'::int[]) same, unnest('{a,m,z}'::text[]) rest, unnest('{0,1,2,990}'::int[]) more
	WHERE same > 0 OR more > 0 GROUP BY 1 ORDER BY md5(repeat('m', same) || repeat(rest, more))) v;
CREATE INDEX k_b ON k (b DESC, id);
CREATE INDEX k_c ON k (c);
CREATE INDEX k_e ON k (e, t, b NULLS FIRST);
CREATE INDEX k_i ON k (e COLLATE loose);
CREATE UNIQUE INDEX k_lower ON k (lower(t || t));
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_bitmapscan = off;
CREATE FUNCTION ids(asked text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(id::text, '','')) FROM (' || asked || ') q' INTO found;
	RETURN asked || ': ' || coalesce(found, 'none');
END $$;
CREATE FUNCTION all_ids() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT ids(q) FROM unnest(ARRAY['SELECT id FROM k ORDER BY t', 'SELECT id FROM k ORDER BY t DESC', 'SELECT id FROM k ORDER BY b DESC, id', 'SELECT id FROM k ORDER BY b, id DESC', 'SELECT id FROM k ORDER BY c, id',
	'SELECT id FROM k WHERE t IS NOT NULL ORDER BY t']) q;
	SELECT ids('SELECT x.id FROM k x WHERE x.' || replace(condition, '$', value) || ' ORDER BY x.id') FROM unnest(ARRAY['t = $', 't < $', 't >= $', 'b > convert_to($, ''UTF8'')', 'b <= convert_to($, ''UTF8'')', 'b = convert_to($, ''UTF8'')', 'c < $::bpchar', 'c = $', 'e = $ AND x.t >= $', 'e COLLATE loose = upper($)',
		't IN ($, ''m'', $)', 't BETWEEN $ AND $ || ''m'''])
		condition, unnest(ARRAY['repeat(''m'', 1316)', 'repeat(''m'', 1317)', 'repeat(''m'', 2000)', 'repeat(''m'', 4000) || repeat(''z'', 990)', 'repeat(''m'', 4000) || repeat(''z'', 989)', 'repeat(''m'', 4000) || ''n''', 'repeat(''m'', 1317) || ''!''', 'repeat(''z'', 990)']) value $$;
SELECT all_ids();
SELECT count(*) FROM k a JOIN k b ON a.t = b.t;
SELECT sum(n) FROM k b, LATERAL (SELECT count(*) AS n FROM k WHERE t < b.t) x;
SELECT sum(n) FROM k b, LATERAL (SELECT count(*) AS n FROM k WHERE t < b.t || '!' AND t > left(b.t, 1317)) x;
SELECT sum(n) FROM k b, LATERAL (SELECT count(*) AS n FROM k WHERE k.b >= substr(b.b, 1, 2000) ) x;
-- unique
\set VERBOSITY terse
INSERT INTO k (id, t) VALUES (1000, repeat('m', 4000));
INSERT INTO k (id, t) VALUES (1000, repeat('m', 4000)) ON CONFLICT DO NOTHING;
INSERT INTO k (id, t) VALUES (1000, repeat('m', 4000)) ON CONFLICT (t) DO UPDATE SET b = 'new' RETURNING length(k.t), k.b;
INSERT INTO k (id, t) VALUES (1000, repeat('m', 4001)), (1001, repeat('m', 4001));
INSERT INTO k (id, t) VALUES (1000, repeat('m', 4001));
UPDATE k SET t = repeat('m', 4001) WHERE t = repeat('m', 4000);
UPDATE k SET t = t || 'x' WHERE length(t) > 1000;
DELETE FROM k WHERE t = repeat('m', 4001) || 'x';
INSERT INTO k (id, t) VALUES (1002, repeat('m', 4001) || 'x');
SELECT all_ids();
BEGIN;
INSERT INTO k (id, t) VALUES (1003, repeat('q', 4001));
SELECT id FROM k WHERE t = repeat('q', 4001);
ROLLBACK;
SELECT id FROM k WHERE t = repeat('q', 4001);
-- compressible ones of any length
INSERT INTO k (id, t) VALUES (1004, repeat('long ', 20000));
SELECT id FROM k WHERE t = repeat('long ', 20000);
SELECT id FROM k WHERE t > repeat('long', 2) AND t < 'lonh';
-- primary and foreign keys, a row that gets another key
CREATE TABLE p (k text PRIMARY KEY, n int);
INSERT INTO p SELECT repeat('p', 3000) || g, g FROM generate_series(1, 20) g;
INSERT INTO p VALUES (repeat('p', 3000) || 7, 7);
CREATE TABLE f (id int, k text REFERENCES p ON UPDATE CASCADE ON DELETE SET NULL);
INSERT INTO f SELECT g, repeat('p', 3000) || g FROM generate_series(1, 20) g;
INSERT INTO f VALUES (21, repeat('p', 3000));
UPDATE p SET k = k || 'new' WHERE n = 3;
DELETE FROM p WHERE k = repeat('p', 3000) || 4;
SELECT id, length(k), right(k, 4) FROM f WHERE id < 6 ORDER BY id;
SELECT n FROM p WHERE k = repeat('p', 3000) || '3new';
SELECT n FROM p WHERE k = repeat('p', 3000) || '3';
UPDATE p SET n = 100 WHERE k = repeat('p', 3000) || '5';
DELETE FROM p WHERE k >= repeat('p', 3000) || '6' AND k < repeat('p', 3000) || '8';
SELECT n FROM p ORDER BY k;
ALTER TABLE p ADD EXCLUDE USING btree (k WITH =);
INSERT INTO p VALUES (repeat('p', 3000) || '5', 1) ON CONFLICT DO NOTHING;
ALTER TABLE f ADD UNIQUE (k, id);
VACUUM FULL p;
SELECT n FROM p WHERE k = repeat('p', 3000) || '3new';
ALTER TABLE p ALTER k TYPE varchar;
SELECT n FROM p WHERE k = repeat('p', 3000) || '3new';
TRUNCATE p CASCADE;
INSERT INTO p VALUES (repeat('p', 3000) || '3new');
-- several long columns in a key
CREATE TABLE s (a text, b text, c text, d bytea, n int, PRIMARY KEY (a, b, c, d, n));
INSERT INTO s SELECT repeat('a', 600), repeat('b', 600), repeat('c', 600) || g % 3, decode(repeat('00', 300), 'hex'), g FROM generate_series(1, 10) g;
INSERT INTO s SELECT repeat('a', 600), repeat('b', 600), repeat('c', 600) || g % 3, decode(repeat('00', 300), 'hex'), g FROM generate_series(1, 10) g;
SELECT n FROM s WHERE a = repeat('a', 600) AND b = repeat('b', 600) AND c > repeat('c', 600) || '1' ORDER BY n;

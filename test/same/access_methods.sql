-- Indexes USING hash: what they are in the catalogs, what is refused and in which words, and that they find the same rows.
\set indexes 'SELECT indexrelid::regclass, replace(pg_get_indexdef(indexrelid), ''ONLY '', '''') FROM pg_index WHERE indrelid ='
CREATE TYPE pair AS (a int, b text);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE h (id int PRIMARY KEY, i int, s smallint, t text, c char(4), n numeric, m numeric(8,2), f float8, a int[], j jsonb, p pair, e mood,
	d positive, v interval, x xid, r int4range, w name, b bytea, y boolean, ac aclitem, ts timestamptz, tt timetz, u uuid);
INSERT INTO h SELECT g, g % 50, g % 20, 't' || g % 60, 'c' || g % 9, g % 40 + 0.50, g % 30, nullif(g % 25, 24) / 4.0, ARRAY[g % 7, NULL], jsonb_build_object('k', g % 11),
	ROW(g % 13, 'p'::text)::pair, CASE WHEN g % 3 = 0 THEN 'sad' ELSE 'happy' END::mood, g % 17 + 1, make_interval(hours => g % 24), (g % 19)::text::xid,
	int4range(g % 5, g % 5 + 3), 'n' || g % 21, decode(md5((g % 23)::text), 'hex'), g % 2 = 0, makeaclitem(10, 10, CASE WHEN g % 2 = 0 THEN 'SELECT' ELSE 'INSERT' END, false), '2000-01-01 UTC'::timestamptz + make_interval(hours => g % 30),
	'10:00+00'::timetz, '00000000-0000-0000-0000-000000000001'
	FROM generate_series(1, 1000) g;
INSERT INTO h (id) VALUES (0);
DO $$
DECLARE name text;
BEGIN
	FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = 'h'::regclass AND attnum > 1 ORDER BY attnum LOOP
		EXECUTE format('CREATE INDEX ON h USING hash (%I)', name);
	END LOOP;
END $$;
CREATE INDEX h_lower ON h USING hash (lower(t)) WITH (fillfactor = 60);
CREATE INDEX h_part ON h USING hash (t) WHERE i > 10;
CREATE INDEX h_pattern ON h USING hash (t text_pattern_ops);
:indexes 'h'::regclass ORDER BY 1::text COLLATE "C";
SELECT i.indexrelid::regclass, amname, pg_index_has_property(i.indexrelid, 'clusterable'), pg_index_column_has_property(i.indexrelid, 1, 'orderable'), pg_index_column_has_property(i.indexrelid, 1, 'search_nulls')
	FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = 'h'::regclass AND c.relname IN ('h_pkey', 'h_i_idx') ORDER BY 1;
ALTER INDEX h_lower SET (fillfactor = 70);
ALTER INDEX h_i_idx SET (fillfactor = 80);
ALTER INDEX h_s_idx SET (fillfactor = 5);
ALTER INDEX h_s_idx SET (fastupdate = on);
ALTER INDEX h_i_idx RESET (fillfactor);
SELECT relname, reloptions FROM pg_class WHERE relname IN ('h_lower', 'h_i_idx', 'h_s_idx') ORDER BY 1;
-- refused
CREATE UNIQUE INDEX ON h USING hash (i);
CREATE INDEX ON h USING hash (i, s);
CREATE INDEX ON h USING hash (i) INCLUDE (s);
CREATE INDEX ON h USING hash (i DESC);
CREATE INDEX ON h USING hash (i NULLS FIRST);
CREATE INDEX ON h USING hash (i int8_ops);
CREATE INDEX ON h USING hash (nothing);
CREATE INDEX ON h USING hash (i) WITH (fillfactor = 5);
CREATE INDEX ON h USING hash (i) WITH (fastupdate = on);
CREATE INDEX ON h USING hash ((id::text::json));
CREATE INDEX ON h USING hash ((id::text::bit varying));
ALTER TABLE h ADD UNIQUE USING INDEX h_i_idx;
CLUSTER h USING h_i_idx;
-- what is found
SET enable_seqscan = off;
CREATE FUNCTION found(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM h WHERE ' || condition INTO found;
	RETURN condition || ': ' || found;
END $$;
CREATE FUNCTION all_found() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT found(c) FROM unnest(ARRAY['i = 3', 'i = 3::bigint', 'i = 3::smallint', 'i = 3000000000', 'i = NULL', 's = 7', 's = 7::bigint', 's IN (1, 2, 100000)', 't = ''t5''', 't = ''t5''::varchar',
	't = ''t5''::name', 't = ANY (ARRAY[''t1'', ''t2'', NULL, ''t1''])', 't = ANY (NULL)', 'lower(t) = ''t7''', 't = ''t55'' AND i > 10', 'c = ''c1''', 'c = ''c1  ''', 'n = 3.5', 'n = 3.500', 'n = ''NaN''', 'm = 7', 'm = 7.001', 'f = 0.25', 'f = 0.25::real', 'f = ''-0''', 'a = ''{3,NULL}''', 'a = ''{}''', 'j = ''{"k": 3}''', 'p = ROW(3, ''p'')::pair',
	'e = ''sad''', 'd = 5', 'd = 5::positive', 'v = ''60 minutes''', 'v = ''1 day''', 'x = ''5''', 'r = ''[2,5)''', 'r = ''(1,4]''', 'w = ''n7''', 'w = ''n7''::text', 'b = decode(md5(''7''), ''hex'')', 'y', 'NOT y', 'y = true', 'ac = makeaclitem(10, 10, ''SELECT'', false)', 'ts = ''2000-01-01 05:00 UTC''', 'ts = ''2000-01-02 UTC''',
	'tt = ''10:00+00''', 'tt = ''11:00+01''', 'u = ''00000000-0000-0000-0000-000000000001''', 't IS NULL', 't IS NOT NULL', 't > ''t5''', 'i = 3 AND t = ''t3''', 'i = 3 OR t = ''t4''', 't = ''t'' || (SELECT 9)', 'EXISTS (SELECT FROM h o WHERE o.id < 3 AND o.t = h.t)', 'i = (SELECT 4)']) c $$;
SELECT all_found();
SELECT count(*), sum(a.id) FROM h a JOIN h b ON a.t = b.t WHERE b.id < 10;
SELECT count(*), sum(a.id) FROM h a JOIN h b ON a.n = b.f::numeric WHERE b.id < 10;
SELECT t FROM h WHERE t IN ('t1', 't2') AND id < 130 ORDER BY t, id;
UPDATE h SET t = repeat('long ', 10000) || id % 3, n = n + 1, p.b = 'q' WHERE id % 10 = 0;
SELECT count(*) FROM h WHERE t = repeat('long ', 10000) || 1;
UPDATE h SET i = -1 WHERE t = repeat('long ', 10000) || 2;
DELETE FROM h WHERE n = 5.5;
SELECT all_found();
BEGIN;
UPDATE h SET t = 'new' WHERE t = 't5';
SELECT count(*) FROM h WHERE t = 'new';
SELECT count(*) FROM h WHERE t = 't5';
ROLLBACK;
SELECT count(*) FROM h WHERE t = 't5';
-- definitions
ALTER TYPE pair ADD ATTRIBUTE c int;
\if :memory
\else
-- PostgreSQL's hash of a row is another now
REINDEX INDEX h_p_idx;
\endif
SELECT count(*) FROM h WHERE p = ROW(3, 'p', NULL)::pair;
INSERT INTO h (id, p) VALUES (2000, ROW(3, 'p', 1)), (2001, ROW(3, 'p', NULL));
SELECT count(*) FROM h WHERE p = ROW(3, 'p', 1)::pair;
SELECT count(*) FROM h WHERE p = ROW(3, 'p', NULL)::pair;
ALTER TABLE h ALTER i TYPE bigint;
SELECT found('i = 3');
ALTER TABLE h ALTER t TYPE varchar;
SELECT found('t = ''t7''');
ALTER TABLE h ALTER t TYPE int USING 5;
DROP INDEX h_pattern, h_lower;
ALTER TABLE h ALTER t TYPE int USING 5;
REINDEX INDEX h_i_idx;
REINDEX TABLE h;
SELECT found('i = 3');
:indexes 'h'::regclass AND indexrelid::regclass::text < 'h_d' ORDER BY 1::text COLLATE "C";
CREATE TABLE h_like (LIKE h INCLUDING INDEXES);
SELECT count(*), sum((amname = 'hash')::int) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = 'h_like'::regclass;
-- EXCLUDE
CREATE TABLE e (id int PRIMARY KEY, t text, EXCLUDE USING hash (t WITH =));
INSERT INTO e VALUES (1, 'a'), (2, NULL), (3, NULL);
INSERT INTO e VALUES (4, 'a');
INSERT INTO e VALUES (4, 'a') ON CONFLICT DO NOTHING;
INSERT INTO e VALUES (4, 'a') ON CONFLICT ON CONSTRAINT e_t_excl DO NOTHING;
INSERT INTO e VALUES (4, 'b');
UPDATE e SET t = 'a' WHERE id = 4;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'e_t_excl';
ALTER TABLE e ADD EXCLUDE USING hash (id WITH =, t WITH =);
-- partitions
CREATE TABLE w (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE w1 PARTITION OF w FOR VALUES FROM (0) TO (10);
CREATE INDEX w_t ON w USING hash (t);
CREATE TABLE w2 PARTITION OF w FOR VALUES FROM (10) TO (20);
INSERT INTO w SELECT g, 't' || g % 4 FROM generate_series(0, 19) g;
:indexes 'w1'::regclass;
:indexes 'w2'::regclass;
SELECT k FROM w WHERE t = 't3' ORDER BY k;
-- operator classes of users
CREATE FUNCTION parity_equal(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 % 2 = $2 % 2';
CREATE FUNCTION parity_hash(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 % 2';
CREATE OPERATOR %= (LEFTARG = int, RIGHTARG = int, FUNCTION = parity_equal, COMMUTATOR = %=, HASHES);
CREATE OPERATOR CLASS parity_ops FOR TYPE int USING hash AS OPERATOR 1 %=, FUNCTION 1 parity_hash(int);
CREATE INDEX h_parity ON h USING hash (id parity_ops);
SELECT found('id %= 7'), found('id = 7');
DROP OPERATOR CLASS parity_ops USING hash;
DROP OPERATOR CLASS parity_ops USING hash CASCADE;
:indexes 'h'::regclass AND indexrelid::regclass::text = 'h_parity';
-- types without an extended hash function, by themselves and as parts
CREATE EXTENSION isn;
CREATE TYPE isbn_range AS RANGE (subtype = isbn);
CREATE TYPE edition AS (book isbn, year int);
CREATE TABLE x (id int PRIMARY KEY, one isbn, list isbn[], span isbn_range, spans isbn_multirange, edition edition, editions edition[], deep isbn_range[]);
CREATE INDEX ON x USING hash (one);
CREATE INDEX ON x USING hash (list);
CREATE INDEX ON x USING hash (span);
CREATE INDEX ON x USING hash (spans);
CREATE INDEX ON x USING hash (edition);
CREATE INDEX ON x USING hash (editions);
CREATE INDEX ON x USING hash (deep);
INSERT INTO x SELECT id, b, ARRAY[b, NULL], isbn_range(b, b, '[]'), isbn_multirange(isbn_range(b, b, '[]')), ROW(b, id)::edition, ARRAY[ROW(b, id)::edition], ARRAY[isbn_range(b, NULL)]
	FROM (VALUES (1, '0-393-04002-X'::isbn), (2, '0-19-852663-6'), (3, NULL)) v (id, b);
SELECT x.id, count(*), sum(y.id) FROM x LEFT JOIN x y ON y.list = x.list GROUP BY 1 ORDER BY 1;
SELECT id FROM x WHERE one = '0-393-04002-X';
SELECT id FROM x WHERE list = '{0-393-04002-X,NULL}';
SELECT id FROM x WHERE list IN ('{0-19-852663-6,NULL}', '{NULL,NULL}', '{}') ORDER BY id;
SELECT id FROM x WHERE span = '[0-19-852663-6,0-19-852663-6]';
SELECT id FROM x WHERE spans = '{[0-19-852663-6,0-19-852663-6]}';
SELECT id FROM x WHERE edition = ROW('0-393-04002-X', 1)::edition;
SELECT id FROM x WHERE editions = ARRAY[ROW('0-393-04002-X', 1)::edition];
SELECT id FROM x WHERE deep = '{"[0-19-852663-6,)"}';
UPDATE x SET list = '{0-19-852663-6,NULL}' WHERE list = '{0-393-04002-X,NULL}';
SELECT id FROM x WHERE list = '{0-19-852663-6,NULL}' ORDER BY id;
-- brin
CREATE TABLE b (LIKE h);
INSERT INTO b SELECT * FROM h;
INSERT INTO b (id, i, n, f, ts, u, r) SELECT 3000 + g, g, g, g / 3.0, '2000-01-01 UTC'::timestamptz + make_interval(mins => g), md5(g::text)::uuid, int4range(g, g + 2) FROM generate_series(1, 500) g;
CREATE INDEX b_range ON b USING brin (i, n) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX b_multi ON b USING brin (f float8_minmax_multi_ops(values_per_range = 16));
CREATE INDEX b_bloom ON b USING brin (u uuid_bloom_ops(n_distinct_per_range = 100), w name_bloom_ops);
CREATE INDEX b_ts ON b USING brin (ts) WHERE i > 100;
CREATE INDEX b_expr ON b USING brin ((i / 2), lower(c));
CREATE INDEX b_mixed ON b USING brin (r, s);
CREATE INDEX b_inclusion ON b USING brin (r) WITH (pages_per_range = 2);
CREATE INDEX b_text ON b USING brin (c, b, tt, v);
:indexes 'b'::regclass ORDER BY 1::text COLLATE "C";
ALTER INDEX b_range SET (pages_per_range = 32), RESET (autosummarize);
ALTER INDEX b_range SET (pages_per_range = 0);
ALTER INDEX b_range SET (fillfactor = 10);
:indexes 'b'::regclass AND indexrelid::regclass::text = 'b_range';
CREATE UNIQUE INDEX ON b USING brin (i);
CREATE INDEX ON b USING brin (i DESC);
CREATE INDEX ON b USING brin (i NULLS FIRST);
CREATE INDEX ON b USING brin (i) INCLUDE (n);
CREATE INDEX ON b USING brin (j);
CREATE INDEX ON b USING rtree (r);
CREATE INDEX ON b USING rtrees (r);
CREATE INDEX ON b USING brin (i int4_bloom_ops(n_distinct_per_range = 'x'));
CREATE INDEX ON b USING brin (i) WITH (pages_per_range = 0);
ALTER TABLE b ADD EXCLUDE USING brin (i WITH =);
CREATE FUNCTION all_found_b() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT replace(found(replace(c, '#', 'id IN (SELECT id FROM b WHERE ') || ')'), 'SELECT id FROM b', '') FROM unnest(ARRAY[
	'#i = 3', '#i > 5', '#i BETWEEN 7 AND 9', '#i < 9::smallint AND n = 3.5', '#n < 3', '#i IS NULL', '#i IS NOT NULL', '#f > 100', '#f = 0.25', '#f < 3::real', '#u = md5(''7'')::uuid', '#u > md5(''7'')::uuid', '#u IN (md5(''7'')::uuid, md5(''8'')::uuid)',
	'#w = ''n7''', '#w = ''n7'' AND u IS NULL', '#ts < ''2000-01-01 03:00 UTC'' AND i > 100', '#ts < ''2000-01-02'' AND i > 100', '#i / 2 = 4', '#i / 2 > 100', '#s = 3', '#s > 17', '#r && ''[3,5)''', '#r @> 4', '#c > ''c5''', '#c = ''c5'' AND b > ''\x80''', '#tt = ''10:00+00''']) c $$;
INSERT INTO h (id) SELECT id FROM b ON CONFLICT DO NOTHING;
SELECT all_found_b();
UPDATE b SET i = i + 1000, f = -f, w = 'n7' WHERE id % 10 = 3;
SELECT all_found_b();

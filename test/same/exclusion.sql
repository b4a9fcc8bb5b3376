-- EXCLUDE: which rows are refused, in which words, and what it is in the catalogs.
\set show 'SELECT conindid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = ''x'' AND conrelid ='
CREATE EXTENSION btree_gist;
CREATE TABLE booking (id int PRIMARY KEY, room int, during tsrange, note text,
	EXCLUDE USING gist (room WITH =, during WITH &&));
:show 'booking'::regclass ORDER BY conname;
INSERT INTO booking VALUES (1, 1, '[2024-01-01 10:00,2024-01-01 11:00)'), (2, 1, '[2024-01-01 11:00,2024-01-01 12:00)');
INSERT INTO booking VALUES (3, 1, '[2024-01-01 11:30,2024-01-01 11:40)');
INSERT INTO booking VALUES (3, 2, '[2024-01-01 11:30,2024-01-01 11:40)'), (4, 1, 'empty'), (5, 1, 'empty'), (6, 1, NULL), (7, NULL, '(,)');
INSERT INTO booking VALUES (8, 3, '[2024-01-01,)'), (9, 3, '(,2024-01-01)');
INSERT INTO booking VALUES (10, 3, '[2024-01-01,2024-01-01]');
INSERT INTO booking VALUES (11, 1, '(,)'), (12, 4, '(,)');
-- twice in one command
INSERT INTO booking VALUES (20, 5, '[2024-01-01,2024-01-02)'), (21, 5, '[2024-01-01,2024-01-03)');
-- ON CONFLICT
INSERT INTO booking VALUES (4, 9, '(,)') ON CONFLICT DO NOTHING;
INSERT INTO booking VALUES (30, 1, '(,)') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO booking VALUES (30, 6, '[2024-01-01,2024-01-02)'), (31, 6, '[2024-01-01,2024-01-03)') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO booking VALUES (32, 6, '(,)') ON CONFLICT ON CONSTRAINT booking_room_during_excl DO NOTHING;
INSERT INTO booking VALUES (1, 6, '[2025-01-01,)') ON CONFLICT ON CONSTRAINT booking_room_during_excl DO NOTHING;
INSERT INTO booking VALUES (32, 6, '(,)') ON CONFLICT ON CONSTRAINT booking_room_during_excl DO UPDATE SET room = 0;
INSERT INTO booking VALUES (32, 6, '(,)') ON CONFLICT (room, during) DO NOTHING;
CREATE TABLE beside (id int PRIMARY KEY, r int4range, EXCLUDE USING gist (r WITH -|-));
INSERT INTO beside VALUES (1, '[1,5)');
INSERT INTO beside VALUES (1, '[1,5)') ON CONFLICT ON CONSTRAINT beside_r_excl DO NOTHING;
INSERT INTO beside VALUES (1, '[5,9)') ON CONFLICT ON CONSTRAINT beside_r_excl DO NOTHING;
INSERT INTO booking VALUES (1, 6, '(,)') ON CONFLICT (id) DO UPDATE SET room = EXCLUDED.room, during = EXCLUDED.during;
INSERT INTO booking VALUES (1, 6, '(,)') ON CONFLICT (id) DO UPDATE SET note = 'kept' RETURNING id, room, note;
-- who is in the way
SELECT id FROM booking WHERE room = 1 AND during && '[2024-01-01 10:30,2024-01-01 11:10)' ORDER BY id;
SELECT id FROM booking WHERE during && '[2024-01-01 10:30,2024-01-01 11:10)' ORDER BY id;
SELECT id FROM booking WHERE room = 1 AND during = 'empty' ORDER BY id;
-- UPDATE
UPDATE booking SET room = 1 WHERE id = 3;
UPDATE booking SET during = '[2024-01-01 12:30,2024-01-01 12:40)', room = 1 WHERE id = 3;
UPDATE booking SET during = '[2024-01-01 10:10,2024-01-01 10:20)' WHERE id = 1;
UPDATE booking SET during = during WHERE room = 1;
UPDATE booking SET note = 'changed' WHERE room = 1;
UPDATE booking SET id = id + 100 WHERE room = 1;
-- each row by itself: whether it works depends on the order
UPDATE booking SET room = 6 WHERE id IN (103, 8);
BEGIN;
DELETE FROM booking WHERE id = 101;
INSERT INTO booking VALUES (40, 1, '[2024-01-01 10:00,2024-01-01 11:00)');
SAVEPOINT s;
DELETE FROM booking WHERE id = 40;
INSERT INTO booking VALUES (41, 1, '[2024-01-01 10:10,2024-01-01 11:00)');
ROLLBACK TO s;
INSERT INTO booking VALUES (42, 1, '[2024-01-01 10:10,2024-01-01 11:00)');
ROLLBACK;
SELECT * FROM booking ORDER BY id;

-- conditions, expressions, operators that no index finds anything by
CREATE TABLE circles (c1 circle, c2 text, CONSTRAINT c EXCLUDE USING gist (c1 WITH &&, (c2::circle) WITH &&) WHERE (center(c1) <> '(0,0)'));
INSERT INTO circles VALUES ('<(0,0), 5>', '<(0,0), 5>'), ('<(0,0), 5>', '<(0,0), 4>'), ('<(10,10), 10>', '<(0,0), 5>');
INSERT INTO circles VALUES ('<(20,20), 10>', '<(0,0), 4>');
INSERT INTO circles VALUES ('<(20,20), 10>', '<(0,0), 4>') ON CONFLICT ON CONSTRAINT c DO NOTHING;
INSERT INTO circles VALUES ('<(20,20), 1>', '<(0,0), 5>'), ('<(20,20), 10>', '<(10,10), 5>');
UPDATE circles SET c1 = c1 + point(1, 1), c2 = '<(0,0), 5>' WHERE c1 ~= '<(0,0), 5>';
SELECT * FROM circles ORDER BY c1 <-> '(0,0)', c2;
ALTER TABLE circles ADD EXCLUDE USING gist (c1 WITH &&, (c2::circle) WITH &&);
CREATE TABLE hole (id int, c circle, EXCLUDE USING gist (c WITH ~=)); -- no input has such a radius, but a function makes it
INSERT INTO hole VALUES (1, circle(point(0, 0), -1)), (2, circle(point(0, 0), 1));
INSERT INTO hole VALUES (3, circle(point(0, 0), -1));
SELECT id FROM hole WHERE c ~= circle(point(0, 0), -1);
CREATE TABLE zoo (cage int, animal text, EXCLUDE USING gist (cage WITH =, animal WITH <>));
INSERT INTO zoo VALUES (123, 'zebra'), (123, 'zebra'), (124, 'lion');
INSERT INTO zoo VALUES (123, 'lion');
UPDATE zoo SET cage = 123 WHERE animal = 'lion';
CREATE TABLE alone (a int, EXCLUDE USING gist (a WITH <>));
INSERT INTO alone VALUES (1), (1), (NULL);
INSERT INTO alone VALUES (2);
CREATE TABLE networks (n inet, EXCLUDE USING gist (n inet_ops WITH &&));
INSERT INTO networks VALUES ('10.0.0.0/8'), ('11.1.1.1'), ('::1'), ('fe80::/64');
INSERT INTO networks VALUES ('10.1.2.3');
INSERT INTO networks VALUES ('11.0.0.0/12');
INSERT INTO networks VALUES ('fe80::ffff:1');
INSERT INTO networks VALUES ('192.168.0.0/16'), ('fe80:0:0:1::/64');
CREATE TABLE kinds (i int, m int4multirange, n numrange, t daterange, b box,
	EXCLUDE USING gist (m WITH &&), EXCLUDE USING gist (n WITH -|-), EXCLUDE USING spgist (t WITH &&), EXCLUDE USING gist (b WITH &&));
INSERT INTO kinds VALUES (1, '{[1,3),[10,20)}', '[1,1.5]', '[2024-01-01,2024-02-01)', '(0,0),(1,1)');
INSERT INTO kinds VALUES (2, '{[4,9),[30,40)}', '[2,3]', '[2024-02-01,2024-03-01)', '(1,2),(2,3)');
INSERT INTO kinds (i, m) VALUES (3, '{[3,5)}');
INSERT INTO kinds (i, n) VALUES (3, '(3,4]');
INSERT INTO kinds (i, n) VALUES (3, '[0.5,2.5]');
INSERT INTO kinds (i, t) VALUES (3, '[2024-01-31,2024-02-01)');
INSERT INTO kinds (i, b) VALUES (3, '(0,1),(0.5,1.5)');
CREATE TABLE keys (a int, b text, EXCLUDE (a WITH =, b WITH =) WHERE (a > 0), EXCLUDE USING btree (lower(b) WITH =));
:show 'keys'::regclass ORDER BY conname;
INSERT INTO keys VALUES (1, 'x'), (1, 'y'), (-1, 'z'), (NULL, NULL), (NULL, NULL);
INSERT INTO keys VALUES (2, 'X');

-- DEFERRABLE
CREATE TABLE later (id int, r int4range, CONSTRAINT e EXCLUDE USING gist (r WITH &&) DEFERRABLE INITIALLY DEFERRED);
:show 'later'::regclass ORDER BY conname;
INSERT INTO later VALUES (1, '[1,5)'), (2, '[5,9)');
BEGIN; UPDATE later SET r = '[3,6)' WHERE id = 1; UPDATE later SET r = '[6,9)' WHERE id = 2; COMMIT;
BEGIN; UPDATE later SET r = '[3,7)' WHERE id = 1; SET CONSTRAINTS e IMMEDIATE; ROLLBACK;
BEGIN; INSERT INTO later VALUES (3, '[1,100)'); DELETE FROM later WHERE id = 3; COMMIT;
BEGIN; INSERT INTO later VALUES (3, '[1,100)'); UPDATE later SET r = '[50,100)' WHERE id = 3; COMMIT;
BEGIN; INSERT INTO later VALUES (4, '[1,100)'); COMMIT;
BEGIN; INSERT INTO later VALUES (4, '[200,300)'), (4, '[200,300)'); COMMIT;
BEGIN; SET CONSTRAINTS ALL IMMEDIATE; UPDATE later SET r = int4range(lower(r) + 3, upper(r) + 3); INSERT INTO later VALUES (5, '[9,10)'); ROLLBACK;
INSERT INTO later VALUES (4, '[1,1000)') ON CONFLICT DO NOTHING;
SELECT * FROM later ORDER BY id;
CREATE TABLE statement (r int4range, EXCLUDE USING gist (r WITH &&) DEFERRABLE);
INSERT INTO statement SELECT int4range(i, i + 1) FROM generate_series(1, 10) i;
UPDATE statement SET r = int4range(lower(r) + 1, upper(r) + 1);
INSERT INTO statement VALUES ('[5,6)');
SELECT count(*) FROM statement;

-- on tables with rows, of other tables, and gone again
CREATE TABLE filled (id serial PRIMARY KEY, r int4range, kind text);
INSERT INTO filled (r, kind) SELECT int4range(i, i + 2), 'even' FROM generate_series(1, 20, 2) i;
INSERT INTO filled (r, kind) VALUES ('[4,6)', 'odd');
ALTER TABLE filled ADD CONSTRAINT none EXCLUDE USING gist (r WITH &&);
ALTER TABLE filled ADD CONSTRAINT by_kind EXCLUDE USING gist (r WITH &&) WHERE (kind = 'even');
INSERT INTO filled (r, kind) VALUES ('[4,6)', 'even');
UPDATE filled SET kind = 'even';
ALTER TABLE filled ADD EXCLUDE USING gist (r WITH <<);
ALTER TABLE filled ADD EXCLUDE USING gist (r WITH =, nothing WITH =);
ALTER TABLE filled ADD EXCLUDE (id WITH <>);
ALTER TABLE filled ADD EXCLUDE USING gin (r WITH &&);
ALTER TABLE filled ADD EXCLUDE USING brin (r WITH &&);
ALTER TABLE filled ADD EXCLUDE USING spgist (r WITH &&, r WITH =);
ALTER TABLE filled ADD EXCLUDE USING gist (r DESC WITH &&);
ALTER TABLE filled ADD EXCLUDE USING gist (kind WITH =, r WITH &&, kind WITH =) DEFERRABLE INITIALLY DEFERRED;
COMMENT ON CONSTRAINT by_kind ON filled IS 'only the even ones';
ALTER TABLE filled RENAME CONSTRAINT by_kind TO even_ones;
CREATE TABLE copied (LIKE filled INCLUDING ALL);
:show 'copied'::regclass ORDER BY conname;
INSERT INTO copied (r, kind) VALUES ('[4,6)', 'even'), ('[4,6)', 'odd');
INSERT INTO copied (r, kind) VALUES ('[5,6)', 'even');
ALTER TABLE filled ALTER r TYPE int8range USING int8range(lower(r), upper(r));
INSERT INTO filled (r, kind) VALUES ('[4,6)', 'even');
ALTER TABLE filled ALTER kind TYPE varchar(10);
ALTER TABLE filled ALTER r TYPE int4range USING int4range(1, 2);
SELECT conname, contype, condeferrable, condeferred, conexclop::regoperator[], obj_description(oid, 'pg_constraint')
	FROM pg_constraint WHERE conrelid = 'filled'::regclass ORDER BY 1;
ALTER TABLE filled DROP CONSTRAINT even_ones;
INSERT INTO filled (r, kind) VALUES ('[4,6)', 'eVen');
ALTER TABLE filled DROP COLUMN r;
:show 'filled'::regclass ORDER BY conname;
-- how often rows are judged, and whether memory grows with their rivals
SET watch.calls = 0;
CREATE FUNCTION watch(id int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	used bigint;
BEGIN
	PERFORM set_config('watch.calls', (current_setting('watch.calls')::int + 1)::text, false);
	IF current_setting('watch.most', true) > '' THEN
		SELECT coalesce(sum(used_bytes), 0) INTO used FROM pg_backend_memory_contexts WHERE name = 'tsurugi_fdw exclusion';
		PERFORM set_config('watch.most', greatest(current_setting('watch.most')::int, used)::text, false);
	END IF;
	RETURN true;
END $$;
CREATE TABLE watched (id serial, r int4range, far int4range, EXCLUDE USING gist (r WITH &&, far WITH -|-) WHERE (watch(id)));
INSERT INTO watched (r, far) VALUES ('[1,9)', '[5,6)');
SET watch.most = 0;
INSERT INTO watched (r, far) VALUES ('[1,9)', '[1,3)');
SELECT set_config('watch.few', current_setting('watch.most'), false) <> '' AS with_few;
RESET watch.most;
INSERT INTO watched (r, far) SELECT '[1,9)', '[5,6)' FROM generate_series(1, 100);
SET watch.most = 0;
INSERT INTO watched (r, far) VALUES ('[1,9)', '[1,3)');
SELECT current_setting('watch.most')::int - current_setting('watch.few')::int < 1000 AS same_with_many;
RESET watch.most;
SET watch.calls = 0;
ALTER TABLE watched ADD UNIQUE (id);
SHOW watch.calls;
CREATE TABLE parts (a int, r int4range) PARTITION BY LIST (a);
ALTER TABLE parts ADD EXCLUDE USING gist (r WITH &&);
CREATE TABLE parts_1 PARTITION OF parts (EXCLUDE USING gist (r WITH &&)) FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts VALUES (1, '[1,5)'), (2, '[1,5)'), (2, '[4,5)');
UPDATE parts SET a = 1 WHERE r = '[4,5)';
COPY parts FROM stdin;
1	[2,3)
\.
:show 'parts_1'::regclass ORDER BY conname;
REINDEX INDEX parts_1_r_excl;
REINDEX INDEX CONCURRENTLY parts_1_r_excl;
REINDEX TABLE CONCURRENTLY parts_1;
INSERT INTO parts VALUES (1, '[2,3)');
-- who may not see the columns is not told of their values
CREATE ROLE exclusion_role;
GRANT INSERT ON booking TO exclusion_role;
SET ROLE exclusion_role;
INSERT INTO booking VALUES (50, 1, '(,)');
RESET ROLE;
REVOKE ALL ON booking FROM exclusion_role;
DROP ROLE exclusion_role;
-- at random: the same rows are accepted and refused
CREATE FUNCTION attempt(sql text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
	EXECUTE sql;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
EXCEPTION WHEN exclusion_violation THEN
	RETURN -1;
END $$;
CREATE FUNCTION bound(size int) RETURNS text LANGUAGE sql AS $$
	SELECT (CASE WHEN random() < 0.02 THEN '' ELSE (power(random(), 3) * size - size / 3)::int::text END) $$;
CREATE FUNCTION some_range(size int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE low text = bound(size); high text = CASE WHEN low = '' THEN bound(size) ELSE (low::int + power(10, random() * log(size / 10))::int)::text END;
BEGIN
	RETURN CASE WHEN random() < 0.03 THEN 'empty' ELSE (CASE WHEN random() < 0.5 THEN '[' ELSE '(' END) || low || ',' || high || (CASE WHEN random() < 0.5 THEN ']' ELSE ')' END) END;
END $$;
CREATE TABLE any_int (id int PRIMARY KEY, r int4range, k int, EXCLUDE USING gist (k WITH =, r WITH &&));
CREATE TABLE any_num (id int PRIMARY KEY, r numrange, k int, EXCLUDE USING gist (r WITH &&) WHERE (k > 1), EXCLUDE USING gist (k WITH =, r WITH -|-));
CREATE TABLE any_multi (id int PRIMARY KEY, r int4multirange, k int, EXCLUDE USING gist (r WITH &&));
CREATE TABLE any_time (id int PRIMARY KEY, r tsrange, k int, EXCLUDE USING gist (r WITH &&, k WITH <>));
CREATE TABLE any_circle (id int PRIMARY KEY, r circle, k int, EXCLUDE USING gist (r WITH &&));
CREATE TABLE any_box (id int PRIMARY KEY, r box, k int, EXCLUDE USING gist (r WITH &&));
CREATE TABLE any_net (id int PRIMARY KEY, r inet, k int, EXCLUDE USING gist (r inet_ops WITH &&));
CREATE FUNCTION random_value(name text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE name
		WHEN 'any_multi' THEN '{' || replace(some_range(2000), 'empty', '') || '}'
		WHEN 'any_time' THEN coalesce((SELECT tsrange('2024-01-01'::timestamp + lower(r) * interval '1 min', '2024-01-01'::timestamp + upper(r) * interval '1 min')::text
			FROM (SELECT some_range(5000)::int4range r) q WHERE NOT isempty(r)), 'empty')
		WHEN 'any_circle' THEN format('<(%s,%s),%s>', random() * 100 - 50, random() * 100 - 50, power(random(), 4) * 20)
		WHEN 'any_box' THEN (SELECT format('(%s,%s),(%s,%s)', x, y, x + power(random(), 4) * 40, y + random() * 5) FROM (SELECT random() * 100 - 50 x, random() * 100 - 50 y) q)
		WHEN 'any_net' THEN format('%s.%s.0.%s/%s', (random() * 255)::int, (random() * 3)::int, (random() * 255)::int, 8 + (random() * 24)::int)
		ELSE some_range(3000) END $$;
DO $$
DECLARE
	name text;
	did int[];
BEGIN
	FOREACH name IN ARRAY ARRAY['any_int', 'any_num', 'any_multi', 'any_time', 'any_circle', 'any_box', 'any_net'] LOOP
		PERFORM setseed(0.25);
		did = NULL;
		FOR i IN 1 .. 400 LOOP
			did = did || CASE
				WHEN i % 5 = 0 THEN attempt(format('UPDATE %I SET r = %L WHERE id = %s', name, random_value(name), 1 + (random() * i)::int))
				WHEN i % 7 = 0 THEN attempt(format('DELETE FROM %I WHERE id = %s', name, 1 + (random() * i)::int))
				ELSE attempt(format('INSERT INTO %I VALUES (%s, %L, %s)%s', name, i, random_value(name), (random() * 2)::int,
					CASE WHEN i % 4 = 0 THEN ' ON CONFLICT DO NOTHING' ELSE '' END)) END;
		END LOOP;
		RAISE NOTICE '%: % refused, %', name, (SELECT count(*) FROM unnest(did) d WHERE d = -1), md5(did::text);
	END LOOP;
END $$;
\echo what was enforced already is not looked at again
CREATE FUNCTION spoken(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN
	IF current_setting('test.speaks', true) = 'on' THEN RAISE NOTICE 'looked at %', v; END IF; RETURN v; END$$;
CREATE TABLE listed (k int, v int, w varchar(5)) PARTITION BY LIST (k);
CREATE TABLE listed_1 (k int, v int, w varchar(5), EXCLUDE USING btree (spoken(v) WITH =));
ALTER TABLE listed ADD UNIQUE (k, v) DEFERRABLE;
INSERT INTO listed_1 VALUES (1, 1), (1, 2);
SET test.speaks = on;
ALTER TABLE listed ATTACH PARTITION listed_1 FOR VALUES IN (1);
CREATE INDEX ON listed_1 (w);
ALTER TABLE listed ALTER w TYPE varchar(9);
ALTER TABLE listed ADD UNIQUE (k, w) DEFERRABLE;
RESET test.speaks;
INSERT INTO listed VALUES (1, 2);
DROP TABLE listed;
DROP FUNCTION spoken;

-- Keys of types that only their own operator class can compare: what is taken, found, referred to.  How
-- such values get their ranks, and what happens when their types change, is in sql/.
CREATE EXTENSION ltree;
-- A composite type whose order is the distance from the origin: (3,4) and (5,0) are equal.  And a class that is not a type's default one
CREATE TYPE point_like AS (x int, y int);
CREATE FUNCTION point_distance(point_like) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.x * $1.x + $1.y * $1.y';
CREATE FUNCTION point_cmp(point_like, point_like) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN btint4cmp(point_distance($1), point_distance($2)); END';
CREATE FUNCTION point_lt(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) < point_distance($2); END';
CREATE FUNCTION point_le(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) <= point_distance($2); END';
CREATE FUNCTION point_eq(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) = point_distance($2); END';
CREATE FUNCTION point_ge(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) >= point_distance($2); END';
CREATE FUNCTION point_gt(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) > point_distance($2); END';
CREATE OPERATOR < (FUNCTION = point_lt, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = >);
CREATE OPERATOR <= (FUNCTION = point_le, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = >=);
CREATE OPERATOR = (FUNCTION = point_eq, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = =, MERGES);
CREATE OPERATOR >= (FUNCTION = point_ge, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = <=);
CREATE OPERATOR > (FUNCTION = point_gt, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = <);
CREATE OPERATOR CLASS point_ops DEFAULT FOR TYPE point_like USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 point_cmp(point_like, point_like);
CREATE DOMAIN near AS point_like CHECK (point_distance(value) < 100);

CREATE FUNCTION backwards(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS int4_backwards FOR TYPE int4 USING btree AS
	OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 backwards(int, int);
CREATE TABLE numbers (n int);
INSERT INTO numbers VALUES (3), (NULL), (-1), (7);
CREATE INDEX ON numbers (n int4_backwards);
SELECT * FROM numbers WHERE n > 1 ORDER BY n USING >;
SELECT * FROM numbers ORDER BY n USING >;

-- Keys: primary and foreign ones, with others; what is equal is taken; deferrable ones; errors of the comparison
CREATE TABLE places (p near, at ltree, PRIMARY KEY (p, at), UNIQUE (at) DEFERRABLE);
CREATE TABLE visits (p near, at ltree, day date, FOREIGN KEY (p, at) REFERENCES places ON UPDATE CASCADE);
INSERT INTO places VALUES ('(3,4)', 'a.b'), ('(0,1)', 'a');
INSERT INTO places VALUES ('(5,0)', 'a.b');
INSERT INTO places VALUES ('(6,0)', 'a.b');
INSERT INTO places VALUES ('(5,0)', 'a.b') ON CONFLICT (p, at) DO UPDATE SET p = excluded.p RETURNING *;
INSERT INTO visits VALUES ('(4,3)', 'a.b', '2024-01-01'), ('(1,0)', 'a', '2024-01-02');
INSERT INTO visits VALUES ('(4,4)', 'a.b', '2024-01-01');
UPDATE places SET p = '(1,1)' WHERE p = '(0,-1)'::point_like;
DELETE FROM places WHERE at = 'a';
SELECT * FROM visits ORDER BY day;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM places WHERE p = '(7,7)'::point_like;
INSERT INTO places VALUES ('(7,7)', 'a.c');
COMMIT;
ALTER TABLE places ADD COLUMN note text DEFAULT 'none';
VACUUM FULL places;
SELECT * FROM places WHERE p >= '(0,2)'::point_like ORDER BY p, at;
BEGIN;
TRUNCATE places, visits;
INSERT INTO places VALUES ('(3,4)', 'b'), ('(5,0)', 'b');
ROLLBACK;
SELECT count(*) FROM places;
CREATE TYPE has_json AS (a int, j json);
CREATE TABLE incomparable (k has_json PRIMARY KEY);
INSERT INTO incomparable VALUES ('(1,{})');
INSERT INTO incomparable VALUES ('(2,{})');
INSERT INTO incomparable VALUES ('(1,{})');
-- what is below a path
CREATE TABLE tree (id int PRIMARY KEY, n int, path ltree);
CREATE INDEX tree_gist ON tree USING gist (path);
CREATE INDEX tree_n ON tree (n, path DESC);
INSERT INTO tree SELECT i, i % 5, ('Top.L' || i % 30 || '.x' || i)::ltree FROM generate_series(1, 900) i;
ANALYZE tree;
SELECT count(*) FROM tree WHERE path <@ 'Top.L2';
SELECT path FROM tree WHERE 'Top.L2' @> path AND n = 2 ORDER BY path LIMIT 3;
BEGIN;
DELETE FROM tree WHERE path <@ 'Top.L2';
SELECT count(*), count(*) FILTER (WHERE path <@ 'Top.L20') FROM tree;
ROLLBACK;
DROP TABLE tree;
-- a class that compares bytes is no more than that of a type that does not
CREATE EXTENSION IF NOT EXISTS citext;
CREATE TABLE words (w citext);
CREATE UNIQUE INDEX ON words (w text_pattern_ops);
INSERT INTO words VALUES ('a'), ('A');
SELECT count(*) FROM words;


-- Enums that get labels between others, in keys and indexes; indexes of several collations on a column.
CREATE TYPE grade AS ENUM ('d', 'a');
CREATE TABLE grades (n int PRIMARY KEY, g grade, l grade[]);
CREATE INDEX by_grade ON grades (g DESC, n);
CREATE INDEX by_grades ON grades (l);
CREATE UNIQUE INDEX once ON grades (g);
INSERT INTO grades VALUES (1, 'a', '{a,d}'), (2, 'd', '{a}'), (3, NULL, '{}');
PREPARE by_grade AS SELECT n, g FROM grades WHERE g > 'd' ORDER BY g DESC, n;
PREPARE by_grades AS SELECT n, l FROM grades WHERE l >= '{d}' ORDER BY l;
EXECUTE by_grade;
BEGIN;
ALTER TYPE grade ADD VALUE 'b' BEFORE 'a';
EXECUTE by_grade;
EXECUTE by_grades;
INSERT INTO grades VALUES (4, 'd');
ROLLBACK;
EXECUTE by_grade;
ALTER TYPE grade ADD VALUE 'b' BEFORE 'a';
INSERT INTO grades VALUES (4, 'b', '{b}'), (5, 'b', '{b,a}');
INSERT INTO grades VALUES (4, 'b', '{b}'), (5, NULL, '{b,a}');
EXECUTE by_grade;
EXECUTE by_grades;
BEGIN;
ALTER TYPE grade ADD VALUE 'c' BEFORE 'b';
COMMIT;
UPDATE grades SET g = 'c', l = '{c,c}' WHERE n = 3;
EXECUTE by_grade;
EXECUTE by_grades;
SELECT n FROM grades WHERE g BETWEEN 'c' AND 'b' ORDER BY g;
ALTER TYPE grade RENAME VALUE 'c' TO 'c-';
SELECT n, g FROM grades WHERE g = 'c-';
SELECT n FROM grades WHERE g IN ('a', 'c-', 'd') ORDER BY g DESC, n;
-- so it is in keys, and where they are referred to
CREATE TYPE rung AS ENUM ('low', 'high');
CREATE TABLE rungs (r rung, n int, PRIMARY KEY (r, n));
CREATE TABLE climbers (r rung, n int, FOREIGN KEY (r, n) REFERENCES rungs ON UPDATE CASCADE);
INSERT INTO rungs VALUES ('high', 1), ('low', 2), ('high', 0);
INSERT INTO climbers VALUES ('low', 2), ('high', 1);
ALTER TYPE rung ADD VALUE 'middle' BEFORE 'high';
UPDATE rungs SET r = 'middle' WHERE r = 'low';
INSERT INTO climbers VALUES ('middle', 2), ('middle', 1);
INSERT INTO rungs VALUES ('middle', 2);
SELECT r, n FROM rungs WHERE r >= 'middle' ORDER BY r, n;
SELECT r, n FROM rungs WHERE (r, n) > ('middle', 2) ORDER BY r DESC, n DESC;
SELECT * FROM climbers ORDER BY r;
DROP TABLE climbers, rungs;

-- One column, two collations: each index has its own bytes
CREATE COLLATION no_case (provider = icu, locale = '@colStrength=secondary', deterministic = false);
CREATE COLLATION no_accent (provider = icu, locale = '@colStrength=primary', deterministic = false);
CREATE TABLE words (w text COLLATE no_case);
CREATE UNIQUE INDEX ON words (w);
INSERT INTO words VALUES ('e'), ('é');
CREATE INDEX ON words (w COLLATE no_accent);
SELECT w FROM words WHERE w = 'E';
SELECT w FROM words WHERE w = 'E' COLLATE no_accent ORDER BY w COLLATE "C";
\set VERBOSITY terse \\ -- which of the keys it names depends on the order of the rows
CREATE UNIQUE INDEX ON words (w COLLATE no_accent);

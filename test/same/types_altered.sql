-- ALTER DOMAIN, ALTER TYPE and ADD COLUMN of types that rows are stored with.
CREATE DOMAIN small AS int;
CREATE DOMAIN smaller AS small;
CREATE TABLE numbers (k int PRIMARY KEY, a small, b smaller);
INSERT INTO numbers VALUES (1, 10, 20), (2, NULL, 30), (3, 40, NULL);

ALTER DOMAIN small ADD CONSTRAINT few CHECK (value < 10);
ALTER DOMAIN small ADD CONSTRAINT few CHECK (value < 35);
ALTER DOMAIN small ADD CONSTRAINT few CHECK (value < 41);
INSERT INTO numbers VALUES (4, 41, 0);
INSERT INTO numbers VALUES (4, 0, 41);
ALTER DOMAIN smaller ADD CONSTRAINT fewer CHECK (value < 30);
ALTER DOMAIN smaller ADD CONSTRAINT fewer CHECK (value < 30) NOT VALID;
INSERT INTO numbers VALUES (4, 0, 30);
ALTER DOMAIN smaller VALIDATE CONSTRAINT fewer;
UPDATE numbers SET b = b - 10;
ALTER DOMAIN smaller VALIDATE CONSTRAINT fewer;
ALTER DOMAIN small SET NOT NULL;
UPDATE numbers SET a = coalesce(a, 1);
ALTER DOMAIN small SET NOT NULL;
ALTER DOMAIN smaller SET NOT NULL;
UPDATE numbers SET b = 1 WHERE b IS NULL;
ALTER DOMAIN small SET NOT NULL;
INSERT INTO numbers VALUES (5);
SELECT * FROM numbers ORDER BY k;

-- a new column of a domain
CREATE DOMAIN filled AS text NOT NULL;
ALTER TABLE numbers ADD COLUMN c filled;
ALTER TABLE numbers ADD COLUMN c filled DEFAULT 'x';
SELECT * FROM numbers ORDER BY k;
CREATE DOMAIN long AS text CHECK (length(value) > 3) DEFAULT 'short';
ALTER TABLE numbers ADD COLUMN d long;
CREATE DOMAIN longer AS text CHECK (length(value) > 6) DEFAULT 'short';
ALTER TABLE numbers ADD COLUMN e longer;
ALTER TABLE numbers ADD COLUMN e longer DEFAULT NULL;
SELECT * FROM numbers ORDER BY k;

-- a domain that is a part of the column's type
CREATE DOMAIN part AS int;
CREATE TYPE pair AS (x part, y text);
CREATE TABLE parts (k int, a part[], p pair);
INSERT INTO parts VALUES (1, '{1,2}', '(1,one)');
ALTER DOMAIN part ADD CHECK (value > 1);
ALTER TABLE parts DROP COLUMN a;
ALTER DOMAIN part ADD CHECK (value > 1);
ALTER DOMAIN part SET NOT NULL;

-- composite types keep the layout of the values that are stored
ALTER TYPE pair ALTER ATTRIBUTE y TYPE int;
ALTER TYPE pair ADD ATTRIBUTE z int;
UPDATE parts SET p.z = 3;
SELECT * FROM parts;
ALTER TYPE pair DROP ATTRIBUTE x;
SELECT * FROM parts;
CREATE TABLE line (k int, v text) USING heap;
CREATE TABLE lines (l line, more line[]);
INSERT INTO line VALUES (1, 'one');
INSERT INTO lines SELECT line, ARRAY[line, line] FROM line;
ALTER TABLE line ALTER COLUMN v TYPE int USING k;
ALTER TABLE line ADD COLUMN w int DEFAULT 7;
SELECT * FROM lines;
CREATE TABLE own (k int, v text);
CREATE TABLE owns (o own);
ALTER TABLE own ALTER COLUMN k TYPE text;

-- enumerations grow
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE paint (c colour PRIMARY KEY);
INSERT INTO paint VALUES ('red'), ('green');
ALTER TYPE colour ADD VALUE 'orange' BEFORE 'green';
INSERT INTO paint VALUES ('orange');
ALTER TYPE colour RENAME VALUE 'red' TO 'crimson';
SELECT * FROM paint ORDER BY c;
SELECT * FROM paint WHERE c > 'crimson' ORDER BY c DESC;

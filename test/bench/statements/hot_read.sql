-- a row that is read, and then written with what was read
\set id random(1, 10)
BEGIN;
SELECT n FROM hot WHERE id = :id \gset
UPDATE hot SET n = :n + 1 WHERE id = :id;
END;

-- the same where the reading locks it
\set id random(1, 10)
BEGIN;
SELECT n FROM hot WHERE id = :id FOR UPDATE \gset
UPDATE hot SET n = :n + 1 WHERE id = :id;
END;

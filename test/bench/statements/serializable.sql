\set a random(1, :accounts)
\set b random(1, :accounts)
\set c random(1, :accounts)
\set d random(1, :accounts)
\set e random(1, :accounts)
BEGIN;
SELECT balance FROM mix WHERE id = :a;
SELECT balance FROM mix WHERE id = :b;
SELECT balance FROM mix WHERE id = :c;
SELECT balance FROM mix WHERE id = :d;
UPDATE mix SET balance = balance + 1 WHERE id = :e;
END;

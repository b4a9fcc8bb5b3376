\set a random(1, 10000)
\set b random(1, 10000)
\set c random(1, 10000)
\set d random(1, 10000)
\set e random(1, 10000)
BEGIN;
SELECT balance FROM account WHERE aid = :a;
SELECT balance FROM account WHERE aid = :b;
SELECT balance FROM account WHERE aid = :c;
SELECT balance FROM account WHERE aid = :d;
UPDATE account SET balance = balance + 1 WHERE aid = :e;
END;

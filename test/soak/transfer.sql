\set a random(1, 5000)
\set b random(1, 5000)
\set delta random(-50, 50)
BEGIN ISOLATION LEVEL :level;
UPDATE account SET balance = balance - :delta WHERE id = :a;
UPDATE account SET balance = balance + :delta, tag = 'tag ' || :delta WHERE id = :b;
UPDATE ordinary SET balance = balance - :delta WHERE id = :a;
UPDATE ordinary SET balance = balance + :delta WHERE id = :b;
INSERT INTO movement (account, delta) VALUES (:a, -(:delta)), (:b, :delta);
COMMIT;

\set aid random(1, 10000)
\set tid random(1, 10)
\set delta random(-5000, 5000)
BEGIN;
UPDATE account SET balance = balance + :delta WHERE aid = :aid;
SELECT balance FROM account WHERE aid = :aid;
UPDATE teller SET balance = balance + :delta WHERE tid = :tid;
UPDATE branch SET balance = balance + :delta WHERE bid = 1;
INSERT INTO history VALUES (:tid, 1, :aid, :delta);
END;

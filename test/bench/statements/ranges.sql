\set each (:rows - :rows / 100) / 4
\set id :rows / 100 + :client_id * :each + random(1, :each)
\set aid :client_id * 2500 + random(1, 2500)
BEGIN;
UPDATE item SET a = a + 1 WHERE id = :id;
UPDATE account SET balance = balance + 1 WHERE aid = :aid;
END;

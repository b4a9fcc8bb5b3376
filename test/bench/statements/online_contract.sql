\set contract random(1, :contracts)
\set n random(100, 1000000000000000)
\set amount random(1, 1000)
BEGIN;
SELECT sum(amount) FROM contract_history WHERE contract = :contract;
INSERT INTO contract_history VALUES (:contract, :n, :amount);
UPDATE contract SET total = total + :amount WHERE id = :contract;
END;

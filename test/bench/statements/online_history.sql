-- what has been spent decides about the next one, which is paid at once
\set contract random(1, :contracts)
\set n random(100, 1000000000000000)
\set next :n + 1
\set amount random(1, 1000)
\set payment -:amount
BEGIN;
SELECT sum(amount) FROM contract_history WHERE contract = :contract;
INSERT INTO contract_history VALUES (:contract, :n, :amount), (:contract, :next, :payment);
END;

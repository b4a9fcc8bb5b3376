-- batch.sql as a transaction that can be tried again
BEGIN;
DELETE FROM result;
INSERT INTO result SELECT id, total, sum(amount) FROM contract JOIN contract_history ON contract = id GROUP BY id, total;
END;

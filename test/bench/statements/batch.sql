-- a result for each contract, by one statement
INSERT INTO result SELECT id, total, sum(amount) FROM contract JOIN contract_history ON contract = id GROUP BY id, total;

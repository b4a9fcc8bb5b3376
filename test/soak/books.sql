-- What has to hold at the end; each line is a test, and whether it holds.
SELECT 'the sum of all accounts', sum(balance) = 5000000 FROM account;
SELECT 'accounts have what the ordinary ones have', count(*) = 5000 FROM account JOIN ordinary USING (id, balance);
SELECT 'movements sum up to nothing', coalesce(sum(delta), 0) = 0 FROM movement;
SELECT 'contracts sum up to nothing', sum(n) = 0 AND count(*) = 100 FROM contract;
SELECT 'no clause without contract', count(*) = 0 FROM clause WHERE contract NOT IN (SELECT id FROM contract);
SELECT 'no movement without account', count(*) = 0 FROM movement m LEFT JOIN account a ON a.id = m.account WHERE a.id IS NULL;
SET enable_seqscan = off;
SELECT 'all movements are found by their account', (SELECT sum(found) FROM account a,
	LATERAL (SELECT count(*) AS found FROM movement m WHERE m.account = a.id) b) = (SELECT count(*) FROM movement);
SELECT 'all accounts are found by their tag', (SELECT sum(found) FROM (SELECT DISTINCT tag FROM account) a,
	LATERAL (SELECT count(*) AS found FROM account b WHERE b.tag = a.tag) c) = (SELECT count(*) FROM account);
SELECT 'and by their unique number', (SELECT count(*) FROM generate_series(1, 5000) i,
	LATERAL (SELECT FROM account WHERE n = i) b) = 5000;
SELECT 'no transaction is left', count(*) = 0 FROM tsurugi.transactions WHERE pid IS DISTINCT FROM pg_backend_pid();
SELECT 'nobody was refused memory', refused = 0 FROM tsurugi.memory;

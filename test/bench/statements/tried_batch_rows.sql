-- batch_rows.sql as a transaction that can be tried again
BEGIN;
DELETE FROM result;
DO $$
DECLARE
	one contract;
	spent bigint;
BEGIN
	FOR one IN SELECT * FROM contract LOOP
		SELECT sum(amount) INTO spent FROM contract_history WHERE contract = one.id;
		INSERT INTO result VALUES (one.id, one.total, spent);
	END LOOP;
END $$;
END;

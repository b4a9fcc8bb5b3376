-- A definition, or none, then perhaps another kind of transaction, tried and taken back, and a transfer between contracts.
\set definition random(1, 12)
\set kind random(1, 6)
\set a random(1, 100)
\set b random(1, 100)
BEGIN ISOLATION LEVEL :level;
\if :definition = 1
ALTER TABLE clause ALTER contract TYPE bigint;
\elif :definition = 2
ALTER TABLE clause ALTER contract TYPE int;
\elif :definition = 3
ALTER TABLE clause DROP CONSTRAINT IF EXISTS clause_contract;
ALTER TABLE clause ADD CONSTRAINT clause_contract FOREIGN KEY (contract) REFERENCES contract ON DELETE CASCADE;
\elif :definition = 4
ALTER TABLE unused ALTER contract TYPE bigint;
\elif :definition = 5
ALTER TABLE unused ALTER contract TYPE int;
\endif
SAVEPOINT s;
\if :kind = 1
SET LOCAL tsurugi_fdw.transaction_type = short;
\elif :kind = 2
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = 'contract, clause, unused';
\elif :kind = 3
SET LOCAL tsurugi_fdw.transaction_type = long;
SET LOCAL tsurugi_fdw.write_preserve = 'clause';
SET LOCAL lock_timeout = '10ms';
\endif
\if :kind > 2
DELETE FROM clause WHERE contract = :a;
ROLLBACK TO s;
\endif
INSERT INTO clause (contract) VALUES (:a);
DELETE FROM clause WHERE contract = :b AND contract <> :a;
\if :kind <> 3
UPDATE contract SET n = n - 1 WHERE id = :a;
UPDATE contract SET n = n + 1 WHERE id = :b;
\endif
COMMIT;

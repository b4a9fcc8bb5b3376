\set a random(1, 5000)
BEGIN ISOLATION LEVEL :level;
SAVEPOINT s;
DELETE FROM movement WHERE id IN (SELECT id FROM movement WHERE account = :a FOR UPDATE SKIP LOCKED);
ROLLBACK TO s;
SELECT count(*) FROM account WHERE tag = 'tag 5';
UPDATE account SET n = n WHERE id = :a;
INSERT INTO account VALUES (:a, 0, 'x', :a) ON CONFLICT (id) DO UPDATE SET tag = 'conflict' RETURNING balance;
COMMIT;

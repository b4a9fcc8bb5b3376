\set a random(1, 5000)
UPDATE account a SET balance = a.balance FROM account b WHERE b.id = a.id AND b.n BETWEEN :a AND :a + 20;
SELECT * FROM account ORDER BY id LIMIT 10 OFFSET :a;
SELECT * FROM account a JOIN movement m ON m.account = a.id WHERE a.id BETWEEN :a AND :a + 10;

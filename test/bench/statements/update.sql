\set id random(1, :rows)
UPDATE item SET a = a + 1 WHERE id = :id;

\set id random(1, :rows)
SELECT a FROM item WHERE id = :id;

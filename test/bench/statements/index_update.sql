\set id random(1, :rows)
\set s random(1, :rows)
UPDATE keyed SET s = :s WHERE id = :id;

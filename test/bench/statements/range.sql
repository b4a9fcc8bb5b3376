\set id random(1, :rows - 99)
\set last :id + 99
SELECT a FROM item WHERE id BETWEEN :id AND :last;

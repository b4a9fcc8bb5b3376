\set id random(1, :rows - 99)
\set last :id + 99
SELECT sum(a), max(b) FROM item WHERE id BETWEEN :id AND :last;

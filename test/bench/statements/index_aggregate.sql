\set s random(1, :rows - 99)
\set last :s + 99
SELECT sum(v), max(k) FROM keyed WHERE s BETWEEN :s AND :last;

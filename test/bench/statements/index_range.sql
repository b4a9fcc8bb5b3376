\set s random(1, :rows - 99)
\set last :s + 99
SELECT v FROM keyed WHERE s BETWEEN :s AND :last;

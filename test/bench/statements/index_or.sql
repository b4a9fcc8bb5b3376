\set k random(1, :rows)
\set s random(1, :rows - 9)
\set last :s + 9
SELECT v FROM keyed WHERE k = :k OR s BETWEEN :s AND :last;

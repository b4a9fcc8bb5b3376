\set k random(1, :rows)
SELECT v FROM keyed WHERE k = :k;

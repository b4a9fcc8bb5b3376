\set x random(0, 99)
\set y random(0, 99)
\set z random(0, 19)
SELECT count(*), sum(id) FROM thing WHERE a = :x AND b = :y AND c = :z;

\set x random(0, 99)
\set y random(0, 99)
SELECT count(*), sum(id) FROM thing WHERE a = :x AND b = :y;

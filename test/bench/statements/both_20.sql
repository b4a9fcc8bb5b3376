\set x random(0, 19)
\set y random(0, 19)
SELECT count(*), sum(id) FROM thing WHERE c = :x AND d = :y;

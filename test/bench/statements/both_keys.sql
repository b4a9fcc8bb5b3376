\set x random(0, 99)
\set y random(0, 299)
SELECT count(*), sum(id) FROM thing WHERE a = :x AND tags @> ARRAY[:y::int];

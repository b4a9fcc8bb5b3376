\set x random(0, 1000000) / 1000.0
\set y random(0, 1000000) / 1000.0
SELECT id FROM place ORDER BY p <-> point(:x::float8, :y) LIMIT 10;

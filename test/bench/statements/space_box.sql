\set x random(0, 990000) / 1000.0
\set y random(0, 990000) / 1000.0
SELECT id FROM place WHERE b && box(point(:x::float8, :y), point(:x::float8 + :side, :y::float8 + :side));

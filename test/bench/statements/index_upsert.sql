\set k random(1, :rows)
\set id 0 - :k
INSERT INTO keyed VALUES (:id, :k, 0, 0) ON CONFLICT (k) DO UPDATE SET v = keyed.v + 1;

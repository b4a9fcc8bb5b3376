\set k random(0, :keys - 1)
SELECT id FROM doc WHERE tags && ARRAY[:k::int, (:k::int + 1) % :keys::int];

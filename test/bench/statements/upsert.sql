\set id random(1, :rows)
INSERT INTO item (id, a) VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET a = item.a + excluded.a;

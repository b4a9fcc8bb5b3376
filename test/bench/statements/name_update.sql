UPDATE named SET v = v + 1 WHERE name = :name;

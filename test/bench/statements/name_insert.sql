\set n :n + 1
\set id :first + :n
INSERT INTO named VALUES (:prefix || :id, 0);

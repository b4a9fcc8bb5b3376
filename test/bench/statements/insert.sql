-- ascending keys, apart for each client; first: where this run begins
\set n :n + 1
\set id :first + :client_id * 100000000 + :n
INSERT INTO narrow VALUES (:id, 1, 2);

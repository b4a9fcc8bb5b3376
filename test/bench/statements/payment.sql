-- a payment, as in TPC-C
\set w random(1, 2)
\set d random(1, 10)
\set c random(1, 300)
\set amount random(1, 5000)
BEGIN;
UPDATE warehouse SET ytd = ytd + :amount WHERE w = :w;
SELECT tax FROM warehouse WHERE w = :w;
UPDATE district SET ytd = ytd + :amount WHERE w = :w AND d = :d;
SELECT tax FROM district WHERE w = :w AND d = :d;
SELECT balance FROM customer WHERE w = :w AND d = :d AND c = :c \gset
UPDATE customer SET balance = (:balance)::bigint - (:amount)::int, payments = payments + 1 WHERE w = :w AND d = :d AND c = :c;
INSERT INTO payment VALUES (:w, :d, :c, :amount);
END;

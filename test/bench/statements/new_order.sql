-- an order of three items, as in TPC-C
\set w random(1, 2)
\set d random(1, 10)
\set c random(1, 300)
\set i1 random(1, 1000)
\set i2 random(1, 1000)
\set i3 random(1, 1000)
BEGIN;
SELECT tax AS w_tax FROM warehouse WHERE w = :w \gset
SELECT tax AS d_tax, next_o FROM district WHERE w = :w AND d = :d \gset
UPDATE district SET next_o = (:next_o)::int + 1 WHERE w = :w AND d = :d;
SELECT balance FROM customer WHERE w = :w AND d = :d AND c = :c \gset
INSERT INTO orders VALUES (:w, :d, :next_o, :c);
SELECT price FROM item WHERE i = :i1 \gset
SELECT quantity FROM stock WHERE w = :w AND i = :i1 \gset
UPDATE stock SET quantity = (:quantity)::int - 1, ytd = ytd + 1 WHERE w = :w AND i = :i1;
INSERT INTO order_line VALUES (:w, :d, :next_o, 1, :i1, 1);
SELECT quantity FROM stock WHERE w = :w AND i = :i2 \gset
UPDATE stock SET quantity = (:quantity)::int - 1, ytd = ytd + 1 WHERE w = :w AND i = :i2;
INSERT INTO order_line VALUES (:w, :d, :next_o, 2, :i2, 1);
SELECT quantity FROM stock WHERE w = :w AND i = :i3 \gset
UPDATE stock SET quantity = (:quantity)::int - 1, ytd = ytd + 1 WHERE w = :w AND i = :i3;
INSERT INTO order_line VALUES (:w, :d, :next_o, 3, :i3, 1);
END;

-- Ten hot rows; warehouses, districts and stock as in TPC-C, with two warehouses; contracts and their
-- history (long.sql).  psql variable contracts: how many.
\set ON_ERROR_STOP on
CREATE EXTENSION tsurugi_fdw;
CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (persistence 'unlogged');
CREATE FOREIGN TABLE hot (id int PRIMARY KEY, n bigint) SERVER tsurugi;
INSERT INTO hot SELECT i, 0 FROM generate_series(1,10) i;
CREATE FOREIGN TABLE warehouse (w int PRIMARY KEY, tax int, ytd bigint) SERVER tsurugi;
CREATE FOREIGN TABLE district (w int, d int, tax int, ytd bigint, next_o int, PRIMARY KEY (w, d)) SERVER tsurugi;
CREATE FOREIGN TABLE customer (w int, d int, c int, balance bigint, payments int, PRIMARY KEY (w, d, c)) SERVER tsurugi;
CREATE FOREIGN TABLE item (i int PRIMARY KEY, price int) SERVER tsurugi;
CREATE FOREIGN TABLE stock (w int, i int, quantity int, ytd bigint, PRIMARY KEY (w, i)) SERVER tsurugi;
CREATE FOREIGN TABLE orders (w int, d int, o int, c int, PRIMARY KEY (w, d, o)) SERVER tsurugi;
CREATE FOREIGN TABLE order_line (w int, d int, o int, n int, i int, quantity int, PRIMARY KEY (w, d, o, n)) SERVER tsurugi;
CREATE FOREIGN TABLE payment (w int, d int, c int, amount int) SERVER tsurugi;
INSERT INTO warehouse SELECT w, 5, 0 FROM generate_series(1,2) w;
INSERT INTO district SELECT w, d, 5, 0, 1 FROM generate_series(1,2) w, generate_series(1,10) d;
INSERT INTO customer SELECT w, d, c, 0, 0 FROM generate_series(1,2) w, generate_series(1,10) d, generate_series(1,300) c;
INSERT INTO item SELECT i, i FROM generate_series(1,1000) i;
INSERT INTO stock SELECT w, i, 100, 0 FROM generate_series(1,2) w, generate_series(1,1000) i;
CREATE FOREIGN TABLE contract (id int PRIMARY KEY, total bigint) SERVER tsurugi;
CREATE FOREIGN TABLE contract_history (contract int, n bigint, amount int, PRIMARY KEY (contract, n)) SERVER tsurugi;
CREATE FOREIGN TABLE result (contract int PRIMARY KEY, total bigint, summed bigint) SERVER tsurugi;
INSERT INTO contract SELECT i, 55 FROM generate_series(1, :contracts) i;
INSERT INTO contract_history SELECT i, n, n FROM generate_series(1, :contracts) i, generate_series(1, 10) n;
ANALYZE contract, contract_history, stock, customer, district, orders, order_line;

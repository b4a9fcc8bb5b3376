-- Tables of the benchmarks, twice: in schema heap as ordinary tables, in
-- schema ours as foreign tables of tsurugi_fdw.  The same statements run on both,
-- by search_path.  psql variables rows: how many rows the tables read from have; kept: UNLOGGED or nothing,
-- of ordinary tables; persistence: unlogged or logged, of ours.
\set ON_ERROR_STOP on
CREATE EXTENSION tsurugi_fdw;
CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw OPTIONS (persistence :'persistence');
CREATE SCHEMA heap;
CREATE SCHEMA ours;

-- point, range, update, scan: four columns, a text of 80
CREATE :kept TABLE heap.item (id bigint PRIMARY KEY, a int, b int, c text);
CREATE FOREIGN TABLE ours.item (id bigint PRIMARY KEY, a int, b int, c text) SERVER tsurugi;

-- transaction: pgbench's five statements, without the fillers
CREATE :kept TABLE heap.branch (bid int PRIMARY KEY, balance int);
CREATE :kept TABLE heap.teller (tid int PRIMARY KEY, balance int);
CREATE :kept TABLE heap.account (aid int PRIMARY KEY, balance int);
CREATE :kept TABLE heap.history (tid int, bid int, aid int, delta int);
CREATE FOREIGN TABLE ours.branch (bid int PRIMARY KEY, balance int) SERVER tsurugi;
CREATE FOREIGN TABLE ours.teller (tid int PRIMARY KEY, balance int) SERVER tsurugi;
CREATE FOREIGN TABLE ours.account (aid int PRIMARY KEY, balance int) SERVER tsurugi;
CREATE FOREIGN TABLE ours.history (tid int, bid int, aid int, delta int) SERVER tsurugi;
INSERT INTO heap.branch VALUES (1, 0);
INSERT INTO heap.teller SELECT i, 0 FROM generate_series(1, 10) i;
INSERT INTO heap.account SELECT i, 0 FROM generate_series(1, 10000) i;
INSERT INTO ours.branch SELECT * FROM heap.branch;
INSERT INTO ours.teller SELECT * FROM heap.teller;
INSERT INTO ours.account SELECT * FROM heap.account;
VACUUM ANALYZE heap.branch, heap.teller, heap.account;
ANALYZE ours.branch, ours.teller, ours.account;

-- secondary indexes: k is unique, s is not, and in no order
CREATE :kept TABLE heap.keyed (id bigint PRIMARY KEY, k int, s int, v int);
CREATE FOREIGN TABLE ours.keyed (id bigint PRIMARY KEY, k int, s int, v int) SERVER tsurugi;
INSERT INTO heap.keyed SELECT i, i, i::bigint * 7919 % :rows, 0 FROM generate_series(1, :rows) i;
INSERT INTO ours.keyed SELECT * FROM heap.keyed;
CREATE UNIQUE INDEX keyed_k ON heap.keyed (k);
CREATE INDEX keyed_s ON heap.keyed (s);
CREATE UNIQUE INDEX keyed_k ON ours.keyed (k);
CREATE INDEX keyed_s ON ours.keyed (s);
VACUUM ANALYZE heap.keyed;
ANALYZE ours.keyed;

-- insert and COPY: narrow
CREATE :kept TABLE heap.narrow (id bigint PRIMARY KEY, a int, b int);
CREATE FOREIGN TABLE ours.narrow (id bigint PRIMARY KEY, a int, b int) SERVER tsurugi;

INSERT INTO heap.item SELECT i, i % 1000, i / 7, repeat(md5(i::text), 3)::varchar(80) FROM generate_series(1, :rows) i;
INSERT INTO ours.item SELECT * FROM heap.item;
VACUUM ANALYZE heap.item;
ANALYZE ours.item;

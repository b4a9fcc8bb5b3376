-- Plans of look-ups by keys that are not made of a value's own bytes, and of ON CONFLICT; clauses that
-- exclude each other, whose errors have no position here.  What keys do is in test/same.
SET client_min_messages = warning;
CREATE SERVER key FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS hstore;
RESET client_min_messages;
CREATE FOREIGN TABLE search (v tsvector, q tsquery, n int, PRIMARY KEY (v, q)) SERVER key;
EXPLAIN (COSTS off) SELECT n FROM search WHERE v = '' AND q = '';
CREATE COLLATION key_loose (provider = icu, locale = '@colStrength=secondary', deterministic = false);
CREATE FOREIGN TABLE loose (t text COLLATE key_loose, c char(5) COLLATE key_loose, i citext, h hstore, a citext[], n int, PRIMARY KEY (t, c, i, h, a)) SERVER key;
INSERT INTO loose VALUES ('Key', 'Ab', 'Case', 'a=>1, b=>NULL', '{X,NULL}', 1);
EXPLAIN (COSTS OFF) SELECT n FROM loose WHERE t = 'KEY' AND c = 'AB' AND i = 'CASE' AND h = 'b=>NULL,a=>1' AND a = '{x,NULL}';
CREATE FOREIGN TABLE loose_index (w text COLLATE key_loose, i citext) SERVER key;
INSERT INTO loose_index SELECT w, w FROM unnest('{a,A,ab,aB,Ä,ä,Äb,b,B,-,"","A-b",ß,ss,z,Z,é,É,e}'::text[]) w;
CREATE INDEX ON loose_index (w);
EXPLAIN (COSTS OFF) SELECT w FROM loose_index WHERE w > 'A' AND w <= 'E' ORDER BY w;
CREATE FOREIGN TABLE dependent (id int PRIMARY KEY, a text, b text) SERVER key;
EXPLAIN (COSTS OFF) INSERT INTO dependent VALUES (1) ON CONFLICT (id) DO NOTHING;

CREATE FOREIGN TABLE twice (id int UNIQUE DEFERRABLE NOT DEFERRABLE) SERVER key;
CREATE FOREIGN TABLE twice (id int UNIQUE INITIALLY DEFERRED INITIALLY IMMEDIATE) SERVER key;
CREATE FOREIGN TABLE twice (id int UNIQUE INITIALLY DEFERRED NOT DEFERRABLE) SERVER key;
CREATE FOREIGN TABLE twice (id int PRIMARY KEY, p int REFERENCES twice DEFERRABLE DEFERRABLE) SERVER key;

SET client_min_messages = warning;
DROP SERVER key CASCADE;
DROP EXTENSION citext, hstore;
DROP COLLATION key_loose;

-- Tables whose primary key is a text, of 10 and 40 characters, under the collations C, of the C library and of ICU: named in a
-- schema for each, heap_en_10 and the like.  psql variables rows: how many rows they have;
-- kept: UNLOGGED or nothing, of ordinary tables.
\set ON_ERROR_STOP on
SELECT set_config('names.rows', :'rows', false), set_config('names.kept', :'kept', false) \g /dev/null
DO $$
DECLARE
	rule text[];
	name text[];
	place text;
BEGIN
	FOREACH rule SLICE 1 IN ARRAY ARRAY[['c', 'C'], ['en', 'en_US.utf8'], ['icu', 'en-x-icu']] LOOP
		FOREACH name SLICE 1 IN ARRAY ARRAY[['10', 'user'], ['40', 'customer of the north east no ']] LOOP
			place := rule[1] || '_' || name[1];
			EXECUTE format('CREATE SCHEMA heap_%s; CREATE SCHEMA ours_%1$s', place);
			EXECUTE format('CREATE %s TABLE heap_%s.named (name text COLLATE %I PRIMARY KEY, v int)', current_setting('names.kept'), place, rule[2]);
			EXECUTE format('CREATE FOREIGN TABLE ours_%s.named (name text COLLATE %I PRIMARY KEY, v int) SERVER tsurugi', place, rule[2]);
			EXECUTE format('INSERT INTO heap_%s.named SELECT %L || (100000 + i), i FROM generate_series(1, %s) i', place, name[2], current_setting('names.rows'));
			EXECUTE format('INSERT INTO ours_%s.named SELECT * FROM heap_%1$s.named', place);
			EXECUTE format('ANALYZE heap_%s.named; ANALYZE ours_%1$s.named', place);
		END LOOP;
	END LOOP;
END $$;

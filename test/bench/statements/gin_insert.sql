-- as insert.sql, into a table with three indexes USING gin: some 12 entries
\set n :n + 1
\set id :first + :client_id * 100000000 + :n
\set k random(0, :keys - 1)
INSERT INTO fresh VALUES (:id, jsonb_build_object('k', :k::int, 'n', :n::int, 'list', ARRAY['a' || :k::int % 97, 'b' || :k::int % 7]),
	ARRAY[:k::int, :keys::int + :k::int % 97, :keys::int + 100 + :k::int % 7], to_tsvector('simple', concat_ws(' ', 'w' || :k::int, 'x' || :k::int % 97, 'common')));

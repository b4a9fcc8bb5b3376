\set k random(0, :keys - 1)
SELECT id FROM doc WHERE j @> jsonb_build_object('k', :k::int);

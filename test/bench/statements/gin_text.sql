-- a rare word and one that all have
\set k random(0, :keys - 1)
SELECT id FROM doc WHERE v @@ to_tsquery('simple', 'common & w' || :k::int);

-- Settings that do not exist or are out of range, and those that there are.
SET tsurugi_fdw.nothing = 1;
SET tsurugi_fdw.scan_pool_rows = -2;
SET tsurugi_fdw.memory = '1GB';
ALTER SYSTEM SET tsurugi_fdw.memory = '1kB';
ALTER SYSTEM SET tsurugi_fdw.huge_pages = 'perhaps';
-- a line each, so that a new one changes one line
\a\t
SELECT name, setting, unit, context FROM pg_settings WHERE name LIKE 'tsurugi\_fdw.%' AND name NOT IN ('tsurugi_fdw.memory', 'tsurugi_fdw.workers') ORDER BY name;
\a\t

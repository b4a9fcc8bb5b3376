SELECT tailnum, seats FROM planes WHERE tailnum = 'N102UW';
SELECT manufacturer, count(*) AS planes, sum(seats) AS seats FROM planes GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
SELECT pg_is_in_recovery() AS is_standby, state, behind_ms FROM tsurugi.durability;

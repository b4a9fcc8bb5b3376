-- Seen from a third session:
SELECT application_name, state, wait_event_type, wait_event,
       (SELECT b.application_name FROM pg_stat_activity b WHERE b.pid = ANY (pg_blocking_pids(a.pid))) AS waits_for
FROM pg_stat_activity a
WHERE application_name LIKE 'session%'
ORDER BY application_name;

SELECT a.application_name, l.locktype, l.mode, l.granted
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE NOT l.granted
ORDER BY a.application_name;

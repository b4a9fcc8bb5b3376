-- The views in schema tsurugi: columns, what they count, and who may see them.
BEGIN;
SELECT plan(75);

SELECT views_are('tsurugi', ARRAY['batches', 'batch_nodes', 'durability', 'memory', 'memory_uses', 'memory_quotas', 'workers', 'queues', 'scheduler', 'jobs', 'tables', 'indexes', 'sessions', 'runtime', 'collector', 'garbage', 'taxes', 'conflicts', 'retries', 'transactions', 'shared_transactions']);
SELECT columns_are('tsurugi', 'durability',
	ARRAY['state', 'worker_runs', 'base', 'journal_bytes', 'durable_lsn', 'redo_lsn', 'applied_lsn', 'behind_ms',
	'tables_loaded', 'rows_loaded', 'bytes_loaded', 'changes_loaded', 'load_ms', 'load_phase', 'load_done', 'load_total', 'checkpoints_held', 'longest_hold_ms', 'last_error', 'last_error_at']);
SELECT is(state, 'open', 'tables can be reached') FROM tsurugi.durability;
SELECT ok(worker_runs AND durable_lsn > '0/0' AND last_error IS NULL, 'and nothing is wrong') FROM tsurugi.durability;
SELECT is_empty('SELECT * FROM tsurugi.verify_files()', 'nor with the files');
SELECT columns_are('tsurugi', 'memory',
	ARRAY['limit_bytes', 'used', 'committed', 'peak', 'reserved', 'refused', 'huge', 'huge_pages']);
SELECT columns_are('tsurugi', 'memory_uses', ARRAY['use', 'bytes']);
SELECT columns_are('tsurugi', 'memory_quotas', ARRAY['role', 'database', 'bytes', 'quota', 'refused']);
SELECT columns_are('tsurugi', 'workers',
	ARRAY['worker', 'state', 'job', 'task_ms', 'hung', 'queued', 'tasks_run', 'sticky_run', 'tasks_stolen', 'steals',
	'steal_misses', 'distributed', 'yields', 'parks', 'suspensions', 'wakeups', 'core', 'socket']);
SELECT columns_are('tsurugi', 'queues', ARRAY['queue', 'worker', 'tasks']);
SELECT columns_are('tsurugi', 'scheduler', ARRAY['phase', 'workers', 'searching', 'sleeping', 'distributing',
	'distributions', 'distribution_naps', 'distributed', 'submitted',
	'submitted_urgent', 'global_taken', 'global_transfers', 'overflows', 'conditions_submitted', 'condition_checks',
	'conditions_slow', 'hangs', 'ticks']);
SELECT columns_are('tsurugi', 'jobs', ARRAY['id', 'parent', 'kind', 'pid', 'relation', 'level', 'in_place', 'state',
	'cancelled', 'failure', 'tasks', 'tasks_run', 'done', 'expected', 'rows', 'step', 'steps',
	'memory', 'memory_most', 'memory_max', 'spilled', 'elapsed_ms']);
SELECT columns_are('tsurugi', 'batches', ARRAY['job', 'pid', 'database', 'usename', 'kind', 'relation', 'state', 'files_done', 'files',
	'blocks_done', 'blocks', 'rows', 'rows_expected', 'rejected', 'bytes_done', 'bytes', 'transactions', 'way', 'error']);
SELECT columns_are('tsurugi', 'batch_nodes', ARRAY['job', 'level', 'file', 'block', 'state', 'rows']);
SELECT columns_are('tsurugi', 'tables', ARRAY['database', 'relation', 'rows', 'table_bytes', 'chunk_bytes',
	'header_bytes', 'blob_bytes', 'index_bytes', 'total_bytes']);
SELECT columns_are('tsurugi', 'sessions',
	ARRAY['session', 'pid', 'database', 'role', 'in_transaction', 'writes', 'oldest_snapshot']);
SELECT columns_are('tsurugi', 'runtime',
	ARRAY['running', 'clock', 'horizon', 'epoch', 'epoch_confirmed', 'commits', 'aborts']);
SELECT columns_are('tsurugi', 'collector',
	ARRAY['stage', 'cycles', 'logs_waiting', 'versions_held', 'versions_removed', 'rows_closed', 'chunks_settled',
	'chunks_freed', 'versions_moved', 'oldest_snapshot', 'oldest_snapshot_pid', 'oldest_snapshot_holds', 'epoch_lag',
	'epoch_pid', 'epoch_wait_ms', 'quanta', 'quanta_long', 'stood_back', 'bank_us', 'deposited_us', 'withdrawn_us', 'paid_us',
	'surcharge', 'pool_cpu_us', 'sessions_cpu_us']);
SELECT columns_are('tsurugi', 'garbage', ARRAY['database', 'relation', 'versions', 'free_slots', 'chunks', 'chunks_sparse']);
SELECT columns_are('tsurugi', 'taxes', ARRAY['pid', 'role', 'target', 'effective', 'achieved', 'ran_us', 'paid_us',
	'withdrawn_us', 'debt_us']);

SELECT columns_are('tsurugi', 'conflicts', ARRAY['reason', 'failures']);
SELECT columns_are('tsurugi', 'retries', ARRAY['event', 'count']);
SELECT columns_are('tsurugi', 'transactions', ARRAY['pid', 'database', 'role', 'kind', 'label', 'isolation', 'read_only',
	'state', 'age', 'snapshot', 'writes', 'waits_for', 'write_preserve']);
SELECT columns_are('tsurugi', 'shared_transactions', ARRAY['id', 'state', 'owner', 'pid', 'database', 'role', 'kind', 'label',
	'isolation', 'users', 'writes', 'lease_left', 'error', 'backend_xmin']);

-- memory
SELECT is(limit_bytes, setting::bigint * 1024 * 1024, 'the limit is the setting')
FROM tsurugi.memory, pg_settings WHERE name = 'tsurugi_fdw.memory';
SELECT ok(used > 0 AND used <= committed AND committed <= peak AND peak <= reserved, 'used <= committed <= peak <= reserved')
FROM tsurugi.memory;
SELECT ok(huge_pages IN ('off', 'on', 'refused by the system'), 'huge pages are accounted for') FROM tsurugi.memory;
SELECT set_eq('SELECT use FROM tsurugi.memory_uses',
	ARRAY['tables', 'chunks', 'headers', 'blobs', 'indexes', 'logs', 'locks', 'jobs', 'runtime'], 'all uses are listed');

-- workers and jobs
SELECT ok(count(*) > 0, 'there are workers') FROM tsurugi.workers;
SELECT is(count(*), 0::bigint, 'each is in a known state')
FROM tsurugi.workers WHERE state NOT IN ('stopped', 'running', 'searching', 'suspended', 'distributing');
SELECT set_eq('SELECT queue FROM tsurugi.queues',
	ARRAY['global', 'conditions', 'timers', 'deque', 'inbox', 'sticky', 'pending'], 'all queues are listed');
SELECT is(count(*), (SELECT 3 + 4 * count(*) FROM tsurugi.workers), 'each worker has four') FROM tsurugi.queues;
SELECT ok(phase = 'running' AND ticks > 0 AND workers = (SELECT count(*) FROM tsurugi.workers), 'the scheduler runs')
FROM tsurugi.scheduler;
SELECT ok(running, 'the pool runs') FROM tsurugi.runtime;
SELECT ok(epoch_confirmed <= epoch AND epoch > 0, 'epochs go on') FROM tsurugi.runtime;
SELECT lives_ok('SELECT * FROM tsurugi.jobs', 'jobs can be read');
SELECT is(tsurugi.cancel_job(0), false, 'there is nothing to cancel');
SELECT lives_ok('SELECT * FROM tsurugi.collector', 'the collector''s counts can be read');
SELECT is(count(*), 13::bigint, 'conflicts have reasons') FROM tsurugi.conflicts WHERE reason IS NOT NULL;
SELECT is(count(*), 0::bigint, 'and are counted') FROM tsurugi.conflicts WHERE failures IS NULL OR failures < 0;
SELECT is(count(*), 4::bigint, 'retries have events') FROM tsurugi.retries WHERE event IS NOT NULL AND count >= 0;

-- tables
SET LOCAL client_min_messages = warning;
CREATE SERVER views FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE seen (id int PRIMARY KEY, v text) SERVER views;
CREATE FOREIGN TABLE keyless (v text) SERVER views;
SELECT is(count(*), 1::bigint, 'a table is there when it has been created')
FROM tsurugi.tables WHERE database = current_database() AND relation = 'seen';
INSERT INTO seen SELECT i, repeat('v', 100) FROM generate_series(1, 1000) i;
CREATE FOREIGN TABLE seen_long (k text PRIMARY KEY) SERVER views;
INSERT INTO keyless VALUES ('v');
INSERT INTO seen_long SELECT repeat('k', 3000) || i FROM generate_series(1, 100) i;
SELECT ok(chunk_bytes >= 1000 * 20, 'chunks are counted') FROM tsurugi.tables WHERE relation = 'seen';
SELECT ok(blob_bytes >= 300 * 100, 'long values are counted') FROM tsurugi.tables WHERE relation = 'seen';
SELECT ok(index_bytes >= 1000 * 8, 'the key is counted') FROM tsurugi.tables WHERE relation = 'seen';
SELECT ok(index_bytes >= 100 * 3000 AND table_bytes < 100 * 3000, 'and so are the values that keys do not hold')
FROM tsurugi.tables WHERE relation = 'seen_long';
SELECT is(index_bytes, 0::bigint, 'no key, no index') FROM tsurugi.tables WHERE relation = 'keyless';
SELECT is(total_bytes, table_bytes + chunk_bytes + header_bytes + blob_bytes + index_bytes, 'the total is the sum')
FROM tsurugi.tables WHERE relation = 'seen';
SELECT is(rows, 0::bigint, 'rows are counted when they are committed') FROM tsurugi.tables WHERE relation = 'seen';

-- sessions
SELECT is(count(*), 1::bigint, 'this backend has one session') FROM tsurugi.sessions WHERE pid = pg_backend_pid();
SELECT ok(in_transaction AND writes >= 2, 'with a transaction that has written')
FROM tsurugi.sessions WHERE pid = pg_backend_pid();
SELECT is(database, current_database(), 'in this database') FROM tsurugi.sessions WHERE pid = pg_backend_pid();
SELECT is(role, session_user, 'as this role') FROM tsurugi.sessions WHERE pid = pg_backend_pid();
SELECT results_eq('SELECT database, role, kind, isolation, read_only, state, snapshot, waits_for, write_preserve FROM tsurugi.transactions WHERE pid = pg_backend_pid()',
	'SELECT current_database(), session_user, ''default'', ''read committed'', false, ''running'', NULL::bigint, NULL::int[], NULL::text[]',
	'the transaction is one that runs');
SELECT ok(writes >= 2 AND age > '0', 'has written, and an age') FROM tsurugi.transactions WHERE pid = pg_backend_pid();
DECLARE reader CURSOR FOR SELECT * FROM seen;
MOVE 1 FROM reader;
SELECT ok(snapshot > 0, 'a cursor makes a snapshot') FROM tsurugi.transactions WHERE pid = pg_backend_pid();
SELECT ok(oldest_snapshot > 0, 'an open cursor reads at a moment') FROM tsurugi.sessions WHERE pid = pg_backend_pid();
CLOSE reader;
SELECT ok(count(*) > 0, 'the threads of the pool have sessions, too') FROM tsurugi.sessions WHERE pid IS NULL;

-- a job that waits for its consumer can be seen and cancelled
SET LOCAL tsurugi_fdw.scan_pool_rows = 0;
INSERT INTO keyless SELECT repeat('w', 200) || i FROM generate_series(1, 30000) i;
DECLARE slow CURSOR FOR SELECT * FROM keyless;
MOVE 1 FROM slow;
SELECT is(count(*), 1::bigint, 'a scan by the pool is a job')
FROM tsurugi.jobs WHERE pid = pg_backend_pid() AND kind = 'scan' AND state = 'running' AND NOT in_place AND failure IS NULL;
SELECT ok(tsurugi.cancel_job(id), 'which can be cancelled') FROM tsurugi.jobs WHERE pid = pg_backend_pid() AND state = 'running';
CREATE FUNCTION pg_temp.move_on() RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN EXECUTE 'MOVE ALL FROM slow'; RETURN 'moved'; EXCEPTION WHEN query_canceled THEN RETURN sqlerrm; END $$;
SELECT is(pg_temp.move_on(), 'canceling statement because its job was cancelled', 'its consumer hears of it');

-- so can a query, which waits in its last step for its consumer
SET LOCAL tsurugi_fdw.jobs = force;
DECLARE pairs CURSOR FOR SELECT a.v, b.v FROM keyless a JOIN keyless b USING (v);
MOVE 1 FROM pairs;
SELECT results_eq(
	'SELECT step, steps, expected > 0, rows > 0 FROM tsurugi.jobs WHERE pid = pg_backend_pid() AND kind = ''query'' AND state = ''running''',
	'SELECT 2::bigint, 2::bigint, true, true', 'a query shows which of its steps runs');
CLOSE pairs;

-- rights
CREATE ROLE views_stranger;
SET LOCAL ROLE views_stranger;
SELECT throws_ok('SELECT * FROM tsurugi.jobs', '42501', NULL, 'jobs are not for everybody');
SELECT throws_ok('SELECT * FROM tsurugi.sessions', '42501', NULL, 'sessions neither');
SELECT is(tsurugi.cancel_job(0), false, 'but everybody may ask for one to be cancelled');
SELECT throws_ok('SELECT * FROM tsurugi.tsurugi_fdw_sessions()', '42501', NULL, 'nor the function behind them');
SELECT lives_ok('SELECT * FROM tsurugi.memory, tsurugi.runtime', 'figures without names are');
SELECT is(count(*), 0::bigint, 'tables need a right on them') FROM tsurugi.tables;
SELECT is(count(*), 0::bigint, 'transactions of others are not shown') FROM tsurugi.transactions;
SELECT is(count(*), 0::bigint, 'nor those that several sessions work in') FROM tsurugi.shared_transactions;
RESET ROLE;
GRANT pg_read_all_stats TO views_stranger;
SET LOCAL ROLE views_stranger;
SELECT lives_ok('SELECT * FROM tsurugi.jobs', 'pg_read_all_stats sees jobs');
SELECT lives_ok('SELECT * FROM tsurugi.sessions', 'and sessions');
SELECT is(count(*), 1::bigint, 'and transactions of others') FROM tsurugi.transactions WHERE pid = pg_backend_pid();
RESET ROLE;

-- what is dropped is counted no more
SAVEPOINT before_drop;
DROP FOREIGN TABLE seen;
SELECT is(count(*), 1::bigint, 'a dropped table is there until the commit')
FROM tsurugi.tables WHERE database = current_database() AND relation !~ '^keyless|_long$';
ROLLBACK TO before_drop;
SELECT is(count(*), 1000::bigint, 'and comes back by a rollback') FROM seen;

SELECT * FROM finish();
ROLLBACK;

/* sql/tsurugi_fdw--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION tsurugi_fdw" to load this file. \quit

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- The schema may have been there before, with objects of others.  The script is read with pg_catalog searched first, so
-- operators whose arguments have exactly the types of one of PostgreSQL's are that one; everything else in views is named
-- with its schema, and functions in SQL, which are read when they are called, set their search_path.

-- The wrapper

CREATE FUNCTION tsurugi_fdw_handler()
RETURNS fdw_handler
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION tsurugi_fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER tsurugi_fdw
	HANDLER tsurugi_fdw_handler
	VALIDATOR tsurugi_fdw_validator;

-- The triggers of foreign keys; of no use for anything else

CREATE FUNCTION tsurugi_fdw_foreign_key_check()
RETURNS trigger
AS 'MODULE_PATHNAME' LANGUAGE C;

CREATE FUNCTION tsurugi_fdw_foreign_key_action()
RETURNS trigger
AS 'MODULE_PATHNAME' LANGUAGE C;

-- The trigger of deferrable keys, likewise

CREATE FUNCTION tsurugi_fdw_unique_check()
RETURNS trigger
AS 'MODULE_PATHNAME' LANGUAGE C;

-- Only the extension itself makes triggers of these, for which nobody needs the right.

REVOKE ALL ON FUNCTION tsurugi_fdw_handler(), tsurugi_fdw_validator(text[], oid),
	tsurugi_fdw_foreign_key_check(), tsurugi_fdw_foreign_key_action(), tsurugi_fdw_unique_check() FROM PUBLIC;

-- Views: what everybody may see

CREATE FUNCTION tsurugi_fdw_memory(
	OUT limit_bytes bigint, OUT used bigint, OUT committed bigint, OUT peak bigint, OUT reserved bigint,
	OUT refused bigint, OUT huge bigint, OUT huge_pages text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW memory AS SELECT * FROM @extschema@.tsurugi_fdw_memory();
COMMENT ON VIEW memory IS 'memory of all tables, in bytes: tsurugi_fdw.memory as in force, live objects, pages in use, their highest number, address space; how often new data was refused; bytes in huge pages';

CREATE FUNCTION tsurugi_fdw_memory_uses(OUT use text, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW memory_uses AS SELECT * FROM @extschema@.tsurugi_fdw_memory_uses();
COMMENT ON VIEW memory_uses IS 'live objects by what they are used for, in bytes';

CREATE FUNCTION tsurugi_fdw_memory_quotas(
	OUT database oid, OUT role oid, OUT bytes bigint, OUT quota bigint, OUT refused bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW memory_quotas AS
SELECT r.rolname AS role, d.datname AS database, q.bytes, q.quota, q.refused
FROM @extschema@.tsurugi_fdw_memory_quotas() q
	LEFT JOIN pg_catalog.pg_database d ON d.oid = q.database
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = q.role;
COMMENT ON VIEW memory_quotas IS 'bytes of tables by owner (in all databases), by database (of all owners) and by both, and tsurugi_fdw.memory_quota of it; how often new data was refused for it; those of other roles and of databases need pg_read_all_stats';

CREATE FUNCTION tsurugi_fdw_workers(
	OUT worker integer, OUT state text, OUT job bigint, OUT task_ms double precision, OUT hung boolean,
	OUT queued bigint, OUT tasks_run bigint, OUT sticky_run bigint, OUT tasks_stolen bigint, OUT steals bigint,
	OUT steal_misses bigint, OUT distributed bigint, OUT yields bigint, OUT parks bigint, OUT suspensions bigint,
	OUT wakeups bigint, OUT core integer, OUT socket integer)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW workers AS SELECT * FROM @extschema@.tsurugi_fdw_workers();
COMMENT ON VIEW workers IS 'threads of the pool: what they do, the job of the present task, for how long it runs if it lasts, and counts since the start';

CREATE FUNCTION tsurugi_fdw_queues(OUT queue text, OUT worker integer, OUT tasks bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW queues AS SELECT * FROM @extschema@.tsurugi_fdw_queues();
COMMENT ON VIEW queues IS 'tasks that wait, by queue';

CREATE FUNCTION tsurugi_fdw_scheduler(
	OUT phase text, OUT workers integer, OUT searching integer, OUT sleeping integer,
	OUT distributing boolean, OUT distributions bigint, OUT distribution_naps bigint, OUT distributed bigint,
	OUT submitted bigint, OUT submitted_urgent bigint, OUT global_taken bigint, OUT global_transfers bigint, OUT overflows bigint,
	OUT conditions_submitted bigint, OUT condition_checks bigint, OUT conditions_slow bigint, OUT hangs bigint,
	OUT ticks bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW scheduler AS SELECT * FROM @extschema@.tsurugi_fdw_scheduler();
COMMENT ON VIEW scheduler IS 'the pool as a whole, and counts since the start: tasks from outside, the global queue, full deques, conditions, hung tasks, ticks of the watcher';

CREATE FUNCTION tsurugi_fdw_tables(
	OUT database oid, OUT relation oid, OUT rows bigint, OUT table_bytes bigint, OUT chunk_bytes bigint,
	OUT header_bytes bigint, OUT blob_bytes bigint, OUT index_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW tables AS
SELECT d.datname AS database,
	CASE WHEN d.datname = pg_catalog.current_database() THEN t.relation::pg_catalog.regclass::pg_catalog.text ELSE t.relation::pg_catalog.text END AS relation,
	t.rows, t.table_bytes, t.chunk_bytes, t.header_bytes, t.blob_bytes, t.index_bytes,
	t.table_bytes + t.chunk_bytes + t.header_bytes + t.blob_bytes + t.index_bytes AS total_bytes
FROM @extschema@.tsurugi_fdw_tables() t
	LEFT JOIN pg_catalog.pg_database d ON d.oid = t.database;
COMMENT ON VIEW tables IS 'tables on which the user has some right, with pg_read_all_stats those of all databases (of others by their OID): committed rows, and bytes of row heads, column chunks, version headers, long values, keys and indexes';

CREATE FUNCTION tsurugi_fdw_indexes(OUT relation oid, OUT index oid, OUT entries bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

-- the storage numbers the primary key 0
CREATE VIEW indexes AS
SELECT n.nspname AS schema, t.relname AS relation, c.relname AS index,
	pg_catalog.pg_get_indexdef(c.oid) AS definition, i.indisunique AS is_unique, i.indisvalid AS is_valid, x.entries, x.bytes
FROM @extschema@.tsurugi_fdw_indexes() x
	JOIN pg_catalog.pg_index i ON i.indrelid = x.relation AND CASE WHEN i.indisprimary THEN 0::pg_catalog.oid ELSE i.indexrelid END = x.index
	JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
	JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
	JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace;
COMMENT ON VIEW indexes IS 'keys and indexes of this database''s tables, which pg_indexes does not list: entries and bytes; of tables without any right they need pg_read_all_stats';

CREATE FUNCTION table_size(relation regclass)
RETURNS bigint
LANGUAGE sql STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.table_bytes + t.chunk_bytes + t.header_bytes + t.blob_bytes + t.index_bytes
	FROM @extschema@.tsurugi_fdw_tables() t
	WHERE t.relation = $1 AND t.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
$$;
COMMENT ON FUNCTION table_size(regclass) IS 'bytes of a table in memory, its key included; NULL for any other, and for one that the view tables does not show to the user';

-- As in Tsurugi's own foreign data wrapper

CREATE FUNCTION tg_show_tables(
	remote_schema text DEFAULT NULL, server_name text DEFAULT NULL, mode text DEFAULT 'summary', pretty boolean DEFAULT true)
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_show_tables' LANGUAGE C STABLE;
COMMENT ON FUNCTION tg_show_tables(text, text, text, boolean) IS 'tables of a server, in a schema or, if there is none of this name, in all; mode: summary or detail';

CREATE FUNCTION tg_verify_tables(
	remote_schema text DEFAULT NULL, server_name text DEFAULT NULL, local_schema text DEFAULT NULL,
	mode text DEFAULT 'summary', pretty boolean DEFAULT true)
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_verify_tables' LANGUAGE C STABLE;
COMMENT ON FUNCTION tg_verify_tables(text, text, text, text, boolean) IS 'tables of a server compared with the foreign tables of the same names in a schema: names, types and order of their columns';

CREATE FUNCTION tsurugi_fdw_runtime(
	OUT running boolean, OUT clock bigint, OUT horizon bigint, OUT epoch bigint, OUT epoch_confirmed bigint,
	OUT commits bigint, OUT aborts bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW runtime AS SELECT * FROM @extschema@.tsurugi_fdw_runtime();
COMMENT ON VIEW runtime IS 'whether the pool runs; commit clock and the horizon that garbage is collected up to; epochs; transactions that wrote, since the start';

CREATE FUNCTION tsurugi_fdw_collector(
	OUT stage text, OUT cycles bigint, OUT logs_waiting bigint, OUT versions_held bigint, OUT versions_removed bigint,
	OUT rows_closed bigint, OUT chunks_settled bigint, OUT chunks_freed bigint, OUT versions_moved bigint, OUT oldest_snapshot bigint,
	OUT oldest_snapshot_pid integer, OUT oldest_snapshot_holds bigint, OUT epoch_lag bigint, OUT epoch_pid integer,
	OUT epoch_wait_ms bigint, OUT quanta bigint, OUT quanta_long bigint, OUT stood_back bigint, OUT bank_us bigint,
	OUT deposited_us bigint, OUT withdrawn_us bigint, OUT paid_us bigint, OUT surcharge bigint,
	OUT pool_cpu_us bigint, OUT sessions_cpu_us bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW collector AS SELECT * FROM @extschema@.tsurugi_fdw_collector();
COMMENT ON VIEW collector IS 'garbage: what the present cycle does, what waits, what is kept for snapshots, what was done since the start; whose snapshot is the oldest and how many versions it keeps; who holds back the epoch; quanta, how often the pool left them to sessions that need the CPUs, their microseconds in the bank and paid by sessions; processor time of the collection, of the pool and of sessions';

CREATE FUNCTION tsurugi_fdw_garbage(
	OUT database oid, OUT relation oid, OUT versions bigint, OUT free_slots bigint, OUT chunks bigint,
	OUT chunks_sparse bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW garbage AS
SELECT d.datname AS database,
	CASE WHEN d.datname = pg_catalog.current_database() THEN g.relation::pg_catalog.regclass::pg_catalog.text ELSE g.relation::pg_catalog.text END AS relation,
	g.versions, g.free_slots, g.chunks, g.chunks_sparse
FROM @extschema@.tsurugi_fdw_garbage() g
	LEFT JOIN pg_catalog.pg_database d ON d.oid = g.database;
COMMENT ON VIEW garbage IS 'by table, of those that the view tables shows: versions beside those of its committed rows, garbage or not yet committed; free slots for versions; chunks, and of them those more than half free';

CREATE FUNCTION tsurugi_fdw_taxes(
	OUT pid integer, OUT role oid, OUT target float8, OUT effective float8, OUT achieved float8, OUT ran_us bigint,
	OUT paid_us bigint, OUT withdrawn_us bigint, OUT debt_us bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW taxes AS
SELECT t.pid, r.rolname AS role, t.target, t.effective, t.achieved, t.ran_us, t.paid_us, t.withdrawn_us, t.debt_us
FROM @extschema@.tsurugi_fdw_taxes() t
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = t.role;
COMMENT ON VIEW taxes IS 'what sessions pay for the collection: utilization as set, as memory allows and as achieved; microseconds run while there was garbage, paid, taken from the bank, owed; those of other roles need pg_read_all_stats';

CREATE FUNCTION tsurugi_fdw_conflicts(OUT reason text, OUT failures bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW conflicts AS SELECT * FROM @extschema@.tsurugi_fdw_conflicts();
COMMENT ON VIEW conflicts IS 'serialization failures (40001) since the start, by what a concurrent commit had changed';

CREATE FUNCTION tsurugi_fdw_retries(OUT event text, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW retries AS SELECT * FROM @extschema@.tsurugi_fdw_retries();
COMMENT ON VIEW retries IS 'what was done, since the start, for serializable transactions that were tried again after 40001';

CREATE FUNCTION tsurugi_fdw_transactions(
	OUT pid integer, OUT database oid, OUT role oid, OUT kind text, OUT label text, OUT isolation text,
	OUT read_only boolean, OUT state text, OUT snapshot bigint, OUT writes bigint, OUT waits_for integer[],
	OUT write_preserve text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW transactions AS
SELECT t.pid, d.datname AS database, r.rolname AS role, t.kind, t.label, t.isolation, t.read_only, t.state,
	pg_catalog.clock_timestamp() - a.xact_start AS age, t.snapshot, t.writes,
	CASE WHEN a.wait_event_type = 'Lock' THEN pg_catalog.pg_blocking_pids(t.pid) ELSE t.waits_for END AS waits_for,
	t.write_preserve
FROM @extschema@.tsurugi_fdw_transactions() t
	LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = t.pid
	LEFT JOIN pg_catalog.pg_database d ON d.oid = t.database
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = t.role;
COMMENT ON VIEW transactions IS 'running transactions that hold a snapshot or have written; those of other roles need pg_read_all_stats';

CREATE FUNCTION tsurugi_fdw_durability(
	OUT state text, OUT worker_runs boolean, OUT base bigint, OUT journal_bytes bigint, OUT durable_lsn pg_lsn,
	OUT redo_lsn pg_lsn, OUT applied_lsn pg_lsn, OUT behind_ms double precision,
	OUT tables_loaded bigint, OUT rows_loaded bigint, OUT bytes_loaded bigint, OUT changes_loaded bigint,
	OUT load_ms double precision, OUT load_phase text, OUT load_done bigint, OUT load_total bigint, OUT checkpoints_held bigint, OUT longest_hold_ms double precision, OUT last_error text, OUT last_error_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW durability AS SELECT * FROM @extschema@.tsurugi_fdw_durability();
COMMENT ON VIEW durability IS 'whether tables can be reached; the base and the journal that a start reads, up to where the journal is durable, and from where PostgreSQL would recover; on a standby, how far tables follow, and for how long they have not been where redo is; what the last start has loaded, and while it loads, how far it is; how often, and for how long, a checkpoint had to wait for the journal';

CREATE FUNCTION write_base()
RETURNS bigint
AS 'MODULE_PATHNAME', 'tsurugi_fdw_write_base' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION write_base() IS 'writes a base now, so that the next start has less to replay; returns its number';

CREATE FUNCTION verify_files(OUT file text, OUT "offset" bigint, OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_verify_files' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION verify_files() IS 'reads the journal beside the running server, and returns where it is damaged';

REVOKE ALL ON FUNCTION write_base(), verify_files() FROM PUBLIC;

-- Files in Parquet and Arrow: what COPY takes and makes.  It asks for the rights of pg_read_server_files itself.

CREATE FUNCTION describe_file(file text, format text DEFAULT NULL, options jsonb DEFAULT '{}',
	OUT n integer, OUT name text, OUT type text, OUT nullable boolean, OUT file_type text, OUT encodings text, OUT codec text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_describe_file' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION describe_file(text, text, jsonb) IS 'columns of a file of the server in CSV, Parquet, Arrow or NDJSON, with the types that take all their values; of CSV those of its first records';

-- Files into tables, by the same rights.

CREATE FUNCTION load("table" regclass, files text[], columns text[] DEFAULT NULL, format text DEFAULT NULL,
	transactional boolean DEFAULT true, handle text DEFAULT NULL, on_conflict text DEFAULT 'error',
	on_error text DEFAULT 'stop', reject_file text DEFAULT NULL, reject_limit bigint DEFAULT 1000,
	options jsonb DEFAULT '{}', dry_run boolean DEFAULT false,
	OUT rows bigint, OUT rejected bigint, OUT files bigint, OUT blocks bigint, OUT bytes bigint,
	OUT transactions bigint, OUT way text, OUT reason text, OUT elapsed interval)
RETURNS record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_load' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION load(regclass, text[], text[], text, boolean, text, text, text, text, bigint, jsonb, boolean) IS 'files of the server, in CSV, Parquet, Arrow or NDJSON, into a table; tells how it was, or would be, done';

-- Or into the parameters of a statement.

CREATE FUNCTION batch(statement text, files text[], columns text[] DEFAULT NULL, format text DEFAULT NULL,
	transactional boolean DEFAULT true, handle text DEFAULT NULL,
	on_error text DEFAULT 'stop', reject_file text DEFAULT NULL, reject_limit bigint DEFAULT 1000,
	options jsonb DEFAULT '{}', dry_run boolean DEFAULT false,
	OUT rows bigint, OUT rejected bigint, OUT files bigint, OUT blocks bigint, OUT bytes bigint,
	OUT transactions bigint, OUT way text, OUT reason text, OUT elapsed interval)
RETURNS record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_batch' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION batch(text, text[], text[], text, boolean, text, text, text, bigint, jsonb, boolean) IS 'a statement once for each row of files of the server, whose columns are its parameters';

-- And out of them.

CREATE FUNCTION dump(query text, directory text, format text DEFAULT 'parquet', prefix text DEFAULT 'part',
	options jsonb DEFAULT '{}', OUT file text, OUT rows bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_dump' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION dump(text, text, text, text, jsonb) IS 'the rows of a query into files of the server, in Parquet, Arrow, CSV or NDJSON; tells of each file';

GRANT SELECT ON durability, memory, memory_uses, memory_quotas, workers, queues, scheduler, tables, indexes, runtime, collector, garbage, taxes, conflicts, retries, transactions TO PUBLIC;

-- Views: what tells of others' work

CREATE FUNCTION tsurugi_fdw_jobs(
	OUT id bigint, OUT parent bigint, OUT kind text, OUT pid integer, OUT relation oid, OUT level integer,
	OUT in_place boolean, OUT state text, OUT cancelled boolean, OUT failure text, OUT tasks bigint,
	OUT tasks_run bigint, OUT done bigint, OUT expected bigint, OUT rows bigint,
	OUT step bigint, OUT steps bigint, OUT memory bigint, OUT memory_most bigint, OUT memory_max bigint,
	OUT spilled bigint, OUT elapsed_ms double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW jobs AS SELECT * FROM @extschema@.tsurugi_fdw_jobs();
COMMENT ON VIEW jobs IS 'jobs: who asked for them, what they work on, who runs them, how far they are, memory and temporary files in bytes';

CREATE FUNCTION tsurugi_fdw_batches(
	OUT job bigint, OUT pid integer, OUT database oid, OUT role oid, OUT kind text, OUT relation oid, OUT state text,
	OUT files_done bigint, OUT files bigint, OUT blocks_done bigint, OUT blocks bigint, OUT rows bigint,
	OUT rows_expected bigint, OUT rejected bigint, OUT bytes_done bigint, OUT bytes bigint, OUT transactions bigint,
	OUT way text, OUT error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW batches AS
SELECT b.job, b.pid, d.datname AS database, r.rolname AS usename, b.kind,
	CASE WHEN d.datname = pg_catalog.current_database() THEN b.relation::pg_catalog.regclass::pg_catalog.text ELSE b.relation::pg_catalog.text END AS relation,
	b.state, b.files_done, b.files, b.blocks_done, b.blocks, b.rows, b.rows_expected, b.rejected, b.bytes_done,
	b.bytes, b.transactions, b.way, b.error
FROM @extschema@.tsurugi_fdw_batches() b
	LEFT JOIN pg_catalog.pg_database d ON d.oid = b.database
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = b.role;
COMMENT ON VIEW batches IS 'loads and dumps that run: how much they have done, and of how much as far as that is known; those of other roles without details, but with pg_read_all_stats';

CREATE FUNCTION tsurugi_fdw_batch_nodes(
	OUT job bigint, OUT level text, OUT file bigint, OUT block bigint, OUT state text, OUT rows bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW batch_nodes AS SELECT * FROM @extschema@.tsurugi_fdw_batch_nodes();
COMMENT ON VIEW batch_nodes IS 'of loads that tasks of the pool do: the batch, its files, blocks and statements that are being worked on; those of other roles with pg_read_all_stats';

GRANT SELECT ON batches, batch_nodes TO PUBLIC;

CREATE FUNCTION cancel_job(id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'tsurugi_fdw_cancel_job' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION cancel_job(bigint) IS 'asks a job or a batch to end, by the rules of pg_cancel_backend; false if none of this number runs';

CREATE FUNCTION tsurugi_fdw_sessions(
	OUT session integer, OUT pid integer, OUT database oid, OUT role oid, OUT in_transaction boolean,
	OUT writes bigint, OUT oldest_snapshot bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE;

CREATE VIEW sessions AS
SELECT s.session, s.pid, d.datname AS database, r.rolname AS role, s.in_transaction, s.writes, s.oldest_snapshot
FROM @extschema@.tsurugi_fdw_sessions() s
	LEFT JOIN pg_catalog.pg_database d ON d.oid = s.database
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.role;
COMMENT ON VIEW sessions IS 'who uses the store: backends, and without a pid the threads of the pool; transactions that have written, and the oldest moment that somebody reads at';

REVOKE ALL ON FUNCTION tsurugi_fdw_jobs(), tsurugi_fdw_sessions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tsurugi_fdw_jobs(), tsurugi_fdw_sessions() TO pg_read_all_stats;
GRANT SELECT ON jobs, sessions TO pg_read_all_stats;

-- Tsurugi's kinds of transactions, by the names that its users know

CREATE FUNCTION tg_set_transaction(transaction_type text)
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_transaction' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_set_transaction(transaction_type text, priority text)
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_transaction' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_set_transaction(transaction_type text, priority text, label text)
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_transaction' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_set_write_preserve(VARIADIC tables text[])
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_write_preserve' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_set_inclusive_read_areas(VARIADIC tables text[])
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_inclusive_read_areas' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_set_exclusive_read_areas(VARIADIC tables text[])
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_set_exclusive_read_areas' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION tg_show_transaction()
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_show_transaction' LANGUAGE C STRICT VOLATILE;

CREATE FUNCTION write_preserve_range("table" regclass, low text[], high text[], bounds text DEFAULT '[)')
RETURNS json
AS 'MODULE_PATHNAME', 'tsurugi_fdw_write_preserve_range' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION write_preserve_range(regclass, text[], text[], text) IS 'adds a range of primary keys to what the next long transaction preserves; NULL is an open end';

-- One transaction that several sessions work in

CREATE FUNCTION export_transaction(VARIADIC tables text[] DEFAULT '{}')
RETURNS text
AS 'MODULE_PATHNAME', 'tsurugi_fdw_export_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION export_transaction(text[]) IS 'the handle by which other sessions of the same role can change these tables in the running transaction';

CREATE FUNCTION begin_transaction(VARIADIC tables text[] DEFAULT '{}')
RETURNS text
AS 'MODULE_PATHNAME', 'tsurugi_fdw_begin_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION begin_transaction(text[]) IS 'begins a transaction that no session owns, in which these tables can be changed by whoever has its handle';

CREATE FUNCTION attach_transaction(handle text)
RETURNS void
AS 'MODULE_PATHNAME', 'tsurugi_fdw_attach_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION attach_transaction(text) IS 'from now on the session works in a shared transaction, as far as tables of tsurugi_fdw are concerned';

CREATE FUNCTION detach_transaction()
RETURNS boolean
AS 'MODULE_PATHNAME', 'tsurugi_fdw_detach_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION detach_transaction() IS 'the session works in transactions of its own again; false if it did';

CREATE FUNCTION commit_transaction(handle text)
RETURNS void
AS 'MODULE_PATHNAME', 'tsurugi_fdw_commit_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION commit_transaction(text) IS 'commits a transaction that no session owns, at once';

CREATE FUNCTION abort_transaction(handle text)
RETURNS void
AS 'MODULE_PATHNAME', 'tsurugi_fdw_abort_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION abort_transaction(text) IS 'aborts a transaction that no session owns, at once or when who is at work in it is done';

CREATE FUNCTION abort_transaction(id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'tsurugi_fdw_abort_transaction_by_id' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION abort_transaction(bigint) IS 'aborts one of shared_transactions that no session owns, at once; for its role, and by the rules of pg_terminate_backend for others; false if it does not run';

CREATE FUNCTION dispose_transaction(handle text)
RETURNS void
AS 'MODULE_PATHNAME', 'tsurugi_fdw_dispose_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION dispose_transaction(text) IS 'the handle is not needed any more: a transaction that no session owns is aborted if it runs; the outcome is forgotten';

CREATE FUNCTION renew_transaction(handle text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'tsurugi_fdw_renew_transaction' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION renew_transaction(text) IS 'lets the lease of a shared transaction begin anew; false if it is not running any more';

CREATE FUNCTION transaction_status(handle text)
RETURNS text
AS 'MODULE_PATHNAME', 'tsurugi_fdw_transaction_status' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION transaction_status(text) IS 'running, committing, available, stored, aborting or aborted; known for one lease after the end';

CREATE FUNCTION transaction_error(handle text)
RETURNS text
AS 'MODULE_PATHNAME', 'tsurugi_fdw_transaction_error' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION transaction_error(text) IS 'why a shared transaction was aborted; NULL if it was not';

REVOKE ALL ON FUNCTION export_transaction(text[]), begin_transaction(text[]), attach_transaction(text) FROM PUBLIC;

CREATE FUNCTION tsurugi_fdw_shared_transactions(
	OUT id bigint, OUT state text, OUT owner text, OUT pid integer, OUT database oid, OUT role oid, OUT kind text, OUT label text,
	OUT isolation text, OUT users bigint, OUT writes bigint, OUT lease_left interval, OUT error text,
	OUT backend_xmin xid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tsurugi_fdw_shared_transactions' LANGUAGE C STRICT VOLATILE;

CREATE VIEW shared_transactions AS
SELECT t.id, t.state, t.owner, t.pid, d.datname AS database, r.rolname AS role, t.kind, t.label, t.isolation, t.users, t.writes,
	t.lease_left, t.error, t.backend_xmin
FROM @extschema@.tsurugi_fdw_shared_transactions() t
	LEFT JOIN pg_catalog.pg_database d ON d.oid = t.database
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = t.role;
COMMENT ON VIEW shared_transactions IS 'transactions that several sessions work in, those that have ended included for one lease; who owns them, how many are at work, from where on VACUUM keeps rows for them; those of other roles need pg_read_all_stats';
GRANT SELECT ON shared_transactions TO PUBLIC;

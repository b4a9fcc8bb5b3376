/*
 * process_txn.c
 *	  Commands by which a process begins and ends transactions of its own.
 *
 * Beginning does not wait and is done at once.  Ending is an operation of the transaction's lane,
 * so it comes after all operations yielded before; it is done even if the process has ended
 * meanwhile.
 */
#include "runtime/app/process_txn.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"

static void
complete(tg_session *session, tg_ticket ticket, tg_status status)
{
	tg_status told = tg_process_complete(session, ticket, status, NULL, NULL);

	(void) told; /* the process may have ended */
}

static void
drop_transaction(tg_session *session, void *data)
{
	tg_shared_abort(session, data, TG_SHARED_FAILED, NULL);
	tg_shared_close(data);
}

static void
begin_run(const tg_command *command)
{
	const tg_shared_config *config = command->argument;
	tg_shared *shared = NULL;
	tg_status status = tg_shared_begin(command->session, config);

	if (status == TG_OK)
		status = tg_shared_open(&config->handle, config->role, &shared);
	if (status != TG_OK)
		complete(command->session, command->ticket, status);
	else if (tg_process_complete(command->session, command->ticket, TG_OK, shared, drop_transaction) != TG_OK)
		drop_transaction(command->session, shared);
}

typedef struct ending
{
	tg_operation operation;
	tg_shared *shared;
	tg_ticket ticket;
} ending;

static ending *
ending_of(tg_operation *operation)
{
	return (ending *) ((char *) operation - offsetof(ending, operation));
}

static void
run_commit(tg_operation *operation, tg_session *session)
{
	ending *end = ending_of(operation);

	complete(session, end->ticket, tg_shared_commit(session, end->shared));
	tg_free(session, end, TG_USE_JOB);
}

static void
run_abort(tg_operation *operation, tg_session *session)
{
	ending *end = ending_of(operation);

	tg_shared_abort(session, end->shared, TG_SHARED_ASKED, NULL);
	complete(session, end->ticket, TG_OK);
	tg_free(session, end, TG_USE_JOB);
}

static void
submit_end(const tg_command *command, void (*run)(tg_operation *, tg_session *))
{
	const tg_transaction_command *argument = command->argument;
	ending *end = tg_alloc_zeroed(command->session, sizeof(*end), TG_USE_JOB, TG_ESSENTIAL);
	tg_status status = TG_NO_MEMORY;

	if (end != NULL)
	{
		end->operation.run = run;
		end->shared = argument->transaction;
		end->ticket = command->ticket;
		status = tg_lane_submit(command->session, tg_shared_lane(end->shared), &end->operation);
	}
	if (status != TG_OK)
	{
		if (end != NULL)
			tg_free(command->session, end, TG_USE_JOB);
		complete(command->session, command->ticket, status);
	}
}

static void
commit_run(const tg_command *command)
{
	submit_end(command, run_commit);
}

static void
abort_run(const tg_command *command)
{
	submit_end(command, run_abort);
}

void
tg_process_txn_register(void)
{
	static const tg_command_handler begin = {
		.name = "begin", .argument_bytes = sizeof(tg_shared_config), .run = begin_run};
	static const tg_command_handler commit = {
		.name = "commit", .argument_bytes = sizeof(tg_transaction_command), .run = commit_run};
	static const tg_command_handler abort = {
		.name = "abort", .argument_bytes = sizeof(tg_transaction_command), .run = abort_run};

	_Static_assert(sizeof(tg_shared_config) <= TG_COMMAND_ARGUMENT_BYTES, "a command has room for it");
	tg_command_register(TG_COMMAND_TRANSACTION_BEGIN, &begin);
	tg_command_register(TG_COMMAND_TRANSACTION_COMMIT, &commit);
	tg_command_register(TG_COMMAND_TRANSACTION_ABORT, &abort);
}

/*
 * load_prepared.c
 *	  The part of a load that is about transactions that the host has prepared.
 *
 * A transaction that is in doubt at the end of the journal has ended with the server, unless the
 * host has prepared it: then its outcome is still to come.  Its records are in the journal however
 * old they are (base.h, least).
 */
#include "runtime/durable/load_internal.h"

#include <stdlib.h>

#include "runtime/base/failpoint.h"
#include "runtime/txn/hold.h"
#include "runtime/txn/prepared.h"

#define ATTEMPTS 100 /* to read records; go_on sleeps for 10 ms between two */

static void
note(tg_loading *load, const tg_undecided_txn *txn)
{
	const tg_load_config *config = load->config;
	uint64_t host = txn->with != 0 && txn->xid != 0 ? config->prepared(config->context, txn->xid) : 0;

	if (host == 0)
		return;
	load->prepared[load->prepared_count++] =
		(tg_load_prepared){.host = host, .first = txn->first, .last = txn->last, .with = txn->with, .xid = txn->xid};
}

tg_status
tg_load_prepared_note(tg_loading *load)
{
	const tg_undecided *undecided = &load->undecided;

	load->prepared = calloc(undecided->count + 1, sizeof(*load->prepared));
	if (load->prepared == NULL)
		return TG_NO_MEMORY;
	for (size_t i = 0; i < undecided->count && load->config->prepared != NULL && !load->config->follows; i++)
		note(load, &undecided->txns[i]);
	return TG_OK;
}

tg_load_prepared *
tg_load_prepared_of(const tg_loading *load, uint64_t position, const tg_record *record)
{
	uint64_t first = record->kind == TG_RECORD_PART && record->first == 0 ? position : record->first;

	for (size_t i = 0; i < load->prepared_count; i++)
	{
		tg_load_prepared *prepared = &load->prepared[i];

		if (record->kind == TG_RECORD_WITH ? prepared->with == position
										   : record->kind == TG_RECORD_PART && prepared->first == first)
			return prepared;
	}
	return NULL;
}

/* tg_load_frame */
static tg_status
take_part(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	tg_record record;

	if (frame->kind != TG_FRAME_RECORD || tg_record_read(data, frame->bytes, &record) != TG_OK ||
		record.kind != TG_RECORD_PART || tg_load_prepared_of(load, frame->start, &record) != load->part_of)
		return TG_OK;
	return load->take_part(load, frame, data);
}

/* The position of the first record of any. */
static uint64_t
least_position(const tg_loading *load)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < load->prepared_count; i++)
	{
		const tg_load_prepared *prepared = &load->prepared[i];
		uint64_t position = prepared->first != 0 ? prepared->first : prepared->with;

		if (position < least)
			least = position;
	}
	return least;
}

/* --- their records, where tables have followed -------------------------------------------- */

/*
 * The PARTs of one, in a pass of its own: what lies in the journal between those of several may
 * have a fault.
 */
static tg_status
read_parts(tg_loading *load, const tg_load_prepared *prepared, tg_load_frame take)
{
	tg_status status;

	load->part_of = prepared;
	load->take_part = take;
	status = tg_load_journal(load, prepared->first, take_part);
	load->part_of = NULL;
	return status;
}

/* Its WITH, which memory has. */
static tg_status
take_with(tg_loading *load, const tg_load_prepared *prepared, tg_load_frame take)
{
	tg_status status = TG_OK;

	for (size_t i = 0; i < load->with_count && status == TG_OK; i++)
	{
		const tg_load_with *with = &load->withs[i];
		const tg_journal_frame frame = {
			.kind = TG_FRAME_RECORD, .start = with->position, .bytes = (uint32_t) with->record.count};

		if (with->position != prepared->with)
			continue;
		load->position = frame.start;
		status = take(load, &frame, with->record.data);
		load->position = 0;
	}
	return status;
}

tg_status
tg_load_prepared_records(tg_loading *load, tg_load_frame take)
{
	tg_status status = TG_OK;

	if (load->withs == NULL)
		return tg_load_journal(load, least_position(load), take);
	for (size_t i = 0; i < load->prepared_count && status == TG_OK; i++)
	{
		const tg_load_prepared *prepared = &load->prepared[i];

		if (prepared->first != 0)
			status = read_parts(load, prepared, take);
		if (status == TG_OK)
			status = take_with(load, prepared, take);
	}
	return status;
}

/* --- whether they can be restored --------------------------------------------------------- */

/* tg_load_frame */
static tg_status
note_last(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	load->last_part = frame->start;
	return TG_OK;
}

/* What is lost stays so.  So an error that may go away gets a second for that. */
static tg_status
find_last(tg_loading *load, const tg_load_prepared *prepared)
{
	const tg_load_config *config = load->config;

	for (unsigned attempt = 1;; attempt++)
	{
		tg_status status;

		load->last_part = 0;
		status = read_parts(load, prepared, note_last);
		if (status != TG_IO || attempt == ATTEMPTS)
			return status;
		load->report->problem = NULL;
		if (!config->go_on(config->context, true))
			return TG_CANCELLED;
	}
}

/* TG_NOT_FOUND: it cannot be restored, and that is no problem of the load. */
static tg_status
check(tg_loading *load, const tg_load_prepared *prepared)
{
	tg_status status;

	if (prepared->first == 0)
		return TG_OK;
	status = find_last(load, prepared);
	if (status == TG_NO_MEMORY || status == TG_CANCELLED || load->last_part == prepared->last)
		return status;
	if (status == TG_OK) /* or faults are ignored */
		(void) !tg_file_fail(&load->report->error, 0, "frames are missing", load->config->journal, 0);
	load->report->problem = NULL;
	return TG_NOT_FOUND;
}

static tg_status
note_xid(uint32_t **xids, size_t *count, uint32_t xid)
{
	uint32_t *more = realloc(*xids, (*count + 1) * sizeof(*more));

	if (more == NULL)
		return TG_NO_MEMORY;
	more[(*count)++] = xid;
	*xids = more;
	return TG_OK;
}

tg_status
tg_load_prepared_check(tg_loading *load)
{
	tg_load_report *report = load->report;

	tg_failpoint("prepared_check");
	for (size_t i = load->prepared_count; i-- > 0;)
	{
		const tg_load_prepared *prepared = &load->prepared[i];
		tg_status status = check(load, prepared);

		if (status != TG_OK && status != TG_NOT_FOUND)
			return status;
		if (status == TG_OK)
			continue;
		status = note_xid(&report->lost, &report->lost_count, prepared->xid);
		if (status != TG_OK)
			return status;
		load->prepared[i] = load->prepared[--load->prepared_count];
	}
	return TG_OK;
}

/* --- restoring them ------------------------------------------------------------------------ */

tg_status
tg_load_prepared_take(tg_loading *load)
{
	tg_load_report *report = load->report;
	tg_status status = TG_OK;

	for (size_t i = 0; i < load->prepared_count && status == TG_OK; i++)
	{
		tg_load_prepared *prepared = &load->prepared[i];

		if (tg_prepared_take(load->session, prepared->host, &prepared->txn) == TG_OK)
		{
			tg_hold_note_unknown(prepared->txn);
			status = note_xid(&report->prepared, &report->prepared_count, prepared->xid);
			continue;
		}
		prepared->txn = NULL;
		(void) !tg_load_note_problem(load, "there are too many prepared transactions");
		return TG_DAMAGED;
	}
	return status;
}

void
tg_load_prepared_leave(tg_loading *load)
{
	for (size_t i = 0; i < load->prepared_count; i++)
		tg_prepared_let_go(load->prepared[i].txn);
}

void
tg_load_prepared_take_back(tg_loading *load)
{
	for (size_t i = 0; i < load->prepared_count; i++)
	{
		tg_txn *txn = load->prepared[i].txn;

		if (txn == NULL)
			continue;
		tg_txn_forget(load->session, txn);
		tg_prepared_let_go(txn);
	}
}

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

#include "runtime/txn/hold.h"
#include "runtime/txn/prepared.h"

static void
note(tg_loading *load, const tg_undecided_txn *txn)
{
	const tg_load_config *config = load->config;
	uint64_t host = txn->with != 0 && txn->xid != 0 ? config->prepared(config->context, txn->xid) : 0;

	if (host == 0)
		return;
	load->report->prepared[load->report->prepared_count++] = txn->xid;
	load->prepared[load->prepared_count++] = (tg_load_prepared){.host = host, .first = txn->first, .with = txn->with};
}

tg_status
tg_load_prepared_note(tg_loading *load)
{
	const tg_undecided *undecided = &load->undecided;

	load->prepared = calloc(undecided->count + 1, sizeof(*load->prepared));
	load->report->prepared = calloc(undecided->count + 1, sizeof(*load->report->prepared));
	if (load->prepared == NULL || load->report->prepared == NULL)
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

/* Whether memory has all their records. */
static bool
are_in_memory(const tg_loading *load)
{
	for (size_t i = 0; i < load->prepared_count; i++)
		if (load->prepared[i].first != 0)
			return false;
	return load->withs != NULL;
}

tg_status
tg_load_prepared_records(tg_loading *load, tg_load_frame take)
{
	tg_status status = TG_OK;

	if (!are_in_memory(load))
		return tg_load_journal(load, least_position(load), take);
	for (size_t i = 0; i < load->with_count && status == TG_OK; i++)
	{
		const tg_load_with *with = &load->withs[i];
		const tg_journal_frame frame = {
			.kind = TG_FRAME_RECORD, .start = with->position, .bytes = (uint32_t) with->record.count};

		load->position = frame.start;
		status = take(load, &frame, with->record.data);
	}
	load->position = 0;
	return status;
}

tg_status
tg_load_prepared_take(tg_loading *load)
{
	for (size_t i = 0; i < load->prepared_count; i++)
	{
		tg_load_prepared *prepared = &load->prepared[i];

		if (tg_prepared_take(load->session, prepared->host, &prepared->txn) == TG_OK)
		{
			tg_hold_note_unknown(prepared->txn);
			continue;
		}
		prepared->txn = NULL;
		(void) !tg_load_note_problem(load, "there are too many prepared transactions");
		return TG_DAMAGED;
	}
	return TG_OK;
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

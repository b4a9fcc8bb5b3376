/*
 * undecided.c
 *	  A list of transactions, each from its first record to its outcome.
 *
 * 1. A transaction is known by its first PART, if it has PARTs, or by its WITH.  An outcome names
 *	  the host's transaction, and decides the one that has a WITH of this number.
 * 2. There are few at a time: as many as transactions of the host, and large ones.  So they are
 *	  looked for one by one.
 * 3. Whoever reads the rows of a transaction's records, which may be long after they were logged,
 *	  needs the storages and indexes that they name (tg_roster_shape).  A storage ends when nobody
 *	  else has changed it, because the host locks it, also for a transaction that is prepared; and
 *	  so does an index that is dropped.  But a start ends those that were being filled, although a
 *	  prepared transaction that goes on may have values for them.  So an index that has ended stays
 *	  in the roster, and in bases, as long as any transaction is undecided.
 */
#include "runtime/durable/undecided.h"

#include <stdlib.h>

#include "runtime/base/failpoint.h"
#include "runtime/durable/roster.h"

#define TXNS_FIRST 16

/* --- records ------------------------------------------------------------------------------ */

static tg_status
read_body(tg_reader *reader, tg_record *record)
{
	record->first = record->kind == TG_RECORD_NOW ? 0 : tg_reader_number(reader);
	record->definition_bytes = (size_t) tg_reader_number(reader);
	record->definitions = tg_reader_take(reader, record->definition_bytes);
	if (record->definitions == NULL)
		return TG_DAMAGED;
	record->rows = reader->at;
	record->row_bytes = (size_t) (reader->end - reader->at);
	return record->kind == TG_RECORD_NOW && record->row_bytes > 0 ? TG_DAMAGED : TG_OK;
}

static tg_status
read_kept(tg_reader reader, tg_record *record)
{
	record->kept = reader.at;
	record->kept_bytes = (size_t) (reader.end - reader.at);
	while (!tg_reader_is_at_end(&reader))
		(void) tg_reader_number_below(&reader, (uint64_t) UINT32_MAX + 1);
	return reader.damaged ? TG_DAMAGED : TG_OK;
}

bool
tg_record_keeps(const tg_record *record, uint32_t xid)
{
	tg_reader reader = tg_reader_make(record->kept, record->kept_bytes);

	while (!tg_reader_is_at_end(&reader))
		if (tg_reader_number(&reader) == xid)
			return true;
	return false;
}

tg_status
tg_record_read(const void *data, size_t count, tg_record *record_out)
{
	tg_reader reader = tg_reader_make(data, count);
	unsigned char format = tg_reader_byte(&reader);

	*record_out = (tg_record){.kind = (tg_record_kind) tg_reader_byte(&reader)};
	if (reader.damaged || format < TG_RECORD_FORMAT_OLDEST || format > TG_RECORD_FORMAT)
		return TG_DAMAGED;
	switch (record_out->kind)
	{
		case TG_RECORD_COMMIT:
		case TG_RECORD_WITH:
		case TG_RECORD_PART:
		case TG_RECORD_NOW:
			return read_body(&reader, record_out);
		case TG_RECORD_MARK:
			return TG_OK;
		case TG_RECORD_CLEAN_START:
			return read_kept(reader, record_out);
		case TG_RECORD_GIVEN_UP:
			record_out->first = tg_reader_number(&reader);
			return reader.damaged || !tg_reader_is_at_end(&reader) || record_out->first == 0 ? TG_DAMAGED : TG_OK;
	}
	return TG_DAMAGED;
}

const char *
tg_record_fault(const void *data, size_t count, const char *otherwise)
{
	tg_reader reader = tg_reader_make(data, count);

	return tg_reader_byte(&reader) > TG_RECORD_FORMAT ? "a record is of a later format than this library knows"
													  : otherwise;
}

/* --- the list ------------------------------------------------------------------------------ */

void
tg_undecided_begin(tg_undecided *undecided, tg_roster *roster, uint64_t since)
{
	*undecided = (tg_undecided){.roster = roster, .since = since};
}

static void
forget_all(tg_undecided *undecided)
{
	while (undecided->count > 0)
		tg_bytes_free(&undecided->txns[--undecided->count].definitions);
}

void
tg_undecided_end(tg_undecided *undecided)
{
	forget_all(undecided);
	free(undecided->txns);
	*undecided = (tg_undecided){0};
}

static tg_undecided_txn *
find_by_first(tg_undecided *undecided, uint64_t first)
{
	for (size_t i = 0; i < undecided->count && first != 0; i++)
		if (undecided->txns[i].first == first)
			return &undecided->txns[i];
	return NULL;
}

static tg_undecided_txn *
find_by_xid(tg_undecided *undecided, uint32_t xid)
{
	for (size_t i = 0; i < undecided->count && xid != 0; i++)
		if (undecided->txns[i].xid == xid)
			return &undecided->txns[i];
	return NULL;
}

static void
forget(tg_undecided *undecided, tg_undecided_txn *txn)
{
	if (txn == NULL)
		return;
	tg_bytes_free(&txn->definitions);
	*txn = undecided->txns[--undecided->count];
}

/* What it has created is of no use to anybody else. */
static void
abort_txn(tg_undecided *undecided, tg_undecided_txn *txn)
{
	if (txn != NULL && txn->first != 0)
		tg_roster_end_created(undecided->roster, txn->first);
	forget(undecided, txn);
}

/* Those of an earlier life of the server, except for those that are prepared. */
static void
forget_ended(tg_undecided *undecided, const tg_record *start)
{
	for (size_t i = undecided->count; i-- > 0;)
	{
		tg_undecided_txn *txn = &undecided->txns[i];

		if (txn->with == 0 || !tg_record_keeps(start, txn->xid))
			forget(undecided, txn);
	}
}

/* The transaction with this first PART; a new one, if it is not known or has no PARTs. */
static tg_undecided_txn *
enter(tg_undecided *undecided, uint32_t xid, uint64_t first)
{
	tg_undecided_txn *txn = find_by_first(undecided, first);

	if (txn == NULL && undecided->count == undecided->capacity)
	{
		size_t capacity = undecided->capacity > 0 ? 2 * undecided->capacity : TXNS_FIRST;
		tg_undecided_txn *txns = realloc(undecided->txns, capacity * sizeof(*txns));

		if (txns == NULL)
			return NULL;
		undecided->txns = txns;
		undecided->capacity = capacity;
	}
	if (txn == NULL)
	{
		txn = &undecided->txns[undecided->count++];
		*txn = (tg_undecided_txn){.first = first};
	}
	if (xid != 0)
		txn->xid = xid;
	return txn;
}

void
tg_undecided_forget(const tg_undecided *undecided)
{
	tg_roster_forget(undecided->roster, undecided->count > 0);
}

uint64_t
tg_undecided_least(const tg_undecided *undecided)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < undecided->count; i++)
	{
		const tg_undecided_txn *txn = &undecided->txns[i];
		uint64_t position = txn->first != 0 ? txn->first : txn->with;

		if (position < least)
			least = position;
	}
	return least;
}

/* --- frames --------------------------------------------------------------------------------- */

static tg_status
define(const tg_undecided *undecided, const tg_journal_frame *frame, const void *data, size_t count)
{
	if (tg_failpoint_refuses("undecided_no_memory"))
		return TG_NO_MEMORY;
	return frame->start >= undecided->since ? tg_roster_apply(undecided->roster, data, count) : TG_OK;
}

static tg_status
read_part(tg_undecided *undecided, const tg_journal_frame *frame, const tg_record *record)
{
	uint64_t first = record->first != 0 ? record->first : frame->start;
	tg_undecided_txn *txn = enter(undecided, frame->xid, first);
	tg_status status;

	if (txn == NULL)
		return TG_NO_MEMORY;
	txn->last = frame->start;
	status = define(undecided, frame, record->definitions, record->definition_bytes);
	tg_roster_note_creator(undecided->roster, record->definitions, record->definition_bytes, first);
	return status;
}

static tg_status
copy_definitions(tg_bytes *copy, const void *data, size_t count)
{
	tg_status status = tg_failpoint_refuses("undecided_no_memory") ? TG_NO_MEMORY : tg_bytes_reserve(copy, count);

	if (status == TG_OK)
		tg_bytes_put(copy, data, count);
	return status;
}

static tg_status
note_with(tg_undecided *undecided, const tg_journal_frame *frame, const tg_record *record)
{
	tg_bytes definitions = {0};
	tg_status status = copy_definitions(&definitions, record->definitions, record->definition_bytes);
	tg_undecided_txn *txn = status == TG_OK ? enter(undecided, frame->xid, record->first) : NULL;

	if (txn == NULL)
	{
		tg_bytes_free(&definitions);
		return TG_NO_MEMORY;
	}
	txn->with = frame->start;
	tg_bytes_free(&txn->definitions);
	txn->definitions = definitions;
	return frame->xid != 0 ? TG_OK : TG_DAMAGED;
}

static tg_status
read_record(tg_undecided *undecided, const tg_journal_frame *frame, const void *data, tg_decision *decision)
{
	tg_record record;
	tg_status status = tg_record_read(data, frame->bytes, &record);

	if (status != TG_OK)
		return status;
	switch (record.kind)
	{
		case TG_RECORD_PART:
			return read_part(undecided, frame, &record);
		case TG_RECORD_WITH:
			return note_with(undecided, frame, &record);
		case TG_RECORD_COMMIT:
			decision->first = record.first;
			forget(undecided, find_by_first(undecided, record.first));
			break;
		case TG_RECORD_CLEAN_START:
			forget_ended(undecided, &record);
			if (frame->start >= undecided->since)
				tg_roster_end_rest(undecided->roster);
			return TG_OK;
		case TG_RECORD_GIVEN_UP:
			abort_txn(undecided, find_by_first(undecided, record.first));
			return TG_OK;
		case TG_RECORD_NOW:
		case TG_RECORD_MARK:
			break;
	}
	return define(undecided, frame, record.definitions, record.definition_bytes);
}

static tg_status
decide(tg_undecided *undecided, const tg_journal_frame *frame, tg_decision *decision)
{
	tg_undecided_txn *txn = find_by_xid(undecided, frame->xid);
	tg_status status;

	if (txn == NULL)
		return TG_OK;
	if (frame->kind != TG_FRAME_COMMITTED || txn->with == 0)
	{
		abort_txn(undecided, txn);
		return TG_OK;
	}
	*decision = (tg_decision){.first = txn->first, .with = txn->with};
	status = define(undecided, frame, txn->definitions.data, txn->definitions.count);
	if (status != TG_NO_MEMORY)
		forget(undecided, txn);
	return status;
}

tg_status
tg_undecided_frame(tg_undecided *undecided, const tg_journal_frame *frame, const void *record,
				   tg_decision *decision_out)
{
	*decision_out = (tg_decision){0};
	switch ((tg_frame_kind) frame->kind)
	{
		case TG_FRAME_RECORD:
			return read_record(undecided, frame, record, decision_out);
		case TG_FRAME_COMMITTED:
		case TG_FRAME_ABORTED:
			return decide(undecided, frame, decision_out);
	}
	return TG_DAMAGED;
}

/* --- for another process --------------------------------------------------------------------- */

static tg_status
write_txn(const tg_undecided_txn *txn, tg_bytes *bytes)
{
	const tg_bytes *definitions = &txn->definitions;

	if (tg_bytes_reserve(bytes, definitions->count + (size_t) 5 * TG_NUMBER_BYTES_MAX) != TG_OK)
		return TG_NO_MEMORY;
	tg_bytes_put_number(bytes, txn->xid);
	tg_bytes_put_number(bytes, txn->first);
	tg_bytes_put_number(bytes, txn->last);
	tg_bytes_put_number(bytes, txn->with);
	tg_bytes_put_number(bytes, definitions->count);
	tg_bytes_put(bytes, definitions->data, definitions->count);
	return TG_OK;
}

/* Pairs that end with a zero: the roster's definitions do not have them. */
static tg_status
write_creators(const tg_roster *roster, tg_bytes *bytes)
{
	for (const tg_roster_storage *storage = tg_roster_first(roster); storage != NULL; storage = storage->next)
	{
		if (tg_bytes_reserve(bytes, (size_t) 3 * TG_NUMBER_BYTES_MAX) != TG_OK)
			return TG_NO_MEMORY;
		if (storage->state != TG_STORAGE_CREATED || storage->creator == 0)
			continue;
		tg_bytes_put_number(bytes, storage->id);
		tg_bytes_put_number(bytes, storage->creator);
	}
	if (tg_bytes_reserve(bytes, 1) != TG_OK)
		return TG_NO_MEMORY;
	tg_bytes_put_number(bytes, 0);
	return TG_OK;
}

tg_status
tg_undecided_write(const tg_undecided *undecided, tg_bytes *bytes)
{
	tg_status status = tg_bytes_reserve(bytes, TG_NUMBER_BYTES_MAX);

	if (status != TG_OK)
		return status;
	tg_bytes_put_number(bytes, undecided->count);
	for (size_t i = 0; i < undecided->count && status == TG_OK; i++)
		status = write_txn(&undecided->txns[i], bytes);
	if (status == TG_OK)
		status = write_creators(undecided->roster, bytes);
	return status == TG_OK ? tg_roster_write(undecided->roster, bytes) : status;
}

static tg_status
read_txn(tg_undecided *undecided, tg_reader *reader)
{
	uint32_t xid = (uint32_t) tg_reader_number_below(reader, (uint64_t) UINT32_MAX + 1);
	tg_undecided_txn *txn = enter(undecided, xid, tg_reader_number(reader));
	size_t count;
	const void *data;

	if (txn == NULL)
		return TG_NO_MEMORY;
	txn->last = tg_reader_number(reader);
	txn->with = tg_reader_number(reader);
	count = (size_t) tg_reader_number(reader);
	data = tg_reader_take(reader, count);
	return reader->damaged ? TG_DAMAGED : copy_definitions(&txn->definitions, data, count);
}

/* The definitions come behind these pairs, and have to be applied first. */
static void
read_creators(const tg_undecided *undecided, tg_reader reader)
{
	uint64_t storage;

	while ((storage = tg_reader_number(&reader)) != 0)
		tg_roster_set_creator(undecided->roster, storage, tg_reader_number(&reader));
}

static tg_status
read_all(tg_undecided *undecided, tg_reader reader)
{
	tg_status status = TG_OK;
	tg_reader creators;

	for (uint64_t count = tg_reader_number(&reader); count > 0 && status == TG_OK; count--)
		status = read_txn(undecided, &reader);
	creators = reader;
	while (tg_reader_number(&reader) != 0)
		(void) tg_reader_number(&reader);
	if (status == TG_OK)
		status = reader.damaged ? TG_DAMAGED
								: tg_roster_apply(undecided->roster, reader.at, (size_t) (reader.end - reader.at));
	if (status == TG_OK)
		read_creators(undecided, creators);
	return status;
}

tg_status
tg_undecided_read(const void *data, size_t count, tg_undecided *undecided_out)
{
	tg_roster *roster;
	tg_status status = tg_roster_create(&roster);

	if (status != TG_OK)
		return status;
	tg_undecided_begin(undecided_out, roster, 0);
	status = read_all(undecided_out, tg_reader_make(data, count));
	if (status == TG_OK)
		return TG_OK;
	tg_undecided_end(undecided_out);
	tg_roster_free(roster);
	return status;
}

/*
 * data_row.c
 *	  Rows as messages to the client, for look-ups that keep their executor state.
 *
 * PostgreSQL's receiver (printtup.c) makes a buffer and a memory context for each
 * execution, and looks up the output functions of the columns' types, which is more
 * than converting the one row of a point query.  Here these are kept, and integers
 * and strings are written without their functions.
 *
 * 1. The messages are the same, byte for byte.
 * 2. Only functions of pinned types are kept.  They cannot be replaced or dropped, and the data
 *	  that they keep in fn_extra belongs to pinned types, too.  They read settings such as DateStyle
 *	  in each call.
 * 3. Only the receiver of the extended protocol's Execute is replaced, which sends no description
 *	  of the row, and only if it is that of printtup.c.  If other code has installed another
 *	  receiver, that one gets the rows.
 */
#include "postgres.h"

#include "src/exec/data_row.h"

#include "access/printtup.h"
#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"

#define FORMAT_COUNT 2 /* text, binary */
#define BUFFER_BYTES_MAX 32768

typedef struct Column
{
	Oid type;
	FmgrInfo output[FORMAT_COUNT]; /* fn_oid: invalid until it is looked up */
} Column;

struct tsurugi_data_row
{
	MemoryContext memory;
	StringInfoData message;
	int count;
	Column columns[];
};

tsurugi_data_row *
tsurugi_data_row_make(TupleDesc columns)
{
	tsurugi_data_row *row;

	for (int i = 0; i < columns->natts; i++)
		if (TupleDescAttr(columns, i)->atttypid >= FirstUnpinnedObjectId)
			return NULL;
	row = palloc0(sizeof(*row) + columns->natts * sizeof(Column));
	row->memory = CurrentMemoryContext;
	initStringInfo(&row->message);
	row->count = columns->natts;
	for (int i = 0; i < columns->natts; i++)
		row->columns[i].type = TupleDescAttr(columns, i)->atttypid;
	return row;
}

/* printtup.c's function, which is known only by what it puts into a receiver. */
static bool
is_printtup(const DestReceiver *receiver)
{
	static bool (*printtup)(TupleTableSlot *, DestReceiver *);

	if (unlikely(printtup == NULL))
	{
		DestReceiver *sample = printtup_create_DR(DestRemoteExecute);

		printtup = sample->receiveSlot;
		sample->rDestroy(sample);
	}
	return receiver->receiveSlot == printtup;
}

bool
tsurugi_data_row_serves(const tsurugi_data_row *row, const DestReceiver *receiver, const int16 *formats)
{
	if (receiver->mydest != DestRemoteExecute || !is_printtup(receiver))
		return false;
	for (int i = 0; i < row->count; i++)
		if ((uint16) formats[i] >= FORMAT_COUNT)
			return false;
	return true;
}

static pg_noinline void
look_up_output(tsurugi_data_row *row, Column *column, int format)
{
	bool is_varlena;
	Oid function;

	if (format == 0)
		getTypeOutputInfo(column->type, &function, &is_varlena);
	else
		getTypeBinaryOutputInfo(column->type, &function, &is_varlena);
	fmgr_info_cxt(function, &column->output[format], row->memory);
}

static void
append_by_function(tsurugi_data_row *row, Column *column, Datum value, int format)
{
	FmgrInfo *output = &column->output[format];

	if (unlikely(!OidIsValid(output->fn_oid)))
		look_up_output(row, column, format);
	if (format == 0)
	{
		char *text = OutputFunctionCall(output, value);

		pq_sendcountedtext(&row->message, text, strlen(text), false);
	}
	else
	{
		bytea *bytes = SendFunctionCall(output, value);

		pq_sendint32(&row->message, VARSIZE(bytes) - VARHDRSZ);
		pq_sendbytes(&row->message, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
	}
}

/* Digits are the same in every encoding that a client may have. */
static inline void
append_integer(StringInfo message, int64 number, int bytes, int format)
{
	enlargeStringInfo(message, sizeof(int32) + MAXINT8LEN + 1);
	if (format == 0)
	{
		char *digits = message->data + message->len + sizeof(int32);
		int length = bytes == sizeof(int64) ? pg_lltoa(number, digits) : pg_ltoa((int32) number, digits);

		pq_writeint32(message, length);
		message->len += length;
		message->data[message->len] = '\0';
	}
	else
	{
		pq_writeint32(message, bytes);
		if (bytes == sizeof(int64))
			pq_writeint64(message, number);
		else if (bytes == sizeof(int32))
			pq_writeint32(message, (uint32) number);
		else
			pq_writeint16(message, (uint16) number);
	}
}

static void
append_value(tsurugi_data_row *row, Column *column, Datum value, int format)
{
	switch (column->type)
	{
		case INT2OID:
			append_integer(&row->message, DatumGetInt16(value), sizeof(int16), format);
			break;
		case INT4OID:
			append_integer(&row->message, DatumGetInt32(value), sizeof(int32), format);
			break;
		case INT8OID:
			append_integer(&row->message, DatumGetInt64(value), sizeof(int64), format);
			break;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			/* flat, as everything in the store; both formats are the client's text */
			pq_sendcountedtext(&row->message, VARDATA_ANY(DatumGetPointer(value)),
							   VARSIZE_ANY_EXHDR(DatumGetPointer(value)), false);
			break;
		default:
			append_by_function(row, column, value, format);
			break;
	}
}

void
tsurugi_data_row_send(tsurugi_data_row *row, TupleTableSlot *slot, const int16 *formats)
{
	tg_assert(slot->tts_nvalid >= row->count);
	pq_beginmessage_reuse(&row->message, 'D');
	pq_sendint16(&row->message, row->count);
	for (int i = 0; i < row->count; i++)
	{
		if (slot->tts_isnull[i])
			pq_sendint32(&row->message, -1);
		else
			append_value(row, &row->columns[i], slot->tts_values[i], formats[i]);
	}
	pq_endmessage_reuse(&row->message);
}

void
tsurugi_data_row_rest(tsurugi_data_row *row)
{
	MemoryContext caller;

	if (likely(row->message.maxlen <= BUFFER_BYTES_MAX))
		return;
	caller = MemoryContextSwitchTo(row->memory);
	pfree(row->message.data);
	initStringInfo(&row->message);
	MemoryContextSwitchTo(caller);
}

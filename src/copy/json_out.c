/*
 * json_out.c
 *	  Rows of PostgreSQL into a file in NDJSON: an object a line, as row_to_json() makes it.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

struct tsurugi_json_out
{
	tsurugi_target *target;
	TupleDesc descriptor; /* of a type that is known by its number */
	MemoryContext row_memory;
	StringInfoData text; /* not yet written */
	uint64 bytes;		 /* written */
};

static void
write_text(tsurugi_json_out *out, int least)
{
	if (out->text.len < least)
		return;
	tsurugi_target_write(out->target, out->text.data, (size_t) out->text.len);
	out->bytes += (uint64) out->text.len;
	resetStringInfo(&out->text);
}

tsurugi_json_out *
tsurugi_json_out_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target)
{
	MemoryContext before = MemoryContextSwitchTo(parent);
	tsurugi_json_out *out = palloc0(sizeof(*out));

	out->target = target;
	out->descriptor = BlessTupleDesc(CreateTupleDescCopy(descriptor));
	out->row_memory = AllocSetContextCreate(parent, "COPY row", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&out->text);
	MemoryContextSwitchTo(before);
	return out;
}

/* In UTF-8.  A value of type json keeps its line ends, which are blanks: no string has any. */
static void
append_line(tsurugi_json_out *out, char *json, int bytes)
{
	char *utf8 = pg_server_to_any(json, bytes, PG_UTF8);
	int begin = out->text.len;

	appendBinaryStringInfo(&out->text, utf8, utf8 != json ? (int) strlen(utf8) : bytes);
	for (int i = begin; i < out->text.len; i++)
		if (out->text.data[i] == '\n' || out->text.data[i] == '\r')
			out->text.data[i] = ' ';
	appendStringInfoCharMacro(&out->text, '\n');
}

void
tsurugi_json_out_put(tsurugi_json_out *out, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(out->row_memory);
	HeapTuple row;
	text *json;

	slot_getallattrs(slot);
	row = heap_form_tuple(out->descriptor, slot->tts_values, slot->tts_isnull);
	json = DatumGetTextPP(DirectFunctionCall1(row_to_json, HeapTupleGetDatum(row)));
	append_line(out, VARDATA_ANY(json), (int) VARSIZE_ANY_EXHDR(json));
	write_text(out, TSURUGI_COPY_BUFFER);
	MemoryContextSwitchTo(before);
	MemoryContextReset(out->row_memory);
}

uint64
tsurugi_json_out_finish(tsurugi_json_out *out)
{
	write_text(out, 1);
	MemoryContextDelete(out->row_memory);
	return out->bytes;
}

/*
 * csv_out.c
 *	  Rows of PostgreSQL into a file in CSV, as COPY writes it (CopyOneRowTo, copyto.c).
 *
 * The pool writes rows, if the file is in the database's encoding: its tasks make the text
 * (runtime/format/csv_out.c) of types that have one in every session, from values as tables store
 * them.  The text of other types is made here, by their output functions.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/copy/datum.h"

struct tsurugi_csv_out
{
	const CopyFormatOptions *options;
	tsurugi_target *target;
	MemoryContext row_memory;
	StringInfoData text;   /* not yet written */
	int encoding;		   /* of the file */
	const char *null_text; /* in it */
	FmgrInfo *functions;
	int column_count;
	uint64 bytes; /* written */
};

static void
write_text(tsurugi_csv_out *out, int least)
{
	if (out->text.len < least)
		return;
	tsurugi_target_write(out->target, out->text.data, (size_t) out->text.len);
	out->bytes += (uint64) out->text.len;
	resetStringInfo(&out->text);
}

static bool
needs_quotes(const tsurugi_csv_out *out, const char *server_text, const char *text)
{
	const char special[] = {out->options->delim[0], out->options->quote[0], '\n', '\r', '\0'};

	return strcmp(server_text, out->options->null_print) == 0 || (out->column_count == 1 && strcmp(text, "\\.") == 0) ||
		   strpbrk(text, special) != NULL;
}

/* CopyAttributeOutCSV */
static void
append_text(tsurugi_csv_out *out, const char *server_text)
{
	char quote = out->options->quote[0];
	char escape = out->options->escape[0];
	const char *text = server_text;

	if (out->encoding != GetDatabaseEncoding())
		text = pg_server_to_any(server_text, (int) strlen(server_text), out->encoding);
	if (!needs_quotes(out, server_text, text))
	{
		appendStringInfoString(&out->text, text);
		return;
	}
	appendStringInfoCharMacro(&out->text, quote);
	for (; *text != '\0'; text++)
	{
		if (*text == quote || *text == escape)
			appendStringInfoCharMacro(&out->text, escape);
		appendStringInfoCharMacro(&out->text, *text);
	}
	appendStringInfoCharMacro(&out->text, quote);
}

static void
append_header(tsurugi_csv_out *out, TupleDesc descriptor)
{
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (i > 0)
			appendStringInfoCharMacro(&out->text, out->options->delim[0]);
		append_text(out, NameStr(TupleDescAttr(descriptor, i)->attname));
	}
	appendStringInfoCharMacro(&out->text, '\n');
}

tsurugi_csv_out *
tsurugi_csv_out_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target,
					  const CopyFormatOptions *options)
{
	MemoryContext before = MemoryContextSwitchTo(parent);
	tsurugi_csv_out *out = palloc0(sizeof(*out));

	out->options = options;
	out->target = target;
	out->row_memory = AllocSetContextCreate(parent, "COPY row", ALLOCSET_DEFAULT_SIZES);
	out->encoding = tsurugi_copy_encoding(options);
	/* a part of a character may look like a quote there */
	if (PG_ENCODING_IS_CLIENT_ONLY(out->encoding))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a dump in encoding \"%s\" is not supported", pg_encoding_to_char(out->encoding))));
	out->null_text = pg_server_to_any(options->null_print, options->null_print_len, out->encoding);
	out->column_count = descriptor->natts;
	out->functions = palloc0(sizeof(FmgrInfo) * Max(descriptor->natts, 1));
	initStringInfo(&out->text);
	for (int i = 0; i < descriptor->natts; i++)
	{
		Oid function;
		bool is_varlena;

		getTypeOutputInfo(TupleDescAttr(descriptor, i)->atttypid, &function, &is_varlena);
		fmgr_info(function, &out->functions[i]);
	}
	if (options->header_line != COPY_HEADER_FALSE)
		append_header(out, descriptor);
	MemoryContextSwitchTo(before);
	return out;
}

void
tsurugi_csv_out_put(tsurugi_csv_out *out, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(out->row_memory);

	slot_getallattrs(slot);
	for (int i = 0; i < out->column_count; i++)
	{
		if (i > 0)
			appendStringInfoCharMacro(&out->text, out->options->delim[0]);
		if (slot->tts_isnull[i])
			appendStringInfoString(&out->text, out->null_text);
		else
			append_text(out, OutputFunctionCall(&out->functions[i], slot->tts_values[i]));
	}
	appendStringInfoCharMacro(&out->text, '\n');
	write_text(out, TSURUGI_COPY_BUFFER);
	MemoryContextSwitchTo(before);
	MemoryContextReset(out->row_memory);
}

uint64
tsurugi_csv_out_finish(tsurugi_csv_out *out)
{
	write_text(out, 1);
	MemoryContextDelete(out->row_memory);
	return out->bytes;
}

/* --- by the pool -------------------------------------------------------------------------- */

bool
tsurugi_csv_out_by_pool(TupleDesc descriptor, const CopyFormatOptions *options)
{
	/* cstring is the one type that no table has values of */
	for (int i = 0; descriptor != NULL && i < descriptor->natts; i++)
		if (TupleDescAttr(descriptor, i)->attlen == -2)
			return false;
	return (descriptor == NULL || descriptor->natts > 0) && GetDatabaseEncoding() == PG_UTF8 &&
		   tsurugi_copy_encoding(options) == PG_UTF8 && options->null_print_len <= TG_CSV_NULL_MAX;
}

void
tsurugi_csv_out_describe(const tsurugi_csv_out *out, tg_csv_written *csv)
{
	*csv = (tg_csv_written){.delimiter = out->options->delim[0],
							.quote = out->options->quote[0],
							.escape = out->options->escape[0],
							.null_bytes = (uint8) out->options->null_print_len,
							.epoch_day = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE,
							.header = out->text.data,
							.header_bytes = (size_t) out->text.len};
	memcpy(csv->null_text, out->options->null_print, csv->null_bytes);
}

/* What a column's values are for the pool; STRING: texts. */
static tg_file_column
type_of(const tsurugi_codec *codec)
{
	bool is_iso = DateStyle == USE_ISO_DATES;

	switch (codec->type)
	{
		case BOOLOID:
			return (tg_file_column){.type = TG_FILE_BOOL};
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return (tg_file_column){.type = TG_FILE_INT, .bits = 64};
		case OIDOID:
			return (tg_file_column){.type = TG_FILE_UINT, .bits = 32};
		case NUMERICOID:
			if ((codec->form == TSURUGI_NUMERIC8 || codec->form == TSURUGI_NUMERIC16) && codec->scale >= 0)
				return (tg_file_column){.type = TG_FILE_DECIMAL,
										.precision = codec->form == TSURUGI_NUMERIC8 ? 18 : 38,
										.scale = codec->scale};
			break;
		case DATEOID:
			if (is_iso)
				return (tg_file_column){.type = TG_FILE_DATE};
			break;
		case TIMEOID:
			return (tg_file_column){.type = TG_FILE_TIME, .digits = 6};
		case TIMESTAMPOID:
			if (is_iso)
				return (tg_file_column){.type = TG_FILE_TIMESTAMP, .digits = 6};
			break;
		case UUIDOID:
			return (tg_file_column){.type = TG_FILE_UUID};
		default:
			break;
	}
	return (tg_file_column){.type = TG_FILE_STRING};
}

static tg_cell_out_form
form_of(const tsurugi_codec *codec, tg_file_type type)
{
	switch (type)
	{
		case TG_FILE_STRING:
			return codec->type == TEXTOID || codec->type == VARCHAROID || codec->type == BPCHAROID ||
						   codec->type == JSONOID
					   ? TG_OUT_TEXT
					   : TG_OUT_HOST;
		case TG_FILE_UINT:
			return TG_OUT_UINT4;
		case TG_FILE_DECIMAL:
			return codec->form == TSURUGI_NUMERIC8 ? TG_OUT_DECIMAL : TG_OUT_WIDE;
		case TG_FILE_UUID:
			return TG_OUT_16;
		default:
			return TG_OUT_WORD;
	}
}

void
tsurugi_csv_out_column(const tsurugi_codec *codec, Oid type, tsurugi_written_column *column,
					   tg_file_column *description)
{
	const char *name = description->name;
	Oid function;
	bool is_varlena;

	*description = type_of(codec);
	description->name = name;
	description->nullable = true;
	/* without a type: by its output function */
	*column = (tsurugi_written_column){.file = description->type};
	getTypeOutputInfo(type, &function, &is_varlena);
	fmgr_info(function, &column->output);
}

void
tsurugi_csv_out_cell(const tsurugi_taken *taken, const tsurugi_written_column *column, tg_cell_out *cell)
{
	*cell = (tg_cell_out){.form = (uint8) form_of(taken->codec, (tg_file_type) column->file),
						  .header_bytes = taken->codec->header_bytes,
						  .takes_largest = true,
						  .vector = (uint16) taken->vector};
}

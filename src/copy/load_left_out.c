/*
 * load_left_out.c
 *	  Rows that do not fit, of a load by the pool: what is wrong with them, and their records.
 *
 * A task only tells where the row is.  Its record is read from the file once more.
 */
#include "postgres.h"

#include "src/copy/load_pool.h"

#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "runtime/base/check.h"
#include "runtime/batch/loader.h"
#include "src/base/status_error.h"
#include "src/copy/copy.h"
#include "src/copy/load_csv.h"

/* --- errors ---------------------------------------------------------------------------------- */

static bool
is_of_time(Oid type)
{
	return type == DATEOID || type == TIMEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* The name of a stored column. */
static const char *
name_of(Relation relation, int column)
{
	int attribute = column - tsurugi_relation_get(relation)->hidden_count;

	return NameStr(TupleDescAttr(RelationGetDescr(relation), attribute)->attname);
}

static void
raise_value(Relation relation, const tg_loader_row *row)
{
	int attribute = row->column - tsurugi_relation_get(relation)->hidden_count;
	const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(relation), attribute);
	const char *name = NameStr(column->attname);

	switch (row->cell)
	{
		case TG_CELL_IS_NULL:
			ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
							errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint", name,
								   RelationGetRelationName(relation)),
							errtablecol(relation, column->attnum)));
			break;
		case TG_CELL_OUT:
			ereport(ERROR, (errcode(is_of_time(column->atttypid) ? ERRCODE_DATETIME_VALUE_OUT_OF_RANGE
																 : ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							errmsg("value of column \"%s\" is out of range for type %s", name,
								   format_type_with_typemod(column->atttypid, column->atttypmod))));
			break;
		case TG_CELL_NOT_UTF8:
			ereport(ERROR, (errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
							errmsg("invalid byte sequence for encoding \"UTF8\" in column \"%s\"", name)));
			break;
		case TG_CELL_TOO_LONG:
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("value of column \"%s\" is too long for a load that is not transactional", name)));
			break;
		case TG_CELL_NO_MEMORY:
		case TG_CELL_FITS:
			tsurugi_error(TG_NO_MEMORY, relation);
	}
}

static void
raise_duplicate(Relation relation, const tg_loader_row *row)
{
	Oid index = row->index != 0 ? (Oid) row->index : tsurugi_relation_get(relation)->key_index;
	const char *name = get_rel_name(index);

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("duplicate key value violates unique constraint \"%s\"", name),
			 errtableconstraint(relation, name)));
}

void
tsurugi_load_raise_row(Relation relation, const tg_loader_row *row)
{
	if (row->failure == TG_LOADER_VALUE)
		raise_value(relation, row);
	else
		raise_duplicate(relation, row);
	pg_unreachable();
}

/* The error that the row would raise, in the current memory context. */
static ErrorData *
error_of_row(Relation relation, const tg_loader_row *row)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData *error = NULL;

	PG_TRY();
	{
		tsurugi_load_raise_row(relation, row);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (!tsurugi_rejects_code(error->sqlerrcode))
			ReThrowError(error);
	}
	PG_END_TRY();
	return error;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void
reject_row(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need, const tg_loader_row *row,
		   const char *record)
{
	const tsurugi_load_file *file = list_nth(load->files, (int) need->file);
	ErrorData *error = error_of_row(load->relation, row);
	tsurugi_reject rejected = {.file = file->name,
							   .block = need->block + 1,
							   .row = (int64) row->row,
							   .byte = file->csv != NULL ? (int64) row->offset : -1,
							   .code = error->sqlerrcode,
							   .message = error->message,
							   .record = record};

	if (row->failure == TG_LOADER_VALUE)
		rejected.column = name_of(load->relation, row->column);
	tsurugi_rejects_add(rejects, &rejected);
}

static void
reject_csv(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	const tsurugi_load_file *file = list_nth(load->files, (int) need->file);
	int descriptor = tsurugi_load_open_contents(file);

	for (unsigned i = 0; i < need->row_count; i++)
		reject_row(load, rejects, need, &need->rows[i], tsurugi_load_record(file, descriptor, &need->rows[i]));
	CloseTransientFile(descriptor);
}

static void
reject_columnar(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	const tsurugi_load_file *file = list_nth(load->files, (int) need->file);
	tsurugi_rows *rows = tsurugi_rows_open(load->relation, file->name, file->format, load->columns, NULL);
	List *attributes = CopyGetAttnums(RelationGetDescr(load->relation), load->relation, tsurugi_rows_columns(rows));
	uint64 at = need->rows_before;
	StringInfoData line;

	CloseTransientFile(tsurugi_load_reopen(file)); /* it is still the same */
	initStringInfo(&line);
	tsurugi_rows_seek(rows, need->block);
	for (unsigned i = 0; i < need->row_count; i++)
	{
		const tg_loader_row *row = &need->rows[i];
		int group;

		tg_assert(row->row > at); /* in the order of the block */
		tsurugi_rows_pass(rows, (int64) (row->row - 1 - at));
		at = row->row;
		resetStringInfo(&line);
		if (!tsurugi_rows_append(rows, &line, &group))
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("file \"%s\" has been changed since the load began", file->name)));
		reject_row(load, rejects, need, row,
				   tsurugi_reject_json(load->relation, attributes, line.data, line.data + line.len));
	}
	tsurugi_rows_close(rows);
}

void
tsurugi_load_reject_rows(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "rows left out", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);

	if (((const tsurugi_load_file *) list_nth(load->files, (int) need->file))->csv != NULL)
		reject_csv(load, rejects, need);
	else
		reject_columnar(load, rejects, need);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(memory);
}

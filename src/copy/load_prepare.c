/*
 * load_prepare.c
 *	  Which loads the pool can run, and how their files' values become the table's.
 */
#include "postgres.h"

#include "src/copy/load_pool.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "commands/copy.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "storage/ipc.h"
#include "utils/lsyscache.h"

#include "runtime/base/failpoint.h"
#include "runtime/batch/loader.h"
#include "runtime/table/limits.h"
#include "src/base/session.h"
#include "src/copy/copy.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/packed_file.h"
#include "src/copy/progress.h"
#include "src/copy/server_file.h"
#include "src/copy/unpacked.h"
#include "src/txn/kinds.h"
#include "src/txn/shared_transaction.h"
#include "src/value/type_parts.h"

#define BLOCK_BYTES (INT64CONST(8) << 20) /* of CSV */
#define BLOCK_BYTES_LEAST (INT64CONST(64) << 10)

/* --- which loads ----------------------------------------------------------------------------- */

/* Why rows of a table are not stored by the pool; NULL: they can be. */
static const char *
reason_of_table(Relation relation, const tsurugi_relation *described)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	if (constraints != NULL && constraints->num_check > 0)
		return "the table has a CHECK constraint";
	if (described->column_count > TG_FILE_COLUMNS_MAX)
		return "the table has too many columns";
	return tsurugi_relation_by_sessions(relation, described);
}

/* Columns that the file does not have are NULL. */
static const char *
reason_of_absent(Relation relation, const tsurugi_load_file *file)
{
	TupleDesc descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attisdropped && !bms_is_member(attribute->attnum, file->loaded) &&
			(attribute->atthasdef || attribute->attidentity != '\0' || attribute->attnotnull ||
			 get_typdefault(attribute->atttypid) != NULL))
			return psprintf("column \"%s\" is not in file \"%s\"", NameStr(attribute->attname), file->name);
	}
	return NULL;
}

/* --- cells ----------------------------------------------------------------------------------- */

typedef struct Making
{
	Relation relation;
	const tsurugi_relation *described;
	tsurugi_load_file *file;
	const char *reason;
} Making;

static void
make_cell(void *argument, const FormData_pg_attribute *attribute, unsigned source, const tg_file_column *column)
{
	Making *making = argument;
	tsurugi_load_file *file = making->file;

	if (file->cells == NULL)
		file->cells = palloc0(sizeof(tg_cell) * RelationGetDescr(making->relation)->natts);
	if (!tsurugi_load_cell(making->described, attribute, source, column, &file->cells[file->cell_count]))
		making->reason = psprintf("values of column \"%s\" of file \"%s\" are converted by sessions",
								  NameStr(attribute->attname), file->name);
	file->cell_count++;
	file->loaded = bms_add_member(file->loaded, attribute->attnum);
}

/* Why a file's rows are not stored by the pool. */
static const char *
prepare_columnar(const tsurugi_load *load, const tsurugi_relation *described, tsurugi_load_file *file)
{
	Relation relation = load->relation;
	Making making = {.relation = relation, .described = described, .file = file};
	const char *reason;

	tsurugi_copy_look(relation, file->name, file->format, load->columns, &file->rows, &file->blocks, make_cell,
					  &making);
	reason = reason_of_absent(relation, file);
	return making.reason != NULL ? making.reason : reason;
}

/* --- CSV ------------------------------------------------------------------------------------- */

static bool
has_name(const List *names, const char *name)
{
	ListCell *cell;

	foreach (cell, names)
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return true;
	return false;
}

static void
make_csv_cells(const tsurugi_load *load, const tsurugi_relation *described, const CopyFormatOptions *options,
			   tsurugi_load_file *file)
{
	int count = list_length(file->attributes);
	tg_csv_column *columns = palloc0(sizeof(*columns) * Max(count, 1));
	ListCell *cell;

	file->cells = palloc0(sizeof(tg_cell) * Max(count, 1));
	file->cell_count = count;
	foreach (cell, file->attributes)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(load->relation), lfirst_int(cell) - 1);
		int i = foreach_current_index(cell);

		tsurugi_load_csv_cell(described, attribute, (unsigned) i, &columns[i], &file->cells[i]);
		columns[i].force_null = has_name(options->force_null, NameStr(attribute->attname));
		columns[i].force_not_null =
			has_name(options->force_notnull, NameStr(attribute->attname)) || !tsurugi_load_may_be_null(attribute);
		file->loaded = bms_add_member(file->loaded, attribute->attnum);
	}
	file->csv->format.columns = columns;
	file->csv->format.column_count = (unsigned) count;
}

/* Whether tasks can read files of texts. */
static const char *
reason_of_texts(const tsurugi_load_file *file, int encoding)
{
	struct stat status;

	if (file->contents == NULL && (tsurugi_file_stat(file->name, &status) != 0 || !S_ISREG(status.st_mode)))
		return "files that are not ordinary ones are read by sessions";
	if (encoding != PG_UTF8 || GetDatabaseEncoding() != PG_UTF8)
		return psprintf("files in %s of other encodings than UTF8 are read by sessions",
						tsurugi_format_name(file->format));
	return NULL;
}

/* How many they are likely to be. */
static int64
count_blocks(int64 bytes)
{
	return Max((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES, 1);
}

static const char *
prepare_csv(const tsurugi_load *load, const tsurugi_relation *described, tsurugi_load_file *file)
{
	CopyFormatOptions options = {0};
	const char *reason;

	file->csv_options = tsurugi_load_csv_options(load);
	ProcessCopyOptions(NULL, &options, true, file->csv_options);
	reason = reason_of_texts(file, tsurugi_copy_encoding(&options));
	if (reason == NULL && options.convert_selectively)
		reason = "columns that are not to be converted are left out by sessions";
	if (reason != NULL)
		return reason;
	file->attributes = CopyGetAttnums(RelationGetDescr(load->relation), load->relation, file->columns);
	if (file->attributes == NIL)
		return "the table has no columns";
	free_parsestate(tsurugi_copy_parse_state(load->relation, file->attributes));
	file->csv = palloc0(sizeof(*file->csv));
	file->csv->format.dialect = tsurugi_csv_dialect(&options);
	file->csv->format.null_text = options.null_print;
	make_csv_cells(load, described, &options, file);
	file->blocks = count_blocks(file->bytes);
	return reason_of_absent(load->relation, file);
}

/* --- NDJSON ---------------------------------------------------------------------------------- */

static const char *
make_json_cells(const tsurugi_load *load, const tsurugi_relation *described, tsurugi_load_file *file)
{
	int count = list_length(file->attributes);
	tg_csv_column *columns = palloc0(sizeof(*columns) * count);
	const char **names = palloc(sizeof(*names) * count);
	const char *reason = NULL;
	ListCell *cell;

	file->cells = palloc0(sizeof(tg_cell) * count);
	file->cell_count = count;
	foreach (cell, file->attributes)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(load->relation), lfirst_int(cell) - 1);
		int i = foreach_current_index(cell);

		if (!tsurugi_load_json_cell(described, attribute, (unsigned) i, &columns[i], &file->cells[i]))
			reason = psprintf("values of column \"%s\" of file \"%s\" are converted by sessions",
							  NameStr(attribute->attname), file->name);
		columns[i].force_not_null = !tsurugi_load_may_be_null(attribute);
		names[i] = NameStr(attribute->attname);
		file->loaded = bms_add_member(file->loaded, attribute->attnum);
	}
	file->csv->names = names;
	file->csv->format.columns = columns;
	file->csv->format.column_count = (unsigned) count;
	return reason;
}

static const char *
prepare_json(const tsurugi_load *load, const tsurugi_relation *described, tsurugi_load_file *file)
{
	const char *reason = reason_of_texts(file, PG_UTF8);

	if (reason != NULL)
		return reason;
	file->attributes = CopyGetAttnums(RelationGetDescr(load->relation), load->relation, file->columns);
	if (file->attributes == NIL)
		return psprintf("file \"%s\" has no columns", file->name);
	file->csv_options =
		list_make1(makeDefElem("encoding", (Node *) makeString(pstrdup(GetDatabaseEncodingName())), -1));
	file->csv = palloc0(sizeof(*file->csv));
	file->csv->format.null_text = "";
	reason = make_json_cells(load, described, file);
	file->blocks = count_blocks(file->bytes);
	return reason != NULL ? reason : reason_of_absent(load->relation, file);
}

/* --- files of texts -------------------------------------------------------------------------- */

void
tsurugi_load_unpack(tsurugi_load_file *file)
{
	int descriptor;

	if (file->csv == NULL || !tsurugi_file_is_packed(file->name))
		return;
	descriptor = tsurugi_load_reopen(file);
	file->unpacked = tsurugi_unpack(file->name, descriptor);
	file->blocks = count_blocks(file->unpacked->bytes);
	CloseTransientFile(descriptor);
}

void
tsurugi_load_remove_unpacked(const tsurugi_load *load)
{
	ListCell *cell;

	foreach (cell, load->files)
	{
		tsurugi_load_file *file = lfirst(cell);

		if (file->unpacked != NULL)
			tsurugi_unpacked_remove(file->unpacked);
		file->unpacked = NULL;
	}
}

typedef struct Cutting
{
	const tsurugi_load *load;
	const tsurugi_csv *csv;
} Cutting;

/* As CopyFromErrorCallback, of a load that PostgreSQL's COPY would do in this process. */
static void
describe_place(void *argument)
{
	const Cutting *cutting = argument;

	errcontext("COPY %s, line " UINT64_FORMAT, RelationGetRelationName(cutting->load->relation),
			   tsurugi_csv_lines(cutting->csv) + 1);
}

static void
cut_csv(const tsurugi_load *load, tsurugi_load_file *file, uint64 block_bytes)
{
	tsurugi_csv *csv = tsurugi_csv_open(load, file);
	Cutting cutting = {load, csv};
	ErrorContextCallback context = {.callback = describe_place, .arg = &cutting, .previous = error_context_stack};
	tg_csv_block *blocks;

	if (load->is_plain)
		error_context_stack = &context;
	tg_failpoint("load_cuts");
	file->blocks = tsurugi_csv_blocks(csv, block_bytes, &blocks, &file->csv->format.dialect, &file->rows);
	error_context_stack = context.previous;
	file->csv->blocks = blocks;
	file->csv->has_header = tsurugi_csv_has_header(csv);
	tsurugi_csv_close(csv);
}

void
tsurugi_load_cut(const tsurugi_load *load, tsurugi_load_file *file, uint64 block_bytes)
{
	block_bytes = Max(Min(block_bytes, BLOCK_BYTES), BLOCK_BYTES_LEAST);
	if (tg_failpoint_refuses("load_tiny_blocks"))
		block_bytes = 1;
	if (file->format == TSURUGI_FORMAT_NDJSON)
		tsurugi_load_cut_json(file, block_bytes);
	else
		cut_csv(load, file, block_bytes);
}

/* --- all ------------------------------------------------------------------------------------- */

const char *
tsurugi_load_pool_prepare(tsurugi_load *load)
{
	const tsurugi_relation *described;
	const char *reason;
	ListCell *cell;

	if (!tsurugi_is_our_table(RelationGetRelid(load->relation)))
		return "the table is not in memory";
	if (load->on_conflict == TSURUGI_LOAD_CONFLICT_REPLACE)
		return "rows that are there are replaced by sessions";
	tsurugi_access();
	described = tsurugi_relation_get(load->relation);
	reason = reason_of_table(load->relation, described);
	foreach (cell, load->files)
		if (reason == NULL)
		{
			tsurugi_load_file *file = lfirst(cell);

			if (file->format == TSURUGI_FORMAT_NDJSON)
				reason = prepare_json(load, described, file);
			else
				reason = file->format == TSURUGI_FORMAT_CSV ? prepare_csv(load, described, file)
															: prepare_columnar(load, described, file);
		}
	return reason;
}

/* Whether the input of a value may run code of users: of domains' CHECKs, or ranges' orders. */
static bool
may_run_functions(Oid type)
{
	ListCell *cell;

	foreach (cell, tsurugi_type_and_parts(type))
	{
		Oid part = lfirst_oid(cell);

		if (get_typtype(part) == TYPTYPE_DOMAIN || (type_is_range(part) && part >= FirstNormalObjectId))
			return true;
	}
	return false;
}

/* They would run while tasks write the transaction. */
static const char *
reason_of_functions(const tsurugi_load *load, const tsurugi_load_file *file)
{
	TupleDesc descriptor = RelationGetDescr(load->relation);

	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		if (bms_is_member(attribute->attnum, file->loaded) && may_run_functions(attribute->atttypid))
			return psprintf("values of column \"%s\" may call functions of users", NameStr(attribute->attname));
	}
	return NULL;
}

const char *
tsurugi_load_pool_reason(const tsurugi_load *load)
{
	if (tsurugi_kind != TG_TXN_ORDINARY)
		return "the caller's transaction is of another kind than ordinary";
	return tsurugi_load_pool_reason_by_handle(load);
}

const char *
tsurugi_load_pool_reason_by_handle(const tsurugi_load *load)
{
	const char *reason = NULL;
	ListCell *cell;

	if (load->skips || load->on_conflict != TSURUGI_LOAD_CONFLICT_ERROR)
		return "rows are left out of the caller's transaction by sessions";
	foreach (cell, load->files)
		if (reason == NULL)
			reason = reason_of_functions(load, lfirst(cell));
	return reason;
}

/* A COPY goes by the columns of the first file, and refuses others. */
static bool
have_same_columns(const List *files)
{
	const tsurugi_load_file *first = linitial(files);
	ListCell *cell;

	foreach (cell, files)
		if (!bms_equal(((const tsurugi_load_file *) lfirst(cell))->loaded, first->loaded))
			return false;
	return true;
}

bool
tsurugi_load_leave(const tsurugi_load *load, const char *reason)
{
	ereport(DEBUG1, (errmsg_internal("the pool does not load table \"%s\": %s", RelationGetRelationName(load->relation),
									 reason)));
	return false;
}

static const char *
reason_in_transaction(tsurugi_load *load)
{
	const char *reason = tsurugi_load_pool_prepare(load);

	if (reason == NULL)
		reason = tsurugi_load_pool_reason(load);
	if (reason == NULL && !have_same_columns(load->files))
		reason = "the files have different columns";
	return reason;
}

bool
tsurugi_load_by_pool(tsurugi_load *load, int64 *rows_out)
{
	tsurugi_batch *batch;
	volatile bool stored = false;

	if (tsurugi_load_copies || !tsurugi_is_our_table(RelationGetRelid(load->relation)))
		return false;
	batch = tsurugi_batch_begin("copy", RelationGetRelid(load->relation));
	PG_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	{
		const char *reason;

		tsurugi_load_look(load);
		reason = reason_in_transaction(load);
		stored = reason != NULL ? tsurugi_load_leave(load, reason) : tsurugi_load_pool_try(load, rows_out);
	}
	PG_END_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	tsurugi_batch_succeed(batch);
	return stored;
}

bool
tsurugi_load_copied(Relation relation, tsurugi_format format, List *columns, const char *name, int64 *rows_out)
{
	int names_left = TSURUGI_FILE_NAMES_MAX;
	tsurugi_load load = {
		.relation = relation, .columns = columns, .files = tsurugi_load_files_named(name, format, &names_left)};

	return tsurugi_load_by_pool(&load, rows_out);
}

/*
 * load_file.c
 *	  Files of a load: their names and formats, their columns.
 *
 * Each file is looked at before a row of any is stored.  So a file that does not fit the table
 * leaves nothing behind, whatever the kind of load.
 */
#include "postgres.h"

#include "src/copy/load.h"

#include <sys/stat.h>

#include "commands/copy.h"
#include "mb/pg_wchar.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "runtime/base/failpoint.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/server_file.h"
#include "src/copy/unpacked.h"

#define PATTERNS_MAX 10000
#define NAMES_FEW 200
#define NS_PER_S INT64CONST(1000000000)

/* --- names and formats ---------------------------------------------------------------------- */

tsurugi_format
tsurugi_load_format_named(const char *name)
{
	tsurugi_format format = tsurugi_format_named(name);

	if (format == TSURUGI_FORMAT_COUNT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("format \"%s\" not recognized", name),
						errhint("Formats are " TSURUGI_FORMATS ".")));
	return format;
}

static tsurugi_format
format_of_name(const char *name)
{
	tsurugi_format format = tsurugi_format_of_file(name);

	if (format == TSURUGI_FORMAT_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the name of file \"%s\" has no known format", name),
				 errhint("Name the format: formats are " TSURUGI_FORMATS ".")));
	return format;
}

List *
tsurugi_load_files_named(const char *name, tsurugi_format format, int *names_left)
{
	List *files = NIL;
	ListCell *cell;

	foreach (cell, tsurugi_file_names(name, names_left))
	{
		tsurugi_load_file *file = palloc0(sizeof(*file));

		file->name = lfirst(cell);
		file->format = format != TSURUGI_FORMAT_COUNT ? format : format_of_name(file->name);
		files = lappend(files, file);
	}
	return files;
}

List *
tsurugi_load_files(ArrayType *patterns, const char *format)
{
	List *files = NIL;
	int names_left = tg_failpoint_refuses("patterns_among_few") ? NAMES_FEW : TSURUGI_FILE_NAMES_MAX;
	Datum *names;
	bool *nulls;
	int count;

	deconstruct_array(patterns, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	if (count == 0 || count > PATTERNS_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a load needs between 1 and %d names of files", PATTERNS_MAX)));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the name of a file must not be null")));
		tsurugi_file_check(TextDatumGetCString(names[i]), TSURUGI_FILE_READ, "load files", NULL);
		files = list_concat(
			files, tsurugi_load_files_named(TextDatumGetCString(names[i]),
											format != NULL ? tsurugi_load_format_named(format) : TSURUGI_FORMAT_COUNT,
											&names_left));
	}
	return files;
}

/* --- columns -------------------------------------------------------------------------------- */

static void
look_at_csv(const tsurugi_load *load, tsurugi_load_file *file)
{
	file->columns = load->columns;
	file->rows = -1;
	file->blocks = 1;
	if (load->has_header && file->columns == NIL)
		file->columns = tsurugi_csv_header(load, file);
	(void) CopyGetAttnums(RelationGetDescr(load->relation), load->relation, file->columns);
}

static void
look_at_json(const tsurugi_load *load, tsurugi_load_file *file)
{
	file->columns = tsurugi_json_columns(load->relation, file->name, tsurugi_load_json_keys(file), load->columns);
	free_parsestate(tsurugi_copy_parse_state(
		load->relation, CopyGetAttnums(RelationGetDescr(load->relation), load->relation, file->columns)));
}

static void
note_values(void *file, const FormData_pg_attribute *attribute, unsigned source, const tg_file_column *column)
{
	tsurugi_load_file *noted = file;

	if (column->type != TG_FILE_NULL || column->list)
		noted->valued = bms_add_member(noted->valued, attribute->attnum);
}

static void
look_at_columns(const tsurugi_load *load, tsurugi_load_file *file)
{
	file->columns = load->columns;
	tsurugi_copy_look(load->relation, file->name, file->format, load->columns, &file->rows, &file->blocks, note_values,
					  file);
}

/* Whether what a file does not have may get a value when its row is stored. */
static bool
is_filled_later(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || /* a trigger of a partition may */
		   (relation->trigdesc != NULL &&
			(relation->trigdesc->trig_insert_before_row || relation->trigdesc->trig_insert_instead_row));
}

static void
check_nulls(Relation relation, const tsurugi_load_file *file)
{
	TupleDesc descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attnotnull || attribute->attisdropped || attribute->atthasdef ||
			attribute->attidentity != '\0' || get_typdefault(attribute->atttypid) != NULL ||
			bms_is_member(attribute->attnum, file->valued))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
						NameStr(attribute->attname), RelationGetRelationName(relation)),
				 errdetail("File \"%s\" has no values for it.", file->name), errtablecol(relation, attribute->attnum)));
	}
}

void
tsurugi_load_check_nulls(const tsurugi_load *load)
{
	ListCell *cell;

	if (load->skips || is_filled_later(load->relation)) /* skips: its rows are left out */
		return;
	foreach (cell, load->files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		if ((file->format == TSURUGI_FORMAT_PARQUET || file->format == TSURUGI_FORMAT_ARROW) && file->rows > 0)
			check_nulls(load->relation, file);
	}
}

List *
tsurugi_load_json_keys(tsurugi_load_file *file)
{
	tsurugi_json *json = tsurugi_json_open(file->name, 0);
	List *keys;

	file->rows = 0;
	file->blocks = 1;
	keys = tsurugi_json_keys(json, NIL, &file->rows);
	tsurugi_json_close(json);
	return keys;
}

static int64
changed_ns(const struct stat *status)
{
	return status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;
}

void
tsurugi_load_identify(tsurugi_load_file *file)
{
	struct stat status;

	if (tsurugi_file_stat(file->name, &status) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not stat file \"%s\": %m", file->name)));
	if (!S_ISREG(status.st_mode) && !tsurugi_file_names_any(TSURUGI_FILE_READ))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a regular file", file->name)));
	file->bytes = status.st_size;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->changed_ns = changed_ns(&status);
}

void
tsurugi_load_look(tsurugi_load *load)
{
	ListCell *cell;

	foreach (cell, load->files)
	{
		tsurugi_load_file *file = lfirst(cell);

		tsurugi_load_identify(file);
		if (file->format != TSURUGI_FORMAT_CSV)
			tsurugi_load_no_options(load, file);
		if (file->format == TSURUGI_FORMAT_CSV)
			look_at_csv(load, file);
		else if (file->format == TSURUGI_FORMAT_NDJSON)
			look_at_json(load, file);
		else
			look_at_columns(load, file);
	}
}

int
tsurugi_load_reopen(const tsurugi_load_file *file)
{
	int descriptor = tsurugi_file_open_to_read(file->name);
	struct stat status;

	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", file->name)));
	if (status.st_dev != file->device || status.st_ino != file->inode || status.st_size != file->bytes ||
		changed_ns(&status) != file->changed_ns)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("file \"%s\" has been changed since the load began", file->name)));
	return descriptor;
}

int
tsurugi_load_open_contents(const tsurugi_load_file *file)
{
	return file->unpacked != NULL ? tsurugi_unpacked_open(file->unpacked) : tsurugi_load_reopen(file);
}

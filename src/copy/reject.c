/*
 * reject.c
 *	  Rows that a load has left out: how many there may be, and the file that they are written to.
 *
 * The file is CSV with a header.  It is written as the load goes, so that it is there when the load
 * fails, too: it then tells why.  Nothing removes it when the transaction is rolled back.
 */
#include "postgres.h"

#include "src/copy/reject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "runtime/base/check.h"
#include "src/copy/load.h"
#include "src/copy/progress.h"
#include "src/copy/server_file.h"

struct tsurugi_rejects
{
	const char *relation;
	const char *file_name;
	FILE *file; /* NULL: there is none */
	int64 limit;
	int64 count;
	char *first;		  /* a description of the first one */
	MemoryContext memory; /* in which it lies */
};

void
tsurugi_rejects_check_right(const char *file_name)
{
	tsurugi_file_check(file_name, TSURUGI_FILE_WRITE, "write a reject file", NULL);
	if (!is_absolute_path(file_name))
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("relative path not allowed for a reject file")));
}

bool
tsurugi_rejects_code(int code)
{
	return ERRCODE_TO_CATEGORY(code) == ERRCODE_DATA_EXCEPTION || code == ERRCODE_NOT_NULL_VIOLATION ||
		   code == ERRCODE_UNIQUE_VIOLATION || code == ERRCODE_CHECK_VIOLATION || code == ERRCODE_EXCLUSION_VIOLATION;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Bytes that may be of no encoding. */
static char *
text_of_bytes(const char *bytes, int count, int encoding)
{
	StringInfoData text;

	if (pg_encoding_verifymbstr(encoding, bytes, count) == count && encoding == GetDatabaseEncoding())
		return pnstrdup(bytes, count);
	initStringInfo(&text);
	for (int i = 0; i < count; i++)
		if (IS_HIGHBIT_SET(bytes[i]) || bytes[i] == '\0')
			appendStringInfo(&text, "\\x%02x", (unsigned char) bytes[i]);
		else
			appendStringInfoChar(&text, bytes[i]);
	return text.data;
}

char *
tsurugi_reject_line(const char *bytes, int count, int encoding)
{
	if (count > 0 && bytes[count - 1] == '\n')
		count--;
	if (count > 0 && bytes[count - 1] == '\r')
		count--;
	return text_of_bytes(bytes, count, encoding);
}

/* The next value of a line of COPY's text format; NULL: it is one.  *at_io: moves behind it. */
static char *
next_text(const char **at_io, const char *end)
{
	static const char escapes[] = "b\bf\fn\nr\rt\tv\v";
	StringInfoData text;
	const char *at = *at_io;

	initStringInfo(&text);
	for (; at < end && *at != '\t' && *at != '\n'; at++)
	{
		const char *known;

		if (*at != '\\' || at + 1 == end)
		{
			appendStringInfoChar(&text, *at);
			continue;
		}
		at++;
		if (*at == 'N')
		{
			*at_io = at + 2;
			return NULL;
		}
		known = strchr(escapes, *at);
		appendStringInfoChar(&text, known != NULL && (known - escapes) % 2 == 0 ? known[1] : *at);
	}
	*at_io = at + 1;
	return pg_any_to_server(text.data, text.len, PG_UTF8);
}

char *
tsurugi_reject_json(Relation relation, const List *attributes, const char *at, const char *end)
{
	const char *separator = "{";
	StringInfoData json;
	ListCell *cell;

	initStringInfo(&json);
	foreach (cell, attributes)
	{
		char *text = next_text(&at, end);

		appendStringInfoString(&json, separator);
		escape_json(&json, NameStr(TupleDescAttr(RelationGetDescr(relation), lfirst_int(cell) - 1)->attname));
		appendStringInfoString(&json, ": ");
		if (text != NULL)
			escape_json(&json, text);
		else
			appendStringInfoString(&json, "null");
		separator = ", ";
	}
	appendStringInfoChar(&json, '}');
	return json.data;
}

/* --- the file -------------------------------------------------------------------------------- */

static void
fail_writing(const tsurugi_rejects *rejects)
{
	if (errno == 0)
		errno = ENOSPC;
	ereport(ERROR, (errcode_for_file_access(), errmsg("could not write to file \"%s\": %m", rejects->file_name)));
}

static void
write_line(tsurugi_rejects *rejects, const StringInfoData *line)
{
	errno = 0;
	if (fwrite(line->data, 1, line->len, rejects->file) != (size_t) line->len || fflush(rejects->file) != 0)
		fail_writing(rejects);
}

/*
 * A new file of that name below a root, in place of what has it: whom that belongs to, and what
 * other names it has, does not matter then.  NULL and errno.
 */
static FILE *
open_anew(int directory, const char *leaf)
{
	if (unlinkat(directory, leaf, 0) != 0 && errno != ENOENT)
		return NULL;
	return tsurugi_file_create_at(directory, leaf, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
}

/* Of what has the file's name, which is going to be replaced. */
static void
check_replaced(const tsurugi_rejects *rejects, const struct stat *status, const List *load_files)
{
	ListCell *cell;

	if (!S_ISREG(status->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a regular file", rejects->file_name)));
	foreach (cell, load_files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		if (file->device == status->st_dev && file->inode == status->st_ino)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("reject file \"%s\" is one of the files that are read", rejects->file_name)));
	}
}

/* Modes are those of a file that COPY writes (BeginCopyTo). */
static void
open_file(tsurugi_rejects *rejects, const List *load_files)
{
	StringInfoData header;
	struct stat status;
	const char *leaf;
	int directory;
	mode_t mask;

	directory = tsurugi_file_directory(rejects->file_name, &leaf);
	if (directory != -1 && fstatat(directory, leaf, &status, directory == AT_FDCWD ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
		check_replaced(rejects, &status, load_files);
	mask = umask(S_IWGRP | S_IWOTH);
	PG_TRY();
	{
		if (directory == AT_FDCWD)
			rejects->file = AllocateFile(rejects->file_name, PG_BINARY_W);
		else if (directory >= 0)
			rejects->file = open_anew(directory, leaf);
	}
	PG_FINALLY();
	{
		umask(mask);
	}
	PG_END_TRY();
	if (rejects->file == NULL)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not open file \"%s\" for writing: %m", rejects->file_name)));
	tsurugi_file_directory_close(directory);
	initStringInfo(&header);
	appendStringInfoString(&header, "file,block,row,byte,column,sqlstate,message,record\n");
	write_line(rejects, &header);
	pfree(header.data);
}

static void
append_quoted(StringInfo line, const char *text)
{
	appendStringInfoChar(line, '"');
	for (; *text != '\0'; text++)
	{
		if (*text == '"')
			appendStringInfoChar(line, '"');
		appendStringInfoChar(line, *text);
	}
	appendStringInfoChar(line, '"');
}

static void
write_reject(tsurugi_rejects *rejects, const tsurugi_reject *reject)
{
	StringInfoData line;

	initStringInfo(&line);
	append_quoted(&line, reject->file);
	appendStringInfo(&line, "," INT64_FORMAT "," INT64_FORMAT ",", reject->block, reject->row);
	if (reject->byte >= 0)
		appendStringInfo(&line, INT64_FORMAT, reject->byte);
	appendStringInfoChar(&line, ',');
	if (reject->column != NULL)
		append_quoted(&line, reject->column);
	appendStringInfo(&line, ",%s,", unpack_sql_state(reject->code));
	append_quoted(&line, reject->message);
	appendStringInfoChar(&line, ',');
	append_quoted(&line, reject->record);
	appendStringInfoChar(&line, '\n');
	write_line(rejects, &line);
	pfree(line.data);
}

/* --- those of a load -------------------------------------------------------------------------- */

tsurugi_rejects *
tsurugi_rejects_begin(const char *relation, const char *file_name, int64 limit, const List *load_files)
{
	tsurugi_rejects *rejects = palloc0(sizeof(*rejects));

	rejects->relation = relation;
	rejects->file_name = file_name;
	rejects->limit = limit;
	rejects->memory = CurrentMemoryContext;
	if (file_name != NULL)
		open_file(rejects, load_files);
	return rejects;
}

void
tsurugi_rejects_add(tsurugi_rejects *rejects, const tsurugi_reject *reject)
{
	tg_assert((rejects->file != NULL) == (rejects->file_name != NULL));
	tg_assert(tsurugi_rejects_code(reject->code) && reject->record != NULL);
	rejects->count++;
	tsurugi_batch_reject();
	if (rejects->file != NULL)
		write_reject(rejects, reject);
	if (rejects->first == NULL)
	{
		MemoryContext before = MemoryContextSwitchTo(rejects->memory);

		rejects->first = psprintf("File \"%s\", row " INT64_FORMAT ": %s (%s)", reject->file, reject->row,
								  reject->message, unpack_sql_state(reject->code));
		MemoryContextSwitchTo(before);
	}
	if (rejects->count > rejects->limit)
		ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
						rejects->relation != NULL
							? errmsg("more than " INT64_FORMAT " rows of a load into \"%s\" are rejected",
									 rejects->limit, rejects->relation)
							: errmsg("more than " INT64_FORMAT " rows of a batch are rejected", rejects->limit),
						errdetail("The first one: %s.", rejects->first)));
}

int64
tsurugi_rejects_end(tsurugi_rejects *rejects)
{
	int64 count = rejects->count;

	if (rejects->file != NULL && (pg_fsync(fileno(rejects->file)) != 0 || FreeFile(rejects->file) != 0))
		fail_writing(rejects);
	rejects->file = NULL;
	return count;
}

/*
 * copy.c
 *	  COPY with FORMAT parquet, arrow or ndjson, or csv and options of a load: which statements
 *	  these are, their options, and who may run them.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "catalog/pg_authid.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "utils/acl.h"

#include "runtime/format/codec.h"
#include "src/copy/load.h"
#include "src/copy/load_options.h"
#include "src/copy/server_file.h"

#define GROUP_ROWS_MAX 16777216
#define GROUP_BYTES_LEAST 1024
#define GROUP_BYTES_MAX 1073741824
#define LEVEL_MAX 22 /* of ZSTD */
#define LEVEL_MAX_GZIP 9

const char *
tsurugi_copy_format_word(const CopyStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
	{
		DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "format") == 0)
			return option->arg != NULL ? defGetString(option) : "";
	}
	return "text";
}

/* The format of the statement, if it is one of this folder's; else COUNT. */
static tsurugi_format
format_of(const CopyStmt *statement)
{
	return tsurugi_format_named(tsurugi_copy_format_word(statement));
}

static bool
is_load(const CopyStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
		if (statement->is_from && tsurugi_load_is_option(lfirst_node(DefElem, cell)->defname))
			return true;
	return false;
}

bool
tsurugi_copy_is_ours(const Node *tree)
{
	const CopyStmt *statement = (const CopyStmt *) tree;
	tsurugi_format format = IsA(tree, CopyStmt) ? format_of(statement) : TSURUGI_FORMAT_COUNT;

	return format != TSURUGI_FORMAT_COUNT && (format != TSURUGI_FORMAT_CSV || is_load(statement));
}

/* --- options ----------------------------------------------------------------------------- */

int
tsurugi_copy_codec(tsurugi_format format, const char *name)
{
	static const struct
	{
		tsurugi_format format;
		const char *name;
		int codec;
	} written[] = {
		{TSURUGI_FORMAT_PARQUET, "none", TG_CODEC_NONE},	   {TSURUGI_FORMAT_PARQUET, "snappy", TG_CODEC_SNAPPY},
		{TSURUGI_FORMAT_PARQUET, "gzip", TG_CODEC_GZIP},	   {TSURUGI_FORMAT_PARQUET, "zstd", TG_CODEC_ZSTD},
		{TSURUGI_FORMAT_PARQUET, "lz4_raw", TG_CODEC_LZ4_RAW}, {TSURUGI_FORMAT_ARROW, "none", TG_CODEC_NONE},
		{TSURUGI_FORMAT_ARROW, "lz4", TG_CODEC_LZ4_FRAME},	   {TSURUGI_FORMAT_ARROW, "zstd", TG_CODEC_ZSTD}};

	for (int i = 0; i < lengthof(written); i++)
		if (written[i].format == format && strcmp(name, written[i].name) == 0)
			return written[i].codec;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("codec \"%s\" not recognized", name),
					format == TSURUGI_FORMAT_ARROW
						? errhint("Codecs are \"none\", \"lz4\" and \"zstd\".")
						: errhint("Codecs are \"none\", \"snappy\", \"gzip\", \"zstd\" and \"lz4_raw\".")));
}

int
tsurugi_copy_group_rows(int64 rows)
{
	if (rows < 1 || rows > GROUP_ROWS_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("row_group_rows must be between 1 and %d", GROUP_ROWS_MAX)));
	return (int) rows;
}

int
tsurugi_copy_group_bytes(int64 bytes)
{
	if (bytes < GROUP_BYTES_LEAST || bytes > GROUP_BYTES_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("row_group_bytes must be between %d and %d", GROUP_BYTES_LEAST, GROUP_BYTES_MAX)));
	return (int) bytes;
}

int
tsurugi_copy_level(int64 level)
{
	if (level < 1 || level > LEVEL_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("level must be between 1 and %d", LEVEL_MAX)));
	return (int) level;
}

void
tsurugi_copy_check_options(const tsurugi_copy_options *options)
{
	if (options->level == 0)
		return;
	if (options->codec != TG_CODEC_GZIP && options->codec != TG_CODEC_ZSTD)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the codec has no levels"),
						errhint("Levels are those of codecs \"gzip\" and \"zstd\".")));
	if (options->codec == TG_CODEC_GZIP && options->level > LEVEL_MAX_GZIP)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("level of codec \"gzip\" must be between 1 and %d", LEVEL_MAX_GZIP)));
}

static bool
takes_option(const char *name, bool is_from, tsurugi_format format)
{
	if (is_from)
		return strcmp(name, "freeze") == 0;
	if (format == TSURUGI_FORMAT_NDJSON)
		return false;
	return strcmp(name, "codec") == 0 || strcmp(name, "level") == 0 || strcmp(name, "row_group_rows") == 0 ||
		   strcmp(name, "row_group_bytes") == 0 ||
		   (format == TSURUGI_FORMAT_PARQUET && strcmp(name, "dictionary") == 0) ||
		   (format == TSURUGI_FORMAT_ARROW && strcmp(name, "stream") == 0);
}

static tsurugi_copy_options
read_options(ParseState *parse, const CopyStmt *statement)
{
	/* what a client gets may go into a pipe, so it needs nothing that is at its end */
	tsurugi_copy_options options = {.format = format_of(statement), .codec = -1, .stream = statement->filename == NULL};
	List *seen = NIL;
	ListCell *cell;

	foreach (cell, statement->options)
	{
		DefElem *option = lfirst_node(DefElem, cell);
		const char *name = option->defname;
		ParseCallbackState position;

		if (list_member(seen, makeString(option->defname)))
			errorConflictingDefElem(option, parse);
		seen = lappend(seen, makeString(option->defname));
		if (strcmp(name, "format") == 0)
			continue;
		if (!takes_option(name, statement->is_from, options.format))
			ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
							errmsg("option \"%s\" not recognized for COPY %s in %s format", name,
								   statement->is_from ? "FROM" : "TO", tsurugi_format_name(options.format)),
							parser_errposition(parse, option->location)));
		setup_parser_errposition_callback(&position, parse, option->location);
		if (strcmp(name, "freeze") == 0)
			options.freeze = option;
		else if (strcmp(name, "codec") == 0)
			options.codec = tsurugi_copy_codec(options.format, defGetString(option));
		else if (strcmp(name, "stream") == 0)
			options.stream = defGetBoolean(option);
		else if (strcmp(name, "level") == 0)
			options.level = tsurugi_copy_level(defGetInt64(option));
		else if (strcmp(name, "dictionary") == 0)
			options.plain = !defGetBoolean(option);
		else if (strcmp(name, "row_group_bytes") == 0)
			options.group_bytes = tsurugi_copy_group_bytes(defGetInt64(option));
		else
			options.group_rows = tsurugi_copy_group_rows(defGetInt64(option));
		cancel_parser_errposition_callback(&position);
	}
	tsurugi_copy_check_options(&options);
	return options;
}

/* --- the statement ----------------------------------------------------------------------- */

#define HINT_CLIENT "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."

static void
check_program_right(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_EXECUTE_SERVER_PROGRAM))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser or have privileges of the pg_execute_server_program role to COPY to "
							   "or from an external program"),
						errhint(HINT_CLIENT)));
}

void
tsurugi_copy_check_file_right(const CopyStmt *statement)
{
	tsurugi_file_right right = statement->is_from ? TSURUGI_FILE_READ : TSURUGI_FILE_WRITE;
	const char *purpose = statement->is_from ? "COPY from a file" : "COPY to a file";

	if (statement->is_program)
		check_program_right();
	else if (statement->filename != NULL && tsurugi_copy_is_ours((const Node *) statement))
		tsurugi_file_check(statement->filename, right, purpose, HINT_CLIENT);
	else if (statement->filename != NULL)
		tsurugi_file_check_any(right, purpose, HINT_CLIENT);
}

static void
refuse_program(const CopyStmt *statement)
{
	if (statement->is_program)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						is_load(statement) ? errmsg("COPY of a program is not supported with options of a load")
										   : errmsg("COPY of a program is not supported in %s format",
													tsurugi_format_name(format_of(statement))),
						errhint("Use a file.")));
}

uint64
tsurugi_copy_run(const tsurugi_copy *copy)
{
	ParseState *parse;
	tsurugi_copy_options options;

	if (is_load(copy->statement))
	{
		refuse_program(copy->statement);
		return tsurugi_copy_load(copy, format_of(copy->statement));
	}
	parse = make_parsestate(NULL);
	parse->p_sourcetext = copy->text;
	options = read_options(parse, copy->statement);
	free_parsestate(parse);
	refuse_program(copy->statement);
	return copy->statement->is_from ? tsurugi_copy_from(copy, &options) : tsurugi_copy_to(copy, &options);
}

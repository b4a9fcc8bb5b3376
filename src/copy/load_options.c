/*
 * load_options.c
 *	  Options of a load: of the function, where they are in JSON, and of COPY.
 *
 * Those of CSV are kept as COPY's, which judges them.  The others are numbers.
 */
#include "postgres.h"

#include "src/copy/load_options.h"

#include <limits.h>

#include "commands/copy.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/numeric.h"

#include "runtime/batch/tree.h"
#include "src/copy/copy.h"
#include "src/copy/reject.h"

#define FILES_AT_ONCE 4	  /* settings' defaults */
#define BLOCKS_AT_ONCE 0  /* as many as there are workers */
#define REJECT_LIMIT 1000 /* the argument's default */

static int files_at_once;
static int blocks_at_once;

void
tsurugi_load_settings_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.max_concurrent_files",
							"Number of files of a load that tasks of the pool read at a time.", NULL, &files_at_once,
							FILES_AT_ONCE, 1, TG_BATCH_FILES_AT_ONCE_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("tsurugi_fdw.max_concurrent_blocks_per_file",
							"Number of blocks of a file that tasks of the pool load at a time.",
							"0: as many as there are workers.", &blocks_at_once, BLOCKS_AT_ONCE, 0,
							TG_BATCH_BLOCKS_AT_ONCE_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* --- numbers --------------------------------------------------------------------------------- */

typedef struct Number
{
	const char *name;
	size_t place; /* an int64 of the load */
	int64 most;
	bool is_of_pool; /* which runs no statements */
	bool is_apart;	 /* of a load that is not transactional */
	const char *wanted;
} Number;

static const Number numbers[] = {
	{"commit_rows", offsetof(tsurugi_load, commit_rows), PG_INT64_MAX, false, true, "a number of rows"},
	{"max_concurrent_files", offsetof(tsurugi_load, files_at_once), TG_BATCH_FILES_AT_ONCE_MAX, true, false,
	 "a number of files, at most " CppAsString2(TG_BATCH_FILES_AT_ONCE_MAX)},
	{"max_concurrent_blocks_per_file", offsetof(tsurugi_load, blocks_at_once), TG_BATCH_BLOCKS_AT_ONCE_MAX, true, false,
	 "a number of blocks, at most " CppAsString2(TG_BATCH_BLOCKS_AT_ONCE_MAX)}};

/* NULL: there is none of that name. */
static const Number *
number_named(const tsurugi_load *load, const char *name)
{
	for (int i = 0; i < lengthof(numbers); i++)
		if (strcmp(numbers[i].name, name) == 0 && !(numbers[i].is_of_pool && load->statement != NULL))
			return &numbers[i];
	return NULL;
}

static void
take_number(tsurugi_load *load, const Number *number, int64 value)
{
	if (number->is_apart && load->is_transactional)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option \"%s\" needs a load or a batch that is not transactional", number->name)));
	if (value < 1 || value > number->most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option \"%s\" of a load must be %s", number->name, number->wanted)));
	*(int64 *) ((char *) load + number->place) = value;
}

unsigned
tsurugi_load_files_at_once(const tsurugi_load *load)
{
	return (unsigned) (load->files_at_once > 0 ? load->files_at_once : files_at_once);
}

unsigned
tsurugi_load_blocks_at_once(const tsurugi_load *load)
{
	int64 most = load->blocks_at_once > 0 ? load->blocks_at_once : blocks_at_once;

	return most > 0 ? (unsigned) most : TG_BATCH_BLOCKS_AT_ONCE_MAX;
}

/* --- values in JSON -------------------------------------------------------------------------- */

static void
bad_option(const char *name, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" of a load must be %s", name, wanted)));
}

static char *
text_of(const JsonbValue *value)
{
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* An array of names of columns. */
static Node *
names_of(const char *option, const JsonbValue *value)
{
	JsonbIterator *at;
	JsonbIteratorToken token;
	JsonbValue element;
	List *names = NIL;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		bad_option(option, "an array of names of columns");
	at = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&at, &element, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (element.type != jbvString)
			bad_option(option, "an array of names of columns");
		names = lappend(names, makeString(text_of(&element)));
	}
	if (names == NIL)
		bad_option(option, "an array of names of columns");
	return (Node *) names;
}

static Node *
value_of(const char *option, const JsonbValue *value)
{
	static const char *const texts[] = {"delimiter", "null", "quote", "escape", "encoding"};

	if (strcmp(option, "force_null") == 0 || strcmp(option, "force_not_null") == 0)
		return names_of(option, value);
	if (strcmp(option, "header") == 0)
	{
		if (value->type == jbvBool)
			return (Node *) makeBoolean(value->val.boolean);
		if (value->type == jbvString)
			return (Node *) makeString(text_of(value));
		bad_option(option, "true, false or \"match\"");
	}
	for (int i = 0; i < lengthof(texts); i++)
		if (strcmp(option, texts[i]) == 0)
		{
			if (value->type != jbvString)
				bad_option(option, "a string");
			return (Node *) makeString(text_of(value));
		}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" of a load not recognized", option)));
}

/* 0: it is no number. */
static int64
number_of(const JsonbValue *value)
{
	if (value->type != jbvNumeric)
		return 0;
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
}

/* has_numbers: not those of CSV alone. */
static void
take_options(Jsonb *options, tsurugi_load *load, bool has_numbers)
{
	JsonbIterator *at = JsonbIteratorInit(&options->root);
	JsonbValue value;

	if (JsonbIteratorNext(&at, &value, false) != WJB_BEGIN_OBJECT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("options of a load must be a JSON object")));
	while (JsonbIteratorNext(&at, &value, true) == WJB_KEY)
	{
		char *name = text_of(&value);
		const Number *number = has_numbers ? number_named(load, name) : NULL;
		DefElem *option;

		(void) JsonbIteratorNext(&at, &value, true);
		if (number != NULL)
		{
			take_number(load, number, number_of(&value));
			continue;
		}
		option = makeDefElem(name, value_of(name, &value), -1);
		if (strcmp(name, "header") == 0 && strcmp(defGetString(option), "match") != 0)
			load->has_header = defGetBoolean(option);
		load->options = lappend(load->options, option);
	}
}

void
tsurugi_load_options(Jsonb *options, tsurugi_load *load)
{
	take_options(options, load, true);
}

void
tsurugi_load_options_of_csv(Jsonb *options, tsurugi_load *load)
{
	take_options(options, load, false);
}

/* --- rows that do not fit -------------------------------------------------------------------- */

static const char *const on_error_words[] = {"stop", "skip", NULL};
static const char *const on_conflict_words[] = {"error", "ignore", "replace", NULL};

/* The number of the word.  22023: it is none of them. */
static int
choose(const char *name, const char *given, const char *const *words)
{
	StringInfoData known;

	initStringInfo(&known);
	for (int i = 0; words[i] != NULL; i++)
	{
		if (strcmp(given, words[i]) == 0)
			return i;
		appendStringInfo(&known, "%s\"%s\"", i == 0 ? "" : words[i + 1] == NULL ? " and " : ", ", words[i]);
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s \"%s\" not recognized", name, given),
					errhint("Known values are %s.", known.data)));
}

void
tsurugi_load_on_error(tsurugi_load *load, const char *word)
{
	load->skips = choose("on_error", word, on_error_words) == 1;
}

void
tsurugi_load_on_conflict(tsurugi_load *load, const char *word)
{
	load->on_conflict = (tsurugi_load_conflict) choose("on_conflict", word, on_conflict_words);
}

void
tsurugi_load_check_rejects(const tsurugi_load *load)
{
	if (load->reject_limit < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("reject_limit must not be negative")));
	if (!load->skips && (load->reject_file != NULL || load->reject_limit != REJECT_LIMIT))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("reject_file and reject_limit need on_error \"skip\"")));
	if (load->reject_file != NULL)
		tsurugi_rejects_check_right(load->reject_file);
}

/* --- of COPY --------------------------------------------------------------------------------- */

static const char *const words_of_copy[] = {"transactional", "on_error", "reject_file", "reject_limit", "on_conflict"};

bool
tsurugi_load_is_option(const char *name)
{
	for (int i = 0; i < lengthof(words_of_copy); i++)
		if (strcmp(name, words_of_copy[i]) == 0)
			return true;
	for (int i = 0; i < lengthof(numbers); i++)
		if (strcmp(name, numbers[i].name) == 0)
			return true;
	return false;
}

/* One that is a load's. */
static void
take_option(tsurugi_load *load, DefElem *option)
{
	const char *name = option->defname;

	if (strcmp(name, "transactional") == 0)
		load->is_transactional = defGetBoolean(option);
	else if (strcmp(name, "on_error") == 0)
		tsurugi_load_on_error(load, defGetString(option));
	else if (strcmp(name, "on_conflict") == 0)
		tsurugi_load_on_conflict(load, defGetString(option));
	else if (strcmp(name, "reject_file") == 0)
		load->reject_file = defGetString(option);
	else if (strcmp(name, "reject_limit") == 0)
		load->reject_limit = defGetInt64(option);
}

/* One of CSV, as it is written in a COPY of our own. */
static DefElem *
written_option(DefElem *option, const CopyFormatOptions *read)
{
	static const char *const headers[] = {
		[COPY_HEADER_FALSE] = "false", [COPY_HEADER_TRUE] = "true", [COPY_HEADER_MATCH] = "match"};

	if (strcmp(option->defname, "header") != 0)
		return option;
	return makeDefElem("header", (Node *) makeString(pstrdup(headers[read->header_line])), -1);
}

/* Those of CSV, once COPY has judged them. */
static List *
csv_options(ParseState *parse, List *given)
{
	List *options = NIL;
	CopyFormatOptions read = {0};
	ListCell *cell;

	ProcessCopyOptions(parse, &read, true, given);
	if (read.freeze)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("COPY FREEZE is not supported with options of a load")));
	foreach (cell, given)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "format") != 0 &&
			strcmp(lfirst_node(DefElem, cell)->defname, "freeze") != 0)
			options = lappend(options, written_option(lfirst(cell), &read));
	return options;
}

/* An option that the format does not have; or, of any, one that is there twice. */
static void
check_option(ParseState *parse, DefElem *option, List **seen, tsurugi_format format)
{
	if (list_member(*seen, makeString(option->defname)))
		errorConflictingDefElem(option, parse);
	*seen = lappend(*seen, makeString(option->defname));
	if (format != TSURUGI_FORMAT_CSV && strcmp(option->defname, "format") != 0 &&
		!tsurugi_load_is_option(option->defname))
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("option \"%s\" not recognized for COPY FROM with options of a load, in %s format",
							   option->defname, tsurugi_format_name(format)),
						parser_errposition(parse, option->location)));
}

void
tsurugi_load_copy_options(ParseState *parse, const List *written, tsurugi_format format, tsurugi_load *load)
{
	List *others = NIL;
	List *seen = NIL;
	ParseCallbackState position;
	ListCell *cell;

	load->is_transactional = true;
	load->reject_limit = REJECT_LIMIT;
	foreach (cell, written)
	{
		DefElem *option = lfirst_node(DefElem, cell);

		check_option(parse, option, &seen, format);
		setup_parser_errposition_callback(&position, parse, option->location);
		take_option(load, option);
		cancel_parser_errposition_callback(&position);
		if (!tsurugi_load_is_option(option->defname))
			others = lappend(others, option);
	}
	foreach (cell, written) /* once it is known whether it is transactional */
	{
		DefElem *option = lfirst_node(DefElem, cell);
		const Number *number = number_named(load, option->defname);

		setup_parser_errposition_callback(&position, parse, option->location);
		if (number != NULL)
			take_number(load, number, defGetInt64(option));
		cancel_parser_errposition_callback(&position);
	}
	tsurugi_load_check_rejects(load);
	if (format == TSURUGI_FORMAT_CSV)
		load->options = csv_options(parse, others);
}

/* --- of CSV ---------------------------------------------------------------------------------- */

DefElem *
tsurugi_load_text_format(const tsurugi_load *load)
{
	return makeDefElem("format", (Node *) makeString(load->is_text ? "text" : "csv"), -1);
}

List *
tsurugi_load_csv_options(const tsurugi_load *load)
{
	List *others = list_make1(tsurugi_load_text_format(load));
	ListCell *cell;

	foreach (cell, load->options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "header") != 0)
			others = lappend(others, lfirst(cell));
	return others;
}

void
tsurugi_load_no_options(const tsurugi_load *load, const tsurugi_load_file *file)
{
	if (load->options != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("options of CSV cannot be used for file \"%s\" in %s",
																  file->name, tsurugi_format_name(file->format))));
}

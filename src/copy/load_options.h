/*
 * load_options.h
 *	  Options of a load: of the function, where they are in JSON, and of COPY.
 */
#ifndef TSURUGI_LOAD_OPTIONS_H
#define TSURUGI_LOAD_OPTIONS_H

#include "postgres.h"

#include "parser/parse_node.h"
#include "utils/jsonb.h"

#include "src/copy/load.h"

/* Defines the settings, when the library is loaded. */
extern void tsurugi_load_settings_define(void);

/*
 * Takes the options of the function, of a load that is known to be transactional or not, and to
 * have a statement or not.  22023: there is no such one.
 */
extern void tsurugi_load_options(Jsonb *options, tsurugi_load *load);

/* The same of those that say how CSV is written, and no others. */
extern void tsurugi_load_options_of_csv(Jsonb *options, tsurugi_load *load);

/* Whether an option of COPY makes it a load. */
extern bool tsurugi_load_is_option(const char *name);

/* Takes the options of a COPY that is one. */
extern void tsurugi_load_copy_options(ParseState *parse, const List *written, tsurugi_format format,
									  tsurugi_load *load);

/* What becomes of rows that do not fit.  22023: there is no such word. */
extern void tsurugi_load_on_error(tsurugi_load *load, const char *word);
extern void tsurugi_load_on_conflict(tsurugi_load *load, const char *word);

/* 22023: what is said of rejects does not fit together; 42501: the role may not write the file. */
extern void tsurugi_load_check_rejects(const tsurugi_load *load);

/* How many files, and blocks of each, the pool loads at a time, at most. */
extern unsigned tsurugi_load_files_at_once(const tsurugi_load *load);
extern unsigned tsurugi_load_blocks_at_once(const tsurugi_load *load);

/* The format of texts as an option of COPY. */
extern DefElem *tsurugi_load_text_format(const tsurugi_load *load);

/* Those of CSV for COPY of its records, without what is said of the header. */
extern List *tsurugi_load_csv_options(const tsurugi_load *load);

/* 22023: there are options of CSV, for a file in another format. */
extern void tsurugi_load_no_options(const tsurugi_load *load, const tsurugi_load_file *file);

#endif /* TSURUGI_LOAD_OPTIONS_H */

/*
 * datum.h
 *	  From values of PostgreSQL to those of a file that is written.
 */
#ifndef TSURUGI_COPY_DATUM_H
#define TSURUGI_COPY_DATUM_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "runtime/batch/cell_out.h"
#include "runtime/format/columnar_out.h"
#include "src/value/codec.h"

/* What is known of a column that is written. */
typedef struct tsurugi_written_column
{
	Oid type; /* without domains; of a list: of its elements */
	bool list;
	uint8 file;			   /* tg_file_type */
	tsurugi_codec decimal; /* of a DECIMAL: in memory it is the same integer */
	FmgrInfo output;	   /* of a type that is written as text */
	int16 length;		   /* of a list's elements */
	bool by_value;
	char align;
} tsurugi_written_column;

/* Chooses how a type is written; in the current memory context.  has_intervals: the format. */
extern void tsurugi_written_column_init(tsurugi_written_column *column, Oid type, int32 typmod, bool has_intervals,
										tg_file_column *description);

/* Puts a value, which is not NULL, into the file's row. */
extern tg_status tsurugi_write_datum(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column,
									 Datum value) TG_MUST_USE;

/* How stored values become those of the column: by which form, if there is one. */
extern void tsurugi_written_cell_init(const tsurugi_written_column *column, const tsurugi_codec *codec, int vector,
									  tg_cell_out *cell);

/* An interval in ISO 8601, whatever IntervalStyle says. */
extern char *tsurugi_text_of_interval(const Interval *interval);

#endif /* TSURUGI_COPY_DATUM_H */

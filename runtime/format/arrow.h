/*
 * arrow.h
 *	  Files and streams of Apache Arrow: read.
 *
 * (Apache Arrow, Columnar Format, "Serialization and Interprocess Communication"; Schema.fbs,
 * Message.fbs and File.fbs.)  A stream is a sequence of messages: the schema, dictionaries, record
 * batches.  A file is such a stream with a table of its messages at the end.  Both are read here
 * from a source that can be read at any place.
 *
 * Read: versions 4 and 5 of the metadata, also with the prefix of messages of older writers;
 * integers, floats, decimals, Booleans, strings and binary of 32- and 64-bit offsets and as views,
 * dates, times, timestamps, intervals, durations, nulls; lists, of any kind of list but views,
 * structs and maps of these; dictionaries, with deltas, and in a stream with replacements; bodies
 * compressed by LZ4 or ZSTD.  Columns of other types, or with such in them (unions, list views,
 * run-end encoding), are described, and cannot be read.  Not supported: big-endian files, tensors.
 */
#ifndef TG_ARROW_H
#define TG_ARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/columns.h"
#include "runtime/format/source.h"

typedef struct tg_arrow tg_arrow;

/* As those of parquet.h; a record batch is a block. */
extern tg_status tg_arrow_open(const tg_file_source *source, tg_arrow **file_out, tg_file_fault *fault_out) TG_MUST_USE;
extern void tg_arrow_close(tg_arrow *file);

extern unsigned tg_arrow_column_count(const tg_arrow *file);
extern const tg_file_column *tg_arrow_column(const tg_arrow *file, unsigned column);
extern uint64_t tg_arrow_row_count(const tg_arrow *file);
extern unsigned tg_arrow_block_count(const tg_arrow *file);
extern uint64_t tg_arrow_block_rows(const tg_arrow *file, unsigned block);

extern void tg_arrow_want(tg_arrow *file, unsigned column);
extern void tg_arrow_seek(tg_arrow *file, unsigned block);
extern tg_status tg_arrow_read(tg_arrow *file, tg_file_values *values, unsigned *count_out,
							   tg_file_fault *fault_out) TG_MUST_USE;

extern bool tg_arrow_describe(const tg_arrow *file, unsigned column, char *codec, size_t codec_bytes, char *encodings,
							  size_t encodings_bytes);

#endif /* TG_ARROW_H */

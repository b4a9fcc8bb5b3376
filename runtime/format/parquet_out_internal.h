/*
 * parquet_out_internal.h
 *	  What the files of a Parquet writer share.
 */
#ifndef TG_PARQUET_OUT_INTERNAL_H
#define TG_PARQUET_OUT_INTERNAL_H

#include "runtime/format/columnar_out_internal.h"
#include "runtime/format/parquet_internal.h"

#define TG_STATISTIC_BYTES 64 /* longer values are no minimum or maximum of a chunk */

/* A value that is least or largest in a chunk; as it is stored. */
typedef struct tg_statistic
{
	uint8_t data[TG_STATISTIC_BYTES];
	uint8_t bytes;
} tg_statistic;

/* What the metadata will say of a chunk. */
typedef struct tg_chunk_written
{
	uint64_t data_offset;
	uint64_t dictionary_offset; /* if it has one */
	uint64_t raw_bytes;
	uint64_t bytes;
	uint64_t value_count; /* with NULLs and empty lists */
	uint64_t null_count;
	bool has_dictionary;
	bool has_plain;
	bool has_statistics;
	tg_statistic least;
	tg_statistic largest;
} tg_chunk_written;

/* --- parquet_encode.c --- */

/* Encodes the chunk of a column, behind what the block has; offsets are from its beginning. */
extern tg_status tg_chunk_encode(tg_columnar_block *block, const tg_column_out *column,
								 tg_chunk_written *written) TG_MUST_USE;

/* --- parquet_metadata.c --- */

extern tg_status tg_metadata_write(tg_columnar_out *file) TG_MUST_USE;

#endif /* TG_PARQUET_OUT_INTERNAL_H */

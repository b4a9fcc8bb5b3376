/*
 * load_json.c
 *	  Files in NDJSON for tasks of the pool: where their blocks begin.
 */
#include "postgres.h"

#include "src/copy/load_pool.h"

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "runtime/batch/loader.h"
#include "runtime/format/json_scan.h"
#include "src/copy/copy.h"
#include "src/copy/packed_file.h"
#include "src/copy/unpacked.h"

/* Goes through a file from its beginning. */
typedef struct Cutting
{
	const tsurugi_load_file *file;
	uint64 block_bytes;
	tg_csv_block block; /* that has begun */
	uint64 position;	/* behind the lines that have ended, */
	uint64 rows;		/* of which so many are not blank */
	bool is_blank;		/* the part of a line that is known */
	tg_csv_block *blocks;
	uint32 count;
} Cutting;

static void
put_block(Cutting *cutting)
{
	uint64 bytes = cutting->position - cutting->block.offset;

	if (bytes == 0)
		return;
	if (bytes > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("row " UINT64_FORMAT " of NDJSON file \"%s\" is too long", cutting->rows,
							   cutting->file->name)));
	if ((cutting->count & (cutting->count - 1)) == 0) /* a power of two is full */
	{
		Size room = sizeof(*cutting->blocks) * Max(cutting->count * (Size) 2, 1);

		cutting->blocks = cutting->blocks == NULL ? palloc(room) : repalloc_huge(cutting->blocks, room);
	}
	cutting->block.bytes = (uint32) bytes;
	cutting->blocks[cutting->count++] = cutting->block;
	cutting->block = (tg_csv_block){.offset = cutting->position, .rows = cutting->rows, .lines = cutting->rows};
}

static void
end_line(Cutting *cutting, uint64 position)
{
	cutting->rows += !cutting->is_blank;
	cutting->is_blank = true;
	cutting->position = position;
	if (cutting->position - cutting->block.offset >= cutting->block_bytes)
		put_block(cutting);
}

static void
cut_bytes(Cutting *cutting, const char *data, size_t bytes, uint64 offset)
{
	size_t at = 0;

	while (at < bytes)
	{
		const char *end = memchr(data + at, '\n', bytes - at);
		size_t count = (end != NULL ? (size_t) (end - data) : bytes) - at;

		cutting->is_blank = cutting->is_blank && tg_json_is_blank((const uint8 *) data + at, count);
		at += count;
		if (end != NULL)
			end_line(cutting, offset + ++at);
	}
}

void
tsurugi_load_cut_json(tsurugi_load_file *file, uint64 block_bytes)
{
	Cutting cutting = {.file = file, .block_bytes = block_bytes, .is_blank = true};
	int descriptor = tsurugi_load_open_contents(file);
	tsurugi_packed_file *contents =
		tsurugi_packed_file_begin(file->unpacked != NULL ? file->unpacked->name : file->name, descriptor);
	char *data = palloc(TSURUGI_COPY_BUFFER);
	uint64 offset = 0;
	size_t count;

	while ((count = tsurugi_packed_file_read(contents, data, TSURUGI_COPY_BUFFER)) > 0)
	{
		cut_bytes(&cutting, data, count, offset);
		offset += count;
	}
	if (cutting.position < offset)
		end_line(&cutting, offset);
	put_block(&cutting);
	tsurugi_packed_file_end(contents);
	CloseTransientFile(descriptor);
	pfree(data);
	file->csv->blocks = cutting.blocks;
	file->blocks = cutting.count;
	file->rows = (int64) cutting.rows;
}

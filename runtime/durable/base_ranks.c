/*
 * base_ranks.c
 *	  The ranks of the host's values that the journal has, for a base of tables that follow it.
 *
 * The order of such values is not known where tables follow (only the host could compare them), so
 * their dictionaries are empty.  But a rank that was logged stays valid, and the newest record of
 * it counts (index/dictionary_log.c, 2).  So a base of such tables names the former base's files of
 * ranks again, and adds what the journal has from there up to P, in the order of the log.  A load
 * of this base gets the same ranks as one of the former base, and of the journal from there on.
 *
 * A file of ranks has those from below its base's P.  Where the former base has no such file, the
 * storage had no ranks at the former P, or was not placed: then those from the former least
 * position on are taken, as by a load (load.c, 5).
 *
 * Left out: to forget values that no key has any more.  The sweep of the server that writes removes
 * them there, and a load that ends following removes them here (tg_ranks_drop_unused).  Few types
 * have ranks.
 */
#include "runtime/durable/base_ranks.h"

#include <stdlib.h>

#include "runtime/durable/definitions.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/undecided.h"

#define FRAMES_PER_STEP 4096

typedef struct storage_ranks
{
	uint64_t storage;
	uint64_t from; /* records from there on are taken */
	tg_bytes bytes;
} storage_ranks;

struct tg_base_ranks
{
	const char *directory;
	uint64_t system;
	const tg_manifest *former;
	uint64_t begin;
	uint64_t end; /* of the last frame that was read */
	tg_journal_reader *reader;
	storage_ranks *storages;
	size_t count;
	size_t capacity;
	size_t last; /* the one that was found last */
};

tg_status
tg_base_ranks_begin(const char *journal, uint64_t system, const tg_manifest *former, uint64_t begin,
					tg_base_ranks **ranks_out)
{
	tg_base_ranks *ranks = calloc(1, sizeof(*ranks));

	if (ranks == NULL)
		return TG_NO_MEMORY;
	ranks->directory = journal;
	ranks->system = system;
	ranks->former = former;
	ranks->begin = begin;
	ranks->end = former->facts.begin;
	*ranks_out = ranks;
	return TG_OK;
}

void
tg_base_ranks_end(tg_base_ranks *ranks)
{
	if (ranks->reader != NULL)
		tg_journal_read_end(ranks->reader);
	for (size_t i = 0; i < ranks->count; i++)
		tg_bytes_free(&ranks->storages[i].bytes);
	free(ranks->storages);
	free(ranks);
}

static bool
has_file(const tg_manifest *former, uint64_t storage)
{
	for (size_t i = 0; i < former->facts.file_count; i++)
		if (former->files[i].storage == storage && former->files[i].kind == TG_BASE_RANKS)
			return true;
	return false;
}

static storage_ranks *
find(tg_base_ranks *ranks, uint64_t storage)
{
	if (ranks->last < ranks->count && ranks->storages[ranks->last].storage == storage)
		return &ranks->storages[ranks->last];
	for (size_t i = 0; i < ranks->count; i++)
	{
		if (ranks->storages[i].storage != storage)
			continue;
		ranks->last = i;
		return &ranks->storages[i];
	}
	return NULL;
}

/* NULL: there is no memory. */
static storage_ranks *
find_or_make(tg_base_ranks *ranks, uint64_t storage)
{
	storage_ranks *found = find(ranks, storage);

	if (found != NULL)
		return found;
	if (ranks->count == ranks->capacity)
	{
		size_t capacity = ranks->capacity > 0 ? 2 * ranks->capacity : 16;
		storage_ranks *storages = realloc(ranks->storages, capacity * sizeof(*storages));

		if (storages == NULL)
			return NULL;
		ranks->storages = storages;
		ranks->capacity = capacity;
	}
	found = &ranks->storages[ranks->count++];
	*found = (storage_ranks){.storage = storage};
	if (has_file(ranks->former, storage))
		found->from = ranks->former->facts.begin;
	return found;
}

static tg_status
take(tg_base_ranks *ranks, const tg_journal_frame *frame, const void *data)
{
	tg_record record;
	tg_reader reader;
	tg_definition definition;

	if (frame->kind != TG_FRAME_RECORD || tg_record_read(data, frame->bytes, &record) != TG_OK)
		return TG_OK; /* whoever follows has read it before */
	reader = tg_reader_make(record.definitions, record.definition_bytes);
	while (tg_definitions_next(&reader, &definition))
	{
		storage_ranks *of;
		tg_status status;

		if (definition.kind != TG_DEFINITION_RANK)
			continue;
		of = find_or_make(ranks, definition.storage);
		if (of == NULL)
			return TG_NO_MEMORY;
		status = frame->start < of->from ? TG_OK : tg_definition_put(&of->bytes, &definition);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* There are no more frames; a part of one, behind begin, is being written. */
static tg_status
judge_end(const tg_base_ranks *ranks, tg_file_error *error_out)
{
	if (ranks->end >= ranks->begin || ranks->begin == ranks->former->facts.begin)
		return TG_OK;
	return tg_file_fail(error_out, 0, "the journal lacks what was read from it before", ranks->directory, 0);
}

tg_status
tg_base_ranks_step(tg_base_ranks *ranks, tg_file_error *error_out)
{
	tg_journal_frame frame = {0};
	const void *data;
	tg_status status = TG_OK;

	if (ranks->reader == NULL)
		status = tg_journal_read_begin(ranks->directory, ranks->system, ranks->former->facts.least, &ranks->reader,
									   error_out);
	for (unsigned i = 0; status == TG_OK && i < FRAMES_PER_STEP; i++)
	{
		status = tg_journal_read(ranks->reader, &frame, &data, error_out);
		if (status == TG_OK && frame.start >= ranks->begin)
			return TG_OK;
		if (status == TG_OK)
			status = take(ranks, &frame, data);
		if (status == TG_OK)
			ranks->end = frame.end;
	}
	if (status == TG_NOT_FOUND || status == TG_AGAIN)
		return judge_end(ranks, error_out);
	return status == TG_OK ? TG_AGAIN : status;
}

tg_bytes
tg_base_ranks_take(tg_base_ranks *ranks, uint64_t storage)
{
	storage_ranks *of = find(ranks, storage);
	tg_bytes bytes = {0};

	if (of == NULL)
		return bytes;
	bytes = of->bytes;
	of->bytes = (tg_bytes){0};
	return bytes;
}

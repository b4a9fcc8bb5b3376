/*
 * base.c
 *	  Writes a base, by small steps, beside transactions.
 *
 * 1. A row has versions that are moved, but one row id.  So the rows are written in the order of
 *	  their ids, some at a time, each time at a fresh snapshot, which lives for milliseconds: a base
 *	  holds back no garbage.  A row whose id was handed out after its table was begun was inserted
 *	  by a record from above P, and so the journal has it.
 * 2. A snapshot is later than every transaction that is decided at P, so each row is as of P or
 *	  later.  Whatever is later, up to E, is in a record that a replay comes to, and applies.
 * 3. Columns and indexes that are newer than P are left out.  A reader knows the definitions of P
 *	  only, and the records from above P have these values.
 * 4. A storage that is placed at P and is not found has ended since; so has one that is freed while
 *	  it is written.  The record that says so is above P.  A storage that is not placed has rows of
 *	  undecided transactions only.
 * 5. Rows and ranks of a storage are taken over, that is, the files of the former base are named
 *	  again, if
 *	  a. no record of theirs has its end above the former least position.  Otherwise such a
 *		 record may not be in the files: it came after their rows were written, or before, by a
 *		 transaction that was undecided at the former P and may have been decided by now.  (A record
 *		 that starts at or above the least position ends above it.)  The note of a record may be
 *		 missing (logged_at) only if the record is above P, or its transaction undecided at P: its
 *		 effects are not in the files, but a replay from this base's least position has them; and
 *		 the next base finds the note above this least position.  Without any note (0), nothing is
 *		 known: the storage comes from a load that has found damage.  It is written, and gets a
 *		 note.
 *	  b. the storage has the same indexes with hidden values as at the former P, and they were as
 *		 complete.  Otherwise a reader would not know an index that rows in the files name; or
 *		 hidden values of rows that have not changed, which are logged when an index becomes
 *		 complete, would be in no file.
 * 6. Each file is synced when it is whole, the manifest after all of them, and then the directory:
 *	  so what a manifest names is there.  What was written for a base that was given up is in the
 *	  way of nobody: a file is made anew, and a manifest counts when it is whole.  A sync that has
 *	  failed is not tried again on the same file.
 * 7. Ranks are written behind the rows, each value that is there while they are, logged or not
 *	  (index/dictionary_log.c, 3).  A value that is taken over in their place may have gone; then no
 *	  row has it.  Where tables follow the journal, ranks come from there (base_ranks.c), and files
 *	  of ranks are named again whether the rows are or not: the number of a file, which is called
 *	  its part, is then its place in the log's order.
 */
#include "runtime/durable/base_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/table/table.h"
#include "runtime/index/dictionary.h"
#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/durable/base_ranks.h"
#include "runtime/durable/sections.h"
#include "runtime/durable/crc32c.h"
#include "runtime/durable/ranks.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/registry.h"
#include "runtime/txn/snapshot.h"
#include "runtime/durable/roster.h"

#define SEGMENTS 64 /* of a part */

uint32_t tg_base_part_rows = SEGMENTS * TG_SEGMENT_ROWS;
size_t tg_base_block_bytes = (size_t) 256 << 10;
uint32_t tg_base_step_rows = TG_SEGMENT_ROWS;

/* A storage as of P. */
typedef struct base_storage
{
	uint64_t id;
	tg_known_cells known;
	bool has_same_indexes; /* 5b */
} base_storage;

struct tg_base
{
	char directory[TG_PATH_MAX - TG_BASE_NAME_MAX];
	uint64_t system;
	tg_manifest manifest;
	tg_manifest former;		  /* empty without one */
	tg_roster *former_roster; /* while the base is begun, or NULL */
	char *journal;			  /* of tables that follow; NULL: they do not */
	tg_base_ranks *ranks;	  /* likewise */
	bool has_ranks;			  /* all were read */
	base_storage *storages;
	uint64_t *indexes;
	size_t storage_count;
	size_t at;		/* the storage that is written, or will be */
	uint64_t bytes; /* atomic: written so far */
	bool failed;
	bool finished;
	/* of the storage that is being written */
	tg_table *table; /* retained; NULL: none is */
	uint32_t row;	 /* the next one */
	uint32_t row_end;
	bool in_ranks; /* its rows are written */
	tg_rank_walk walk;
	tg_bytes block;	   /* what is not in the file yet */
	tg_base_file part; /* the part, or the ranks, in hand */
	int file;		   /* -1: it has none yet */
};

/* --- beginning ------------------------------------------------------------------------------ */

static bool
is_wanted(const tg_roster_storage *storage)
{
	return storage->state == TG_STORAGE_PLACED;
}

static bool
hides(const tg_roster_index *index)
{
	return !index->ended && index->spec.hidden_count > 0;
}

/* 5b.  Whether each of one's indexes with hidden values is the other's, too. */
static bool
has_indexes_of(const tg_roster_storage *storage, const tg_roster_storage *other)
{
	for (const tg_roster_index *index = other->indexes; index != NULL; index = index->next)
	{
		const tg_roster_index *own = storage->indexes;

		while (own != NULL && own->id != index->id)
			own = own->next;
		if (hides(index) && (own == NULL || own->ended || own->complete != index->complete))
			return false;
	}
	return true;
}

static bool
has_same_indexes(const tg_base *base, const tg_roster_storage *storage)
{
	const tg_roster_storage *former =
		base->former_roster != NULL ? tg_roster_find(base->former_roster, storage->id) : NULL;

	return former != NULL && has_indexes_of(storage, former) && has_indexes_of(former, storage);
}

/* Notes the storages as of P, with their indexes. */
static tg_status
take_storages(tg_base *base, const tg_roster *roster)
{
	const tg_roster_storage *storage;
	size_t index_count = 0;

	for (storage = tg_roster_first(roster); storage != NULL; storage = storage->next)
	{
		base->storage_count += is_wanted(storage);
		for (const tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
			index_count++;
	}
	base->storages = calloc(base->storage_count + 1, sizeof(*base->storages));
	base->indexes = calloc(index_count + 1, sizeof(*base->indexes));
	if (base->storages == NULL || base->indexes == NULL)
		return TG_NO_MEMORY;
	index_count = 0;
	base->storage_count = 0;
	for (storage = tg_roster_first(roster); storage != NULL; storage = storage->next)
	{
		base_storage *to = &base->storages[base->storage_count];

		if (!is_wanted(storage))
			continue;
		base->storage_count++;
		to->id = storage->id;
		to->has_same_indexes = has_same_indexes(base, storage);
		to->known.column_count = storage->column_count;
		to->known.indexes = &base->indexes[index_count];
		for (const tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
		{
			if (index->ended)
				continue;
			base->indexes[index_count++] = index->id;
			to->known.index_count++;
		}
	}
	return TG_OK;
}

static int
compare_files(const void *left, const void *right)
{
	const tg_base_file *files[2] = {left, right};

	if (files[0]->storage != files[1]->storage)
		return files[0]->storage < files[1]->storage ? -1 : 1;
	if (files[0]->kind != files[1]->kind)
		return files[0]->kind < files[1]->kind ? -1 : 1;
	if (files[0]->part != files[1]->part)
		return files[0]->part < files[1]->part ? -1 : 1;
	return 0;
}

/* What the former base has of definitions.  TG_DAMAGED: not what it was written with. */
static tg_status
read_former_roster(tg_base *base)
{
	tg_status status = tg_roster_create(&base->former_roster);

	if (status != TG_OK)
		return status;
	return tg_roster_apply(base->former_roster, base->former.roster.data, base->former.roster.count);
}

static void
forget_former_roster(tg_base *base)
{
	if (base->former_roster != NULL)
		tg_roster_free(base->former_roster);
	base->former_roster = NULL;
}

static tg_status
read_former(tg_base *base, uint64_t number, tg_file_error *error_out)
{
	tg_status status;

	error_out->what = NULL;
	if (number == 0)
		return TG_OK;
	status = tg_manifest_read(base->directory, base->system, number, &base->former, error_out);
	if (status == TG_OK)
	{
		status = read_former_roster(base);
		if (status == TG_DAMAGED)
			error_out->what = "the definitions of the former base have a fault";
	}
	if (status == TG_NO_MEMORY || (status != TG_OK && base->journal != NULL))
		return status == TG_NOT_FOUND ? TG_DAMAGED : status;
	if (status != TG_OK)
	{
		tg_manifest_free(&base->former);
		forget_former_roster(base);
	}
	else if (base->former.facts.file_count > 0)
		qsort(base->former.files, base->former.facts.file_count, sizeof(tg_base_file), compare_files);
	return TG_OK;
}

/* 7. */
static tg_status
begin_following(tg_base *base)
{
	if (base->journal == NULL)
		return TG_OK;
	return tg_base_ranks_begin(base->journal, base->system, &base->former, base->manifest.facts.begin, &base->ranks);
}

tg_status
tg_base_begin(const tg_base_config *config, tg_base **base_out, tg_file_error *error_out)
{
	tg_base *base;
	tg_status status;

	if (strlen(config->directory) >= sizeof(base->directory))
		return TG_TOO_LARGE;
	base = calloc(1, sizeof(*base));
	if (base == NULL)
		return TG_NO_MEMORY;
	strcpy(base->directory, config->directory);
	base->system = config->system;
	base->file = -1;
	base->manifest.facts = (tg_base_facts){.number = config->number,
										   .begin = config->begin,
										   .least = config->least < config->begin ? config->least : config->begin};
	base->journal = config->journal != NULL ? strdup(config->journal) : NULL;
	status = config->journal != NULL && base->journal == NULL ? TG_NO_MEMORY
															  : tg_roster_write(config->roster, &base->manifest.roster);
	if (status == TG_OK)
		status = read_former(base, config->former, error_out);
	if (status == TG_OK)
		status = take_storages(base, config->roster);
	if (status == TG_OK)
		status = begin_following(base);
	forget_former_roster(base);
	if (status != TG_OK)
	{
		tg_base_end(base, NULL); /* no table is retained */
		return status;
	}
	*base_out = base;
	return TG_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A new file: one with its name was left by a base that was given up. */
static tg_status
make_file(const char *path, int *file_out, tg_file_error *error_out)
{
	int error = tg_files->open(path, true, file_out);

	if (error == EEXIST)
	{
		error = tg_files->remove(path);
		if (error != 0)
			return tg_file_fail(error_out, error, "remove", path, 0);
		error = tg_files->open(path, true, file_out);
	}
	return error != 0 ? tg_file_fail(error_out, error, "create", path, 0) : TG_OK;
}

/* Adds bytes to the part's file. */
static tg_status
put_in_file(tg_base *base, const void *data, size_t count, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	int error =
		tg_failpoint_refuses("base_write") ? ENOSPC : tg_files->write(base->file, base->part.bytes, data, count);

	if (error != 0)
	{
		tg_base_file_path(base->directory, &base->part, path);
		return tg_file_fail(error_out, error, "write", path, base->part.bytes);
	}
	base->part.bytes += count;
	tg_store_relaxed(&base->bytes, base->bytes + count);
	return TG_OK;
}

static void
check_with(tg_base_file *part, uint32_t crc)
{
	part->check = tg_crc32c(part->check, &crc, sizeof(crc));
}

/* Makes the file of the part. */
static tg_status
begin_file(tg_base *base, tg_file_error *error_out)
{
	tg_part_header header = {.magic = TG_PART_MAGIC,
							 .system = base->system,
							 .storage = base->part.storage,
							 .number = base->part.number,
							 .part = base->part.part,
							 .kind = base->part.kind};
	char path[TG_PATH_MAX];
	tg_status status;

	tg_base_file_path(base->directory, &base->part, path);
	status = make_file(path, &base->file, error_out);
	if (status != TG_OK)
	{
		base->file = -1;
		return status;
	}
	header.crc = tg_crc32c(0, &header, offsetof(tg_part_header, crc));
	check_with(&base->part, header.crc);
	return put_in_file(base, &header, sizeof(header), error_out);
}

/* What is in hand becomes a block of the file. */
static tg_status
write_block(tg_base *base, tg_file_error *error_out)
{
	tg_block_header header = {.bytes = base->block.count};
	tg_status status;

	if (base->block.count == 0)
		return TG_OK;
	status = base->file < 0 ? begin_file(base, error_out) : TG_OK;
	if (status != TG_OK)
		return status;
	header.crc = tg_crc32c(0, &header, offsetof(tg_block_header, crc));
	header.crc = tg_crc32c(header.crc, base->block.data, base->block.count);
	check_with(&base->part, header.crc);
	status = put_in_file(base, &header, sizeof(header), error_out);
	if (status == TG_OK)
		status = put_in_file(base, base->block.data, base->block.count, error_out);
	base->block.count = 0;
	return status;
}

static void
begin_part(tg_base *base)
{
	base->part = (tg_base_file){.kind = TG_BASE_ROWS,
								.storage = base->storages[base->at].id,
								.number = base->manifest.facts.number,
								.part = base->row / tg_base_part_rows};
}

/* 6.  What has no blocks has no file. */
static tg_status
end_part(tg_base *base, tg_file_error *error_out)
{
	tg_status status = write_block(base, error_out);
	int error;

	if (status != TG_OK || base->file < 0)
		return status;
	error = tg_failpoint_refuses("base_sync") ? EIO : tg_files->sync(base->file);
	(void) tg_files->close(base->file);
	base->file = -1;
	if (error != 0)
	{
		char path[TG_PATH_MAX];

		tg_base_file_path(base->directory, &base->part, path);
		return tg_file_fail(error_out, error, "sync", path, 0);
	}
	status = tg_manifest_reserve(&base->manifest, 1);
	if (status == TG_OK)
		tg_manifest_add(&base->manifest, &base->part);
	return status;
}

/* --- storages --------------------------------------------------------------------------------- */

/* The first file of a storage in the former base; NULL: it has none. */
static const tg_base_file *
former_files(const tg_base *base, uint64_t storage)
{
	size_t low = 0;

	for (size_t high = base->former.facts.file_count; low < high;)
	{
		size_t middle = low + (high - low) / 2;

		if (base->former.files[middle].storage < storage)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == base->former.facts.file_count || base->former.files[low].storage != storage)
		return NULL;
	return &base->former.files[low];
}

/* 5.  Whether the files of the former base, from this one on, have the storage as it is. */
static bool
may_take_over(const tg_base *base, const tg_table *table, const tg_base_file *file)
{
	uint64_t logged_at = tg_load_acquire(&table->logged_at);

	return file != NULL && base->storages[base->at].has_same_indexes && logged_at != 0 &&
		   logged_at <= base->former.facts.least;
}

/* Names those files of a kind again, of the storage that this one is the first of. */
static tg_status
take_over(tg_base *base, const tg_base_file *file, tg_base_kind kind)
{
	const tg_base_file *end = base->former.files + base->former.facts.file_count;
	uint64_t storage = file->storage;

	if (tg_manifest_reserve(&base->manifest, (size_t) (end - file)) != TG_OK)
		return TG_NO_MEMORY;
	for (; file < end && file->storage == storage; file++)
		if (file->kind == kind)
			tg_manifest_add(&base->manifest, file);
	return TG_OK;
}

/* The number of a new file of ranks behind those of the former base. */
static uint32_t
next_ranks_part(const tg_base *base, const tg_base_file *file)
{
	const tg_base_file *end = base->former.files + base->former.facts.file_count;
	uint64_t storage = base->storages[base->at].id;
	uint32_t next = 0;

	for (; file != NULL && file < end && file->storage == storage; file++)
		if (file->kind == TG_BASE_RANKS)
			next = file->part + 1;
	return next;
}

/* 7.  All of them, where the table follows. */
static tg_status
write_followed_ranks(tg_base *base, tg_file_error *error_out)
{
	uint64_t storage = base->storages[base->at].id;
	const tg_base_file *file = former_files(base, storage);
	tg_status status = file != NULL ? take_over(base, file, TG_BASE_RANKS) : TG_OK;

	if (status != TG_OK)
		return status;
	tg_assert(base->block.count == 0 && base->file < 0);
	tg_bytes_free(&base->block);
	base->block = tg_base_ranks_take(base->ranks, storage);
	base->part = (tg_base_file){.kind = TG_BASE_RANKS,
								.storage = storage,
								.number = base->manifest.facts.number,
								.part = next_ranks_part(base, file)};
	return end_part(base, error_out);
}

static void
begin_ranks(tg_base *base)
{
	base->in_ranks = true;
	base->part = (tg_base_file){
		.kind = TG_BASE_RANKS, .storage = base->storages[base->at].id, .number = base->manifest.facts.number};
	tg_rank_walk_begin(&base->walk, base->table);
}

static void
begin_rows(tg_base *base)
{
	uint64_t none = 0;

	(void) tg_cas_acq_rel(&base->table->logged_at, &none, base->manifest.facts.begin);
	base->in_ranks = false;
	base->row = 0;
	base->row_end = tg_load_acquire(&base->table->row_next);
	begin_part(base);
}

static void
end_storage(tg_base *base, tg_session *session)
{
	if (base->table != NULL)
		tg_table_release(session, base->table);
	base->table = NULL;
	base->at++;
}

/* Begins with the next storage; ends it at once if it is not to be written. */
static tg_status
begin_storage(tg_base *base, tg_session *session, tg_file_error *error_out)
{
	const tg_base_file *file = former_files(base, base->storages[base->at].id);
	tg_status status;

	base->table = tg_storage_find(base->storages[base->at].id);
	if (base->table == NULL || base->table->unlogged)
	{
		end_storage(base, session);
		return TG_OK;
	}
	base->manifest.facts.memory += (uint64_t) tg_load_relaxed(&base->table->book->bytes);
	if (!may_take_over(base, base->table, file))
	{
		begin_rows(base);
		return TG_OK;
	}
	status = take_over(base, file, TG_BASE_ROWS);
	if (status == TG_OK)
		status = base->ranks != NULL ? write_followed_ranks(base, error_out) : take_over(base, file, TG_BASE_RANKS);
	if (status == TG_OK)
		end_storage(base, session);
	return status;
}

/* 1.  Adds a section of rows to the block, of so many row ids at most. */
static tg_status
add_rows(tg_base *base, tg_session *session, uint32_t count)
{
	tg_snapshot snapshot = {.txn = session->id};
	unsigned entry;
	uint32_t done;
	tg_wait wait;
	tg_status status;

	snapshot.time = tg_snapshot_publish(session, &entry);
	snapshot.flushed = snapshot.time; /* it answers to nobody */
	tg_epoch_enter(session);
	status = tg_section_write(base->table, &snapshot, base->row, count < TG_SECTION_ROWS ? count : TG_SECTION_ROWS,
							  tg_base_block_bytes - base->block.count, &base->storages[base->at].known, &base->block,
							  &done, &wait);
	tg_epoch_leave(session);
	tg_snapshot_withdraw(session, entry);
	if (status == TG_OK)
		base->row += done;
	return status;
}

/* Rows up to the end of the block, of the part, or of the step. */
static tg_status
write_rows(tg_base *base, tg_session *session, tg_file_error *error_out)
{
	uint64_t part_end = ((uint64_t) base->part.part + 1) * tg_base_part_rows;
	uint32_t end = base->row_end - base->row < tg_base_step_rows ? base->row_end : base->row + tg_base_step_rows;
	tg_status status = TG_OK;

	if (part_end < end)
		end = (uint32_t) part_end;
	while (status == TG_OK && base->row < end && base->block.count < tg_base_block_bytes)
		status = add_rows(base, session, end - base->row);
	if (status == TG_OK && base->block.count >= tg_base_block_bytes)
		status = write_block(base, error_out);
	if (status == TG_OK && (base->row == base->row_end || base->row == part_end))
	{
		status = end_part(base, error_out);
		if (status == TG_OK)
			begin_part(base);
	}
	return status;
}

/* 7.  As many as a block has. */
static tg_status
write_ranks(tg_base *base, tg_session *session, bool *more_out, tg_file_error *error_out)
{
	tg_status status = tg_ranks_write(session, &base->walk, tg_base_block_bytes, &base->block, more_out);

	if (status == TG_OK)
		status = write_block(base, error_out);
	if (status == TG_OK && !*more_out)
		status = end_part(base, error_out);
	return status;
}

/* A step of a storage that is being written. */
static tg_status
go_on(tg_base *base, tg_session *session, tg_file_error *error_out)
{
	bool more;
	tg_status status;

	if (!base->in_ranks)
	{
		status = write_rows(base, session, error_out);
		if (status != TG_OK || base->row < base->row_end)
			return status;
		if (base->ranks == NULL)
		{
			begin_ranks(base);
			return TG_OK;
		}
		status = write_followed_ranks(base, error_out);
		if (status == TG_OK)
			end_storage(base, session);
		return status;
	}
	status = write_ranks(base, session, &more, error_out);
	if (status == TG_OK && !more)
		end_storage(base, session);
	return status;
}

tg_status
tg_base_step(tg_base *base, tg_session *session, tg_file_error *error_out)
{
	tg_status status;

	tg_assert(!base->failed && !base->finished && !tg_epoch_inside(session));
	if (base->at == base->storage_count)
		return TG_OK;
	if (base->ranks != NULL && !base->has_ranks)
	{
		status = tg_base_ranks_step(base->ranks, error_out);
		base->has_ranks = status == TG_OK;
		base->failed = status != TG_OK && status != TG_AGAIN;
		return base->failed ? status : TG_AGAIN;
	}
	status = base->table == NULL ? begin_storage(base, session, error_out) : go_on(base, session, error_out);
	if (status == TG_OK)
		return base->at < base->storage_count ? TG_AGAIN : TG_OK;
	base->failed = status != TG_BUSY;
	return status;
}

uint64_t
tg_base_bytes(const tg_base *base)
{
	return tg_load_relaxed(&base->bytes);
}

/* --- the end --------------------------------------------------------------------------------- */

static tg_status
put_manifest(const tg_base *base, tg_bytes *bytes)
{
	const tg_manifest *manifest = &base->manifest;
	const tg_base_facts *facts = &manifest->facts;
	size_t most = sizeof(tg_manifest_header) + 6 * TG_NUMBER_BYTES_MAX + manifest->roster.count +
				  facts->file_count * 6 * TG_NUMBER_BYTES_MAX;
	tg_manifest_header header = {.magic = TG_MANIFEST_MAGIC, .system = base->system, .number = facts->number};
	tg_status status = tg_bytes_reserve(bytes, most);

	if (status != TG_OK)
		return status;
	tg_bytes_put(bytes, &header, sizeof(header));
	tg_bytes_put_number(bytes, facts->begin);
	tg_bytes_put_number(bytes, facts->end);
	tg_bytes_put_number(bytes, facts->least);
	tg_bytes_put_number(bytes, facts->memory);
	tg_bytes_put_number(bytes, manifest->roster.count);
	tg_bytes_put(bytes, manifest->roster.data, manifest->roster.count);
	tg_bytes_put_number(bytes, facts->file_count);
	for (size_t i = 0; i < facts->file_count; i++)
	{
		const tg_base_file *file = &manifest->files[i];

		tg_bytes_put_number(bytes, file->kind);
		tg_bytes_put_number(bytes, file->storage);
		tg_bytes_put_number(bytes, file->part);
		tg_bytes_put_number(bytes, file->number);
		tg_bytes_put_number(bytes, file->bytes);
		tg_bytes_put_number(bytes, file->check);
	}
	header.bytes = bytes->count - sizeof(header);
	header.crc = tg_crc32c(0, &header, offsetof(tg_manifest_header, crc));
	header.crc = tg_crc32c(header.crc, bytes->data + sizeof(header), (size_t) header.bytes);
	memcpy(bytes->data, &header, sizeof(header));
	return TG_OK;
}

static tg_status
write_manifest(const tg_base *base, const tg_bytes *bytes, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	int file;
	int error;
	tg_status status;

	tg_manifest_path(base->directory, base->manifest.facts.number, path);
	status = make_file(path, &file, error_out);
	if (status != TG_OK)
		return status;
	error = tg_files->write(file, 0, bytes->data, bytes->count);
	if (error == 0)
		error = tg_files->sync(file);
	(void) tg_files->close(file);
	if (error == 0)
		error = tg_files->sync_directory(base->directory);
	return error != 0 ? tg_file_fail(error_out, error, "write", path, 0) : TG_OK;
}

/* 6. */
tg_status
tg_base_finish(tg_base *base, uint64_t end, tg_file_error *error_out)
{
	tg_bytes bytes = {0};
	tg_status status;

	tg_assert(!base->failed && base->at == base->storage_count && end >= base->manifest.facts.begin);
	base->manifest.facts.end = end;
	status = put_manifest(base, &bytes);
	if (status == TG_OK)
		status = write_manifest(base, &bytes, error_out);
	tg_bytes_free(&bytes);
	base->finished = status == TG_OK;
	return status;
}

/* The manifest first: whatever is left then counts for nothing. */
static void
remove_files(const tg_base *base)
{
	char path[TG_PATH_MAX];

	tg_manifest_path(base->directory, base->manifest.facts.number, path);
	(void) tg_files->remove(path);
	for (size_t i = 0; i < base->manifest.facts.file_count; i++)
	{
		const tg_base_file *file = &base->manifest.files[i];

		if (file->number != base->manifest.facts.number)
			continue;
		tg_base_file_path(base->directory, file, path);
		(void) tg_files->remove(path);
	}
	if (base->part.number == 0)
		return;
	tg_base_file_path(base->directory, &base->part, path);
	(void) tg_files->remove(path);
}

void
tg_base_end(tg_base *base, tg_session *session)
{
	if (base->table != NULL)
		tg_table_release(session, base->table);
	if (base->file >= 0)
		(void) tg_files->close(base->file);
	if (!base->finished)
		remove_files(base);
	if (base->ranks != NULL)
		tg_base_ranks_end(base->ranks);
	free(base->journal);
	tg_manifest_free(&base->manifest);
	tg_manifest_free(&base->former);
	tg_bytes_free(&base->block);
	free(base->storages);
	free(base->indexes);
	free(base);
}

/*
 * explore_relocate.c
 *	  Versions change their places beside readers, a writer and a build: every schedule.
 *
 * runtime/txn/relocate.c, runtime/txn/read.c and runtime/index/index.c are compiled as they are.
 * Two rows have a version each, both of which are to be copied; the writer replaces that of row 0
 * (in the order of write.c and txn.c).  Write log and collector are left out, except that the old
 * versions are taken away at once, for threads that have no snapshot.
 *
 * Shown, for every schedule: a reader sees each row once, by its head and in a walk over all slots,
 * in either order; it sees the writer's version exactly if its snapshot is as late as that; a row
 * ends with one version that has not ended, its head, which is the writer's if the writer had the
 * row; a build that walks over all slots after its index was created meets each row.  Then accesses
 * that relocate.c's argument names are made weaker.  (A reader and a writer at once, beside the
 * mover, are too many for all schedules: test/unit/relocate_race.c.)
 */
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/index/index.c"
#include "runtime/txn/read.c"
#include "runtime/txn/read.h"
#include "runtime/txn/relocate.c"
#include "runtime/txn/snapshot.h"

#include "test/explore/around_index.h"

#define ROWS 2
#define SLOTS 2 /* of a chunk: one for each row */

typedef enum part
{
	PART_NONE,
	PART_MOVER,
	PART_READER,
	PART_WRITER,
	PART_WRITER_READER,
	PART_BUILD
} part;

typedef struct scenario
{
	const char *name;
	part parts[2];
	unsigned rows;	/* that are copied, and read */
	bool old_first; /* the walk goes over the old places first */
	bool collects;	/* the mover takes the old versions away */
} scenario;

/* Versions: of the old chunk, of the copies', of the writer's. */
typedef struct place
{
	tg_chunk chunk;
	tg_header headers[SLOTS];
	uint32_t rows[SLOTS];
} place;

enum
{
	OLD,
	COPIES,
	WRITTEN,
	PLACES
};

typedef struct shared
{
	tg_table table;
	tg_version heads[64];
	tg_index index;
	place places[PLACES];
	uint64_t clock;
	tg_write_log log;
	tg_log_entry entries[ROWS];
	uint32_t written; /* by the writer: C, or 0; read by finish */
	bool got;
} shared;

static shared *world;
static _Alignas(64) unsigned char txns_memory[sizeof(tg_txn_shared) + 2 * sizeof(tg_txn)];

/* --- what stands for the rest of the runtime ------------------------------------------ */

uint64_t *tg_epoch_global;
uint64_t *tg_clock;
tg_txn_shared *tg_txns;
tg_relocator tg_relocate;

bool
tg_failpoint_refuses(const char *name)
{
	if (strcmp(name, "spin") == 0)
		explore_abandon(); /* it would look again later */
	return false;
}

tg_time
tg_snapshot_publish_from(tg_session *session, unsigned *entry_out)
{
	*entry_out = 0;
	return 0;
}

void
tg_snapshot_withdraw(tg_session *session, unsigned entry)
{
}

/* As in txn.c. */
tg_time
tg_txn_draw(tg_txn *txn)
{
	tg_store_release(&txn->state, TG_TXN_PREPARING);
	return tg_fetch_add_seq_cst(tg_clock, 1) + 1;
}

tg_status
tg_write_log_reserve(tg_session *session, tg_write_log **log, tg_table *table, tg_claim claim)
{
	*log = &world->log;
	return TG_OK;
}

void
tg_write_log_append(tg_write_log *log, tg_table *table, tg_write kind, tg_version version, int rows)
{
	world->entries[log->at_entry++] = (tg_log_entry){.version = version, .kind = kind};
}

tg_log_cursor
tg_write_log_begin(tg_write_log *log)
{
	return (tg_log_cursor){.piece = log};
}

tg_log_entry *
tg_write_log_next(tg_log_cursor *cursor)
{
	return &world->entries[cursor->entry++];
}

void
tg_write_log_destroy(tg_session *session, tg_write_log *log)
{
}

void
tg_version_blobs_free(tg_session *session, tg_version version, tg_version neighbour_a, tg_version neighbour_b)
{
}

void
tg_slot_give(tg_session *session, tg_version version)
{
}

tg_status
tg_hidden_copy_all(tg_session *session, tg_version version, tg_version from)
{
	return TG_OK;
}

void
tg_collector_give(tg_write_log *log)
{
}

/* Functions that are compiled with it and not called. */

UNUSED_HERE(tg_status tg_btree_insert(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes,
									  uint32_t *row_inout, tg_claim claim))
UNUSED_HERE(tg_status tg_btree_remove_if(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes,
										 uint32_t row, tg_btree_may_go may_go, const void *argument))
UNUSED_HERE(size_t tg_key_append_of(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part,
									tg_kind kind, const tg_value *value))
UNUSED_HERE(tg_status tg_key_rank(tg_session *session, tg_table *table, const tg_key_part *part, tg_kind kind,
								  const tg_value *value))

/* --- the world ---------------------------------------------------------------------------- */

static tg_version
version_at(unsigned place, unsigned row)
{
	return tg_version_make(&world->places[place].chunk, row);
}

static tg_header *
header_at(unsigned place, unsigned row)
{
	return &world->places[place].headers[row];
}

static void
setup_place(unsigned number)
{
	place *place = &world->places[number];

	place->chunk.table = &world->table;
	place->chunk.capacity = SLOTS;
	place->chunk.headers = place->headers;
	place->chunk.rows = place->rows;
	EXPLORE_FIELD(&place->chunk.headers, EXPLORE_CONSTANT);
	explore_unwatched(&place->chunk.touched);
	for (unsigned row = 0; row < ROWS; row++)
	{
		tg_header *header = &place->headers[row];

		*header = (tg_header){.begin = number == OLD ? TG_TIME_FIRST : TG_TIME_NEVER, .end = TG_TIME_NEVER};
		place->rows[row] = row;
		EXPLORE_FIELD(&header->begin, EXPLORE_SHARED);
		EXPLORE_FIELD(&header->end, EXPLORE_SHARED);
		EXPLORE_FIELD(&header->older, EXPLORE_SHARED);
		EXPLORE_FIELD(&header->life, EXPLORE_SHARED);
		EXPLORE_FIELD(&header->successor, EXPLORE_SHARED);
	}
}

static void
setup(const void *pointer)
{
	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	tg_txns = explore_allocate(sizeof(txns_memory));
	memset(tg_txns, 0, sizeof(txns_memory));
	tg_txns->txn_max = 1;
	tg_clock = &world->clock;
	world->clock = TG_TIME_FIRST;
	EXPLORE_FIELD(&world->clock, EXPLORE_SHARED);
	for (unsigned i = 0; i < 2; i++)
	{
		EXPLORE_FIELD(&tg_txns->txn[i].state, EXPLORE_SHARED);
		EXPLORE_FIELD(&tg_txns->txn[i].host, EXPLORE_CONSTANT);
	}
	world->table.small[0] = world->heads;
	EXPLORE_FIELD(&world->table.small[0], EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->table.relocating, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->table.indexes, EXPLORE_SHARED);
	world->index.filling = 1;
	EXPLORE_FIELD(&world->index.link.next, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->index.filling, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->written, EXPLORE_SHARED);
	for (unsigned place = 0; place < PLACES; place++)
		setup_place(place);
	for (unsigned row = 0; row < ROWS; row++)
	{
		world->heads[row] = version_at(OLD, row);
		EXPLORE_FIELD(&world->heads[row], EXPLORE_SHARED);
	}
}

/* --- the parts ------------------------------------------------------------------------------ */

static void
move_rows(const scenario *scenario)
{
	tg_copy copies[ROWS];

	for (unsigned row = 0; row < scenario->rows; row++)
		copies[row] = (tg_copy){.from = version_at(OLD, row), .to = version_at(COPIES, row)};
	(void) relocate(NULL, &world->table, copies, scenario->rows);
	for (unsigned row = 0; scenario->collects && row < scenario->rows; row++)
		if (copies[row].taken)
			tg_store_release(&header_at(OLD, row)->begin, TG_TIME_NEVER);
}

/* How often a row is seen in a walk over all slots; by the writer's version, too: *written_out. */
static unsigned
walk(const tg_snapshot *snapshot, unsigned row, bool old_first, bool *written_out)
{
	static const unsigned orders[2][PLACES] = {{COPIES, WRITTEN, OLD}, {OLD, COPIES, WRITTEN}};
	unsigned seen = 0;
	tg_wait wait;

	*written_out = false;
	for (unsigned i = 0; i < PLACES; i++)
	{
		unsigned place = orders[old_first][i];

		if (tg_txn_sees(snapshot, header_at(place, row), &wait) != TG_SEEN)
			continue;
		seen++;
		*written_out |= place == WRITTEN;
	}
	return seen;
}

static void
read_rows(const scenario *scenario)
{
	const tg_time time = tg_load_seq_cst(tg_clock);
	const tg_snapshot snapshot = {.time = time, .txn = TG_TXN_MAX - 1, .flushed = time};

	for (unsigned row = 0; row < scenario->rows; row++)
	{
		tg_version version;
		bool written;
		unsigned seen = walk(&snapshot, row, scenario->old_first, &written);
		tg_wait wait;

		if (seen != 1)
			explore_violation("row %u was seen %u times", row, seen);
		if (tg_txn_read(&snapshot, &world->table, row, &version, &wait) != TG_OK)
			explore_violation("row %u was not found by its head", row);
		if ((version == version_at(WRITTEN, row)) != written)
			explore_violation("row %u: the ways differ", row);
	}
}

/* As update in write.c, and the commit in txn.c. */
static void
write_row(void)
{
	tg_txn *txn = &tg_txns->txn[0];
	tg_header *header = header_at(WRITTEN, 0);
	tg_time reference = tg_reference_make(0, 0, 1);
	tg_time time;

	tg_store_release(&txn->state, TG_TXN_ACTIVE);
	for (unsigned tries = 0;; tries++)
	{
		tg_version old = tg_load_acquire(tg_row_head(&world->table, 0));
		tg_header *old_header = tg_version_header(old);
		tg_time never = TG_TIME_NEVER;
		tg_wait wait;

		if (tries == 3)
			explore_abandon();
		if (tg_time_resolve(&old_header->begin, 0, &time) == TG_FATE_OPEN)
		{
			if (tg_wait_for(&old_header->begin, &wait))
				explore_violation("the writer would wait for the mover");
			continue;
		}
		tg_store_release(&header->older, old);
		tg_store_release(&header->begin, reference);
		if (!tg_cas_acq_rel(&old_header->end, &never, reference))
		{
			tg_store_release(&header->begin, TG_TIME_NEVER);
			continue;
		}
		tg_store_release(tg_row_head(&world->table, 0), version_at(WRITTEN, 0));
		time = tg_txn_draw(txn);
		tg_store_release(&txn->state, time << TG_STATE_BITS | TG_TXN_COMMITTED);
		tg_store_release(&old_header->end, time);
		tg_store_release(&header->begin, time);
		tg_store_release(&txn->state, TG_TXN_IDLE);
		tg_store_relaxed(&world->written, 1);
		return;
	}
}

/*
 * Creates an index, as index.c does; then meets the committed versions, slot by slot, as
 * index_build.c does.
 */
static void
build(void)
{
	unsigned found[ROWS] = {0};

	tg_store_release(&world->table.indexes, &world->index);
	wait_for_relocation(&world->table);
	for (unsigned row = 0; row < ROWS; row++)
		found[row] += tg_load_acquire(&header_at(COPIES, row)->begin) < TG_TIME_UNLINKED;
	for (unsigned row = 0; row < ROWS; row++)
		found[row] += tg_load_acquire(&header_at(OLD, row)->begin) < TG_TIME_UNLINKED;
	for (unsigned row = 0; row < ROWS; row++)
		if (found[row] == 0)
			explore_violation("the build has not met row %u", row);
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	switch (scenario->parts[number])
	{
		case PART_NONE:
			break;
		case PART_MOVER:
			move_rows(scenario);
			break;
		case PART_READER:
			read_rows(scenario);
			break;
		case PART_WRITER:
			write_row();
			break;
		case PART_WRITER_READER:
			write_row();
			read_rows(scenario);
			break;
		case PART_BUILD:
			build();
			break;
	}
}

static void
finish(const void *pointer)
{
	for (unsigned row = 0; row < ROWS; row++)
	{
		tg_version head = tg_load_relaxed(&world->heads[row]);
		unsigned open = 0;

		for (unsigned place = 0; place < PLACES; place++)
		{
			const tg_header *header = header_at(place, row);

			if (tg_load_relaxed(&header->begin) == TG_TIME_NEVER || tg_load_relaxed(&header->end) != TG_TIME_NEVER)
				continue;
			open++;
			if (head != version_at(place, row))
				explore_violation("row %u lives elsewhere than in its head", row);
		}
		if (open != 1)
			explore_violation("row %u has %u versions that have not ended", row, open);
		if (row == 0 && tg_load_relaxed(&world->written) != 0 && head != version_at(WRITTEN, 0))
			explore_violation("what was written is lost");
	}
}

static explore_program
program_of(const void *pointer)
{
	return (explore_program){.thread_count = 2,
							 .alike_from = EXPLORE_THREADS,
							 .stores_come_first = true,
							 .config = pointer,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario new_first = {
	.name = "a reader meets the copies first", .parts = {PART_MOVER, PART_READER}, .rows = 2};
static const scenario old_first = {
	.name = "a reader meets the old ones first", .parts = {PART_MOVER, PART_READER}, .rows = 2, .old_first = true};
static const scenario written = {.name = "a writer", .parts = {PART_MOVER, PART_WRITER}, .rows = 2};
static const scenario written_and_read = {
	.name = "a writer, who then reads", .parts = {PART_MOVER, PART_WRITER_READER}, .rows = 2};
static const scenario built = {.name = "a build", .parts = {PART_MOVER, PART_BUILD}, .rows = 2, .collects = true};

static explore_memory first = EXPLORE_C11; /* a long search takes all */

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, first, EXPLORE_C11, NULL);
}

static const explore_weakness weaknesses[] = {
	{"a copy that came too late is not withdrawn",
	 &written_and_read,
	 EXPLORE_SC,
	 {"withdraw", "tg_store_release(&header->begin)", EXPLORE_OMIT}},
	{"mover and writer both take the row",
	 &written,
	 EXPLORE_SC,
	 {"take_place", "tg_cas_acq_rel(&from->end)", EXPLORE_SPLIT}},
	{"the head says nothing of what is behind it",
	 &new_first,
	 EXPLORE_C11,
	 {"take_place", "tg_store_release(tg_row_head(table, tg_version_row(copy->to)))", EXPLORE_RELAX}},
	{"PREPARING does not come before C",
	 &new_first,
	 EXPLORE_SC,
	 {"tg_txn_draw", "tg_store_release(&txn->state)", EXPLORE_OMIT}},
	{"the mover does not say that it copies",
	 &built,
	 EXPLORE_SC,
	 {"relocate", "store of tg_store_then_fence(&table->relocating)", EXPLORE_OMIT}},
	{"the build does not look whether somebody copies",
	 &built,
	 EXPLORE_SC,
	 {"wait_for_relocation", "tg_load_acquire(&table->relocating)", EXPLORE_OMIT}},
	{"the build's fence is missing", &built, EXPLORE_TSO, {"wait_for_relocation", "tg_fence_seq_cst()", EXPLORE_OMIT}},
};

int
main(int argument_count, char **arguments)
{
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
		first = EXPLORE_SC;
	test_as_it_is(&new_first);
	test_as_it_is(&old_first);
	test_as_it_is(&written);
	test_as_it_is(&written_and_read);
	test_as_it_is(&built);
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	return unit_done();
}

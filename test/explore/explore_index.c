/*
 * explore_index.c
 *	  Entries come and go with the versions that need them: every schedule.
 *
 * runtime/index/index.c and the adding part of runtime/txn/unique.c are compiled as they are.  One
 * leaf for each of two keys, with the real version lock of a node, stands for the B+tree; a byte
 * stands for the encoding of keys.  A row has up to four versions of these keys.  Its writer makes
 * a version the head and adds its entry; a writer that undoes takes its version off the head; the
 * collector cuts the oldest one off; a build adds the entry of a version that it has met, and looks
 * again.
 *
 * Shown, for every schedule of two of these: afterwards there is an entry of each key that a
 * version of the chain has, and none of another.  Then each fence that index.c's argument names is
 * planted away.
 */
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/index/index.c"
#include "runtime/txn/unique.c"

#include "runtime/btree/btree_node.h"
#include "test/explore/around_index.h"

#define TRIES_MAX 3 /* of a step that another thread has made vain */
#define KEYS 3		/* 1 and 2 are used */
#define VERSIONS 4	/* from the oldest up */

/* The role of a thread. */
typedef enum deed
{
	DEED_NONE,
	DEED_WRITE,	  /* makes version 2 the head, on top of version 1 */
	DEED_UNDO,	  /* takes version 2 off the head */
	DEED_COLLECT, /* cuts version 0 off version 1 */
	DEED_BUILD	  /* adds the entry of version 0 */
} deed;

typedef struct scenario
{
	const char *name;
	unsigned char keys[3]; /* of the versions */
	bool third_is_head;	   /* to begin with; else version 1 is */
	unsigned entries;	   /* to begin with: bits by key */
	deed deeds[2];
} scenario;

typedef struct leaf
{
	tg_node node;
	uint32_t is_there;
} leaf;

typedef struct shared
{
	tg_table table;
	tg_version heads[64];
	tg_index index;
	tg_chunk chunk;
	tg_layout layout;
	tg_header headers[VERSIONS];
	int8_t values[VERSIONS];
	uint32_t rows[VERSIONS];
	uint64_t nulls[1];
	leaf leaves[KEYS];
} shared;

static const uint8_t kinds[] = {TG_KIND_1};
static const uint32_t offsets[] = {0};

static shared *world;

/* --- what stands for the rest of the runtime ------------------------------------------ */

uint64_t *tg_epoch_global;
tg_txn_shared *tg_txns;

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

size_t
tg_key_append_of(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
				 const tg_value *value)
{
	(void) table;
	(void) part;
	(void) kind;
	key[at] = (unsigned char) value->word;
	return at + 1;
}

static leaf *
leaf_of(const void *key)
{
	return &world->leaves[*(const unsigned char *) key];
}

/*
 * The version of a leaf that is not locked.  A thread that would wait for it is treated as one that
 * comes later.
 */
static uint64_t
leaf_version(const leaf *leaf)
{
	uint64_t version = tg_load_acquire(&leaf->node.version);

	if ((version & TG_NODE_LOCKED) != 0)
		explore_abandon();
	return version;
}

tg_status
tg_btree_insert(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_inout,
				tg_claim claim)
{
	leaf *leaf = leaf_of(key);

	for (unsigned tries = 0; tries < TRIES_MAX; tries++)
	{
		uint64_t version = leaf_version(leaf);
		bool is_there = tg_load_relaxed(&leaf->is_there) != 0;

		if (!tg_node_unchanged(&leaf->node, version))
			continue;
		if (is_there)
			return TG_EXISTS;
		if (!tg_node_lock(&leaf->node, version))
			continue;
		tg_store_relaxed(&leaf->is_there, 1);
		tg_node_unlock(&leaf->node);
		return TG_OK;
	}
	explore_abandon();
}

tg_status
tg_btree_remove_if(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t row,
				   tg_btree_may_go may_go, const void *argument)
{
	leaf *leaf = leaf_of(key);

	for (unsigned tries = 0; tries < TRIES_MAX; tries++)
	{
		uint64_t version = leaf_version(leaf);
		bool is_there = tg_load_relaxed(&leaf->is_there) != 0;

		if (!tg_node_unchanged(&leaf->node, version))
			continue;
		if (!is_there)
			return TG_NOT_FOUND;
		if (!tg_node_lock(&leaf->node, version))
			continue;
		tg_fence_seq_cst();
		if (!may_go(argument))
		{
			tg_node_unlock_unchanged(&leaf->node);
			return TG_EXISTS;
		}
		tg_store_relaxed(&leaf->is_there, 0);
		tg_node_unlock(&leaf->node);
		return TG_OK;
	}
	explore_abandon();
}

/* Functions that are compiled with it and not called. */

UNUSED_HERE(tg_status tg_txn_enter_shared(tg_session *session, tg_txn *txn, const tg_table *table, bool *entered_out))
UNUSED_HERE(tg_status tg_key_rank(tg_session *session, tg_table *table, const tg_key_part *part, tg_kind kind,
								  const tg_value *value))
UNUSED_HERE(void tg_lane_hand_over(tg_session *session, tg_lane *lane))
UNUSED_HERE(void tg_btree_cursor_init(tg_btree_cursor *cursor, tg_btree *tree, const void *low, size_t low_bytes,
									  bool low_inclusive, const void *high, size_t high_bytes, bool high_inclusive,
									  bool backward))
UNUSED_HERE(unsigned tg_btree_cursor_next(tg_btree_cursor *cursor, uint32_t *rows, unsigned count))
UNUSED_HERE(tg_txn_kind tg_txn_kind_of(const tg_txn *txn))

/* --- the program -------------------------------------------------------------------------- */

static tg_version
version_at(unsigned number)
{
	return tg_version_make(&world->chunk, number);
}

static void
setup_table(const scenario *scenario)
{
	world->table.small[0] = world->heads;
	world->table.indexes = &world->index.link;
	world->heads[0] = version_at(scenario->third_is_head ? 2 : 1);
	EXPLORE_FIELD(&world->table.small[0], EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->table.indexes, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->heads[0], EXPLORE_SHARED);
	world->index.table = &world->table;
	world->index.spec.key.part_count = 1;
	world->index.filling = scenario->deeds[0] == DEED_BUILD;
	EXPLORE_FIELD(&world->index.link.next, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->index.filling, EXPLORE_CONSTANT);
}

static void
setup_chunk(const scenario *scenario)
{
	world->layout = (tg_layout){.column_count = 1, .kinds = kinds, .offsets = offsets};
	world->chunk.table = &world->table;
	world->chunk.layout = &world->layout;
	world->chunk.capacity = VERSIONS;
	world->chunk.headers = world->headers;
	world->chunk.values = (unsigned char *) world->values;
	world->chunk.rows = world->rows;
	world->chunk.nulls = world->nulls;
	EXPLORE_FIELD(&world->chunk.headers, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&world->chunk.null_columns, EXPLORE_CONSTANT);
	for (unsigned i = 0; i < 3; i++)
	{
		world->values[i] = (int8_t) scenario->keys[i];
		world->headers[i].older = i > 0 ? version_at(i - 1) : TG_VERSION_NONE;
		EXPLORE_FIELD(&world->headers[i].older, i == 1 ? EXPLORE_SHARED : EXPLORE_CONSTANT);
	}
}

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;

	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	setup_table(scenario);
	setup_chunk(scenario);
	for (unsigned i = 0; i < KEYS; i++)
	{
		world->leaves[i].is_there = scenario->entries >> i & 1;
		EXPLORE_FIELD(&world->leaves[i].node.version, EXPLORE_SHARED);
		EXPLORE_FIELD(&world->leaves[i].is_there, EXPLORE_SHARED);
	}
}

static void
build(void)
{
	tg_index_key key;

	(void) !tg_index_key_of_version(&world->index, version_at(0), &key);
	(void) !tg_index_entry_add(NULL, &world->index, &key, 0, TG_DATA);
	tg_index_entry_recheck(NULL, &world->index, &key, 0);
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;
	const tg_writer writer = {.session = NULL};
	tg_wait wait;

	switch (scenario->deeds[number])
	{
		case DEED_NONE:
			break;
		case DEED_WRITE: /* as write.c */
			tg_store_release(&world->heads[0], version_at(2));
			(void) !tg_entries_add(&writer, &world->table, 0, version_at(2), version_at(1), TG_ROW_MAX, &wait);
			break;
		case DEED_UNDO: /* as txn.c */
			tg_store_release(&world->heads[0], version_at(1));
			tg_indexes_forget(NULL, version_at(2), version_at(1));
			break;
		case DEED_COLLECT: /* as prune.c */
			tg_store_release(&world->headers[1].older, TG_VERSION_NONE);
			tg_indexes_forget(NULL, version_at(0), version_at(1));
			break;
		case DEED_BUILD:
			build();
			break;
	}
}

static void
finish(const void *pointer)
{
	unsigned needed = 0;

	(void) pointer;
	for (tg_version version = tg_load_relaxed(&world->heads[0]); version != TG_VERSION_NONE;
		 version = tg_load_relaxed(&world->headers[tg_version_slot(version)].older))
		needed |= 1u << world->values[tg_version_slot(version)];
	for (unsigned key = 1; key < KEYS; key++)
	{
		bool is_there = tg_load_relaxed(&world->leaves[key].is_there) != 0;

		if ((needed >> key & 1) != 0 && !is_there)
			explore_violation("key %u has a version and no entry", key);
		if ((needed >> key & 1) == 0 && is_there)
			explore_violation("key %u has an entry and no version", key);
	}
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = 2,
							 .alike_from = EXPLORE_THREADS,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

#define OF_1 (1 << 1)
#define OF_2 (1 << 2)

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario used_again = {.name = "a writer finds the entry that the collector removes",
									.keys = {1, 2, 1},
									.entries = OF_1 | OF_2,
									.deeds = {DEED_WRITE, DEED_COLLECT}};
static const scenario added = {
	.name = "a writer adds another one", .keys = {1, 1, 2}, .entries = OF_1, .deeds = {DEED_WRITE, DEED_COLLECT}};
static const scenario both_go = {.name = "the newest and the oldest version of a key go",
								 .keys = {1, 2, 1},
								 .third_is_head = true,
								 .entries = OF_1 | OF_2,
								 .deeds = {DEED_UNDO, DEED_COLLECT}};
static const scenario one_goes = {.name = "one key in all, two of its versions go",
								  .keys = {1, 1, 1},
								  .third_is_head = true,
								  .entries = OF_1,
								  .deeds = {DEED_UNDO, DEED_COLLECT}};
static const scenario built = {.name = "a build has met what the collector cuts",
							   .keys = {1, 2, 2},
							   .entries = OF_2,
							   .deeds = {DEED_BUILD, DEED_COLLECT}};
static const scenario built_used = {
	.name = "a build and a writer", .keys = {1, 2, 1}, .entries = OF_2, .deeds = {DEED_BUILD, DEED_WRITE}};

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, EXPLORE_SC, EXPLORE_C11, NULL);
}

static const explore_weakness weaknesses[] = {
	{"the writer's fence is missing", &used_again, EXPLORE_TSO, {"tg_entries_add", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"the fence under the leaf's lock is missing",
	 &used_again,
	 EXPLORE_C11,
	 {"tg_btree_remove_if", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"the remover's fence is missing", &built, EXPLORE_TSO, {"tg_indexes_forget", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"the build's fence is missing",
	 &built,
	 EXPLORE_C11,
	 {"tg_index_entry_recheck", "tg_fence_seq_cst()", EXPLORE_OMIT}},
};

int
main(void)
{
	test_as_it_is(&used_again);
	test_as_it_is(&added);
	test_as_it_is(&both_go);
	test_as_it_is(&one_goes);
	test_as_it_is(&built);
	test_as_it_is(&built_used);
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	return unit_done();
}

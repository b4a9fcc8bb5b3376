/*
 * indexed.h
 *	  A table with secondary indexes and clients that use it, for unit tests.
 *
 * Columns: id (the primary key), a number, a text, a flag; the second and third may be NULL.  Three
 * indexes: on the number; unique, on the text; unique and partial, on the number, descending, where
 * the flag is set.  With hides set, they index hidden values, which equal the columns.  With
 * several set, too, the first index has an entry for each of the number's last bits.
 */
#ifndef TG_INDEXED_H
#define TG_INDEXED_H

#include <string.h>

#include "runtime/exec/index_fill.h"
#include "runtime/exec/scan.h"
#include "runtime/runtime.h"
#include "runtime/sched/scheduler.h"
#include "runtime/btree/btree_node.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/collector_internal.h"
#include "test/unit/collecting.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define COLUMNS 4
#define IDS 64
#define NOTHING (-1) /* NULL */
#define BY_NUMBER 0
#define BY_TEXT 1
#define BY_FLAGGED 2
#define INDEXES 3
#define SEEN_MAX 4096

static tg_table *table;
static tg_index *indexes[INDEXES];
static bool hides;
static bool several;
static void (*while_computed)(void); /* called between computing and storing hidden values */

static const uint8_t kinds[COLUMNS] = {TG_KIND_8, TG_KIND_4, TG_KIND_STRING, TG_KIND_1};
static const tg_key_part id_part = {.column = 0, .code = TG_KEY_SIGNED};
static const tg_key_part number_part = {.column = 1, .code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE};
static const tg_key_part text_part = {.column = 2, .code = TG_KEY_STRING, .order = TG_KEY_NULLABLE};
static const tg_key_part flagged_part = {
	.column = 1, .code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE | TG_KEY_DESCENDING | TG_KEY_NULLS_FIRST};

typedef struct row_values
{
	int64_t id;
	int number; /* or NOTHING */
	int text;	/* or NOTHING; what makes the text */
	bool flag;
} row_values;

typedef struct client
{
	tg_session *session;
	tg_txn *txn; /* NULL: none */
	tg_snapshot snapshot;
	tg_writer writer;
	unsigned entry;
	uint64_t random;
	tg_wait wait; /* of the last write */
	tg_vectors *vectors;
} client;

static inline tg_index_spec
index_spec(unsigned which)
{
	static const tg_key_part *const parts[] = {&number_part, &text_part, &flagged_part};
	tg_index_spec spec = {.host = 100 + which,
						  .unique = which != BY_NUMBER,
						  .partial = which == BY_FLAGGED,
						  .predicate = 3,
						  .key = {.part_count = 1}};

	spec.key.part[0] = *parts[which];
	if (!hides)
		return spec;
	spec.key.part[0].column = TG_KEY_HIDDEN;
	spec.predicate = TG_KEY_HIDDEN | 1;
	spec.hidden_count = which == BY_FLAGGED ? 2 : 1;
	spec.hidden_kinds[0] = which == BY_TEXT ? TG_KIND_STRING : TG_KIND_4;
	spec.hidden_kinds[1] = TG_KIND_1;
	spec.several = several && which == BY_NUMBER;
	if (spec.several)
	{
		spec.hidden_kinds[0] = TG_KIND_STRING;
		spec.key.part[0].code = TG_KEY_STRING;
	}
	return spec;
}

static inline tg_index *
make_index(tg_session *session, unsigned which)
{
	tg_index_spec spec = index_spec(which);

	if (tg_index_create(session, table, &spec, TG_DATA, &indexes[which]) != TG_OK)
		unit_bail("no index");
	return indexes[which];
}

/* A table in place of the one there was, if any. */
static inline void
fresh_table(tg_session *session, bool with_indexes)
{
	const tg_key_spec key = {.part_count = 1, .part = {id_part}};
	tg_table *old;

	if (tg_table_create(session, 1, 77, kinds, COLUMNS, &key, TG_DATA, &table) != TG_OK ||
		tg_catalog_put(session, 1, 77, table, &old) != TG_OK)
		unit_bail("no table");
	if (old != NULL)
	{
		tg_leases_forget(old);
		tg_table_release(session, old);
	}
	for (unsigned i = 0; with_indexes && i < INDEXES; i++)
		(void) make_index(session, i);
}

static inline void
start(bool with_indexes)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = 1024 * MIB, .limit_bytes = 512 * MIB, .session_max = 32},
		.worker_max = 2,
	};
	tg_session *session;

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK ||
		tg_session_open(&session) != TG_OK)
		unit_bail("no runtime");
	fresh_table(session, with_indexes);
	tg_runtime_session_end(session);
}

static inline void
client_open(client *c, uint64_t seed)
{
	static const uint16_t columns[COLUMNS] = {0, 1, 2, 3};

	memset(c, 0, sizeof(*c));
	if (tg_session_open(&c->session) != TG_OK)
		unit_bail("no session");
	c->random = seed;
	c->vectors =
		tg_vectors_init(aligned_alloc(TG_CACHE_LINE, (tg_vectors_bytes(kinds, COLUMNS, 1024) + 63) & ~(size_t) 63),
						columns, kinds, COLUMNS, 1024);
}

static inline void
client_close(client *c)
{
	free(c->vectors);
	tg_runtime_session_end(c->session);
}

static inline unsigned
dice(client *c, unsigned sides)
{
	return unit_below(&c->random, sides);
}

/* --- transactions: a snapshot each, or one per statement ------------------------------ */

static inline void
begin(client *c)
{
	c->snapshot =
		(tg_snapshot){.time = tg_snapshot_publish(c->session, &c->entry), .txn = c->session->id, .command = 1};
	c->txn = tg_txn_begin(c->session, (uint64_t) c->session->id + 1);
	c->writer = (tg_writer){.session = c->session, .txn = c->txn, .claim = TG_DATA, .command = 1};
}

static inline void
next_command(client *c)
{
	c->snapshot.command = ++c->writer.command;
}

/* As of now, at READ COMMITTED. */
static inline void
next_statement(client *c)
{
	tg_snapshot_withdraw(c->session, c->entry);
	c->snapshot.time = tg_snapshot_publish(c->session, &c->entry);
	next_command(c);
}

static inline void
end(client *c, bool commit)
{
	if (commit)
		tg_txn_commit(c->session, c->txn);
	else
		tg_txn_abort(c->session, c->txn);
	tg_snapshot_withdraw(c->session, c->entry);
	c->txn = NULL;
}

/* --- values --------------------------------------------------------------------------- */

typedef struct text_memory
{
	char bytes[128];
} text_memory;

/* Long or short, as the number says; the same number makes the same text. */
static inline void
make_text(int number, tg_value *value, text_memory *memory)
{
	memset(memory->bytes, 'x', sizeof(memory->bytes));
	snprintf(memory->bytes, 9, "%08d", number);
	memory->bytes[8] = 'x';
	if (number % 3 == 0)
		tg_string_make_inline(&value->string, memory->bytes, 9);
	else
		tg_string_make_host(&value->string, memory->bytes, 40 + (uint32_t) number % 60, 0);
}

static inline void
make_values(const row_values *row, tg_value *values, bool *nulls, text_memory *memory)
{
	memset(values, 0, COLUMNS * sizeof(*values));
	values[0].word = (uint64_t) row->id;
	values[1].word = (uint64_t) (int64_t) row->number;
	values[3].word = row->flag;
	nulls[0] = nulls[3] = false;
	nulls[1] = row->number == NOTHING;
	nulls[2] = row->text == NOTHING;
	if (!nulls[2])
		make_text(row->text, &values[2], memory);
}

/* --- hidden values ---------------------------------------------------------------------- */

typedef struct hidden_memory
{
	tg_value values[INDEXES][2];
	bool nulls[INDEXES][2];
	tg_hidden_values of[INDEXES];
	tg_hidden_row row;
	char list[1024];
} hidden_memory;

#define BITS 5
#define BIT_BYTES_MAX 40

/* The key of a bit, short or long. */
static inline tg_key_ref
bit_key(unsigned bit, unsigned char *memory)
{
	memset(memory, (int) bit, BIT_BYTES_MAX);
	return (tg_key_ref){.key = memory, .bytes = bit % 3 == 0 ? BIT_BYTES_MAX : 2};
}

/* The list of a number's last bits. */
static inline void
make_list(unsigned number, tg_value *value, hidden_memory *memory)
{
	unsigned char bytes[BITS][BIT_BYTES_MAX];
	tg_key_ref keys[2 * BITS];
	unsigned count = 0;

	/* from the last to the first, and each twice */
	for (unsigned i = 2 * BITS; i-- > 0;)
		if ((number >> i % BITS & 1) != 0)
			keys[count++] = bit_key(i % BITS, bytes[i % BITS]);
	count = tg_key_refs_sort(keys, count);
	tg_key_list_write(memory->list, keys, count);
	if (tg_key_list_bytes(keys, count) <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&value->string, memory->list, (unsigned) tg_key_list_bytes(keys, count));
	else
		tg_string_make_host(&value->string, memory->list, (uint32_t) tg_key_list_bytes(keys, count), 0);
}

/* Those of a row with these values; NULL if none are hidden. */
static inline const tg_hidden_row *
hide(const tg_value *values, const bool *nulls, hidden_memory *memory)
{
	if (!hides)
		return NULL;
	for (unsigned which = 0; which < INDEXES; which++)
	{
		unsigned column = which == BY_TEXT ? 2 : 1;
		tg_value *hidden = memory->values[which];

		hidden[0] = values[column];
		memory->nulls[which][0] = nulls[column];
		if (which == BY_TEXT && !nulls[column] && tg_string_is_out(&hidden->string))
			hidden->string.word |= TG_STRING_HOST;
		if (several && which == BY_NUMBER && !nulls[column])
			make_list((unsigned) values[column].word, hidden, memory);
		hidden[1].word = values[3].word;
		memory->nulls[which][1] = nulls[3];
		memory->of[which] = (tg_hidden_values){.host = 100 + which, .values = hidden, .nulls = memory->nulls[which]};
	}
	memory->row = (tg_hidden_row){.count = INDEXES, .of = memory->of};
	return &memory->row;
}

/* As the host does: a version at a time is copied, computed with, and looked for again. */
static inline tg_status
fill_index(client *c, tg_index *index, bool exclusive)
{
	static __thread char text[TG_KEY_BYTES_MAX];
	tg_index_fill fill;
	const tg_hidden_row *row = NULL;
	hidden_memory memory;
	tg_status status = TG_OK;

	if (index->link.hidden == NULL)
		return TG_OK;
	tg_index_fill_begin(c->session, &fill, index, exclusive);
	while (status == TG_OK && !tg_index_fill_is_over(&fill))
	{
		tg_value values[COLUMNS];
		bool nulls[COLUMNS];
		tg_version version = TG_VERSION_NONE;

		tg_epoch_enter(c->session);
		if (row != NULL)
		{
			const tg_hidden_values *of = tg_hidden_of(row, index);

			status = tg_index_fill_put(c->session, &fill, of->values, of->nulls);
		}
		if (status == TG_OK)
			version = tg_index_fill_next(&fill);
		for (unsigned i = 0; i < COLUMNS && version != TG_VERSION_NONE; i++)
		{
			nulls[i] = tg_chunk_is_null(tg_version_chunk(version), i, tg_version_slot(version));
			if (!nulls[i])
				tg_chunk_value(tg_version_chunk(version), i, tg_version_slot(version), &values[i]);
		}
		if (version != TG_VERSION_NONE && !nulls[2] && tg_string_is_out(&values[2].string))
			values[2].string.blob = memcpy(text, values[2].string.blob, tg_string_blob_bytes(&values[2].string));
		tg_epoch_leave(c->session);
		row = version != TG_VERSION_NONE ? hide(values, nulls, &memory) : NULL;
		if (row != NULL && while_computed != NULL)
			while_computed();
	}
	return status;
}

static inline size_t
id_key(int64_t id, unsigned char *key)
{
	const tg_value value = {.word = (uint64_t) id};

	return tg_key_append(key, 0, &id_part, TG_KIND_8, &value);
}

static inline int
text_of(const tg_value *value)
{
	char digits[9] = {0};

	memcpy(digits, tg_string_is_out(&value->string) ? value->string.blob : value->string.bytes, 8);
	return atoi(digits);
}

/* --- writing -------------------------------------------------------------------------- */

static inline tg_status
put(client *c, int64_t id, int number, int text, bool flag)
{
	const row_values row = {id, number, text, flag};
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	text_memory memory;
	hidden_memory hidden;
	unsigned char key[16];
	uint32_t row_id;

	make_values(&row, values, nulls, &memory);
	c->writer.hidden = hide(values, nulls, &hidden);
	return tg_txn_insert(&c->writer, table, key, id_key(id, key), values, nulls, &row_id, &c->wait);
}

/* The newest version of a row, and its values as they are stored. */
static inline tg_status
newest(client *c, int64_t id, uint32_t *row_out, tg_version *version_out, tg_value *values, bool *nulls)
{
	unsigned char key[16];
	tg_status status;

	tg_epoch_enter(c->session);
	status = tg_txn_find(&c->snapshot, table, key, id_key(id, key), row_out, version_out, &c->wait);
	if (status == TG_OK)
		status = tg_txn_newest(&c->writer, &c->snapshot, table, row_out, version_out, &c->wait);
	for (unsigned i = 0; i < COLUMNS && (status == TG_OK || status == TG_CHANGED); i++)
	{
		nulls[i] = tg_chunk_is_null(tg_version_chunk(*version_out), i, tg_version_slot(*version_out));
		if (!nulls[i])
			tg_chunk_value(tg_version_chunk(*version_out), i, tg_version_slot(*version_out), &values[i]);
	}
	tg_epoch_leave(c->session);
	return status;
}

#define SAME (-2) /* a column that keeps its value, and shares its text */

/* Changes a row; id_new other than id moves it. */
static inline tg_status
change(client *c, int64_t id, int64_t id_new, int number, int text, int flag)
{
	for (;;)
	{
		tg_value values[COLUMNS];
		bool nulls[COLUMNS];
		tg_value made[COLUMNS];
		bool made_nulls[COLUMNS];
		text_memory memory;
		text_memory copy;
		hidden_memory hidden;
		unsigned char key[16];
		tg_version version;
		uint32_t row;
		tg_status status = newest(c, id, &row, &version, values, nulls);
		const row_values wanted = {id_new, number == SAME ? 0 : number, text == SAME ? 0 : text, flag == 1};

		if (status != TG_OK && status != TG_CHANGED)
			return status;
		make_values(&wanted, made, made_nulls, &memory);
		for (unsigned i = 1; i < COLUMNS; i++)
		{
			if ((i == 1 ? number : i == 2 ? text : flag) == SAME)
				continue;
			values[i] = made[i];
			nulls[i] = made_nulls[i];
		}
		c->writer.hidden = hide(values, nulls, &hidden);
		if (id_new == id)
			status = tg_txn_update(&c->writer, table, row, version, values, nulls, &c->wait);
		else
		{
			if (text == SAME && !nulls[2] && tg_string_is_out(&values[2].string))
			{
				uint32_t bytes = tg_string_blob_bytes(&values[2].string);

				memcpy(copy.bytes, values[2].string.blob, bytes);
				tg_string_make_host(&values[2].string, copy.bytes, bytes, 0);
			}
			values[0] = made[0];
			status =
				tg_txn_move(&c->writer, table, row, version, key, id_key(id_new, key), values, nulls, &row, &c->wait);
		}
		if (status != TG_AGAIN)
			return status;
	}
}

static inline tg_status
drop(client *c, int64_t id)
{
	for (;;)
	{
		tg_value values[COLUMNS];
		bool nulls[COLUMNS];
		tg_version version;
		uint32_t row;
		tg_status status = newest(c, id, &row, &version, values, nulls);

		if (status != TG_OK && status != TG_CHANGED)
			return status;
		status = tg_txn_delete(&c->writer, table, row, version, &c->wait);
		if (status != TG_AGAIN)
			return status;
	}
}

/* Whether the own row with that number is the only one. */
static inline tg_status
recheck(client *c, int number, bool waits)
{
	const row_values row = {0, number, NOTHING, false};
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	text_memory memory;
	hidden_memory hidden;

	make_values(&row, values, nulls, &memory);
	c->writer.hidden = hide(values, nulls, &hidden);
	return tg_txn_recheck(&c->writer, indexes[BY_NUMBER], values, nulls, waits, &c->wait);
}

/* --- reading -------------------------------------------------------------------------- */

typedef struct seen_rows
{
	unsigned count;
	row_values rows[SEEN_MAX];
} seen_rows;

static inline void
take_vectors(const tg_vectors *vectors, seen_rows *seen)
{
	for (unsigned i = 0; i < vectors->count && seen->count < SEEN_MAX; i++)
	{
		seen->rows[seen->count++] =
			(row_values){.id = ((int64_t *) vectors->data[0])[i],
						 .number = vectors->nulls[1][i] ? NOTHING : (int) ((int64_t *) vectors->data[1])[i],
						 .text = vectors->nulls[2][i] ? NOTHING : text_of(&((tg_value *) vectors->data[2])[i]),
						 .flag = ((int64_t *) vectors->data[3])[i] != 0};
	}
}

/* The snapshot's rows between two keys, by limit rows; checks undecided outcomes again. */
static inline void
read_between(client *c, tg_index *index, const void *low, size_t low_bytes, bool low_inclusive, const void *high,
			 size_t high_bytes, bool high_inclusive, bool backward, unsigned limit, seen_rows *seen)
{
	static __thread tg_range_scan scan;
	unsigned count;

	seen->count = 0;
	tg_range_scan_init(&scan, table, index, &c->snapshot, low, low_bytes, low_inclusive, high, high_bytes,
					   high_inclusive, backward);
	while ((count = tg_range_scan_next(c->session, &scan, c->vectors, limit)) > 0 || scan.busy)
		take_vectors(c->vectors, seen);
}

static inline void
read_index(client *c, tg_index *index, bool backward, unsigned limit, seen_rows *seen)
{
	read_between(c, index, NULL, 0, true, NULL, 0, true, backward, limit, seen);
}

static inline void
read_table(client *c, seen_rows *seen)
{
	tg_chunk_scan scan;
	unsigned count;

	seen->count = 0;
	tg_chunk_scan_init(&scan, table, &c->snapshot, 0, UINT32_MAX);
	while ((count = tg_chunk_scan_next(c->session, &scan, c->vectors)) > 0 || scan.busy)
		take_vectors(c->vectors, seen);
}

/* Whether a comes before b in an index; rows of the same key in any order. */
static inline bool
is_in_order(unsigned which, const row_values *a, const row_values *b)
{
	if (several && which == BY_NUMBER)
		return true;
	if (which == BY_TEXT) /* NULLs last */
		return b->text == NOTHING || (a->text != NOTHING && a->text <= b->text);
	if (which == BY_NUMBER) /* NULLs last */
		return b->number == NOTHING || (a->number != NOTHING && a->number <= b->number);
	/* NULLs first, descending */
	return a->number == NOTHING || (b->number != NOTHING && a->number >= b->number);
}

static inline int
compare_rows(const void *a, const void *b)
{
	const row_values *left = a;
	const row_values *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

/* How many entries a row has. */
static inline unsigned
entries_of(unsigned which, const row_values *row)
{
	if (several && which == BY_NUMBER)
		return row->number == NOTHING ? 0 : (unsigned) __builtin_popcount((unsigned) row->number % (1 << BITS));
	return which != BY_FLAGGED || row->flag;
}

/* Whether an index shows the snapshot the table's rows, in its order, each once for each entry. */
static inline bool
index_is_right(client *c, unsigned which)
{
	static __thread seen_rows all;
	static __thread seen_rows some;
	static __thread seen_rows wanted;
	bool backward = dice(c, 2) == 0;
	unsigned expected = 0;

	read_table(c, &all);
	read_index(c, indexes[which], backward, 1 + dice(c, 20), &some);
	for (unsigned i = 0; i + 1 < some.count; i++)
	{
		if (!is_in_order(which, &some.rows[backward ? i + 1 : i], &some.rows[backward ? i : i + 1]))
			return false;
	}
	for (unsigned i = 0; i < all.count; i++)
		for (unsigned times = entries_of(which, &all.rows[i]); times > 0 && expected < SEEN_MAX; times--)
			wanted.rows[expected++] = all.rows[i];
	qsort(wanted.rows, expected, sizeof(row_values), compare_rows);
	qsort(some.rows, some.count, sizeof(row_values), compare_rows);
	return some.count == expected && memcmp(some.rows, wanted.rows, expected * sizeof(row_values)) == 0;
}

/* How many pairs of rows have the same key of a unique index. */
static inline unsigned
count_twins(const seen_rows *all, unsigned which)
{
	unsigned twins = 0;

	for (unsigned i = 0; i < all->count; i++)
	{
		for (unsigned j = 0; j < i; j++)
		{
			const row_values *row = &all->rows[i];
			const row_values *other = &all->rows[j];

			if (which == BY_TEXT)
				twins += row->text != NOTHING && row->text == other->text;
			else if (which == BY_FLAGGED && row->flag && other->flag)
				twins += row->number != NOTHING && row->number == other->number;
		}
	}
	return twins;
}

/* After the collector, without sessions at work: missing or excess entries, wrong order, twins. */
static inline unsigned
count_faults(client *c, unsigned which, const seen_rows *all)
{
	tg_btree_report report;
	unsigned expected = 0;

	tg_btree_check(indexes[which]->tree);
	tg_epoch_enter(c->session);
	tg_btree_report_get(indexes[which]->tree, &report);
	tg_epoch_leave(c->session);
	for (unsigned i = 0; i < all->count; i++)
		expected += entries_of(which, &all->rows[i]);
	return (unsigned) (report.entries > expected ? report.entries - expected : expected - report.entries) +
		   count_twins(all, which) + !index_is_right(c, which);
}

static inline unsigned
count_all_faults(client *c)
{
	seen_rows *all = malloc(sizeof(*all));
	unsigned faults = 0;

	collect_all(c->session);
	begin(c);
	read_table(c, all);
	for (unsigned which = 0; which < INDEXES; which++)
		faults += count_faults(c, which, all);
	end(c, false);
	free(all);
	return faults;
}

/* Without sessions at work: each index has an entry for each of its rows, and no other. */
static inline void
check_exact(client *c, const char *name)
{
	seen_rows *all = malloc(sizeof(*all));
	tg_arena_report arena;

	collect_all(c->session);
	tg_leases_forget(table);
	begin(c);
	read_table(c, all);
	for (unsigned which = 0; which < INDEXES; which++)
		unit_equal(count_faults(c, which, all), 0, "%s: index %u has one entry for each row, and no key twice", name,
				   which);
	end(c, false);
	collect_all(c->session);
	tg_arena_report_get(&arena);
	unit_equal(arena.used_by[TG_USE_LOG], 0, "%s: no log is left", name);
	unit_equal(table->row_count, all->count, "%s: the row count is right", name);
	unit_equal(table->row_next - table->free_row_count, all->count, "%s: every other row id is free", name);
	free(all);
}

/* --- turns at random -------------------------------------------------------------------- */

static inline tg_status
write_something(client *c, unsigned ids)
{
	int64_t id = dice(c, ids);
	int number = (int) dice(c, several ? 33 : 5) - 1;
	int text = (int) dice(c, 12) - 1;

	switch (dice(c, 8))
	{
		case 0:
		case 1:
		case 2:
			return put(c, id, number, text, dice(c, 2) == 0);
		case 3:
			return drop(c, id);
		case 4:
			return change(c, id, dice(c, ids), dice(c, 2) == 0 ? SAME : number, dice(c, 2) == 0 ? SAME : text, SAME);
		default:
			return change(c, id, id, dice(c, 3) == 0 ? number : SAME, dice(c, 3) == 0 ? text : SAME,
						  dice(c, 3) == 0 ? (int) dice(c, 2) : SAME);
	}
}

#define TURN_CLIENTS 4

typedef struct turns
{
	unsigned wrong; /* looks at which an index did not show what the table does */
	unsigned results[TG_STOPPED + 1];
} turns;

/* Clients write in turns, roll back, commit, and the collector runs; all in one thread. */
static inline void
take_turns(client *collector, uint64_t seed, unsigned steps, turns *result)
{
	client clients[TURN_CLIENTS];
	tg_txn_mark marks[TURN_CLIENTS];

	memset(result, 0, sizeof(*result));
	for (unsigned i = 0; i < TURN_CLIENTS; i++)
		client_open(&clients[i], seed * 100 + i);
	for (unsigned step = 0; step < steps; step++)
	{
		unsigned i = dice(collector, TURN_CLIENTS);
		client *c = &clients[i];
		unsigned what = dice(c, 20);

		if (c->txn == NULL)
		{
			begin(c);
			marks[i] = (tg_txn_mark){TG_LOG_MARK_START, 0};
		}
		if (what < 2)
			end(c, what == 0);
		else if (what == 2)
		{
			tg_txn_savepoint(c->session, c->txn, &marks[i], &c->writer.subtxn);
		}
		else if (what == 3)
		{
			tg_txn_rollback_to(c->session, c->txn, marks[i]);
			next_command(c);
		}
		else if (what == 4)
			(void) tg_collector_run(collector->session, 1 + dice(c, 50));
		else if (what == 5)
			tg_epoch_advance();
		else
		{
			next_statement(c);
			result->results[write_something(c, 20)]++;
		}
		for (unsigned j = 0; j < TURN_CLIENTS; j++)
		{
			if (clients[j].txn != NULL && !index_is_right(&clients[j], dice(c, INDEXES)))
				result->wrong++;
		}
	}
	for (unsigned i = 0; i < TURN_CLIENTS; i++)
	{
		if (clients[i].txn != NULL)
			end(&clients[i], dice(&clients[i], 2) == 0);
		client_close(&clients[i]);
	}
}

#ifdef TG_FAILPOINTS
static const char *planted;

static inline bool
plant(const char *name)
{
	return strcmp(name, planted) == 0;
}

/* Without a step of the protocol, what is wrong is noticed. */
static inline void
test_planted(client *c, const char *name)
{
	unsigned noticed = 0;

	planted = name;
	for (unsigned tries = 0; tries < 20 && noticed == 0; tries++)
	{
		turns result;

		fresh_table(c->session, true);
		tg_failpoint_set(plant);
		take_turns(c, tries + 1, 400, &result);
		tg_failpoint_set(NULL);
		noticed = result.wrong + count_all_faults(c);
	}
	unit_ok(noticed > 0, "noticed without %s", name);
	fresh_table(c->session, true);
}
#endif

#endif /* TG_INDEXED_H */

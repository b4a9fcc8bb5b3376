/*
 * row.c
 *	  Rows of hash tables: their layout, their keys.
 *
 * Keys are hashed and compared column by column, so that the loops know the type.
 */
#include <math.h>
#include <string.h>

#include "runtime/query/query_internal.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/text.h"

#define BLOCK_BYTES_FIRST ((size_t) 16 << 10)
#define BLOCK_BYTES_MAX ((size_t) 1 << 20)
#define ROWS_MAX_LEAST 4096
#define BLOCKS_MIN 8 /* of the rows that a task may keep: the last one may be nearly empty */

static size_t
round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) & ~(unit - 1);
}

static unsigned
count_fields(const tg_sink *sink)
{
	switch ((tg_sink_kind) sink->kind)
	{
		case TG_BUILD:
			return sink->field_count;
		case TG_SORT:
			return (unsigned) sink->sort_key_count + sink->field_count;
		default:
			return sink->key_count;
	}
}

/* A SORT's rows have its keys in front. */
static uint8_t
type_of_field(const tg_sink *sink, unsigned field)
{
	if (sink->kind == TG_SORT && field < sink->sort_key_count)
		return sink->order->program.types[sink->sort_keys[field].value];
	if (sink->kind == TG_SORT)
		field -= sink->sort_key_count;
	return sink->expressions->program.types[sink->fields[field]];
}

bool
tg_row_layout_init(tg_session *session, tg_query *query, tg_row_layout *layout, const tg_sink *sink,
				   const uint8_t *state_bytes, unsigned state_count)
{
	unsigned count = count_fields(sink);
	size_t at = round_up(sizeof(tg_row) + count + sink->marked, 8);
	uint16_t *offsets = tg_query_take(session, query, (count + state_count) * sizeof(uint16_t) + count);
	uint8_t *types;

	if (offsets == NULL)
		return false;
	types = (uint8_t *) (offsets + count + state_count);
	for (unsigned i = 0; i < count; i++)
	{
		types[i] = type_of_field(sink, i);
		offsets[i] = (uint16_t) at;
		at += tg_vector_width((tg_vector_type) types[i]) == sizeof(tg_string) ? sizeof(tg_string) : 8;
	}
	at = round_up(at, 16);
	for (unsigned i = 0; i < state_count; i++)
	{
		offsets[count + i] = (uint16_t) at;
		at += round_up(state_bytes[i], 16);
	}
	if (round_up(at, 16) > UINT16_MAX)
		return false;
	*layout = (tg_row_layout){.marked = sink->marked,
							  .field_count = (uint16_t) count,
							  .bytes = (uint16_t) round_up(at, 16),
							  .types = types,
							  .offsets = offsets};
	return true;
}

bool
tg_rows_collect(tg_session *session, tg_query *query, tg_hash_table *table)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_row_block *block = query->tasks[i].store.first; block != NULL; block = block->next)
			count++;
	table->blocks = tg_query_take(session, query, (count + 1) * sizeof(tg_row_block *));
	if (table->blocks == NULL)
		return false;
	for (unsigned i = 0; i < query->task_most; i++)
	{
		for (tg_row_block *block = query->tasks[i].store.first; block != NULL; block = block->next)
			table->blocks[table->block_count++] = block;
		table->row_count += query->tasks[i].store.count;
		query->tasks[i].store = (tg_row_store){0};
	}
	return true;
}

uint64_t
tg_rows_max(const tg_query *query)
{
	if (query->spill == NULL)
		return UINT64_MAX;
	if (query->keeps_nothing)
		return ROWS_MAX_LEAST;
	/* the other half is for what comes later */
	return tg_query_memory_left(query) / 2 / query->task_limit;
}

void
tg_rows_forget(tg_session *session, tg_query *query, tg_row_store *store)
{
	tg_row_block *next;

	for (tg_row_block *block = store->first; block != NULL; block = next)
	{
		next = block->next;
		tg_query_give(session, query, block);
	}
	*store = (tg_row_store){0};
}

/* A block that is twice as large as the last one, with room for a row at least. */
static tg_row_block *
add_block(tg_session *session, tg_query *query, tg_row_store *store, const tg_row_layout *layout)
{
	size_t bytes = store->last == NULL ? BLOCK_BYTES_FIRST : (size_t) store->last->capacity * layout->bytes * 2;
	tg_row_block *block;

	if (bytes < BLOCK_BYTES_FIRST)
		bytes = BLOCK_BYTES_FIRST;
	if (bytes > BLOCK_BYTES_MAX)
		bytes = BLOCK_BYTES_MAX;
	if (bytes > query->rows_max / BLOCKS_MIN && bytes > BLOCK_BYTES_FIRST)
		bytes = query->rows_max / BLOCKS_MIN > BLOCK_BYTES_FIRST ? query->rows_max / BLOCKS_MIN : BLOCK_BYTES_FIRST;
	if (bytes < TG_ROW_BLOCK_HEADER + (size_t) layout->bytes)
		bytes = TG_ROW_BLOCK_HEADER + (size_t) layout->bytes;
	block = tg_query_take(session, query, bytes);
	if (block == NULL)
		return NULL;
	*block = (tg_row_block){.capacity = (uint32_t) ((bytes - TG_ROW_BLOCK_HEADER) / layout->bytes)};
	if (store->last != NULL)
		store->last->next = block;
	else
		store->first = block;
	store->last = block;
	return block;
}

tg_row *
tg_row_add(tg_session *session, tg_query *query, tg_row_store *store, const tg_row_layout *layout)
{
	tg_row_block *block = store->last;

	if (tg_unlikely(block == NULL || block->count == block->capacity))
		block = add_block(session, query, store, layout);
	if (tg_unlikely(block == NULL))
		return NULL;
	store->count++;
	return tg_row_at(layout, block, block->count++);
}

/* --- fields ----------------------------------------------------------------------------------- */

#define STORE_FIELDS(type, stored)                                                                                     \
	for (unsigned i = 0; i < count; i++)                                                                               \
	*(stored *) tg_row_field(layout, rows[i], field) = ((const type *) vector->data)[vector->constant ? 0              \
																					 : at != NULL	  ? at[i]          \
																									  : i]

void
tg_rows_store(const tg_row_layout *layout, unsigned field, const tg_vector *vector, const uint16_t *at,
			  tg_row *const *rows, unsigned count)
{
	tg_assert(field < layout->field_count && layout->types[field] == vector->type);
	switch ((tg_vector_type) vector->type)
	{
		case TG_V_BOOL:
			STORE_FIELDS(uint8_t, uint64_t);
			break;
		case TG_V_INT:
			STORE_FIELDS(int64_t, int64_t);
			break;
		case TG_V_FLOAT:
			STORE_FIELDS(double, double);
			break;
		case TG_V_TEXT:
			STORE_FIELDS(tg_string, tg_string);
			break;
		case TG_V_DECIMAL:
			STORE_FIELDS(tg_decimal, tg_decimal);
			break;
	}
	for (unsigned i = 0; i < count; i++)
		tg_row_nulls(rows[i])[field] = vector->nulls != NULL && vector->nulls[vector->constant ? 0
																			  : at != NULL	   ? at[i]
																							   : i] != 0;
}

/* --- hashes --------------------------------------------------------------------------- */

#define HASH_SEED UINT64_C(0x9e3779b97f4a7c15)
#define HASH_FACTOR UINT64_C(0xd6e8feb86659fd93)
#define HASH_NULL UINT64_C(0x5851f42d4c957f2d)

/* One step: a multiplication to 128 bits, folded, spreads every bit of both over all. */
static inline uint64_t
mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128) (hash ^ word) * HASH_FACTOR;

	return (uint64_t) product ^ (uint64_t) (product >> 64) ^ HASH_SEED;
}

/* Zeros of both signs are equal, and so are all NaNs. */
static inline uint64_t
float_word(double value)
{
	uint64_t word;

	if (value == 0.0)
		value = 0.0;
	if (isnan(value))
		return (uint64_t) 0x7ff8 << 48;
	memcpy(&word, &value, sizeof(word));
	return word == (uint64_t) 1 << 63 ? 0 : word;
}

static uint64_t
hash_text(uint64_t hash, const tg_string *text)
{
	uint32_t bytes;
	const char *data;
	uint64_t words[2];

	if (tg_likely(!tg_string_is_out(text)))
	{
		memcpy(words, text, sizeof(words));
		return mix(mix(hash, words[0]), words[1]);
	}
	data = tg_string_bytes(text, &bytes);
	hash = mix(hash, bytes);
	for (; bytes >= 8; bytes -= 8, data += 8)
	{
		memcpy(words, data, 8);
		hash = mix(hash, words[0]);
	}
	words[0] = 0;
	memcpy(words, data, bytes);
	return mix(hash, words[0]);
}

static uint64_t
hash_decimal(uint64_t hash, const tg_decimal *decimal)
{
	tg_decimal normal = tg_decimal_normal(decimal);

	return mix(mix(hash, normal.low), (uint64_t) normal.high);
}

#define HASH_ROWS(type, of_row, hashed)                                                                                \
	for (unsigned i = 0; i < count; i++)                                                                               \
	{                                                                                                                  \
		unsigned row = of_row;                                                                                         \
		const type *value = (const type *) key->data + row;                                                            \
                                                                                                                       \
		hashes[i] = hashed;                                                                                            \
	}

#define HASH_EACH(type, hashed)                                                                                        \
	do                                                                                                                 \
	{                                                                                                                  \
		if (key->constant)                                                                                             \
			HASH_ROWS(type, 0, hashed)                                                                                 \
		else if (at != NULL)                                                                                           \
			HASH_ROWS(type, at[i], hashed)                                                                             \
		else                                                                                                           \
			HASH_ROWS(type, i, hashed)                                                                                 \
	} while (0)

/* Of row at[i], or i. */
static void
hash_key(const tg_vector *key, const uint16_t *at, unsigned count, uint64_t *hashes)
{
	switch ((tg_vector_type) key->type)
	{
		case TG_V_BOOL:
			HASH_EACH(uint8_t, mix(hashes[i], *value));
			break;
		case TG_V_INT:
			HASH_EACH(int64_t, mix(hashes[i], (uint64_t) *value));
			break;
		case TG_V_FLOAT:
			HASH_EACH(double, mix(hashes[i], float_word(*value)));
			break;
		case TG_V_TEXT:
			HASH_EACH(tg_string, key->nulls == NULL || key->nulls[row] == 0 ? hash_text(hashes[i], value) : hashes[i]);
			break;
		case TG_V_DECIMAL:
			HASH_EACH(tg_decimal, hash_decimal(hashes[i], value));
			break;
	}
}

/* Likewise where there may be NULLs; the value beside one means nothing. */
static void
hash_key_with_nulls(const tg_vector *key, const uint16_t *at, unsigned count, uint64_t *hashes, uint8_t *flags)
{
	uint64_t before[TG_VECTOR_ROWS];

	memcpy(before, hashes, count * sizeof(uint64_t));
	hash_key(key, at, count, hashes);
	for (unsigned i = 0; i < count; i++)
	{
		uint8_t null = key->nulls[key->constant ? 0 : at != NULL ? at[i] : i];

		flags[i] |= null;
		if (null != 0)
			hashes[i] = mix(before[i], HASH_NULL);
	}
}

tg_keys
tg_sink_keys(const tg_query_task *task)
{
	const tg_sink *sink = &task->query->plan->steps[task->query->step].sink;

	return (tg_keys){.evaluation = &task->sink,
					 .fields = sink->fields,
					 .count = sink->key_count,
					 .hashes_few = task->query->hashes_few};
}

#define THIRD_BITS UINT64_C(0x9249249249249249) /* bits 0, 3, 6, ..., 63 */

/* Three bits of each, again and again: directory, tag and partition see no more than eight. */
static void
keep_few(uint64_t *hashes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		hashes[i] = (hashes[i] & 7) * THIRD_BITS;
}

void
tg_hash_keys(const tg_keys *keys, const uint16_t *at, unsigned count, uint64_t *hashes, uint8_t *flags,
			 const uint8_t **nulls_out)
{
	*nulls_out = NULL;
	for (unsigned i = 0; i < count; i++)
		hashes[i] = HASH_SEED;
	for (unsigned j = 0; j < keys->count; j++)
	{
		const tg_vector *key = tg_evaluated(keys->evaluation, keys->fields[j]);

		if (key->nulls == NULL)
		{
			hash_key(key, at, count, hashes);
			continue;
		}
		if (*nulls_out == NULL)
			memset(flags, 0, count);
		*nulls_out = flags;
		hash_key_with_nulls(key, at, count, hashes, flags);
	}
	if (tg_unlikely(keys->hashes_few))
		keep_few(hashes, count);
}

/* --- runs of rows with equal keys ----------------------------------------------------------- */

typedef struct two_words
{
	uint64_t words[2];
} two_words;

#define COMPARE_NEIGHBOURS(type, condition)                                                                            \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *values = key->data;                                                                                \
                                                                                                                       \
		if (key->nulls == NULL)                                                                                        \
			for (unsigned i = 1; i < count; i++)                                                                       \
				same[i] &= (condition);                                                                                \
		else                                                                                                           \
			for (unsigned i = 1; i < count; i++)                                                                       \
				same[i] &= (key->nulls[i] == key->nulls[i - 1]) & (key->nulls[i] | (condition));                       \
	} while (0)

/* Clears what is said of rows whose value is not that of the row before. */
static void
compare_neighbours(const tg_vector *key, unsigned count, uint8_t *same)
{
	switch (tg_vector_width((tg_vector_type) key->type))
	{
		case sizeof(uint8_t):
			COMPARE_NEIGHBOURS(uint8_t, values[i] == values[i - 1]);
			break;
		case sizeof(uint64_t):
			COMPARE_NEIGHBOURS(uint64_t, values[i] == values[i - 1]);
			break;
		default:
			COMPARE_NEIGHBOURS(two_words, ((values[i].words[0] ^ values[i - 1].words[0]) |
										   (values[i].words[1] ^ values[i - 1].words[1])) == 0);
			break;
	}
}

void
tg_find_runs(const tg_keys *keys, unsigned count, tg_runs *runs)
{
	uint8_t same[TG_VECTOR_ROWS];
	unsigned found = 0;

	tg_assert(count > 0);
	memset(same, 1, count);
	for (unsigned j = 0; j < keys->count; j++)
	{
		const tg_vector *key = tg_evaluated(keys->evaluation, keys->fields[j]);

		if (!key->constant)
			compare_neighbours(key, count, same);
	}
	same[0] = 0;
	for (unsigned i = 0; i < count; i++)
	{
		runs->begins[found] = (uint16_t) i;
		found += same[i] == 0;
		runs->numbers[i] = (uint16_t) (found - 1);
	}
	runs->count = found;
}

/* --- comparisons ---------------------------------------------------------------------------- */

#define COMPARE_FIELDS(type, stored, condition)                                                                        \
	for (unsigned i = 0; i < count; i++)                                                                               \
	{                                                                                                                  \
		const type *x = &((const type *) key->data)[key->constant ? 0 : at != NULL ? at[i] : i];                       \
		const stored *y = tg_row_field(layout, rows[i], field);                                                        \
                                                                                                                       \
		equal[i] &= (condition);                                                                                       \
	}

static void
compare_values(const tg_row_layout *layout, unsigned field, const tg_vector *key, const uint16_t *at,
			   tg_row *const *rows, unsigned count, uint8_t *equal)
{
	switch ((tg_vector_type) key->type)
	{
		case TG_V_BOOL:
			COMPARE_FIELDS(uint8_t, uint64_t, *x == *y);
			break;
		case TG_V_INT:
			COMPARE_FIELDS(int64_t, int64_t, *x == *y);
			break;
		case TG_V_FLOAT:
			COMPARE_FIELDS(double, double, float_word(*x) == float_word(*y));
			break;
		case TG_V_TEXT:
			COMPARE_FIELDS(tg_string, tg_string, tg_text_is_equal(x, y));
			break;
		case TG_V_DECIMAL:
			COMPARE_FIELDS(tg_decimal, tg_decimal, tg_decimal_compare(x, y) == 0);
			break;
	}
}

/* As above, where there may be NULLs: a value is looked at if both sides have one. */
static void
compare_with_nulls(const tg_row_layout *layout, unsigned field, const tg_vector *key, const uint16_t *at,
				   tg_row *const *rows, unsigned count, uint8_t *equal)
{
	for (unsigned i = 0; i < count; i++)
	{
		uint16_t row = (uint16_t) (at != NULL ? at[i] : i);
		bool x_null = key->nulls != NULL && key->nulls[key->constant ? 0 : row] != 0;
		bool y_null = tg_row_nulls(rows[i])[field] != 0;

		if (x_null || y_null)
			equal[i] &= x_null == y_null;
		else
			compare_values(layout, field, key, &row, &rows[i], 1, &equal[i]);
	}
}

void
tg_compare_keys(const tg_row_layout *layout, const tg_keys *keys, const uint16_t *at, tg_row *const *rows,
				unsigned count, uint8_t *equal)
{
	for (unsigned j = 0; j < keys->count; j++)
	{
		const tg_vector *key = tg_evaluated(keys->evaluation, keys->fields[j]);
		uint8_t nulls = key->nulls != NULL;

		for (unsigned i = 0; i < count; i++)
			nulls |= tg_row_nulls(rows[i])[j];
		if (nulls != 0)
			compare_with_nulls(layout, j, key, at, rows, count, equal);
		else
			compare_values(layout, j, key, at, rows, count, equal);
	}
}

bool
tg_rows_equal(const tg_row_layout *layout, unsigned key_count, tg_row *a, tg_row *b)
{
	for (unsigned j = 0; j < key_count; j++)
	{
		const void *x = tg_row_field(layout, a, j);
		const void *y = tg_row_field(layout, b, j);

		if (tg_row_nulls(a)[j] != tg_row_nulls(b)[j])
			return false;
		if (tg_row_nulls(a)[j] != 0)
			continue;
		if (layout->types[j] == TG_V_TEXT	   ? !tg_text_is_equal(x, y)
			: layout->types[j] == TG_V_DECIMAL ? tg_decimal_compare(x, y) != 0
			: layout->types[j] == TG_V_FLOAT   ? float_word(*(const double *) x) != float_word(*(const double *) y)
											   : *(const int64_t *) x != *(const int64_t *) y)
			return false;
	}
	return true;
}

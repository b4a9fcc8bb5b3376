/*
 * query_oracle.h
 *	  For the test of queries: the oracle, which joins by nested loops over the dims of a key, and
 *	  puts the results into groups by their keys as text.
 */
#ifndef TG_UNIT_QUERY_ORACLE_H
#define TG_UNIT_QUERY_ORACLE_H

#include "test/unit/query_shape.h"

#include "runtime/vector/text.h"

#define GROUPS_MAX 32768
#define KEY_TEXT 160

typedef struct group
{
	bool used;
	bool met;			/* the query has it */
	uint64_t delivered; /* rows of it */
	char key[KEY_TEXT];
	tg_total totals[AGGREGATES];
	values extremes[AGGREGATES]; /* where texts point to */
} group;

static group groups[GROUPS_MAX];
static uint16_t group_places[GROUPS_MAX]; /* of the groups that are used */
static unsigned group_count;
static bool strayed; /* a query has delivered a row of a group that there is not */

/* A value of a tuple: its type, whether it is NULL, and the value. */
typedef struct datum
{
	tg_vector_type type;
	bool null;
	tg_value value;
} datum;

static datum
datum_at(const shape *shape, const values *fact, const values *const *matches, unsigned input)
{
	unsigned probe = input < COLUMNS ? 0 : (input - COLUMNS) / DIM_COLUMNS;
	unsigned field = input < COLUMNS ? input : (input - COLUMNS) % DIM_COLUMNS;
	const values *from = fact;
	datum made;

	if (input >= COLUMNS && has_fields(shape, probe))
	{
		from = matches[probe];
		made.type = (tg_vector_type) dim_types[field];
	}
	else
	{
		if (input >= COLUMNS)
			field = dim_types[field] == TG_V_TEXT ? TEXT : ID;
		made.type = (tg_vector_type) fact_types[field];
	}
	made.null = from == NULL || from->nulls[field];
	if (from != NULL)
		made.value = from->of[field];
	return made;
}

static double
float_of(const tg_value *value)
{
	double number;

	memcpy(&number, &value->word, sizeof(number));
	return number;
}

static void
append_key(char *key, tg_vector_type type, bool null, const tg_value *value)
{
	uint32_t bytes;
	const char *text;

	key += strlen(key);
	if (null)
		strcpy(key, "NULL|");
	else if (type == TG_V_TEXT)
	{
		text = tg_string_bytes(&value->string, &bytes);
		sprintf(key, "'%.*s'|", (int) bytes, text);
	}
	else if (type == TG_V_FLOAT && isnan(float_of(value)))
		strcpy(key, "NaN|");
	else if (type == TG_V_FLOAT)
		sprintf(key, "%g|", float_of(value) + 0.0);
	else
		sprintf(key, "%" PRId64 "|", (int64_t) value->word);
}

static group *
find_group(const char *key)
{
	uint64_t h = 7;
	unsigned at;

	for (const char *c = key; *c != 0; c++)
		h = hash(h ^ (unsigned char) *c);
	for (at = h % GROUPS_MAX; groups[at].used && strcmp(groups[at].key, key) != 0;)
		at = (at + 1) % GROUPS_MAX;
	return &groups[at];
}

static group *
add_group(const char *key)
{
	group *made = find_group(key);

	if (made->used)
		return made;
	memset(made, 0, sizeof(*made));
	made->used = true;
	strcpy(made->key, key);
	group_places[group_count] = (uint16_t) (made - groups);
	tg_check(++group_count < GROUPS_MAX);
	return made;
}

static void
forget_groups(void)
{
	for (unsigned i = 0; i < group_count; i++)
		groups[group_places[i]].used = false;
	group_count = 0;
	strayed = false;
}

/* A query has delivered a row of this group. */
static void
deliver(group *of)
{
	strayed |= !of->used;
	of->delivered += of->used;
}

/* Whether each group was delivered as often as it has rows. */
static bool
all_delivered(void)
{
	bool all = !strayed;

	for (unsigned i = 0; i < group_count; i++)
		all = all && groups[group_places[i]].delivered == groups[group_places[i]].totals[0].count;
	return all;
}

static int
order_of(tg_vector_type type, const tg_value *a, const tg_value *b)
{
	uint32_t a_bytes;
	uint32_t b_bytes;
	const char *x;
	const char *y;
	int order;

	if (type == TG_V_FLOAT)
	{
		double v = float_of(a);
		double w = float_of(b);

		return isnan(v) || isnan(w) ? (isnan(v) != 0) - (isnan(w) != 0) : (v > w) - (v < w);
	}
	if (type != TG_V_TEXT)
		return ((int64_t) a->word > (int64_t) b->word) - ((int64_t) a->word < (int64_t) b->word);
	x = tg_string_bytes(&a->string, &a_bytes);
	y = tg_string_bytes(&b->string, &b_bytes);
	order = memcmp(x, y, a_bytes < b_bytes ? a_bytes : b_bytes);
	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static void
take_total(group *into, unsigned index, const datum *argument)
{
	tg_total *total = &into->totals[index];
	unsigned function = aggregates[index].function;

	total->count++;
	if (function == TG_SUM_INT)
		total->sum += (int64_t) argument->value.word;
	else if (function == TG_SUM_FLOAT)
		total->total += float_of(&argument->value);
	else if (function != TG_COUNT)
	{
		int order = total->count == 1 ? 0 : order_of(argument->type, &argument->value, &total->value);

		if (total->count > 1 && (function == TG_MIN ? order >= 0 : order <= 0))
			return;
		total->value = argument->value;
		if (argument->type == TG_V_TEXT && tg_string_is_out(&total->value.string))
		{
			char *copy = into->extremes[index].datum;

			memcpy(copy, total->value.string.blob, tg_string_blob_bytes(&total->value.string));
			total->value.string.blob = copy;
		}
	}
}

static bool
passes_filter(const values *fact)
{
	return !fact->nulls[KEY] && fact->of[KEY].word < FILTERED;
}

static void
take_tuple(const shape *shape, const values *fact, const values *const *matches)
{
	char key[KEY_TEXT] = "";
	group *into;

	if (shape->filter && shape->filter_last && !passes_filter(fact))
		return;
	for (unsigned i = 0; i < shape->key_count; i++)
	{
		datum part = datum_at(shape, fact, matches, shape->keys[i]);

		append_key(key, part.type, part.null, &part.value);
	}
	into = add_group(key);
	for (unsigned i = 0; i < aggregate_count(shape); i++)
	{
		datum argument = {.null = false};
		const tg_aggregate *aggregate = &aggregates[i];

		if (aggregate->argument != TG_REGISTER_NONE)
			argument = datum_at(shape, fact, matches, aggregate->argument);
		if (!argument.null && (aggregate->filter == TG_REGISTER_NONE || (!fact->nulls[BOOL] && fact->of[BOOL].word)))
			take_total(into, i, &argument);
	}
}

#define NO_DIM DIMS

static values dim_values[DIMS];
static bool dim_chained[DIMS]; /* its key is in the third table */
static bool dim_met[PROBES][DIMS];
static unsigned dim_first[KEYS];  /* that is alive, by key; or NO_DIM */
static unsigned dim_next[DIMS];	  /* with the same key */
static bool any_dim[2];			  /* is alive; those that are chained: [1] */
static bool any_null_key_of_dims; /* among those that are alive */

static unsigned
first_dim(const values *fact)
{
	return fact->nulls[KEY] ? NO_DIM : dim_first[fact->of[KEY].word];
}

static void
compute_dims(const world *world)
{
	memset(dim_met, 0, sizeof(dim_met));
	any_dim[0] = any_dim[1] = any_null_key_of_dims = false;
	for (unsigned key = 0; key < KEYS; key++)
		dim_first[key] = NO_DIM;
	for (unsigned i = DIMS; i-- > 0;)
	{
		values *dim = &dim_values[i];

		make_row(1, &world->dims[i], dim);
		dim_chained[i] = dim->of[0].word % 2 == 0 && dim->of[0].word >= CHAINED_LOW && dim->of[0].word <= CHAINED_HIGH;
		if (!world->dims[i].alive)
			continue;
		any_dim[0] = true;
		any_dim[1] |= dim_chained[i] && !dim->nulls[0];
		any_null_key_of_dims |= dim->nulls[0];
		if (dim->nulls[0])
			continue;
		dim_next[i] = dim_first[dim->of[0].word];
		dim_first[dim->of[0].word] = i;
	}
}

static bool
pair_matches(const shape *shape, unsigned probe, const values *fact, unsigned dim)
{
	const values *other = &dim_values[dim];

	if (fact->nulls[KEY] || other->nulls[0] || fact->of[KEY].word != other->of[0].word)
		return false;
	if (shape->probes[probe].chained && !dim_chained[dim])
		return false;
	if (shape->probes[probe].by_text &&
		(fact->nulls[TEXT] || other->nulls[1] || order_of(TG_V_TEXT, &fact->of[TEXT], &other->of[1]) != 0))
		return false;
	return !shape->probes[probe].match ||
		   (!other->nulls[DIM_VALUE] && (int64_t) fact->of[ID].word < (int64_t) other->of[DIM_VALUE].word);
}

/* Whether a fact is not in the keys of the dims; unknown, so not true, where a NULL is compared. */
static bool
is_not_in(const shape *shape, unsigned probe, const values *fact)
{
	bool chained = shape->probes[probe].chained;

	for (unsigned i = first_dim(fact); i != NO_DIM; i = dim_next[i])
		if (pair_matches(shape, probe, fact, i))
			return false;
	return !any_dim[chained] || (!fact->nulls[KEY] && (chained || !any_null_key_of_dims));
}

static void
join_tuple(const shape *shape, unsigned probe, const values *fact, const values **matches)
{
	unsigned count = 0;
	tg_join join;

	if (probe == shape->probe_count)
	{
		take_tuple(shape, fact, matches);
		return;
	}
	join = shape->probes[probe].join;
	if (join == TG_JOIN_NOT_IN)
	{
		matches[probe] = NULL;
		if (is_not_in(shape, probe, fact))
			join_tuple(shape, probe + 1, fact, matches);
		return;
	}
	for (unsigned i = first_dim(fact); i != NO_DIM; i = dim_next[i])
		if (pair_matches(shape, probe, fact, i))
		{
			count++;
			dim_met[probe][i] = true;
			matches[probe] = &dim_values[i];
			if (tg_join_hands_pairs(join))
				join_tuple(shape, probe + 1, fact, matches);
		}
	matches[probe] = NULL;
	if ((join == TG_JOIN_SEMI && count > 0) ||
		(count == 0 && (join == TG_JOIN_ANTI || join == TG_JOIN_LEFT || join == TG_JOIN_FULL)))
		join_tuple(shape, probe + 1, fact, matches);
}

/* The facts of a world, which is the same one for many shapes. */
static const values *
facts_of(const world *world)
{
	static const struct world *known[WORLDS];
	static values facts[WORLDS][FACTS];
	unsigned at = 0;

	while (known[at] != world && known[at] != NULL)
		tg_check(++at < WORLDS);
	for (unsigned i = 0; i < FACTS && known[at] == NULL; i++)
		make_row(0, &world->facts[i], &facts[at][i]);
	known[at] = world;
	return facts[at];
}

/* The dims without a match, behind a right or full join, whose facts and other dims are NULL. */
static void
take_rest(const shape *shape, const world *world, unsigned probe)
{
	values no_fact;
	const values *matches[PROBES] = {NULL};

	memset(&no_fact, 0, sizeof(no_fact));
	memset(no_fact.nulls, true, sizeof(no_fact.nulls));
	for (unsigned i = 0; i < DIMS; i++)
	{
		bool built =
			world->dims[i].alive && (!shape->probes[probe].chained || (dim_chained[i] && !dim_values[i].nulls[0]));

		matches[probe] = &dim_values[i];
		if (built && !dim_met[probe][i])
			join_tuple(shape, probe + 1, &no_fact, matches);
	}
}

static void
compute(const shape *shape, const world *world)
{
	const values *matches[PROBES] = {NULL};
	const values *facts = facts_of(world);

	forget_groups();
	compute_dims(world);
	if (shape->key_count == 0)
		add_group("");
	for (unsigned i = 0; i < FACTS; i++)
	{
		const values *fact = &facts[i];

		if (world->facts[i].alive && (!shape->filter || shape->filter_last || passes_filter(fact)))
			join_tuple(shape, 0, fact, matches);
	}
	for (unsigned probe = 0; probe < shape->probe_count; probe++)
		if (tg_join_has_rest(shape->probes[probe].join))
			take_rest(shape, world, probe);
}

#endif /* TG_UNIT_QUERY_ORACLE_H */

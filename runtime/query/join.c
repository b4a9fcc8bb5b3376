/*
 * join.c
 *	  Hash joins: the build, its linking, the probe.
 *
 * The rows of a build are stored by each task for itself.  When all are there, their number is
 * known: the directory is made, and tasks link the rows, a block each, into the chains of its
 * entries.  An entry is the address of the first row of a chain and, in the upper 16 bits, one bit
 * for each hash in it (a Bloom filter): most probes that find nothing end there.  After Leis,
 * Boncz, Kemper, Neumann, Morsel-driven parallelism (2014).
 *
 * 1. Linking stores the row's next, then the entry by compare-and-swap (release).  Probes run in a
 *    later phase: the counter of open tasks, and the submission of tasks, lie in between (phase.c,
 *    1), so they read entries and rows as constants.
 * 2. A build drops rows with a NULL key, or does not link them, so a chain has none; a probe skips
 *	  its own.
 * 3. A mark is set once and never cleared; tasks that set it at the same time write the same byte.
 *	  Steps that read marks run in a later phase.
 *
 * A probe takes the rows of a batch along their chains, all at the same time: each round compares
 * the keys of one row of each chain, column by column.  Equal ones are pairs.  When another round
 * might find more pairs than a batch has room for, or no chain goes on, they are joined: the rest
 * of the join's condition is evaluated on them, and those that match go on (inner, left, right,
 * full), are noted (semi, anti), or mark the build's row (mark, right, full).  The rounds go on
 * when the next batch is asked for.
 */
#include <string.h>

#include "runtime/mem/session.h"
#include "runtime/query/query_internal.h"
#include "runtime/sched/job.h"

/* --- build -------------------------------------------------------------------------------- */

static inline uint64_t
tag_of(uint64_t hash)
{
	return (uint64_t) 1 << (48 + (hash & 15));
}

tg_status
tg_build_take(tg_query_task *task, tg_session *session, tg_batch *batch)
{
	tg_query *query = task->query;
	const tg_sink *sink = &query->plan->steps[query->step].sink;
	const tg_keys keys = tg_sink_keys(task);
	const tg_row_layout *layout = &query->tables[query->step].layout;
	uint16_t selected[TG_VECTOR_ROWS];
	const uint8_t *nulls;
	unsigned kept = 0;

	if (!tg_rows_fit(query, &task->store, layout, batch->count))
	{
		tg_status status;

		/* what was evaluated stays (step.c) */
		tg_epoch_leave(session);
		status = tg_build_spill(task, session);
		tg_epoch_enter(session);
		if (status != TG_OK)
			return status;
	}
	tg_bounds_measure(task, batch->count);
	tg_hash_keys(&keys, NULL, batch->count, task->hashes, task->flags, &nulls);
	for (unsigned i = 0; i < batch->count; i++)
	{
		tg_row *row;

		if (nulls != NULL && nulls[i] != 0 && !sink->keeps_nulls)
		{
			tg_store_relaxed(&query->tables[query->step].has_dropped, 1);
			continue;
		}
		row = tg_row_add(session, query, &task->store, layout);
		if (tg_unlikely(row == NULL))
			return TG_NO_MEMORY;
		row->hash = task->hashes[i];
		if (layout->marked)
			*tg_row_mark(layout, row) = 0;
		task->rows[kept] = row;
		selected[kept++] = (uint16_t) i;
	}
	for (unsigned j = 0; j < sink->field_count; j++)
		tg_rows_store(layout, j, tg_evaluated(&task->sink, sink->fields[j]), kept == batch->count ? NULL : selected,
					  task->rows, kept);
	return TG_OK;
}

tg_status
tg_build_finish(tg_session *session, tg_query *query)
{
	tg_hash_table *table = &query->tables[query->step];
	unsigned bits = 4;

	if (!tg_rows_collect(session, query, table))
		return TG_NO_MEMORY;
	while (bits < 40 && (uint64_t) 1 << bits < table->row_count)
		bits++;
	table->shift = 64 - bits;
	table->directory = tg_query_take(session, query, sizeof(uint64_t) << bits);
	if (table->directory == NULL)
		return TG_NO_MEMORY;
	memset(table->directory, 0, sizeof(uint64_t) << bits);
	return TG_OK;
}

static bool
has_null_key(const tg_sink *sink, tg_row *row)
{
	for (unsigned i = 0; i < sink->key_count; i++)
		if (tg_row_nulls(row)[i] != 0)
			return true;
	return false;
}

void
tg_build_link(tg_query *query, uint32_t index)
{
	tg_hash_table *table = &query->tables[query->linked];
	const tg_sink *sink = &query->plan->steps[query->linked].sink;
	tg_row_block *block = table->blocks[index];

	for (uint32_t i = 0; i < block->count; i++)
	{
		tg_row *row = tg_row_at(&table->layout, block, i);
		uint64_t *place = &table->directory[row->hash >> table->shift];
		uint64_t entry = tg_load_relaxed(place);

		row->next = NULL;
		if (sink->keeps_nulls && has_null_key(sink, row))
			continue;
		tg_assert(!has_null_key(sink, row)); /* 2 */
		tg_assert(((uintptr_t) row & ~(uintptr_t) TG_ENTRY_ADDRESS) == 0);
		do
			row->next = tg_entry_row_of(entry);
		while (!tg_cas_acq_rel(place, &entry,
							   (entry & ~TG_ENTRY_ADDRESS) | tag_of(row->hash) | (uint64_t) (uintptr_t) row));
	}
}

/* --- probe ---------------------------------------------------------------------------------- */

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

/* Cuts the next piece off the memory. */
static void *
cut(unsigned char **memory, size_t bytes)
{
	void *piece = *memory;

	*memory += line_up(bytes);
	return piece;
}

size_t
tg_probe_bytes(const tg_operator *operator, unsigned matches_before)
{
	return line_up(TG_VECTOR_ROWS * sizeof(uint64_t)) + line_up(TG_VECTOR_ROWS * sizeof(tg_row *)) +
		   3 * line_up(TG_VECTOR_ROWS * sizeof(uint16_t)) + 2 * line_up(TG_VECTOR_ROWS) +
		   (matches_before + 1) * line_up(TG_VECTOR_ROWS * sizeof(tg_row *)) +
		   (operator->match != NULL ? tg_evaluation_bytes(operator->match) : 0);
}

void
tg_probe_init(tg_operator_state *state, const tg_operator *operator, unsigned step, unsigned matches_before,
			  void *memory)
{
	unsigned char *next = memory;

	state->hashes = cut(&next, TG_VECTOR_ROWS * sizeof(uint64_t));
	state->found = cut(&next, TG_VECTOR_ROWS * sizeof(tg_row *));
	state->active = cut(&next, TG_VECTOR_ROWS * sizeof(uint16_t));
	state->pairs = cut(&next, TG_VECTOR_ROWS * sizeof(uint16_t));
	state->out.own_slots = cut(&next, TG_VECTOR_ROWS * sizeof(uint16_t));
	state->equal = cut(&next, TG_VECTOR_ROWS);
	state->matched = cut(&next, TG_VECTOR_ROWS);
	for (unsigned i = 0; i <= matches_before; i++)
		state->out.matches[i] = cut(&next, TG_VECTOR_ROWS * sizeof(tg_row *));
	if (operator->match != NULL)
		tg_evaluation_init(&state->match, operator->match, step, true, next);
}

/* A probe under way: of one batch, by one task. */
typedef struct probing
{
	tg_query_task *task;
	unsigned matches_before;
	const tg_operator *operator;
	const tg_hash_table *table;
	tg_operator_state *state;
} probing;

static tg_keys
keys_of(const probing *probe)
{
	return (tg_keys){.evaluation = &probe->state->evaluation,
					 .fields = probe->operator->keys,
					 .count = probe->task->query->plan->steps[probe->operator->build].sink.key_count,
					 .hashes_few = probe->task->query->hashes_few};
}

/* The rows of the batch that the pairs are of, as the batch that goes on. */
static void
copy_rows(const probing *probe)
{
	tg_operator_state *state = probe->state;
	tg_batch *out = &state->out;

	out->count = state->pair_count;
	out->chunk = state->in->chunk;
	out->columns = state->in->columns;
	out->vectors = state->in->vectors;
	out->vector_of = state->in->vector_of;
	out->dense = false;
	out->slots = out->own_slots;
	for (unsigned i = 0; (out->chunk != NULL || out->vectors != NULL) && i < out->count; i++)
		out->own_slots[i] = state->in->slots[state->pairs[i]];
	for (unsigned j = 0; j < probe->matches_before; j++)
		for (unsigned i = 0; i < out->count; i++)
			out->matches[j][i] = state->in->matches[j][state->pairs[i]];
}

static bool
is_marked(const probing *probe, tg_row *row)
{
	return tg_load_relaxed(tg_row_mark(&probe->table->layout, row)) != 0;
}

/* Looks first: a line that all tasks only read stays in their caches. */
static void
mark(const probing *probe, tg_row *row)
{
	if (!is_marked(probe, row))
		tg_store_relaxed(tg_row_mark(&probe->table->layout, row), 1);
}

/* The pairs found so far: those that match are left in the batch that goes on. */
static tg_status
join_pairs(const probing *probe)
{
	tg_operator_state *state = probe->state;
	tg_batch *out = &state->out;
	tg_join join = (tg_join) probe->operator->join;
	bool has_marks = join == TG_JOIN_MARK || tg_join_has_rest(join);
	uint16_t kept[TG_VECTOR_ROWS];

	copy_rows(probe);
	if (probe->operator->match != NULL)
	{
		tg_status status = tg_evaluate(probe->task->query, &state->match, out);
		unsigned count;

		if (status != TG_OK)
			return status;
		count = tg_select_true(tg_evaluated(&state->match, probe->operator->match_condition), out->count, kept);
		for (unsigned i = 0; i < count; i++)
			state->pairs[i] = state->pairs[kept[i]];
		tg_batch_keep(out, kept, count, probe->matches_before + 1);
	}
	for (unsigned i = 0; i < out->count; i++)
		state->matched[state->pairs[i]] = 1;
	for (unsigned i = 0; has_marks && i < out->count; i++)
		mark(probe, out->matches[probe->matches_before][i]);
	state->pair_count = 0;
	return TG_OK;
}

/* Where the chains begin that may have a row's key: their rows become active. */
static void
find_chains(const probing *probe, const uint8_t *nulls)
{
	const tg_hash_table *table = probe->table;
	tg_operator_state *state = probe->state;
	unsigned count = 0;

	for (unsigned i = 0; i < state->in->count; i++)
		__builtin_prefetch(&table->directory[state->hashes[i] >> table->shift]);
	for (unsigned i = 0; i < state->in->count; i++)
	{
		uint64_t hash = state->hashes[i];
		uint64_t entry = table->directory[hash >> table->shift];

		/* no branch: which rows find something is hard to foretell */
		state->active[count] = (uint16_t) i;
		state->found[count] = tg_entry_row_of(entry);
		count += (entry & tag_of(hash)) != 0 && (nulls == NULL || nulls[i] == 0);
	}
	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(state->found[i]);
	state->active_count = count;
}

/* What a row of the batch and one of the build, whose keys are equal, become. */
typedef enum verdict
{
	PAIR,
	NO_PAIR,  /* it changes nothing */
	CHAIN_END /* nor would any further one of the same row */
} verdict;

static verdict
judge(const probing *probe, unsigned of, tg_row *row)
{
	bool any = probe->operator->match == NULL; /* of equal keys is a match */

	switch ((tg_join) probe->operator->join)
	{
		case TG_JOIN_SEMI:
		case TG_JOIN_ANTI:
		case TG_JOIN_NOT_IN:
			if (any)
				probe->state->matched[of] = 1;
			return any ? CHAIN_END : PAIR;
		case TG_JOIN_MARK:
			if (any)
				mark(probe, row);
			return any || is_marked(probe, row) ? NO_PAIR : PAIR;
		default:
			return PAIR;
	}
}

/* One round: the rows whose keys are equal become pairs, and all go on along their chains. */
static void
take_round(const probing *probe)
{
	tg_operator_state *state = probe->state;
	const tg_keys keys = keys_of(probe);
	unsigned count = state->active_count;
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++)
		state->equal[i] = state->found[i]->hash == state->hashes[state->active[i]];
	tg_compare_keys(&probe->table->layout, &keys, state->active, state->found, count, state->equal);
	for (unsigned i = 0; i < count; i++)
	{
		tg_row *row = state->found[i];
		uint16_t of = state->active[i];

		verdict verdict = state->equal[i] != 0 ? judge(probe, of, row) : NO_PAIR;

		if (verdict == CHAIN_END)
			continue;
		if (verdict == PAIR)
		{
			state->pairs[state->pair_count] = of;
			state->out.matches[probe->matches_before][state->pair_count++] = row;
		}
		if (row->next != NULL)
		{
			state->active[left] = of;
			state->found[left++] = row->next;
			__builtin_prefetch(row->next);
		}
	}
	state->active_count = left;
}

/* Rows of NOT IN that are not to stay, whatever they find, count as if they had a match. */
static void
leave_unknown_out(const probing *probe, const uint8_t *nulls)
{
	tg_operator_state *state = probe->state;

	if (probe->table->has_dropped != 0)
	{
		memset(state->matched, 1, state->in->count);
		state->active_count = 0;
	}
	else if (nulls != NULL && probe->table->row_count > 0)
		memcpy(state->matched, nulls, state->in->count);
}

/* Rows of other passes find nothing, and do not go on. */
static void
leave_other_passes(const probing *probe)
{
	tg_operator_state *state = probe->state;
	unsigned count = 0;

	for (unsigned i = 0; i < state->in->count; i++)
		if (!tg_build_is_in_pass(probe->table, state->hashes[i]))
			state->matched[i] = probe->operator->join != TG_JOIN_SEMI;
	for (unsigned i = 0; i < state->active_count; i++)
	{
		state->active[count] = state->active[i];
		state->found[count] = state->found[i];
		count += tg_build_is_in_pass(probe->table, state->hashes[state->active[i]]);
	}
	state->active_count = count;
}

/* The next batch to look up; state->in becomes NULL if there is none. */
static tg_status
begin_batch(const probing *probe, tg_session *session, unsigned at)
{
	tg_operator_state *state = probe->state;
	const tg_keys keys = keys_of(probe);
	const uint8_t *nulls;
	tg_status status = tg_pull(probe->task, session, at, &state->in);

	if (status != TG_OK || state->in == NULL)
		return status;
	status = tg_evaluate(probe->task->query, &state->evaluation, state->in);
	if (status != TG_OK)
		return status;
	tg_hash_keys(&keys, NULL, state->in->count, state->hashes, probe->task->flags, &nulls);
	memset(state->matched, 0, state->in->count);
	state->pair_count = 0;
	find_chains(probe, nulls);
	if (probe->operator->join == TG_JOIN_NOT_IN)
		leave_unknown_out(probe, nulls);
	if (probe->table->in_files)
		leave_other_passes(probe);
	return TG_OK;
}

/* What goes on of the rows of the batch themselves, when it is known which have a match. */
static void
finish_rows(const probing *probe)
{
	tg_operator_state *state = probe->state;
	bool none =
		probe->operator->join == TG_JOIN_INNER || probe->operator->join == TG_JOIN_MARK || probe->operator->join ==
		TG_JOIN_RIGHT;
	uint8_t wanted = probe->operator->join == TG_JOIN_SEMI;
	unsigned count = 0;

	for (unsigned i = 0; !none && i < state->in->count; i++)
	{
		state->pairs[count] = (uint16_t) i;
		count += state->matched[i] == wanted;
	}
	state->pair_count = count;
	copy_rows(probe);
	memset(state->out.matches[probe->matches_before], 0, count * sizeof(tg_row *));
	state->pair_count = 0;
	state->in = NULL;
}

tg_status
tg_probe(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out)
{
	tg_query *query = task->query;
	const tg_operator *operator= & query->plan->steps[query->step].operators[at];
	bool hands_pairs = tg_join_hands_pairs((tg_join) operator->join);
	tg_operator_state *state = &task->operators[at];
	probing probe = {.task = task,
					 .matches_before = tg_step_matches(query, at),
					 .operator= operator,
					 .table = & query->tables[operator->build], .state = state };
	tg_status status;

	*batch_out = NULL;
	for (;;)
	{
		/* pairs of which none matches may be very many, too */
		if (tg_unlikely((status = tg_query_look(query)) != TG_OK))
			return status;
		if (state->in == NULL && ((status = begin_batch(&probe, session, at)) != TG_OK || state->in == NULL))
			return status;
		while (state->active_count > 0 && state->pair_count + state->active_count <= query->batch_max)
			take_round(&probe);
		if (state->pair_count == 0)
			finish_rows(&probe);
		else if ((status = join_pairs(&probe)) != TG_OK)
			return status;
		else if (!hands_pairs)
			continue;
		if (state->out.count > 0)
			break;
	}
	*batch_out = &state->out;
	return TG_OK;
}

/*
 * load_base.c
 *	  The part of a load that a base gives: definitions as of P, and rows as of some time from P to
 *	  E.
 *
 * Files of storages that end in the journal are passed over.  A file with a fault damages its table
 * alone; a manifest with a fault is one of the whole base.
 *
 * The parts are read by all threads of the pool at once.  They have different rows: each takes only
 * those of its segments, of whatever table.  Each task notes what is wrong with its part, and the
 * load's own thread looks at that afterwards, in the order of the parts.
 */
#include "runtime/durable/load_internal.h"

#include <stdlib.h>

#include "runtime/durable/base.h"
#include "runtime/durable/sections.h"
#include "runtime/durable/load_spread.h"
#include "runtime/durable/roster.h"

#define BLOCKS_PER_LOOK 8 /* between two looks whether to go on */

tg_status
tg_load_base_open(tg_loading *load)
{
	const tg_load_config *config = load->config;
	const tg_base_facts *facts;
	tg_status status;

	if (config->base == 0)
		return TG_OK;
	status = tg_base_open(config->bases, config->system, config->base, &load->base, &load->report->error);
	if (status != TG_OK)
	{
		load->report->problem = "the base cannot be read";
		return status == TG_NOT_FOUND || status == TG_TOO_LARGE ? TG_DAMAGED : status;
	}
	facts = tg_base_facts_get(load->base);
	load->since = facts->begin;
	load->exact_from = facts->end;
	load->least = facts->least < facts->begin ? facts->least : facts->begin;
	load->report->end = facts->begin;
	status = tg_roster_apply(load->roster, facts->roster, facts->roster_bytes);
	if (status == TG_DAMAGED)
		load->report->problem = "the base has a fault in its definitions";
	return status;
}

void
tg_load_base_close(tg_loading *load)
{
	if (load->base != NULL)
		tg_base_close(load->base);
	load->base = NULL;
}

/* --- ranks ------------------------------------------------------------------------------------ */

static tg_status
take_blocks(tg_loading *load, tg_base_stream *stream)
{
	const void *data;
	size_t count;
	tg_status status = TG_OK;

	for (unsigned blocks = 0; status == TG_OK; blocks++)
	{
		if (blocks % BLOCKS_PER_LOOK == 0 && !load->config->go_on(load->config->context, false))
			return TG_CANCELLED;
		status = tg_base_stream_next(stream, &data, &count, &load->report->error);
		if (status == TG_OK)
			status = tg_load_ranks(load, UINT64_MAX, data, count);
	}
	return status == TG_NOT_FOUND ? TG_OK : status;
}

static tg_status
take_ranks(tg_loading *load, size_t place)
{
	tg_base_stream *stream;
	tg_status status = tg_base_stream_open(load->base, place, &stream, &load->report->error);

	if (status != TG_OK)
		return status;
	status = take_blocks(load, stream);
	tg_base_stream_close(stream);
	return status;
}

/* A file could not be read to its end.  Others can. */
static tg_status
note_fault(tg_loading *load, tg_loaded *of)
{
	if (!load->config->needs_whole_base)
		return tg_load_note_damage(load, of, "a file of the base cannot be read");
	load->report->problem = "a file of the base cannot be read";
	return TG_DAMAGED;
}

static tg_status
take_all_ranks(tg_loading *load)
{
	size_t count = tg_base_facts_get(load->base)->file_count;
	tg_status status = TG_OK;

	for (size_t place = 0; place < count && status == TG_OK; place++)
	{
		const tg_base_file *file = tg_base_file_get(load->base, place);
		tg_loaded *of = tg_load_find(load, file->storage);

		if (of == NULL || file->kind != TG_BASE_RANKS)
			continue;
		of->has_ranks = true;
		status = take_ranks(load, place);
		if (status == TG_DAMAGED || status == TG_IO)
			status = note_fault(load, of);
	}
	return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A file of rows: what its task needs, and what came of it. */
typedef struct part
{
	size_t place;
	uint64_t bytes;
	tg_loaded *of;
	bool has_fault;
	tg_file_error error;
} part;

typedef struct parts
{
	const tg_loading *load;
	size_t count;
	part *part;
} parts;

/* A part that is being read. */
typedef struct part_state
{
	tg_base_stream *stream;
	tg_sections *sections;
} part_state;

static size_t
shape_of(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes, unsigned index_count,
		 uint8_t *kinds, unsigned *cell_counts)
{
	const tg_loading *load = context;

	return tg_roster_shape(load->roster, storage, column_count, indexes, index_count, kinds, cell_counts, TG_CELLS_MAX);
}

static tg_status
begin_part(const tg_loading *load, part *part, part_state **state_out)
{
	uint64_t first = (uint64_t) tg_base_file_get(load->base, part->place)->part * tg_base_part_rows;
	uint64_t end = first + tg_base_part_rows;
	tg_sections_target target = {.table = part->of->table,
								 .storage = part->of->id,
								 .first = (uint32_t) (first < TG_ROW_MAX ? first : TG_ROW_MAX),
								 .end = (uint32_t) (end < TG_ROW_MAX ? end : TG_ROW_MAX),
								 .shape = shape_of,
								 .context = (void *) load};
	part_state *state = calloc(1, sizeof(*state));
	tg_status status;

	if (state == NULL)
		return TG_NO_MEMORY;
	*state_out = state;
	status = tg_sections_begin(&target, &state->sections);
	return status == TG_OK ? tg_base_stream_open(load->base, part->place, &state->stream, &part->error) : status;
}

/* Of tg_load_work: reads a block. */
static tg_status
read_part(void *context, size_t piece, tg_session *session, void **state_inout)
{
	const parts *parts = context;
	part *part = &parts->part[piece];
	part_state *state = *state_inout;
	const void *data;
	size_t count;
	tg_status status = TG_OK;

	if (state == NULL)
	{
		status = begin_part(parts->load, part, &state);
		*state_inout = state;
	}
	if (status == TG_OK)
		status = tg_base_stream_next(state->stream, &data, &count, &part->error);
	if (status == TG_OK)
	{
		status = tg_sections_read(state->sections, session, data, count);
		if (status == TG_DAMAGED)
			tg_base_stream_describe(state->stream, "a block's rows cannot be the table's", &part->error);
	}
	if (status == TG_OK)
	{
		tg_load_note_progress(parts->load, count);
		return TG_AGAIN;
	}
	if (status == TG_NOT_FOUND)
		return TG_OK;
	part->has_fault = status == TG_DAMAGED || status == TG_IO;
	return part->has_fault ? TG_OK : status;
}

/* Of tg_load_work. */
static void
end_part(void *context, tg_session *session, void *state)
{
	part_state *own = state;

	(void) context;
	(void) session;
	if (own->sections != NULL)
		tg_sections_end(own->sections);
	if (own->stream != NULL)
		tg_base_stream_close(own->stream);
	free(own);
}

/* The largest first, so that none of them is the last to begin. */
static int
compare_parts(const void *left, const void *right)
{
	const part *a = left;
	const part *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->place > b->place) - (a->place < b->place);
}

static tg_status
find_parts(tg_loading *load, parts *parts)
{
	size_t count = tg_base_facts_get(load->base)->file_count;

	parts->load = load;
	parts->part = calloc(count + 1, sizeof(*parts->part));
	if (parts->part == NULL)
		return TG_NO_MEMORY;
	for (size_t place = 0; place < count; place++)
	{
		const tg_base_file *file = tg_base_file_get(load->base, place);
		tg_loaded *of = tg_load_find(load, file->storage);

		if (of != NULL && file->kind == TG_BASE_ROWS)
			parts->part[parts->count++] = (part){.place = place, .bytes = file->bytes, .of = of};
	}
	qsort(parts->part, parts->count, sizeof(*parts->part), compare_parts);
	return TG_OK;
}

static uint64_t
bytes_of(const parts *parts)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < parts->count; i++)
		bytes += parts->part[i].bytes;
	return bytes;
}

static tg_status
note_faults(tg_loading *load, const parts *parts)
{
	tg_status status = TG_OK;

	for (size_t i = 0; i < parts->count && status == TG_OK; i++)
	{
		const part *part = &parts->part[i];

		if (!part->has_fault)
			continue;
		load->report->error = part->error;
		status = note_fault(load, part->of);
	}
	return status;
}

static tg_status
take_all_rows(tg_loading *load)
{
	parts parts = {0};
	tg_load_work work = {.context = &parts, .step = read_part, .drop = end_part};
	tg_status status = find_parts(load, &parts);

	if (status == TG_OK)
	{
		work.count = parts.count;
		tg_load_begin_phase(load, TG_LOAD_BASE, bytes_of(&parts));
		status = tg_load_spread(load->session, load->config, &work);
	}
	if (status == TG_OK)
		status = note_faults(load, &parts);
	free(parts.part);
	return status;
}

tg_status
tg_load_base_ranks(tg_loading *load)
{
	return load->base != NULL ? take_all_ranks(load) : TG_OK;
}

tg_status
tg_load_base_apply(tg_loading *load)
{
	tg_status status = tg_load_base_ranks(load);

	return status == TG_OK && load->base != NULL ? take_all_rows(load) : status;
}

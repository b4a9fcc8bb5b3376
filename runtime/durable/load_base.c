/*
 * load_base.c
 *	  The part of a load that a base gives: definitions as of P, and rows as of some time from P to
 *	  E.
 *
 * Files of storages that end in the journal are passed over.  A file with a fault damages its table
 * alone; a manifest with a fault is one of the whole base.
 */
#include "runtime/durable/load_internal.h"

#include "runtime/durable/base.h"

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

static tg_status
take_block(tg_loading *load, const tg_base_file *file, const void *data, size_t count)
{
	return file->kind == TG_BASE_ROWS ? tg_load_rows(load, data, count, true)
									  : tg_load_ranks(load, UINT64_MAX, data, count);
}

static tg_status
take_blocks(tg_loading *load, const tg_base_file *file, tg_base_stream *stream)
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
			status = take_block(load, file, data, count);
	}
	return status == TG_NOT_FOUND ? TG_OK : status;
}

static tg_status
take_file(tg_loading *load, size_t place)
{
	const tg_base_file *file = tg_base_file_get(load->base, place);
	tg_loaded *of = tg_load_find(load, file->storage);
	tg_base_stream *stream;
	tg_status status;

	if (of == NULL)
		return TG_OK;
	of->has_ranks |= file->kind == TG_BASE_RANKS;
	status = tg_base_stream_open(load->base, place, &stream, &load->report->error);
	if (status == TG_OK)
	{
		status = take_blocks(load, file, stream);
		tg_base_stream_close(stream);
	}
	if (status != TG_DAMAGED && status != TG_IO)
		return status;
	if (load->config->needs_whole_base)
	{
		load->report->problem = "a file of the base cannot be read";
		return TG_DAMAGED;
	}
	return tg_load_note_damage(load, of, "a file of the base cannot be read");
}

static tg_status
take_files(tg_loading *load, bool rows)
{
	size_t count = load->base != NULL ? tg_base_facts_get(load->base)->file_count : 0;
	tg_status status = TG_OK;

	for (size_t place = 0; place < count && status == TG_OK; place++)
		if (rows || tg_base_file_get(load->base, place)->kind == TG_BASE_RANKS)
			status = take_file(load, place);
	return status;
}

tg_status
tg_load_base_apply(tg_loading *load)
{
	return take_files(load, true);
}

tg_status
tg_load_base_ranks(tg_loading *load)
{
	return take_files(load, false);
}

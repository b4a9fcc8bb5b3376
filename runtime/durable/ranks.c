/*
 * ranks.c
 *	  The ranks of a storage's values, as definitions.
 */
#include "runtime/durable/ranks.h"

#include "runtime/table/table.h"
#include "runtime/index/dictionary.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/definitions.h"

tg_status
tg_rank_write(const tg_table *table, tg_ranking way, const tg_ranked *ranked, tg_bytes *bytes)
{
	const tg_definition definition = {.kind = TG_DEFINITION_RANK,
									  .storage = table->incarnation,
									  .ranking = way,
									  .value = ranked->value,
									  .value_bytes = ranked->value_bytes,
									  .rank = ranked->rank,
									  .rank_bytes = ranked->rank_bytes};

	return tg_definition_put(bytes, &definition);
}

tg_status
tg_ranks_write(tg_session *session, tg_rank_walk *walk, size_t bytes_max, tg_bytes *bytes, bool *more_out)
{
	tg_status status = TG_OK;
	tg_ranking way;
	tg_ranked ranked;

	*more_out = true;
	tg_rank_walk_resume(session, walk);
	while (status == TG_OK && *more_out && bytes->count < bytes_max)
	{
		*more_out = tg_rank_walk_next(walk, &way, &ranked);
		if (*more_out)
			status = tg_rank_write(walk->table, way, &ranked, bytes);
	}
	tg_rank_walk_pause(session, walk);
	return status;
}

/*
 * collecting.h
 *	  All garbage that may go, collected by the caller.
 */
#ifndef TG_UNIT_COLLECTING_H
#define TG_UNIT_COLLECTING_H

#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/collector_internal.h"

/* Epochs go on meanwhile, so that what one round retires the next ones free. */
static inline void
collect_all(tg_session *session)
{
	tg_open_ms_max = 0;
	for (int i = 0; i < 20; i++)
	{
		tg_epoch_advance();
		while (tg_collector_run(session, 10000))
			;
		tg_retire_poll(session);
	}
}

#endif /* TG_UNIT_COLLECTING_H */

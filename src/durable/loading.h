/*
 * loading.h
 *	  The worker brings the tables back at a start.
 */
#ifndef TSURUGI_LOADING_H
#define TSURUGI_LOADING_H

#include "runtime/base/status.h"
#include "runtime/durable/load.h"
#include "src/durable/availability.h"

typedef struct tg_bytes tg_bytes;	/* bytes.h */
typedef struct tg_follow tg_follow; /* follow.h */

/*
 * Loads the tables into an empty arena, from the files; sets the figures in *told, and on an error
 * what it was.  *going_on: numbers of the prepared transactions that were restored (record.h).
 * TG_OK; TG_CANCELLED: the worker is to end; else the tables cannot be reached.
 */
extern tg_status tsurugi_load_tables(tsurugi_durability *told, tg_bytes *going_on) TG_MUST_USE;

/*
 * Loads them to be followed (runtime/durable/load.h): from a base and what the journal has up to a
 * position.  Fills in the config for what follows.  TG_OK: the report is the caller's to free;
 * other results as above.
 */
extern tg_status tsurugi_load_to_follow(tg_session *session, uint64 base, XLogRecPtr until, tg_load_config *config,
										tsurugi_durability *told, tg_load_report *report) TG_MUST_USE;

/* Recovery has ended, and everything is applied: the tables are complete.  As above. */
extern tg_status tsurugi_load_end_following(tg_session *session, tg_load_config *config, const tg_follow *follow,
											tsurugi_durability *told, tg_bytes *going_on) TG_MUST_USE;

/* Defines tsurugi_fdw.ignore_damage (src/log/damage.h). */
extern void tsurugi_loading_define(void);

#endif /* TSURUGI_LOADING_H */

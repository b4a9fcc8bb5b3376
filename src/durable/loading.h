/*
 * loading.h
 *	  The worker brings the tables back at a start.
 */
#ifndef TSURUGI_LOADING_H
#define TSURUGI_LOADING_H

#include "runtime/base/status.h"
#include "src/durable/availability.h"

typedef struct tg_bytes tg_bytes; /* bytes.h */

/*
 * Loads the tables into an empty arena, from the files; sets the figures in *told, and on an error
 * what it was.  *going_on: numbers of the prepared transactions that were restored (record.h).
 * TG_OK; TG_CANCELLED: the worker is to end; else the tables cannot be reached.
 */
extern tg_status tsurugi_load_tables(tsurugi_durability *told, tg_bytes *going_on) TG_MUST_USE;

/* Defines tsurugi_fdw.ignore_damage; and whether it is on. */
extern void tsurugi_loading_define(void);
extern bool tsurugi_ignore_damage;

#endif /* TSURUGI_LOADING_H */

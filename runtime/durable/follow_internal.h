/*
 * follow_internal.h
 *	  The part that follow.c and follow_define.c share.
 */
#ifndef TG_FOLLOW_INTERNAL_H
#define TG_FOLLOW_INTERNAL_H

#include "runtime/durable/follow.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/replay.h"
#include "runtime/durable/roster.h"

/* Ids, in no order. */
typedef struct tg_ids
{
	uint64_t *id;
	size_t count;
	size_t capacity;
} tg_ids;

struct tg_follow
{
	tg_session *session;
	const tg_follow_config *config;
	tg_roster *roster;
	tg_undecided undecided;
	tg_journal_reader *reader; /* NULL: there was no journal yet */
	uint64_t position;
	uint64_t last; /* where the frame starts that ends there; 0: there was none */
	tg_replay *replay;
	tg_replay_calls calls;
	tg_load_with *withs;
	size_t with_count;
	size_t with_capacity;
	tg_ids created;	  /* storages that no record has placed yet */
	tg_ids lost;	  /* storages that are damaged */
	tg_table **fresh; /* made for the transaction in hand, each with a reference */
	size_t fresh_count;
	size_t fresh_capacity;

	/* the frame in hand, if is_pending */
	bool is_pending;
	bool is_committed; /* its rows are */
	tg_journal_frame frame;
	const void *record;
	tg_decision decision;

	/* the transaction in hand, and its first PART */
	tg_txn *txn;
	uint64_t first;

	tg_status status; /* of a call back that has failed */
	const char *problem;
	tg_file_error error;
};

extern tg_status tg_ids_add(tg_ids *ids, uint64_t id) TG_MUST_USE;

/* --- follow_define.c --- */

/*
 * Definitions that take effect at their own place: what is created, indexes, columns.  The roster
 * has them already.
 */
extern tg_status tg_follow_define(tg_follow *follow, const void *data, size_t count) TG_MUST_USE;

/* Those that take effect with the commit of their transaction, whose rows are committed. */
extern tg_status tg_follow_place(tg_follow *follow, const void *data, size_t count) TG_MUST_USE;

/*
 * The table of a storage, for rows; NULL: there is none any more, or it is damaged.  One that the
 * transaction in hand has created is made.  TG_NO_MEMORY.
 */
extern tg_status tg_follow_table(tg_follow *follow, uint64_t storage, tg_table **table_out) TG_MUST_USE;

/* Fills keys and indexes of tables that were made; or drops these tables. */
extern tg_status tg_follow_build_fresh(tg_follow *follow) TG_MUST_USE;
extern void tg_follow_drop_fresh(tg_follow *follow);

/* The table is not to be used any more. */
extern tg_status tg_follow_note_damage(tg_follow *follow, uint64_t storage, const char *what) TG_MUST_USE;

#endif /* TG_FOLLOW_INTERNAL_H */

/*
 * kinds.h
 *	  Tsurugi's kinds of transactions, chosen by settings: SHORT, LONG and READ ONLY.
 *
 * What a transaction is comes out with its first access to a table of ours.
 * Until then, and where nothing has been chosen, it is an ordinary one, of
 * PostgreSQL's isolation level.
 */
#ifndef TSURUGI_KINDS_H
#define TSURUGI_KINDS_H

#include "access/xact.h"
#include "utils/rel.h"

#include "runtime/runtime.h"

/* The settings; read-only for everybody but kinds.c.  Those of areas: area_settings.h. */
extern int tsurugi_transaction_type; /* tg_txn_kind */
extern int tsurugi_transaction_priority;
extern char *tsurugi_transaction_label;

/*
 * Makes the settings known to the server, and to storages how a commit draws a time; when the
 * library is loaded.
 */
extern void tsurugi_kinds_define(void);

/* As views show it. */
extern const char *tsurugi_kind_name(tg_txn_kind kind);

/* What the running transaction is.  Read-only for everybody but kinds.c. */
extern tg_txn_kind tsurugi_kind;

/* All statements of the transaction see the same. */
static inline bool
tsurugi_has_one_snapshot(void)
{
	return IsolationUsesXactSnapshot() || tsurugi_kind != TG_TXN_ORDINARY;
}

/* What the transaction has read is validated. */
static inline bool
tsurugi_is_validated(void)
{
	return tsurugi_kind == TG_TXN_SHORT || (tsurugi_kind == TG_TXN_ORDINARY && IsolationIsSerializable());
}

/* The transaction is of SERIALIZABLE's promise, in whatever way. */
static inline bool
tsurugi_is_serializable(void)
{
	return IsolationIsSerializable() || tsurugi_kind != TG_TXN_ORDINARY;
}

extern void tsurugi_kind_begin(void);
extern void tsurugi_kind_is_used(void); /* an ordinary one, by a parallel worker */
extern bool tsurugi_kind_is_known;

/*
 * Ahead of every access to a table of ours: the first one makes the transaction what the
 * settings say.  May wait, and raises errors: 55P03, 40P01, 25006 …
 */
static inline void
tsurugi_access(void)
{
	if (unlikely(!tsurugi_kind_is_known))
		tsurugi_kind_begin();
}

/* The reads of the running transaction are in areas that have to be asked for. */
extern bool tsurugi_minds_areas;

/*
 * Before a scan reads an area of a table, and before it takes its snapshot (which may become a later
 * one).  If tsurugi_minds_areas.  Raises 40001 or 25006; may wait.
 */
extern void tsurugi_check_read(Relation relation, const tg_area *area);

/* Draws the transaction's snapshot as READ ONLY does; deferrable: waits for what is in the way of a fresh one. */
extern void tsurugi_snapshot_draw_safe(bool deferrable);

/* Waits for the end of a LONG.  Outside an epoch; raises 40P01 if that one waits for this transaction. */
extern void tsurugi_wait_for_long(const tg_wait *wait);

/* Raises 40P01: the own wait for this one leads back to the transaction. */
extern void tsurugi_error_circle(const tg_wait *wait) pg_attribute_noreturn();

/* Raises 25006 in a READ ONLY transaction. */
extern void tsurugi_check_may_write(void);

/*
 * Before tsurugi_storage_replace.  Raises 0A000 where a LONG would get another storage for a table
 * than it has preserved.
 */
extern void tsurugi_check_may_replace(Relation relation);

/* For participants.c: the transaction has ended. */
extern void tsurugi_kind_end(bool committed);

/* --- those that several sessions work in ------------------------------------------------ */

/* What the settings say of the next transaction, of a LONG or READ ONLY one its areas: they are locked until this one ends. */
extern void tsurugi_kind_configure(tg_long_config *config);

/* Starts one of such a kind as the session's own would be: may wait; raises errors, and it is to be aborted then. */
extern void tsurugi_kind_start(tg_shared *opened, const tg_shared_report *report, const tg_long_config *config);

/* The session's transaction is part of one, as long as that is held: ahead of tsurugi_isolation_join, and behind it. */
extern void tsurugi_kind_join(tg_txn_kind kind);
extern void tsurugi_kind_mind_areas(const tg_shared *joined);

#endif /* TSURUGI_KINDS_H */

/*
 * kinds.h
 *	  Tsurugi's kinds of transactions, chosen by settings: SHORT, LONG and READ ONLY.
 *
 * The first access to a foreign table of this wrapper determines the kind.  Until then, and if no
 * kind has been chosen, the transaction is an ordinary one, of PostgreSQL's isolation level.
 */
#ifndef TSURUGI_KINDS_H
#define TSURUGI_KINDS_H

#include "access/xact.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/txn/level.h"

typedef struct tg_area tg_area;					  /* preserve.h */
typedef struct tg_long_config tg_long_config;	  /* kinds.h */
typedef struct tg_shared tg_shared;				  /* shared.h */
typedef struct tg_shared_report tg_shared_report; /* shared.h */

/* The settings; only kinds.c writes them.  Those of areas are in area_settings.h. */
extern int tsurugi_transaction_type; /* tg_txn_kind */
extern int tsurugi_transaction_priority;
extern char *tsurugi_transaction_label;

/*
 * Defines the settings, and registers with the storages how a commit draws a time; when the library
 * is loaded.
 */
extern void tsurugi_kinds_define(void);

/* The name of a kind in views. */
extern const char *tsurugi_kind_name(tg_txn_kind kind);

/* The kind of the running transaction.  Only kinds.c writes it. */
extern tg_txn_kind tsurugi_kind;

/* The transaction's level in the engine's terms. */
extern tg_isolation tsurugi_kind_isolation(void);

/* Whether all statements of the transaction read at one snapshot. */
static inline bool
tsurugi_has_one_snapshot(void)
{
	return IsolationUsesXactSnapshot() || tsurugi_kind != TG_TXN_ORDINARY;
}

/* Whether the transaction's reads are validated. */
static inline bool
tsurugi_is_validated(void)
{
	return tsurugi_kind == TG_TXN_SHORT || (tsurugi_kind == TG_TXN_ORDINARY && IsolationIsSerializable());
}

/* Whether the transaction is serializable, by PostgreSQL's level or by its kind. */
static inline bool
tsurugi_is_serializable(void)
{
	return IsolationIsSerializable() || tsurugi_kind != TG_TXN_ORDINARY;
}

/*
 * Before a statement: PostgreSQL restores the former state at the end of a subtransaction, in which
 * the kind may have begun.
 */
static inline void
tsurugi_kind_keep_read_only(void)
{
	if (unlikely(tsurugi_kind == TG_TXN_READ_ONLY))
		XactReadOnly = true;
}

extern void tsurugi_kind_begin(void);
extern void tsurugi_kind_is_used(void); /* an ordinary one, by a parallel worker */
extern bool tsurugi_kind_is_known;

/*
 * Called ahead of every access to a foreign table of this wrapper: the first call gives the
 * transaction the kind that the settings say.  May wait, and raises errors: 55P03, 40P01, 25006 …
 */
static inline void
tsurugi_access(void)
{
	if (unlikely(!tsurugi_kind_is_known))
		tsurugi_kind_begin();
}

/* The running transaction must ask before it reads an area. */
extern bool tsurugi_minds_areas;

/*
 * Called before a scan reads an area of a table, and before it takes its snapshot (which may become
 * a later one), if tsurugi_minds_areas.  Raises 40001 or 25006; may wait.
 */
extern void tsurugi_check_read(Relation relation, const tg_area *area);

/*
 * Draws the transaction's snapshot as READ ONLY does; deferrable: waits for the transactions that
 * prevent a fresh one.
 */
extern void tsurugi_snapshot_draw_safe(bool deferrable);

/*
 * Waits for the end of a LONG.  Outside an epoch; raises 40P01 if that one waits for this
 * transaction.
 */
extern void tsurugi_wait_for_long(const tg_wait *wait);

/*
 * Waits by this function, during a wait that others have been told of (tg_wait_begin), and looks
 * for cycles in which the transaction waits for itself, at once and then once per period.  False:
 * there is one, and the caller raises an error.
 */
extern bool tsurugi_wait_unless_circle(const tg_wait *wait, int period_ms, void (*wait_out)(const tg_wait *));

/* Raises 40P01: the own wait for this one leads back to the transaction. */
extern void tsurugi_error_circle(const tg_wait *wait) pg_attribute_noreturn();

/* Raises 25006 in a READ ONLY transaction. */
extern void tsurugi_check_may_write(void);

/*
 * Called before tsurugi_storage_replace.  Raises 0A000 if a LONG would get another storage for a
 * table than the one that it has preserved.
 */
extern void tsurugi_check_may_replace(Relation relation);

/* For participants.c: the transaction has ended. */
extern void tsurugi_kind_end(bool committed);

/* --- transactions that several sessions work in -------------------------------------------- */

/*
 * Reads the settings for the next transaction; for a LONG or READ ONLY one also its areas, which
 * stay locked until the current transaction ends.
 */
extern void tsurugi_kind_configure(tg_long_config *config);

/*
 * Starts a shared transaction of such a kind, as the session would start its own: may wait; after
 * an error the shared transaction must be aborted.
 */
extern void tsurugi_kind_start(tg_shared *opened, const tg_shared_report *report, const tg_long_config *config);

/*
 * The session's transaction is part of a shared one, as long as it holds that: the first is called
 * ahead of tsurugi_isolation_join, the second after it.
 */
extern void tsurugi_kind_join(tg_txn_kind kind);
extern void tsurugi_kind_mind_areas(const tg_shared *joined);

#endif /* TSURUGI_KINDS_H */

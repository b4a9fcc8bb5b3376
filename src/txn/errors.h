/*
 * errors.h
 *	  Errors that name rows, keys and other transactions.
 *
 * Those of a tg_status are raised by base/status_error.h.  No runtime lock and no epoch is held by
 * the caller.
 */
#ifndef TSURUGI_ERRORS_H
#define TSURUGI_ERRORS_H

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "runtime/base/status.h"
#include "runtime/txn/conflict.h"
#include "src/table/relation.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"

/*
 * Registers the errors of those results that concern transactions; called once, when the library is
 * loaded.
 */
extern void tsurugi_errors_init(void);

/*
 * Raises 23505 for a row whose key in a unique index is taken; the slot has the relation's shape.
 * The key is shown to users who may SELECT its columns.
 */
extern void tsurugi_error_duplicate(Relation relation, Oid index, TupleTableSlot *slot) pg_attribute_noreturn();

/*
 * The same for an existing row that prevents the creation of an index; the key is described as the
 * table's owner.
 */
extern void tsurugi_error_not_unique(Relation relation, Oid index, TupleTableSlot *slot) pg_attribute_noreturn();

/*
 * Raises 23P01 for a row that conflicts with an existing one; is_new: the constraint is being made,
 * and both rows exist.  Slots and keys as above.
 */
extern void tsurugi_error_excluded(Relation relation, Oid index, TupleTableSlot *slot, TupleTableSlot *existing,
								   bool is_new) pg_attribute_noreturn();

/*
 * The running command has already changed the row (a join found it twice): that is ignored, as for
 * ordinary tables.  If another command, of a trigger or a function, changed it, neither change can
 * be dropped: raises 27000.  verb: "updated", "deleted".
 */
extern void tsurugi_check_own_change(bool by_other_command, const char *verb);

/* Raises 21000: ON CONFLICT DO UPDATE meets a row that its own command has inserted or updated. */
extern void tsurugi_error_twice(void) pg_attribute_noreturn();

/*
 * Raises 40001: a row or area that the transaction has read was changed, or is preserved by others.
 */
extern void tsurugi_error_validation(const tg_conflict *conflict) pg_attribute_noreturn();

/* The same when the transaction was about to write a row. */
extern void tsurugi_error_validation_to_write(const tg_conflict *conflict, tsurugi_beaten_by written)
	pg_attribute_noreturn();

/*
 * Raises 40001: the wait would close a cycle through a row that was locked when it was read
 * (ladder.c, 3).
 */
extern void tsurugi_error_yielded(const tg_wait *wait) pg_attribute_noreturn();

/* Raises 0A000: a SERIALIZABLE transaction wrote foreign and ordinary tables. */
extern void tsurugi_error_mixed(void) pg_attribute_noreturn();

/*
 * Raises 40001: no time at which foreign tables fit PostgreSQL's snapshot can be found any more
 * (mixed.c).
 */
extern void tsurugi_error_too_late(void) pg_attribute_noreturn();

/*
 * Raises 40001: because of this commit, ordinary tables would be read as of another moment than
 * foreign ones (moment.c).
 */
extern void tsurugi_error_moment(tg_time misfit) pg_attribute_noreturn();

/*
 * Raises 40001: the index of an ordinary table is new, and may lack rows that must be read
 * (shared_moment.c).
 */
extern void tsurugi_error_new_index(Relation index) pg_attribute_noreturn();

/*
 * "row (id)=(1)", or "a row" if its key is not known, or must not be shown: as the transaction has
 * seen the row, otherwise as it is now.
 */
extern const char *tsurugi_describe_row(Relation relation, uint32_t row);

/*
 * Raises 40001: this row, which was to be written or only locked, was changed or deleted after the
 * snapshot.  When PostgreSQL locks rows, it has one message for both.
 */
extern void tsurugi_error_conflict(Relation relation, tg_conflict_kind kind, uint32_t row, bool locks)
	pg_attribute_noreturn();

/*
 * Whether tg_txn_newest or tg_txn_lock reports that a row differs from what the snapshot sees; and
 * the kind of conflict.
 */
static inline bool
tsurugi_is_changed(tg_status status)
{
	return status == TG_CHANGED || status == TG_NOT_FOUND || status == TG_MOVED;
}

static inline tg_conflict_kind
tsurugi_conflict_of(tg_status status)
{
	return status == TG_NOT_FOUND ? TG_CONFLICT_DELETED : TG_CONFLICT_UPDATED;
}

/*
 * Raises 40001: an UPDATE has moved the row, which was to be written or locked, to another
 * partition.
 */
extern void tsurugi_error_moved(Relation relation, uint32_t row) pg_attribute_noreturn();

/* Raises 40001: the table to be read was emptied, or stored anew, after the snapshot. */
extern void tsurugi_error_stored_anew(Relation relation, tg_time stored) pg_attribute_noreturn();

#endif /* TSURUGI_ERRORS_H */

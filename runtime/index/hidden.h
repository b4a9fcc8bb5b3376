/*
 * hidden.h
 *	  Hidden values: an index's data about a version beyond the version's columns.
 *
 * A hidden value is the value of an expression, the canonical bytes of a column, or the result of a
 * predicate: the host computes it for each version, and the index keeps it.  Hidden values follow
 * from the version's columns alone, so they change nothing of it.  An index can be created, get the
 * values of all existing versions, and be dropped with them, while other transactions read and
 * write.
 *
 * They lie in companions of the table's chunks (table/companion.h); see hidden.c.
 */
#ifndef TG_HIDDEN_H
#define TG_HIDDEN_H

#include "runtime/base/names.h"
#include "runtime/mem/claim.h"
#include "runtime/table/companion.h"

/* The index with hidden values that has this id; NULL: there is none any more. */
extern tg_index *tg_hidden_index(const tg_table *table, uint64_t id);

/* Makes the place where an index with hidden values keeps them.  TG_NO_MEMORY. */
extern tg_status tg_hidden_create(tg_session *session, tg_index *index, tg_claim claim) TG_MUST_USE;

/*
 * Stores the values of a version that no other thread writes to, and that has none.  Strings are
 * copied.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_hidden_store(tg_session *session, const tg_index *index, tg_version version, const tg_value *values,
								 const bool *nulls, tg_claim claim) TG_MUST_USE;

/*
 * Forgets the values of a version, if they are known, while no other thread reads or writes the
 * table.
 */
extern void tg_hidden_forget(tg_session *session, const tg_index *index, tg_version version);

/* Stores them for all indexes of its table for which the host has computed values. */
extern tg_status tg_hidden_store_all(tg_session *session, tg_version version, const tg_hidden_row *row,
									 tg_claim claim) TG_MUST_USE;

/* Gives a copy of a version all hidden values of its original.  TG_NO_MEMORY. */
extern tg_status tg_hidden_copy_all(tg_session *session, tg_version version, tg_version from) TG_MUST_USE;

#endif /* TG_HIDDEN_H */

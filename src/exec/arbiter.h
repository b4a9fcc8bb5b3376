/*
 * arbiter.h
 *	  INSERT ... ON CONFLICT: which unique index decides.
 */
#ifndef TSURUGI_ARBITER_H
#define TSURUGI_ARBITER_H

#include "nodes/pg_list.h"

#include "src/table/row.h"

/* Raises 55000 if one of the arbiters (their OIDs; NIL: all unique indexes) is DEFERRABLE. */
extern void tsurugi_check_arbiters(Relation relation, const List *arbiters);

/* The same for a partition that rows are routed to: the arbiters are the indexes above its own; NIL for all. */
extern void tsurugi_check_routed_arbiters(Relation relation, const List *above);

/*
 * A row has been refused because of a key that *holder names.  Whether that is
 * an arbiter's (their OIDs; NIL: all are); if not, whether an arbiter refuses it, too,
 * and *holder is its.  TG_EXISTS and *is_arbiter_out; TG_BUSY: wait.
 */
extern tg_status tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, List *arbiters, tg_wait *holder,
									  bool *is_arbiter_out);

/* DO UPDATE of a row of a partition: raises 0A000 if a trigger of the table above wants a transition table of it. */
struct TransitionCaptureState;
extern void tsurugi_check_conflict_capture(const struct TransitionCaptureState *capture);

/* Whether a version that is held has the key of a row, under an index that is not the primary key (NULL: it has). */
extern bool tsurugi_has_key(const tg_index *index, tg_version version, const tsurugi_row *row);

#endif /* TSURUGI_ARBITER_H */

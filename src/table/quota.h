/*
 * quota.h
 *	  Memory quotas of roles and databases, as PostgreSQL's catalogs have them.
 */
#ifndef TSURUGI_QUOTA_H
#define TSURUGI_QUOTA_H

#include "nodes/nodes.h"
#include "utils/relcache.h"

#include "runtime/runtime.h"

/*
 * Defines the setting tsurugi_fdw.memory_quota, and registers the error of TG_OVER_QUOTA.  Once,
 * where the library is loaded.
 */
extern void tsurugi_quota_define(void);

/*
 * The account of a role in this database, with a reference and with the limits that are set.
 * May wait for somebody who is changing a quota.
 */
extern tg_account *tsurugi_quota_account(Oid owner);

/* Before a statement that may change settings of roles or databases: ALTER ROLE, ALTER DATABASE. */
extern void tsurugi_quota_note_statement(Node *tree);

/* All accounts' figures, in the current memory context. */
extern tg_quota_report *tsurugi_quota_reports(unsigned *count_out);

/* Bytes that count against the quota which leaves the relation's table the least. */
extern uint64 tsurugi_quota_bytes(Relation relation);

/*
 * For participants.c: raises 0A000 if the transaction cannot be prepared; reads what it has
 * changed, and puts that into force.
 */
extern void tsurugi_quota_check_prepare(void);
extern void tsurugi_quota_pre_commit(void);
extern void tsurugi_quota_end(bool committed);
extern bool tsurugi_quota_is_changed(void);

#endif /* TSURUGI_QUOTA_H */

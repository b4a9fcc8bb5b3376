/*
 * quota.h
 *	  Memory quotas of roles and databases, from PostgreSQL's catalogs.
 */
#ifndef TSURUGI_QUOTA_H
#define TSURUGI_QUOTA_H

#include "nodes/nodes.h"
#include "utils/relcache.h"

#include "runtime/mem/quota.h"

typedef struct tg_account tg_account;			/* quota.h */
typedef struct tg_quota_report tg_quota_report; /* quota.h */

/*
 * Defines the setting tsurugi_fdw.memory_quota, and registers the error of TG_OVER_QUOTA.  Called
 * once, when the library is loaded.
 */
extern void tsurugi_quota_define(void);

/*
 * The account of a role in this database, with a reference and with its limits set.  May wait for a
 * transaction that is changing a quota.
 */
extern tg_account *tsurugi_quota_account(Oid owner);

/*
 * Sets the limits of an account that was made without them: by the worker, which has no catalogs,
 * when it loaded the account's tables.  May wait likewise.
 */
extern void tsurugi_quota_settle(tg_account *account);

/*
 * Called before a statement that may change settings of roles or databases: ALTER ROLE, ALTER
 * DATABASE.
 */
extern void tsurugi_quota_note_statement(Node *tree);

/* The figures of all accounts, in the current memory context. */
extern tg_quota_report *tsurugi_quota_reports(unsigned *count_out);

/* The bytes that count against the quota which leaves the least room to the relation's table. */
extern uint64 tsurugi_quota_bytes(Relation relation);

/*
 * For participants.c: raises 0A000 if the transaction cannot be prepared; reads the changed
 * settings before the commit, and puts them into force after it.
 */
extern void tsurugi_quota_check_prepare(void);
extern void tsurugi_quota_pre_commit(void);
extern void tsurugi_quota_end(bool committed);
extern bool tsurugi_quota_is_changed(void);

#endif /* TSURUGI_QUOTA_H */

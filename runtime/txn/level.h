/*
 * level.h
 *	  Kinds of transactions, and their levels of isolation.
 */
#ifndef TG_LEVEL_H
#define TG_LEVEL_H

/* Ordinary transactions, and Tsurugi's kinds (kinds.h). */
typedef enum tg_txn_kind
{
	TG_TXN_ORDINARY,
	TG_TXN_SHORT,
	TG_TXN_LONG,
	TG_TXN_READ_ONLY
} tg_txn_kind;

typedef enum tg_isolation
{
	TG_READ_COMMITTED,
	TG_REPEATABLE_READ,
	TG_SERIALIZABLE
} tg_isolation;

#define TG_TXN_LABEL_BYTES 64 /* with the terminator; longer labels are cut */

#endif /* TG_LEVEL_H */

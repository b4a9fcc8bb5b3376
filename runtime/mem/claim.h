/*
 * claim.h
 *	  What memory is claimed for, and the part of the limit that a claim may use.
 */
#ifndef TG_CLAIM_H
#define TG_CLAIM_H

/* The uses of memory; the accounts that views show. */
typedef enum tg_use
{
	TG_USE_TABLE,	/* table structures, row heads, directories */
	TG_USE_CHUNK,	/* column chunks */
	TG_USE_HEADER,	/* version headers */
	TG_USE_BLOB,	/* long values */
	TG_USE_INDEX,	/* B+tree nodes */
	TG_USE_LOG,		/* write logs of transactions, garbage lists */
	TG_USE_LOCK,	/* row locks without a write */
	TG_USE_JOB,		/* jobs, tasks, output buffers */
	TG_USE_RUNTIME, /* sessions, queues and other fixed parts */
	TG_USE_COUNT
} tg_use;

typedef enum tg_claim
{
	TG_DATA,		/* refused from the beginning of the reserved part on */
	TG_BULK,		/* refused somewhat earlier: made from TG_DATA, see tg_claims_begin */
	TG_MAINTENANCE, /* refused at the limit: collection, and TG_DATA of privileged sessions */
	TG_ESSENTIAL	/* may use the reserve */
} tg_claim;

#endif /* TG_CLAIM_H */

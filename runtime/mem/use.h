/*
 * use.h
 *	  What memory is used for.
 */
#ifndef TG_USE_H
#define TG_USE_H

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

#endif /* TG_USE_H */

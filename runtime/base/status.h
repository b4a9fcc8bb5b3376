/*
 * status.h
 *	  Results of the runtime's functions.
 *
 * A code exists only if a caller can act on it; everything else is a bug and
 * an assertion.
 */
#ifndef TG_STATUS_H
#define TG_STATUS_H

typedef enum tg_status
{
	TG_OK = 0,
	TG_NO_MEMORY,  /* the arena's limit is reached; nothing was changed */
	TG_OVER_QUOTA, /* the table's owner or database may use no more; nothing was changed */
	TG_NOT_FOUND,  /* no such key, row, version or object */
	TG_MOVED,	   /* the row has left its table, and continues in another one */
	TG_EXISTS,	   /* a live row has the key */
	TG_BUSY,	   /* held by another transaction: wait for it, then repeat */
	TG_AGAIN,	   /* another session was faster: look again at once */
	TG_CHANGED,	   /* committed after the snapshot: re-evaluate on the version returned */
	TG_SELF,	   /* already changed by the caller's own command or a later one */
	TG_TOO_LARGE,  /* beyond a named maximum */
	TG_FULL,	   /* a bounded structure has no place left */
	TG_CANCELLED,  /* the job was cancelled, or the host asked to stop */
	TG_STOPPED,	   /* the runtime is not running */
	TG_CONFLICT,   /* cannot be serialized; the transaction is to be given up */
	TG_DAMAGED,	   /* bytes that were read are not the ones that were once written */
	TG_IO,		   /* a file could not be used; its error is reported beside */
	TG_UNFIT,	   /* a value that is not computed with here: the host does it in its own way */
	TG_FORBIDDEN   /* outside what the transaction has declared to read or to write */
} tg_status;

#define TG_MUST_USE __attribute__((warn_unused_result))

#endif /* TG_STATUS_H */

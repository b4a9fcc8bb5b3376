/*
 * record.h
 *	  The frame of a record in the host's log, and of a frame in the journal.
 *
 *	record		format (a byte), kind (a byte), body
 *	PART		position of the transaction's first PART, 0: it is this one; definitions; rows
 *	COMMIT		likewise, 0: the transaction has no PARTs; definitions; rows
 *	WITH		as COMMIT; the outcome of the host's transaction with the frame's number decides;
 *				it may be prepared meanwhile
 *	NOW			definitions, which nothing takes back
 *	CLEAN START	numbers of the host's transactions that go on: they are prepared
 *	GIVEN UP	position of the first PART of a transaction that was aborted before its last record:
 *				only so that nobody keeps its PARTs until the next CLEAN START
 *	definitions	their length in bytes, and that many bytes (definitions.h)
 *	rows		operations, up to the end of the record (operations.h)
 *
 * Records are written in format 2.  Those of format 1 are read, too: they are the same without the
 * operation of several rows.
 *
 * Positions are where a record starts in the host's log.  A PART counts if a COMMIT or a WITH that
 * counts names the same first PART.  What a record does takes effect at its own place in the log,
 * although the outcome may come later: until then, no other transaction does anything that
 * depends on it (R1, src/log/log.h).
 *
 * The journal has these records unchanged, in frames of the kind RECORD, and outcomes.
 */
#ifndef TG_RECORD_H
#define TG_RECORD_H

#include <stdint.h>

#define TG_RECORD_FORMAT 2
#define TG_RECORD_FORMAT_OLDEST 1 /* that is read */
#define TG_RECORD_HEAD_BYTES 2

typedef enum tg_record_kind
{
	TG_RECORD_COMMIT = 1,
	TG_RECORD_WITH,
	TG_RECORD_PART,
	TG_RECORD_NOW,
	TG_RECORD_MARK,		   /* no body; not in the journal */
	TG_RECORD_CLEAN_START, /* all other transactions in doubt have ended, and count for nothing */
	TG_RECORD_GIVEN_UP,	   /* one with PARTs has */
} tg_record_kind;

typedef enum tg_frame_kind
{
	TG_FRAME_RECORD = 1,
	TG_FRAME_COMMITTED, /* the host's transaction with the frame's number; no bytes */
	TG_FRAME_ABORTED,
} tg_frame_kind;

#endif /* TG_RECORD_H */

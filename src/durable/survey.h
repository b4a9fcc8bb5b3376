/*
 * survey.h
 *	  What is committed as of a place in the log, of definitions, and what is undecided there.
 *
 * A base has to know it.  The worker's main thread calls these.
 */
#ifndef TSURUGI_SURVEY_H
#define TSURUGI_SURVEY_H

#include "access/xlogdefs.h"

#include "runtime/base/status.h"

typedef struct tg_file_error tg_file_error; /* runtime/durable/files.h */
typedef struct tg_undecided tg_undecided;	/* runtime/durable/undecided.h */

/* Size of the state in shared memory; its set-up at server start. */
extern Size tsurugi_survey_shared_bytes(void);
extern void tsurugi_survey_shared_create(void);

/*
 * Reads some milliseconds of the journal, which has been written up to a position in the log.
 * TG_OK: the survey is as of there; TG_AGAIN: there is more.  TG_DAMAGED, TG_IO, TG_NO_MEMORY: the
 * next call goes on at the same place.
 */
extern tg_status tsurugi_survey_look(XLogRecPtr until, tg_file_error *error_out) TG_MUST_USE;

/* As of the last position, with its roster. */
extern const tg_undecided *tsurugi_survey_get(void);

/* A base has it: what has ended is forgotten. */
extern void tsurugi_survey_forget(void);

/*
 * Begins with what tables have followed, as of its end; it and its roster are taken.  first: where
 * the next record starts in the log.
 */
extern void tsurugi_survey_go_on(tg_undecided *followed, XLogRecPtr first);

/*
 * The worker ends in order, and the next one goes on with the survey.  former_end: the journal
 * before there may have faults (base_writer.c, 9).  The second one begins with it, and returns that
 * position, or InvalidXLogRecPtr if there is none.
 */
extern void tsurugi_survey_hand_over(XLogRecPtr former_end);
extern XLogRecPtr tsurugi_survey_take_over(void);

#endif /* TSURUGI_SURVEY_H */

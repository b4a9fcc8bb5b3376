/*
 * backup.h
 *	  Whether a base backup of this server is being made.
 */
#ifndef TSURUGI_BACKUP_H
#define TSURUGI_BACKUP_H

/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_backup_shared_bytes(void);
extern void tsurugi_backup_shared_create(void);

/* When the library is loaded. */
extern void tsurugi_backup_init(void);

/*
 * Whether one is being made: by a walsender, or by a session that has called pg_backup_start and
 * not yet pg_backup_stop.  Any process.
 */
extern bool tsurugi_backup_is_made(void);

#endif /* TSURUGI_BACKUP_H */

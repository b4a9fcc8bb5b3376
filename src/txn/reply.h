/*
 * reply.h
 *	  Nothing leaves for the client that a crash could still take back.
 */
#ifndef TSURUGI_REPLY_H
#define TSURUGI_REPLY_H

/* When the library is loaded: puts itself before what sends to the client, in all backends. */
extern void tsurugi_reply_init(void);

/* Waits until no crash can take back what this session has been shown. */
extern void tsurugi_reply_wait(void);

#endif /* TSURUGI_REPLY_H */

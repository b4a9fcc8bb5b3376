/*
 * message.h
 *	  What the runtime has to tell the host's log.
 */
#ifndef TG_MESSAGE_H
#define TG_MESSAGE_H

#include <stdarg.h>

#define TG_MESSAGE_BYTES 256
#define TG_MESSAGE_MAX 64 /* untaken ones; further ones are counted and dropped */

/*
 * Notes a message, as printf does, for tg_host_message_next of this process.
 * Any thread.  It is the host's main thread that asks, in its own time.
 */
extern void tg_message_post(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern void tg_message_post_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif /* TG_MESSAGE_H */

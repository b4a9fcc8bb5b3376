/*
 * message.h
 *	  Messages of the runtime for the host's log.
 */
#ifndef TG_MESSAGE_H
#define TG_MESSAGE_H

#include <stdarg.h>

#define TG_MESSAGE_BYTES 256
#define TG_MESSAGE_MAX 64 /* untaken messages; further ones are counted and dropped */

/*
 * Stores a message, formatted as by printf, for tg_host_message_next of this process.  Any thread
 * may call.  The host's main thread fetches the messages in its own time.
 */
extern void tg_message_post(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern void tg_message_post_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif /* TG_MESSAGE_H */

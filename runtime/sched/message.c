/*
 * message.c
 *	  Messages of the runtime for the host's log: a ring, private to the worker
 *	  process.
 *
 * Messages are rare, so one mutex is enough.  When the ring is full the newest messages are
 * dropped, because the first messages of a failure tell most.  The number of dropped messages is
 * the next message.
 */
#include "runtime/sched/message.h"

#include <pthread.h>
#include <stdio.h>

#include "runtime/sched/scheduler.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char messages[TG_MESSAGE_MAX][TG_MESSAGE_BYTES]; /* under the mutex, as all below */
static unsigned first;
static unsigned count;
static unsigned dropped;

void
tg_message_post_list(const char *format, va_list arguments)
{
	pthread_mutex_lock(&mutex);
	if (count < TG_MESSAGE_MAX)
	{
		vsnprintf(messages[(first + count) % TG_MESSAGE_MAX], TG_MESSAGE_BYTES, format, arguments);
		count++;
	}
	else
		dropped++;
	pthread_mutex_unlock(&mutex);
}

void
tg_message_post(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tg_message_post_list(format, arguments);
	va_end(arguments);
}

bool
tg_host_message_next(char *text, unsigned text_bytes)
{
	bool found = true;

	pthread_mutex_lock(&mutex);
	if (count > 0)
	{
		snprintf(text, text_bytes, "%s", messages[first]);
		first = (first + 1) % TG_MESSAGE_MAX;
		count--;
	}
	else if (dropped > 0)
	{
		snprintf(text, text_bytes, "%u further messages were dropped", dropped);
		dropped = 0;
	}
	else
		found = false;
	pthread_mutex_unlock(&mutex);
	return found;
}

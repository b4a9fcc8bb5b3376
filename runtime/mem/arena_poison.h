/*
 * arena_poison.h
 *	  Makes use of freed memory visible, in debug and sanitizer builds.
 *
 * TG_DEBUG fills free memory and checks the filling when the memory is handed out again.
 * AddressSanitizer is told, too, but only until the process forks: its shadow is private, so
 * another process's claims would look like errors.
 */
#ifndef TG_ARENA_POISON_H
#define TG_ARENA_POISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/check.h"

#define TG_POISON_BYTE 0x7f		/* free */
#define TG_POISON_NEW_BYTE 0x6e /* handed out, not yet written */

/*
 * An object is filled up to this size: a free should not make a gigabyte real that was never
 * touched.
 */
#define TG_POISON_BYTES_MAX ((size_t) 1 << 20)

#if defined(__SANITIZE_ADDRESS__)
#define TG_POISON_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TG_POISON_ASAN
#endif
#endif

#ifdef TG_POISON_ASAN
#include <sanitizer/asan_interface.h>
extern bool tg_poison_forked;		  /* arena.c */
extern uint32_t tg_poison_page_count; /* arena_pages.c: pages from here on were never handed out */
#endif

/* Declares the memory usable. */
static inline void
tg_unpoison(void *memory, size_t bytes)
{
#ifdef TG_POISON_ASAN
	__asan_unpoison_memory_region(memory, bytes);
#else
	(void) memory;
	(void) bytes;
#endif
}

/* Fills the memory as free; it may still be used. */
static inline void
tg_poison_fill(void *memory, size_t bytes)
{
#ifdef TG_DEBUG
	memset(memory, TG_POISON_BYTE, bytes < TG_POISON_BYTES_MAX ? bytes : TG_POISON_BYTES_MAX);
#else
	(void) memory;
	(void) bytes;
#endif
}

/* Fills the memory as not yet written. */
static inline void
tg_poison_fill_new(void *memory, size_t bytes)
{
#ifdef TG_DEBUG
	memset(memory, TG_POISON_NEW_BYTE, bytes);
#else
	(void) memory;
	(void) bytes;
#endif
}

/* Declares the memory free. */
static inline void
tg_poison(void *memory, size_t bytes)
{
	tg_unpoison(memory, bytes);
	tg_poison_fill(memory, bytes);
#ifdef TG_POISON_ASAN
	if (!tg_poison_forked)
		__asan_poison_memory_region(memory, bytes);
#endif
}

/* Whether all of the usable memory is filled as free. */
static inline bool
tg_poison_is_intact(const void *memory, size_t bytes)
{
	const unsigned char *first = memory;

	return first[0] == TG_POISON_BYTE && memcmp(first, first + 1, bytes - 1) == 0;
}

#endif /* TG_ARENA_POISON_H */

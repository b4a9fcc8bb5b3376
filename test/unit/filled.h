/*
 * filled.h
 *	  For tests of the arena: objects filled with a pattern, and figures.
 *
 * The pattern is made from the object's address, so that two objects that
 * overlap, or one that is handed out twice, show.
 */
#ifndef TG_UNIT_FILLED_H
#define TG_UNIT_FILLED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"

#define MIB ((size_t) 1 << 20)

static inline tg_arena_report
report_now(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report;
}

static inline uint8_t
pattern_of(const void *object)
{
	return (uint8_t) (((uintptr_t) object >> 3) * 37 % 101);
}

static inline void *
filled(tg_session *owner, size_t bytes, tg_use use, tg_claim claim)
{
	void *object = tg_alloc(owner, bytes, use, claim);

	if (object != NULL)
		memset(object, pattern_of(object), bytes);
	return object;
}

static inline bool
is_filled(const void *object, size_t bytes)
{
	const uint8_t *byte = object;

	return byte[0] == pattern_of(object) && memcmp(byte, byte + 1, bytes - 1) == 0;
}

/* Resident bytes of the arena's mapping, by /proc/self/smaps. */
static inline size_t
arena_resident(void)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	uintptr_t inside_address = (uintptr_t) tg_epoch_global;
	bool inside = false;
	unsigned long kilobytes = 0;
	char line[512];

	while (fgets(line, sizeof(line), file) != NULL)
	{
		unsigned long begin;
		unsigned long end;

		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = inside_address >= begin && inside_address < end;
		else if (inside)
			(void) sscanf(line, "Rss: %lu kB", &kilobytes);
	}
	fclose(file);
	return kilobytes * 1024;
}

#endif /* TG_UNIT_FILLED_H */

/*
 * states.h
 *	  The states that a search of a model has seen, as fingerprints of 64 bits.
 *
 * Two states with the same fingerprint would be taken for one, and a part of the
 * search be lost: among 4 million states that is one search of 2 million.
 */
#ifndef TG_UNIT_STATES_H
#define TG_UNIT_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static unsigned states_bits = 23; /* of the table: its size; to be changed before states_begin */

static uint64_t *states_places; /* open addressing; 0 is free, and no fingerprint */
static uint64_t states_count;

/* An empty set; the one before is gone. */
static inline void
states_begin(void)
{
	free(states_places);
	states_places = calloc((size_t) 1 << states_bits, sizeof(*states_places));
	if (states_places == NULL)
		unit_bail("no memory");
	states_count = 0;
}

static inline void
states_end(void)
{
	free(states_places);
	states_places = NULL;
}

/* Adds a state, a struct without padding or zeroed before; true if it is new. */
static inline bool
states_add(const void *state, size_t bytes)
{
	uint64_t print = UINT64_C(14695981039346656037); /* FNV-1a, and then mixed */
	uint64_t place;

	for (size_t i = 0; i < bytes; i++)
		print = (print ^ ((const uint8_t *) state)[i]) * UINT64_C(1099511628211);
	print ^= print >> 31;
	print = print * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (place = print >> (64 - states_bits); states_places[place] != 0;
		 place = (place + 1) & (((uint64_t) 1 << states_bits) - 1))
	{
		if (states_places[place] == print)
			return false;
	}
	states_places[place] = print;
	if (++states_count >= (uint64_t) 1 << (states_bits - 1))
		unit_bail("the model outgrows its table");
	return true;
}

#endif /* TG_UNIT_STATES_H */

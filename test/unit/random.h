/*
 * random.h
 *	  Random numbers that can be repeated: splitmix64 (Steele, Lea, Flood, Fast Splittable
 *	  Pseudorandom Number Generators, 2014).
 *
 * A state is any number; each thread has one of its own.
 */
#ifndef TG_UNIT_RANDOM_H
#define TG_UNIT_RANDOM_H

#include <stdint.h>

static inline uint64_t
unit_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 ... limit - 1 */
static inline unsigned
unit_below(uint64_t *state, unsigned limit)
{
	return (unsigned) (unit_random(state) % limit);
}

#endif /* TG_UNIT_RANDOM_H */

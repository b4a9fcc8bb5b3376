/*
 * limits.h
 *	  How many rows a table can have, and versions a chunk.
 */
#ifndef TG_LIMITS_H
#define TG_LIMITS_H

#include <stdint.h>

#define TG_ROW_MAX ((uint32_t) 0xfffffff0) /* rows of a table, with dead ones not yet collected */
#define TG_SLOT_MAX 1024				   /* slots of a chunk: one vector */

#endif /* TG_LIMITS_H */

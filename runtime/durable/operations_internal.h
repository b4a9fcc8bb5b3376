/*
 * operations_internal.h
 *	  Of operations.c, which writes them, and operations_read.c: details of the format.
 */
#ifndef TG_OPERATIONS_INTERNAL_H
#define TG_OPERATIONS_INTERNAL_H

#include "runtime/durable/operations.h"

#define FORM_BITS 3	  /* of a string's length */
#define FORM_INLINE 0 /* else: out of line, 1 more than the length of the host's header */
#define UPDATE_END 0  /* in place of a step to the next changed cell */

#endif /* TG_OPERATIONS_INTERNAL_H */

/*
 * row_copy.h
 *	  Some columns of a version, as the caller's own: for what computes with them out of the epoch.
 */
#ifndef TSURUGI_ROW_COPY_H
#define TSURUGI_ROW_COPY_H

#include "src/table/row.h"

typedef struct tsurugi_row_copy
{
	tsurugi_row row;
	bool *needed;  /* columns; the others are NULL in the copy */
	char *strings; /* of the row */
	size_t capacity;
	size_t used; /* more than the capacity: it was too small */
} tsurugi_row_copy;

/* In the current memory context.  attributes: as pull_varattnos has them. */
extern void tsurugi_row_copy_init(tsurugi_row_copy *copy, const tsurugi_relation *described,
								  const Bitmapset *attributes);

/* Inside an epoch.  False: there was not room enough; outside of it make more, and take it again. */
extern bool tsurugi_row_copy_take(tsurugi_row_copy *copy, tg_version version);
extern void tsurugi_row_copy_make_room(tsurugi_row_copy *copy);

#endif /* TSURUGI_ROW_COPY_H */

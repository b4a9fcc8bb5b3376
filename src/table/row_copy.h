/*
 * row_copy.h
 *	  A private copy of some columns of a version, for computations outside of the epoch.
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
	size_t used; /* more than the capacity: there was not enough room */
} tsurugi_row_copy;

/* Makes it in the current memory context.  attributes: as pull_varattnos has them. */
extern void tsurugi_row_copy_init(tsurugi_row_copy *copy, const tsurugi_relation *described,
								  const Bitmapset *attributes);

/*
 * The first is called inside an epoch.  False: there was not enough room; call the second outside
 * of the epoch, then the first again.
 */
extern bool tsurugi_row_copy_take(tsurugi_row_copy *copy, tg_version version);
extern void tsurugi_row_copy_make_room(tsurugi_row_copy *copy);

#endif /* TSURUGI_ROW_COPY_H */

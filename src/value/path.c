/*
 * path.c
 *	  What lies below a path: ltree, in its order.
 *
 * ltree_cmp compares label by label, the bytes of each, and what is a beginning of the other comes first, of labels as of paths.
 * So what is below a path follows it immediately, up to the first one with a greater label in the place of the path's last one.
 * That is a longer one at least, and there is no longer one below that which has the least byte more: no label of a path has it.
 *
 * How an ltree is stored was read in ltree.h: the number of labels, then each, its length and its bytes, at aligned places.
 */
#include "postgres.h"

#include "src/value/path.h"

#include "fmgr.h"

#include "src/base/library.h"

#define LEAST '\1'

typedef struct Path
{
	int32 header;
	uint16 count;
	char labels[FLEXIBLE_ARRAY_MEMBER]; /* from the next aligned place on */
} Path;

typedef struct Label
{
	uint16 bytes;
	char name[FLEXIBLE_ARRAY_MEMBER];
} Label;

#define LABELS_AT MAXALIGN(offsetof(Path, labels))
#define LABEL_BYTES(bytes) MAXALIGN(offsetof(Label, name) + (bytes))

bool
tsurugi_path_is_below(Oid function)
{
	return tsurugi_is_of_library(function, "$libdir/ltree", "ltree_risparent");
}

bool
tsurugi_path_end(Datum path, Datum *end_out)
{
	const Path *from = (const Path *) PG_DETOAST_DATUM(path);
	Path *end;
	Label *last;
	size_t at = LABELS_AT;

	if (from->count == 0)
		return false;
	end = palloc0(VARSIZE(from) + MAXIMUM_ALIGNOF);
	memcpy(end, from, VARSIZE(from));
	for (int i = 0; i < from->count - 1; i++)
		at += LABEL_BYTES(((const Label *) ((const char *) from + at))->bytes);
	last = (Label *) ((char *) end + at);
	last->name[last->bytes++] = LEAST;
	SET_VARSIZE(end, at + LABEL_BYTES(last->bytes));
	*end_out = PointerGetDatum(end);
	return true;
}

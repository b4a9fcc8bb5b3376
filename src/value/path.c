/*
 * path.c
 *	  The values below a path: ltree, in its order.
 *
 * ltree_cmp compares label by label, by their bytes; a prefix comes first, of labels as of paths.
 * So the paths below a path follow it immediately, up to the first path with a greater label in the
 * place of its last one.  Such a label is at least longer, and the least one has one more byte, the
 * least possible; no label of a path contains that byte.
 *
 * An ltree is stored as in ltree.h: the number of labels, then the length and the bytes of each, at
 * aligned places.
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

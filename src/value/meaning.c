/*
 * meaning.c
 *	  What a column's bytes mean, as a number that is kept with them.
 *
 * The number is the OID of the base type and its modifier.  PostgreSQL lets a column have another
 * type while the library is not loaded, and then changes the catalogs alone.  So, after a start,
 * the bytes may be those of another type.
 *
 * Values of a type that is binary coercible to the column's are the same bytes (varchar and text):
 * ALTER COLUMN TYPE stores nothing anew then, and the number stays.  That is so for types of
 * PostgreSQL's own alone, because others, and their casts, may be dropped once no column has them.
 */
#include "postgres.h"

#include "src/value/meaning.h"

#include "access/transam.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"

static Oid
type_of(uint64 meaning)
{
	return (Oid) (meaning >> 32);
}

static int32
typmod_of(uint64 meaning)
{
	return (int32) (uint32) meaning;
}

uint64
tsurugi_meaning(const tsurugi_codec *codec)
{
	return codec->form == TSURUGI_NOTHING ? 0 : (uint64) codec->type << 32 | (uint32) codec->typmod;
}

static bool
is_coercible(Oid from, Oid to)
{
	Oid function;

	if (from == to)
		return true;
	return from < FirstNormalObjectId && to < FirstNormalObjectId &&
		   find_coercion_pathway(to, from, COERCION_EXPLICIT, &function) == COERCION_PATH_RELABELTYPE;
}

bool
tsurugi_meaning_fits(uint64 meaning, const tsurugi_codec *codec)
{
	tsurugi_codec stored;

	if (meaning == 0 || codec->form == TSURUGI_NOTHING || meaning == tsurugi_meaning(codec))
		return true;
	if (!is_coercible(type_of(meaning), codec->type))
		return false;
	tsurugi_codec_init_type(&stored, type_of(meaning), typmod_of(meaning), InvalidOid);
	return tsurugi_codec_alike(&stored, codec);
}

char *
tsurugi_meaning_name(uint64 meaning)
{
	return format_type_extended(type_of(meaning), typmod_of(meaning),
								FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_INVALID_AS_NULL);
}

/*
 * stored_types.c
 *	  Whether a storage's values are of the types that the catalogs show.
 *
 * A storage keeps a number for what each column means (value/meaning.h), in its files, too.  It is
 * compared where a description meets a storage, and before rows are stored anew.  Columns that have
 * no number were stored before there were any.
 */
#include "postgres.h"

#include "src/table/stored_types.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "runtime/base/atomic.h"
#include "runtime/table/store.h"
#include "runtime/table/table.h"
#include "src/value/meaning.h"

void
tsurugi_stored_types_set(tg_table *table, const tsurugi_relation *described, unsigned first)
{
	unsigned count = described->attribute_count + described->hidden_count;

	for (unsigned i = Max(first, (unsigned) described->hidden_count); i < count; i++)
		tg_table_set_meaning(table, i, tsurugi_meaning(&described->codecs[i]));
}

static uint64
stored_meaning(const tg_table *table, int column)
{
	const tg_columns stored = tg_table_columns(table);

	return column < (int) stored.count ? tg_load_relaxed(&stored.meanings[column]) : 0;
}

bool
tsurugi_stored_type_fits(const tg_table *table, const tsurugi_relation *described, int attribute)
{
	uint64 meaning = stored_meaning(table, (int) table->hidden + attribute);

	return tsurugi_meaning_fits(meaning, &described->codecs[tsurugi_column_of(described, attribute)]);
}

static void
refuse(const tg_table *table, const tsurugi_relation *described, int attribute)
{
	const tsurugi_codec *codec = &described->codecs[tsurugi_column_of(described, attribute)];
	const char *stored = tsurugi_meaning_name(stored_meaning(table, (int) table->hidden + attribute));

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("column \"%s\" of foreign table \"%s\" was stored with another type",
					get_attname(described->oid, (AttrNumber) (attribute + 1), false), get_rel_name(described->oid)),
			 stored != NULL
				 ? errdetail("Its values are of type %s, and the catalogs have %s, since the library was not loaded.",
							 stored, format_type_with_typemod(codec->type, codec->typmod))
				 : errdetail("Their type does not exist any more; the catalogs have %s.",
							 format_type_with_typemod(codec->type, codec->typmod)),
			 errhint("Give the column its former type while the library is not loaded, or truncate or drop the "
					 "table.")));
}

bool
tsurugi_stored_types_fit(const tg_table *table, const tsurugi_relation *described, int count)
{
	for (int i = 0; i < count; i++)
		if (!tsurugi_stored_type_fits(table, described, i))
			return false;
	return true;
}

void
tsurugi_stored_types_check(const tg_table *table, const tsurugi_relation *described, int count)
{
	for (int i = 0; i < count; i++)
		if (!tsurugi_stored_type_fits(table, described, i))
			refuse(table, described, i);
}

/*
 * keys_same.c
 *	  Whether a storage has the described keys.
 *
 * A storage keeps the encoding of its keys.  Of the way in which the host has converted their
 * values it keeps only two numbers, which are enough to notice that they would now be converted in
 * another way, or by other versions of their collations.
 */
#include "postgres.h"

#include "runtime/index/index_spec.h"
#include "src/table/keys.h"
#include "src/value/gin.h"
#include "src/value/key_column.h"
#include "src/table/hidden.h"

/* Also after a restart: a storage may have been made by another version of the library. */
static bool
is_same_part(const tg_key_part *a, const tg_key_part *b)
{
	return a->column == b->column && a->code == b->code && a->order == b->order && a->header_bytes == b->header_bytes &&
		   a->long_above == b->long_above && a->ranking.compare == b->ranking.compare &&
		   a->ranking.collation == b->ranking.collation && a->ranking.type == b->ranking.type;
}

/* Keys that were stored before versions were kept have none. */
bool
tsurugi_key_is_in_order(const tg_key_spec *a, const tg_key_spec *b)
{
	return a->host_order == b->host_order || a->host_order == 0 || b->host_order == 0;
}

bool
tsurugi_key_is_same(const tg_key_spec *a, const tg_key_spec *b)
{
	if (a->part_count != b->part_count || a->host_form != b->host_form || !tsurugi_key_is_in_order(a, b))
		return false;
	for (int i = 0; i < a->part_count; i++)
		if (!is_same_part(&a->part[i], &b->part[i]))
			return false;
	return true;
}

bool
tsurugi_index_is_same(const tg_index_spec *a, const tg_index_spec *b)
{
	return a->host == b->host && a->unique == b->unique && a->several == b->several &&
		   a->nulls_not_distinct == b->nulls_not_distinct && a->partial == b->partial &&
		   (!a->partial || a->predicate == b->predicate) && a->hidden_count == b->hidden_count &&
		   memcmp(a->hidden_kinds, b->hidden_kinds, a->hidden_count) == 0 && tsurugi_key_is_same(&a->key, &b->key);
}

bool
tsurugi_keys_are_same(const tsurugi_relation *a, const tsurugi_relation *b)
{
	if (a->index_count != b->index_count || a->hidden_count != b->hidden_count || a->source_count != b->source_count)
		return false;
	for (int i = 0; i < a->index_count; i++)
	{
		if (a->indexes[i].constraint != b->indexes[i].constraint || a->indexes[i].primary != b->indexes[i].primary ||
			a->indexes[i].deferrable != b->indexes[i].deferrable || a->indexes[i].valid != b->indexes[i].valid ||
			!tsurugi_index_is_same(a->indexes[i].spec, b->indexes[i].spec) ||
			memcmp(a->indexes[i].sources, b->indexes[i].sources, a->indexes[i].spec->hidden_count * sizeof(int)) != 0)
			return false;
		for (int k = 0; k < a->indexes[i].key_count; k++)
		{
			if (a->indexes[i].key[k].collation != b->indexes[i].key[k].collation ||
				a->indexes[i].key[k].family != b->indexes[i].key[k].family ||
				a->indexes[i].key[k].ordered != b->indexes[i].key[k].ordered)
				return false;
		}
	}
	for (int i = 0; i < a->source_count; i++)
	{
		if (a->hidden[i].canonical != b->hidden[i].canonical ||
			a->hidden[i].origin.sorted != b->hidden[i].origin.sorted ||
			a->hidden[i].comparison != b->hidden[i].comparison || a->hidden[i].cover != b->hidden[i].cover ||
			a->hidden[i].hashed != b->hidden[i].hashed || a->hidden[i].hash != b->hidden[i].hash ||
			a->hidden[i].origin.collation != b->hidden[i].origin.collation ||
			!equal(a->hidden[i].source, b->hidden[i].source) ||
			!tsurugi_gin_is_same(a->hidden[i].gin, b->hidden[i].gin))
			return false;
	}
	return true;
}

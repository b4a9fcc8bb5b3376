/*
 * foreign_key_known.c
 *	  This backend's cache of foreign keys, for the triggers, which use it row by row.
 */
#include "postgres.h"

#include "src/constraint/foreign_key_known.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_constraint.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "src/constraint/foreign_key.h"
#include "src/txn/deferred.h"

static HTAB *known_keys;

static void
forget_keys(Datum argument, int cache, uint32 hash)
{
	HASH_SEQ_STATUS status;
	tsurugi_known_key *key;

	hash_seq_init(&status, known_keys);
	while ((key = hash_seq_search(&status)) != NULL)
		key->valid = false;
}

static void
read_constraint(tsurugi_known_key *key)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(key->constraint));
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", key->constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype != CONSTRAINT_FOREIGN)
		elog(ERROR, "constraint %u is not a foreign key constraint", key->constraint);
	key->name = form->conname;
	key->child = form->conrelid;
	key->parent = form->confrelid;
	key->full = form->confmatchtype == FKCONSTR_MATCH_FULL;
	key->on_update = form->confupdtype;
	key->on_delete = form->confdeltype;
	key->deferrable = form->condeferrable;
	key->initially_deferred = form->condeferred;
	DeconstructFkConstraintRow(tuple, &key->count, key->child_columns, key->parent_columns, key->operators, NULL,
							   key->child_operators, NULL, NULL);
	ReleaseSysCache(tuple);
	key->valid = true;
}

tsurugi_known_key *
tsurugi_known_key_find(Oid constraint)
{
	tsurugi_known_key *key;
	bool found;

	if (known_keys == NULL)
	{
		HASHCTL config = {.keysize = sizeof(Oid), .entrysize = sizeof(tsurugi_known_key)};

		known_keys = hash_create("foreign keys of tsurugi_fdw", 16, &config, HASH_ELEM | HASH_BLOBS);
		CacheRegisterSyscacheCallback(CONSTROID, forget_keys, (Datum) 0);
	}
	key = hash_search(known_keys, &constraint, HASH_ENTER, &found);
	if (!found)
	{
		key->valid = false;
		key->plan = NULL;
	}
	if (key->plan != NULL && (!key->valid || !SPI_plan_is_valid(key->plan)))
	{
		/* A name in its text may have changed. */
		SPI_freeplan(key->plan);
		key->plan = NULL;
	}
	if (!key->valid)
		read_constraint(key);
	tg_assert(key->count > 0 && key->count <= INDEX_MAX_KEYS);
	return key;
}

bool
tsurugi_foreign_key_cascades(Oid constraint)
{
	return tsurugi_known_key_find(constraint)->on_update == FKCONSTR_ACTION_CASCADE;
}

bool
tsurugi_known_key_waits(const tsurugi_known_key *key)
{
	return key->deferrable && tsurugi_is_deferred(key->constraint, key->initially_deferred);
}

Bitmapset *
tsurugi_add_columns(Bitmapset *columns, const AttrNumber *more, int count)
{
	for (int i = 0; i < count; i++)
		columns = bms_add_member(columns, more[i] - FirstLowInvalidHeapAttributeNumber);
	return columns;
}

MinimalTuple
tsurugi_part_of_row(Relation relation, TupleTableSlot *row, const Bitmapset *columns)
{
	int natts = RelationGetDescr(relation)->natts;
	Datum *values = palloc0(natts * sizeof(Datum));
	bool *nulls = palloc(natts * sizeof(bool));
	int member = -1;

	memset(nulls, true, natts * sizeof(bool));
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		int column = member + FirstLowInvalidHeapAttributeNumber;

		tg_assert(column > 0 && column <= natts);
		values[column - 1] = slot_getattr(row, column, &nulls[column - 1]);
	}
	return heap_form_minimal_tuple(RelationGetDescr(relation), values, nulls);
}

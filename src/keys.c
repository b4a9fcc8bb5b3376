/*
 * keys.c
 *	  Primary keys of foreign tables as entries in PostgreSQL's catalogs.
 *
 * PostgreSQL refuses keys on foreign tables in its parser, not in its
 * catalogs: index_create() with SKIP_BUILD and PARTITIONED makes an entry of
 * relkind 'I', which has no storage.  PostgreSQL then knows the key (\d, ON
 * CONFLICT, GROUP BY, names, dependencies, DROP, pg_dump) and plans no path
 * over it, because it plans none over a partitioned index.  A plain 'i' would
 * be opened by the planner, and crash it.
 *
 * This rests on exported functions, but on no promise: the regression tests
 * ddl and key show each use.
 */
#include "postgres.h"

#include "src/keys.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

_Static_assert(TG_KEY_COLUMN_MAX >= INDEX_MAX_KEYS, "a key of PostgreSQL's has no more columns than ours");

static void
refuse_column(const char *name, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("column \"%s\" cannot be in a primary key of a table in memory", name),
					errdetail_internal("%s", _(reason))));
}

/* The attribute of a key's column, which must be there once, and of a type that keys can have. */
static AttrNumber
find_column(Relation relation, const char *name, const AttrNumber *before, int before_count)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(relation), name);
	tsurugi_codec codec;
	const char *reason;
	uint8_t code;
	bool ordered;

	if (attnum == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" named in key does not exist", name)));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("index creation on system columns is not supported")));
	for (int i = 0; i < before_count; i++)
	{
		if (before[i] == attnum)
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN),
							errmsg("column \"%s\" appears twice in primary key constraint", name)));
	}
	tsurugi_codec_init(&codec, TupleDescAttr(RelationGetDescr(relation), attnum - 1));
	if (!tsurugi_key_code(&codec, &code, &ordered, &reason))
		refuse_column(name, reason);
	return attnum;
}

static IndexInfo *
make_index_info(const AttrNumber *attnums, int count)
{
	IndexInfo *info = makeIndexInfo(count, count, BTREE_AM_OID, NIL, NIL, true, false, true, false);

	memcpy(info->ii_IndexAttrNumbers, attnums, count * sizeof(AttrNumber));
	return info;
}

void
tsurugi_key_create(Relation relation, const char *name, List *columns)
{
	AttrNumber attnums[INDEX_MAX_KEYS];
	Oid collations[INDEX_MAX_KEYS];
	Oid classes[INDEX_MAX_KEYS];
	int16 options[INDEX_MAX_KEYS] = {0};
	List *names = NIL;
	ListCell *cell;
	int count = 0;

	if (list_length(columns) > INDEX_MAX_KEYS)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("cannot use more than %d columns in an index", INDEX_MAX_KEYS)));
	if (OidIsValid(RelationGetPrimaryKeyIndex(relation)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("multiple primary keys for table \"%s\" are not allowed", RelationGetRelationName(relation))));
	foreach (cell, columns)
	{
		Form_pg_attribute attribute;

		attnums[count] = find_column(relation, strVal(lfirst(cell)), attnums, count);
		attribute = TupleDescAttr(RelationGetDescr(relation), attnums[count] - 1);
		collations[count] = attribute->attcollation;
		classes[count] = GetDefaultOpClass(attribute->atttypid, BTREE_AM_OID);
		names = lappend(names, pstrdup(NameStr(attribute->attname)));
		count++;
	}
	if (name == NULL)
		name =
			ChooseRelationName(RelationGetRelationName(relation), NULL, "pkey", RelationGetNamespace(relation), true);
	(void) index_create(relation, name, InvalidOid, InvalidOid, InvalidOid, InvalidOid, make_index_info(attnums, count),
						names, BTREE_AM_OID, InvalidOid, collations, classes, options, (Datum) 0,
						INDEX_CREATE_IS_PRIMARY | INDEX_CREATE_ADD_CONSTRAINT | INDEX_CREATE_SKIP_BUILD |
							INDEX_CREATE_PARTITIONED,
						0, false, false, NULL);
	CommandCounterIncrement();
}

void
tsurugi_key_describe(tsurugi_relation *described, Oid index)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	form = (Form_pg_index) GETSTRUCT(tuple);
	described->key_index = index;
	described->key_constraint = get_index_constraint(index);
	described->key_count = form->indnkeyatts;
	described->key = palloc0(form->indnkeyatts * sizeof(tsurugi_key_column));
	described->key_spec.part_count = form->indnkeyatts;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		tsurugi_key_column *column = &described->key[i];
		const tsurugi_codec *codec = &described->codecs[form->indkey.values[i] - 1];
		Oid class = GetDefaultOpClass(codec->type, BTREE_AM_OID);
		const char *reason;

		column->attnum = form->indkey.values[i];
		column->type = codec->type;
		column->collation = codec->collation;
		column->family = get_opclass_family(class);
		column->opcintype = get_opclass_input_type(class);
		column->part.column = column->attnum - 1;
		column->part.header_bytes = codec->header_bytes;
		if (!tsurugi_key_code(codec, &column->part.code, &column->ordered, &reason))
			elog(ERROR, "column %d of relation %u cannot be in a key: %s", column->attnum, described->oid, reason);
		described->key_spec.part[i] = column->part;
	}
	ReleaseSysCache(tuple);
}

bool
tsurugi_key_is_same(const tg_key_spec *a, const tg_key_spec *b)
{
	if (a->part_count != b->part_count)
		return false;
	for (int i = 0; i < a->part_count; i++)
	{
		if (a->part[i].column != b->part[i].column || a->part[i].code != b->part[i].code)
			return false;
	}
	return true;
}

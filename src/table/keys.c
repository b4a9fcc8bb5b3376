/*
 * keys.c
 *	  Describes a table's indexes for the storage, from the catalogs.
 *
 * The storage makes keys from columns as they are stored (runtime/order/key.h).  So every part of
 * an index that is not a plain column whose stored form is equal byte by byte gets a hidden value:
 * an expression its value, a predicate whether it holds, a column of another type its canonical
 * bytes or, if none are known, its rank (ranking.h), and a column with an extent its cover
 * (cover.h).  Each index has its own hidden values (index/hidden.h), so that it can be made and
 * dropped by itself.  But rows are found by the primary key for their whole life, and it consists
 * of columns of the rows alone: its hidden values are such columns, before the attributes.
 */
#include "postgres.h"

#include "src/table/keys.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "runtime/order/key_spec.h"
#include "runtime/table/table.h"
#include "runtime/index/index_spec.h"
#include "runtime/index/long_key.h"
#include "src/value/cover.h"
#include "src/value/gin.h"
#include "src/value/key_column.h"
#include "src/value/key_form.h"
#include "src/value/key_order.h"
#include "src/value/served.h"
#include "src/value/type_parts.h"
#include "src/table/hidden.h"

_Static_assert(TG_KEY_COLUMN_MAX >= INDEX_MAX_KEYS, "an index of PostgreSQL's has no more columns than ours");

/* The operator class of a column of an index. */
static Oid
class_of(Relation index, int at)
{
	bool null;

	return ((const oidvector *) DatumGetPointer(
				SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indclass, &null)))
		->values[at];
}

/* The type of a column; not the type that the access method would store. */
static Oid
type_of(Relation index, int at)
{
	AttrNumber attnum = index->rd_index->indkey.values[at];

	return attnum != 0 ? get_atttype(index->rd_index->indrelid, attnum)
					   : exprType((Node *) tsurugi_index_expression(index, at));
}

/*
 * The operator class whose keys represent a column, of an index USING gin or of one that is served
 * like it; InvalidOid: none.
 */
static Oid
gin_class_of(Relation index, int at)
{
	return tsurugi_served_gin(RelationGetRelid(index), index->rd_rel->relam, class_of(index, at), type_of(index, at));
}

/* --- describing ----------------------------------------------------------------- */

/* The number of a source, which is added if it is new. */
static int
number_source(tsurugi_relation *described, const tsurugi_hidden *source)
{
	/*
	 * Lists of keys, for columns of gin, are never shared: each operator class has keys of its own.
	 */
	for (int i = 0; i < described->source_count && source->gin == NULL; i++)
	{
		const tsurugi_hidden *hidden = &described->hidden[i];

		if (hidden->canonical == source->canonical && hidden->origin.sorted == source->origin.sorted &&
			hidden->comparison == source->comparison && hidden->cover == source->cover &&
			hidden->hashed == source->hashed && hidden->hash == source->hash &&
			hidden->origin.collation == source->origin.collation && equal(hidden->source, source->source))
			return i;
	}
	described->hidden = described->hidden == NULL
							? palloc(sizeof(tsurugi_hidden))
							: repalloc(described->hidden, (described->source_count + 1) * sizeof(tsurugi_hidden));
	described->hidden[described->source_count] = *source;
	described->hidden[described->source_count].source = copyObject(source->source);
	return described->source_count++;
}

/* A column of the storage, for the primary key, which is described first. */
static int
key_column(tsurugi_relation *described, int source)
{
	if (described->attribute_count + source >= TG_COLUMN_MAX)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("too many columns in relation with OID %u", described->oid)));
	described->hidden_count = Max(described->hidden_count, source + 1);
	return source;
}

/* The column that represents a source in an index's key or predicate. */
static int
hidden_column(tsurugi_relation *described, tsurugi_index *index, const tsurugi_hidden *source)
{
	int number = number_source(described, source);

	if (index->primary)
		return key_column(described, number);
	for (int i = 0; i < index->spec->hidden_count; i++)
		if (index->sources[i] == number)
			return TG_KEY_HIDDEN | i;
	index->sources[index->spec->hidden_count] = number;
	index->spec->hidden_kinds[index->spec->hidden_count] = source->stored.kind;
	return TG_KEY_HIDDEN | index->spec->hidden_count++;
}

Expr *
tsurugi_index_expression(Relation index, int position)
{
	int at = 0;

	if (position < 0)
		return (Expr *) makeBoolConst(true, false);
	for (int i = 0; i < position; i++)
		at += index->rd_index->indkey.values[i] == 0;
	return list_nth(RelationGetIndexExpressions(index), at);
}

/*
 * The definition of a column of the catalogs' index: an expression on the table's columns, and its
 * codec.
 */
static Expr *
expression_at(const tsurugi_relation *described, Relation relation, Relation index, int position, tsurugi_codec *codec)
{
	AttrNumber attnum = index->rd_index->indkey.values[position];
	Expr *expression;

	if (attnum != 0)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);

		*codec = described->codecs[attnum - 1];
		expression = (Expr *) makeVar(1, attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
	}
	else
	{
		expression = tsurugi_index_expression(index, position);
		tsurugi_codec_init_type(codec, exprType((Node *) expression), exprTypmod((Node *) expression), InvalidOid);
	}
	codec->collation = index->rd_indcollation[position];
	return expression;
}

/* Sets the stored column, and the way in which it is encoded. */
static void
place_column(tsurugi_relation *described, tsurugi_index *out, tsurugi_key_column *column, Expr *expression,
			 const tsurugi_codec *codec, const tsurugi_key_form *form)
{
	tsurugi_hidden source = {.source = (Node *) expression,
							 .canonical = form->canonical,
							 .comparison = form->comparison,
							 .cover = form->cover,
							 .hashed = form->hashed,
							 .hash = form->hash,
							 .origin = *codec,
							 .stored = *codec};
	bool is_made = form->canonical || form->cover || form->hashed;

	if (OidIsValid(form->comparison) || OidIsValid(form->hash))
		tsurugi_type_refresh_parts(codec->type);
	if (form->hashed)
		tsurugi_codec_init_type(&source.stored, INT8OID, -1, InvalidOid);
	else if (is_made)
		tsurugi_key_form_codec(&source.stored);
	source.origin.sorted = form->sorted;
	tsurugi_key_form_set(column, codec, &source.stored, form);
	column->is_plain = column->attnum != 0 && !is_made;
	column->part.column = column->is_plain ? column->attnum - 1 : hidden_column(described, out, &source);
}

/*
 * The operator family that orders a column here: the index's if it is a B-tree, otherwise the
 * default one of its class's type.
 */
static Oid
family_of(Relation index, int position, Oid type, Oid *opcintype_out)
{
	Oid class;

	*opcintype_out = index->rd_opcintype[position];
	if (index->rd_rel->relam == BTREE_AM_OID)
		return index->rd_opfamily[position];
	class = GetDefaultOpClass(IsPolymorphicType(*opcintype_out) ? type : *opcintype_out, BTREE_AM_OID);
	if (!OidIsValid(class))
		return InvalidOid;
	*opcintype_out = get_opclass_input_type(class);
	return get_opclass_family(class);
}

/*
 * Whether texts in the key are sort keys.  This does not depend on the use of the key: its order
 * may be needed later, and point work with such a key costs hardly more than with bytes
 * (test/bench/README.md).  If a key must be short, its column can have the collation C.
 */
static bool
is_for_order(Relation index)
{
	return index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relam == BRIN_AM_OID;
}

/* Chooses the form of values in the key, and the operator family by which they are looked for. */
static void
choose_form(Relation index, int position, tsurugi_served served, const tsurugi_codec *codec, tsurugi_key_column *column,
			tsurugi_key_form *form)
{
	Oid method = index->rd_rel->relam;

	column->family = index->rd_opfamily[position];
	column->opcintype = index->rd_opcintype[position];
	column->equality = served == TSURUGI_SERVED_BY_EQUALITY;
	*form = (tsurugi_key_form){.code = TG_KEY_STRING, .cover = true};
	if (column->equality)
		tsurugi_key_form_by_equality(
			codec, method == HASH_AM_OID ? column->family : tsurugi_usual_family(column->opcintype, HASH_AM_OID),
			column->opcintype, form);
	else if (served == TSURUGI_SERVED_BY_ORDER)
	{
		Oid input;
		Oid family = family_of(index, position, codec->type, &input);

		tsurugi_key_form_by_order(codec, family, input, is_for_order(index), form);
		if (method != BRIN_AM_OID)
		{
			column->family = family;
			column->opcintype = input;
		}
	}
}

static void
add_column(tsurugi_relation *described, Relation relation, Relation index, int position, tsurugi_served served,
		   tsurugi_index *out)
{
	tsurugi_key_column *column = &out->key[out->key_count++];
	int16 option = index->rd_rel->relam == BTREE_AM_OID ? index->rd_indoption[position] : 0;
	tsurugi_codec codec;
	Expr *expression = expression_at(described, relation, index, position, &codec);
	tsurugi_key_form form;

	column->attnum = index->rd_index->indkey.values[position];
	column->position = position;
	column->collation = index->rd_indcollation[position];
	choose_form(index, position, served, &codec, column, &form);
	place_column(described, out, column, expression, &codec, &form);
	if (!out->primary)
		column->part.order = TG_KEY_NULLABLE | ((option & INDOPTION_NULLS_FIRST) != 0 ? TG_KEY_NULLS_FIRST : 0) |
							 ((option & INDOPTION_DESC) != 0 ? TG_KEY_DESCENDING : 0);
}

/* Adds a column with the same value for all rows. */
static void
add_constant_column(tsurugi_relation *described, tsurugi_index *out)
{
	tsurugi_key_column *column = &out->key[out->key_count++];
	tsurugi_key_form form = {.code = TG_KEY_UNSIGNED};
	tsurugi_codec codec;

	tsurugi_codec_init_type(&codec, BOOLOID, -1, InvalidOid);
	column->position = -1;
	place_column(described, out, column, tsurugi_index_expression(NULL, column->position), &codec, &form);
}

/*
 * Columns behind the first one with covers would not make ranges of keys smaller.  Columns that are
 * served by keys of their own have no place in a key of several columns; neither has a column that
 * would be served so only because an operator class of gin was added after the index.
 */
static void
describe_columns(tsurugi_relation *described, Relation relation, Relation index, tsurugi_index *out)
{
	tsurugi_served served = TSURUGI_SERVED_BY_NOTHING;

	for (int i = 0; i < index->rd_index->indnkeyatts && served != TSURUGI_SERVED_BY_COVER; i++)
	{
		served =
			tsurugi_served_of(index->rd_rel->relam, class_of(index, i), type_of(index, i), index->rd_indcollation[i]);
		if (served != TSURUGI_SERVED_BY_NOTHING && served != TSURUGI_SERVED_BY_KEYS)
			add_column(described, relation, index, i, served, out);
	}
	if (out->key_count == 0)
		add_constant_column(described, out);
}

static void
describe_predicate(tsurugi_relation *described, Relation index, tsurugi_index *out)
{
	List *conditions = RelationGetIndexPredicate(index);
	tsurugi_hidden source = {0};

	if (conditions == NIL)
		return;
	tsurugi_codec_init_type(&source.stored, BOOLOID, -1, InvalidOid);
	source.source = (Node *) make_ands_explicit(conditions);
	source.origin = source.stored;
	out->spec->partial = true;
	out->spec->predicate = hidden_column(described, out, &source);
}

/* --- EXCLUDE -------------------------------------------------------------------- */

/* The attributes whose change requires that a row is checked again. */
static Bitmapset *
attributes_of(Relation index)
{
	Bitmapset *attributes = NULL;

	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		if (index->rd_index->indkey.values[i] != 0)
			attributes =
				bms_add_member(attributes, index->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &attributes);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &attributes);
	return attributes;
}

static bool
is_equality(Oid operator, Relation index, int position, const tsurugi_codec *codec)
{
	Oid opcintype;
	Oid family = family_of(index, position, codec->type, &opcintype);

	return OidIsValid(family) && get_op_opfamily_strategy(operator, family) == BTEqualStrategyNumber;
}

/*
 * Rows that may conflict are found by the columns that must be equal, and then by the cover of one
 * more; the others are tested in each row.  If there is neither, all rows have one key.
 */
static void
describe_exclusion(tsurugi_relation *described, Relation relation, Relation index, tsurugi_index *out)
{
	int count = index->rd_index->indnkeyatts;
	int covered = -1;
	Oid *operators;
	uint16 *strategies;

	out->attributes = attributes_of(index);
	described->has_exclusions |= !out->deferrable;
	RelationGetExclusionInfo(index, &operators, &out->exclusion, &strategies);
	for (int i = 0; i < count; i++)
	{
		tsurugi_codec codec;

		(void) expression_at(described, relation, index, i, &codec);
		if (is_equality(operators[i], index, i, &codec))
			add_column(described, relation, index, i, TSURUGI_SERVED_BY_ORDER, out);
		else if (covered < 0 && tsurugi_cover_is_possible(codec.type) && tsurugi_cover_answers(out->exclusion[i]))
			covered = i;
	}
	if (covered >= 0)
		add_column(described, relation, index, covered, TSURUGI_SERVED_BY_COVER, out);
	if (out->key_count == 0)
		add_constant_column(described, out);
}

/* --- gin ------------------------------------------------------------------------ */

/*
 * One hidden value has the keys of all columns, except for columns without keys.  False: no column
 * has any.
 */
static bool
describe_gin(tsurugi_relation *described, Relation relation, Relation index, tsurugi_index *out)
{
	int count = index->rd_index->indnkeyatts;
	bytea **options = index->rd_rel->relam == GIN_AM_OID ? RelationGetIndexAttOptions(index, false) : NULL;
	tsurugi_gin *gin = palloc(sizeof(*gin));
	tsurugi_hidden source = {.gin = gin};
	List *values = NIL;

	*gin = (tsurugi_gin){.columns = palloc0(count * sizeof(tsurugi_gin_column)),
						 .keys = palloc0(count * sizeof(tsurugi_key_column))};
	for (int i = 0; i < count; i++)
	{
		Oid class = gin_class_of(index, i);
		tsurugi_key_column *column = &gin->keys[gin->column_count];
		tsurugi_codec codec;
		Expr *value;

		if (!OidIsValid(class))
			continue;
		value = expression_at(described, relation, index, i, &codec);
		if (!tsurugi_gin_describe_column(class, codec.type, index->rd_indcollation[i],
										 options == NULL ? NULL : options[i], &gin->columns[gin->column_count], column))
			continue;
		gin->column_count++;
		values = lappend(values, value);
		column->attnum = index->rd_index->indkey.values[i];
		column->position = i;
		column->collation = index->rd_indcollation[i];
		column->family = get_opclass_family(class);
		column->opcintype = get_opclass_input_type(class);
	}
	if (values == NIL)
		return false;
	tsurugi_key_form_codec(&source.stored);
	source.origin = source.stored;
	source.source = (Node *) values;
	out->gin = gin;
	out->key = gin->keys;
	out->key_count = gin->column_count;
	out->spec->several = true;
	out->spec->key.part_count = 1;
	out->spec->key.part[0] = (tg_key_part){.column = hidden_column(described, out, &source),
										   .code = TG_KEY_STRING,
										   .header_bytes = source.stored.header_bytes};
	return true;
}

/* --- all of a table ------------------------------------------------------------- */

/* Long strings among the columns share the space in the key (index/long_key.h). */
static void
share_bytes(tsurugi_index *out)
{
	tg_key_part parts[TG_KEY_COLUMN_MAX];
	uint8_t kinds[TG_KEY_COLUMN_MAX];

	for (int i = 0; i < out->key_count; i++)
	{
		parts[i] = out->key[i].part;
		kinds[i] = out->key[i].codec.kind;
	}
	tg_key_parts_share(parts, kinds, out->key_count);
	for (int i = 0; i < out->key_count; i++)
		/* Covers are short. */
		out->key[i].part.long_above = out->key[i].cover ? 0 : parts[i].long_above;
	out->spec->key.part_count = out->key_count;
}

/*
 * The way in which values are converted, as a number: entries that were made in another way, when
 * types had other operator classes, cannot be used.
 */
static uint32
number_form(const tsurugi_key_column *key, int count)
{
	uint32 form = 0;

	for (int i = 0; i < count; i++)
	{
		form = hash_combine(form, key[i].comparison);
		form = hash_combine(form, key[i].hash_family);
		form = hash_combine(form, key[i].part.code | key[i].canonical << 8 | key[i].origin.sorted << 9 |
									  key[i].cover << 10 | key[i].hashed << 11);
	}
	return form;
}

/* The versions of collations by which values are converted, as a number. */
static uint32
number_order(const tsurugi_key_column *key, int count)
{
	uint32 order = 0;

	for (int i = 0; i < count; i++)
	{
		uint32 versions = tsurugi_key_order(&key[i]);

		if (versions != 0)
			order = hash_combine(order, versions);
	}
	return order;
}

static void
describe_index(tsurugi_relation *described, Relation relation, Relation index, tsurugi_index *out)
{
	const FormData_pg_index *form = index->rd_index;

	out->oid = RelationGetRelid(index);
	out->constraint = get_index_constraint(out->oid);
	out->method = index->rd_rel->relam;
	out->primary = form->indisprimary && form->indimmediate;
	out->deferrable = (form->indisunique || form->indisexclusion) && !form->indimmediate;
	out->valid = form->indisvalid;
	out->key = palloc0(form->indnkeyatts * sizeof(tsurugi_key_column));
	out->sources = palloc((form->indnkeyatts + 1) * sizeof(int));
	out->spec = palloc0(sizeof(tg_index_spec));
	out->spec->host = out->oid;
	out->spec->unique = form->indisunique && form->indimmediate;
	out->spec->nulls_not_distinct = form->indnullsnotdistinct;
	if (form->indisexclusion)
		describe_exclusion(described, relation, index, out);
	else if (!OidIsValid(gin_class_of(index, 0)) || !describe_gin(described, relation, index, out))
		describe_columns(described, relation, index, out);
	if (out->gin == NULL)
		share_bytes(out);
	out->spec->key.host_form = number_form(out->key, out->key_count);
	out->spec->key.host_order = number_order(out->key, out->key_count);
	describe_predicate(described, index, out);
}

/* The indexes' OIDs, the primary key's first. */
static List *
primary_first(List *indexes, Oid primary)
{
	if (!OidIsValid(primary))
		return indexes;
	return lcons_oid(primary, list_delete_oid(indexes, primary));
}

/* Called when the number of columns before the attributes is known. */
static void
place_attributes(const tsurugi_relation *described, tsurugi_index *index)
{
	for (int i = 0; i < index->key_count && index->gin == NULL; i++)
	{
		if (index->key[i].is_plain)
			index->key[i].part.column = tsurugi_column_of(described, index->key[i].part.column);
		index->spec->key.part[i] = index->key[i].part;
	}
}

/* Inserts the columns of hidden values before the attributes. */
static void
place_hidden(tsurugi_relation *described)
{
	int first = described->hidden_count;
	int count = described->attribute_count;

	described->column_count = first + count;
	if (first == 0)
		return;
	described->codecs = repalloc(described->codecs, (first + count) * sizeof(tsurugi_codec));
	described->kinds = repalloc(described->kinds, first + count);
	memmove(described->codecs + first, described->codecs, count * sizeof(tsurugi_codec));
	memmove(described->kinds + first, described->kinds, count);
	for (int i = 0; i < first; i++)
	{
		described->codecs[i] = described->hidden[i].stored;
		described->kinds[i] = described->hidden[i].stored.kind;
	}
}

void
tsurugi_keys_describe(tsurugi_relation *described, Relation relation)
{
	static const tg_key_spec no_key;
	List *oids = primary_first(RelationGetIndexList(relation), RelationGetPrimaryKeyIndex(relation));
	ListCell *cell;

	described->indexes = palloc0(Max(list_length(oids), 1) * sizeof(tsurugi_index));
	foreach (cell, oids)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		/* An index that CREATE INDEX CONCURRENTLY could not make is left out. */
		if (index->rd_index->indisready)
			describe_index(described, relation, index, &described->indexes[described->index_count++]);
		index_close(index, AccessShareLock);
	}
	for (int i = 0; i < described->index_count; i++)
	{
		tg_assert(i == 0 || !described->indexes[i].primary);
		place_attributes(described, &described->indexes[i]);
	}
	place_hidden(described);
	if (described->index_count > 0 && described->indexes[0].primary)
	{
		const tsurugi_index *primary = &described->indexes[0];

		described->key_index = primary->oid;
		described->key_count = primary->key_count;
		described->key = primary->key;
		described->key_spec = &primary->spec->key;
	}
	else
		described->key_spec = &no_key;
}

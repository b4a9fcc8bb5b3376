/*
 * gin.c
 *	  Indexes USING gin: the keys that operator classes extract from values and conditions.
 *
 * The code knows an operator class only by its support functions, which it calls as PostgreSQL's
 * access method does (src/backend/access/gin).  So it supports every operator class whose keys can
 * be told apart as bytes: keys that are compared by the default order of their type, and keys whose
 * comparison is known here to be that of bytes.
 *
 * Keys.  extractValue returns the keys of a value that is not NULL.  A NULL among them is a
 * category of its own; a value without keys gets a placeholder, so that it is found by conditions
 * that require no key.  Left out is PostgreSQL's placeholder for a NULL value: operators are
 * strict, so nothing looks for it.  The keys of all columns are in one list, each with its column
 * in front.
 *
 * Long keys are truncated.  The condition itself is evaluated on each row that an index finds in
 * any case (gin_scan.c), so it does not matter if it finds too many; only the existence of a key
 * says less then.
 */
#include "postgres.h"

#include "src/value/gin.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/key_list.h"
#include "runtime/order/value.h"
#include "runtime/index/index_spec.h"
#include "src/base/library.h"
#include "src/value/canonical.h"
#include "src/value/datum.h"
#include "src/value/key_form.h"

#define LIBRARY_BTREE_GIN "$libdir/btree_gin"
/* Bytes of a key that are kept; twice as many, escaped, are less than the longest key. */
#define KEY_PAYLOAD_MAX 500

_Static_assert(2 * KEY_PAYLOAD_MAX + 8 < TG_INDEX_KEY_BYTES_MAX, "a key that is cut off is not too long");

/* --- describing ------------------------------------------------------------------------ */

/* The type of the keys that an operator class extracts from a column. */
static Oid
key_type(Oid class, Oid type)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	Form_pg_opclass form;
	Oid key;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", class);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	key = form->opckeytype;
	/* As in index_create (ConstructTupleDescriptor). */
	if (key == ANYELEMENTOID && form->opcintype == ANYARRAYOID)
		key = get_base_element_type(type);
	ReleaseSysCache(tuple);
	return OidIsValid(key) ? key : type;
}

/*
 * Comparison functions of btree_gin for two types: they only add a value below all others, which is
 * in no row.
 */
static bool
compares_as_btree_gin(Oid function)
{
	return tsurugi_is_of_library(function, LIBRARY_BTREE_GIN, "gin_numeric_cmp") ||
		   tsurugi_is_of_library(function, LIBRARY_BTREE_GIN, "gin_enum_cmp");
}

/* Whether the function compares bytes, whatever the collation. */
static bool
compares_bytes(Oid function)
{
	return function == F_GIN_CMP_TSLEXEME || function == F_GIN_COMPARE_JSONB;
}

bool
tsurugi_gin_describe_column(Oid class, Oid type, Oid collation, const bytea *options, tsurugi_gin_column *column,
							tsurugi_key_column *key)
{
	Oid family = get_opclass_family(class);
	Oid input = get_opclass_input_type(class);
	Oid made = key_type(class, type);
	Oid compare;

	for (int i = 1; i <= GINNProcs; i++)
		column->functions[i] = get_opfamily_proc(family, input, input, i);
	/* As in initGinState. */
	column->collation = OidIsValid(collation) ? collation : DEFAULT_COLLATION_OID;
	column->options = NULL;
	if (options != NULL)
		column->options = memcpy(palloc(VARSIZE(options)), options, VARSIZE(options));

	compare = column->functions[GIN_COMPARE_PROC];
	if (compares_bytes(compare))
		return tsurugi_key_describe_value(TEXTOID, C_COLLATION_OID, key);
	if (OidIsValid(compare) && compare != lookup_type_cache(made, TYPECACHE_CMP_PROC)->cmp_proc &&
		!compares_as_btree_gin(compare))
		return false;
	return tsurugi_key_describe_value(made, column->collation, key);
}

bool
tsurugi_gin_compares_values(const tsurugi_gin *gin, int column)
{
	return gin->keys[column].ordered &&
		   tsurugi_is_of_library(gin->columns[column].functions[GIN_COMPARE_PARTIAL_PROC], LIBRARY_BTREE_GIN, NULL);
}

static bool
are_same_options(const bytea *a, const bytea *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

bool
tsurugi_gin_is_same(const tsurugi_gin *a, const tsurugi_gin *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	if (a->column_count != b->column_count)
		return false;
	for (int i = 0; i < a->column_count; i++)
	{
		const tsurugi_gin_column *left = &a->columns[i];
		const tsurugi_gin_column *right = &b->columns[i];

		if (memcmp(left->functions + 1, right->functions + 1, GINNProcs * sizeof(Oid)) != 0 ||
			left->collation != right->collation || !are_same_options(left->options, right->options) ||
			a->keys[i].type != b->keys[i].type)
			return false;
	}
	return true;
}

void
tsurugi_gin_function(const tsurugi_gin_column *column, int number, FmgrInfo *function)
{
	memset(function, 0, sizeof(*function));
	if (!OidIsValid(column->functions[number]))
		return;
	fmgr_info(column->functions[number], function);
	if (column->options != NULL)
		set_fn_opclass_options(function, column->options);
}

/* --- keys ---------------------------------------------------------------------------------- */

size_t
tsurugi_gin_encode(const tsurugi_gin *gin, int column, tsurugi_gin_category category, Datum key, unsigned char *to,
				   bool *cut)
{
	const tsurugi_key_column *made = &gin->keys[column];
	tg_value value;
	size_t bytes;

	_Static_assert(INDEX_MAX_KEYS << 2 <= 256, "column and category are a byte");
	tg_assert(column >= 0 && column < gin->column_count);
	to[0] = (unsigned char) (column << 2 | category);
	*cut = false;
	if (category != TSURUGI_GIN_KEY)
		return 1;
	if (made->canonical)
		key = tsurugi_canonical(made->type, gin->columns[column].collation, false, key);
	tsurugi_value(&made->codec, key, &value);
	/*
	 * A key of exactly this length is marked as truncated, too, because it may be the rest of a
	 * longer one.
	 */
	if (made->codec.kind == TG_KIND_STRING && tg_string_is_out(&value.string) &&
		tg_string_blob_bytes(&value.string) >= made->part.header_bytes + KEY_PAYLOAD_MAX)
	{
		*cut = true;
		value.string.word = (value.string.word & ~TG_STRING_LENGTH) | (made->part.header_bytes + KEY_PAYLOAD_MAX);
	}
	bytes = tg_key_append(to, 1, &made->part, (tg_kind) made->codec.kind, &value);
	tg_assert(bytes <= TG_INDEX_KEY_BYTES_MAX);
	return bytes;
}

/* --- lists of keys -------------------------------------------------------------- */

struct tsurugi_gin_maker
{
	const tsurugi_gin *gin;
	/* List of ExprState, by column. */
	List *values;
	FmgrInfo *extract; /* by column */
};

/*
 * The keys of a row while they are collected; they have offsets instead of addresses, because the
 * bytes may move.
 */
typedef struct Gathered
{
	StringInfoData bytes;
	StringInfoData ends; /* a uint32 for each key */
} Gathered;

tsurugi_gin_maker *
tsurugi_gin_prepare(const tsurugi_gin *gin, List *values, EState *estate)
{
	tsurugi_gin_maker *maker = palloc0(sizeof(*maker));

	maker->gin = gin;
	maker->values = ExecPrepareExprList(copyObject(values), estate);
	maker->extract = palloc(gin->column_count * sizeof(FmgrInfo));
	for (int i = 0; i < gin->column_count; i++)
		tsurugi_gin_function(&gin->columns[i], GIN_EXTRACTVALUE_PROC, &maker->extract[i]);
	return maker;
}

static void
gather(Gathered *gathered, const tsurugi_gin *gin, int column, tsurugi_gin_category category, Datum key)
{
	uint32 end;
	bool cut;

	enlargeStringInfo(&gathered->bytes, TG_KEY_BYTES_MAX);
	gathered->bytes.len += (int) tsurugi_gin_encode(gin, column, category, key,
													(unsigned char *) gathered->bytes.data + gathered->bytes.len, &cut);
	end = gathered->bytes.len;
	appendBinaryStringInfo(&gathered->ends, (const char *) &end, sizeof(end));
}

/* Collects the keys of a value that is not NULL. */
static void
gather_column(Gathered *gathered, tsurugi_gin_maker *maker, int column, Datum value)
{
	bool *nulls = NULL;
	int32 count = 0;
	Datum *keys =
		(Datum *) DatumGetPointer(FunctionCall3Coll(&maker->extract[column], maker->gin->columns[column].collation,
													value, PointerGetDatum(&count), PointerGetDatum(&nulls)));

	if (keys == NULL || count <= 0)
	{
		gather(gathered, maker->gin, column, TSURUGI_GIN_EMPTY, 0);
		return;
	}
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		gather(gathered, maker->gin, column, nulls != NULL && nulls[i] ? TSURUGI_GIN_NULL : TSURUGI_GIN_KEY, keys[i]);
	}
}

static Datum
make_list(const Gathered *gathered)
{
	unsigned count = gathered->ends.len / sizeof(uint32);
	const uint32 *ends = (const uint32 *) gathered->ends.data;
	tg_key_ref *keys = palloc_extended(count * sizeof(*keys), MCXT_ALLOC_HUGE);
	uint32 begin = 0;
	size_t bytes;
	bytea *list;

	for (unsigned i = 0; i < count; i++)
	{
		keys[i] = (tg_key_ref){.key = (const unsigned char *) gathered->bytes.data + begin, .bytes = ends[i] - begin};
		begin = ends[i];
	}
	count = tg_key_refs_sort(keys, count);
	bytes = VARHDRSZ + tg_key_list_bytes(keys, count);
	list = palloc(bytes); /* raises an error above a gigabyte */
	SET_VARSIZE(list, bytes);
	tg_key_list_write(VARDATA(list), keys, count);
	return PointerGetDatum(list);
}

Datum
tsurugi_gin_make_list(tsurugi_gin_maker *maker, ExprContext *context, bool *null)
{
	Gathered gathered;
	ListCell *cell;

	initStringInfo(&gathered.bytes);
	initStringInfo(&gathered.ends);
	foreach (cell, maker->values)
	{
		bool none;
		Datum value = ExecEvalExpr((ExprState *) lfirst(cell), context, &none);

		if (!none)
			gather_column(&gathered, maker, foreach_current_index(cell), value);
	}
	*null = gathered.ends.len == 0;
	return *null ? (Datum) 0 : make_list(&gathered);
}

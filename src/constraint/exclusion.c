/*
 * exclusion.c
 *	  EXCLUDE constraints of tables in memory: whether a row conflicts with another one.
 *
 * No two rows may have values for which all of the constraint's operators hold.  As in PostgreSQL
 * (check_exclusion_or_unique_constraint), a row is written first, and its rivals are looked for
 * afterwards (W8); runtime/txn/rival.c argues that this is sufficient.  The search uses the
 * constraint's columns as follows:
 *
 *	room WITH =, during WITH &&, kind WITH <>
 *	└── these must be equal ─────┘ └── of the others, one cover (cover.h); the rest in each row
 *
 * Every row that conflicts with a row has an entry in the ranges of keys that are searched: the
 * operators are commutative, so the ranges are those of "existing operator new".
 *
 *	at once		after each row is written: an UPDATE of several rows may fail in between, as in
 *				PostgreSQL
 *	deferred	by a trigger, which knows values and no row (deferred_key.c): a row with these
 *				values is looked for among the rivals, because it is one of them itself if it
 *				conflicts with any row
 *	ON CONFLICT DO NOTHING
 *				searches before the insertion as well.  If the inserted row conflicts, it is
 *				removed and searched for again.  A transaction that has met it meanwhile waits
 *				for this transaction; if this one in turn waits for that one, the deadlock
 *				detector ends one of the two.  PostgreSQL has a lock for such an insertion
 *				alone; the window is some microseconds.
 *
 * PostgreSQL evaluates operators, expressions and predicates, and they may do anything.  So they
 * are evaluated on copies of rows, outside of the epoch.
 */
#include "postgres.h"

#include "src/constraint/exclusion.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/index/find.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/txn/rival.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/owner.h"
#include "src/base/query.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/table/row_copy.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/seen_key.h"
#include "src/value/cover.h"
#include "src/value/cover_look.h"
#include "src/value/scan_fit.h"
#include "src/txn/writer.h"

/* Versions of one row that an open transaction has written, one after the other. */
#define VERSIONS_FIRST 4
/* With more versions, the row is not examined before that transaction has ended. */
#define VERSIONS_MOST 10000
#define VERIFY_ROWS 1000L /* rows that are fetched at a time */

/* One constraint. */
typedef struct Exclusion
{
	const tsurugi_index *index;
	IndexInfo *info;
	ExprState *predicate; /* NULL: there is none */
	int count;			  /* of the columns of the catalogs' index */
	FmgrInfo operators[INDEX_MAX_KEYS];
	Oid collations[INDEX_MAX_KEYS];
	Oid types[INDEX_MAX_KEYS];
	int16 lengths[INDEX_MAX_KEYS];
	bool by_value[INDEX_MAX_KEYS];
} Exclusion;

struct tsurugi_exclusions
{
	Relation relation;
	const tsurugi_relation *described;
	/* A separate one, because its per-tuple memory is reset for each version examined. */
	EState *estate;
	MemoryContext memory;	  /* for the check of one row */
	TupleTableSlot *existing; /* the version that is examined */
	TupleTableSlot *found;	  /* the row with which the new row conflicts */
	/* The attributes of other rows that are needed. */
	Bitmapset *attributes;
	tg_rival *versions;		  /* of the row that is examined */
	tsurugi_row_copy *copies; /* of these versions */
	int capacity;			  /* of both arrays */
	int wanted;
	tg_rivals *rivals;
	int count;
	Exclusion of[];
};

/* The result of examining the rivals of a row. */
typedef struct Finding
{
	bool taken; /* a live row conflicts */
	bool taken_at_start;
	bool open;
	bool has_own; /* by values: the row has found itself, as own */
	uint32_t own;
	uint32_t row; /* the row that conflicts */
	tg_wait wait;
} Finding;

/* --- preparing --------------------------------------------------------------------------- */

static void
init_exclusion(Exclusion *exclusion, tsurugi_exclusions *all, const tsurugi_index *index)
{
	Relation relation = index_open(index->oid, AccessShareLock);
	ListCell *next;

	exclusion->index = index;
	exclusion->info = BuildIndexInfo(relation);
	exclusion->count = exclusion->info->ii_NumIndexKeyAttrs;
	exclusion->predicate = ExecPrepareQual(exclusion->info->ii_Predicate, all->estate);
	next = list_head(exclusion->info->ii_Expressions);
	for (int i = 0; i < exclusion->count; i++)
	{
		AttrNumber attnum = exclusion->info->ii_IndexAttrNumbers[i];

		fmgr_info(index->exclusion[i], &exclusion->operators[i]);
		exclusion->collations[i] = relation->rd_indcollation[i];
		if (attnum != 0)
			exclusion->types[i] = TupleDescAttr(RelationGetDescr(all->relation), attnum - 1)->atttypid;
		else
		{
			exclusion->types[i] = exprType(lfirst(next));
			next = lnext(exclusion->info->ii_Expressions, next);
		}
		get_typlenbyval(exclusion->types[i], &exclusion->lengths[i], &exclusion->by_value[i]);
	}
	index_close(relation, AccessShareLock);
}

static void
make_copies(tsurugi_exclusions *all, int capacity)
{
	while (all->capacity < capacity)
		tsurugi_row_copy_init(&all->copies[all->capacity++], all->described, all->attributes);
}

/* attributes: those that are needed of other rows. */
static tsurugi_exclusions *
make(Relation relation, const tsurugi_relation *described, int count, const Bitmapset *attributes)
{
	tsurugi_exclusions *made = palloc0(offsetof(tsurugi_exclusions, of) + count * sizeof(Exclusion));
	TupleDesc columns;

	made->relation = relation;
	made->described = described;
	made->estate = CreateExecutorState();
	made->memory = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw exclusion", ALLOCSET_SMALL_SIZES);
	/*
	 * A copy, which has no reference count: after an error, or at the end of the statement, the
	 * slots may be left as they are.
	 */
	columns = CreateTupleDescCopy(RelationGetDescr(relation));
	made->existing = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
	made->existing->tts_tableOid = RelationGetRelid(relation);
	made->found = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
	made->attributes = bms_copy(attributes);
	made->versions = palloc(VERSIONS_FIRST * sizeof(tg_rival));
	made->copies = palloc(VERSIONS_FIRST * sizeof(tsurugi_row_copy));
	make_copies(made, VERSIONS_FIRST);
	made->rivals = palloc(sizeof(tg_rivals));
	return made;
}

static bool
is_checked_with_rows(const tsurugi_index *index)
{
	return index->exclusion != NULL && !index->deferrable;
}

tsurugi_exclusions *
tsurugi_exclusions_prepare(Relation relation, const tsurugi_relation *described)
{
	tsurugi_exclusions *made;
	Bitmapset *attributes = NULL;

	if (!described->has_exclusions)
		return NULL;
	for (int i = 0; i < described->index_count; i++)
		if (is_checked_with_rows(&described->indexes[i]))
			attributes = bms_add_members(attributes, described->indexes[i].attributes);
	made = make(relation, described, described->index_count, attributes);
	for (int i = 0; i < described->index_count; i++)
		if (is_checked_with_rows(&described->indexes[i]))
			init_exclusion(&made->of[made->count++], made, &described->indexes[i]);
	tg_assert(made->count > 0);
	return made;
}

tsurugi_exclusions *
tsurugi_exclusion_prepare_one(Relation relation, const tsurugi_relation *described, const tsurugi_index *index)
{
	Bitmapset *whole = bms_make_singleton(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber);
	tsurugi_exclusions *made = make(relation, described, 1, whole);

	tg_assert(index->exclusion != NULL);
	init_exclusion(&made->of[made->count++], made, index);
	return made;
}

void
tsurugi_exclusions_free(tsurugi_exclusions *exclusions)
{
	/* The rest lies in the caller's memory context and is left there. */
	ExecDropSingleTupleTableSlot(exclusions->existing);
	ExecDropSingleTupleTableSlot(exclusions->found);
	FreeExecutorState(exclusions->estate);
	MemoryContextDelete(exclusions->memory);
}

/* --- values ---------------------------------------------------------------------------------- */

/* False: the row does not concern the constraint, because of its predicate or a NULL. */
static bool
values_of(const tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *slot, Datum *values)
{
	ExprContext *context = GetPerTupleExprContext(all->estate);
	bool nulls[INDEX_MAX_KEYS];

	context->ecxt_scantuple = slot;
	if (exclusion->predicate != NULL && !ExecQual(exclusion->predicate, context))
		return false;
	FormIndexDatum(exclusion->info, slot, all->estate, values, nulls);
	for (int i = 0; i < exclusion->count; i++)
		if (nulls[i])
			return false;
	return true;
}

/* Does the same; the values stay valid while other rows are examined. */
static bool
values_to_keep(const tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *slot, Datum *values)
{
	ResetPerTupleExprContext(all->estate);
	if (!values_of(all, exclusion, slot, values))
		return false;
	for (int i = 0; i < exclusion->count; i++)
		values[i] = datumCopy(values[i], exclusion->by_value[i], exclusion->lengths[i]);
	return true;
}

/* Follows index_recheck_constraint. */
static bool
stands_against(const tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *existing, const Datum *values)
{
	Datum others[INDEX_MAX_KEYS];

	if (!values_of(all, exclusion, existing, others))
		return false;
	for (int i = 0; i < exclusion->count; i++)
		if (!DatumGetBool(FunctionCall2Coll(&exclusion->operators[i], exclusion->collations[i], others[i], values[i])))
			return false;
	return true;
}

/* Whether two rows have identical values. */
static bool
is_same_row(Relation relation, TupleTableSlot *a, TupleTableSlot *b)
{
	TupleDesc columns = RelationGetDescr(relation);

	slot_getallattrs(a);
	slot_getallattrs(b);
	for (int i = 0; i < columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);

		if (column->attisdropped)
			continue;
		if (a->tts_isnull[i] != b->tts_isnull[i] ||
			(!a->tts_isnull[i] &&
			 !datum_image_eq(a->tts_values[i], b->tts_values[i], column->attbyval, column->attlen)))
			return false;
	}
	return true;
}

static bool
is_same_value(const tsurugi_row *a, const tsurugi_row *b, int column)
{
	if (a->nulls[column] || b->nulls[column])
		return a->nulls[column] && b->nulls[column];
	if (a->described->kinds[column] < TG_KIND_16)
		return a->values[column].word == b->values[column].word;
	/* Equal long strings are shared (tsurugi_row_from_slot). */
	return memcmp(&a->values[column], &b->values[column], sizeof(tg_value)) == 0;
}

bool
tsurugi_exclusions_are_touched(const tsurugi_exclusions *exclusions, const tsurugi_row *old, const tsurugi_row *new)
{
	for (int i = 0; i < exclusions->described->attribute_count; i++)
		if (exclusions->copies[0].needed[i] && !is_same_value(old, new, tsurugi_column_of(old->described, i)))
			return true;
	return false;
}

/* --- the search for rivals ------------------------------------------------------------------- */

typedef struct Key
{
	unsigned char *data;
	size_t bytes;
} Key;

/* False: no row has this value. */
static bool
append(const tg_table *table, Key *key, const tsurugi_key_column *column, const tg_value *value)
{
	key->bytes = tg_key_append_of(table, key->data, key->bytes, &column->part, (tg_kind) column->codec.kind, value);
	if (key->bytes == SIZE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("key of an exclusion constraint is too large")));
	return key->bytes != TG_KEY_UNRANKED;
}

static void
append_cover(Key *key, const tsurugi_key_column *column, const unsigned char *cover)
{
	tg_value value;

	tg_string_make_inline(&value.string, cover, (unsigned) tsurugi_cover_bytes(column->type));
	(void) append(NULL, key, column, &value); /* it is short */
}

static Key
copy_key(const Key *key, size_t room)
{
	Key copy = {.data = palloc(key->bytes + room), .bytes = key->bytes};

	memcpy(copy.data, key->data, key->bytes);
	return copy;
}

/*
 * Makes the ranges of the cover column, behind the columns that must be equal.  Returns their
 * number.
 */
static unsigned
make_ranges(const Exclusion *exclusion, const tg_index *stored, const tsurugi_key_column *column, const Key *prefix,
			Datum value, tg_key_range *ranges)
{
	tsurugi_cover_range covers[TSURUGI_COVER_RANGES_MAX];
	Oid type = exclusion->types[column->position];
	tsurugi_cover_levels levels;
	int count;

	tsurugi_covers_look(tsurugi_session(), stored->tree, column, prefix->data, prefix->bytes, &levels);
	count =
		tsurugi_cover_query(exclusion->operators[column->position].fn_oid, column->type, type, value, &levels, covers);
	for (int i = 0; i < count; i++)
	{
		/* Each byte may be escaped. */
		Key low = copy_key(prefix, 4 * TSURUGI_COVER_BYTES_MAX);
		Key high = copy_key(prefix, 4 * TSURUGI_COVER_BYTES_MAX);

		append_cover(&low, column, covers[i].low);
		append_cover(&high, column, covers[i].high);
		ranges[i] =
			(tg_key_range){.low = low.data, .low_bytes = low.bytes, .high = high.data, .high_bytes = high.bytes};
	}
	return (unsigned) count;
}

/* Makes the ranges of the index's keys in which rivals of these values lie. */
static unsigned
find_ranges(const tsurugi_exclusions *all, const Exclusion *exclusion, const tg_index *in, const Datum *values,
			tg_key_range *ranges)
{
	const tsurugi_index *index = exclusion->index;
	Key key = {.data = palloc(TG_KEY_BYTES_MAX)};

	for (int i = 0; i < index->key_count; i++)
	{
		const tsurugi_key_column *column = &index->key[i];
		Datum value = column->position < 0 ? BoolGetDatum(true) : values[column->position];
		tg_value stored;

		if (column->cover)
			return make_ranges(exclusion, in, column, &key, value, ranges);
		if (tsurugi_fit_value(all->described->table, column, column->type, value, TG_KEY_BELOW, &stored) != FIT_WITHIN)
			/* No row has the value, not even this one, which has not been written. */
			return 0;
		if (!append(all->described->table, &key, column, &stored))
			return 0;
	}
	ranges[0] = (tg_key_range){.low = key.data, .low_bytes = key.bytes, .high = key.data, .high_bytes = key.bytes};
	return 1;
}

static bool
is_long(void)
{
	return tsurugi_kind == TG_TXN_LONG;
}

/* --- examination ----------------------------------------------------------------------------- */

/* Copies the relevant versions of a row.  Returns their number; -1: there was not enough room. */
static int
take_versions(tsurugi_exclusions *all, uint32_t row, tg_wait *wait_out)
{
	bool fits = true;

	all->wanted = (int) tg_rivals_look(all->rivals, row, all->versions, (unsigned) all->capacity, wait_out);
	if (all->wanted > VERSIONS_MOST)
	{
		all->versions[0].kind = TG_RIVAL_UNKNOWN;
		return 1;
	}
	if (all->wanted > all->capacity)
		return -1;
	for (int i = 0; i < all->wanted; i++)
		if (all->versions[i].kind != TG_RIVAL_UNKNOWN)
			fits &= tsurugi_row_copy_take(&all->copies[i], all->versions[i].version);
	return fits ? all->wanted : -1;
}

static void
make_room(tsurugi_exclusions *all)
{
	int capacity = Min(2 * all->wanted, VERSIONS_MOST);

	if (all->wanted > all->capacity)
	{
		MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(all));

		all->versions = repalloc(all->versions, capacity * sizeof(tg_rival));
		all->copies = repalloc(all->copies, capacity * sizeof(tsurugi_row_copy));
		make_copies(all, capacity);
		MemoryContextSwitchTo(caller);
		return;
	}
	for (int i = 0; i < all->wanted; i++)
		tsurugi_row_copy_make_room(&all->copies[i]);
}

/* Goes to the next row that may be a rival. */
static tg_status
next_row(tsurugi_exclusions *all, uint32_t *row_out, int *count_out, tg_wait *wait_out)
{
	tg_status status = tg_rivals_enter(all->rivals);

	if (status != TG_OK)
		return status;
	*count_out = 0;
	status = tg_rivals_step(all->rivals, row_out);
	if (status == TG_OK)
		*count_out = take_versions(all, *row_out, wait_out);
	tg_rivals_leave(all->rivals);
	while (status == TG_OK && *count_out < 0)
	{
		make_room(all);
		status = tg_rivals_enter(all->rivals);
		if (status != TG_OK)
			return status;
		*count_out = take_versions(all, *row_out, wait_out);
		tg_rivals_leave(all->rivals);
	}
	return status;
}

/* By values: whether this is the row itself, which is the first one with exactly these values. */
static bool
is_itself(const tsurugi_exclusions *all, TupleTableSlot *slot, uint32_t row, tg_rival_kind kind, Finding *finding)
{
	if (finding->has_own) /* a row may come again, through another entry */
		return row == finding->own;
	if (kind == TG_RIVAL_OPEN || !is_same_row(all->relation, all->existing, slot))
		return false;
	finding->has_own = true;
	finding->own = row;
	return true;
}

/* by_values: the slot's row is one of those that are found, or none of them. */
static void
judge_version(tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *slot, const Datum *values, bool by_values,
			  const tsurugi_row *copy, uint32_t row, tg_rival_kind kind, Finding *finding)
{
	tsurugi_row_to_slot(copy, row, all->existing);
	if (by_values && is_itself(all, slot, row, kind, finding))
		return;
	if ((kind == TG_RIVAL_LIVE && finding->taken) || !stands_against(all, exclusion, all->existing, values))
		return;
	if (kind == TG_RIVAL_OPEN)
		finding->open = true;
	else if (kind == TG_RIVAL_AT_START)
		finding->taken_at_start = true;
	else
	{
		finding->taken = true;
		finding->row = row;
		ExecCopySlot(all->found, all->existing);
	}
}

static tg_status
look_at_rivals(tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *slot, const Datum *values, bool by_values,
			   Finding *finding)
{
	tg_status status;
	tg_wait wait;
	uint32_t row;
	int count;

	while ((status = next_row(all, &row, &count, &wait)) == TG_OK)
	{
		bool was_open = finding->open;

		CHECK_FOR_INTERRUPTS();
		/* Operators leave memory in this context. */
		MemoryContextSwitchTo(GetPerTupleMemoryContext(all->estate));
		for (int i = 0; i < count; i++)
		{
			ResetPerTupleExprContext(all->estate);
			if (all->versions[i].kind == TG_RIVAL_UNKNOWN)
				finding->open = true;
			else
				judge_version(all, exclusion, slot, values, by_values, &all->copies[i].row, row, all->versions[i].kind,
							  finding);
		}
		MemoryContextSwitchTo(all->memory);
		if (finding->open && !was_open)
			finding->wait = wait;
		/* Further rows make no difference any more. */
		if (finding->taken && (!by_values || finding->has_own) && !is_long())
			return TG_OK;
	}
	return status == TG_NOT_FOUND ? TG_OK : status;
}

/*
 * own: TG_ROW_MAX if the row has not been written, or by_values.  Returns TG_OK, TG_EXISTS (found),
 * TG_BUSY, or an error.
 */
static tg_status
judge(tsurugi_exclusions *all, Exclusion *exclusion, TupleTableSlot *slot, uint32_t own, bool by_values, bool waits,
	  tg_wait *wait_out)
{
	MemoryContext caller = MemoryContextSwitchTo(all->memory);
	tg_key_range ranges[TSURUGI_COVER_RANGES_MAX];
	Datum values[INDEX_MAX_KEYS];
	Finding finding = {0};
	unsigned range_count = 0;
	tg_index *stored = NULL;
	tg_writer writer;
	tg_status status = TG_OK;

	MemoryContextReset(all->memory);
	if (values_to_keep(all, exclusion, slot, values))
	{
		stored = tg_index_find(all->described->table, exclusion->index->oid);
		if (stored == NULL)
			elog(ERROR, "index %u is not stored", exclusion->index->oid);
		range_count = find_ranges(all, exclusion, stored, values, ranges);
	}
	if (range_count > 0)
	{
		tsurugi_writer(NULL, TG_DATA, &writer);
		tg_rivals_begin(all->rivals, &writer, stored, own, ranges, range_count);
		status = look_at_rivals(all, exclusion, slot, values, by_values, &finding);
	}
	MemoryContextSwitchTo(caller);
	if (status != TG_OK || range_count == 0 || (by_values && !finding.has_own))
		return status;
	*wait_out = finding.wait;
	wait_out->row = finding.row;
	wait_out->index = stored;
	if (finding.open && !finding.taken)
		return waits ? tg_rivals_wait(all->rivals, wait_out) : TG_BUSY;
	if (is_long() && finding.taken != finding.taken_at_start)
		return tg_rivals_differ(all->rivals);
	return finding.taken ? TG_EXISTS : TG_OK;
}

/* --- at once -------------------------------------------------------------------- */

static void
fail(const tsurugi_exclusions *all, const Exclusion *exclusion, TupleTableSlot *slot, bool is_new)
{
	tsurugi_error_excluded(all->relation, exclusion->index->oid, slot, all->found, is_new);
}

/*
 * At SERIALIZABLE the snapshot must show the conflicting row, too; this counts as a read.
 * Otherwise the snapshot becomes a later one, or the transaction ends with 40001, and the row is
 * examined again.
 */
static bool
is_seen(const tsurugi_exclusions *all, EState *estate, uint32_t row, tg_version *noted)
{
	return !tsurugi_is_validated() || tsurugi_key_is_seen(estate, all->relation, all->described->table, row, noted);
}

void
tsurugi_exclusions_enforce(tsurugi_exclusions *exclusions, EState *estate, TupleTableSlot *slot, uint32_t row,
						   tsurugi_purpose purpose)
{
	if (tg_failpoint_refuses("skip_w8"))
		return;
	tg_failpoint("exclusion_between");
	for (int i = 0; i < exclusions->count;)
	{
		tg_version noted = TG_VERSION_NONE;
		tg_wait wait;
		tg_status status = judge(exclusions, &exclusions->of[i], slot, row, false, true, &wait);

		if (status == TG_OK)
			i++;
		else if (status == TG_BUSY)
			tsurugi_wait(&wait, exclusions->relation, purpose, TG_ROW_MAX);
		else if (status != TG_EXISTS)
			tsurugi_error(status, exclusions->relation);
		else if (is_seen(exclusions, estate, wait.row, &noted))
			fail(exclusions, &exclusions->of[i], slot, false);
		CHECK_FOR_INTERRUPTS();
	}
}

tg_status
tsurugi_exclusions_probe(tsurugi_exclusions *exclusions, TupleTableSlot *slot, uint32_t own, const List *arbiters,
						 tg_wait *wait_out)
{
	tg_status status = TG_OK;
	tg_writer writer;
	uint64_t writes;

	tsurugi_writer(NULL, TG_DATA, &writer);
	writes = tg_txn_write_count(writer.txn);
	for (int i = 0; i < exclusions->count && status == TG_OK; i++)
		if (arbiters == NIL || list_member_oid(arbiters, exclusions->of[i].index->oid))
			status = judge(exclusions, &exclusions->of[i], slot, own, false, true, wait_out);
	if (status == TG_OK || own == TG_ROW_MAX)
		return status;
	if (tg_txn_write_count(writer.txn) != writes)
		elog(ERROR, "functions of an exclusion constraint write to tables in memory");
	tg_rivals_take_back(&writer);
	return status;
}

/* --- later ---------------------------------------------------------------------- */

tg_status
tsurugi_exclusion_recheck(tsurugi_exclusions *one, TupleTableSlot *slot, bool waits, tg_wait *wait_out)
{
	tg_assert(one->count == 1);
	return judge(one, &one->of[0], slot, TG_ROW_MAX, true, waits, wait_out);
}

void
tsurugi_exclusion_fail(tsurugi_exclusions *one, TupleTableSlot *slot)
{
	tg_assert(one->count == 1);
	fail(one, &one->of[0], slot, false);
	pg_unreachable();
}

/* --- all rows ------------------------------------------------------------------- */

/* Verifies a row of a SELECT of ctid and all columns. */
static void
verify_row(tsurugi_exclusions *one, TupleTableSlot *slot, HeapTuple tuple, TupleDesc columns)
{
	bool null;
	Datum ctid = heap_getattr(tuple, 1, columns, &null);
	uint32_t row = tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(ctid));
	int at = 2;
	tg_wait wait;
	tg_status status;

	ExecClearTuple(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_isnull[i] = true;
		if (!TupleDescAttr(slot->tts_tupleDescriptor, i)->attisdropped)
			slot->tts_values[i] = heap_getattr(tuple, at++, columns, &slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
	/* No other transaction writes. */
	status = judge(one, &one->of[0], slot, row, false, true, &wait);
	if (status == TG_EXISTS)
		fail(one, &one->of[0], slot, true);
	tsurugi_check(status, one->relation);
}

static void
verify_rows(tsurugi_exclusions *one, TupleTableSlot *slot)
{
	StringInfoData query;
	Portal portal;

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT ctid, * FROM ONLY %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(one->relation)),
												RelationGetRelationName(one->relation)));
	portal = tsurugi_query_open_own(query.data, 0, NULL, NULL, NULL);
	do
	{
		SPI_cursor_fetch(portal, true, VERIFY_ROWS);
		for (uint64 i = 0; i < SPI_processed; i++)
			verify_row(one, slot, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
}

void
tsurugi_exclusion_verify(Relation relation, const tsurugi_relation *described, const tsurugi_index *index)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw exclusion constraint", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_memory = MemoryContextSwitchTo(memory);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tsurugi_exclusions *one;
	tsurugi_caller caller;

	tsurugi_owner_begin(relation, &caller);
	one = tsurugi_exclusion_prepare_one(relation, described, index);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	verify_rows(one, slot);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	tsurugi_owner_end(&caller);
	ExecDropSingleTupleTableSlot(slot);
	tsurugi_exclusions_free(one);
	MemoryContextSwitchTo(caller_memory);
	MemoryContextDelete(memory);
}

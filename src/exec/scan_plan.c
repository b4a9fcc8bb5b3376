/*
 * scan_plan.c
 *	  The data of a scan or an INSERT in a plan: nodes that PostgreSQL copies, compares, writes and
 *	  reads.
 *
 * Each kind of node has a table of its fields, which all four methods go by, so that none of them
 * can miss one.
 */
#include "postgres.h"

#include "src/exec/scan_plan.h"

#include "lib/stringinfo.h"
#include "nodes/readfuncs.h"
#include "port/pg_bitutils.h"

#include "runtime/base/check.h"

static const char access_name[] = "tsurugi_scan_access";
static const char scan_plan_name[] = "tsurugi_scan_plan";
static const char insert_plan_name[] = "tsurugi_insert_plan";

/* --- fields ------------------------------------------------------------------------------ */

typedef enum FieldType
{
	FIELD_INT, /* enums, too */
	FIELD_UINT,
	FIELD_BOOL,
	FIELD_NODE /* a node or a list, or NULL */
} FieldType;

typedef struct Field
{
	const char *name;
	size_t offset;
	FieldType type;
} Field;

_Static_assert(sizeof(tsurugi_way) == sizeof(int) && sizeof(tsurugi_bound) == sizeof(int) &&
				   sizeof(CmdType) == sizeof(int) && sizeof(Oid) == sizeof(uint32_t),
			   "fields are of these sizes");

#define ACCESS(field) #field, offsetof(tsurugi_scan_access, field)
#define PLAN(field) #field, offsetof(tsurugi_scan_plan, field)
#define INSERT_PLAN(field) #field, offsetof(tsurugi_insert_plan, field)

/* Each ends with one that has no name. */
static const Field access_fields[] = {
	{ACCESS(shape.way), FIELD_INT},
	{ACCESS(shape.index), FIELD_UINT},
	{ACCESS(shape.fixed_count), FIELD_INT},
	{ACCESS(shape.arrays), FIELD_UINT},
	{ACCESS(shape.nulls), FIELD_UINT},
	{ACCESS(shape.low), FIELD_INT},
	{ACCESS(shape.high), FIELD_INT},
	{ACCESS(shape.low_more), FIELD_INT},
	{ACCESS(shape.high_more), FIELD_INT},
	{ACCESS(shape.covers), FIELD_INT},
	{ACCESS(shape.nearest), FIELD_BOOL},
	{ACCESS(shape.not_null), FIELD_BOOL},
	{ACCESS(shape.backward), FIELD_BOOL},
	{ACCESS(sought_columns), FIELD_NODE},
	{ACCESS(sought_operators), FIELD_NODE},
	{ACCESS(exact), FIELD_BOOL},
	{ACCESS(rows), FIELD_INT},
	{NULL},
};

static const Field scan_plan_fields[] = {
	{PLAN(access), FIELD_NODE}, {PLAN(parts), FIELD_NODE},	{PLAN(columns), FIELD_NODE},
	{PLAN(set), FIELD_NODE},	{PLAN(direct), FIELD_INT},	{PLAN(locks), FIELD_INT},
	{PLAN(counts), FIELD_BOOL}, {PLAN(number), FIELD_UINT}, {NULL},
};

static const Field insert_plan_fields[] = {
	{INSERT_PLAN(set_is_volatile), FIELD_BOOL},
	{INSERT_PLAN(number), FIELD_UINT},
	{NULL},
};

static const Field *
fields_of(const ExtensibleNode *node)
{
	if (strcmp(node->extnodename, access_name) == 0)
		return access_fields;
	return strcmp(node->extnodename, scan_plan_name) == 0 ? scan_plan_fields : insert_plan_fields;
}

#define VALUE(node, field, type) (*(type *) ((char *) (node) + (field)->offset))

/* --- methods ------------------------------------------------------------------------------- */

static void
copy_fields(ExtensibleNode *to, const ExtensibleNode *from)
{
	for (const Field *field = fields_of(from); field->name != NULL; field++)
	{
		switch (field->type)
		{
			case FIELD_INT:
			case FIELD_UINT:
				VALUE(to, field, uint32_t) = VALUE(from, field, uint32_t);
				break;
			case FIELD_BOOL:
				VALUE(to, field, bool) = VALUE(from, field, bool);
				break;
			case FIELD_NODE:
				VALUE(to, field, void *) = copyObjectImpl(VALUE(from, field, void *));
				break;
		}
	}
}

/* The same.  By its name's own address a plan is known without a comparison of strings. */
static void
copy_scan_plan(ExtensibleNode *to, const ExtensibleNode *from)
{
	to->extnodename = scan_plan_name;
	copy_fields(to, from);
}

static void
copy_insert_plan(ExtensibleNode *to, const ExtensibleNode *from)
{
	to->extnodename = insert_plan_name;
	copy_fields(to, from);
}

static bool
equal_fields(const ExtensibleNode *a, const ExtensibleNode *b)
{
	for (const Field *field = fields_of(a); field->name != NULL; field++)
	{
		bool same = false;

		switch (field->type)
		{
			case FIELD_INT:
			case FIELD_UINT:
				same = VALUE(a, field, uint32_t) == VALUE(b, field, uint32_t);
				break;
			case FIELD_BOOL:
				same = VALUE(a, field, bool) == VALUE(b, field, bool);
				break;
			case FIELD_NODE:
				same = equal(VALUE(a, field, void *), VALUE(b, field, void *));
				break;
		}
		if (!same)
			return false;
	}
	return true;
}

/* As outfuncs.c: " :field value". */
static void
write_fields(StringInfo to, const ExtensibleNode *node)
{
	for (const Field *field = fields_of(node); field->name != NULL; field++)
	{
		appendStringInfo(to, " :%s ", field->name);
		switch (field->type)
		{
			case FIELD_INT:
				appendStringInfo(to, "%d", VALUE(node, field, int));
				break;
			case FIELD_UINT:
				appendStringInfo(to, "%u", VALUE(node, field, uint32_t));
				break;
			case FIELD_BOOL:
				appendStringInfoString(to, VALUE(node, field, bool) ? "true" : "false");
				break;
			case FIELD_NODE:
				outNode(to, VALUE(node, field, void *));
				break;
		}
	}
}

/* As readfuncs.c. */
static void
read_fields(ExtensibleNode *node)
{
	for (const Field *field = fields_of(node); field->name != NULL; field++)
	{
		int length;
		const char *token = pg_strtok(&length);

		if (token == NULL || length < 1 || strncmp(token + 1, field->name, length - 1) != 0)
			elog(ERROR, "field %s of a node of kind %s is missing", field->name, node->extnodename);
		if (field->type == FIELD_NODE)
		{
			VALUE(node, field, void *) = nodeRead(NULL, 0);
			continue;
		}
		token = pg_strtok(&length);
		switch (field->type)
		{
			case FIELD_INT:
				VALUE(node, field, int) = atoi(token);
				break;
			case FIELD_UINT:
				VALUE(node, field, uint32_t) = (uint32_t) strtoul(token, NULL, 10);
				break;
			case FIELD_BOOL:
				VALUE(node, field, bool) = *token == 't';
				break;
			case FIELD_NODE:
				break;
		}
	}
}

void
tsurugi_scan_plan_init(void)
{
	static const ExtensibleNodeMethods access_methods = {.extnodename = access_name,
														 .node_size = sizeof(tsurugi_scan_access),
														 .nodeCopy = copy_fields,
														 .nodeEqual = equal_fields,
														 .nodeOut = write_fields,
														 .nodeRead = read_fields};
	static const ExtensibleNodeMethods scan_plan_methods = {.extnodename = scan_plan_name,
															.node_size = sizeof(tsurugi_scan_plan),
															.nodeCopy = copy_scan_plan,
															.nodeEqual = equal_fields,
															.nodeOut = write_fields,
															.nodeRead = read_fields};

	static const ExtensibleNodeMethods insert_plan_methods = {.extnodename = insert_plan_name,
															  .node_size = sizeof(tsurugi_insert_plan),
															  .nodeCopy = copy_insert_plan,
															  .nodeEqual = equal_fields,
															  .nodeOut = write_fields,
															  .nodeRead = read_fields};

	RegisterExtensibleNodeMethods(&access_methods);
	RegisterExtensibleNodeMethods(&scan_plan_methods);
	RegisterExtensibleNodeMethods(&insert_plan_methods);
}

/* --- making and reading ---------------------------------------------------------------------- */

static void *
make_node(Size size, const char *name)
{
	ExtensibleNode *node = (ExtensibleNode *) newNode(size, T_ExtensibleNode);

	node->extnodename = name;
	return node;
}

tsurugi_scan_access *
tsurugi_scan_access_make(const tsurugi_shape *shape)
{
	tsurugi_scan_access *access = make_node(sizeof(tsurugi_scan_access), access_name);

	access->shape = *shape;
	return access;
}

tsurugi_scan_plan *
tsurugi_scan_plan_make(tsurugi_scan_access *access)
{
	tsurugi_scan_plan *plan = make_node(sizeof(tsurugi_scan_plan), scan_plan_name);

	plan->access = access;
	return plan;
}

tsurugi_insert_plan *
tsurugi_insert_plan_make(void)
{
	return make_node(sizeof(tsurugi_insert_plan), insert_plan_name);
}

/* The node of this name that private data of a plan consist of; NULL: it is another wrapper's. */
static inline const void *
find_node(const List *private, const char *name)
{
	const ExtensibleNode *node = private == NIL || !IsA(private, List) ? NULL : linitial(private);

	if (node == NULL || !IsA(node, ExtensibleNode))
		return NULL;
	return likely(node->extnodename == name) || strcmp(node->extnodename, name) == 0 ? node : NULL;
}

tsurugi_scan_plan *
tsurugi_scan_plan_of(const ForeignScan *plan)
{
	tg_assert(find_node(plan->fdw_private, scan_plan_name) != NULL);
	return linitial(plan->fdw_private);
}

uint32_t
tsurugi_plan_number(const ForeignScan *plan)
{
	const tsurugi_scan_plan *said = find_node(plan->fdw_private, scan_plan_name);

	return said == NULL ? 0 : said->number;
}

uint32_t
tsurugi_insert_plan_number(const List *fdw_private)
{
	const tsurugi_insert_plan *said = find_node(fdw_private, insert_plan_name);

	return said == NULL ? 0 : said->number;
}

bool
tsurugi_conflict_set_is_noted_volatile(const List *fdw_private)
{
	const tsurugi_insert_plan *said = find_node(fdw_private, insert_plan_name);

	return said != NULL && said->set_is_volatile;
}

int
tsurugi_shape_value_count(const tsurugi_shape *shape)
{
	return shape->fixed_count - pg_popcount32(shape->nulls) + tsurugi_shape_low_count(shape) +
		   tsurugi_shape_high_count(shape) + shape->covers + tsurugi_shape_near_count(shape);
}

/* --- expressions ------------------------------------------------------------------------------ */

List *
tsurugi_scan_exprs_to_list(const tsurugi_scan_exprs *exprs)
{
	return lappend(list_make5(exprs->values, exprs->distance, exprs->parts, exprs->condition, exprs->recheck),
				   exprs->set);
}

void
tsurugi_scan_exprs_get(const ForeignScan *plan, tsurugi_scan_exprs *exprs_out)
{
	const List *list = plan->fdw_exprs;

	tg_assert(list_length(list) == 6);
	*exprs_out = (tsurugi_scan_exprs){.values = linitial(list),
									  .distance = lsecond(list),
									  .parts = lthird(list),
									  .condition = lfourth(list),
									  .recheck = list_nth(list, 4),
									  .set = list_nth(list, 5)};
}

List *
tsurugi_part_exprs_to_list(const tsurugi_part_exprs *exprs)
{
	return list_make2(exprs->answered, exprs->values);
}

void
tsurugi_part_exprs_get(const tsurugi_scan_exprs *exprs, int part, tsurugi_part_exprs *exprs_out)
{
	const List *list = list_nth(exprs->parts, part);

	*exprs_out = (tsurugi_part_exprs){.answered = linitial(list), .values = lsecond(list)};
}

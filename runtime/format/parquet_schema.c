/*
 * parquet_schema.c
 *	  From the schema of a Parquet file to columns.
 *
 * The schema is a tree, written as a list, each element followed by its children.  The root's
 * children are the columns.  Groups are structs, lists or maps; lists are written in one of these
 * ways (LogicalTypes.md, Lists, with its rules of backward compatibility):
 *
 *	optional group a (LIST) { repeated group list { optional int32 element; } }		three levels
 *	optional group a (LIST) { repeated int32 element; }								two
 *	repeated int32 a;																one
 *	optional group a (MAP) { repeated group key_value { required ... key; ... value; } }
 *
 * Each column is read as nodes first.  One that is a value, or a list of values, is then described
 * as such, and its nodes are dropped.
 */
#include "runtime/format/parquet_element.h"

#include <string.h>

#define DEPTH_MAX (2 * TG_FILE_NESTING_MAX) /* of the tree: a list has two levels */
#define LEAVES_MAX 65536

/* --- the tree --------------------------------------------------------------------------- */

typedef struct walk
{
	tg_parquet *file;
	tg_thrift *thrift;
	const tg_thrift_field *list_element;
	uint32_t elements_left;
	bool has_next;			/* an element that has been looked at: */
	tg_element next;		/* this one */
	char *next_name;		/* where the copy of a name is put */
	unsigned column;		/* that is being read, */
	unsigned first;			/* its first node, */
	const char *unreadable; /* and why it cannot be read; NULL: it can */
} walk;

/* What is around a place in the tree. */
typedef struct place
{
	unsigned depth;
	unsigned nested; /* nodes */
	unsigned parent; /* the innermost of these */
	uint8_t definition;
	uint8_t repetition;
	uint8_t element_levels[TG_FILE_NESTING_MAX]; /* as a leaf's */
} place;

static tg_status
damaged(const walk *walk, const char *what)
{
	return tg_file_fault_note(&walk->file->fault, TG_DAMAGED, 0, "%s", what);
}

static tg_status
no_memory(const walk *walk)
{
	return tg_file_fault_note(&walk->file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
}

/* The next element of the list. */
static tg_status
next_element(walk *walk, tg_element *element_out)
{
	if (walk->has_next)
	{
		*element_out = walk->next;
		walk->has_next = false;
		return TG_OK;
	}
	if (walk->elements_left == 0)
		return damaged(walk, "the schema has fewer elements than it names");
	walk->elements_left--;
	*element_out = tg_element_read(walk->thrift, walk->list_element);
	if (walk->thrift->failed || element_out->name == NULL || element_out->children < 0 ||
		element_out->repetition < TG_REPETITION_REQUIRED || element_out->repetition > TG_REPETITION_REPEATED ||
		element_out->physical >= TG_PHYSICAL_COUNT || element_out->physical < -1 ||
		(element_out->physical < 0) != (element_out->children > 0))
		return damaged(walk, "an element of the schema is malformed");
	if (element_out->physical == TG_PHYSICAL_FIXED && (element_out->width < 1 || element_out->width > INT32_MAX))
		return damaged(walk, "a type of fixed width has none");
	return TG_OK;
}

/* Reads the next element, which stays the next. */
static tg_status
look_ahead(walk *walk)
{
	tg_status status = next_element(walk, &walk->next);

	walk->has_next = status == TG_OK;
	return status;
}

/* A copy of the name, with a zero behind it: each lies in the metadata once, with bytes beside. */
static tg_status
take_name(walk *walk, const tg_element *element, const char **name_out)
{
	if (memchr(element->name, 0, element->name_bytes) != NULL)
		return damaged(walk, "the name of a column has a zero byte");
	memcpy(walk->next_name, element->name, element->name_bytes);
	walk->next_name[element->name_bytes] = 0;
	*name_out = walk->next_name;
	walk->next_name += element->name_bytes + 1;
	return TG_OK;
}

/* --- nodes ------------------------------------------------------------------------------ */

static tg_file_node *
nodes_of(const walk *walk)
{
	return walk->file->nodes.data;
}

/* Begins the node of an element, which is at that place if it is not NULL. */
static tg_status
begin_node(walk *walk, const tg_element *element, tg_file_node_kind kind, const place *at, unsigned *node_out)
{
	tg_parquet *file = walk->file;
	unsigned node = file->node_count;
	uint8_t exists = at->repetition > 0 ? at->element_levels[at->repetition - 1] : 0;

	if (at->nested >= TG_FILE_NESTING_MAX)
		walk->unreadable = "parts that are nested too deeply";
	if (node == TG_FILE_NODES_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "the file has more than %d parts of columns",
								  TG_FILE_NODES_MAX);
	if (!tg_buffer_reserve(&file->memory, &file->nodes, (node + 1) * sizeof(tg_file_node)) ||
		!tg_buffer_reserve(&file->memory, &file->parts, (node + 1) * sizeof(tg_parquet_node)))
		return no_memory(walk);
	file->node_count++;
	*node_out = node;
	nodes_of(walk)[node] = (tg_file_node){.kind = (uint8_t) kind};
	nodes_of(walk)[node].column.nullable = element->repetition == TG_REPETITION_OPTIONAL;
	((tg_parquet_node *) file->parts.data)[node] =
		(tg_parquet_node){.parent = (node == walk->first ? node : at->parent) - walk->first,
						  .leaf = file->leaf_count,
						  .repetition = at->repetition,
						  .exists = exists,
						  .present = at->definition,
						  .element = (uint8_t) (at->definition + 1)};
	return take_name(walk, element, &nodes_of(walk)[node].column.name);
}

static void
end_node(walk *walk, unsigned node)
{
	nodes_of(walk)[node].end = walk->file->node_count - walk->first;
}

/* The place within a node. */
static place
place_within(const place *at, unsigned node)
{
	place within = *at;

	within.depth++;
	within.nested++;
	within.parent = node;
	return within;
}

/* The place of the elements of a list. */
static place
place_of_element(const place *at, unsigned node)
{
	place within = place_within(at, node);

	within.definition++;
	if (within.repetition < TG_FILE_NESTING_MAX)
		within.element_levels[within.repetition++] = within.definition;
	return within;
}

static tg_status
take_value(walk *walk, const tg_element *element, const place *at)
{
	tg_parquet *file = walk->file;
	unsigned node = 0;
	tg_leaf *leaf;
	tg_status status = begin_node(walk, element, TG_NESTED_VALUE, at, &node);

	if (status != TG_OK)
		return status;
	if (file->leaf_count == LEAVES_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "the file has more than %d columns of values", LEAVES_MAX);
	if (!tg_buffer_reserve(&file->memory, &file->leaves, (file->leaf_count + 1) * sizeof(tg_leaf)))
		return no_memory(walk);
	leaf = &tg_leaves(file)[file->leaf_count++];
	*leaf = (tg_leaf){.column = walk->column,
					  .physical = (uint8_t) element->physical,
					  .width = (uint32_t) element->width,
					  .level_max = at->definition,
					  .repetition_max = at->repetition};
	memcpy(leaf->element_levels, at->element_levels, sizeof(leaf->element_levels));
	if (!tg_element_describe(element, &nodes_of(walk)[node].column))
	{
		if (node == walk->first)
			return tg_file_fault_note(&file->fault, TG_UNFIT, 0,
									  "the logical type of column \"%s\" does not fit its physical type",
									  nodes_of(walk)[node].column.name);
		walk->unreadable = "value whose logical type does not fit its physical type";
	}
	leaf->value = nodes_of(walk)[node].column;
	leaf->value.name = nodes_of(walk)[walk->first].column.name;
	end_node(walk, node);
	return TG_OK;
}

static tg_status take_field(walk *walk, const tg_element *element, const place *around);

static tg_status
take_struct(walk *walk, const tg_element *group, const place *at)
{
	unsigned node = 0;
	tg_status status = begin_node(walk, group, TG_NESTED_STRUCT, at, &node);
	place within = place_within(at, node);

	for (int64_t i = 0; i < group->children && status == TG_OK; i++)
	{
		tg_element child;

		status = next_element(walk, &child);
		if (status == TG_OK)
			status = take_field(walk, &child, &within);
	}
	end_node(walk, node);
	return status;
}

static bool
is_named(const tg_element *element, const char *name)
{
	return element->name_bytes == strlen(name) && memcmp(element->name, name, element->name_bytes) == 0;
}

/* Whether a repeated group of one field is the list's element itself (LogicalTypes.md, Lists). */
static bool
is_element(const walk *walk, const tg_element *list, const tg_element *repeated)
{
	static const char suffix[] = "_tuple";
	size_t bytes = sizeof(suffix) - 1;

	return walk->next.repetition == TG_REPETITION_REPEATED || is_named(repeated, "array") ||
		   (repeated->name_bytes == list->name_bytes + bytes &&
			memcmp(repeated->name, list->name, list->name_bytes) == 0 &&
			memcmp(repeated->name + list->name_bytes, suffix, bytes) == 0);
}

static tg_status take_present(walk *walk, const tg_element *element, const place *at);

/* A group with the annotation LIST, whose only child is repeated. */
static tg_status
take_list(walk *walk, const tg_element *list, const place *at)
{
	unsigned node = 0;
	tg_element repeated;
	tg_status status = next_element(walk, &repeated);

	if (status == TG_OK)
		status = begin_node(walk, list, TG_NESTED_LIST, at, &node);
	if (status == TG_OK && repeated.children == 1)
		status = look_ahead(walk);
	if (status != TG_OK)
		return status;
	if (repeated.children == 1 && !is_element(walk, list, &repeated))
	{
		tg_element value;
		place within = place_of_element(at, node);

		status = next_element(walk, &value);
		within.depth++;
		if (status == TG_OK)
			status = take_field(walk, &value, &within);
	}
	else
	{
		const place within = place_of_element(at, node);

		status = take_present(walk, &repeated, &within);
	}
	end_node(walk, node);
	return status;
}

/* A group with the annotation MAP, whose only child is repeated, with a key and a value. */
static tg_status
take_map(walk *walk, const tg_element *map, const place *at)
{
	unsigned node = 0;
	tg_element entry;
	tg_status status = next_element(walk, &entry);
	place within;

	if (status == TG_OK)
		status = begin_node(walk, map, TG_NESTED_MAP, at, &node);
	if (status != TG_OK)
		return status;
	within = place_of_element(at, node);
	status = take_struct(walk, &entry, &within);
	/* a key that is no value cannot be a name */
	if (status == TG_OK && nodes_of(walk)[node + 2].kind != TG_NESTED_VALUE)
		nodes_of(walk)[node].kind = TG_NESTED_LIST;
	end_node(walk, node);
	return status;
}

/* What is at a place, if it is not NULL. */
static tg_status
take_present(walk *walk, const tg_element *element, const place *at)
{
	tg_status status;

	if (at->depth > DEPTH_MAX)
		return tg_file_fault_note(&walk->file->fault, TG_UNFIT, 0,
								  "columns that are nested deeper than %d are not supported", DEPTH_MAX);
	if (element->physical >= 0)
		return take_value(walk, element, at);
	if (element->children != 1 || (element->logical != TG_LOGICAL_LIST && element->logical != TG_LOGICAL_MAP))
		return take_struct(walk, element, at);
	status = look_ahead(walk);
	if (status != TG_OK)
		return status;
	if (walk->next.repetition != TG_REPETITION_REPEATED)
		return take_struct(walk, element, at);
	if (element->logical == TG_LOGICAL_MAP && walk->next.children == 2)
		return take_map(walk, element, at);
	return take_list(walk, element, at);
}

/* An element that is NULL, there, or repeated. */
static tg_status
take_field(walk *walk, const tg_element *element, const place *around)
{
	place at = *around;
	unsigned node = 0;
	tg_status status;

	if (element->repetition != TG_REPETITION_REPEATED)
	{
		at.definition += element->repetition == TG_REPETITION_OPTIONAL;
		return take_present(walk, element, &at);
	}
	status = begin_node(walk, element, TG_NESTED_LIST, &at, &node);
	at = place_of_element(&at, node);
	if (status == TG_OK)
		status = take_present(walk, element, &at);
	end_node(walk, node);
	return status;
}

/* --- columns ---------------------------------------------------------------------------- */

/* Describes a column by its nodes. */
static void
describe(walk *walk, tg_file_column *column)
{
	static const char *const names[] = {
		[TG_NESTED_STRUCT] = "STRUCT", [TG_NESTED_LIST] = "LIST", [TG_NESTED_MAP] = "MAP"};
	tg_parquet *file = walk->file;
	const tg_file_node *node = nodes_of(walk) + walk->first;
	unsigned count = file->node_count - walk->first;
	bool list = count == 2 && node->kind == TG_NESTED_LIST;

	*column = node[list].column;
	column->name = node->column.name;
	column->nullable = node->column.nullable;
	column->list = list;
	column->element_nullable = list && node[1].column.nullable;
	if (walk->unreadable != NULL)
		*column = (tg_file_column){.name = column->name, .nullable = column->nullable, .stored = walk->unreadable};
	if (walk->unreadable != NULL || column->type != TG_FILE_UNREADABLE)
	{
		file->node_count = walk->first; /* its nodes are dropped */
		return;
	}
	column->type = TG_FILE_NESTED;
	column->stored = names[node->kind];
	column->node_count = count;
}

static tg_status
take_columns(walk *walk, int64_t count)
{
	tg_parquet *file = walk->file;
	tg_status status = TG_OK;

	if (count == 0)
		return damaged(walk, "the file has no columns");
	if (count > TG_FILE_COLUMNS_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "the file has %lld columns, more than %d",
								  (long long) count, TG_FILE_COLUMNS_MAX);
	if (!tg_buffer_reserve(&file->memory, &file->columns, count * sizeof(tg_file_column)) ||
		!tg_buffer_reserve(&file->memory, &file->places, count * sizeof(tg_column_place)) ||
		!tg_buffer_reserve(&file->memory, &file->wanted, count * sizeof(bool)) ||
		!tg_buffer_reserve(&file->memory, &file->names, file->footer.room))
		return no_memory(walk);
	memset(file->columns.data, 0, count * sizeof(tg_file_column));
	memset(file->wanted.data, 0, count * sizeof(bool));
	walk->next_name = file->names.data;
	for (unsigned i = 0; i < count && status == TG_OK; i++)
	{
		static const place top;
		tg_element element;

		walk->column = i;
		walk->first = file->node_count;
		walk->unreadable = NULL;
		tg_column_places(file)[i] = (tg_column_place){.leaf = file->leaf_count, .node = file->node_count};
		status = next_element(walk, &element);
		if (status == TG_OK)
			status = take_field(walk, &element, &top);
		if (status == TG_OK)
			describe(walk, &tg_columns(file)[i]);
	}
	if (status == TG_OK)
		file->column_count = (unsigned) count;
	return status;
}

/* What is reserved when the numbers of leaves and nodes are known. */
static tg_status
make_readers(walk *walk)
{
	tg_parquet *file = walk->file;

	if (!tg_buffer_reserve(&file->memory, &file->readers, file->leaf_count * sizeof(tg_chunk_reader)) ||
		!tg_buffer_reserve(&file->memory, &file->values, file->node_count * sizeof(tg_file_values)))
		return no_memory(walk);
	memset(file->readers.data, 0, file->leaf_count * sizeof(tg_chunk_reader));
	file->reader_count = file->leaf_count;
	for (unsigned i = 0; i < file->column_count; i++)
		if (tg_columns(file)[i].type == TG_FILE_NESTED)
			tg_columns(file)[i].nodes = nodes_of(walk) + tg_column_places(file)[i].node;
	return TG_OK;
}

tg_status
tg_schema_read(tg_parquet *file, tg_thrift *thrift, const tg_thrift_field *field)
{
	tg_thrift_field list_element;
	walk walk = {.file = file, .thrift = thrift, .list_element = &list_element};
	tg_element root;
	tg_status status;

	if (file->column_count > 0)
		return damaged(&walk, "the file has two schemas");
	walk.elements_left = tg_thrift_list(thrift, field, &list_element);
	if (walk.elements_left == 0)
		return damaged(&walk, "the file has no schema");
	walk.elements_left--;
	root = tg_element_read(thrift, &list_element);
	if (thrift->failed || root.children < 0)
		return damaged(&walk, "the schema is malformed");
	status = take_columns(&walk, root.children);
	if (status == TG_OK && walk.elements_left > 0)
		status = damaged(&walk, "the schema has more elements than it names");
	return status == TG_OK ? make_readers(&walk) : status;
}

/*
 * arrow_schema.c
 *	  From the schema of Arrow to columns.
 *
 * A record batch has the arrays of all fields in the order of a walk through the schema, the nodes
 * and the buffers each in a list of its own.  So of a column that cannot be read it is known how
 * many of them are to be passed over.  How many buffers an array of views has is said in the batch.
 */
#include "runtime/format/arrow_internal.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 65536 /* that are visited: a small schema may refer to one field very often */
#define PAIRS_MAX 1000	 /* of a field's metadata that are looked at, for the same reason */
#define UUID_BYTES 16
#define INTERVAL_BYTES 16
#define DECIMAL_DIGITS_MAX 76

typedef struct walk
{
	tg_arrow *file;
	tg_flat *flat;
	uint64_t offset; /* of the schema in the file */
	unsigned visited;
	size_t name_bytes;		/* of nodes */
	unsigned first;			/* the first node of the column that is being read, */
	const char *unreadable; /* and why it cannot be read; NULL: it can */
} walk;

/* A field's type. */
typedef struct type
{
	int kind; /* tg_arrow_type */
	tg_flat_table table;
	tg_flat_table field;
} type;

static type
type_of(walk *walk, tg_flat_table field)
{
	return (type){.kind = (int) tg_flat_integer(walk->flat, field, TG_ARROW_FIELD_TYPE_KIND, 1, 0),
				  .table = tg_flat_inner(walk->flat, field, TG_ARROW_FIELD_TYPE),
				  .field = field};
}

static int64_t
number_of(walk *walk, const type *type, unsigned field, unsigned bytes, int64_t otherwise)
{
	return tg_flat_integer(walk->flat, type->table, field, bytes, otherwise);
}

/* --- nodes and buffers ------------------------------------------------------------------ */

/* The buffers of an array of the type, beside those of views and of its children; -1: unknown. */
static int
buffers_of(walk *walk, const type *type)
{
	switch (type->kind)
	{
		case TG_ARROW_NULL:
		case TG_ARROW_RUN_END:
			return 0;
		case TG_ARROW_STRUCT:
		case TG_ARROW_FIXED_LIST:
			return 1;
		case TG_ARROW_BINARY:
		case TG_ARROW_UTF8:
		case TG_ARROW_LARGE_BINARY:
		case TG_ARROW_LARGE_UTF8:
		case TG_ARROW_LIST_VIEW:
		case TG_ARROW_LARGE_LIST_VIEW:
			return 3;
		case TG_ARROW_UNION: /* has no NULLs of its own since version 5 */
			return 1 + (number_of(walk, type, 0, 2, 0) == TG_ARROW_UNION_DENSE) +
				   (walk->file->version < TG_ARROW_VERSION_5);
		default:
			return type->kind >= TG_ARROW_NULL && type->kind <= TG_ARROW_LARGE_LIST_VIEW ? 2 : -1;
	}
}

static tg_status
count_arrays(walk *walk, tg_flat_table field, unsigned depth, const char *name, tg_arrow_leaf *leaf)
{
	type type = type_of(walk, field);
	int buffers = buffers_of(walk, &type);
	tg_flat_vector children = tg_flat_list(walk->flat, field, TG_ARROW_FIELD_CHILDREN, sizeof(uint32_t));
	tg_status status = TG_OK;

	if (walk->flat->failed)
		return TG_OK;
	leaf->nodes++;
	if (++walk->visited > FIELDS_MAX || depth >= TG_FILE_NESTING_MAX)
		return tg_file_fault_note(&walk->file->fault, TG_UNFIT, walk->offset,
								  "column \"%s\" is nested too deeply, which is not supported", name);
	if (tg_flat_inner(walk->flat, field, TG_ARROW_FIELD_DICTIONARY) != 0)
	{
		leaf->buffers += 2;
		return TG_OK;
	}
	if (buffers < 0)
		return tg_file_fault_note(&walk->file->fault, TG_UNFIT, walk->offset,
								  "column \"%s\" has type %d of Arrow, which is not supported", name, type.kind);
	leaf->buffers += (unsigned) buffers;
	leaf->views += type.kind == TG_ARROW_BINARY_VIEW || type.kind == TG_ARROW_UTF8_VIEW;
	for (uint32_t i = 0; i < children.count && status == TG_OK && !walk->flat->failed; i++)
		status = count_arrays(walk, tg_flat_element(walk->flat, &children, i), depth + 1, name, leaf);
	return status;
}

/* --- types ------------------------------------------------------------------------------ */

/* Whether the field is an extension of that name. */
static bool
is_extension(walk *walk, const type *type, const char *name)
{
	tg_flat_vector pairs = tg_flat_list(walk->flat, type->field, TG_ARROW_FIELD_METADATA, sizeof(uint32_t));

	for (uint32_t i = 0; i < pairs.count && i < PAIRS_MAX && !walk->flat->failed; i++)
	{
		tg_flat_table pair = tg_flat_element(walk->flat, &pairs, i);

		if (tg_flat_string_is(walk->flat, pair, TG_ARROW_PAIR_KEY, "ARROW:extension:name"))
			return tg_flat_string_is(walk->flat, pair, TG_ARROW_PAIR_VALUE, name);
	}
	return false;
}

static bool
take_integer(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	static const char *const names[2][4] = {{"UInt8", "UInt16", "UInt32", "UInt64"},
											{"Int8", "Int16", "Int32", "Int64"}};
	int64_t bits = number_of(walk, type, 0, 4, 0);
	bool is_signed = number_of(walk, type, 1, 1, 0) != 0;

	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return false;
	column->type = is_signed ? TG_FILE_INT : TG_FILE_UINT;
	column->bits = (uint8_t) bits;
	column->stored = names[is_signed][__builtin_ctz((unsigned) bits) - 3];
	*layout = (tg_arrow_layout){.form = is_signed ? TG_ARROW_SIGNED : TG_ARROW_UNSIGNED, .width = (uint32_t) bits / 8};
	return true;
}

static bool
take_float(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	static const char *const names[] = {"Float16", "Float32", "Float64"};
	int64_t precision = number_of(walk, type, 0, 2, 0);

	if (precision < 0 || precision > TG_ARROW_PRECISION_DOUBLE)
		return false;
	column->type = TG_FILE_FLOAT;
	column->bits = (uint8_t) (16 << precision);
	column->stored = names[precision];
	*layout = (tg_arrow_layout){.form = TG_ARROW_REAL, .width = column->bits / 8};
	return true;
}

/* One of at most 18 digits is a word. */
static bool
take_decimal(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	static const char *const names[] = {"Decimal32", "Decimal64", "Decimal128", "Decimal256"};
	int64_t precision = number_of(walk, type, 0, 4, 0);
	int64_t scale = number_of(walk, type, 1, 4, 0);
	int64_t bits = number_of(walk, type, 2, 4, 128);

	if ((bits != 32 && bits != 64 && bits != 128 && bits != 256) || precision < 1 || precision > DECIMAL_DIGITS_MAX ||
		scale < 0 || scale > precision)
		return false;
	column->type = TG_FILE_DECIMAL;
	column->precision = (int32_t) precision;
	column->scale = (int32_t) scale;
	column->stored = names[__builtin_ctz((unsigned) bits) - 5];
	column->is_bytes = precision > 18;
	*layout =
		(tg_arrow_layout){.form = precision > 18 ? TG_ARROW_WIDE_BYTES : TG_ARROW_WIDE, .width = (uint32_t) bits / 8};
	return true;
}

static bool
take_date(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	bool is_days = number_of(walk, type, 0, 2, 1) == TG_ARROW_DATE_DAY;

	column->type = TG_FILE_DATE;
	column->stored = is_days ? "Date32" : "Date64";
	*layout = (tg_arrow_layout){.form = is_days ? TG_ARROW_SIGNED : TG_ARROW_DAYS, .width = is_days ? 4 : 8};
	return true;
}

static bool
take_time(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	int64_t unit = number_of(walk, type, 0, 2, 1);
	int64_t bits = number_of(walk, type, 1, 4, 32);

	if (unit < 0 || unit > TG_ARROW_UNIT_NANOSECOND || bits != (unit < 2 ? 32 : 64))
		return false;
	column->type = TG_FILE_TIME;
	column->digits = (uint8_t) (3 * unit);
	column->stored = bits == 32 ? "Time32" : "Time64";
	*layout = (tg_arrow_layout){.form = TG_ARROW_SIGNED, .width = (uint32_t) bits / 8};
	return true;
}

static bool
take_timestamp(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	int64_t unit = number_of(walk, type, 0, 2, 0);
	uint32_t bytes;

	if (unit < 0 || unit > TG_ARROW_UNIT_NANOSECOND)
		return false;
	column->type = TG_FILE_TIMESTAMP;
	column->digits = (uint8_t) (3 * unit);
	column->utc = tg_flat_string(walk->flat, type->table, 1, &bytes) != NULL && bytes > 0;
	column->stored = "Timestamp";
	*layout = (tg_arrow_layout){.form = TG_ARROW_SIGNED, .width = 8};
	return true;
}

static bool
take_interval(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	int64_t unit = number_of(walk, type, 0, 2, type->kind == TG_ARROW_DURATION);

	column->type = TG_FILE_INTERVAL;
	column->digits = 9;
	column->is_bytes = true;
	column->stored = type->kind == TG_ARROW_DURATION ? "Duration" : "Interval";
	if (type->kind == TG_ARROW_DURATION)
		*layout = (tg_arrow_layout){.form = TG_ARROW_DURATION_OF, .digits = (uint8_t) (3 * unit), .width = 8};
	else if (unit == TG_ARROW_INTERVAL_YEAR_MONTH)
		*layout = (tg_arrow_layout){.form = TG_ARROW_MONTHS, .width = 4};
	else if (unit == TG_ARROW_INTERVAL_DAY_TIME)
		*layout = (tg_arrow_layout){.form = TG_ARROW_DAYS_MS, .width = 8};
	else
		*layout = (tg_arrow_layout){.form = TG_ARROW_FIXED, .width = INTERVAL_BYTES};
	return unit >= 0 &&
		   unit <= (type->kind == TG_ARROW_DURATION ? TG_ARROW_UNIT_NANOSECOND : TG_ARROW_INTERVAL_MONTH_DAY_NANO);
}

static bool
take_fixed(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	int64_t width = number_of(walk, type, 0, 4, 0);
	bool is_uuid = width == UUID_BYTES && is_extension(walk, type, "arrow.uuid");

	column->type = is_uuid ? TG_FILE_UUID : TG_FILE_BINARY;
	column->is_bytes = true;
	column->width = (uint32_t) width;
	column->stored = "FixedSizeBinary";
	*layout = (tg_arrow_layout){.form = TG_ARROW_FIXED, .width = (uint32_t) width};
	return width >= 0;
}

static bool
take_bytes(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	static const char *const names[] = {[TG_ARROW_BINARY] = "Binary",
										[TG_ARROW_UTF8] = "Utf8",
										[TG_ARROW_LARGE_BINARY] = "LargeBinary",
										[TG_ARROW_LARGE_UTF8] = "LargeUtf8",
										[TG_ARROW_BINARY_VIEW] = "BinaryView",
										[TG_ARROW_UTF8_VIEW] = "Utf8View"};
	bool is_text = type->kind == TG_ARROW_UTF8 || type->kind == TG_ARROW_LARGE_UTF8 || type->kind == TG_ARROW_UTF8_VIEW;
	bool is_view = type->kind == TG_ARROW_BINARY_VIEW || type->kind == TG_ARROW_UTF8_VIEW;
	bool is_large = type->kind == TG_ARROW_LARGE_BINARY || type->kind == TG_ARROW_LARGE_UTF8;

	column->type = !is_text ? TG_FILE_BINARY : is_extension(walk, type, "arrow.json") ? TG_FILE_JSON : TG_FILE_STRING;
	column->is_bytes = true;
	column->stored = names[type->kind];
	*layout = (tg_arrow_layout){.form = is_view ? TG_ARROW_VIEWS : TG_ARROW_OFFSETS, .width = is_large ? 8 : 4};
	return true;
}

/* False: its values cannot be read. */
static bool
take_type(walk *walk, const type *type, tg_file_column *column, tg_arrow_layout *layout)
{
	switch (type->kind)
	{
		case TG_ARROW_NULL:
			column->type = TG_FILE_NULL;
			column->stored = "Null";
			*layout = (tg_arrow_layout){.form = TG_ARROW_NOTHING};
			return true;
		case TG_ARROW_BOOL:
			column->type = TG_FILE_BOOL;
			column->stored = "Bool";
			*layout = (tg_arrow_layout){.form = TG_ARROW_BITS};
			return true;
		case TG_ARROW_INT:
			return take_integer(walk, type, column, layout);
		case TG_ARROW_FLOAT:
			return take_float(walk, type, column, layout);
		case TG_ARROW_DECIMAL:
			return take_decimal(walk, type, column, layout);
		case TG_ARROW_DATE:
			return take_date(walk, type, column, layout);
		case TG_ARROW_TIME:
			return take_time(walk, type, column, layout);
		case TG_ARROW_TIMESTAMP:
			return take_timestamp(walk, type, column, layout);
		case TG_ARROW_INTERVAL:
		case TG_ARROW_DURATION:
			return take_interval(walk, type, column, layout);
		case TG_ARROW_FIXED_BINARY:
			return take_fixed(walk, type, column, layout);
		case TG_ARROW_BINARY:
		case TG_ARROW_UTF8:
		case TG_ARROW_LARGE_BINARY:
		case TG_ARROW_LARGE_UTF8:
		case TG_ARROW_BINARY_VIEW:
		case TG_ARROW_UTF8_VIEW:
			return take_bytes(walk, type, column, layout);
		default:
			return false;
	}
}

static const char *
name_of_kind(int kind)
{
	switch (kind)
	{
		case TG_ARROW_STRUCT:
			return "Struct";
		case TG_ARROW_UNION:
			return "Union";
		case TG_ARROW_MAP:
			return "Map";
		case TG_ARROW_RUN_END:
			return "RunEndEncoded";
		case TG_ARROW_LIST_VIEW:
		case TG_ARROW_LARGE_LIST_VIEW:
			return "ListView";
		case TG_ARROW_LIST:
		case TG_ARROW_LARGE_LIST:
		case TG_ARROW_FIXED_LIST:
			return "List";
		case TG_ARROW_DECIMAL:
			return "Decimal of such a scale";
		default:
			return "type with parameters that are unknown";
	}
}

/* --- columns ---------------------------------------------------------------------------- */

/* The values of a column, or of a list, which may be indexes of a dictionary. */
static void
take_values(walk *walk, tg_flat_table field, tg_file_column *column, tg_arrow_leaf *leaf)
{
	type type = type_of(walk, field);
	tg_flat_table encoding = tg_flat_inner(walk->flat, field, TG_ARROW_FIELD_DICTIONARY);
	tg_file_column index = {0};
	tg_arrow_layout values;
	const struct type index_type = {.table = tg_flat_inner(walk->flat, encoding, TG_ARROW_ENCODING_INDEX)};

	if (!take_type(walk, &type, column, &values))
	{
		*column = (tg_file_column){.name = column->name, .nullable = column->nullable, .list = column->list};
		column->stored = column->list ? "List of such values" : name_of_kind(type.kind);
		return;
	}
	leaf->layout = values;
	if (encoding == 0)
		return;
	leaf->has_dictionary = true;
	leaf->dictionary.layout = values;
	leaf->dictionary.id = tg_flat_integer(walk->flat, encoding, TG_ARROW_ENCODING_ID, 8, 0);
	/* Int32, if nothing else is said */
	leaf->layout = (tg_arrow_layout){.form = TG_ARROW_SIGNED, .width = 4};
	if (index_type.table != 0 && !take_integer(walk, &index_type, &index, &leaf->layout))
		*column = (tg_file_column){
			.name = column->name, .nullable = column->nullable, .list = column->list, .stored = "dictionary"};
}

static bool
is_list(const type *type)
{
	return type->kind == TG_ARROW_LIST || type->kind == TG_ARROW_LARGE_LIST || type->kind == TG_ARROW_FIXED_LIST;
}

/* Whether the type has others in it, which can be read. */
static bool
has_parts(const type *type)
{
	return is_list(type) || type->kind == TG_ARROW_STRUCT || type->kind == TG_ARROW_MAP;
}

static bool
has_dictionary(walk *walk, tg_flat_table field)
{
	return tg_flat_inner(walk->flat, field, TG_ARROW_FIELD_DICTIONARY) != 0;
}

static tg_status
damaged(walk *walk, const char *what)
{
	return tg_file_fault_note(&walk->file->fault, TG_DAMAGED, walk->offset, "%s", what);
}

/* How the lists of the field are stored; its only child. */
static tg_status
take_list(walk *walk, const type *type, tg_arrow_leaf *leaf, tg_flat_table *child_out)
{
	tg_flat_vector children = tg_flat_list(walk->flat, type->field, TG_ARROW_FIELD_CHILDREN, sizeof(uint32_t));
	int64_t size = type->kind == TG_ARROW_FIXED_LIST ? number_of(walk, type, 0, 4, 0) : 0;

	if (children.count != 1 || size < 0)
		return damaged(walk, "a list is malformed");
	leaf->list = type->kind == TG_ARROW_MAP ? TG_ARROW_LIST : (uint8_t) type->kind;
	leaf->list_size = (uint32_t) size;
	*child_out = tg_flat_element(walk->flat, &children, 0);
	return TG_OK;
}

/* --- nested columns --------------------------------------------------------------------- */

/* Appends the name; it is an offset until all are there. */
static tg_status
take_node_name(walk *walk, tg_flat_table field, tg_file_column *column)
{
	tg_arrow *file = walk->file;
	uint32_t bytes;
	const uint8_t *name = tg_flat_string(walk->flat, field, TG_ARROW_FIELD_NAME, &bytes);
	char *into;

	if (bytes > 0 && memchr(name, 0, bytes) != NULL)
		return damaged(walk, "the name of a column has a zero byte");
	if (!tg_buffer_reserve(&file->memory, &file->node_names, walk->name_bytes + bytes + 1))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
	into = (char *) file->node_names.data + walk->name_bytes;
	if (bytes > 0)
		memcpy(into, name, bytes);
	into[bytes] = 0;
	column->name = (const char *) (uintptr_t) walk->name_bytes;
	column->nullable = tg_flat_integer(walk->flat, field, TG_ARROW_FIELD_NULLABLE, 1, 0) != 0;
	walk->name_bytes += bytes + 1;
	return TG_OK;
}

/* A node that is a value, until something else is said of it. */
static tg_status
begin_node(walk *walk, tg_flat_table field, unsigned *node_out)
{
	tg_arrow *file = walk->file;
	unsigned node = file->node_count;

	if (node == TG_FILE_NODES_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, walk->offset, "the file has more than %d parts of columns",
								  TG_FILE_NODES_MAX);
	if (!tg_buffer_reserve(&file->memory, &file->nodes, (node + 1) * sizeof(tg_file_node)) ||
		!tg_buffer_reserve(&file->memory, &file->node_leaves, (node + 1) * sizeof(tg_arrow_leaf)))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
	file->node_count++;
	tg_arrow_nodes(file)[node] = (tg_file_node){.kind = TG_NESTED_VALUE};
	tg_arrow_node_leaves(file)[node] = (tg_arrow_leaf){0};
	*node_out = node;
	return take_node_name(walk, field, &tg_arrow_nodes(file)[node].column);
}

/* A MAP's entry is a STRUCT of a key, which is a value, and a value; other maps are lists. */
static bool
has_keys(walk *walk, tg_flat_table entry)
{
	tg_flat_vector fields = tg_flat_list(walk->flat, entry, TG_ARROW_FIELD_CHILDREN, sizeof(uint32_t));
	type type = type_of(walk, entry);
	struct type key;

	if (type.kind != TG_ARROW_STRUCT || fields.count != 2)
		return false;
	key = type_of(walk, tg_flat_element(walk->flat, &fields, 0));
	return !has_parts(&key);
}

/*
 * The node of a field, and of those in it.  Recursive: count_arrays() has been through them, so
 * they are not nested too deeply, nor too many.
 */
static tg_status
take_node(walk *walk, tg_flat_table field)
{
	tg_arrow *file = walk->file;
	tg_flat_vector children = tg_flat_list(walk->flat, field, TG_ARROW_FIELD_CHILDREN, sizeof(uint32_t));
	type type = type_of(walk, field);
	tg_flat_table child;
	unsigned node = 0;
	tg_status status = begin_node(walk, field, &node);

	if (status != TG_OK)
		return status;
	if (!has_parts(&type) || has_dictionary(walk, field))
	{
		take_values(walk, field, &tg_arrow_nodes(file)[node].column, &tg_arrow_node_leaves(file)[node]);
		if (tg_arrow_nodes(file)[node].column.type == TG_FILE_UNREADABLE)
			walk->unreadable = tg_arrow_nodes(file)[node].column.stored;
	}
	else if (type.kind == TG_ARROW_STRUCT)
	{
		tg_arrow_nodes(file)[node].kind = TG_NESTED_STRUCT;
		for (uint32_t i = 0; i < children.count && status == TG_OK && !walk->flat->failed; i++)
			status = take_node(walk, tg_flat_element(walk->flat, &children, i));
	}
	else
	{
		status = take_list(walk, &type, &tg_arrow_node_leaves(file)[node], &child);
		tg_arrow_nodes(file)[node].kind =
			status == TG_OK && type.kind == TG_ARROW_MAP && has_keys(walk, child) ? TG_NESTED_MAP : TG_NESTED_LIST;
		if (status == TG_OK)
			status = take_node(walk, child);
	}
	tg_arrow_nodes(file)[node].end = file->node_count - walk->first;
	return status;
}

static tg_status
take_nested(walk *walk, tg_flat_table field, const char *stored, tg_file_column *column, tg_arrow_leaf *leaf)
{
	tg_arrow *file = walk->file;
	tg_status status;

	walk->first = file->node_count;
	walk->unreadable = NULL;
	status = take_node(walk, field);
	column->stored = stored;
	if (walk->unreadable != NULL)
	{
		column->stored = walk->unreadable;
		file->node_count = walk->first;
		return status;
	}
	column->type = TG_FILE_NESTED;
	column->node_count = file->node_count - walk->first;
	leaf->node = walk->first;
	return status;
}

/* What can be said of nodes once all are there. */
static tg_status
finish_nodes(walk *walk)
{
	tg_arrow *file = walk->file;

	if (!tg_buffer_reserve(&file->memory, &file->node_values, file->node_count * sizeof(tg_file_values)))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
	for (unsigned i = 0; i < file->node_count; i++)
	{
		tg_file_column *column = &tg_arrow_nodes(file)[i].column;

		column->name = (const char *) file->node_names.data + (uintptr_t) column->name;
	}
	for (unsigned i = 0; i < file->column_count; i++)
		if (tg_arrow_columns(file)[i].type == TG_FILE_NESTED)
			tg_arrow_columns(file)[i].nodes = tg_arrow_nodes(file) + tg_arrow_leaves(file)[i].node;
	return TG_OK;
}

/* --- columns, again --------------------------------------------------------------------- */

static tg_status
take_column(walk *walk, tg_flat_table field, tg_file_column *column, tg_arrow_leaf *leaf)
{
	type type = type_of(walk, field);
	struct type element;
	tg_flat_table child;
	tg_status status;

	column->nullable = tg_flat_integer(walk->flat, field, TG_ARROW_FIELD_NULLABLE, 1, 0) != 0;
	if (has_parts(&type) && !is_list(&type) && !has_dictionary(walk, field))
		return take_nested(walk, field, name_of_kind(type.kind), column, leaf);
	if (is_list(&type) && !has_dictionary(walk, field))
	{
		status = take_list(walk, &type, leaf, &child);
		if (status != TG_OK)
			return status;
		element = type_of(walk, child);
		if (has_parts(&element) && !has_dictionary(walk, child))
			return take_nested(walk, field, name_of_kind(type.kind), column, leaf);
		field = child;
		column->list = true;
		column->element_nullable = tg_flat_integer(walk->flat, field, TG_ARROW_FIELD_NULLABLE, 1, 0) != 0;
	}
	take_values(walk, field, column, leaf);
	return TG_OK;
}

/* A copy of the name, with a zero behind it. */
static tg_status
take_name(walk *walk, tg_flat_table field, char **next, tg_file_column *column)
{
	uint32_t bytes;
	const uint8_t *name = tg_flat_string(walk->flat, field, TG_ARROW_FIELD_NAME, &bytes);

	if (bytes > 0 && memchr(name, 0, bytes) != NULL)
		return tg_file_fault_note(&walk->file->fault, TG_DAMAGED, walk->offset, "the name of a column has a zero byte");
	if (bytes > 0)
		memcpy(*next, name, bytes);
	(*next)[bytes] = 0;
	column->name = *next;
	*next += bytes + 1;
	return TG_OK;
}

/* The bytes of all names, with a zero each. */
static size_t
name_bytes(walk *walk, const tg_flat_vector *fields)
{
	size_t sum = 0;
	uint32_t bytes;

	for (uint32_t i = 0; i < fields->count; i++)
	{
		(void) tg_flat_string(walk->flat, tg_flat_element(walk->flat, fields, i), TG_ARROW_FIELD_NAME, &bytes);
		sum += (size_t) bytes + 1;
	}
	return sum;
}

static tg_status
make_room(walk *walk, const tg_flat_vector *fields)
{
	tg_arrow *file = walk->file;
	size_t count = fields->count;

	if (!tg_buffer_reserve(&file->memory, &file->columns, count * sizeof(tg_file_column)) ||
		!tg_buffer_reserve(&file->memory, &file->leaves, count * sizeof(tg_arrow_leaf)) ||
		!tg_buffer_reserve(&file->memory, &file->wanted, count * sizeof(bool)) ||
		!tg_buffer_reserve(&file->memory, &file->names, name_bytes(walk, fields)))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
	memset(file->columns.data, 0, count * sizeof(tg_file_column));
	memset(file->leaves.data, 0, count * sizeof(tg_arrow_leaf));
	memset(file->wanted.data, 0, count * sizeof(bool));
	file->column_count = (unsigned) count;
	return TG_OK;
}

tg_status
tg_arrow_schema(tg_arrow *file, tg_flat *flat, tg_flat_table schema, uint64_t offset)
{
	walk walk = {.file = file, .flat = flat, .offset = offset};
	tg_flat_vector fields = tg_flat_list(flat, schema, TG_ARROW_SCHEMA_FIELDS, sizeof(uint32_t));
	char *next;
	tg_status status;

	if (tg_flat_integer(flat, schema, TG_ARROW_SCHEMA_ENDIANNESS, 2, 0) != 0)
		return tg_file_fault_note(&file->fault, TG_UNFIT, offset, "big-endian files are not supported");
	if (flat->failed || fields.count == 0)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, offset, "the schema has no columns");
	if (fields.count > TG_FILE_COLUMNS_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, offset, "the file has %u columns, more than %d", fields.count,
								  TG_FILE_COLUMNS_MAX);
	status = make_room(&walk, &fields);
	next = file->names.data;
	for (uint32_t i = 0; i < fields.count && status == TG_OK; i++)
	{
		tg_file_column *column = &tg_arrow_columns(file)[i];
		tg_arrow_leaf *leaf = &tg_arrow_leaves(file)[i];
		tg_flat_table field = tg_flat_element(flat, &fields, i);

		status = take_name(&walk, field, &next, column);
		if (status == TG_OK)
			status = count_arrays(&walk, field, 0, column->name, leaf);
		if (status == TG_OK)
			status = take_column(&walk, field, column, leaf);
	}
	if (status == TG_OK && flat->failed)
		status = tg_file_fault_note(&file->fault, TG_DAMAGED, offset, "the schema is malformed");
	return status == TG_OK ? finish_nodes(&walk) : status;
}

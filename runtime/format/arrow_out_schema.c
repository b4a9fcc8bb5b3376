/*
 * arrow_out_schema.c
 *	  The schema of Arrow that is written, and the footer of a file.
 */
#include "runtime/format/arrow_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/pack.h"

#define REFERENCE 4 /* bytes of one */
#define UUID_BYTES 16
#define DECIMAL_BITS 128

/* A type, as it is to be put: numbers of its fields, which have so many bytes. */
typedef struct type
{
	tg_arrow_type kind;
	uint8_t bytes[3];
	int64_t values[3];
	unsigned count;
	bool utc;			   /* its second field is the time zone */
	const char *extension; /* NULL: none */
} type;

static type
type_of(const tg_file_column *column)
{
	bool is_short = column->digits <= 3;

	switch (column->type)
	{
		case TG_FILE_BOOL:
			return (type){.kind = TG_ARROW_BOOL};
		case TG_FILE_INT:
		case TG_FILE_UINT:
			return (type){.kind = TG_ARROW_INT,
						  .bytes = {4, 1},
						  .values = {column->bits, column->type == TG_FILE_INT},
						  .count = 2};
		case TG_FILE_FLOAT:
			return (type){.kind = TG_ARROW_FLOAT, .bytes = {2}, .values = {column->bits / 32}, .count = 1};
		case TG_FILE_DECIMAL:
			return (type){.kind = TG_ARROW_DECIMAL,
						  .bytes = {4, 4, 4},
						  .values = {column->precision, column->scale, DECIMAL_BITS},
						  .count = 3};
		case TG_FILE_DATE:
			return (type){.kind = TG_ARROW_DATE, .bytes = {2}, .values = {TG_ARROW_DATE_DAY}, .count = 1};
		case TG_FILE_TIME:
			return (type){
				.kind = TG_ARROW_TIME, .bytes = {2, 4}, .values = {column->digits / 3, is_short ? 32 : 64}, .count = 2};
		case TG_FILE_TIMESTAMP:
			return (type){.kind = TG_ARROW_TIMESTAMP,
						  .bytes = {2, column->utc ? REFERENCE : 0},
						  .values = {column->digits / 3},
						  .count = 1 + column->utc,
						  .utc = column->utc};
		case TG_FILE_INTERVAL:
			return (type){
				.kind = TG_ARROW_INTERVAL, .bytes = {2}, .values = {TG_ARROW_INTERVAL_MONTH_DAY_NANO}, .count = 1};
		case TG_FILE_UUID:
			return (type){.kind = TG_ARROW_FIXED_BINARY,
						  .bytes = {4},
						  .values = {UUID_BYTES},
						  .count = 1,
						  .extension = "arrow.uuid"};
		case TG_FILE_BINARY:
			return (type){.kind = TG_ARROW_BINARY};
		case TG_FILE_JSON:
			return (type){.kind = TG_ARROW_UTF8, .extension = "arrow.json"};
		default:
			tg_assert(column->type == TG_FILE_STRING);
			return (type){.kind = TG_ARROW_UTF8};
	}
}

static size_t
put_type(tg_flat_out *out, const type *type)
{
	size_t table = tg_flat_put_table(out, type->bytes, type->count);

	for (unsigned i = 0; i < type->count; i++)
		if (type->utc && i == 1)
			tg_flat_link(out, table, i, tg_flat_put_string(out, "UTC"));
		else
			tg_flat_set(out, table, i, type->bytes[i], type->values[i]);
	return table;
}

/* The name of an extension, as metadata of its field. */
static size_t
put_extension(tg_flat_out *out, const char *extension)
{
	static const uint8_t pair_fields[] = {REFERENCE, REFERENCE};
	size_t pairs = tg_flat_put_vector(out, 1, REFERENCE);
	size_t pair = tg_flat_put_table(out, pair_fields, sizeof(pair_fields));

	tg_flat_link_element(out, pairs, 0, pair);
	tg_flat_link(out, pair, TG_ARROW_PAIR_KEY, tg_flat_put_string(out, "ARROW:extension:name"));
	tg_flat_link(out, pair, TG_ARROW_PAIR_VALUE, tg_flat_put_string(out, extension));
	return pairs;
}

/* A field of so many children, which are to be linked to the vector *children_out. */
static size_t
put_field(tg_flat_out *out, const char *name, bool nullable, const type *type, size_t child_count, size_t *children_out)
{
	const uint8_t fields[] = {REFERENCE, 1, 1, REFERENCE, 0, REFERENCE, type->extension != NULL ? REFERENCE : 0};
	size_t field = tg_flat_put_table(out, fields, sizeof(fields));

	tg_flat_set(out, field, TG_ARROW_FIELD_NULLABLE, 1, nullable);
	tg_flat_set(out, field, TG_ARROW_FIELD_TYPE_KIND, 1, type->kind);
	tg_flat_link(out, field, TG_ARROW_FIELD_NAME, tg_flat_put_string(out, name));
	tg_flat_link(out, field, TG_ARROW_FIELD_TYPE, put_type(out, type));
	*children_out = tg_flat_put_vector(out, child_count, REFERENCE);
	tg_flat_link(out, field, TG_ARROW_FIELD_CHILDREN, *children_out);
	if (type->extension != NULL)
		tg_flat_link(out, field, TG_ARROW_FIELD_METADATA, put_extension(out, type->extension));
	return field;
}

static size_t
put_column(tg_flat_out *out, const tg_file_column *column)
{
	static const type list = {.kind = TG_ARROW_LIST};
	type type = type_of(column);
	size_t children;
	size_t field;
	size_t none;

	if (!column->list)
		return put_field(out, column->name, column->nullable, &type, 0, &children);
	field = put_field(out, column->name, column->nullable, &list, 1, &children);
	tg_flat_link_element(out, children, 0, put_field(out, "item", column->element_nullable, &type, 0, &none));
	return field;
}

static size_t
put_schema(tg_flat_out *out, const tg_columnar_out *file)
{
	static const uint8_t fields[] = {2, REFERENCE};
	size_t schema = tg_flat_put_table(out, fields, sizeof(fields));
	size_t columns = tg_flat_put_vector(out, file->column_count, REFERENCE);

	tg_flat_link(out, schema, TG_ARROW_SCHEMA_FIELDS, columns);
	for (unsigned i = 0; i < file->column_count; i++)
		tg_flat_link_element(out, columns, i, put_column(out, &tg_columns_out(file)[i].description));
	return schema;
}

tg_status
tg_arrow_begin(tg_columnar_out *file)
{
	static const char head[TG_ARROW_HEAD] = TG_ARROW_MAGIC;
	tg_flat_out out = {.memory = &file->memory, .buffer = &file->raw};
	tg_status status = file->options.stream ? TG_OK : tg_out_write(file, head, sizeof(head));
	size_t root = tg_arrow_begin_message(&out, TG_ARROW_SCHEMA, 0);

	tg_flat_link(&out, root, TG_ARROW_MESSAGE_HEADER, put_schema(&out, file));
	tg_flat_finish(&out);
	if (out.failed)
		return TG_NO_MEMORY;
	return status == TG_OK ? tg_arrow_write_message(file, out.buffer->data, out.bytes) : status;
}

/* The places of all record batches. */
static tg_status
write_footer(tg_columnar_out *file)
{
	static const uint8_t fields[] = {2, REFERENCE, REFERENCE, REFERENCE};
	const tg_arrow_place *places = file->places.data;
	tg_flat_out out = {.memory = &file->memory, .buffer = &file->raw};
	size_t root = tg_flat_begin(&out, fields, sizeof(fields));
	uint8_t tail[TG_ARROW_TAIL];
	size_t blocks;
	tg_status status;

	tg_flat_set(&out, root, TG_ARROW_FOOTER_VERSION, 2, TG_ARROW_VERSION_5);
	tg_flat_link(&out, root, TG_ARROW_FOOTER_SCHEMA, put_schema(&out, file));
	tg_flat_link(&out, root, TG_ARROW_FOOTER_DICTIONARIES, tg_flat_put_vector(&out, 0, TG_ARROW_BLOCK_BYTES));
	blocks = tg_flat_put_vector(&out, file->block_count, TG_ARROW_BLOCK_BYTES);
	tg_flat_link(&out, root, TG_ARROW_FOOTER_BLOCKS, blocks);
	tg_flat_finish(&out);
	if (out.failed)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < file->block_count; i++)
	{
		uint8_t *block = tg_flat_elements(&out, blocks) + (size_t) i * TG_ARROW_BLOCK_BYTES;

		tg_write_u64(block, places[i].offset);
		tg_write_u64(block + 8, places[i].metadata_bytes); /* 4 bytes, and 4 of padding */
		tg_write_u64(block + 16, places[i].body_bytes);
	}
	status = tg_out_write(file, out.buffer->data, out.bytes);
	tg_write_u32(tail, (uint32_t) out.bytes);
	memcpy(tail + 4, TG_ARROW_MAGIC, TG_ARROW_MAGIC_BYTES);
	return status == TG_OK ? tg_out_write(file, tail, sizeof(tail)) : status;
}

tg_status
tg_arrow_finish(tg_columnar_out *file)
{
	uint8_t end[TG_ARROW_PREFIX] = {0};
	tg_status status;

	tg_write_u32(end, TG_ARROW_CONTINUATION);
	status = tg_out_write(file, end, sizeof(end));
	return status == TG_OK && !file->options.stream ? write_footer(file) : status;
}

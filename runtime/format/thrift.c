/*
 * thrift.c
 *	  Thrift's compact protocol, as far as the metadata of Parquet need it.
 */
#include "runtime/format/thrift.h"

#include <string.h>

#include "runtime/base/check.h"

/* --- reading ---------------------------------------------------------------------------- */

static size_t
left(const tg_thrift *thrift)
{
	return thrift->failed ? 0 : (size_t) (thrift->end - thrift->at);
}

static uint8_t
read_byte(tg_thrift *thrift)
{
	if (left(thrift) == 0)
	{
		thrift->failed = true;
		return 0;
	}
	return *thrift->at++;
}

static uint64_t
read_varint(tg_thrift *thrift)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7)
	{
		uint8_t byte = read_byte(thrift);

		value |= (uint64_t) (byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	thrift->failed = true;
	return 0;
}

static int64_t
read_zigzag(tg_thrift *thrift)
{
	uint64_t value = read_varint(thrift);

	return (int64_t) (value >> 1) ^ -(int64_t) (value & 1);
}

bool
tg_thrift_next(tg_thrift *thrift, tg_thrift_field *field)
{
	uint8_t header = read_byte(thrift);
	int64_t id;

	if (thrift->failed || header == 0)
		return false;
	field->type = header & 0x0F;
	id = header >> 4 != 0 ? field->id + (header >> 4) : read_zigzag(thrift);
	if (id <= 0 || id > INT16_MAX || field->type == 0 || field->type > TG_THRIFT_STRUCT)
	{
		thrift->failed = true;
		return false;
	}
	field->id = (int16_t) id;
	return !thrift->failed;
}

/* An element of a list has its value behind it; field->id is -1 there. */
bool
tg_thrift_bool(tg_thrift *thrift, const tg_thrift_field *field)
{
	if (field->type != TG_THRIFT_TRUE && field->type != TG_THRIFT_FALSE)
		thrift->failed = true;
	if (field->id < 0)
		return read_byte(thrift) == TG_THRIFT_TRUE;
	return field->type == TG_THRIFT_TRUE;
}

int64_t
tg_thrift_integer(tg_thrift *thrift, const tg_thrift_field *field)
{
	if (field->type == TG_THRIFT_BYTE)
		return (int8_t) read_byte(thrift);
	if (field->type < TG_THRIFT_I16 || field->type > TG_THRIFT_I64)
		thrift->failed = true;
	return read_zigzag(thrift);
}

const uint8_t *
tg_thrift_bytes(tg_thrift *thrift, const tg_thrift_field *field, size_t *bytes_out)
{
	uint64_t bytes = field->type == TG_THRIFT_BINARY ? read_varint(thrift) : UINT64_MAX;
	const uint8_t *data;

	*bytes_out = 0;
	if (bytes > left(thrift))
	{
		thrift->failed = true;
		return NULL;
	}
	data = thrift->at;
	thrift->at += bytes;
	*bytes_out = (size_t) bytes;
	return data;
}

uint32_t
tg_thrift_list(tg_thrift *thrift, const tg_thrift_field *field, tg_thrift_field *element_out)
{
	uint8_t header = field->type == TG_THRIFT_LIST || field->type == TG_THRIFT_SET ? read_byte(thrift) : 0;
	uint64_t count = header >> 4 == 15 ? read_varint(thrift) : header >> 4;

	*element_out = (tg_thrift_field){.id = -1, .type = header & 0x0F};
	if (element_out->type == 0 || element_out->type > TG_THRIFT_STRUCT || count > left(thrift))
	{
		thrift->failed = true;
		return 0;
	}
	return (uint32_t) count;
}

bool
tg_thrift_struct(tg_thrift *thrift, const tg_thrift_field *field)
{
	if (field->type != TG_THRIFT_STRUCT)
		thrift->failed = true;
	return !thrift->failed;
}

static void skip(tg_thrift *thrift, const tg_thrift_field *field, unsigned depth);

static void
skip_map(tg_thrift *thrift, unsigned depth)
{
	uint64_t count = read_varint(thrift);
	uint8_t types = count > 0 ? read_byte(thrift) : 0;
	tg_thrift_field key = {.id = -1, .type = types >> 4};
	tg_thrift_field value = {.id = -1, .type = types & 0x0F};

	for (uint64_t i = 0; i < count && !thrift->failed; i++)
	{
		skip(thrift, &key, depth);
		skip(thrift, &value, depth);
	}
}

static void
skip(tg_thrift *thrift, const tg_thrift_field *field, unsigned depth)
{
	tg_thrift_field inner = {0};
	uint32_t count;
	size_t bytes;

	if (depth == 0)
		thrift->failed = true;
	if (thrift->failed)
		return;
	switch (field->type)
	{
		case TG_THRIFT_TRUE:
		case TG_THRIFT_FALSE:
			(void) tg_thrift_bool(thrift, field);
			break;
		case TG_THRIFT_BYTE:
		case TG_THRIFT_I16:
		case TG_THRIFT_I32:
		case TG_THRIFT_I64:
			(void) tg_thrift_integer(thrift, field);
			break;
		case TG_THRIFT_DOUBLE:
			if (left(thrift) < 8)
				thrift->failed = true;
			else
				thrift->at += 8;
			break;
		case TG_THRIFT_BINARY:
			(void) tg_thrift_bytes(thrift, field, &bytes);
			break;
		case TG_THRIFT_LIST:
		case TG_THRIFT_SET:
			count = tg_thrift_list(thrift, field, &inner);
			for (uint32_t i = 0; i < count && !thrift->failed; i++)
				skip(thrift, &inner, depth - 1);
			break;
		case TG_THRIFT_MAP:
			skip_map(thrift, depth - 1);
			break;
		case TG_THRIFT_STRUCT:
			while (tg_thrift_next(thrift, &inner))
				skip(thrift, &inner, depth - 1);
			break;
		default:
			thrift->failed = true;
	}
}

void
tg_thrift_skip(tg_thrift *thrift, const tg_thrift_field *field)
{
	skip(thrift, field, TG_THRIFT_DEPTH);
}

/* --- writing ----------------------------------------------------------------------------- */

static void
put(tg_thrift_out *out, const void *data, size_t bytes)
{
	if (bytes > (size_t) (out->end - out->at))
	{
		out->full = true;
		return;
	}
	if (bytes > 0)
		memcpy(out->at, data, bytes);
	out->at += bytes;
}

static void
put_byte(tg_thrift_out *out, uint8_t byte)
{
	put(out, &byte, 1);
}

static void
put_varint(tg_thrift_out *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(out, (uint8_t) (value | 0x80));
	put_byte(out, (uint8_t) value);
}

static void
put_zigzag(tg_thrift_out *out, int64_t value)
{
	put_varint(out, (uint64_t) value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void
put_header(tg_thrift_out *out, int16_t id, tg_thrift_type type)
{
	int16_t *last = &out->ids[out->depth];

	if (id > *last && id - *last <= 15)
		put_byte(out, (uint8_t) ((id - *last) << 4 | type));
	else
	{
		put_byte(out, (uint8_t) type);
		put_zigzag(out, id);
	}
	*last = id;
}

void
tg_thrift_put_integer(tg_thrift_out *out, int16_t id, tg_thrift_type type, int64_t value)
{
	put_header(out, id, type);
	if (type == TG_THRIFT_BYTE)
		put_byte(out, (uint8_t) value);
	else
		put_zigzag(out, value);
}

void
tg_thrift_put_bool(tg_thrift_out *out, int16_t id, bool value)
{
	put_header(out, id, value ? TG_THRIFT_TRUE : TG_THRIFT_FALSE);
}

void
tg_thrift_put_element_bytes(tg_thrift_out *out, const void *data, size_t bytes)
{
	put_varint(out, bytes);
	put(out, data, bytes);
}

void
tg_thrift_put_bytes(tg_thrift_out *out, int16_t id, const void *data, size_t bytes)
{
	put_header(out, id, TG_THRIFT_BINARY);
	tg_thrift_put_element_bytes(out, data, bytes);
}

void
tg_thrift_put_list(tg_thrift_out *out, int16_t id, tg_thrift_type element, uint32_t count)
{
	put_header(out, id, TG_THRIFT_LIST);
	if (count < 15)
		put_byte(out, (uint8_t) (count << 4 | element));
	else
	{
		put_byte(out, (uint8_t) (0xF0 | element));
		put_varint(out, count);
	}
}

void
tg_thrift_put_element(tg_thrift_out *out, int64_t value)
{
	put_zigzag(out, value);
}

void
tg_thrift_begin(tg_thrift_out *out, int16_t id)
{
	if (id != 0)
		put_header(out, id, TG_THRIFT_STRUCT);
	tg_assert(out->depth + 1 < TG_THRIFT_DEPTH);
	out->ids[++out->depth] = 0;
}

void
tg_thrift_end(tg_thrift_out *out)
{
	put_byte(out, 0);
	if (out->depth > 0)
		out->depth--;
}

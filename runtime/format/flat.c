/*
 * flat.c
 *	  Flatbuffers that are read.
 */
#include "runtime/format/flat.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/unpack.h"

#define REFERENCE_BYTES 4
#define VTABLE_HEAD_BYTES 4

/* Whether so many bytes are there; if not it is a fault. */
static bool
has_bytes(tg_flat *flat, uint64_t at, uint64_t bytes)
{
	if (at > flat->bytes || bytes > flat->bytes - at)
		flat->failed = true;
	return !flat->failed;
}

static uint32_t
read_u16(const tg_flat *flat, uint32_t at)
{
	return flat->data[at] | (uint32_t) flat->data[at + 1] << 8;
}

static uint32_t
read_u32(const tg_flat *flat, uint32_t at)
{
	return tg_read_u32(flat->data + at);
}

/* Where the reference at a place leads to; 0: it is none. */
static uint32_t
follow(tg_flat *flat, uint32_t at)
{
	uint64_t to;

	if (!has_bytes(flat, at, REFERENCE_BYTES))
		return 0;
	to = (uint64_t) at + read_u32(flat, at);
	if (to == at)
		flat->failed = true;
	return has_bytes(flat, to, REFERENCE_BYTES) ? (uint32_t) to : 0;
}

/* The place of a field of so many bytes; 0: it is absent. */
static uint32_t
place_of(tg_flat *flat, tg_flat_table table, unsigned field, unsigned bytes)
{
	int64_t vtable;
	uint32_t place = VTABLE_HEAD_BYTES + 2 * field;

	if (table == 0 || !has_bytes(flat, table, REFERENCE_BYTES))
		return 0;
	vtable = (int64_t) table - (int32_t) read_u32(flat, table);
	if (vtable < 0 || !has_bytes(flat, (uint64_t) vtable, VTABLE_HEAD_BYTES) ||
		!has_bytes(flat, (uint64_t) vtable, read_u16(flat, (uint32_t) vtable)) ||
		!has_bytes(flat, table, read_u16(flat, (uint32_t) vtable + 2)))
	{
		flat->failed = true;
		return 0;
	}
	if (place + 2 > read_u16(flat, (uint32_t) vtable))
		return 0;
	place = read_u16(flat, (uint32_t) vtable + place);
	if (place == 0)
		return 0;
	if (place < REFERENCE_BYTES || place + bytes > read_u16(flat, (uint32_t) vtable + 2))
		flat->failed = true;
	return flat->failed ? 0 : table + place;
}

tg_flat_table
tg_flat_root(tg_flat *flat)
{
	return follow(flat, 0);
}

int64_t
tg_flat_integer(tg_flat *flat, tg_flat_table table, unsigned field, unsigned bytes, int64_t otherwise)
{
	uint32_t place = place_of(flat, table, field, bytes);

	if (place == 0)
		return otherwise;
	switch (bytes)
	{
		case 1:
			return (int8_t) flat->data[place];
		case 2:
			return (int16_t) read_u16(flat, place);
		case 4:
			return (int32_t) read_u32(flat, place);
		default:
			tg_assert(bytes == 8);
			return (int64_t) tg_read_u64(flat->data + place);
	}
}

tg_flat_table
tg_flat_inner(tg_flat *flat, tg_flat_table table, unsigned field)
{
	uint32_t place = place_of(flat, table, field, REFERENCE_BYTES);

	return place == 0 ? 0 : follow(flat, place);
}

tg_flat_vector
tg_flat_list(tg_flat *flat, tg_flat_table table, unsigned field, unsigned element_bytes)
{
	uint32_t at = tg_flat_inner(flat, table, field);
	uint32_t count;

	if (at == 0)
		return (tg_flat_vector){0};
	count = read_u32(flat, at);
	at += REFERENCE_BYTES;
	if (!has_bytes(flat, at, (uint64_t) count * element_bytes))
		return (tg_flat_vector){0};
	return (tg_flat_vector){.at = at, .count = count};
}

tg_flat_table
tg_flat_element(tg_flat *flat, const tg_flat_vector *vector, uint32_t i)
{
	tg_assert(i < vector->count);
	return follow(flat, vector->at + i * REFERENCE_BYTES);
}

const uint8_t *
tg_flat_string(tg_flat *flat, tg_flat_table table, unsigned field, uint32_t *bytes_out)
{
	tg_flat_vector vector = tg_flat_list(flat, table, field, 1);

	*bytes_out = vector.count;
	return vector.at == 0 ? NULL : flat->data + vector.at;
}

bool
tg_flat_string_is(tg_flat *flat, tg_flat_table table, unsigned field, const char *text)
{
	uint32_t bytes;
	const uint8_t *string = tg_flat_string(flat, table, field, &bytes);

	return string != NULL && bytes == strlen(text) && memcmp(string, text, bytes) == 0;
}

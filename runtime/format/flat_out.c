/*
 * flat_out.c
 *	  Flatbuffers that are written.
 */
#include "runtime/format/flat_out.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/pack.h"

#define ALIGNMENT 8
#define REFERENCE_BYTES 4
#define VTABLE_HEAD_BYTES 4

/* Zeros; false: they could not be put. */
static bool
put_zeros(tg_flat_out *out, size_t bytes)
{
	if (out->failed || !tg_buffer_reserve(out->memory, out->buffer, out->bytes + bytes))
	{
		out->failed = true;
		return false;
	}
	memset((uint8_t *) out->buffer->data + out->bytes, 0, bytes);
	out->bytes += bytes;
	return true;
}

/* Goes on to a place that is so much beyond a multiple of 8. */
static void
align(tg_flat_out *out, size_t beyond)
{
	(void) put_zeros(out, (beyond - out->bytes) % ALIGNMENT);
}

static uint8_t *
at_place(const tg_flat_out *out, size_t place)
{
	return (uint8_t *) out->buffer->data + place;
}

static void
write_u16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t) value;
	at[1] = (uint8_t) (value >> 8);
}

static uint32_t
read_u16(const uint8_t *at)
{
	return at[0] | (uint32_t) at[1] << 8;
}

/*
 * The fields follow their table's reference in the order of their sizes, the largest first: so each
 * is aligned, if the reference lies 4 bytes before a multiple of 8.
 */
size_t
tg_flat_put_table(tg_flat_out *out, const uint8_t *field_bytes, unsigned count)
{
	size_t vtable_bytes = VTABLE_HEAD_BYTES + 2 * (size_t) count;
	size_t vtable;
	size_t table;
	size_t next = REFERENCE_BYTES;

	tg_assert(count <= TG_FLAT_FIELDS_MAX);
	align(out, 0);
	vtable = out->bytes;
	if (!put_zeros(out, vtable_bytes))
		return 0;
	align(out, REFERENCE_BYTES);
	table = out->bytes;
	for (unsigned bytes = ALIGNMENT; bytes > 0; bytes /= 2)
		for (unsigned i = 0; i < count && !out->failed; i++)
			if (field_bytes[i] == bytes)
			{
				write_u16(at_place(out, vtable + VTABLE_HEAD_BYTES + 2 * (size_t) i), next);
				next += bytes;
			}
	if (!put_zeros(out, next))
		return 0;
	write_u16(at_place(out, vtable), vtable_bytes);
	write_u16(at_place(out, vtable + 2), next);
	tg_write_u32(at_place(out, table), (uint32_t) (table - vtable));
	return table;
}

size_t
tg_flat_begin(tg_flat_out *out, const uint8_t *field_bytes, unsigned count)
{
	size_t table;

	tg_assert(out->bytes == 0);
	(void) put_zeros(out, REFERENCE_BYTES);
	table = tg_flat_put_table(out, field_bytes, count);
	if (!out->failed)
		tg_write_u32(at_place(out, 0), (uint32_t) table);
	return table;
}

size_t
tg_flat_put_vector(tg_flat_out *out, size_t count, unsigned element_bytes)
{
	size_t vector;

	align(out, REFERENCE_BYTES); /* so that the elements are at a multiple of 8 */
	vector = out->bytes;
	if (!put_zeros(out, REFERENCE_BYTES + count * element_bytes))
		return 0;
	tg_write_u32(at_place(out, vector), (uint32_t) count);
	return vector;
}

size_t
tg_flat_put_string(tg_flat_out *out, const char *text)
{
	size_t bytes = strlen(text);
	size_t string = tg_flat_put_vector(out, bytes + 1, 1);

	if (out->failed)
		return 0;
	tg_write_u32(at_place(out, string), (uint32_t) bytes); /* the zero behind it does not count */
	memcpy(at_place(out, string + REFERENCE_BYTES), text, bytes);
	return string;
}

/* Where a field is. */
static size_t
place_of(const tg_flat_out *out, size_t table, unsigned field)
{
	size_t vtable = table - *(const uint32_t *) at_place(out, table);
	size_t place = read_u16(at_place(out, vtable + VTABLE_HEAD_BYTES + 2 * (size_t) field));

	tg_assert(place != 0);
	return table + place;
}

void
tg_flat_set(tg_flat_out *out, size_t table, unsigned field, unsigned bytes, int64_t value)
{
	if (out->failed)
		return;
	for (unsigned i = 0; i < bytes; i++)
		*at_place(out, place_of(out, table, field) + i) = (uint8_t) ((uint64_t) value >> 8 * i);
}

static void
link_place(tg_flat_out *out, size_t place, size_t to)
{
	tg_assert(to > place);
	tg_write_u32(at_place(out, place), (uint32_t) (to - place));
}

void
tg_flat_link(tg_flat_out *out, size_t table, unsigned field, size_t to)
{
	if (!out->failed)
		link_place(out, place_of(out, table, field), to);
}

void
tg_flat_link_element(tg_flat_out *out, size_t vector, size_t i, size_t to)
{
	if (!out->failed)
		link_place(out, vector + REFERENCE_BYTES + i * REFERENCE_BYTES, to);
}

uint8_t *
tg_flat_elements(tg_flat_out *out, size_t vector)
{
	return at_place(out, vector + REFERENCE_BYTES);
}

void
tg_flat_finish(tg_flat_out *out)
{
	align(out, 0);
}

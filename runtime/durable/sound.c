/*
 * sound.c
 *	  Whether keys can be made of values that were read.
 */
#include "runtime/durable/sound.h"

#include "runtime/order/key_list.h"
#include "runtime/index/index_spec.h"


/* The bytes behind the host's header; NULL: there are fewer. */
static const unsigned char *
string_bytes(const tg_string *string, unsigned header_bytes, uint32_t *bytes_out)
{
	if (!tg_string_is_out(string))
	{
		*bytes_out = tg_string_inline_bytes(string);
		return (const unsigned char *) string->bytes;
	}
	if (tg_string_blob_bytes(string) < header_bytes)
		return NULL;
	*bytes_out = tg_string_blob_bytes(string) - header_bytes;
	return (const unsigned char *) string->blob + header_bytes;
}

static bool
list_is_sound(const tg_string *string, unsigned header_bytes)
{
	tg_key_ref before = {0};
	tg_key_list list;
	uint32_t bytes;
	uint32_t begin = 0;
	const unsigned char *data = string_bytes(string, header_bytes, &bytes);

	if (data == NULL || bytes < sizeof(uint32_t))
		return false;
	tg_key_list_open(&list, string, header_bytes);
	if (list.count > (bytes - sizeof(uint32_t)) / sizeof(uint32_t))
		return false;
	bytes -= (uint32_t) sizeof(uint32_t) * (list.count + 1);
	for (unsigned i = 0; i < list.count; i++)
	{
		uint32_t end = tg_key_list_end(&list, i);
		tg_key_ref key;

		if (end < begin || end > bytes || end - begin > TG_INDEX_KEY_BYTES_MAX)
			return false;
		key = tg_key_list_get(&list, i);
		if (i > 0 && tg_key_compare(before.key, before.bytes, key.key, key.bytes) >= 0)
			return false;
		before = key;
		begin = end;
	}
	return true;
}

bool
tg_part_is_sound(const tg_value *value, tg_kind kind, const tg_key_part *part, bool several)
{
	uint32_t bytes;

	if (value == NULL)
		return several || (part->order & TG_KEY_NULLABLE) != 0;
	if (kind != TG_KIND_STRING)
		return true;
	if (several)
		return list_is_sound(&value->string, part->header_bytes);
	return string_bytes(&value->string, part->header_bytes, &bytes) != NULL;
}

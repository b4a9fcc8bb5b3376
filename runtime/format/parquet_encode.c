/*
 * parquet_encode.c
 *	  A column's chunk that is encoded: its dictionary, its pages, its minimum and maximum.
 *
 * A dictionary is tried first: it is given up when it has too many values, and taken if it and the
 * indexes are smaller than the values.  Pages end between rows, at about PAGE_BYTES of values.
 */
#include "runtime/format/parquet_out_internal.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "runtime/base/check.h"
#include "runtime/format/pack.h"

#define PAGE_BYTES (1 << 20)
#define PAGE_VALUES 65536 /* with a dictionary */
#define DICTIONARY_VALUES_MAX 32768
#define DICTIONARY_BYTES_MAX (1 << 20)
#define DIRECTORY_BITS 16 /* at most, so that half of it stays empty */
#define DIRECTORY_BITS_LEAST 6
#define HEADER_BYTES 128
#define NO_ENTRY 0

/* --- values ------------------------------------------------------------------------------ */

static unsigned
width_of_word(const tg_column_out *column)
{
	return column->physical == TG_PHYSICAL_INT32 || column->physical == TG_PHYSICAL_FLOAT ? 4 : 8;
}

/* The bytes of value i in PLAIN; a boolean's are counted as one. */
static size_t
plain_bytes_of(const tg_column_out *column, size_t i)
{
	if (column->physical == TG_PHYSICAL_BOOLEAN)
		return 1;
	if (column->description.is_bytes)
		return tg_text_out(column, i).count + (column->physical == TG_PHYSICAL_BYTE_ARRAY ? 4 : 0);
	return width_of_word(column);
}

static double
double_of_word(int64_t word)
{
	double value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

/* A word as it is stored, in 4 or 8 bytes. */
static unsigned
store_word(const tg_column_out *column, int64_t word, uint8_t *into)
{
	float narrow;
	uint32_t bits;

	if (column->physical == TG_PHYSICAL_FLOAT)
	{
		narrow = (float) double_of_word(word);
		memcpy(&bits, &narrow, sizeof(bits));
		tg_write_u32(into, bits);
	}
	else if (width_of_word(column) == 4)
		tg_write_u32(into, (uint32_t) word);
	else
		tg_write_u64(into, (uint64_t) word);
	return width_of_word(column);
}

/* One value in PLAIN, not a boolean. */
static uint8_t *
store_plain(const tg_column_out *column, size_t i, uint8_t *into)
{
	tg_file_bytes bytes;

	if (!column->description.is_bytes)
		return into + store_word(column, ((const int64_t *) column->words.data)[i], into);
	bytes = tg_text_out(column, i);
	if (column->physical == TG_PHYSICAL_BYTE_ARRAY)
	{
		tg_write_u32(into, (uint32_t) bytes.count);
		into += 4;
	}
	if (bytes.count > 0)
		memcpy(into, bytes.data, bytes.count);
	return into + bytes.count;
}

/* Words that are stored as they are, or their lower half. */
static uint8_t *
store_integers(const tg_column_out *column, size_t from, size_t to, uint8_t *into)
{
	const int64_t *words = column->words.data;

	if (width_of_word(column) == 4)
		for (size_t i = from; i < to; i++, into += 4)
			tg_write_u32(into, (uint32_t) words[i]);
	else
		for (size_t i = from; i < to; i++, into += 8)
			tg_write_u64(into, (uint64_t) words[i]);
	return into;
}

static uint8_t *
store_bools(const tg_column_out *column, size_t from, size_t to, uint8_t *into)
{
	const int64_t *words = column->words.data;
	size_t bytes = (to - from + 7) / 8;

	memset(into, 0, bytes);
	for (size_t i = from; i < to; i++)
		into[(i - from) / 8] |= (uint8_t) ((words[i] & 1) << (i - from) % 8);
	return into + bytes;
}

/* --- minimum and maximum ----------------------------------------------------------------- */

/* Two's complement, big-endian, of the same length. */
static int
compare_signed(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	if ((a[0] ^ b[0]) & 0x80)
		return a[0] & 0x80 ? -1 : 1;
	return memcmp(a, b, bytes);
}

static int
compare_values(const tg_column_out *column, size_t a, size_t b)
{
	const int64_t *words = column->words.data;
	tg_file_bytes left;
	tg_file_bytes right;
	int result;

	if (column->description.type == TG_FILE_FLOAT)
	{
		double x = double_of_word(words[a]);
		double y = double_of_word(words[b]);

		return x < y ? -1 : x > y;
	}
	if (column->description.type == TG_FILE_UINT)
		return (uint64_t) words[a] < (uint64_t) words[b] ? -1 : (uint64_t) words[a] > (uint64_t) words[b];
	if (!column->description.is_bytes)
		return words[a] < words[b] ? -1 : words[a] > words[b];
	left = tg_text_out(column, a);
	right = tg_text_out(column, b);
	if (column->description.type == TG_FILE_DECIMAL)
		return compare_signed(left.data, right.data, left.count);
	result = memcmp(left.data, right.data, left.count < right.count ? left.count : right.count);
	return result != 0 ? result : (left.count > right.count) - (left.count < right.count);
}

static bool
take_statistic(const tg_column_out *column, size_t i, bool least, tg_statistic *statistic)
{
	tg_file_bytes bytes;

	if (column->description.is_bytes)
	{
		bytes = tg_text_out(column, i);
		if (bytes.count > TG_STATISTIC_BYTES)
			return false;
		if (bytes.count > 0)
			memcpy(statistic->data, bytes.data, bytes.count);
		statistic->bytes = (uint8_t) bytes.count;
		return true;
	}
	if (column->physical == TG_PHYSICAL_BOOLEAN)
	{
		statistic->data[0] = (uint8_t) ((const int64_t *) column->words.data)[i];
		statistic->bytes = 1;
		return true;
	}
	statistic->bytes = (uint8_t) store_word(column, ((const int64_t *) column->words.data)[i], statistic->data);
	/* parquet.thrift: a least value that is zero is -0.0, a largest one 0.0 */
	if (column->description.type == TG_FILE_FLOAT && double_of_word(((const int64_t *) column->words.data)[i]) == 0)
	{
		memset(statistic->data, 0, sizeof(statistic->data));
		statistic->data[statistic->bytes - 1] = least ? 0x80 : 0;
	}
	return true;
}

/* --- dictionary -------------------------------------------------------------------------- */

/* Eight bytes at a time; it only has to spread. */
static inline uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static inline uint64_t
hash_bytes(tg_file_bytes bytes)
{
	uint64_t hash = 0;
	uint64_t word = 0;

	for (; bytes.count >= sizeof(word); bytes.count -= sizeof(word), bytes.data += sizeof(word))
	{
		memcpy(&word, bytes.data, sizeof(word));
		hash = mix(hash, word);
	}
	word = bytes.count;
	for (size_t b = 0; b < bytes.count; b++)
		word = word << 8 | bytes.data[b];
	return mix(hash, word);
}

/* A dictionary's size; its directory, entries and the values' indexes are the block's buffers. */
typedef struct dictionary
{
	uint32_t count;
	unsigned bits; /* of the directory */
	size_t bytes;
} dictionary;

static inline uint32_t
first_place(const dictionary *dictionary, uint64_t hash)
{
	return (uint32_t) (hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - dictionary->bits));
}

/* Value i is new; its place in the directory is free.  False: these are too many. */
static inline bool
add_entry(tg_columnar_block *block, const tg_column_out *column, size_t i, uint32_t place, dictionary *dictionary)
{
	if (dictionary->count == DICTIONARY_VALUES_MAX)
		return false;
	((uint32_t *) block->entries.data)[dictionary->count] = (uint32_t) i;
	((uint32_t *) block->directory.data)[place] = ++dictionary->count;
	dictionary->bytes += plain_bytes_of(column, i);
	return dictionary->bytes <= DICTIONARY_BYTES_MAX;
}

/* The indexes of all values that are words.  False: there is no dictionary. */
static bool
index_words(tg_columnar_block *block, const tg_column_out *column, dictionary *dictionary)
{
	const uint32_t mask = (1u << dictionary->bits) - 1;
	const uint32_t *directory = block->directory.data;
	const uint32_t *entries = block->entries.data;
	const int64_t *words = column->words.data;
	uint32_t *indexes = block->indexes.data;

	for (size_t i = 0; i < column->value_count; i++)
	{
		uint32_t place;

		if (i > 0 && words[i] == words[i - 1])
		{
			indexes[i] = indexes[i - 1];
			continue;
		}
		place = first_place(dictionary, mix(0, (uint64_t) words[i]));
		while (directory[place] != NO_ENTRY && words[entries[directory[place] - 1]] != words[i])
			place = (place + 1) & mask;
		if (directory[place] == NO_ENTRY && !add_entry(block, column, i, place, dictionary))
			return false;
		indexes[i] = directory[place] - 1;
	}
	return true;
}

static inline bool
same_bytes(tg_file_bytes a, tg_file_bytes b)
{
	return a.count == b.count && memcmp(a.data, b.data, a.count) == 0;
}

/* Likewise, that are bytes. */
static bool
index_bytes(tg_columnar_block *block, const tg_column_out *column, dictionary *dictionary)
{
	const uint32_t mask = (1u << dictionary->bits) - 1;
	const uint32_t *directory = block->directory.data;
	const uint32_t *entries = block->entries.data;
	uint32_t *indexes = block->indexes.data;

	for (size_t i = 0; i < column->value_count; i++)
	{
		tg_file_bytes bytes = tg_text_out(column, i);
		uint32_t place = first_place(dictionary, hash_bytes(bytes));

		while (directory[place] != NO_ENTRY && !same_bytes(tg_text_out(column, entries[directory[place] - 1]), bytes))
			place = (place + 1) & mask;
		if (directory[place] == NO_ENTRY && !add_entry(block, column, i, place, dictionary))
			return false;
		indexes[i] = directory[place] - 1;
	}
	return true;
}

static unsigned
index_bits(const dictionary *dictionary)
{
	return dictionary->count <= 2 ? 1 : 32 - (unsigned) __builtin_clz(dictionary->count - 1);
}

/* The bytes of all values in PLAIN. */
static size_t
plain_bytes(const tg_column_out *column)
{
	if (column->description.is_bytes)
		return column->text_bytes + (column->physical == TG_PHYSICAL_BYTE_ARRAY ? 4 * column->value_count : 0);
	return column->value_count * width_of_word(column);
}

/* Makes a dictionary of the chunk's values; its count is 0 if there is none. */
static tg_status
make_dictionary(tg_columnar_block *block, const tg_column_out *column, dictionary *dictionary)
{
	bool is_whole;

	*dictionary = (struct dictionary){.bits = DIRECTORY_BITS_LEAST};
	if (block->plain || column->physical == TG_PHYSICAL_BOOLEAN || column->value_count == 0)
		return TG_OK;
	while (dictionary->bits < DIRECTORY_BITS && (size_t) 1 << dictionary->bits < 2 * column->value_count)
		dictionary->bits++;
	if (!tg_buffer_reserve(&block->memory, &block->directory, sizeof(uint32_t) << dictionary->bits) ||
		!tg_buffer_reserve(&block->memory, &block->entries, sizeof(uint32_t) << (dictionary->bits - 1)) ||
		!tg_buffer_reserve(&block->memory, &block->indexes, column->value_count * sizeof(uint32_t)))
		return TG_NO_MEMORY;
	memset(block->directory.data, 0, sizeof(uint32_t) << dictionary->bits);
	is_whole =
		column->description.is_bytes ? index_bytes(block, column, dictionary) : index_words(block, column, dictionary);
	if (!is_whole || dictionary->bytes + column->value_count * index_bits(dictionary) / 8 >= plain_bytes(column))
		dictionary->count = 0;
	return TG_OK;
}

/* --- minimum and maximum of a chunk ----------------------------------------------------------- */

/* The least and the largest word of one that is no float. */
static void
find_words(const tg_column_out *column, size_t *least_out, size_t *largest_out)
{
	/* numbers without a sign are in the order of those with one, once their first bit is turned */
	const uint64_t turned = column->description.type == TG_FILE_UINT ? UINT64_C(1) << 63 : 0;
	const int64_t *words = column->words.data;
	int64_t least = INT64_MAX;
	int64_t largest = INT64_MIN;

	for (size_t i = 0; i < column->value_count; i++)
	{
		int64_t word = (int64_t) ((uint64_t) words[i] ^ turned);

		least = word < least ? word : least;
		largest = word > largest ? word : largest;
	}
	for (*least_out = 0; (int64_t) ((uint64_t) words[*least_out] ^ turned) != least;)
		++*least_out;
	for (*largest_out = 0; (int64_t) ((uint64_t) words[*largest_out] ^ turned) != largest;)
		++*largest_out;
}

/* False: there is a NaN.  Of a chunk with a dictionary only its values are looked at. */
static bool
find_values(const tg_columnar_block *block, const tg_column_out *column, const dictionary *dictionary, size_t *least,
			size_t *largest)
{
	const uint32_t *entries = block->entries.data;
	size_t count = dictionary->count > 0 ? dictionary->count : column->value_count;

	*least = *largest = 0;
	for (size_t at = 0; at < count; at++)
	{
		size_t i = dictionary->count > 0 ? entries[at] : at;

		if (column->description.type == TG_FILE_FLOAT &&
			isnan(double_of_word(((const int64_t *) column->words.data)[i])))
			return false;
		if (compare_values(column, i, *least) < 0)
			*least = i;
		if (compare_values(column, i, *largest) > 0)
			*largest = i;
	}
	return true;
}

/* None of a chunk with a NaN, which has no place in the order. */
static void
take_statistics(const tg_columnar_block *block, const tg_column_out *column, const dictionary *dictionary,
				tg_chunk_written *written)
{
	size_t least;
	size_t largest;

	if (column->value_count == 0)
		return;
	if (dictionary->count == 0 && !column->description.is_bytes && column->description.type != TG_FILE_FLOAT)
		find_words(column, &least, &largest);
	else if (!find_values(block, column, dictionary, &least, &largest))
		return;
	written->has_statistics = take_statistic(column, least, true, &written->least) &&
							  take_statistic(column, largest, false, &written->largest);
}

/* --- pages ------------------------------------------------------------------------------- */

static void
put_data_header(tg_thrift_out *out, size_t levels, tg_encoding encoding)
{
	tg_thrift_begin(out, 5);
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, (int64_t) levels);
	tg_thrift_put_integer(out, 2, TG_THRIFT_I32, encoding);
	tg_thrift_put_integer(out, 3, TG_THRIFT_I32, TG_ENCODING_RLE);
	tg_thrift_put_integer(out, 4, TG_THRIFT_I32, TG_ENCODING_RLE);
	tg_thrift_end(out);
}

static void
put_dictionary_header(tg_thrift_out *out, size_t values)
{
	tg_thrift_begin(out, 7);
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, (int64_t) values);
	tg_thrift_put_integer(out, 2, TG_THRIFT_I32, TG_ENCODING_PLAIN);
	tg_thrift_end(out);
}

/* Compresses what is in raw, or copies it, to where it leaves room for the header. */
static tg_status
put_raw(tg_columnar_block *block, size_t raw_bytes, size_t *bytes_out)
{
	bool packs = block->codec != TG_CODEC_NONE;
	size_t bound = packs ? tg_codec_bound(block->codec, raw_bytes) : raw_bytes;
	size_t begin = block->encoded_bytes + HEADER_BYTES;
	uint8_t *into;

	if (!tg_buffer_reserve(&block->memory, &block->encoded, begin + bound + 1))
		return TG_NO_MEMORY;
	into = (uint8_t *) block->encoded.data + begin;
	if (packs)
		*bytes_out = tg_codec_compress(block->codec, block->level, block->raw.data, raw_bytes, into, bound);
	else
		memcpy(into, block->raw.data, *bytes_out = raw_bytes);
	return (packs && *bytes_out == 0) || *bytes_out > INT32_MAX ? TG_TOO_LARGE : TG_OK;
}

/* The page that is in raw, behind its header. */
static tg_status
put_page(tg_columnar_block *block, tg_chunk_written *written, size_t raw_bytes, tg_page_type type, size_t count,
		 tg_encoding encoding)
{
	uint8_t header[HEADER_BYTES];
	tg_thrift_out out = {.at = header, .end = header + sizeof(header)};
	size_t header_bytes;
	uint8_t *into;
	size_t bytes;
	tg_status status;

	if (raw_bytes > INT32_MAX)
		return TG_TOO_LARGE;
	status = put_raw(block, raw_bytes, &bytes);
	if (status != TG_OK)
		return status;
	into = (uint8_t *) block->encoded.data + block->encoded_bytes;
	tg_thrift_put_integer(&out, 1, TG_THRIFT_I32, type);
	tg_thrift_put_integer(&out, 2, TG_THRIFT_I32, (int64_t) raw_bytes);
	tg_thrift_put_integer(&out, 3, TG_THRIFT_I32, (int64_t) bytes);
	tg_thrift_put_integer(&out, 4, TG_THRIFT_I32, (int32_t) crc32(0, into + HEADER_BYTES, (uInt) bytes));
	if (type == TG_PAGE_DICTIONARY)
		put_dictionary_header(&out, count);
	else
		put_data_header(&out, count, encoding);
	tg_thrift_end(&out);
	tg_assert(!out.full);
	header_bytes = (size_t) (out.at - header);
	memcpy(into, header, header_bytes);
	memmove(into + header_bytes, into + HEADER_BYTES, bytes);
	block->encoded_bytes += header_bytes + bytes;
	written->bytes += header_bytes + bytes;
	written->raw_bytes += header_bytes + raw_bytes;
	return TG_OK;
}

static tg_status
put_dictionary(tg_columnar_block *block, const tg_column_out *column, const dictionary *dictionary,
			   tg_chunk_written *written)
{
	const uint32_t *entries = block->entries.data;
	uint8_t *at;

	if (!tg_buffer_reserve(&block->memory, &block->raw, dictionary->bytes + 1))
		return TG_NO_MEMORY;
	at = block->raw.data;
	for (uint32_t i = 0; i < dictionary->count; i++)
		at = store_plain(column, entries[i], at);
	written->dictionary_offset = block->encoded_bytes;
	written->has_dictionary = true;
	return put_page(block, written, dictionary->bytes, TG_PAGE_DICTIONARY, dictionary->count, TG_ENCODING_PLAIN);
}

/* A part of a chunk: from one row to another. */
typedef struct page
{
	size_t level_from;
	size_t level_to;
	size_t value_from;
	size_t value_to;
	size_t plain_bytes;
} page;

/* Each row has one value. */
static bool
is_dense(const tg_column_out *column)
{
	return column->level_count == 0;
}

/* The bytes of values [from, to) in PLAIN; a boolean's are counted as one. */
static size_t
plain_bytes_between(const tg_column_out *column, size_t from, size_t to)
{
	const int64_t *ends = column->words.data;

	if (!column->description.is_bytes)
		return (to - from) * (column->physical == TG_PHYSICAL_BOOLEAN ? 1 : width_of_word(column));
	if (from == to)
		return 0;
	return (size_t) (ends[to - 1] - (from > 0 ? ends[from - 1] : 0)) +
		   (column->physical == TG_PHYSICAL_BYTE_ARRAY ? 4 * (to - from) : 0);
}

/* The page of a dense column that begins there: as many values as suffice, by bisection. */
static page
cut_dense_page(const tg_column_out *column, size_t value, bool has_dictionary)
{
	size_t low = value + 1;
	size_t high = column->value_count;

	if (has_dictionary && high - value > PAGE_VALUES)
		high = value + PAGE_VALUES;
	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (plain_bytes_between(column, value, middle) >= PAGE_BYTES)
			high = middle;
		else
			low = middle + 1;
	}
	return (page){.level_from = value,
				  .level_to = high,
				  .value_from = value,
				  .value_to = high,
				  .plain_bytes = plain_bytes_between(column, value, high)};
}

/* The rows of the page that begins there. */
static page
cut_page(const tg_column_out *column, size_t level, size_t value, size_t level_count, bool has_dictionary)
{
	const uint8_t *levels = column->levels.data;
	page page = {.level_from = level, .level_to = level, .value_from = value, .value_to = value};

	if (is_dense(column))
		return cut_dense_page(column, value, has_dictionary);
	while (page.level_to < level_count)
	{
		uint8_t definition = levels[page.level_to];
		bool begins = column->list_level == 0 || (definition & 0x80) != 0;

		if (begins &&
			(page.plain_bytes >= PAGE_BYTES || (has_dictionary && page.level_to - page.level_from >= PAGE_VALUES)))
			break;
		page.level_to++;
		if ((definition & 0x7F) == column->level_max)
			page.plain_bytes += plain_bytes_of(column, page.value_to++);
	}
	return page;
}

static unsigned
bits_of(unsigned value)
{
	return 32 - (unsigned) __builtin_clz(value);
}

/* The levels of one kind, with their length before them; scratch has room for them. */
static uint8_t *
store_levels(const tg_column_out *column, const page *page, bool repetition, uint32_t *scratch, uint8_t *into)
{
	const uint8_t *levels = column->levels.data;
	size_t count = page->level_to - page->level_from;
	size_t bytes;

	if (is_dense(column))
	{
		bytes = tg_pack_run(into + 4, bits_of(column->level_max), column->level_max, count);
		tg_write_u32(into, (uint32_t) bytes);
		return into + 4 + bytes;
	}
	for (size_t i = 0; i < count; i++)
	{
		uint8_t level = levels[page->level_from + i];

		scratch[i] = repetition ? (level & 0x80) == 0 : level & 0x7F;
	}
	bytes = tg_pack_runs(into + 4, repetition ? 1 : bits_of(column->level_max), scratch, count);
	tg_write_u32(into, (uint32_t) bytes);
	return into + 4 + bytes;
}

static uint8_t *
store_values(const tg_columnar_block *block, const tg_column_out *column, const page *page,
			 const dictionary *dictionary, uint8_t *into)
{
	if (dictionary->count > 0)
	{
		unsigned bits = index_bits(dictionary);
		const uint32_t *indexes = (const uint32_t *) block->indexes.data + page->value_from;

		*into++ = (uint8_t) bits;
		return into + tg_pack_runs(into, bits, indexes, page->value_to - page->value_from);
	}
	if (column->physical == TG_PHYSICAL_BOOLEAN)
		return store_bools(column, page->value_from, page->value_to, into);
	if (!column->description.is_bytes && column->physical != TG_PHYSICAL_FLOAT)
		return store_integers(column, page->value_from, page->value_to, into);
	for (size_t i = page->value_from; i < page->value_to; i++)
		into = store_plain(column, i, into);
	return into;
}

static tg_status
put_data(tg_columnar_block *block, const tg_column_out *column, const page *page, const dictionary *dictionary,
		 tg_chunk_written *written)
{
	size_t count = page->level_to - page->level_from;
	size_t level_bytes = 2 * (4 + tg_pack_bound(count, 8));
	size_t value_bytes = dictionary->count > 0 ? 1 + tg_pack_bound(count, 32) : page->plain_bytes;
	uint8_t *at;

	if (!tg_buffer_reserve(&block->memory, &block->raw, level_bytes + value_bytes + 1) ||
		!tg_buffer_reserve(&block->memory, &block->entries, (count + 1) * sizeof(uint32_t)))
		return TG_NO_MEMORY;
	at = block->raw.data;
	if (column->list_level > 0)
		at = store_levels(column, page, true, block->entries.data, at);
	if (column->level_max > 0)
		at = store_levels(column, page, false, block->entries.data, at);
	at = store_values(block, column, page, dictionary, at);
	return put_page(block, written, (size_t) (at - (uint8_t *) block->raw.data), TG_PAGE_DATA, count,
					dictionary->count > 0 ? TG_ENCODING_DICTIONARY : TG_ENCODING_PLAIN);
}

tg_status
tg_chunk_encode(tg_columnar_block *block, const tg_column_out *column, tg_chunk_written *written)
{
	size_t level_count = tg_levels_out(column);
	page page = {0};
	dictionary dictionary;
	tg_status status;

	written->value_count = level_count;
	written->null_count = level_count - column->value_count;
	status = make_dictionary(block, column, &dictionary);
	if (status == TG_OK)
		take_statistics(block, column, &dictionary, written);
	if (status == TG_OK && dictionary.count > 0)
		status = put_dictionary(block, column, &dictionary, written);
	written->has_plain = dictionary.count == 0;
	written->data_offset = block->encoded_bytes;
	while (status == TG_OK && page.level_to < level_count)
	{
		page = cut_page(column, page.level_to, page.value_to, level_count, dictionary.count > 0);
		status = put_data(block, column, &page, &dictionary, written);
	}
	return status;
}

/*
 * text.c
 *	  Kernels of strings under collations that compare bytes, or of which only equality counts.
 *
 * Most comparisons end in the cells: a cell has the length and the first four bytes, or all of a
 * string of up to twelve.
 */
#include "runtime/vector/text.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/vector/find.h"
#include "runtime/vector/kernel.h"

int
tg_text_compare(const tg_string *a, const tg_string *b)
{
	uint32_t a_bytes;
	uint32_t b_bytes;
	const char *a_data = tg_string_bytes(a, &a_bytes);
	const char *b_data = tg_string_bytes(b, &b_bytes);

	return tg_key_compare(a_data, a_bytes, b_data, b_bytes);
}

/* Sets the result by the order of each pair, which the condition calls order. */
#define COMPARE(condition)                                                                                             \
	for (unsigned i = 0; i < operands->count; i++)                                                                     \
	{                                                                                                                  \
		int order = 0;                                                                                                 \
                                                                                                                       \
		if (operands->to->nulls == NULL || operands->to->nulls[i] == 0)                                                \
			order = tg_text_compare(cell_at(operands->a, i), cell_at(operands->b, i));                                 \
		to[i] = (condition);                                                                                           \
	}

static inline const tg_string *
cell_at(const tg_vector *vector, unsigned row)
{
	return &((const tg_string *) vector->data)[vector->constant ? 0 : row];
}

/*
 * A string that is inline is equal to those with the same two words: bytes behind its end are 0,
 * and one that is out of line says so in its first word.
 */
typedef struct cell_words
{
	uint64_t words[2];
} cell_words;

static inline cell_words
words_of(const tg_string *cell)
{
	cell_words words;

	memcpy(&words, cell, sizeof(words));
	return words;
}

/* Whether each cell has the words; they are compared beside NULLs, too. */
static void
compare_words(const tg_vector *vector, cell_words wanted, unsigned count, uint8_t *to)
{
	const tg_string *cells = vector->data;

	for (unsigned i = 0; i < count; i++)
	{
		cell_words words = words_of(&cells[i]);

		to[i] = ((words.words[0] ^ wanted.words[0]) | (words.words[1] ^ wanted.words[1])) == 0;
	}
}

/* The operand that is constant and inline, the other one being a vector; NULL: it is otherwise. */
static const tg_vector *
find_inline(const tg_vector *a, const tg_vector *b)
{
	if (b->constant && !a->constant && (b->nulls == NULL || b->nulls[0] == 0) && !tg_string_is_out(cell_at(b, 0)))
		return b;
	return NULL;
}

/* The cell of a row that is NULL is not looked at: its blob may be gone. */
static void
compare_equal(tg_operands *operands, bool wanted)
{
	const uint8_t *nulls = operands->to->nulls;
	uint8_t *to = operands->to->data;
	const tg_vector *b = find_inline(operands->a, operands->b);
	const tg_vector *a = find_inline(operands->b, operands->a);

	if (a != NULL || b != NULL)
	{
		compare_words(b != NULL ? operands->a : operands->b, words_of(cell_at(b != NULL ? b : a, 0)), operands->count,
					  to);
		for (unsigned i = 0; i < operands->count; i++)
			to[i] = to[i] == wanted;
		return;
	}
	for (unsigned i = 0; i < operands->count; i++)
		to[i] = (nulls == NULL || nulls[i] == 0) &&
				tg_text_is_equal(cell_at(operands->a, i), cell_at(operands->b, i)) == wanted;
}

tg_status
tg_kernel_text_compare(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	switch (operands->instruction->op)
	{
		case TG_OP_TEXT_EQ:
			compare_equal(operands, true);
			break;
		case TG_OP_TEXT_NE:
			compare_equal(operands, false);
			break;
		case TG_OP_TEXT_LT:
			COMPARE(order < 0);
			break;
		case TG_OP_TEXT_LE:
			COMPARE(order <= 0);
			break;
		case TG_OP_TEXT_GT:
			COMPARE(order > 0);
			break;
		default:
			tg_assert(operands->instruction->op == TG_OP_TEXT_GE);
			COMPARE(order >= 0);
			break;
	}
	return TG_OK;
}

/* --- LIKE --------------------------------------------------------------------------------- */

/*
 * Whether a string is like the pattern: the prefix and the suffix are where they must be, and each
 * other piece is found behind the one before it.  The leftmost place is as good as any.
 */
static bool
is_like(const tg_string *string, const tg_pattern *pattern)
{
	uint32_t bytes;
	const char *data = tg_string_bytes(string, &bytes);
	unsigned first = 0;
	unsigned last = pattern->piece_count;

	if (pattern->anchored_left)
	{
		uint32_t piece = pattern->piece_bytes[0];

		if (pattern->anchored_right && last == 1)
			return bytes == piece && memcmp(data, pattern->pieces[0], piece) == 0;
		if (bytes < piece || memcmp(data, pattern->pieces[0], piece) != 0)
			return false;
		data += piece;
		bytes -= piece;
		first = 1;
	}
	if (pattern->anchored_right)
	{
		uint32_t piece = pattern->piece_bytes[--last];

		if (bytes < piece || memcmp(data + bytes - piece, pattern->pieces[last], piece) != 0)
			return false;
		bytes -= piece;
	}
	for (unsigned i = first; i < last; i++)
	{
		const char *found = tg_text_find(data, bytes, pattern->pieces[i], pattern->piece_bytes[i]);

		if (found == NULL)
			return false;
		found += pattern->piece_bytes[i];
		bytes -= (uint32_t) (found - data);
		data = found;
	}
	return true;
}

/* Bytes of the UTF-8 character that begins with this one. */
static inline unsigned
character_bytes(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/*
 * The same by tokens.  Where something does not fit, the last «%» takes a character more: what an
 * earlier one has taken need not change, as the last one can take any text.
 */
static bool
is_like_tokens(const tg_string *string, const tg_pattern *pattern)
{
	uint32_t bytes;
	const char *data = tg_string_bytes(string, &bytes);
	uint32_t at = 0;
	unsigned token = 0;
	uint32_t again_at = 0;
	unsigned again_token = 0; /* behind the last «%»; 0: there was none */

	while (at < bytes || token < pattern->token_count)
	{
		uint16_t wanted = token < pattern->token_count ? pattern->tokens[token] : TG_ANY_TEXT + 1;

		if (wanted == TG_ANY_TEXT)
		{
			again_token = ++token;
			again_at = at;
		}
		else if (at < bytes && wanted == TG_ANY_CHARACTER)
		{
			at += pattern->utf8 ? character_bytes((unsigned char) data[at]) : 1;
			token++;
		}
		else if (at < bytes && wanted == (unsigned char) data[at])
		{
			at++;
			token++;
		}
		else if (again_token != 0 && again_at < bytes)
		{
			again_at += pattern->utf8 ? character_bytes((unsigned char) data[again_at]) : 1;
			at = again_at;
			token = again_token;
		}
		else
			return false;
	}
	return true;
}

tg_status
tg_kernel_like(tg_operands *operands)
{
	const tg_pattern *pattern = operands->instruction->more;
	const uint8_t *nulls;
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	nulls = operands->to->nulls;
	if (pattern->tokens != NULL)
		for (unsigned i = 0; i < operands->count; i++)
			to[i] = (nulls == NULL || nulls[i] == 0) && is_like_tokens(cell_at(operands->a, i), pattern);
	for (unsigned i = 0; pattern->tokens == NULL && i < operands->count; i++)
		to[i] = (nulls == NULL || nulls[i] == 0) && is_like(cell_at(operands->a, i), pattern);
	return TG_OK;
}

/* --- others ------------------------------------------------------------------------------- */

/* The place behind so many characters, or the end. */
static uint32_t
skip_characters(const char *data, uint32_t bytes, uint32_t from, int64_t characters, bool utf8)
{
	if (!utf8)
		return characters < (int64_t) (bytes - from) ? from + (uint32_t) characters : bytes;
	for (; characters > 0 && from < bytes; characters--)
		from += character_bytes((unsigned char) data[from]);
	return from < bytes ? from : bytes;
}

tg_status
tg_kernel_substring(tg_operands *operands)
{
	bool utf8 = operands->instruction->more != NULL;
	bool trimmed = operands->instruction->op == TG_OP_SUBSTRING_TRIMMED;
	tg_string *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
	{
		uint32_t bytes;
		uint32_t from;
		uint32_t end;
		const char *data;

		if (operands->to->nulls != NULL && operands->to->nulls[i] != 0)
			continue;
		data = tg_string_bytes(cell_at(operands->a, i), &bytes);
		while (trimmed && bytes > 0 && data[bytes - 1] == ' ')
			bytes--;
		from = skip_characters(data, bytes, 0, operands->instruction->low - 1, utf8);
		end = skip_characters(data, bytes, from, operands->instruction->high, utf8);
		if (end - from > TG_STRING_INLINE_MAX)
		{
			if (tg_row_counts(operands, i))
				return TG_UNFIT;
			end = from;
		}
		tg_string_make_inline(&to[i], data + from, end - from);
	}
	return TG_OK;
}

tg_status
tg_kernel_length(tg_operands *operands)
{
	bool utf8 = operands->instruction->more != NULL;
	bool trimmed = operands->instruction->low != 0;
	int64_t *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
	{
		uint32_t bytes = 0;
		const char *data = "";
		int64_t length = 0;

		if (operands->to->nulls == NULL || operands->to->nulls[i] == 0)
			data = tg_string_bytes(cell_at(operands->a, i), &bytes);
		while (trimmed && bytes > 0 && data[bytes - 1] == ' ')
			bytes--;
		/* a character's bytes behind its first one begin with the bits 10 */
		for (uint32_t j = 0; utf8 && j < bytes; j++)
			length += ((unsigned char) data[j] & 0xc0) != 0x80;
		to[i] = utf8 ? length : bytes;
	}
	operands->to->bits = 32;
	return TG_OK;
}

void
tg_set_nulls(tg_operands *operands, const tg_set *set)
{
	uint8_t *nulls = (uint8_t *) operands->to->data + TG_VECTOR_ROWS;
	const uint8_t *others = operands->to->nulls;
	const uint8_t *found = operands->to->data;

	if (!set->has_null)
		return;
	for (unsigned i = 0; i < operands->count; i++)
		nulls[i] = (others != NULL && others[i] != 0) || found[i] == 0;
	operands->to->nulls = nulls;
}

#define SCANNED_MAX 8 /* elements of a set that each cell is compared with, without a branch */

static bool
all_inline(const tg_set *set)
{
	for (unsigned j = 0; j < set->count; j++)
		if (tg_string_is_out(&set->texts[j]))
			return false;
	return true;
}

static void
find_words(const tg_vector *vector, const tg_set *set, unsigned count, uint8_t *to)
{
	uint8_t equal[TG_VECTOR_ROWS];

	memset(to, 0, count);
	for (unsigned j = 0; j < set->count; j++)
	{
		compare_words(vector, words_of(&set->texts[j]), count, equal);
		for (unsigned i = 0; i < count; i++)
			to[i] |= equal[i];
	}
}

tg_status
tg_kernel_text_in(tg_operands *operands)
{
	const tg_set *set = operands->instruction->more;
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	if (set->count <= SCANNED_MAX && all_inline(set) && !operands->a->constant)
	{
		find_words(operands->a, set, operands->count, to);
		tg_set_nulls(operands, set);
		return TG_OK;
	}
	for (unsigned i = 0; i < operands->count; i++)
	{
		const tg_string *cell = cell_at(operands->a, i);
		bool found = false;

		if (operands->to->nulls == NULL || operands->to->nulls[i] == 0)
			for (unsigned j = 0; j < set->count && !found; j++)
				found = tg_text_is_equal(cell, &set->texts[j]);
		to[i] = found;
	}
	tg_set_nulls(operands, set);
	return TG_OK;
}

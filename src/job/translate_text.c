/*
 * translate_text.c
 *	  LIKE, substring, lengths, and bpchar.
 *
 * A bpchar is stored with its blanks.  Two of one length are equal where their bytes are; a
 * constant is padded to the length of what it is compared with.
 */
#include "postgres.h"

#include "runtime/order/value.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* Characters are found as bytes: the database's encoding is UTF-8, or has single bytes. */
static bool
texts_are_plain(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

struct varlena *
tsurugi_pad(struct varlena *text, int characters)
{
	int bytes = VARSIZE(text) - VARHDRSZ;
	int length;
	int blanks;
	struct varlena *padded;

	while (bytes > 0 && VARDATA(text)[bytes - 1] == ' ')
		bytes--;
	length = pg_mbstrlen_with_len(VARDATA(text), bytes);
	blanks = characters - length;
	if (blanks < 0)
		return NULL;
	padded = palloc(VARHDRSZ + bytes + blanks);
	SET_VARSIZE(padded, VARHDRSZ + bytes + blanks);
	memcpy(VARDATA(padded), VARDATA(text), bytes);
	memset(VARDATA(padded) + bytes, ' ', blanks);
	return padded;
}

/* --- LIKE ----------------------------------------------------------------------------- */

/* A pattern under construction: room for as many pieces as it can have. */
typedef struct Pattern
{
	tg_pattern pattern;
	const char **pieces;
	uint32_t *bytes;
	char *text; /* of all pieces */
	uint16_t *tokens;
	bool wild;		/* there is a «_» */
	uint32_t start; /* of the last one */
	uint32_t at;
} Pattern;

static void
end_piece(Pattern *made)
{
	if (made->at == made->start)
		return;
	made->pieces[made->pattern.piece_count] = made->text + made->start;
	made->bytes[made->pattern.piece_count++] = made->at - made->start;
	made->start = made->at;
}

/* False: it has an escape without a character, which is an error. */
static bool
parse_pattern(const char *text, int length, Pattern *made)
{
	for (int i = 0; i < length; i++)
	{
		bool escaped = text[i] == '\\';

		if (escaped && ++i == length)
			return false;
		made->wild = made->wild || (text[i] == '_' && !escaped);
		made->tokens[made->pattern.token_count++] = escaped			 ? (unsigned char) text[i]
													: text[i] == '%' ? TG_ANY_TEXT
													: text[i] == '_' ? TG_ANY_CHARACTER
																	 : (unsigned char) text[i];
		if (text[i] == '%' && !escaped)
			end_piece(made);
		else
			made->text[made->at++] = text[i];
	}
	end_piece(made);
	return true;
}

/* Whether it ends with a «%» that is not escaped. */
static bool
ends_open(const char *text, int length)
{
	int escapes = 0;

	if (length == 0 || text[length - 1] != '%')
		return false;
	while (escapes < length - 1 && text[length - 2 - escapes] == '\\')
		escapes++;
	return escapes % 2 == 0;
}

static const tg_pattern *
make_pattern(const struct varlena *constant)
{
	const char *text = VARDATA(constant);
	int length = VARSIZE(constant) - VARHDRSZ;
	Pattern *made = palloc0(sizeof(*made));

	made->pieces = palloc0((length + 1) * sizeof(char *));
	made->bytes = palloc0((length + 1) * sizeof(uint32_t));
	made->text = palloc0(length + 1);
	made->tokens = palloc0((length + 1) * sizeof(uint16_t));
	made->pattern.utf8 = GetDatabaseEncoding() == PG_UTF8;
	made->pattern.pieces = made->pieces;
	made->pattern.piece_bytes = made->bytes;
	made->pattern.anchored_left = length == 0 || text[0] != '%';
	made->pattern.anchored_right = !ends_open(text, length);
	if (!parse_pattern(text, length, made))
		return NULL;
	if (made->wild)
		made->pattern.tokens = made->tokens;
	if (made->pattern.piece_count == 0 && made->pattern.anchored_left)
	{
		made->pieces[0] = made->text; /* the empty text */
		made->pattern.piece_count = 1;
	}
	return &made->pattern;
}

bool
tsurugi_translate_like(tsurugi_translation *translation, const OpExpr *op, bool negated, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_operand text;
	tsurugi_operand pattern;
	const tsurugi_constant *constant;
	const tg_pattern *made = NULL;
	tsurugi_place place;

	if (!texts_are_plain() || !tsurugi_translate(translation, linitial(op->args), &text) ||
		!tsurugi_translate(translation, lsecond(op->args), &pattern) || text.vector != TG_V_TEXT ||
		pattern.vector != TG_V_TEXT || !tsurugi_is_deterministic(op->inputcollid))
		return false;
	constant = tsurugi_constant_at(program, pattern.place);
	if (constant == NULL || (constant->known && constant->null))
		return false;
	if (constant->known && (made = make_pattern(constant->text)) == NULL)
		return false;
	place = tsurugi_emit_with(program, TG_OP_LIKE, text.place, 0, 0, TG_V_BOOL, made);
	if (negated)
		place = tsurugi_emit(program, TG_OP_NOT, TG_V_BOOL, place, TG_REGISTER_NONE);
	*out = (tsurugi_operand){
		.place = place, .vector = TG_V_BOOL, .type = BOOLOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
	return true;
}

/* --- functions ------------------------------------------------------------------------ */

static bool
constant_integer(const tsurugi_translation *translation, const tsurugi_operand *operand, int64 *value_out)
{
	const tsurugi_constant *constant = tsurugi_constant_at(translation->program, operand->place);

	if (constant == NULL || operand->type != INT4OID || (constant->known && constant->null))
		return false;
	*value_out = constant->known ? constant->integer : 1;
	return true;
}

/* The argument of text(bpchar), which takes blanks off the end; NULL: it is something else. */
static Node *
trimmed_argument(Node *expr)
{
	const FuncExpr *function = (const FuncExpr *) expr;

	return IsA(expr, FuncExpr) && function->funcid == F_TEXT_BPCHAR ? linitial(function->args) : NULL;
}

/* substring(text, from, length); a result that does not fit into a cell is unfit. */
static bool
translate_substring(tsurugi_translation *translation, const FuncExpr *function, tsurugi_operand *out)
{
	Node *trimmed = trimmed_argument(linitial(function->args));
	tsurugi_operand from;
	tsurugi_operand length;
	int64 first;
	int64 count;

	if (list_length(function->args) != 3 || !texts_are_plain() ||
		!tsurugi_translate(translation, trimmed != NULL ? trimmed : linitial(function->args), out) ||
		out->vector != TG_V_TEXT || !tsurugi_translate(translation, lsecond(function->args), &from) ||
		!tsurugi_translate(translation, lthird(function->args), &length) ||
		!constant_integer(translation, &from, &first) || !constant_integer(translation, &length, &count) || first < 1 ||
		count < 0 || count > TG_STRING_INLINE_MAX)
		return false;
	out->type = TEXTOID;
	out->typmod = -1;
	out->place = tsurugi_emit_with(translation->program, trimmed != NULL ? TG_OP_SUBSTRING_TRIMMED : TG_OP_SUBSTRING,
								   out->place, first, count, TG_V_TEXT, GetDatabaseEncoding() == PG_UTF8 ? "" : NULL);
	return true;
}

/* Characters, of a bpchar without the blanks at its end; or bytes. */
static bool
translate_length(tsurugi_translation *translation, const FuncExpr *function, bool bytes, tsurugi_operand *out)
{
	Node *trimmed = trimmed_argument(linitial(function->args));
	tsurugi_place place;

	if (list_length(function->args) != 1 || !texts_are_plain() ||
		!tsurugi_translate(translation, trimmed != NULL ? trimmed : linitial(function->args), out) ||
		out->vector != TG_V_TEXT)
		return false;
	place = tsurugi_emit_with(translation->program, TG_OP_LENGTH, out->place,
							  trimmed != NULL || (out->type == BPCHAROID && !bytes), 0, TG_V_INT,
							  GetDatabaseEncoding() == PG_UTF8 && !bytes ? "" : NULL);
	tsurugi_set_number(out, INT4OID, place, 0);
	return true;
}

bool
tsurugi_translate_text_function(tsurugi_translation *translation, const FuncExpr *function, const char *name,
								tsurugi_operand *out)
{
	if (strcmp(name, "length") == 0 || strcmp(name, "char_length") == 0 || strcmp(name, "character_length") == 0)
		return translate_length(translation, function, false, out);
	if (strcmp(name, "octet_length") == 0)
		return translate_length(translation, function, true, out);
	return (strcmp(name, "substring") == 0 || strcmp(name, "substr") == 0) &&
		   translate_substring(translation, function, out);
}

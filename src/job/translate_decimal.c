/*
 * translate_decimal.c
 *	  Numerics whose scale depends on the row: DECIMALs.
 *
 * That is so of quotients, of columns without a scale, and of what is made of them.  Other numerics
 * become DECIMALs where they meet one, and where their scales would be too far apart.
 */
#include "postgres.h"

#include "runtime/vector/decimal.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

#include "catalog/pg_type.h"

bool
tsurugi_decimal_of_numeric(Datum numeric, tg_decimal *decimal_out)
{
	const struct varlena *flat = PG_DETOAST_DATUM_PACKED(numeric);

	return tg_decimal_of_host(VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat), decimal_out);
}

/* The same conversion of the same value is in one register: a build has a key once. */
static tsurugi_place
emit_conversion(tsurugi_program *program, const tsurugi_operand *operand)
{
	for (int i = 0; i < program->instruction_count; i++)
	{
		const tg_instruction *made = &program->instructions[i];

		if (made->op == TG_OP_TO_DECIMAL && made->a == operand->place && made->b == operand->scaled &&
			made->low == operand->scale)
			return made->to;
	}
	return tsurugi_emit_converted(program, operand->place, operand->scaled, operand->scale);
}

static tsurugi_place
convert_constant(tsurugi_program *program, const tsurugi_constant *constant, int scale)
{
	tsurugi_constant changed = {.vector = TG_V_DECIMAL, .known = constant->known, .null = constant->null};

	if (constant->known && !constant->null)
		changed.decimal = tg_decimal_of(constant->integer, (unsigned) scale);
	return tsurugi_emit_constant(program, &changed);
}

bool
tsurugi_to_decimal(tsurugi_program *program, tsurugi_operand *operand)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);

	if (operand->vector == TG_V_DECIMAL)
		return true;
	if (operand->type != NUMERICOID || operand->scale > TG_DECIMAL_SCALE_MAX)
		return false;
	operand->place = constant != NULL && operand->scaled == TG_REGISTER_NONE
						 ? convert_constant(program, constant, operand->scale)
						 : emit_conversion(program, operand);
	operand->vector = TG_V_DECIMAL;
	operand->scale = 0;
	operand->scaled = TG_REGISTER_NONE;
	return true;
}

bool
tsurugi_both_to_decimal(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b)
{
	return tsurugi_to_decimal(program, a) && tsurugi_to_decimal(program, b);
}

void
tsurugi_decimals(tsurugi_program *program, char sign, const tsurugi_operand *a, const tsurugi_operand *b,
				 tsurugi_operand *out)
{
	tg_op op = sign == '+'	 ? TG_OP_DECIMAL_ADD
			   : sign == '-' ? TG_OP_DECIMAL_SUBTRACT
			   : sign == '*' ? TG_OP_DECIMAL_MULTIPLY
			   : sign == '/' ? TG_OP_DECIMAL_DIVIDE
							 : TG_OP_DECIMAL_REMAINDER;
	tsurugi_place place = tsurugi_emit_bounded(program, op, TG_V_DECIMAL, a->place, b->place, 0, 0);

	*out = (tsurugi_operand){
		.place = place, .vector = TG_V_DECIMAL, .type = NUMERICOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
}

bool
tsurugi_round_decimal(tsurugi_program *program, tsurugi_operand *operand, int scale, tg_rounding rounding)
{
	tsurugi_place place;

	if (scale < 0 || scale > TG_DECIMAL_SCALE_MAX || !tsurugi_to_decimal(program, operand))
		return false;
	place = tsurugi_emit_bounded(program, TG_OP_DECIMAL_TO_INT, TG_V_INT, operand->place, TG_REGISTER_NONE, scale,
								 (int64) rounding);
	tsurugi_set_number(operand, NUMERICOID, place, scale);
	return true;
}

/*
 * emit.c
 *	  Programs under construction: inputs, constants, instructions; and their final form.
 *
 *	place	class (2 bits): input, constant, result; number in it
 */
#include "postgres.h"

#include "src/job/emit.h"

#include "runtime/base/check.h"
#include "runtime/order/value.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "runtime/query/plan.h"
#include "runtime/query/query.h"

#define PLACE_CONSTANT 0x4000
#define PLACE_RESULT 0x8000
#define PLACE_CLASS 0xc000
#define PLACE_NUMBER 0x3fff

#define ZEROED_BYTES 1024	   /* at once */
#define QUERY_BLOCK_BYTES 8128 /* with the engine's header two pages */

tsurugi_program *
tsurugi_program_make(void)
{
	return palloc0(sizeof(tsurugi_program));
}

/* Room for one more element of an array, which grows by doubling. */
static void *
grow(void *array, int count, int *room, size_t size)
{
	if (count < *room)
		return array;
	*room = Max(8, 2 * *room);
	return array == NULL ? palloc(*room * size) : repalloc(array, *room * size);
}

/* --- inputs and constants ------------------------------------------------------------- */

tsurugi_place
tsurugi_emit_input(tsurugi_program *program, tg_input input, tg_vector_type type)
{
	int room = program->input_room;

	for (int i = 0; i < program->input_count; i++)
		if (program->inputs[i].source == input.source && program->inputs[i].field == input.field &&
			program->inputs[i].load == input.load && program->input_types[i] == type)
			return (tsurugi_place) i;
	program->inputs = grow(program->inputs, program->input_count, &program->input_room, sizeof(tg_input));
	program->input_types = grow(program->input_types, program->input_count, &room, sizeof(uint8_t));
	program->inputs[program->input_count] = input;
	program->input_types[program->input_count] = type;
	return (tsurugi_place) program->input_count++;
}

static bool
is_same_constant(const tsurugi_constant *a, const tsurugi_constant *b)
{
	if (!a->known || !b->known || a->vector != b->vector || a->null != b->null)
		return false;
	return a->null || (a->vector == TG_V_INT && a->integer == b->integer) ||
		   (a->vector == TG_V_BOOL && a->truth == b->truth);
}

tsurugi_place
tsurugi_emit_constant(tsurugi_program *program, const tsurugi_constant *constant)
{
	for (int i = 0; i < program->constant_count; i++)
		if (is_same_constant(&program->constants[i], constant))
			return (tsurugi_place) (PLACE_CONSTANT | i);
	program->constants =
		grow(program->constants, program->constant_count, &program->constant_room, sizeof(tsurugi_constant));
	program->constants[program->constant_count] = *constant;
	return (tsurugi_place) (PLACE_CONSTANT | program->constant_count++);
}

tsurugi_place
tsurugi_emit_integer(tsurugi_program *program, int64 value)
{
	tsurugi_constant constant = {.vector = TG_V_INT, .known = true, .integer = value};

	return tsurugi_emit_constant(program, &constant);
}

const tsurugi_constant *
tsurugi_constant_at(const tsurugi_program *program, tsurugi_place place)
{
	return (place & PLACE_CLASS) == PLACE_CONSTANT ? &program->constants[place & PLACE_NUMBER] : NULL;
}

/* --- instructions --------------------------------------------------------------------- */

/* Instructions run in their order, so one reads what earlier ones have written. */
static bool
is_made(const tsurugi_program *program, tsurugi_place place)
{
	int number = place & PLACE_NUMBER;

	switch (place & PLACE_CLASS)
	{
		case 0:
			return number < program->input_count;
		case PLACE_CONSTANT:
			return number < program->constant_count;
		default:
			return place == TG_REGISTER_NONE || number < program->instruction_count;
	}
}

static tsurugi_place
append(tsurugi_program *program, const tg_instruction *instruction, tg_vector_type type)
{
	int room = program->instruction_room;
	int number = program->instruction_count;

	tg_assert(is_made(program, instruction->a) && is_made(program, instruction->b) &&
			  is_made(program, instruction->c) && is_made(program, instruction->only));
	program->instructions = grow(program->instructions, number, &program->instruction_room, sizeof(tg_instruction));
	program->result_types = grow(program->result_types, number, &room, sizeof(uint8_t));
	program->instructions[number] = *instruction;
	program->instructions[number].to = (uint16_t) (PLACE_RESULT | number);
	program->result_types[number] = type;
	program->instruction_count++;
	return (tsurugi_place) (PLACE_RESULT | number);
}

tsurugi_place
tsurugi_emit(tsurugi_program *program, tg_op op, tg_vector_type type, tsurugi_place a, tsurugi_place b)
{
	tg_instruction instruction = {.op = op, .a = a, .b = b, .c = TG_REGISTER_NONE, .only = TG_REGISTER_NONE};

	return append(program, &instruction, type);
}

/* The rows that count now, in a register. */
static tsurugi_place
mask_place(tsurugi_program *program, tsurugi_mask *mask)
{
	tsurugi_place place;

	if (mask == NULL)
		return TG_REGISTER_NONE;
	if (mask->place != TG_REGISTER_NONE)
		return mask->place;
	place = mask->condition;
	if (mask->where == TSURUGI_WHERE_NOT_FALSE)
		place = tsurugi_emit(program, TG_OP_NOT, TG_V_BOOL, place, TG_REGISTER_NONE);
	place = tsurugi_emit(program, TG_OP_IS_TRUE, TG_V_BOOL, place, TG_REGISTER_NONE);
	if (mask->where != TSURUGI_WHERE_TRUE)
		place = tsurugi_emit(program, TG_OP_NOT, TG_V_BOOL, place, TG_REGISTER_NONE);
	if (mask->outer != NULL)
		place = tsurugi_emit(program, TG_OP_AND, TG_V_BOOL, mask_place(program, mask->outer), place);
	mask->place = place;
	return place;
}

tsurugi_place
tsurugi_emit_bounded(tsurugi_program *program, tg_op op, tg_vector_type type, tsurugi_place a, tsurugi_place b,
					 int64 low, int64 high)
{
	tg_instruction instruction = {.op = op,
								  .a = a,
								  .b = b,
								  .c = TG_REGISTER_NONE,
								  .only = mask_place(program, program->mask),
								  .low = low,
								  .high = high};

	return append(program, &instruction, type);
}

tsurugi_place
tsurugi_emit_with(tsurugi_program *program, tg_op op, tsurugi_place a, int64 low, int64 high, tg_vector_type type,
				  const void *more)
{
	tg_instruction instruction = {.op = op,
								  .a = a,
								  .b = TG_REGISTER_NONE,
								  .c = TG_REGISTER_NONE,
								  .only = TG_REGISTER_NONE,
								  .low = low,
								  .high = high,
								  .more = more};

	return append(program, &instruction, type);
}

tsurugi_place
tsurugi_emit_converted(tsurugi_program *program, tsurugi_place a, tsurugi_place scaled, int scale)
{
	tg_instruction instruction = {
		.op = TG_OP_TO_DECIMAL, .a = a, .b = scaled, .c = TG_REGISTER_NONE, .only = TG_REGISTER_NONE, .low = scale};

	return append(program, &instruction, TG_V_DECIMAL);
}

tsurugi_place
tsurugi_emit_choose(tsurugi_program *program, tg_vector_type type, tsurugi_place condition, tsurugi_place then,
					tsurugi_place otherwise)
{
	tg_instruction instruction = {
		.op = TG_OP_CHOOSE, .a = then, .b = otherwise, .c = condition, .only = TG_REGISTER_NONE};

	return append(program, &instruction, type);
}

/* --- the final form ------------------------------------------------------------------- */

int
tsurugi_program_registers(const tsurugi_program *program)
{
	return program->input_count + program->constant_count + program->instruction_count;
}

uint16_t
tsurugi_register_of(const tsurugi_program *program, tsurugi_place place)
{
	uint16_t number = place & PLACE_NUMBER;

	if (place == TG_REGISTER_NONE)
		return TG_REGISTER_NONE;
	switch (place & PLACE_CLASS)
	{
		case 0:
			return number;
		case PLACE_CONSTANT:
			return (uint16_t) (program->input_count + number);
		default:
			return (uint16_t) (program->input_count + program->constant_count + number);
	}
}

void *
tsurugi_query_take(tsurugi_query_memory *memory, size_t bytes)
{
	void *taken;

	bytes = TYPEALIGN(sizeof(tg_value), bytes);
	if (!memory->refused && bytes > memory->left)
	{
		memory->left = Max(bytes, QUERY_BLOCK_BYTES);
		memory->next = tg_query_take(memory->session, memory->query, memory->left);
		memory->refused = memory->next == NULL;
		memory->zeroed = memory->next;
	}
	if (memory->refused)
		return NULL;
	taken = memory->next;
	memory->next += bytes;
	if (memory->next > memory->zeroed)
	{
		size_t more = Min((size_t) ((char *) taken + memory->left - memory->zeroed),
						  Max((size_t) (memory->next - memory->zeroed), ZEROED_BYTES));

		memset(memory->zeroed, 0, more);
		memory->zeroed += more;
	}
	memory->left -= bytes;
	return taken;
}

static void *
take_copy(tsurugi_query_memory *memory, const void *from, size_t bytes)
{
	void *taken = tsurugi_query_take(memory, Max(bytes, 1));

	if (taken != NULL && bytes > 0)
		memcpy(taken, from, bytes);
	return taken;
}

static bool
take_string(tsurugi_query_memory *memory, const struct varlena *text, tg_string *string_out)
{
	uint32_t bytes = VARSIZE(text);
	void *blob;

	if (VARSIZE(text) - VARHDRSZ <= TG_STRING_INLINE_MAX)
	{
		tg_string_make_inline(string_out, VARDATA(text), bytes - VARHDRSZ);
		return true;
	}
	blob = take_copy(memory, text, bytes);
	if (blob == NULL)
		return false;
	tg_string_make_host(string_out, blob, bytes, VARHDRSZ);
	string_out->word &= ~TG_STRING_HOST;
	return true;
}

static bool
finish_constant(const tsurugi_constant *constant, tsurugi_query_memory *memory, tg_vector *vector)
{
	uint8_t *nulls = NULL;

	*vector = (tg_vector){.type = constant->vector, .constant = true, .bits = TG_BITS_UNKNOWN};
	vector->data = tsurugi_query_take(memory, sizeof(tg_value));
	if (vector->data == NULL)
		return false;
	if (constant->null)
	{
		nulls = take_copy(memory, &(uint8_t){1}, 1);
		if (constant->vector == TG_V_TEXT)
			tg_string_make_inline(vector->data, "", 0);
		vector->bits = 0;
		vector->nulls = nulls;
		return nulls != NULL;
	}
	switch ((tg_vector_type) constant->vector)
	{
		case TG_V_BOOL:
			*(uint8_t *) vector->data = constant->truth;
			return true;
		case TG_V_INT:
			*(int64_t *) vector->data = constant->integer;
			vector->bits = (uint8_t) tg_int_bits(constant->integer);
			return true;
		case TG_V_FLOAT:
			*(double *) vector->data = constant->real;
			return true;
		case TG_V_TEXT:
			return take_string(memory, constant->text, vector->data);
		case TG_V_DECIMAL:
			*(tg_decimal *) vector->data = constant->decimal;
			return true;
	}
	return false;
}

static const tg_vector *
finish_constants(const tsurugi_program *program, tsurugi_query_memory *memory)
{
	tg_vector *vectors = tsurugi_query_take(memory, Max(program->constant_count, 1) * sizeof(tg_vector));

	if (vectors == NULL)
		return NULL;
	for (int i = 0; i < program->constant_count; i++)
		if (!finish_constant(&program->constants[i], memory, &vectors[i]))
			return NULL;
	return vectors;
}

static const void *
finish_pattern(const tg_pattern *from, tsurugi_query_memory *memory)
{
	tg_pattern *pattern = take_copy(memory, from, sizeof(tg_pattern));
	const char **pieces = tsurugi_query_take(memory, Max(from->piece_count, 1) * sizeof(char *));

	if (pattern == NULL || pieces == NULL)
		return NULL;
	pattern->piece_bytes = take_copy(memory, from->piece_bytes, from->piece_count * sizeof(uint32_t));
	pattern->pieces = pieces;
	if (from->tokens != NULL)
		pattern->tokens = take_copy(memory, from->tokens, from->token_count * sizeof(uint16_t));
	for (unsigned i = 0; i < from->piece_count; i++)
		pieces[i] = take_copy(memory, from->pieces[i], from->piece_bytes[i]);
	return memory->refused ? NULL : pattern;
}

/* Texts of a set under construction are constants of the host: tg_strings that name its memory. */
static const void *
finish_set(const tg_set *from, tsurugi_query_memory *memory)
{
	tg_set *set = take_copy(memory, from, sizeof(tg_set));
	tg_string *texts;

	if (set == NULL)
		return NULL;
	if (from->ints != NULL)
	{
		set->ints = take_copy(memory, from->ints, from->count * sizeof(int64_t));
		return memory->refused ? NULL : set;
	}
	texts = take_copy(memory, from->texts, from->count * sizeof(tg_string));
	for (unsigned i = 0; texts != NULL && i < from->count; i++)
		if (tg_string_is_out(&texts[i]) && !take_string(memory, texts[i].blob, &texts[i]))
			return NULL;
	set->texts = texts;
	return memory->refused ? NULL : set;
}

static bool
finish_more(tg_instruction *instruction, tsurugi_query_memory *memory)
{
	switch ((tg_op) instruction->op)
	{
		case TG_OP_LIKE:
			instruction->more = finish_pattern(instruction->more, memory);
			return instruction->more != NULL;
		case TG_OP_IN:
		case TG_OP_TEXT_IN:
			instruction->more = finish_set(instruction->more, memory);
			return instruction->more != NULL;
		default:
			return true;
	}
}

static const tg_instruction *
finish_instructions(const tsurugi_program *program, tsurugi_query_memory *memory)
{
	tg_instruction *instructions =
		take_copy(memory, program->instructions, program->instruction_count * sizeof(tg_instruction));

	if (instructions == NULL)
		return NULL;
	for (int i = 0; i < program->instruction_count; i++)
	{
		tg_instruction *at = &instructions[i];

		at->to = tsurugi_register_of(program, at->to);
		at->a = tsurugi_register_of(program, at->a);
		at->b = tsurugi_register_of(program, at->b);
		at->c = tsurugi_register_of(program, at->c);
		at->only = tsurugi_register_of(program, at->only);
		if (!finish_more(at, memory))
			return NULL;
	}
	return instructions;
}

bool
tsurugi_program_finish(const tsurugi_program *program, tsurugi_query_memory *memory, tg_expressions *expressions_out)
{
	int count = tsurugi_program_registers(program);
	uint8_t *types = tsurugi_query_take(memory, Max(count, 1));
	tg_program *to = &expressions_out->program;

	if (types == NULL)
		return false;
	for (int i = 0; i < program->input_count; i++)
		types[i] = program->input_types[i];
	for (int i = 0; i < program->constant_count; i++)
		types[program->input_count + i] = program->constants[i].vector;
	for (int i = 0; i < program->instruction_count; i++)
		types[program->input_count + program->constant_count + i] = program->result_types[i];
	*to = (tg_program){.input_count = (uint16_t) program->input_count,
					   .constant_count = (uint16_t) program->constant_count,
					   .register_count = (uint16_t) count,
					   .instruction_count = (uint16_t) program->instruction_count,
					   .types = types};
	to->constants = finish_constants(program, memory);
	to->instructions = finish_instructions(program, memory);
	expressions_out->inputs = take_copy(memory, program->inputs, program->input_count * sizeof(tg_input));
	return !memory->refused && to->constants != NULL && to->instructions != NULL;
}

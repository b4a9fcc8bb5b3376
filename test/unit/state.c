/*
 * state.c
 *	  The file of what is durable: through errors and power failures it is the last one that was
 *	  written, or the one before; and damage is noticed.
 */
#include "runtime/durable/state.h"

#include "test/unit/memory_files.h"
#include "test/unit/unit.h"

#define SYSTEM 4711
#define ROUNDS 20000

static tg_state
state_of(uint64_t number)
{
	return (tg_state){.base = number * 3,
					  .durable = number * 1000,
					  .place = {.file = number * 7, .offset = number * 5},
					  .clean = number % 2 == 0};
}

static bool
is_state_of(const tg_state *state, uint64_t number)
{
	tg_state wanted = state_of(number);

	return state->base == wanted.base && state->durable == wanted.durable && state->place.file == wanted.place.file &&
		   state->place.offset == wanted.place.offset && state->clean == wanted.clean;
}

static void
write_one(uint64_t number)
{
	tg_file_error error;
	tg_state written = state_of(number);

	if (tg_state_write("d", SYSTEM, &written, &error) != TG_OK)
		unit_bail("could not write");
}

static void
check_round_trip(void)
{
	tg_file_error error;
	tg_state found;

	unit_ok(tg_state_read("d", SYSTEM, &found, &error) == TG_NOT_FOUND, "a directory without the file has no state");
	for (uint64_t number = 1; number <= 3; number++)
	{
		write_one(number);
		unit_ok(tg_state_read("d", SYSTEM, &found, &error) == TG_OK && is_state_of(&found, number),
				"the state that was written is read");
	}
	unit_ok(tg_state_read("d", SYSTEM + 1, &found, &error) == TG_DAMAGED, "another server's is refused");
	forget_all();
}

/*
 * Writes fail at any call, and the power fails at any time: the state is the last one that is known
 * to be written, or one of those that were begun since.
 */
static void
check_failures(void)
{
	uint64_t least = 0; /* written for certain */
	uint64_t last = 0;	/* begun */

	for (unsigned round = 0; round < ROUNDS; round++)
	{
		tg_file_error error;
		tg_state found;
		tg_state written = state_of(++last);
		tg_status status;
		bool known = false;

		calls_until_error = dice(3) == 0 ? 1 + dice(8) : 0;
		if (tg_state_write("d", SYSTEM, &written, &error) == TG_OK)
			least = last;
		calls_until_error = 0;
		if (dice(4) != 0)
			continue;
		cut_power();
		status = tg_state_read("d", SYSTEM, &found, &error);
		for (uint64_t number = least; number <= last && status == TG_OK && !known; number++)
			if (number > 0 && is_state_of(&found, number))
			{
				known = true;
				least = last = number;
			}
		if (status == TG_OK ? !known : status != TG_NOT_FOUND || least > 0)
			unit_bail("the state was lost");
	}
	unit_ok(least > 0, "states survive errors and power failures");
	forget_all();
}

/* Of the calls of a write, in order, the two syncs are told from the others. */
static void
check_syncs(void)
{
	static const bool is_sync[] = {false, false, false, true, false, true}; /* remove, open, write ... */

	write_one(1);
	for (unsigned i = 0; i < 6; i++)
	{
		tg_file_error error = {.in_sync = !is_sync[i]};
		tg_state written = state_of(2);
		tg_status status;

		calls_until_error = i + 1;
		status = tg_state_write("d", SYSTEM, &written, &error);
		unit_ok(status == TG_IO && error.in_sync == is_sync[i], "call %u fails, and is told as what it is", i + 1);
	}
	calls_until_error = 0;
	forget_all();
}

/* Each byte changed, and the file cut at each place. */
static void
check_damage(void)
{
	tg_file_error error;
	tg_state found;
	memory_file *file;

	write_one(1);
	file = find_file("d/state");
	for (size_t i = 0; i < file->now.count; i++)
	{
		file->now.data[i] ^= 1;
		if (tg_state_read("d", SYSTEM, &found, &error) != TG_DAMAGED)
			unit_bail("damage was not noticed");
		file->now.data[i] ^= 1;
	}
	unit_ok(tg_state_read("d", SYSTEM, &found, &error) == TG_OK, "each changed byte is noticed");
	for (size_t count = file->now.count; count-- > 0;)
	{
		resize(&file->now, count);
		if (tg_state_read("d", SYSTEM, &found, &error) != TG_DAMAGED)
			unit_bail("a cut file was read");
	}
	unit_ok(strcmp(error.path, "d/state") == 0, "and each cut, with the file's name");
	forget_all();
}

int
main(void)
{
	tg_files = &memory_calls;
	check_round_trip();
	check_failures();
	check_syncs();
	check_damage();
	return unit_done();
}

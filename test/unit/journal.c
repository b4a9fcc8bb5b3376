/*
 * journal.c
 *	  Files that lose what was not synced: the journal gives back what was, and nothing else.
 *
 * Frames are numbered, and their records follow from the number; so what a reader gives is compared
 * with what was added.
 */
#include "runtime/durable/journal.h"
#include "runtime/durable/journal_names.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "test/unit/memory_files.h"
#include "test/unit/unit.h"

/* The tables of crc32c.c, which this machine's instruction would hide. */
#define tg_crc32c tg_crc32c_here
#include "runtime/durable/crc32c.c"
#undef tg_crc32c
extern uint32_t tg_crc32c(uint32_t crc, const void *data, size_t count);

#define SYSTEM 4711
#define STEP 1000 /* of the host's log, a frame */
#define FRAMES_MAX 3000

/* --- frames ----------------------------------------------------------------------------- */

typedef struct world
{
	tg_journal *journal;
	unsigned added;	  /* frames; their numbers begin with 1 */
	unsigned written; /* of them */
	unsigned synced;
	tg_journal_place durable;
} world;

/* When the journal was opened anew, what is added has other contents, of the same length. */
static unsigned generations[FRAMES_MAX * 10];
static unsigned generation;

static uint32_t
record_of(unsigned number, unsigned char *record)
{
	uint64_t seed = number;
	uint32_t bytes = (uint32_t) (unit_random(&seed) % 300);

	seed += (uint64_t) generations[number] << 32;
	for (uint32_t i = 0; i < bytes; i++)
		record[i] = (unsigned char) unit_random(&seed);
	return bytes;
}

static tg_journal_frame
frame_of(unsigned number, unsigned char *record)
{
	return (tg_journal_frame){.kind = (uint8_t) number,
							  .xid = number * 3,
							  .start = (uint64_t) number * STEP,
							  .end = (uint64_t) number * STEP + STEP - number % 7,
							  .bytes = record_of(number, record)};
}

static void
add(world *world)
{
	unsigned char record[300];
	char notes[40];
	tg_journal_frame frame;
	bool begins = tg_journal_begins_file(world->journal);
	int bytes = snprintf(notes, sizeof(notes), "before %u", ++world->added);

	if (world->added >= sizeof(generations) / sizeof(generations[0]))
		unit_bail("too many frames");
	generations[world->added] = generation;
	frame = frame_of(world->added, record);

	if (tg_journal_append(world->journal, &frame, record, notes, begins ? (uint32_t) bytes : 0) != TG_OK)
		unit_bail("no memory");
}

static tg_status
write_out(world *world, bool sync)
{
	tg_file_error error;
	tg_status status = sync ? tg_journal_sync(world->journal, &error) : tg_journal_write(world->journal, &error);

	if (status != TG_OK)
		return status;
	world->written = world->added;
	if (sync)
	{
		world->synced = world->added;
		world->durable = tg_journal_place_get(world->journal);
	}
	return TG_OK;
}

static tg_status
open_journal(world *world, tg_file_error *error_out)
{
	uint64_t end;
	tg_status status = tg_journal_open("j", SYSTEM, world->durable, &world->journal, &end, error_out);

	generation++;

	if (status == TG_OK)
		world->added = world->written = end == 0 ? 0 : (unsigned) ((end - 1) / STEP);
	return status;
}

/* Whether a reader gives the frames from the first to the last one, each as it was added. */
static uint64_t read_from;

static tg_status
read_all(unsigned *first_out, unsigned *last_out, unsigned *faults_out)
{
	tg_journal_reader *reader;
	tg_file_error error;
	tg_journal_frame frame;
	const void *record;
	tg_status status = tg_journal_read_begin("j", SYSTEM, read_from, &reader, &error);

	*first_out = *last_out = 0;
	if (status != TG_OK)
		return status;
	while ((status = tg_journal_read(reader, &frame, &record, &error)) == TG_OK)
	{
		unsigned number = (unsigned) (frame.start / STEP);
		unsigned char expected[300];
		tg_journal_frame was = frame_of(number, expected);

		if (*first_out == 0)
			*first_out = number;
		else
			*faults_out += number != *last_out + 1;
		*last_out = number;
		*faults_out += frame.kind != was.kind || frame.xid != was.xid || frame.start != was.start ||
					   frame.end != was.end || frame.bytes != was.bytes || memcmp(record, expected, was.bytes) != 0;
	}
	tg_journal_read_end(reader);
	return status;
}

static void
fresh(world *world)
{
	tg_file_error error;

	forget_all();
	*world = (struct world){0};
	if (open_journal(world, &error) != TG_OK)
		unit_bail("no journal");
}

/* --- tests ---------------------------------------------------------------------------------- */

static void
test_crc(void)
{
	unsigned char data[1000];
	unsigned faults = 0;

	unit_equal(tg_crc32c(0, "123456789", 9), UINT32_C(0xe3069283), "the check value of CRC-32C");
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char) dice(256);
	for (unsigned i = 0; i < 500; i++)
	{
		size_t at = dice(100);
		size_t count = dice(800);
		size_t first = dice((unsigned) count + 1);
		uint32_t whole = tg_crc32c(0, data + at, count);

		faults += tg_crc32c(tg_crc32c(0, data + at, first), data + at + first, count - first) != whole;
		faults += (uint32_t) ~by_tables(~UINT32_C(0), data + at, count) != whole;
	}
	unit_equal(faults, 0, "the same by tables, and in two parts");
}

/* Adds, writes and syncs at random; a reader finds what was written. */
static void
test_appending(void)
{
	world world;
	unsigned faults = 0;
	unsigned first;
	unsigned last;

	fresh(&world);
	for (unsigned i = 0; i < FRAMES_MAX; i++)
	{
		tg_status status;

		add(&world);
		if (dice(4) != 0)
			continue;
		faults += write_out(&world, dice(3) == 0) != TG_OK;
		if (dice(20) != 0)
			continue;
		status = read_all(&first, &last, &faults);
		faults += status != TG_NOT_FOUND || first != 1 || last != world.written;
	}
	unit_equal(faults, 0, "a reader finds all that was written, over several files");
	tg_journal_close(world.journal);
}

static tg_journal_reader *
begin_reading(void)
{
	tg_journal_reader *reader;
	tg_file_error error;

	if (tg_journal_read_begin("j", SYSTEM, 0, &reader, &error) != TG_OK)
		unit_bail(error.what);
	return reader;
}

/* Reads to the end.  Returns how many frames were not the next one; plus 1 if there was no end. */
static unsigned
read_on(tg_journal_reader *reader, unsigned *read_inout)
{
	tg_file_error error;
	tg_journal_frame frame;
	const void *record;
	unsigned faults = 0;
	tg_status status;

	while ((status = tg_journal_read(reader, &frame, &record, &error)) == TG_OK)
		faults += frame.start != (uint64_t)++ * read_inout * STEP;
	return faults + (status != TG_NOT_FOUND);
}

/* A reader that has come to the end goes on when more is written. */
static void
test_following(void)
{
	tg_journal_reader *reader = NULL;
	world world;
	unsigned read = 0;
	unsigned faults = 0;

	fresh(&world);
	for (unsigned i = 0; i < FRAMES_MAX; i++)
	{
		add(&world);
		if (dice(5) != 0)
			continue;
		faults += write_out(&world, false) != TG_OK;
		if (reader == NULL)
			reader = begin_reading();
		faults += read_on(reader, &read) + (read != world.written);
	}
	unit_equal(faults, 0, "a reader at the end goes on with what is written later");
	tg_journal_read_end(reader);
	tg_journal_close(world.journal);
}

static world *overtaker; /* adds frames while names are listed */

static int
list_late(const char *directory, tg_file_visitor visitor, void *context)
{
	if (overtaker != NULL && dice(3) == 0)
		for (unsigned count = 1 + dice(60); count > 0; count--)
		{
			add(overtaker);
			if (dice(2) == 0 && write_out(overtaker, false) != TG_OK)
				unit_bail("a write has failed");
		}
	return memory_calls.list(directory, visitor, context);
}

/* Between a reader's look at the end of a file and its look for the next one, more is written. */
static void
test_overtaking(void)
{
	tg_file_calls calls = memory_calls;
	tg_journal_reader *reader;
	world world;
	unsigned read = 0;
	unsigned faults = 0;

	calls.list = list_late;
	tg_files = &calls;
	fresh(&world);
	add(&world);
	faults += write_out(&world, false) != TG_OK;
	reader = begin_reading();
	overtaker = &world;
	while (world.added < FRAMES_MAX && faults == 0)
		faults += read_on(reader, &read);
	overtaker = NULL;
	unit_equal(faults, 0, "a reader that is overtaken while it looks for the next file misses nothing");
	tg_journal_read_end(reader);
	tg_journal_close(world.journal);
	tg_files = &memory_calls;
}

/* A frame that a reader has found broken is asked for again: it may have been written since. */
static void
test_written_over(void)
{
	tg_journal_reader *reader;
	tg_file_error error;
	tg_journal_frame frame;
	const void *record;
	world world;
	contents *now = &files[0].now;
	unsigned faults = 0;

	fresh(&world);
	for (unsigned i = 0; i < 3; i++)
		add(&world);
	faults += write_out(&world, false) != TG_OK;
	now->data[now->count - 1] ^= 1;
	reader = begin_reading();
	while (tg_journal_read(reader, &frame, &record, &error) == TG_OK)
		continue;
	faults += frame.start != 2 * STEP;
	now->data[now->count - 1] ^= 1;
	faults += tg_journal_read(reader, &frame, &record, &error) != TG_OK || frame.start != 3 * STEP;
	unit_equal(faults, 0, "a frame that was broken is read when it has been written over");
	tg_journal_read_end(reader);
	tg_journal_close(world.journal);
}

/* What was synced is there after a power failure, and nothing that was written behind it. */
static void
test_power(void)
{
	world world;
	unsigned faults = 0;
	unsigned dropped = 0;

	fresh(&world);
	for (unsigned round = 0; round < 400; round++)
	{
		unsigned before;
		tg_file_error error;
		unsigned first;
		unsigned last;

		for (unsigned i = dice(40); i > 0; i--)
		{
			add(&world);
			if (dice(4) == 0)
				faults += write_out(&world, dice(3) == 0) != TG_OK;
		}
		before = world.written;
		tg_journal_close(world.journal);
		cut_power();
		if (open_journal(&world, &error) != TG_OK)
			unit_bail(error.what);
		faults += world.added != world.synced;
		dropped += before > world.synced;
		(void) read_all(&first, &last, &faults);
		faults += last != world.added;
		if (dice(2) == 0)
			faults += write_out(&world, true) != TG_OK;
	}
	unit_ok(faults == 0 && dropped > 0, "after 400 power failures: %u faults; %u times more was written", faults,
			dropped);
	tg_journal_close(world.journal);
}

/* A frame that was dropped at an opening does not come back behind one that was added later. */
static void
test_dropped(void)
{
	world world;
	tg_journal_place first_frame;
	tg_file_error error;
	unsigned faults = 0;
	unsigned first;
	unsigned last;

	fresh(&world);
	add(&world);
	faults += write_out(&world, true) != TG_OK;
	first_frame = world.durable;
	add(&world);
	add(&world);
	faults += write_out(&world, true) != TG_OK;
	tg_journal_close(world.journal);
	world.durable = first_frame;
	faults += open_journal(&world, &error) != TG_OK || world.added != 1;
	add(&world);
	faults += write_out(&world, false) != TG_OK;
	tg_journal_close(world.journal);
	/* All that was written reaches the disk; the rest of the file is as it was durable. */
	for (unsigned i = 0; i < FILES_MAX; i++)
	{
		memory_file *file = &files[i];
		size_t count = file->now.count;

		if (file->path[0] == '\0' || file->durable.count <= count)
			continue;
		resize(&file->now, file->durable.count);
		memcpy(file->now.data + count, file->durable.data + count, file->durable.count - count);
	}
	(void) read_all(&first, &last, &faults);
	faults += open_journal(&world, &error) != TG_OK;
	unit_ok(faults == 0 && last == 2, "what was dropped does not come back: %u faults, up to %u", faults, last);
	tg_journal_close(world.journal);
}

/*
 * Each call fails once, at some moment.  A write is repeated; after a sync, the journal is opened
 * anew.
 */
static void
test_errors(void)
{
	world world;
	unsigned faults = 0;
	unsigned errors = 0;

	fresh(&world);
	for (unsigned round = 0; round < 2000; round++)
	{
		bool sync = dice(2) == 0;
		tg_status status;

		add(&world);
		calls_until_error = 1 + dice(6);
		status = write_out(&world, sync);
		calls_until_error = 0;
		if (status == TG_OK)
			continue;
		errors++;
		faults += status != TG_IO;
		if (!sync && tg_journal_pending(world.journal) > 0)
			faults += write_out(&world, false) != TG_OK;
		else
		{
			tg_file_error error;

			tg_journal_close(world.journal);
			cut_power();
			faults += open_journal(&world, &error) != TG_OK;
			faults += world.added < world.synced;
		}
		if (round % 50 == 0)
		{
			unsigned first;
			unsigned last;

			(void) read_all(&first, &last, &faults);
			faults += last != world.written;
		}
	}
	unit_ok(faults == 0 && errors > 100, "with %u calls that failed: %u faults", errors, faults);
	tg_journal_close(world.journal);
}

/* No damage is passed over: a reader gives frames as they were added, up to it. */
static void
test_damage(void)
{
	world world;
	unsigned faults = 0;
	unsigned unnoticed = 0;

	fresh(&world);
	for (unsigned i = 0; i < 200; i++)
		add(&world);
	faults += write_out(&world, true) != TG_OK;
	tg_journal_close(world.journal);
	for (unsigned round = 0; round < 3000; round++)
	{
		memory_file *file = &files[dice(FILES_MAX)];
		unsigned char was;
		size_t at;
		unsigned first;
		unsigned last;
		tg_file_error error;

		if (file->path[0] == '\0')
			continue;
		at = dice((unsigned) file->now.count);
		was = file->now.data[at];
		file->now.data[at] ^= (unsigned char) (1 + dice(255));
		unnoticed += read_all(&first, &last, &faults) == TG_NOT_FOUND && last == world.added;
		if (strtoull(file->path + 2, NULL, 16) == world.durable.file)
		{
			world.journal = NULL;
			unnoticed += open_journal(&world, &error) == TG_OK;
		}
		file->now.data[at] = was;
	}
	unit_ok(faults == 0 && unnoticed == 0, "each damaged byte is noticed: %u faults, %u unnoticed", faults, unnoticed);
	forget_all();
}

/* The second frame of a file, which is as long as its header says. */
static void
leave_out_a_frame(memory_file *file)
{
	contents *now = &file->now;
	uint32_t bytes;
	size_t at;
	size_t next;

	memcpy(&bytes, now->data + 32, sizeof(bytes));
	at = 40 + (size_t) bytes;
	memcpy(&bytes, now->data + at + 4, sizeof(bytes));
	at += 40 + (size_t) bytes;
	memcpy(&bytes, now->data + at + 4, sizeof(bytes));
	next = at + 40 + (size_t) bytes;
	memmove(now->data + at, now->data + next, now->count - next);
	resize(now, now->count - (next - at));
}

/* Nor is a file that is missing, one of another server, or one that was cut. */
static void
test_missing(void)
{
	world world;
	tg_journal_reader *reader;
	tg_file_error error;
	tg_status status;
	unsigned faults = 0;
	unsigned first;
	unsigned last;
	memory_file *second = NULL;
	tg_journal_place place;

	fresh(&world);
	while (second == NULL)
	{
		add(&world);
		if (write_out(&world, true) != TG_OK)
			unit_bail("not written");
		for (unsigned i = 0; i < FILES_MAX; i++)
			if (files[i].path[0] != '\0' && files[i].now.count >= tg_journal_file_bytes &&
				strtoull(files[i].path + 2, NULL, 16) > STEP)
				second = &files[i];
	}
	add(&world);
	(void) write_out(&world, true);
	status = tg_journal_read_begin("j", SYSTEM + 1, 0, &reader, &error);
	unit_equal(status, TG_DAMAGED, "another server's file: %s", error.what);
	leave_out_a_frame(second);
	unit_equal(read_all(&first, &last, &faults), TG_DAMAGED, "a frame is missing");
	unit_equal(tg_journal_find_end("j", SYSTEM, 0, UINT64_MAX, false, &place, &error), TG_DAMAGED,
			   "nor may it be in a copy");
	status = tg_journal_find_end("j", SYSTEM, 0, UINT64_MAX, true, &place, &error);
	unit_ok(status == TG_OK && place.file <= strtoull(second->path + 2, NULL, 16), "the end is before it on request");
	copy_contents(&second->now, &second->durable);
	resize(&second->now, second->now.count - 1);
	unit_equal(read_all(&first, &last, &faults), TG_DAMAGED, "a file that another one follows ends within a frame");
	status = tg_journal_find_end("j", SYSTEM, 0, UINT64_MAX, false, &place, &error);
	unit_ok(status == TG_OK && place.file == strtoull(second->path + 2, NULL, 16) && place.offset < second->now.count,
			"which is the end in a copy");
	forget_file(second);
	unit_equal(read_all(&first, &last, &faults), TG_DAMAGED, "a file is missing");
	unit_equal(faults, 0, "what comes before is as it was");
	forget_file(&files[0]);
	unit_equal(tg_journal_find_end("j", SYSTEM, 0, UINT64_MAX, false, &place, &error), TG_DAMAGED,
			   "so may not the first one");
	status = tg_journal_find_end("j", SYSTEM, 0, UINT64_MAX, true, &place, &error);
	unit_ok(status == TG_OK && place.offset > 0, "but on request, what is left has an end");
	tg_journal_close(world.journal);
}

/* Whether a copy of the journal, with a file that was cut, ends where that file begins. */
static bool
ends_before(uint64_t name)
{
	tg_journal_place place;
	tg_file_error error;
	uint64_t end;

	return tg_journal_find_end("j", SYSTEM, name - 1, name, false, &place, &error) == TG_OK && place.file < name &&
		   tg_journal_end_at("j", SYSTEM, place, &end, &error) == TG_OK && end <= name && end + STEP >= name;
}

/* A file without a whole header is damaged, unless it is the last one: it may have nothing yet. */
static void
test_cut_headers(void)
{
	world world;
	unsigned faults = 0;
	unsigned unnoticed = 0;
	unsigned unending = 0;
	unsigned cuts = 0;
	unsigned first;
	unsigned last;

	fresh(&world);
	for (unsigned i = 0; i < 200; i++)
	{
		add(&world);
		faults += write_out(&world, true) != TG_OK;
	}
	tg_journal_close(world.journal);
	for (memory_file *file = files; file < files + FILES_MAX; file++)
	{
		if (file->path[0] == '\0' || strtoull(file->path + 2, NULL, 16) == world.durable.file)
			continue;
		for (size_t bytes = 0; bytes <= 40; bytes += 20, cuts++)
		{
			resize(&file->now, bytes);
			unnoticed += read_all(&first, &last, &faults) != TG_DAMAGED;
			unending += !ends_before(strtoull(file->path + 2, NULL, 16));
			copy_contents(&file->now, &file->durable);
		}
	}
	unit_ok(faults == 0 && cuts > 3 && unnoticed == 0,
			"each file that is cut, and that another one follows, is noticed: %u of %u not", unnoticed, cuts);
	unit_equal(unending, 0, "but in a copy, whose frames from there on come from elsewhere, it is the end");
	forget_all();
}

/* The end at a place, while more is written behind it. */
static void
test_end_at(void)
{
	world world;
	tg_file_error error;
	tg_journal_place place;
	tg_journal_place found;
	unsigned faults = 0;
	unsigned first;
	unsigned last;
	uint64_t end = 1;

	fresh(&world);
	place = tg_journal_place_get(world.journal);
	unit_ok(tg_journal_end_at("j", SYSTEM, place, &end, &error) == TG_OK && end == 0, "nothing has no end");
	for (unsigned i = 1; i <= 300; i++)
	{
		add(&world);
		faults += write_out(&world, true) != TG_OK;
		if (i == 200)
			place = tg_journal_place_get(world.journal);
	}
	unit_ok(tg_journal_end_at("j", SYSTEM, place, &end, &error) == TG_OK && end > 200 * STEP && end <= 201 * STEP,
			"the end of the last record before a place");
	unit_equal(read_all(&first, &last, &faults), TG_NOT_FOUND, "all frames are still there");
	unit_ok(faults == 0 && last == 300, "also those behind it");
	tg_journal_close(world.journal);
	unit_ok(tg_journal_find_end("j", SYSTEM, 150 * STEP - 1, 150 * STEP, false, &found, &error) == TG_OK &&
				tg_journal_end_at("j", SYSTEM, found, &end, &error) == TG_OK && end > 149 * STEP && end <= 150 * STEP,
			"the end of those that begin before a position");
	unit_ok(tg_journal_find_end("j", SYSTEM, 0, STEP, false, &found, &error) == TG_OK && found.offset == 0,
			"none begins before the first one");
	unit_equal(read_all(&first, &last, &faults), TG_NOT_FOUND, "no frame goes");
	unit_ok(faults == 0 && last == 300, "neither behind the place");
	place.offset--;
	unit_equal(tg_journal_end_at("j", SYSTEM, place, &end, &error), TG_DAMAGED, "no frame ends at another place");
}

/* Behind frames that are known, in a file of its own: what comes before may have a fault. */
static void
test_going_on(void)
{
	world world;
	unsigned char record[300];
	tg_journal_frame frame;
	char path[TG_PATH_MAX];
	memory_file *damaged;
	uint64_t at;
	unsigned faults = 0;
	unsigned first;
	unsigned last;

	fresh(&world);
	for (unsigned i = 0; i < 100; i++)
		add(&world);
	faults += write_out(&world, true) != TG_OK;
	tg_journal_close(world.journal);
	tg_journal_path("j", world.durable.file, path);
	damaged = find_file(path);
	at = world.durable.offset / 2;
	damaged->now.data[at] ^= 1;
	frame = frame_of(100, record);
	faults += tg_journal_go_on("j", SYSTEM, world.durable, frame.start, frame.end, &world.journal) != TG_OK;
	for (unsigned i = 0; i < 50; i++)
		add(&world);
	faults += write_out(&world, true) != TG_OK;
	read_from = 101 * STEP;
	unit_equal(read_all(&first, &last, &faults), TG_NOT_FOUND, "the frames behind it are read");
	unit_ok(faults == 0 && first == 101 && last == 150, "from the first one on, without the file before");
	read_from = 0;
	unit_equal(read_all(&first, &last, &faults), TG_DAMAGED, "whoever needs that finds the fault");
	damaged->now.data[at] ^= 1;
	unit_equal(read_all(&first, &last, &faults), TG_NOT_FOUND, "without it");
	unit_ok(faults == 0 && first == 1 && last == 150, "all are one chain");
	tg_journal_close(world.journal);
}

/* Files before a position go; the last one stays. */
static void
test_forgetting(void)
{
	world world;
	tg_file_error error;
	unsigned faults = 0;
	unsigned first;
	unsigned last;

	fresh(&world);
	for (unsigned i = 0; i < 500; i++)
	{
		add(&world);
		faults += write_out(&world, true) != TG_OK;
	}
	faults += tg_journal_forget(world.journal, 300 * STEP, &error) != TG_OK;
	unit_equal(read_all(&first, &last, &faults), TG_DAMAGED,
			   "whoever needs all of it finds that the first file is missing");
	read_from = 300 * STEP;
	(void) read_all(&first, &last, &faults);
	unit_ok(faults == 0 && first > 1 && first <= 300 && last == 500, "frames from %u on are kept for 300", first);
	faults += tg_journal_forget(world.journal, UINT64_MAX - 1, &error) != TG_OK;
	add(&world);
	faults += write_out(&world, true) != TG_OK;
	read_from = 501 * STEP;
	(void) read_all(&first, &last, &faults);
	read_from = 0;
	unit_ok(faults == 0 && first > 400 && last == 501, "the last file stays");
	tg_journal_close(world.journal);
}

/* The same files as the system has them. */
static void
test_system(void)
{
	char directory[] = "/tmp/tsurugi_journal.XXXXXX";
	tg_journal_place none = {0};
	tg_journal *journal;
	tg_journal_reader *reader;
	tg_file_error error;
	tg_journal_frame frame;
	const void *record;
	uint64_t end;
	unsigned read = 0;
	unsigned faults = 0;
	struct dirent *entry;
	DIR *open_directory;

	if (mkdtemp(directory) == NULL)
		unit_bail("no directory");
	faults += tg_journal_open(directory, SYSTEM, none, &journal, &end, &error) != TG_OK;
	for (unsigned i = 1; i <= 100; i++)
	{
		unsigned char bytes[300];

		frame = frame_of(i, bytes);
		faults += tg_journal_append(journal, &frame, bytes, NULL, 0) != TG_OK;
		faults += tg_journal_sync(journal, &error) != TG_OK;
	}
	none = tg_journal_place_get(journal);
	tg_journal_close(journal);
	faults += tg_journal_open(directory, SYSTEM, none, &journal, &end, &error) != TG_OK || end / STEP != 100;
	tg_journal_close(journal);
	faults += tg_journal_read_begin(directory, SYSTEM, 50 * STEP, &reader, &error) != TG_OK;
	while (tg_journal_read(reader, &frame, &record, &error) == TG_OK)
		read++;
	tg_journal_read_end(reader);
	unit_ok(faults == 0 && read > 50, "in files of the system: %u frames from the file of the 50th on", read);
	open_directory = opendir(directory);
	while (open_directory != NULL && (entry = readdir(open_directory)) != NULL)
		if (entry->d_name[0] != '.')
			(void) !unlinkat(dirfd(open_directory), entry->d_name, 0);
	if (open_directory != NULL)
		(void) closedir(open_directory);
	unit_equal(rmdir(directory), 0, "nothing else is there");
}

int
main(void)
{
	const tg_file_calls *system_calls = tg_files;

	tg_journal_file_bytes = 5000;
	test_crc();
	test_system();
	tg_files = &memory_calls;
	test_appending();
	test_following();
	test_overtaking();
	test_written_over();
	test_power();
	test_dropped();
	test_errors();
	test_damage();
	test_missing();
	test_cut_headers();
	test_end_at();
	test_going_on();
	test_forgetting();
	forget_all();
	tg_files = system_calls;
	return unit_done();
}

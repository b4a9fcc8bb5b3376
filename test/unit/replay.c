/*
 * replay.c
 *	  What transactions write, written as operations and replayed, gives the same rows.
 *
 * Two clients change a table at random (random_writers.h).  Each commit's operations are applied to
 * a second table, which must have the same rows under the same ids.  Then the same with contents
 * that are later than the records; then with records that are damaged.
 *
 *	FUZZ=n		so many damaged records (5,000)
 */
#include "runtime/durable/replay.h"

#include "test/unit/random_writers.h"

#define TRANSACTIONS 1500

static tg_replay *replay;

static void
apply_record(const tg_bytes *record)
{
	if (tg_replay_record(replay, record->data, record->count, true) != TG_OK || misfits > 0)
		unit_bail("a record was not applied");
}

static tg_status
write_hidden(const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes)
{
	const tg_index *index = tg_index_first(source);
	tg_status status = TG_OK;
	tg_wait wait;

	for (; index != NULL && status == TG_OK; index = tg_index_next(index))
		status = tg_operations_write_hidden(source, index, snapshot, first, count, bytes, &wait);
	return status;
}

/*
 * Hidden values that become known between the writes are in the records at the end, and in those of
 * the changes that were made of them.
 */
static void
test_fills(void)
{
	fills = true;
	for (unsigned i = 0; i < 3; i++)
	{
		write_some(TRANSACTIONS / 10, apply_record);
		keep_rows(write_hidden, apply_record);
		check_same("with hidden values that were computed later");
	}
	fills = false;
	write_some(TRANSACTIONS / 10, apply_record);
	check_same("and are changed after that");
}

/* Records of hidden values come after changes that are later than their snapshot. */
static void
test_late_hidden(void)
{
	unsigned first;
	unsigned end;

	fills = true;
	write_some(TRANSACTIONS / 10, apply_record);
	fills = false;
	first = record_count;
	keep_rows(write_hidden, NULL);
	end = record_count;
	computes_all = true;
	write_some(TRANSACTIONS / 30, apply_record);
	computes_all = false;
	for (unsigned i = first; i < end; i++)
		apply_record(&records[i]);
	check_same("with hidden values from before the last changes");
}

static void
test_histories(void)
{
	for (unsigned i = 0; i < 5; i++)
	{
		write_some(TRANSACTIONS / 10, apply_record);
		check_same("after some transactions");
	}
	add_columns(source);
	add_columns(target);
	for (unsigned i = 0; i < 5; i++)
	{
		write_some(TRANSACTIONS / 10, apply_record);
		check_same("with more columns");
	}
}

/* The kind of a record's first operation on rows. */
static unsigned char
first_kind(const tg_bytes *record)
{
	tg_reader reader = tg_reader_make(record->data, record->count);
	uint64_t indexes;

	(void) tg_reader_byte(&reader);
	(void) tg_reader_number(&reader);
	(void) tg_reader_number(&reader);
	for (indexes = tg_reader_number(&reader); indexes > 0; indexes--)
		(void) tg_reader_number(&reader);
	return tg_reader_byte(&reader);
}

/* Rows that lie together are one operation, also if hidden values are known of some only. */
static void
test_runs(void)
{
	client *client = &clients[1];

	for (unsigned i = 0; i < 6; i++)
	{
		computes_all = i % 2 == 0;
		insert_run(client, 10 + roll(client, 2000));
		commit(client);
		apply_record(&records[record_count - 1]);
		if (computes_all)
			unit_equal(first_kind(&records[record_count - 1]), TG_OPERATION_ROWS, "many rows are one operation");
		write_some(TRANSACTIONS / 30, apply_record); /* change some of them */
	}
	computes_all = false;
	check_same("with rows that were stored together");
}

/* Rows that nobody has are to be had, and no other. */
static void
test_finish(void)
{
	uint32_t rows = target->row_next;
	int64_t count = target->row_count;

	tg_replay_finish(clients[0].session, target);
	unit_equal(target->free_row_count, rows - (uint32_t) count, "every row that has no version is free");
	drop_table(clients[0].session, target);
}

/* Contents of files are later than the records that are replayed over them. */
static void
test_later_contents(void)
{
	unsigned faults = 0;

	make_target(clients[0].session);
	for (unsigned i = 0; i < record_count; i++)
		faults += tg_replay_record(replay, records[i].data, records[i].count, true) != TG_OK;
	unit_equal(faults, 0, "all records are applied to an empty table");
	check_same("all at once");
	for (unsigned i = record_count / 2; i < record_count; i++)
		faults += tg_replay_record(replay, records[i].data, records[i].count, false) != TG_OK;
	unit_equal(faults + misfits, 0, "the later half of them is applied once more");
	check_same("applied once more");
	for (unsigned i = record_count / 2; i < record_count; i++)
		faults += tg_replay_record(replay, records[i].data, records[i].count, true) != TG_OK;
	unit_ok(faults == 0 && misfits > 0, "as of their own place, changes that do not fit are told: %u", misfits);
	drop_table(clients[0].session, target);
}

static void
damage(client *client, unsigned char *data, size_t *count_inout)
{
	for (unsigned times = 1 + roll(client, 3); times > 0 && *count_inout > 0; times--)
	{
		size_t at = unit_random(&client->random) % *count_inout;

		switch (roll(client, 4))
		{
			case 0:
				data[at] ^= (unsigned char) (1 << roll(client, 8));
				break;
			case 1:
				data[at] = (unsigned char) unit_random(&client->random);
				break;
			case 2:
				*count_inout = at;
				break;
			default:
				memmove(data + at, data + at + 1, *count_inout - at - 1);
				--*count_inout;
				break;
		}
	}
}

/* Any bytes: an answer, and nothing else happens. */
static void
test_damage(void)
{
	const char *text = getenv("FUZZ");
	unsigned times = text != NULL ? (unsigned) strtoul(text, NULL, 10) : 5000;
	unsigned answers[3] = {0};

	make_target(clients[0].session);
	for (unsigned i = 0; i < times; i++)
	{
		const tg_bytes *record = &records[roll(&clients[0], record_count)];
		/* of its exact size, so that AddressSanitizer sees what is read beyond it */
		unsigned char *data = malloc(record->count > 0 ? record->count : 1);
		size_t count = record->count;
		unsigned char *copy;
		tg_status status;

		if (data == NULL)
			unit_bail("no memory");
		if (count > 0)
			memcpy(data, record->data, count);
		damage(&clients[0], data, &count);
		copy = realloc(data, count > 0 ? count : 1);
		status = tg_replay_record(replay, copy, count, roll(&clients[0], 2) == 0);
		answers[status == TG_OK ? 0 : status == TG_DAMAGED ? 1 : 2]++;
		free(copy);
		if (target->row_next > 10 * TG_SEGMENT_ROWS)
		{
			drop_table(clients[0].session, target);
			make_target(clients[0].session);
		}
	}
	unit_ok(answers[1] > 0 && answers[0] > 0 && answers[0] + answers[1] + answers[2] == times,
			"of damaged records %u were applied, %u were damage, for %u there was no memory", answers[0], answers[1],
			answers[2]);
	drop_table(clients[0].session, target);
}

int
main(void)
{
	start_writers();
	make_target(clients[0].session);
	if (tg_replay_begin(clients[0].session, &replay_calls, &replay) != TG_OK)
		unit_bail("no memory");
	test_histories();
	test_fills();
	test_late_hidden();
	test_runs();
	test_finish();
	test_later_contents();
	test_damage();
	tg_replay_end(replay);
	return end_writers();
}

/*
 * relocate.c
 *	  A version is copied elsewhere, and transactions that read, write, lock or validate beside it
 *	  do not notice; each rule is left out once, and then one of them does.
 */
#include "test/unit/serializable.h"

#include "test/unit/gate.h"

#include "runtime/reclaim/compact.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/txn/row_lock.h"

static client a;
static client b;
static client mover;

/* --- failpoints ----------------------------------------------------------------------- */

static const char *refused; /* a rule that is taken out; NULL: none */
static const char *awaited; /* at this place action is run, once */
static void (*action)(void);

static bool
hook(const char *name)
{
	gate_wait(name);
	if (awaited != NULL && strcmp(name, awaited) == 0)
	{
		awaited = NULL;
		action();
	}
	return refused != NULL && strcmp(name, refused) == 0;
}

static void
at(const char *name, void (*function)(void))
{
	action = function;
	awaited = name;
}

/* --- copying ---------------------------------------------------------------------------- */

static tg_version
head_of(int64_t id)
{
	unsigned char key[16];
	uint32_t row;

	return tg_btree_find(table->index, key, key_of(id, key), &row) == TG_OK ? tg_load_acquire(tg_row_head(table, row))
																			: TG_VERSION_NONE;
}

/* Copies the rows' present versions, in any state, to other slots.  Returns how many stand. */
static unsigned
copy_rows(const int64_t *ids, unsigned count)
{
	tg_copy copies[TG_COPIES_MAX];
	unsigned taken;

	tg_epoch_enter(mover.session);
	for (unsigned i = 0; i < count; i++)
	{
		tg_header *headers;

		copies[i].from = head_of(ids[i]);
		if (tg_slot_take(mover.session, table, TG_DATA, &copies[i].to) != TG_OK ||
			tg_chunk_headers_write(mover.session, tg_version_chunk(copies[i].from), TG_DATA, &headers) != TG_OK)
			unit_bail("no slot");
		tg_version_copy(mover.session, copies[i].to, copies[i].from);
	}
	taken = tg_relocate(mover.session, table, copies, count);
	tg_epoch_leave(mover.session);
	return taken;
}

static unsigned
copy(int64_t id)
{
	return copy_rows(&id, 1);
}

static void
fill(int64_t rows)
{
	begin(&b);
	for (int64_t id = 0; id < rows; id++)
		(void) !put(&b, id, id);
	end(&b, true);
	collect_all(b.session);
}

/* The number of rows in a scan by chunks, as the client sees it now, and their amounts' sum. */
static unsigned
scan(client *c, int64_t *sum_out)
{
	tg_chunk_scan scan;
	unsigned rows = 0;
	unsigned count;

	*sum_out = 0;
	tg_chunk_scan_init(&scan, table, &c->snapshot, 0, UINT32_MAX);
	while ((count = tg_chunk_scan_next(c->session, &scan, c->vectors)) > 0)
	{
		for (unsigned i = 0; i < count; i++)
			*sum_out += ((int64_t *) c->vectors->data[1])[i];
		rows += count;
	}
	return rows;
}

/* Whether a client sees ten rows, each once, whichever way it looks. */
static bool
sees_ten(client *c)
{
	int64_t sum;

	if (scan(c, &sum) != 10 || sum != 45)
		return false;
	for (int64_t id = 0; id < 10; id++)
		if (get(c, id) != id)
			return false;
	return true;
}

/* --- reading ------------------------------------------------------------------------------ */

static bool early_sees;
static bool late_sees;

static void
look_early(void)
{
	client c;

	early_sees = sees_ten(&a);
	client_open(&c);
	begin(&c);
	late_sees = sees_ten(&c);
	end(&c, false);
	client_close(&c);
}

static void
test_reading(void)
{
	static const int64_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	static const char *const places[] = {"relocate_looks", "relocate_taken", "relocate_committed"};

	for (unsigned i = 0; i < 3; i++)
	{
		fill(10);
		begin(&a);
		at(places[i], look_early);
		unit_equal(copy_rows(all, 10), 10, "ten rows are copied");
		unit_ok(awaited == NULL && early_sees && late_sees, "at %s every snapshot sees each of them once", places[i]);
		unit_ok(sees_ten(&a), "and one from before goes on to");
		collect_all(b.session);
		unit_ok(sees_ten(&a), "also when the collector has been there");
		end(&a, false);
		begin(&a);
		unit_ok(sees_ten(&a), "so does one from after");
		collect_all(b.session);
		unit_ok(sees_ten(&a), "and the old ones go");
		end(&a, false);
		empty(&b);
	}
}

/* A copy that came too late is never committed. */
static void
test_late(bool planted)
{
	static const int64_t both[] = {3, 4};
	int64_t old;

	fill(10);
	begin(&b);
	(void) !set(&b, 3, ABSENT, &old);
	refused = planted ? "relocate_late" : NULL;
	at("relocate_committed", look_early);
	begin(&a);
	unit_equal(copy_rows(both, 2), 1, "of two rows one is being deleted and stays");
	refused = NULL;
	unit_ok(late_sees == !planted,
			planted ? "its copy would be seen, were it not withdrawn in time" : "its copy is not to be seen");
	end(&a, false);
	end(&b, false);
	begin(&a);
	unit_ok(sees_ten(&a), "its row has its version, and the other the copy");
	end(&a, false);
	empty(&b);
}

/* --- writing ------------------------------------------------------------------------------- */

static tg_status
newest(client *c, int64_t id, tg_version *version_out)
{
	unsigned char key[16];
	uint32_t row;
	tg_status status;
	tg_wait wait;

	if (tg_btree_find(table->index, key, key_of(id, key), &row) != TG_OK)
		return TG_NOT_FOUND;
	tg_epoch_enter(c->session);
	status = tg_txn_newest(&c->writer, &c->snapshot, table, &row, version_out, &wait);
	tg_epoch_leave(c->session);
	return status;
}

static tg_status
lock(client *c, int64_t id, tg_lock_mode mode)
{
	unsigned char key[16];
	tg_version version;
	uint32_t row;
	tg_status status;
	tg_wait wait;

	if (tg_btree_find(table->index, key, key_of(id, key), &row) != TG_OK)
		return TG_NOT_FOUND;
	tg_epoch_enter(c->session);
	status = tg_txn_lock(&c->writer, &c->snapshot, table, &row, mode, &version, &wait);
	tg_epoch_leave(c->session);
	return status;
}

static void
test_writing(void)
{
	tg_version version;
	tg_wait wait;
	int64_t old;
	int64_t sum;

	fill(10);
	begin(&a);
	unit_equal(copy(3), 1, "a row is copied after a snapshot");
	unit_ok(newest(&a, 3, &version) == TG_OK && version == head_of(3),
			"and it takes the copy for the version that it has seen");
	refused = "copy_is_change";
	unit_ok(newest(&a, 3, &version) == TG_CHANGED, "(else it would be a change)");
	refused = NULL;
	unit_ok(lock(&a, 3, TG_LOCK_KEY_SHARE) == TG_OK && lock(&a, 3, TG_LOCK_UPDATE) == TG_OK, "it is locked");
	unit_equal(copy(3), 0, "a locked version stays");
	unit_ok(set(&a, 3, 33, &old) == TG_OK && old == 3, "it is written");
	a.snapshot.command = a.writer.command + 1;
	unit_ok(scan(&a, &sum) == 10 && sum == 75 && get(&a, 3) == 33, "and then there once, as it was written");
	end(&a, true);

	begin(&a);
	unit_equal(copy(6), 1, "another row is copied after a snapshot");
	unit_ok(newest(&a, 6, &version) == TG_OK &&
				tg_txn_delete(&a.writer, table, tg_version_row(version), version, &wait) == TG_OK,
			"and deleted");
	a.snapshot.command = a.writer.command + 1;
	unit_equal(scan(&a, &sum), 9, "and then not there any more, chunk by chunk");
	tg_epoch_enter(a.session);
	unit_equal(tg_txn_read(&a.snapshot, table, tg_version_row(version), &version, &wait), TG_NOT_FOUND,
			   "nor down its chain");
	tg_epoch_leave(a.session);
	end(&a, false);

	begin(&a);
	copy(4);
	begin(&b);
	unit_ok(set(&b, 4, 44, &old) == TG_OK, "another writes a copy");
	unit_ok(lock(&a, 4, TG_LOCK_SHARE) == TG_BUSY, "and a SHARE lock waits for that transaction");
	unit_ok(lock(&a, 4, TG_LOCK_KEY_SHARE) == TG_OK,
			"but a KEY SHARE lock does not, and finds the version of its snapshot");
	end(&b, true);
	unit_ok(newest(&a, 4, &version) == TG_CHANGED, "then the row has changed");
	end(&a, false);

	begin(&a);
	(void) newest(&a, 5, &version);
	copy(5);
	{
		const tg_value values[2] = {{.word = 5}, {.word = 55}};
		const bool nulls[2] = {false, false};

		unit_ok(tg_txn_update(&a.writer, table, tg_version_row(version), version, values, nulls, &wait) == TG_AGAIN,
				"a writer that has the original looks again");
	}
	unit_ok(set(&a, 5, 55, &old) == TG_OK && old == 5, "and writes the copy");
	end(&a, true);
	collect_all(b.session);
	begin(&a);
	unit_ok(get(&a, 3) == 33 && get(&a, 4) == 44 && get(&a, 5) == 55, "all is there");
	end(&a, false);
	empty(&b);
}

/* A writer that meets references in use spins; it waits for no transaction. */
static tg_status met_status;

static void *
meet(void *argument)
{
	tg_version version;

	met_status = newest(&b, 3, &version);
	return NULL;
}

static void *
move_3(void *argument)
{
	(void) copy(3);
	return NULL;
}

static void
test_spinning(void)
{
	pthread_t threads[2];

	fill(10);
	begin(&b);
	gate_arm("relocate_taken");
	pthread_create(&threads[0], NULL, move_3, NULL);
	if (!gate_is_reached())
		unit_bail("the mover did not get there");
	{
		/* a second gate: the writer has looked once at least */
		uint32_t *open = &gate_open;

		tg_store_release(&gate_name, "spin");
		pthread_create(&threads[1], NULL, meet, NULL);
		for (unsigned i = 0; i < 100000 && tg_load_acquire(&gate_name) != NULL; i++)
			usleep(20);
		unit_ok(tg_load_acquire(&gate_name) == NULL, "a writer spins");
		tg_store_release(open, 1);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	unit_ok(met_status == TG_OK, "and goes on with the copy, as what it has seen");
	end(&b, false);
	empty(&b);
}

/* --- validating ------------------------------------------------------------------------------- */

typedef enum reading
{
	READ_KEY,
	READ_RANGE,
	READ_TABLE,
	READ_CHUNK,
	READINGS
} reading;

static const char *const names[] = {"a row", "a range", "the table", "a chunk"};

static void
read_it(client *c, reading reading)
{
	int64_t amounts[KEYS];

	if (reading == READ_KEY || reading == READ_CHUNK)
		(void) get(c, 3);
	else if (reading == READ_RANGE)
		(void) get_range(c, 2, 5, 100, amounts);
	else
		get_all(c, amounts);
	if (reading == READ_CHUNK)
	{
		tg_read_table *noted = c->reads->tables;

		noted->by_chunk = true;
		noted->words[0] = tg_version_make(tg_version_chunk(noted->words[0]), 0) | TG_READ_CHUNK;
	}
}

/* Reads, has the row copied (and changed), extends before or after.  Whether it commits. */
typedef enum course
{
	COPIED,
	COPIED_CHANGED,
	EXTENDED,
	EXTENDED_CHANGED,
	COURSES
} course;

static bool
goes_through(reading reading, course course)
{
	bool result = true;
	int64_t old;

	fill(10);
	begin(&a);
	read_it(&a, reading);
	unit_equal(copy(3), 1, "%s is read, and copied", names[reading]);
	if (course >= EXTENDED)
	{
		result = extend(&a);
		collect_all(b.session); /* the snapshot does not keep the old version any more */
		for (uint32_t i = 0; reading == READ_KEY && result && i < a.reads->tables->count; i++)
			unit_ok(a.reads->tables->words[i] == head_of(3), "the copy is noted instead");
	}
	if (course == COPIED_CHANGED || course == EXTENDED_CHANGED)
	{
		begin(&b);
		(void) !set(&b, 3, 33, &old);
		end(&b, true);
	}
	result = result && set(&a, 8, 88, &old) == TG_OK;
	result = result && prepare(&a) != 0;
	end(&a, result);
	empty(&b);
	return result;
}

static void
test_validating(void)
{
	for (reading reading = 0; reading < READINGS; reading++)
	{
		unit_ok(goes_through(reading, COPIED), "%s: a copy is no conflict", names[reading]);
		unit_ok(!goes_through(reading, COPIED_CHANGED), "%s: a change of the copy is", names[reading]);
		unit_ok(goes_through(reading, EXTENDED), "%s: none for an extension", names[reading]);
		unit_ok(!goes_through(reading, EXTENDED_CHANGED), "%s: a change after that is one", names[reading]);
	}
	refused = "validate_copied";
	unit_ok(!goes_through(READ_KEY, COPIED), "(without the rule of versions it would be one)");
	refused = "validate_copy_begins";
	unit_ok(!goes_through(READ_RANGE, COPIED), "(without that of ranges, too)");
	refused = NULL;
}

/* --- indexes ------------------------------------------------------------------------ */

static const tg_index_spec amounts_spec = {.host = 7,
										   .key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_SIGNED}}}};
static tg_index *created;
static uint32_t copying_meanwhile;

static void *
create_index(void *argument)
{
	if (tg_index_create(b.session, table, &amounts_spec, TG_DATA, &created) != TG_OK)
		unit_bail("no index");
	copying_meanwhile = tg_load_acquire(&table->relocating);
	return NULL;
}

static void
test_filling(void)
{
	pthread_t threads[2];

	fill(10);
	(void) create_index(NULL);
	unit_equal(copy(3), 0, "nothing is copied while an index is filled");
	tg_index_drop(b.session, created);
	unit_equal(copy(3), 1, "then it is");
	collect_all(b.session);

	for (unsigned planted = 0; planted < 2; planted++)
	{
		gate_arm("relocate_taken");
		refused = planted ? "index_relocating" : NULL;
		pthread_create(&threads[0], NULL, move_3, NULL);
		if (!gate_is_reached())
			unit_bail("the mover did not get there");
		tg_store_release(&gate_reached, 0);
		tg_store_release(&gate_name, planted ? NULL : "index_relocating");
		/* stopped in its loop, it is let go together with the mover */
		pthread_create(&threads[1], NULL, create_index, NULL);
		if (!planted)
			unit_ok(gate_is_reached(), "the creation of an index waits for a copy that has begun");
		else
			pthread_join(threads[1], NULL);
		gate_release();
		pthread_join(threads[0], NULL);
		if (!planted)
			pthread_join(threads[1], NULL);
		unit_equal(copying_meanwhile, planted,
				   planted ? "(or versions are still being copied)" : "until no version is being copied");
		refused = NULL;
		tg_index_drop(b.session, created);
		collect_all(b.session);
	}
	empty(&b);
}

int
main(void)
{
	start();
	client_open(&a);
	client_open(&b);
	client_open(&mover);
	tg_failpoint_set(hook);
	test_reading();
	test_late(false);
	test_late(true);
	test_writing();
	test_spinning();
	test_validating();
	test_filling();
	tg_failpoint_set(NULL);
	client_close(&a);
	client_close(&b);
	client_close(&mover);
	return unit_done();
}

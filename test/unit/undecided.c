/*
 * undecided.c
 *	  From where on the journal has to be kept: the first record of those that may still be decided.
 *	  Which formats of records are read.  A lack of memory leaves no trace.  Another process can go
 *	  on.
 */
#include "runtime/durable/undecided.h"

#include "test/unit/unit.h"

#include "runtime/base/failpoint.h"
#include "runtime/durable/definitions.h"
#include "runtime/durable/roster.h"
#include "runtime/order/kind.h"

static tg_roster *roster;
static tg_undecided undecided;
static tg_bytes record;
static unsigned char format = TG_RECORD_FORMAT;

/* Passes a record of a kind on: its number, if it has any, and no definitions. */
static tg_status
pass(tg_record_kind kind, uint32_t xid, uint64_t first, uint64_t position)
{
	tg_journal_frame frame = {.kind = TG_FRAME_RECORD, .xid = xid, .start = position, .end = position + 10};
	tg_decision decision;

	record.count = 0;
	if (tg_bytes_reserve(&record, 64) != TG_OK)
		unit_bail("no memory");
	tg_bytes_put_byte(&record, format);
	tg_bytes_put_byte(&record, (unsigned char) kind);
	if (kind != TG_RECORD_CLEAN_START)
		tg_bytes_put_number(&record, first);
	if (kind != TG_RECORD_CLEAN_START && kind != TG_RECORD_GIVEN_UP)
		tg_bytes_put_number(&record, 0);
	frame.bytes = (uint32_t) record.count;
	return tg_undecided_frame(&undecided, &frame, record.data, &decision);
}

static void
expect(tg_record_kind kind, uint32_t xid, uint64_t first, uint64_t position)
{
	if (pass(kind, xid, first, position) != TG_OK)
		unit_bail("a record is refused");
}

static void
check_least(uint64_t least, const char *name)
{
	unit_ok(tg_undecided_least(&undecided) == least, "%s", name);
}

static void
test_formats(void)
{
	const char *fault;

	format = TG_RECORD_FORMAT_OLDEST;
	unit_ok(pass(TG_RECORD_PART, 0, 0, 900) == TG_OK, "a record of the first format is read");
	format = TG_RECORD_FORMAT + 1;
	unit_ok(pass(TG_RECORD_PART, 0, 0, 1000) == TG_DAMAGED, "one of a later format is not");
	fault = tg_record_fault(record.data, record.count, "otherwise");
	unit_ok(strstr(fault, "later format") != NULL, "which is what is said of it: %s", fault);
	format = TG_RECORD_FORMAT;
	unit_ok(pass(TG_RECORD_GIVEN_UP, 0, 0, 1100) == TG_DAMAGED &&
				strcmp(tg_record_fault(record.data, record.count, "otherwise"), "otherwise") == 0,
			"of a record that is damaged otherwise it is not");
}

/* --- definitions, and for another process ------------------------------------------------- */

static unsigned refusals;

static bool
refuse_once(const char *name)
{
	return strcmp(name, "undecided_no_memory") == 0 && refusals > 0 && refusals-- > 0;
}

/* A frame with a definition of a storage; each step that needs memory lacks it, once. */
static void
define(tg_record_kind kind, uint32_t xid, uint64_t first, tg_definition_kind what, uint64_t storage, uint64_t position)
{
	static const uint8_t kinds[] = {TG_KIND_4};
	const tg_definition definition = {
		.kind = what, .storage = storage, .database = 1, .relation = 2, .owner = 3, .kinds = kinds, .column_count = 1};
	tg_journal_frame frame = {.kind = TG_FRAME_RECORD, .xid = xid, .start = position, .end = position + 10};
	tg_bytes definitions = {0};
	tg_decision decision;
	unsigned refused = 0;

	record.count = 0;
	if (tg_definition_put(&definitions, &definition) != TG_OK ||
		tg_bytes_reserve(&record, definitions.count + 64) != TG_OK)
		unit_bail("no memory");
	tg_bytes_put_byte(&record, format);
	tg_bytes_put_byte(&record, (unsigned char) kind);
	if (kind != TG_RECORD_NOW)
		tg_bytes_put_number(&record, first);
	tg_bytes_put_number(&record, definitions.count);
	tg_bytes_put(&record, definitions.data, definitions.count);
	tg_bytes_free(&definitions);
	frame.bytes = (uint32_t) record.count;
	refusals = 1;
	while (tg_undecided_frame(&undecided, &frame, record.data, &decision) == TG_NO_MEMORY)
		refused++;
	unit_equal(refused, 1, "a frame for which there was no memory is passed on again");
}

static void
decide(tg_frame_kind kind, uint32_t xid, uint64_t position)
{
	const tg_journal_frame frame = {.kind = kind, .xid = xid, .start = position, .end = position + 10};
	tg_decision decision;

	while (tg_undecided_frame(&undecided, &frame, NULL, &decision) == TG_NO_MEMORY)
		;
}

static tg_storage_state
state_of(uint64_t storage)
{
	const tg_roster_storage *found = tg_roster_find(undecided.roster, storage);

	return found != NULL ? found->state : TG_STORAGE_ENDED;
}

static unsigned
count_different(const tg_undecided *one, const tg_undecided *other)
{
	unsigned different = one->count != other->count;

	for (size_t i = 0; different == 0 && i < one->count; i++)
	{
		const tg_undecided_txn *a = &one->txns[i];
		const tg_undecided_txn *b = &other->txns[i];

		different += a->xid != b->xid || a->first != b->first || a->last != b->last || a->with != b->with ||
					 a->definitions.count != b->definitions.count;
	}
	return different;
}

/* Another process has the same. */
static void
hand_over(void)
{
	tg_undecided former = undecided;
	tg_bytes bytes = {0};
	unsigned refused = 0;

	if (tg_undecided_write(&former, &bytes) != TG_OK)
		unit_bail("no memory");
	for (size_t count = 0; count < bytes.count; count++)
	{
		tg_status status = tg_undecided_read(bytes.data, count, &undecided);

		refused += status == TG_DAMAGED;
		if (status != TG_OK)
			continue;
		tg_roster_free(undecided.roster);
		tg_undecided_end(&undecided);
	}
	unit_ok(refused > bytes.count / 2, "bytes that are no whole ones are refused (%u of %zu)", refused, bytes.count);
	if (tg_undecided_read(bytes.data, bytes.count, &undecided) != TG_OK)
		unit_bail("what was written cannot be read");
	unit_equal(count_different(&undecided, &former), 0, "another process has the same that are undecided");
	tg_bytes_free(&bytes);
	tg_roster_free(former.roster);
	tg_undecided_end(&former);
}

static void
test_definitions(void)
{
	tg_failpoint_set(refuse_once);
	define(TG_RECORD_NOW, 0, 0, TG_DEFINITION_CREATE, 1, 2000);
	define(TG_RECORD_PART, 0, 0, TG_DEFINITION_CREATE, 2, 2100);
	define(TG_RECORD_PART, 8, 0, TG_DEFINITION_CREATE, 3, 2200);
	define(TG_RECORD_WITH, 8, 2200, TG_DEFINITION_PLACE, 3, 2300);
	define(TG_RECORD_WITH, 9, 0, TG_DEFINITION_PLACE, 1, 2400);
	unit_equal(undecided.count, 3, "three are undecided");
	check_least(2100, "from the first of them on");
	hand_over();
	refusals = 1;
	decide(TG_FRAME_COMMITTED, 8, 2500);
	unit_equal(refusals, 0, "an outcome, too");
	unit_equal(state_of(3), TG_STORAGE_PLACED, "one commits, with its definitions");
	expect(TG_RECORD_GIVEN_UP, 0, 2100, 2600);
	unit_equal(state_of(2), TG_STORAGE_ENDED, "what the one that is given up has created has ended");
	unit_equal(state_of(1), TG_STORAGE_CREATED, "the third one's has not");
	decide(TG_FRAME_COMMITTED, 9, 2700);
	unit_equal(state_of(1), TG_STORAGE_PLACED, "before it commits");
	check_least(UINT64_MAX, "then nothing is undecided");
	tg_failpoint_set(NULL);
}

int
main(void)
{
	if (tg_roster_create(&roster) != TG_OK)
		unit_bail("no memory");
	tg_undecided_begin(&undecided, roster, 0);
	expect(TG_RECORD_PART, 0, 0, 100);
	expect(TG_RECORD_PART, 7, 0, 200);
	expect(TG_RECORD_PART, 0, 100, 300);
	check_least(100, "from the first part of a transaction on");
	expect(TG_RECORD_GIVEN_UP, 0, 100, 400);
	check_least(200, "not any more when it has been given up");
	expect(TG_RECORD_GIVEN_UP, 0, 100, 500);
	check_least(200, "one that is not known is passed over");
	unit_ok(pass(TG_RECORD_GIVEN_UP, 0, 0, 600) == TG_DAMAGED, "one that names no part is damaged");
	expect(TG_RECORD_WITH, 7, 200, 700);
	check_least(200, "from the first part on until the outcome");
	expect(TG_RECORD_CLEAN_START, 0, 0, 800);
	check_least(UINT64_MAX, "after a clean start nothing is undecided");
	test_formats();
	tg_undecided_end(&undecided);
	tg_undecided_begin(&undecided, roster, 0);
	test_definitions();
	tg_bytes_free(&record);
	tg_roster_free(undecided.roster);
	tg_undecided_end(&undecided);
	return unit_done();
}

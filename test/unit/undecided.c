/*
 * undecided.c
 *	  From where on the journal has to be kept: the first record of those that may still be decided.
 *	  And which formats of records are read.
 */
#include "runtime/durable/undecided.h"

#include "test/unit/unit.h"

#include "runtime/durable/roster.h"

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
	tg_bytes_free(&record);
	tg_undecided_end(&undecided);
	tg_roster_free(roster);
	return unit_done();
}

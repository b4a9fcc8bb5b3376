/*
 * undecided.c
 *	  From where on the journal has to be kept: the first record of those that may still be decided.
 */
#include "runtime/durable/undecided.h"

#include "test/unit/unit.h"

#include "runtime/durable/roster.h"

static tg_roster *roster;
static tg_undecided undecided;
static tg_bytes record;

/* Passes a record of a kind on: its number, if it has any, and no definitions. */
static tg_status
pass(tg_record_kind kind, uint32_t xid, uint64_t first, uint64_t position)
{
	tg_journal_frame frame = {.kind = TG_FRAME_RECORD, .xid = xid, .start = position, .end = position + 10};
	tg_decision decision;

	record.count = 0;
	if (tg_bytes_reserve(&record, 64) != TG_OK)
		unit_bail("no memory");
	tg_bytes_put_byte(&record, TG_RECORD_FORMAT);
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
	tg_bytes_free(&record);
	tg_undecided_end(&undecided);
	tg_roster_free(roster);
	return unit_done();
}

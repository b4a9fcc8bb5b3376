/*
 * resource_manager.c
 *	  What PostgreSQL asks about the records of this extension in its log.
 *
 * No record refers to a block of a relation, so that PostgreSQL never asks for more than these
 * functions.
 */
#include "postgres.h"

#include "src/durable/resource_manager.h"

#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "lib/stringinfo.h"

#include "runtime/durable/bytes.h"
#include "runtime/durable/record.h"
#include "src/durable/recovery.h"
#include "src/log/log.h"

static const char *
identify(uint8 info)
{
	switch (TSURUGI_RECORD_KIND(info & ~XLR_INFO_MASK))
	{
		case TG_RECORD_COMMIT:
			return "COMMIT";
		case TG_RECORD_WITH:
			return "COMMIT_WITH";
		case TG_RECORD_PART:
			return "PART";
		case TG_RECORD_NOW:
			return "NOW";
		case TG_RECORD_MARK:
			return "MARK";
		case TG_RECORD_CLEAN_START:
			return "CLEAN_START";
		case TG_RECORD_GIVEN_UP:
			return "GIVEN_UP";
	}
	return NULL;
}

/* Reads nothing beyond the record, whatever it has. */
static void
describe(StringInfo text, XLogReaderState *record)
{
	tg_reader reader = tg_reader_make(XLogRecGetData(record), XLogRecGetDataLen(record));
	tg_record_kind kind;
	uint64 first = 0;

	(void) tg_reader_byte(&reader);
	kind = (tg_record_kind) tg_reader_byte(&reader);
	if (kind > TG_RECORD_NOW)
		return;
	if (kind != TG_RECORD_NOW)
		first = tg_reader_number(&reader);
	if (first != 0)
		appendStringInfo(text, "first part %X/%X; ", LSN_FORMAT_ARGS(first));
	appendStringInfo(text, "definitions %llu bytes", (unsigned long long) tg_reader_number(&reader));
}

void
tsurugi_resource_manager_init(void)
{
	static RmgrData manager = {.rm_name = "tsurugi_fdw",
							   .rm_redo = tsurugi_recovery_redo,
							   .rm_desc = describe,
							   .rm_identify = identify,
							   .rm_startup = tsurugi_recovery_startup,
							   .rm_cleanup = tsurugi_recovery_cleanup};

	RegisterCustomRmgr(TSURUGI_RM_ID, &manager);
	tsurugi_recovery_init();
}

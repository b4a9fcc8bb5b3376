/*
 * view_row.h
 *	  A row of a view, put together column by column, into the function's result.
 */
#ifndef TSURUGI_VIEW_ROW_H
#define TSURUGI_VIEW_ROW_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "runtime/base/check.h"

#define VIEW_COLUMNS_MAX 28

/* A row being put together, column by column. */
typedef struct Row
{
	Datum values[VIEW_COLUMNS_MAX];
	bool nulls[VIEW_COLUMNS_MAX];
	int count;
} Row;

static inline void
add_datum(Row *row, Datum value)
{
	row->nulls[row->count] = false;
	row->values[row->count++] = value;
}

static inline void
add_bigint(Row *row, uint64 value)
{
	add_datum(row, Int64GetDatum((int64) value));
}

static inline void
add_text(Row *row, const char *value)
{
	add_datum(row, CStringGetTextDatum(value));
}

static inline void
add_null(Row *row)
{
	row->nulls[row->count] = true;
	row->values[row->count++] = (Datum) 0;
}

/* 0 stands for NULL. */
static inline void
add_optional(Row *row, uint64 value)
{
	if (value != 0)
		add_bigint(row, value);
	else
		add_null(row);
}

static inline void
put_row(FunctionCallInfo fcinfo, Row *row)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	tg_assert(row->count == result->setDesc->natts);
	tuplestore_putvalues(result->setResult, result->setDesc, row->values, row->nulls);
	row->count = 0;
}

#endif /* TSURUGI_VIEW_ROW_H */

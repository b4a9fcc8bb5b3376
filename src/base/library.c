/*
 * library.c
 *	  Functions of extensions' libraries.
 */
#include "postgres.h"

#include "src/base/library.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

bool
tsurugi_is_of_library(Oid function, const char *library, const char *name)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Datum binary;
	bool null;
	bool same;

	if (!HeapTupleIsValid(tuple))
		return false;
	binary = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &null);
	same = !null && strcmp(TextDatumGetCString(binary), library) == 0;
	if (same && name != NULL)
		same = strcmp(TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &null)), name) == 0;
	ReleaseSysCache(tuple);
	return same;
}

/*
 * fallback.c
 *	  Paths of PostgreSQL's that are kept as fallbacks of jobs.
 */
#include "postgres.h"

#include "src/job/fallback.h"

#include "nodes/pathnodes.h"

static Size
size_of_path(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_NestPath:
			return sizeof(NestPath);
		case T_MergePath:
			return sizeof(MergePath);
		case T_HashPath:
			return sizeof(HashPath);
		case T_SortPath:
			return sizeof(SortPath);
		case T_IncrementalSortPath:
			return sizeof(IncrementalSortPath);
		case T_AggPath:
			return sizeof(AggPath);
		case T_GroupingSetsPath:
			return sizeof(GroupingSetsPath);
		case T_WindowAggPath:
			return sizeof(WindowAggPath);
		case T_GroupPath:
			return sizeof(GroupPath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_UpperUniquePath:
			return sizeof(UpperUniquePath);
		case T_ForeignPath:
			return sizeof(ForeignPath);
		case T_SetOpPath:
			return sizeof(SetOpPath);
		case T_AppendPath:
			return sizeof(AppendPath);
		case T_MergeAppendPath:
			return sizeof(MergeAppendPath);
		default:
			return 0;
	}
}

bool
tsurugi_job_can_copy_path(const Path *path)
{
	return size_of_path(path) > 0;
}

Path *
tsurugi_job_copy_path(const Path *path)
{
	Path *copy;

	if (!tsurugi_job_can_copy_path(path))
		return NULL;
	copy = palloc(size_of_path(path));
	memcpy(copy, path, size_of_path(path));
	return copy;
}

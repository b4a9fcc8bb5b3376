/*
 * gin_match.h
 *	  Which conditions an index USING gin can answer.  For fdw_match.c.
 */
#ifndef TSURUGI_GIN_MATCH_H
#define TSURUGI_GIN_MATCH_H

#include "src/exec/fdw_match.h"

/*
 * Chooses the use of the index for these RestrictInfos.  The choice has way TABLE, and keeps it if
 * the index answers none.
 */
extern void tsurugi_gin_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, List *rinfos,
							   tsurugi_choice *choice);

/* Whether the index could take this condition. */
extern bool tsurugi_gin_condition_matches(RelOptInfo *baserel, const tsurugi_candidate *candidate, RestrictInfo *rinfo);

#endif /* TSURUGI_GIN_MATCH_H */

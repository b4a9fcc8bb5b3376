/*
 * query_spill.c
 *	  Queries that write rows to temporary files, against brute force: random plans of which
 *	  everything spills, or which have little memory; then limits, faults, and early ends.
 */
/* Each of them writes files; with ThreadSanitizer they are few. */
#ifndef __SANITIZE_THREAD__
#define PLANS_SHARE 4
#endif
#include "test/unit/query_run.h"

#include <dirent.h>
#include <sys/stat.h>

#define READS 12
#define MEMORY_MOST ((uint64_t) 32 << 20) /* has room for all rows; from there on it is halved */
#define MEMORY_LEAST 500000

static char above[] = "/tmp/query_spill.XXXXXX";
static char directory[sizeof(above) + 8]; /* there only when a query has made it */
static const char *const directories[] = {directory};
static tg_spill_config files = {.directories = directories,
								.directory_count = 1,
								.name = "pgsql_tmp1.1",
								.bytes_max = UINT64_MAX,
								.file_mode = 0600,
								.directory_mode = 0700};

static bool everything; /* spills */

static uint32_t reads_left = UINT32_MAX; /* atomic: before one fails */

static bool
refuse_rows(const char *name)
{
	if (strcmp(name, "query_spill_read") == 0)
		return tg_load_relaxed(&reads_left) != UINT32_MAX && tg_fetch_add_relaxed(&reads_left, (uint32_t) -1) == 0;
	/* asked of the thread that makes the query alone */
	return (strcmp(name, "query_rows") == 0 && everything) || refuse_scan(name);
}

static bool
no_files(void)
{
	DIR *opened = opendir(directory);
	const struct dirent *entry;
	bool none = true;

	while (opened != NULL && (entry = readdir(opened)) != NULL)
		none = none && entry->d_name[0] == '.';
	if (opened != NULL)
		closedir(opened);
	return none;
}

static void
check_everything(unsigned workers)
{
	everything = true;
	check_plans(workers);
	check_deliveries(workers);
	check_order(workers);
	everything = false;
	unit_ok(no_files(), "no files are left");
}

/* With less and less memory, the same groups, or too little for anything. */
static void
check_groups_in_little_memory(void)
{
	uint64_t spilled_most = 0;
	bool clean = true;
	bool in_memory = false; /* once, and once not */
	unsigned answers = 0;

	compute(&large, &views[2].world);
	for (uint64_t bytes = MEMORY_MOST; bytes > MEMORY_LEAST && clean; bytes /= 2)
	{
		tg_query *query;
		tg_status status;
		uint64_t spilled;

		for (unsigned i = 0; i < group_count; i++)
			groups[group_places[i]].met = false;
		status = start(&views[2], &large, &(terms){.tasks = 3, .memory_max = bytes}, &query);
		if (status == TG_OK)
			status = finish(query);
		clean = status == TG_OK ? groups_are_right(query, &large) : status == TG_NO_MEMORY;
		answers += status == TG_OK;
		spilled = tg_query_spilled(query);
		in_memory |= status == TG_OK && spilled == 0;
		if (status == TG_OK && spilled > spilled_most)
			spilled_most = spilled;
		tg_query_end(session, query);
		clean = clean && nothing_is_left() && no_files();
	}
	unit_ok(clean && answers > 1 && in_memory && spilled_most > 1000000,
			"groups, %u times, of up to %" PRIu64 " bytes in files", answers, spilled_most);
}

/* With less and less memory, the same rows in order, or too little for anything. */
static void
check_order_in_little_memory(void)
{
	shape shape = large;
	uint64_t spilled_most = 0;
	bool clean = true;
	bool in_memory = false; /* once, and once not */
	unsigned answers = 0;

	shape.result = SORTED;
	shape.limit = UINT64_MAX;
	sorted = calloc(SORTED_MAX, sizeof(*sorted));
	compute(&shape, &views[2].world);
	for (uint64_t bytes = MEMORY_MOST; bytes > MEMORY_LEAST && clean; bytes /= 2)
	{
		tg_query *query;
		tg_status status = start(&views[2], &shape, &(terms){.tasks = 3, .memory_max = bytes}, &query);
		uint64_t spilled;
		bool right = false;

		if (status == TG_OK)
			status = check_sorted(query, &shape, answers == 0, &right);
		answers += status == TG_OK;
		spilled = tg_query_spilled(query);
		in_memory |= status == TG_OK && spilled == 0;
		if (status == TG_OK && spilled > spilled_most)
			spilled_most = spilled;
		clean = clean && (status == TG_OK ? right : status == TG_NO_MEMORY);
		tg_query_end(session, query);
		clean = clean && nothing_is_left() && no_files();
	}
	free(sorted);
	unit_ok(clean && answers > 1 && in_memory && spilled_most > 1000000,
			"rows in order, %u times, of up to %" PRIu64 " bytes in files", answers, spilled_most);
}

static tg_status
run(const shape *shape, tg_spill_fault *fault_out)
{
	const tg_vectors *rows;
	tg_query *query;
	tg_status status = start(&views[2], shape, &(terms){.tasks = 3}, &query);

	while (status == TG_OK)
		status = take_rows(query, &rows);
	tg_query_spill_fault(query, fault_out);
	tg_query_end(session, query);
	return status == TG_NOT_FOUND ? TG_OK : status;
}

static void
check_faults(void)
{
	shape shape = large;
	tg_spill_fault fault;
	tg_status status;

	shape.result = SORTED;
	shape.limit = UINT64_MAX;
	everything = true;
	files.bytes_max = 1000000;
	status = run(&shape, &fault);
	unit_ok(status == TG_IO && fault.kind == TG_SPILL_LIMIT, "more bytes than its files may have: %d", (int) status);
	files.bytes_max = UINT64_MAX;
	files.directories = (const char *const[]){"/nowhere/below"};
	status = run(&shape, &fault);
	unit_ok(status == TG_IO && fault.kind == TG_SPILL_MAKE && fault.error == ENOENT &&
				strcmp(fault.path, "/nowhere/below/pgsql_tmp1.1.0") == 0,
			"a directory that is not there: %s", fault.path);
	files.directories = directories;
	status = run(&shape, &fault);
	unit_ok(status == TG_OK && fault.kind == TG_SPILL_NO_FAULT, "without a fault: %d", (int) status);
	everything = false;
	unit_ok(nothing_is_left() && no_files(), "nothing is left");
}

/* One after the other, in merges by tasks and by the requester. */
static void
check_reads(void)
{
	shape shape = large;
	unsigned failed = 0;
	bool clean = true;

	shape.result = SORTED;
	shape.limit = UINT64_MAX;
	everything = true;
	for (uint32_t reads = 0; reads < READS && clean; reads++)
	{
		tg_spill_fault fault;
		tg_status status;

		tg_store_relaxed(&reads_left, reads);
		status = run(&shape, &fault);
		clean = status == TG_OK || (status == TG_IO && fault.kind == TG_SPILL_READ && fault.error == EIO);
		failed += status == TG_IO;
	}
	tg_store_relaxed(&reads_left, UINT32_MAX);
	everything = false;
	unit_ok(clean && failed > 0, "each of the first %u reads fails, and ends the query", failed);
	unit_ok(nothing_is_left() && no_files(), "which leaves nothing");
}

static void
check_ends(void)
{
	static const uint8_t kinds[] = {SORTED, GROUPS, KEPT};
	bool clean = true;

	everything = true;
	for (unsigned i = 0; i < ENDS && clean; i++)
	{
		shape shape = large;
		tg_query *query;

		shape.result = kinds[i % 3];
		shape.limit = UINT64_MAX;
		tg_check(start(&views[3], &shape, &(terms){.tasks = 1 + i % 4}, &query) == TG_OK);
		usleep(i * 500);
		tg_query_end(session, query);
		clean = no_files() && (i % 10 != 0 || nothing_is_left());
	}
	everything = false;
	unit_ok(clean && nothing_is_left(), "ended at any moment: nothing is left");
}

int
main(void)
{
	tg_check(mkdtemp(above) != NULL);
	sprintf(directory, "%s/made", above);
	begin_world();
	tg_failpoint_set(refuse_rows);
	spill_config = &files;
	set_workers(WORKERS);
	check_everything(WORKERS);
	check_order_in_little_memory();
	check_groups_in_little_memory();
	check_faults();
	check_reads();
	check_ends();
	unit_ok(rmdir(directory) == 0 && rmdir(above) == 0, "their directory was made, and nothing else");
	return end_world();
}

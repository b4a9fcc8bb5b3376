/*
 * ycsb.c
 *	  The core workloads of YCSB (Cooper and others: Benchmarking Cloud Serving
 *	  Systems with YCSB, 2010) as transactions, on a store inside the process.
 *
 *	ycsb_STORE DIRECTORY RECORDS SECONDS [PART...]
 *
 * A part is WORKLOAD:ZIPF:THREADS, as "A:0.99:2"; without any all of ycsb.sh.
 * Loads RECORDS rows, then runs the parts one after the other and prints one line each:
 *
 *	PART transactions/s conflicts/s CPU-us/transaction
 *
 * The processor time is that of all the process, threads of the store's own included.
 *
 *	A	half reads, half updates
 *	B	95 % reads, 5 % updates
 *	C	reads
 *	E	95 % scans of 1 to 100 rows, 5 % inserts of new keys
 *
 * Ten operations a transaction.  Keys are uniform (0) or Zipfian with this
 * exponent, by the method of Gray and others (Quickly Generating Billion-Record
 * Synthetic Databases, 1994), and scattered over the key space by a hash, as YCSB does.
 * What a transaction does is drawn before it begins, so that stores which want to
 * be told of read-only ones can be, and after a conflict the same is tried again.
 */
#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "test/bench/ycsb.h"

#define OPERATIONS 10
#define LOAD_BATCH 1000
#define SETTLE_SECONDS 5 /* after the load: collectors, compaction */

typedef enum kind
{
	READ,
	UPDATE,
	SCAN,
	INSERT
} kind;

typedef struct operation
{
	kind kind;
	unsigned count; /* SCAN */
	uint64_t key;
} operation;

typedef struct client
{
	pthread_t thread TG_CACHE_ALIGNED;
	uint64_t random;
	uint64_t commits;
	uint64_t conflicts;
} client;

static uint64_t records;	  /* loaded */
static uint64_t records_next; /* the next key to be inserted; atomic */
static char workload;
static double zipf; /* 0: uniform */
static double zipf_zeta;
static double zipf_eta;
static bool stop; /* atomic */

static uint64_t
draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random * UINT64_C(0x2545f4914f6cdd1d);
}

static double
draw_unit(uint64_t *random)
{
	return (double) (draw(random) >> 11) * 0x1p-53;
}

/* The sums that the method wants; they take a second for a million records. */
static void
prepare_zipf(void)
{
	double zeta_two = 1 + pow(0.5, zipf);

	zipf_zeta = 0;
	if (zipf == 0)
		return;
	for (uint64_t i = 1; i <= records; i++)
		zipf_zeta += pow(1.0 / (double) i, zipf);
	zipf_eta = (1 - pow(2.0 / (double) records, 1 - zipf)) / (1 - zeta_two / zipf_zeta);
}

static uint64_t
scatter(uint64_t rank)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (unsigned i = 0; i < 8; i++)
		hash = (hash ^ (rank >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
	return hash % records;
}

static uint64_t
draw_key(uint64_t *random)
{
	double unit;
	double scaled;

	if (zipf == 0)
		return draw(random) % records;
	unit = draw_unit(random);
	scaled = unit * zipf_zeta;
	if (scaled < 1)
		return scatter(0);
	if (scaled < 1 + pow(0.5, zipf))
		return scatter(1);
	return scatter((uint64_t) ((double) records * pow(zipf_eta * unit - zipf_eta + 1, 1 / (1 - zipf))));
}

static void
draw_operation(uint64_t *random, operation *operation)
{
	unsigned percent = (unsigned) (draw(random) >> 32) % 100;

	switch (workload)
	{
		case 'A':
			operation->kind = percent < 50 ? READ : UPDATE;
			break;
		case 'B':
			operation->kind = percent < 95 ? READ : UPDATE;
			break;
		case 'C':
			operation->kind = READ;
			break;
		default:
			operation->kind = percent < 95 ? SCAN : INSERT;
			break;
	}
	if (operation->kind == INSERT)
	{
		operation->key = tg_fetch_add_relaxed(&records_next, 1);
		return;
	}
	operation->key = draw_key(random);
	if (operation->kind == SCAN)
		operation->count = 1 + (unsigned) (draw(random) >> 32) % YCSB_SCAN_MAX;
}

static void
make_value(unsigned char *value, uint64_t seed)
{
	memset(value, 'a' + (int) (seed % 26), YCSB_VALUE_BYTES);
	memcpy(value, &seed, sizeof(seed));
}

static bool
run_transaction(ycsb_thread *thread, const operation *operations, bool read_only, uint64_t seed)
{
	static _Thread_local unsigned char values[YCSB_SCAN_MAX * YCSB_VALUE_BYTES];
	unsigned count;

	ycsb_begin(thread, read_only);
	for (unsigned i = 0; i < OPERATIONS; i++)
	{
		const operation *operation = &operations[i];
		bool good = false;

		switch (operation->kind)
		{
			case READ:
				good = ycsb_read(thread, operation->key, values);
				break;
			case UPDATE:
				make_value(values, seed + i);
				good = ycsb_update(thread, operation->key, values);
				break;
			case SCAN:
				good = ycsb_scan(thread, operation->key, operation->count, values, &count);
				if (good && count == 0)
					ycsb_fail("scan", "nothing there");
				break;
			case INSERT:
				make_value(values, seed + i);
				good = ycsb_insert(thread, operation->key, values);
				break;
		}
		if (!good)
			return false;
	}
	return ycsb_commit(thread);
}

static void *
run_client(void *argument)
{
	client *client = argument;
	ycsb_thread *thread = ycsb_thread_open();

	while (!tg_load_relaxed(&stop))
	{
		operation operations[OPERATIONS];
		uint64_t seed = draw(&client->random);
		bool read_only = true;

		for (unsigned i = 0; i < OPERATIONS; i++)
		{
			draw_operation(&client->random, &operations[i]);
			read_only = read_only && (operations[i].kind == READ || operations[i].kind == SCAN);
		}
		while (!run_transaction(thread, operations, read_only, seed))
			client->conflicts++;
		client->commits++;
	}
	ycsb_thread_close(thread);
	return NULL;
}

static void
load(void)
{
	ycsb_thread *thread = ycsb_thread_open();
	unsigned char value[YCSB_VALUE_BYTES];

	for (uint64_t key = 0; key < records; key++)
	{
		if (key % LOAD_BATCH == 0)
			ycsb_begin(thread, false);
		make_value(value, key);
		if (!ycsb_insert(thread, key, value))
			ycsb_fail("load", "a conflict");
		if ((key + 1) % LOAD_BATCH == 0 || key + 1 == records)
			(void) ycsb_commit(thread);
	}
	ycsb_thread_close(thread);
	records_next = records;
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static double
cpu(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static void
run_part(const char *part, double seconds)
{
	client clients[64] = {0};
	uint64_t commits = 0;
	uint64_t conflicts = 0;
	unsigned threads;
	double time;
	double used;

	if (sscanf(part, "%c:%lf:%u", &workload, &zipf, &threads) != 3 || threads < 1 || threads > 64)
		ycsb_fail(part, "is no part");
	prepare_zipf();
	tg_store_relaxed(&stop, false);
	used = cpu();
	time = now();
	for (unsigned i = 0; i < threads; i++)
	{
		clients[i].random = (UINT64_C(0x9e3779b97f4a7c15) + (uint64_t) workload) * (i + 1);
		if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
			ycsb_fail("pthread_create", "failed");
	}
	usleep((useconds_t) (seconds * 1e6));
	tg_store_relaxed(&stop, true);
	for (unsigned i = 0; i < threads; i++)
	{
		pthread_join(clients[i].thread, NULL);
		commits += clients[i].commits;
		conflicts += clients[i].conflicts;
	}
	time = now() - time;
	used = cpu() - used;
	printf("%s %.0f %.0f %.2f\n", part, (double) commits / time, (double) conflicts / time,
		   used / (double) commits * 1e6);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const char *const parts[] = {"C:0:1", "C:0.99:1", "C:0:2", "C:0.99:2", "A:0:1", "A:0.99:1",
										"A:0:2", "A:0.99:2", "B:0:1", "B:0.99:1", "B:0:2", "B:0.99:2",
										"E:0:1", "E:0.99:1", "E:0:2", "E:0.99:2"};
	double seconds;

	if (argc < 4)
		ycsb_fail("usage", "ycsb DIRECTORY RECORDS SECONDS [WORKLOAD:ZIPF:THREADS...]");
	records = strtoull(argv[2], NULL, 10);
	seconds = atof(argv[3]);
	ycsb_open(argv[1], 2);
	load();
	sleep(SETTLE_SECONDS);
	for (int i = 4; i < argc; i++)
		run_part(argv[i], seconds);
	for (unsigned i = 0; argc == 4 && i < sizeof(parts) / sizeof(parts[0]); i++)
		run_part(parts[i], seconds);
	ycsb_close();
	return 0;
}

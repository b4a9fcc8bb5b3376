/*
 * encoder.c
 *	  A file of columns that is written, whose blocks the pool encodes.
 *
 *	       put rows            full                DONE                  appended
 *	filled ---------> filled --------> in the queue -----> in the queue ----------> idle -> filled
 *
 * Each full block is a job of one task, which encodes a column at a time.
 *
 * 1. The block, its memory and the task are one structure in the arena, a tg_encoding.  It is the
 *	  task's from the start of the job until that is DONE, and the requester's before and after.
 * 2. References of an encoding that is in the pool: the requester's, and the job's, until its
 *	  teardown.  So an encoder is freed without waiting for tasks: the last one frees the encoding.
 *	  Tasks that a pool has given up when it was stopped keep theirs.
 * 3. Where the arena refuses memory to the requester, it takes its own.  A block with such memory
 *	  is no task's.  A task that is refused memory ends, and the requester encodes the block anew.
 * 4. All blocks together have at most memory_max bytes.  One that is in the pool counts with its
 *	  allowance: what it has, and what it will need at most to be encoded.  When the requester's
 *	  block needs memory that others have, the requester waits for the oldest of them, appends it,
 *	  and frees it.  All in the queue are older than the block that is filled, so this ends.
 */
#include "runtime/batch/encoder.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

#define LEVEL 40		 /* work level */
#define PIECE_HEADER 64	 /* bytes; so that data is aligned */
#define PIECE_LEAST 1088 /* bytes of a piece: from here on the arena aligns to 64 (alloc.h) */

/* Memory of a block: it is behind this. */
typedef struct piece
{
	bool is_own; /* the requester's own, not the arena's */
} piece;

typedef struct encoding
{
	tg_task task; /* first */
	tg_encoder *encoder;
	tg_columnar_block *block;
	tg_session *session; /* of the thread that has it */
	tg_job *job;		 /* the requester's: it is in the pool; NULL: it is not */
	size_t allowance;	 /* 4 */
	unsigned own_pieces; /* it has so many; 3 */
	bool is_own;		 /* this structure is one, too */
	bool is_pooled;		 /* the task has it, 1 */
	tg_status status;	 /* of the task, once the job is DONE */
	uint32_t references; /* atomic, 2 */
} encoding;

struct tg_encoder
{
	tg_encoder_config config;
	tg_file_target target;
	tg_session *session;
	tg_columnar_out *file;
	encoding *filled; /* NULL: none is */
	encoding *idle[TG_ENCODER_BLOCKS_MAX];
	unsigned idle_count;
	encoding *queue[TG_ENCODER_BLOCKS_MAX]; /* the oldest first */
	unsigned queue_count;
	tg_status failure; /* of a block that was to be appended */
	size_t most_bytes; /* that a block has had */
	uint64_t by_pool;
	uint64_t by_requester;
};

static tg_status append_oldest(tg_encoder *encoder) TG_MUST_USE;

/* --- memory ----------------------------------------------------------------------------------- */

static void
free_encoding(tg_session *session, encoding *at)
{
	at->session = session;
	if (at->block != NULL)
		tg_columnar_block_free(at->block);
	tg_assert(at->own_pieces == 0);
	if (at->is_own)
		at->encoder->target.free(at->encoder->target.argument, at);
	else
		tg_free(session, at, TG_USE_JOB);
}

static void
release_encoding(tg_session *session, encoding *at)
{
	/* acq_rel: all uses by either side come before the free */
	if (tg_fetch_add_acq_rel(&at->references, (uint32_t) -1) == 1)
		free_encoding(session, at);
}

/* NULL: the arena has none, or is not to be used. */
static void *
take_shared(tg_session *session, size_t bytes)
{
	return session != NULL ? tg_alloc(session, bytes, TG_USE_JOB, TG_DATA) : NULL;
}

/* The bytes that blocks other than this one have, or may have. */
static size_t
bytes_of_others(const tg_encoder *encoder, const encoding *at)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < encoder->queue_count; i++)
		if (encoder->queue[i] != at)
			bytes += encoder->queue[i]->is_pooled ? encoder->queue[i]->allowance
												  : tg_columnar_block_bytes(encoder->queue[i]->block);
	for (unsigned i = 0; i < encoder->idle_count; i++)
		bytes += tg_columnar_block_bytes(encoder->idle[i]->block);
	if (encoder->filled != NULL && encoder->filled != at)
		bytes += tg_columnar_block_bytes(encoder->filled->block);
	return bytes;
}

static void
free_idle(tg_encoder *encoder)
{
	while (encoder->idle_count > 0)
		release_encoding(encoder->session, encoder->idle[--encoder->idle_count]);
}

/* 4: makes others give memory back until the block may have so many bytes.  *fits_out: it may. */
static tg_status
make_room(tg_encoder *encoder, const encoding *at, size_t bytes, bool *fits_out)
{
	size_t most = encoder->target.memory_max;
	tg_status status = TG_OK;

	while (status == TG_OK && bytes <= most && bytes_of_others(encoder, at) > most - bytes)
	{
		if (encoder->idle_count == 0 && encoder->queue_count == 0)
			break;
		if (encoder->idle_count == 0)
			status = append_oldest(encoder);
		free_idle(encoder);
	}
	*fits_out = status == TG_OK && bytes <= most && bytes_of_others(encoder, at) <= most - bytes;
	return status;
}

static piece *
take_piece(encoding *at, size_t bytes)
{
	size_t whole = PIECE_HEADER + bytes;
	piece *taken = take_shared(at->session, whole < PIECE_LEAST ? PIECE_LEAST : whole);
	const tg_file_target *target = &at->encoder->target;

	if (taken != NULL)
		taken->is_own = false;
	else if (!at->is_pooled)
	{
		taken = target->resize(target->argument, NULL, 0, whole);
		if (taken == NULL)
			return NULL;
		taken->is_own = true;
		at->own_pieces++;
	}
	return taken;
}

static void
give_piece(encoding *at, piece *given)
{
	if (!given->is_own)
	{
		tg_free(at->session, given, TG_USE_JOB);
		return;
	}
	at->own_pieces--;
	at->encoder->target.free(at->encoder->target.argument, given);
}

static void
release_memory(void *argument, void *memory)
{
	if (memory != NULL)
		give_piece(argument, (piece *) ((uint8_t *) memory - PIECE_HEADER));
}

static void *
resize_memory(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	encoding *at = argument;
	bool fits = true;
	piece *taken;

	/* in the pool, where the encoder is out of reach, and in the queue it has an allowance */
	if (!at->is_pooled && at->encoder->filled == at &&
		(make_room(at->encoder, at, tg_columnar_block_bytes(at->block) - old_bytes + bytes, &fits) != TG_OK || !fits))
		return NULL;
	taken = take_piece(at, bytes);
	if (taken == NULL)
		return NULL;
	if (memory != NULL)
	{
		memcpy((uint8_t *) taken + PIECE_HEADER, memory, old_bytes);
		release_memory(at, memory);
	}
	return (uint8_t *) taken + PIECE_HEADER;
}

/* Takes memory for a block; NULL: there is none. */
static encoding *
make_encoding(tg_encoder *encoder)
{
	const tg_file_target *target = &encoder->target;
	encoding *at = take_shared(encoder->session, sizeof(*at));
	bool is_own = at == NULL;
	tg_file_source memory;

	if (is_own)
		at = target->resize(target->argument, NULL, 0, sizeof(*at));
	if (at == NULL)
		return NULL;
	*at = (encoding){.encoder = encoder, .session = encoder->session, .is_own = is_own, .references = 1};
	memory = (tg_file_source){
		.resize = resize_memory, .free = release_memory, .argument = at, .memory_max = target->memory_max};
	if (tg_columnar_block_create(encoder->file, &memory, &at->block) != TG_OK)
	{
		at->block = NULL;
		free_encoding(encoder->session, at);
		return NULL;
	}
	return at;
}

/* --- in the pool ------------------------------------------------------------------------------ */

static tg_turn
run_encoding(tg_task *task, tg_worker *worker)
{
	encoding *at = (encoding *) task;

	at->session = tg_worker_session(worker);
	do
	{
		if (tg_job_is_cancelled(task->job))
			at->status = TG_CANCELLED;
		else if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		else
			at->status = tg_columnar_encode(at->block);
		if (at->status <= TG_AGAIN)
			tg_job_progress(task->job, 1, 0);
	} while (at->status == TG_AGAIN);
	return TG_TURN_DONE;
}

static void
tear_down(tg_job *job, tg_session *session)
{
	release_encoding(session, tg_job_argument(job));
}

/* Gives the block to the pool, unless that cannot have it. */
static void
start_job(tg_encoder *encoder, encoding *at)
{
	const tg_job_config config = {.kind = "encode",
								  .owner = encoder->config.owner,
								  .level = LEVEL,
								  .pool_only = true,
								  .argument = at,
								  .teardown = tear_down,
								  .waiter = encoder->config.waiter};

	if (at->is_own || at->own_pieces > 0 || tg_job_create(encoder->session, &config, &at->job) != TG_OK)
	{
		at->job = NULL;
		return;
	}
	tg_task_init(&at->task, run_encoding, at->job);
	tg_job_expect(at->job, encoder->config.column_count);
	at->is_pooled = true;
	at->references = 2;
	if (tg_job_start(encoder->session, at->job, &at->task) == TG_OK)
		return;
	at->references = 1;
	at->is_pooled = false;
	tg_job_release(encoder->session, at->job);
	at->job = NULL;
}

/* Waits until the task has given the block back. */
static tg_status
take_back(tg_encoder *encoder, encoding *at)
{
	while (tg_job_state_get(at->job) != TG_JOB_DONE)
	{
		/* it may have been given up */
		if (tg_job_is_cancelled(at->job) && !tg_scheduler_is_running())
			return TG_STOPPED;
		encoder->config.wait(encoder->target.argument);
	}
	tg_job_release(encoder->session, at->job);
	at->job = NULL;
	at->is_pooled = false;
	at->session = encoder->session;
	if (at->status == TG_OK)
		encoder->by_pool++;
	return TG_OK;
}

/* --- the queue -------------------------------------------------------------------------------- */

/* The requester encodes it, anew if a task has been refused memory. */
static tg_status
encode_here(tg_encoder *encoder, encoding *at)
{
	if (at->status == TG_NO_MEMORY)
	{
		free_idle(encoder);
		tg_columnar_block_limit(at->block, encoder->target.memory_max - bytes_of_others(encoder, at));
		tg_columnar_encode_anew(at->block);
		at->status = TG_AGAIN;
	}
	if (at->status != TG_AGAIN)
		return at->status;
	while (at->status == TG_AGAIN)
		at->status = tg_columnar_encode(at->block);
	if (at->status == TG_OK)
		encoder->by_requester++;
	return at->status;
}

static tg_status
append_oldest(tg_encoder *encoder)
{
	encoding *at = encoder->queue[0];
	tg_status status = at->is_pooled ? take_back(encoder, at) : TG_OK;

	if (status == TG_OK)
		status = encode_here(encoder, at);
	if (status == TG_OK)
		status = tg_columnar_append(encoder->file, at->block);
	encoder->failure = status;
	if (status != TG_OK)
		return status;
	encoder->queue_count--;
	memmove(&encoder->queue[0], &encoder->queue[1], encoder->queue_count * sizeof(encoding *));
	encoder->idle[encoder->idle_count++] = at;
	return TG_OK;
}

static tg_status
append_all(tg_encoder *encoder)
{
	tg_status status = TG_OK;

	while (status == TG_OK && encoder->queue_count > 0)
		status = append_oldest(encoder);
	return status;
}

/* Puts the block that is filled into the queue, with its allowance. */
static tg_status
put_in_queue(tg_encoder *encoder)
{
	encoding *at = encoder->filled;
	size_t bound = tg_columnar_block_bound(at->block);
	size_t bytes = tg_columnar_block_bytes(at->block);
	size_t most = encoder->target.memory_max;
	bool fits;
	tg_status status;

	encoder->most_bytes = bytes > encoder->most_bytes ? bytes : encoder->most_bytes;
	status = make_room(encoder, at, bound < most ? bound : most, &fits);
	if (status != TG_OK)
		return status;
	at->allowance = fits && bound < most ? bound : most - bytes_of_others(encoder, at);
	tg_columnar_block_limit(at->block, at->allowance);
	at->status = TG_AGAIN;
	encoder->filled = NULL;
	tg_columnar_fill(encoder->file, NULL);
	encoder->queue[encoder->queue_count++] = at;
	return TG_OK;
}

static bool
oldest_is_done(const tg_encoder *encoder)
{
	return encoder->queue_count > 0 && encoder->queue[0]->is_pooled &&
		   tg_job_state_get(encoder->queue[0]->job) == TG_JOB_DONE;
}

/* The block for the next rows, of which there are as many, and no more memory, than may be. */
static tg_status
fill_next(tg_encoder *encoder)
{
	encoding *at;
	size_t bytes;
	bool fits;
	tg_status status = TG_OK;

	while (status == TG_OK && (oldest_is_done(encoder) || encoder->queue_count == encoder->config.blocks_max))
		status = append_oldest(encoder);
	if (status != TG_OK)
		return status;
	at = encoder->idle_count > 0 ? encoder->idle[--encoder->idle_count] : make_encoding(encoder);
	if (at == NULL)
		return TG_NO_MEMORY;
	tg_columnar_block_limit(at->block, encoder->target.memory_max);
	encoder->filled = at;
	tg_columnar_fill(encoder->file, at->block);
	bytes = tg_columnar_block_bytes(at->block);
	return make_room(encoder, at, bytes < encoder->most_bytes ? encoder->most_bytes : bytes, &fits);
}

/* --- life ------------------------------------------------------------------------------------- */

tg_status
tg_encoder_create(tg_session *session, const tg_encoder_config *config, tg_encoder **encoder_out)
{
	const tg_file_target *target = config->target;
	tg_encoder *encoder = target->resize(target->argument, NULL, 0, sizeof(*encoder));
	tg_status status;

	tg_assert(config->blocks_max >= 1 && config->blocks_max <= TG_ENCODER_BLOCKS_MAX);
	if (encoder == NULL)
		return TG_NO_MEMORY;
	*encoder = (tg_encoder){.config = *config, .target = *target, .session = session};
	status = tg_columnar_create(config->format, &encoder->target, &config->options, config->columns,
								config->column_count, &encoder->file);
	if (status != TG_OK)
	{
		target->free(target->argument, encoder);
		return status;
	}
	status = fill_next(encoder);
	if (status != TG_OK)
		tg_encoder_free(encoder);
	else
		*encoder_out = encoder;
	return status;
}

tg_columnar_out *
tg_encoder_file(tg_encoder *encoder)
{
	return encoder->file;
}

tg_status
tg_encoder_status(const tg_encoder *encoder, tg_status status)
{
	return status == TG_NO_MEMORY && encoder->failure != TG_OK ? encoder->failure : status;
}

/* The block that is filled is full. */
static tg_status
hand_on(tg_encoder *encoder)
{
	tg_status status = put_in_queue(encoder);

	if (status != TG_OK)
		return status;
	if (encoder->config.blocks_max > 1)
		start_job(encoder, encoder->queue[encoder->queue_count - 1]);
	if (!encoder->queue[encoder->queue_count - 1]->is_pooled)
		status = append_all(encoder);
	return status == TG_OK ? fill_next(encoder) : status;
}

tg_status
tg_encoder_put_row(tg_encoder *encoder)
{
	return tg_columnar_put_row(encoder->file) ? hand_on(encoder) : TG_OK;
}

tg_status
tg_encoder_put_rows(tg_encoder *encoder, const tg_cells_out *cells, const tg_vectors *vectors, uint32_t first,
					uint32_t count)
{
	uint32_t end = first + count;
	tg_status status = TG_OK;

	while (status == TG_OK && first < end)
	{
		status = tg_cells_put(cells, encoder->filled->block, vectors, &first, end);
		if (status == TG_AGAIN)
			status = hand_on(encoder);
		else
			status = tg_encoder_status(encoder, status);
	}
	return status;
}

/* The last block is encoded here, while the pool may still have those before it. */
tg_status
tg_encoder_finish(tg_encoder *encoder, uint64_t *bytes_out)
{
	tg_status status = TG_OK;

	if (!tg_columnar_block_is_empty(encoder->filled->block))
	{
		status = put_in_queue(encoder);
		if (status == TG_OK)
			status = encode_here(encoder, encoder->queue[encoder->queue_count - 1]);
		/* it may need memory that others have */
		if (status == TG_NO_MEMORY)
			status = TG_OK;
	}
	if (status == TG_OK)
		status = append_all(encoder);
	return status == TG_OK ? tg_columnar_finish(encoder->file, bytes_out) : status;
}

void
tg_encoder_free(tg_encoder *encoder)
{
	tg_file_target target = encoder->target;

	for (unsigned i = 0; i < encoder->queue_count; i++)
	{
		encoding *at = encoder->queue[i];

		if (at->job != NULL)
		{
			tg_job_cancel(encoder->session, at->job);
			tg_job_release(encoder->session, at->job);
		}
		release_encoding(encoder->session, at);
	}
	free_idle(encoder);
	if (encoder->filled != NULL)
		release_encoding(encoder->session, encoder->filled);
	tg_columnar_out_free(encoder->file);
	target.free(target.argument, encoder);
}

void
tg_encoder_counts(const tg_encoder *encoder, uint64_t *pool_out, uint64_t *requester_out)
{
	*pool_out = encoder->by_pool;
	*requester_out = encoder->by_requester;
}

/*
 * encoder.h
 *	  A file of columns that is written, whose blocks the pool encodes.
 *
 * The requester puts rows into a block, one by one or many at once.  When it is full, a task of the
 * pool encodes it, while the requester puts the next rows into another block; the requester appends
 * what is encoded to the file, in the order of the rows.  Where the pool cannot have a block, as it
 * does not run, or the arena has no memory for it, the requester encodes it: so a file can be
 * written in any case.
 *
 * All functions are the requester's, which is one thread.  Its own functions, which write and wait,
 * may leave by a jump.  Then the encoder is to be freed.
 */
#ifndef TG_BATCH_ENCODER_H
#define TG_BATCH_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/batch/cell_out.h"
#include "runtime/format/columnar_out.h"

#define TG_ENCODER_BLOCKS_MAX 16

typedef struct tg_encoder tg_encoder;

typedef struct tg_encoder_config
{
	tg_file_format format;
	tg_columnar_options options;
	/* as of tg_columnar_create; memory_max: of all blocks together, and once more of the rest */
	const tg_file_target *target;
	const tg_file_column *columns;
	unsigned column_count;
	unsigned blocks_max;		  /* in hand: one that is filled, and others; 1 to TG_ENCODER_BLOCKS_MAX */
	void *waiter;				  /* for tg_host_wake: a block has been encoded */
	uint64_t owner;				  /* as of a job */
	void (*wait)(void *argument); /* until the waiter is woken, or less; argument: the target's */
} tg_encoder_config;

/* Begins the file.  session: NULL: no block is the pool's.  TG_NO_MEMORY, TG_IO. */
extern tg_status tg_encoder_create(tg_session *session, const tg_encoder_config *config,
								   tg_encoder **encoder_out) TG_MUST_USE;

/* For the values of the next row. */
extern tg_columnar_out *tg_encoder_file(tg_encoder *encoder);

/*
 * Why a value could not be put, if this is what putting it has returned: as of put_row, since room
 * for it is made by writing other blocks.
 */
extern tg_status tg_encoder_status(const tg_encoder *encoder, tg_status status) TG_MUST_USE;

/*
 * The row is complete.  TG_NO_MEMORY: a block, with what it is encoded as, needs more than
 * memory_max; TG_TOO_LARGE; TG_IO; TG_CANCELLED: a job that encodes has been; TG_STOPPED: the pool
 * has been, while it had a block.
 */
extern tg_status tg_encoder_put_row(tg_encoder *encoder) TG_MUST_USE;

/*
 * Many rows at once, [first, first + count) of these vectors; no row is begun.  As put_row.
 * TG_UNFIT: a value that the file cannot have, and that the host has not put either.
 */
extern tg_status tg_encoder_put_rows(tg_encoder *encoder, const tg_cells_out *cells, const tg_vectors *vectors,
									 uint32_t first, uint32_t count) TG_MUST_USE;

/* Writes what is left, and the metadata; as put_row.  The encoder is to be freed, too. */
extern tg_status tg_encoder_finish(tg_encoder *encoder, uint64_t *bytes_out) TG_MUST_USE;

/* At any time.  Tasks that still encode are cancelled, and not waited for. */
extern void tg_encoder_free(tg_encoder *encoder);

/* So many blocks have been encoded by the pool, and by the requester. */
extern void tg_encoder_counts(const tg_encoder *encoder, uint64_t *pool_out, uint64_t *requester_out);

#endif /* TG_BATCH_ENCODER_H */

/*
 * writer.h
 *	  The engine's transaction as a writer, for statements that change rows.
 */
#ifndef TSURUGI_WRITER_H
#define TSURUGI_WRITER_H

#include "nodes/execnodes.h"

#include "runtime/base/names.h"
#include "runtime/mem/claim.h"

/*
 * The writer: valid until the current subtransaction ends or a nested one begins.  So each write
 * that may have run other code since asks for it again (a few instructions once the transaction
 * exists).  estate NULL, or that of a COPY: the current command.  Raises an error in parallel mode,
 * or if memory is short.
 */
extern void tsurugi_writer(EState *estate, tg_claim claim, tg_writer *writer_out);

#endif /* TSURUGI_WRITER_H */

/*
 * unzip.c
 *	  Files that are compressed as a whole, decompressed as they are read.
 */
#include "runtime/format/unzip.h"

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

#include "runtime/base/check.h"

#define GZIP_WINDOW (15 + 16) /* zlib: a gzip header */

tg_status
tg_unzip_begin(tg_unzip *unzip, tg_packing packing)
{
	z_stream *stream;

	tg_assert(packing != TG_PACKING_NONE);
	*unzip = (tg_unzip){.packing = packing, .is_whole = false};
	if (packing == TG_PACKING_ZSTD)
	{
		unzip->state = ZSTD_createDCtx();
		return unzip->state != NULL ? TG_OK : TG_NO_MEMORY;
	}
	stream = calloc(1, sizeof(*stream));
	if (stream != NULL && inflateInit2(stream, GZIP_WINDOW) != Z_OK)
	{
		free(stream);
		stream = NULL;
	}
	unzip->state = stream;
	return stream != NULL ? TG_OK : TG_NO_MEMORY;
}

static tg_status
step_zstd(tg_unzip *unzip, const uint8_t **in, size_t *in_bytes, uint8_t **out, size_t *out_bytes)
{
	ZSTD_inBuffer from = {.src = *in, .size = *in_bytes};
	ZSTD_outBuffer into = {.dst = *out, .size = *out_bytes};
	size_t rest = ZSTD_decompressStream(unzip->state, &into, &from);

	if (ZSTD_isError(rest))
		return TG_DAMAGED;
	unzip->is_whole = rest == 0;
	*in += from.pos;
	*in_bytes -= from.pos;
	*out += into.pos;
	*out_bytes -= into.pos;
	return TG_OK;
}

static tg_status
step_gzip(tg_unzip *unzip, const uint8_t **in, size_t *in_bytes, uint8_t **out, size_t *out_bytes)
{
	z_stream *stream = unzip->state;
	uInt from = *in_bytes < UINT_MAX ? (uInt) *in_bytes : UINT_MAX;
	uInt into = *out_bytes < UINT_MAX ? (uInt) *out_bytes : UINT_MAX;
	int result;

	if (unzip->is_whole && from > 0) /* the next member begins */
	{
		if (inflateReset(stream) != Z_OK)
			return TG_DAMAGED;
		unzip->is_whole = false;
	}
	stream->next_in = (Bytef *) *in;
	stream->avail_in = from;
	stream->next_out = *out;
	stream->avail_out = into;
	result = inflate(stream, Z_NO_FLUSH);
	if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
		return TG_DAMAGED;
	unzip->is_whole = unzip->is_whole || result == Z_STREAM_END;
	*in += from - stream->avail_in;
	*in_bytes -= from - stream->avail_in;
	*out += into - stream->avail_out;
	*out_bytes -= into - stream->avail_out;
	return TG_OK;
}

tg_status
tg_unzip_step(tg_unzip *unzip, const uint8_t **in, size_t *in_bytes, uint8_t **out, size_t *out_bytes)
{
	if (unzip->is_whole && *in_bytes == 0)
		return TG_OK; /* with no byte of a next frame, there is none */
	return unzip->packing == TG_PACKING_ZSTD ? step_zstd(unzip, in, in_bytes, out, out_bytes)
											 : step_gzip(unzip, in, in_bytes, out, out_bytes);
}

void
tg_unzip_end(tg_unzip *unzip)
{
	if (unzip->state == NULL)
		return;
	if (unzip->packing == TG_PACKING_ZSTD)
		ZSTD_freeDCtx(unzip->state);
	else
	{
		inflateEnd(unzip->state);
		free(unzip->state);
	}
	unzip->state = NULL;
}

/*
 * codec.c
 *	  Compressed blocks, by the libraries of their formats.
 *
 * What Parquet calls LZ4 was written in three ways before LZ4_RAW put an end to that (Parquet's
 * Compression.md): as Hadoop's frames of {bytes, compressed bytes, block}, big-endian; as an LZ4
 * frame; and as a raw block.  They are tried in this order; the first two do not fit by chance.
 */
#include "runtime/format/codec.h"

#include <limits.h>
#include <string.h>

#include <brotli/decode.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW (15 + 16) /* zlib: a gzip header */
#define GZIP_OR_ZLIB (15 + 32)
#define ZSTD_LEVEL 1

const char *
tg_codec_name(int codec)
{
	switch (codec)
	{
		case TG_CODEC_NONE:
			return "none";
		case TG_CODEC_SNAPPY:
			return "snappy";
		case TG_CODEC_GZIP:
			return "gzip";
		case TG_CODEC_BROTLI:
			return "brotli";
		case TG_CODEC_LZ4_OLD:
			return "lz4";
		case TG_CODEC_ZSTD:
			return "zstd";
		case TG_CODEC_LZ4_RAW:
			return "lz4_raw";
		default:
			return NULL;
	}
}

/* --- decompression -------------------------------------------------------------------- */

static bool
read_snappy(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	size_t bytes = 0;

	return snappy_uncompressed_length((const char *) from, from_bytes, &bytes) == SNAPPY_OK && bytes == into_bytes &&
		   snappy_uncompress((const char *) from, from_bytes, (char *) into, &bytes) == SNAPPY_OK;
}

/* There may be several members, one behind the other. */
static bool
read_gzip(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	z_stream stream = {.next_in = (Bytef *) from, .next_out = into};
	bool whole = false;

	if (from_bytes > UINT_MAX || into_bytes > UINT_MAX || inflateInit2(&stream, GZIP_OR_ZLIB) != Z_OK)
		return false;
	stream.avail_in = (uInt) from_bytes;
	stream.avail_out = (uInt) into_bytes;
	for (;;)
	{
		int result = inflate(&stream, Z_FINISH);

		whole = result == Z_STREAM_END;
		if (!whole || stream.avail_in == 0 || inflateReset(&stream) != Z_OK)
			break;
	}
	inflateEnd(&stream);
	return whole && stream.avail_out == 0;
}

static bool
read_brotli(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	size_t bytes = into_bytes;

	return BrotliDecoderDecompress(from_bytes, from, &bytes, into) == BROTLI_DECODER_RESULT_SUCCESS &&
		   bytes == into_bytes;
}

static bool
read_lz4_block(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	return from_bytes <= INT_MAX && into_bytes <= INT_MAX &&
		   LZ4_decompress_safe((const char *) from, (char *) into, (int) from_bytes, (int) into_bytes) ==
			   (int) into_bytes;
}

static uint32_t
big_endian(const uint8_t *bytes)
{
	return (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 | (uint32_t) bytes[2] << 8 | bytes[3];
}

static bool
read_hadoop(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	while (from_bytes >= 8)
	{
		size_t bytes = big_endian(from);
		size_t compressed = big_endian(from + 4);

		from += 8;
		from_bytes -= 8;
		if (compressed > from_bytes || bytes > into_bytes || !read_lz4_block(from, compressed, into, bytes))
			return false;
		from += compressed;
		from_bytes -= compressed;
		into += bytes;
		into_bytes -= bytes;
	}
	return from_bytes == 0 && into_bytes == 0;
}

static bool
read_lz4_frame(const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	LZ4F_dctx *context;
	size_t read = from_bytes;
	size_t written = into_bytes;
	size_t rest;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return false;
	rest = LZ4F_decompress(context, into, &written, from, &read, NULL);
	LZ4F_freeDecompressionContext(context);
	return rest == 0 && read == from_bytes && written == into_bytes;
}

bool
tg_codec_decompress(tg_codec codec, const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	switch (codec)
	{
		case TG_CODEC_NONE:
			if (from_bytes != into_bytes)
				return false;
			if (into_bytes > 0)
				memcpy(into, from, into_bytes);
			return true;
		case TG_CODEC_SNAPPY:
			return read_snappy(from, from_bytes, into, into_bytes);
		case TG_CODEC_GZIP:
			return read_gzip(from, from_bytes, into, into_bytes);
		case TG_CODEC_BROTLI:
			return read_brotli(from, from_bytes, into, into_bytes);
		case TG_CODEC_LZ4_OLD:
			return read_hadoop(from, from_bytes, into, into_bytes) ||
				   read_lz4_frame(from, from_bytes, into, into_bytes) ||
				   read_lz4_block(from, from_bytes, into, into_bytes);
		case TG_CODEC_ZSTD:
			return ZSTD_decompress(into, into_bytes, from, from_bytes) == into_bytes;
		case TG_CODEC_LZ4_RAW:
			return read_lz4_block(from, from_bytes, into, into_bytes);
		case TG_CODEC_LZ4_FRAME:
			return read_lz4_frame(from, from_bytes, into, into_bytes);
	}
	return false;
}

/* --- compression ------------------------------------------------------------------------ */

size_t
tg_codec_bound(tg_codec codec, size_t bytes)
{
	switch (codec)
	{
		case TG_CODEC_SNAPPY:
			return snappy_max_compressed_length(bytes);
		case TG_CODEC_GZIP:
			return compressBound(bytes) + 32; /* its header and trailer are longer than zlib's */
		case TG_CODEC_ZSTD:
			return ZSTD_compressBound(bytes);
		case TG_CODEC_LZ4_FRAME:
			return LZ4F_compressFrameBound(bytes, NULL);
		case TG_CODEC_LZ4_RAW:
			return bytes <= LZ4_MAX_INPUT_SIZE ? (size_t) LZ4_compressBound((int) bytes) : 0;
		default:
			return bytes;
	}
}

static size_t
write_gzip(int level, const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	z_stream stream = {.next_in = (Bytef *) from, .next_out = into};
	bool whole;

	if (from_bytes > UINT_MAX || into_bytes > UINT_MAX ||
		deflateInit2(&stream, level > 0 ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
					 Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.avail_in = (uInt) from_bytes;
	stream.avail_out = (uInt) into_bytes;
	whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
	into_bytes = stream.total_out;
	deflateEnd(&stream);
	return whole ? into_bytes : 0;
}

size_t
tg_codec_compress(tg_codec codec, int level, const uint8_t *from, size_t from_bytes, uint8_t *into, size_t into_bytes)
{
	size_t bytes = into_bytes;
	int short_bytes;

	switch (codec)
	{
		case TG_CODEC_SNAPPY:
			return snappy_compress((const char *) from, from_bytes, (char *) into, &bytes) == SNAPPY_OK ? bytes : 0;
		case TG_CODEC_GZIP:
			return write_gzip(level, from, from_bytes, into, into_bytes);
		case TG_CODEC_ZSTD:
			bytes = ZSTD_compress(into, into_bytes, from, from_bytes, level > 0 ? level : ZSTD_LEVEL);
			return ZSTD_isError(bytes) ? 0 : bytes;
		case TG_CODEC_LZ4_FRAME:
			bytes = LZ4F_compressFrame(into, into_bytes, from, from_bytes, NULL);
			return LZ4F_isError(bytes) ? 0 : bytes;
		case TG_CODEC_LZ4_RAW:
			short_bytes = into_bytes > INT_MAX ? INT_MAX : (int) into_bytes;
			return from_bytes > LZ4_MAX_INPUT_SIZE ? 0
												   : (size_t) LZ4_compress_default((const char *) from, (char *) into,
																				   (int) from_bytes, short_bytes);
		default:
			return 0;
	}
}

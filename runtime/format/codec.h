/*
 * codec.h
 *	  Compressed blocks, by the libraries of their formats.
 */
#ifndef TG_CODEC_H
#define TG_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are Parquet's (CompressionCodec), but for the last one. */
typedef enum tg_codec
{
	TG_CODEC_NONE = 0,
	TG_CODEC_SNAPPY = 1,
	TG_CODEC_GZIP = 2,
	TG_CODEC_BROTLI = 4,  /* is only read */
	TG_CODEC_LZ4_OLD = 5, /* frames of Hadoop, or an LZ4 frame, or a raw block; is only read */
	TG_CODEC_ZSTD = 6,
	TG_CODEC_LZ4_RAW = 7,
	TG_CODEC_LZ4_FRAME = 64 /* Arrow's */
} tg_codec;

/* The name of one of Parquet's; NULL: there is no such codec, or it is not supported. */
extern const char *tg_codec_name(int codec);

/*
 * Decompresses a whole block into exactly so many bytes.  False: the block is not such a one.
 * Nothing is written beyond the bytes.  Any thread.
 */
extern bool tg_codec_decompress(tg_codec codec, const uint8_t *from, size_t from_bytes, uint8_t *into,
								size_t into_bytes);

/*
 * The most bytes that so many may become, and the block; 0: it could not be made.  level: of GZIP,
 * 1 to 9, and ZSTD, 1 to 22; 0: what is usual.  Any thread.
 */
extern size_t tg_codec_bound(tg_codec codec, size_t bytes);
extern size_t tg_codec_compress(tg_codec codec, int level, const uint8_t *from, size_t from_bytes, uint8_t *into,
								size_t into_bytes);

#endif /* TG_CODEC_H */

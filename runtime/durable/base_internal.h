/*
 * base_internal.h
 *	  Of base.c, which writes bases, base_read.c and base_forget.c: the files' format.
 *
 *	manifest	{magic and format, system, base, bytes of the rest, CRC}, then numbers of variable
 *				length: P, E, least position, bytes in memory, bytes of the roster, the roster;
 *				number of files, and of each kind, storage, part, base, bytes, check
 *	part, rank	{magic and format, system, storage, base, part, kind, CRC}, blocks {CRC, bytes} and
 *				so many bytes
 *
 * A CRC is CRC-32C of all of its header and of what follows that; of a file's header, without
 * blocks.  A file's check is CRC-32C of its CRCs, in order: with it the manifest knows each block.
 */
#ifndef TG_BASE_INTERNAL_H
#define TG_BASE_INTERNAL_H

#include "runtime/durable/base.h"
#include "runtime/durable/bytes.h"

#define TG_MANIFEST_MAGIC UINT64_C(0x0002747365666d74) /* "tmfest", format 2 */
#define TG_PART_MAGIC UINT64_C(0x0002747261707467)	   /* "gtpart", format 2 */

/* Of names, behind the directory's. */
#define TG_BASE_NAME_MAX 64

typedef struct tg_manifest_header
{
	uint64_t magic;
	uint64_t system;
	uint64_t number;
	uint64_t bytes;
	uint32_t none;
	uint32_t crc; /* of all before it, and of the rest */
} tg_manifest_header;

typedef struct tg_part_header
{
	uint64_t magic;
	uint64_t system;
	uint64_t storage;
	uint64_t number;
	uint32_t part;
	uint32_t kind;
	uint32_t none;
	uint32_t crc; /* of all before it */
} tg_part_header;

typedef struct tg_block_header
{
	uint64_t bytes;
	uint32_t none;
	uint32_t crc; /* of all before it, and of the bytes */
} tg_block_header;

_Static_assert(sizeof(tg_manifest_header) == 40 && sizeof(tg_part_header) == 48 && sizeof(tg_block_header) == 16,
			   "no padding is written");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

/* The manifest in memory. */
typedef struct tg_manifest
{
	tg_base_facts facts;
	tg_bytes roster;
	tg_base_file *files; /* facts.file_count of them */
	size_t capacity;
} tg_manifest;

extern void tg_manifest_free(tg_manifest *manifest);

/* Makes room for so many more files.  TG_NO_MEMORY. */
extern tg_status tg_manifest_reserve(tg_manifest *manifest, size_t more) TG_MUST_USE;

/* Adds a file, for which there is room. */
extern void tg_manifest_add(tg_manifest *manifest, const tg_base_file *file);

/*
 * Reads one that is empty.  Unless TG_OK, it is empty afterwards.  TG_NOT_FOUND, TG_DAMAGED, TG_IO,
 * TG_NO_MEMORY.
 */
extern tg_status tg_manifest_read(const char *directory, uint64_t system, uint64_t number, tg_manifest *manifest,
								  tg_file_error *error_out) TG_MUST_USE;

extern void tg_manifest_name(uint64_t number, char name[TG_BASE_NAME_MAX]);
extern void tg_base_file_name(const tg_base_file *file, char name[TG_BASE_NAME_MAX]);

/* Whether a file may be one of a base's, by its name. */
extern bool tg_base_is_name(const char *name);

extern void tg_manifest_path(const char *directory, uint64_t number, char path[TG_PATH_MAX]);
extern void tg_base_file_path(const char *directory, const tg_base_file *file, char path[TG_PATH_MAX]);

#endif /* TG_BASE_INTERNAL_H */

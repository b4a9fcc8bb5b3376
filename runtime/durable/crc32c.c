/*
 * crc32c.c
 *	  By the processor's instruction where it has one, else by tables.
 *
 * The tables take eight bytes at a time: table k has the effect of a byte that k more bytes follow
 * (M. E. Kounavis, F. L. Berry, "A Systematic Approach to Building High Performance Software-based
 * CRC Generators", 2005).  They are made once, by the first caller; others that come meanwhile make
 * the same.
 */
#include "runtime/durable/crc32c.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/atomic.h"

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

static uint32_t tables[8][256];
static uint32_t have_tables; /* atomic */

static void
make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++)
	{
		uint32_t crc = i;

		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
		tg_store_relaxed(&tables[0][i], crc);
	}
	for (uint32_t i = 0; i < 256; i++)
		for (unsigned k = 1; k < 8; k++)
		{
			uint32_t before = tg_load_relaxed(&tables[k - 1][i]);

			tg_store_relaxed(&tables[k][i], before >> 8 ^ tg_load_relaxed(&tables[0][before & 0xff]));
		}
	tg_store_release(&have_tables, 1);
}

static uint32_t
by_tables(uint32_t crc, const unsigned char *at, size_t count)
{
	if (!tg_load_acquire(&have_tables))
		make_tables();
	for (; count >= 8; at += 8, count -= 8)
	{
		uint32_t low =
			crc ^ ((uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
			  tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
	}
	for (; count > 0; at++, count--)
		crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
	return crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const unsigned char *at, size_t count)
{
	uint64_t wide = crc;

	for (; count >= 8; at += 8, count -= 8)
	{
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t) wide;
	for (; count > 0; at++, count--)
		crc = __builtin_ia32_crc32qi(crc, *at);
	return crc;
}

#endif

uint32_t
tg_crc32c(uint32_t crc, const void *data, size_t count)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~crc, data, count);
#endif
	return ~by_tables(~crc, data, count);
}

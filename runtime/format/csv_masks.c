/*
 * csv_masks.c
 *	  Where the characters are that structure a file in CSV.
 */
#include "runtime/format/csv_masks.h"

void
tg_csv_find_bytes(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	*masks_out = (tg_csv_masks){.quotes = 0};
	for (unsigned i = 0; i < TG_CSV_STRIDE; i++)
	{
		masks_out->quotes |= (uint64_t) (at[i] == dialect->quote) << i;
		masks_out->delimiters |= (uint64_t) (at[i] == dialect->delimiter) << i;
		masks_out->newlines |= (uint64_t) (at[i] == '\n') << i;
		masks_out->returns |= (uint64_t) (at[i] == '\r') << i;
		masks_out->backslashes |= (uint64_t) (at[i] == '\\') << i;
	}
}

#ifdef __x86_64__
#include <immintrin.h>

#define BYTES_OF_SSE2 16
#define BYTES_OF_AVX2 32

static void
find_by_sse2(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	const __m128i quote = _mm_set1_epi8((char) dialect->quote);
	const __m128i delimiter = _mm_set1_epi8((char) dialect->delimiter);
	const __m128i newline = _mm_set1_epi8('\n');
	const __m128i ret = _mm_set1_epi8('\r');
	const __m128i backslash = _mm_set1_epi8('\\');

	*masks_out = (tg_csv_masks){.quotes = 0};
	for (unsigned i = 0; i < TG_CSV_STRIDE; i += BYTES_OF_SSE2)
	{
		__m128i bytes = _mm_loadu_si128((const __m128i *) (at + i));

#define MASK(wanted) ((uint64_t) (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) << i)
		masks_out->quotes |= MASK(quote);
		masks_out->delimiters |= MASK(delimiter);
		masks_out->newlines |= MASK(newline);
		masks_out->returns |= MASK(ret);
		masks_out->backslashes |= MASK(backslash);
#undef MASK
	}
}

__attribute__((target("avx2"))) static void
find_by_avx2(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	const __m256i quote = _mm256_set1_epi8((char) dialect->quote);
	const __m256i delimiter = _mm256_set1_epi8((char) dialect->delimiter);
	const __m256i newline = _mm256_set1_epi8('\n');
	const __m256i ret = _mm256_set1_epi8('\r');
	const __m256i backslash = _mm256_set1_epi8('\\');

	*masks_out = (tg_csv_masks){.quotes = 0};
	for (unsigned i = 0; i < TG_CSV_STRIDE; i += BYTES_OF_AVX2)
	{
		__m256i bytes = _mm256_loadu_si256((const __m256i *) (at + i));

#define MASK(wanted) ((uint64_t) (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted)) << i)
		masks_out->quotes |= MASK(quote);
		masks_out->delimiters |= MASK(delimiter);
		masks_out->newlines |= MASK(newline);
		masks_out->returns |= MASK(ret);
		masks_out->backslashes |= MASK(backslash);
#undef MASK
	}
}

/* CPUID is asked each time: the answer is in memory. */
void
tg_csv_find(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	if (__builtin_cpu_supports("avx2"))
		find_by_avx2(at, dialect, masks_out);
	else
		find_by_sse2(at, dialect, masks_out);
}
#else
void
tg_csv_find(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	tg_csv_find_bytes(at, dialect, masks_out);
}
#endif

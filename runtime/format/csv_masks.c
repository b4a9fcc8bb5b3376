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
		masks_out->wide |= (uint64_t) (at[i] == 0 || at[i] >= 0x80) << i;
	}
}

/*
 * crc32c.h
 *	  CRC-32C (Castagnoli; RFC 3720, appendix B.4) of bytes that were read from a file.
 */
#ifndef TG_CRC32C_H
#define TG_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of so many bytes, going on from the result for those before; 0 to begin with.  Any thread. */
extern uint32_t tg_crc32c(uint32_t crc, const void *data, size_t count);

#endif /* TG_CRC32C_H */

/*
 * collate.h
 *	  Sort keys of strings: bytes whose memcmp order is that of the C library's strcoll().
 *
 * The order is exact, or the locale cannot be opened.  There is one exception: strings of nothing
 * but signs that are ignored on all levels.  For strcoll() the empty string is below them; here
 * their keys are equal.  The host compares the bytes of such strings next.
 */
#ifndef TG_COLLATE_H
#define TG_COLLATE_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_COLLATE_LEVEL_MAX 8
#define TG_COLLATE_CODED_MAX 32
#define TG_COLLATE_ASCII 128
#define TG_COLLATE_CASES 8

/* A locale's order of strings.  A value; it points into the locale, which has to stay. */
typedef struct tg_collation
{
	uint32_t level_count; /* 0: the order is that of the bytes */
	uint32_t section_count;
	const unsigned char *rules; /* of each level, section by section */
	const int32_t *table;
	const unsigned char *weights;
	const unsigned char *extra;
	const int32_t *indirect;
	bool by_position[TG_COLLATE_LEVEL_MAX];
	/* sections, by number, that go backward on the level */
	uint64_t backward[TG_COLLATE_LEVEL_MAX];

	/*
	 * tables that make keys short: on the first level, numbers with a byte of their own, in order
	 */
	uint8_t coded_count;
	uint8_t lead_max; /* numbers whose first byte is above this are written unchanged */
	uint32_t coded[TG_COLLATE_CODED_MAX];
	/* a character's whole weight there, if that is one byte; else 0 */
	uint8_t code[TG_COLLATE_ASCII];
	char letter[TG_COLLATE_CASES][256]; /* by its weight on the third level, and that byte; or 0 */
	uint32_t last[256];					/* of a character: its weight on the fourth, or 0 */
	uint8_t told_count;					/* ... and the other way round: */
	uint32_t told[TG_COLLATE_ASCII];	/* such weights, sorted */
	/* of a character that is nothing but a letter: its weight on the third; else 0 */
	uint8_t third[TG_COLLATE_ASCII];
	bool goes_back[TG_COLLATE_ASCII];	/* of these: whether it does on the second */
	char told_letter[TG_COLLATE_ASCII]; /* the character of each */
} tg_collation;

/* The elements of a string. */
typedef struct tg_collation_walked
{
	const char *plain;		  /* the string, if it is of plain letters only; else NULL, and */
	struct element *elements; /* in the caller's memory */
	size_t count;
	uint64_t sections;
	char *letters; /* count of them: what the first levels predict for the last one */
	char *told;	   /* likewise: what all of them predict for the string */
	size_t told_count;
} tg_collation_walked;

/*
 * The order of a locale, or of the process's if this is NULL.  False: keys are not known for this C
 * library or this locale.
 */
extern bool tg_collation_open(tg_collation *collation_out, locale_t locale);

/* Memory that tg_collation_walk needs for a string of so many bytes, aligned to 8. */
extern size_t tg_collation_scratch_bytes(size_t string_bytes);

/*
 * Walks through a string, which has no zero bytes and is valid in the locale's encoding.  Returns
 * the room that its key, and the string behind it, need at most.  The scratch memory has to stay,
 * and so has the string.
 */
extern size_t tg_collation_walk(const tg_collation *collation, const char *string, size_t string_bytes,
								tg_collation_walked *walked, void *scratch);

/*
 * Writes the key of a string, once; its length.  No key is the beginning of another; of two strings
 * that strcoll() takes for equal the keys are equal, too.
 */
extern size_t tg_collation_key(const tg_collation *collation, tg_collation_walked *walked, unsigned char *key);

/*
 * Writes the string itself, behind its key: strings of equal keys are then in the order of their
 * bytes, and no two are equal.  Returns the length, usually a few bytes.
 */
extern size_t tg_collation_string(const tg_collation_walked *walked, const char *string, size_t string_bytes,
								  unsigned char *to);

#endif /* TG_COLLATE_H */

/*
 * kind.h
 *	  How columns are stored, without their values: for all that only tells columns apart.
 */
#ifndef TG_KIND_H
#define TG_KIND_H

/* How a column is stored. */
typedef enum tg_kind
{
	TG_KIND_1,
	TG_KIND_2,
	TG_KIND_4,
	TG_KIND_8,
	TG_KIND_16,	   /* 16 bytes, opaque */
	TG_KIND_STRING /* any length: tg_string */
} tg_kind;

#endif /* TG_KIND_H */

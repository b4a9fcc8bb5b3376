/*
 * deque_variant.h
 *	  One build of runtime/sched/deque.c for the explorer.
 *
 * deque_variant.c is compiled several times, against deque.c as it is or with
 * something planted (deque.mutants), and with bounds that suit small searches.
 */
#ifndef TG_EXPLORE_DEQUE_VARIANT_H
#define TG_EXPLORE_DEQUE_VARIANT_H

#include "runtime/sched/deque.h"

typedef struct deque_variant
{
	const char *name;
	unsigned batch;
	unsigned capacity_max;
	tg_status (*init)(tg_deque *deque, uint32_t capacity, uint32_t start);
	bool (*push)(tg_deque *deque, void *item);
	void *(*pop)(tg_deque *deque);
	int (*steal)(tg_deque *deque, void **items_out, unsigned item_max);
	unsigned (*size)(const tg_deque *deque);
} deque_variant;

#endif /* TG_EXPLORE_DEQUE_VARIANT_H */

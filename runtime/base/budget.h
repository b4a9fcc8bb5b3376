/*
 * budget.h
 *	  The amount of work that a call may still do, in units of its own.
 */
#ifndef TG_BUDGET_H
#define TG_BUDGET_H

/* Subtracts the cost of work that has been done; more than the budget counts as all of it. */
static inline void
tg_spend(unsigned *budget, unsigned cost)
{
	*budget -= cost < *budget ? cost : *budget;
}

#endif /* TG_BUDGET_H */

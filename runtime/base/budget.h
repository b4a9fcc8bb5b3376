/*
 * budget.h
 *	  How much work a call may still do, in units of its own.
 */
#ifndef TG_BUDGET_H
#define TG_BUDGET_H

/* Takes the cost of work that has been done; what is over the budget is forgiven. */
static inline void
tg_spend(unsigned *budget, unsigned cost)
{
	*budget -= cost < *budget ? cost : *budget;
}

#endif /* TG_BUDGET_H */

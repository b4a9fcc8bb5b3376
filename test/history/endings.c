/*
 * endings.c
 *	  The fate of transactions whose client has lost its server, and of acknowledged ones.
 *
 * A COMMIT that was not answered may have happened.  It has if another transaction, or the reading
 * at the end, shows what it did; otherwise nobody depends on it.  A transaction that was lost
 * before its COMMIT is absent.  What its client was shown below SERIALIZABLE counts, as if it had
 * only read: it must not disappear.
 *
 * The reading at the end shows all appends that are committed, or their row has been deleted.
 */
#include "test/history/history.h"

#include <stdio.h>

static bool
has_item(const operation *o, int item)
{
	for (int i = 0; i < o->length; i++)
		if (o->items[i] == item)
			return true;
	return false;
}

static bool
shows_item(const transaction *t, int key, int item)
{
	for (int i = 0; i < t->count; i++)
		if (t->operations[i].key == key && has_item(&t->operations[i], item))
			return true;
	return false;
}

static const operation *
find_last(const plan *plan, int key)
{
	for (int i = 0; i < plan->last.count; i++)
		if (plan->last.operations[i].key == key)
			return &plan->last.operations[i];
	give_up("key %d was not read at the end", key);
}

static int
transaction_count(const plan *plan)
{
	return plan->client_count * plan->transaction_count;
}

static bool
is_shown(const plan *plan, const transaction *of, int key, int item)
{
	if (shows_item(&plan->last, key, item))
		return true;
	for (int i = 1; i <= transaction_count(plan); i++)
		if (&plan->transactions[i] != of && plan->transactions[i].committed &&
			shows_item(&plan->transactions[i], key, item))
			return true;
	return false;
}

static bool
is_deleted_by_another(const plan *plan, const transaction *of, int key)
{
	for (int i = 1; i <= transaction_count(plan); i++)
	{
		const transaction *t = &plan->transactions[i];

		for (int j = 0; j < t->count && t != of && t->committed; j++)
			if (t->operations[j].kind == DELETE && t->operations[j].key == key)
				return true;
	}
	return false;
}

/* Whether an operation shows that its transaction has committed. */
static bool
has_happened(const plan *plan, const transaction *t, const operation *o)
{
	if (o->kind == APPEND)
		return is_shown(plan, t, o->key, o->item);
	return o->kind == DELETE && find_last(plan, o->key)->length == ABSENT && !is_deleted_by_another(plan, t, o->key);
}

static bool
settle_commit(const plan *plan, transaction *t)
{
	for (int i = 0; i < t->count && t->ending == UNANSWERED; i++)
		if (has_happened(plan, t, &t->operations[i]))
		{
			t->committed = true;
			t->ending = ANSWERED;
			return true;
		}
	return false;
}

/* Up to its first change. */
static void
make_reader(transaction *t)
{
	int count = 0;

	while (count < t->count && t->operations[count].kind != APPEND && t->operations[count].kind != DELETE)
		count++;
	t->count = count;
	t->committed = true;
}

int
endings_settle(plan *plan)
{
	int lost = 0;
	bool again = true;

	for (int i = 1; i <= transaction_count(plan); i++)
	{
		lost += plan->transactions[i].ending != ANSWERED;
		if (plan->transactions[i].ending == LOST && plan->level < SERIALIZABLE)
			make_reader(&plan->transactions[i]);
	}
	while (again)
	{
		again = false;
		for (int i = 1; i <= transaction_count(plan); i++)
			again = settle_commit(plan, &plan->transactions[i]) || again;
	}
	return lost;
}

static bool
is_there(const plan *plan, const operation *o)
{
	const operation *last = find_last(plan, o->key);

	if (o->kind == DELETE)
		return last->length == ABSENT;
	return o->kind != APPEND || last->length == ABSENT || has_item(last, o->item);
}

bool
endings_judge(const plan *plan)
{
	int missing = 0;

	for (int i = 1; i <= transaction_count(plan); i++)
	{
		const transaction *t = &plan->transactions[i];

		for (int j = 0; j < t->count && t->committed; j++)
			if (!is_there(plan, &t->operations[j]) && missing++ < 5)
				printf("transaction %d, key %d: what it has done is not there at the end\n", t->number,
					   t->operations[j].key);
	}
	return missing > 0;
}

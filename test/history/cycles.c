/*
 * cycles.c
 *	  The dependencies between transactions, from what they have seen, and whether they form a cycle
 *	  that a level forbids.
 *
 *	ww	appended next
 *	wr	read what it appended
 *	rw	read what was there before its append
 *	lw	as rw, and the reader kept the row locked until its end, so the append came after that
 *
 * Forbidden: at READ COMMITTED cycles of ww, wr and lw; at REPEATABLE READ also those with one rw;
 * at SERIALIZABLE all.  Forbidden at every level: reading an item of a transaction that was rolled
 * back, or rolled back to a savepoint before it; reading a list that is not part of the final one,
 * or that ends between two appends of another transaction; losing an append; and not seeing a row
 * that no transaction has deleted.
 */
#include "test/history/history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct edge
{
	struct edge *next;
	int to;
	int key;
	const char *type; /* "ww", "wr", "rw", "lw" */
} edge;

typedef struct node
{
	const transaction *transaction;
	edge *edges;
	int component; /* strongly connected one; 0: not known yet */
	int order;	   /* Tarjan's numbers */
	int low;
	bool on_stack;
	int distance; /* of a search */
	int via;
	const edge *by;
} node;

/* The history of a key: its final list, and the transaction that ended it. */
typedef struct history
{
	int length;
	int *items;
	int deleter; /* transaction, or 0 */
} history;

static node *nodes; /* by number; 0 is no transaction: the items that were there from the start */
static int node_count;
static history *histories;

static int
writer_of(int item)
{
	return item / OPERATIONS_MAX;
}

static void
add_edge(int from, int to, const char *type, int key)
{
	edge *e;

	if (from == to || from == 0 || to == 0)
		return;
	for (e = nodes[from].edges; e != NULL; e = e->next)
		if (e->to == to && e->type == type)
			return;
	e = get_memory(sizeof(*e));
	*e = (edge){.next = nodes[from].edges, .to = to, .key = key, .type = type};
	nodes[from].edges = e;
}

static int found; /* forbidden readings */

static void __attribute__((format(printf, 3, 4))) complain(const transaction *t, int key, const char *format, ...)
{
	va_list arguments;

	if (found++ >= 5)
		return;
	printf("transaction %d, key %d: ", t->number, key);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/* Makes the longest list that a committed transaction has seen the key's history. */
static void
learn(const operation *o)
{
	history *h = &histories[o->key];
	int length = o->length < 0 ? 0 : o->length;
	int with = length + (o->kind == APPEND);

	if (with <= h->length)
		return;
	h->items = realloc(h->items, with * sizeof(int));
	if (h->items == NULL)
		give_up("out of memory");
	if (length > 0)
		memcpy(h->items, o->items, length * sizeof(int));
	if (o->kind == APPEND)
		h->items[length] = o->item;
	h->length = with;
}

static bool
has_appended(const transaction *t, int item)
{
	for (int i = 0; i < t->count; i++)
		if (t->operations[i].kind == APPEND && t->operations[i].item == item)
			return true;
	return false;
}

static void
check_list(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];

	for (int i = 0; i < o->length; i++)
	{
		const transaction *writer = nodes[writer_of(o->items[i])].transaction;

		if (i >= h->length || o->items[i] != h->items[i])
		{
			complain(t, o->key, "its list is not part of the final one, from place %d on: a lost or a reordered append",
					 i);
			return;
		}
		if (writer != NULL && !writer->committed)
			complain(t, o->key, "has read an item of transaction %d, which was rolled back", writer->number);
		else if (writer != NULL && !has_appended(writer, o->items[i]))
			complain(t, o->key, "has read an item that transaction %d has taken back", writer->number);
	}
	if (o->length == ABSENT && o->key % 2 == 0 && h->deleter == 0)
		complain(t, o->key, "has not seen a row that nobody has deleted");
	if (o->length > 0 && o->length < h->length)
	{
		int last = writer_of(o->items[o->length - 1]);

		if (last != t->number && last == writer_of(h->items[o->length]))
			complain(t, o->key, "has read what transaction %d had not finished", last);
	}
}

/* The edges of one operation.  The transaction's own appends at the end of the list add none. */
static void
add_edges(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];
	int length = o->length;
	int next;

	if (length == ABSENT)
	{
		if (o->key % 2 == 0)
		{
			add_edge(h->deleter, t->number, "wr", o->key);
			return;
		}
		length = 0;
	}
	while (length > 0 && writer_of(o->items[length - 1]) == t->number)
		length--;
	if (length > 0)
		add_edge(writer_of(o->items[length - 1]), t->number, "wr", o->key);
	if ((o->kind == APPEND || o->kind == DELETE) && length > 0)
		add_edge(writer_of(o->items[length - 1]), t->number, "ww", o->key);
	for (next = length; next < h->length && writer_of(h->items[next]) == t->number; next++)
		;
	if (next > length)
		return; /* its own append comes next: all that follow, follow that */
	add_edge(t->number, length < h->length ? writer_of(h->items[length]) : h->deleter, o->kind == HOLD ? "lw" : "rw",
			 o->key);
	if (o->kind == GUARD)
		add_edge(t->number, h->deleter, "lw", o->key);
}

static void
for_each(void (*visit)(const transaction *t, const operation *o))
{
	for (int number = 1; number < node_count; number++)
	{
		const transaction *t = nodes[number].transaction;

		if (t->committed)
			for (int i = 0; i < t->count; i++)
				visit(t, &t->operations[i]);
	}
}

static void
learn_of(const transaction *t, const operation *o)
{
	learn(o);
	if (o->kind == DELETE)
	{
		if (histories[o->key].deleter != 0)
			complain(t, o->key, "deleted it after transaction %d", histories[o->key].deleter);
		histories[o->key].deleter = t->number;
	}
}

/* Every committed append must be in its key's history. */
static void
check_append(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];

	if (o->kind != APPEND)
		return;
	for (int i = 0; i < h->length; i++)
		if (h->items[i] == o->item)
			return;
	complain(t, o->key, "its append is lost");
}

/* Edges of ww from a transaction's appends to those that come next. */
static void
add_successions(int key_count)
{
	for (int key = 0; key < key_count; key++)
	{
		const history *h = &histories[key];

		for (int i = 0; i + 1 < h->length; i++)
			add_edge(writer_of(h->items[i]), writer_of(h->items[i + 1]), "ww", key);
		if (h->length > 0)
			add_edge(writer_of(h->items[h->length - 1]), h->deleter, "ww", key);
	}
}

/* --- cycles --------------------------------------------------------------------------------- */

/* Edges that a cycle may go over. */
typedef enum edges
{
	VISIBLE, /* ww, wr */
	ORDERED, /* and lw: all that follow the order of commits */
	ALL
} edges;

static bool
is_among(const edge *e, edges edges)
{
	return edges == ALL || e->type[0] == 'w' || (edges == ORDERED && e->type[0] == 'l');
}

/* A shortest path from one node to another; its length, or -1. */
static int
search(int from, int to, edges edges)
{
	int *queue = get_memory(node_count * sizeof(int));
	int head = 0;
	int tail = 0;
	int result = -1;

	for (int i = 0; i < node_count; i++)
		nodes[i].distance = -1;
	nodes[from].distance = 0;
	queue[tail++] = from;
	while (head < tail && result < 0)
	{
		int at = queue[head++];

		for (const edge *e = nodes[at].edges; e != NULL && result < 0; e = e->next)
		{
			if (!is_among(e, edges) || nodes[e->to].component != nodes[from].component || nodes[e->to].distance >= 0)
				continue;
			nodes[e->to].distance = nodes[at].distance + 1;
			nodes[e->to].via = at;
			nodes[e->to].by = e;
			queue[tail++] = e->to;
			if (e->to == to)
				result = nodes[e->to].distance;
		}
	}
	free(queue);
	return result;
}

static int tarjan_order;
static int tarjan_components;
static int *tarjan_stack;
static int tarjan_depth;

static void
find_components(int number)
{
	node *n = &nodes[number];

	n->order = n->low = ++tarjan_order;
	tarjan_stack[tarjan_depth++] = number;
	n->on_stack = true;
	for (const edge *e = n->edges; e != NULL; e = e->next)
	{
		node *other = &nodes[e->to];

		if (other->order == 0)
		{
			find_components(e->to);
			n->low = other->low < n->low ? other->low : n->low;
		}
		else if (other->on_stack && other->order < n->low)
			n->low = other->order;
	}
	if (n->low != n->order)
		return;
	tarjan_components++;
	do
	{
		node *member = &nodes[tarjan_stack[--tarjan_depth]];

		member->on_stack = false;
		member->component = tarjan_components;
	} while (&nodes[tarjan_stack[tarjan_depth]] != n);
}

static void
print_cycle(int from, int to, const edge *last)
{
	if (from != to)
		print_cycle(from, nodes[to].via, nodes[to].by);
	printf("  transaction %d --%s on key %d--> transaction %d\n", to, last->type, last->key, last->to);
}

/* The smallest cycle so far: from a node over an edge, and back over others. */
typedef struct cycle
{
	int length; /* 0: none */
	int from;
	const edge *first;
	edges edges;
} cycle;

/* A smallest cycle that begins with one of the first, and comes back over the others. */
static void
look_for_cycle(edges first, edges others, cycle *best)
{
	for (int from = 1; from < node_count; from++)
		for (const edge *e = nodes[from].edges; e != NULL && best->length != 2; e = e->next)
		{
			int length;

			if (nodes[e->to].component != nodes[from].component || !is_among(e, first))
				continue;
			length = search(e->to, from, others) + 1;
			if (length > 0 && (best->length == 0 || length < best->length))
				*best = (cycle){.length = length, .from = from, .first = e, .edges = others};
		}
}

/* True if there is a cycle that the level forbids. */
static bool
find_cycle(level expected)
{
	cycle best = {0};

	look_for_cycle(ORDERED, ORDERED, &best);
	if (expected == REPEATABLE_READ)
		look_for_cycle(ALL, VISIBLE, &best);
	if (expected == SERIALIZABLE)
		look_for_cycle(ALL, ALL, &best);
	if (best.length == 0)
		return false;
	printf("a cycle of %d transactions that %s forbids:\n", best.length, level_names[expected]);
	(void) search(best.first->to, best.from, best.edges);
	print_cycle(best.first->to, best.from, best.first);
	return true;
}

static void
build(const plan *plan)
{
	node_count = 1 + plan->client_count * plan->transaction_count;
	nodes = get_memory(node_count * sizeof(node));
	histories = get_memory(plan->key_count * sizeof(history));
	tarjan_stack = get_memory(node_count * sizeof(int));
	for (int i = 1; i < node_count; i++)
		nodes[i].transaction = &plan->transactions[i];
	for_each(learn_of);
	for_each(check_append);
	for_each(check_list);
	add_successions(plan->key_count);
	for_each(add_edges);
	for (int i = 1; i < node_count; i++)
		if (nodes[i].order == 0)
			find_components(i);
}

bool
cycles_find(const plan *plan, level expected)
{
	build(plan);
	return find_cycle(expected) || found > 0;
}

/*
 * kinds_judge.h
 *	  Random histories, and what each must be like (kinds_history.h).
 */
#ifndef TG_UNIT_KINDS_JUDGE_H
#define TG_UNIT_KINDS_JUDGE_H

#include "test/unit/kinds_history.h"

/* --- judging ---------------------------------------------------------------------------------- */

/* The value committed last at or before a time. */
static int64_t
value_at(const scenario *s, const int64_t initial[ROWS], int row, tg_time time)
{
	int64_t value = initial[row];
	tg_time best = 0;

	for (int i = 0; i < s->count; i++)
	{
		const client *c = &clients[i];

		if (c->ending == COMMITTED && c->last[row] >= 0 && c->commit <= time && c->commit > best)
		{
			best = c->commit;
			value = c->last[row];
		}
	}
	return value;
}

/* Place in the serial order: time, then writers, readers, LONGs. */
typedef struct place
{
	const client *client;
	tg_time time;
	int rank;
	uint64_t sequence;
} place;

static int
compare_places(const void *a, const void *b)
{
	const place *left = a;
	const place *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank - right->rank;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static void
judge_order(const scenario *s, const int64_t initial[ROWS])
{
	int64_t state[ROWS];
	int64_t final[ROWS];
	place places[CLIENTS];
	int count = 0;

	for (int i = 0; i < s->count; i++)
	{
		const client *c = &clients[i];
		place *p = &places[count];

		if (c->ending != COMMITTED)
			continue;
		*p = (place){.client = c, .time = c->place, .rank = 1};
		if (c->script->kind == LONG)
		{
			p->rank = 2;
			p->sequence = c->sequence;
		}
		else if (c->wrote)
			*p = (place){.client = c, .time = c->commit};
		count++;
	}
	qsort(places, (size_t) count, sizeof(place), compare_places);
	memcpy(state, initial, sizeof(state));
	for (int i = 0; i < count; i++)
	{
		const client *c = places[i].client;

		for (int r = 0; r < c->read_count && c->script->kind >= SER; r++)
		{
			const read_record *read = &c->reads_done[r];

			if (read->value != state[read->row])
				report_fault("ORDER: client %d (%s, place %d) has read %" PRId64 " in row %d, not %" PRId64, c->number,
							 kind_names[c->script->kind], i, read->value, read->row, state[read->row]);
		}
		for (int row = 0; row < ROWS; row++)
			if (c->last[row] >= 0)
				state[row] = c->last[row];
	}
	read_tables(final);
	for (int row = 0; row < ROWS; row++)
		if (final[row] != state[row])
			report_fault("ORDER: row %d holds %" PRId64 " at last, not %" PRId64, row, final[row], state[row]);
}

static void
judge(const scenario *s, const int64_t initial[ROWS])
{
	for (int i = 0; i < s->count && s->no_victims; i++)
		if (clients[i].ending == DEADLOCK)
			report_fault("client %d is the victim of a deadlock", i);
	for (int i = 0; i < s->count; i++)
		for (int r = 0; r < clients[i].read_count; r++)
		{
			const read_record *read = &clients[i].reads_done[r];
			int64_t value = value_at(s, initial, read->row, read->snapshot);

			if (read->value != value)
				report_fault("SNAPSHOT: client %d (%s) has read %" PRId64 " in row %d as of %" PRIu64 ", not %" PRId64,
							 i, kind_names[clients[i].script->kind], read->value, read->row, read->snapshot, value);
		}
	judge_order(s, initial);
}

static void
print_scenario(const scenario *s)
{
	static const char *const endings[] = {"running", "committed", "40001", "earlier LONG", "deadlock", "asked"};

	for (int i = 0; i < s->count; i++)
	{
		const script *t = &s->scripts[i];

		fprintf(stderr, "#   %d %s", i, kind_names[t->kind]);
		if (t->kind == LONG)
			fprintf(stderr, " preserves %02x priority %d", t->preserve, t->priority);
		if (t->declared != 0)
			fprintf(stderr, " declares %02x", t->declared);
		for (int k = 0; k < t->op_count; k++)
			fprintf(stderr, "; %s t%d.%d", op_names[t->ops[k].what], t->ops[k].table, t->ops[k].key);
		fprintf(stderr, ": %s, snapshot %" PRIu64 ", C %" PRIu64 "\n", endings[clients[i].ending], clients[i].place,
				clients[i].commit);
	}
}

/* --- random scenarios ------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t
random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t) (random_state >> 20) % limit;
}

static unsigned
random_rows(void)
{
	unsigned table = random_below(TABLES);

	switch (random_below(4))
	{
		case 0:
			return 1u << random_below(ROWS);
		case 1:
			return 3u << (table * KEYS + random_below(2));
		default:
			return 7u << (table * KEYS);
	}
}

static void
make_scenario(uint64_t seed, scenario *s)
{
	memset(s, 0, sizeof(*s));
	random_state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (int i = 0; i < 8; i++)
		(void) random_below(2);
	s->count = 2 + (int) random_below(CLIENTS - 1);
	s->initial = random_below(2) ? 0x3f : random_below(64);
	s->collections = random_below(2) ? 1 + (int) random_below(2) : 0;
	for (int i = 0; i < s->count; i++)
	{
		script *t = &s->scripts[i];

		t->kind = random_below(3) == 0 ? LONG : (kind) random_below(KINDS);
		t->op_count = 1 + (int) random_below(OPS - 1);
		t->priority = (int) random_below(2);
		if (t->kind == LONG)
			t->preserve = random_rows();
		if ((t->kind == LONG || t->kind == RTX || t->kind == DEFERRABLE) && random_below(4) == 0)
			t->declared = random_rows() | random_rows();
		for (int k = 0; k < t->op_count; k++)
		{
			op *o = &t->ops[k];
			bool reads = t->kind == RTX || t->kind == DEFERRABLE || random_below(2) == 0;

			o->what = reads ? (op_kind) random_below(2) : (op_kind) (WRITE + random_below(3));
			if (!reads && random_below(20) == 0)
				o->what = ROLLBACK;
			o->table = (int) random_below(TABLES);
			o->key = (int) random_below(KEYS);
			/* LONG: mostly areas that it preserves and that it declares. */
			for (int tries = 0;
				 tries < 6 && t->kind == LONG && !reads && (t->preserve >> (o->table * KEYS + o->key) & 1) == 0;
				 tries++)
			{
				o->table = (int) random_below(TABLES);
				o->key = (int) random_below(KEYS);
			}
			if (reads && t->declared != 0 && (rows_of(o) & ~t->declared) != 0)
			{
				int row = 0;

				while ((t->declared >> row & 1) == 0)
					row++;
				*o = (op){.what = READ, .table = row / KEYS, .key = row % KEYS};
			}
		}
	}
}

#endif /* TG_UNIT_KINDS_JUDGE_H */

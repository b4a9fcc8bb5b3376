/*
 * btree_scan.c
 *	  Reading ranges of the B+tree: cursors, estimates, figures.
 *
 * A cut is a place between keys: everything is before it or behind it.  Both
 * bounds of a range are cuts, and so is the position of a cursor:
 *
 *	 ... aa | aab  ab | b ...		| before "aab", and | after everything that starts with "a"
 *
 * A cursor reads one leaf at a time, without a lock.  It descends to the leaf next to its position,
 * and copies rows (and keys, if wanted) into the caller's array.  It copies the key of the last
 * row, or else the leaf's fence, aside, and then looks at the leaf's version.  If the version is
 * unchanged, the position moves on to that key.  If it has changed, the leaf is read again; after
 * TG_SCAN_TRIES_MAX times under its lock, so that writers cannot starve a scan.
 *
 * Exactly once.  One read of a leaf hands out the entries that the leaf held at one moment, all of
 * them between the old position and the new one.  The fences of that moment bound them: no key
 * between the old position and the new one was anywhere else then.  So an entry that exists all the
 * time is handed out by the one step that passes its key, whatever is split before or after.
 *
 * Between two calls the position is the last key handed out, never a pointer: the epoch may have
 * been left.  Descending again costs about as much as one find, once per call.
 *
 * With a sieve the position may be ahead of the last key read, at a key that need not exist.  No
 * key in between is wanted, now or later, so the scan misses none, and it reads the keys behind the
 * position as usual.
 *
 * Left out: reading ahead into the next leaf.
 */
#include "runtime/btree/btree.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/btree/btree_node.h"
#include "runtime/btree/btree_search.h"
#include "runtime/order/key.h"

#define TG_SCAN_TRIES_MAX 16

/*
 * With a sieve: the number of entries that are read from a leaf after a jump, doubled each time
 * that the entries behind them are wanted; and the number of reads of one call.
 */
#define SIEVE_ROWS_FIRST 8
#define SIEVE_READS_MAX 64

/* An estimate assumes equal children from this number of them on. */
#define TG_SHARE_WEIGHED_MAX 32

typedef enum cut_kind
{
	CUT_LOWEST,		   /* before every key */
	CUT_BEFORE,		   /* just before this key */
	CUT_AFTER,		   /* just behind this key */
	CUT_BEHIND_PREFIX, /* behind this key and all keys that start with it */
	CUT_HIGHEST		   /* behind every key */
} cut_kind;

typedef struct key_cut
{
	cut_kind kind;
	tg_search_key key;
} key_cut;

static key_cut
make_cut(cut_kind kind, const void *bytes, size_t length)
{
	return (key_cut){kind, tg_search_key_make(bytes, length)};
}

static key_cut
low_cut(const void *low, size_t low_bytes, bool inclusive)
{
	if (low == NULL)
		return make_cut(CUT_LOWEST, NULL, 0);
	return make_cut(inclusive ? CUT_BEFORE : CUT_BEHIND_PREFIX, low, low_bytes);
}

static key_cut
high_cut(const void *high, size_t high_bytes, bool inclusive)
{
	if (high == NULL)
		return make_cut(CUT_HIGHEST, NULL, 0);
	return make_cut(inclusive ? CUT_BEHIND_PREFIX : CUT_BEFORE, high, high_bytes);
}

/* --- searching for a cut: optimistic, like btree_search.h ------------------------ */

/*
 * Is an entry of a node before the cut behind all keys that start with key? Both have the node's
 * prefix.
 */
TG_SEARCH bool
is_before_prefix_end(const tg_node *node, const tg_slot *slot, const tg_search_key *key, unsigned prefix_bytes)
{
	unsigned entry_length = tg_load_relaxed(&slot->length);
	unsigned key_length = key->length - prefix_bytes;
	unsigned common = entry_length < key_length ? entry_length : key_length;
	uint32_t mask = common == 0 ? 0 : common >= TG_NODE_HEAD_BYTES ? UINT32_MAX : ~(UINT32_MAX >> (8 * common));
	uint32_t entry_head = tg_load_relaxed(&slot->head) & mask;
	uint32_t key_head = tg_search_head(key, prefix_bytes) & mask;
	unsigned tail = tg_slot_tail(common);
	unsigned offset = tg_load_relaxed(&slot->offset);

	if (entry_head != key_head)
		return entry_head < key_head;
	if (tail == 0 || offset + tail > node->bytes)
		return true;
	return tg_bytes_compare((const unsigned char *) node + offset, key->bytes + prefix_bytes + TG_NODE_HEAD_BYTES,
							tail) <= 0;
}

static TG_OPTIMISTIC unsigned
count_before_prefix_end(const tg_node *node, unsigned stride, const tg_search_key *key, unsigned low)
{
	unsigned prefix_bytes = tg_load_relaxed(&node->prefix_bytes);
	unsigned high = tg_search_count(node, stride);
	unsigned step = 1;

	if (key->length <= prefix_bytes)
	{
		unsigned offset = tg_load_relaxed(&node->prefix_offset);

		if (offset + key->length > node->bytes)
			return 0;
		return tg_bytes_compare((const unsigned char *) node + offset, key->bytes, key->length) <= 0 ? high : 0;
	}
	else
	{
		int order = tg_search_prefix(node, key, prefix_bytes);

		if (order != 0)
			return order < 0 ? 0 : high;
	}
	/* Most ranges are short: steps that double, until one is too long. */
	while (low < high)
	{
		unsigned middle = high - low > step ? low + step - 1 : low + (high - low) / 2;

		if (is_before_prefix_end(node, tg_node_slot(node, stride, middle), key, prefix_bytes))
			low = middle + 1;
		else
			high = middle;
		step *= 2;
	}
	return low;
}

/* The number of entries before the cut, which is known to be at least this. */
static TG_OPTIMISTIC unsigned
count_before(const tg_node *node, unsigned stride, const key_cut *cut, cut_kind kind, unsigned least)
{
	unsigned index;
	bool found;

	switch (kind)
	{
		case CUT_LOWEST:
			return 0;
		case CUT_HIGHEST:
			return tg_search_count(node, stride);
		case CUT_BEHIND_PREFIX:
			return count_before_prefix_end(node, stride, &cut->key, least);
		case CUT_BEFORE:
		case CUT_AFTER:
			break;
	}
	index = tg_search_node(node, stride, &cut->key, &found);
	return index + (kind == CUT_AFTER && found);
}

/*
 * Finds the leaf with the first keys behind the cut or (backward) the last ones before it.  The
 * leaf may have no such keys; they are then beyond that fence.
 */
static TG_OPTIMISTIC tg_node *
find_cut(const tg_btree *tree, const key_cut *cut, bool backward, uint64_t *version_out)
{
	/*
	 * a child begins with its separator, so it holds the keys behind the cut before the separator
	 */
	cut_kind kind = cut->kind == CUT_BEFORE && !backward ? CUT_AFTER : cut->kind;

	for (;; tg_pause())
	{
		tg_node *node;
		bool valid = tg_descent_enter(tree, &node, version_out);

		while (valid && node->level > 0)
			valid = tg_descent_step(&node, version_out, count_before(node, sizeof(tg_inner_slot), cut, kind, 0));
		if (valid)
			return node;
	}
}

/* --- cursors ------------------------------------------------------------------------ */

/* The place where a scan continues after one read of a leaf. */
typedef struct leaf_read
{
	unsigned count; /* rows handed out */
	bool done;		/* no keys behind them, as far as this leaf tells */
	bool at_fence;	/* key is the leaf's fence, not the last row's key */
	unsigned key_bytes;
	unsigned char key[TG_KEY_BYTES_MAX];
} leaf_read;

/*
 * Copies bytes of a node to the place where a key of target_length bytes ends; a key has room bytes
 * at most.  It uses loops that compilers do not turn into a memcpy.
 */
TG_SEARCH unsigned
copy_bytes(const tg_node *node, unsigned offset, unsigned length, unsigned char *target, unsigned target_length,
		   unsigned room)
{
	const unsigned char *source = (const unsigned char *) node + offset;
	unsigned i = 0;

	if (tg_unlikely(offset + length > node->bytes || target_length + length > room))
		return target_length;
	target += target_length;
	for (; i + 8 <= length; i += 8)
		*(tg_unaligned_64 *) (target + i) = *(const tg_unaligned_64 *) (source + i);
	if (i + 4 <= length)
	{
		*(tg_unaligned_32 *) (target + i) = *(const tg_unaligned_32 *) (source + i);
		i += 4;
	}
	for (; i < length; i++)
		target[i] = tg_load_relaxed(source + i);
	return target_length + length;
}

/* As tg_node_key, but of a node that may change, and cut if there is no room. */
TG_SEARCH unsigned
copy_key(const tg_node *leaf, unsigned index, unsigned char *key_out, unsigned room)
{
	const tg_slot *slot = tg_node_slot(leaf, sizeof(tg_leaf_slot), index);
	unsigned length = tg_load_relaxed(&slot->length);
	uint32_t head = tg_load_relaxed(&slot->head);
	unsigned bytes =
		copy_bytes(leaf, tg_load_relaxed(&leaf->prefix_offset), tg_load_relaxed(&leaf->prefix_bytes), key_out, 0, room);

	_Static_assert(TG_NODE_HEAD_BYTES == sizeof(head), "a head is stored in one piece");
	if (tg_likely(length >= sizeof(head) && bytes + sizeof(head) <= room))
	{
		*(tg_unaligned_32 *) (key_out + bytes) = __builtin_bswap32(head);
		bytes += sizeof(head);
	}
	else
		for (unsigned i = 0; i < sizeof(head) && i < length && bytes < room; i++)
			key_out[bytes++] = (unsigned char) (head >> (24 - 8 * i));
	if (length > TG_NODE_HEAD_BYTES)
		bytes = copy_bytes(leaf, tg_load_relaxed(&slot->offset), tg_slot_tail(length), key_out, bytes, room);
	return bytes;
}

/* Appends an entry's key.  False: it has no place. */
TG_SEARCH bool
append_key(const tg_node *leaf, unsigned index, tg_btree_keys *keys)
{
	const tg_slot *slot = tg_node_slot(leaf, sizeof(tg_leaf_slot), index);
	size_t room = keys->capacity - keys->used;
	unsigned char *key = keys->bytes + keys->used;
	unsigned bytes;

	if (tg_load_relaxed(&leaf->prefix_bytes) + tg_load_relaxed(&slot->length) + sizeof(uint16_t) > room)
		return false;
	bytes = copy_key(leaf, index, key + sizeof(uint16_t), (unsigned) (room - sizeof(uint16_t)));
	*(tg_unaligned_16 *) key = (uint16_t) bytes;
	keys->used += sizeof(uint16_t) + bytes;
	return true;
}

/*
 * Reads at most count rows between two cuts from a leaf.  True only if the leaf is unchanged or
 * locked.
 */
static TG_OPTIMISTIC void
read_leaf(const tg_node *leaf, const key_cut *from, const key_cut *to, bool backward, uint32_t *rows, unsigned count,
		  tg_btree_keys *keys, leaf_read *read)
{
	unsigned slots = tg_search_count(leaf, sizeof(tg_leaf_slot));
	unsigned begin =
		count_before(leaf, sizeof(tg_leaf_slot), backward ? to : from, backward ? to->kind : from->kind, 0);
	unsigned end =
		count_before(leaf, sizeof(tg_leaf_slot), backward ? from : to, backward ? from->kind : to->kind, begin);
	unsigned there = begin < end ? end - begin : 0;
	bool bound_here = backward ? begin > 0 : end < slots;

	if (keys != NULL)
	{
		unsigned fits = 0;

		while (fits < there && fits < count && append_key(leaf, backward ? end - 1 - fits : begin + fits, keys))
			fits++;
		if (fits < there)
			count = fits;
	}
	read->count = there < count ? there : count;
	read->at_fence = false;
	if (backward)
		for (unsigned i = 0; i < read->count; i++)
			rows[i] = tg_search_row(leaf, end - 1 - i);
	else
		for (unsigned i = 0; i < read->count; i++)
			rows[i] = tg_search_row(leaf, begin + i);
	if (there > count)
	{
		read->done = false;
		read->key_bytes =
			count == 0 ? 0 : copy_key(leaf, backward ? end - count : begin + count - 1, read->key, TG_KEY_BYTES_MAX);
	}
	else
	{
		unsigned offset = backward ? tg_load_relaxed(&leaf->low_offset) : tg_load_relaxed(&leaf->high_offset);
		unsigned length = backward ? tg_load_relaxed(&leaf->low_bytes) : tg_load_relaxed(&leaf->high_bytes);

		read->done = bound_here || offset == 0;
		if (read->done)
			return;
		read->at_fence = there < count;
		if (read->at_fence)
			read->key_bytes = copy_bytes(leaf, offset, length, read->key, 0, TG_KEY_BYTES_MAX);
		else
			read->key_bytes = copy_key(leaf, backward ? begin : end - 1, read->key, TG_KEY_BYTES_MAX);
	}
}

void
tg_btree_cursor_init(tg_btree_cursor *cursor, tg_btree *tree, const void *low, size_t low_bytes, bool low_inclusive,
					 const void *high, size_t high_bytes, bool high_inclusive, bool backward)
{
	cursor->tree = tree;
	cursor->sieve = NULL;
	cursor->low = low;
	cursor->high = high;
	cursor->low_bytes = (uint32_t) low_bytes;
	cursor->high_bytes = (uint32_t) high_bytes;
	cursor->low_inclusive = low_inclusive;
	cursor->high_inclusive = high_inclusive;
	cursor->backward = backward;
	cursor->started = false;
	cursor->done = false;
	cursor->at_fence = false;
	cursor->position_bytes = 0;
}

/* --- sieves -------------------------------------------------------------------------- */

/*
 * Drops the unwanted part of a read: rows, and keys from used on.  The scan continues where wanted
 * keys may follow.  Returns whether that is beyond the next key.
 */
static bool
sift(const tg_btree_sieve *sieve, leaf_read *read, uint32_t *rows, tg_btree_keys *keys, size_t used)
{
	unsigned char next[TG_KEY_BYTES_MAX];
	size_t next_bytes = 0; /* 0: the last row was wanted */
	const unsigned char *entry = keys->bytes + used;
	unsigned kept = 0;

	keys->used = used;
	for (unsigned i = 0; i < read->count; i++)
	{
		uint16_t bytes = *(const tg_unaligned_16 *) entry;
		const unsigned char *key = entry + sizeof(bytes);

		if (next_bytes == 0 || tg_key_compare(key, bytes, next, next_bytes) >= 0)
			next_bytes = sieve->next(sieve, key, bytes, next);
		if (next_bytes == 0)
		{
			memmove(keys->bytes + keys->used, entry, sizeof(bytes) + bytes);
			keys->used += sizeof(bytes) + bytes;
			rows[kept++] = rows[i];
		}
		entry = key + bytes;
	}
	read->count = kept;
	if (read->done)
		return false;
	if (read->at_fence && (next_bytes == 0 || tg_key_compare(read->key, read->key_bytes, next, next_bytes) >= 0))
		next_bytes = sieve->next(sieve, read->key, read->key_bytes, next);
	if (next_bytes == 0)
		return false;
	read->at_fence = true; /* keys that begin with it are not behind the position */
	read->key_bytes = (unsigned) next_bytes;
	memcpy(read->key, next, next_bytes);
	return true;
}

/* --- cursors, in use ----------------------------------------------------------------- */

unsigned
tg_btree_cursor_next(tg_btree_cursor *cursor, uint32_t *rows, unsigned count)
{
	return tg_btree_cursor_next_keys(cursor, rows, count, NULL);
}

unsigned
tg_btree_cursor_next_keys(tg_btree_cursor *cursor, uint32_t *rows, unsigned count, tg_btree_keys *keys)
{
	key_cut low = low_cut(cursor->low, cursor->low_bytes, cursor->low_inclusive);
	key_cut high = high_cut(cursor->high, cursor->high_bytes, cursor->high_inclusive);
	unsigned total = 0;
	unsigned tries = 0;
	unsigned reads = 0;
	unsigned ask = cursor->sieve != NULL ? SIEVE_ROWS_FIRST : count;

	tg_assert(count > 0);
	tg_assert(cursor->sieve == NULL || (keys != NULL && !cursor->backward));
	while (total < count && !cursor->done && (cursor->sieve == NULL || reads < SIEVE_READS_MAX))
	{
		key_cut from = cursor->backward ? high : low;
		leaf_read read;
		tg_node *leaf;
		uint64_t version;
		size_t used = keys != NULL ? keys->used : 0;
		bool is_true;

		/* the fence itself is the next leaf's */
		if (cursor->started)
			from = make_cut(cursor->backward || cursor->at_fence ? CUT_BEFORE : CUT_AFTER, cursor->position,
							cursor->position_bytes);
		leaf = find_cut(cursor->tree, &from, cursor->backward, &version);
		if (++tries > TG_SCAN_TRIES_MAX)
		{
			if (!tg_node_lock(leaf, version))
				continue;
		}
		read_leaf(leaf, &from, cursor->backward ? &low : &high, cursor->backward, rows + total,
				  ask < count - total ? ask : count - total, keys, &read);
		tg_failpoint("btree_read");
		is_true = tries > TG_SCAN_TRIES_MAX || tg_node_unchanged(leaf, version);
		if (tries > TG_SCAN_TRIES_MAX)
			tg_node_unlock_unchanged(leaf);
		if (!is_true)
		{
			if (keys != NULL)
				keys->used = used;
			continue;
		}
		if (read.count == 0 && !read.done && !read.at_fence)
			break; /* no place for another key */
		tries = 0;
		reads++;
		if (cursor->sieve != NULL)
			ask = sift(cursor->sieve, &read, rows + total, keys, used) ? SIEVE_ROWS_FIRST : 2 * ask;
		total += read.count;
		cursor->done = read.done;
		if (read.done)
			break;
		cursor->started = true;
		cursor->position_bytes = read.key_bytes;
		memcpy(cursor->position, read.key, read.key_bytes);
		cursor->at_fence = read.at_fence;
	}
	return total;
}

/* --- estimates and figures -------------------------------------------------------------- */

/*
 * Computes the shares of an inner node that are before its child of this index, and in it.  A node
 * with many children counts them as equal.  Where they are few, one may be nearly empty (the
 * right-most, under ascending keys), so they are weighed by their own counts.  False: the node
 * changed.
 */
static TG_OPTIMISTIC bool
weigh_children(const tg_node *node, uint64_t version, unsigned index, double *before_out, double *inside_out)
{
	unsigned count = tg_search_count(node, sizeof(tg_inner_slot));
	double total = 0;

	if (count >= TG_SHARE_WEIGHED_MAX)
	{
		*before_out = (double) index / (count + 1);
		*inside_out = 1.0 / (count + 1);
		return true;
	}
	*before_out = 0;
	*inside_out = 0;
	for (unsigned i = 0; i <= count; i++)
	{
		const tg_node *child = tg_load_relaxed(tg_node_child(node, i));
		double weight;

		if (!tg_node_unchanged(node, version))
			return false;
		weight = tg_search_count(child, tg_node_stride(child)) + (child->level > 0);
		total += weight;
		if (i < index)
			*before_out += weight;
		else if (i == index)
			*inside_out = weight;
	}
	*before_out = total > 0 ? *before_out / total : 0;
	*inside_out = total > 0 ? *inside_out / total : 0;
	return true;
}

/* Share of the tree's entries that is before the cut. */
static TG_OPTIMISTIC double
share_before(const tg_btree *tree, const key_cut *cut)
{
	for (;; tg_pause())
	{
		tg_node *node;
		uint64_t version;
		double share = 0;
		double width = 1;
		double before = 0;
		double inside = 0;
		unsigned index;
		unsigned count;
		bool valid = tg_descent_enter(tree, &node, &version);

		while (valid && node->level > 0)
		{
			index = count_before(node, sizeof(tg_inner_slot), cut, cut->kind, 0);
			valid = weigh_children(node, version, index, &before, &inside) && tg_descent_step(&node, &version, index);
			share += before * width;
			width *= inside;
		}
		if (!valid)
			continue;
		index = count_before(node, sizeof(tg_leaf_slot), cut, cut->kind, 0);
		count = tg_search_count(node, sizeof(tg_leaf_slot));
		if (count > 0)
			share += width * index / count;
		if (tg_node_unchanged(node, version))
			return share;
	}
}

double
tg_btree_share(tg_btree *tree, const void *low, size_t low_bytes, const void *high, size_t high_bytes)
{
	key_cut from = low_cut(low, low_bytes, true);
	key_cut to = high_cut(high, high_bytes, true);
	double share = (high == NULL ? 1 : share_before(tree, &to)) - (low == NULL ? 0 : share_before(tree, &from));

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Adds a subtree, whose nodes may change; a node that does is counted as it was or as it is. */
static TG_OPTIMISTIC void
report_subtree(tg_node *node, uint64_t version, tg_btree_report *report)
{
	unsigned count = tg_search_count(node, tg_node_stride(node));

	report->nodes++;
	report->bytes += node->bytes;
	if (node->level == 0)
		report->entries += count;
	for (unsigned i = 0; node->level > 0 && i <= count; i++)
	{
		tg_node *child = node;
		uint64_t child_version = version;

		while (!tg_descent_step(&child, &child_version, i))
		{
			version = child_version = tg_node_version(node);
			count = tg_search_count(node, sizeof(tg_inner_slot));
			if ((version & TG_NODE_OBSOLETE) != 0 || i > count)
				return;
		}
		report_subtree(child, child_version, report);
	}
}

void
tg_btree_report_get(tg_btree *tree, tg_btree_report *report)
{
	tg_node *root;
	uint64_t version;

	while (!tg_descent_enter(tree, &root, &version))
		tg_pause();
	*report = (tg_btree_report){.height = root->level + 1U};
	report_subtree(root, version, report);
}

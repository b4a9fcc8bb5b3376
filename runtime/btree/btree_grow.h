/*
 * btree_grow.h
 *	  What an insertion into the B+tree that finds no room in its leaf needs.
 *
 * Serves btree.c.
 */
#ifndef TG_BTREE_GROW_H
#define TG_BTREE_GROW_H

#include "runtime/btree/btree_node.h"

/* The nodes from the root to a leaf, as seen by one descent. */
typedef struct tg_tree_step
{
	tg_node *node;
	uint64_t version;
	unsigned index; /* child taken; in the leaf: place of the key */
} tg_tree_step;

typedef struct tg_tree_path
{
	unsigned depth; /* number of steps */
	tg_tree_step steps[TG_BTREE_LEVELS_MAX];
} tg_tree_path;

/* Memory and room that an insertion keeps for its next restructuring. */
typedef struct tg_node_supply
{
	tg_node *left;
	tg_node *right;
	tg_node *root;
	bool retirement;
} tg_node_supply;

/*
 * The leaf, locked and last on the path, has no room for the key.  Restructures one node on the
 * path and unlocks everything.  in_run: keys that follow it in an ascending run belong to the same
 * place.  TG_AGAIN: descend again; or TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_tree_make_room(tg_session *session, tg_btree *tree, const tg_tree_path *path, tg_span key,
								   tg_room room, bool in_run, tg_node_supply *supply, tg_claim claim) TG_MUST_USE;

/* Frees what the insertion has not used. */
static inline void
tg_supply_release(tg_session *session, const tg_btree *tree, tg_node_supply *supply)
{
	if (supply->left != NULL)
		tg_node_destroy(session, tree->book, supply->left);
	if (supply->right != NULL)
		tg_node_destroy(session, tree->book, supply->right);
	if (supply->root != NULL)
		tg_node_destroy(session, tree->book, supply->root);
}

#endif /* TG_BTREE_GROW_H */

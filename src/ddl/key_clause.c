/*
 * key_clause.c
 *	  PRIMARY KEY, UNIQUE and EXCLUDE in statements, which PostgreSQL refuses for foreign tables.
 */
#include "postgres.h"

#include "src/ddl/key_clause.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "src/constraint/deferred_key.h"
#include "src/ddl/index_entry.h"

bool
tsurugi_is_key_clause(Node *node)
{
	return IsA(node, Constraint) &&
		   (((Constraint *) node)->contype == CONSTR_PRIMARY || ((Constraint *) node)->contype == CONSTR_UNIQUE ||
			((Constraint *) node)->contype == CONSTR_EXCLUSION);
}

List *
tsurugi_key_clauses_of_column(ColumnDef *column, List *keys)
{
	Constraint *key = NULL; /* the previous clause, if it is a key */
	tsurugi_attributes said = {false, false};
	ListCell *cell;

	foreach (cell, column->constraints)
	{
		Constraint *constraint = lfirst(cell);

		if (tsurugi_is_key_clause((Node *) constraint))
		{
			key = constraint;
			said = (tsurugi_attributes){false, false};
			key->keys = list_make1(makeString(pstrdup(column->colname)));
			keys = lappend(keys, key);
			column->constraints = foreach_delete_current (column->constraints, cell);
			continue;
		}
		if (key == NULL || !tsurugi_take_attribute(key, constraint, &said))
			key = NULL;
		else
			column->constraints = foreach_delete_current (column->constraints, cell);
	}
	return keys;
}

List *
tsurugi_key_clauses_of_table(CreateStmt *statement)
{
	List *keys = NIL;
	ListCell *cell;

	foreach (cell, statement->tableElts)
	{
		Node *element = lfirst(cell);

		if (IsA(element, ColumnDef))
			keys = tsurugi_key_clauses_of_column((ColumnDef *) element, keys);
		else if (tsurugi_is_key_clause(element))
		{
			keys = lappend(keys, element);
			statement->tableElts = foreach_delete_current (statement->tableElts, cell);
		}
	}
	return keys;
}

static AlterTableCmd *
make_set_not_null(char *column)
{
	AlterTableCmd *command = makeNode(AlterTableCmd);

	command->subtype = AT_SetNotNull;
	command->name = column;
	return command;
}

/* The columns of an index that will become a primary key. */
static List *
columns_of_index(Oid relation, const char *name)
{
	Oid oid = get_relname_relid(name, get_rel_namespace(relation));
	List *columns = NIL;
	Relation index;

	if (!OidIsValid(oid))
		return NIL; /* tsurugi_index_entry_adopt raises the error */
	index = relation_open(oid, AccessShareLock);
	if (index->rd_index != NULL && index->rd_index->indrelid == relation)
	{
		for (int i = 0; i < index->rd_index->indnkeyatts; i++)
			if (index->rd_index->indkey.values[i] != 0)
				columns = lappend(columns, makeString(get_attname(relation, index->rd_index->indkey.values[i], false)));
	}
	relation_close(index, NoLock);
	return columns;
}

List *
tsurugi_key_clauses_set_not_null(Oid relation, List *keys)
{
	List *commands = NIL;
	ListCell *cell;
	ListCell *column;

	foreach (cell, keys)
	{
		const Constraint *key = lfirst(cell);
		List *columns = key->indexname == NULL ? key->keys : columns_of_index(relation, key->indexname);

		if (key->contype != CONSTR_PRIMARY)
			continue;
		foreach (column, columns)
			commands = lappend(commands, make_set_not_null(pstrdup(strVal(lfirst(column)))));
	}
	return commands;
}

void
tsurugi_key_clauses_check(Oid relation, List *keys, bool altering, const char *text)
{
	ParseState *parse = make_parsestate(NULL);
	ListCell *cell;
	ListCell *column;

	parse->p_sourcetext = text;
	foreach (cell, keys)
	{
		const Constraint *key = lfirst(cell);

		/* SET NOT NULL raises an error, as in PostgreSQL. */
		if (altering && key->contype == CONSTR_PRIMARY)
			continue;
		foreach (column, key->keys)
		{
			if (get_attnum(relation, strVal(lfirst(column))) == InvalidAttrNumber)
				ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
								errmsg("column \"%s\" named in key does not exist", strVal(lfirst(column))),
								altering ? 0 : parser_errposition(parse, key->location)));
		}
	}
	free_parsestate(parse);
}

static bool
is_same_name(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/*
 * Equal clauses make one index, with the name of the first clause that has one
 * (transformIndexConstraints).
 */
static List *
merge(List *keys, Constraint *key)
{
	ListCell *cell;

	foreach (cell, keys)
	{
		Constraint *before = lfirst(cell);

		if (before->indexname == NULL && key->indexname == NULL && equal(before->keys, key->keys) &&
			equal(before->including, key->including) && equal(before->exclusions, key->exclusions) &&
			is_same_name(before->access_method, key->access_method) && equal(before->where_clause, key->where_clause) &&
			before->nulls_not_distinct == key->nulls_not_distinct && before->deferrable == key->deferrable &&
			before->initdeferred == key->initdeferred)
		{
			if (before->conname == NULL)
				before->conname = key->conname;
			return keys;
		}
	}
	return lappend(keys, key);
}

void
tsurugi_key_clauses_make(Relation relation, List *keys, const char *text, bool told)
{
	const char *table = RelationGetRelationName(relation);
	ParseState *parse = make_parsestate(NULL);
	List *merged = NIL;
	int primary_count = 0;
	ListCell *cell;

	parse->p_sourcetext = text;
	/* The primary key is made first; an equal UNIQUE clause merges with it. */
	foreach (cell, keys)
	{
		if (lfirst_node(Constraint, cell)->contype != CONSTR_PRIMARY)
			continue;
		if (++primary_count > 1)
			ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
							errmsg("multiple primary keys for table \"%s\" are not allowed", table),
							parser_errposition(parse, lfirst_node(Constraint, cell)->location)));
		merged = lappend(merged, lfirst(cell));
	}
	foreach (cell, keys)
	{
		if (lfirst_node(Constraint, cell)->contype != CONSTR_PRIMARY)
			merged = merge(merged, lfirst(cell));
	}
	foreach (cell, merged)
	{
		const Constraint *key = lfirst(cell);
		ParseCallbackState position;
		ObjectAddress address;
		IndexStmt *index;

		if (key->indexname != NULL)
		{
			tsurugi_index_entry_adopt(relation, key, text);
			continue;
		}
		setup_parser_errposition_callback(&position, parse, key->location);
		index = tsurugi_index_of_constraint(key);
		cancel_parser_errposition_callback(&position);
		ObjectAddressSet(address, RelationRelationId, tsurugi_index_entry_create(relation, index, text, true));
		if (told)
			EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, (Node *) index);
	}
	free_parsestate(parse);
}

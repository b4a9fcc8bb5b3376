/*
 * key_clause.c
 *	  Primary keys in statements, which PostgreSQL refuses for foreign tables.
 */
#include "postgres.h"

#include "src/key_clause.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"


static void
refuse_key_option(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("primary keys of tables in memory do not support %s", what)));
}

void
tsurugi_key_clause_take(tsurugi_key_clause *key, const char *table, const Constraint *constraint, List *columns)
{
	if (key->found)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						errmsg("multiple primary keys for table \"%s\" are not allowed", table)));
	if (constraint->deferrable || constraint->initdeferred)
		refuse_key_option("DEFERRABLE");
	if (constraint->including != NIL)
		refuse_key_option("INCLUDE");
	if (constraint->options != NIL)
		refuse_key_option("storage parameters");
	if (constraint->indexspace != NULL)
		refuse_key_option("USING INDEX TABLESPACE");
	if (constraint->indexname != NULL)
		refuse_key_option("USING INDEX");
	key->found = true;
	key->name = constraint->conname;
	key->columns = columns;
}

bool
tsurugi_is_key_clause(Node *node)
{
	return IsA(node, Constraint) && ((Constraint *) node)->contype == CONSTR_PRIMARY;
}

void
tsurugi_key_clause_of_column(ColumnDef *column, tsurugi_key_clause *key, const char *table)
{
	bool after_key = false;
	ListCell *cell;

	foreach (cell, column->constraints)
	{
		Constraint *constraint = lfirst(cell);

		if (tsurugi_is_key_clause((Node *) constraint))
		{
			tsurugi_key_clause_take(key, table, constraint, list_make1(makeString(column->colname)));
			column->constraints = foreach_delete_current (column->constraints, cell);
			after_key = true;
			continue;
		}
		switch (constraint->contype)
		{
			case CONSTR_ATTR_DEFERRABLE:
			case CONSTR_ATTR_DEFERRED:
				if (after_key)
					refuse_key_option("DEFERRABLE");
				break;
			case CONSTR_ATTR_NOT_DEFERRABLE:
			case CONSTR_ATTR_IMMEDIATE:
				if (after_key)
					column->constraints = foreach_delete_current (column->constraints, cell);
				break;
			default:
				after_key = false;
				break;
		}
	}
}

static AlterTableCmd *
make_set_not_null(const char *column)
{
	AlterTableCmd *command = makeNode(AlterTableCmd);

	command->subtype = AT_SetNotNull;
	command->name = pstrdup(column);
	return command;
}

List *
tsurugi_key_clause_set_not_null(const tsurugi_key_clause *key)
{
	List *commands = NIL;
	ListCell *cell;

	foreach (cell, key->columns)
		commands = lappend(commands, make_set_not_null(strVal(lfirst(cell))));
	return commands;
}

void
tsurugi_key_clause_check(Oid relation, const tsurugi_key_clause *key)
{
	ListCell *cell;

	foreach (cell, key->columns)
	{
		if (get_attnum(relation, strVal(lfirst(cell))) == InvalidAttrNumber)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" named in key does not exist", strVal(lfirst(cell)))));
	}
}

tsurugi_key_clause
tsurugi_key_clause_of_table(CreateStmt *statement)
{
	tsurugi_key_clause key = {0};
	ListCell *cell;

	foreach (cell, statement->tableElts)
	{
		Node *element = lfirst(cell);

		if (IsA(element, ColumnDef))
			tsurugi_key_clause_of_column((ColumnDef *) element, &key, statement->relation->relname);
		else if (tsurugi_is_key_clause(element))
		{
			tsurugi_key_clause_take(&key, statement->relation->relname, (Constraint *) element,
									((Constraint *) element)->keys);
			statement->tableElts = foreach_delete_current (statement->tableElts, cell);
		}
	}
	return key;
}

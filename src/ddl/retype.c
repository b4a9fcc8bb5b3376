/*
 * retype.c
 *	  Conversion of rows when columns change their types.
 *
 * For foreign tables PostgreSQL changes the catalogs only, and refuses USING.  So the expressions
 * are built here, from the statement as it was written, before PostgreSQL alters the table (follows
 * ATPrepAlterColumnType).  The rewrite evaluates them on the old rows.
 */
#include "postgres.h"

#include "src/ddl/retype.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Transforms USING, on the columns of the relation. */
static Node *
transform_using(Relation relation, const AlterTableCmd *command, const char *text)
{
	ParseState *parse = make_parsestate(NULL);
	Node *expression;

	parse->p_sourcetext = text;
	addNSItemToQuery(parse, addRangeTableEntryForRelation(parse, relation, AccessShareLock, NULL, false, true), false,
					 true, true);
	expression =
		transformExpr(parse, copyObject(castNode(ColumnDef, command->def)->raw_default), EXPR_KIND_ALTER_COL_TRANSFORM);
	free_parsestate(parse);
	return expression;
}

void
tsurugi_retype_check_using(Relation relation, const AlterTableCmd *command, bool has_heirs, const char *text)
{
	Bitmapset *attributes = NULL;

	if (castNode(ColumnDef, command->def)->raw_default == NULL)
		return;
	pull_varattnos(transform_using(relation, command, text), 1, &attributes);
	if (has_heirs && bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attributes))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot convert whole-row table reference"),
						errdetail("USING expression contains a whole-row table reference.")));
}

/* The expression of USING, or the column itself. */
static Node *
source_expression(Relation relation, const AlterTableCmd *command, const FormData_pg_attribute *attribute,
				  const char *text)
{
	if (castNode(ColumnDef, command->def)->raw_default != NULL)
		return transform_using(relation, command, text);
	return (Node *) makeVar(1, attribute->attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation,
							0);
}

static void
refuse_cast(const char *column, Oid type, int32 typmod, bool is_using)
{
	if (is_using)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("result of USING clause for column \"%s\" cannot be cast automatically to type %s",
							   column, format_type_be(type)),
						errhint("You might need to add an explicit cast.")));
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("column \"%s\" cannot be cast automatically to type %s", column, format_type_be(type)),
					errhint("You might need to specify \"USING %s::%s\".", quote_identifier(column),
							format_type_with_typemod(type, typmod))));
}

void
tsurugi_retype_add(tsurugi_retype **retype, Relation relation, const AlterTableCmd *command, const char *text)
{
	const ColumnDef *definition = castNode(ColumnDef, command->def);
	AttrNumber attnum = get_attnum(RelationGetRelid(relation), command->name);
	const FormData_pg_attribute *attribute;
	Node *expression;
	Oid type;
	int32 typmod;

	if (attnum <= 0)
		return;
	attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);
	typenameTypeIdAndMod(NULL, definition->typeName, &type, &typmod);
	(void) GetColumnDefCollation(NULL, castNode(ColumnDef, command->def), type);
	if (*retype == NULL)
	{
		*retype = palloc0(sizeof(**retype));
		(*retype)->before = CreateTupleDescCopyConstr(RelationGetDescr(relation));
		(*retype)->described = tsurugi_relation_describe(relation);
		(*retype)->expressions = palloc0(RelationGetNumberOfAttributes(relation) * sizeof(Expr *));
	}
	if (attribute->attgenerated != '\0' && definition->raw_default != NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_DEFINITION),
						errmsg("cannot specify USING when altering type of generated column"),
						errdetail("Column \"%s\" is a generated column.", command->name)));
	expression = source_expression(relation, command, attribute, text);
	expression = coerce_to_target_type(NULL, expression, exprType(expression), type, typmod, COERCION_ASSIGNMENT,
									   COERCE_IMPLICIT_CAST, -1);
	if (expression == NULL)
		refuse_cast(command->name, type, typmod, definition->raw_default != NULL);
	assign_expr_collations(NULL, expression);
	(*retype)->expressions[attnum - 1] = expression_planner((Expr *) expression);
}

/*
 * session_task.c
 *	  What the caller of a load or a batch tells its sessions, in words: lists of PostgreSQL's
 *	  nodes, as text.
 */
#include "postgres.h"

#include "src/copy/sessions.h"

#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodes.h"

/* --- the whole -------------------------------------------------------------------------------- */

char *
tsurugi_task_write(const tsurugi_load *load)
{
	Oid relation = load->statement == NULL ? RelationGetRelid(load->relation) : InvalidOid;
	char *text = pstrdup(load->statement != NULL ? load->statement->text : "");

	return nodeToString(
		list_make3(list_make3_oid(relation, load->on_conflict, load->skips), makeString(text), load->columns));
}

tsurugi_load *
tsurugi_task_read(const char *words, Oid *relation_out)
{
	List *task = stringToNode(words);
	List *numbers = linitial(task);
	char *text = strVal(lsecond(task));
	tsurugi_load *load = palloc0(sizeof(*load));

	*relation_out = linitial_oid(numbers);
	load->on_conflict = (tsurugi_load_conflict) lsecond_oid(numbers);
	load->skips = lthird_oid(numbers) != 0;
	load->columns = lthird(task);
	if (!OidIsValid(*relation_out))
		load->statement = tsurugi_batch_statement(text, NULL);
	return load;
}

/* --- files ------------------------------------------------------------------------------------ */

/*
 * Options, as lists of their names and values.  A session has no client, so the client's encoding
 * is named.
 */
static List *
write_options(const List *options)
{
	List *written = NIL;
	bool has_encoding = false;
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *option = lfirst_node(DefElem, cell);
		Node *value = IsA(option->arg, List) ? option->arg : (Node *) makeString(defGetString(option));

		has_encoding |= strcmp(option->defname, "encoding") == 0;
		written = lappend(written, list_make2(makeString(option->defname), value));
	}
	if (!has_encoding)
		written = lappend(written, list_make2(makeString(pstrdup("encoding")),
											  makeString(pstrdup(pg_encoding_to_char(pg_get_client_encoding())))));
	return written;
}

static List *
read_options(const List *written)
{
	List *options = NIL;
	ListCell *cell;

	foreach (cell, written)
	{
		List *option = lfirst(cell);

		options = lappend(options, makeDefElem(strVal(linitial(option)), lsecond(option), -1));
	}
	return options;
}

/* Names and types of a batch's columns, and which of them feeds each parameter. */
static List *
write_relation(const tsurugi_load_file *file)
{
	TupleDesc descriptor;
	List *types = NIL;

	if (file->relation == NULL)
		return NIL;
	descriptor = RelationGetDescr(file->relation);
	for (int i = 0; i < descriptor->natts; i++)
		types = lappend_oid(types, TupleDescAttr(descriptor, i)->atttypid);
	return list_make2(file->names, types);
}

static void
read_relation(tsurugi_load_file *file, const List *relation)
{
	Oid *types;
	ListCell *cell;

	if (relation == NIL)
		return;
	file->names = linitial(relation);
	types = palloc(sizeof(Oid) * Max(list_length(file->names), 1));
	foreach (cell, (const List *) lsecond(relation))
		types[foreach_current_index(cell)] = lfirst_oid(cell);
	file->relation = tsurugi_batch_relation(file->names, types);
}

char *
tsurugi_task_write_file(const tsurugi_load_file *file, const List *columns, const List *options)
{
	List *feeds = NIL;

	for (int i = 0; i < file->feed_count; i++)
		feeds = lappend_int(feeds, file->feeds[i]);
	return nodeToString(list_make5(makeString(pstrdup(file->name)), list_make1_int((int) file->format),
								   list_make2(unconstify(List *, columns), write_options(options)),
								   write_relation(file), feeds));
}

tsurugi_load_file *
tsurugi_task_read_file(const char *words, List **columns_out, List **options_out)
{
	List *task = stringToNode(words);
	tsurugi_load_file *file = palloc0(sizeof(*file));
	List *read_with = lthird(task);
	List *feeds = list_nth(task, 4);
	ListCell *cell;

	file->name = strVal(linitial(task));
	file->format = (tsurugi_format) linitial_int((const List *) lsecond(task));
	*columns_out = linitial(read_with);
	*options_out = read_options(lsecond(read_with));
	read_relation(file, lfourth(task));
	file->feed_count = list_length(feeds);
	file->feeds = palloc(sizeof(int) * Max(file->feed_count, 1));
	foreach (cell, feeds)
		file->feeds[foreach_current_index(cell)] = lfirst_int(cell);
	return file;
}

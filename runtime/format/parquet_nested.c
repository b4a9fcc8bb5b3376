/*
 * parquet_nested.c
 *	  From the levels of a nested column's leaves to its nodes.
 *
 * (Melnik et al., Dremel: Interactive Analysis of Web-Scale Datasets, VLDB 2010.)  Each entry of a
 * leaf has a definition level, how much of what leads to it is there, and a repetition level: the
 * list, counted from the outermost, of which it begins another element; 0 begins a row.  So for
 * lists of lists, where all may be NULL:
 *
 *	repetition 0, definition 0	NULL					1	an empty list
 *	0, 2	an element that is NULL						3	an element that is an empty list
 *	0, 4	[[NULL						0, 5	[[value
 *	1, ...	another element of the outer list			2, ...	another one of the inner list
 *
 * What a node has is in the entries of any leaf in it, of which the first is taken.  A node within
 * `repetition` lists begins anew at each entry whose repetition level is not above that; if its
 * definition level is at least `exists`, the node is there, and not NULL from `present` on.  A
 * list's elements are counted in the same way.
 *
 * The entries of a leaf are checked by themselves: an element may follow only one of the same list.
 * So a list that is NULL or empty has no elements.  Leaves of a damaged file may still disagree; so
 * each node must have as many values as the node around it says, and is then safe to use.
 */
#include "runtime/format/parquet_internal.h"

typedef struct levels
{
	uint8_t definition;
	uint8_t repetition;
} levels;

static tg_status
malformed(tg_parquet *file, unsigned leaf)
{
	return tg_file_fault_note(&file->fault, TG_DAMAGED, tg_readers(file)[leaf].at, "column \"%s\" has malformed levels",
							  tg_leaves(file)[leaf].value.name);
}

/* --- leaves ------------------------------------------------------------------------------ */

/* Whether an entry may follow another one in a row. */
static bool
may_follow(const tg_leaf *leaf, levels before, levels entry)
{
	uint8_t element = leaf->element_levels[entry.repetition - 1];

	return before.definition >= element && entry.definition >= element;
}

/* Notes an entry, and its value if there is a place for one. */
static tg_status
append_entry(tg_parquet *file, unsigned number, levels entry, size_t *text_bytes)
{
	tg_chunk_reader *reader = &tg_readers(file)[number];
	const tg_leaf *leaf = &tg_leaves(file)[number];
	uint8_t exists = leaf->repetition_max > 0 ? leaf->element_levels[leaf->repetition_max - 1] : 0;
	tg_status status = TG_OK;

	if (reader->out_level_count == UINT32_MAX ||
		!tg_buffer_reserve(&file->memory, &reader->out_levels, (reader->out_level_count + (size_t) 1) * sizeof(levels)))
		return tg_rows_no_memory(file, number);
	((levels *) reader->out_levels.data)[reader->out_level_count++] = entry;
	if (entry.definition < exists)
		return TG_OK;
	status = tg_rows_append(file, number, entry.definition < leaf->level_max, reader->out_count, text_bytes);
	reader->out_count++;
	return status;
}

/* The entries of one row. */
static tg_status
read_row(tg_parquet *file, unsigned number, size_t *text_bytes)
{
	tg_chunk_reader *reader = &tg_readers(file)[number];
	levels before = {0};

	for (bool first = true;; first = false)
	{
		bool more = true;
		levels entry;
		tg_status status = TG_OK;

		if (reader->level_at == reader->level_count)
			status = tg_page_next(file, number, &more);
		if (status != TG_OK)
			return status;
		if (!more)
			return first ? tg_rows_missing(file, number) : TG_OK;
		entry.repetition = ((const uint8_t *) reader->repetitions.data)[reader->level_at];
		entry.definition = ((const uint8_t *) reader->definitions.data)[reader->level_at];
		if (entry.repetition == 0 && !first)
			return TG_OK;
		if (first ? entry.repetition > 0 : !may_follow(&tg_leaves(file)[number], before, entry))
			return malformed(file, number);
		reader->level_at++;
		status = append_entry(file, number, entry, text_bytes);
		if (status != TG_OK)
			return status;
		before = entry;
	}
}

static tg_status
read_leaf(tg_parquet *file, unsigned number, unsigned count)
{
	tg_chunk_reader *reader = &tg_readers(file)[number];
	size_t text_bytes = 0;
	tg_status status = TG_OK;

	reader->out_level_count = 0;
	reader->out_count = 0;
	for (unsigned i = 0; i < count && status == TG_OK; i++)
		status = read_row(file, number, &text_bytes);
	if (status == TG_OK && tg_leaves(file)[number].value.is_bytes)
		tg_rows_place_bytes(reader, reader->out_count);
	return status;
}

/* --- nodes ------------------------------------------------------------------------------- */

/* Where a group is, and is NULL; of lists, where their elements end. */
static tg_status
build_group(tg_parquet *file, tg_parquet_node *part, bool is_list, tg_file_values *values)
{
	const tg_chunk_reader *reader = &tg_readers(file)[part->leaf];
	const levels *entries = reader->out_levels.data;
	size_t room = reader->out_level_count;
	uint32_t elements = 0;
	uint8_t *nulls;
	uint32_t *ends;

	if (!tg_buffer_reserve(&file->memory, &part->nulls, room) ||
		(is_list && !tg_buffer_reserve(&file->memory, &part->ends, room * sizeof(uint32_t))))
		return tg_rows_no_memory(file, part->leaf);
	nulls = part->nulls.data;
	ends = part->ends.data;
	part->count = 0;
	for (uint32_t i = 0; i < reader->out_level_count; i++)
	{
		if (entries[i].repetition <= part->repetition && entries[i].definition >= part->exists)
			nulls[part->count++] = entries[i].definition < part->present;
		if (!is_list || entries[i].definition < part->exists)
			continue;
		elements += entries[i].repetition <= part->repetition + 1 && entries[i].definition >= part->element;
		/* may_follow() lets no entry go on with a list before the first */
		ends[part->count - 1] = elements;
	}
	*values = (tg_file_values){.nulls = nulls, .ends = is_list ? ends : NULL};
	return TG_OK;
}

static tg_status
build_value(tg_parquet *file, tg_parquet_node *part, tg_file_values *values)
{
	const tg_chunk_reader *reader = &tg_readers(file)[part->leaf];
	bool is_bytes = tg_leaves(file)[part->leaf].value.is_bytes;

	part->count = reader->out_count;
	*values = (tg_file_values){.nulls = reader->out_element_nulls.data,
							   .words = is_bytes ? NULL : reader->out_words.data,
							   .bytes = is_bytes ? reader->out_bytes.data : NULL};
	return TG_OK;
}

tg_status
tg_rows_nested(tg_parquet *file, unsigned column, unsigned count, tg_file_values *values)
{
	const tg_file_column *of = &tg_columns(file)[column];
	const tg_column_place *place = &tg_column_places(file)[column];
	tg_parquet_node *parts = (tg_parquet_node *) file->parts.data + place->node;
	tg_file_values *built = (tg_file_values *) file->values.data + place->node;
	tg_status status = TG_OK;

	for (unsigned leaf = place->leaf; leaf < file->leaf_count && tg_leaves(file)[leaf].column == column; leaf++)
	{
		status = read_leaf(file, leaf, count);
		if (status != TG_OK)
			return status;
	}
	for (unsigned i = 0; i < of->node_count && status == TG_OK; i++)
	{
		const tg_parquet_node *parent = &parts[parts[i].parent];
		uint8_t kind = of->nodes[i].kind;
		uint32_t expected = count;

		if (kind == TG_NESTED_VALUE)
			status = build_value(file, &parts[i], &built[i]);
		else
			status = build_group(file, &parts[i], kind != TG_NESTED_STRUCT, &built[i]);
		if (i > 0)
			expected = of->nodes[parts[i].parent].kind == TG_NESTED_STRUCT ? parent->count
					   : parent->count == 0								   ? 0
											: built[parts[i].parent].ends[parent->count - 1];
		if (status == TG_OK && parts[i].count != expected)
			status = malformed(file, parts[i].leaf);
	}
	values->nodes = built;
	return status;
}

/*
 * base_damage.c
 *	  Loads of bases, journals and states whose bytes were changed, with checksums that are right.
 *
 * A changed byte is found by its checksum (base_read, load_damage); here whatever the checksums
 * cover was changed before they were made, so the readers behind them get any bytes.  An answer,
 * no crash, and nothing left behind.
 *
 *	FUZZ=n		twice so many changed files (300)
 */
#include "test/unit/load_unit.h"

#include "runtime/durable/base_internal.h"
#include "runtime/durable/crc32c.h"
#include "runtime/durable/state.h"

#define OF_A_HISTORY 20 /* changed files */

static memory_file *
any_file_of(const char *directory)
{
	unsigned first = dice(FILES_MAX);
	size_t length = strlen(directory);

	for (unsigned i = 0; i < FILES_MAX; i++)
	{
		memory_file *file = &files[(first + i) % FILES_MAX];

		if (strncmp(file->path, directory, length) == 0 && file->now.count > 0)
			return file;
	}
	unit_bail("there is no file");
}

static void
change(contents *contents)
{
	for (unsigned i = 1 + dice(3); i > 0 && contents->count > 0; i--)
	{
		unsigned char *byte = &contents->data[dice((unsigned) contents->count)];

		switch (dice(8))
		{
			case 0:
				resize(contents, dice((unsigned) contents->count + 1));
				break;
			case 1:
				resize(contents, contents->count + 1 + dice(40));
				break;
			case 2:
				*byte = (unsigned char) (dice(2) == 0 ? 0xff : 0x80);
				break;
			case 3:
				*byte = (unsigned char) (*byte + (dice(2) == 0 ? 1 : -1));
				break;
			default:
				*byte = (unsigned char) dice(256);
		}
	}
}

/* --- checksums ------------------------------------------------------------------------------ */

static void
mend_manifest(contents *contents)
{
	tg_manifest_header header;

	if (contents->count < sizeof(header))
		return;
	memcpy(&header, contents->data, sizeof(header));
	header.magic = TG_MANIFEST_MAGIC;
	header.system = SYSTEM;
	header.number = 1;
	header.bytes = contents->count - sizeof(header);
	header.crc = tg_crc32c(tg_crc32c(0, &header, offsetof(tg_manifest_header, crc)), contents->data + sizeof(header),
						   (size_t) header.bytes);
	memcpy(contents->data, &header, sizeof(header));
}

/* The last block gets what is left.  Returns the file's check. */
static uint32_t
mend_part(contents *contents, const tg_base_file *about)
{
	tg_part_header header = {.magic = TG_PART_MAGIC,
							 .system = SYSTEM,
							 .storage = about->storage,
							 .number = about->number,
							 .part = about->part,
							 .kind = about->kind};
	uint32_t check;

	if (contents->count < sizeof(header))
		resize(contents, sizeof(header));
	header.crc = tg_crc32c(0, &header, offsetof(tg_part_header, crc));
	memcpy(contents->data, &header, sizeof(header));
	check = tg_crc32c(0, &header.crc, sizeof(header.crc));
	for (size_t at = sizeof(header); at < contents->count;)
	{
		tg_block_header block;

		if (contents->count - at < sizeof(block))
			resize(contents, at + sizeof(block));
		memcpy(&block, contents->data + at, sizeof(block));
		if (block.bytes > contents->count - at - sizeof(block))
			block.bytes = contents->count - at - sizeof(block);
		block.crc = tg_crc32c(tg_crc32c(0, &block, offsetof(tg_block_header, crc)), contents->data + at + sizeof(block),
							  (size_t) block.bytes);
		memcpy(contents->data + at, &block, sizeof(block));
		check = tg_crc32c(check, &block.crc, sizeof(block.crc));
		at += sizeof(block) + (size_t) block.bytes;
	}
	return check;
}

static memory_file *
file_of(const tg_base_file *about)
{
	char path[TG_PATH_MAX];

	tg_base_file_path("bases", about, path);
	return find_file(path);
}

/* A manifest of the same base, for the files as they are. */
static void
write_manifest(const tg_manifest *from)
{
	char path[TG_PATH_MAX];
	tg_bytes bytes = {0};
	memory_file *file;

	if (tg_bytes_reserve(&bytes, 200 + from->roster.count + from->facts.file_count * 6 * TG_NUMBER_BYTES_MAX) != TG_OK)
		unit_bail("no memory");
	tg_bytes_put_number(&bytes, from->facts.begin);
	tg_bytes_put_number(&bytes, from->facts.end);
	tg_bytes_put_number(&bytes, from->facts.least);
	tg_bytes_put_number(&bytes, from->facts.memory);
	tg_bytes_put_number(&bytes, from->roster.count);
	tg_bytes_put(&bytes, from->roster.data, from->roster.count);
	tg_bytes_put_number(&bytes, from->facts.file_count);
	for (size_t i = 0; i < from->facts.file_count; i++)
	{
		const tg_base_file *about = &from->files[i];

		tg_bytes_put_number(&bytes, about->kind);
		tg_bytes_put_number(&bytes, about->storage);
		tg_bytes_put_number(&bytes, about->part);
		tg_bytes_put_number(&bytes, about->number);
		tg_bytes_put_number(&bytes, about->bytes);
		tg_bytes_put_number(&bytes, about->check);
	}
	tg_manifest_path("bases", 1, path);
	file = find_file(path);
	resize(&file->now, sizeof(tg_manifest_header) + bytes.count);
	memcpy(file->now.data + sizeof(tg_manifest_header), bytes.data, bytes.count);
	tg_bytes_free(&bytes);
	mend_manifest(&file->now);
}

static void
read_manifest(tg_manifest *manifest)
{
	tg_file_error error;

	*manifest = (tg_manifest){0};
	if (tg_manifest_read("bases", SYSTEM, 1, manifest, &error) != TG_OK)
		unit_bail("no manifest");
}

/* --- tests ---------------------------------------------------------------------------------- */

static unsigned answers[3];

static void
load_once(void)
{
	tg_load_report report;
	tg_status status = load_from("whole", 1, below(3) != 0, &report);

	answers[status == TG_OK ? 0 : status == TG_DAMAGED ? 1 : 2]++;
	tg_load_report_free(&report);
	(void) drop_tables();
}

/* Changes a file, has it loaded, and puts back what was there. */
static void
load_changed_part(tg_manifest *manifest)
{
	tg_base_file *about = &manifest->files[dice((unsigned) manifest->facts.file_count)];
	const tg_base_file before = *about;
	memory_file *file = file_of(about);
	contents kept = {0};

	copy_contents(&kept, &file->now);
	change(&file->now);
	about->check = mend_part(&file->now, about);
	about->bytes = file->now.count;
	write_manifest(manifest);
	load_once();
	copy_contents(&file->now, &kept);
	*about = before;
	write_manifest(manifest);
	free(kept.data);
}

static void
load_changed_manifest(void)
{
	memory_file *file = any_file_of("bases/manifest");
	contents kept = {0};

	copy_contents(&kept, &file->now);
	change(&file->now);
	mend_manifest(&file->now);
	load_once();
	copy_contents(&file->now, &kept);
	free(kept.data);
}

/* The reader of frames trusts nothing before its checksum: this changes what precedes it. */
static void
load_changed_journal(void)
{
	memory_file *file = any_file_of("whole/");
	contents kept = {0};

	copy_contents(&kept, &file->now);
	change(&file->now);
	load_once();
	copy_contents(&file->now, &kept);
	free(kept.data);
}

static void
test_loads(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
	{
		tg_manifest manifest;
		unsigned end;

		make_history(100 + below(400));
		end = below(frame_count + 1);
		forget_all();
		write_base(below(end + 1), end);
		write_frames("whole", frame_count);
		read_manifest(&manifest);
		for (unsigned j = 0; j < OF_A_HISTORY; j++, i++)
		{
			if (dice(4) == 0)
				load_changed_journal();
			else if (manifest.facts.file_count == 0 || dice(3) == 0)
				load_changed_manifest();
			else
				load_changed_part(&manifest);
		}
		tg_manifest_free(&manifest);
	}
	unit_ok(answers[0] > 0 && answers[1] > 0,
			"of changed files %u were loaded, %u were damage, for %u there was no memory", answers[0], answers[1],
			answers[2]);
}

static bool
states_are_equal(const tg_state *a, const tg_state *b)
{
	return a->base == b->base && a->durable == b->durable && a->place.file == b->place.file &&
		   a->place.offset == b->place.offset && a->clean == b->clean;
}

/* Any bytes of a state: they are read as one, or refused. */
static void
test_states(unsigned times)
{
	const tg_state whole = {.base = 3, .durable = 12345, .place = {.file = 100, .offset = 200}, .clean = true};
	unsigned refused = 0;
	unsigned wrong = 0;

	for (unsigned i = 0; i < times; i++)
	{
		tg_state state;
		tg_file_error error;
		tg_status status;

		forget_all();
		if (tg_state_write("state", SYSTEM, &whole, &error) != TG_OK)
			unit_bail("no state");
		change(&find_file("state/state")->now);
		status = tg_state_read("state", SYSTEM, &state, &error);
		refused += status == TG_DAMAGED;
		wrong += status != TG_DAMAGED && (status != TG_OK || !states_are_equal(&state, &whole));
	}
	unit_ok(wrong == 0 && refused > 0, "a state that was changed is refused: %u of %u", refused, times);
}

int
main(void)
{
	const char *text = getenv("FUZZ");
	unsigned times = text != NULL ? (unsigned) strtoul(text, NULL, 10) : 300;
	size_t used;

	start_load_unit();
	test_loads(times);
	used = used_bytes(); /* what grows once, as the catalog does, has grown */
	test_loads(times);
	test_states(times);
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	return unit_done();
}

/*
 * format.c
 *	  Names of the formats that files have.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "mb/pg_wchar.h"
#include "src/copy/packed_file.h"

static const struct
{
	const char *shown;
	const char *word;
	const char *extensions[4];
} formats[TSURUGI_FORMAT_COUNT] = {
	[TSURUGI_FORMAT_CSV] = {"CSV", "csv", {"csv"}},
	[TSURUGI_FORMAT_PARQUET] = {"Parquet", "parquet", {"parquet"}},
	[TSURUGI_FORMAT_NDJSON] = {"NDJSON", "ndjson", {"ndjson", "jsonl"}},
	[TSURUGI_FORMAT_ARROW] = {"Arrow", "arrow", {"arrow", "arrows", "feather", "ipc"}},
};

const char *
tsurugi_format_name(tsurugi_format format)
{
	return formats[format].shown;
}

const char *
tsurugi_format_word(tsurugi_format format)
{
	return formats[format].word;
}

tsurugi_format
tsurugi_format_named(const char *word)
{
	int format = 0;

	while (format < TSURUGI_FORMAT_COUNT && strcmp(formats[format].word, word) != 0)
		format++;
	return (tsurugi_format) format;
}

tsurugi_format
tsurugi_format_of_file(const char *file_name)
{
	const char *dot = strrchr(file_name, '.');

	/* lines may be compressed as a whole */
	if (tsurugi_file_is_packed(file_name))
	{
		char *name = pnstrdup(file_name, dot - file_name);
		tsurugi_format format = tsurugi_file_is_packed(name) ? TSURUGI_FORMAT_COUNT : tsurugi_format_of_file(name);

		return format == TSURUGI_FORMAT_CSV || format == TSURUGI_FORMAT_NDJSON ? format : TSURUGI_FORMAT_COUNT;
	}
	for (int format = 0; dot != NULL && format < TSURUGI_FORMAT_COUNT; format++)
		for (int i = 0; i < lengthof(formats[format].extensions) && formats[format].extensions[i] != NULL; i++)
			if (pg_strcasecmp(dot + 1, formats[format].extensions[i]) == 0)
				return (tsurugi_format) format;
	return TSURUGI_FORMAT_COUNT;
}

int
tsurugi_copy_encoding(const CopyFormatOptions *options)
{
	return options->file_encoding >= 0 ? options->file_encoding : pg_get_client_encoding();
}

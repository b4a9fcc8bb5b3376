/*
 * shown_text.c
 *	  Text as it is shown to users.
 */
#include "postgres.h"

#include "src/base/shown_text.h"

#include "mb/pg_wchar.h"

#include "runtime/order/key_spec.h"

char *
tsurugi_shown_text(const char *text)
{
	char *shown = pstrdup(text);
	char *end = shown + strlen(shown);

	for (char *at = shown; at < end;)
	{
		int length = pg_encoding_verifymbchar(GetDatabaseEncoding(), at, (int) (end - at));

		if (length > 0)
			at += length;
		else
			*at++ = '?';
	}
	return shown;
}

char *
tsurugi_shown_key(char *key)
{
	size_t bytes = strlen(key);

	if (bytes <= TG_KEY_BYTES_MAX)
		return key;
	return psprintf("%.*s...)", pg_mbcliplen(key, (int) bytes, TG_KEY_BYTES_MAX), key);
}

void
tsurugi_copy_clipped(char *to, const char *text, size_t bytes)
{
	int length = pg_mbcliplen(text, (int) strlen(text), (int) bytes - 1);

	memcpy(to, text, length);
	to[length] = '\0';
}

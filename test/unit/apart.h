/*
 * apart.h
 *	  Rows that a client's task inserts for a transaction, one by one or many at once.
 */
#ifndef TG_APART_H
#define TG_APART_H

#include "test/unit/writers.h"

#include "runtime/txn/insert_batch.h"
#include "runtime/txn/piece.h"

static inline tg_status
insert_apart(const tg_writer *writer, client *client, uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_value values[COLUMNS] = {{.word = key}};
	bool nulls[COLUMNS] = {false, false, dice(client, 5) == 0};
	text texts[2];
	tg_status status;
	tg_wait wait;

	text_make(client, key, &values[1], &texts[0]);
	text_make(client, key, &values[2], &texts[1]);
	tg_epoch_enter(writer->session);
	do
		status = tg_txn_insert_apart(writer, table, bytes, key_bytes, values, nulls, &wait);
	while (status == TG_AGAIN);
	tg_epoch_leave(writer->session);
	return status;
}

/* Rows of these keys, in any order, by one call; bits of those that are left. */
static inline tg_status
insert_batch(const tg_writer *writer, client *client, const unsigned *numbers, unsigned count, uint64_t *left_out)
{
	static __thread text texts[2 * TG_INSERT_BATCH];
	unsigned char bytes[TG_INSERT_BATCH * 16 + TG_KEY_BYTES_MAX];
	tg_value values[COLUMNS * TG_INSERT_BATCH];
	bool nulls[COLUMNS * TG_INSERT_BATCH] = {false};
	tg_insert_key keys[TG_INSERT_BATCH];
	tg_insert_result result;
	tg_status status;
	tg_insert_batch batch = {
		.values = {.values = values, .nulls = nulls, .pitch = TG_INSERT_BATCH}, .keys = keys, .count = count};

	for (unsigned i = 0; i < count; i++)
	{
		keys[i] = (tg_insert_key){.bytes = bytes + (size_t) 16 * i};
		keys[i].count = (uint32_t) key_of(numbers[i], bytes + (size_t) 16 * i);
		values[i] = (tg_value){.word = numbers[i]};
		text_make(client, numbers[i], &values[TG_INSERT_BATCH + i], &texts[2 * i]);
		text_make(client, numbers[i], &values[2 * TG_INSERT_BATCH + i], &texts[2 * i + 1]);
		nulls[2 * TG_INSERT_BATCH + i] = dice(client, 5) == 0;
	}
	status = tg_txn_insert_batch(writer, table, &batch, &result);
	*left_out = result.left;
	return status;
}

#endif /* TG_APART_H */

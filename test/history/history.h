/*
 * history.h
 *	  The operations and observations of clients, which clients.c runs, and endings.c and cycles.c
 *	  judge.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#define OPERATIONS_MAX 6
#define ITEMS_MAX 4096 /* of a list */
#define ABSENT (-1)	   /* length of a list that is not there */

typedef enum kind
{
	READ,
	HOLD,	/* a reading whose row no other client changes or deletes until the end */
	GUARD,	/* no other client deletes */
	APPEND, /* item; the list it was appended to has been read */
	DELETE	/* the list has been read */
} kind;

/* One observation or operation of a transaction, one entry per key. */
typedef struct operation
{
	kind kind;
	int key;
	int item;	/* APPEND: transaction's number * OPERATIONS_MAX + operation's number */
	int length; /* of the list seen, before an append; ABSENT */
	int *items; /* the list seen */
} operation;

/* How a transaction ended for its client. */
typedef enum ending
{
	ANSWERED,
	LOST,	   /* with its connection, before its COMMIT */
	UNANSWERED /* with its connection, after it */
} ending;

typedef struct transaction
{
	int number;
	bool committed;
	ending ending;
	int count;
	int capacity;
	operation *operations;
} transaction;

typedef enum level
{
	READ_COMMITTED,
	REPEATABLE_READ,
	SERIALIZABLE,
	KINDS /* SERIALIZABLE, of all kinds of transactions */
} level;

#define LEVELS 4

/* Of its transactions, in BEGIN. */
extern const char *const level_names[LEVELS];

/* The properties of the table. */
typedef enum setting
{
	PLAIN_TABLE,
	MIXED, /* and an ordinary one, shadow, in which every change is made as well */
	MOVES  /* partitioned: an append moves the row.  Its keys are the even ones */
} setting;

typedef struct plan
{
	level level;
	setting setting;
	bool in_turns; /* one statement at a time, as long as it does not wait for another client */
	bool crashes;  /* the server may go; clients connect again, and go on with the next transaction */
	int client_count;
	int transaction_count; /* of each client */
	int key_count;
	unsigned seed;
	transaction *transactions; /* by number, from 1 on */
	transaction last;		   /* crashes: reads all keys at the end */
	int wrong_rows;			   /* seen twice, or not asked for; MIXED: differ between the tables */
} plan;

/* Ends the program: it could not be run. */
extern void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

extern void *get_memory(size_t bytes);

/* How many keys its clients use. */
extern int clients_key_count(const plan *plan);

/* Empties the table, runs the transactions; returns how many were not committed. */
extern int clients_run(plan *plan, const char *conninfo);

/*
 * Finds out which transactions that were not answered have committed; returns how many were lost,
 * or not answered.
 */
extern int endings_settle(plan *plan);

/* Whether something that is committed is not there at the end; says what. */
extern bool endings_judge(const plan *plan);

/* Whether something was seen that the level forbids; says what. */
extern bool cycles_find(const plan *plan, level expected);

#endif /* HISTORY_H */

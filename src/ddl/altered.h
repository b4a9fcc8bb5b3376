/*
 * altered.h
 *	  Changes of tables while a DDL statement runs.
 */
#ifndef TSURUGI_ALTERED_H
#define TSURUGI_ALTERED_H

#include "postgres.h"

#include "src/ddl/retype.h"

typedef struct tsurugi_altered tsurugi_altered;

/* A DDL statement that is running; nested ones have their own.  It lies on the caller's stack. */
typedef struct tsurugi_ddl_statement
{
	struct tsurugi_ddl_statement *outer;
	Node *tree;
	MemoryContext context; /* of the lists; made on demand */
	tsurugi_altered *altered;
	List *shrunk;	 /* relations that have lost columns */
	List *compared;	 /* types that have got or lost a default operator class */
	Node *announced; /* the statement that event triggers are told of; or NULL */
	bool retypes;	 /* columns get other types */
	bool regroups;	 /* operator families get or lose operators */
} tsurugi_ddl_statement;

/* Called around each DDL statement; the second also after an error. */
extern void tsurugi_altered_begin(tsurugi_ddl_statement *statement, Node *tree);
extern void tsurugi_altered_end(tsurugi_ddl_statement *statement);

/* The table's storage has to be compared with the catalogs. */
extern void tsurugi_altered_note(Oid relation);

/* It need not be, because the caller has done so. */
extern void tsurugi_altered_forget(Oid relation);

/* The table must be stored anew, whatever the catalogs say. */
extern void tsurugi_altered_store_anew(Oid relation);

/* The running statement gives columns other types: each column that it alters is examined. */
extern void tsurugi_altered_retypes(void);

/*
 * The running statement gives operator families other operators: their users are examined at its
 * end.
 */
extern void tsurugi_altered_regroups(void);

/*
 * The place where the statement keeps how the table's columns are converted; its memory context
 * becomes the current one.
 */
extern tsurugi_retype **tsurugi_altered_retype(Oid relation, MemoryContext *caller_out);

/* Lets the storages of all tables noted so far follow. */
extern void tsurugi_altered_follow(void);

/*
 * Event triggers will be told of tables that the running statement rewrites, as caused by this
 * tree.
 */
extern void tsurugi_altered_announce(Node *tree);

/* Sets the object access hook; called once, when the library is loaded. */
extern void tsurugi_altered_init(void);

#endif /* TSURUGI_ALTERED_H */

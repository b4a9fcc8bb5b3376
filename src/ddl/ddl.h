/*
 * ddl.h
 *	  CREATE, ALTER and DROP, as far as PostgreSQL does not support them for foreign tables.
 */
#ifndef TSURUGI_DDL_H
#define TSURUGI_DDL_H

/* Sets the hooks; called once, when the library is loaded. */
extern void tsurugi_ddl_init(void);

#endif /* TSURUGI_DDL_H */

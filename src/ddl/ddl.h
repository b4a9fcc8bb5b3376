/*
 * ddl.h
 *	  CREATE, ALTER and DROP, as far as PostgreSQL leaves them to us.
 */
#ifndef TSURUGI_DDL_H
#define TSURUGI_DDL_H

/* Sets the hooks.  Once, where the library is loaded. */
extern void tsurugi_ddl_init(void);

#endif /* TSURUGI_DDL_H */

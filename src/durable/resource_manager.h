/*
 * resource_manager.h
 *	  What PostgreSQL asks about the records of this extension in its log.
 */
#ifndef TSURUGI_RESOURCE_MANAGER_H
#define TSURUGI_RESOURCE_MANAGER_H

/* When the library is loaded. */
extern void tsurugi_resource_manager_init(void);

#endif /* TSURUGI_RESOURCE_MANAGER_H */

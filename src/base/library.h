/*
 * library.h
 *	  Whose functions are whose.
 */
#ifndef TSURUGI_LIBRARY_H
#define TSURUGI_LIBRARY_H

/* Whether a function is this one of an extension's library, which is what an extension is known by; NULL: any of it. */
extern bool tsurugi_is_of_library(Oid function, const char *library, const char *name);

#endif /* TSURUGI_LIBRARY_H */

/*
 * library.h
 *	  Functions of extensions' libraries.
 */
#ifndef TSURUGI_LIBRARY_H
#define TSURUGI_LIBRARY_H

/*
 * Whether a function is this one of an extension's library, by which the extension is recognized;
 * name NULL: any function of it.
 */
extern bool tsurugi_is_of_library(Oid function, const char *library, const char *name);

#endif /* TSURUGI_LIBRARY_H */

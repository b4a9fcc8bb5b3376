/*
 * prepared.h
 *	  Look-ups and modifications by key that are executed again and again keep their executor state.
 */
#ifndef TSURUGI_PREPARED_H
#define TSURUGI_PREPARED_H

/*
 * Registers the executor's hooks, unless another library has registered its
 * own before, whose calls would be lost.  Once, where the library is loaded.
 */
extern void tsurugi_prepared_init(void);

#endif /* TSURUGI_PREPARED_H */

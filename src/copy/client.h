/*
 * client.h
 *	  PostgreSQL's functions for messages of the protocol.
 *
 * Their header wants the headers of a GSSAPI library, which need not be installed.  It says itself
 * that structures are the same without them.
 */
#ifndef TSURUGI_CLIENT_H
#define TSURUGI_CLIENT_H

#include "postgres.h"

#undef ENABLE_GSS
#include "libpq/libpq.h"
#include "libpq/pqformat.h"

#endif /* TSURUGI_CLIENT_H */

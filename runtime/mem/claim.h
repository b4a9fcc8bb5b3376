/*
 * claim.h
 *	  The part of the memory limit, and of the reserve above it, that an allocation may use.
 */
#ifndef TG_CLAIM_H
#define TG_CLAIM_H

typedef enum tg_claim
{
	TG_DATA,		/* refused from the beginning of the reserved part on */
	TG_BULK,		/* refused somewhat earlier: made from TG_DATA, see tg_claims_begin */
	TG_MAINTENANCE, /* refused at the limit: collection, and TG_DATA of privileged sessions */
	TG_ESSENTIAL	/* may use the reserve */
} tg_claim;

#endif /* TG_CLAIM_H */

/*
 * machine.h
 *	  The simulated memory: what an access may see, and what it does.
 *
 * One machine at a time.  Locations are the declared atomic fields; each thread
 * also has a clock that counts its plain accesses (happens-before in EXPLORE_C11
 * only; the other two memories keep a thread's stores in order).
 */
#ifndef TG_EXPLORE_MACHINE_H
#define TG_EXPLORE_MACHINE_H

#include "test/explore/atomics.h"
#include "test/explore/explore.h"

typedef struct machine_access
{
	explore_site *site;
	explore_kind kind;
	explore_order order;
	explore_order failure; /* of a compare-and-swap */
	unsigned location;
	void *address; /* that the threads' plain reads use */
	unsigned bytes;
	uint64_t mask; /* of the field's size */
	uint64_t value;
	uint64_t expected;
} machine_access;

/* has_everywhere: there may be fences of all threads, which nothing can pass by. */
extern void machine_reset(explore_memory memory, unsigned thread_count, bool has_everywhere);

/* Declares a location, holding initial, at the next number. owner: see EXPLORE_FIELD. */
extern unsigned machine_location_add(uint64_t initial, int owner);

/* From now on the views of this thread, which has ended, count no more. */
extern void machine_thread_ended(unsigned thread);

/*
 * The access touches nothing that other threads do, or can see: it may be done at once, without
 * exploring other orders.
 */
extern bool machine_is_local(unsigned thread, const machine_access *access);

/*
 * Others' accesses do not care whether it comes before or after them, and it can
 * do after them all that it can do before.
 */
extern bool machine_can_be_late(const machine_access *access);

/* Others can do after it all that they can do before, and so can it. */
extern bool machine_can_be_early(const machine_access *access);

/* How many things the access may do now; 0: it has to wait. */
extern unsigned machine_alternatives(unsigned thread, const machine_access *access);

/*
 * Does one of them.  Returns the value that was read; *swapped_out: whether a value was written, if
 * this can fail.
 */
extern uint64_t machine_perform(unsigned thread, const machine_access *access, unsigned alternative, bool *swapped_out);

/* The value that a writing access leaves, given what it read. */
extern uint64_t machine_updated(const machine_access *access, uint64_t old);

/* As machine_perform where no other thread runs: on the newest values, seen by all. */
extern uint64_t machine_perform_alone(const machine_access *access, bool *swapped_out);

/* EXPLORE_TSO: the oldest waiting store of a thread takes effect. */
extern bool machine_can_flush(unsigned thread);
extern void machine_flush(unsigned thread);

/* The thread's clock, one tick on. */
extern unsigned machine_tick(unsigned thread);

/*
 * Whether the actions of thread other before this tick of its clock happened before the next action
 * of thread.
 */
extern bool machine_happened_before(unsigned thread, unsigned other, unsigned tick);

/*
 * The state as bytes, the same for the same state.  First what belongs to the
 * threads: part_ends[i] is where thread i's part ends.
 */
#define MACHINE_BYTES_MAX (1 << 18)
extern size_t machine_save(unsigned char *bytes_out, size_t *part_ends_out);
extern void machine_restore(const unsigned char *bytes, unsigned old_location_count);

/* The machine does not cover an access of the program: prints why and ends. */
extern void machine_unsupported(const char *why) __attribute__((noreturn));

#endif /* TG_EXPLORE_MACHINE_H */

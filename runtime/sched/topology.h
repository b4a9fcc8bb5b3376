/*
 * topology.h
 *	  The socket of each CPU, and pinning threads; for the files of this room.
 */
#ifndef TG_TOPOLOGY_H
#define TG_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the kernel's description below this folder, /sys/devices/system/cpu.  Returns the number of
 * sockets, 1 if it cannot be read.  Main thread, before the others start.
 */
extern unsigned tg_topology_read(const char *folder);

/* The socket of a CPU, counted from 0.  Any thread. */
extern uint32_t tg_topology_socket(int cpu);

/* Pins the calling thread to this CPU.  False: the CPU does not exist, or is not allowed. */
extern bool tg_topology_pin(unsigned cpu);

#endif /* TG_TOPOLOGY_H */

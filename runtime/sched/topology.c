/*
 * topology.c
 *	  The socket of each CPU, from Linux's sysfs.
 *
 * A socket is a "physical package"; its numbers may have gaps, so they are counted anew in the
 * order of their first CPU.  Only the neighbourhood of workers depends on this: CPUs that cannot be
 * read count as one socket.
 *
 * Left out: NUMA nodes within a socket, hyper-threads, CPUs that come and go
 * while the pool runs.
 */
#include "runtime/sched/topology.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define CPU_MAX 4096
#define SOCKET_MAX 256
#define PATH_BYTES 512

static uint8_t socket_of[CPU_MAX]; /* main thread writes, before the workers start */

/* The last number in this file; -1 if there is none. */
static int
read_last_number(const char *path)
{
	FILE *file = fopen(path, "r");
	int last = -1;
	int number;

	if (!file)
		return -1;
	while (fscanf(file, "%d", &number) == 1)
	{
		last = number;
		(void) fgetc(file); /* "0-3,8" */
	}
	fclose(file);
	return last;
}

static int
read_package(const char *folder, int cpu)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/cpu%d/topology/physical_package_id", folder, cpu);
	return read_last_number(path);
}

static int
read_cpu_last(const char *folder)
{
	char path[PATH_BYTES];
	int last;

	snprintf(path, sizeof(path), "%s/possible", folder);
	last = read_last_number(path);
	return last < CPU_MAX ? last : CPU_MAX - 1;
}

unsigned
tg_topology_read(const char *folder)
{
	int packages[SOCKET_MAX];
	unsigned count = 0;

	int cpu_last = read_cpu_last(folder);

	memset(socket_of, 0, sizeof(socket_of));
	for (int cpu = 0; cpu <= cpu_last; cpu++)
	{
		int package = read_package(folder, cpu);
		unsigned socket = 0;

		if (package < 0)
			continue; /* offline */
		while (socket < count && packages[socket] != package)
			socket++;
		if (socket == SOCKET_MAX)
			continue;
		if (socket == count)
			packages[count++] = package;
		socket_of[cpu] = (uint8_t) socket;
	}
	return count > 0 ? count : 1;
}

uint32_t
tg_topology_socket(int cpu)
{
	return cpu >= 0 && cpu < CPU_MAX ? socket_of[cpu] : 0;
}

bool
tg_topology_pin(unsigned cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

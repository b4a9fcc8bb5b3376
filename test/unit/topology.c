/*
 * topology.c
 *	  Sockets, as the kernel tells of them, and pinning.
 *
 * The kernel's files are made up in a folder of the test: two sockets with a gap
 * in their numbers, an offline CPU, one without a folder, and nothing at all.
 */
#include "runtime/sched/topology.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/unit.h"

static char folder[] = "/tmp/tg-topology-XXXXXX";

static void
file_write(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		unit_bail("cannot write a file of the test");
}

static void
cpu_make(unsigned cpu, const char *package)
{
	char name[128];
	char path[256];

	snprintf(path, sizeof(path), "%s/cpu%u", folder, cpu);
	(void) mkdir(path, 0700);
	if (!package)
		return;
	snprintf(path, sizeof(path), "%s/cpu%u/topology", folder, cpu);
	(void) mkdir(path, 0700);
	snprintf(name, sizeof(name), "cpu%u/topology/physical_package_id", cpu);
	file_write(name, package);
}

static void
test_sockets(void)
{
	char command[128];

	if (!mkdtemp(folder))
		unit_bail("cannot make a folder");
	unit_equal(tg_topology_read(folder), 1, "nothing to read is one socket");
	cpu_make(0, "4\n");
	cpu_make(1, "1\n");
	cpu_make(2, NULL); /* offline */
	cpu_make(4, "1\n");
	cpu_make(5, "4\n");
	cpu_make(6, "9\n"); /* beyond what is possible */
	file_write("possible", "0-3,5\n");
	unit_equal(tg_topology_read(folder), 2, "two sockets");
	unit_ok(tg_topology_socket(0) == 0 && tg_topology_socket(5) == 0, "the first CPU's is socket 0");
	unit_ok(tg_topology_socket(1) == 1 && tg_topology_socket(4) == 1, "the next one is socket 1");
	unit_ok(tg_topology_socket(2) == 0 && tg_topology_socket(3) == 0, "a CPU that is not there belongs to the first");
	unit_ok(tg_topology_socket(6) == 0 && tg_topology_socket(-1) == 0 && tg_topology_socket(100000) == 0,
			"so does a number that is none");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	unit_ok(system(command) == 0, "the folder goes");
	unit_ok(tg_topology_read("/sys/devices/system/cpu") >= 1, "this machine has a socket");
}

static void
pin(unsigned number, void *argument)
{
	unsigned cpu = (unsigned) sched_getcpu();

	unit_ok(tg_topology_pin(cpu) && (unsigned) sched_getcpu() == cpu, "a thread pins itself");
	unit_ok(!tg_topology_pin(CPU_SETSIZE), "but not to what is not there");
}

int
main(void)
{
	test_sockets();
	unit_threads(1, pin, NULL);
	return unit_done();
}

/*
 * example.c
 *	  The program that runtime/README.md shows: it prints what the README says, and equals the
 *	  program in the tree.
 *
 * It is compiled into this test and run with its output in a file; both the output and its text are
 * looked for in the README.  To be run from the top of the tree.
 */
extern int example_main(void);

#define main example_main
#include "runtime/example/first.c"
#undef main

#include <string.h>
#include <unistd.h>

#include "test/unit/unit.h"

/* All of a file, as a string. */
static char *
text_of(FILE *file)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	int c;

	if (!file || !memory)
		unit_bail("no file");
	while ((c = getc(file)) != EOF)
		putc(c, memory);
	fclose(memory);
	fclose(file);
	return text;
}

/* Runs the program; what it printed. */
static char *
run_example(int *result_out)
{
	FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO);

	if (!file || before < 0)
		unit_bail("no file");
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	*result_out = example_main();
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	return text_of(file);
}

int
main(void)
{
	const char *expected = "a lane\nkeeps\nits order\nthe sum is 500000500000\n";
	char *readme = text_of(fopen("runtime/README.md", "r"));
	char *program = text_of(fopen("runtime/example/first.c", "r"));
	int result;
	char *output = run_example(&result);

	unit_equal((uint64_t) result, 0, "the example ends well");
	unit_ok(strcmp(output, expected) == 0, "it prints what it should");
	unit_ok(strstr(readme, program) != NULL, "the README shows this program");
	unit_ok(strstr(readme, expected) != NULL, "and its output");
	free(readme);
	free(program);
	free(output);
	return unit_done();
}

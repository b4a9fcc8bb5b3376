/*
 * rows.c
 *	  The rows of a TPC-H database, written from the specification (TPC-H 3.0.1, 4.2).
 *
 *	  rows SCALE TABLE		writes a table's rows to standard output, as lines for COPY
 *							with '|' between the columns
 *
 * Every table has a generator of random numbers of its own, so that its rows do not depend on which
 * tables were written before; lines of orders and lineitem are made together, from the same numbers.
 * The numbers are not those of the specification's own program, so answers cannot be compared with
 * published ones.  Distributions, ranges and dependencies of columns are the specification's, but for
 * the comments: their sentences follow a shorter grammar with a part of its words.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* --- random numbers ------------------------------------------------------------------------- */

static uint64_t state;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t
next_number(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform from low to high, both included. */
static long
between(long low, long high)
{
	return low + (long) (next_number() % (uint64_t) (high - low + 1));
}

static const char *
choose(const char *const *words, int count)
{
	return words[between(0, count - 1)];
}

#define CHOOSE(words) choose(words, COUNT(words))

/* --- words (4.2.2.13, 4.2.2.14) --------------------------------------------------------------- */

static const char *const colors[] = {
	"almond",	"antique", "aquamarine", "azure",	  "beige",		"bisque",	 "black",	  "blanched", "blue",
	"blush",	"brown",   "burlywood",	 "burnished", "chartreuse", "chiffon",	 "chocolate", "coral",	  "cornflower",
	"cornsilk", "cream",   "cyan",		 "dark",	  "deep",		"dim",		 "dodger",	  "drab",	  "firebrick",
	"floral",	"forest",  "frosted",	 "gainsboro", "ghost",		"goldenrod", "green",	  "grey",	  "honeydew",
	"hot",		"indian",  "ivory",		 "khaki",	  "lace",		"lavender",	 "lawn",	  "lemon",	  "light",
	"lime",		"linen",   "magenta",	 "maroon",	  "medium",		"metallic",	 "midnight",  "mint",	  "misty",
	"moccasin", "navajo",  "navy",		 "olive",	  "orange",		"orchid",	 "pale",	  "papaya",	  "peach",
	"peru",		"pink",	   "plum",		 "powder",	  "puff",		"purple",	 "red",		  "rose",	  "rosy",
	"royal",	"saddle",  "salmon",	 "sandy",	  "seashell",	"sienna",	 "sky",		  "slate",	  "smoke",
	"snow",		"spring",  "steel",		 "tan",		  "thistle",	"tomato",	 "turquoise", "violet",	  "wheat",
	"white",	"yellow"};
static const char *const sizes[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
static const char *const finishes[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
static const char *const metals[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
static const char *const container_sizes[] = {"SM", "LG", "MED", "JUMBO", "WRAP"};
static const char *const containers[] = {"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};
static const char *const segments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"};
static const char *const priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
static const char *const instructions[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"};
static const char *const modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
static const char *const regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};

static const struct
{
	const char *name;
	int region;
} nations[] = {{"ALGERIA", 0},		{"ARGENTINA", 1},  {"BRAZIL", 1},  {"CANADA", 1},		  {"EGYPT", 4},
			   {"ETHIOPIA", 0},		{"FRANCE", 3},	   {"GERMANY", 3}, {"INDIA", 2},		  {"INDONESIA", 2},
			   {"IRAN", 4},			{"IRAQ", 4},	   {"JAPAN", 2},   {"JORDAN", 4},		  {"KENYA", 0},
			   {"MOROCCO", 0},		{"MOZAMBIQUE", 0}, {"PERU", 1},	   {"CHINA", 2},		  {"ROMANIA", 3},
			   {"SAUDI ARABIA", 4}, {"VIETNAM", 2},	   {"RUSSIA", 3},  {"UNITED KINGDOM", 3}, {"UNITED STATES", 1}};

static const char *const nouns[] = {
	"foxes",	   "ideas",	 "theodolites", "pinto beans", "instructions", "dependencies", "excuses",  "platelets",
	"asymptotes",  "courts", "dolphins",	"multipliers", "sauternes",	   "warthogs",	   "frets",	   "dinos",
	"attainments", "somas",	 "packages",	"accounts",	   "requests",	   "deposits",	   "patterns", "waters"};
static const char *const adjectives[] = {
	"furious", "sly",	 "careful", "blithe", "quick",	  "fluffy",	   "slow",	   "quiet",	  "ruthless", "thin",
	"close",   "dogged", "daring",	"brave",  "stealthy", "permanent", "enticing", "idle",	  "busy",	  "regular",
	"final",   "ironic", "even",	"bold",	  "silent",	  "special",   "pending",  "express", "unusual"};
static const char *const verbs[] = {"sleep", "wake",   "are",		"cajole",	"haggle", "nag",   "use",	"boost",
									"affix", "detect", "integrate", "maintain", "nod",	  "was",   "lose",	"sublate",
									"solve", "thrash", "promise",	"engage",	"hinder", "print", "x-ray", "breach"};
static const char *const adverbs[] = {"sometimes", "always",	 "never",	   "furiously",	  "slyly",
									  "carefully", "blithely",	 "quickly",	   "fluffily",	  "slowly",
									  "quietly",   "ruthlessly", "thinly",	   "closely",	  "doggedly",
									  "daringly",  "bravely",	 "stealthily", "permanently", "enticingly"};
static const char *const prepositions[] = {"about", "above",  "according to", "across", "after",  "against", "along",
										   "among", "around", "at",			  "before", "behind", "beneath", "beside"};
static const char *const terminators[] = {".", ";", ":", "?", "!", "--"};

/* Appends a word, with a blank in front of it unless it is the first. */
static void
append(char *text, const char *word)
{
	if (*text != '\0')
		strcat(text, " ");
	strcat(text, word);
}

static void
append_sentence(char *text)
{
	if (between(0, 2) > 0)
		append(text, CHOOSE(adjectives));
	append(text, CHOOSE(nouns));
	append(text, CHOOSE(verbs));
	if (between(0, 1) == 0)
		append(text, CHOOSE(adverbs));
	if (between(0, 1) == 0)
	{
		append(text, CHOOSE(prepositions));
		append(text, "the");
		append(text, CHOOSE(adjectives));
		append(text, CHOOSE(nouns));
	}
	strcat(text, CHOOSE(terminators));
}

/* A text of low to high characters, in a buffer that the next call uses again. */
static char *
comment(int low, int high)
{
	static char text[512];
	long length = between(low, high);

	text[0] = '\0';
	while ((long) strlen(text) < length)
		append_sentence(text);
	text[length] = '\0';
	return text;
}

/* Letters, digits, commas and blanks (4.2.2.7), in a buffer that the next call uses again. */
static const char *
address(void)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
	static char text[41];
	long length = between(10, 40);

	for (long i = 0; i < length; i++)
		text[i] = letters[between(0, COUNT(letters) - 2)];
	text[length] = '\0';
	return text;
}

/* Digits of a telephone number of a nation (4.2.2.9), in a buffer that the next call uses again. */
static const char *
phone(long nation)
{
	static char text[32];

	snprintf(text, sizeof(text), "%02ld-%03ld-%03ld-%04ld", nation + 10, between(100, 999), between(100, 999),
			 between(1000, 9999));
	return text;
}

/* Prints cents as a number with two digits behind the point, and a separator. */
static void
print_cents(long cents, char after)
{
	printf("%s%ld.%02ld%c", cents < 0 ? "-" : "", labs(cents) / 100, labs(cents) % 100, after);
}

/* --- dates ------------------------------------------------------------------------------------ */

#define ORDER_DAYS 2406	 /* from 1992-01-01 to 1998-08-02, both included */
#define CURRENT_DAY 1263 /* 1995-06-17 */

/* Prints the day with a number, 0: 1992-01-01, and a separator. */
static void
print_day(long day, char after)
{
	static const int months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = 1992;
	int month = 0;

	for (long days; day >= (days = year % 4 == 0 ? 366 : 365); year++)
		day -= days;
	for (long days; day >= (days = months[month] + (month == 1 && year % 4 == 0)); month++)
		day -= days;
	printf("%d-%02d-%02ld%c", year, month + 1, day + 1, after);
}

/* --- tables ----------------------------------------------------------------------------------- */

static double scale;

static long
scaled(long count)
{
	long rows = (long) (scale * (double) count);

	return rows < 1 ? 1 : rows;
}

static void
write_region(void)
{
	for (int i = 0; i < COUNT(regions); i++)
		printf("%d|%s|%s\n", i, regions[i], comment(31, 115));
}

static void
write_nation(void)
{
	for (int i = 0; i < COUNT(nations); i++)
		printf("%d|%s|%d|%s\n", i, nations[i].name, nations[i].region, comment(31, 114));
}

/* Five of 10,000 suppliers have had complaints, five recommendations. */
static const char *
supplier_comment(long key)
{
	char *text = comment(25, 100);
	size_t length = strlen(text);

	if (key % 2000 == 1)
	{
		memcpy(text, "Customer", 8);
		memcpy(text + length - 10, "Complaints", 10);
	}
	else if (key % 2000 == 2)
	{
		memcpy(text, "Customer", 8);
		memcpy(text + length - 10, "Recommends", 10);
	}
	return text;
}

static void
write_supplier(void)
{
	long count = scaled(10000);

	for (long key = 1; key <= count; key++)
	{
		long nation = between(0, COUNT(nations) - 1);

		printf("%ld|Supplier#%09ld|%s|%ld|%s|", key, key, address(), nation, phone(nation));
		print_cents(between(-99999, 999999), '|');
		puts(supplier_comment(key));
	}
}

/* The price of a part, in cents (4.2.3). */
static long
retail_price(long part)
{
	return 90000 + part / 10 % 20001 + 100 * (part % 1000);
}

/* The supplier of a part with a number from 0 to 3 (4.2.3). */
static long
supplier_of(long part, long number)
{
	long suppliers = scaled(10000);

	return (part + number * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1;
}

/* Five different colours. */
static void
print_part_name(void)
{
	bool taken[COUNT(colors)] = {false};

	for (int i = 0; i < 5; i++)
	{
		long color;

		do
			color = between(0, COUNT(colors) - 1);
		while (taken[color]);
		taken[color] = true;
		printf("%s%c", colors[color], i < 4 ? ' ' : '|');
	}
}

static void
write_part(void)
{
	long count = scaled(200000);

	for (long key = 1; key <= count; key++)
	{
		long manufacturer = between(1, 5);

		printf("%ld|", key);
		print_part_name();
		printf("Manufacturer#%ld|Brand#%ld%ld|", manufacturer, manufacturer, between(1, 5));
		printf("%s %s %s|", CHOOSE(sizes), CHOOSE(finishes), CHOOSE(metals));
		printf("%ld|", between(1, 50));
		printf("%s %s|", CHOOSE(container_sizes), CHOOSE(containers));
		print_cents(retail_price(key), '|');
		puts(comment(5, 22));
	}
}

static void
write_partsupp(void)
{
	long count = scaled(200000);

	for (long part = 1; part <= count; part++)
		for (long number = 0; number < 4; number++)
		{
			printf("%ld|%ld|%ld|", part, supplier_of(part, number), between(1, 9999));
			print_cents(between(100, 100000), '|');
			puts(comment(49, 198));
		}
}

static void
write_customer(void)
{
	long count = scaled(150000);

	for (long key = 1; key <= count; key++)
	{
		long nation = between(0, COUNT(nations) - 1);

		printf("%ld|Customer#%09ld|%s|%ld|%s|", key, key, address(), nation, phone(nation));
		print_cents(between(-99999, 999999), '|');
		printf("%s|%s\n", CHOOSE(segments), comment(29, 116));
	}
}

/* --- orders and their lines -------------------------------------------------------------------- */

typedef struct line
{
	long part, supplier, quantity, price, discount, tax; /* price in cents, the last two in percent */
	long shipped, committed, received;					 /* days */
	const char *instruction, *mode;
} line;

typedef struct order
{
	long key, customer, day;
	const char *priority;
	long clerk;
	int line_count;
	line lines[7];
} order;

static bool
is_shipped(const line *of)
{
	return of->shipped <= CURRENT_DAY;
}

static void
make_line(line *of, long order_day)
{
	of->part = between(1, scaled(200000));
	of->supplier = supplier_of(of->part, between(0, 3));
	of->quantity = between(1, 50);
	of->price = of->quantity * retail_price(of->part);
	of->discount = between(0, 10);
	of->tax = between(0, 8);
	of->shipped = order_day + between(1, 121);
	of->committed = order_day + between(30, 90);
	of->received = of->shipped + between(1, 30);
	of->instruction = CHOOSE(instructions);
	of->mode = CHOOSE(modes);
}

/* The order with a number from 0.  Eight keys of 32 are used, and two customers of three. */
static void
make_order(order *of, long number)
{
	of->key = number / 8 * 32 + number % 8 + 1;
	do
		of->customer = between(1, scaled(150000));
	while (of->customer % 3 == 0);
	of->day = between(0, ORDER_DAYS - 1);
	of->priority = CHOOSE(priorities);
	of->clerk = between(1, scaled(1000));
	of->line_count = (int) between(1, 7);
	for (int i = 0; i < of->line_count; i++)
		make_line(&of->lines[i], of->day);
}

static char
order_status(const order *of)
{
	int shipped = 0;

	for (int i = 0; i < of->line_count; i++)
		shipped += is_shipped(&of->lines[i]);
	return shipped == of->line_count ? 'F' : shipped == 0 ? 'O' : 'P';
}

/* In cents, each line rounded. */
static long
total_price(const order *of)
{
	long total = 0;

	for (int i = 0; i < of->line_count; i++)
		total += (of->lines[i].price * (100 + of->lines[i].tax) * (100 - of->lines[i].discount) + 5000) / 10000;
	return total;
}

static void
print_order(const order *of)
{
	printf("%ld|%ld|%c|", of->key, of->customer, order_status(of));
	print_cents(total_price(of), '|');
	print_day(of->day, '|');
	printf("%s|Clerk#%09ld|0|%s\n", of->priority, of->clerk, comment(19, 78));
}

static void
print_line(const order *of, int number)
{
	const line *line = &of->lines[number];
	char returned = line->received > CURRENT_DAY ? 'N' : line->part % 2 == 0 ? 'R' : 'A';

	printf("%ld|%ld|%ld|%d|%ld|", of->key, line->part, line->supplier, number + 1, line->quantity);
	print_cents(line->price, '|');
	print_cents(line->discount, '|');
	print_cents(line->tax, '|');
	printf("%c|%c|", returned, is_shipped(line) ? 'F' : 'O');
	print_day(line->shipped, '|');
	print_day(line->committed, '|');
	print_day(line->received, '|');
	printf("%s|%s|%s\n", line->instruction, line->mode, comment(10, 43));
}

static void
write_orders_or_lines(bool lines)
{
	long count = scaled(1500000);

	for (long number = 0; number < count; number++)
	{
		order of;

		/* the same numbers in both tables, whatever the comments of one have used */
		state = UINT64_C(0x5851f42d4c957f2d) * (uint64_t) (number + 1);
		make_order(&of, number);
		if (!lines)
			print_order(&of);
		for (int i = 0; lines && i < of.line_count; i++)
			print_line(&of, i);
	}
}

static void
write_orders(void)
{
	write_orders_or_lines(false);
}

static void
write_lineitem(void)
{
	write_orders_or_lines(true);
}

static const struct
{
	const char *name;
	void (*write)(void);
} tables[] = {{"region", write_region}, {"nation", write_nation},	  {"supplier", write_supplier},
			  {"part", write_part},		{"partsupp", write_partsupp}, {"customer", write_customer},
			  {"orders", write_orders}, {"lineitem", write_lineitem}};

int
main(int argc, char **argv)
{
	if (argc == 3)
		scale = strtod(argv[1], NULL);
	for (int i = 0; i < COUNT(tables) && scale > 0; i++)
		if (strcmp(argv[2], tables[i].name) == 0)
		{
			state = (uint64_t) i;
			tables[i].write();
			return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
		}
	fprintf(stderr, "usage: rows SCALE TABLE\n");
	return 2;
}

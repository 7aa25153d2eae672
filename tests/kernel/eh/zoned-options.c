// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of zoned-writer.
 */
#include "zoned-options.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct zoned_options opt = { .count = 1, .blocks = 1, .zones = 1, .threads = 1 };

static const char *const operations[] = { "write", "read", "verify", "sg-write", NULL };

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || value < min || value > max)
		errx(USAGE, "'%s': not a number from %" PRIu64 " to %" PRIu64, text, min, max);
	return value;
}

/* A list such as 3,1,2 of request numbers; returns how many. */
static uint64_t list(char *text, uint64_t *numbers)
{
	uint64_t n = 0;
	char *save, *word;

	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (n == REQUESTS_MAX)
			errx(USAGE, "more than %d numbers", REQUESTS_MAX);
		numbers[n++] = number(word, 0, opt.count - 1);
	}
	return n;
}

/* Fisher and Yates. */
static void shuffle(uint64_t seed)
{
	uint64_t i, j, swapped;

	for (i = opt.count - 1; i > 0; i--) {
		j = mix(seed * REQUESTS_MAX + i) % (i + 1);
		swapped = opt.order[i];
		opt.order[i] = opt.order[j];
		opt.order[j] = swapped;
	}
}

static void set_order(char *text)
{
	uint64_t i;

	for (i = 0; i < opt.count; i++)
		opt.order[i] = !strcmp(text, "reversed") ? opt.count - 1 - i : i;
	if (!strncmp(text, "shuffle:", 8))
		shuffle(number(text + 8, 0, UINT32_MAX));
	else if (!strncmp(text, "list:", 5)) {
		bool seen[REQUESTS_MAX] = { false };

		if (list(text + 5, opt.order) != opt.count)
			errx(USAGE, "--order list: not %" PRIu64 " numbers", opt.count);
		for (i = 0; i < opt.count; i++) {
			if (seen[opt.order[i]])
				errx(USAGE, "--order list: %" PRIu64 " twice", opt.order[i]);
			seen[opt.order[i]] = true;
		}
	} else if (strcmp(text, "reversed") && strcmp(text, "sequential"))
		errx(USAGE, "--order %s: not sequential, reversed, shuffle:SEED or list:I,J,...",
		     text);
}

/* Moves the holes behind the others, which keep their order. */
static void set_holes(char *text)
{
	uint64_t numbers[REQUESTS_MAX], kept[REQUESTS_MAX], held, n = 0, i;
	bool hole[REQUESTS_MAX] = { false };

	held = text ? list(text, numbers) : 0;
	for (i = 0; i < held; i++)
		hole[numbers[i]] = true;
	for (i = 0; i < opt.count; i++)
		if (!hole[opt.order[i]])
			kept[n++] = opt.order[i];
	opt.sent_at_once = n;
	for (i = 0; i < opt.count; i++)
		if (hole[opt.order[i]])
			kept[n++] = opt.order[i];
	memcpy(opt.order, kept, n * sizeof(*kept));
}

static void set_late(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		errx(USAGE, "--late %s: not FILE:NUMBER", text);
	*colon = '\0';
	opt.watch = text;
	opt.growth = number(colon + 1, 1, UINT32_MAX);
}

static enum operation operation(const char *text)
{
	int i;

	for (i = 0; operations[i]; i++)
		if (!strcmp(text, operations[i]))
			return (enum operation)i;
	errx(USAGE, "--op %s: not write, read, verify or sg-write", text);
}

static const char help[] =
"Usage: zoned-writer DISK [OPTION...]\n"
"  --op OP         write (the default), read, verify (reads, and compares with what a\n"
"                  run of the same options would have written), sg-write (WRITE(16))\n"
"  --sg NODE       generic node of the disk, for sg-write\n"
"  --start LBA     of the first request, in logical blocks (0)\n"
"  --count N       requests (1)\n"
"  --blocks N      a request (1)\n"
"  --zones N       request I goes to zone I modulo N, counted from --start's (1)\n"
"  --stride N      blocks from one of these zones to the next\n"
"  --order ORDER   sequential (the default), reversed, shuffle:SEED, list:I,J,...\n"
"  --batch N       requests in one io_submit(): all\n"
"  --threads N     threads, each on a CPU, that take requests in turn, one at a time (1)\n"
"  --holes I,J     requests that are not sent\n"
"  --late FILE:N   they are sent after all: when the number in FILE has grown by N, or\n"
"                  when all others have come back\n"
"  --salt N        of the data that is written (0)\n"
"  --verify        read back what was written without an error\n"
"Exit status: 0 all good, 1 a request failed or data is wrong, 2 could not run.\n";

enum { O_OP = 1, O_SG, O_START, O_COUNT, O_BLOCKS, O_ZONES, O_STRIDE, O_ORDER, O_BATCH, O_THREADS,
       O_HOLES, O_LATE, O_SALT, O_VERIFY, O_HELP };

static const struct option long_options[] = {
	{ "op", required_argument, NULL, O_OP },
	{ "sg", required_argument, NULL, O_SG },
	{ "start", required_argument, NULL, O_START },
	{ "count", required_argument, NULL, O_COUNT },
	{ "blocks", required_argument, NULL, O_BLOCKS },
	{ "zones", required_argument, NULL, O_ZONES },
	{ "stride", required_argument, NULL, O_STRIDE },
	{ "order", required_argument, NULL, O_ORDER },
	{ "batch", required_argument, NULL, O_BATCH },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "holes", required_argument, NULL, O_HOLES },
	{ "late", required_argument, NULL, O_LATE },
	{ "salt", required_argument, NULL, O_SALT },
	{ "verify", no_argument, NULL, O_VERIFY },
	{ "help", no_argument, NULL, O_HELP },
	{ NULL, 0, NULL, 0 },
};

static void take_number(int option, const char *text)
{
	switch (option) {
	case O_START: opt.start = number(text, 0, INT64_MAX); break;
	case O_COUNT: opt.count = number(text, 1, REQUESTS_MAX); break;
	case O_BLOCKS: opt.blocks = number(text, 1, REQUESTS_MAX); break;
	case O_ZONES: opt.zones = number(text, 1, REQUESTS_MAX); break;
	case O_STRIDE: opt.stride = number(text, 1, UINT32_MAX); break;
	case O_BATCH: opt.batch = number(text, 1, REQUESTS_MAX); break;
	case O_THREADS: opt.threads = number(text, 1, THREADS_MAX); break;
	case O_SALT: opt.salt = number(text, 0, UINT64_MAX); break;
	}
}

void parse_options(int argc, char **argv)
{
	char sequential[] = "sequential", *sequence = sequential, *holes = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case O_OP: opt.op = operation(optarg); break;
		case O_SG: opt.sg = optarg; break;
		case O_ORDER: sequence = optarg; break;
		case O_HOLES: holes = optarg; break;
		case O_LATE: set_late(optarg); break;
		case O_VERIFY: opt.verify = true; break;
		case O_HELP: fputs(help, stdout); exit(0);
		case '?': exit(USAGE);
		default: take_number(option, optarg);
		}
	}
	if (optind + 1 != argc)
		errx(USAGE, "wanted one DISK (see --help)");
	if (opt.op == OP_SG_WRITE && !opt.sg)
		errx(USAGE, "--op sg-write needs --sg");
	if (opt.watch && (!holes || opt.threads > 1))
		errx(USAGE, "--late needs --holes and one thread");
	opt.disk = argv[optind];
	if (!opt.batch)
		opt.batch = opt.count;
	set_order(sequence);
	set_holes(holes);
}

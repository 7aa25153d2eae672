/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What zoned-writer is told to do.
 */
#ifndef ZONED_OPTIONS_H
#define ZONED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define REQUESTS_MAX 4096
#define THREADS_MAX 64
#define USAGE 2

enum operation { OP_WRITE, OP_READ, OP_VERIFY, OP_SG_WRITE };

struct zoned_options {
	const char *disk;
	const char *sg;
	enum operation op;
	uint64_t start;
	uint64_t count;
	uint64_t blocks;	/* a request */
	uint64_t zones;		/* requests go to so many zones in turn */
	uint64_t stride;	/* blocks from one of these zones to the next */
	uint64_t salt;		/* of the data */
	uint64_t batch;		/* requests in one io_submit() */
	uint64_t threads;
	bool verify;
	const char *watch;	/* the holes are sent when the number in this file ... */
	uint64_t growth;	/* ... has grown by so much */
	uint64_t order[REQUESTS_MAX];	/* request numbers as they are sent, the holes last */
	uint64_t sent_at_once;		/* of these, all but the holes */
};

extern struct zoned_options opt;

/* Sets opt from the command line, or ends the program. */
void parse_options(int argc, char **argv);

/* Spreads the bits of x over all 64: random numbers from a counter. */
static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The counters of a device (stats.c), and how they are told (stats-json.c).
 */
#ifndef MEMZBC_STATS_H
#define MEMZBC_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <memzbc/observe.h>

#include "fault/stage.h"

/* Different sense data that are told apart. */
#define STATS_SENSES 64
/* Class i of a histogram has the values from 2^i to below 2^(i+1); class 0 also has 0. */
#define STATS_CLASSES 64

struct stats_command {
	uint64_t commands;
	uint64_t bytes;		/* that they have read or written */
	uint64_t errors;	/* commands that did not end with GOOD */
};

struct stats_sense {
	uint8_t key;
	uint16_t asc;		/* ASC << 8 | ASCQ */
	uint64_t count;
};

/* READ or WRITE commands of some length. */
struct stats_sequence {
	uint64_t commands;
	uint64_t sequential;	/* that start where the one before ended */
	uint64_t next;		/* LBA there; not reset */
};

struct stats_histogram {
	uint64_t count[STATS_CLASSES];
	uint64_t max;
};

/* Commands that a stage has kept. */
struct stats_kept {
	uint64_t count;
	uint64_t ended[MEMZBC_ENDINGS];
};

struct stats {
	uint64_t since;		/* time of the last reset */
	struct stats_command commands[COMMANDS + 1];	/* as in the table; last: none of these */
	uint64_t statuses[256];
	struct stats_sense senses[STATS_SENSES];
	uint32_t senses_used;
	uint64_t senses_other;	/* for which there was no room */
	struct stats_sequence reads, writes;
	uint64_t out_of_order;	/* writes to SWR zones */
	uint64_t resent;
	struct stats_kept reordered, held;
	uint64_t injected[MEMZBC_ERROR_KINDS];
	struct stats_histogram outstanding;	/* that a command found, itself included */
	struct stats_histogram latency;	/* arrival to completion, nanoseconds */
	uint64_t latency_sum;
	/*
	 * By slot: where the write that arrived last ends, which is where the next one is to start;
	 * 0: at the write pointer, which has moved by other means. Kept by
	 * memzbc_device_stats_reset().
	 */
	uint64_t *next_write;
};

/* NULL without memory. */
struct stats *stats_new(const struct memzbc_device *dev);
void stats_free(struct stats *stats);

/* To be called only while dev->stats is there. */
void stats_arrived(struct memzbc_device *dev, const struct request *rq);
/* Write pointers have moved without a command, in @slot or, if NO_SLOT, anywhere. */
void stats_zones_moved(struct memzbc_device *dev, uint32_t slot);
void stats_completed(struct memzbc_device *dev, const struct request *rq, uint64_t now);

/* What memzbc_device_stats() returns. */
struct memzbc_stats {
	bool counting;		/* @stats is valid, else all zero */
	struct stats stats;	/* without next_write */
	uint64_t elapsed;	/* nanoseconds since the last reset */
	uint32_t outstanding, reordered, held;	/* now */
	struct zone_statistics zones;
	uint32_t zones_now[16];	/* by ZONE CONDITION */
	uint64_t transitions[16][16];
	uint64_t memory, memory_max;	/* bytes */
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Misbehaviour on command: what the keys of the config string that may change at any time say.
 * Times are in nanoseconds. All zero: the LUN behaves, except for what it observes.
 */
#ifndef MEMZBC_FAULTS_H
#define MEMZBC_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Rules of key error. */
#define MEMZBC_ERROR_RULES_MAX 16

/* Commands, as delays and errors tell them apart. */
enum memzbc_class {
	MEMZBC_CLASS_READ,	/* READ, VERIFY */
	MEMZBC_CLASS_WRITE,	/* WRITE, WRITE SAME */
	MEMZBC_CLASS_ZONE,	/* OPEN, CLOSE and FINISH ZONE, RESET WRITE POINTER */
	MEMZBC_CLASS_SYNC,	/* SYNCHRONIZE CACHE */
	MEMZBC_CLASS_OTHER,
	MEMZBC_CLASSES,
};

enum memzbc_error_kind {
	MEMZBC_ERROR_NONE,
	/* 3/11/00 or 3/0C/00 at the first bad block, good ones before it done */
	MEMZBC_ERROR_MEDIUM,
	MEMZBC_ERROR_PARTIAL,	/* the first @blocks are done, then as MEDIUM */
	MEMZBC_ERROR_SENSE,	/* CHECK CONDITION with @key and @asc */
	MEMZBC_ERROR_STATUS,	/* @status: BUSY, TASK SET FULL, RESERVATION CONFLICT */
	MEMZBC_ERROR_DROP,	/* executed, and answered after @time only */
	MEMZBC_ERROR_KINDS,
};

/* Any class of commands: a bit for each in memzbc_error_rule.classes. */
#define MEMZBC_CLASSES_ALL ((1u << MEMZBC_CLASSES) - 1)

/* A probability of 1. */
#define MEMZBC_PROBABILITY_SURE 1000000

struct memzbc_error_rule {
	enum memzbc_error_kind kind;
	uint32_t classes;	/* bit per enum memzbc_class */
	int16_t opcode;		/* only this operation code, or -1 */
	int16_t service_action;	/* and only this service action, or -1 */
	/* Only commands that touch [first, last]; one of zones all the blocks of these. */
	bool has_range;
	uint64_t first, last;	/* LBAs */
	uint32_t probability;	/* of MEMZBC_PROBABILITY_SURE */
	uint64_t count;		/* how many times, or UINT64_MAX */
	/* DROP: when the answer comes; others: how long the rule holds, 0 = for ever */
	uint64_t time;
	uint32_t blocks;	/* PARTIAL */
	uint8_t key;		/* SENSE */
	uint16_t asc;		/* SENSE: ASC << 8 | ASCQ */
	uint8_t status;		/* STATUS */
};

struct memzbc_faults {
	uint64_t seed;		/* of everything random */

	uint32_t reorder;	/* of a zone's writes about one in so many is held back; 0 = off */
	uint32_t reorder_depth;	/* until so many later writes of the zone were executed */
	uint64_t reorder_time;	/* or this time has passed */
	bool reorder_conv;	/* writes to conventional zones, too */

	uint32_t hold;		/* writes above the write pointer kept for each zone; 0 = off */
	uint32_t hold_attempts;	/* writes executed in the zone meanwhile; 0 = no limit */
	uint64_t hold_time;	/* longest time a write is kept */

	uint64_t delay[MEMZBC_CLASSES];	/* a command of the class takes at least so long */
	uint64_t rate;		/* bytes per second of each command; 0 = no limit */
	uint64_t seek;		/* time to cross the whole LBA space; 0 = none */

	uint64_t cache;		/* volatile write cache that power loss empties, bytes; 0 = none */

	uint32_t error_rules;
	struct memzbc_error_rule error[MEMZBC_ERROR_RULES_MAX];

	uint32_t trace;		/* commands that the trace remembers; 0 = off */
	bool stats;		/* count */
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the tests of the keys of faults share.
 */
#ifndef MEMZBC_TESTS_FAULT_SETTINGS_H
#define MEMZBC_TESTS_FAULT_SETTINGS_H

#include "harness.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* Reasons end with these. */
#define ACCEPTED_TIMES "accepted: 0 to 20s"
#define ACCEPTED_KINDS "accepted: medium, hardware, aborted, notready, busy, full, conflict, " \
		       "drop, partialBLOCKS, senseKKAAQQ"

/* What a LUN does that no key was given for: it observes. Initialisers of struct memzbc_faults. */
#define DEFAULT_OBSERVATION .trace = 65536, .stats = true
#define DEFAULT_BOUNDS .reorder_depth = 1, .reorder_time = 10 * NS_PER_MS, \
		       .hold_time = 2 * NS_PER_S
#define DEFAULTS DEFAULT_OBSERVATION, DEFAULT_BOUNDS

/* Classes of commands, as rules have them. */
#define READS (1u << MEMZBC_CLASS_READ)
#define WRITES (1u << MEMZBC_CLASS_WRITE)
#define ZONES (1u << MEMZBC_CLASS_ZONE)
#define SYNCS (1u << MEMZBC_CLASS_SYNC)
#define OTHERS (1u << MEMZBC_CLASS_OTHER)
#define MEDIUM (READS | WRITES | ZONES | SYNCS)
#define ALL (MEDIUM | OTHERS)

#define SETTINGS_SIZE (1ull << 30)	/* bytes of a LUN of 512 byte blocks */
#define SETTINGS_LAST_LBA 2097151

/* The completed config of such a LUN. */
struct memzbc_config completed_config(const char *string);
/* As memzbc_config_print() prints it; to be freed. */
char *printed_config(const struct memzbc_config *cfg, bool json);
/* Fails the test if any field differs; @what is shown. */
void expect_faults(const char *what, const struct memzbc_faults *faults,
		   const struct memzbc_faults *expected);
/* Faults that the keys can express, with LBAs below @capacity. */
void random_faults(struct memzbc_faults *faults, uint64_t capacity);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The zone state machine: conditions, write pointers, open-zone resources, and the rules that
 * reads and writes must obey. All changes of a zone go through zone_set() in zone.c, which keeps
 * the counters.
 */
#ifndef MEMZBC_ZONE_H
#define MEMZBC_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "geometry.h"
#include "store.h"

struct memzbc_lun;
struct memzbc_cmd;

/* What can be told from the table, kept at hand. */
struct zones {
	uint32_t count[16];	/* SWR zones by ZONE CONDITION */
	uint32_t oldest, newest;	/* implicitly opened zones by last write; NO_SLOT if none */
	uint32_t *newer, *older;	/* by slot: neighbours in that order */
	uint64_t transitions[16][16];	/* by ZONE CONDITION before and after */
};

#define NO_SLOT UINT32_MAX

/* Fresh table: all zones as after a format. */
void zones_format(struct memzbc_lun *lun);
/* Whether the table, which an earlier process left, has possible zones only. */
bool zones_are_sound(const struct memzbc_lun *lun);
/* Build lun->zones from the table. Returns 0 or -ENOMEM. */
int zones_init(struct memzbc_lun *lun);
void zones_free(struct memzbc_lun *lun);

uint8_t zone_condition(const struct memzbc_lun *lun, const struct zone *z);
/* Write pointer as an LBA; the zone's end when FULL. Zones without one: NO_WRITE_POINTER. */
uint64_t zone_write_pointer(const struct memzbc_lun *lun, const struct zone *z);
/* First LBA in the zone from which on nothing was written: reads see zeros there. */
uint64_t zone_written_end(const struct memzbc_lun *lun, const struct zone *z);

/* A range of blocks a command names. */
struct extent {
	uint64_t lba;
	uint64_t blocks;
	uint8_t lba_byte;	/* where the CDB has its LBA field, for the field pointer */
};

/*
 * The rules for reads and writes, in the order of checks of ZBC (all before any effect).
 * They return GOOD, or CHECK CONDITION with the sense set.
 */
uint8_t zone_check_range(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x);
uint8_t zone_check_read(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x);
/* *@again: an SWR write that was executed before, and comes a second time after a reopen. */
uint8_t zone_check_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
			 uint16_t opcode, bool *again);

/* OFFLINE, and READ ONLY if @modify: GOOD, or CHECK CONDITION with the sense set. */
uint8_t zone_check_available(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct zone *z,
			     bool modify);

/* MAXIMUM NUMBER OF OPEN SEQUENTIAL WRITE REQUIRED ZONES, as VPD page B6h shows it. */
uint32_t zones_max_open(const struct memzbc_lun *lun);
/* Whether @count zones more may be opened explicitly; 1 also stands for a write or a finish. */
bool zones_can_open(const struct memzbc_lun *lun, uint32_t count);

/* The effects of a checked write to an SWR zone, after its data are stored. */
void zone_written(struct memzbc_lun *lun, const struct zone *z, uint64_t blocks);

/*
 * Transitions of zone management commands. The caller has checked that they are allowed, and calls
 * zones_settle() when it is through with all its zones.
 */
void zone_open(struct memzbc_lun *lun, const struct zone *z);
void zone_close(struct memzbc_lun *lun, const struct zone *z);
void zone_finish(struct memzbc_lun *lun, const struct zone *z);
void zone_reset(struct memzbc_lun *lun, const struct zone *z);

/*
 * The write pointer moves without a command, to @offset blocks from the zone's start, and the zone
 * gets this condition. What is above it, or newly below it, is unwritten: zeros.
 */
void zone_move(struct memzbc_lun *lun, const struct zone *z, uint8_t condition, uint64_t offset);
/* READ ONLY, OFFLINE or NOT WRITE POINTER. */
void zone_set_conventional(struct memzbc_lun *lun, const struct zone *z, uint8_t condition);
/* Its condition when it is not open: EMPTY, CLOSED or FULL, by the write pointer. */
uint8_t zone_resting_condition(const struct zone *z, uint64_t offset);
/* Blocks between the start of an SWR zone and its write pointer, also if it is not shown. */
uint64_t zone_pointer_offset(const struct memzbc_lun *lun, const struct zone *z);
/* All open zones become CLOSED or EMPTY. */
void zones_close_all(struct memzbc_lun *lun);

/*
 * At the end of a command that opened zones: close as many of the implicitly opened zones, least
 * recently written first, as exceed the limit. Not earlier, or OPEN ZONE with ALL would open what
 * was closed for it. Also brings the maxima of the statistics up to date.
 */
void zones_settle(struct memzbc_lun *lun);

/* Counts of events become 0, maxima and minima what is now. */
void zones_reset_statistics(struct memzbc_lun *lun);

#endif

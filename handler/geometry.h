/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Where the zones are. The LBA space is cut into slots of zone_size blocks, the last one may be
 * smaller. A slot is a conventional zone, or a sequential write required (SWR) zone of zone_cap
 * blocks, followed by a gap zone where zone_cap is less than zone_size.
 */
#ifndef MEMZBC_GEOMETRY_H
#define MEMZBC_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <memzbc/config.h>

/*
 * Division by a constant as a multiplication and a shift: quotient = n * multiplier >> shift in
 * 128 bits, exact for every n below 2^63 and every divisor from 1 to 2^63 - 1.
 */
struct divider {
	uint64_t multiplier;
	unsigned int shift;
};

struct divider divider_init(uint64_t divisor);

static inline uint64_t divide(struct divider by, uint64_t n)
{
	return (uint64_t)((unsigned __int128)n * by.multiplier >> by.shift);
}

struct geometry {
	uint64_t capacity;	/* logical blocks */
	uint64_t zone_size;
	uint64_t zone_cap;
	uint32_t slots;
	uint32_t first_seq;	/* slots from first_seq to below end_seq are SWR zones */
	uint32_t end_seq;
	uint32_t pblk;		/* logical blocks in a physical one */
	struct divider by_zone_size;
};

/* A zone as an initiator sees it. */
struct zone {
	uint64_t start;		/* LBA */
	uint64_t len;		/* logical blocks */
	uint32_t slot;
	uint8_t type;		/* ZONE_TYPE_... */
};

/* @cfg must be completed. */
void geometry_init(struct geometry *geo, const struct memzbc_config *cfg);

/* The zone that holds @lba, which must be below the capacity. */
struct zone geometry_zone(const struct geometry *geo, uint64_t lba);

/* The first zone of a slot: the one that is not a gap. */
struct zone geometry_slot_zone(const struct geometry *geo, uint32_t slot);

static inline uint64_t zone_end(const struct zone *z)
{
	return z->start + z->len;
}

static inline bool geometry_has_gaps(const struct geometry *geo)
{
	return geo->zone_cap < geo->zone_size;
}

#endif

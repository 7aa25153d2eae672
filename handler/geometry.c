// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "geometry.h"

#include <memzbc/scsi.h>

/* Dividends are below 2^63: one bit less than a word lets the multiplier fit a word. */
#define DIVIDEND_BITS 63

/*
 * With 2^(l-1) < d <= 2^l and m = ceil(2^(63+l) / d), m < 2^64, and m * d exceeds 2^(63+l) by less
 * than d <= 2^l. The error of n * m / 2^(63+l) is then below 1/d for every n < 2^63: too little to
 * reach the next integer.
 */
struct divider divider_init(uint64_t divisor)
{
	unsigned int log2 = divisor == 1 ? 0 : 64 - (unsigned int)__builtin_clzll(divisor - 1);
	unsigned int shift = DIVIDEND_BITS + log2;
	unsigned __int128 power = (unsigned __int128)1 << shift;

	return (struct divider){
		.multiplier = (uint64_t)((power + divisor - 1) / divisor),
		.shift = shift,
	};
}

void geometry_init(struct geometry *geo, const struct memzbc_config *cfg)
{
	*geo = (struct geometry){
		.capacity = cfg->capacity,
		.zone_size = cfg->zone_size,
		.zone_cap = cfg->zone_cap,
		.slots = (uint32_t)((cfg->capacity + cfg->zone_size - 1) / cfg->zone_size),
		.first_seq = (uint32_t)cfg->conv,
		.pblk = cfg->pblk_size / cfg->lba_size,
		.by_zone_size = divider_init(cfg->zone_size),
	};
	geo->end_seq = geo->slots - (uint32_t)cfg->conv_end;
}

struct zone geometry_slot_zone(const struct geometry *geo, uint32_t slot)
{
	struct zone z = { .start = slot * geo->zone_size, .slot = slot };
	uint64_t left = geo->capacity - z.start;
	bool seq = slot >= geo->first_seq && slot < geo->end_seq;
	uint64_t len = seq ? geo->zone_cap : geo->zone_size;

	z.type = seq ? ZONE_TYPE_SWR : ZONE_TYPE_CONVENTIONAL;
	z.len = len < left ? len : left;
	return z;
}

struct zone geometry_zone(const struct geometry *geo, uint64_t lba)
{
	struct zone z = geometry_slot_zone(geo, (uint32_t)divide(geo->by_zone_size, lba));
	uint64_t slot_end = z.start + geo->zone_size;

	if (lba < zone_end(&z))
		return z;
	z.type = ZONE_TYPE_GAP;
	z.start = zone_end(&z);
	z.len = (slot_end < geo->capacity ? slot_end : geo->capacity) - z.start;
	return z;
}

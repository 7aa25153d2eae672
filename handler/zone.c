// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "zone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <memzbc/scsi.h>

#include "model.h"

#define CONDITION_SHIFT 60
#define OFFSET_MASK ((1ull << 56) - 1)

static uint64_t load_state(const struct memzbc_lun *lun, uint32_t slot)
{
	return atomic_load_explicit(&lun->store.table->zones[slot].state, memory_order_relaxed);
}

static uint8_t state_condition(uint64_t state)
{
	return (uint8_t)(state >> CONDITION_SHIFT);
}

uint8_t zone_condition(const struct memzbc_lun *lun, const struct zone *z)
{
	return z->type == ZONE_TYPE_GAP ? ZONE_NOT_WP : state_condition(load_state(lun, z->slot));
}

uint64_t zone_written_end(const struct memzbc_lun *lun, const struct zone *z)
{
	switch (z->type) {
	case ZONE_TYPE_CONVENTIONAL:
		return zone_end(z);
	case ZONE_TYPE_GAP:
		return z->start;
	default:
		return z->start + (load_state(lun, z->slot) & OFFSET_MASK);
	}
}

uint64_t zone_write_pointer(const struct memzbc_lun *lun, const struct zone *z)
{
	switch (zone_condition(lun, z)) {
	case ZONE_NOT_WP:
	case ZONE_READ_ONLY:
	case ZONE_OFFLINE:
		return NO_WRITE_POINTER;
	default:
		return zone_written_end(lun, z);
	}
}

static uint32_t explicit_open(const struct memzbc_lun *lun)
{
	return lun->zones.count[ZONE_EXP_OPEN];
}

static uint32_t all_open(const struct memzbc_lun *lun)
{
	return explicit_open(lun) + lun->zones.count[ZONE_IMP_OPEN];
}

uint32_t zones_max_open(const struct memzbc_lun *lun)
{
	return lun->cfg.max_open == MEMZBC_NO_LIMIT ? OPEN_ZONES_NO_LIMIT : lun->cfg.max_open;
}

/* Implicitly opened zones, ordered by last write. */
static void unlink_implicit(struct zones *zs, uint32_t slot)
{
	uint32_t newer = zs->newer[slot], older = zs->older[slot];

	if (newer == NO_SLOT)
		zs->newest = older;
	else
		zs->older[newer] = older;
	if (older == NO_SLOT)
		zs->oldest = newer;
	else
		zs->newer[older] = newer;
}

static void link_newest(struct zones *zs, uint32_t slot)
{
	zs->newer[slot] = NO_SLOT;
	zs->older[slot] = zs->newest;
	if (zs->newest == NO_SLOT)
		zs->oldest = slot;
	else
		zs->newer[zs->newest] = slot;
	zs->newest = slot;
}

static void raise_to(uint32_t *maximum, uint32_t value)
{
	if (*maximum < value)
		*maximum = value;
}

/* @offset is the write pointer relative to the zone's start. Who sees it sees the data below. */
static void store_state(struct memzbc_lun *lun, uint32_t slot, uint8_t condition, uint64_t offset)
{
	atomic_store_explicit(&lun->store.table->zones[slot].state,
			      (uint64_t)condition << CONDITION_SHIFT | offset,
			      memory_order_release);
}

/* The one place where an SWR zone changes. */
static void zone_set(struct memzbc_lun *lun, uint32_t slot, uint8_t condition, uint64_t offset)
{
	uint8_t from = state_condition(load_state(lun, slot));
	struct zones *zs = &lun->zones;

	store_state(lun, slot, condition, offset);
	if (from == ZONE_IMP_OPEN)
		unlink_implicit(zs, slot);
	if (condition == ZONE_IMP_OPEN)
		link_newest(zs, slot);
	if (from == condition)
		return;
	zs->count[from]--;
	zs->count[condition]++;
	zs->transitions[from][condition]++;
	if (condition == ZONE_EMPTY)
		lun->store.table->stats.emptied++;
}

static uint64_t zone_offset(const struct memzbc_lun *lun, uint32_t slot)
{
	return load_state(lun, slot) & OFFSET_MASK;
}

static void close_slot(struct memzbc_lun *lun, uint32_t slot)
{
	uint64_t offset = zone_offset(lun, slot);

	zone_set(lun, slot, offset > 0 ? ZONE_CLOSED : ZONE_EMPTY, offset);
}

void zones_settle(struct memzbc_lun *lun)
{
	struct zone_statistics *stats = &lun->store.table->stats;

	while (all_open(lun) > zones_max_open(lun) && lun->zones.oldest != NO_SLOT)
		close_slot(lun, lun->zones.oldest);
	raise_to(&stats->max_open, all_open(lun));
	raise_to(&stats->max_exp_open, explicit_open(lun));
	raise_to(&stats->max_imp_open, lun->zones.count[ZONE_IMP_OPEN]);
	if (stats->min_empty > lun->zones.count[ZONE_EMPTY])
		stats->min_empty = lun->zones.count[ZONE_EMPTY];
}

void zone_open(struct memzbc_lun *lun, const struct zone *z)
{
	if (zone_condition(lun, z) != ZONE_FULL)
		zone_set(lun, z->slot, ZONE_EXP_OPEN, zone_offset(lun, z->slot));
}

void zone_close(struct memzbc_lun *lun, const struct zone *z)
{
	uint8_t condition = zone_condition(lun, z);

	if (condition == ZONE_IMP_OPEN || condition == ZONE_EXP_OPEN)
		close_slot(lun, z->slot);
}

void zone_finish(struct memzbc_lun *lun, const struct zone *z)
{
	zone_set(lun, z->slot, ZONE_FULL, z->len);
}

/* If the memory cannot be given back, the blocks are above the write pointer all the same. */
static void discard_from(struct memzbc_lun *lun, const struct zone *z, uint64_t offset)
{
	store_discard(&lun->store, (z->start + offset) * lun->cfg.lba_size,
		      (z->len - offset) * lun->cfg.lba_size);
}

void zone_reset(struct memzbc_lun *lun, const struct zone *z)
{
	if (zone_condition(lun, z) == ZONE_EMPTY)
		return;
	resend_forget(lun, z);
	zone_set(lun, z->slot, ZONE_EMPTY, 0);
	discard_from(lun, z, 0);
}

uint8_t zone_resting_condition(const struct zone *z, uint64_t offset)
{
	if (offset == 0)
		return ZONE_EMPTY;
	return offset == z->len ? ZONE_FULL : ZONE_CLOSED;
}

uint64_t zone_pointer_offset(const struct memzbc_lun *lun, const struct zone *z)
{
	return zone_offset(lun, z->slot);
}

void zone_move(struct memzbc_lun *lun, const struct zone *z, uint8_t condition, uint64_t offset)
{
	uint64_t before = zone_offset(lun, z->slot);

	/* Writes that were executed and come again may no longer be taken as done. */
	if (offset < before)
		resend_forget(lun, z);
	zone_set(lun, z->slot, condition, offset);
	if (offset < before)
		discard_from(lun, z, offset);
}

void zone_set_conventional(struct memzbc_lun *lun, const struct zone *z, uint8_t condition)
{
	store_state(lun, z->slot, condition, 0);
}

void zones_close_all(struct memzbc_lun *lun)
{
	for (uint32_t slot = lun->geo.first_seq; slot < lun->geo.end_seq && all_open(lun); slot++) {
		struct zone z = geometry_slot_zone(&lun->geo, slot);

		zone_close(lun, &z);
	}
}

void zone_written(struct memzbc_lun *lun, const struct zone *z, uint64_t blocks)
{
	struct table *table = lun->store.table;
	uint64_t offset = zone_offset(lun, z->slot) + blocks;
	uint8_t condition = zone_condition(lun, z);

	table->zones[z->slot].last_write = ++table->write_stamp;
	if (offset == z->len)
		condition = ZONE_FULL;
	else if (condition == ZONE_EMPTY || condition == ZONE_CLOSED)
		condition = ZONE_IMP_OPEN;
	zone_set(lun, z->slot, condition, offset);
	zones_settle(lun);
}

bool zones_can_open(const struct memzbc_lun *lun, uint32_t count)
{
	return (uint64_t)explicit_open(lun) + count <= zones_max_open(lun);
}

void zones_format(struct memzbc_lun *lun)
{
	const struct geometry *geo = &lun->geo;
	struct table *table = lun->store.table;

	for (uint32_t slot = geo->first_seq; slot < geo->end_seq; slot++)
		atomic_store_explicit(&table->zones[slot].state,
				      (uint64_t)ZONE_EMPTY << CONDITION_SHIFT,
				      memory_order_relaxed);
	table->stats.min_empty = geo->end_seq - geo->first_seq;
}

void zones_reset_statistics(struct memzbc_lun *lun)
{
	struct zones *zs = &lun->zones;

	memset(zs->transitions, 0, sizeof(zs->transitions));
	lun->store.table->stats = (struct zone_statistics){
		.max_open = all_open(lun),
		.max_exp_open = explicit_open(lun),
		.max_imp_open = zs->count[ZONE_IMP_OPEN],
		.min_empty = zs->count[ZONE_EMPTY],
	};
}

static bool is_sound(const struct zone *z, uint64_t state)
{
	uint64_t offset = state & OFFSET_MASK;

	switch (state_condition(state)) {
	case ZONE_READ_ONLY:
	case ZONE_OFFLINE:
		return offset <= (z->type == ZONE_TYPE_SWR ? z->len : 0);
	case ZONE_NOT_WP:
		return z->type == ZONE_TYPE_CONVENTIONAL && offset == 0;
	case ZONE_EMPTY:
	case ZONE_IMP_OPEN:
	case ZONE_EXP_OPEN:
	case ZONE_CLOSED:
	case ZONE_FULL:
		return z->type == ZONE_TYPE_SWR && offset <= z->len;
	default:
		return false;
	}
}

bool zones_are_sound(const struct memzbc_lun *lun)
{
	for (uint32_t slot = 0; slot < lun->geo.slots; slot++) {
		struct zone z = geometry_slot_zone(&lun->geo, slot);

		if (!is_sound(&z, load_state(lun, slot)))
			return false;
	}
	return true;
}

struct stamped {
	uint64_t last_write;
	uint32_t slot;
};

static int by_last_write(const void *a, const void *b)
{
	uint64_t x = ((const struct stamped *)a)->last_write;
	uint64_t y = ((const struct stamped *)b)->last_write;

	return (x > y) - (x < y);
}

static int order_implicit(struct memzbc_lun *lun)
{
	const struct zone_entry *entries = lun->store.table->zones;
	uint32_t n = lun->zones.count[ZONE_IMP_OPEN], k = 0;
	struct stamped *open = calloc(n ? n : 1, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (uint32_t slot = lun->geo.first_seq; slot < lun->geo.end_seq; slot++)
		if (state_condition(load_state(lun, slot)) == ZONE_IMP_OPEN)
			open[k++] = (struct stamped){ entries[slot].last_write, slot };
	qsort(open, n, sizeof(*open), by_last_write);
	for (k = 0; k < n; k++)
		link_newest(&lun->zones, open[k].slot);
	free(open);
	/* The process may have died between opening a zone and closing another for it. */
	zones_settle(lun);
	return 0;
}

int zones_init(struct memzbc_lun *lun)
{
	struct zones *zs = &lun->zones;
	const struct geometry *geo = &lun->geo;

	*zs = (struct zones){ .oldest = NO_SLOT, .newest = NO_SLOT };
	zs->newer = calloc(geo->slots, sizeof(*zs->newer));
	zs->older = calloc(geo->slots, sizeof(*zs->older));
	if (!zs->newer || !zs->older)
		return -ENOMEM;
	for (uint32_t slot = geo->first_seq; slot < geo->end_seq; slot++)
		zs->count[state_condition(load_state(lun, slot))]++;
	return order_implicit(lun);
}

void zones_free(struct memzbc_lun *lun)
{
	free(lun->zones.newer);
	free(lun->zones.older);
}

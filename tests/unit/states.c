// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Zones brought into a state, and snapshots of everything. */
#include "harness.h"

const char *const zone_state_names[ZS_STATES] = {
	[ZS_EMPTY] = "EMPTY",
	[ZS_IMP_OPEN] = "IMPLICITLY OPENED",
	[ZS_IMP_UNWRITTEN] = "IMPLICITLY OPENED, unwritten",
	[ZS_EXP_OPEN] = "EXPLICITLY OPENED",
	[ZS_EXP_UNWRITTEN] = "EXPLICITLY OPENED, unwritten",
	[ZS_CLOSED] = "CLOSED",
	[ZS_FULL] = "FULL",
	[ZS_FINISHED] = "FULL by FINISH ZONE",
	[ZS_IMP_LAST] = "IMPLICITLY OPENED, last block free",
	[ZS_CLOSED_LAST] = "CLOSED, last block free",
};

static const struct {
	bool open_first;	/* by OPEN ZONE */
	bool empty_write;
	bool written;		/* the first physical block */
	bool rest;		/* all but the last one */
	bool last;
	uint8_t then;		/* service action, or 0 */
	uint8_t cond;
} recipes[ZS_STATES] = {
	[ZS_EMPTY] = { .cond = ZONE_EMPTY },
	[ZS_IMP_OPEN] = { .written = true, .cond = ZONE_IMP_OPEN },
	[ZS_IMP_UNWRITTEN] = { .empty_write = true, .cond = ZONE_IMP_OPEN },
	[ZS_EXP_OPEN] = { .open_first = true, .written = true, .cond = ZONE_EXP_OPEN },
	[ZS_EXP_UNWRITTEN] = { .open_first = true, .cond = ZONE_EXP_OPEN },
	[ZS_CLOSED] = { .written = true, .then = SA_CLOSE_ZONE, .cond = ZONE_CLOSED },
	[ZS_FULL] = { .written = true, .rest = true, .last = true, .cond = ZONE_FULL },
	[ZS_FINISHED] = { .written = true, .then = SA_FINISH_ZONE, .cond = ZONE_FULL },
	[ZS_IMP_LAST] = { .written = true, .rest = true, .cond = ZONE_IMP_OPEN },
	[ZS_CLOSED_LAST] = { .written = true, .rest = true, .then = SA_CLOSE_ZONE,
			     .cond = ZONE_CLOSED },
};

/* Where the write pointer of a slot in @state is. */
static uint64_t state_wp(const struct dev *dev, uint32_t slot, enum zone_state state)
{
	uint64_t start = geo_start(dev->geo, slot), end = start + geo_len(dev->geo, slot);
	uint32_t pblk = geo_pblk(dev->geo);

	if (recipes[state].cond == ZONE_FULL)
		return end;
	if (recipes[state].rest)
		return end - pblk;
	return recipes[state].written ? start + pblk : start;
}

uint64_t make_zone(struct dev *dev, uint32_t slot, enum zone_state state)
{
	uint64_t start = geo_start(dev->geo, slot), len = geo_len(dev->geo, slot);
	uint32_t pblk = geo_pblk(dev->geo);

	if (recipes[state].open_first)
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, start));
	if (recipes[state].empty_write)
		expect_good(dev, write_blocks(dev, start, 0, 0));
	if (recipes[state].written)
		expect_good(dev, write_blocks(dev, start, pblk, ZS_GENERATION));
	if (recipes[state].rest)
		expect_good(dev, write_blocks(dev, start + pblk, len - 2 * pblk, ZS_GENERATION));
	if (recipes[state].last)
		expect_good(dev, write_blocks(dev, start + len - pblk, pblk, ZS_GENERATION));
	if (recipes[state].then)
		expect_good(dev, zone_action(dev, recipes[state].then, start));
	expect_state(dev, slot, state);
	return state_wp(dev, slot, state);
}

uint64_t access_lba(const struct dev *dev, const struct access_case *c, uint32_t slot, uint64_t wp)
{
	uint64_t start = geo_start(dev->geo, slot), end = start + geo_len(dev->geo, slot);
	uint64_t base = c->base == AT_START ? start : c->base == AT_END ? end : wp;

	return base + (uint64_t)(c->at * (int)geo_pblk(dev->geo) + c->at_lb);
}

uint64_t access_blocks(const struct dev *dev, const struct access_case *c)
{
	return (uint64_t)(c->len * (int)geo_pblk(dev->geo) + c->len_lb);
}

uint8_t state_condition(enum zone_state state)
{
	return recipes[state].cond;
}

void expect_state(struct dev *dev, uint32_t slot, enum zone_state state)
{
	expect_zone(dev, geo_start(dev->geo, slot), recipes[state].cond,
		    state_wp(dev, slot, state));
}

struct snapshot {
	uint32_t count;
	struct zone_desc *zones;
	uint64_t *sums;		/* of the readable data of each zone */
};

/* Sum of what a zone holds below its write pointer, or all of it if it has none. */
static uint64_t zone_sum(struct dev *dev, const struct zone_desc *zone)
{
	uint64_t blocks = zone->len, sum = 0, word;

	if (zone->type == ZONE_TYPE_GAP || zone->cond == ZONE_OFFLINE)
		return 0;
	if (zone->type == ZONE_TYPE_SWR && zone->cond != ZONE_READ_ONLY)
		blocks = zone->wp - zone->start;
	if (!blocks)
		return 0;
	expect_good(dev, read_blocks(dev, zone->start, blocks));
	for (size_t at = 0; at < blocks * dev->lba_size; at += sizeof(word)) {
		memcpy(&word, dev->in + at, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3;
	}
	return sum;
}

struct snapshot *snapshot_take(struct dev *dev)
{
	struct snapshot *snap = calloc(1, sizeof(*snap));
	size_t size;

	expect_good(dev, report_zones(dev, 0, 0, ZONE_DESC_LEN));
	expect_good(dev, report_zones(dev, 0, 0, ZONE_DESC_LEN + dev->report.list_len));
	snap->count = dev->report.count;
	size = snap->count * sizeof(*snap->zones);
	snap->zones = malloc(size);
	memcpy(snap->zones, dev->report.zones, size);
	snap->sums = calloc(snap->count, sizeof(*snap->sums));
	for (uint32_t i = 0; i < snap->count; i++)
		snap->sums[i] = zone_sum(dev, &snap->zones[i]);
	return snap;
}

static void snapshot_free(struct snapshot *snap)
{
	free(snap->zones);
	free(snap->sums);
	free(snap);
}

static bool same_zone(const struct zone_desc *a, const struct zone_desc *b)
{
	return a->type == b->type && a->cond == b->cond && a->flags == b->flags &&
	       a->start == b->start && a->len == b->len && a->wp == b->wp;
}

void snapshot_compare(struct dev *dev, struct snapshot *snap, const char *call, const char *file,
		      int line)
{
	const struct sense sense = dev->sense;
	const struct cdb cdb = dev->cdb;
	struct snapshot *now = snapshot_take(dev);
	uint64_t changed = UINT64_MAX;

	dev->cdb = cdb;
	for (uint32_t i = 0; i < now->count && changed == UINT64_MAX; i++)
		if (!same_zone(&now->zones[i], &snap->zones[i]) || now->sums[i] != snap->sums[i])
			changed = now->zones[i].start;
	snapshot_free(now);
	snapshot_free(snap);
	dev->sense = sense;
	if (changed != UINT64_MAX)
		fail_dev(dev, file, line, "%s: has changed the zone at %llx", call,
			 (unsigned long long)changed);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The geometries that the tests run with, and where their zones are. */
#include <stdio.h>

#include "harness.h"

#define SLOTS 14
#define SMALL_LAST_KB 20

/* Lengths in KiB; @last is the length of the last slot. */
#define GEO(what, lba, pblk, size, cap, last, low, high) \
	{ \
		.name = #lba "/" #pblk " " what, .lba_size = (lba), .pblk_size = (pblk), \
		.zone_size = (size) * 1024 / (lba), .zone_cap = (cap) * 1024 / (lba), \
		.capacity = ((SLOTS - 1) * (size) + (last)) * 1024 / (lba), \
		.conv = (low), .conv_end = (high) \
	}

#define GEO_SIZES(lba, pblk) \
	GEO("64K", lba, pblk, 64, 64, 64, 2, 0), \
	GEO("64K small last", lba, pblk, 64, 64, SMALL_LAST_KB, 2, 0), \
	GEO("64K gaps", lba, pblk, 64, 44, 64, 2, 0), \
	GEO("64K gaps small last", lba, pblk, 64, 44, SMALL_LAST_KB, 2, 0), \
	GEO("52K", lba, pblk, 52, 52, 52, 2, 0), \
	GEO("52K small last", lba, pblk, 52, 52, SMALL_LAST_KB, 2, 0), \
	GEO("52K gaps", lba, pblk, 52, 36, 52, 2, 0), \
	GEO("52K gaps small last", lba, pblk, 52, 36, SMALL_LAST_KB, 2, 0), \
	GEO("52K gaps, last one trimmed", lba, pblk, 52, 36, 44, 3, 0), \
	GEO("64K conventional at both ends, small last", lba, pblk, 64, 64, SMALL_LAST_KB, 2, 2), \
	GEO("52K gaps, conventional at the end", lba, pblk, 52, 36, 52, 2, 1)

const struct geo geo_matrix[] = {
	GEO_SIZES(512, 512),
	GEO_SIZES(512, 4096),
	GEO_SIZES(4096, 4096),
};
const size_t geo_matrix_len = ARRAY_SIZE(geo_matrix);

uint32_t geo_slots(const struct geo *g)
{
	return (uint32_t)((g->capacity + g->zone_size - 1) / g->zone_size);
}

bool geo_has_gaps(const struct geo *g)
{
	return g->zone_cap < g->zone_size;
}

bool geo_is_conv(const struct geo *g, uint32_t slot)
{
	return slot < g->conv || slot >= geo_slots(g) - g->conv_end;
}

uint64_t geo_start(const struct geo *g, uint32_t slot)
{
	return slot * g->zone_size;
}

/* Length of the slot, gap included. */
static uint64_t slot_len(const struct geo *g, uint32_t slot)
{
	uint64_t left = g->capacity - geo_start(g, slot);

	return left < g->zone_size ? left : g->zone_size;
}

uint64_t geo_len(const struct geo *g, uint32_t slot)
{
	uint64_t len = slot_len(g, slot);

	return geo_is_conv(g, slot) || len < g->zone_cap ? len : g->zone_cap;
}

uint64_t geo_gap(const struct geo *g, uint32_t slot)
{
	return slot_len(g, slot) - geo_len(g, slot);
}

uint32_t geo_pblk(const struct geo *g)
{
	return g->pblk_size / g->lba_size;
}

void for_ranges_beyond_the_end(struct dev *dev,
			       void (*check)(struct dev *dev, uint64_t lba, uint32_t blocks))
{
	const uint64_t capacity = dev->capacity;
	const struct {
		uint64_t lba;
		uint32_t blocks;
	} ranges[] = {
		{ capacity, 1 }, { capacity - 1, 2 }, { capacity + 1, 0 }, { capacity + 1, 1 },
		{ UINT64_MAX, 0 }, { UINT64_MAX, 1 }, { UINT64_MAX, 2 }, { UINT64_MAX, UINT32_MAX },
		{ UINT64_MAX - 7, 8 }, { UINT64_MAX - 7, 9 }, { INT64_MAX, 1 },
		{ (uint64_t)INT64_MAX + 1, 0 }, { (uint64_t)INT64_MAX + 1, 1 },
		{ 0, UINT32_MAX }, { 1ull << 32, 1 }, { capacity - 1, UINT32_MAX },
		{ UINT64_MAX - UINT32_MAX + 1, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		check(dev, ranges[i].lba, ranges[i].blocks);
}

/* What one cmocka test of the matrix runs. */
struct matrix_entry {
	const struct matrix_test *test;
	const struct geo *geo;
	struct dev *dev;
};

static void run_entry(void **state)
{
	struct matrix_entry *entry = *state;
	struct dev *dev = dev_open_geo(entry->geo, entry->test->extra);

	entry->dev = dev;
	entry->test->run(dev);
	entry->dev = NULL;
	dev_close(dev);
}

/* After a failure: leave no state behind. */
static int clean_entry(void **state)
{
	struct matrix_entry *entry = *state;

	struct dev *dev = entry->dev;

	entry->dev = NULL;
	if (dev)
		dev_close(dev);
	return 0;
}

static char *entry_name(const struct matrix_test *test, const struct geo *geo)
{
	char name[200];

	snprintf(name, sizeof(name), "%s [%s]", test->name, geo->name);
	return strdup(name);
}

int run_matrix(const char *group, const struct matrix_test *tests, size_t count)
{
	size_t total = count * geo_matrix_len;
	struct matrix_entry *entries = calloc(total, sizeof(*entries));
	struct CMUnitTest *unit_tests = calloc(total, sizeof(*unit_tests));
	int failures;

	for (size_t i = 0; i < total; i++) {
		entries[i].test = &tests[i / geo_matrix_len];
		entries[i].geo = &geo_matrix[i % geo_matrix_len];
		unit_tests[i] = (struct CMUnitTest){
			.name = entry_name(entries[i].test, entries[i].geo),
			.test_func = run_entry,
			.teardown_func = clean_entry,
			.initial_state = &entries[i],
		};
	}
	failures = _cmocka_run_group_tests(group, unit_tests, total, NULL, NULL);
	for (size_t i = 0; i < total; i++)
		free((char *)unit_tests[i].name);
	free(unit_tests);
	free(entries);
	return failures != 0;
}

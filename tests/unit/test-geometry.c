// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The zone of an LBA: multiply-and-shift against division. */
#include "geometry.h"
#include "harness.h"

#define LBA_MAX ((uint64_t)INT64_MAX)

static void check(struct divider by, uint64_t divisor, uint64_t n)
{
	if (divide(by, n) != n / divisor)
		fail_dev(NULL, __FILE__, __LINE__, "%llu / %llu is %llu, not %llu; seed %llu",
			 (unsigned long long)n, (unsigned long long)divisor,
			 (unsigned long long)(n / divisor), (unsigned long long)divide(by, n),
			 (unsigned long long)random_seed_used());
}

/* The multiple of @divisor that is quotient @q, and its neighbours. */
static void check_around(struct divider by, uint64_t divisor, uint64_t q)
{
	uint64_t n = q * divisor;

	check(by, divisor, n);
	if (n > 0)
		check(by, divisor, n - 1);
	if (n < LBA_MAX)
		check(by, divisor, n + 1);
}

/* Where a wrong multiplier would show first: at the ends and at multiples. */
static void check_edges(uint64_t divisor)
{
	struct divider by = divider_init(divisor);
	uint64_t q_max = LBA_MAX / divisor;

	check(by, divisor, LBA_MAX);
	check_around(by, divisor, 0);
	check_around(by, divisor, 1);
	check_around(by, divisor, q_max);
	if (q_max > 1)
		check_around(by, divisor, q_max - 1);
	for (unsigned int bit = 0; bit < 63; bit++) {
		check(by, divisor, (uint64_t)1 << bit);
		check(by, divisor, ((uint64_t)1 << bit) - 1);
		if ((uint64_t)1 << bit <= q_max)
			check_around(by, divisor, (uint64_t)1 << bit);
	}
	for (int i = 0; i < 8; i++)
		check_around(by, divisor, random_below(q_max) + 1);
}

static void every_small_size(void **state)
{
	(void)state;
	for (uint64_t divisor = 1; divisor <= 10000; divisor++)
		check_edges(divisor);
}

static void sizes_around_powers_of_two(void **state)
{
	(void)state;
	for (unsigned int bit = 1; bit < 63; bit++)
		for (int64_t delta = -3; delta <= 3; delta++)
			if (((int64_t)1 << bit) + delta >= 1)
				check_edges(((uint64_t)1 << bit) + (uint64_t)delta);
	check_edges(LBA_MAX);
}

/* Sizes and LBAs with all magnitudes equally likely. */
static uint64_t random_magnitude(unsigned int bits)
{
	uint64_t top = (uint64_t)1 << random_below(bits + 1);

	return top + random_below(top);
}

static void random_sizes(void **state)
{
	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t divisor = random_magnitude(39) + 1;
		struct divider by = divider_init(divisor);

		if (i < 10000)
			check_edges(divisor);
		for (int k = 0; k < 100; k++) {
			check(by, divisor, random_u64() & LBA_MAX);
			check(by, divisor, random_magnitude(62) & LBA_MAX);
			check_around(by, divisor, random_below(LBA_MAX / divisor));
		}
	}
}

/* What geometry_zone() must say, by division. */
static void check_zone(const struct geometry *geo, const struct memzbc_config *cfg, uint64_t lba)
{
	uint64_t slot = lba / cfg->zone_size;
	uint64_t start = slot * cfg->zone_size;
	uint64_t slots = (cfg->capacity + cfg->zone_size - 1) / cfg->zone_size;
	uint64_t end = start + cfg->zone_size;
	bool conv = slot < cfg->conv || slot >= slots - cfg->conv_end;
	uint8_t type = conv ? ZONE_TYPE_CONVENTIONAL : ZONE_TYPE_SWR;
	struct zone zone = geometry_zone(geo, lba);

	if (end > cfg->capacity)
		end = cfg->capacity;
	if (!conv && lba - start >= cfg->zone_cap) {
		type = ZONE_TYPE_GAP;
		start += cfg->zone_cap;
	} else if (!conv && end - start > cfg->zone_cap) {
		end = start + cfg->zone_cap;
	}
	if (zone.slot != slot || zone.start != start || zone.len != end - start ||
	    zone.type != type)
		fail_dev(NULL, __FILE__, __LINE__, "zone of LBA %llx, zone size %llx: seed %llu",
			 (unsigned long long)lba, (unsigned long long)cfg->zone_size,
			 (unsigned long long)random_seed_used());
}

static struct memzbc_config random_config(void)
{
	struct memzbc_config cfg = { .lba_size = 512, .pblk_size = 512 };
	uint64_t slots;

	cfg.zone_size = random_magnitude(39) + 1;
	cfg.zone_cap = random_below(2) ? cfg.zone_size : 1 + random_below(cfg.zone_size);
	slots = 1 + random_below(LBA_MAX / cfg.zone_size < 100000 ? LBA_MAX / cfg.zone_size :
								    100000);
	cfg.capacity = slots * cfg.zone_size - random_below(cfg.zone_size);
	cfg.conv = random_below(slots + 1);
	cfg.conv_end = random_below(slots - cfg.conv + 1);
	return cfg;
}

static void zones_of_random_geometries(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct memzbc_config cfg = random_config();
		struct geometry geo;

		geometry_init(&geo, &cfg);
		check_zone(&geo, &cfg, 0);
		check_zone(&geo, &cfg, cfg.capacity - 1);
		for (int k = 0; k < 50; k++)
			check_zone(&geo, &cfg, random_below(cfg.capacity));
	}
}

/* Every LBA of the geometries that the other tests use. */
static void zones_of_small_geometries(void **state)
{
	(void)state;
	for (size_t i = 0; i < geo_matrix_len; i++) {
		const struct geo *g = &geo_matrix[i];
		struct memzbc_config cfg = {
			.lba_size = g->lba_size, .pblk_size = g->pblk_size,
			.zone_size = g->zone_size, .zone_cap = g->zone_cap,
			.conv = g->conv, .conv_end = g->conv_end, .capacity = g->capacity,
		};
		struct geometry geo;

		geometry_init(&geo, &cfg);
		for (uint64_t lba = 0; lba < g->capacity; lba++)
			check_zone(&geo, &cfg, lba);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_size),
		cmocka_unit_test(sizes_around_powers_of_two),
		cmocka_unit_test(random_sizes),
		cmocka_unit_test(zones_of_random_geometries),
		cmocka_unit_test(zones_of_small_geometries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

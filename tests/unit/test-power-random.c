// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * cache, with writes, flushes and losses of power at random, against a reference that keeps a copy
 * of the whole medium for each write that is not durable.
 */
#include <memzbc/operate.h>

#include "fault-harness.h"

#define FUA 0x08
#define CONVENTIONAL 2u		/* zones of rig_geo */
#define ZONES 5u		/* that are used, from the first on */
#define ZONE_UNITS (2048u / STEP)
#define UNITS (ZONES * ZONE_UNITS)
#define USED 24u		/* units of each zone that are used */
#define WRITES_MAX 400u		/* not durable */

/* What the medium holds, in units of STEP blocks. */
struct medium {
	uint32_t generation[UNITS];
	uint32_t pointer[ZONES];	/* units from the start; conventional zones have none */
};

/* A write that is not durable. */
struct volatile_write {
	struct medium before;
	uint32_t first, count;		/* units */
};

static struct {
	struct rig *rig;
	struct medium now;
	struct volatile_write *writes;	/* the oldest first */
	uint32_t count;
	uint64_t cache;			/* units */
	uint32_t generation;
} ref;

static uint32_t zone_of(uint32_t unit)
{
	return unit / ZONE_UNITS;
}

static bool is_sequential(uint32_t zone)
{
	return zone >= CONVENTIONAL;
}

static void forget(uint32_t i)
{
	ref.count--;
	memmove(&ref.writes[i], &ref.writes[i + 1], (ref.count - i) * sizeof(*ref.writes));
}

static uint64_t units_held(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ref.count; i++)
		sum += ref.writes[i].count;
	return sum;
}

/*
 * @first to @first + @count are durable: no loss of power changes them any more, nor what lies
 * below them in a sequential zone.
 */
static void make_durable(uint32_t first, uint32_t count)
{
	uint32_t zone = zone_of(first), end = first + count, from = first;

	if (is_sequential(zone))
		from = zone * ZONE_UNITS;
	for (uint32_t i = 0; i < ref.count; i++) {
		struct medium *m = &ref.writes[i].before;

		memcpy(&m->generation[from], &ref.now.generation[from],
		       (end - from) * sizeof(m->generation[0]));
		if (is_sequential(zone) && m->pointer[zone] < end - zone * ZONE_UNITS)
			m->pointer[zone] = end - zone * ZONE_UNITS;
	}
	for (uint32_t i = ref.count; i > 0; i--) {
		const struct volatile_write *w = &ref.writes[i - 1];

		if (w->first >= from && w->first + w->count <= end)
			forget(i - 1);
	}
}

static void remember(uint32_t first, uint32_t count)
{
	struct volatile_write *w = &ref.writes[ref.count++];

	assert_true(ref.count < WRITES_MAX);
	*w = (struct volatile_write){ .before = ref.now, .first = first, .count = count };
	while (units_held() > ref.cache)
		forget(0);
}

static void random_write(void)
{
	uint32_t zone = (uint32_t)random_below(ZONES), start = zone * ZONE_UNITS;
	uint32_t count = 1 + (uint32_t)random_below(3);
	uint32_t first = start + (is_sequential(zone) ? ref.now.pointer[zone]
						      : (uint32_t)random_below(USED));
	bool durable = random_below(6) == 0;
	uint8_t data[3 * STEP * 512];
	struct cdb cdb = cdb_lba(WRITE_16, first * STEP, count * STEP);

	if (is_sequential(zone) && ref.now.pointer[zone] + count > USED)
		return;
	pattern(ref.rig->dev, data, first * STEP, count * STEP, ++ref.generation);
	expect_io_good(submit(ref.rig, durable ? cdb_with(cdb, 1, FUA) : cdb, data,
			      count * STEP * 512));
	if (!durable)
		remember(first, count);
	for (uint32_t i = 0; i < count; i++)
		ref.now.generation[first + i] = ref.generation;
	if (is_sequential(zone))
		ref.now.pointer[zone] += count;
	if (durable)
		make_durable(first, count);
}

static void random_reset(void)
{
	uint32_t zone = CONVENTIONAL + (uint32_t)random_below(ZONES - CONVENTIONAL);
	uint32_t first = zone * ZONE_UNITS;

	expect_io_good(submit_zone(ref.rig, SA_RESET_WRITE_POINTER, first * STEP));
	make_durable(first, ZONE_UNITS);
	memset(&ref.now.generation[first], 0, ZONE_UNITS * sizeof(ref.now.generation[0]));
	ref.now.pointer[zone] = 0;
	for (uint32_t i = 0; i < ref.count; i++) {
		struct medium *m = &ref.writes[i].before;

		memset(&m->generation[first], 0, ZONE_UNITS * sizeof(m->generation[0]));
		m->pointer[zone] = 0;
	}
}

static void random_synchronize(void)
{
	uint32_t zone = (uint32_t)random_below(CONVENTIONAL);
	uint32_t first = zone * ZONE_UNITS + (uint32_t)random_below(USED);
	uint32_t count = 1 + (uint32_t)random_below(6);

	if (random_below(2)) {
		expect_io_good(submit(ref.rig, cdb_lba(SYNCHRONIZE_CACHE_16, 0, 0), NULL, 0));
		ref.count = 0;
		return;
	}
	expect_io_good(submit(ref.rig, cdb_lba(SYNCHRONIZE_CACHE_16, first * STEP, count * STEP),
			      NULL, 0));
	make_durable(first, count);
}

static void check(void)
{
	for (uint32_t zone = 0; zone < ZONES; zone++) {
		uint64_t start = zone * ZONE_UNITS * STEP;

		if (is_sequential(zone))
			expect_zone(ref.rig->dev, start,
				    ref.now.pointer[zone] ? ZONE_CLOSED : ZONE_EMPTY,
				    start + ref.now.pointer[zone] * STEP);
		for (uint32_t i = 0; i < USED + 4; i++)
			expect_data(ref.rig->dev, start + i * STEP, STEP,
				    ref.now.generation[zone * ZONE_UNITS + i]);
	}
}

static void random_loss(void)
{
	uint64_t most = random_below(3) ? random_below(8) : UINT64_MAX;
	struct memzbc_power_loss loss = memzbc_device_power_loss(ref.rig->device, most);
	uint32_t lost = most < ref.count ? (uint32_t)most : ref.count;

	expect_eq(ref.rig->dev, loss.writes, lost);
	if (lost)
		ref.now = ref.writes[ref.count - lost].before;
	ref.count = 0;
	check();
}

static void run(uint64_t cache, int steps)
{
	memset(&ref, 0, sizeof(ref));
	ref.writes = calloc(WRITES_MAX, sizeof(*ref.writes));
	ref.cache = cache;
	ref.rig = rig_open(&rig_geo, &(struct memzbc_faults){ .cache = cache * STEP * 512 });
	for (int i = 0; i < steps; i++) {
		uint64_t dice = random_below(100);

		if (dice < 88)
			random_write();
		else if (dice < 93)
			random_reset();
		else if (dice < 97)
			random_synchronize();
		else
			random_loss();
	}
	random_loss();
	rig_close(ref.rig);
	free(ref.writes);
}

static void large_cache(void **state)
{
	(void)state;
	run(WRITES_MAX / 2, 4000);
}

static void small_cache(void **state)
{
	(void)state;
	for (uint64_t units = 1; units < 12; units++)
		run(units, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_cache),
		cmocka_unit_test(small_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * reorder: about one in N writes is held back until D later writes of its zone were executed or T
 * has passed. What overtakes it meets the write pointer as it is.
 */
#include <math.h>

#include "fault-harness.h"

#define FOR_EVER UINT32_MAX	/* reorder_depth */
#define SEEDS_MAX 5000

/* Writes whose being held back a test wants to know in advance: every one is STEP blocks. */
struct arrivals {
	const uint64_t *lbas;
	uint32_t count;
	bool conv;
};

/* One in two, and never again let go: which of the arrivals are held, as a bit mask. */
static uint32_t held_mask(struct rig *rig, const struct arrivals *a, uint64_t seed)
{
	const struct memzbc_faults faults = {
		.seed = seed, .reorder = 2, .reorder_depth = FOR_EVER, .reorder_time = HOUR,
		.reorder_conv = a->conv,
	};
	uint32_t mask = 0;

	rig_set(rig, &faults);
	for (uint32_t i = 0; i < a->count; i++)
		if (!submit_write(rig, a->lbas[i], STEP, 1)->order)
			mask |= 1u << i;
	rig_drain(rig);
	rig_forget(rig);
	expect_good(rig->dev, zone_action_all(rig->dev, SA_RESET_WRITE_POINTER));
	return mask;
}

/* A seed with which exactly the arrivals of @mask are held back, by reorder=2. */
static uint64_t seed_that_holds(const struct geo *geo, const struct arrivals *a, uint32_t mask)
{
	struct rig *rig = rig_open(geo, &(struct memzbc_faults){ 0 });
	uint64_t seed = 1;

	while (held_mask(rig, a, seed) != mask)
		if (++seed == SEEDS_MAX)
			fail_dev(rig->dev, __FILE__, __LINE__, "no seed holds %x", mask);
	rig_close(rig);
	return seed;
}

/* A device on which of these arrivals exactly those of @mask will be held back. */
static struct rig *open_that_holds(const struct geo *geo, const struct arrivals *a, uint32_t mask,
				   uint32_t depth, uint64_t time)
{
	const struct memzbc_faults faults = {
		.seed = seed_that_holds(geo, a, mask), .reorder = 2, .reorder_depth = depth,
		.reorder_time = time, .reorder_conv = a->conv,
	};

	return rig_open(geo, &faults);
}

#define ARRIVALS 8

/* The arrivals of most tests: the writes of one zone, one after another. */
static struct arrivals one_zone(uint64_t lbas[ARRIVALS])
{
	for (uint32_t i = 0; i < ARRIVALS; i++)
		lbas[i] = 2 * rig_geo.zone_size + (uint64_t)i * STEP;
	return (struct arrivals){ lbas, ARRIVALS, false };
}

static void one_in_n(void **state)
{
	static const uint32_t ns[] = { 2, 3, 10, 50, 200 };
	const uint32_t writes = 2000;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(ns) * 4; k++) {
		struct memzbc_faults faults = {
			.seed = 1 + k, .reorder = ns[k / 4], .reorder_depth = FOR_EVER,
			.reorder_time = HOUR,
		};
		struct rig *rig = rig_open(&rig_geo, &faults);
		double expected = (double)writes / ns[k / 4], held;

		for (uint32_t i = 0; i < writes; i++)
			submit_write(rig, rig_zone(rig, i % 8), STEP, 1);
		held = memzbc_device_held(rig->device);
		if (fabs(held - expected) > 5 * sqrt(expected))
			fail_dev(rig->dev, __FILE__, __LINE__, "N=%u: %g of %u held", ns[k / 4],
				 held, writes);
		rig_run(rig);
		rig_close(rig);
	}
}

/* What one run looks like: completions in their order, as number of the arrival and status. */
#define RUN_WRITES 300

struct outcome {
	uint32_t order[RUN_WRITES];
	uint64_t time[RUN_WRITES];
	uint8_t status[RUN_WRITES];
};

static void run_with_seed(uint64_t seed, struct outcome *out)
{
	const struct memzbc_faults faults = {
		.seed = seed, .reorder = 5, .reorder_depth = 3, .reorder_time = 2 * MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *ios[RUN_WRITES];

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < RUN_WRITES; i++) {
		ios[i] = submit_write(rig, rig_zone(rig, i % 3) + i / 3 * STEP, STEP, 1);
		rig_run_for(rig, 50 * US);
	}
	rig_run(rig);
	for (uint32_t i = 0; i < RUN_WRITES; i++) {
		out->order[i] = ios[i]->order;
		out->time[i] = ios[i]->completed;
		out->status[i] = io_status(ios[i]);
	}
	rig_close(rig);
}

static void seeded(void **state)
{
	struct outcome first, again, other;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		run_with_seed(seed, &first);
		run_with_seed(seed, &again);
		run_with_seed(seed + 1, &other);
		assert_memory_equal(&first, &again, sizeof(first));
		assert_memory_not_equal(&first.order, &other.order, sizeof(first.order));
	}
}

/* Setting the faults again, with the same seed, is a new beginning. */
static void sequences_start_anew(void **state)
{
	uint64_t lbas[ARRIVALS];
	const struct arrivals a = one_zone(lbas);
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ 0 });
	uint32_t mask = held_mask(rig, &a, 7);

	(void)state;
	for (int i = 0; i < 3; i++)
		expect_eq(rig->dev, held_mask(rig, &a, 7), mask);
	rig_close(rig);
}

/* The first is held back, and the others overtake it. */
static void until_depth(void **state)
{
	static const uint32_t depths[] = { 1, 2, 3, 5 };
	uint64_t lbas[ARRIVALS];
	const struct arrivals a = one_zone(lbas);

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(depths); k++) {
		uint32_t depth = depths[k];
		struct rig *rig = open_that_holds(&rig_geo, &a, 1, depth, HOUR);
		struct io *held = submit_write(rig, lbas[0], STEP, 1);

		for (uint32_t i = 1; i <= depth; i++) {
			expect_pending(held);
			expect_unaligned(submit_write(rig, lbas[i], STEP, 1), lbas[0]);
		}
		expect_io_good(held);
		expect_eq(rig->dev, held->order, depth + 1);
		expect_at(held, rig->now);
		expect_unaligned(submit_write(rig, lbas[depth + 1], STEP, 1), lbas[0] + STEP);
		expect_zone(rig->dev, lbas[0], ZONE_IMP_OPEN, lbas[0] + STEP);
		expect_data(rig->dev, lbas[0], STEP, 1);
		rig_close(rig);
	}
}

static void until_time(void **state)
{
	uint64_t lbas[ARRIVALS];
	const struct arrivals a = one_zone(lbas);
	struct rig *rig = open_that_holds(&rig_geo, &a, 1, 3, 7 * MS);
	struct io *held = submit_write(rig, lbas[0], STEP, 1);
	uint64_t due = rig->now + 7 * MS;

	(void)state;
	rig_run_until(rig, rig->now + 3 * MS);
	expect_unaligned(submit_write(rig, lbas[1], STEP, 1), lbas[0]);
	expect_unaligned(submit_write(rig, lbas[2], STEP, 1), lbas[0]);
	rig_run_until(rig, due - 1);
	expect_pending(held);
	rig_run_until(rig, due);
	expect_io_good(held);
	expect_at(held, due);
	rig_close(rig);
}

/* Other zones' writes, and all that is no write of a zone, do not count. */
static void only_writes_of_the_zone_count(void **state)
{
	const uint64_t zone = rig_geo_gaps.zone_size, start = 2 * zone, gap = start +
		rig_geo_gaps.zone_cap;
	const uint64_t lbas[] = {
		start, 3 * zone, zone, rig_geo_gaps.capacity - STEP, gap, rig_geo_gaps.capacity,
		rig_geo_gaps.capacity + 5, start + STEP,
	};
	const struct arrivals a = { lbas, ARRAY_SIZE(lbas), false };
	struct rig *rig = open_that_holds(&rig_geo_gaps, &a, 1, 1, HOUR);
	struct io *held = submit_write(rig, lbas[0], STEP, 1);

	(void)state;
	for (size_t i = 1; i + 1 < ARRAY_SIZE(lbas); i++) {
		io_status(submit_write(rig, lbas[i], STEP, 1));
		expect_pending(held);
	}
	expect_io_good(submit_read(rig, start, STEP));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, start));
	expect_io_good(submit_zone(rig, SA_CLOSE_ZONE, start));
	expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, start, STEP), NULL, 0));
	expect_pending(held);
	expect_unaligned(submit_write(rig, lbas[ARRAY_SIZE(lbas) - 1], STEP, 1), start);
	expect_io_good(held);
	rig_close(rig);
}

/* Which of six writes are held, how deep, and in which order they then complete. */
static const struct several {
	uint32_t mask, depth;
	const char *order;
} several_cases[] = {
	{ 0x03, 1, "201345" },	/* #2 lets both go, in the order of arrival */
	{ 0x03, 2, "230145" },
	{ 0x05, 1, "103245" },	/* #1 lets #0 go; #3 lets #2 go */
	{ 0x05, 2, "130425" },	/* #0 is no later write for #2 */
	{ 0x0d, 1, "104235" },
	{ 0x15, 1, "103254" },	/* #5 is a later write for #4 */
	{ 0x01, 4, "123405" },
	{ 0x08, 1, "012435" },
	{ 0x07, 1, "301245" },
	{ 0x00, 1, "012345" },
};

static void several_at_once(void **state)
{
	uint64_t lbas[ARRIVALS];
	struct arrivals a = one_zone(lbas);

	(void)state;
	a.count = 6;
	for (size_t k = 0; k < ARRAY_SIZE(several_cases); k++) {
		const struct several *c = &several_cases[k];
		struct rig *rig = open_that_holds(&rig_geo, &a, c->mask, c->depth, HOUR);
		uint64_t wp = lbas[0];
		struct io *ios[6];

		for (uint32_t i = 0; i < 6; i++)
			ios[i] = submit_write(rig, lbas[i], STEP, 1 + i);
		for (uint32_t i = 0; i < 6; i++) {
			struct io *io = ios[c->order[i] - '0'];

			if (io->order != i + 1)
				fail_dev(rig->dev, __FILE__, __LINE__,
					 "held %x, depth %u: #%c completed as %u, not %u", c->mask,
					 c->depth, c->order[i], io->order, i + 1);
			if (io->lba != wp) {
				expect_unaligned(io, wp);
				continue;
			}
			expect_io_good(io);
			wp += STEP;
		}
		rig_close(rig);
	}
}

/* N=1: each is held back, so none is overtaken before the first has waited long enough. */
static void every_write(void **state)
{
	const struct memzbc_faults faults = {
		.reorder = 1, .reorder_depth = 1, .reorder_time = 10 * MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *ios[100];

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		ios[i] = submit_write(rig, rig_zone(rig, 0) + i * STEP, STEP, i + 1);
		rig_run_for(rig, 5 * US);
	}
	for (uint32_t i = 0; i < 100; i++)
		expect_pending(ios[i]);
	rig_run(rig);
	for (uint32_t i = 0; i < 100; i++) {
		expect_io_good(ios[i]);
		expect_eq(rig->dev, ios[i]->order, i + 1);
		expect_at(ios[i], ios[i]->submitted + 10 * MS);
	}
	rig_close(rig);
}

/* One write alone waits for its time; nothing else is touched by it. */
static void only_writes_are_held(void **state)
{
	const struct memzbc_faults faults = {
		.reorder = 1, .reorder_depth = 1, .reorder_time = 10 * MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t zone = rig_zone(rig, i % 4);

		expect_io_good(submit_read(rig, zone, STEP));
		expect_io_good(submit_write(rig, i * STEP, STEP, 1));	/* conventional */
		expect_io_good(submit_read(rig, i * STEP, STEP));
		expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
		expect_io_good(submit(rig, cdb_report_zones(0, 0, 4096), NULL, 4096));
		expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, 0, 0), NULL, 0));
		expect_io_good(submit(rig, (struct cdb){ .b = { TEST_UNIT_READY } }, NULL, 0));
	}
	/* Nor is what no zone takes. */
	expect_io_sense(submit_write(rig, rig_geo.capacity, STEP, 1), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	rig_close(rig);
}

static void every_opcode(void **state)
{
	static const uint8_t opcodes[] = {
		WRITE_6, WRITE_10, WRITE_12, WRITE_16, WRITE_SAME_10, WRITE_SAME_16,
	};
	const struct memzbc_faults faults = {
		.reorder = 1, .reorder_depth = 1, .reorder_time = 10 * MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t lba = rig_zone(rig, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct io *io = submit_write_with(rig, opcodes[i], lba, STEP, 1);

		expect_pending(io);
		rig_run(rig);
		expect_io_good(io);
		expect_at(io, io->submitted + 10 * MS);
		lba += STEP;
	}
	rig_close(rig);
}

/* Conventional zones, by key: only the order changes, and the last one executed stays. */
static void conventional(void **state)
{
	const uint64_t lbas[] = { 0, 0, 2 * STEP, 0 };
	const struct arrivals a = { lbas, ARRAY_SIZE(lbas), true };
	struct rig *rig = open_that_holds(&rig_geo, &a, 1, 2, HOUR);
	struct io *ios[ARRAY_SIZE(lbas)];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(lbas); i++) {
		ios[i] = submit_write(rig, lbas[i], STEP, 1 + i);
		if (i == 1)
			expect_data(rig->dev, 0, STEP, 2);
		if (i == 2)
			expect_data(rig->dev, 0, STEP, 1);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(lbas); i++)
		expect_io_good(ios[i]);
	expect_order(ios[1], ios[2]);
	expect_order(ios[2], ios[0]);
	expect_order(ios[0], ios[3]);
	expect_data(rig->dev, 0, STEP, 4);
	expect_data(rig->dev, 2 * STEP, STEP, 3);
	rig_close(rig);
}

/* Two conventional zones, as two sequential ones, have nothing to do with each other. */
static void conventional_zones_apart(void **state)
{
	const uint64_t lbas[] = { 0, rig_geo.zone_size, 2 * rig_geo.zone_size, STEP };
	const struct arrivals a = { lbas, ARRAY_SIZE(lbas), true };
	struct rig *rig = open_that_holds(&rig_geo, &a, 1, 1, HOUR);
	struct io *held = submit_write(rig, lbas[0], STEP, 1);

	(void)state;
	expect_io_good(submit_write(rig, lbas[1], STEP, 1));
	expect_io_good(submit_write(rig, lbas[2], STEP, 1));
	expect_pending(held);
	expect_io_good(submit_write(rig, lbas[3], STEP, 1));
	expect_io_good(held);
	rig_close(rig);
}

/* What is held goes on at once when reorder is switched off, in the order of arrival. */
static void switched_off(void **state)
{
	struct memzbc_faults faults = {
		.reorder = 1, .reorder_depth = FOR_EVER, .reorder_time = HOUR, .stats = true,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *ios[20];

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		ios[i] = submit_write(rig, rig_zone(rig, 0) + i * STEP, STEP, 1 + i);
	faults.seed = 5;	/* no reason to let go */
	rig_set(rig, &faults);
	expect_eq(rig->dev, memzbc_device_held(rig->device), 20);
	faults.reorder = 0;
	rig_set(rig, &faults);
	for (uint32_t i = 0; i < 20; i++) {
		expect_io_good(ios[i]);
		expect_at(ios[i], rig->now);
		expect_eq(rig->dev, ios[i]->order, i + 1);
	}
	expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
	rig_close(rig);
}

static void drained(void **state)
{
	const struct memzbc_faults faults = {
		.reorder = 1, .reorder_depth = FOR_EVER, .reorder_time = HOUR,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *ios[20];

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		ios[i] = submit_write(rig, rig_zone(rig, 0) + i * STEP, STEP, 1 + i);
	rig_drain(rig);
	for (uint32_t i = 0; i < 20; i++) {
		expect_io_good(ios[i]);
		expect_at(ios[i], rig->now);
	}
	rig_close(rig);
}

/* Held back by reorder, and then by hold: each counts for itself. */
static void then_held(void **state)
{
	const uint64_t start = 2 * rig_geo.zone_size;
	const uint64_t lbas[] = {
		start + 9 * STEP, start, start + STEP, start + 2 * STEP, start + 3 * STEP,
	};
	const struct arrivals a = { lbas, ARRAY_SIZE(lbas), false };
	struct memzbc_faults faults = {
		.seed = seed_that_holds(&rig_geo, &a, 1), .reorder = 2, .reorder_depth = 2,
		.reorder_time = HOUR, .hold = 1, .hold_time = HOUR, .hold_attempts = 2,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *kept = submit_write(rig, lbas[0], STEP, 1);

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(lbas); i++) {
		expect_pending(kept);
		expect_io_good(submit_write(rig, lbas[i], STEP, 1));
	}
	expect_unaligned(kept, start + 4 * STEP);
	rig_close(rig);
}

/* At the end, what is held back still helps those who wait for it. */
static void drained_with_hold(void **state)
{
	const struct memzbc_faults reordering = {
		.reorder = 1, .reorder_depth = FOR_EVER, .reorder_time = HOUR,
	};
	const struct memzbc_faults both = {
		.reorder = 1000000, .reorder_depth = FOR_EVER, .reorder_time = HOUR, .hold = 9,
		.hold_time = MS,
	};
	struct rig *rig = rig_open(&rig_geo, &reordering);
	uint64_t zone = rig_zone(rig, 0);
	struct io *first = submit_write(rig, zone, STEP, 1), *second;

	(void)state;
	rig_set(rig, &both);
	second = submit_write(rig, zone + STEP, STEP, 2);
	expect_pending(first);
	expect_pending(second);
	rig_drain(rig);
	expect_io_good(first);
	expect_io_good(second);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_in_n),
		cmocka_unit_test(seeded),
		cmocka_unit_test(sequences_start_anew),
		cmocka_unit_test(until_depth),
		cmocka_unit_test(until_time),
		cmocka_unit_test(only_writes_of_the_zone_count),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(every_write),
		cmocka_unit_test(only_writes_are_held),
		cmocka_unit_test(every_opcode),
		cmocka_unit_test(conventional),
		cmocka_unit_test(conventional_zones_apart),
		cmocka_unit_test(switched_off),
		cmocka_unit_test(drained),
		cmocka_unit_test(then_held),
		cmocka_unit_test(drained_with_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * hold: a write above the write pointer of its zone is kept until the pointer arrives, and nobody
 * else waits meanwhile. test-hold-end.c has how else it can end.
 */
#include "fault-harness.h"

#define CHAIN 64

/* Orders in which a chain of writes arrives. */
static void reversed(unsigned int *order, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		order[i] = count - 1 - i;
}

static void in_order(unsigned int *order, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		order[i] = i;
}

static void odd_ones_first(unsigned int *order, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		order[i] = i < count / 2 ? 2 * i + 1 : 2 * (i - count / 2);
}

static void first_one_last(unsigned int *order, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		order[i] = (i + 1) % count;
}

static void shuffled(unsigned int *order, unsigned int count)
{
	in_order(order, count);
	shuffle(order, count);
}

static const struct chain {
	void (*arrange)(unsigned int *order, unsigned int count);
	int times;
} chains[] = {
	{ reversed, 1 }, { in_order, 1 }, { odd_ones_first, 1 }, { first_one_last, 1 },
	{ shuffled, 30 },
};

/* A chain of writes of one to four physical blocks, with data of their own. */
static void run_chain(struct rig *rig, uint64_t zone, const unsigned int *order)
{
	uint64_t lbas[CHAIN + 1] = { zone };
	struct io *ios[CHAIN];

	for (unsigned int i = 0; i < CHAIN; i++)
		lbas[i + 1] = lbas[i] + (1 + random_below(4)) * STEP;
	for (unsigned int i = 0; i < CHAIN; i++) {
		unsigned int k = order[i];

		ios[k] = submit_write(rig, lbas[k], lbas[k + 1] - lbas[k], k + 1);
	}
	for (unsigned int i = 0; i < CHAIN; i++) {
		expect_io_good(ios[i]);
		expect_at(ios[i], rig->now);
		expect_data(rig->dev, lbas[i], lbas[i + 1] - lbas[i], i + 1);
		if (i > 0)
			expect_order(ios[i - 1], ios[i]);
	}
	expect_zone(rig->dev, zone, lbas[CHAIN] == zone + rig_geo.zone_cap ? ZONE_FULL :
		    ZONE_IMP_OPEN, lbas[CHAIN]);
}

static void chains_heal(void **state)
{
	struct rig *rig = rig_open_holding(CHAIN, SECOND);
	unsigned int order[CHAIN];

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(chains); c++) {
		for (int k = 0; k < chains[c].times; k++) {
			uint64_t zone = rig_zone(rig, (uint32_t)k % 10);

			chains[c].arrange(order, CHAIN);
			run_chain(rig, zone, order);
			expect_good(rig->dev,
				    zone_action(rig->dev, SA_RESET_WRITE_POINTER, zone));
		}
	}
	expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
	rig_close(rig);
}

/* All zones at once, in one shuffled stream. */
static void chains_of_all_zones(void **state)
{
	enum { ZONES = 10, WRITES = ZONES * CHAIN };
	struct rig *rig = rig_open_holding(CHAIN, SECOND);
	static struct io *ios[WRITES];
	unsigned int order[WRITES];

	(void)state;
	shuffled(order, WRITES);
	for (unsigned int i = 0; i < WRITES; i++) {
		unsigned int k = order[i];

		ios[k] = submit_write(rig, rig_zone(rig, k / CHAIN) + k % CHAIN * STEP, STEP,
				      k + 1);
	}
	for (unsigned int k = 0; k < WRITES; k++) {
		expect_io_good(ios[k]);
		expect_data(rig->dev, ios[k]->lba, STEP, k + 1);
	}
	rig_close(rig);
}

/* N in each zone; the next one fails at once, and a place that becomes free is taken. */
static void at_most_n(void **state)
{
	static const uint32_t limits[] = { 1, 2, 8, 63 };

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(limits); c++) {
		uint32_t n = limits[c];
		struct rig *rig = rig_open_holding(n, SECOND);
		struct io *kept[2][64];

		for (uint32_t z = 0; z < 2; z++) {
			uint64_t zone = rig_zone(rig, z);

			for (uint32_t i = 0; i < n; i++)
				kept[z][i] = submit_write(rig, zone + (i + 1) * STEP, STEP, 1);
			expect_unaligned(submit_write(rig, zone + (n + 1) * STEP, STEP, 1), zone);
			for (uint32_t i = 0; i < n; i++)
				expect_pending(kept[z][i]);
		}
		for (uint32_t z = 0; z < 2; z++) {
			uint64_t zone = rig_zone(rig, z);

			expect_io_good(submit_write(rig, zone, STEP, 1));
			for (uint32_t i = 0; i < n; i++)
				expect_io_good(kept[z][i]);
			expect_pending(submit_write(rig, zone + (n + 2) * STEP, STEP, 1));
		}
		rig_drain(rig);
		rig_close(rig);
	}
}

/* A hole in one zone is nobody else's business. */
static void nobody_else_waits(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 0), other = rig_zone(rig, 1);
	struct io *kept[4];
	struct io *io;

	(void)state;
	expect_io_good(submit_write(rig, zone, STEP, 1));
	for (uint32_t i = 0; i < 4; i++)
		kept[i] = submit_write(rig, zone + (i + 2) * STEP, STEP, i + 2);
	expect_io_good(submit_read(rig, zone, 8 * STEP));
	expect_io_good(submit_read(rig, other, STEP));
	expect_io_good(submit_write(rig, other, STEP, 1));
	expect_io_good(submit_write(rig, 0, 3, 1));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_io_good(submit_zone(rig, SA_FINISH_ZONE, other));
	expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, other));
	expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 0), NULL, 0));
	expect_io_good(submit(rig, (struct cdb){ .b = { TEST_UNIT_READY } }, NULL, 0));
	io = submit(rig, cdb_report_zones(zone, REPORT_PARTIAL, 2 * ZONE_DESC_LEN), NULL,
		    2 * ZONE_DESC_LEN);
	expect_io_good(io);
	expect_eq(rig->dev, get_be64(io->data + ZONE_DESC_LEN + 24), zone + STEP);
	for (uint32_t i = 0; i < 4; i++)
		expect_pending(kept[i]);
	expect_io_good(submit_write(rig, zone + STEP, STEP, 1));
	for (uint32_t i = 0; i < 4; i++)
		expect_io_good(kept[i]);
	rig_close(rig);
}

/* The last block of the zone, and a long time until its turn comes. */
static void to_the_end(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 0), end = zone + rig_geo.zone_cap;
	struct io *kept = submit_write(rig, end - STEP, STEP, 2);

	(void)state;
	for (uint64_t lba = zone; lba < end - STEP; lba += STEP) {
		expect_pending(kept);
		expect_io_good(submit_write(rig, lba, STEP, 1));
	}
	expect_io_good(kept);
	expect_zone(rig->dev, zone, ZONE_FULL, end);
	rig_close(rig);
}

static void every_opcode(void **state)
{
	static const uint8_t opcodes[] = {
		WRITE_6, WRITE_10, WRITE_12, WRITE_16, WRITE_SAME_10, WRITE_SAME_16,
	};
	struct rig *rig = rig_open_holding(ARRAY_SIZE(opcodes), HOUR);
	uint64_t zone = rig_zone(rig, 0);
	struct io *kept[ARRAY_SIZE(opcodes)];

	(void)state;
	for (size_t i = ARRAY_SIZE(opcodes); i-- > 0;) {
		kept[i] = submit_write_with(rig, opcodes[i], zone + (i + 1) * STEP, STEP, 1);
		expect_pending(kept[i]);
	}
	expect_io_good(submit_write(rig, zone, STEP, 1));
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		expect_io_good(kept[i]);
	rig_close(rig);
}

/*
 * An initiator with 32 writes of a zone under way, on a device that reorders and holds: the one
 * heals what the other does.
 */
#define WINDOW 32
#define HEALED_WRITES 200

static void run_stream(struct rig *rig, uint64_t zone)
{
	uint32_t sent = 0;

	while (sent < HEALED_WRITES) {
		while (sent < HEALED_WRITES && memzbc_device_held(rig->device) < WINDOW) {
			submit_write(rig, zone + sent * STEP, STEP, sent + 1);
			sent++;
			rig_run_for(rig, random_below(20 * US));
		}
		if (rig->armed != MEMZBC_NEVER)
			rig_run_until(rig, rig->armed);
	}
	rig_run(rig);
}

static void heals_reorder(void **state)
{
	static const uint32_t ns[] = { 1, 2, 3, 8, 40 };
	static const uint32_t depths[] = { 1, 2, 7, 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ns) * ARRAY_SIZE(depths); i++) {
		const struct memzbc_faults faults = {
			.seed = i, .reorder = ns[i % ARRAY_SIZE(ns)],
			.reorder_depth = depths[i / ARRAY_SIZE(ns)], .reorder_time = 3 * MS,
			.hold = WINDOW, .hold_time = 4 * MS,
		};
		struct rig *rig = rig_open(&rig_geo, &faults);

		run_stream(rig, rig_zone(rig, 2));
		for (struct io *io = rig->ios; io; io = io->next) {
			expect_io_good(io);
			expect_true(rig->dev, io->completed - io->submitted <= 7 * MS);
			expect_data(rig->dev, io->lba, STEP, io->generation);
		}
		expect_zone(rig->dev, rig_zone(rig, 2), ZONE_IMP_OPEN,
			    rig_zone(rig, 2) + HEALED_WRITES * STEP);
		rig_close(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_heal),
		cmocka_unit_test(chains_of_all_zones),
		cmocka_unit_test(at_most_n),
		cmocka_unit_test(nobody_else_waits),
		cmocka_unit_test(to_the_end),
		cmocka_unit_test(every_opcode),
		cmocka_unit_test(heals_reorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

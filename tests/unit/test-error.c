// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * error: which commands a rule hits, and what they answer. test-error-effect.c has what they leave
 * behind.
 */
#include <math.h>

#include "fault-harness.h"

#define TASK_SET_FULL 0x28
#define RESERVATION_CONFLICT 0x18

/* One command of each class on the zone at @zone, which is open and holds a block. */
static struct io *submit_class(struct rig *rig, enum memzbc_class class, uint64_t zone)
{
	switch (class) {
	case MEMZBC_CLASS_READ:
		return submit_read(rig, zone, STEP);
	case MEMZBC_CLASS_WRITE:
		return submit_write(rig, zone + STEP, STEP, 2);
	case MEMZBC_CLASS_ZONE:
		return submit_zone(rig, SA_RESET_WRITE_POINTER, zone);
	case MEMZBC_CLASS_SYNC:
		return submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, zone, STEP), NULL, 0);
	default:
		return submit(rig, cdb_report_zones(zone, REPORT_PARTIAL, 4096), NULL, 4096);
	}
}

/* All classes end with what @expect says, and nothing happens. */
static void all_classes_fail(struct rig *rig, uint8_t status, uint8_t key, uint16_t asc)
{
	uint64_t zone = rig_zone(rig, 0);
	struct snapshot *before;

	expect_good(rig->dev, write_blocks(rig->dev, zone, STEP, 1));
	before = snapshot_take(rig->dev);
	for (int class = 0; class < MEMZBC_CLASSES; class++) {
		struct io *io = submit_class(rig, (enum memzbc_class)class, zone);

		expect_eq(rig->dev, io_status(io), status);
		expect_eq(rig->dev, rig->dev->sense.key, key);
		expect_eq(rig->dev, rig->dev->sense.asc, asc);
		expect_true(rig->dev, !rig->dev->sense.valid && !rig->dev->sense.sksv);
		for (size_t i = 0; io->in && i < io->len; i++)
			expect_eq(rig->dev, io->data[i], 0xaa);
	}
	snapshot_compare(rig->dev, before, "failed commands", __FILE__, __LINE__);
}

static void any_sense(void **state)
{
	static const struct {
		uint8_t key;
		uint16_t asc;
	} senses[] = {
		{ HARDWARE_ERROR, 0x4400 }, { 0x0b, 0x0000 }, { 0x0b, 0x4703 },
		{ NOT_READY, 0x0401 }, { 0x01, 0x1701 }, { 0x06, 0x2900 }, { 0x00, 0x0000 },
		{ 0x0f, 0xffff }, { ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(senses); i++) {
		for (int desc = 0; desc < 2; desc++) {
			struct rig *rig = rig_open_failing(&rig_geo, RULE(
				.kind = MEMZBC_ERROR_SENSE, .key = senses[i].key,
				.asc = senses[i].asc));

			set_d_sense(rig->dev, desc);
			all_classes_fail(rig, SAM_STAT_CHECK_CONDITION, senses[i].key,
					 senses[i].asc);
			expect_eq(rig->dev, rig->dev->sense.format, desc ? 0x72 : 0x70);
			rig_close(rig);
		}
	}
}

static void statuses(void **state)
{
	static const uint8_t values[] = { SAM_STAT_BUSY, TASK_SET_FULL, RESERVATION_CONFLICT };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct rig *rig = rig_open_failing(&rig_geo, RULE(
			.kind = MEMZBC_ERROR_STATUS, .status = values[i]));

		all_classes_fail(rig, values[i], 0, 0);
		rig_close(rig);
	}
}

static void by_class(void **state)
{
	(void)state;
	for (unsigned int mask = 1; mask <= MEMZBC_CLASSES_ALL; mask++) {
		struct rig *rig = rig_open_failing(&rig_geo, SENSE_RULE(.classes = mask));
		uint64_t zone = rig_zone(rig, 0);

		expect_good(rig->dev, write_blocks(rig->dev, zone, STEP, 1));
		for (int class = MEMZBC_CLASSES - 1; class >= 0; class--) {
			struct io *io = submit_class(rig, (enum memzbc_class)class, zone);

			if (mask & 1u << class)
				expect_hit(io);
			else
				io_status(io);
			expect_eq(rig->dev, rig->dev->sense.key == HARDWARE_ERROR,
				  mask >> class & 1);
		}
		rig_close(rig);
	}
}

static void by_opcode(void **state)
{
	struct rig *rig = rig_open_failing(&rig_geo, SENSE_RULE(.opcode = WRITE_10));
	uint64_t zone = rig_zone(rig, 0);

	(void)state;
	expect_hit(submit_write_with(rig, WRITE_10, zone, STEP, 1));
	expect_io_good(submit_write_with(rig, WRITE_16, zone, STEP, 1));
	expect_io_good(submit_write_with(rig, WRITE_SAME_10, zone + STEP, STEP, 1));
	expect_io_good(submit(rig, cdb_lba(READ_10, zone, STEP), NULL, STEP * 512));
	rig_close(rig);

	rig = rig_open_failing(&rig_geo, SENSE_RULE(.opcode = ZBC_OUT,
						.service_action = SA_FINISH_ZONE));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_hit(submit_zone(rig, SA_FINISH_ZONE, zone));
	expect_hit(submit(rig, cdb_zone_all(SA_FINISH_ZONE), NULL, 0));
	expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	rig_close(rig);

	rig = rig_open_failing(&rig_geo, SENSE_RULE(.opcode = ZBC_OUT));
	expect_hit(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_hit(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	expect_io_good(submit(rig, cdb_report_zones(zone, REPORT_PARTIAL, 4096), NULL, 4096));
	rig_close(rig);

	/* An opcode outside of the classes is none of the rule's. */
	rig = rig_open_failing(&rig_geo, SENSE_RULE(.classes = C_READ, .opcode = WRITE_16));
	expect_io_good(submit_write(rig, zone, STEP, 1));
	expect_io_good(submit_read(rig, zone, STEP));
	rig_close(rig);
}

/* LBAs 1000 to 1003, in a conventional zone. */
static void by_range(void **state)
{
	static const struct {
		uint64_t lba, blocks;
		bool hit;
	} cases[] = {
		{ 0, 1000, false }, { 0, 1001, true }, { 999, 1, false }, { 999, 2, true },
		{ 999, 6, true }, { 1000, 1, true }, { 1001, 2, true }, { 1003, 1, true },
		{ 1003, 9, true }, { 1004, 1, false }, { 1004, 500, false }, { 1001, 0, false },
		{ 0, 2047, true }, { 2047, 1, false },
	};
	struct rig *rig = rig_open_failing(&rig_geo, SENSE_RULE(.has_range = true, .first = 1000,
							    .last = 1003));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct io *ios[] = {
			submit_read(rig, cases[i].lba, cases[i].blocks),
			submit_write(rig, cases[i].lba, cases[i].blocks, 1),
			submit(rig, cdb_lba(VERIFY_10, cases[i].lba, cases[i].blocks), NULL, 0),
		};

		for (size_t k = 0; k < ARRAY_SIZE(ios); k++) {
			if (cases[i].hit)
				expect_hit(ios[k]);
			else
				expect_io_good(ios[k]);
		}
	}
	rig_close(rig);
}

/* Commands without a length, or whose length 0 means something. */
/* A zone command is about all of its zones, wherever in them the range is. */
static void by_range_zone_commands(void **state)
{
	const uint64_t size = rig_geo.zone_size, zone = 3 * size;
	struct rig *rig = rig_open_failing(&rig_geo, SENSE_RULE(.has_range = true,
							    .first = zone + 1,
							    .last = zone + size - 1));
	struct cdb all = { { ZBC_OUT, SA_RESET_WRITE_POINTER, [14] = 1 } };

	(void)state;
	expect_hit(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	expect_hit(submit_zone(rig, SA_FINISH_ZONE, zone));
	expect_hit(submit(rig, all, "", 0));
	expect_hit(submit(rig, cdb_zone_count(SA_RESET_WRITE_POINTER, zone - size, 2), "", 0));
	expect_io_good(submit(rig, cdb_zone_count(SA_RESET_WRITE_POINTER, zone - size, 1), "", 0));
	expect_io_good(submit(rig, cdb_zone_count(SA_RESET_WRITE_POINTER, zone + size, 2), "", 0));
	rig_close(rig);
}

static void by_range_other_commands(void **state)
{
	const uint64_t zone = 3 * rig_geo.zone_size;
	struct rig *rig = rig_open_failing(&rig_geo, SENSE_RULE(.has_range = true, .first = zone,
							    .last = zone + 9));

	(void)state;
	expect_hit(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	expect_hit(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, zone - rig_geo.zone_size));
	expect_io_good(submit_zone(rig, SA_FINISH_ZONE, zone + rig_geo.zone_size));
	/* NUMBER OF BLOCKS 0 is all up to the end. */
	expect_hit(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 0), NULL, 0));
	expect_hit(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, zone + 9, 0), NULL, 0));
	expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, zone + 10, 0), NULL, 0));
	expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, 0, zone), NULL, 0));
	expect_hit(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_16, 0, zone + 1), NULL, 0));
	expect_io_good(submit(rig, (struct cdb){ .b = { TEST_UNIT_READY } }, NULL, 0));
	expect_io_good(submit(rig, cdb_report_zones(zone, REPORT_PARTIAL, 4096), NULL, 4096));
	rig_close(rig);
}

static void probability(void **state)
{
	static const uint32_t values[] = { 0, 1, 1000, 50000, 250000, 500000, 999000, SURE };
	const uint32_t commands = 4000;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values) * 3; i++) {
		double p = values[i / 3] / (double)SURE, expected = p * commands;
		struct memzbc_faults faults = {
			.seed = i, .error_rules = 1, .error = { SENSE_RULE() },
		};
		uint32_t hits = 0;
		struct rig *rig;

		faults.error[0].probability = values[i / 3];
		rig = rig_open(&rig_geo, &faults);
		for (uint32_t k = 0; k < commands; k++)
			hits += submit_read(rig, k, 1)->status != SAM_STAT_GOOD;
		if (fabs(hits - expected) > 5 * sqrt(expected * (1 - p)) + (p > 0 && p < 1))
			fail_dev(rig->dev, __FILE__, __LINE__, "p=%g: %u of %u", p, hits, commands);
		rig_close(rig);
	}
}

/* Which of 256 commands are hit, as bits. */
static void hits_of_seed(uint64_t seed, uint32_t rules, uint64_t bits[4])
{
	struct memzbc_faults faults = { .seed = seed, .error_rules = rules };
	struct rig *rig;

	for (uint32_t i = 0; i < rules; i++)
		faults.error[i] = SENSE_RULE(.probability = SURE / 4);
	rig = rig_open(&rig_geo, &faults);
	memset(bits, 0, 4 * sizeof(*bits));
	for (uint32_t k = 0; k < 256; k++)
		if (submit_read(rig, 0, 1)->status != SAM_STAT_GOOD)
			bits[k / 64] |= 1ull << k % 64;
	rig_close(rig);
}

static void seeded(void **state)
{
	uint64_t first[4], again[4], other[4];

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		hits_of_seed(seed, 1, first);
		hits_of_seed(seed, 1, again);
		hits_of_seed(seed + 1, 1, other);
		assert_memory_equal(first, again, sizeof(first));
		assert_memory_not_equal(first, other, sizeof(first));
		/* Two rules with the same probability are not one: together they hit more. */
		hits_of_seed(seed, 2, other);
		assert_memory_not_equal(first, other, sizeof(first));
	}
}

/* Each rule has a sequence of its own. */
static void independent(void **state)
{
	struct memzbc_faults faults = { .error_rules = 2 };
	uint32_t same = 0;
	struct rig *rig;

	(void)state;
	faults.error[0] = SENSE_RULE(.probability = SURE / 2, .opcode = READ_16);
	faults.error[1] = SENSE_RULE(.probability = SURE / 2, .opcode = VERIFY_16);
	rig = rig_open(&rig_geo, &faults);
	for (uint32_t k = 0; k < 400; k++) {
		struct io *read = submit_read(rig, 0, 1);
		struct io *verify = submit(rig, cdb_lba(VERIFY_16, 0, 1), NULL, 0);

		same += read->status == verify->status;
	}
	expect_true(rig->dev, same > 150 && same < 250);
	rig_close(rig);
}

static void counted(void **state)
{
	struct memzbc_faults faults = {
		.error_rules = 1, .error = { SENSE_RULE(.count = 3, .opcode = READ_16) },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			expect_io_good(submit_write(rig, 0, 1, 1));
			expect_hit(submit_read(rig, 0, 1));
		}
		for (int i = 0; i < 5; i++)
			expect_io_good(submit_read(rig, 0, 1));
		rig_set(rig, &faults);	/* counts start anew */
		expect_hit(submit_read(rig, 0, 1));
		rig_set(rig, &faults);
	}
	rig_close(rig);
}

/* The first rule that hits counts, and each has a count of its own. */
static void many_rules(void **state)
{
	struct memzbc_faults faults = { .error_rules = MEMZBC_ERROR_RULES_MAX };
	struct rig *rig;

	(void)state;
	for (uint32_t i = 0; i < MEMZBC_ERROR_RULES_MAX; i++)
		faults.error[i] = RULE(.kind = MEMZBC_ERROR_SENSE, .key = HARDWARE_ERROR,
				       .asc = (uint16_t)(i + 1), .count = i + 1);
	rig = rig_open(&rig_geo, &faults);
	for (uint32_t i = 0; i < MEMZBC_ERROR_RULES_MAX; i++)
		for (uint32_t k = 0; k <= i; k++)
			expect_io_sense(submit_read(rig, 0, 1), HARDWARE_ERROR, i + 1);
	expect_io_good(submit_read(rig, 0, 1));
	rig_close(rig);
}

/* NOT READY, becoming ready after a second. */
static void time_limit(void **state)
{
	struct rig *rig = rig_open_failing(&rig_geo, RULE(
		.kind = MEMZBC_ERROR_SENSE, .key = NOT_READY, .asc = 0x0401, .time = SECOND));
	uint64_t start = rig->now;

	(void)state;
	expect_io_sense(submit_read(rig, 0, 1), NOT_READY, 0x0401);
	rig_run_until(rig, start + SECOND - 1);
	expect_io_sense(submit_read(rig, 0, 1), NOT_READY, 0x0401);
	rig_run_until(rig, start + SECOND);
	expect_io_good(submit_read(rig, 0, 1));
	rig_run_until(rig, start + 100 * SECOND);
	expect_io_good(submit_read(rig, 0, 1));
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_sense),
		cmocka_unit_test(statuses),
		cmocka_unit_test(by_class),
		cmocka_unit_test(by_opcode),
		cmocka_unit_test(by_range),
		cmocka_unit_test(by_range_zone_commands),
		cmocka_unit_test(by_range_other_commands),
		cmocka_unit_test(probability),
		cmocka_unit_test(seeded),
		cmocka_unit_test(independent),
		cmocka_unit_test(counted),
		cmocka_unit_test(many_rules),
		cmocka_unit_test(time_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

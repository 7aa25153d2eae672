// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * error: what commands that fail leave behind: good blocks, write pointers, late answers.
 */
#include "fault-harness.h"
#include "model.h"

/* The good blocks before the first bad one are there, and nothing is said of those behind it. */
static void medium_read(void **state)
{
	static const uint8_t opcodes[] = { READ_6, READ_10, READ_12, READ_16 };
	static const struct {
		uint64_t lba, blocks, good;
	} cases[] = {
		{ 0, 101, 100 }, { 0, 200, 100 }, { 99, 2, 1 }, { 60, 64, 40 }, { 100, 1, 0 },
		{ 101, 7, 0 }, { 102, 1, 0 },
	};
	struct rig *rig = rig_open_failing(&rig_geo, MEDIUM_RULE(100, 102, .classes = C_READ));

	(void)state;
	expect_good(rig->dev, write_blocks(rig->dev, 0, 300, 7));
	for (size_t i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(opcodes); i++) {
		uint64_t lba = cases[i / 4].lba, blocks = cases[i / 4].blocks;
		uint64_t good = cases[i / 4].good;
		uint8_t want[100 * 512];
		struct io *io = submit(rig, cdb_lba(opcodes[i % 4], lba, blocks), NULL,
				       blocks * 512);

		expect_io_info(io, MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR, lba + good);
		pattern(rig->dev, want, lba, good, 7);
		assert_memory_equal(io->data, want, good * 512);
		expect_io_info(submit(rig, cdb_lba(VERIFY_16, lba, blocks), NULL, 0), MEDIUM_ERROR,
			       ASC_UNRECOVERED_READ_ERROR, lba + good);
	}
	expect_io_good(submit_read(rig, 0, 100));
	expect_io_good(submit_read(rig, 103, 100));
	expect_io_good(submit_write(rig, 90, 20, 8));
	rig_close(rig);
}

/* Physical blocks are none of a read's business; the blocks that are read take their time. */
static void medium_read_of_a_sequential_zone(void **state)
{
	const uint64_t zone = 2 * rig_geo.zone_size;
	const struct memzbc_faults faults = {
		.rate = SECOND, .error_rules = 1,
		.error = { MEDIUM_RULE(zone + 10, zone + 10, .classes = C_READ) },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint8_t want[7 * 512];
	struct io *io;

	(void)state;
	expect_good(rig->dev, write_blocks(rig->dev, zone, 4 * STEP, 7));
	io = submit_read(rig, zone + 3, 16);
	rig_run(rig);
	expect_io_info(io, MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR, zone + 10);
	expect_at(io, io->submitted + 7 * 512);
	pattern(rig->dev, want, zone + 3, 7, 7);
	assert_memory_equal(io->data, want, sizeof(want));
	rig_close(rig);
}

/* The first block of the command, whatever it is. */
static void medium_anywhere(void **state)
{
	struct rig *rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_MEDIUM));
	uint64_t zone = rig_zone(rig, 1);

	(void)state;
	expect_io_info(submit_read(rig, 17, 5), MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR, 17);
	expect_io_info(submit_write(rig, 19, 5, 1), MEDIUM_ERROR, ASC_WRITE_ERROR, 19);
	expect_io_info(submit_write(rig, zone, STEP, 1), MEDIUM_ERROR, ASC_WRITE_ERROR, zone);
	expect_zone(rig->dev, zone, ZONE_EMPTY, zone);
	expect_data(rig->dev, 19, 5, 0);
	rig_close(rig);
}

/* A write of @blocks at the start of a zone, of which @good must be stored. */
struct cut {
	uint64_t at, blocks, good;	/* at: the first bad block, or how many are written */
};

static void expect_cut(struct rig *rig, uint64_t zone, uint8_t opcode, const struct cut *c)
{
	struct io *io = submit_write_with(rig, opcode, zone, c->blocks, 3);
	bool conv = zone == 0;

	expect_io_info(io, MEDIUM_ERROR, ASC_WRITE_ERROR, zone + c->good);
	expect_data(rig->dev, zone, c->good, 3);
	expect_data(rig->dev, zone + c->good, 100, 0);
	if (conv)
		return;
	expect_zone(rig->dev, zone, c->good ? ZONE_IMP_OPEN : ZONE_EMPTY, zone + c->good);
	/* What is stored is remembered until the answer is known to have arrived. */
	expect_eq(rig->dev, io->receipt != NO_RECEIPT, c->good > 0);
	/* It goes on right there. */
	rig_set(rig, &(struct memzbc_faults){ .stats = true });
	expect_io_good(submit_write(rig, zone + c->good, STEP, 4));
}

/* WRITE ends at a bad block: a sequential zone takes whole physical blocks of 8 only. */
static void medium_write(void **state)
{
	static const uint8_t opcodes[] = { WRITE_6, WRITE_10, WRITE_12, WRITE_16 };
	static const struct cut cuts[] = {
		{ 0, 16, 0 }, { 1, 16, 0 }, { 7, 8, 0 }, { 8, 16, 8 }, { 9, 16, 8 },
		{ 15, 16, 8 }, { 16, 24, 16 }, { 100, 128, 96 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cuts) * ARRAY_SIZE(opcodes); i++) {
		const struct cut *c = &cuts[i / 4];
		uint64_t zone = 2 * rig_geo.zone_size;
		struct rig *rig = rig_open_failing(&rig_geo, MEDIUM_RULE(zone + c->at, zone + 999));

		expect_cut(rig, zone, opcodes[i % 4], c);
		rig_close(rig);
	}
}

/* Where physical and logical blocks are the same, and in conventional zones, each block counts. */
static void medium_write_exactly(void **state)
{
	static const struct cut cuts[] = {
		{ 0, 16, 0 }, { 1, 16, 1 }, { 7, 8, 7 }, { 9, 16, 9 }, { 100, 128, 100 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		uint64_t zone = 2 * rig_geo_gaps.zone_size, at = cuts[i].at;
		struct rig *rig = rig_open_failing(&rig_geo_gaps,
						   MEDIUM_RULE(zone + at, zone + 999));

		expect_cut(rig, zone, WRITE_16, &cuts[i]);
		rig_close(rig);
		rig = rig_open_failing(&rig_geo, MEDIUM_RULE(at, 999, .classes = C_WRITE));
		expect_cut(rig, 0, WRITE_10, &cuts[i]);
		rig_close(rig);
	}
}

/* k blocks are stored; a write that has no more than those has nothing to fail with. */
static void partial(void **state)
{
	static const struct cut cuts[] = {
		{ 0, 16, 0 }, { 5, 16, 0 }, { 8, 16, 8 }, { 13, 16, 8 }, { 15, 16, 8 },
		{ 64, 200, 64 }, { 255, 256, 248 },
	};
	struct rig *rig;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_PARTIAL,
						  .blocks = (uint32_t)cuts[i].at,
						  .classes = C_WRITE));
		expect_cut(rig, rig_zone(rig, 1), WRITE_16, &cuts[i]);
		rig_close(rig);
	}
	rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_PARTIAL, .blocks = 16,
					  .classes = C_WRITE, .count = 1));
	expect_io_good(submit_write(rig, 0, 8, 1));
	expect_io_good(submit_write(rig, 0, 16, 2));
	expect_io_info(submit_write(rig, 0, 17, 3), MEDIUM_ERROR, ASC_WRITE_ERROR, 16);
	expect_io_good(submit_write(rig, 0, 17, 4));
	rig_close(rig);
}

static void partial_write_same(void **state)
{
	uint8_t block[512], data[16 * 512];
	struct rig *rig = rig_open_failing(&rig_geo, MEDIUM_RULE(20, 30, .classes = C_WRITE));

	(void)state;
	expect_io_info(submit_write_with(rig, WRITE_SAME_16, 10, 16, 9), MEDIUM_ERROR,
		       ASC_WRITE_ERROR, 20);
	expect_io_info(submit_write_with(rig, WRITE_SAME_10, 10, 16, 9), MEDIUM_ERROR,
		       ASC_WRITE_ERROR, 20);
	pattern(rig->dev, block, 10, 1, 9);
	memset(data, 0, sizeof(data));
	for (int i = 0; i < 10; i++)
		memcpy(data + i * 512, block, 512);
	expect_good(rig->dev, read_blocks(rig->dev, 10, 16));
	assert_memory_equal(rig->dev->in, data, sizeof(data));
	rig_close(rig);
}

/* All checks precede any transfer: a bad block behind does not make a bad command good halfway. */
static void rules_come_first(void **state)
{
	const uint64_t zone = 2 * rig_geo.zone_size, end = zone + rig_geo.zone_size;
	struct rig *rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_PARTIAL, .blocks = 8,
						      .classes = C_READ | C_WRITE));
	struct snapshot *before;

	(void)state;
	fill_zone(rig->dev, zone, rig_geo.zone_size - 8, 1);
	expect_good(rig->dev, zone_action(rig->dev, SA_FINISH_ZONE, end + rig_geo.zone_size));
	before = snapshot_take(rig->dev);
	expect_io_info(submit_write(rig, end - 8, 16, 2), ILLEGAL_REQUEST, ASC_WRITE_BOUNDARY,
		       end);
	expect_unaligned(submit_write(rig, end, 9, 2), end);
	expect_unaligned(submit_write(rig, end + 8, 16, 2), end);
	expect_io_sense(submit_write(rig, end + rig_geo.zone_size, 16, 2), ILLEGAL_REQUEST,
			ASC_INVALID_FIELD_IN_CDB);
	expect_io_info(submit_write(rig, zone - 8, 16, 2), ILLEGAL_REQUEST, ASC_WRITE_BOUNDARY,
		       zone);
	expect_io_sense(submit_write(rig, rig_geo.capacity - 8, 16, 2), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_io_sense(submit_read(rig, rig_geo.capacity - 8, 16), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_io_info(submit_read(rig, zone - 8, 16), ILLEGAL_REQUEST, ASC_READ_BOUNDARY, zone);
	snapshot_compare(rig->dev, before, "commands against the rules", __FILE__, __LINE__);
	/* And one that obeys them. */
	expect_io_info(submit_write(rig, end, 16, 2), MEDIUM_ERROR, ASC_WRITE_ERROR, end + 8);
	rig_close(rig);
}

/* What has nothing to do with zones precedes a transfer, too. */
static void refused_is_no_hit(void **state)
{
	static const enum memzbc_error_kind kinds[] = { MEMZBC_ERROR_MEDIUM, MEMZBC_ERROR_PARTIAL };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct memzbc_faults faults = {
			.error_rules = 1,
			.error = { RULE(.kind = kinds[i], .classes = C_WRITE, .count = 1) },
		};
		struct rig *rig = rig_open(&rig_geo, &faults);
		uint64_t zone = rig_zone(rig, 0);

		expect_unaligned(submit_write(rig, zone + STEP, STEP, 1), zone);
		expect_io_info(submit_write(rig, zone, STEP, 1), MEDIUM_ERROR, ASC_WRITE_ERROR,
			       zone);
		expect_io_good(submit_write(rig, zone, STEP, 1));
		rig_close(rig);
	}
}

static void checks_come_first(void **state)
{
	static const uint8_t block[512], start[] = { START_STOP_UNIT, 0, 0, 0, 1, 0 };
	/* The header of MODE SELECT(10), and the control mode page. */
	const uint8_t protect[20] = { [8] = MODE_CONTROL, 10, MODE_GLTSD, [12] = MODE_SWP };
	struct cdb select = { { MODE_SELECT_10, MODE_SELECT_PF, [8] = sizeof(protect) } };
	struct rig *rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_MEDIUM,
							  .classes = C_READ | C_WRITE));
	struct cdb cdb;

	(void)state;
	expect_io_sense(submit(rig, cdb_lba(WRITE_SAME_16, 0, 0), block, 512), ILLEGAL_REQUEST,
			ASC_INVALID_FIELD_IN_CDB);
	cdb = cdb_lba(WRITE_SAME_16, 0, WRITE_SAME_MAX_BYTES / 512 + 1);
	expect_io_sense(submit(rig, cdb, block, 512), ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb = cdb_with(cdb_lba(WRITE_16, 0, 1), 1, 0x20);
	expect_io_sense(submit(rig, cdb, block, 512), ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb = cdb_with(cdb_lba(VERIFY_16, 0, 1), 1, 0x04);
	expect_io_sense(submit(rig, cdb, NULL, 0), ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	expect_io_sense(submit(rig, cdb_lba(READ_16, 0, 2), NULL, 512), HARDWARE_ERROR,
			ASC_INTERNAL_TARGET_FAILURE);
	expect_io_good(submit(rig, select, protect, sizeof(protect)));
	expect_io_sense(submit_write(rig, 0, 1, 2), DATA_PROTECT, ASC_SOFTWARE_WRITE_PROTECTED);
	expect_io_sense(submit_read(rig, 0, 1), MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	expect_io_good(submit(rig, (struct cdb){ { START_STOP_UNIT } }, NULL, 0));
	expect_io_sense(submit_read(rig, 0, 1), NOT_READY, ASC_INITIALIZING_CMD_REQUIRED);
	memcpy(cdb.b, start, sizeof(start));
	expect_io_good(submit(rig, cdb, NULL, 0));
	rig_close(rig);
}

/* Executed once, at once, and answered late. */
static void dropped(void **state)
{
	struct memzbc_faults faults = {
		.delay = { [MEMZBC_CLASS_WRITE] = 5 * MS, [MEMZBC_CLASS_READ] = 1 * MS },
		.error_rules = 1,
		.error = { RULE(.kind = MEMZBC_ERROR_DROP, .time = 60 * SECOND, .count = 1) },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t zone = rig_zone(rig, 0), start = rig->now;
	struct io *lost = submit_write(rig, zone, STEP, 1), *next;

	(void)state;
	expect_zone(rig->dev, zone, ZONE_IMP_OPEN, zone + STEP);
	next = submit_write(rig, zone + STEP, STEP, 2);
	rig_run_until(rig, start + 59 * SECOND);
	expect_io_good(next);
	expect_at(next, start + 5 * MS);
	expect_pending(lost);
	/* The initiator has given up, and starts again: it is too late for the first write. */
	expect_good(rig->dev, zone_action(rig->dev, SA_RESET_WRITE_POINTER, zone));
	next = submit_write(rig, zone, STEP, 3);
	rig_run(rig);
	expect_io_good(lost);
	expect_at(lost, start + 60 * SECOND);
	expect_io_good(next);
	expect_data(rig->dev, zone, STEP, 3);
	expect_zone(rig->dev, zone, ZONE_IMP_OPEN, zone + STEP);
	rig_close(rig);
}

/* A command that is dropped and fails of itself says so, late. */
static void dropped_and_failed(void **state)
{
	struct rig *rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_DROP,
						      .time = 2 * SECOND));
	uint64_t zone = rig_zone(rig, 0);
	struct io *unaligned = submit_write(rig, zone + STEP, STEP, 1);
	struct io *read = submit_read(rig, 0, 1);

	(void)state;
	rig_run(rig);
	expect_unaligned(unaligned, zone);
	expect_at(unaligned, unaligned->submitted + 2 * SECOND);
	expect_io_good(read);
	expect_at(read, read->submitted + 2 * SECOND);
	/* The time is the answer's, not the rule's. */
	read = submit_read(rig, 0, 1);
	rig_run(rig);
	expect_at(read, read->submitted + 2 * SECOND);
	rig_close(rig);
}

/* Of delay and drop only the one is switched off: who waits for the other goes on waiting. */
static void dropped_or_delayed(void **state)
{
	(void)state;
	for (int off = 0; off < 2; off++) {
		struct memzbc_faults faults = {
			.delay = { [MEMZBC_CLASS_READ] = 5 * SECOND }, .error_rules = 1,
			.error = { RULE(.kind = MEMZBC_ERROR_DROP, .time = 60 * SECOND,
					.classes = C_WRITE) },
		};
		struct rig *rig = rig_open(&rig_geo, &faults);
		struct io *lost = submit_write(rig, 0, 1, 1), *delayed = submit_read(rig, 0, 1);

		rig_run_for(rig, SECOND);
		if (off)
			faults.delay[MEMZBC_CLASS_READ] = 0;
		else
			faults.error_rules = 0;
		rig_set(rig, &faults);
		expect_at(off ? delayed : lost, rig->now);
		expect_pending(off ? lost : delayed);
		rig_run(rig);
		expect_at(off ? lost : delayed, lost->submitted + (off ? 60 : 5) * SECOND);
		rig_close(rig);
	}
}

/* Off, or drained: what was dropped is answered at once. */
static void dropped_and_let_go(void **state)
{
	(void)state;
	for (int drain = 0; drain < 2; drain++) {
		struct rig *rig = rig_open_failing(&rig_geo, RULE(.kind = MEMZBC_ERROR_DROP,
							      .time = 60 * SECOND));
		struct io *lost = submit_write(rig, 0, 1, 1);

		rig_run_for(rig, SECOND);
		expect_pending(lost);
		if (drain)
			rig_drain(rig);
		else
			rig_set(rig, &(struct memzbc_faults){ .stats = true });
		expect_io_good(lost);
		expect_at(lost, rig->now);
		rig_close(rig);
	}
}

/* Zone management that fails changes nothing; afterwards it succeeds. */
static void zone_management(void **state)
{
	static const uint8_t actions[] = {
		SA_OPEN_ZONE, SA_CLOSE_ZONE, SA_FINISH_ZONE, SA_RESET_WRITE_POINTER,
	};
	static const enum memzbc_error_kind kinds[] = {
		MEMZBC_ERROR_SENSE, MEMZBC_ERROR_STATUS, MEMZBC_ERROR_MEDIUM, MEMZBC_ERROR_PARTIAL,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(actions) * ARRAY_SIZE(kinds); i++) {
		uint8_t action = actions[i / 4];
		struct rig *rig = rig_open_failing(&rig_geo, RULE(
			.kind = kinds[i % 4], .key = HARDWARE_ERROR, .asc = 0x4400,
			.status = SAM_STAT_BUSY, .blocks = 8, .classes = C_ZONE, .count = 2));
		uint64_t zone = rig_zone(rig, 0);
		struct snapshot *before;

		make_zone(rig->dev, rig_geo.conv, ZS_IMP_OPEN);
		before = snapshot_take(rig->dev);
		expect_true(rig->dev, io_status(submit_zone(rig, action, zone)) != SAM_STAT_GOOD);
		expect_true(rig->dev,
			    io_status(submit(rig, cdb_zone_all(action), NULL, 0)) != SAM_STAT_GOOD);
		snapshot_compare(rig->dev, before, "failed", __FILE__, __LINE__);
		expect_io_good(submit_zone(rig, action, zone));
		expect_eq(rig->dev, zone_at(rig->dev, zone).cond,
			  action == SA_OPEN_ZONE ? ZONE_EXP_OPEN :
			  action == SA_CLOSE_ZONE ? ZONE_CLOSED :
			  action == SA_FINISH_ZONE ? ZONE_FULL : ZONE_EMPTY);
		rig_close(rig);
	}
}

/* A failed write leaves a hole for those that are held; a partial one helps whom it reaches. */
static void with_hold(void **state)
{
	struct memzbc_faults faults = {
		.hold = 8, .hold_time = 50 * MS, .error_rules = 2,
		.error = {
			SENSE_RULE(.classes = C_WRITE, .count = 1),
			RULE(.kind = MEMZBC_ERROR_PARTIAL, .blocks = STEP, .classes = C_WRITE,
			     .count = 1),
		},
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t zone = rig_zone(rig, 0);
	struct io *near = submit_write(rig, zone + STEP, STEP, 1);
	struct io *far = submit_write(rig, zone + 3 * STEP, STEP, 1);

	(void)state;
	expect_hit(submit_write(rig, zone, 2 * STEP, 2));
	expect_pending(near);
	expect_pending(far);
	expect_io_info(submit_write(rig, zone, 2 * STEP, 3), MEDIUM_ERROR, ASC_WRITE_ERROR,
		       zone + STEP);
	expect_io_good(near);
	expect_pending(far);
	rig_run(rig);
	expect_unaligned(far, zone + 2 * STEP);
	expect_data(rig->dev, zone, STEP, 3);
	expect_data(rig->dev, zone + STEP, STEP, 1);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medium_read),
		cmocka_unit_test(medium_read_of_a_sequential_zone),
		cmocka_unit_test(medium_anywhere),
		cmocka_unit_test(medium_write),
		cmocka_unit_test(medium_write_exactly),
		cmocka_unit_test(partial),
		cmocka_unit_test(partial_write_same),
		cmocka_unit_test(rules_come_first),
		cmocka_unit_test(refused_is_no_hit),
		cmocka_unit_test(checks_come_first),
		cmocka_unit_test(dropped),
		cmocka_unit_test(dropped_and_failed),
		cmocka_unit_test(dropped_and_let_go),
		cmocka_unit_test(dropped_or_delayed),
		cmocka_unit_test(zone_management),
		cmocka_unit_test(with_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

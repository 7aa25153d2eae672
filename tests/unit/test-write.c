// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The rules for writes, their order, and that a refused write has no effect. */
#include "harness.h"

/* Writes to the first of two neighbouring slots. */
static const struct access_case cases[] = {
	{ ZS_EMPTY, ZS_EMPTY, AT_WP, 0, 0, 1, 0, 0 },
	{ ZS_EMPTY, ZS_EMPTY, AT_WP, 0, 0, 5, 0, 0 },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, 0, 0, 1, 0, 0 },
	/* Start not at the write pointer */
	{ ZS_EMPTY, ZS_EMPTY, AT_WP, 1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_EMPTY, ZS_EMPTY, AT_END, -1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_WP, 1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_WP, 0, 1, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_START, 0, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_START, 0, 0, 2, 0, ASC_UNALIGNED_WRITE },
	{ ZS_EXP_OPEN, ZS_EMPTY, AT_WP, 1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_EXP_UNWRITTEN, ZS_EMPTY, AT_WP, 1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_CLOSED, ZS_EMPTY, AT_WP, 1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_CLOSED, ZS_EMPTY, AT_START, 0, 0, 1, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, -1, 0, 2, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, -1, 0, 1, 0, ASC_UNALIGNED_WRITE },
	/* Length 0: as length 1, but no end to align */
	{ ZS_EMPTY, ZS_EMPTY, AT_WP, 0, 0, 0, 0, 0 },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_WP, 0, 0, 0, 0, 0 },
	{ ZS_EMPTY, ZS_EMPTY, AT_WP, 1, 0, 0, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_START, 0, 0, 0, 0, ASC_UNALIGNED_WRITE },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_END, 0, -1, 0, 0, ASC_UNALIGNED_WRITE },
	{ ZS_FULL, ZS_EMPTY, AT_START, 0, 0, 0, 0, ASC_INVALID_FIELD_IN_CDB },
	{ ZS_FULL, ZS_EMPTY, AT_END, 0, -1, 0, 0, ASC_INVALID_FIELD_IN_CDB },
	/* FULL */
	{ ZS_FULL, ZS_EMPTY, AT_START, 0, 0, 1, 0, ASC_INVALID_FIELD_IN_CDB },
	{ ZS_FULL, ZS_EMPTY, AT_START, 0, 0, 0, 1, ASC_INVALID_FIELD_IN_CDB },
	{ ZS_FULL, ZS_EMPTY, AT_END, -1, 0, 1, 0, ASC_INVALID_FIELD_IN_CDB },
	{ ZS_FINISHED, ZS_EMPTY, AT_START, 1, 0, 1, 0, ASC_INVALID_FIELD_IN_CDB },
	/* Across the boundary: before everything that is wrong in the zones themselves */
	{ ZS_EMPTY, ZS_EMPTY, AT_END, -1, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_EMPTY, ZS_EMPTY, AT_END, 0, -1, 0, 2, ASC_WRITE_BOUNDARY },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, 0, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, 0, 0, 1, 1, ASC_WRITE_BOUNDARY },
	{ ZS_IMP_LAST, ZS_FULL, AT_WP, 0, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_IMP_LAST, ZS_FULL, AT_WP, -1, 0, 3, 0, ASC_WRITE_BOUNDARY },
	{ ZS_IMP_OPEN, ZS_FULL, AT_END, -1, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_CLOSED_LAST, ZS_IMP_OPEN, AT_WP, 0, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_FULL, ZS_IMP_OPEN, AT_END, -1, 0, 3, 0, ASC_WRITE_BOUNDARY },
	{ ZS_FULL, ZS_EMPTY, AT_END, -1, 0, 2, 0, ASC_WRITE_BOUNDARY },
	{ ZS_FULL, ZS_IMP_LAST, AT_END, -1, 0, 2, 0, ASC_WRITE_BOUNDARY },
};

static void check_case(struct dev *dev, const struct access_case *c, uint32_t slot)
{
	uint64_t start = geo_start(dev->geo, slot), end = start + geo_len(dev->geo, slot);
	uint64_t wp = make_zone(dev, slot, c->first);
	uint64_t lba = access_lba(dev, c, slot, wp);
	uint64_t len = access_blocks(dev, c);

	make_zone(dev, slot + 1, c->second);
	if (c->asc == 0) {
		expect_good(dev, write_blocks(dev, lba, len, 5));
		expect_zone(dev, start, wp + len == end ? ZONE_FULL : ZONE_IMP_OPEN, wp + len);
		expect_data(dev, wp, len, 5);
	} else {
		expect_refused(dev, write_blocks(dev, lba, len, 5), ILLEGAL_REQUEST, c->asc);
	}
	/* INFORMATION of UNALIGNED WRITE COMMAND is the write pointer. */
	if (c->asc == ASC_UNALIGNED_WRITE)
		expect_info_(dev, wp, "write", __FILE__, __LINE__);
	if (c->asc == ASC_INVALID_FIELD_IN_CDB)	/* FULL: the LBA */
		expect_pointer_(dev, true, 2, -1, "write", __FILE__, __LINE__);
	/* If there is INFORMATION for a boundary, it is the first LBA beyond it. */
	if (c->asc == ASC_WRITE_BOUNDARY && dev->sense.valid)
		expect_eq(dev, dev->sense.info, end);
	if (c->asc)
		expect_data(dev, start, 1, wp == start ? 0 : ZS_GENERATION);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
}

static void every_case(struct dev *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case(dev, &cases[i], dev->geo->conv);
		/* With a smaller last zone behind it */
		check_case(dev, &cases[i], geo_slots(dev->geo) - dev->geo->conv_end - 2);
	}
}

static void longer_than_the_zone(struct dev *dev)
{
	uint64_t start = geo_start(dev->geo, dev->geo->conv);
	uint64_t len = geo_len(dev->geo, dev->geo->conv);

	expect_refused(dev, write_blocks(dev, start, len + geo_pblk(dev->geo), 1), ILLEGAL_REQUEST,
		       ASC_WRITE_BOUNDARY);
	expect_good(dev, write_blocks(dev, start, len, 2));
	expect_zone(dev, start, ZONE_FULL, start + len);
	expect_data(dev, start, len, 2);
}

/* 512e: a write to a SWR zone ends where a physical block ends. */
static void end_alignment(struct dev *dev)
{
	uint32_t pblk = geo_pblk(dev->geo);
	uint64_t wp = geo_start(dev->geo, dev->geo->conv);

	for (uint32_t n = 1; n <= 2 * pblk + 1; n++) {
		if (n % pblk == 0) {
			expect_good(dev, write_blocks(dev, wp, n, n));
			expect_data(dev, wp, n, n);
			wp += n;
		} else {
			expect_refused(dev, write_blocks(dev, wp, n, n), ILLEGAL_REQUEST,
				       ASC_UNALIGNED_WRITE);
			expect_info_(dev, wp, "write", __FILE__, __LINE__);
		}
	}
	expect_zone(dev, wp - 1, ZONE_IMP_OPEN, wp);
}

/* Conventional zones: any block, any length, in any order, and across them. */
static void conventional(struct dev *dev)
{
	uint64_t size = dev->geo->zone_size;
	uint8_t status;

	for (int i = 0; i < 50; i++) {
		uint64_t lba = random_below(2 * size - 1);
		uint64_t n = 1 + random_below(2 * size - lba < 20 ? 2 * size - lba : 20);
		uint32_t generation = 1 + (uint32_t)i;

		expect_good(dev, write_blocks(dev, lba, n, generation));
		expect_data(dev, lba, n, generation);
	}
	expect_good(dev, write_blocks(dev, 0, 2 * size, 60));
	expect_good(dev, write_blocks(dev, size - 1, 1, 61));
	expect_good(dev, write_blocks(dev, size, 1, 62));
	expect_data(dev, 0, size - 1, 60);
	expect_data(dev, size - 1, 1, 61);
	expect_data(dev, size, 1, 62);
	expect_data(dev, size + 1, size - 1, 60);
	expect_zone(dev, 0, ZONE_NOT_WP, NO_WRITE_POINTER);
	status = write_blocks(dev, 5, 0, 0);
	expect_good(dev, status);
	expect_data(dev, 5, 1, 60);
}

/* Zones of different types: none may be written together. */
static void across_types(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t first = geo_start(g, g->conv);
	uint32_t pblk = geo_pblk(g), last = geo_slots(g) - g->conv_end - 1;

	expect_refused(dev, write_blocks(dev, first - 1, 1 + pblk, 1), ILLEGAL_REQUEST,
		       ASC_WRITE_BOUNDARY);
	/* Also when it starts in an earlier conventional zone. */
	expect_refused(dev, write_blocks(dev, first - g->zone_size - 1, g->zone_size + 2, 1),
		       ILLEGAL_REQUEST, ASC_WRITE_BOUNDARY);
	if (g->conv_end) {
		uint64_t end = geo_start(g, last) + geo_len(g, last);

		make_zone(dev, last, ZS_IMP_LAST);
		expect_refused(dev, write_blocks(dev, end - pblk, 2 * pblk, 1), ILLEGAL_REQUEST,
			       ASC_WRITE_BOUNDARY);
		expect_good(dev, write_blocks(dev, dev->capacity - 1, 1, 8));
		expect_data(dev, dev->capacity - 1, 1, 8);
	}
}

static void gaps(struct dev *dev)
{
	const struct geo *g = dev->geo;

	for (uint32_t slot = 0; slot < geo_slots(g); slot++) {
		uint64_t gap = geo_start(g, slot) + geo_len(g, slot), len = geo_gap(g, slot);

		if (!len)
			continue;
		expect_refused(dev, write_blocks(dev, gap, 1, 1), ILLEGAL_REQUEST, ASC_GAP_ZONE);
		expect_true(dev, !dev->sense.valid || dev->sense.info == gap);
		expect_refused(dev, write_blocks(dev, gap + len - 1, 1, 1), ILLEGAL_REQUEST,
			       ASC_GAP_ZONE);
		expect_refused(dev, write_blocks(dev, gap, 0, 1), ILLEGAL_REQUEST, ASC_GAP_ZONE);
		/* Into the next zone: the first zone's own fault comes first. */
		if (gap + len < dev->capacity)
			expect_refused(dev, write_blocks(dev, gap + len - 1, 2, 1),
				       ILLEGAL_REQUEST, ASC_GAP_ZONE);
	}
}

/* LBA + length in 64 bits, whatever else is wrong with the command. */
static void write_beyond(struct dev *dev, uint64_t lba, uint32_t blocks)
{
	uint8_t block[4096] = { 1 };
	struct cdb cdb = cdb_lba(WRITE_16, lba, blocks);

	expect_refused(dev, run_out(dev, cdb, block, dev->lba_size), ILLEGAL_REQUEST,
		       ASC_LBA_OUT_OF_RANGE);
	/* INFORMATION, if any, is the first LBA out of range. */
	expect_true(dev, !dev->sense.valid ||
				 dev->sense.info == (lba > dev->capacity ? lba : dev->capacity));
}

static void out_of_range(struct dev *dev)
{
	for_ranges_beyond_the_end(dev, write_beyond);
	/* The end of the medium is no zone boundary. */
	expect_refused(dev, write_blocks(dev, dev->capacity - 1, 2, 1), ILLEGAL_REQUEST,
		       ASC_LBA_OUT_OF_RANGE);
}

/* A buffer that is shorter than the CDB asks is an error, never read beyond. */
static void short_buffer(struct dev *dev)
{
	const uint64_t lbas[] = { 0, geo_start(dev->geo, dev->geo->conv) };
	uint32_t blocks = 2 * geo_pblk(dev->geo);
	uint64_t len = (uint64_t)blocks * dev->lba_size;
	const uint64_t missing[] = { 1, 511, 512, dev->lba_size, len - 1, len };

	for (size_t i = 0; i < ARRAY_SIZE(lbas); i++)
		for (size_t k = 0; k < ARRAY_SIZE(missing); k++) {
			struct snapshot *snap = snapshot_take(dev);

			dev->short_by = missing[k];
			expect_sense(dev, write_blocks(dev, lbas[i], blocks, 3), HARDWARE_ERROR,
				     ASC_INTERNAL_TARGET_FAILURE);
			snapshot_compare(dev, snap, "short write", __FILE__, __LINE__);
		}
}

static const uint8_t write_opcodes[] = { WRITE_6, WRITE_10, WRITE_12, WRITE_16 };

static void every_write_opcode(struct dev *dev)
{
	uint32_t pblk = geo_pblk(dev->geo);
	uint64_t start = geo_start(dev->geo, dev->geo->conv), wp = start;

	for (size_t i = 0; i < ARRAY_SIZE(write_opcodes); i++) {
		uint8_t opcode = write_opcodes[i];

		expect_good(dev, write_with(dev, opcode, wp, pblk, 20));
		expect_refused(dev, write_with(dev, opcode, start, pblk, 21), ILLEGAL_REQUEST,
			       ASC_UNALIGNED_WRITE);
		expect_refused(dev, write_with(dev, opcode, dev->capacity, 1, 21),
			       ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
		expect_good(dev, write_with(dev, opcode, i, 1, 22));
		wp += pblk;
	}
	expect_zone(dev, start, ZONE_IMP_OPEN, wp);
	expect_data(dev, start, wp - start, 20);
	expect_data(dev, 0, ARRAY_SIZE(write_opcodes), 22);
}

/* DPO and FUA are accepted where they exist. */
static void dpo_and_fua(struct dev *dev)
{
	const uint8_t flags[] = { 0x10, 0x08, 0x18 };

	for (size_t i = 1; i < ARRAY_SIZE(write_opcodes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(flags); k++) {
			struct cdb cdb = cdb_lba(write_opcodes[i], 1, 1);
			uint8_t data[4096];

			pattern(dev, data, 1, 1, (uint32_t)(30 + k));
			expect_good(dev, run_out(dev, cdb_with(cdb, 1, flags[k]), data,
						 dev->lba_size));
			expect_data(dev, 1, 1, (uint32_t)(30 + k));
		}
}

/* WRITE(6): 21 bits of LBA; length 0 is 256 blocks, not none. */
static void write_6(void **state)
{
	struct dev *dev = dev_open("zone_size=1M/conv=8/lba=512", 2ull << 30, 512);
	uint8_t *data = malloc(256 * 512);

	(void)state;
	pattern(dev, data, 40, 256, 3);
	expect_good(dev, run_out(dev, cdb_lba(WRITE_6, 40, 0), data, 256 * 512));
	expect_data(dev, 40, 256, 3);
	expect_data(dev, 296, 1, 0);
	free(data);
	expect_sense(dev, write_with(dev, WRITE_6, 0x1fffff, 1, 1), ILLEGAL_REQUEST,
		     ASC_UNALIGNED_WRITE);
	dev_close(dev);
}

/* Longer than MAXIMUM TRANSFER LENGTH: the field, before the LBA is looked at. */
static void maximum_transfer_length(void **state)
{
	struct dev *dev = dev_open("zone_size=1M/conv=8/lba=512", 16 << 20, 512);

	(void)state;
	dev->max_transfer = 64;
	dev_reopen(dev);
	expect_good(dev, write_blocks(dev, 0, 64, 1));
	expect_invalid_cdb(dev, write_blocks(dev, 0, 65, 1), 10, -1);
	expect_invalid_cdb(dev, write_with(dev, WRITE_10, 0, 65, 1), 7, -1);
	expect_invalid_cdb(dev, write_with(dev, WRITE_12, 0, 65, 1), 6, -1);
	expect_invalid_cdb(dev, read_blocks(dev, dev->capacity, 65), 10, -1);
	dev_close(dev);
}

/* C02: two conventional zones in one write; and the same into a sequential one. */
static void c02(void **state)
{
	struct dev *dev = dev_open("zone_size=96M/conv=4/lba=4096", 6ull << 30, 4096);

	(void)state;
	expect_good(dev, write_blocks(dev, 0xbff8, 16, 2));
	expect_data(dev, 0xbff8, 16, 2);
	expect_sense(dev, write_blocks(dev, 0x17ff8, 16, 2), ILLEGAL_REQUEST, 0x2105);
	expect_data(dev, 0x17ff8, 8, 0);
	expect_zone(dev, 0x18000, ZONE_EMPTY, 0x18000);
	dev_close(dev);
}

/* C29: whole physical blocks only, on a 512e disk. */
static void c29(void **state)
{
	struct dev *dev = dev_open("zone_size=64M/conv=4/max_open=8", 4ull << 30, 512);

	(void)state;
	expect_sense(dev, write_blocks(dev, 0x80000, 1, 1), ILLEGAL_REQUEST, 0x2104);
	expect_sense(dev, write_blocks(dev, 0x80000, 7, 1), ILLEGAL_REQUEST, 0x2104);
	expect_zone(dev, 0x80000, ZONE_EMPTY, 0x80000);
	expect_good(dev, write_blocks(dev, 0x80000, 8, 1));
	expect_zone(dev, 0x80000, ZONE_IMP_OPEN, 0x80008);
	expect_good(dev, write_blocks(dev, 0, 1, 1));
	dev_close(dev);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "every case", every_case, NULL },
		{ "longer than the zone", longer_than_the_zone, NULL },
		{ "end alignment", end_alignment, NULL },
		{ "conventional", conventional, NULL },
		{ "across types", across_types, NULL },
		{ "gap zones", gaps, NULL },
		{ "gap zones, URSWRZ=0", gaps, "urswrz=0" },
		{ "out of range", out_of_range, NULL },
		{ "short buffer", short_buffer, NULL },
		{ "every WRITE opcode", every_write_opcode, NULL },
		{ "DPO and FUA", dpo_and_fua, NULL },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_6),
		cmocka_unit_test(maximum_transfer_length),
		cmocka_unit_test(c02),
		cmocka_unit_test(c29),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("write", matrix, ARRAY_SIZE(matrix));
}

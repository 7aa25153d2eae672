// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Block commands beside READ and WRITE. */
#include "harness.h"

static const uint8_t verify_opcodes[] = { VERIFY_10, VERIFY_12, VERIFY_16 };

#define BYTCHK(n) ((uint8_t)((n) << 1))
#define NDOB 1

static uint8_t verify(struct dev *dev, uint8_t opcode, uint64_t lba, uint64_t blocks,
		      uint8_t bytchk, const void *data, size_t len)
{
	return run_out(dev, cdb_with(cdb_lba(opcode, lba, blocks), 1, BYTCHK(bytchk)), data, len);
}

static void read_capacity(struct dev *dev)
{
	struct cdb capacity10 = { .b = { READ_CAPACITY_10 } };
	struct cdb capacity16 = { .b = { SERVICE_ACTION_IN_16, SA_READ_CAPACITY_16 } };
	uint32_t pblk = geo_pblk(dev->geo);

	expect_good(dev, run_in(dev, capacity10, 8));
	expect_eq(dev, get_be32(dev->in), dev->capacity - 1);
	expect_eq(dev, get_be32(dev->in + 4), dev->lba_size);
	capacity16.b[13] = 32;
	expect_good(dev, run_in(dev, capacity16, 32));
	expect_eq(dev, get_be64(dev->in), dev->capacity - 1);
	expect_eq(dev, get_be32(dev->in + 8), dev->lba_size);
	expect_eq(dev, dev->in[12], 0x10);	/* RC BASIS 01b: the last LBA of the unit */
	expect_eq(dev, dev->in[13], pblk == 8 ? 3 : 0);
	for (unsigned int i = 14; i < 32; i++)
		expect_eq(dev, dev->in[i], 0);	/* LBPME, LBPRZ, LOWEST ALIGNED LBA too */
	capacity16.b[13] = 12;
	expect_good(dev, run_in(dev, capacity16, 12));
	expect_eq(dev, get_be32(dev->in + 8), dev->lba_size);
	capacity16.b[13] = 0;
	expect_good(dev, run_none(dev, capacity16));
	capacity16.b[13] = 255;
	expect_good(dev, run_in(dev, capacity16, 255));
	for (unsigned int i = 32; i < 255; i++)
		expect_eq(dev, dev->in[i], 0);
	dev->short_by = 1;
	expect_sense(dev, run_in(dev, capacity10, 8), HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
}

/* An LBA that does not fit 32 bits is FFFFFFFFh; one that is FFFFFFFFh or less is itself. */
static void read_capacity_of_large_units(void **state)
{
	static const struct {
		uint64_t size;
		uint32_t last;
	} sizes[] = {
		{ 1ull << 41, 0xffffffff }, { (1ull << 41) - (1 << 20), 0xfffff7ff },
		{ 20ull << 40, 0xffffffff },
	};
	struct cdb capacity10 = { .b = { READ_CAPACITY_10 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct dev *dev = dev_open("zone_size=256M", sizes[i].size, 512);

		expect_good(dev, run_in(dev, capacity10, 8));
		expect_eq(dev, get_be32(dev->in), sizes[i].last);
		dev_close(dev);
	}
}

static void verify_compares(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv);
	uint32_t pblk = geo_pblk(g), bs = dev->lba_size;
	uint8_t data[2 * 8 * 512 + 2 * 4096];

	fill_zone(dev, start, 2 * pblk, 4);
	for (size_t i = 0; i < ARRAY_SIZE(verify_opcodes); i++) {
		uint8_t opcode = verify_opcodes[i];

		pattern(dev, data, start, 2, 4);
		expect_good(dev, verify(dev, opcode, start, 2, 1, data, 2 * bs));
		data[bs + 7] ^= 1;
		expect_sense(dev, verify(dev, opcode, start, 2, 1, data, 2 * bs), MISCOMPARE,
			     0x1d00);
		/* INFORMATION, if any, is the offset of the first byte that differs. */
		expect_true(dev, !dev->sense.valid || dev->sense.info == bs + 7);
		/* BYTCHK 00b has no Data-Out and compares nothing. */
		expect_good(dev, verify(dev, opcode, start, 2, 0, NULL, 0));
		/* BYTCHK 10b is reserved. */
		expect_invalid_cdb(dev, verify(dev, opcode, start, 1, 2, data, bs), 1, 2);
		/* BYTCHK 11b: one block for all. */
		pattern(dev, data, start, 1, 4);
		expect_good(dev, verify(dev, opcode, start, 1, 3, data, bs));
		expect_sense(dev, verify(dev, opcode, start, 2, 3, data, bs), MISCOMPARE, 0x1d00);
		expect_good(dev, verify(dev, opcode, start, 0, 1, NULL, 0));
		expect_good(dev, verify(dev, opcode, start, 0, 3, NULL, 0));
		dev->short_by = 1;
		expect_sense(dev, verify(dev, opcode, start, 2, 1, data, 2 * bs), HARDWARE_ERROR,
			     ASC_INTERNAL_TARGET_FAILURE);
		dev->short_by = 1;
		expect_sense(dev, verify(dev, opcode, start, 2, 3, data, bs), HARDWARE_ERROR,
			     ASC_INTERNAL_TARGET_FAILURE);
	}
	/* Unwritten blocks are zeros. */
	memset(data, 0, bs);
	expect_good(dev, verify(dev, VERIFY_16, start + 2 * pblk, pblk, 3, data, bs));
	expect_zone(dev, start, ZONE_IMP_OPEN, start + 2 * pblk);
}

/* VERIFY obeys the rules for reads, whatever BYTCHK is. */
static void verify_rules(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv);
	uint8_t data[2 * 4096] = { 0 };

	for (uint8_t bytchk = 0; bytchk < 2; bytchk++) {
		size_t len = bytchk ? 2ul * dev->lba_size : 0;

		expect_sense(dev, verify(dev, VERIFY_16, dev->capacity - 1, 2, bytchk, data, len),
			     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
		expect_sense(dev, verify(dev, VERIFY_16, UINT64_MAX, 2, bytchk, data, len),
			     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
		expect_sense(dev, verify(dev, VERIFY_16, start - 1, 2, bytchk, data, len),
			     ILLEGAL_REQUEST, ASC_READ_BOUNDARY);
		expect_sense(dev, verify(dev, VERIFY_16, start, 2, bytchk, data, len),
			     ILLEGAL_REQUEST, ASC_READ_INVALID_DATA);
	}
}

static uint8_t write_same(struct dev *dev, uint8_t opcode, uint64_t lba, uint64_t blocks,
			  uint32_t generation)
{
	uint8_t block[4096];

	pattern(dev, block, 0, 1, generation);
	return run_out(dev, cdb_lba(opcode, lba, blocks), block, dev->lba_size);
}

static uint8_t write_zeros(struct dev *dev, uint64_t lba, uint64_t blocks)
{
	return run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, lba, blocks), 1, NDOB));
}

/* The block of write_same() in every block of the range. */
static void expect_same(struct dev *dev, uint64_t lba, uint64_t blocks, uint32_t generation)
{
	uint8_t block[4096];

	pattern(dev, block, 0, 1, generation);
	expect_good(dev, read_blocks(dev, lba, blocks));
	for (uint64_t i = 0; i < blocks; i++)
		expect_true(dev, !memcmp(dev->in + i * dev->lba_size, block, dev->lba_size));
}

static void write_same_replicates(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv), len = geo_len(g, g->conv);
	uint32_t pblk = geo_pblk(g);

	expect_good(dev, write_same(dev, WRITE_SAME_10, start, pblk, 5));
	expect_good(dev, write_same(dev, WRITE_SAME_16, start + pblk, 2 * pblk, 6));
	expect_good(dev, write_zeros(dev, start + 3 * pblk, pblk));
	expect_zone(dev, start, ZONE_IMP_OPEN, start + 4 * pblk);
	expect_good(dev, write_same(dev, WRITE_SAME_16, start + 4 * pblk, len - 4 * pblk, 7));
	expect_zone(dev, start, ZONE_FULL, start + len);
	expect_same(dev, start, pblk, 5);
	expect_same(dev, start + pblk, 2 * pblk, 6);
	expect_data(dev, start + 3 * pblk, pblk, 0);
	expect_same(dev, start + 4 * pblk, len - 4 * pblk, 7);
}

/* Conventional zones: zeros overwrite data, also within a page of memory. */
static void write_same_conventional(struct dev *dev)
{
	uint64_t size = dev->geo->zone_size;

	expect_good(dev, write_same(dev, WRITE_SAME_16, 0, 2 * size, 3));
	expect_same(dev, 0, 2 * size, 3);
	expect_good(dev, write_zeros(dev, size - 3, 5));
	expect_data(dev, size - 3, 5, 0);
	expect_same(dev, 0, size - 3, 3);
	expect_same(dev, size + 2, size - 2, 3);
	expect_good(dev, write_same(dev, WRITE_SAME_10, 1, 1, 0));
	expect_data(dev, 1, 1, 0);
	expect_same(dev, 0, 1, 3);
	expect_same(dev, 2, 1, 3);
	expect_zone(dev, 0, ZONE_NOT_WP, NO_WRITE_POINTER);
}

static void write_same_rules(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv), end = start + geo_len(g, g->conv);
	uint32_t pblk = geo_pblk(g);

	make_zone(dev, g->conv, ZS_CLOSED);
	expect_refused(dev, write_same(dev, WRITE_SAME_16, start, pblk, 1), ILLEGAL_REQUEST,
		       ASC_UNALIGNED_WRITE);
	expect_refused(dev, write_zeros(dev, start + 2 * pblk, pblk), ILLEGAL_REQUEST,
		       ASC_UNALIGNED_WRITE);
	expect_refused(dev, write_same(dev, WRITE_SAME_10, start + pblk, end - start, 1),
		       ILLEGAL_REQUEST, ASC_WRITE_BOUNDARY);
	expect_refused(dev, write_zeros(dev, start - 1, 1 + pblk), ILLEGAL_REQUEST,
		       ASC_WRITE_BOUNDARY);
	expect_refused(dev, write_zeros(dev, dev->capacity - 1, 2), ILLEGAL_REQUEST,
		       ASC_LBA_OUT_OF_RANGE);
	if (pblk > 1)
		expect_refused(dev, write_zeros(dev, start + pblk, pblk + 1), ILLEGAL_REQUEST,
			       ASC_UNALIGNED_WRITE);
	if (geo_gap(g, g->conv))
		expect_refused(dev, write_zeros(dev, end, 1), ILLEGAL_REQUEST, ASC_GAP_ZONE);
	make_zone(dev, g->conv + 1, ZS_FULL);
	expect_refused(dev, write_zeros(dev, geo_start(g, g->conv + 1), pblk), ILLEGAL_REQUEST,
		       ASC_INVALID_FIELD_IN_CDB);
	/* UNMAP is not supported (LBPME=0). */
	expect_refused(dev, run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, 0, 1), 1, 0x08)),
		       ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	expect_invalid_cdb(dev, run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, 0, 1), 1, 0x08)), 1,
			   3);
	dev->short_by = 1;
	expect_sense(dev, write_same(dev, WRITE_SAME_16, 0, 1, 1), HARDWARE_ERROR,
		     ASC_INTERNAL_TARGET_FAILURE);
}

/* MAXIMUM WRITE SAME LENGTH and WSNZ are what the block limits page says. */
static void write_same_limits(void **state)
{
	struct dev *dev = dev_open("zone_size=64M/conv=4", 4ull << 30, 512);
	struct cdb inquiry = { .b = { INQUIRY, 1, VPD_BLOCK_LIMITS, 0, 64 } };
	uint64_t max;
	bool wsnz;

	(void)state;
	expect_good(dev, run_in(dev, inquiry, 64));
	wsnz = dev->in[4] & 1;
	max = get_be64(dev->in + 36);
	expect_true(dev, max > 0 && max <= 0x20000);
	expect_good(dev, write_zeros(dev, 0x80000, max));
	expect_zone(dev, 0x80000, max == 0x20000 ? ZONE_FULL : ZONE_IMP_OPEN, 0x80000 + max);
	expect_invalid_cdb(dev, write_zeros(dev, 0, max + 1), 10, -1);
	if (max < 0xffff)
		expect_invalid_cdb(dev, write_same(dev, WRITE_SAME_10, 0, max + 1, 1), 7, -1);
	/* The field comes before the LBA. */
	expect_invalid_cdb(dev, write_zeros(dev, UINT64_MAX, max + 1), 10, -1);
	expect_true(dev, wsnz);	/* what 0 would mean can end with a refusal only on SWR zones */
	expect_invalid_cdb(dev, write_zeros(dev, 0, 0), 10, -1);
	expect_invalid_cdb(dev, write_same(dev, WRITE_SAME_10, 0, 0, 1), 7, -1);
	dev_close(dev);
}

static void synchronize_cache(struct dev *dev)
{
	const uint8_t opcodes[] = { SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16 };

	make_zone(dev, dev->geo->conv, ZS_IMP_OPEN);
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		uint8_t op = opcodes[i];

		/* No zone rules: across types, into gaps, over unwritten blocks. */
		expect_good(dev, run_none(dev, cdb_lba(op, 0, dev->capacity)));
		expect_good(dev, run_none(dev, cdb_lba(op, 0, 0)));
		expect_good(dev, run_none(dev, cdb_lba(op, dev->capacity - 1, 1)));
		expect_good(dev, run_none(dev, cdb_with(cdb_lba(op, 3, 9), 1, 0x02)));
		expect_sense(dev, run_none(dev, cdb_lba(op, dev->capacity - 1, 2)),
			     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
		expect_sense(dev, run_none(dev, cdb_lba(op, dev->capacity + 1, 0)),
			     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	}
	expect_sense(dev, run_none(dev, cdb_lba(SYNCHRONIZE_CACHE_16, UINT64_MAX, 1)),
		     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	expect_state(dev, dev->geo->conv, ZS_IMP_OPEN);
}

/* While stopped, commands that need the medium end with NOT READY, after the checks of fields. */
static void start_stop(struct dev *dev)
{
	struct cdb stop = { .b = { START_STOP_UNIT } };
	struct cdb start = { .b = { START_STOP_UNIT, 0, 0, 0, 1 } };
	uint64_t lba = geo_start(dev->geo, dev->geo->conv);
	struct cdb unit_ready = { .b = { TEST_UNIT_READY } };
	struct cdb inquiry = { .b = { INQUIRY, 0, 0, 0, 36 } };

	make_zone(dev, dev->geo->conv, ZS_IMP_OPEN);
	expect_good(dev, run_none(dev, unit_ready));
	expect_good(dev, run_none(dev, stop));
	expect_good(dev, run_none(dev, stop));
	expect_sense(dev, run_none(dev, unit_ready), NOT_READY, 0x0402);
	expect_sense(dev, read_blocks(dev, 0, 1), NOT_READY, 0x0402);
	expect_sense(dev, write_blocks(dev, 0, 1, 1), NOT_READY, 0x0402);
	expect_sense(dev, zone_action(dev, SA_RESET_WRITE_POINTER, lba), NOT_READY, 0x0402);
	expect_sense(dev, write_zeros(dev, 0, 1), NOT_READY, 0x0402);
	expect_good(dev, run_in(dev, inquiry, 36));
	/* Fields before readiness, readiness before the LBA */
	expect_invalid_cdb(dev, run_none(dev, cdb_with(cdb_lba(READ_16, 0, 0), 1, 0x80)), 1, 7);
	expect_sense(dev, read_blocks(dev, UINT64_MAX, 1), NOT_READY, 0x0402);
	expect_good(dev, run_none(dev, cdb_with(start, 1, 1)));	/* IMMED */
	expect_good(dev, run_none(dev, unit_ready));
	expect_state(dev, dev->geo->conv, ZS_IMP_OPEN);
	expect_data(dev, lba, 1, ZS_GENERATION);
}

/* SWP of the control mode page: 7/27/02 for writes, before the zone is looked at. */
static void software_write_protect(struct dev *dev)
{
	struct cdb select = { .b = { MODE_SELECT_10, 0x10, 0, 0, 0, 0, 0, 0, 20 } };
	size_t at = mode_page(dev, MODE_CONTROL, MODE_PC_CURRENT);
	uint64_t start = geo_start(dev->geo, dev->geo->conv);
	uint8_t list[20] = { 0 };

	memcpy(list + 8, dev->in + at, 12);
	list[8] &= 0x3f;
	list[8 + 4] |= 0x08;
	make_zone(dev, dev->geo->conv, ZS_IMP_OPEN);
	expect_good(dev, run_out(dev, select, list, sizeof(list)));
	expect_refused(dev, write_blocks(dev, 0, 1, 1), DATA_PROTECT, 0x2702);
	expect_refused(dev, write_blocks(dev, start, 1, 1), DATA_PROTECT, 0x2702);
	expect_refused(dev, write_zeros(dev, 0, 1), DATA_PROTECT, 0x2702);
	expect_good(dev, read_blocks(dev, start, 1));
	list[8 + 4] &= (uint8_t)~0x08;
	expect_good(dev, run_out(dev, select, list, sizeof(list)));
	expect_good(dev, write_blocks(dev, 0, 1, 1));
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "READ CAPACITY", read_capacity, NULL },
		{ "VERIFY compares", verify_compares, NULL },
		{ "VERIFY rules", verify_rules, "urswrz=0" },
		{ "WRITE SAME replicates", write_same_replicates, NULL },
		{ "WRITE SAME in conventional zones", write_same_conventional, NULL },
		{ "WRITE SAME rules", write_same_rules, NULL },
		{ "SYNCHRONIZE CACHE", synchronize_cache, NULL },
		{ "START STOP UNIT", start_stop, NULL },
		{ "software write protect", software_write_protect, NULL },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_capacity_of_large_units),
		cmocka_unit_test(write_same_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("sbc", matrix, ARRAY_SIZE(matrix));
}

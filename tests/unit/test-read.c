// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The rules for reads, with and without URSWRZ, and what is read. */
#include "harness.h"

/*
 * Reads from the first of two neighbouring SWR zones. The sense is that of URSWRZ=0; with URSWRZ=1
 * it is GOOD.
 */
static const struct access_case cases[] = {
	/* Below the write pointer */
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_START, 0, 0, 1, 0, 0 },
	{ ZS_EXP_OPEN, ZS_EMPTY, AT_WP, 0, -1, 0, 1, 0 },
	{ ZS_CLOSED, ZS_EMPTY, AT_START, 0, 0, 0, 1, 0 },
	{ ZS_IMP_LAST, ZS_EMPTY, AT_WP, -2, 0, 2, 0, 0 },
	{ ZS_FULL, ZS_EMPTY, AT_END, 0, -1, 0, 1, 0 },
	{ ZS_FINISHED, ZS_EMPTY, AT_END, -1, 0, 1, 0, 0 },
	{ ZS_FINISHED, ZS_EMPTY, AT_START, 0, 0, 3, 0, 0 },
	/* At or above it */
	{ ZS_EMPTY, ZS_EMPTY, AT_START, 0, 0, 0, 1, ASC_READ_INVALID_DATA },
	{ ZS_EMPTY, ZS_EMPTY, AT_END, 0, -1, 0, 1, ASC_READ_INVALID_DATA },
	{ ZS_EXP_UNWRITTEN, ZS_EMPTY, AT_START, 0, 0, 1, 0, ASC_READ_INVALID_DATA },
	{ ZS_IMP_UNWRITTEN, ZS_EMPTY, AT_START, 0, 0, 1, 0, ASC_READ_INVALID_DATA },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_START, 0, 0, 1, 1, ASC_READ_INVALID_DATA },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_WP, 0, 0, 1, 0, ASC_READ_INVALID_DATA },
	{ ZS_CLOSED, ZS_EMPTY, AT_WP, 0, 0, 0, 1, ASC_READ_INVALID_DATA },
	{ ZS_CLOSED, ZS_EMPTY, AT_WP, 0, -1, 0, 2, ASC_READ_INVALID_DATA },
	{ ZS_EXP_OPEN, ZS_EMPTY, AT_END, -1, 0, 1, 0, ASC_READ_INVALID_DATA },
	{ ZS_IMP_OPEN, ZS_EMPTY, AT_END, 0, -1, 0, 0, ASC_READ_INVALID_DATA },
	/* Across the boundary, which wins over the write pointer */
	{ ZS_FULL, ZS_IMP_OPEN, AT_END, 0, -1, 0, 2, ASC_READ_BOUNDARY },
	{ ZS_FULL, ZS_FULL, AT_END, 0, -1, 0, 2, ASC_READ_BOUNDARY },
	{ ZS_FULL, ZS_IMP_OPEN, AT_END, 0, -1, 1, 2, ASC_READ_BOUNDARY },
	{ ZS_FULL, ZS_EMPTY, AT_END, 0, -1, 0, 2, ASC_READ_BOUNDARY },
	{ ZS_IMP_LAST, ZS_FULL, AT_WP, 0, -1, 1, 2, ASC_READ_BOUNDARY },
	{ ZS_IMP_OPEN, ZS_FULL, AT_END, 0, -1, 0, 2, ASC_READ_BOUNDARY },
	{ ZS_EMPTY, ZS_EMPTY, AT_END, 0, -1, 0, 2, ASC_READ_BOUNDARY },
};

/* Where data of make_zone() end. */
static uint64_t data_end(struct dev *dev, uint32_t slot, enum zone_state state)
{
	if (state == ZS_FINISHED)
		return geo_start(dev->geo, slot) + geo_pblk(dev->geo);
	return zone_at(dev, geo_start(dev->geo, slot)).wp;
}

/* Blocks of make_zone(), and zeros where nothing was written, across two zones. */
static void expect_zones_data(struct dev *dev, const struct access_case *c, uint32_t slot,
			      uint64_t lba, uint64_t len)
{
	uint64_t first_end = data_end(dev, slot, c->first);
	uint64_t second_end = data_end(dev, slot + 1, c->second);
	uint8_t *expected = calloc(len + 1, dev->lba_size);

	for (uint64_t i = 0; i < len; i++) {
		bool second = lba + i >= geo_start(dev->geo, slot + 1);

		if (lba + i < (second ? second_end : first_end))
			pattern(dev, expected + i * dev->lba_size, lba + i, 1, ZS_GENERATION);
	}
	expect_good(dev, read_blocks(dev, lba, len));
	for (uint64_t i = 0; i < len * dev->lba_size; i++)
		if (expected[i] != dev->in[i])
			fail_dev(dev, __FILE__, __LINE__, "byte %llu of the data",
				 (unsigned long long)i);
	free(expected);
}

static void check_case(struct dev *dev, const struct access_case *c, uint32_t slot, bool urswrz)
{
	uint64_t end = geo_start(dev->geo, slot) + geo_len(dev->geo, slot);
	uint64_t wp = make_zone(dev, slot, c->first);
	uint64_t lba = access_lba(dev, c, slot, wp);
	uint64_t len = access_blocks(dev, c);
	uint16_t asc = c->asc;

	make_zone(dev, slot + 1, c->second);
	/* A gap is another type: no read may cross into it, whatever URSWRZ is. */
	if (urswrz && (lba + len <= end || !geo_has_gaps(dev->geo)))
		asc = 0;
	if (asc) {
		expect_refused(dev, read_blocks(dev, lba, len), ILLEGAL_REQUEST, asc);
		if (dev->sense.valid && asc == ASC_READ_BOUNDARY)
			expect_eq(dev, dev->sense.info, end);
		if (dev->sense.valid && asc == ASC_READ_INVALID_DATA)
			expect_eq(dev, dev->sense.info, lba > wp ? lba : wp);
	} else if (lba + len <= geo_start(dev->geo, slot + 1) + geo_len(dev->geo, slot + 1)) {
		expect_zones_data(dev, c, slot, lba, len);
	}
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
}

static void every_case(struct dev *dev, bool urswrz)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case(dev, &cases[i], dev->geo->conv, urswrz);
		check_case(dev, &cases[i], geo_slots(dev->geo) - dev->geo->conv_end - 2, urswrz);
	}
}

static void every_case_unrestricted(struct dev *dev)
{
	every_case(dev, true);
}

static void every_case_restricted(struct dev *dev)
{
	every_case(dev, false);
}

/* Three SWR zones in one read: each one's data up to its own write pointer. */
static void many_zones(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint32_t slot = g->conv, pblk = geo_pblk(g);
	uint64_t start = geo_start(g, slot), size = g->zone_size;

	if (geo_has_gaps(g))
		return;
	make_zone(dev, slot, ZS_IMP_OPEN);
	make_zone(dev, slot + 1, ZS_CLOSED);
	make_zone(dev, slot + 2, ZS_FULL);
	expect_good(dev, read_blocks(dev, start, 3 * size));
	for (uint64_t i = 0; i < 3 * size; i++) {
		bool written = i % size < pblk || i >= 2 * size;
		uint8_t expected[4096];

		pattern(dev, expected, start + i, 1, written ? ZS_GENERATION : 0);
		if (memcmp(expected, dev->in + i * dev->lba_size, dev->lba_size))
			fail_dev(dev, __FILE__, __LINE__, "block %llu", (unsigned long long)i);
	}
}

/* Zones of different types are never read together. */
static void across_types(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint32_t last = geo_slots(g) - g->conv_end - 1;
	uint64_t first = geo_start(g, g->conv), end = geo_start(g, last) + geo_len(g, last);

	make_zone(dev, g->conv, ZS_FULL);
	make_zone(dev, last, ZS_FULL);
	expect_refused(dev, read_blocks(dev, first - 1, 2), ILLEGAL_REQUEST, ASC_READ_BOUNDARY);
	expect_refused(dev, read_blocks(dev, first - g->zone_size - 1, g->zone_size + 2),
		       ILLEGAL_REQUEST, ASC_READ_BOUNDARY);
	if (g->conv_end)
		expect_refused(dev, read_blocks(dev, end - 1, 2), ILLEGAL_REQUEST,
			       ASC_READ_BOUNDARY);
	if (geo_gap(g, g->conv))
		expect_refused(dev, read_blocks(dev, first + geo_len(g, g->conv) - 1, 2),
			       ILLEGAL_REQUEST, ASC_READ_BOUNDARY);
}

static void conventional(struct dev *dev)
{
	uint64_t size = dev->geo->zone_size;

	expect_data(dev, 0, 2 * size, 0);
	expect_good(dev, write_blocks(dev, size - 1, 2, 4));
	expect_data(dev, size - 1, 2, 4);
	expect_data(dev, 0, size - 1, 0);
	expect_data(dev, size + 1, size - 1, 0);
	expect_good(dev, read_blocks(dev, size, 0));
}

static void gaps(struct dev *dev, bool urswrz)
{
	const struct geo *g = dev->geo;

	for (uint32_t slot = 0; slot < geo_slots(g); slot++) {
		uint64_t gap = geo_start(g, slot) + geo_len(g, slot), len = geo_gap(g, slot);

		if (!len)
			continue;
		if (urswrz) {
			expect_data(dev, gap, len, 0);
			expect_good(dev, read_blocks(dev, gap + len - 1, 0));
		} else {
			expect_refused(dev, read_blocks(dev, gap, 1), ILLEGAL_REQUEST,
				       ASC_GAP_ZONE);
			expect_refused(dev, read_blocks(dev, gap + len - 1, 1), ILLEGAL_REQUEST,
				       ASC_GAP_ZONE);
		}
		if (gap + len == dev->capacity)
			continue;
		/* Into the next zone */
		expect_refused(dev, read_blocks(dev, gap + len - 1, 2), ILLEGAL_REQUEST,
			       urswrz ? ASC_READ_BOUNDARY : ASC_GAP_ZONE);
	}
}

static void gaps_unrestricted(struct dev *dev)
{
	gaps(dev, true);
}

static void gaps_restricted(struct dev *dev)
{
	gaps(dev, false);
}

static void read_beyond(struct dev *dev, uint64_t lba, uint32_t blocks)
{
	expect_sense(dev, run_in(dev, cdb_lba(READ_16, lba, blocks), dev->lba_size),
		     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
}

static void out_of_range(struct dev *dev)
{
	for_ranges_beyond_the_end(dev, read_beyond);
}

static void short_buffer(struct dev *dev)
{
	const uint64_t lbas[] = { 0, geo_start(dev->geo, dev->geo->conv) };
	uint64_t len = 3ull * dev->lba_size;
	const uint64_t missing[] = { 1, 511, 512, dev->lba_size, len - 1, len };

	for (size_t i = 0; i < ARRAY_SIZE(lbas); i++)
		for (size_t k = 0; k < ARRAY_SIZE(missing); k++) {
			dev->short_by = missing[k];
			expect_sense(dev, read_blocks(dev, lbas[i], 3), HARDWARE_ERROR,
				     ASC_INTERNAL_TARGET_FAILURE);
		}
}

static void every_read_opcode(struct dev *dev)
{
	const uint8_t opcodes[] = { READ_6, READ_10, READ_12, READ_16 };
	const uint8_t flags[] = { 0, 0x10, 0x08, 0x18 };	/* DPO, FUA */
	uint64_t start = geo_start(dev->geo, dev->geo->conv);
	uint8_t expected[2 * 4096];
	uint32_t pblk = geo_pblk(dev->geo);

	fill_zone(dev, start, 2 * pblk, 6);
	pattern(dev, expected, start, 2, 6);
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		for (size_t k = 0; k < (i ? ARRAY_SIZE(flags) : 1); k++) {
			struct cdb cdb = cdb_lba(opcodes[i], start, 2);

			if (flags[k])
				cdb.b[1] = flags[k];
			expect_good(dev, run_in(dev, cdb, 2 * dev->lba_size));
			expect_true(dev, !memcmp(dev->in, expected, 2 * dev->lba_size));
		}
		expect_sense(dev, run_in(dev, cdb_lba(opcodes[i], dev->capacity, 1),
					 dev->lba_size),
			     ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	}
	/* READ(6): length 0 is 256 blocks, READ(10): none. */
	if (dev->geo->zone_size * dev->geo->conv >= 256) {
		expect_good(dev, run_in(dev, cdb_lba(READ_6, 0, 0), 256 * dev->lba_size));
		expect_good(dev, run_in(dev, cdb_lba(READ_10, 0, 0), 0));
	} else {
		expect_sense(dev, run_in(dev, cdb_lba(READ_6, 0, 0), 256 * dev->lba_size),
			     ILLEGAL_REQUEST,
			     256 > dev->capacity ? ASC_LBA_OUT_OF_RANGE : ASC_READ_BOUNDARY);
	}
}

/* C16: 8 blocks written in zone 4, zone 5 full of known data. */
static struct dev *open_c16(const char *config)
{
	struct dev *dev = dev_open(config, 6ull << 30, 4096);

	expect_good(dev, write_blocks(dev, 0x18000, 8, 3));
	expect_good(dev, write_blocks(dev, 0x1e000, 16, 4));
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, 0x1e000));
	return dev;
}

static void c16_unrestricted(void **state)
{
	struct dev *dev = open_c16("zone_size=96M/conv=4/lba=4096/urswrz=1");
	uint8_t *expected = calloc(32, 4096);

	(void)state;
	expect_data(dev, 0x18000, 8, 3);
	expect_data(dev, 0x18008, 8, 0);
	pattern(dev, expected + 16 * 4096, 0x1e000, 16, 4);
	expect_good(dev, read_blocks(dev, 0x1dff0, 32));
	expect_true(dev, !memcmp(expected, dev->in, 32 * 4096));
	free(expected);
	dev_close(dev);
}

static void c16_restricted(void **state)
{
	struct dev *dev = open_c16("zone_size=96M/conv=4/lba=4096/urswrz=0");

	(void)state;
	expect_data(dev, 0x18000, 8, 3);
	expect_sense(dev, read_blocks(dev, 0x18000, 16), ILLEGAL_REQUEST, 0x2106);
	expect_sense(dev, read_blocks(dev, 0x1dff0, 32), ILLEGAL_REQUEST, 0x2107);
	dev_close(dev);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "every case, URSWRZ=1", every_case_unrestricted, "urswrz=1" },
		{ "every case, URSWRZ=0", every_case_restricted, "urswrz=0" },
		{ "many zones", many_zones, NULL },
		{ "across types", across_types, NULL },
		{ "across types, URSWRZ=0", across_types, "urswrz=0" },
		{ "conventional", conventional, NULL },
		{ "conventional, URSWRZ=0", conventional, "urswrz=0" },
		{ "gap zones", gaps_unrestricted, NULL },
		{ "gap zones, URSWRZ=0", gaps_restricted, "urswrz=0" },
		{ "out of range", out_of_range, NULL },
		{ "out of range, URSWRZ=0", out_of_range, "urswrz=0" },
		{ "short buffer", short_buffer, NULL },
		{ "every READ opcode", every_read_opcode, NULL },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c16_unrestricted),
		cmocka_unit_test(c16_restricted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("read", matrix, ARRAY_SIZE(matrix));
}

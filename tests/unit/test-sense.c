// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Sense data: the numbers, both formats, INFORMATION, and field pointers to every reserved bit. */
#include "harness.h"

/* The standards' numbers, from which the names in scsi.h must not deviate. */
static void numbers(void **state)
{
	static const struct {
		unsigned int name, number;
	} n[] = {
		{ ASC_UNRECOVERED_READ_ERROR, 0x1100 }, { ASC_WRITE_ERROR, 0x0c00 },
		{ ASC_PARAM_LIST_LENGTH, 0x1a00 }, { ASC_MISCOMPARE_DURING_VERIFY, 0x1d00 },
		{ ASC_INVALID_OPCODE, 0x2000 }, { ASC_LBA_OUT_OF_RANGE, 0x2100 },
		{ ASC_UNALIGNED_WRITE, 0x2104 }, { ASC_WRITE_BOUNDARY, 0x2105 },
		{ ASC_READ_INVALID_DATA, 0x2106 }, { ASC_READ_BOUNDARY, 0x2107 },
		{ ASC_GAP_ZONE, 0x2109 }, { ASC_INVALID_FIELD_IN_CDB, 0x2400 },
		{ ASC_INVALID_FIELD_IN_PARAM, 0x2600 }, { ASC_SOFTWARE_WRITE_PROTECTED, 0x2702 },
		{ ASC_SPACE_ALLOCATION_FAILED, 0x2707 }, { ASC_ZONE_READ_ONLY, 0x2708 },
		{ ASC_ZONE_OFFLINE, 0x2c0e }, { ASC_SAVING_NOT_SUPPORTED, 0x3900 },
		{ ASC_INTERNAL_TARGET_FAILURE, 0x4400 },
		{ ASC_INSUFFICIENT_ZONE_RESOURCES, 0x550e },
		{ ASC_INITIALIZING_CMD_REQUIRED, 0x0402 },
		{ NOT_READY, 2 }, { MEDIUM_ERROR, 3 }, { HARDWARE_ERROR, 4 },
		{ ILLEGAL_REQUEST, 5 }, { DATA_PROTECT, 7 }, { MISCOMPARE, 0xe },
		{ ZONE_NOT_WP, 0 }, { ZONE_EMPTY, 1 }, { ZONE_IMP_OPEN, 2 }, { ZONE_EXP_OPEN, 3 },
		{ ZONE_CLOSED, 4 }, { ZONE_READ_ONLY, 0xd }, { ZONE_FULL, 0xe },
		{ ZONE_OFFLINE, 0xf },
		{ ZONE_TYPE_CONVENTIONAL, 1 }, { ZONE_TYPE_SWR, 2 }, { ZONE_TYPE_GAP, 5 },
		{ ZBC_OUT, 0x94 }, { ZBC_IN, 0x95 }, { SA_CLOSE_ZONE, 1 }, { SA_FINISH_ZONE, 2 },
		{ SA_OPEN_ZONE, 3 }, { SA_RESET_WRITE_POINTER, 4 }, { SA_REPORT_ZONES, 0 },
		{ SAM_STAT_GOOD, 0 }, { SAM_STAT_CHECK_CONDITION, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(n); i++)
		assert_int_equal(n[i].name, n[i].number);
}

/* Each with fixed and then descriptor format sense. */
static void both_formats(struct dev *dev, void (*check)(struct dev *dev, uint8_t format))
{
	check(dev, 0x70);
	set_d_sense(dev, true);
	check(dev, 0x72);
	set_d_sense(dev, false);
	check(dev, 0x70);
}

#define GB_CONFIG "zone_size=64M/conv=4/max_open=2"
#define GB_ZONE_4 0x80000
#define GB_ZONE_5 0xa0000

static void check_errors(struct dev *dev, uint8_t format)
{
	uint64_t capacity = dev->capacity;

	expect_info(dev, write_blocks(dev, GB_ZONE_4 + 16, 8, 1), 0x5, 0x2104, GB_ZONE_4 + 8);
	expect_eq(dev, dev->sense.format, format);
	expect_info(dev, write_blocks(dev, GB_ZONE_4, 8, 1), 0x5, 0x2104, GB_ZONE_4 + 8);
	expect_info(dev, write_blocks(dev, GB_ZONE_4 + 8, 9, 1), 0x5, 0x2104, GB_ZONE_4 + 8);
	expect_sense(dev, write_blocks(dev, GB_ZONE_5 - 8, 16, 1), 0x5, 0x2105);
	expect_eq(dev, dev->sense.format, format);
	expect_sense(dev, read_blocks(dev, GB_ZONE_4 - 1, 2), 0x5, 0x2107);
	expect_eq(dev, dev->sense.format, format);
	expect_sense(dev, read_blocks(dev, capacity, 1), 0x5, 0x2100);
	expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, capacity), 0x5, 0x2100);
	expect_invalid_cdb(dev, zone_action(dev, SA_OPEN_ZONE, GB_ZONE_4 + 1), 2, -1);
	expect_eq(dev, dev->sense.format, format);
	expect_invalid_cdb(dev, report_zones(dev, 0, 0x20, 64), 14, 5);
	expect_sense(dev, run_none(dev, (struct cdb){ .b = { 0x42 } }), 0x5, 0x2000);
	expect_true(dev, !dev->sense.valid && !dev->sense.sksv);
	expect_eq(dev, dev->sense.format, format);
	expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, GB_ZONE_4 + 2 * 0x20000), 0x7, 0x550e);
	expect_true(dev, !dev->sense.valid && !dev->sense.sksv);
	expect_eq(dev, dev->sense.format, format);
}

static void errors_in_both_formats(void **state)
{
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);

	(void)state;
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, GB_ZONE_4));
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, GB_ZONE_5));
	expect_good(dev, write_blocks(dev, GB_ZONE_4, 8, 1));
	both_formats(dev, check_errors);
	dev_close(dev);
}

/* Write pointers above FFFFFFFFh have no place in fixed format. */
static void check_long_lbas(struct dev *dev, uint8_t format)
{
	const uint64_t zone = 3ull << 31, below = 1ull << 31;

	expect_info(dev, write_blocks(dev, below + 8, 8, 1), 0x5, 0x2104, below);
	expect_sense(dev, write_blocks(dev, zone + 16, 8, 1), 0x5, 0x2104);
	if (format == 0x70) {
		expect_true(dev, !dev->sense.valid);
		expect_eq(dev, dev->sense.info, 0);
	} else {
		expect_info_(dev, zone + 8, "write", __FILE__, __LINE__);
	}
}

static void long_lbas(void **state)
{
	struct dev *dev = dev_open("zone_size=1T/conv=1", 8ull << 40, 512);

	(void)state;
	expect_good(dev, write_blocks(dev, 3ull << 31, 8, 1));
	both_formats(dev, check_long_lbas);
	dev_close(dev);
}

/* The largest write pointer that fits, and the smallest that does not. */
static void edge_of_32_bits(void **state)
{
	struct dev *dev = dev_open("zone_size=1T/conv=1/lba=512/pblk=512", 4ull << 40, 512);
	const uint64_t start = 1ull << 31, edge = 0xffffffff;
	struct cdb cdb = cdb_lba(WRITE_SAME_16, start, 0x10000);

	(void)state;
	/* No way but writing: WRITE SAME of zeros moves the write pointer 1 TiB in 32 MiB steps. */
	cdb.b[1] = 1;	/* NDOB */
	for (uint64_t wp = start; wp < edge; wp += 0x10000) {
		put_be64(cdb.b + 2, wp);
		put_be32(cdb.b + 10, (uint32_t)(edge - wp < 0x10000 ? edge - wp : 0x10000));
		expect_good(dev, run_none(dev, cdb));
	}
	expect_info(dev, write_blocks(dev, start, 1, 1), 0x5, 0x2104, edge);
	dev_close(dev);
}

/*
 * Reserved bits of the CDBs, by opcode and service action. Left out: fields that a device may or
 * may not know (GROUP NUMBER, DLD, obsolete ones) and the CONTROL byte.
 */
struct reserved {
	uint8_t opcode, action;
	uint8_t bits[14];	/* by byte of the CDB, from 1 on */
};

static const struct reserved reserved[] = {
	{ TEST_UNIT_READY, 0, { 0xff, 0xff, 0xff, 0xff } },
	{ REQUEST_SENSE, 0, { 0xfe, 0xff, 0xff } },
	{ READ_6, 0, { 0xe0 } },
	{ WRITE_6, 0, { 0xe0 } },
	{ INQUIRY, 0, { 0x1e } },	/* bits 7 to 5 were the LUN in SCSI-2 */
	{ MODE_SELECT_6, 0, { 0xec, 0xff, 0xff } },
	{ MODE_SENSE_6, 0, { 0xf7 } },
	{ START_STOP_UNIT, 0, { 0xfe, 0xff, 0xf0, 0x08 } },
	{ READ_CAPACITY_10, 0, { 0xfe, 0, 0, 0, 0, 0xff, 0xff, 0xfe } },
	{ READ_10, 0, { 0, 0, 0, 0, 0, 0xc0 } },
	{ WRITE_10, 0, { 0x04, 0, 0, 0, 0, 0xc0 } },
	{ VERIFY_10, 0, { 0x08, 0, 0, 0, 0, 0xc0 } },
	{ SYNCHRONIZE_CACHE_10, 0, { 0xf8, 0, 0, 0, 0, 0xc0 } },
	{ WRITE_SAME_10, 0, { 0, 0, 0, 0, 0, 0xc0 } },
	{ LOG_SENSE, 0, { 0xfc, 0, 0, 0xff } },
	{ MODE_SELECT_10, 0, { 0xec, 0xff, 0xff, 0xff, 0xff, 0xff } },
	{ MODE_SENSE_10, 0, { 0xe7, 0, 0, 0xff, 0xff, 0xff } },
	{ WRITE_16, 0, { 0x04 } },
	{ VERIFY_16, 0, { 0x08 } },
	{ SYNCHRONIZE_CACHE_16, 0, { 0xf8 } },
	{ ZBC_OUT, SA_CLOSE_ZONE, { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xfe } },
	{ ZBC_OUT, SA_FINISH_ZONE, { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xfe } },
	{ ZBC_OUT, SA_OPEN_ZONE, { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xfe } },
	{ ZBC_OUT, SA_RESET_WRITE_POINTER,
	  { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xfe } },
	{ ZBC_IN, SA_REPORT_ZONES, { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40 } },
	{ SERVICE_ACTION_IN_16, SA_READ_CAPACITY_16,
	  { 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe } },
	{ REPORT_LUNS, 0, { 0xff, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff } },
	{ MAINTENANCE_IN, SA_REPORT_OPCODES, { 0xe0, 0x78, 0, 0, 0, 0, 0, 0, 0, 0xff } },
	{ MAINTENANCE_IN, SA_REPORT_TMFS, { 0xe0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff } },
	{ READ_12, 0, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0 } },
	{ WRITE_12, 0, { 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0 } },
	{ VERIFY_12, 0, { 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0 } },
};

/* Each reserved bit alone is refused, with a pointer to it. */
static void check_reserved(struct dev *dev, uint8_t format)
{
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		const struct reserved *r = &reserved[i];

		for (unsigned int bit = 0; bit < 8 * sizeof(r->bits); bit++) {
			struct cdb cdb = { .b = { r->opcode, r->action } };
			unsigned int at = 1 + bit / 8;

			if (!(r->bits[bit / 8] & 1 << bit % 8))
				continue;
			cdb.b[at] |= (uint8_t)(1 << bit % 8);
			expect_invalid_cdb(dev, run_none(dev, cdb), at, (int)(bit % 8));
			expect_eq(dev, dev->sense.format, format);
		}
	}
}

static void reserved_bits(void **state)
{
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);

	(void)state;
	both_formats(dev, check_reserved);
	dev_close(dev);
}

/* Of two faults, the pointer is to the first in CDB order. */
static void first_fault_wins(void **state)
{
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);
	struct cdb cdb = cdb_zone(SA_OPEN_ZONE, GB_ZONE_4 + 1);

	(void)state;
	cdb.b[10] = 0x04;
	cdb.b[14] = 0x80;
	expect_invalid_cdb(dev, run_none(dev, cdb), 10, 2);
	cdb.b[1] |= 0x40;
	expect_invalid_cdb(dev, run_none(dev, cdb), 1, 6);
	cdb.b[1] |= 0x80;
	expect_invalid_cdb(dev, run_none(dev, cdb), 1, 7);
	/* Fields come before the LBA: the order of checks. */
	cdb = cdb_report_zones(UINT64_MAX, 0x40, 64);
	expect_invalid_cdb(dev, run_in(dev, cdb, 64), 14, 6);
	cdb = cdb_with(cdb_lba(READ_16, UINT64_MAX, 1), 1, 0x80);	/* RDPROTECT */
	expect_invalid_cdb(dev, run_in(dev, cdb, 512), 1, 7);
	dev_close(dev);
}

/* Protection information is not supported: RDPROTECT, WRPROTECT, VRPROTECT must be zero. */
static void protection_fields(void **state)
{
	static const uint8_t opcodes[] = {
		READ_10, READ_12, READ_16, WRITE_10, WRITE_12, WRITE_16, VERIFY_10, VERIFY_12,
		VERIFY_16, WRITE_SAME_10, WRITE_SAME_16,
	};
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		for (uint8_t protect = 1; protect < 8; protect++) {
			struct cdb cdb = cdb_with(cdb_lba(opcodes[i], 0, 1), 1,
						  (uint8_t)(protect << 5));

			expect_sense(dev, run_none(dev, cdb), 0x5, 0x2400);
			expect_true(dev, dev->sense.sksv && dev->sense.in_cdb);
			expect_eq(dev, dev->sense.byte, 1);
			expect_true(dev, dev->sense.bit >= 5);
		}
	dev_close(dev);
}

static void unknown_opcodes(void **state)
{
	/* Of other device types, and what this one leaves out. */
	static const uint8_t opcodes[] = {
		0x01, 0x02, 0x04, 0x0b, 0x2e, 0x42, 0x48, 0x4c, 0x5e, 0x5f, 0x7f, 0x83, 0x84, 0x85,
		0x89, 0x8b, 0x8e, 0x9c, 0x9f, 0xa1, 0xa4, 0xc0, 0xff,
	};
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		expect_sense(dev, run_none(dev, (struct cdb){ .b = { opcodes[i] } }), 0x5, 0x2000);
	/* Opcodes with service actions that are not there */
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0x95, 0x06 } }), 1, 4);
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0x95, 0x07 } }), 1, 4);
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0x94, 0x10 } }), 1, 4);
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0x94, 0x00 } }), 1, 4);
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0x9e, 0x12 } }), 1, 4);
	expect_invalid_cdb(dev, run_none(dev, (struct cdb){ .b = { 0xa3, 0x0a } }), 1, 4);
	dev_close(dev);
}

/* D_SENSE outlives the process. */
static void format_after_reopen(void **state)
{
	struct dev *dev = dev_open(GB_CONFIG, 4ull << 30, 512);

	(void)state;
	set_d_sense(dev, true);
	dev_reopen(dev);
	expect_sense(dev, read_blocks(dev, dev->capacity, 1), 0x5, 0x2100);
	expect_eq(dev, dev->sense.format, 0x72);
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(errors_in_both_formats),
		cmocka_unit_test(long_lbas),
		cmocka_unit_test(edge_of_32_bits),
		cmocka_unit_test(reserved_bits),
		cmocka_unit_test(first_fault_wins),
		cmocka_unit_test(protection_fields),
		cmocka_unit_test(unknown_opcodes),
		cmocka_unit_test(format_after_reopen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

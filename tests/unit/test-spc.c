// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* INQUIRY, REPORT LUNS, REQUEST SENSE, TEST UNIT READY, and the formats of sense data. */
#include <ctype.h>
#include <stdio.h>

#include "reply.h"

static const struct alloc_field alloc_inquiry = { .at = 3, .width = 2 };
static const struct alloc_field alloc_sense = { .at = 4, .width = 1 };
static const struct alloc_field alloc_luns = { .at = 6, .width = 4 };

static const struct cdb test_unit_ready = { .b = { TEST_UNIT_READY } };
static const struct cdb start_unit = { .b = { START_STOP_UNIT, 0, 0, 0, 1 } };
static const struct cdb stop_unit = { .b = { START_STOP_UNIT } };

static struct dev *open_small(void)
{
	return dev_open("zone_size=1M/conv=1", 8 << 20, 512);
}

static void standard_inquiry(void **state)
{
	struct dev *dev = open_small();
	struct cdb inquiry = { .b = { INQUIRY, 0, 0, 0, 96 } };
	char hex[400];

	(void)state;
	/* PRODUCT REVISION LEVEL is MAJOR.MINOR, with blanks behind. */
	expect_good(dev, run_in(dev, inquiry, 96));
	assert_true(isdigit(dev->in[32]) && dev->in[33] == '.' && isdigit(dev->in[34]));
	assert_true(isdigit(dev->in[35]) || dev->in[35] == ' ');
	/*
	 * PDT 14h, SPC-5, HISUP and format 2, 96 bytes in all, CMDQUE; "MEMZBC  ",
	 * "zoned disk      "; SAM-6, SPC-5, SBC-4, ZBC-2
	 */
	snprintf(hex, sizeof(hex),
		 "14 00 07 12 5b 00 00 02 4d 45 4d 5a 42 43 20 20 "
		 "7a 6f 6e 65 64 20 64 69 73 6b 20*6 %02x%02x%02x%02x 00*22 "
		 "00c0 05c0 0600 0660 00*30",
		 dev->in[32], dev->in[33], dev->in[34], dev->in[35]);
	expect_reply(dev, inquiry, alloc_inquiry, hex);
	dev_close(dev);
}

static void inquiry_fields(void **state)
{
	struct dev *dev = open_small();
	struct cdb inquiry = { .b = { INQUIRY, 0, 0, 0, 96 } };

	(void)state;
	expect_invalid_cdb(dev, run_in(dev, cdb_with(inquiry, 2, 0x80), 96), 2, -1);
	/* CMDDT is obsolete. */
	expect_invalid_cdb(dev, run_in(dev, cdb_with(inquiry, 1, 0x02), 96), 1, 1);
	/* The LUN of SCSI-2, as Linux sends it when LUN 1 is the first that it looks for. */
	expect_good(dev, run_in(dev, cdb_with(inquiry, 1, 0x20), 96));
	/* CONTROL: NACA is not supported, NORMACA says so. */
	expect_invalid_cdb(dev, run_in(dev, cdb_with(inquiry, 5, 0x04), 96), 5, 2);
	expect_good(dev, run_none(dev, stop_unit));
	expect_good(dev, run_in(dev, inquiry, 96));
	dev_close(dev);
}

static void report_luns(void **state)
{
	static const struct {
		uint8_t select;
		const char *hex;	/* NULL: not supported */
	} cases[] = {
		{ 0x00, "00000008 00*4 00*8" },
		{ 0x01, "00000000 00*4" },	/* no well known logical units */
		{ 0x02, "00000008 00*4 00*8" },
		{ 0x03, NULL },
		{ 0x10, NULL },
		{ 0x11, NULL },
		{ 0xff, NULL },
	};
	struct dev *dev = open_small();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cdb cdb = { .b = { REPORT_LUNS, 0, cases[i].select, 0, 0, 0, 0, 0, 0, 16 } };

		if (cases[i].hex)
			expect_reply(dev, cdb, alloc_luns, cases[i].hex);
		else
			expect_invalid_cdb(dev, run_in(dev, cdb, 16), 2, -1);
	}
	dev_close(dev);
}

/* REQUEST SENSE goes by its DESC bit, whatever D_SENSE says. */
static void request_sense(void **state)
{
	static const struct cdb fixed = { .b = { REQUEST_SENSE, 0 } };
	static const struct cdb descriptor = { .b = { REQUEST_SENSE, 1 } };
	struct dev *dev = open_small();

	(void)state;
	for (int d_sense = 0; d_sense <= 1; d_sense++) {
		set_d_sense(dev, d_sense);
		expect_reply(dev, fixed, alloc_sense, "70 00 00 00*4 0a 00*10");
		expect_reply(dev, descriptor, alloc_sense, "72 00 0000 00*4");
	}
	expect_invalid_cdb(dev, run_in(dev, cdb_with(fixed, 1, 0x02), 0), 1, 1);
	dev_close(dev);
}

static void stopped(void **state)
{
	struct dev *dev = open_small();
	struct cdb fixed = { .b = { REQUEST_SENSE, 0 } };
	struct cdb descriptor = { .b = { REQUEST_SENSE, 1 } };

	(void)state;
	expect_good(dev, run_none(dev, test_unit_ready));
	expect_good(dev, run_none(dev, stop_unit));
	/* LOGICAL UNIT NOT READY, INITIALIZING COMMAND REQUIRED: GOOD, as parameter data */
	expect_reply(dev, fixed, alloc_sense, "70 00 02 00*4 0a 00*4 0402 00*4");
	expect_reply(dev, descriptor, alloc_sense, "72 02 0402 00*4");
	expect_sense(dev, run_none(dev, test_unit_ready), NOT_READY, 0x0402);
	expect_good(dev, run_none(dev, start_unit));
	expect_good(dev, run_none(dev, test_unit_ready));
	expect_reply(dev, descriptor, alloc_sense, "72 00 0000 00*4");
	dev_close(dev);
}

/* The sense data of one error, byte by byte. */
static void check_sense_bytes(struct dev *dev, const char *hex)
{
	uint8_t want[HEX_MAX];
	size_t len = hex_bytes(hex, want);

	assert_int_equal(dev->status, SAM_STAT_CHECK_CONDITION);
	assert_memory_equal(dev->sense_bytes, want, len);
}

static void sense_formats(void **state)
{
	/* The largest LBA is above FFFFFFFFh; the first SWR zone is below. */
	struct dev *dev = dev_open("zone_size=1T/conv=1", 8ull << 40, 512);
	struct cdb bad_field = { .b = { READ_16, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } };

	(void)state;
	run_in(dev, bad_field, 512);	/* RDPROTECT: byte 1, bit 5 */
	check_sense_bytes(dev, "70 00 05 00*4 0a 00*4 2400 00 cd 0001");
	run_in(dev, (struct cdb){ .b = { 0x42 } }, 0);
	check_sense_bytes(dev, "70 00 05 00*4 0a 00*4 2000 00 00*3");
	/* UNALIGNED WRITE in zone 1: INFORMATION is its write pointer, 1 TiB: 80000000h blocks. */
	write_blocks(dev, 0x80000008, 8, 1);
	check_sense_bytes(dev, "f0 00 05 80000000 0a 00*4 2104 00 00*3");
	/* In zone 3, the write pointer is 180000000h, and has no place. */
	write_blocks(dev, 0x180000008, 8, 1);
	check_sense_bytes(dev, "70 00 05 00000000 0a 00*4 2104 00 00*3");

	set_d_sense(dev, true);
	run_in(dev, bad_field, 512);
	check_sense_bytes(dev, "72 05 2400 00*3 08 02 06 0000 cd 0001 00");
	run_in(dev, (struct cdb){ .b = { 0x42 } }, 0);
	check_sense_bytes(dev, "72 05 2000 00*3 00");
	write_blocks(dev, 0x180000008, 8, 1);
	check_sense_bytes(dev, "72 05 2104 00*3 0c 00 0a 80 00 0000000180000000");
	set_d_sense(dev, false);
	run_in(dev, bad_field, 512);
	check_sense_bytes(dev, "70 00 05");
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_inquiry),
		cmocka_unit_test(inquiry_fields),
		cmocka_unit_test(report_luns),
		cmocka_unit_test(request_sense),
		cmocka_unit_test(stopped),
		cmocka_unit_test(sense_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Vital product data pages. */
#include <errno.h>
#include <stdio.h>

#include "reply.h"

static const struct alloc_field alloc_inquiry = { .at = 3, .width = 2 };

static struct cdb vpd(uint8_t page)
{
	return (struct cdb){ .b = { INQUIRY, 1, page, 1, 0 } };
}

static void supported_pages(void **state)
{
	static const uint8_t pages[] = { 0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2, 0xb6 };
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	expect_reply(dev, vpd(0x00), alloc_inquiry, "14 00 0007 00 80 83 b0 b1 b2 b6");
	for (unsigned int page = 0; page <= 0xff; page++) {
		if (memchr(pages, (int)page, sizeof(pages))) {
			expect_good(dev, run_in(dev, vpd((uint8_t)page), 256));
			assert_int_equal(dev->in[0], 0x14);
			assert_int_equal(dev->in[1], page);
		} else {
			expect_invalid_cdb(dev, run_in(dev, vpd((uint8_t)page), 256), 2, -1);
		}
	}
	dev_close(dev);
}

/* A serial number from outside. */
struct source {
	const char *serial;	/* NULL: there is none yet */
	int asked;
};

static int serial_of(void *arg, char *serial)
{
	struct source *source = arg;

	source->asked++;
	if (!source->serial) {
		strcpy(serial, "half-written");
		return -ENOENT;
	}
	strcpy(serial, source->serial);
	return 0;
}

static struct dev *open_with_serial(struct source *source)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg = *memzbc_lun_config(dev->lun);
	struct memzbc_lun_params params = {
		.cfg = &cfg,
		.state_dir = dev->dir,
		.token = dev->token,
		.serial = serial_of,
		.serial_arg = source,
	};

	dev_stop(dev);
	assert_int_equal(memzbc_lun_open(&params, &dev->lun, reason), 0);
	return dev;
}

/* Expects pages 80h and 83h for this serial number; @naa: the digits behind 6001405h. */
static void check_serial(struct dev *dev, const char *serial, const char *naa)
{
	char hex[600], text[2 * MEMZBC_SERIAL_MAX + 1] = "";
	size_t len = strlen(serial);

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", (unsigned char)serial[i]);
	snprintf(hex, sizeof(hex), "14 80 %04zx %s", len, text);
	expect_reply(dev, vpd(0x80), alloc_inquiry, hex);
	/* LU, NAA 6, binary; LU, T10 vendor ID, ASCII: "MEMZBC  " and the serial number */
	snprintf(hex, sizeof(hex),
		 "14 83 %04zx 01 03 00 10 6001405%s 02 01 00 %02zx 4d 45 4d 5a 42 43 20 20 %s",
		 20 + 12 + len, naa, 8 + len, text);
	expect_reply(dev, vpd(0x83), alloc_inquiry, hex);
}

static void serial_numbers(void **state)
{
	static const struct {
		const char *serial, *naa;
	} cases[] = {
		/* LIO's default; digits beyond the 25th do not count. */
		{ "b0a2d0d5-7a2f-4a3c-9d77-0123456789ab", "b0a2d0d57a2f4a3c9d7701234" },
		{ "0123456789abcdefABCDEF012", "0123456789abcdefABCDEF012" },
		{ "0123456789abcdefABCDEF01", "0123456789abcdefABCDEF010" },
		{ "disk-7 G@`/:", "d700000000000000000000000" },
		{ "x", "0000000000000000000000000" },
		{ "0123456789012345678901234567890123456789012345678901234567890123",
		  "0123456789012345678901234" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source source = { .serial = cases[i].serial };
		struct dev *dev = open_with_serial(&source);

		check_serial(dev, cases[i].serial, cases[i].naa);
		assert_int_equal(source.asked, 1);
		dev_close(dev);
	}
}

/* The token stands in, until there is a serial number; only the pages that need it ask. */
static void serial_comes_late(void **state)
{
	struct source source = { .serial = NULL };
	struct dev *dev = open_with_serial(&source);
	char token[17], naa[26];

	(void)state;
	snprintf(token, sizeof(token), "%016llx", (unsigned long long)dev->token);
	snprintf(naa, sizeof(naa), "%s000000000", token);
	expect_good(dev, run_in(dev, vpd(0x00), 256));
	expect_good(dev, run_in(dev, vpd(0xb6), 256));
	assert_int_equal(source.asked, 0);
	check_serial(dev, token, naa);
	assert_true(source.asked > 1);
	/* The first one stays. */
	for (int i = 0; i < 2; i++) {
		source.serial = i ? "6" : "5";
		check_serial(dev, "5", "5000000000000000000000000");
	}
	dev_close(dev);
}

static void token_as_serial(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	char token[17], naa[26];

	(void)state;
	snprintf(token, sizeof(token), "%016llx", (unsigned long long)dev->token);
	snprintf(naa, sizeof(naa), "%s000000000", token);
	check_serial(dev, token, naa);
	dev_reopen(dev);
	check_serial(dev, token, naa);
	dev_close(dev);
}

/* WSNZ=1; granularity: the physical block; MAXIMUM WRITE SAME LENGTH: 32 MiB */
static void block_limits(void **state)
{
	static const struct {
		const char *config;
		uint32_t block_size, max_transfer;
		const char *hex;
	} cases[] = {
		{ "", 512, 0, "14 b0 003c 01 00 0008 00000000 00*24 0000000000010000 00*20" },
		{ "", 512, 2048, "14 b0 003c 01 00 0008 00000800 00*24 0000000000010000 00*20" },
		{ "pblk=512", 512, 65535,
		  "14 b0 003c 01 00 0001 0000ffff 00*24 0000000000010000 00*20" },
		{ "", 4096, 256, "14 b0 003c 01 00 0001 00000100 00*24 0000000000002000 00*20" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dev *dev = dev_open(cases[i].config, 1 << 30, cases[i].block_size);

		dev->max_transfer = cases[i].max_transfer;
		dev_reopen(dev);
		expect_reply(dev, vpd(0xb0), alloc_inquiry, cases[i].hex);
		dev_close(dev);
	}
}

/* What page B0h says is what the commands keep to. */
static void limits_hold(void **state)
{
	struct dev *dev = dev_open("conv=1", 1 << 30, 512);
	uint64_t most = 0x10000;

	(void)state;
	dev->max_transfer = 2048;
	dev_reopen(dev);
	/* NDOB=1 */
	expect_good(dev, run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, 0, most), 1, 1)));
	expect_invalid_cdb(dev, run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, 0, most + 1), 1, 1)),
			   10, -1);
	expect_invalid_cdb(dev, run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, 0, 0), 1, 1)), 10,
			   -1);
	expect_good(dev, run_in(dev, cdb_lba(READ_16, 0, 2048), 2048 * 512));
	expect_invalid_cdb(dev, run_in(dev, cdb_lba(READ_16, 0, 2049), 2049 * 512), 10, -1);
	dev_close(dev);
}

static void other_pages(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	/* Non-rotating, ZONED=00b */
	expect_reply(dev, vpd(0xb1), alloc_inquiry, "14 b1 003c 0001 00*58");
	/* Fully provisioned */
	expect_reply(dev, vpd(0xb2), alloc_inquiry, "14 b2 0004 00*4");
	dev_close(dev);
}

static void zoned_characteristics(void **state)
{
	static const struct {
		const char *config;
		uint32_t block_size;
		const char *hex;
	} cases[] = {
		/* Constant zone lengths, also with a smaller last zone */
		{ "zone_size=96M", 512, "14 b6 003c 01 00*3 ff*8 00000080 00*3 01 00*8 00*32" },
		{ "zone_size=256M", 512, "14 b6 003c 01 00*3 ff*8 00000080 00*3 01 00*8 00*32" },
		{ "urswrz=0/max_open=8", 512,
		  "14 b6 003c 00 00*3 ff*8 00000008 00*3 01 00*8 00*32" },
		{ "max_open=0", 4096, "14 b6 003c 01 00*3 ff*8 ffffffff 00*3 01 00*8 00*32" },
		/* Gap zones: constant zone starting offsets of 128 MiB */
		{ "zone_size=128M/zone_cap=96M/max_open=2147483647", 512,
		  "14 b6 003c 01 00*3 ff*8 7fffffff 00*3 08 0000000000040000 00*32" },
		{ "zone_size=128M/zone_cap=96M", 4096,
		  "14 b6 003c 01 00*3 ff*8 00000080 00*3 08 0000000000008000 00*32" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dev *dev = dev_open(cases[i].config, 1 << 30, cases[i].block_size);

		expect_reply(dev, vpd(0xb6), alloc_inquiry, cases[i].hex);
		dev_close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(supported_pages),
		cmocka_unit_test(serial_numbers),
		cmocka_unit_test(serial_comes_late),
		cmocka_unit_test(token_as_serial),
		cmocka_unit_test(block_limits),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(other_pages),
		cmocka_unit_test(zoned_characteristics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* MODE SENSE and MODE SELECT. */
#include "reply.h"

#define GIB (1ull << 30)

static const struct alloc_field alloc6 = { .at = 4, .width = 1 };
static const struct alloc_field alloc10 = { .at = 7, .width = 2 };

static const struct cdb sense6 = { .b = { MODE_SENSE_6 } };
static const struct cdb sense10 = { .b = { MODE_SENSE_10 } };

/* @flags: byte 1 */
static struct cdb sense_page(struct cdb cdb, uint8_t flags, uint8_t pc, uint8_t page,
			     uint8_t subpage)
{
	cdb.b[1] = flags;
	cdb.b[2] = (uint8_t)(pc << 6 | page);
	cdb.b[3] = subpage;
	return cdb;
}

/* AWRE, ARRE; WCE; GLTSD; DEXCPT */
#define PAGE_01 "01 0a c0 00*9 "
#define PAGE_08 "08 12 04 00*17 "
#define PAGE_0A "0a 0a 02 00*9 "
#define PAGE_1C "1c 0a 08 00*9 "
#define PAGES PAGE_01 PAGE_08 PAGE_0A PAGE_1C
/* WCE; D_SENSE and SWP */
#define CHANGEABLE "01 0a 00*10 " "08 12 04 00*17 " "0a 0a 04 00 08 00*7 " "1c 0a 00*10"

static void sense_pages(void **state)
{
	static const struct {
		uint8_t pc, page, subpage;
		const char *hex;
	} cases[] = {
		{ 0, 0x3f, 0x00, "003e 00 10 00 00 0000" PAGES },
		{ 0, 0x3f, 0xff, "003e 00 10 00 00 0000" PAGES },
		{ 2, 0x3f, 0x00, "003e 00 10 00 00 0000" PAGES },
		{ 1, 0x3f, 0x00, "003e 00 10 00 00 0000" CHANGEABLE },
		{ 0, 0x01, 0x00, "0012 00 10 00 00 0000" PAGE_01 },
		{ 0, 0x08, 0x00, "001a 00 10 00 00 0000" PAGE_08 },
		{ 0, 0x08, 0xff, "001a 00 10 00 00 0000" PAGE_08 },
		{ 1, 0x08, 0x00, "001a 00 10 00 00 0000 08 12 04 00*17" },
		{ 2, 0x0a, 0x00, "0012 00 10 00 00 0000" PAGE_0A },
		{ 2, 0x1c, 0xff, "0012 00 10 00 00 0000" PAGE_1C },
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_reply(dev, sense_page(sense10, 0x08, cases[i].pc, cases[i].page,
					     cases[i].subpage), alloc10, cases[i].hex);
	expect_reply(dev, sense_page(sense6, 0x08, 0, 0x3f, 0), alloc6, "3b 00 10 00" PAGES);
	expect_reply(dev, sense_page(sense6, 0x08, 1, 0x3f, 0xff), alloc6,
		     "3b 00 10 00" CHANGEABLE);
	expect_reply(dev, sense_page(sense6, 0x08, 0, 0x0a, 0), alloc6, "0f 00 10 00" PAGE_0A);
	dev_close(dev);
}

static void block_descriptors(void **state)
{
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	/* 200000h blocks of 512 bytes */
	expect_reply(dev, sense_page(sense6, 0, 0, 0x08, 0), alloc6,
		     "1f 00 10 08 00200000 00 000200" PAGE_08);
	expect_reply(dev, sense_page(sense10, 0, 0, 0x08, 0), alloc10,
		     "0022 00 10 00 00 0008 00200000 00 000200" PAGE_08);
	expect_reply(dev, sense_page(sense10, 0x10, 0, 0x08, 0), alloc10,
		     "002a 00 10 01 00 0010 0000000000200000 00000000 00000200" PAGE_08);
	/* No descriptor, no LONGLBA */
	expect_reply(dev, sense_page(sense10, 0x18, 0, 0x08, 0), alloc10,
		     "001a 00 10 00 00 0000" PAGE_08);
	dev_close(dev);

	/* More blocks than 32 bits hold: 20 TiB of 4096 bytes are 140000000h. */
	dev = dev_open("", 20 * (GIB << 10), 4096);
	expect_reply(dev, sense_page(sense6, 0, 0, 0x3f, 0), alloc6,
		     "43 00 10 08 ffffffff 00 001000" PAGES);
	expect_reply(dev, sense_page(sense10, 0x10, 0, 0x3f, 0xff), alloc10,
		     "004e 00 10 01 00 0010 0000000140000000 00000000 00001000" PAGES);
	dev_close(dev);
}

static void sense_refused(void **state)
{
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	expect_sense(dev, run_in(dev, sense_page(sense6, 0, 3, 0x08, 0), 0), ILLEGAL_REQUEST,
		     0x3900);
	expect_sense(dev, run_in(dev, sense_page(sense10, 0, 3, 0x3f, 0xff), 0), ILLEGAL_REQUEST,
		     0x3900);
	for (unsigned int page = 0; page < 0x3f; page++)
		if (page != 0x01 && page != 0x08 && page != 0x0a && page != 0x1c)
			expect_invalid_cdb(dev, run_in(dev, sense_page(sense10, 0, 0,
								       (uint8_t)page, 0), 0),
					   2, 5);
	expect_invalid_cdb(dev, run_in(dev, sense_page(sense10, 0, 0, 0x0a, 0x01), 0), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, sense_page(sense6, 0, 0, 0x3f, 0x01), 0), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, sense_page(sense6, 0x10, 0, 0x08, 0), 0), 1, 4);
	expect_invalid_cdb(dev, run_in(dev, sense_page(sense10, 0x20, 0, 0x08, 0), 0), 1, 5);
	dev_close(dev);
}

/* A MODE SELECT with this parameter list; SP=0, PF=1. */
static uint8_t select6(struct dev *dev, const char *hex)
{
	uint8_t list[HEX_MAX];
	struct cdb cdb = { .b = { MODE_SELECT_6, 0x10, 0, 0, (uint8_t)hex_bytes(hex, list) } };

	return run_list(dev, cdb, hex);
}

static uint8_t select10(struct dev *dev, const char *hex)
{
	uint8_t list[HEX_MAX];
	struct cdb cdb = { .b = { MODE_SELECT_10, 0x10 } };

	put_be16(cdb.b + 7, (uint16_t)hex_bytes(hex, list));
	return run_list(dev, cdb, hex);
}

/* All current values are the defaults. */
static void expect_defaults(struct dev *dev)
{
	expect_reply(dev, sense_page(sense10, 0x08, 0, 0x3f, 0), alloc10,
		     "003e 00 10 00 00 0000" PAGES);
}

static void select_accepted(void **state)
{
	static const char *const lists10[] = {
		"", "00*8", "00*8 " PAGES, "00*8 " PAGE_1C PAGE_01, "00*8 " PAGE_08 PAGE_08,
		/* WP and DPOFUA as MODE SENSE shows them */
		"00*3 10 00*4 " PAGE_08, "00*3 90 00*4 " PAGE_08,
		/* The capacity as it is, 0 and all ones: unchanged */
		"00*6 0008 00200000 00 000200", "00*6 0008 00000000 00 000200" PAGE_0A,
		"00*6 0008 ffffffff 00 000200" PAGE_0A,
		"00*4 01 00 0010 0000000000200000 00000000 00000200" PAGE_0A,
		"00*4 01 00 0010 0000000000000000 00000000 00000200",
		"00*4 01 00 0010 ffffffffffffffff 00000000 00000200",
		"00*4 01 00 0000" PAGE_0A,
	};
	static const char *const lists6[] = {
		"", "00*4", "00*4 " PAGES, "00*2 90 00" PAGE_08,
		"00*3 08 00200000 00 000200" PAGE_08,
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists10); i++) {
		expect_good(dev, select10(dev, lists10[i]));
		expect_defaults(dev);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists6); i++) {
		expect_good(dev, select6(dev, lists6[i]));
		expect_defaults(dev);
	}
	dev_close(dev);
}

static void select_cut(void **state)
{
	static const char *const lists10[] = {
		"00", "00*7", "00*6 0008", "00*6 0008 00*7", "00*4 01 00 0010 00*8", "00*8 08",
		"00*8 0a", "00*8 08 12", "00*8 08 12 04 00*16", "00*8 " PAGE_0A "08 12 04",
	};
	static const char *const lists6[] = {
		"00", "00*3", "00*3 08 00*7", "00*4 0a", "00*4 0a 0a 02 00*8",
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists10); i++)
		expect_sense(dev, select10(dev, lists10[i]), ILLEGAL_REQUEST, 0x1a00);
	for (size_t i = 0; i < ARRAY_SIZE(lists6); i++)
		expect_sense(dev, select6(dev, lists6[i]), ILLEGAL_REQUEST, 0x1a00);
	expect_defaults(dev);
	dev_close(dev);
}

struct bad_list {
	const char *hex;
	uint16_t byte;
	int bit;	/* -1: the field has whole bytes */
};

static void select_refused10(void **state)
{
	static const struct bad_list lists[] = {
		/* Header: MODE DATA LENGTH is reserved, MEDIUM TYPE is 0. */
		{ "0100 00*6", 0, -1 },
		{ "003e 00*6 " PAGES, 0, -1 },
		{ "0000 01 00*5", 2, -1 },
		{ "00*3 01 00*4", 3, -1 },
		{ "00*4 02 00*3", 4, -1 },
		{ "00*5 01 00*2", 5, -1 },
		{ "00*6 0004 00*4", 6, -1 },
		{ "00*6 0010 00*16", 6, -1 },
		{ "00*6 0108 00200000 00 000200", 6, -1 },
		{ "00*4 01 00 0008 00*8", 6, -1 },
		/* Block descriptors */
		{ "00*6 0008 00200001 00 000200", 8, -1 },
		{ "00*6 0008 00200000 01 000200", 12, -1 },
		{ "00*6 0008 00200000 00 001000", 13, -1 },
		{ "00*6 0008 00200000 00 000000" PAGE_08, 13, -1 },
		{ "00*4 01 00 0010 0000000100200000 00000000 00000200", 8, -1 },
		{ "00*4 01 00 0010 0000000000200000 00000001 00000200", 16, -1 },
		{ "00*4 01 00 0010 0000000000200000 00000000 00001000", 20, -1 },
		/* Pages: PS, SPF, pages that are not there, wrong lengths */
		{ "00*8 88 12 04 00*17", 8, 7 },
		{ "00*8 48 00 0010 00*16", 8, 6 },
		{ "00*8 00 0a 00*10", 8, 5 },
		{ "00*8 1a 26 00*38", 8, 5 },
		{ "00*8 3f 0a 00*10", 8, 5 },
		{ "00*8 0a 0b 02 00*10", 9, -1 },
		{ "00*8 0a 00", 9, -1 },
		{ "00*8 08 0a 04 00*9", 9, -1 },
		/* Fields that cannot change, named by their most significant bit */
		{ "00*8 01 0a 80 00*9", 10, 6 },		/* ARRE */
		{ "00*8 01 0a 00 00*9", 10, 7 },		/* AWRE before ARRE */
		{ "00*8 01 0a c0 01 00*8", 11, 7 },		/* READ RETRY COUNT */
		{ "00*8 01 0a c0 00*4 01 00*4", 15, 1 },	/* EMCDR */
		{ "00*8 01 0a c0 00*4 20 00*4", 15, 6 },	/* MWR */
		{ "00*8 01 0a c0 00*8 01", 18, 7 },		/* RECOVERY TIME LIMIT */
		{ "00*8 08 12 05 00*17", 10, 0 },		/* RCD */
		{ "00*8 08 12 04 02 00*16", 11, 3 },		/* write retention priority */
		{ "00*8 08 12 04 00 00 01 00*14", 12, 7 },	/* DISABLE PREFETCH LENGTH */
		{ "00*8 08 12 04 00*9 02 00*7", 20, 2 },	/* SYNC_PROG */
		{ "00*8 08 12 04 00*12 01 00*4", 22, 7 },	/* SEGMENT SIZE */
		{ "00*8 0a 0a 00 00*9", 10, 1 },		/* GLTSD */
		{ "00*8 0a 0a 22 00*9", 10, 7 },		/* TST */
		{ "00*8 0a 0a 02 10 00*8", 11, 7 },		/* QUEUE ALGORITHM MODIFIER */
		{ "00*8 0a 0a 02 02 00*8", 11, 2 },		/* QERR */
		{ "00*8 0a 0a 02 00 10 00*7", 12, 5 },		/* UA_INTLCK_CTRL */
		{ "00*8 0a 0a 02 00 18 00*7", 12, 5 },		/* also beside SWP */
		{ "00*8 0a 0a 02 00 00 01 00*6", 13, 2 },	/* AUTOLOAD MODE */
		{ "00*8 0a 0a 02 00*6 01 00*2", 16, 7 },	/* BUSY TIMEOUT PERIOD */
		{ "00*8 1c 0a 00 00*9", 10, 3 },		/* DEXCPT */
		{ "00*8 1c 0a 08 04 00*8", 11, 3 },		/* MRIE */
		{ "00*8 1c 0a 08 00*4 01 00*4", 12, 7 },	/* INTERVAL TIMER */
		{ "00*8 1c 0a 08 00*8 01", 16, 7 },		/* REPORT COUNT */
		/* All or nothing: a page that may change comes before. */
		{ "00*8 0a 0a 06 00*9 " "08 12 00 00*16 01", 37, 7 },
		{ "00*8 08 12 00*18 " "01 0a c0 00*8 01", 38, 7 },
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		expect_invalid_param(dev, select10(dev, lists[i].hex), lists[i].byte,
				     lists[i].bit);
	expect_defaults(dev);
	dev_close(dev);
}

static void select_refused6(void **state)
{
	static const struct bad_list lists[] = {
		{ "3b 00*3 " PAGES, 0, -1 },
		{ "00 01 00*2", 1, -1 },
		{ "00*2 01 00", 2, -1 },
		{ "00*3 10 00*16", 3, -1 },
		{ "00*3 08 00200000 00 001000", 9, -1 },
		{ "00*3 08 00200000 00 000200 0a 0a 02 10 00*8", 15, 7 },
		{ "00*4 0a 0a 02 10 00*8", 7, 7 },
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		expect_invalid_param(dev, select6(dev, lists[i].hex), lists[i].byte,
				     lists[i].bit);
	expect_defaults(dev);
	dev_close(dev);
}

static void select_cdb(void **state)
{
	struct cdb cdb6 = { .b = { MODE_SELECT_6, 0x10, 0, 0, 24 } };
	struct cdb cdb10 = { .b = { MODE_SELECT_10, 0x10, 0, 0, 0, 0, 0, 0, 28 } };
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	/* PF=0, SP=1, RTD=1 */
	expect_invalid_cdb(dev, run_list(dev, cdb_with(cdb6, 1, 0), "00*4 08 12 00*18"), 1, 4);
	expect_invalid_cdb(dev, run_list(dev, cdb_with(cdb10, 1, 0), "00*8 08 12 00*18"), 1, 4);
	expect_invalid_cdb(dev, run_list(dev, cdb_with(cdb6, 1, 0x11), "00*4 08 12 00*18"), 1, 0);
	expect_invalid_cdb(dev, run_list(dev, cdb_with(cdb10, 1, 0x11), "00*8 08 12 00*18"), 1,
			   0);
	expect_invalid_cdb(dev, run_list(dev, cdb_with(cdb10, 1, 0x12), "00*8 08 12 00*18"), 1,
			   1);
	/* A Data-Out buffer that is shorter than the CDB says */
	dev->short_by = 1;
	expect_sense(dev, run_list(dev, cdb10, "00*8 08 12 00*18"), HARDWARE_ERROR,
		     ASC_INTERNAL_TARGET_FAILURE);
	expect_defaults(dev);
	expect_good(dev, run_list(dev, cdb10, "00*8 08 12 00*18"));
	dev_close(dev);
}

static void values_change(void **state)
{
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	/* WCE=0 and D_SENSE=1 in one list */
	expect_good(dev, select10(dev, "00*8 08 12 00*18 0a 0a 06 00*9"));
	for (int i = 0; i < 2; i++) {
		expect_reply(dev, sense_page(sense10, 0x08, 0, 0x3f, 0), alloc10,
			     "003e 00 10 00 00 0000" PAGE_01 "08 12 00*18 0a 0a 06 00*9 " PAGE_1C);
		expect_reply(dev, sense_page(sense10, 0x08, 2, 0x3f, 0), alloc10,
			     "003e 00 10 00 00 0000" PAGES);
		expect_reply(dev, sense_page(sense10, 0x08, 1, 0x3f, 0), alloc10,
			     "003e 00 10 00 00 0000" CHANGEABLE);
		assert_int_equal(run_none(dev, (struct cdb){ .b = { 0x42 } }),
				 SAM_STAT_CHECK_CONDITION);
		assert_int_equal(dev->sense.format, 0x72);
		/* They outlive the process. */
		dev_reopen(dev);
	}
	/* The last page of a kind counts. */
	expect_good(dev, select6(dev, "00*4 0a 0a 06 00*9 08 12 04 00*17 0a 0a 02 00*9"));
	expect_defaults(dev);
	dev_close(dev);
}

static void software_write_protect(void **state)
{
	struct dev *dev = dev_open("conv=1/zone_size=1M", 8 << 20, 512);

	(void)state;
	expect_good(dev, write_blocks(dev, 2048, 8, 1));
	expect_good(dev, select10(dev, "00*8 0a 0a 02 00 08 00*7"));
	expect_reply(dev, sense_page(sense10, 0x08, 0, 0x0a, 0), alloc10,
		     "0012 00 90 00 00 0000 0a 0a 02 00 08 00*7");
	expect_reply(dev, sense_page(sense6, 0x08, 2, 0x08, 0), alloc6, "17 00 90 00" PAGE_08);
	expect_sense(dev, write_blocks(dev, 2056, 8, 2), DATA_PROTECT, 0x2702);
	expect_sense(dev, write_blocks(dev, 0, 8, 2), DATA_PROTECT, 0x2702);
	expect_sense(dev, zone_action(dev, SA_RESET_WRITE_POINTER, 2048), DATA_PROTECT, 0x2702);
	expect_data(dev, 2048, 8, 1);
	expect_good(dev, select10(dev, "00*8 " PAGE_0A));
	expect_good(dev, write_blocks(dev, 2056, 8, 2));
	dev_close(dev);
}

/* Bits that differ from the defaults although they cannot be changed, or a page that is none. */
static void expect_sane(struct dev *dev)
{
	uint8_t presets[HEX_MAX], changeable[HEX_MAX];
	size_t len = hex_bytes(PAGES, presets);

	hex_bytes(CHANGEABLE, changeable);
	expect_good(dev, run_in(dev, sense_page(cdb_with(sense10, 8, 64), 0x08, 0, 0x3f, 0), 64));
	for (size_t i = 0; i < len; i++)
		expect_eq(dev, (dev->in[8 + i] ^ presets[i]) & ~changeable[i] & 0xff, 0);
}

/* Lists that are damaged, cut, and out of thin air. */
static void random_lists(void **state)
{
	static const char *const lists[] = {
		"00*8 " PAGES, "00*6 0008 00200000 00 000200" PAGES,
		"00*4 01 00 0010 0000000000200000 00000000 00000200" PAGES, "ff*64", "00*200",
	};
	struct dev *dev = dev_open("", GIB, 512);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint8_t list[HEX_MAX];
		struct cdb cdb = { .b = { MODE_SELECT_10, 0x10 } };
		size_t len = hex_bytes(lists[random_below(ARRAY_SIZE(lists))], list);

		for (uint64_t n = random_below(4); n > 0; n--)
			list[random_below(len)] ^= (uint8_t)(1u << random_below(8));
		if (random_below(2))
			len = random_below(len);
		put_be16(cdb.b + 7, (uint16_t)len);
		run_out(dev, cdb, list, len);
		if (dev->status != SAM_STAT_GOOD && dev->sense.asc != 0x1a00 &&
		    (dev->sense.asc != 0x2600 || dev->sense.byte >= len))
			fail_dev(dev, __FILE__, __LINE__, "list of %zu bytes", len);
		expect_sane(dev);
	}
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sense_pages),
		cmocka_unit_test(block_descriptors),
		cmocka_unit_test(sense_refused),
		cmocka_unit_test(select_accepted),
		cmocka_unit_test(select_cut),
		cmocka_unit_test(select_refused10),
		cmocka_unit_test(select_refused6),
		cmocka_unit_test(select_cdb),
		cmocka_unit_test(values_change),
		cmocka_unit_test(software_write_protect),
		cmocka_unit_test(random_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

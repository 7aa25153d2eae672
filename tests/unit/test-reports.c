// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * What the device tells about itself: log pages, supported operation codes and task management
 * functions.
 */
#include <stdio.h>

#include "reply.h"

static const struct alloc_field alloc_log = { .at = 7, .width = 2 };
static const struct alloc_field alloc_codes = { .at = 6, .width = 4, .least = 4 };

static struct cdb log_sense(uint8_t pc, uint8_t page, uint8_t subpage, uint16_t pointer)
{
	struct cdb cdb = { .b = { LOG_SENSE, 0, (uint8_t)(pc << 6 | page), subpage } };

	put_be16(cdb.b + 5, pointer);
	put_be16(cdb.b + 7, 512);
	return cdb;
}

/* PC makes no difference to lists of pages and to list parameters. */
static void expect_log_with_any_pc(struct dev *dev, uint8_t page, uint8_t subpage,
				   uint16_t pointer, const char *hex)
{
	for (uint8_t pc = 0; pc < 4; pc++)
		expect_reply(dev, log_sense(pc, page, subpage, pointer), alloc_log, hex);
}

static void supported_log_pages(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	expect_log_with_any_pc(dev, 0x00, 0x00, 0, "00 00 0004 00 02 03 05");
	expect_log_with_any_pc(dev, 0x00, 0xff, 0, "40 ff 000c 0000 00ff 0200 0300 0500 1401");
	dev_close(dev);
}

static void log_sense_refused(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	struct cdb save = log_sense(1, 0x00, 0x00, 0);

	(void)state;
	/* SP=1: nothing can be saved */
	save.b[1] = 0x01;
	expect_invalid_cdb(dev, run_in(dev, save, 512), 1, 0);
	for (unsigned int page = 1; page < 0x40; page++)
		if (page != 0x02 && page != 0x03 && page != 0x05 && page != 0x14)
			expect_invalid_cdb(dev, run_in(dev, log_sense(1, (uint8_t)page, 0, 0), 512),
					   2, 5);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x14, 0x00, 0), 512), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x14, 0x02, 0), 512), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x00, 0x01, 0), 512), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x14, 0x01, 0x000b), 512), 5, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x14, 0x01, 0xffff), 512), 5, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x00, 0x00, 1), 512), 5, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x02, 0x01, 0), 512), 3, -1);
	expect_invalid_cdb(dev, run_in(dev, log_sense(1, 0x03, 0x00, 7), 512), 5, -1);
	/* Error counters have no thresholds. */
	expect_invalid_cdb(dev, run_in(dev, log_sense(0, 0x02, 0x00, 0), 512), 2, 7);
	expect_invalid_cdb(dev, run_in(dev, log_sense(2, 0x05, 0x00, 0), 512), 2, 7);
	dev_close(dev);
}

/* Parameters of page 14h/01h that zones of this kind have, in order. */
enum {
	MAX_OPEN, MAX_EXP_OPEN, MAX_IMP_OPEN, MIN_EMPTY, EMPTIED, FAILED_EXP_OPENS,
	READ_VIOLATIONS, WRITE_VIOLATIONS, STATISTICS
};

static const uint16_t codes[STATISTICS] = { 0, 1, 2, 3, 5, 8, 9, 10 };

static void expect_statistics(struct dev *dev, const uint32_t *values, int first)
{
	char hex[400];
	int len = snprintf(hex, sizeof(hex), "54 01 %04x", 12 * (STATISTICS - first));

	for (int i = first; i < STATISTICS; i++)
		len += snprintf(hex + len, sizeof(hex) - (size_t)len, "%04x 03 08 00000000 %08x",
				codes[i], values[i]);
	expect_reply(dev, log_sense(1, 0x14, 0x01, codes[first]), alloc_log, hex);
}

/* 2 conventional and 6 SWR zones of 2048 blocks, of which 3 may be open */
static void statistics(void **state)
{
	struct dev *dev = dev_open("conv=2/zone_size=1M/max_open=3/urswrz=0", 8 << 20, 512);
	uint32_t want[STATISTICS] = { [MIN_EMPTY] = 6 };

	(void)state;
	expect_statistics(dev, want, 0);
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, 4096));
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, 6144));
	expect_good(dev, write_blocks(dev, 8192, 8, 1));
	want[MAX_OPEN] = 3;
	want[MAX_EXP_OPEN] = 2;
	want[MAX_IMP_OPEN] = 1;
	want[MIN_EMPTY] = 3;
	expect_statistics(dev, want, 0);
	/* A third explicit one displaces the implicit one, a fourth fails. */
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, 10240));
	expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, 12288), DATA_PROTECT, 0x550e);
	want[MAX_EXP_OPEN] = 3;
	want[MIN_EMPTY] = 2;
	want[FAILED_EXP_OPENS] = 1;
	expect_statistics(dev, want, 0);
	/* Closing an unwritten zone and resetting a written one both empty a zone. */
	expect_good(dev, zone_action(dev, SA_CLOSE_ZONE, 10240));
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, 8192));
	want[EMPTIED] = 2;
	expect_statistics(dev, want, 0);
	/* Empty already: no transition */
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, 8192));
	expect_statistics(dev, want, 0);
	expect_sense(dev, read_blocks(dev, 8192, 1), ILLEGAL_REQUEST, ASC_READ_INVALID_DATA);
	expect_sense(dev, write_blocks(dev, 8200, 8, 1), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_sense(dev, write_blocks(dev, 4096, 2056, 1), ILLEGAL_REQUEST, ASC_WRITE_BOUNDARY);
	want[READ_VIOLATIONS] = 1;
	want[WRITE_VIOLATIONS] = 2;
	expect_statistics(dev, want, 0);
	/* They outlive the process. */
	dev_reopen(dev);
	for (int first = 0; first < STATISTICS; first++)
		expect_statistics(dev, want, first);
	dev_close(dev);
}

/* PARAMETER POINTER between two codes */
static void parameter_pointer(void **state)
{
	struct dev *dev = dev_open("conv=2/zone_size=1M", 8 << 20, 512);

	(void)state;
	expect_log_with_any_pc(dev, 0x14, 0x01, 6,
			       "54 01 0024 0008 03 08 00*8 0009 03 08 00*8 000a 03 08 00*8");
	expect_log_with_any_pc(dev, 0x14, 0x01, 10, "54 01 000c 000a 03 08 00*8");
	dev_close(dev);
}

static void expect_errors(struct dev *dev, uint8_t page, uint64_t bytes, uint64_t uncorrected)
{
	char hex[100];

	snprintf(hex, sizeof(hex), "%02x 00 0018 0005 00 08 %016llx 0006 00 08 %016llx", page,
		 (unsigned long long)bytes, (unsigned long long)uncorrected);
	expect_reply(dev, log_sense(1, page, 0, 0), alloc_log, hex);
}

/* Bytes of good commands; the uncorrected errors are those of test-stats.c. */
static void error_counters(void **state)
{
	struct dev *dev = dev_open("conv=2/zone_size=1M", 8 << 20, 512);
	uint8_t block[512] = { 1 };

	(void)state;
	for (uint8_t page = 2; page <= 5; page++)
		if (page != 4)
			expect_errors(dev, page, 0, 0);
	expect_good(dev, write_blocks(dev, 0, 16, 1));
	expect_good(dev, write_blocks(dev, 4096, 8, 1));
	expect_good(dev, run_out(dev, cdb_lba(WRITE_SAME_16, 64, 3), block, sizeof(block)));
	expect_good(dev, read_blocks(dev, 0, 100));
	expect_good(dev, run_none(dev, cdb_lba(VERIFY_16, 0, 7)));
	/* These change nothing. */
	expect_sense(dev, write_blocks(dev, 4096, 8, 1), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_sense(dev, read_blocks(dev, 16383, 2), ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	for (int i = 0; i < 2; i++) {
		expect_errors(dev, 0x02, 27 * 512, 0);
		expect_errors(dev, 0x03, 100 * 512, 0);
		expect_errors(dev, 0x05, 7 * 512, 0);
		dev_reopen(dev);
	}
	expect_reply(dev, log_sense(1, 0x02, 0, 6), alloc_log, "02 00 000c 0006 00 08 00*8");
	expect_reply(dev, log_sense(3, 0x02, 0, 0), alloc_log,
		     "02 00 0018 0005 00 08 00*8 0006 00 08 00*8");
	dev_close(dev);
}

/*
 * Every command with its CDB USAGE DATA: fields that count, as the CDB layouts of SPC-5, SBC-4 and
 * ZBC-2 have them, without what this device does not do (protection information, command duration
 * limits, FUA_NV, TRIM). Service actions are given in byte 1.
 */
static const struct {
	int action;	/* -1: none */
	const char *usage;
} commands[] = {
	{ -1, "00 00 00 00 00 00" },				/* TEST UNIT READY */
	{ -1, "03 01 00 00 ff 00" },				/* REQUEST SENSE */
	{ -1, "08 1f ff ff ff 00" },				/* READ(6) */
	{ -1, "0a 1f ff ff ff 00" },				/* WRITE(6) */
	{ -1, "12 01 ff ff ff 00" },				/* INQUIRY */
	{ -1, "15 11 00 00 ff 00" },				/* MODE SELECT(6) */
	{ -1, "1a 08 ff ff ff 00" },				/* MODE SENSE(6) */
	{ -1, "1b 01 00 00 05 00" },				/* START STOP UNIT */
	{ -1, "25 00*9" },					/* READ CAPACITY(10) */
	{ -1, "28 18 ff*4 3f ff*2 00" },			/* READ(10) */
	{ -1, "2a 18 ff*4 3f ff*2 00" },			/* WRITE(10) */
	{ -1, "2f 16 ff*4 3f ff*2 00" },			/* VERIFY(10) */
	{ -1, "35 02 ff*4 3f ff*2 00" },			/* SYNCHRONIZE CACHE(10) */
	{ -1, "41 00 ff*4 3f ff*2 00" },			/* WRITE SAME(10) */
	{ -1, "4d 01 ff ff 00 ff*2 ff*2 00" },			/* LOG SENSE */
	{ -1, "55 11 00*5 ff*2 00" },				/* MODE SELECT(10) */
	{ -1, "5a 18 ff ff 00*3 ff*2 00" },			/* MODE SENSE(10) */
	{ -1, "88 18 ff*8 ff*4 3f 00" },			/* READ(16) */
	{ -1, "8a 18 ff*8 ff*4 3f 00" },			/* WRITE(16) */
	{ -1, "8f 16 ff*8 ff*4 3f 00" },			/* VERIFY(16) */
	{ -1, "91 02 ff*8 ff*4 3f 00" },			/* SYNCHRONIZE CACHE(16) */
	{ -1, "93 01 ff*8 ff*4 3f 00" },			/* WRITE SAME(16) */
	{ 0x01, "94 01 ff*8 00*2 ff*2 01 00" },			/* CLOSE ZONE */
	{ 0x02, "94 02 ff*8 00*2 ff*2 01 00" },			/* FINISH ZONE */
	{ 0x03, "94 03 ff*8 00*2 ff*2 01 00" },			/* OPEN ZONE */
	{ 0x04, "94 04 ff*8 00*2 ff*2 01 00" },			/* RESET WRITE POINTER */
	{ 0x00, "95 00 ff*8 ff*4 bf 00" },			/* REPORT ZONES */
	{ 0x10, "9e 10 00*8 ff*4 00 00" },			/* READ CAPACITY(16) */
	{ -1, "a0 00 ff 00*3 ff*4 00 00" },			/* REPORT LUNS */
	{ 0x0c, "a3 0c 87 ff ff*2 ff*4 00 00" },		/* REPORT SUPPORTED OPCODES */
	{ 0x0d, "a3 0d 80 00*3 ff*4 00 00" },			/* REPORT SUPPORTED TMFS */
	{ -1, "a8 18 ff*4 ff*4 3f 00" },			/* READ(12) */
	{ -1, "aa 18 ff*4 ff*4 3f 00" },			/* WRITE(12) */
	{ -1, "af 16 ff*4 ff*4 3f 00" },			/* VERIFY(12) */
};

#define TIMEOUTS "000a 00*10"

static struct cdb report_opcodes(uint8_t options, uint8_t opcode, uint16_t action)
{
	struct cdb cdb = { .b = { MAINTENANCE_IN, 0x0c, options, opcode } };

	put_be16(cdb.b + 4, action);
	put_be32(cdb.b + 6, 2048);
	return cdb;
}

static void all_commands(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	char plain[2000], timeouts[3000];
	int p = sprintf(plain, "%08zx", 8 * ARRAY_SIZE(commands));
	int t = sprintf(timeouts, "%08zx", 20 * ARRAY_SIZE(commands));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		uint8_t usage[HEX_MAX];
		unsigned int len = (unsigned int)hex_bytes(commands[i].usage, usage);
		unsigned int action = commands[i].action < 0 ? 0 : (unsigned int)commands[i].action;
		unsigned int servactv = commands[i].action >= 0;

		p += sprintf(plain + p, " %02x 00 %04x 00 %02x %04x", usage[0], action, servactv,
			     len);
		t += sprintf(timeouts + t, " %02x 00 %04x 00 %02x %04x " TIMEOUTS, usage[0],
			     action, servactv | 0x02, len);
	}
	expect_reply(dev, report_opcodes(0, 0, 0), alloc_codes, plain);
	expect_reply(dev, report_opcodes(0x80, 0, 0), alloc_codes, timeouts);
	dev_close(dev);
}

static void one_command(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		bool has_action = commands[i].action >= 0;
		uint16_t action = (uint16_t)(has_action ? commands[i].action : 0);
		uint8_t usage[HEX_MAX], opcode;
		size_t len = hex_bytes(commands[i].usage, usage);
		char plain[200], timeouts[250];

		opcode = usage[0];
		snprintf(plain, sizeof(plain), "00 03 %04zx %s", len, commands[i].usage);
		snprintf(timeouts, sizeof(timeouts), "00 83 %04zx %s " TIMEOUTS, len,
			 commands[i].usage);
		expect_reply(dev, report_opcodes(has_action ? 2 : 1, opcode, action), alloc_codes,
			     plain);
		expect_reply(dev, report_opcodes(has_action ? 0x82 : 0x81, opcode, action),
			     alloc_codes, timeouts);
		expect_reply(dev, report_opcodes(3, opcode, action), alloc_codes, plain);
		expect_reply(dev, report_opcodes(0x83, opcode, action), alloc_codes, timeouts);
		/* An option that does not fit the opcode */
		if (has_action)
			expect_invalid_cdb(dev, run_in(dev, report_opcodes(1, opcode, 0), 2048), 2,
					   2);
		else
			expect_invalid_cdb(dev, run_in(dev, report_opcodes(2, opcode, 0), 2048), 4,
					   -1);
	}
	dev_close(dev);
}

static void unsupported_commands(void **state)
{
	static const struct {
		uint8_t options, opcode;
		uint16_t action;
	} cases[] = {
		{ 1, 0x04, 0 },		/* FORMAT UNIT */
		{ 1, 0x42, 0 },		/* UNMAP */
		{ 0x81, 0x42, 0 },	/* no timeouts either */
		{ 2, 0x42, 0 },
		{ 3, 0x42, 0 },
		{ 2, 0x94, 0x10 },	/* SEQUENTIALIZE ZONE */
		{ 3, 0x94, 0x00 },
		{ 2, 0x95, 0x06 },	/* REPORT REALMS */
		{ 0x83, 0x95, 0x100 },	/* no part of it is cut off */
		{ 2, 0x9e, 0x110 },
		{ 3, 0x88, 0x01 },	/* READ(16) has no service actions */
		{ 2, 0x7f, 0x09 },	/* READ(32) */
		{ 3, 0x7f, 0x0b },
	};
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_reply(dev, report_opcodes(cases[i].options, cases[i].opcode,
						 cases[i].action), alloc_codes, "00 01 0000");
	dev_close(dev);
}

static void report_opcodes_refused(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	struct cdb cdb = report_opcodes(0, 0, 0);

	(void)state;
	for (uint8_t option = 4; option < 8; option++)
		expect_invalid_cdb(dev, run_in(dev, report_opcodes(option, 0, 0), 2048), 2, 2);
	for (uint32_t alloc = 0; alloc < 4; alloc++) {
		put_be32(cdb.b + 6, alloc);
		expect_invalid_cdb(dev, run_in(dev, cdb, alloc), 6, -1);
	}
	dev_close(dev);
}

/* What is listed is executed, and nothing else. */
static void listed_is_known(void **state)
{
	struct dev *dev = dev_open("", 1 << 30, 512);
	bool listed[256] = { false };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		listed[strtoul((char[]){ commands[i].usage[0], commands[i].usage[1], 0 }, NULL,
			       16)] = true;
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		run_none(dev, (struct cdb){ .b = { (uint8_t)opcode, 0xff, 0xff } });
		assert_int_equal(dev->sense.asc != 0x2000, listed[opcode]);
	}
	dev_close(dev);
}

/* ABORT TASK and LOGICAL UNIT RESET: what LIO carries out */
static void task_management(void **state)
{
	struct cdb cdb = { .b = { MAINTENANCE_IN, 0x0d, 0, 0, 0, 0, 0, 0, 0, 16 } };
	struct dev *dev = dev_open("", 1 << 30, 512);

	(void)state;
	expect_reply(dev, cdb, alloc_codes, "88 00 00 00");
	expect_reply(dev, cdb_with(cdb, 2, 0x80), alloc_codes, "88 00 00 0c 00*12");
	for (uint8_t alloc = 0; alloc < 4; alloc++)
		expect_invalid_cdb(dev, run_in(dev, cdb_with(cdb, 9, alloc), alloc), 6, -1);
	expect_invalid_cdb(dev, run_in(dev, cdb_with(cdb, 2, 0x01), 16), 2, 0);
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(supported_log_pages),
		cmocka_unit_test(log_sense_refused),
		cmocka_unit_test(statistics),
		cmocka_unit_test(parameter_pointer),
		cmocka_unit_test(error_counters),
		cmocka_unit_test(all_commands),
		cmocka_unit_test(one_command),
		cmocka_unit_test(unsupported_commands),
		cmocka_unit_test(report_opcodes_refused),
		cmocka_unit_test(listed_is_known),
		cmocka_unit_test(task_management),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

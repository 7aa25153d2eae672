// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The config string: values, defaults, and the reason for every mistake. */
#include <errno.h>
#include <stdio.h>
#include <sys/sysinfo.h>

#include "harness.h"

#define KNOWN "model, zone_size, zone_cap, conv, conv_end, lba, pblk, max_open, urswrz, mem, " \
	      "seed, reorder, reorder_depth, reorder_time, reorder_conv, hold, hold_attempts, " \
	      "hold_time, delay, delay_read, delay_write, delay_zone, delay_sync, rate, seek, " \
	      "cache, error, trace, stats"
#define SIZES "512 to 4194304T bytes"
#define COUNTS "0 to 4194304 zones"
#define NO_SIZE "no number of bytes, plain or with K, M, G or T"
#define KIB 1024ull
#define MIB (KIB << 10)
#define GIB (MIB << 10)
#define TIB (GIB << 10)

/* What the string alone gives away. */
static void refused_by_itself(void **state)
{
	static const struct mistake cases[] = {
		{ "foo=1", "unknown key 'foo'; accepted: " KNOWN },
		{ "zone_siz=1M", "unknown key 'zone_siz'; accepted: " KNOWN },
		{ "zone_size_=1M", "unknown key 'zone_size_'; accepted: " KNOWN },
		{ "Conv=1", "unknown key 'Conv'; accepted: " KNOWN },
		{ "foo", "unknown key 'foo'; accepted: " KNOWN },
		{ "=1", "unknown key ''; accepted: " KNOWN },
		{ "/", "unknown key ''; accepted: " KNOWN },
		{ "conv=1/", "unknown key ''; accepted: " KNOWN },
		{ "conv=1//lba=512", "unknown key ''; accepted: " KNOWN },
		{ "memzbc//conv=1", "unknown key ''; accepted: " KNOWN },
		{ "memzbc/memzbc/conv=1", "unknown key 'memzbc'; accepted: " KNOWN },
		{ "conv=1/conv=1", "conv: given twice" },
		{ "lba=512/conv=1/lba=4096", "lba: given twice" },

		{ "model=ha", "model=ha: not available yet; accepted: hm" },
		{ "model=zdr", "model=zdr: not available yet; accepted: hm" },
		{ "model=dm", "model=dm: unknown value; accepted: hm" },
		{ "model=", "model=: no value; accepted: hm" },
		{ "model=h", "model=h: unknown value; accepted: hm" },
		{ "model=hmm", "model=hmm: unknown value; accepted: hm" },
		{ "zone_size", "zone_size=: no value; accepted: " SIZES },
		{ "zone_size=", "zone_size=: no value; accepted: " SIZES },
		{ "zone_size=96MB", "zone_size=96MB: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=96P", "zone_size=96P: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=M", "zone_size=M: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=0x1000", "zone_size=0x1000: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=1.5G", "zone_size=1.5G: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=-1", "zone_size=-1: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=+1M", "zone_size=+1M: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=1M=2M", "zone_size=1M=2M: " NO_SIZE "; accepted: " SIZES },
		{ "zone_size=0", "zone_size=0: out of range; accepted: " SIZES },
		{ "zone_size=511", "zone_size=511: out of range; accepted: " SIZES },
		{ "zone_size=4194305T", "zone_size=4194305T: out of range; accepted: " SIZES },
		/* 2^64, 2^64 + 1M by the suffix, and by the digits */
		{ "zone_size=16777216T",
		  "zone_size=16777216T: out of range; accepted: " SIZES },
		{ "zone_size=17592186044417M",
		  "zone_size=17592186044417M: out of range; accepted: " SIZES },
		{ "zone_size=18446744073710600192",
		  "zone_size=18446744073710600192: out of range; accepted: " SIZES },
		{ "zone_cap=", "zone_cap=: no value; accepted: " SIZES },
		{ "zone_cap=x", "zone_cap=x: " NO_SIZE "; accepted: " SIZES },
		{ "zone_cap=0", "zone_cap=0: out of range; accepted: " SIZES },
		{ "conv=", "conv=: no value; accepted: " COUNTS },
		{ "conv=1K", "conv=1K: no whole number; accepted: " COUNTS },
		{ "conv=-1", "conv=-1: no whole number; accepted: " COUNTS },
		{ "conv=1%", "conv=1%: no whole number; accepted: " COUNTS },
		{ "conv=4194305", "conv=4194305: out of range; accepted: " COUNTS },
		{ "conv_end=", "conv_end=: no value; accepted: " COUNTS },
		{ "conv_end=all", "conv_end=all: no whole number; accepted: " COUNTS },
		{ "conv_end=4194305", "conv_end=4194305: out of range; accepted: " COUNTS },
		{ "lba=", "lba=: no value; accepted: 512, 4096 bytes" },
		{ "lba=x", "lba=x: " NO_SIZE "; accepted: 512, 4096 bytes" },
		{ "lba=1024", "lba=1024: out of range; accepted: 512, 4096 bytes" },
		{ "lba=0", "lba=0: out of range; accepted: 512, 4096 bytes" },
		{ "pblk=", "pblk=: no value; accepted: 512, 4096 bytes" },
		{ "pblk=8K", "pblk=8K: out of range; accepted: 512, 4096 bytes" },
		{ "max_open=", "max_open=: no value; accepted: 0 to 2147483647 zones" },
		{ "max_open=many",
		  "max_open=many: no whole number; accepted: 0 to 2147483647 zones" },
		{ "max_open=2147483648",
		  "max_open=2147483648: out of range; accepted: 0 to 2147483647 zones" },
		{ "max_open=18446744073709551616",
		  "max_open=18446744073709551616: out of range; accepted: 0 to 2147483647 zones" },
		{ "urswrz=", "urswrz=: no value; accepted: 0, 1" },
		{ "urswrz=2", "urswrz=2: unknown value; accepted: 0, 1" },
		{ "urswrz=yes", "urswrz=yes: unknown value; accepted: 0, 1" },
		{ "mem=", "mem=: no value; accepted: 1M to 4194304T bytes" },
		{ "mem=half", "mem=half: " NO_SIZE "; accepted: 1M to 4194304T bytes" },
		{ "mem=1048575", "mem=1048575: out of range; accepted: 1M to 4194304T bytes" },

		{ "lba=4096/pblk=512", "pblk=512 is less than a logical block of 4096 bytes" },
		{ "zone_size=1000448",
		  "zone_size=1000448: no multiple of the physical block, pblk=4096" },
		{ "zone_size=1000000/pblk=512",
		  "zone_size=1000000: no multiple of the physical block, pblk=512" },
		{ "zone_size=1M/zone_cap=1000448",
		  "zone_cap=1000448: no multiple of the physical block, pblk=4096" },
		{ "zone_size=96M/zone_cap=128M",
		  "zone_cap=134217728: more than zone_size=100663296" },
		{ "zone_cap=128M/zone_size=96M",
		  "zone_cap=134217728: more than zone_size=100663296" },
		{ "zone_cap=257M", "zone_cap=269484032: more than zone_size=268435456" },

		{ "conv=1,conv_end=1", "character , is not accepted in a config string" },
		{ "zone_size:1M", "character : is not accepted in a config string" },
		{ "conv=\"1\"", "character \" is not accepted in a config string" },
		{ "conv='1'", "character ' is not accepted in a config string" },
		{ "conv=1;conv_end=1", "character ; is not accepted in a config string" },
		{ "conv= 1", "character 20h is not accepted in a config string" },
		{ "conv=1\n", "character 0Ah is not accepted in a config string" },
		{ "conv=\xc3\xa9", "character C3h is not accepted in a config string" },
		{ "conv=1;tcmur_cmd_time_out=3",
		  "';tcmur_cmd_time_out=' is not accepted: tcmu-runner would end commands that "
		  "the LUN still works on; set the attribute cmd_time_out" },
	};

	(void)state;
	expect_mistakes(cases, ARRAY_SIZE(cases));
}

/* What the size and LIO's block size give away. */
static void refused_with_the_size(void **state)
{
	static const struct {
		const char *string;
		uint64_t size;
		uint32_t block_size;
		const char *reason;
	} cases[] = {
		{ "", 0, 0, "size of 0 bytes; accepted: " SIZES },
		{ "zone_size=1T", (1ull << 62) + 4096, 0,
		  "size of 4611686018427392000 bytes; accepted: " SIZES },
		{ "zone_size=1T", UINT64_MAX, 0,
		  "size of 18446744073709551615 bytes; accepted: " SIZES },
		{ "", GIB + 512, 512,
		  "size of 1073742336 bytes: no multiple of the physical block, pblk=4096" },
		{ "pblk=512", GIB + 1, 512,
		  "size of 1073741825 bytes: no multiple of the physical block, pblk=512" },
		{ "zone_size=1M", 4 * TIB + 4096, 0,
		  "4194305 zones of zone_size=1048576; accepted: at most 4194304" },
		{ "zone_size=4K", 1ull << 62, 0,
		  "1125899906842624 zones of zone_size=4096; accepted: at most 4194304" },
		{ "lba=512", GIB, 4096,
		  "lba=512, but LIO has logical blocks of 4096 bytes: create the LUN with "
		  "hw_block_size=512, or without lba" },
		{ "lba=4096", GIB, 512,
		  "lba=4096, but LIO has logical blocks of 512 bytes: create the LUN with "
		  "hw_block_size=4096, or without lba" },
		{ "", GIB, 1024,
		  "logical blocks of 1024 bytes; accepted for hw_block_size: 512, 4096" },
		{ "pblk=512", GIB, 4096, "pblk=512 is less than a logical block of 4096 bytes" },
		{ "zone_size=1M/conv=4", 4 * MIB, 512,
		  "conv=4 and conv_end=0: no sequential zone is left of 4; accepted: less in "
		  "all" },
		{ "zone_size=1M/conv=2/conv_end=2", 3 * MIB + 4096, 512,
		  "conv=2 and conv_end=2: no sequential zone is left of 4; accepted: less in "
		  "all" },
		{ "zone_size=1M/conv_end=4", 4 * MIB, 512,
		  "conv=0 and conv_end=4: no sequential zone is left of 4; accepted: less in "
		  "all" },
		{ "conv=1", 4096, 512,
		  "conv=1 and conv_end=0: no sequential zone is left of 1; accepted: less in "
		  "all" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char reason[MEMZBC_REASON_SIZE] = "(none)";
		const struct mistake mistake = { cases[i].string, cases[i].reason };
		struct memzbc_config cfg;
		int err;

		assert_int_equal(memzbc_config_parse(&cfg, cases[i].string, reason), 0);
		err = memzbc_config_complete(&cfg, cases[i].size, cases[i].block_size, reason);
		expect_mistake(&mistake, err, reason);
	}
}

/* A config and what becomes of it; lengths in logical blocks. */
struct completed {
	const char *string;
	uint64_t size;
	uint32_t block_size;
	uint32_t lba_size, pblk_size, zones, max_open;
	uint64_t zone_size, zone_cap, conv, conv_end, capacity;
};

#define expect_field(c, field, value) \
	do { \
		if ((uint64_t)(value) != (c)->field) \
			fail_dev(NULL, __FILE__, __LINE__, "\"%s\": " #field " is %llu, not %llu", \
				 (c)->string, (unsigned long long)(value), \
				 (unsigned long long)(c)->field); \
	} while (0)

static void check_completed(const struct completed *c)
{
	char reason[MEMZBC_REASON_SIZE] = "(none)";
	struct memzbc_config cfg;

	if (memzbc_config_parse(&cfg, c->string, reason) ||
	    memzbc_config_complete(&cfg, c->size, c->block_size, reason))
		fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %s", c->string, reason);
	assert_int_equal(cfg.model, MEMZBC_MODEL_HM);
	expect_field(c, lba_size, cfg.lba_size);
	expect_field(c, pblk_size, cfg.pblk_size);
	expect_field(c, zone_size, cfg.zone_size);
	expect_field(c, zone_cap, cfg.zone_cap);
	expect_field(c, conv, cfg.conv);
	expect_field(c, conv_end, cfg.conv_end);
	expect_field(c, max_open, cfg.max_open);
	expect_field(c, capacity, cfg.capacity);
	expect_field(c, zones, memzbc_config_zones(&cfg));
}

static void completed(void **state)
{
	static const struct completed cases[] = {
		/* All defaults; 1 % of the zones are conventional. */
		{ "", 20 * TIB, 512, 512, 4096, 81920, 128, 524288, 524288, 819, 0,
		  20 * TIB / 512 },
		{ "memzbc", GIB, 0, 512, 4096, 4, 128, 524288, 524288, 1, 0, GIB / 512 },
		{ "memzbc/", GIB, 0, 512, 4096, 4, 128, 524288, 524288, 1, 0, GIB / 512 },
		{ "", GIB, 4096, 4096, 4096, 4, 128, 65536, 65536, 1, 0, GIB / 4096 },
		{ "", 256 * MIB, 512, 512, 4096, 1, 128, 524288, 524288, 0, 0, 524288 },
		{ "", 4096, 512, 512, 4096, 1, 128, 524288, 524288, 0, 0, 8 },
		/* A smaller last zone counts as one. */
		{ "", 512 * MIB + 4096, 512, 512, 4096, 3, 128, 524288, 524288, 0, 0, 1048584 },
		{ "", 768 * MIB + 4096, 512, 512, 4096, 4, 128, 524288, 524288, 1, 0, 1572872 },
		/* The default of conv leaves what conv_end asks for, and a sequential zone. */
		{ "conv_end=3", GIB, 512, 512, 4096, 4, 128, 524288, 524288, 0, 3, GIB / 512 },
		{ "conv_end=2", GIB, 512, 512, 4096, 4, 128, 524288, 524288, 1, 2, GIB / 512 },
		{ "memzbc/zone_size=96M/conv=4", 4 * GIB, 512, 512, 4096, 43, 128, 196608, 196608,
		  4, 0, 8388608 },
		{ "conv=4/zone_size=96m", 4 * GIB, 512, 512, 4096, 43, 128, 196608, 196608, 4, 0,
		  8388608 },
		{ "zone_size=128M/zone_cap=96M/conv=0/conv_end=1/max_open=0", GIB, 512, 512, 4096,
		  8, 0, 262144, 196608, 0, 1, GIB / 512 },
		{ "model=hm/lba=4K/pblk=4k/zone_size=12K/zone_cap=8192/max_open=2147483647",
		  36 * KIB, 4096, 4096, 4096, 3, 2147483647, 3, 2, 0, 0, 9 },
		{ "lba=4096", GIB, 0, 4096, 4096, 4, 128, 65536, 65536, 1, 0, GIB / 4096 },
		{ "pblk=512/zone_size=512", 1536, 512, 512, 512, 3, 128, 1, 1, 0, 0, 3 },
		{ "lba=512/pblk=512/zone_size=1536/zone_cap=512", 5120, 512, 512, 512, 4, 128, 3,
		  1, 1, 0, 10 },
		{ "zone_size=1M", 4 * TIB, 512, 512, 4096, MEMZBC_ZONES_MAX, 128, 2048, 2048,
		  41943, 0, 4 * TIB / 512 },
		{ "zone_size=4194304T", 1ull << 62, 512, 512, 4096, 1, 128, 1ull << 53,
		  1ull << 53, 0, 0, 1ull << 53 },
		{ "conv=0000000000000000000000000000000002/zone_size=1G", 4 * GIB, 512, 512, 4096,
		  4, 128, 2097152, 2097152, 2, 0, 8388608 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_completed(&cases[i]);
}

static struct memzbc_config parsed(const char *string)
{
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;

	assert_int_equal(memzbc_config_parse(&cfg, string, reason), 0);
	return cfg;
}

static void memory_and_reads(void **state)
{
	struct sysinfo info;

	(void)state;
	assert_int_equal(sysinfo(&info), 0);
	assert_in_range(parsed("").mem, (uint64_t)info.totalram * info.mem_unit / 2 - 4096,
			(uint64_t)info.totalram * info.mem_unit / 2 + 4096);
	assert_int_equal(parsed("mem=1M").mem, MIB);
	assert_int_equal(parsed("mem=1048577").mem, MIB + 1);
	assert_int_equal(parsed("mem=3G").mem, 3 * GIB);
	assert_int_equal(parsed("mem=4194304T").mem, 1ull << 62);
	assert_true(parsed("").urswrz);
	assert_true(parsed("urswrz=1").urswrz);
	assert_false(parsed("urswrz=0").urswrz);
}

/* 255 characters are accepted, "memzbc/" included whether it is there or not. */
static void longest_string(void **state)
{
	char string[300] = "memzbc/conv=", reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;

	(void)state;
	memset(string + 12, '0', 255 - 12);
	assert_int_equal(memzbc_config_parse(&cfg, string, reason), 0);
	assert_int_equal(memzbc_config_parse(&cfg, string + 7, reason), 0);
	string[255] = '0';
	assert_int_equal(memzbc_config_parse(&cfg, string, reason), -EINVAL);
	assert_string_equal(reason, "config string of 256 characters, 'memzbc/' included; "
				    "accepted: at most 255");
	assert_int_equal(memzbc_config_parse(&cfg, string + 7, reason), -EINVAL);
}

/* However long a value or a key is, the reason ends with what is accepted. */
static void long_mistakes(void **state)
{
	char string[256], reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;

	(void)state;
	memset(string, 'x', 240);
	string[240] = '\0';
	assert_int_equal(memzbc_config_parse(&cfg, string, reason), -EINVAL);
	assert_non_null(strstr(reason, "'; accepted: " KNOWN));
	memcpy(string, "max_open=", 9);
	assert_int_equal(memzbc_config_parse(&cfg, string, reason), -EINVAL);
	assert_non_null(strstr(reason, "; accepted: 0 to 2147483647 zones"));
}

/* Documentation that is there, and in the help as it is in the table. */
static void help_shows_all(void **state)
{
	static const char *const names[] = { "model", "zone_size", "zone_cap", "conv", "conv_end",
					     "lba", "pblk", "max_open", "urswrz", "mem",
					     "seed", "reorder", "reorder_depth", "reorder_time",
					     "reorder_conv", "hold", "hold_attempts", "hold_time",
					     "delay", "delay_read", "delay_write", "delay_zone",
					     "delay_sync", "rate", "seek", "cache", "error",
					     "trace", "stats" };
	size_t count;
	const struct memzbc_key *keys = memzbc_config_keys(&count);
	char *help = memzbc_config_help();

	(void)state;
	assert_int_equal(count, ARRAY_SIZE(names));
	for (size_t k = 0; k < count; k++) {
		char line[2000];

		assert_string_equal(keys[k].name, names[k]);
		assert_string_equal(keys[k].when, k < 10 ? "at creation" : "at any time");
		assert_true(keys[k].unit && *keys[k].range && *keys[k].preset && *keys[k].help);
		snprintf(line, sizeof(line), "\n%s: %s (%s%s%s; default: %s; %s)\n", keys[k].name,
			 keys[k].help, keys[k].range, *keys[k].unit ? " " : "", keys[k].unit,
			 keys[k].preset, keys[k].when);
		if (!strstr(help, line))
			fail_dev(NULL, __FILE__, __LINE__, "no \"%s\" in \"%s\"", line, help);
	}
	free(help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_by_itself),
		cmocka_unit_test(refused_with_the_size),
		cmocka_unit_test(completed),
		cmocka_unit_test(memory_and_reads),
		cmocka_unit_test(longest_string),
		cmocka_unit_test(long_mistakes),
		cmocka_unit_test(help_shows_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

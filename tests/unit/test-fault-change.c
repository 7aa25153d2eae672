// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Faults changed while the LUN exists, and printed. */
#include <errno.h>
#include <stdio.h>

#include "fault-settings.h"

#define GEOMETRY "zone_size=96M/zone_cap=64M/conv=2/conv_end=1/pblk=512/max_open=9/urswrz=0/mem=1G"

static void changes(void **state)
{
	static const struct {
		const char *before, *change, *same_as;	/* the last: one string for both */
	} cases[] = {
		{ "reorder=16", "", "reorder=16" },
		{ "reorder=16", "memzbc/", "reorder=16" },
		{ "reorder=16", "hold=64", "reorder=16/hold=64" },
		{ "reorder=16", "memzbc/hold=64/seed=5", "reorder=16/hold=64/seed=5" },
		{ "reorder=16/hold=64", "reorder=0", "hold=64" },
		{ "delay_read=1ms", "delay=5ms", "delay=5ms" },
		{ "delay=5ms", "delay_read=1ms", "delay=5ms/delay_read=1ms" },
		{ "delay=5ms", "delay_read=1ms/delay=2ms", "delay=2ms/delay_read=1ms" },
		{ "error=busy+full", "error=drop", "error=drop" },
		{ "error=busy+full", "error=off", "" },
		{ "error=busy+full", "error=", "" },
		{ "error=busy", "hold=1", "error=busy/hold=1" },
		{ "stats=0/trace=0", "stats=1/trace=65536", "" },
		{ GEOMETRY, "hold=1/" GEOMETRY "/model=hm/lba=512", GEOMETRY "/hold=1" },
		{ "zone_size=96M", "zone_size=98304K/zone_cap=100663296/hold=1",
		  "zone_size=96M/hold=1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memzbc_config cfg = completed_config(cases[i].before);
		struct memzbc_config want = completed_config(cases[i].same_as);
		struct memzbc_config before = cfg;
		char reason[MEMZBC_REASON_SIZE];

		if (memzbc_config_change(&cfg, cases[i].change, reason))
			fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %s", cases[i].change, reason);
		expect_faults(cases[i].change, &cfg.faults, &want.faults);
		cfg.faults = before.faults;
		assert_memory_equal(&cfg, &before, sizeof(cfg));
	}
}

typedef int change_fn(struct memzbc_config *cfg, const char *string, char *reason);

/* Each of @m is refused for a LUN of config @before, and changes nothing. */
static void expect_refusals(const char *before, change_fn *change, const struct mistake *m,
			    size_t count)
{
	for (; count > 0; count--, m++) {
		struct memzbc_config cfg = completed_config(before);
		struct memzbc_config copy = cfg;
		char reason[MEMZBC_REASON_SIZE] = "(none)";

		expect_mistake(m, change(&cfg, m->string, reason), reason);
		assert_memory_equal(&cfg, &copy, sizeof(cfg));
	}
}

static void refused_changes(void **state)
{
	static const struct mistake cases[] = {
		{ "hold=64/zone_size=128M", "zone_size=128M: set at creation only: stays 96M" },
		{ "zone_cap=96M", "zone_cap=96M: set at creation only: stays 64M" },
		{ "conv=3", "conv=3: set at creation only: stays 2" },
		{ "conv_end=0", "conv_end=0: set at creation only: stays 1" },
		{ "lba=4096", "lba=4K: set at creation only: stays 512" },
		{ "pblk=4096", "pblk=4K: set at creation only: stays 512" },
		{ "max_open=10", "max_open=10: set at creation only: stays 9" },
		{ "urswrz=1", "urswrz=1: set at creation only: stays 0" },
		{ "mem=2G", "mem=2G: set at creation only: stays 1G" },
		{ "mem=1073741825", "mem=1073741825: set at creation only: stays 1G" },
		{ "model=ha", "model=ha: not available yet; accepted: hm" },
		{ "conv=x", "conv=x: no whole number; accepted: 0 to 4194304 zones" },
		{ "reorder=1/hold=64/delay=5",
		  "delay=5: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
		{ "hold=64/reorder=1/hold=64", "hold: given twice" },
		{ "reorder=1/error=busy+foo", "error=foo: 'foo': unknown kind; " ACCEPTED_KINDS },
		{ "hold=6 4", "character 20h is not accepted in a config string" },
		{ "hold=64,reorder=1", "character , is not accepted in a config string" },
		{ "hold=64\n", "character 0Ah is not accepted in a config string" },
	};

	(void)state;
	expect_refusals(GEOMETRY "/error=full", memzbc_config_change, cases, ARRAY_SIZE(cases));
}

static void replacements(void **state)
{
	static const struct {
		const char *before, *string;
	} cases[] = {
		{ "reorder=16/error=busy+full/delay=1ms/trace=5", "" },
		{ "reorder=16", "hold=64" },
		{ "", "memzbc/error=drop/hold=1" },
		{ GEOMETRY "/hold=5", GEOMETRY "/reorder=7" },
		{ GEOMETRY, "model=hm/lba=512/" GEOMETRY },
		/* What it named then is the default now, and the other way round. */
		{ "conv=1/zone_size=256M/hold=1", "" },
		{ "hold=1", "conv=1/zone_size=256M/zone_cap=256M/max_open=128/urswrz=1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memzbc_config cfg = completed_config(cases[i].before);
		struct memzbc_config before = cfg, want = completed_config(cases[i].string);
		char reason[MEMZBC_REASON_SIZE];

		if (memzbc_config_replace(&cfg, cases[i].string, reason))
			fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %s", cases[i].string, reason);
		expect_faults(cases[i].string, &cfg.faults, &want.faults);
		cfg.faults = before.faults;
		assert_memory_equal(&cfg, &before, sizeof(cfg));
	}
}

static void refused_replacements(void **state)
{
	static const struct mistake cases[] = {
		{ "hold=64",
		  "zone_size=256M, the default: set at creation only: stays 96M" },
		{ "zone_size=96M/hold=64",
		  "zone_cap=96M, the default: set at creation only: stays 64M" },
		{ "zone_size=96M/zone_cap=64M/conv_end=1",
		  "conv=1, the default: set at creation only: stays 2" },
		{ GEOMETRY "/lba=4096", "pblk=512 is less than a logical block of 4096 bytes" },
		{ "lba=4096", "lba=4K: set at creation only: stays 512" },
		{ "zone_size=96M/zone_cap=64M/conv=5", "conv=5: set at creation only: stays 2" },
		{ "zone_size=96M/zone_cap=64M/conv=2/conv_end=1/pblk=512/urswrz=0/mem=1G",
		  "max_open=128, the default: set at creation only: stays 9" },
		{ GEOMETRY "/hold=64/delay=5",
		  "delay=5: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
	};

	(void)state;
	expect_refusals(GEOMETRY "/error=full", memzbc_config_replace, cases, ARRAY_SIZE(cases));
}

static void printed(void **state)
{
	static const struct {
		const char *string, *settings, *json;
	} cases[] = {
		{ "",
		  "seed=0/reorder=0/reorder_depth=1/reorder_time=10ms/reorder_conv=0/hold=0/"
		  "hold_attempts=0/hold_time=2s/delay=0/delay_read=0/delay_write=0/delay_zone=0/"
		  "delay_sync=0/rate=0/seek=0/cache=0/error=off/trace=65536/stats=1",
		  "{\"seed\": 0, \"reorder\": 0, \"reorder_depth\": 1, \"reorder_time\": \"10ms\", "
		  "\"reorder_conv\": 0, \"hold\": 0, \"hold_attempts\": 0, \"hold_time\": \"2s\", "
		  "\"delay\": \"0\", \"delay_read\": \"0\", \"delay_write\": \"0\", "
		  "\"delay_zone\": \"0\", \"delay_sync\": \"0\", \"rate\": 0, \"seek\": \"0\", "
		  "\"cache\": 0, \"error\": \"off\", \"trace\": 65536, \"stats\": 1}" },
		{ "seed=9/delay=1.5ms/delay_zone=2000ms/rate=1536K/cache=1000/reorder_conv=1/"
		  "stats=0/error=busy@p1%+sense032702@read",
		  "seed=9/reorder=0/reorder_depth=1/reorder_time=10ms/reorder_conv=1/hold=0/"
		  "hold_attempts=0/hold_time=2s/delay_read=1500us/delay_write=1500us/"
		  "delay_zone=2s/delay_sync=1500us/rate=1536K/seek=0/cache=1000/"
		  "error=busy@p0.01+sense032702@read/trace=65536/stats=0",
		  "{\"seed\": 9, \"reorder\": 0, \"reorder_depth\": 1, \"reorder_time\": \"10ms\", "
		  "\"reorder_conv\": 1, \"hold\": 0, \"hold_attempts\": 0, \"hold_time\": \"2s\", "
		  "\"delay_read\": \"1500us\", \"delay_write\": \"1500us\", "
		  "\"delay_zone\": \"2s\", \"delay_sync\": \"1500us\", \"rate\": 1572864, "
		  "\"seek\": \"0\", \"cache\": 1000, \"error\": \"busy@p0.01+sense032702@read\", "
		  "\"trace\": 65536, \"stats\": 0}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memzbc_config cfg = completed_config(cases[i].string);
		char *settings = printed_config(&cfg, false), *json = printed_config(&cfg, true);

		assert_string_equal(settings, cases[i].settings);
		assert_string_equal(json, cases[i].json);
		free(settings);
		free(json);
	}
}

/* What is printed of any faults gives the same faults again, from whatever they were before. */
static void printed_faults_parse_back(void **state)
{
	struct memzbc_config cfg = completed_config("");

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct memzbc_config other = cfg;
		char reason[MEMZBC_REASON_SIZE];
		char *text;

		random_faults(&other.faults, other.capacity);
		text = printed_config(&other, false);
		if (memzbc_config_change(&cfg, text, reason))
			fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %s", text, reason);
		expect_faults(text, &cfg.faults, &other.faults);
		free(text);
	}
}

/* A string of characters and words that matter, in memory of its exact size. */
static char *random_string(void)
{
	static const char *const words[] = {
		"error=", "delay=", "hold=", "seed=", "rate=", "reorder_time=", "zone_size=", "/",
		"=", "@", "+", ".", "%", "-", "medium", "partial", "sense", "drop", "busy", "read",
		"any", "open", "op", "lba", "0x", "p", "n", "t", "1", "0", "9", "ff", "ms", "us",
		"ns", "s", "K", "T", "18446744073709551615", "memzbc/",
	};
	char text[128] = "";
	size_t count = random_u64() % 12;

	for (size_t i = 0; i < count && strlen(text) < 100; i++) {
		if (random_u64() % 8 == 0)
			text[strlen(text)] = (char)(1 + random_u64() % 255);
		else
			strcat(text, words[random_u64() % ARRAY_SIZE(words)]);
	}
	return strdup(text);
}

static void expect_reason(const char *string, const char *reason)
{
	size_t len = strnlen(reason, MEMZBC_REASON_SIZE);

	if (len == 0 || len == MEMZBC_REASON_SIZE)
		fail_dev(NULL, __FILE__, __LINE__, "\"%s\": a reason of %zu characters", string,
			 len);
}

static void random_strings(void **state)
{
	static change_fn *const functions[] = { memzbc_config_change, memzbc_config_replace };
	struct memzbc_config cfg = completed_config("hold=5/error=busy@read");

	(void)state;
	for (int i = 0; i < 200000; i++) {
		change_fn *change = functions[i % 2];
		struct memzbc_config before = cfg, copy;
		char reason[MEMZBC_REASON_SIZE] = "";
		char *string = random_string(), *text;

		if (change(&cfg, string, reason)) {
			expect_reason(string, reason);
			assert_memory_equal(&cfg, &before, sizeof(cfg));
		} else {
			copy = completed_config("");
			text = printed_config(&cfg, false);
			assert_int_equal(memzbc_config_change(&copy, text, reason), 0);
			expect_faults(string, &copy.faults, &cfg.faults);
			free(text);
		}
		free(string);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
		cmocka_unit_test(refused_changes),
		cmocka_unit_test(replacements),
		cmocka_unit_test(refused_replacements),
		cmocka_unit_test(printed),
		cmocka_unit_test(printed_faults_parse_back),
		cmocka_unit_test(random_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <stdio.h>

#include "fault-settings.h"

struct memzbc_config completed_config(const char *string)
{
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;

	if (memzbc_config_parse(&cfg, string, reason) ||
	    memzbc_config_complete(&cfg, SETTINGS_SIZE, 512, reason))
		fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %s", string, reason);
	return cfg;
}

char *printed_config(const struct memzbc_config *cfg, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	memzbc_config_print(out, cfg, json);
	assert_int_equal(fclose(out), 0);
	return text;
}

#define expect_field(what, a, b, field) \
	do { \
		if ((a)->field != (b)->field) \
			fail_dev(NULL, __FILE__, __LINE__, "%s: " #field " is %llu, not %llu", \
				 what, (unsigned long long)(a)->field, \
				 (unsigned long long)(b)->field); \
	} while (0)

static void expect_rule(const char *what, const struct memzbc_error_rule *rule,
			const struct memzbc_error_rule *expected)
{
	expect_field(what, rule, expected, kind);
	expect_field(what, rule, expected, classes);
	expect_field(what, rule, expected, opcode);
	expect_field(what, rule, expected, service_action);
	expect_field(what, rule, expected, has_range);
	expect_field(what, rule, expected, first);
	expect_field(what, rule, expected, last);
	expect_field(what, rule, expected, probability);
	expect_field(what, rule, expected, count);
	expect_field(what, rule, expected, time);
	expect_field(what, rule, expected, blocks);
	expect_field(what, rule, expected, key);
	expect_field(what, rule, expected, asc);
	expect_field(what, rule, expected, status);
}

void expect_faults(const char *what, const struct memzbc_faults *faults,
		   const struct memzbc_faults *expected)
{
	expect_field(what, faults, expected, seed);
	expect_field(what, faults, expected, reorder);
	expect_field(what, faults, expected, reorder_depth);
	expect_field(what, faults, expected, reorder_time);
	expect_field(what, faults, expected, reorder_conv);
	expect_field(what, faults, expected, hold);
	expect_field(what, faults, expected, hold_attempts);
	expect_field(what, faults, expected, hold_time);
	for (int class = 0; class < MEMZBC_CLASSES; class++)
		expect_field(what, faults, expected, delay[class]);
	expect_field(what, faults, expected, rate);
	expect_field(what, faults, expected, seek);
	expect_field(what, faults, expected, cache);
	expect_field(what, faults, expected, error_rules);
	for (uint32_t i = 0; i < faults->error_rules; i++)
		expect_rule(what, &faults->error[i], &expected->error[i]);
	expect_field(what, faults, expected, trace);
	expect_field(what, faults, expected, stats);
}

/* Numbers of all magnitudes from @low to @high. */
static uint64_t random_in(uint64_t low, uint64_t high)
{
	uint64_t value = random_u64() >> random_u64() % 64;
	uint64_t range = high - low + 1;

	if (random_u64() % 8 == 0)
		return random_u64() % 2 ? low : high;
	/* cppcheck-suppress knownConditionTrueFalse ; it is 0 for all there are */
	return low + (range ? value % range : value);
}

/* Often a round one. */
static uint64_t random_time(uint64_t low, uint64_t high)
{
	static const uint64_t units[] = { 1, NS_PER_US, NS_PER_MS, NS_PER_S };
	uint64_t value = random_in(1, 1000) * units[random_u64() % ARRAY_SIZE(units)];

	return value >= low && value <= high ? value : random_in(low, high);
}

static void random_kind(struct memzbc_error_rule *rule)
{
	static const uint8_t statuses[] = { 0x08, 0x18, 0x28 };
	static const uint32_t known[] = { 0x044400, 0x0b4703, 0x020401 };
	uint32_t sense = (uint32_t)random_in(0, 0x0fffff);

	rule->kind = MEMZBC_ERROR_MEDIUM + random_u64() % 5;
	if (rule->kind == MEMZBC_ERROR_PARTIAL)
		rule->blocks = (uint32_t)random_in(0, UINT32_MAX);
	if (rule->kind == MEMZBC_ERROR_STATUS)
		rule->status = statuses[random_u64() % ARRAY_SIZE(statuses)];
	if (rule->kind != MEMZBC_ERROR_SENSE)
		return;
	if (random_u64() % 2)
		sense = known[random_u64() % ARRAY_SIZE(known)];
	rule->key = (uint8_t)(sense >> 16);
	rule->asc = (uint16_t)sense;
}

static void random_rule(struct memzbc_error_rule *rule, uint64_t capacity)
{
	*rule = (struct memzbc_error_rule){
		.opcode = -1,
		.service_action = -1,
		.probability = 1000000,
		.count = UINT64_MAX,
	};
	random_kind(rule);
	if (random_u64() % 2) {
		rule->classes = (uint32_t)random_in(1, ALL);
	} else {
		rule->classes = ALL;
		rule->opcode = random_u64() % 2 ? ZBC_OUT : (int16_t)random_in(0, 0xff);
		if (random_u64() % 2)
			rule->service_action = (int16_t)random_in(0, 0x1f);
	}
	if (random_u64() % 2) {
		rule->has_range = true;
		rule->first = random_in(0, capacity - 1);
		rule->last = random_in(rule->first, capacity - 1);
	}
	if (random_u64() % 2)
		rule->probability = (uint32_t)random_in(1, 1000000);
	if (random_u64() % 2)
		rule->count = random_in(1, UINT64_MAX - 1);
	if (rule->kind == MEMZBC_ERROR_DROP)
		rule->time = random_time(1, 80 * NS_PER_S);
	else if (random_u64() % 2)
		rule->time = random_time(1, 86400 * NS_PER_S);
}

void random_faults(struct memzbc_faults *faults, uint64_t capacity)
{
	memset(faults, 0, sizeof(*faults));
	faults->seed = random_in(0, UINT64_MAX);
	faults->reorder = (uint32_t)random_in(0, 1000000);
	faults->reorder_depth = (uint32_t)random_in(1, 65535);
	faults->reorder_time = random_time(NS_PER_US, 20 * NS_PER_S);
	faults->reorder_conv = random_u64() % 2;
	faults->hold = (uint32_t)random_in(0, 65535);
	faults->hold_attempts = (uint32_t)random_in(0, 65535);
	faults->hold_time = random_time(NS_PER_US, 20 * NS_PER_S);
	for (int class = 0; class < MEMZBC_CLASS_OTHER; class++)
		faults->delay[class] = random_u64() % 2 ? random_time(0, 20 * NS_PER_S)
							: faults->delay[0];
	faults->rate = random_in(0, 1ull << 62);
	faults->seek = random_time(0, 20 * NS_PER_S);
	faults->cache = random_in(0, 1ull << 62);
	faults->error_rules = (uint32_t)random_in(0, MEMZBC_ERROR_RULES_MAX);
	for (uint32_t i = 0; i < faults->error_rules; i++)
		random_rule(&faults->error[i], capacity);
	faults->trace = (uint32_t)random_in(0, 16777216);
	faults->stats = random_u64() % 2;
}

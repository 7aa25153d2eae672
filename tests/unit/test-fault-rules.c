// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Key error: what its rules mean, how they are printed, and mistakes. */
#include <errno.h>
#include <stdio.h>

#include "fault-settings.h"

#define ACCEPTED_PARTS "accepted: read, write, zone, sync, other, any, open, close, finish, " \
	      "reset, opXX, opXX.XX, lbaFIRST, lbaFIRST-LAST, pPROBABILITY, nCOUNT, tTIME"
#define ACCEPTED_LBAS "accepted: lbaFIRST or lbaFIRST-LAST, decimal or hexadecimal with 0x"
#define ACCEPTED_OPCODES "accepted: opXX or opXX.XX: operation code and service action, hexadecimal"
#define ACCEPTED_PROBABILITIES "accepted: p0.000001 to p1, or p0.0001% to p100%"
#define ACCEPTED_NUMBERS "accepted: n1 to n18446744073709551614"
#define ACCEPTED_SENSES "accepted: sense000000 to sense0fffff: sense key, ASC and ASCQ, hexadecimal"
#define ACCEPTED_BLOCKS "accepted: partial0 to partial4294967295"

static void refused_rules(void **state)
{
	static const struct mistake cases[] = {
		{ "error=foo", "error=foo: 'foo': unknown kind; " ACCEPTED_KINDS },
		{ "error=Medium", "error=Medium: 'Medium': unknown kind; " ACCEPTED_KINDS },
		{ "error=mediums", "error=mediums: 'mediums': unknown kind; " ACCEPTED_KINDS },
		{ "error=medium+", "error=medium+: '': unknown kind; " ACCEPTED_KINDS },
		{ "error=+medium", "error=+medium: '': unknown kind; " ACCEPTED_KINDS },
		{ "error=busy+full@zone++drop",
		  "error=busy+full@zone++drop: '': unknown kind; " ACCEPTED_KINDS },
		{ "error=busy+off", "error=off: 'off': unknown kind; " ACCEPTED_KINDS },
		{ "error=@read", "error=@read: '': unknown kind; " ACCEPTED_KINDS },
		{ "error=read", "error=read: 'read': unknown kind; " ACCEPTED_KINDS },
		{ "error=busy+foo@read", "error=foo@read: 'foo': unknown kind; " ACCEPTED_KINDS },
		{ "error=partial", "error=partial: 'partial': no whole number; " ACCEPTED_BLOCKS },
		{ "error=partial0x8",
		  "error=partial0x8: 'partial0x8': no whole number; " ACCEPTED_BLOCKS },
		{ "error=partial4294967296",
		  "error=partial4294967296: 'partial4294967296': out of range; " ACCEPTED_BLOCKS },
		{ "error=sense",
		  "error=sense: 'sense': no six hexadecimal digits; " ACCEPTED_SENSES },
		{ "error=sense44400",
		  "error=sense44400: 'sense44400': no six hexadecimal digits; " ACCEPTED_SENSES },
		{ "error=sense0444000",
		  "error=sense0444000: 'sense0444000': no six hexadecimal digits; "
		  ACCEPTED_SENSES },
		{ "error=sense04440g",
		  "error=sense04440g: 'sense04440g': no six hexadecimal digits; " ACCEPTED_SENSES },
		{ "error=sense100000",
		  "error=sense100000: 'sense100000': no sense key; " ACCEPTED_SENSES },
		{ "error=medium@foo", "error=medium@foo: 'foo': unknown part; " ACCEPTED_PARTS },
		{ "error=medium@", "error=medium@: '': unknown part; " ACCEPTED_PARTS },
		{ "error=medium@read@@n1",
		  "error=medium@read@@n1: '': unknown part; " ACCEPTED_PARTS },
		{ "error=medium@READ", "error=medium@READ: 'READ': unknown part; " ACCEPTED_PARTS },
		{ "error=full@read@read",
		  "error=full@read@read: 'read': given before; accepted: one" },
		{ "error=full@read@any",
		  "error=full@read@any: 'any': given before; accepted: one" },
		{ "error=full@any@zone",
		  "error=full@any@zone: 'zone': given before; accepted: one" },
		{ "error=busy@op8", "error=busy@op8: 'op8': no operation code; " ACCEPTED_OPCODES },
		{ "error=busy@op088",
		  "error=busy@op088: 'op088': no operation code; " ACCEPTED_OPCODES },
		{ "error=busy@opxx",
		  "error=busy@opxx: 'opxx': no operation code; " ACCEPTED_OPCODES },
		{ "error=busy@op94.",
		  "error=busy@op94.: 'op94.': no service action; " ACCEPTED_OPCODES },
		{ "error=busy@op94.4",
		  "error=busy@op94.4: 'op94.4': no service action; " ACCEPTED_OPCODES },
		{ "error=busy@op94.20",
		  "error=busy@op94.20: 'op94.20': no service action; " ACCEPTED_OPCODES },
		{ "error=busy@op94.04.1",
		  "error=busy@op94.04.1: 'op94.04.1': no service action; " ACCEPTED_OPCODES },
		{ "error=busy@reset@finish",
		  "error=busy@reset@finish: 'finish': second of its kind; accepted: one" },
		{ "error=busy@op88@reset",
		  "error=busy@op88@reset: 'reset': second of its kind; accepted: one" },
		{ "error=busy@read@op88", "error=busy@read@op88: a class of commands and an "
					  "operation code; accepted: one of them" },
		{ "error=busy@reset@zone", "error=busy@reset@zone: a class of commands and an "
					   "operation code; accepted: one of them" },
		{ "error=busy@lba", "error=busy@lba: 'lba': no whole number; " ACCEPTED_LBAS },
		{ "error=busy@lba-5",
		  "error=busy@lba-5: 'lba-5': no whole number; " ACCEPTED_LBAS },
		{ "error=busy@lba5-",
		  "error=busy@lba5-: 'lba5-': no whole number; " ACCEPTED_LBAS },
		{ "error=busy@lba0x",
		  "error=busy@lba0x: 'lba0x': no hexadecimal number; " ACCEPTED_LBAS },
		{ "error=busy@lbaff",
		  "error=busy@lbaff: 'lbaff': no whole number; " ACCEPTED_LBAS },
		{ "error=busy@lba5-4",
		  "error=busy@lba5-4: 'lba5-4': ends before it starts; " ACCEPTED_LBAS },
		{ "error=busy@lba1-2-3",
		  "error=busy@lba1-2-3: 'lba1-2-3': no whole number; " ACCEPTED_LBAS },
		{ "error=busy@lba18446744073709551616",
		  "error=busy@lba18446744073709551616: 'lba18446744073709551616': out of range; "
		  ACCEPTED_LBAS },
		{ "error=busy@lba1@lba2",
		  "error=busy@lba1@lba2: 'lba2': second of its kind; accepted: one" },
		{ "error=busy@p", "error=busy@p: 'p': no decimal number; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p%",
		  "error=busy@p%: 'p%': no decimal number; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p0", "error=busy@p0: 'p0': out of range; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p0.0%",
		  "error=busy@p0.0%: 'p0.0%': out of range; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p1.000001",
		  "error=busy@p1.000001: 'p1.000001': out of range; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p101%",
		  "error=busy@p101%: 'p101%': out of range; " ACCEPTED_PROBABILITIES },
		{ "error=busy@p0.0000001",
		  "error=busy@p0.0000001: 'p0.0000001': too many decimal places; "
		  ACCEPTED_PROBABILITIES },
		{ "error=busy@p0.00001%",
		  "error=busy@p0.00001%: 'p0.00001%': too many decimal places; "
		  ACCEPTED_PROBABILITIES },
		{ "error=busy@p1@p1", "error=busy@p1@p1: 'p1': second of its kind; accepted: one" },
		{ "error=busy@n", "error=busy@n: 'n': no whole number; " ACCEPTED_NUMBERS },
		{ "error=busy@n0", "error=busy@n0: 'n0': out of range; " ACCEPTED_NUMBERS },
		{ "error=busy@n18446744073709551615",
		  "error=busy@n18446744073709551615: 'n18446744073709551615': out of range; "
		  ACCEPTED_NUMBERS },
		{ "error=busy@n1@n2", "error=busy@n1@n2: 'n2': second of its kind; accepted: one" },
		{ "error=drop@t", "error=drop@t: 't': no number with ns, us, ms or s; "
				  "accepted: t1ns to t86400s" },
		{ "error=drop@t0",
		  "error=drop@t0: 't0': out of range; accepted: t1ns to t86400s" },
		{ "error=drop@t5", "error=drop@t5: 't5': no unit, one of ns, us, ms, s; "
				   "accepted: t1ns to t86400s" },
		{ "error=drop@t80001ms@read",
		  "error=drop@t80001ms@read: an answer so late; accepted with drop: t1ns to t80s" },
		{ "error=drop@t86401s",
		  "error=drop@t86401s: 't86401s': out of range; accepted: t1ns to t86400s" },
		{ "error=busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+"
		  "busy+busy+busy", "error: too many rules; accepted: up to 16" },
	};

	(void)state;
	expect_mistakes(cases, ARRAY_SIZE(cases));
}

/* Parts of rules, as initialisers. */
#define ON(class_bits) .classes = class_bits, .opcode = -1, .service_action = -1
#define CODE(code, action) .classes = ALL, .opcode = code, .service_action = action
#define LBAS(from, to) .has_range = true, .first = from, .last = to
#define SURE .probability = 1000000
#define EVER .count = UINT64_MAX

#define BAD_BLOCKS .kind = MEMZBC_ERROR_MEDIUM
#define PARTIAL(good) .kind = MEMZBC_ERROR_PARTIAL, .blocks = good
#define SENSE(sense_key, code) .kind = MEMZBC_ERROR_SENSE, .key = sense_key, .asc = code
#define STATUS(code) .kind = MEMZBC_ERROR_STATUS, .status = code
#define BUSY STATUS(0x08)
#define DROP(delay) .kind = MEMZBC_ERROR_DROP, .time = delay
#define LONG_DROP DROP(60 * NS_PER_S)

/* A rule, what it means, and how it is printed if not the same. */
static const struct {
	const char *text;
	struct memzbc_error_rule rule;
	const char *printed;
} rules[] = {
	{ "medium", { BAD_BLOCKS, ON(READS | WRITES), SURE, EVER }, NULL },
	{ "hardware", { SENSE(0x4, 0x4400), ON(MEDIUM), SURE, EVER }, NULL },
	{ "aborted", { SENSE(0xb, 0x4703), ON(MEDIUM), SURE, EVER }, NULL },
	{ "notready", { SENSE(0x2, 0x0401), ON(MEDIUM), SURE, EVER }, NULL },
	{ "busy", { STATUS(0x08), ON(MEDIUM), SURE, EVER }, NULL },
	{ "full", { STATUS(0x28), ON(MEDIUM), SURE, EVER }, NULL },
	{ "conflict", { STATUS(0x18), ON(MEDIUM), SURE, EVER }, NULL },
	{ "drop", { LONG_DROP, ON(MEDIUM), SURE, EVER }, NULL },
	{ "partial0", { PARTIAL(0), ON(WRITES), SURE, EVER }, NULL },
	{ "partial4294967295", { PARTIAL(UINT32_MAX), ON(WRITES), SURE, EVER }, NULL },
	{ "sense032702", { SENSE(0x3, 0x2702), ON(MEDIUM), SURE, EVER }, NULL },
	{ "sense0FFFff", { SENSE(0xf, 0xffff), ON(MEDIUM), SURE, EVER }, "sense0fffff" },
	{ "sense000000", { SENSE(0, 0), ON(MEDIUM), SURE, EVER }, NULL },
	{ "sense044400", { SENSE(0x4, 0x4400), ON(MEDIUM), SURE, EVER }, "hardware" },

	{ "medium@read", { BAD_BLOCKS, ON(READS), SURE, EVER }, NULL },
	{ "medium@write@read", { BAD_BLOCKS, ON(READS | WRITES), SURE, EVER }, "medium" },
	{ "partial8@any", { PARTIAL(8), ON(ALL), SURE, EVER }, NULL },
	{ "busy@zone", { BUSY, ON(ZONES), SURE, EVER }, NULL },
	{ "busy@sync@other", { BUSY, ON(SYNCS | OTHERS), SURE, EVER }, NULL },
	{ "busy@any", { BUSY, ON(ALL), SURE, EVER }, NULL },
	{ "busy@read@write@zone@sync@other", { BUSY, ON(ALL), SURE, EVER }, "busy@any" },

	{ "drop@close", { LONG_DROP, CODE(0x94, 1), SURE, EVER }, NULL },
	{ "drop@finish", { LONG_DROP, CODE(0x94, 2), SURE, EVER }, NULL },
	{ "drop@open", { LONG_DROP, CODE(0x94, 3), SURE, EVER }, NULL },
	{ "drop@reset", { LONG_DROP, CODE(0x94, 4), SURE, EVER }, NULL },
	{ "drop@op94.04", { LONG_DROP, CODE(0x94, 4), SURE, EVER }, "drop@reset" },
	{ "drop@op94.05", { LONG_DROP, CODE(0x94, 5), SURE, EVER }, NULL },
	{ "drop@op94.00", { LONG_DROP, CODE(0x94, 0), SURE, EVER }, NULL },
	{ "drop@op94", { LONG_DROP, CODE(0x94, -1), SURE, EVER }, NULL },
	{ "full@op8A", { STATUS(0x28), CODE(0x8a, -1), SURE, EVER }, "full@op8a" },
	{ "full@op00", { STATUS(0x28), CODE(0, -1), SURE, EVER }, NULL },
	{ "full@op9e.10", { STATUS(0x28), CODE(0x9e, 0x10), SURE, EVER }, NULL },

	{ "medium@lba100", { BAD_BLOCKS, ON(READS | WRITES), LBAS(100, 100), SURE, EVER }, NULL },
	{ "medium@lba0-2097151",
	  { BAD_BLOCKS, ON(READS | WRITES), LBAS(0, SETTINGS_LAST_LBA), SURE, EVER }, NULL },
	{ "medium@lba0x10-0x1F",
	  { BAD_BLOCKS, ON(READS | WRITES), LBAS(16, 31), SURE, EVER }, "medium@lba16-31" },
	{ "busy@p0.01", { BUSY, ON(MEDIUM), EVER, .probability = 10000 }, NULL },
	{ "busy@p12.5%", { BUSY, ON(MEDIUM), EVER, .probability = 125000 }, "busy@p0.125" },
	{ "busy@p0.0001%", { BUSY, ON(MEDIUM), EVER, .probability = 1 }, "busy@p0.000001" },
	{ "busy@p1", { BUSY, ON(MEDIUM), SURE, EVER }, "busy" },
	{ "busy@p100.0000%", { BUSY, ON(MEDIUM), SURE, EVER }, "busy" },
	{ "busy@n1", { BUSY, ON(MEDIUM), SURE, .count = 1 }, NULL },
	{ "busy@n18446744073709551614", { BUSY, ON(MEDIUM), SURE, .count = UINT64_MAX - 1 }, NULL },
	{ "notready@t2.5s",
	  { SENSE(0x2, 0x0401), ON(MEDIUM), SURE, EVER, .time = 2500 * NS_PER_MS },
	  "notready@t2500ms" },
	{ "drop@t1ns", { DROP(1), ON(MEDIUM), SURE, EVER }, NULL },
	{ "drop@t60s", { LONG_DROP, ON(MEDIUM), SURE, EVER }, "drop" },
	{ "busy@t60s", { BUSY, ON(MEDIUM), SURE, EVER, .time = 60 * NS_PER_S }, NULL },
	{ "drop@t80s", { DROP(80 * NS_PER_S), ON(MEDIUM), SURE, EVER }, NULL },
	{ "busy@t86400s", { BUSY, ON(MEDIUM), SURE, EVER, .time = 86400 * NS_PER_S }, NULL },
	{ "partial8@t5ms@n3@p50%@lba8-9@write",
	  { PARTIAL(8), ON(WRITES), LBAS(8, 9), .probability = 500000, .count = 3,
	    .time = 5 * NS_PER_MS },
	  "partial8@lba8-9@p0.5@n3@t5ms" },
};

/* The printed form of the rules of @cfg. */
static void expect_printed_rules(const char *text, const struct memzbc_config *cfg,
				 const char *expected)
{
	char *printed = printed_config(cfg, false);
	char *from = strstr(printed, "/error=") + 7;

	*strchr(from, '/') = '\0';
	if (strcmp(from, expected))
		fail_dev(NULL, __FILE__, __LINE__, "\"%s\" is printed \"%s\", not \"%s\"", text,
			 from, expected);
	free(printed);
}

static void rules_mean_and_print(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct memzbc_faults expected = { DEFAULTS, .error_rules = 1,
						  .error = { rules[i].rule } };
		const char *printed = rules[i].printed ? rules[i].printed : rules[i].text;
		struct memzbc_config cfg;
		char string[128];

		snprintf(string, sizeof(string), "error=%s", rules[i].text);
		cfg = completed_config(string);
		expect_faults(string, &cfg.faults, &expected);
		expect_printed_rules(string, &cfg, printed);
	}
}

static void several_rules(void **state)
{
	static const struct memzbc_faults expected = {
		DEFAULTS,
		.error_rules = 3,
		.error = {
			{ BAD_BLOCKS, ON(READS | WRITES), LBAS(5, 5), SURE, .count = 1 },
			{ BUSY, ON(MEDIUM), EVER, .probability = 10000 },
			{ LONG_DROP, ON(MEDIUM), SURE, EVER },
		},
	};
	struct memzbc_config cfg = completed_config("error=medium@lba5@n1+busy@p1%+drop");

	(void)state;
	expect_faults("three rules", &cfg.faults, &expected);
	cfg = completed_config("error=busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+busy+"
			       "busy+busy+busy+busy");
	assert_int_equal(cfg.faults.error_rules, 16);
}

/* An LBA that the LUN does not have is a mistake, as soon as its size is known. */
static void rules_within_the_lun(void **state)
{
	static const char reason_wanted[] = "error: LBA 2097152; accepted: 0 to 2097151";
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;

	(void)state;
	assert_int_equal(memzbc_config_parse(&cfg, "error=busy+medium@lba5-2097152", reason), 0);
	assert_int_equal(memzbc_config_complete(&cfg, SETTINGS_SIZE, 512, reason), -EINVAL);
	assert_string_equal(reason, reason_wanted);
	cfg = completed_config("");
	assert_int_equal(memzbc_config_change(&cfg, "error=medium@lba0x200000", reason), -EINVAL);
	assert_string_equal(reason, reason_wanted);
	assert_int_equal(cfg.faults.error_rules, 0);
	assert_int_equal(memzbc_config_replace(&cfg, "error=medium@lba2097152", reason), -EINVAL);
	assert_string_equal(reason, reason_wanted);
	assert_int_equal(memzbc_config_change(&cfg, "error=medium@lba2097151", reason), 0);
}

/* The help of key error explains every kind and part that reasons name. */
static void help_names_all(void **state)
{
	static const char names[] = ACCEPTED_KINDS ", " ACCEPTED_PARTS;
	size_t count, k = 0;
	const struct memzbc_key *keys = memzbc_config_keys(&count);
	char *list = strdup(names);

	(void)state;
	while (strcmp(keys[k].name, "error") != 0)
		k++;
	for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", "))
		if (strcmp(name, "accepted:") != 0 && !strstr(keys[k].help, name))
			fail_dev(NULL, __FILE__, __LINE__, "no %s in \"%s\"", name, keys[k].help);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_rules),
		cmocka_unit_test(rules_mean_and_print),
		cmocka_unit_test(several_rules),
		cmocka_unit_test(rules_within_the_lun),
		cmocka_unit_test(help_names_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The table of keys: parser, help and documentation go by it.
 */
#include "keytable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

#define SIZE_MAX_TEXT "4194304T"	/* 2^62 bytes: sums of two lengths fit 64 bits */
#define AT_CREATION "at creation"
#define AT_ANY_TIME "at any time"
/* LIO gives a command up after 30 s. */
#define TIME_MAX_TEXT "20s"

/* How a value is written. */
enum kind {
	WORD,	/* one of the words of the range; stored as its index */
	COUNT,	/* decimal digits */
	SIZE,	/* decimal digits, and K, M, G or T */
	TIME,	/* decimal number and ns, us, ms or s */
	DELAYS,	/* a time for all classes of commands but other */
	RULES,	/* see rules.h */
};

/* Where the value goes. */
struct memzbc_key_rule {
	enum kind kind;
	uint16_t offset;
	uint16_t size;
	const char *planned;	/* words that a later version will accept, or NULL */
};

#define RULE(kind, field, ...)						\
	(&(const struct memzbc_key_rule){ kind, offsetof(struct memzbc_config, field), \
		sizeof(((struct memzbc_config *)NULL)->field), __VA_ARGS__ })

const struct memzbc_key config_keys[KEYS] = {
	[KEY_MODEL] = {
		.name = "model", .unit = "", .range = "hm", .preset = "hm",
		.when = AT_CREATION,
		.help = "Zoned model: hm is host managed",
		.rule = RULE(WORD, model, "ha, zdr"),
	},
	[KEY_ZONE_SIZE] = {
		.name = "zone_size", .unit = "bytes", .range = "512 to " SIZE_MAX_TEXT,
		.preset = "256M", .when = AT_CREATION,
		.help = "Distance of two zone starts: any multiple of pblk, power of two or not",
		.rule = RULE(SIZE, zone_size, NULL),
	},
	[KEY_ZONE_CAP] = {
		.name = "zone_cap", .unit = "bytes", .range = "512 to " SIZE_MAX_TEXT,
		.preset = "zone_size", .when = AT_CREATION,
		.help = "Length of a sequential zone: a multiple of pblk, at most zone_size; "
			"if less, gap zones fill the rest",
		.rule = RULE(SIZE, zone_cap, NULL),
	},
	[KEY_CONV] = {
		.name = "conv", .unit = "zones", .range = "0 to " TEXT(MEMZBC_ZONES_MAX),
		.preset = "1% of the zones, at least 1 of 4 or more", .when = AT_CREATION,
		.help = "Conventional zones at the start",
		.rule = RULE(COUNT, conv, NULL),
	},
	[KEY_CONV_END] = {
		.name = "conv_end", .unit = "zones", .range = "0 to " TEXT(MEMZBC_ZONES_MAX),
		.preset = "0", .when = AT_CREATION,
		.help = "Conventional zones at the end",
		.rule = RULE(COUNT, conv_end, NULL),
	},
	[KEY_LBA] = {
		.name = "lba", .unit = "bytes", .range = "512, 4096",
		.preset = "LIO's hw_block_size, else 512", .when = AT_CREATION,
		.help = "Logical block; hw_block_size must say the same",
		.rule = RULE(SIZE, lba_size, NULL),
	},
	[KEY_PBLK] = {
		.name = "pblk", .unit = "bytes", .range = "512, 4096", .preset = "4096",
		.when = AT_CREATION,
		.help = "Physical block, at least lba; sequential writes must end on one",
		.rule = RULE(SIZE, pblk_size, NULL),
	},
	[KEY_MAX_OPEN] = {
		.name = "max_open", .unit = "zones", .range = "0 to 2147483647", .preset = "128",
		.when = AT_CREATION,
		.help = "Sequential zones that can be open at once; 0 is no limit",
		.rule = RULE(COUNT, max_open, NULL),
	},
	[KEY_URSWRZ] = {
		.name = "urswrz", .unit = "", .range = "0, 1", .preset = "1",
		.when = AT_CREATION,
		.help = "1 allows reads of unwritten blocks of sequential zones, and Linux needs "
			"it; 0 refuses them",
		.rule = RULE(WORD, urswrz, NULL),
	},
	[KEY_MEM] = {
		.name = "mem", .unit = "bytes", .range = "1M to " SIZE_MAX_TEXT,
		.preset = "half of RAM", .when = AT_CREATION,
		.help = "Memory for data; a write beyond it ends with 7/27/07 and changes nothing",
		.rule = RULE(SIZE, mem, NULL),
	},
	[KEY_SEED] = {
		.name = "seed", .unit = "", .range = "0 to 18446744073709551615", .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Start of the random sequences of reorder and error: "
			"the same seed and the same arrivals give the same faults",
		.rule = RULE(COUNT, faults.seed, NULL),
	},
	[KEY_REORDER] = {
		.name = "reorder", .unit = "writes", .range = "0 to 1000000", .preset = "0",
		.when = AT_ANY_TIME,
		.help = "About one in so many writes to sequential zones is held back "
			"and overtaken by later ones; 0 is off",
		.rule = RULE(COUNT, faults.reorder, NULL),
	},
	[KEY_REORDER_DEPTH] = {
		.name = "reorder_depth", .unit = "writes", .range = "1 to 65535", .preset = "1",
		.when = AT_ANY_TIME,
		.help = "How many later writes of its zone overtake a write that is held back",
		.rule = RULE(COUNT, faults.reorder_depth, NULL),
	},
	[KEY_REORDER_TIME] = {
		.name = "reorder_time", .unit = "", .range = "1us to " TIME_MAX_TEXT,
		.preset = "10ms", .when = AT_ANY_TIME,
		.help = "Longest time a write is held back when fewer come",
		.rule = RULE(TIME, faults.reorder_time, NULL),
	},
	[KEY_REORDER_CONV] = {
		.name = "reorder_conv", .unit = "", .range = "0, 1", .preset = "0",
		.when = AT_ANY_TIME,
		.help = "1 has reorder hold back writes to conventional zones, too",
		.rule = RULE(WORD, faults.reorder_conv, NULL),
	},
	[KEY_HOLD] = {
		.name = "hold", .unit = "writes", .range = "0 to 65535", .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Writes that start above the write pointer, kept in each zone until the "
			"pointer arrives; 0 is off",
		.rule = RULE(COUNT, faults.hold, NULL),
	},
	[KEY_HOLD_ATTEMPTS] = {
		.name = "hold_attempts", .unit = "writes", .range = "0 to 65535", .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Writes executed in the zone after which a kept one fails; 0 is no limit",
		.rule = RULE(COUNT, faults.hold_attempts, NULL),
	},
	[KEY_HOLD_TIME] = {
		.name = "hold_time", .unit = "", .range = "1us to " TIME_MAX_TEXT,
		.preset = "2s", .when = AT_ANY_TIME,
		.help = "Time after which a kept write fails",
		.rule = RULE(TIME, faults.hold_time, NULL),
	},
	[KEY_DELAY] = {
		.name = "delay", .unit = "", .range = "0 to " TIME_MAX_TEXT, .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Time from the arrival of each command that reads, writes, manages zones "
			"or synchronizes to its answer",
		.rule = RULE(DELAYS, faults.delay, NULL),
	},
	[KEY_DELAY_READ] = {
		.name = "delay_read", .unit = "", .range = "0 to " TIME_MAX_TEXT,
		.preset = "delay", .when = AT_ANY_TIME,
		.help = "The same for READ and VERIFY",
		.rule = RULE(TIME, faults.delay[MEMZBC_CLASS_READ], NULL),
	},
	[KEY_DELAY_WRITE] = {
		.name = "delay_write", .unit = "", .range = "0 to " TIME_MAX_TEXT,
		.preset = "delay", .when = AT_ANY_TIME,
		.help = "The same for WRITE and WRITE SAME",
		.rule = RULE(TIME, faults.delay[MEMZBC_CLASS_WRITE], NULL),
	},
	[KEY_DELAY_ZONE] = {
		.name = "delay_zone", .unit = "", .range = "0 to " TIME_MAX_TEXT,
		.preset = "delay", .when = AT_ANY_TIME,
		.help = "The same for OPEN, CLOSE and FINISH ZONE and RESET WRITE POINTER",
		.rule = RULE(TIME, faults.delay[MEMZBC_CLASS_ZONE], NULL),
	},
	[KEY_DELAY_SYNC] = {
		.name = "delay_sync", .unit = "", .range = "0 to " TIME_MAX_TEXT,
		.preset = "delay", .when = AT_ANY_TIME,
		.help = "The same for SYNCHRONIZE CACHE",
		.rule = RULE(TIME, faults.delay[MEMZBC_CLASS_SYNC], NULL),
	},
	[KEY_RATE] = {
		.name = "rate", .unit = "bytes per second", .range = "0 to " SIZE_MAX_TEXT,
		.preset = "0", .when = AT_ANY_TIME,
		.help = "Each read or write takes its bytes at this rate, besides its delay; "
			"0 is no limit",
		.rule = RULE(SIZE, faults.rate, NULL),
	},
	[KEY_SEEK] = {
		.name = "seek", .unit = "", .range = "0 to " TIME_MAX_TEXT, .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Time to cross the whole LUN: a read or write takes a share of it for the "
			"distance from where the one before ended; 0 is off",
		.rule = RULE(TIME, faults.seek, NULL),
	},
	[KEY_CACHE] = {
		.name = "cache", .unit = "bytes", .range = "0 to " SIZE_MAX_TEXT, .preset = "0",
		.when = AT_ANY_TIME,
		.help = "Volatile write cache: what was written last and not synchronized, and a "
			"loss of power takes; 0 is none",
		.rule = RULE(SIZE, faults.cache, NULL),
	},
	[KEY_ERROR] = {
		.name = "error", .unit = "",
		.range = "off, or KIND[@PART...], up to " TEXT(MEMZBC_ERROR_RULES_MAX)
			 " of them joined by +",
		.preset = "off", .when = AT_ANY_TIME,
		.help = "Commands that fail; the first rule that hits counts. KIND: medium "
			"(3/11/00 or 3/0C/00 at the first bad block, those before it are done), "
			"hardware (4/44/00), aborted (B/47/03), notready (2/04/01), busy, full "
			"(TASK SET FULL), conflict (RESERVATION CONFLICT), drop (done, and "
			"answered after tTIME, at most 80s, or 60s), partialBLOCKS (so many are "
			"done, then as medium), senseKKAAQQ; what medium and partial write to "
			"a sequential zone ends with a whole physical block. PART: read, write, "
			"zone, sync, other, any, or one operation: open, close, finish, reset, "
			"opXX, opXX.XX (medium is for read and write, partial for write, "
			"the rest for any but other, unless told); lbaFIRST or lbaFIRST-LAST, of "
			"what is read or written, of the zones managed; pPROBABILITY, as p0.01 "
			"or p1%; nCOUNT, times; tTIME, how long the rule holds",
		.rule = RULE(RULES, faults.error, NULL),
	},
	[KEY_TRACE] = {
		.name = "trace", .unit = "commands", .range = "0 to 16777216", .preset = "65536",
		.when = AT_ANY_TIME,
		.help = "Commands that the trace remembers; 0 is off",
		.rule = RULE(COUNT, faults.trace, NULL),
	},
	[KEY_STATS] = {
		.name = "stats", .unit = "", .range = "0, 1", .preset = "1", .when = AT_ANY_TIME,
		.help = "1 counts what happens; 0 is off",
		.rule = RULE(WORD, faults.stats, NULL),
	},
};

const struct memzbc_key *key_find(struct span name)
{
	for (int k = 0; k < KEYS; k++)
		if (span_is(name, config_keys[k].name))
			return &config_keys[k];
	return NULL;
}

bool key_may_change(const struct memzbc_key *key)
{
	return !strcmp(key->when, AT_ANY_TIME);
}

static const char *parse_number(enum kind kind, struct span text, uint64_t *value)
{
	switch (kind) {
	case COUNT:
		return parse_count(text, value);
	case SIZE:
		return parse_size(text, value);
	default:
		return parse_time(text, value);
	}
}

bool key_in_range(const struct memzbc_key *key, uint64_t value)
{
	struct span rest = span_of(key->range);
	uint64_t low = 0, high = 0;

	if (strstr(key->range, " to ")) {
		parse_number(key->rule->kind, next_item(&rest, " to "), &low);
		parse_number(key->rule->kind, rest, &high);
		return low <= value && value <= high;
	}
	while (rest.at) {
		parse_number(key->rule->kind, next_item(&rest, ", "), &low);
		if (low == value)
			return true;
	}
	return false;
}

static void set_field(struct memzbc_config *cfg, const struct memzbc_key_rule *rule, uint64_t value)
{
	void *field = (char *)cfg + rule->offset;

	switch (rule->size) {
	case sizeof(uint64_t):
		*(uint64_t *)field = value;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)field = (uint32_t)value;
		break;
	default:
		*(bool *)field = value;
	}
}

static uint64_t field_of(const struct memzbc_config *cfg, const struct memzbc_key_rule *rule)
{
	const void *field = (const char *)cfg + rule->offset;

	switch (rule->size) {
	case sizeof(uint64_t):
		return *(const uint64_t *)field;
	case sizeof(uint32_t):
		return *(const uint32_t *)field;
	default:
		return *(const bool *)field;
	}
}

/* A key of a single class wins, whether it stands before or after. */
static void set_delays(struct memzbc_config *cfg, uint64_t ns)
{
	for (int k = KEY_DELAY_READ; k <= KEY_DELAY_SYNC; k++)
		if (!key_given(cfg, k))
			set_field(cfg, config_keys[k].rule, ns);
}

static const char *parse_word(struct memzbc_config *cfg, const struct memzbc_key *key,
			      struct span text)
{
	const struct memzbc_key_rule *rule = key->rule;
	int index = word_index(key->range, text);

	if (index >= 0) {
		set_field(cfg, rule, (uint64_t)index);
		return NULL;
	}
	return rule->planned && word_index(rule->planned, text) >= 0 ? "not available yet"
								     : "unknown value";
}

/* Returns NULL, or what is wrong with the value. Of all kinds but RULES. */
static const char *parse_value(struct memzbc_config *cfg, const struct memzbc_key *key,
			       struct span text)
{
	const struct memzbc_key_rule *rule = key->rule;
	const char *wrong;
	uint64_t value;

	if (!text.len)
		return "no value";
	if (rule->kind == WORD)
		return parse_word(cfg, key, text);
	wrong = parse_number(rule->kind, text, &value);
	if (!wrong && !key_in_range(key, value))
		wrong = OUT_OF_RANGE;
	if (wrong)
		return wrong;
	if (rule->kind == DELAYS)
		set_delays(cfg, value);
	else
		set_field(cfg, rule, value);
	return NULL;
}

int key_parse(struct memzbc_config *cfg, const struct memzbc_key *key, struct span text,
	      char *reason)
{
	const char *wrong;

	if (key->rule->kind == RULES)
		return rules_parse(&cfg->faults, text, reason);
	wrong = parse_value(cfg, key, text);
	if (!wrong)
		return 0;
	return refuse(reason, "%s=%.*s: %s; accepted: %s%s%s", key->name, SHOWN(text), wrong,
		      key->range, *key->unit ? " " : "", key->unit);
}

void key_set_preset(struct memzbc_config *cfg, const struct memzbc_key *key)
{
	/* "off" is what a config has before rules are parsed; other presets may be no value. */
	if (key->rule->kind != RULES)
		parse_value(cfg, key, span_of(key->preset));
}

bool key_same(const struct memzbc_key *key, const struct memzbc_config *a,
	      const struct memzbc_config *b)
{
	return field_of(a, key->rule) == field_of(b, key->rule);
}

static void print_word(FILE *out, const struct memzbc_key *key, uint64_t index)
{
	struct span word = word_at(key->range, index);

	fwrite(word.at, 1, word.len, out);
}

static void print_text(FILE *out, const struct memzbc_key *key, const struct memzbc_config *cfg)
{
	const struct memzbc_key_rule *rule = key->rule;

	switch (rule->kind) {
	case WORD:
		print_word(out, key, field_of(cfg, rule));
		break;
	case COUNT:
		fprintf(out, "%" PRIu64, field_of(cfg, rule));
		break;
	case SIZE:
		print_size(out, field_of(cfg, rule));
		break;
	case TIME:
		print_time(out, field_of(cfg, rule));
		break;
	case DELAYS:
		print_time(out, cfg->faults.delay[MEMZBC_CLASS_READ]);
		break;
	case RULES:
		rules_print(out, &cfg->faults);
		break;
	}
}

void key_print(FILE *out, const struct memzbc_key *key, const struct memzbc_config *cfg, bool json)
{
	enum kind kind = key->rule->kind;
	/* Words that are numbers are no strings. */
	bool number = kind == COUNT || kind == SIZE || (kind == WORD && *key->range == '0');

	if (json && kind == SIZE) {
		fprintf(out, "%" PRIu64, field_of(cfg, key->rule));
		return;
	}
	if (json && !number)
		fputc('"', out);
	print_text(out, key, cfg);
	if (json && !number)
		fputc('"', out);
}

const struct memzbc_key *memzbc_config_keys(size_t *count)
{
	*count = KEYS;
	return config_keys;
}

char *memzbc_config_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("KEY=VALUE[/KEY=VALUE...]; sizes in bytes, or with K, M, G or T; times with ns, us, "
	      "ms or s. Keys:\n", out);
	for (int k = 0; k < KEYS; k++)
		fprintf(out, "%s: %s (%s%s%s; default: %s; %s)\n", config_keys[k].name,
			config_keys[k].help, config_keys[k].range,
			*config_keys[k].unit ? " " : "", config_keys[k].unit,
			config_keys[k].preset, config_keys[k].when);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

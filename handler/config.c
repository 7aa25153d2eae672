// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The config string: the table of keys, and the parser that goes by it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memzbc/config.h>

#define SUBTYPE "memzbc"
#define SIZE_MAX_TEXT "4194304T"	/* 2^62 bytes: sums of two lengths fit 64 bits */
#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)
#define VALUE_SHOWN 60	/* characters of a value that a reason shows */

/* How a value is written. */
enum kind {
	WORD,	/* one of the words of the range; stored as its index */
	COUNT,	/* decimal digits */
	SIZE,	/* decimal digits, and K, M, G or T */
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

enum {
	KEY_MODEL, KEY_ZONE_SIZE, KEY_ZONE_CAP, KEY_CONV, KEY_CONV_END, KEY_LBA, KEY_PBLK,
	KEY_MAX_OPEN, KEY_URSWRZ, KEY_MEM, KEYS
};

static const struct memzbc_key keys[KEYS] = {
	[KEY_MODEL] = {
		.name = "model", .unit = "", .range = "hm", .preset = "hm",
		.when = "at creation",
		.help = "Zoned model: hm is host managed",
		.rule = RULE(WORD, model, "ha, zdr"),
	},
	[KEY_ZONE_SIZE] = {
		.name = "zone_size", .unit = "bytes", .range = "512 to " SIZE_MAX_TEXT,
		.preset = "256M", .when = "at creation",
		.help = "Distance of two zone starts: any multiple of pblk, power of two or not",
		.rule = RULE(SIZE, zone_size, NULL),
	},
	[KEY_ZONE_CAP] = {
		.name = "zone_cap", .unit = "bytes", .range = "512 to " SIZE_MAX_TEXT,
		.preset = "zone_size", .when = "at creation",
		.help = "Length of a sequential zone: a multiple of pblk, at most zone_size; "
			"if less, gap zones fill the rest",
		.rule = RULE(SIZE, zone_cap, NULL),
	},
	[KEY_CONV] = {
		.name = "conv", .unit = "zones", .range = "0 to " TEXT(MEMZBC_ZONES_MAX),
		.preset = "1% of the zones, at least 1 of 4 or more", .when = "at creation",
		.help = "Conventional zones at the start",
		.rule = RULE(COUNT, conv, NULL),
	},
	[KEY_CONV_END] = {
		.name = "conv_end", .unit = "zones", .range = "0 to " TEXT(MEMZBC_ZONES_MAX),
		.preset = "0", .when = "at creation",
		.help = "Conventional zones at the end",
		.rule = RULE(COUNT, conv_end, NULL),
	},
	[KEY_LBA] = {
		.name = "lba", .unit = "bytes", .range = "512, 4096",
		.preset = "LIO's hw_block_size, else 512", .when = "at creation",
		.help = "Logical block; hw_block_size must say the same",
		.rule = RULE(SIZE, lba_size, NULL),
	},
	[KEY_PBLK] = {
		.name = "pblk", .unit = "bytes", .range = "512, 4096", .preset = "4096",
		.when = "at creation",
		.help = "Physical block, at least lba; sequential writes must end on one",
		.rule = RULE(SIZE, pblk_size, NULL),
	},
	[KEY_MAX_OPEN] = {
		.name = "max_open", .unit = "zones", .range = "0 to 2147483647", .preset = "128",
		.when = "at creation",
		.help = "Sequential zones that can be open at once; 0 is no limit",
		.rule = RULE(COUNT, max_open, NULL),
	},
	[KEY_URSWRZ] = {
		.name = "urswrz", .unit = "", .range = "0, 1", .preset = "1",
		.when = "at creation",
		.help = "1 allows reads of unwritten blocks of sequential zones, and Linux needs it; "
			"0 refuses them",
		.rule = RULE(WORD, urswrz, NULL),
	},
	[KEY_MEM] = {
		.name = "mem", .unit = "bytes", .range = "1M to " SIZE_MAX_TEXT,
		.preset = "half of RAM", .when = "at creation",
		.help = "Memory for data; a write beyond it ends with 7/27/07 and changes nothing",
		.rule = RULE(SIZE, mem, NULL),
	},
};

/* Part of a string. */
struct span {
	const char *at;
	size_t len;
};

static struct span span_of(const char *string)
{
	return (struct span){ string, strlen(string) };
}

static bool span_is(struct span s, const char *string)
{
	return s.len == strlen(string) && !memcmp(s.at, string, s.len);
}

/* Cuts the next item off *@rest, which ends after the last one with at == NULL. */
static struct span next_item(struct span *rest, const char *separator)
{
	const char *end = memmem(rest->at, rest->len, separator, strlen(separator));
	struct span item = *rest;

	if (!end) {
		*rest = (struct span){ NULL, 0 };
		return item;
	}
	item.len = (size_t)(end - item.at);
	rest->at = end + strlen(separator);
	rest->len -= item.len + strlen(separator);
	return item;
}

/* Index of @word in the list @words ("a, b, c"), or -1. */
static int word_index(const char *words, struct span word)
{
	struct span rest = span_of(words);
	int index = 0;

	for (; rest.at; index++) {
		struct span item = next_item(&rest, ", ");

		if (item.len == word.len && !memcmp(item.at, word.at, word.len))
			return index;
	}
	return -1;
}

__attribute__((format(printf, 2, 3)))
static int refuse(char *reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, MEMZBC_REASON_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

/* Bits that a suffix shifts a number by, or -1. */
static int suffix_shift(char c)
{
	static const char suffixes[] = "KkMmGgTt";
	const char *at = c ? strchr(suffixes, c) : NULL;

	return at ? (int)(at - suffixes) / 2 * 10 + 10 : -1;
}

/* Returns 0, -EINVAL if it is no number of this kind, or -ERANGE if it does not fit 64 bits. */
static int parse_number(enum kind kind, struct span text, uint64_t *value)
{
	int shift = kind == SIZE && text.len > 1 ? suffix_shift(text.at[text.len - 1]) : -1;
	size_t digits = text.len - (shift > 0);
	bool overflow = false;

	*value = 0;
	for (size_t i = 0; i < digits; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return -EINVAL;
		overflow |= __builtin_mul_overflow(*value, 10, value);
		overflow |= __builtin_add_overflow(*value, (uint64_t)(text.at[i] - '0'), value);
	}
	if (shift > 0)
		overflow |= __builtin_mul_overflow(*value, 1ull << shift, value);
	return overflow ? -ERANGE : 0;
}

/* Whether a range of keys[] has @value; its texts are well-formed. */
static bool in_range(const struct memzbc_key *key, uint64_t value)
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

/* Returns NULL, or what is wrong with the value. */
static const char *parse_value(struct memzbc_config *cfg, const struct memzbc_key *key,
			       struct span text)
{
	const struct memzbc_key_rule *rule = key->rule;
	uint64_t value;
	int err;

	if (!text.len)
		return "no value";
	if (rule->kind == WORD) {
		err = word_index(key->range, text);
		if (err < 0 && rule->planned && word_index(rule->planned, text) >= 0)
			return "not available yet";
		if (err < 0)
			return "unknown value";
		set_field(cfg, rule, (uint64_t)err);
		return NULL;
	}
	err = parse_number(rule->kind, text, &value);
	if (err == -EINVAL)
		return rule->kind == SIZE ? "no number of bytes, plain or with K, M, G or T"
					  : "no whole number";
	if (err || !in_range(key, value))
		return "out of range";
	set_field(cfg, rule, value);
	return NULL;
}

static int find_key(struct span name)
{
	for (int k = 0; k < KEYS; k++)
		if (span_is(name, keys[k].name))
			return k;
	return -1;
}

static int refuse_unknown(struct span name, char *reason)
{
	char known[MEMZBC_REASON_SIZE] = "";
	size_t len = 0;

	for (int k = 0; k < KEYS; k++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", k ? ", " : "",
					keys[k].name);
	return refuse(reason, "unknown key '%.*s'; accepted: %s",
		      (int)(name.len < VALUE_SHOWN ? name.len : VALUE_SHOWN), name.at, known);
}

/* One KEY=VALUE. */
static int parse_setting(struct memzbc_config *cfg, struct span setting, char *reason)
{
	struct span value = setting;
	struct span name = next_item(&value, "=");
	int k = find_key(name);
	const char *wrong;

	if (k < 0)
		return refuse_unknown(name, reason);
	if (cfg->given & 1ull << k)
		return refuse(reason, "%s: given twice", keys[k].name);
	cfg->given |= 1ull << k;
	wrong = parse_value(cfg, &keys[k], value);
	if (wrong)
		return refuse(reason, "%s=%.*s: %s; accepted: %s%s%s", keys[k].name,
			      (int)(value.len < VALUE_SHOWN ? value.len : VALUE_SHOWN),
			      value.at ? value.at : "", wrong, keys[k].range,
			      *keys[k].unit ? " " : "", keys[k].unit);
	return 0;
}

/* The characters that tcmu-runner, rtslib and the kernel leave alone. */
static int check_characters(const char *string, char *reason)
{
	size_t len = strlen(SUBTYPE "/") + strlen(string);
	const char *c;

	if (len > MEMZBC_CONFIG_LEN_MAX)
		return refuse(reason, "config string of %zu characters, '" SUBTYPE "/' included; "
			      "accepted: at most " TEXT(MEMZBC_CONFIG_LEN_MAX), len);
	if (strstr(string, ";tcmur_cmd_time_out="))
		return refuse(reason, "';tcmur_cmd_time_out=' is not accepted: tcmu-runner would "
			      "end commands that the LUN still works on");
	for (c = string; *c; c++) {
		if (*c <= ' ' || *c > '~')
			return refuse(reason, "character %02Xh is not accepted in a config string",
				      (unsigned char)*c);
		if (strchr(",:;\"'", *c))
			return refuse(reason, "character %c is not accepted in a config string",
				      *c);
	}
	return 0;
}

static uint64_t half_of_ram(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t half = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

	return in_range(&keys[KEY_MEM], half) ? half : 1 << 20;
}

static void set_defaults(struct memzbc_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	/* A preset that is no value says how it is found. */
	for (int k = 0; k < KEYS; k++)
		parse_value(cfg, &keys[k], span_of(keys[k].preset));
	cfg->lba_size = 512;
	cfg->mem = half_of_ram();
}

static int check_block_sizes(const struct memzbc_config *cfg, char *reason)
{
	if (cfg->pblk_size < cfg->lba_size)
		return refuse(reason, "pblk=%u is less than a logical block of %u bytes",
			      cfg->pblk_size, cfg->lba_size);
	return 0;
}

static int check_lengths(const struct memzbc_config *cfg, char *reason)
{
	if (cfg->zone_size % cfg->pblk_size)
		return refuse(reason, "zone_size=%" PRIu64 ": no multiple of the physical block, "
			      "pblk=%u", cfg->zone_size, cfg->pblk_size);
	if (cfg->zone_cap % cfg->pblk_size)
		return refuse(reason, "zone_cap=%" PRIu64 ": no multiple of the physical block, "
			      "pblk=%u", cfg->zone_cap, cfg->pblk_size);
	if (cfg->zone_cap > cfg->zone_size)
		return refuse(reason, "zone_cap=%" PRIu64 ": more than zone_size=%" PRIu64,
			      cfg->zone_cap, cfg->zone_size);
	return 0;
}

int memzbc_config_parse(struct memzbc_config *cfg, const char *string, char *reason)
{
	struct span rest;
	int err;

	if (!strcmp(string, SUBTYPE))
		string = "";
	if (!strncmp(string, SUBTYPE "/", strlen(SUBTYPE "/")))
		string += strlen(SUBTYPE "/");
	err = check_characters(string, reason);
	set_defaults(cfg);
	rest = *string ? span_of(string) : (struct span){ NULL, 0 };
	while (!err && rest.at)
		err = parse_setting(cfg, next_item(&rest, "/"), reason);
	if (!(cfg->given & 1ull << KEY_ZONE_CAP))
		cfg->zone_cap = cfg->zone_size;
	if (!err)
		err = check_block_sizes(cfg, reason);
	return err ? err : check_lengths(cfg, reason);
}

static int settle_lba(struct memzbc_config *cfg, uint32_t block_size, char *reason)
{
	if (!block_size)
		return 0;
	if (!in_range(&keys[KEY_LBA], block_size))
		return refuse(reason, "logical blocks of %u bytes; accepted for hw_block_size: %s",
			      block_size, keys[KEY_LBA].range);
	if (cfg->given & 1ull << KEY_LBA && cfg->lba_size != block_size)
		return refuse(reason, "lba=%u, but LIO has logical blocks of %u bytes: create the "
			      "LUN with hw_block_size=%u, or without lba",
			      cfg->lba_size, block_size, cfg->lba_size);
	cfg->lba_size = block_size;
	return check_block_sizes(cfg, reason);
}

static uint64_t zones_of(uint64_t size, uint64_t zone_size)
{
	return size / zone_size + (size % zone_size != 0);
}

static int check_size(const struct memzbc_config *cfg, uint64_t size, char *reason)
{
	uint64_t zones = zones_of(size, cfg->zone_size);

	if (!size || !in_range(&keys[KEY_ZONE_SIZE], size))
		return refuse(reason, "size of %" PRIu64 " bytes; accepted: %s bytes", size,
			      keys[KEY_ZONE_SIZE].range);
	if (size % cfg->pblk_size)
		return refuse(reason, "size of %" PRIu64 " bytes: no multiple of the physical "
			      "block, pblk=%u", size, cfg->pblk_size);
	if (zones > MEMZBC_ZONES_MAX)
		return refuse(reason, "%" PRIu64 " zones of zone_size=%" PRIu64 "; accepted: at "
			      "most " TEXT(MEMZBC_ZONES_MAX), zones, cfg->zone_size);
	return 0;
}

static int settle_conventional(struct memzbc_config *cfg, uint64_t zones, char *reason)
{
	uint64_t preset = zones / 100;

	if (!preset && zones >= 4)
		preset = 1;
	/* What conv_end leaves, with one zone to be sequential. */
	if (!(cfg->given & 1ull << KEY_CONV) && cfg->conv_end < zones)
		cfg->conv = preset < zones - 1 - cfg->conv_end ? preset : zones - 1 - cfg->conv_end;
	if (cfg->conv + cfg->conv_end >= zones)
		return refuse(reason, "conv=%" PRIu64 " and conv_end=%" PRIu64 ": no sequential "
			      "zone is left of %" PRIu64 "; accepted: less in all",
			      cfg->conv, cfg->conv_end, zones);
	return 0;
}

int memzbc_config_complete(struct memzbc_config *cfg, uint64_t size, uint32_t block_size,
			   char *reason)
{
	int err = settle_lba(cfg, block_size, reason);

	if (!err)
		err = check_size(cfg, size, reason);
	if (!err)
		err = settle_conventional(cfg, zones_of(size, cfg->zone_size), reason);
	if (err)
		return err;
	cfg->zone_size /= cfg->lba_size;
	cfg->zone_cap /= cfg->lba_size;
	cfg->capacity = size / cfg->lba_size;
	return 0;
}

uint32_t memzbc_config_zones(const struct memzbc_config *cfg)
{
	return (uint32_t)zones_of(cfg->capacity, cfg->zone_size);
}

const struct memzbc_key *memzbc_config_keys(size_t *count)
{
	*count = KEYS;
	return keys;
}

char *memzbc_config_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("KEY=VALUE[/KEY=VALUE...]; sizes in bytes, or with K, M, G or T. Keys:\n", out);
	for (int k = 0; k < KEYS; k++)
		fprintf(out, "%s: %s (%s%s%s; default: %s; %s)\n", keys[k].name, keys[k].help,
			keys[k].range, *keys[k].unit ? " " : "", keys[k].unit, keys[k].preset,
			keys[k].when);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

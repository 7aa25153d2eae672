// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The config string: parsed, completed, and changed while the LUN exists.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memzbc/config.h>

#include "keytable.h"
#include "text.h"

#define SUBTYPE "memzbc"

static int refuse_unknown(struct span name, char *reason)
{
	char known[MEMZBC_REASON_SIZE] = "";

	for (int k = 0; k < KEYS; k++)
		text_append(known, sizeof(known), "%s%s", k ? ", " : "", config_keys[k].name);
	return refuse(reason, "unknown key '%.*s'; accepted: %s", SHOWN(name), known);
}

/* What becomes of the value of a key. */
typedef int take_fn(struct memzbc_config *cfg, const struct memzbc_key *key, struct span value,
		    char *reason);

/* One KEY=VALUE. */
static int parse_setting(struct memzbc_config *cfg, struct span setting, take_fn *take,
			 char *reason)
{
	struct span value = setting;
	struct span name = next_item(&value, "=");
	const struct memzbc_key *key = key_find(name);
	int k;

	if (!key)
		return refuse_unknown(name, reason);
	k = (int)(key - config_keys);
	if (key_given(cfg, k))
		return refuse(reason, "%s: given twice", key->name);
	cfg->given |= 1ull << k;
	return take(cfg, key, value, reason);
}

/* The characters that tcmu-runner, rtslib and the kernel leave alone. */
static int check_characters(const char *string, char *reason)
{
	const char *c;

	if (strstr(string, ";tcmur_cmd_time_out="))
		return refuse(reason, "';tcmur_cmd_time_out=' is not accepted: tcmu-runner would "
			      "end commands that the LUN still works on; set the attribute "
			      "cmd_time_out");
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

static int check_length(const char *string, char *reason)
{
	size_t len = strlen(SUBTYPE "/") + strlen(string);

	if (len > MEMZBC_CONFIG_LEN_MAX)
		return refuse(reason, "config string of %zu characters, '" SUBTYPE "/' included; "
			      "accepted: at most " TEXT(MEMZBC_CONFIG_LEN_MAX), len);
	return 0;
}

static int parse_settings(struct memzbc_config *cfg, const char *string, take_fn *take,
			  char *reason)
{
	struct span rest = *string ? span_of(string) : (struct span){ NULL, 0 };
	int err = check_characters(string, reason);

	while (!err && rest.at)
		err = parse_setting(cfg, next_item(&rest, "/"), take, reason);
	return err;
}

static uint64_t half_of_ram(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t half = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

	return key_in_range(&config_keys[KEY_MEM], half) ? half : 1 << 20;
}

static void set_defaults(struct memzbc_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	/* A preset that is no value says how it is found. */
	for (int k = 0; k < KEYS; k++)
		key_set_preset(cfg, &config_keys[k]);
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

/* What follows the handler's name, which tcmu-runner leaves in some places. */
static const char *settings_of(const char *string)
{
	if (!strcmp(string, SUBTYPE))
		return "";
	return strncmp(string, SUBTYPE "/", strlen(SUBTYPE "/")) ? string
								 : string + strlen(SUBTYPE "/");
}

int memzbc_config_parse(struct memzbc_config *cfg, const char *string, char *reason)
{
	int err;

	string = settings_of(string);
	set_defaults(cfg);
	err = check_length(string, reason);
	if (!err)
		err = parse_settings(cfg, string, key_parse, reason);
	if (!key_given(cfg, KEY_ZONE_CAP))
		cfg->zone_cap = cfg->zone_size;
	if (!err)
		err = check_block_sizes(cfg, reason);
	return err ? err : check_lengths(cfg, reason);
}

static int settle_lba(struct memzbc_config *cfg, uint32_t block_size, char *reason)
{
	if (!block_size)
		return 0;
	if (!key_in_range(&config_keys[KEY_LBA], block_size))
		return refuse(reason, "logical blocks of %u bytes; accepted for hw_block_size: %s",
			      block_size, config_keys[KEY_LBA].range);
	if (key_given(cfg, KEY_LBA) && cfg->lba_size != block_size)
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

	if (!size || !key_in_range(&config_keys[KEY_ZONE_SIZE], size))
		return refuse(reason, "size of %" PRIu64 " bytes; accepted: %s bytes", size,
			      config_keys[KEY_ZONE_SIZE].range);
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
	if (!key_given(cfg, KEY_CONV) && cfg->conv_end < zones)
		cfg->conv = preset < zones - 1 - cfg->conv_end ? preset : zones - 1 - cfg->conv_end;
	if (cfg->conv + cfg->conv_end >= zones)
		return refuse(reason, "conv=%" PRIu64 " and conv_end=%" PRIu64 ": no sequential "
			      "zone is left of %" PRIu64 "; accepted: less in all",
			      cfg->conv, cfg->conv_end, zones);
	return 0;
}

/* An error that no command can meet is a mistake. */
static int check_rules(const struct memzbc_config *cfg, char *reason)
{
	for (uint32_t i = 0; i < cfg->faults.error_rules; i++) {
		const struct memzbc_error_rule *rule = &cfg->faults.error[i];

		if (rule->has_range && rule->last >= cfg->capacity)
			return refuse(reason, "error: LBA %" PRIu64 "; accepted: 0 to %" PRIu64,
				      rule->last, cfg->capacity - 1);
	}
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
	return check_rules(cfg, reason);
}

uint32_t memzbc_config_zones(const struct memzbc_config *cfg)
{
	return (uint32_t)zones_of(cfg->capacity, cfg->zone_size);
}

/* A completed config as it was before: lengths in bytes. */
static struct memzbc_config uncompleted(const struct memzbc_config *cfg)
{
	struct memzbc_config bytes = *cfg;

	bytes.zone_size *= cfg->lba_size;
	bytes.zone_cap *= cfg->lba_size;
	return bytes;
}

/* A key that is set at creation, in two configs before completion: both must say the same. */
static int check_same(const struct memzbc_config *now, const struct memzbc_config *next, int k,
		      char *reason)
{
	const struct memzbc_key *key = &config_keys[k];
	FILE *out;

	if (key_same(key, now, next))
		return 0;
	out = fmemopen(reason, MEMZBC_REASON_SIZE, "w");
	if (!out)
		return refuse(reason, "%s: set at creation only", key->name);
	fprintf(out, "%s=", key->name);
	key_print(out, key, next, false);
	fprintf(out, "%s: set at creation only: stays ",
		key_given(next, k) ? "" : ", the default");
	key_print(out, key, now, false);
	fclose(out);
	return -EINVAL;
}

static int take_change(struct memzbc_config *cfg, const struct memzbc_key *key, struct span value,
		       char *reason)
{
	struct memzbc_config now, named;
	int err;

	if (key_may_change(key))
		return key_parse(cfg, key, value, reason);
	now = named = uncompleted(cfg);
	err = key_parse(&named, key, value, reason);
	return err ? err : check_same(&now, &named, (int)(key - config_keys), reason);
}

int memzbc_config_change(struct memzbc_config *cfg, const char *string, char *reason)
{
	struct memzbc_config next = *cfg;
	int err;

	next.given = 0;
	err = parse_settings(&next, settings_of(string), take_change, reason);
	if (!err)
		err = check_rules(&next, reason);
	if (err)
		return err;
	cfg->faults = next.faults;
	return 0;
}

/* Of the keys that are set at creation, those that the string names, or those that it does not. */
static int check_geometry(const struct memzbc_config *now, const struct memzbc_config *next,
			  bool given, char *reason)
{
	int err = 0;

	for (int k = 0; k < KEYS && !err; k++)
		if (!key_may_change(&config_keys[k]) && key_given(next, k) == given)
			err = check_same(now, next, k, reason);
	return err;
}

int memzbc_config_replace(struct memzbc_config *cfg, const char *string, char *reason)
{
	struct memzbc_config now = uncompleted(cfg), next, bytes;
	int err = memzbc_config_parse(&next, string, reason);

	if (!err)
		err = check_geometry(&now, &next, true, reason);
	if (!err)
		err = memzbc_config_complete(&next, cfg->capacity * cfg->lba_size, cfg->lba_size,
					     reason);
	if (err)
		return err;
	bytes = uncompleted(&next);
	err = check_geometry(&now, &bytes, false, reason);
	if (!err)
		cfg->faults = next.faults;
	return err;
}

/* A single value stands for all classes only while they have the same. */
static bool is_shown(const struct memzbc_config *cfg, int k)
{
	if (!key_may_change(&config_keys[k]))
		return false;
	for (int class = 0; k == KEY_DELAY && class < MEMZBC_CLASS_OTHER; class++)
		if (cfg->faults.delay[class] != cfg->faults.delay[0])
			return false;
	return true;
}

void memzbc_config_print(FILE *out, const struct memzbc_config *cfg, bool json)
{
	const char *before = json ? "{" : "";

	for (int k = 0; k < KEYS; k++) {
		if (!is_shown(cfg, k))
			continue;
		fprintf(out, json ? "%s\"%s\": " : "%s%s=", before, config_keys[k].name);
		key_print(out, &config_keys[k], cfg, json);
		before = json ? ", " : "/";
	}
	if (json)
		fputc('}', out);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The config string of a LUN: KEY=VALUE[/KEY=VALUE...].
 *
 * One table of keys (memzbc_config_keys()) is the source of the parser's ranges,
 * of the help texts and of the README's table.
 */
#ifndef MEMZBC_CONFIG_H
#define MEMZBC_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <memzbc/faults.h>

/* Longest reason the parser writes, with its terminating NUL. */
#define MEMZBC_REASON_SIZE 512

/* Longest config string, "memzbc/" included: what the kernel keeps of it. */
#define MEMZBC_CONFIG_LEN_MAX 255

/* max_open: no limit. */
#define MEMZBC_NO_LIMIT 0u

/* Most zones of a unit, and of its conventional ones; gap zones do not count. */
#define MEMZBC_ZONES_MAX 4194304

/* Largest logical block, bytes. */
#define MEMZBC_LBA_SIZE_MAX 4096

enum memzbc_model {
	MEMZBC_MODEL_HM,	/* host managed */
};

/*
 * A parsed config. memzbc_config_parse() fills what the string says,
 * memzbc_config_complete() the rest; only a completed one opens a LUN.
 * Zone lengths are in bytes until completed and in logical blocks after.
 */
struct memzbc_config {
	enum memzbc_model model;
	uint32_t lba_size;	/* logical block, bytes: 512 or 4096 */
	uint32_t pblk_size;	/* physical block, bytes: lba_size..4096 */
	uint64_t zone_size;	/* distance of two zone starts, logical blocks */
	uint64_t zone_cap;	/* length of a sequential zone, logical blocks, <= zone_size */
	uint64_t conv;		/* conventional zones at the start */
	uint64_t conv_end;	/* conventional zones at the end */
	uint32_t max_open;	/* open SWR zones, MEMZBC_NO_LIMIT or more */
	bool urswrz;		/* reads of unwritten blocks are allowed */
	uint64_t mem;		/* budget of memory for data, bytes */
	uint64_t capacity;	/* logical blocks of the whole unit */
	struct memzbc_faults faults;	/* what may change at any time */
	uint64_t given;		/* bit k: the string names key k of memzbc_config_keys() */
};

struct memzbc_key_rule;

/* A key of the config string: what documentation shows is what the parser goes by. */
struct memzbc_key {
	const char *name;
	const char *unit;	/* "bytes", "zones", ... or "" */
	const char *range;	/* accepted values: "LOWEST to HIGHEST", or "A, B, C" */
	const char *preset;	/* the default: a value, or how it is found */
	const char *when;	/* when it may change: "at creation", "at any time" */
	const char *help;	/* one sentence */
	const struct memzbc_key_rule *rule;	/* the parser's own */
};

/**
 * memzbc_config_keys() - the table of all keys
 * @count: out: number of entries
 *
 * Return: the table, static storage.
 */
const struct memzbc_key *memzbc_config_keys(size_t *count);

/**
 * memzbc_config_parse() - parse a config string
 * @cfg: out: filled with defaults and what the string says; undefined on error
 * @string: the config string, with or without its leading "memzbc/"
 * @reason: out: on error, one line that names the key, the value and what is
 *	accepted; MEMZBC_REASON_SIZE bytes
 *
 * Checks all that can be said without the size of the LUN: unknown, doubled and
 * malformed keys, ranges, and keys that contradict each other.
 *
 * Return: 0, or -EINVAL with @reason set.
 */
int memzbc_config_parse(struct memzbc_config *cfg, const char *string, char *reason);

/**
 * memzbc_config_complete() - settle what depends on the LUN
 * @cfg: in/out: a config from memzbc_config_parse()
 * @size: size of the LUN in bytes
 * @block_size: the logical block size that LIO has for the LUN, bytes; it is
 *	the default of key lba and must agree with it; 0 if not known
 * @reason: as for memzbc_config_parse()
 *
 * Return: 0, or -EINVAL with @reason set.
 */
int memzbc_config_complete(struct memzbc_config *cfg, uint64_t size, uint32_t block_size,
			   char *reason);

/**
 * memzbc_config_change() - change settings of a LUN that exists
 * @cfg: in/out: its completed config
 * @string: settings, as in a config string; of any length
 * @reason: as for memzbc_config_parse()
 *
 * Keys that may change at any time take the values named, all others keep theirs. delay sets all
 * classes of commands that the string does not name. A key that is set at creation is refused
 * unless it names the value in force. All or nothing.
 *
 * Return: 0, or -EINVAL with @reason set and @cfg unchanged.
 */
int memzbc_config_change(struct memzbc_config *cfg, const char *string, char *reason);

/**
 * memzbc_config_replace() - replace the whole config string of a LUN that exists
 * @cfg: in/out: its completed config
 * @string: as for memzbc_config_parse()
 * @reason: as for memzbc_config_parse()
 *
 * The string must give what is set at creation as it is in force. What may change at any time
 * becomes what the string says, and its default where the string does not name it.
 *
 * Return: 0, or -EINVAL with @reason set and @cfg unchanged.
 */
int memzbc_config_replace(struct memzbc_config *cfg, const char *string, char *reason);

/**
 * memzbc_config_print() - print the values of all keys that may change at any time
 * @out: where to; no newline at the end
 * @cfg: the config
 * @json: as a JSON object, else as settings that memzbc_config_change() takes. In JSON counts and
 *	sizes in bytes are numbers, times and error are strings as the parser takes them. Key delay
 *	is left out where the classes of commands differ.
 */
void memzbc_config_print(FILE *out, const struct memzbc_config *cfg, bool json);

/**
 * memzbc_config_zones() - number of zones, gap zones not counted
 * @cfg: a completed config
 *
 * Return: 1 to MEMZBC_ZONES_MAX.
 */
uint32_t memzbc_config_zones(const struct memzbc_config *cfg);

/**
 * memzbc_config_help() - the help text of all keys, for cfg_desc
 *
 * Return: text of several lines, to be freed by the caller; NULL without memory.
 */
char *memzbc_config_help(void);

#endif

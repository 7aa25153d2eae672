/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The table of keys, and single values of a config as it describes them.
 */
#ifndef MEMZBC_KEYTABLE_H
#define MEMZBC_KEYTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <memzbc/config.h>

#include "text.h"

enum key {
	KEY_MODEL, KEY_ZONE_SIZE, KEY_ZONE_CAP, KEY_CONV, KEY_CONV_END, KEY_LBA, KEY_PBLK,
	KEY_MAX_OPEN, KEY_URSWRZ, KEY_MEM,
	KEY_SEED, KEY_REORDER, KEY_REORDER_DEPTH, KEY_REORDER_TIME, KEY_REORDER_CONV,
	KEY_HOLD, KEY_HOLD_ATTEMPTS, KEY_HOLD_TIME,
	KEY_DELAY, KEY_DELAY_READ, KEY_DELAY_WRITE, KEY_DELAY_ZONE, KEY_DELAY_SYNC,
	KEY_RATE, KEY_SEEK, KEY_CACHE, KEY_ERROR, KEY_TRACE, KEY_STATS, KEYS
};

extern const struct memzbc_key config_keys[KEYS];

static inline bool key_given(const struct memzbc_config *cfg, int k)
{
	return cfg->given & 1ull << k;
}

/* The key with this name, or NULL. */
const struct memzbc_key *key_find(struct span name);
/* Whether a key may change while the LUN exists. */
bool key_may_change(const struct memzbc_key *key);
bool key_in_range(const struct memzbc_key *key, uint64_t value);
/* Parses the value of a key into @cfg. Returns 0, or -EINVAL with @reason set. */
int key_parse(struct memzbc_config *cfg, const struct memzbc_key *key, struct span text,
	      char *reason);
/* Parses the default of a key, where that is a value. */
void key_set_preset(struct memzbc_config *cfg, const struct memzbc_key *key);
/* Whether two configs have the same value; not for KEY_DELAY and KEY_ERROR. */
bool key_same(const struct memzbc_key *key, const struct memzbc_config *a,
	      const struct memzbc_config *b);
/*
 * Prints a value as the parser takes it, or as JSON: words, times and rules are strings and all
 * else are numbers, sizes in bytes.
 */
void key_print(FILE *out, const struct memzbc_key *key, const struct memzbc_config *cfg, bool json);

#endif

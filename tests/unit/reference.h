/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the rules say, written down once more as simply as can be: a reference for random commands.
 * Each ref_*() judges a command, and applies it if it is allowed.
 */
#ifndef MEMZBC_TESTS_REFERENCE_H
#define MEMZBC_TESTS_REFERENCE_H

#include "harness.h"

/* A zone of any type, by division. */
struct place {
	uint32_t slot;
	uint8_t type;
	uint64_t start, end;
};

struct ref_zone {
	uint8_t cond;
	uint64_t wp;		/* LBA */
	uint64_t written_at;	/* stamp of the last write */
};

/* What a block holds: pattern() of @lba and @generation. */
struct ref_block {
	uint64_t lba;
	uint32_t generation;
};

struct ref {
	const struct geo *geo;
	bool urswrz;
	uint32_t max_open;	/* UINT32_MAX: no limit */
	uint64_t now;
	struct ref_zone *zones;	/* by slot */
	struct ref_block *blocks;
};

struct verdict {
	uint8_t key;		/* 0: GOOD */
	uint16_t asc;
	bool unaligned;		/* INFORMATION is @info */
	uint64_t info;
};

struct ref *ref_new(const struct geo *geo, bool urswrz, uint32_t max_open);
void ref_free(struct ref *ref);
struct place ref_place(const struct ref *ref, uint64_t lba);
/* The descriptor that REPORT ZONES must show. */
struct zone_desc ref_desc(const struct ref *ref, const struct place *at);

/* READ and VERIFY */
struct verdict ref_read(const struct ref *ref, uint64_t lba, uint64_t blocks);
/* Data that a READ returns. */
void ref_data(const struct ref *ref, const struct dev *dev, uint8_t *buf, uint64_t lba,
	      uint64_t blocks);
/* @same: WRITE SAME, every block is the pattern of LBA 0. */
struct verdict ref_write(struct ref *ref, uint64_t lba, uint64_t blocks, uint32_t generation,
			 bool same);
struct verdict ref_zone_action(struct ref *ref, uint8_t action, uint64_t id, uint16_t count);
struct verdict ref_zone_action_all(struct ref *ref, uint8_t action);

#endif

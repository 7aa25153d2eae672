// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The memory behind a LUN: written blocks only, given back by RESET WRITE POINTER, bounded by the
 * budget, and there again after the process has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define SLACK (64 * KIB)	/* what a tmpfs may round up */

/* Memory that the LUN has taken since it was opened. */
static uint64_t taken(const struct dev *dev, uint64_t at_start)
{
	return dev_memory(dev) - at_start;
}

static void sparse(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv), len = geo_len(g, g->conv), before;

	before = dev_memory(dev);
	expect_data(dev, 0, g->zone_size, 0);
	expect_data(dev, start, len, 0);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, start));
	expect_data(dev, start, len, 0);
	expect_eq(dev, taken(dev, before), 0);
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start));
	fill_zone(dev, start, len, 1);
	expect_true(dev, taken(dev, before) >= len * dev->lba_size);
	expect_true(dev, taken(dev, before) <= len * dev->lba_size + 2 * 4096);
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start));
	expect_true(dev, taken(dev, before) < 2 * 4096);
}

/* RESET gives back all of it, for every zone at once too. */
static void reset_all_gives_back(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t before = dev_memory(dev), data = 0;
	uint32_t last = geo_slots(g) - g->conv_end;

	for (uint32_t slot = g->conv; slot < last; slot++) {
		fill_zone(dev, geo_start(g, slot), geo_len(g, slot), 2);
		data += geo_len(g, slot) * dev->lba_size;
	}
	expect_true(dev, taken(dev, before) >= data);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	expect_true(dev, taken(dev, before) < SLACK);
	for (uint32_t slot = g->conv; slot < last; slot++)
		expect_data(dev, geo_start(g, slot), geo_len(g, slot), 0);
}

/* A failed write takes nothing. */
static void refused_writes_take_none(struct dev *dev)
{
	uint64_t start = geo_start(dev->geo, dev->geo->conv), before = dev_memory(dev);
	uint32_t pblk = geo_pblk(dev->geo);

	for (int i = 0; i < 20; i++)
		expect_sense(dev, write_blocks(dev, start + pblk, pblk, 1), ILLEGAL_REQUEST,
			     ASC_UNALIGNED_WRITE);
	expect_eq(dev, taken(dev, before), 0);
}

/* Zones, data and mode pages are there again, from process to process. */
static void survives(struct dev *dev)
{
	struct snapshot *snap;

	for (uint32_t state = 0; state < ZS_STATES; state++)
		make_zone(dev, dev->geo->conv + state, state);
	expect_good(dev, write_blocks(dev, dev->geo->zone_size - 1, 2, 9));
	snap = snapshot_take(dev);
	for (int i = 0; i < 3; i++)
		dev_reopen(dev);
	for (uint32_t state = 0; state < ZS_STATES; state++)
		expect_state(dev, dev->geo->conv + state, state);
	expect_data(dev, dev->geo->zone_size - 1, 2, 9);
	snapshot_compare(dev, snap, "reopen", __FILE__, __LINE__);
}

/* A state of another token is another LUN's: discarded. */
static void other_token(struct dev *dev)
{
	uint64_t token, start = geo_start(dev->geo, dev->geo->conv);

	make_zone(dev, dev->geo->conv, ZS_FULL);
	expect_good(dev, write_blocks(dev, 0, 2, 9));
	expect_eq(dev, memzbc_state_token(dev->dir, &token), 0);
	expect_eq(dev, token, dev->token);
	dev->token++;
	dev_reopen(dev);
	expect_eq(dev, memzbc_state_token(dev->dir, &token), 0);
	expect_eq(dev, token, dev->token);
	expect_state(dev, dev->geo->conv, ZS_EMPTY);
	expect_data(dev, 0, 2, 0);
	expect_data(dev, start, geo_len(dev->geo, dev->geo->conv), 0);
	expect_true(dev, dev_memory(dev) < 8 * MIB);
}

static const struct geo *any_geo(void)
{
	return &geo_matrix[0];
}

/* Opens dev's state under another config, which must be refused, and leaves it as it was. */
static void expect_open_fails(struct dev *dev, const char *config, uint64_t size)
{
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;
	struct memzbc_lun_params params = {
		.cfg = &cfg, .state_dir = dev->dir, .token = dev->token,
	};
	struct memzbc_lun *lun = NULL;

	expect_eq(dev, memzbc_config_parse(&cfg, config, reason), 0);
	expect_eq(dev, memzbc_config_complete(&cfg, size, 512, reason), 0);
	expect_true(dev, memzbc_lun_open(&params, &lun, reason) < 0);
	expect_true(dev, reason[0] != '\0');
}

static void other_geometry(void **state)
{
	struct dev *dev = dev_open_geo(any_geo(), NULL);
	struct snapshot *snap;

	(void)state;
	make_zone(dev, dev->geo->conv, ZS_FULL);
	snap = snapshot_take(dev);
	dev_stop(dev);
	expect_open_fails(dev, "pblk=512/zone_size=64K/conv=2", dev->size + 64 * KIB);
	expect_open_fails(dev, "pblk=512/zone_size=64K/conv=2", dev->size - 64 * KIB);
	expect_open_fails(dev, "pblk=512/zone_size=128K/conv=1", dev->size);
	expect_open_fails(dev, "pblk=512/zone_size=64K/conv=3", dev->size);
	expect_open_fails(dev, "pblk=512/zone_size=64K/zone_cap=32K/conv=2", dev->size);
	dev_start(dev);
	snapshot_compare(dev, snap, "open with another geometry", __FILE__, __LINE__);
	dev_close(dev);
}

static void no_state(void **state)
{
	uint64_t token;

	(void)state;
	assert_true(memzbc_state_token("/dev/shm/memzbc-there-is-no-such-directory", &token) < 0);
	assert_true(memzbc_state_remove("/dev/shm/memzbc-there-is-no-such-directory") < 0);
}

/* A table that is cut off, empty or of something else is no state: a new one is made, no crash. */
static void damaged_table(void **state)
{
	static const off_t lengths[] = { 0, 1, 8, 4096 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct dev *dev = dev_open_geo(any_geo(), NULL);
		char path[128];
		uint64_t token;

		make_zone(dev, dev->geo->conv, ZS_FULL);
		dev_stop(dev);
		snprintf(path, sizeof(path), "%s/table", dev->dir);
		assert_int_equal(truncate(path, 0), 0);
		assert_int_equal(truncate(path, lengths[i]), 0);
		assert_true(memzbc_state_token(dev->dir, &token) < 0);
		dev_start(dev);
		expect_state(dev, dev->geo->conv, ZS_EMPTY);
		expect_data(dev, 0, 4, 0);
		dev_close(dev);
	}
}

#define BUDGET_CONFIG "zone_size=1M/conv=2/mem=4M"

/* Fills zones with data until the budget is reached; returns the zone that did not get all. */
static uint64_t fill_budget(struct dev *dev, uint64_t *wp)
{
	uint64_t zone_blocks = MIB / dev->lba_size, n = 64 * KIB / dev->lba_size;

	for (uint64_t zone = 2; zone < dev->capacity / zone_blocks; zone++)
		for (uint64_t done = 0; done < zone_blocks; done += n) {
			*wp = zone * zone_blocks + done;
			if (write_blocks(dev, *wp, n, 3) != SAM_STAT_GOOD)
				return zone * zone_blocks;
		}
	fail_dev(dev, __FILE__, __LINE__, "the budget has no end");
}

/* The first @n blocks hold generation 4, what follows was never written: no write of both. */
static void expect_no_part_written(struct dev *dev, uint64_t n)
{
	expect_sense(dev, write_blocks(dev, 0, 16 * n, 9), DATA_PROTECT, 0x2707);
	expect_data(dev, 0, n, 4);
	expect_data(dev, n, 15 * n, 0);
}

static void check_budget(uint32_t lba_size)
{
	struct dev *dev = dev_open(BUDGET_CONFIG, 16 * MIB, lba_size);
	uint64_t n = 64 * KIB / lba_size, zone_blocks = MIB / lba_size, before = dev_memory(dev);
	uint64_t zone, wp;

	expect_good(dev, write_blocks(dev, 0, n, 1));
	zone = fill_budget(dev, &wp);
	/* 7/27/07, nothing stored, nothing moved */
	expect_sense(dev, write_blocks(dev, wp, n, 3), DATA_PROTECT, 0x2707);
	expect_true(dev, taken(dev, before) <= 4 * MIB);
	expect_true(dev, taken(dev, before) >= 4 * MIB - 2 * 64 * KIB);
	expect_zone(dev, zone, wp == zone ? ZONE_EMPTY : ZONE_IMP_OPEN, wp);
	expect_data(dev, wp, n, 0);
	/* Everything else goes on: reads, overwriting, zone commands, other LUN state */
	expect_data(dev, 0, n, 1);
	expect_data(dev, 2 * zone_blocks, zone_blocks, 3);
	expect_good(dev, write_blocks(dev, 0, n, 4));
	expect_data(dev, 0, n, 4);
	expect_good(dev, write_blocks(dev, 3, 2, 5));
	expect_data(dev, 3, 2, 5);
	expect_good(dev, write_blocks(dev, 0, n, 4));
	expect_no_part_written(dev, n);
	expect_sense(dev, write_blocks(dev, zone_blocks, n, 1), DATA_PROTECT, 0x2707);
	expect_data(dev, zone_blocks, n, 0);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, zone));
	expect_good(dev, run_none(dev, cdb_lba(SYNCHRONIZE_CACHE_16, 0, 0)));
	/* RESET gives room again, as much as was in the zone. */
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, 2 * zone_blocks));
	fill_zone(dev, 2 * zone_blocks, zone_blocks, 6);
	expect_data(dev, 2 * zone_blocks, zone_blocks, 6);
	dev_close(dev);
}

static void budget(void **state)
{
	(void)state;
	check_budget(512);
	check_budget(4096);
}

/* What an earlier process took counts. */
static void budget_after_reopen(void **state)
{
	struct dev *dev = dev_open(BUDGET_CONFIG, 16 * MIB, 512);
	uint64_t wp, n = 64 * KIB / 512;

	(void)state;
	fill_budget(dev, &wp);
	dev_reopen(dev);
	expect_sense(dev, write_blocks(dev, wp, n, 3), DATA_PROTECT, 0x2707);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	fill_zone(dev, 2 * MIB / 512, MIB / 512, 6);
	dev_close(dev);
}

/* Small and overlapping writes do not use up the budget by and by. */
static void budget_counts_pages_once(void **state)
{
	struct dev *dev = dev_open("zone_size=512K/conv=2/mem=1M/pblk=512", 4 * MIB, 512);

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		expect_good(dev, write_blocks(dev, random_below(1018), 1 + random_below(6), i));
	for (uint64_t lba = 1024; lba < 2048; lba++)
		expect_good(dev, write_blocks(dev, lba, 1, 5));
	expect_data(dev, 1024, 1024, 5);
	dev_close(dev);
}

/* A zone that is written and reset for ever stays within the budget. */
static void budget_of_a_cycle(void **state)
{
	struct dev *dev = dev_open(BUDGET_CONFIG, 16 * MIB, 4096);
	uint64_t start = 2 * MIB / 4096;

	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		fill_zone(dev, start, MIB / 4096, i);
		expect_data(dev, start + 7, 1, i);
		expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start));
	}
	dev_close(dev);
}

/*
 * A file system that is really full: an error for the write, and no SIGBUS. The state directory is
 * moved into a small tmpfs of its own.
 */
static bool mount_small(struct dev *dev, const char *size)
{
	char options[32];

	dev_stop(dev);
	expect_eq(dev, memzbc_state_remove(dev->dir), 0);
	snprintf(options, sizeof(options), "size=%s", size);
	return mount("memzbc-unit", dev->base, "tmpfs", 0, options) == 0;
}

static void full_tmpfs(void **state)
{
	struct dev *dev = dev_open("zone_size=1M/conv=2/mem=64M", 64 * MIB, 512);
	uint64_t wp, zone, start = 2 * MIB / 512, n = 64 * KIB / 512;

	(void)state;
	if (!mount_small(dev, "8M")) {
		dev_start(dev);
		dev_close(dev);
		skip();
	}
	dev_start(dev);
	expect_good(dev, write_blocks(dev, 0, n, 1));
	zone = fill_budget(dev, &wp);
	expect_sense(dev, write_blocks(dev, wp, n, 3), DATA_PROTECT, 0x2707);
	expect_zone(dev, zone, wp == zone ? ZONE_EMPTY : ZONE_IMP_OPEN, wp);
	expect_data(dev, start, MIB / 512, 3);
	expect_data(dev, wp, n, 0);
	expect_good(dev, write_blocks(dev, 0, n, 4));
	expect_data(dev, 0, n, 4);
	expect_no_part_written(dev, n);
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, start + 20 * MIB / 512));
	dev_reopen(dev);
	expect_data(dev, start, MIB / 512, 3);
	expect_sense(dev, write_blocks(dev, wp, n, 3), DATA_PROTECT, 0x2707);
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start));
	fill_zone(dev, start, MIB / 512, 6);
	dev_stop(dev);
	expect_eq(dev, memzbc_state_remove(dev->dir), 0);
	expect_eq(dev, umount(dev->base), 0);
	dev_start(dev);
	dev_close(dev);
}

/* Opening where not even the table fits: an error with a reason. */
static void no_room_for_the_table(void **state)
{
	struct dev *dev = dev_open("zone_size=64M", 4ull << 30, 512);

	(void)state;
	if (mount_small(dev, "64K")) {
		expect_open_fails(dev, "zone_size=64M", 4ull << 30);
		expect_eq(dev, umount2(dev->base, MNT_DETACH), 0);
	}
	dev_start(dev);
	dev_close(dev);
}

/* Two LUNs do not share anything. */
static void two_units(void **state)
{
	struct dev *a = dev_open_geo(&geo_matrix[0], NULL);
	struct dev *b = dev_open_geo(&geo_matrix[geo_matrix_len - 1], NULL);

	(void)state;
	make_zone(a, a->geo->conv, ZS_FULL);
	expect_state(b, b->geo->conv, ZS_EMPTY);
	make_zone(b, b->geo->conv, ZS_CLOSED);
	set_d_sense(b, true);
	expect_sense(a, read_blocks(a, a->capacity, 1), ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	expect_eq(a, a->sense.format, 0x70);
	expect_state(a, a->geo->conv, ZS_FULL);
	dev_close(a);
	expect_state(b, b->geo->conv, ZS_CLOSED);
	dev_close(b);
}

/*
 * What a process stored without living to move the write pointer is not there for the next one,
 * nor does it hold memory.
 */
static void unfinished_write(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint64_t start = geo_start(g, g->conv), len = geo_len(g, g->conv), before, bytes;
	uint32_t pblk = geo_pblk(g);
	char path[128];
	void *junk;
	int fd;

	make_zone(dev, g->conv, ZS_CLOSED);
	before = dev_memory(dev);
	dev_stop(dev);
	snprintf(path, sizeof(path), "%s/data", dev->dir);
	fd = open(path, O_WRONLY);
	bytes = (len - pblk) * dev->lba_size;
	junk = malloc(bytes);
	memset(junk, 0xee, bytes);
	expect_eq(dev, pwrite(fd, junk, bytes, (off_t)((start + pblk) * dev->lba_size)), bytes);
	expect_eq(dev, pwrite(fd, junk, 4096, (off_t)(geo_start(g, g->conv + 2) * dev->lba_size)),
		  4096);
	close(fd);
	free(junk);
	expect_true(dev, dev_memory(dev) > before);
	dev_start(dev);
	expect_eq(dev, dev_memory(dev), before);
	expect_state(dev, g->conv, ZS_CLOSED);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, start));
	expect_data(dev, start, pblk, ZS_GENERATION);
	expect_data(dev, start + pblk, len - pblk, 0);
}

/* Files of others in the state directory stay. */
static void remove_leaves_other_files(void **state)
{
	struct dev *dev = dev_open_geo(any_geo(), NULL);
	char path[128];
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/other", dev->dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	dev_stop(dev);
	memzbc_state_remove(dev->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(unlink(path), 0);
	dev_start(dev);
	expect_state(dev, dev->geo->conv, ZS_EMPTY);
	dev_close(dev);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "sparse", sparse, NULL },
		{ "RESET ALL gives back", reset_all_gives_back, NULL },
		{ "refused writes take none", refused_writes_take_none, NULL },
		{ "survives", survives, NULL },
		{ "other token", other_token, NULL },
		{ "unfinished write", unfinished_write, NULL },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_geometry),
		cmocka_unit_test(no_state),
		cmocka_unit_test(damaged_table),
		cmocka_unit_test(budget),
		cmocka_unit_test(budget_after_reopen),
		cmocka_unit_test(budget_counts_pages_once),
		cmocka_unit_test(budget_of_a_cycle),
		cmocka_unit_test(full_tmpfs),
		cmocka_unit_test(no_room_for_the_table),
		cmocka_unit_test(two_units),
		cmocka_unit_test(remove_leaves_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("store", matrix, ARRAY_SIZE(matrix));
}

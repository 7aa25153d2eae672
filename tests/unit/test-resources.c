// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Open-zone resources of sequential write required zones: explicit opens are limited by MAX alone,
 * implicit ones make room by closing the least recently written of them.
 */
#include <stdio.h>

#include "harness.h"

#define MAX 3
#define MAX_TEXT "max_open=3"

/* The SWR zone number @i of the LUN. */
static uint32_t seq(const struct dev *dev, uint32_t i)
{
	return dev->geo->conv + i;
}

static uint64_t seq_start(const struct dev *dev, uint32_t i)
{
	return geo_start(dev->geo, seq(dev, i));
}

static uint8_t act(struct dev *dev, uint8_t action, uint32_t i)
{
	return zone_action(dev, action, seq_start(dev, i));
}

/* Writes a physical block at the write pointer. */
static uint8_t append(struct dev *dev, uint32_t i)
{
	uint64_t wp = zone_at(dev, seq_start(dev, i)).wp;

	return write_blocks(dev, wp, geo_pblk(dev->geo), ZS_GENERATION);
}

static uint8_t condition(struct dev *dev, uint32_t i)
{
	return zone_at(dev, seq_start(dev, i)).cond;
}

#define expect_condition(dev, i, cond) expect_eq(dev, condition(dev, i), cond)
#define expect_no_resources(dev, call) \
	expect_refused(dev, call, DATA_PROTECT, ASC_INSUFFICIENT_ZONE_RESOURCES)

/* Zones @from to @to, both included */
static void open_zones(struct dev *dev, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i <= to; i++)
		expect_good(dev, act(dev, SA_OPEN_ZONE, i));
}

static void close_written(struct dev *dev, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i <= to; i++)
		make_zone(dev, seq(dev, i), ZS_CLOSED);
}

static void explicit_limit(struct dev *dev)
{
	close_written(dev, 5, 5);
	open_zones(dev, 0, MAX - 2);
	expect_good(dev, act(dev, SA_OPEN_ZONE, 5));	/* CLOSED, MAX-1 explicit */
	expect_no_resources(dev, act(dev, SA_OPEN_ZONE, MAX));
	expect_good(dev, act(dev, SA_CLOSE_ZONE, 5));
	expect_good(dev, act(dev, SA_OPEN_ZONE, MAX));	/* EMPTY, MAX-1 explicit */
	expect_no_resources(dev, act(dev, SA_OPEN_ZONE, 5));
	/* No more is needed for zones that are open or FULL. */
	expect_good(dev, act(dev, SA_OPEN_ZONE, 0));
	expect_condition(dev, 0, ZONE_EXP_OPEN);
}

static void full_zones_need_none(struct dev *dev)
{
	make_zone(dev, seq(dev, 4), ZS_FULL);
	open_zones(dev, 0, MAX - 1);
	expect_good(dev, act(dev, SA_OPEN_ZONE, 4));
	expect_condition(dev, 4, ZONE_FULL);
	expect_good(dev, act(dev, SA_FINISH_ZONE, 4));
}

static void freed_by(struct dev *dev, uint8_t action)
{
	open_zones(dev, 0, MAX - 1);
	expect_no_resources(dev, act(dev, SA_OPEN_ZONE, MAX));
	expect_good(dev, act(dev, action, 0));
	expect_good(dev, act(dev, SA_OPEN_ZONE, MAX));
	expect_no_resources(dev, act(dev, SA_OPEN_ZONE, MAX + 1));
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
}

static void resources_are_freed(struct dev *dev)
{
	freed_by(dev, SA_CLOSE_ZONE);
	freed_by(dev, SA_FINISH_ZONE);
	freed_by(dev, SA_RESET_WRITE_POINTER);
}

static void freed_by_filling(struct dev *dev)
{
	uint64_t start = seq_start(dev, 1), len = geo_len(dev->geo, seq(dev, 1));

	open_zones(dev, 0, MAX - 1);
	fill_zone(dev, start, len, 3);
	expect_zone(dev, start, ZONE_FULL, start + len);
	expect_good(dev, act(dev, SA_OPEN_ZONE, MAX));
	expect_no_resources(dev, act(dev, SA_OPEN_ZONE, MAX + 1));
}

static void least_recently_written_is_closed(struct dev *dev)
{
	uint64_t wp;

	for (uint32_t i = 0; i < MAX; i++)
		expect_good(dev, append(dev, i));
	expect_good(dev, append(dev, 0));
	wp = zone_at(dev, seq_start(dev, 1)).wp;
	expect_good(dev, append(dev, 5));
	expect_zone(dev, seq_start(dev, 1), ZONE_CLOSED, wp);
	expect_condition(dev, 0, ZONE_IMP_OPEN);
	expect_condition(dev, 2, ZONE_IMP_OPEN);
	expect_condition(dev, 5, ZONE_IMP_OPEN);
	expect_good(dev, append(dev, 1));	/* out: 2 */
	expect_condition(dev, 2, ZONE_CLOSED);
	expect_condition(dev, 0, ZONE_IMP_OPEN);
	expect_good(dev, act(dev, SA_OPEN_ZONE, 6));	/* out: 0 */
	expect_condition(dev, 0, ZONE_CLOSED);
	expect_condition(dev, 1, ZONE_IMP_OPEN);
	expect_condition(dev, 5, ZONE_IMP_OPEN);
	expect_condition(dev, 6, ZONE_EXP_OPEN);
}

/* The order survives the process. */
static void order_after_reopen(struct dev *dev)
{
	const uint32_t order[MAX] = { 2, 0, 1 };

	for (uint32_t i = 0; i < MAX; i++)
		expect_good(dev, append(dev, order[i]));
	dev_reopen(dev);
	for (uint32_t i = 0; i < MAX; i++) {
		expect_condition(dev, order[i], ZONE_IMP_OPEN);
		expect_good(dev, append(dev, 4 + i));
		expect_condition(dev, order[i], ZONE_CLOSED);
	}
}

static void unwritten_victim_becomes_empty(struct dev *dev)
{
	make_zone(dev, seq(dev, 0), ZS_IMP_UNWRITTEN);
	for (uint32_t i = 1; i <= MAX; i++)
		expect_good(dev, append(dev, i));
	expect_state(dev, seq(dev, 0), ZS_EMPTY);
	for (uint32_t i = 1; i <= MAX; i++)
		expect_condition(dev, i, ZONE_IMP_OPEN);
}

/* Explicitly opened zones are never closed to make room. */
static void explicit_zones_stay(struct dev *dev)
{
	open_zones(dev, 0, MAX - 2);
	for (uint32_t i = MAX; i < MAX + 4; i++) {
		expect_good(dev, append(dev, i));
		for (uint32_t k = MAX; k < i; k++)
			expect_condition(dev, k, ZONE_CLOSED);
		for (uint32_t k = 0; k <= MAX - 2; k++)
			expect_condition(dev, k, ZONE_EXP_OPEN);
	}
}

/* A zone that is opened explicitly converts its own slot. */
static void conversion_evicts_nothing(struct dev *dev)
{
	for (uint32_t i = 0; i < MAX; i++)
		expect_good(dev, append(dev, i));
	for (uint32_t i = 0; i < MAX; i++) {
		expect_good(dev, act(dev, SA_OPEN_ZONE, i));
		for (uint32_t k = 0; k < MAX; k++)
			expect_condition(dev, k, k <= i ? ZONE_EXP_OPEN : ZONE_IMP_OPEN);
	}
	expect_no_resources(dev, append(dev, MAX));
}

static void writes_at_the_limit(struct dev *dev)
{
	close_written(dev, 4, 4);
	open_zones(dev, 0, MAX - 1);
	expect_no_resources(dev, append(dev, 4));
	expect_no_resources(dev, append(dev, 5));
	expect_no_resources(dev, write_blocks(dev, seq_start(dev, 5), 0, 0));
	expect_no_resources(dev, write_blocks(dev, seq_start(dev, 5),
					      geo_len(dev->geo, seq(dev, 5)), 1));
	expect_good(dev, append(dev, 0));
	expect_condition(dev, 0, ZONE_EXP_OPEN);
	expect_good(dev, write_blocks(dev, 0, 1, 4));	/* conventional */
	/* Nothing of the refused writes is in the zone. */
	expect_good(dev, act(dev, SA_CLOSE_ZONE, 1));
	expect_good(dev, act(dev, SA_FINISH_ZONE, 5));
	expect_data(dev, seq_start(dev, 5), geo_len(dev->geo, seq(dev, 5)), 0);
}

/* What else is wrong with a write is told first. */
static void resources_are_checked_last(struct dev *dev)
{
	uint64_t start = seq_start(dev, 4), end = start + geo_len(dev->geo, seq(dev, 4));
	uint32_t pblk = geo_pblk(dev->geo);

	close_written(dev, 4, 4);
	open_zones(dev, 0, MAX - 1);
	expect_refused(dev, write_blocks(dev, start, pblk, 1), ILLEGAL_REQUEST,
		       ASC_UNALIGNED_WRITE);
	expect_refused(dev, write_blocks(dev, end - pblk, 2 * pblk, 1), ILLEGAL_REQUEST,
		       ASC_WRITE_BOUNDARY);
	if (pblk > 1)
		expect_refused(dev, write_blocks(dev, start + pblk, 1, 1), ILLEGAL_REQUEST,
			       ASC_UNALIGNED_WRITE);
}

static void finish_at_the_limit(struct dev *dev)
{
	close_written(dev, 4, 4);
	open_zones(dev, 0, MAX - 2);
	expect_good(dev, act(dev, SA_FINISH_ZONE, 6));	/* EMPTY, MAX-1 explicit */
	expect_condition(dev, 6, ZONE_FULL);
	open_zones(dev, MAX - 1, MAX - 1);
	expect_no_resources(dev, act(dev, SA_FINISH_ZONE, 4));
	expect_no_resources(dev, act(dev, SA_FINISH_ZONE, 5));
	expect_good(dev, act(dev, SA_FINISH_ZONE, 0));
	expect_condition(dev, 0, ZONE_FULL);
	expect_good(dev, act(dev, SA_FINISH_ZONE, 4));	/* there is room again */
	expect_condition(dev, 4, ZONE_FULL);
}

static void finish_all_never_lacks_resources(struct dev *dev)
{
	close_written(dev, 0, MAX);	/* MAX+1 zones */
	expect_good(dev, zone_action_all(dev, SA_FINISH_ZONE));
	for (uint32_t i = 0; i <= MAX; i++)
		expect_condition(dev, i, ZONE_FULL);
	close_written(dev, MAX + 1, MAX + 1);
	open_zones(dev, MAX + 2, 2 * MAX + 1);
	expect_good(dev, zone_action_all(dev, SA_FINISH_ZONE));
	for (uint32_t i = MAX + 1; i <= 2 * MAX + 1; i++)
		expect_condition(dev, i, ZONE_FULL);
	expect_condition(dev, 2 * MAX + 2, ZONE_EMPTY);
}

static void open_all(struct dev *dev)
{
	close_written(dev, 0, MAX);
	expect_no_resources(dev, zone_action_all(dev, SA_OPEN_ZONE));
	expect_good(dev, act(dev, SA_RESET_WRITE_POINTER, 0));
	expect_good(dev, zone_action_all(dev, SA_OPEN_ZONE));
	expect_condition(dev, 0, ZONE_EMPTY);
	for (uint32_t i = 1; i <= MAX; i++)
		expect_condition(dev, i, ZONE_EXP_OPEN);
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	/* The explicitly opened ones count. */
	open_zones(dev, 5, 5);
	expect_no_resources(dev, zone_action_all(dev, SA_OPEN_ZONE));
}

/* OPEN ALL needs the slot of an implicitly opened zone. */
static void open_all_evicts(struct dev *dev)
{
	close_written(dev, 0, MAX - 1);
	expect_good(dev, append(dev, 5));
	expect_good(dev, zone_action_all(dev, SA_OPEN_ZONE));
	for (uint32_t i = 0; i < MAX; i++)
		expect_condition(dev, i, ZONE_EXP_OPEN);
	expect_condition(dev, 5, ZONE_CLOSED);
}

/* OPEN of several zones: as many as are not explicitly opened nor FULL. */
static void open_count(struct dev *dev)
{
	if (geo_has_gaps(dev->geo))
		return;
	expect_no_resources(dev, run_none(dev, cdb_zone_count(SA_OPEN_ZONE, seq_start(dev, 0),
							      MAX + 1)));
	make_zone(dev, seq(dev, 1), ZS_FULL);
	open_zones(dev, 2, 2);
	expect_good(dev, run_none(dev, cdb_zone_count(SA_OPEN_ZONE, seq_start(dev, 0), MAX + 1)));
	expect_condition(dev, 0, ZONE_EXP_OPEN);
	expect_condition(dev, 1, ZONE_FULL);
	expect_condition(dev, 2, ZONE_EXP_OPEN);
	expect_condition(dev, 3, ZONE_EXP_OPEN);
	expect_no_resources(dev, run_none(dev, cdb_zone_count(SA_OPEN_ZONE, seq_start(dev, 3), 2)));
}

/* OPEN of several zones converts its implicitly opened ones, and closes others for the rest. */
static void open_count_converts_and_evicts(struct dev *dev)
{
	if (geo_has_gaps(dev->geo))
		return;
	expect_good(dev, append(dev, 0));
	expect_good(dev, append(dev, 5));
	expect_good(dev, append(dev, 6));
	expect_good(dev, run_none(dev, cdb_zone_count(SA_OPEN_ZONE, seq_start(dev, 0), 2)));
	expect_condition(dev, 0, ZONE_EXP_OPEN);
	expect_condition(dev, 1, ZONE_EXP_OPEN);
	expect_condition(dev, 5, ZONE_CLOSED);
	expect_condition(dev, 6, ZONE_IMP_OPEN);
}

/* FINISH of several zones needs resources as of one. */
static void finish_count(struct dev *dev)
{
	if (geo_has_gaps(dev->geo))
		return;
	close_written(dev, 1, 1);
	open_zones(dev, 4, 4 + MAX - 1);
	expect_no_resources(dev, run_none(dev, cdb_zone_count(SA_FINISH_ZONE, seq_start(dev, 0),
							      2)));
	expect_good(dev, act(dev, SA_CLOSE_ZONE, 4));
	expect_good(dev, run_none(dev, cdb_zone_count(SA_FINISH_ZONE, seq_start(dev, 0), 2)));
	expect_condition(dev, 0, ZONE_FULL);
	expect_condition(dev, 1, ZONE_FULL);
}

static uint32_t open_now(struct dev *dev)
{
	uint32_t open;

	expect_good(dev, report_zones(dev, 0, REPORT_IMP_OPEN, 64));
	open = dev->report.list_len / ZONE_DESC_LEN;
	expect_good(dev, report_zones(dev, 0, REPORT_EXP_OPEN, 64));
	return open + dev->report.list_len / ZONE_DESC_LEN;
}

/* Many more zones than MAX, one after another, by every means. */
static void implicit_opens_never_fail(struct dev *dev)
{
	for (uint32_t i = 0; i < 2 * MAX; i++) {
		expect_good(dev, append(dev, i));
		expect_eq(dev, open_now(dev), i < MAX ? i + 1 : MAX);
	}
	expect_good(dev, act(dev, SA_FINISH_ZONE, 2 * MAX));	/* EMPTY */
	expect_condition(dev, 2 * MAX, ZONE_FULL);
	expect_good(dev, act(dev, SA_OPEN_ZONE, 2 * MAX + 1));
	expect_condition(dev, 2 * MAX + 1, ZONE_EXP_OPEN);
	expect_true(dev, open_now(dev) <= MAX);
	make_zone(dev, seq(dev, 2 * MAX + 2), ZS_FULL);
	expect_true(dev, open_now(dev) <= MAX);
}

static void no_limit(struct dev *dev)
{
	uint32_t count = geo_slots(dev->geo) - dev->geo->conv - dev->geo->conv_end;

	open_zones(dev, 0, count - 1);
	for (uint32_t i = 0; i < count; i++)
		expect_condition(dev, i, ZONE_EXP_OPEN);
}

/* C17: 96 MiB zones, 4 of 64 conventional. */
static struct dev *open_c17(const char *max_open)
{
	char config[128];

	snprintf(config, sizeof(config), "zone_size=96M/conv=4/lba=4096/%s", max_open);
	return dev_open(config, 64ull * 96 << 20, 4096);
}

static uint32_t reported_limit(struct dev *dev)
{
	struct cdb cdb = { .b = { INQUIRY, 1, VPD_ZONED_CHARACTERISTICS, 0, 64 } };

	expect_good(dev, run_in(dev, cdb, 64));
	return get_be32(dev->in + 16);
}

static void c17_unlimited(void **state)
{
	struct dev *dev = open_c17("max_open=0");

	(void)state;
	expect_eq(dev, reported_limit(dev), 0xffffffff);
	for (uint64_t zone = 4; zone < 64; zone++)
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, zone * 0x6000));
	dev_close(dev);
}

static void c17_eight(void **state)
{
	struct dev *dev = open_c17("max_open=8");

	(void)state;
	expect_eq(dev, reported_limit(dev), 8);
	for (uint64_t zone = 4; zone < 12; zone++)
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, zone * 0x6000));
	expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, 12 * 0x6000), DATA_PROTECT, 0x550e);
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	for (uint64_t zone = 4; zone < 13; zone++)
		expect_good(dev, write_blocks(dev, zone * 0x6000, 1, 1));
	expect_zone(dev, 4 * 0x6000, ZONE_CLOSED, 4 * 0x6000 + 1);
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	expect_sense(dev, zone_action_all(dev, SA_OPEN_ZONE), DATA_PROTECT, 0x550e);
	for (uint64_t zone = 4; zone < 13; zone++)
		expect_zone(dev, zone * 0x6000, ZONE_CLOSED, zone * 0x6000 + 1);
	dev_close(dev);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "explicit limit", explicit_limit, MAX_TEXT },
		{ "FULL zones need none", full_zones_need_none, MAX_TEXT },
		{ "resources are freed", resources_are_freed, MAX_TEXT },
		{ "freed by filling a zone", freed_by_filling, MAX_TEXT },
		{ "least recently written is closed", least_recently_written_is_closed, MAX_TEXT },
		{ "order after a reopen", order_after_reopen, MAX_TEXT },
		{ "unwritten victim becomes EMPTY", unwritten_victim_becomes_empty, MAX_TEXT },
		{ "explicit zones stay", explicit_zones_stay, MAX_TEXT },
		{ "conversion evicts nothing", conversion_evicts_nothing, MAX_TEXT },
		{ "writes at the limit", writes_at_the_limit, MAX_TEXT },
		{ "resources are checked last", resources_are_checked_last, MAX_TEXT },
		{ "FINISH at the limit", finish_at_the_limit, MAX_TEXT },
		{ "FINISH ALL never lacks", finish_all_never_lacks_resources, MAX_TEXT },
		{ "OPEN ALL", open_all, MAX_TEXT },
		{ "OPEN ALL evicts", open_all_evicts, MAX_TEXT },
		{ "OPEN with ZONE COUNT", open_count, MAX_TEXT },
		{ "OPEN with ZONE COUNT evicts", open_count_converts_and_evicts, MAX_TEXT },
		{ "FINISH with ZONE COUNT", finish_count, MAX_TEXT },
		{ "implicit opens never fail", implicit_opens_never_fail, MAX_TEXT },
		{ "no limit", no_limit, "max_open=0" },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c17_unlimited),
		cmocka_unit_test(c17_eight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("resources", matrix, ARRAY_SIZE(matrix));
}

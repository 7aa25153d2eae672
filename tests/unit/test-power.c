// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * cache: what a loss of power takes, and what makes a write durable. test-power-random.c compares
 * with a reference.
 */
#include <memzbc/operate.h>

#include "fault-harness.h"

#define KIB 1024ull
#define CACHE (1024 * KIB)
#define FUA 0x08
#define GENERATION_BEFORE 1	/* of what the conventional zones hold at first */

static struct rig *open_with_cache(uint64_t bytes)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ .hold_time = SECOND });

	expect_io_good(submit_write(rig, 0, 64, GENERATION_BEFORE));
	rig_set(rig, &(struct memzbc_faults){ .cache = bytes, .hold_time = SECOND });
	return rig;
}

/* A write of one STEP, which must be good. */
static void put(struct rig *rig, uint64_t lba, uint32_t generation)
{
	expect_io_good(submit_write(rig, lba, STEP, generation));
}

static void put_fua(struct rig *rig, uint64_t lba, uint64_t blocks, uint32_t generation)
{
	uint8_t data[64 * 512];

	pattern(rig->dev, data, lba, blocks, generation);
	expect_io_good(submit(rig, cdb_with(cdb_lba(WRITE_16, lba, blocks), 1, FUA), data,
			      blocks * rig->dev->lba_size));
}

/* SYNCHRONIZE CACHE; @blocks 0: to the end. */
static void synchronize(struct rig *rig, uint8_t opcode, uint64_t lba, uint64_t blocks)
{
	expect_io_good(submit(rig, cdb_lba(opcode, lba, blocks), NULL, 0));
}

#define expect_lost(rig, count, lost) expect_lost_(rig, count, lost, __FILE__, __LINE__)

/* A loss of power that may take @count writes takes @lost, all of one STEP. */
static void expect_lost_(struct rig *rig, uint64_t count, uint64_t lost, const char *file, int line)
{
	struct memzbc_power_loss loss = memzbc_device_power_loss(rig->device, count);

	if (loss.writes != lost || loss.bytes != lost * STEP * rig->dev->lba_size)
		fail_dev(rig->dev, file, line, "%llu writes of %llu bytes vanished, not %llu",
			 (unsigned long long)loss.writes, (unsigned long long)loss.bytes,
			 (unsigned long long)lost);
}

#define ALL UINT64_MAX

static void write_pointers_go_back(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1);

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		put(rig, a + i * STEP, 2);
		put(rig, b + i * STEP, 2);
	}
	expect_lost(rig, ALL, 6);
	expect_zone(rig->dev, a, ZONE_EMPTY, a);
	expect_zone(rig->dev, b, ZONE_EMPTY, b);
	expect_data(rig->dev, a, 3 * STEP, 0);
	rig_close(rig);
}

static void newest_vanish_first(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1);

	(void)state;
	put(rig, a, 2);
	put(rig, b, 2);
	put(rig, a + STEP, 2);
	put(rig, b + STEP, 2);
	put(rig, 0, 2);
	expect_lost(rig, 2, 2);
	expect_data(rig->dev, 0, STEP, GENERATION_BEFORE);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 2 * STEP);
	expect_zone(rig->dev, b, ZONE_CLOSED, b + STEP);
	expect_data(rig->dev, a, 2 * STEP, 2);
	expect_data(rig->dev, b, STEP, 2);
	expect_data(rig->dev, b + STEP, STEP, 0);
	/* What a loss of power has left is durable. */
	expect_lost(rig, ALL, 0);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 2 * STEP);
	rig_close(rig);
}

static void many_writes_are_remembered(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	for (uint64_t i = 0; i < 240; i++)
		put(rig, a + i * STEP, 2);
	expect_lost(rig, 200, 200);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 40 * STEP);
	rig_close(rig);
}

static void what_was_before_the_cache_stays(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ 0 });
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	put(rig, a, 2);
	rig_set(rig, &(struct memzbc_faults){ .cache = CACHE });
	put(rig, a + STEP, 2);
	expect_lost(rig, ALL, 1);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + STEP);
	rig_close(rig);
}

static void synchronize_cache_keeps_all(void **state)
{
	static const uint8_t opcodes[] = { SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct rig *rig = open_with_cache(CACHE);
		uint64_t a = rig_zone(rig, 0);

		put(rig, a, 2);
		put(rig, 0, 2);
		synchronize(rig, opcodes[i], 0, 0);
		put(rig, a + STEP, 3);
		put(rig, 0, 3);
		expect_lost(rig, ALL, 2);
		expect_zone(rig->dev, a, ZONE_CLOSED, a + STEP);
		expect_data(rig->dev, a, STEP, 2);
		expect_data(rig->dev, 0, STEP, 2);
		rig_close(rig);
	}
}

static void synchronize_cache_keeps_a_range(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1);

	(void)state;
	put(rig, 0, 2);
	put(rig, 2 * STEP, 2);
	put(rig, a, 2);
	put(rig, b, 2);
	/* Half of the first write. */
	synchronize(rig, SYNCHRONIZE_CACHE_16, 4, 4);
	synchronize(rig, SYNCHRONIZE_CACHE_16, b, STEP);
	expect_lost(rig, ALL, 3);
	expect_data(rig->dev, 0, 4, GENERATION_BEFORE);
	expect_data(rig->dev, 4, 4, 2);
	expect_data(rig->dev, 2 * STEP, STEP, GENERATION_BEFORE);
	expect_zone(rig->dev, a, ZONE_EMPTY, a);
	expect_zone(rig->dev, b, ZONE_CLOSED, b + STEP);
	rig_close(rig);
}

/* Blocks below a write pointer are there: FUA keeps what its zone had before, and no other zone. */
static void fua_keeps_its_zone(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1);

	(void)state;
	put(rig, b, 2);
	put(rig, a, 2);
	put_fua(rig, a + STEP, STEP, 2);
	put(rig, a + 2 * STEP, 2);
	expect_lost(rig, ALL, 2);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 2 * STEP);
	expect_data(rig->dev, a, 2 * STEP, 2);
	expect_zone(rig->dev, b, ZONE_EMPTY, b);
	rig_close(rig);
}

static void every_write_command_has_fua(void **state)
{
	static const uint8_t opcodes[] = { WRITE_10, WRITE_12, WRITE_16 };
	struct rig *rig = open_with_cache(CACHE);
	uint8_t data[STEP * 512] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		expect_io_good(submit(rig, cdb_with(cdb_lba(opcodes[i], 0, STEP), 1, FUA), data,
				      sizeof(data)));
		expect_lost(rig, ALL, 0);
		expect_io_good(submit(rig, cdb_lba(opcodes[i], 0, STEP), data, sizeof(data)));
		expect_lost(rig, ALL, 1);
	}
	rig_close(rig);
}

/* In conventional zones FUA keeps its blocks, whatever wrote them before, and no other block. */
static void fua_keeps_its_blocks(void **state)
{
	struct rig *rig = open_with_cache(CACHE);

	(void)state;
	put(rig, 0, 2);
	put(rig, 4, 3);
	put_fua(rig, 6, 4, 4);
	put(rig, 8, 5);
	expect_lost(rig, ALL, 3);
	expect_data(rig->dev, 0, 6, GENERATION_BEFORE);
	expect_data(rig->dev, 6, 4, 4);
	expect_data(rig->dev, 10, 6, GENERATION_BEFORE);
	rig_close(rig);
}

static void overwritten_write_with_fua_is_none_to_lose(void **state)
{
	struct rig *rig = open_with_cache(CACHE);

	(void)state;
	put(rig, 8, 2);
	put_fua(rig, 0, 3 * STEP, 3);
	expect_lost(rig, ALL, 0);
	expect_data(rig->dev, 0, 3 * STEP, 3);
	rig_close(rig);
}

static void unwritten_blocks_come_back_as_such(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t before = dev_memory(rig->dev);

	(void)state;
	put(rig, 1024, 2);
	expect_io_good(submit_write_with(rig, WRITE_SAME_16, 0, STEP, 0));
	expect_lost(rig, ALL, 2);
	expect_data(rig->dev, 1024, STEP, 0);
	expect_data(rig->dev, 0, STEP, GENERATION_BEFORE);
	expect_eq(rig->dev, dev_memory(rig->dev), before);
	rig_close(rig);
}

static void set_wce(struct rig *rig, bool on)
{
	/* The header of MODE SELECT(10), and the caching mode page. */
	const uint8_t list[28] = {
		[8] = MODE_CACHING, [9] = 18, [10] = on ? MODE_WCE : 0,
	};
	struct cdb cdb = { { MODE_SELECT_10, MODE_SELECT_PF, [8] = sizeof(list) } };

	expect_io_good(submit(rig, cdb, list, sizeof(list)));
}

static void without_wce_nothing_is_volatile(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	put(rig, a, 2);
	put(rig, 0, 2);
	set_wce(rig, false);
	set_wce(rig, true);
	expect_lost(rig, ALL, 0);
	set_wce(rig, false);
	put(rig, a + STEP, 2);
	put(rig, STEP, 2);
	set_wce(rig, true);
	expect_lost(rig, ALL, 0);
	put(rig, a + 2 * STEP, 2);
	expect_lost(rig, ALL, 1);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 2 * STEP);
	rig_close(rig);
}

static void stop_writes_the_cache(void **state)
{
	struct rig *rig = open_with_cache(CACHE);

	(void)state;
	put(rig, 0, 2);
	expect_io_good(submit(rig, (struct cdb){ { START_STOP_UNIT } }, NULL, 0));
	expect_lost(rig, ALL, 0);
	rig_close(rig);
}

static void full_cache_writes_the_oldest(void **state)
{
	struct rig *rig = open_with_cache(4 * STEP * 512);
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		put(rig, a + i * STEP, 2);
	expect_lost(rig, ALL, 4);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 6 * STEP);
	/* Longer than the cache: written at once, and all before it. */
	put(rig, a + 6 * STEP, 3);
	expect_io_good(submit_write(rig, 0, 5 * STEP, 3));
	expect_lost(rig, ALL, 0);
	put(rig, 0, 4);
	expect_io_good(submit_write(rig, a + 7 * STEP, 5 * STEP, 3));
	expect_lost(rig, ALL, 0);
	expect_data(rig->dev, 0, STEP, 4);
	rig_close(rig);
}

static void smaller_cache_keeps_the_newest(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		put(rig, a + i * STEP, 2);
	rig_set(rig, &(struct memzbc_faults){ .cache = 3 * STEP * 512 });
	expect_lost(rig, 1, 1);
	put(rig, a + 9 * STEP, 2);
	put(rig, 0, 2);
	rig_set(rig, &(struct memzbc_faults){ 0 });
	expect_lost(rig, ALL, 0);
	rig_set(rig, &(struct memzbc_faults){ .cache = CACHE });
	expect_lost(rig, ALL, 0);
	expect_zone(rig->dev, a, ZONE_CLOSED, a + 10 * STEP);
	rig_close(rig);
}

static void finish_and_reset_are_durable(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1), end = b;

	(void)state;
	put(rig, a, 2);
	put(rig, b, 2);
	put(rig, 0, 2);
	expect_io_good(submit_zone(rig, SA_FINISH_ZONE, a));
	expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, b));
	put(rig, b, 3);
	expect_lost(rig, ALL, 2);
	expect_zone(rig->dev, a, ZONE_FULL, end);
	expect_data(rig->dev, a, STEP, 2);
	expect_zone(rig->dev, b, ZONE_EMPTY, b);
	expect_data(rig->dev, 0, STEP, GENERATION_BEFORE);
	rig_close(rig);
}

static void zone_management_of_several_zones_is_durable(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1), c = rig_zone(rig, 2);

	(void)state;
	put(rig, a, 2);
	put(rig, b, 2);
	put(rig, c, 2);
	expect_io_good(submit(rig, cdb_zone_count(SA_FINISH_ZONE, a, 2), NULL, 0));
	expect_lost(rig, ALL, 1);
	expect_zone(rig->dev, b, ZONE_FULL, c);
	put(rig, c, 2);
	put(rig, 0, 2);
	expect_io_good(submit(rig, cdb_zone_all(SA_RESET_WRITE_POINTER), NULL, 0));
	expect_lost(rig, ALL, 1);
	expect_zone(rig->dev, c, ZONE_EMPTY, c);
	rig_close(rig);
}

static void open_zones_are_closed(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0), b = rig_zone(rig, 1), c = rig_zone(rig, 2);

	(void)state;
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, a));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, b));
	put(rig, b, 2);
	synchronize(rig, SYNCHRONIZE_CACHE_10, 0, 0);
	put(rig, b + STEP, 2);
	for (uint64_t i = 0; i < 2048; i += 64)
		expect_io_good(submit_write(rig, c + i, 64, 2));
	expect_zone(rig->dev, c, ZONE_FULL, c + 2048);
	memzbc_device_power_loss(rig->device, 1);
	expect_zone(rig->dev, a, ZONE_EMPTY, a);
	expect_zone(rig->dev, b, ZONE_CLOSED, b + 2 * STEP);
	expect_zone(rig->dev, c, ZONE_CLOSED, c + 2048 - 64);
	/* Without a cache, too. */
	rig_set(rig, &(struct memzbc_faults){ 0 });
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, b));
	expect_lost(rig, ALL, 0);
	expect_zone(rig->dev, b, ZONE_CLOSED, b + 2 * STEP);
	rig_close(rig);
}

static void set_zone_is_durable(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);
	char reason[MEMZBC_REASON_SIZE];

	(void)state;
	put(rig, a, 2);
	put(rig, a + STEP, 2);
	put(rig, 0, 2);
	put(rig, 2048, 2);
	expect_eq(rig->dev, memzbc_device_set_zone(rig->device, 2, MEMZBC_ZONE_OFFLINE,
						   MEMZBC_POINTER_KEPT, reason), 0);
	expect_eq(rig->dev, memzbc_device_set_zone(rig->device, 0, MEMZBC_ZONE_READ_ONLY,
						   MEMZBC_POINTER_KEPT, reason), 0);
	expect_lost(rig, ALL, 1);
	expect_zone(rig->dev, a, ZONE_OFFLINE, NO_WRITE_POINTER);
	expect_data(rig->dev, 0, STEP, 2);
	expect_data(rig->dev, 2048, STEP, 0);
	rig_close(rig);
}

static void part_of_a_write_vanishes(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	const struct memzbc_error_rule rule = rig_rule((struct memzbc_error_rule){
		.kind = MEMZBC_ERROR_PARTIAL, .classes = 1u << MEMZBC_CLASS_WRITE, .blocks = STEP,
	});
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	rig_set(rig, &(struct memzbc_faults){ .cache = CACHE, .error_rules = 1,
					      .error = { rule } });
	expect_io_info(submit_write(rig, a, 4 * STEP, 2), MEDIUM_ERROR, ASC_WRITE_ERROR, a + STEP);
	expect_io_info(submit_write(rig, 0, 4 * STEP, 2), MEDIUM_ERROR, ASC_WRITE_ERROR, STEP);
	expect_data(rig->dev, 0, STEP, 2);
	expect_lost(rig, ALL, 2);
	expect_zone(rig->dev, a, ZONE_EMPTY, a);
	expect_data(rig->dev, 0, 4 * STEP, GENERATION_BEFORE);
	rig_close(rig);
}

static void failed_and_empty_writes_are_none(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);

	(void)state;
	expect_unaligned(submit_write(rig, a + STEP, STEP, 2), a);
	expect_io_good(submit_write(rig, a, 0, 2));
	expect_io_good(submit_write(rig, 0, 0, 2));
	expect_io_sense(submit_write(rig, rig->dev->capacity, STEP, 2), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_lost(rig, ALL, 0);
	rig_close(rig);
}

/* Nothing is read, nor memory taken, for what is refused, however long it says it is. */
static void refused_write_costs_nothing(void **state)
{
	/* A conventional zone of 8 TiB, and a sequential one. */
	static const struct geo geo = {
		.name = "16T", .lba_size = 4096, .pblk_size = 4096, .zone_size = 1ull << 31,
		.zone_cap = 1ull << 31, .capacity = 1ull << 32, .conv = 1,
	};
	struct rig *rig = rig_open(&geo, &(struct memzbc_faults){ .cache = UINT64_MAX });
	uint8_t block[4096] = { 1 };

	(void)state;
	expect_io_sense(submit(rig, cdb_lba(WRITE_16, 0, 1u << 30), block, sizeof(block)),
			HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
	expect_io_sense(submit(rig, cdb_lba(WRITE_SAME_16, 0, 1u << 30), block, sizeof(block)),
			ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	expect_lost(rig, ALL, 0);
	rig_close(rig);
}

/* A write that waits above the pointer goes on waiting, and comes to its end. */
static void held_write_outlives_the_loss(void **state)
{
	struct rig *rig = open_with_cache(CACHE);
	uint64_t a = rig_zone(rig, 0);
	struct io *io;

	(void)state;
	rig_set(rig, &(struct memzbc_faults){ .cache = CACHE, .hold = 4, .hold_time = SECOND });
	put(rig, a, 2);
	io = submit_write(rig, a + 2 * STEP, STEP, 2);
	expect_lost(rig, ALL, 1);
	expect_pending(io);
	put(rig, a, 2);
	put(rig, a + STEP, 2);
	expect_io_good(io);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_pointers_go_back),
		cmocka_unit_test(newest_vanish_first),
		cmocka_unit_test(many_writes_are_remembered),
		cmocka_unit_test(what_was_before_the_cache_stays),
		cmocka_unit_test(synchronize_cache_keeps_all),
		cmocka_unit_test(synchronize_cache_keeps_a_range),
		cmocka_unit_test(fua_keeps_its_zone),
		cmocka_unit_test(every_write_command_has_fua),
		cmocka_unit_test(fua_keeps_its_blocks),
		cmocka_unit_test(overwritten_write_with_fua_is_none_to_lose),
		cmocka_unit_test(unwritten_blocks_come_back_as_such),
		cmocka_unit_test(without_wce_nothing_is_volatile),
		cmocka_unit_test(stop_writes_the_cache),
		cmocka_unit_test(full_cache_writes_the_oldest),
		cmocka_unit_test(smaller_cache_keeps_the_newest),
		cmocka_unit_test(finish_and_reset_are_durable),
		cmocka_unit_test(zone_management_of_several_zones_is_durable),
		cmocka_unit_test(open_zones_are_closed),
		cmocka_unit_test(set_zone_is_durable),
		cmocka_unit_test(part_of_a_write_vanishes),
		cmocka_unit_test(failed_and_empty_writes_are_none),
		cmocka_unit_test(refused_write_costs_nothing),
		cmocka_unit_test(held_write_outlives_the_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

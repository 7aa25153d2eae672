// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * hold: how a write ends whose turn does not come: its time or attempts run out, the zone changes,
 * or it could never have succeeded.
 */
#include <memzbc/operate.h>

#include "fault-harness.h"


/* At the deadline, neither earlier nor later, and with the write pointer of then. */
static void times_out(void **state)
{
	struct rig *rig = rig_open_holding(8, 30 * MS);
	uint64_t zone = rig_zone(rig, 3), start = rig->now;
	struct io *first, *second, *other;

	(void)state;
	first = submit_write(rig, zone + 5 * STEP, STEP, 1);
	rig_run_for(rig, 10 * MS);
	second = submit_write(rig, zone + 3 * STEP, STEP, 1);
	other = submit_write(rig, rig_zone(rig, 4) + STEP, STEP, 1);
	rig_run_until(rig, start + 30 * MS - 1);
	expect_pending(first);
	rig_run_until(rig, start + 30 * MS);
	expect_unaligned(first, zone);
	expect_at(first, start + 30 * MS);
	expect_pending(second);
	expect_io_good(submit_write(rig, zone, 2 * STEP, 1));
	expect_pending(second);
	rig_run(rig);
	expect_unaligned(second, zone + 2 * STEP);
	expect_at(second, start + 40 * MS);
	expect_unaligned(other, rig_zone(rig, 4));
	expect_at(other, start + 40 * MS);
	expect_zone(rig->dev, zone, ZONE_IMP_OPEN, zone + 2 * STEP);
	expect_data(rig->dev, zone + 3 * STEP, STEP, 0);
	rig_close(rig);
}

/* The pointer arrives in the last moment. */
static void just_in_time(void **state)
{
	struct rig *rig = rig_open_holding(8, 30 * MS);
	uint64_t zone = rig_zone(rig, 0);
	struct io *kept = submit_write(rig, zone + STEP, STEP, 2);

	(void)state;
	rig_run_for(rig, 30 * MS - 1);
	expect_io_good(submit_write(rig, zone, STEP, 1));
	expect_io_good(kept);
	expect_at(kept, rig->now);
	expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
	rig_close(rig);
}

/* Attempts: so many writes executed in the zone, none of which brought the pointer there. */
static void attempts_run_out(void **state)
{
	(void)state;
	for (uint32_t attempts = 1; attempts <= 5; attempts++) {
		const struct memzbc_faults faults = {
			.hold = 8, .hold_time = HOUR, .hold_attempts = attempts,
		};
		struct rig *rig = rig_open(&rig_geo_gaps, &faults);
		uint64_t zone = rig_zone(rig, 0), wp = zone;
		struct io *kept = submit_write(rig, zone + 10 * STEP, STEP, 1);

		for (uint32_t i = 1; i <= attempts; i++) {
			expect_pending(kept);
			expect_io_good(submit_write(rig, wp, STEP, 1));
			wp += STEP;
		}
		expect_unaligned(kept, wp);
		expect_at(kept, rig->now);
		rig_close(rig);
	}
}

/* Nothing but writes of the zone is an attempt. */
static void what_is_no_attempt(void **state)
{
	const struct memzbc_faults faults = { .hold = 8, .hold_time = HOUR, .hold_attempts = 1 };
	struct rig *rig = rig_open(&rig_geo_gaps, &faults);
	uint64_t zone = rig_zone(rig, 1), capacity = rig_geo_gaps.capacity;
	struct io *kept = submit_write(rig, zone + STEP, STEP, 2);

	(void)state;
	expect_io_good(submit_write(rig, 0, STEP, 1));
	expect_io_good(submit_write(rig, rig_zone(rig, 0), STEP, 1));
	expect_io_good(submit_write(rig, rig_zone(rig, 2), STEP, 1));
	expect_io_good(submit_read(rig, zone, STEP));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_io_good(submit_zone(rig, SA_CLOSE_ZONE, zone));
	expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	expect_io_good(submit(rig, cdb_zone_all(SA_CLOSE_ZONE), NULL, 0));
	expect_io_sense(submit_write(rig, zone + rig_geo_gaps.zone_cap, STEP, 1), ILLEGAL_REQUEST,
			ASC_GAP_ZONE);
	expect_io_sense(submit_write(rig, capacity, STEP, 1), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_io_sense(submit_write(rig, capacity + 99, STEP, 1), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_pending(kept);
	expect_io_good(submit_write(rig, zone, STEP, 1));
	expect_io_good(kept);
	rig_close(rig);
}

/* The attempts of a chain: a write that was kept and succeeds is one for those behind it. */
static void attempts_of_a_chain(void **state)
{
	const struct memzbc_faults faults = { .hold = 8, .hold_time = HOUR, .hold_attempts = 3 };
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t zone = rig_zone(rig, 0);
	struct io *ios[6];

	(void)state;
	for (uint32_t i = 1; i < 6; i++)
		ios[i] = submit_write(rig, zone + i * STEP, STEP, i);
	ios[0] = submit_write(rig, zone, STEP, 9);
	for (uint32_t i = 0; i < 4; i++)
		expect_io_good(ios[i]);
	io_status(ios[4]);
	io_status(ios[5]);
	rig_close(rig);
}

/* The pointer goes past the start of a write that is kept: there is nothing left to wait for. */
static void pointer_passes(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 0);
	struct io *inside = submit_write(rig, zone + 2 * STEP, 2 * STEP, 1);
	struct io *below = submit_write(rig, zone + STEP, STEP, 1);
	struct io *at = submit_write(rig, zone + 3 * STEP, STEP, 2);

	(void)state;
	expect_io_good(submit_write(rig, zone, 3 * STEP, 3));
	expect_unaligned(inside, zone + 3 * STEP);
	expect_unaligned(below, zone + 3 * STEP);
	expect_io_good(at);
	expect_data(rig->dev, zone, 3 * STEP, 3);
	expect_data(rig->dev, zone + 3 * STEP, STEP, 2);
	rig_close(rig);
}

/* The same write twice: one of them is late. */
static void twice(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 0);
	struct io *first = submit_write(rig, zone + STEP, STEP, 1);
	struct io *second = submit_write(rig, zone + STEP, STEP, 2);

	(void)state;
	expect_io_good(submit_write(rig, zone, STEP, 3));
	expect_io_good(first);
	expect_unaligned(second, zone + 2 * STEP);
	expect_data(rig->dev, zone + STEP, STEP, 1);
	rig_close(rig);
}

/* After a RESET the pointer may still arrive. */
static void reset_meanwhile(void **state)
{
	struct rig *rig = rig_open_holding(4, 30 * MS);
	uint64_t zone = rig_zone(rig, 0);
	struct io *near, *far;

	(void)state;
	expect_io_good(submit_write(rig, zone, 2 * STEP, 1));
	near = submit_write(rig, zone + 3 * STEP, STEP, 2);
	far = submit_write(rig, zone + 9 * STEP, STEP, 2);
	expect_io_good(submit_zone(rig, SA_RESET_WRITE_POINTER, zone));
	expect_io_good(submit_write(rig, zone, 3 * STEP, 3));
	expect_io_good(near);
	expect_io_good(submit(rig, cdb_zone_all(SA_RESET_WRITE_POINTER), NULL, 0));
	rig_run(rig);
	expect_unaligned(far, zone);
	expect_at(far, far->submitted + 30 * MS);
	rig_close(rig);
}

/* FINISH in its three forms: a FULL zone takes no write, now or later. */
static void finish_meanwhile(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 1);
	const struct cdb finishes[] = {
		cdb_zone(SA_FINISH_ZONE, zone),
		cdb_zone_all(SA_FINISH_ZONE),
		cdb_zone_count(SA_FINISH_ZONE, rig_zone(rig, 0), 2),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(finishes); i++) {
		struct io *kept, *other;

		expect_io_good(submit_write(rig, zone, STEP, 1));
		kept = submit_write(rig, zone + 2 * STEP, STEP, 1);
		other = submit_write(rig, rig_zone(rig, 2) + STEP, STEP, 1);
		expect_pending(kept);
		expect_io_good(submit(rig, finishes[i], NULL, 0));
		expect_io_sense(kept, ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
		expect_at(kept, rig->now);
		expect_pending(other);
		rig_drain(rig);
		expect_good(rig->dev, zone_action_all(rig->dev, SA_RESET_WRITE_POINTER));
	}
	rig_close(rig);
}

/* The zone fails, or is changed by an operator: those who wait are told at once. */
static const struct change {
	enum memzbc_zone_change change;
	uint64_t pointer;
	uint8_t key;		/* 0: the write succeeds */
	uint16_t asc;
} changes[] = {
	{ MEMZBC_ZONE_OFFLINE, MEMZBC_POINTER_KEPT, DATA_PROTECT, ASC_ZONE_OFFLINE },
	{ MEMZBC_ZONE_READ_ONLY, MEMZBC_POINTER_KEPT, DATA_PROTECT, ASC_ZONE_READ_ONLY },
	{ MEMZBC_ZONE_FULL, MEMZBC_POINTER_KEPT, ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB },
	{ MEMZBC_ZONE_POINTER, 2 * STEP, 0, 0 },
	{ MEMZBC_ZONE_CLOSED, 2 * STEP, 0, 0 },
	{ MEMZBC_ZONE_POINTER, 3 * STEP, ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE },
};

static void zone_changes(void **state)
{
	char reason[MEMZBC_REASON_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		struct rig *rig = rig_open_holding(4, HOUR);
		uint64_t zone = rig_zone(rig, 0);
		struct io *kept = submit_write(rig, zone + 2 * STEP, STEP, 1);
		struct io *other = submit_write(rig, rig_zone(rig, 1) + 2 * STEP, STEP, 1);

		expect_eq(rig->dev, memzbc_device_set_zone(rig->device, rig_geo.conv, c->change,
							   c->pointer, reason), 0);
		if (c->key)
			expect_io_sense(kept, c->key, c->asc);
		else
			expect_io_good(kept);
		expect_at(kept, rig->now);
		expect_pending(other);
		rig_drain(rig);
		rig_close(rig);
	}
}

/* What can never succeed is not kept. */
static void in_vain(void **state)
{
	struct rig *rig = rig_open_holding(4, HOUR);
	uint64_t zone = rig_zone(rig, 0), end = zone + rig_geo.zone_cap;
	uint64_t finished = rig_zone(rig, 2);

	(void)state;
	expect_unaligned(submit_write(rig, zone + STEP, STEP - 1, 1), zone);
	expect_unaligned(submit_write(rig, zone + STEP, 1, 1), zone);
	expect_unaligned(submit_write(rig, zone + STEP + 1, STEP, 1), zone);
	expect_unaligned(submit_write(rig, zone + STEP + 1, STEP - 1, 1), zone);
	expect_unaligned(submit_write(rig, zone + STEP, 0, 1), zone);
	expect_io_info(submit_write(rig, end - STEP, 2 * STEP, 1), ILLEGAL_REQUEST,
		       ASC_WRITE_BOUNDARY, end);
	expect_io_info(submit_write(rig, rig_geo.capacity - STEP, 2 * STEP, 1), ILLEGAL_REQUEST,
		       ASC_LBA_OUT_OF_RANGE, rig_geo.capacity);
	expect_io_good(submit_write(rig, zone, 4 * STEP, 1));
	expect_unaligned(submit_write(rig, zone, STEP, 1), zone + 4 * STEP);
	expect_unaligned(submit_write(rig, zone + 3 * STEP, 2 * STEP, 1), zone + 4 * STEP);
	expect_good(rig->dev, zone_action(rig->dev, SA_FINISH_ZONE, finished));
	expect_io_sense(submit_write(rig, finished + STEP, STEP, 1), ILLEGAL_REQUEST,
			ASC_INVALID_FIELD_IN_CDB);
	/* Conventional zones have no write pointer. */
	expect_io_good(submit_write(rig, 5 * STEP, STEP, 1));
	expect_eq(rig->dev, memzbc_device_held(rig->device), 0);
	rig_close(rig);
}

/* Off, or drained: what is kept is executed at once, and meets the write pointer. */
static void let_go(void **state)
{
	(void)state;
	for (int drain = 0; drain < 2; drain++) {
		struct rig *rig = rig_open_holding(8, HOUR);
		uint64_t zone = rig_zone(rig, 0);
		struct io *kept[8];

		for (uint32_t i = 0; i < 8; i++)
			kept[i] = submit_write(rig, zone + (i + 1) * STEP, STEP, 1);
		if (drain)
			rig_drain(rig);
		else
			rig_set(rig, &(struct memzbc_faults){ .stats = true });
		for (uint32_t i = 0; i < 8; i++) {
			expect_unaligned(kept[i], zone);
			expect_at(kept[i], rig->now);
		}
		expect_unaligned(submit_write(rig, zone + STEP, drain ? 2 * STEP - 1 : STEP, 1),
				 zone);
		rig_close(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_out),
		cmocka_unit_test(just_in_time),
		cmocka_unit_test(attempts_run_out),
		cmocka_unit_test(what_is_no_attempt),
		cmocka_unit_test(attempts_of_a_chain),
		cmocka_unit_test(pointer_passes),
		cmocka_unit_test(twice),
		cmocka_unit_test(reset_meanwhile),
		cmocka_unit_test(finish_meanwhile),
		cmocka_unit_test(zone_changes),
		cmocka_unit_test(in_vain),
		cmocka_unit_test(let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * delay, rate and seek: a command is executed when it arrives, and answered later; the answers of
 * many commands overlap.
 */
#include "fault-harness.h"

#define LINE SECOND		/* bytes per second: one byte takes one nanosecond */

static const struct memzbc_faults by_class = {
	.delay = {
		[MEMZBC_CLASS_READ] = 3 * MS, [MEMZBC_CLASS_WRITE] = 5 * MS,
		[MEMZBC_CLASS_ZONE] = 70 * MS, [MEMZBC_CLASS_SYNC] = 11 * MS,
		[MEMZBC_CLASS_OTHER] = 100 * US,
	},
};

/* A command of each kind, which is GOOD on a fresh LUN. */
static const struct {
	struct cdb cdb;
	enum memzbc_class class;
	size_t len;		/* Data-In, or Data-Out if @out */
	bool out;
} commands[] = {
	{ { .b = { READ_6, 0, 0, 0, 1 } }, MEMZBC_CLASS_READ, 512, false },
	{ { .b = { READ_10, 0, 0, 0, 0, 0, 0, 0, 1 } }, MEMZBC_CLASS_READ, 512, false },
	{ { .b = { [0] = READ_12, [9] = 1 } }, MEMZBC_CLASS_READ, 512, false },
	{ { .b = { [0] = READ_16, [13] = 1 } }, MEMZBC_CLASS_READ, 512, false },
	{ { .b = { [0] = VERIFY_10, [8] = 1 } }, MEMZBC_CLASS_READ, 0, false },
	{ { .b = { [0] = VERIFY_12, [9] = 1 } }, MEMZBC_CLASS_READ, 0, false },
	{ { .b = { [0] = VERIFY_16, [13] = 1 } }, MEMZBC_CLASS_READ, 0, false },
	{ { .b = { WRITE_6, 0, 0, 0, 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = WRITE_10, [8] = 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = WRITE_12, [9] = 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = WRITE_16, [13] = 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = WRITE_SAME_10, [8] = 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = WRITE_SAME_16, [13] = 1 } }, MEMZBC_CLASS_WRITE, 512, true },
	{ { .b = { [0] = ZBC_OUT, [1] = SA_OPEN_ZONE, [8] = 0x10 } }, MEMZBC_CLASS_ZONE, 0, false },
	{ { .b = { [0] = ZBC_OUT, [1] = SA_CLOSE_ZONE, [14] = 1 } }, MEMZBC_CLASS_ZONE, 0, false },
	{ { .b = { [0] = ZBC_OUT, [1] = SA_FINISH_ZONE, [8] = 0x10 } }, MEMZBC_CLASS_ZONE, 0,
	  false },
	{ { .b = { [0] = ZBC_OUT, [1] = SA_RESET_WRITE_POINTER, [14] = 1 } }, MEMZBC_CLASS_ZONE, 0,
	  false },
	{ { .b = { [0] = SYNCHRONIZE_CACHE_10 } }, MEMZBC_CLASS_SYNC, 0, false },
	{ { .b = { [0] = SYNCHRONIZE_CACHE_16 } }, MEMZBC_CLASS_SYNC, 0, false },
	{ { .b = { TEST_UNIT_READY } }, MEMZBC_CLASS_OTHER, 0, false },
	{ { .b = { INQUIRY, 0, 0, 0, 36 } }, MEMZBC_CLASS_OTHER, 36, false },
	{ { .b = { READ_CAPACITY_10 } }, MEMZBC_CLASS_OTHER, 8, false },
	{ { .b = { [0] = ZBC_IN, [12] = 0x10, [14] = REPORT_PARTIAL } }, MEMZBC_CLASS_OTHER, 4096,
	  false },
};

static struct io *submit_command(struct rig *rig, size_t i)
{
	static const uint8_t zeros[512];

	return submit(rig, commands[i].cdb, commands[i].out ? zeros : NULL, commands[i].len);
}

static void each_class(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		uint64_t ns = by_class.delay[commands[i].class], start = rig->now;
		struct io *io = submit_command(rig, i);

		expect_eq(rig->dev, rig->armed, start + ns);
		rig_run_until(rig, start + ns - 1);
		expect_pending(io);
		rig_run_until(rig, start + ns);
		expect_io_good(io);
		expect_at(io, start + ns);
	}
	rig_close(rig);
}

/* A delay of one class is none of the others'. */
static void one_class(void **state)
{
	(void)state;
	for (int class = 0; class < MEMZBC_CLASSES; class++) {
		struct memzbc_faults faults = { .delay = { 0 } };
		struct rig *rig;

		faults.delay[class] = 9 * MS;
		rig = rig_open(&rig_geo, &faults);
		for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
			struct io *io = submit_command(rig, i);
			uint64_t start = rig->now;

			if ((int)commands[i].class == class)
				rig_run(rig);
			expect_io_good(io);
			expect_at(io, (int)commands[i].class == class ? start + 9 * MS : start);
		}
		rig_close(rig);
	}
}

/* The execution is part of the delay: a command takes that long from its arrival. */
static void from_arrival(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);

	(void)state;
	rig->step = 10 * US;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		uint64_t arrival = rig->now + rig->step;

		submit_command(rig, i);
		expect_eq(rig->dev, rig->armed, arrival + by_class.delay[commands[i].class]);
		rig_run(rig);
	}
	rig->step = 0;
	rig_close(rig);
}

/* What was kept before has its delay from then on, and that again is no time of the stage's. */
static void after_hold(void **state)
{
	const struct memzbc_faults faults = {
		.hold = 1, .hold_time = SECOND,
		.delay = { [MEMZBC_CLASS_WRITE] = 5 * MS },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t start = rig->now, zone = rig_zone(rig, 0);
	struct io *held, *first;

	(void)state;
	held = submit_write(rig, zone + STEP, STEP, 2);
	rig_run_until(rig, start + 100 * MS);
	first = submit_write(rig, zone, STEP, 1);
	rig_run(rig);
	expect_io_good(first);
	expect_at(first, start + 105 * MS);
	expect_io_good(held);
	expect_at(held, start + 105 * MS);
	rig_close(rig);
}

/* All at once: nothing waits for another's delay. */
static void overlap(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);
	uint64_t start = rig->now, zone = rig_zone(rig, 0);
	struct io *ios[64];

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		ios[i] = submit_write(rig, zone + i * STEP, STEP, i + 1);
	expect_eq(rig->dev, memzbc_device_held(rig->device), 64);
	rig_run_until(rig, start + 5 * MS - 1);
	expect_eq(rig->dev, memzbc_device_held(rig->device), 64);
	rig_run_until(rig, start + 5 * MS);
	for (uint32_t i = 0; i < 64; i++) {
		expect_io_good(ios[i]);
		expect_at(ios[i], start + 5 * MS);
		expect_eq(rig->dev, ios[i]->order, i + 1);
	}
	rig_close(rig);
}

/* With a depth of 16 and 5 ms, 3,200 commands take one second. */
static void throughput(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);
	uint64_t start = rig->now;
	uint32_t sent = 0;

	(void)state;
	while (rig->completed < 3200) {
		while (sent < 3200 && memzbc_device_held(rig->device) < 16)
			submit_write(rig, sent++ % 100 * STEP, STEP, 1);
		rig_run_until(rig, rig->armed);
	}
	expect_eq(rig->dev, rig->now, start + SECOND);
	rig_close(rig);
}

/* Executed on arrival: who looks sees it before the answer. */
static void visible_at_once(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);
	uint64_t zone = rig_zone(rig, 0);
	struct io *write = submit_write(rig, zone, STEP, 4), *read, *next;

	(void)state;
	expect_pending(write);
	expect_data(rig->dev, zone, STEP, 4);
	expect_zone(rig->dev, zone, ZONE_IMP_OPEN, zone + STEP);
	next = submit_write(rig, zone + STEP, STEP, 5);
	read = submit_read(rig, zone, STEP);
	rig_run(rig);
	expect_io_good(write);
	expect_io_good(next);
	expect_io_good(read);
	expect_order(read, write);
	assert_memory_equal(read->data, write->data, write->len);
	rig_close(rig);
}

/* What a READ returns is what was there when it arrived. */
static void read_of_then(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);
	struct io *before = submit_write(rig, 0, STEP, 1), *read = submit_read(rig, 0, STEP);

	(void)state;
	submit_write(rig, 0, STEP, 2);
	rig_run(rig);
	expect_io_good(read);
	assert_memory_equal(read->data, before->data, before->len);
	expect_data(rig->dev, 0, STEP, 2);
	rig_close(rig);
}

/* By deadline, then by arrival. */
static void completion_order(void **state)
{
	const struct memzbc_faults faults = {
		.delay = {
			[MEMZBC_CLASS_READ] = 2 * MS, [MEMZBC_CLASS_WRITE] = 5 * MS,
			[MEMZBC_CLASS_SYNC] = 1 * MS,
		},
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *write = submit_write(rig, 0, STEP, 1);
	struct io *read, *same, *sync, *other;

	(void)state;
	rig_run_for(rig, 3 * MS);
	read = submit_read(rig, 0, STEP);	/* due with the write */
	same = submit_read(rig, 0, STEP);
	sync = submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 0), NULL, 0);
	other = submit(rig, (struct cdb){ .b = { TEST_UNIT_READY } }, NULL, 0);
	rig_run(rig);
	expect_order(other, sync);
	expect_order(sync, write);
	expect_order(write, read);
	expect_order(read, same);
	rig_close(rig);
}

/* Many of many lengths, in random order of deadlines. */
static void random_delays(void **state)
{
	struct memzbc_faults faults = { .delay = { 0 } };
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t due[500];
	struct io *ios[500];

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		faults.delay[MEMZBC_CLASS_READ] = 1 + random_below(20 * MS);
		rig_set(rig, &faults);
		ios[i] = submit_read(rig, 0, 1);
		due[i] = rig->now + faults.delay[MEMZBC_CLASS_READ];
		if (random_below(2))
			rig_run_for(rig, random_below(100 * US));
	}
	rig_run(rig);
	for (uint32_t i = 0; i < 500; i++) {
		expect_io_good(ios[i]);
		expect_at(ios[i], due[i]);
	}
	rig_close(rig);
}

/* rate: bytes, of each command by itself, on top of the delay. */
static void rate(void **state)
{
	static const struct {
		uint64_t delay, rate, blocks, ns;	/* blocks of 512 bytes */
	} cases[] = {
		{ 0, LINE, 1, 512 },
		{ 0, LINE, 64, 64 * 512 },
		{ 2 * MS, LINE, 64, 2 * MS + 64 * 512 },
		{ 0, 1000000, 8, 4096 * US },
		{ 1 * MS, 1000000, 1000, 1 * MS + 512000 * US },
		{ 0, 512, 1, SECOND },
		{ 0, 100ull << 30, 8, 38 },	/* 38.1 ns */
		{ 3 * MS, LINE, 0, 3 * MS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memzbc_faults faults = { .rate = cases[i].rate };
		struct rig *rig;
		struct io *read, *write;
		uint64_t start;

		faults.delay[MEMZBC_CLASS_READ] = cases[i].delay;
		faults.delay[MEMZBC_CLASS_WRITE] = cases[i].delay;
		rig = rig_open(&rig_geo, &faults);
		start = rig->now;
		read = submit_read(rig, 3, cases[i].blocks);
		write = submit_write(rig, 3, cases[i].blocks, 1);
		rig_run(rig);
		expect_io_good(read);
		expect_io_good(write);
		expect_at(read, start + cases[i].ns);
		expect_at(write, start + cases[i].ns);
		rig_close(rig);
	}
}

/* No answer takes longer than 25 s, also where the time in nanoseconds exceeds 64 bits. */
static void longest(void **state)
{
	static const struct geo geo = {
		.name = "4T", .lba_size = 512, .pblk_size = 512, .zone_size = 1ull << 32,
		.zone_cap = 1ull << 32, .capacity = 1ull << 33, .conv = 1,
	};
	static const uint32_t lengths[] = { 24, 48, 49, 1000, 1873497445, UINT32_MAX };
	struct rig *rig = rig_open(&geo, &(struct memzbc_faults){ .rate = 512 });

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint64_t seconds = lengths[i] < 25 ? lengths[i] : 25;
		struct io *io = submit(rig, cdb_lba(VERIFY_16, 0, lengths[i]), NULL, 0);

		rig_run(rig);
		expect_io_good(io);
		expect_at(io, io->submitted + seconds * SECOND);
	}
	rig_set(rig, &(struct memzbc_faults){ .rate = 1 });
	for (size_t i = 1; i < ARRAY_SIZE(lengths); i++) {
		struct io *io = submit(rig, cdb_lba(VERIFY_16, 0, lengths[i]), NULL, 0);

		rig_run(rig);
		expect_at(io, io->submitted + 25 * SECOND);
	}
	rig_close(rig);
}

/* Blocks that are not moved take no time: not of other commands, nor of those that are refused. */
static void no_bytes_no_time(void **state)
{
	const struct memzbc_faults faults = { .rate = 512, .seek = SECOND };
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t zone = rig_zone(rig, 0);

	(void)state;
	expect_io_good(submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 100), NULL, 0));
	expect_io_good(submit_zone(rig, SA_OPEN_ZONE, zone));
	expect_io_good(submit(rig, cdb_report_zones(0, REPORT_PARTIAL, 4096), NULL, 4096));
	expect_unaligned(submit_write(rig, zone + STEP, STEP, 1), zone);
	expect_io_sense(submit_read(rig, rig_geo.capacity - 1, 2), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_io_sense(submit(rig, cdb_lba(READ_16, 0, UINT32_MAX), NULL, 0), ILLEGAL_REQUEST,
			ASC_LBA_OUT_OF_RANGE);
	expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
	rig_close(rig);
}

/* How long a READ at @lba takes when the one before ended at @from, which is not 0. */
static uint64_t seek_between(struct rig *rig, uint64_t from, uint64_t lba)
{
	struct io *io;

	submit_read(rig, from - 1, 1);
	rig_run(rig);
	io = submit_read(rig, lba, 1);
	rig_run(rig);
	expect_io_good(io);
	return io->completed - io->submitted;
}

static void seek(void **state)
{
	const uint64_t across = 20 * MS, capacity = rig_geo.capacity;
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ .seek = across });
	uint64_t before = 0, middle = capacity / 2;

	(void)state;
	expect_eq(rig->dev, seek_between(rig, middle, middle), 0);
	for (uint64_t distance = 1; distance < capacity - 1; distance = distance * 3 / 2 + 1) {
		uint64_t ns = seek_between(rig, 1, 1 + distance);

		expect_true(rig->dev, ns > before && ns <= across);
		expect_eq(rig->dev, seek_between(rig, 1 + distance, 1), ns);
		before = ns;
	}
	expect_eq(rig->dev, seek_between(rig, capacity, 0), across);
	/* Further than half of the way takes more than half of the time, and less than all. */
	before = seek_between(rig, capacity, middle);
	expect_true(rig->dev, before >= across / 2 && before < across);
	rig_close(rig);
}

/* Sequential commands do not seek, and seeking adds to the rest. */
static void seek_adds(void **state)
{
	const struct memzbc_faults faults = {
		.delay = { [MEMZBC_CLASS_READ] = 1 * MS, [MEMZBC_CLASS_WRITE] = 2 * MS },
		.rate = LINE, .seek = 20 * MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	uint64_t capacity = rig_geo.capacity, zone = rig_zone(rig, 9);
	struct io *io;

	(void)state;
	submit_read(rig, capacity - STEP, STEP);
	rig_run(rig);
	io = submit_read(rig, 0, STEP);
	rig_run(rig);
	expect_at(io, io->submitted + 1 * MS + STEP * 512 + 20 * MS);
	for (uint32_t i = 1; i < 10; i++) {
		io = submit_read(rig, i * STEP, STEP);
		rig_run(rig);
		expect_at(io, io->submitted + 1 * MS + STEP * 512);
	}
	/* Whoever is refused does not move the arm. */
	io = submit_write(rig, zone + STEP, STEP, 1);
	rig_run(rig);
	expect_unaligned(io, zone);
	io = submit_write(rig, 10 * STEP, STEP, 1);
	rig_run(rig);
	expect_at(io, io->submitted + 2 * MS + STEP * 512);
	rig_close(rig);
}

static void no_seek_by_default(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);

	(void)state;
	expect_eq(rig->dev, seek_between(rig, rig_geo.capacity, 0), 3 * MS);
	expect_eq(rig->dev, seek_between(rig, 1, 1), 3 * MS);
	rig_close(rig);
}

/* An error is delayed as any answer of its class. */
static void errors_too(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &by_class);
	struct io *io = submit_write(rig, rig_zone(rig, 0) + STEP, STEP, 1);

	(void)state;
	rig_run(rig);
	expect_unaligned(io, rig_zone(rig, 0));
	expect_at(io, io->submitted + 5 * MS);
	rig_close(rig);
}

/* Switched off, and drained: the answers that wait go out at once. */
static void let_go(void **state)
{
	(void)state;
	for (int drain = 0; drain < 2; drain++) {
		struct rig *rig = rig_open(&rig_geo, &by_class);
		struct io *ios[20];

		for (uint32_t i = 0; i < 20; i++)
			ios[i] = submit_write(rig, i * STEP, STEP, 1);
		rig_run_for(rig, 1 * MS);
		if (drain)
			rig_drain(rig);
		else
			rig_set(rig, &(struct memzbc_faults){ .stats = true });
		for (uint32_t i = 0; i < 20; i++) {
			expect_io_good(ios[i]);
			expect_at(ios[i], rig->now);
		}
		expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
		rig_close(rig);
	}
}

/* Nothing on, or nothing but counting: no answer waits. */
static void no_delay(void **state)
{
	(void)state;
	for (int stats = 0; stats < 2; stats++) {
		struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ .stats = stats });

		for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
			expect_io_good(submit_command(rig, i));
		rig_close(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_class),
		cmocka_unit_test(one_class),
		cmocka_unit_test(from_arrival),
		cmocka_unit_test(after_hold),
		cmocka_unit_test(overlap),
		cmocka_unit_test(throughput),
		cmocka_unit_test(visible_at_once),
		cmocka_unit_test(read_of_then),
		cmocka_unit_test(completion_order),
		cmocka_unit_test(random_delays),
		cmocka_unit_test(rate),
		cmocka_unit_test(longest),
		cmocka_unit_test(no_bytes_no_time),
		cmocka_unit_test(seek),
		cmocka_unit_test(seek_adds),
		cmocka_unit_test(no_seek_by_default),
		cmocka_unit_test(errors_too),
		cmocka_unit_test(let_go),
		cmocka_unit_test(no_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

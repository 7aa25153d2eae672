// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Writes that were executed when the process died, but not acknowledged: the initiator sends them
 * again, in any order, below the write pointer.
 */
#include "harness.h"

#define BATCH 64
#define STEP 8			/* logical blocks of a write: one physical block */
#define ZONE 1024		/* logical blocks */
#define ZONE_WRITES (ZONE / STEP)
#define START (2 * ZONE)	/* of the zone that most tests write */

static struct dev *open_unit(void)
{
	struct dev *dev = dev_open("zone_size=512K/conv=2/lba=512/pblk=4096", 16 << 20, 512);

	dev->unacknowledged = true;
	return dev;
}

/* A write of the batch: number @i from @start on. */
static uint8_t write_number(struct dev *dev, uint64_t start, unsigned int i, uint32_t generation)
{
	return write_blocks(dev, start + (uint64_t)i * STEP, STEP, generation);
}

/* What a child executes in the zone at @start: @acknowledged of the writes, then the others. */
struct batch {
	uint64_t start;
	unsigned int first, acknowledged, count;
	uint32_t generation;
};

static void execute_batch(struct dev *dev, void *arg)
{
	const struct batch *b = arg;

	for (unsigned int i = 0; i < b->count; i++) {
		expect_good(dev, write_number(dev, b->start, b->first + i, b->generation));
		if (i + 1 == b->acknowledged)
			dev_acknowledge(dev);
	}
}

/* Kills a child that executed @b, and opens the LUN again. */
static void executed_and_killed(struct dev *dev, const struct batch *b)
{
	struct batch copy = *b;

	dev_killed(dev, execute_batch, &copy, 0);
	dev_start(dev);
}

/*
 * The numbers 0 to @count - 1: the first @executed of them shuffled, the others in order, but
 * mixed.
 */
static void resend_order(unsigned int *order, unsigned int executed, unsigned int count)
{
	unsigned int again[BATCH], next_again = 0, next_new = executed;

	for (unsigned int i = 0; i < executed; i++)
		again[i] = i;
	shuffle(again, executed);
	for (unsigned int i = 0; i < count; i++) {
		bool take_again = next_again < executed &&
				  (next_new == count || random_below(2));

		order[i] = take_again ? again[next_again++] : next_new++;
	}
}

static void expect_refused_again(struct dev *dev, uint64_t start, unsigned int first,
				 unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++)
		expect_sense(dev, write_number(dev, start, i, 99), ILLEGAL_REQUEST,
			     ASC_UNALIGNED_WRITE);
}

static void every_place_in_a_batch(void **state)
{
	(void)state;
	for (unsigned int executed = 0; executed <= BATCH; executed++) {
		struct dev *dev = open_unit();
		struct batch b = { .start = START, .count = executed, .generation = 1 };
		unsigned int order[BATCH];

		executed_and_killed(dev, &b);
		expect_zone(dev, START, executed ? ZONE_IMP_OPEN : ZONE_EMPTY,
			    START + executed * STEP);
		expect_data(dev, START, executed * STEP, 1);
		resend_order(order, executed, BATCH);
		for (unsigned int i = 0; i < BATCH; i++)
			expect_good(dev, write_number(dev, START, order[i], 1));
		dev_acknowledge(dev);
		expect_zone(dev, START, ZONE_IMP_OPEN, START + BATCH * STEP);
		expect_data(dev, START, BATCH * STEP, 1);
		expect_refused_again(dev, START, 0, BATCH);
		expect_data(dev, START, BATCH * STEP, 1);
		dev_close(dev);
	}
}

static void acknowledged_ones_are_not_taken(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .acknowledged = 40, .count = BATCH, .generation = 1 };

	(void)state;
	executed_and_killed(dev, &b);
	expect_refused_again(dev, START, 0, 40);
	for (unsigned int i = BATCH; i > 40; i--)
		expect_good(dev, write_number(dev, START, i - 1, 1));
	expect_refused_again(dev, START, 0, BATCH);
	expect_data(dev, START, BATCH * STEP, 1);
	dev_close(dev);
}

/* Answered in another order than executed: each by its receipt. */
static void acknowledge_every_third(struct dev *dev, void *arg)
{
	uint32_t receipts[BATCH];

	(void)arg;
	for (unsigned int i = 0; i < BATCH; i++) {
		expect_good(dev, write_number(dev, START, i, 1));
		receipts[i] = dev->receipt;
		expect_good(dev, write_blocks(dev, 0, 1, 1));	/* others are not counted */
		memzbc_lun_acknowledge(dev->lun, dev->receipt);
	}
	for (unsigned int i = BATCH; i > 0; i--)
		if ((i - 1) % 3 == 0)
			memzbc_lun_acknowledge(dev->lun, receipts[i - 1]);
}

static void acknowledged_one_by_one(void **state)
{
	struct dev *dev = open_unit();

	(void)state;
	dev_killed(dev, acknowledge_every_third, NULL, 0);
	dev_start(dev);
	for (unsigned int i = BATCH; i > 0; i--) {
		if ((i - 1) % 3 == 0)
			expect_refused_again(dev, START, i - 1, 1);
		else
			expect_good(dev, write_number(dev, START, i - 1, 1));
	}
	expect_refused_again(dev, START, 0, BATCH);
	dev_close(dev);
}

/* Without a reopen, the order rule is the only one. */
static void only_after_a_reopen(void **state)
{
	struct dev *dev = open_unit();

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		expect_good(dev, write_number(dev, START, i, 1));
	expect_refused_again(dev, START, 0, 10);
	/* A process that ends by itself without having acknowledged them is the same as a kill. */
	dev_reopen(dev);
	for (unsigned int i = 0; i < 10; i++)
		expect_good(dev, write_number(dev, START, i, 1));
	expect_refused_again(dev, START, 0, 10);
	dev_acknowledge(dev);
	dev_reopen(dev);
	expect_refused_again(dev, START, 0, 10);
	dev_close(dev);
}

static uint8_t write_same(struct dev *dev, uint64_t lba, uint32_t blocks)
{
	return run_none(dev, cdb_with(cdb_lba(WRITE_SAME_16, lba, blocks), 1, 1));
}

static void only_exact_repetitions(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 4, .generation = 1 };
	static const struct {
		int lba, blocks;
	} others[] = {
		{ 0, 1 }, { 0, STEP - 1 }, { 0, STEP + 1 }, { 0, 2 * STEP }, { 1, STEP },
		{ 1, STEP - 1 }, { STEP - 1, STEP }, { STEP, 2 * STEP }, { 0, 4 * STEP },
		{ 0, 0 }, { STEP, 0 }, { 4, STEP }, { 2 * STEP, 3 * STEP }, { 3 * STEP, 2 * STEP },
	};

	(void)state;
	executed_and_killed(dev, &b);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		expect_sense(dev, write_blocks(dev, START + (uint64_t)others[i].lba,
					       (uint64_t)others[i].blocks, 9),
			     ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_sense(dev, write_same(dev, START, STEP), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	/* At the same place of other zones, and above the write pointer */
	expect_sense(dev, write_blocks(dev, START + ZONE + STEP, STEP, 9), ILLEGAL_REQUEST,
		     ASC_UNALIGNED_WRITE);
	expect_sense(dev, write_number(dev, START, 5, 9), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_data(dev, START, 4 * STEP, 1);
	for (unsigned int i = 0; i < 4; i++)
		expect_good(dev, write_number(dev, START, i, 1));
	expect_zone(dev, START, ZONE_IMP_OPEN, START + 4 * STEP);
	dev_close(dev);
}

/* The initiator's memory may have changed since: what comes last counts. */
static void data_are_stored_again(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 4, .generation = 1 };

	(void)state;
	executed_and_killed(dev, &b);
	expect_good(dev, write_number(dev, START, 2, 8));
	expect_data(dev, START, 2 * STEP, 1);
	expect_data(dev, START + 2 * STEP, STEP, 8);
	expect_data(dev, START + 3 * STEP, STEP, 1);
	dev_close(dev);
}

/* New writes go on beside the resends, and these may still come later. */
static void others_need_not_wait(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 4, .generation = 1 };

	(void)state;
	executed_and_killed(dev, &b);
	for (unsigned int i = 4; i < 10; i++)
		expect_good(dev, write_number(dev, START, i, 1));
	dev_acknowledge(dev);
	expect_good(dev, zone_action(dev, SA_CLOSE_ZONE, START));
	expect_good(dev, write_number(dev, START, 3, 1));
	expect_zone(dev, START, ZONE_CLOSED, START + 10 * STEP);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, START));
	expect_good(dev, write_number(dev, START, 1, 1));
	expect_zone(dev, START, ZONE_FULL, START + ZONE);
	expect_sense(dev, write_number(dev, START, 1, 1), ILLEGAL_REQUEST,
		     ASC_INVALID_FIELD_IN_CDB);
	dev_close(dev);
}

static void check_reset_forgets(bool all)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 4, .generation = 1 };
	struct batch other = { .start = START + ZONE, .count = 4, .generation = 2 };

	executed_and_killed(dev, &b);
	executed_and_killed(dev, &other);
	if (all)
		expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	else
		expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, START));
	expect_refused_again(dev, START, 1, 3);
	for (unsigned int i = 0; i < 4; i++)
		expect_good(dev, write_number(dev, START, i, 3));
	expect_refused_again(dev, START, 0, 4);
	expect_data(dev, START, 4 * STEP, 3);
	if (all) {
		expect_zone(dev, START + ZONE, ZONE_EMPTY, START + ZONE);
		expect_refused_again(dev, START + ZONE, 1, 3);
	} else {
		for (unsigned int i = 4; i > 0; i--)
			expect_good(dev, write_number(dev, START + ZONE, i - 1, 2));
	}
	dev_close(dev);
}

static void reset_forgets(void **state)
{
	(void)state;
	check_reset_forgets(false);
	check_reset_forgets(true);
}

/* A RESET that was executed before the kill, with the writes after it. */
static void execute_reset(struct dev *dev, void *arg)
{
	const struct batch *b = arg;

	execute_batch(dev, arg);
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, b->start));
	expect_good(dev, write_number(dev, b->start, 0, b->generation + 1));
}

static void reset_before_the_kill(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 4, .generation = 1 };

	(void)state;
	dev_killed(dev, execute_reset, &b, 0);
	dev_start(dev);
	expect_refused_again(dev, START, 2, 2);
	expect_good(dev, write_number(dev, START, 0, 2));
	expect_refused_again(dev, START, 0, 1);
	expect_zone(dev, START, ZONE_IMP_OPEN, START + STEP);
	expect_data(dev, START, STEP, 2);
	expect_data(dev, START + STEP, ZONE - STEP, 0);
	dev_close(dev);
}

static void full_zone(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = ZONE_WRITES, .acknowledged = ZONE_WRITES - 64,
			   .generation = 1 };
	unsigned int order[BATCH];

	(void)state;
	executed_and_killed(dev, &b);
	expect_zone(dev, START, ZONE_FULL, START + ZONE);
	resend_order(order, BATCH, BATCH);
	for (unsigned int i = 0; i < BATCH; i++)
		expect_good(dev, write_number(dev, START, ZONE_WRITES - 64 + order[i], 1));
	expect_zone(dev, START, ZONE_FULL, START + ZONE);
	expect_data(dev, START, ZONE, 1);
	for (unsigned int i = 0; i < ZONE_WRITES; i++)
		expect_sense(dev, write_number(dev, START, i, 9), ILLEGAL_REQUEST,
			     ASC_INVALID_FIELD_IN_CDB);
	dev_close(dev);
}

static void finish_as_well(struct dev *dev, void *arg)
{
	const struct batch *b = arg;

	execute_batch(dev, arg);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, b->start));
}

static void finished_zone(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 8, .generation = 1 };

	(void)state;
	dev_killed(dev, finish_as_well, &b, 0);
	dev_start(dev);
	for (unsigned int i = 8; i > 0; i--)
		expect_good(dev, write_number(dev, START, i - 1, 1));
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, START));
	expect_zone(dev, START, ZONE_FULL, START + ZONE);
	expect_data(dev, START, 8 * STEP, 1);
	expect_data(dev, START + 8 * STEP, ZONE - 8 * STEP, 0);
	dev_close(dev);
}

/* No resource is needed, even if the zone was closed and others hold all. */
static void without_resources(void **state)
{
	struct dev *dev = dev_open("zone_size=512K/conv=2/lba=512/max_open=1", 16 << 20, 512);
	struct batch b = { .start = START, .count = 2, .generation = 1 };

	(void)state;
	dev->unacknowledged = true;
	executed_and_killed(dev, &b);
	expect_good(dev, zone_action(dev, SA_CLOSE_ZONE, START));
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, START + ZONE));
	expect_good(dev, write_number(dev, START, 1, 1));
	expect_good(dev, write_number(dev, START, 0, 1));
	expect_zone(dev, START, ZONE_CLOSED, START + 2 * STEP);
	dev_close(dev);
}

/* The second process, too, dies before it has acknowledged what it took. */
static void second_process(struct dev *dev, void *arg)
{
	const bool *acknowledge = arg;

	for (unsigned int i = 10; i > 0; i--)
		expect_good(dev, write_number(dev, START, i - 1, 1));
	if (*acknowledge)
		dev_acknowledge(dev);
	for (unsigned int i = 20; i < 30; i++)
		expect_good(dev, write_number(dev, START, i, 1));
}

static void check_two_kills(bool acknowledge)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 20, .generation = 1 };
	unsigned int order[30];

	dev_killed(dev, execute_batch, &b, 0);
	dev_killed(dev, second_process, &acknowledge, 0);
	dev_start(dev);
	expect_data(dev, START, 30 * STEP, 1);
	if (acknowledge)
		expect_refused_again(dev, START, 0, 10);
	resend_order(order, 30, 30);
	for (unsigned int i = 0; i < 30; i++)
		if (!acknowledge || order[i] >= 10)
			expect_good(dev, write_number(dev, START, order[i], 1));
	expect_refused_again(dev, START, 0, 30);
	expect_zone(dev, START, ZONE_IMP_OPEN, START + 30 * STEP);
	dev_close(dev);
}

static void two_kills_in_a_row(void **state)
{
	(void)state;
	check_two_kills(false);
	check_two_kills(true);
}

/* Kills of processes that only opened the LUN lose nothing either. */
static void do_nothing(struct dev *dev, void *arg)
{
	(void)dev;
	(void)arg;
}

static void kills_without_commands(void **state)
{
	struct dev *dev = open_unit();
	struct batch b = { .start = START, .count = 20, .generation = 1 };

	(void)state;
	dev_killed(dev, execute_batch, &b, 0);
	for (int i = 0; i < 3; i++)
		dev_killed(dev, do_nothing, NULL, 0);
	dev_start(dev);
	for (unsigned int i = 20; i > 0; i--)
		expect_good(dev, write_number(dev, START, i - 1, 1));
	expect_refused_again(dev, START, 0, 20);
	dev_close(dev);
}

/* One write to each of many zones, with other kinds of commands between. */
static void mixed_batch(struct dev *dev, void *arg)
{
	(void)arg;
	for (uint64_t zone = 2; zone < 20; zone++) {
		expect_good(dev, write_number(dev, zone * ZONE, 0, 1));
		expect_good(dev, write_blocks(dev, zone, 3, 1));	/* conventional */
		expect_good(dev, write_same(dev, zone * ZONE + STEP, 2 * STEP));
		expect_good(dev, read_blocks(dev, zone * ZONE, STEP));
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, zone * ZONE));
		expect_good(dev, write_number(dev, zone * ZONE, 3, 1));
	}
}

static void many_zones(void **state)
{
	struct dev *dev = open_unit();

	(void)state;
	dev_killed(dev, mixed_batch, NULL, 0);
	dev_start(dev);
	for (uint64_t zone = 19; zone > 1; zone--) {
		expect_sense(dev, write_blocks(dev, zone * ZONE + STEP, 2 * STEP, 1),
			     ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
		expect_good(dev, write_number(dev, zone * ZONE, 3, 1));
		expect_good(dev, write_blocks(dev, zone, 3, 1));
		expect_good(dev, write_blocks(dev, zone, 3, 1));
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, zone * ZONE));
		expect_good(dev, write_same(dev, zone * ZONE + STEP, 2 * STEP));
		expect_sense(dev, write_same(dev, zone * ZONE + STEP, 2 * STEP), ILLEGAL_REQUEST,
			     ASC_UNALIGNED_WRITE);
		expect_good(dev, write_number(dev, zone * ZONE, 0, 1));
		expect_zone(dev, zone * ZONE, ZONE_EXP_OPEN, zone * ZONE + 4 * STEP);
		expect_data(dev, zone * ZONE, STEP, 1);
		expect_data(dev, zone * ZONE + STEP, 2 * STEP, 0);
		expect_data(dev, zone * ZONE + 3 * STEP, STEP, 1);
	}
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_in_a_batch),
		cmocka_unit_test(acknowledged_ones_are_not_taken),
		cmocka_unit_test(acknowledged_one_by_one),
		cmocka_unit_test(only_after_a_reopen),
		cmocka_unit_test(only_exact_repetitions),
		cmocka_unit_test(data_are_stored_again),
		cmocka_unit_test(others_need_not_wait),
		cmocka_unit_test(reset_forgets),
		cmocka_unit_test(reset_before_the_kill),
		cmocka_unit_test(full_zone),
		cmocka_unit_test(finished_zone),
		cmocka_unit_test(without_resources),
		cmocka_unit_test(two_kills_in_a_row),
		cmocka_unit_test(kills_without_commands),
		cmocka_unit_test(many_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Processes that are killed at any instant, or with as many writes unacknowledged as can be: the
 * initiator sends them again, in any order.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "harness.h"

#define STEP 8			/* logical blocks of a write: one physical block */
#define ZONE 1024		/* logical blocks */
#define ZONE_WRITES (ZONE / STEP)
#define START (2 * ZONE)	/* of the first SWR zone */

/* Write number @i from @start on. */
static uint8_t write_number(struct dev *dev, uint64_t start, unsigned int i, uint32_t generation)
{
	return write_blocks(dev, start + (uint64_t)i * STEP, STEP, generation);
}

#define MANY MEMZBC_UNACKNOWLEDGED_MAX
#define MANY_ZONE ((MANY + 64) * STEP)	/* logical blocks: the writes do not fill it */
#define MANY_START (2 * MANY_ZONE)

/* @arg: how many more writes than are remembered */
static void write_many(struct dev *dev, void *arg)
{
	const unsigned int *more = arg;
	uint32_t oldest = 0;

	for (unsigned int i = 0; i < MANY + *more; i++) {
		expect_good(dev, write_number(dev, MANY_START, i, 5));
		if (i == 0)
			oldest = dev->receipt;
	}
	/* A receipt whose place has been taken is nobody's. */
	if (*more)
		memzbc_lun_acknowledge(dev->lun, oldest);
}

static void check_many(unsigned int more)
{
	unsigned int *order = calloc(MANY, sizeof(*order));
	char config[64];
	struct dev *dev;

	snprintf(config, sizeof(config), "zone_size=%d/conv=2/lba=512", MANY_ZONE * 512);
	dev = dev_open(config, 4ull * MANY_ZONE * 512, 512);
	dev->unacknowledged = true;
	dev_killed(dev, write_many, &more, 0);
	dev_start(dev);
	for (unsigned int i = 0; i < MANY; i++)
		order[i] = more + i;
	shuffle(order, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		expect_good(dev, write_number(dev, MANY_START, order[i], 5));
	dev_acknowledge(dev);
	for (unsigned int i = 0; i < MANY; i += 97)
		expect_sense(dev, write_number(dev, MANY_START, i, 9), ILLEGAL_REQUEST,
			     ASC_UNALIGNED_WRITE);
	expect_data(dev, MANY_START, MANY * STEP, 5);
	free(order);
	dev_close(dev);
}

/* As many as may be unacknowledged, all in one zone; of more, the latest. */
static void as_many_as_possible(void **state)
{
	(void)state;
	check_many(0);
	check_many(8);
}

/*
 * A process that is killed at any instant. It writes zone after zone, round and round; write
 * number s goes to zone (s / ZONE_WRITES) % ZONES, which is reset first when a round begins.
 */
#define ZONES 6
#define KILLS 50

struct progress {
	_Atomic uint64_t begun, done, acknowledged;	/* numbers of writes */
};

static uint64_t number_lba(uint64_t s)
{
	return START + s / ZONE_WRITES % ZONES * ZONE + s % ZONE_WRITES * STEP;
}

static uint8_t write_next(struct dev *dev, uint64_t s)
{
	return write_blocks(dev, number_lba(s), STEP, (uint32_t)s + 1);
}

static void write_for_ever(struct dev *dev, void *arg)
{
	struct progress *p = arg;

	for (uint64_t s = p->done;; s++) {
		if (s % ZONE_WRITES == 0) {
			dev_acknowledge(dev);
			p->acknowledged = s;
			expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, number_lba(s)));
		}
		p->begun = s + 1;
		expect_good(dev, write_next(dev, s));
		p->done = s + 1;
		if (random_below(16) == 0) {
			/* The answer counts as given from here on, known to the model or not. */
			p->acknowledged = s + 1;
			dev_acknowledge(dev);
		}
	}
}

/* All the data that the zone of write number @s - 1 must hold after @s writes. */
static void expect_zone_of(struct dev *dev, uint64_t s)
{
	uint64_t first = (s - 1) / ZONE_WRITES * ZONE_WRITES;

	for (uint64_t i = first; i < s; i++)
		expect_data(dev, number_lba(i), STEP, (uint32_t)i + 1);
}

/* The next process: what the initiator does not know to be done comes again, shuffled. */
static void resend_unacknowledged(struct dev *dev, struct progress *p)
{
	uint64_t from = p->acknowledged, begun = p->begun;
	struct zone_desc zone = zone_at(dev, number_lba(begun - 1));
	uint64_t executed = begun;
	unsigned int order[ZONE_WRITES];

	/* The write that was under way may be in, or not. */
	if (zone.cond != ZONE_FULL && number_lba(begun - 1) >= zone.wp)
		executed = begun - 1;
	expect_true(dev, executed >= p->done);
	if (executed > from)
		expect_eq(dev, zone.wp, number_lba(executed - 1) + STEP);
	for (uint64_t i = from; i < executed; i++)
		order[i - from] = (unsigned int)i;
	shuffle(order, (unsigned int)(executed > from ? executed - from : 0));
	for (uint64_t i = from; i < executed; i++)
		expect_good(dev, write_next(dev, order[i - from]));
	if (executed < begun)
		expect_good(dev, write_next(dev, executed));
	dev_acknowledge(dev);
	for (uint64_t i = from; i < begun; i++)	/* each is taken once */
		expect_true(dev, write_next(dev, i) == SAM_STAT_CHECK_CONDITION);
	p->acknowledged = p->done = begun;
	expect_zone_of(dev, begun);
}

static void killed_at_any_instant(void **state)
{
	struct dev *dev = dev_open("zone_size=512K/conv=2/lba=512/pblk=4096", 16 << 20, 512);
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t last = 0;

	(void)state;
	dev->unacknowledged = true;
	assert_true(p != MAP_FAILED);
	for (int i = 0; i < KILLS; i++) {
		dev_killed(dev, write_for_ever, p, 500 + (unsigned int)random_below(6000));
		dev_start(dev);
		if (p->begun == last)
			continue;
		last = p->begun;
		resend_unacknowledged(dev, p);
	}
	assert_true(last > 1000);
	munmap(p, sizeof(*p));
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_possible),
		cmocka_unit_test(killed_at_any_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * All stages together: an initiator that writes zones in permuted batches, reads, resets and makes
 * mistakes, on a device that reorders, holds, delays and fails at random, and whose settings change
 * meanwhile. What the answers say must be what is there in the end.
 *
 * Random, but always the same: run with MEMZBC_TEST_SEED=N for others.
 */
#include "fault-harness.h"

#define ZONES 10		/* sequential ones of rig_geo */
#define BATCH 24		/* writes to a zone under way */
#define CHUNK 32		/* blocks of conventional zones that are written or read at once */
#define CHUNKS 128		/* of them */

/* Longest times of random settings. */
#define REORDER_MAX (2 * MS)
#define HOLD_MAX (10 * MS)
#define DELAY_MAX (5 * MS)
#define RATE_MIN 10000000ull	/* bytes per second */
#define SEEK_MAX (4 * MS)
#define DROP_MAX (20 * MS)
#define BYTES_MAX (CHUNK * 512)
/* Longest time that a command may take whatever the settings. */
#define FLIGHT_MAX (REORDER_MAX + HOLD_MAX + DELAY_MAX + BYTES_MAX * SECOND / RATE_MIN + \
		    SEEK_MAX + DROP_MAX)

enum stages { REORDER = 1, HOLD = 2, DELAY = 4, ERROR = 8, ALL_STAGES = 15 };

struct zone_track {
	uint64_t start, end;
	uint64_t wp;		/* what the answers say */
	uint64_t next;		/* where the initiator goes on */
	uint32_t under_way;	/* its commands */
	bool managed;		/* one of them is zone management */
	bool lost;		/* a write failed: go on at the write pointer, when all are back */
};

struct play {
	struct rig *rig;
	struct zone_track zones[ZONES];
	uint32_t chunks[CHUNKS];	/* commands under way */
	uint32_t *generation;	/* by LBA; 0: nothing is known to be written */
	uint32_t *known;	/* by LBA: since so many commands are complete */
	uint32_t generations;
	unsigned int stages;	/* that may be on */
	bool heals;		/* every write that obeys the rules must succeed */
};

static struct zone_track *zone_of(struct play *p, uint64_t lba)
{
	uint64_t slot = lba / rig_geo.zone_size;

	return slot >= rig_geo.conv && lba < rig_geo.capacity ? &p->zones[slot - rig_geo.conv] :
								 NULL;
}

static uint32_t *chunk_of(struct play *p, uint64_t lba)
{
	return lba < (uint64_t)CHUNKS * CHUNK ? &p->chunks[lba / CHUNK] : NULL;
}

/* Blocks that an answer says are stored. */
static void stored(struct play *p, const struct io *io, uint64_t blocks)
{
	struct zone_track *z = zone_of(p, io->lba);

	for (uint64_t lba = io->lba; lba < io->lba + blocks; lba++) {
		if (z)	/* nothing is written twice */
			expect_eq(p->rig->dev, p->generation[lba], 0);
		p->generation[lba] = io->generation;
		p->known[lba] = io->order;
	}
	if (z && z->wp < io->lba + blocks)
		z->wp = io->lba + blocks;
}

static void write_done(struct play *p, struct io *io)
{
	struct zone_track *z = zone_of(p, io->lba);
	struct dev *dev = p->rig->dev;
	uint8_t status = io_status(io);
	const struct sense *sense = &dev->sense;

	if (!io->generation) {	/* against the rules */
		expect_true(dev, status != SAM_STAT_GOOD);
		return;
	}
	if (status == SAM_STAT_GOOD) {
		stored(p, io, io->blocks);
		return;
	}
	if (p->heals)
		fail_dev(dev, __FILE__, __LINE__, "not healed");
	if (sense->key == MEDIUM_ERROR) {
		expect_true(dev, sense->valid && sense->info >= io->lba &&
			    sense->info < io->lba + io->blocks);
		stored(p, io, sense->info - io->lba);
	}
	if (z)
		z->lost = true;
}

static void zone_done(struct play *p, struct io *io)
{
	uint64_t id = get_be64(io->cdb.b + 2);
	struct zone_track *z = zone_of(p, id);

	z->managed = false;
	z->under_way--;
	if (io_status(io) != SAM_STAT_GOOD)
		return;
	if (io->cdb.b[1] == SA_FINISH_ZONE)
		z->wp = z->next = z->end;
	if (io->cdb.b[1] != SA_RESET_WRITE_POINTER)
		return;
	z->wp = z->next = z->start;
	for (uint64_t lba = z->start; lba < z->end; lba++)
		p->generation[lba] = 0;
}

/* All that was known when it was submitted. */
static void read_done(struct play *p, struct io *io)
{
	struct dev *dev = p->rig->dev;
	uint64_t good = io->blocks;
	uint8_t block[512];

	if (io_status(io) != SAM_STAT_GOOD)
		good = dev->sense.key == MEDIUM_ERROR ? dev->sense.info - io->lba : 0;
	expect_true(dev, good <= io->blocks);
	for (uint64_t i = 0; i < good; i++) {
		uint64_t lba = io->lba + i;

		if (!p->generation[lba] || p->known[lba] > io->before)
			continue;
		pattern(dev, block, lba, 1, p->generation[lba]);
		if (memcmp(block, io->data + i * 512, 512))
			fail_dev(dev, __FILE__, __LINE__, "other data at %llx",
				 (unsigned long long)lba);
	}
}

static void done(struct io *io, void *arg)
{
	struct play *p = arg;
	struct zone_track *z = zone_of(p, io->lba);
	uint32_t *chunk = chunk_of(p, io->lba);

	expect_true(p->rig->dev, io->completed - io->submitted <= FLIGHT_MAX);
	if (io->cdb.b[0] == WRITE_16)
		write_done(p, io);
	else if (io->cdb.b[0] == ZBC_OUT)
		zone_done(p, io);
	else if (io->cdb.b[0] == READ_16)
		read_done(p, io);
	free(io->data);	/* there are many */
	io->data = NULL;
	if (!io->blocks)
		return;
	if (z)
		z->under_way--;
	else if (chunk)
		--*chunk;
}

static struct memzbc_error_rule random_rule(void)
{
	static const uint8_t statuses[] = { SAM_STAT_BUSY, 0x18, 0x28 };
	struct memzbc_error_rule rule = {
		.kind = MEMZBC_ERROR_MEDIUM + random_below(5),
		.classes = 1 + (uint32_t)random_below(MEMZBC_CLASSES_ALL),
		.opcode = -1, .service_action = -1,
		.probability = (uint32_t)random_below(random_below(3) ? 50000 : 500000),
		.count = random_below(2) ? UINT64_MAX : random_below(10),
		.key = 4, .asc = 0x4400,
		.status = statuses[random_below(sizeof(statuses))],
		.blocks = (uint32_t)random_below(3 * STEP),
	};

	if (random_below(3) == 0) {
		rule.has_range = true;
		rule.first = random_below(rig_geo.capacity);
		rule.last = rule.first + random_below(rig_geo.zone_size);
	}
	if (rule.kind == MEMZBC_ERROR_DROP)
		rule.time = 1 + random_below(DROP_MAX);
	else if (random_below(2))
		rule.time = random_below(30 * MS);
	return rule;
}

static void random_reorder(struct memzbc_faults *faults)
{
	faults->reorder = 1 + (uint32_t)random_below(20);
	faults->reorder_depth = 1 + (uint32_t)random_below(5);
	faults->reorder_time = 1 + random_below(REORDER_MAX);
	faults->reorder_conv = random_below(2);
}

static void random_hold(struct memzbc_faults *faults)
{
	faults->hold = 1 + (uint32_t)random_below(BATCH);
	faults->hold_time = 1 + random_below(HOLD_MAX);
	faults->hold_attempts = random_below(2) ? 0 : (uint32_t)random_below(BATCH);
}

static void random_delay(struct memzbc_faults *faults)
{
	for (int class = 0; class < MEMZBC_CLASSES; class++)
		if (random_below(2))
			faults->delay[class] = random_below(DELAY_MAX);
	if (random_below(3) == 0)
		faults->rate = RATE_MIN + random_below(1000000000);
	if (random_below(3) == 0)
		faults->seek = random_below(SEEK_MAX);
}

static void change_faults(struct play *p)
{
	unsigned int on = p->stages & (unsigned int)random_below(ALL_STAGES + 1);
	struct memzbc_faults faults = {
		.seed = random_u64(), .stats = random_below(2),
		/* Without a loss of power nobody sees it. */
		.cache = random_below(2) * random_below(1 << 20),
		.trace = (uint32_t)(random_below(2) * random_below(1000)),
	};

	if (random_below(2))
		on = p->stages;
	if (on & REORDER)
		random_reorder(&faults);
	if (on & HOLD)
		random_hold(&faults);
	if (on & DELAY)
		random_delay(&faults);
	if (on & ERROR) {
		faults.error_rules = 1 + (uint32_t)random_below(4);
		for (uint32_t i = 0; i < faults.error_rules; i++)
			faults.error[i] = random_rule();
	}
	if (p->heals) {
		faults.hold = BATCH;
		faults.hold_time = HOLD_MAX;
		faults.hold_attempts = 0;
	}
	rig_set(p->rig, &faults);
}

/* Some of the next blocks of a zone, in any order. */
static void send_batch(struct play *p, struct zone_track *z)
{
	uint64_t lbas[BATCH + 1] = { z->next };
	unsigned int order[BATCH], count = 0, most = 1 + (unsigned int)random_below(BATCH);

	while (count < most && z->under_way + count < BATCH && lbas[count] < z->end) {
		lbas[count + 1] = lbas[count] + (1 + random_below(4)) * STEP;
		if (lbas[count + 1] > z->end)
			lbas[count + 1] = z->end;
		order[count] = count;
		count++;
	}
	z->next = lbas[count];
	if (random_below(3))
		shuffle(order, count);
	z->under_way += count;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t lba = lbas[order[i]];

		submit_write(p->rig, lba, lbas[order[i] + 1] - lba, ++p->generations);
		if (random_below(3) == 0)
			rig_run_for(p->rig, random_below(20 * US));
	}
}

/* Writes to a zone: after a failure not before all are back, and then at the write pointer. */
static void write_zone(struct play *p, struct zone_track *z)
{
	if (z->managed || (z->under_way && (z->lost || z->next == z->end)))
		return;
	if (z->lost) {
		expect_eq(p->rig->dev, zone_at(p->rig->dev, z->start).wp, z->wp);
		z->next = z->wp;
		z->lost = false;
	}
	if (z->next < z->end)
		send_batch(p, z);
}

static void manage_zone(struct play *p, struct zone_track *z)
{
	static const uint8_t actions[] = {
		SA_RESET_WRITE_POINTER, SA_RESET_WRITE_POINTER, SA_FINISH_ZONE, SA_OPEN_ZONE,
		SA_CLOSE_ZONE,
	};
	uint8_t action = actions[random_below(sizeof(actions))];

	if (z->under_way)
		return;
	if (z->next < z->end && random_below(4))
		action = SA_CLOSE_ZONE;
	z->managed = true;
	z->under_way++;
	submit_zone(p->rig, action, z->start);
}

/* Never to succeed: a wrong end, across a boundary, below the write pointer, beyond the unit. */
static void write_badly(struct play *p, struct zone_track *z)
{
	const struct {
		uint64_t lba, blocks;
	} writes[] = {
		{ z->start, 3 }, { z->end - STEP, 2 * STEP }, { z->start, STEP },
		{ rig_geo.capacity - STEP, 2 * STEP }, { rig_geo.capacity, STEP },
	};
	size_t i = random_below(ARRAY_SIZE(writes));

	if (z->managed || (i == 2 && z->wp == z->start))
		return;
	if (zone_of(p, writes[i].lba))
		zone_of(p, writes[i].lba)->under_way++;
	submit_write(p->rig, writes[i].lba, writes[i].blocks, 0);
}

static void use_chunk(struct play *p)
{
	uint32_t i = (uint32_t)random_below(CHUNKS);
	uint64_t blocks = 1 + random_below(CHUNK), lba = i * CHUNK + random_below(CHUNK + 1 -
										 blocks);

	if (p->chunks[i])
		return;
	p->chunks[i]++;
	if (random_below(2))
		submit_write(p->rig, lba, blocks, ++p->generations);
	else
		submit_read(p->rig, lba, blocks);
}

static void read_zone(struct play *p, struct zone_track *z)
{
	uint64_t written = z->wp - z->start;
	uint64_t lba = z->start + (written ? random_below(written) : 0);
	uint64_t blocks = 1 + random_below(CHUNK);

	if (z->managed)
		return;
	if (blocks > z->end - lba)
		blocks = z->end - lba;
	z->under_way++;
	submit_read(p->rig, lba, blocks);
}

static void other_command(struct play *p)
{
	switch (random_below(3)) {
	case 0:
		submit(p->rig, (struct cdb){ .b = { TEST_UNIT_READY } }, NULL, 0);
		break;
	case 1:
		submit(p->rig, cdb_report_zones(0, 0, 4096), NULL, 4096);
		break;
	default:
		submit(p->rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 0), NULL, 0);
	}
}

static void step(struct play *p)
{
	struct zone_track *z = &p->zones[random_below(ZONES)];
	uint64_t dice = random_below(100);

	if (dice < 40)
		write_zone(p, z);
	else if (dice < 50)
		manage_zone(p, z);
	else if (dice < 55)
		write_badly(p, z);
	else if (dice < 65)
		use_chunk(p);
	else if (dice < 80)
		read_zone(p, z);
	else if (dice < 85)
		other_command(p);
	else if (dice < 97)
		rig_run_for(p->rig, random_below(random_below(4) ? 300 * US : 5 * MS));
	else if (dice < 99)
		change_faults(p);
	else if (!p->heals && random_below(4) == 0)
		rig_drain(p->rig);
}

/* The end: each zone as the answers say, and all data. */
static void check_everything(struct play *p)
{
	struct dev *dev = p->rig->dev;
	uint8_t block[512];

	for (uint32_t i = 0; i < ZONES; i++)
		expect_eq(dev, zone_at(dev, p->zones[i].start).wp, p->zones[i].wp);
	for (uint64_t at = 0; at < rig_geo.capacity; at += rig_geo.zone_size) {
		expect_good(dev, read_blocks(dev, at, rig_geo.zone_size));
		for (uint64_t i = 0; i < rig_geo.zone_size; i++) {
			pattern(dev, block, at + i, 1, p->generation[at + i]);
			if (memcmp(block, dev->in + i * 512, 512))
				fail_dev(dev, __FILE__, __LINE__, "other data at %llx",
					 (unsigned long long)(at + i));
		}
	}
}

static struct play *play_new(unsigned int stages, bool heals)
{
	struct play *p = calloc(1, sizeof(*p));

	p->rig = rig_open(&rig_geo, &(struct memzbc_faults){ 0 });
	p->rig->done = done;
	p->rig->done_arg = p;
	p->generation = calloc(rig_geo.capacity, sizeof(*p->generation));
	p->known = calloc(rig_geo.capacity, sizeof(*p->known));
	p->stages = stages;
	p->heals = heals;
	for (uint32_t i = 0; i < ZONES; i++) {
		uint64_t start = rig_zone(p->rig, i);

		p->zones[i] = (struct zone_track){
			.start = start, .end = start + rig_geo.zone_cap, .wp = start, .next = start,
		};
	}
	change_faults(p);
	return p;
}

static void play(unsigned int stages, bool heals, uint32_t commands)
{
	struct play *p = play_new(stages, heals);

	while (p->rig->submitted < commands)
		step(p);
	if (!heals && random_below(2))
		rig_drain(p->rig);	/* as before the LUN is closed */
	rig_run(p->rig);
	expect_eq(p->rig->dev, memzbc_device_held(p->rig->device), 0);
	expect_eq(p->rig->dev, p->rig->completed, p->rig->submitted);
	check_everything(p);
	rig_close(p->rig);
	free(p->generation);
	free(p->known);
	free(p);
}

static void combinations(void **state)
{
	(void)state;
	for (unsigned int stages = 0; stages <= ALL_STAGES; stages++)
		play(stages, false, 2000);
}

static void all_stages(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		play(ALL_STAGES, false, 10000);
}

/* Without errors, and with as much hold as the initiator has under way, every write succeeds. */
static void everything_heals(void **state)
{
	(void)state;
	play(0, true, 2000);
	play(REORDER, true, 4000);
	play(DELAY, true, 2000);
	for (int i = 0; i < 3; i++)
		play(REORDER | DELAY, true, 6000);
}

/* More under way than a queue ever holds, and then the end. */
static void drain_many(void **state)
{
	const struct memzbc_faults faults = {
		.reorder = 3, .reorder_depth = 10, .reorder_time = SECOND, .hold = 100,
		.hold_time = SECOND, .delay = { [MEMZBC_CLASS_WRITE] = SECOND },
		.error_rules = 1, .error = { {
			.kind = MEMZBC_ERROR_DROP, .classes = MEMZBC_CLASSES_ALL, .opcode = -1,
			.service_action = -1, .probability = 100000, .count = UINT64_MAX,
			.time = 60 * SECOND,
		} },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		submit_write(rig, rig_zone(rig, i % ZONES) + random_below(200) * STEP, STEP, 1);
	expect_eq(rig->dev, memzbc_device_held(rig->device), 5000);
	rig_drain(rig);
	for (struct io *io = rig->ios; io; io = io->next)
		expect_at(io, rig->now);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(combinations),
		cmocka_unit_test(all_stages),
		cmocka_unit_test(everything_heals),
		cmocka_unit_test(drain_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

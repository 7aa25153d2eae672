// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <stdio.h>

#include "fault-harness.h"
#include "model.h"

#define RIG_ZONE 2048
#define RIG_SLOTS 12
#define STALE_BYTE 0xaa
#define TAKEN_BYTE 0x5c		/* what is left of lent memory without a sanitizer */
/* A device whose deadlines come closer than this without an end is stuck. */
#define RUNS_MAX 10000000

const struct geo rig_geo = {
	.name = "512/4096", .lba_size = 512, .pblk_size = 4096, .zone_size = RIG_ZONE,
	.zone_cap = RIG_ZONE, .capacity = RIG_SLOTS * RIG_ZONE, .conv = 2,
};

const struct geo rig_geo_gaps = {
	.name = "4096/4096 gaps", .lba_size = 4096, .pblk_size = 4096, .zone_size = RIG_ZONE,
	.zone_cap = RIG_ZONE - 512, .capacity = RIG_SLOTS * RIG_ZONE, .conv = 2,
};

uint64_t rig_zone(const struct rig *rig, uint32_t i)
{
	return geo_start(rig->dev->geo, rig->dev->geo->conv + i);
}

static uint64_t now(void *arg)
{
	struct rig *rig = arg;

	return rig->now += rig->step;
}

static void arm(void *arg, uint64_t deadline)
{
	struct rig *rig = arg;

	rig->armed = deadline;
}

static bool stale(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != STALE_BYTE)
			return false;
	return true;
}

static void take_back(void *lent, size_t len)
{
	memset(lent, TAKEN_BYTE, len);
	free(lent);
}

/* What the device was lent goes back, with what it wrote there. */
static void collect(struct io *io)
{
	struct dev *dev = io->rig->dev;
	bool same;

	memcpy(io->sense, io->lent_sense, sizeof(io->sense));
	if (io->status != SAM_STAT_CHECK_CONDITION && !stale(io->sense, sizeof(io->sense)))
		fail_dev(dev, __FILE__, __LINE__, "sense written with status %02x", io->status);
	same = !memcmp(io->data, io->lent_data, io->len);
	if (io->in)
		memcpy(io->data, io->lent_data, io->len);
	else if (!same)
		fail_dev(dev, __FILE__, __LINE__, "Data-Out changed");
	take_back(io->lent_sense, sizeof(io->sense));
	take_back(io->lent_data, io->len);
	take_back(io->lent_iov, 2 * sizeof(*io->lent_iov));
	take_back(io->lent_cdb, cdb_len(io->cdb.b[0]));
}

static void show(struct io *io)
{
	struct dev *dev = io->rig->dev;

	dev->cdb = io->cdb;
	dev->status = io->status;
	memset(&dev->sense, 0, sizeof(dev->sense));
	memcpy(dev->sense_bytes, io->sense, sizeof(dev->sense_bytes));
	if (io->order && io->status == SAM_STAT_CHECK_CONDITION)
		decode_sense(dev);
}

/* A receipt of another's, acknowledged, would make the device forget what it must remember. */
static void check_receipt(struct io *io)
{
	struct dev *dev = io->rig->dev;

	show(io);
	if (io->status != SAM_STAT_GOOD && dev->sense.key != MEDIUM_ERROR)
		expect_eq(dev, io->receipt, NO_RECEIPT);
}

static void complete(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status)
{
	struct rig *rig = arg;
	struct io *io = tag;

	expect_true(rig->dev, io->rig == rig);
	if (io->order)
		fail_dev(rig->dev, __FILE__, __LINE__, "completed twice");
	expect_true(rig->dev, cmd->cdb == io->lent_cdb && cmd->iov == io->lent_iov &&
		    cmd->iov_cnt == 2 && cmd->sense == io->lent_sense);
	io->order = ++rig->completed;
	io->completed = rig->now;
	io->status = status;
	io->receipt = cmd->receipt;
	collect(io);
	check_receipt(io);
	memzbc_lun_acknowledge(rig->dev->lun, cmd->receipt);
	if (rig->done)
		rig->done(io, rig->done_arg);
}

static const struct memzbc_device_ops ops = { .now = now, .complete = complete, .arm = arm };

void rig_reopen(struct rig *rig)
{
	struct dev *dev = rig->dev;
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;
	const struct memzbc_lun_params params = {
		.cfg = &cfg, .state_dir = dev->dir, .token = dev->token,
	};

	if (memzbc_config_parse(&cfg, dev->config, reason) ||
	    memzbc_config_complete(&cfg, dev->size, dev->block_size, reason) ||
	    memzbc_device_open(&params, &ops, rig, &rig->device, reason))
		fail_dev(dev, __FILE__, __LINE__, "open: %s", reason);
	dev->lun = memzbc_device_lun(rig->device);
}

struct rig *rig_open(const struct geo *geo, const struct memzbc_faults *faults)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig->now = SECOND;
	rig->armed = MEMZBC_NEVER;
	rig->dev = dev_open_geo(geo, NULL);
	dev_stop(rig->dev);
	rig_reopen(rig);
	rig_set(rig, faults);
	return rig;
}

struct rig *rig_open_holding(uint32_t writes, uint64_t time)
{
	return rig_open(&rig_geo, &(struct memzbc_faults){ .hold = writes, .hold_time = time });
}

struct memzbc_error_rule rig_rule(struct memzbc_error_rule rule)
{
	rule.classes = rule.classes ? rule.classes : MEMZBC_CLASSES_ALL;
	rule.opcode = rule.opcode ? rule.opcode : -1;
	rule.service_action = rule.service_action ? rule.service_action : -1;
	rule.probability = rule.probability ? rule.probability : SURE;
	rule.count = rule.count ? rule.count : ALWAYS;
	return rule;
}

struct rig *rig_open_failing(const struct geo *geo, struct memzbc_error_rule rule)
{
	return rig_open(geo, &(struct memzbc_faults){ .error_rules = 1, .error = { rule } });
}

void rig_close(struct rig *rig)
{
	rig_forget(rig);
	expect_eq(rig->dev, rig->armed, MEMZBC_NEVER);
	rig->dev->lun = NULL;
	memzbc_device_close(rig->device);
	dev_close(rig->dev);
	free(rig);
}

void rig_set(struct rig *rig, const struct memzbc_faults *faults)
{
	struct memzbc_faults copy = *faults;
	char reason[MEMZBC_REASON_SIZE];

	expect_eq(rig->dev, memzbc_device_set_faults(rig->device, &copy, reason), 0);
	memset(&copy, TAKEN_BYTE, sizeof(copy));
	expect_eq(rig->dev, memzbc_device_faults(rig->device)->seed, faults->seed);
}

static void fire(struct rig *rig)
{
	if (rig->now < rig->armed)
		rig->now = rig->armed;
	rig->armed = MEMZBC_NEVER;
	memzbc_device_run(rig->device);
	if (rig->armed <= rig->now)
		fail_dev(rig->dev, __FILE__, __LINE__, "something was due and not done");
}

void rig_run_until(struct rig *rig, uint64_t time)
{
	while (rig->armed <= time)
		fire(rig);
	if (rig->now < time)
		rig->now = time;
}

void rig_run_for(struct rig *rig, uint64_t time)
{
	rig_run_until(rig, rig->now + time);
}

void rig_run(struct rig *rig)
{
	for (uint32_t runs = 0; rig->armed != MEMZBC_NEVER; runs++) {
		if (runs == RUNS_MAX)
			fail_dev(rig->dev, __FILE__, __LINE__, "deadlines without an end");
		fire(rig);
	}
}

void rig_drain(struct rig *rig)
{
	memzbc_device_drain(rig->device);
	expect_eq(rig->dev, memzbc_device_held(rig->device), 0);
	expect_eq(rig->dev, rig->completed, rig->submitted);
}

void rig_forget(struct rig *rig)
{
	struct io *io;

	expect_eq(rig->dev, memzbc_device_held(rig->device), 0);
	while ((io = rig->ios)) {
		io_status(io);
		rig->ios = io->next;
		free(io->data);
		free(io);
	}
}

/* Cuts the lent buffer in two. */
static void lend(struct io *io)
{
	size_t first = random_below(io->len + 1), cdb = cdb_len(io->cdb.b[0]);

	io->lent_cdb = malloc(cdb);
	memcpy(io->lent_cdb, io->cdb.b, cdb);
	io->lent_sense = malloc(sizeof(io->sense));
	memset(io->lent_sense, STALE_BYTE, sizeof(io->sense));
	io->lent_data = malloc(io->len ? io->len : 1);
	memcpy(io->lent_data, io->data, io->len);
	io->lent_iov = malloc(2 * sizeof(*io->lent_iov));
	io->lent_iov[0] = (struct iovec){ io->lent_data, first };
	io->lent_iov[1] = (struct iovec){ io->lent_data + first, io->len - first };
}

/* Takes over @io. */
static struct io *submit_io(struct rig *rig, struct io *io)
{
	struct memzbc_cmd cmd;

	io->rig = rig;
	io->submitted = rig->now;
	io->before = rig->completed;
	io->next = rig->ios;
	rig->ios = io;
	rig->submitted++;
	lend(io);
	cmd = (struct memzbc_cmd){
		.cdb = io->lent_cdb, .iov = io->lent_iov, .iov_cnt = 2, .sense = io->lent_sense,
		.receipt = (uint32_t)random_u64(),
	};
	memzbc_device_submit(rig->device, &cmd, io);
	memset(&cmd, TAKEN_BYTE, sizeof(cmd));
	expect_eq(rig->dev, memzbc_device_held(rig->device), rig->submitted - rig->completed);
	return io;
}

static struct io *new_io(struct cdb cdb, uint64_t lba, uint64_t blocks, size_t len)
{
	struct io *io = calloc(1, sizeof(*io));

	io->cdb = cdb;
	io->lba = lba;
	io->blocks = blocks;
	io->len = len;
	io->data = malloc(len + 1);
	memset(io->data, STALE_BYTE, len);
	return io;
}

struct io *submit(struct rig *rig, struct cdb cdb, const void *data, size_t len)
{
	struct io *io = new_io(cdb, 0, 0, len);

	io->in = !data;
	if (data)
		memcpy(io->data, data, len);
	return submit_io(rig, io);
}

struct io *submit_write_with(struct rig *rig, uint8_t opcode, uint64_t lba, uint64_t blocks,
			     uint32_t generation)
{
	bool same = opcode == WRITE_SAME_10 || opcode == WRITE_SAME_16;
	uint64_t sent = same ? 1 : blocks;
	struct io *io = new_io(cdb_lba(opcode, lba, blocks), lba, blocks,
			       sent * rig->dev->lba_size);

	io->generation = generation;
	pattern(rig->dev, io->data, lba, sent, generation);
	return submit_io(rig, io);
}

struct io *submit_write(struct rig *rig, uint64_t lba, uint64_t blocks, uint32_t generation)
{
	return submit_write_with(rig, WRITE_16, lba, blocks, generation);
}

struct io *submit_read(struct rig *rig, uint64_t lba, uint64_t blocks)
{
	struct io *io = new_io(cdb_lba(READ_16, lba, blocks), lba, blocks,
			       blocks * rig->dev->lba_size);

	io->in = true;
	return submit_io(rig, io);
}

struct io *submit_zone(struct rig *rig, uint8_t action, uint64_t zone_id)
{
	return submit(rig, cdb_zone(action, zone_id), NULL, 0);
}

uint8_t io_status_(struct io *io, const char *file, int line)
{
	show(io);
	if (!io->order)
		fail_dev(io->rig->dev, file, line, "not complete");
	return io->status;
}

void expect_pending_(struct io *io, const char *file, int line)
{
	if (!io->order)
		return;
	show(io);
	fail_dev(io->rig->dev, file, line, "complete");
}

void expect_at_(struct io *io, uint64_t time, const char *file, int line)
{
	io_status_(io, file, line);
	if (io->completed != time)
		fail_dev(io->rig->dev, file, line, "took %llu ns, not %llu",
			 (unsigned long long)(io->completed - io->submitted),
			 (unsigned long long)(time - io->submitted));
}

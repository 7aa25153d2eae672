// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The trace file as another process reads it: what it says of commands whose fate is known. */
#include <memzbc/observe.h>
#include <memzbc/operate.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault-harness.h"

#define Z(i) rig_zone(rig, i)
#define COUNT 16

static const struct memzbc_faults tracing = { .trace = COUNT };

/* The trace file of a rig, mapped as a reader would do. */
struct reader {
	const struct memzbc_trace_header *header;
	const struct memzbc_trace_record *records;
	size_t size;
};

static void trace_path(const struct rig *rig, char *path, size_t size)
{
	snprintf(path, size, "%s/trace", rig->dev->dir);
}

static struct reader reader_open(struct rig *rig)
{
	struct reader r;
	struct stat st;
	char path[120];
	void *at;
	int fd;

	trace_path(rig, path, sizeof(path));
	fd = open(path, O_RDONLY);
	assert_return_code(fd, 0);
	assert_return_code(fstat(fd, &st), 0);
	r.size = (size_t)st.st_size;
	at = mmap(NULL, r.size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	r.header = at;
	r.records = (const void *)((const char *)at + 4096);
	return r;
}

static void reader_close(struct reader *r)
{
	munmap((void *)(uintptr_t)r->header, r->size);
}

/* A record by the number of its command, whose state must be @state. */
static struct memzbc_trace_record record_at(struct rig *rig, uint64_t number,
					    enum memzbc_trace_state state)
{
	struct reader r = reader_open(rig);
	struct memzbc_trace_record record = r.records[number % le32toh(r.header->count)];

	reader_close(&r);
	expect_eq(rig->dev, le64toh(record.sequence), number << 2 | state);
	return record;
}

static struct memzbc_trace_record complete_record(struct rig *rig, uint64_t number)
{
	return record_at(rig, number, MEMZBC_TRACE_COMPLETE);
}

static struct memzbc_trace_header header_of(struct rig *rig)
{
	struct reader r = reader_open(rig);
	struct memzbc_trace_header header = *r.header;

	reader_close(&r);
	return header;
}

static bool trace_exists(const struct rig *rig)
{
	char path[120];

	trace_path(rig, path, sizeof(path));
	return access(path, F_OK) == 0;
}

/* Byte for byte as <memzbc/observe.h> lays it out. */
static void layout(void **state)
{
	static const uint8_t expected[64] = {
		0x07, 0, 0, 0, 0, 0, 0, 0,			/* command 1, complete */
		0x00, 0xca, 0x9a, 0x3b, 0, 0, 0, 0,		/* 1 s */
		0x00, 0xca, 0x9a, 0x3b, 0, 0, 0, 0,
		0x08, 0x10, 0, 0, 0, 0, 0, 0,			/* LBA 1008h */
		0x00, 0x10, 0, 0, 0, 0, 0, 0,			/* write pointer 1000h */
		0x08, 0, 0, 0,
		1, 0, 0, 0, 1, 0, 0, 0,				/* first executed and completed */
		0, 0, 0, 0,
		0x8a, 0, 0x02, 0x05, 0x21, 0x04, 0, 0,
	};
	struct rig *rig = rig_open(&rig_geo, &tracing);
	struct memzbc_trace_record record;
	struct reader r;

	(void)state;
	expect_unaligned(submit_write(rig, 0x1008, 8, 1), 0x1000);
	r = reader_open(rig);
	assert_memory_equal((const char *)r.header + 4096 + 64, expected, 64);
	assert_int_equal(r.size, 4096 + COUNT * 64);
	assert_memory_equal(r.header, "memzbcTR" "\1\0\0\0" "\0\x10\0\0" "\x40\0\0\0" "\x10\0\0\0"
			    "\1\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0"
			    "\1\0\0\0\0\0\0\0", 56);
	reader_close(&r);
	record = complete_record(rig, 1);
	assert_memory_equal(&record, expected, 64);
	rig_close(rig);
}

static void geometry(void **state)
{
	struct rig *rig = rig_open(&rig_geo_gaps, &tracing);
	struct memzbc_trace_header header = header_of(rig);

	(void)state;
	assert_int_equal(le64toh(header.capacity), 12 * 2048);
	assert_int_equal(le64toh(header.zone_size), 2048);
	assert_int_equal(le64toh(header.zone_cap), 1536);
	assert_int_equal(le64toh(header.conv), 2);
	assert_int_equal(le64toh(header.conv_end), 0);
	assert_int_equal(le32toh(header.lba_size), 4096);
	assert_int_equal(le32toh(header.pblk_size), 4096);
	assert_true(le64toh(header.token) == rig->dev->token);
	assert_int_equal(le64toh(header.clock), SECOND);
	assert_string_equal(header.backstore, "");
	rig_close(rig);
}

/* What records say of commands of all kinds. */
static void fields(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &tracing);
	struct memzbc_trace_record r;

	(void)state;
	submit_read(rig, 5, 3);
	r = complete_record(rig, 1);
	assert_int_equal(r.opcode, READ_16);
	assert_int_equal(le64toh(r.lba), 5);
	assert_int_equal(le32toh(r.blocks), 3);
	assert_int_equal(r.status, SAM_STAT_GOOD);
	assert_true(le64toh(r.write_pointer) == UINT64_MAX);	/* a conventional zone */
	submit_write(rig, Z(0), STEP, 1);
	submit_write_with(rig, WRITE_10, Z(0) + STEP, 2 * STEP, 1);
	r = complete_record(rig, 3);
	assert_int_equal(r.opcode, WRITE_10);
	assert_int_equal(le64toh(r.write_pointer), Z(0) + STEP);
	submit_zone(rig, SA_FINISH_ZONE, Z(0));
	r = complete_record(rig, 4);
	assert_int_equal(r.opcode, ZBC_OUT);
	assert_int_equal(r.service_action, SA_FINISH_ZONE);
	assert_int_equal(le64toh(r.lba), Z(0));
	assert_int_equal(le64toh(r.write_pointer), Z(0) + 3 * STEP);
	submit(rig, cdb_zone_all(SA_RESET_WRITE_POINTER), "", 0);
	r = complete_record(rig, 5);
	assert_true(le64toh(r.lba) == UINT64_MAX);
	assert_int_equal(r.blocks, 0);
	submit(rig, (struct cdb){ { TEST_UNIT_READY } }, "", 0);
	r = complete_record(rig, 6);
	assert_int_equal(r.opcode, TEST_UNIT_READY);
	assert_true(le64toh(r.lba) == UINT64_MAX);
	submit_read(rig, rig_geo.capacity + 1, 1);
	r = complete_record(rig, 7);
	assert_int_equal(le64toh(r.lba), rig_geo.capacity + 1);
	assert_int_equal(r.sense_key, ILLEGAL_REQUEST);
	assert_int_equal(r.asc << 8 | r.ascq, ASC_LBA_OUT_OF_RANGE);
	set_d_sense(rig->dev, true);
	submit_write(rig, Z(0) + STEP, STEP, 1);
	r = complete_record(rig, 8);
	assert_int_equal(r.sense_key, ILLEGAL_REQUEST);
	assert_int_equal(r.asc << 8 | r.ascq, ASC_UNALIGNED_WRITE);
	rig_close(rig);
}

/* Orders and times of a write that is kept for others. */
static void held(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){
		.trace = COUNT, .hold = 4, .hold_time = SECOND,
	});
	struct memzbc_trace_record r;

	(void)state;
	submit_write(rig, Z(0) + STEP, STEP, 1);
	r = record_at(rig, 1, MEMZBC_TRACE_ARRIVED);
	assert_int_equal(le16toh(r.flags), MEMZBC_TRACE_HELD);
	assert_int_equal(r.execution, 0);
	assert_int_equal(r.held, MEMZBC_ENDING_NONE);
	rig->now += 5 * MS;
	submit_write(rig, Z(0), STEP, 1);
	r = complete_record(rig, 1);
	assert_int_equal(le64toh(r.arrived), SECOND);
	assert_int_equal(le64toh(r.completed), SECOND + 5 * MS);
	assert_int_equal(le32toh(r.execution), 2);
	assert_int_equal(le32toh(r.completion), 2);
	assert_int_equal(le64toh(r.write_pointer), Z(0) + STEP);
	assert_int_equal(r.held, MEMZBC_ENDING_POINTER);
	assert_int_equal(r.reordered, MEMZBC_ENDING_NONE);
	assert_int_equal(le64toh(header_of(rig).arrivals), 2);
	r = complete_record(rig, 2);
	assert_int_equal(le16toh(r.flags), 0);
	assert_int_equal(le32toh(r.execution), 1);
	submit_write(rig, Z(1) + STEP, STEP, 1);
	rig_run(rig);
	r = complete_record(rig, 3);
	assert_int_equal(r.held, MEMZBC_ENDING_TIME);
	assert_int_equal(r.asc << 8 | r.ascq, ASC_UNALIGNED_WRITE);
	assert_int_equal(le64toh(r.write_pointer), Z(1));
	rig_close(rig);
}

static void reordered(void **state)
{
	struct memzbc_faults faults = {
		.trace = COUNT, .reorder = 1, .reorder_depth = 1, .reorder_time = SECOND,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct memzbc_trace_record r;

	(void)state;
	submit_write(rig, Z(0), STEP, 1);
	faults.reorder = 1000000;
	rig_set(rig, &faults);
	submit_write(rig, Z(0) + STEP, STEP, 1);
	r = complete_record(rig, 1);
	assert_int_equal(le16toh(r.flags), MEMZBC_TRACE_REORDERED);
	assert_int_equal(r.reordered, MEMZBC_ENDING_DEPTH);
	assert_int_equal(le32toh(r.execution), 2);
	assert_int_equal(r.status, SAM_STAT_GOOD);
	r = complete_record(rig, 2);
	assert_int_equal(le16toh(r.flags), 0);
	assert_int_equal(le32toh(r.execution), 1);
	assert_int_equal(r.status, SAM_STAT_CHECK_CONDITION);
	rig_close(rig);
}

/* Executed at once, answered later, in another order. */
static void delayed(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){
		.trace = COUNT, .delay = { [MEMZBC_CLASS_READ] = 3 * MS },
		.error_rules = 2, .error = {
			RULE(.kind = MEMZBC_ERROR_DROP, .classes = C_ZONE, .time = SECOND),
			SENSE_RULE(.has_range = true, .first = 100, .last = 100),
		},
	});
	struct memzbc_trace_record r;

	(void)state;
	submit_read(rig, 100, 1);
	r = record_at(rig, 1, MEMZBC_TRACE_EXECUTED);
	assert_int_equal(le32toh(r.execution), 1);
	assert_int_equal(r.completion, 0);
	assert_int_equal(r.completed, 0);
	assert_int_equal(r.status, SAM_STAT_CHECK_CONDITION);
	assert_int_equal(r.asc << 8 | r.ascq, ASC_INTERNAL_TARGET_FAILURE);
	submit_write(rig, Z(0), STEP, 1);
	submit_zone(rig, SA_OPEN_ZONE, Z(1));
	rig_run(rig);
	r = complete_record(rig, 1);
	assert_int_equal(le16toh(r.flags), MEMZBC_TRACE_INJECTED);
	assert_int_equal(le64toh(r.completed), SECOND + 3 * MS);
	assert_int_equal(le32toh(r.completion), 2);
	assert_int_equal(le32toh(complete_record(rig, 2).completion), 1);
	r = complete_record(rig, 3);
	assert_int_equal(le16toh(r.flags), MEMZBC_TRACE_INJECTED | MEMZBC_TRACE_DROPPED);
	assert_int_equal(le64toh(r.completed), 2 * SECOND);
	assert_int_equal(r.status, SAM_STAT_GOOD);
	rig_close(rig);
}

/* The last COUNT commands are there, whatever came before. */
static void ring(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &tracing);

	(void)state;
	for (uint64_t n = 1; n <= 5 * COUNT + 3; n++) {
		submit_read(rig, n, 1);
		assert_int_equal(le64toh(header_of(rig).arrivals), n);
		for (uint64_t k = n > COUNT ? n - COUNT + 1 : 1; k <= n; k++)
			assert_int_equal(le64toh(complete_record(rig, k).lba), k);
	}
	rig_close(rig);
}

/* A command that is answered when its record is another's by then. */
static void overtaken_by_the_ring(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){
		.trace = COUNT, .delay = { [MEMZBC_CLASS_READ] = MS },
	});

	(void)state;
	submit_read(rig, 1000, 1);
	for (uint64_t n = 2; n <= 2 * COUNT; n++)
		submit_write(rig, n, 1, 1);
	assert_int_equal(le64toh(complete_record(rig, COUNT + 1).lba), COUNT + 1);
	rig_run(rig);
	assert_int_equal(le64toh(complete_record(rig, COUNT + 1).lba), COUNT + 1);
	assert_int_equal(le64toh(header_of(rig).completions), 2 * COUNT);
	assert_int_equal(le64toh(header_of(rig).arrivals), 2 * COUNT);
	rig_close(rig);
}

static void on_and_off(void **state)
{
	struct memzbc_faults faults = { .trace = 0, .delay = { [MEMZBC_CLASS_READ] = MS } };
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct reader old;

	(void)state;
	assert_false(trace_exists(rig));
	submit_read(rig, 1, 1);
	faults.trace = COUNT;
	rig_set(rig, &faults);
	/* The command from before has no record, nor takes another's. */
	submit_read(rig, 2, 1);
	rig_run(rig);
	assert_int_equal(le64toh(complete_record(rig, 1).lba), 2);
	assert_int_equal(le64toh(header_of(rig).arrivals), 1);
	record_at(rig, 0, MEMZBC_TRACE_WRITING);
	/* Something else that changes leaves it alone. */
	faults.seed = 1;
	rig_set(rig, &faults);
	submit_read(rig, 3, 1);
	rig_run(rig);
	assert_int_equal(le64toh(complete_record(rig, 1).lba), 2);
	assert_int_equal(le64toh(complete_record(rig, 2).lba), 3);
	/* Another length begins anew; who reads the old one is not disturbed. */
	old = reader_open(rig);
	faults.trace = 2 * COUNT;
	rig_set(rig, &faults);
	submit_read(rig, 4, 1);
	rig_run(rig);
	assert_int_equal(le64toh(complete_record(rig, 1).lba), 4);
	assert_int_equal(le64toh(old.records[2].lba), 3);
	assert_int_equal(le64toh(old.header->arrivals), 2);
	reader_close(&old);
	submit_read(rig, 5, 1);
	faults.trace = 0;
	rig_set(rig, &faults);
	assert_false(trace_exists(rig));
	rig_run(rig);
	rig_close(rig);
}

/* It cannot be made: nothing changes. */
static void all_or_nothing(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){
		.trace = COUNT, .cache = 1 << 20,
	});
	struct memzbc_faults faults = { .trace = 100, .stats = true, .seed = 7 };
	char path[140], reason[MEMZBC_REASON_SIZE] = "";

	(void)state;
	submit_write(rig, Z(0), STEP, 1);
	/* In the place of the file that is to be made there is a directory. */
	snprintf(path, sizeof(path), "%s/trace.new", rig->dev->dir);
	assert_return_code(mkdir(path, 0700), 0);
	assert_int_not_equal(memzbc_device_set_faults(rig->device, &faults, reason), 0);
	assert_non_null(strstr(reason, strerror(EISDIR)));
	assert_int_equal(memzbc_device_faults(rig->device)->seed, 0);
	assert_int_equal(memzbc_device_faults(rig->device)->trace, COUNT);
	submit_read(rig, 2, 1);
	assert_int_equal(le64toh(complete_record(rig, 2).lba), 2);
	/* What was in the volatile cache can still vanish. */
	assert_int_equal(memzbc_device_power_loss(rig->device, UINT64_MAX).writes, 1);
	assert_return_code(rmdir(path), 0);
	rig_set(rig, &faults);
	submit_read(rig, 3, 1);
	assert_int_equal(le64toh(complete_record(rig, 1).lba), 3);
	rig_close(rig);
}

/* A process that dies leaves the trace, and its successor goes on with it. */
static void survives(void **state)
{
	struct memzbc_faults faults = { .trace = COUNT, .delay = { [MEMZBC_CLASS_WRITE] = MS } };
	struct rig *rig = rig_open(&rig_geo, &faults);
	pid_t pid = fork();
	int status;

	(void)state;
	assert_return_code(pid, 0);
	if (pid == 0) {
		submit_read(rig, 1, 1);
		submit_write(rig, 2, 1, 1);
		submit_read(rig, 3, 1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rig->dev->lun = NULL;
	memzbc_device_close(rig->device);
	rig_reopen(rig);
	assert_int_equal(memzbc_device_faults(rig->device)->trace, COUNT);
	assert_int_equal(le64toh(header_of(rig).first), 4);
	submit_read(rig, 4, 1);
	assert_int_equal(le64toh(complete_record(rig, 1).lba), 1);
	assert_int_equal(le64toh(record_at(rig, 2, MEMZBC_TRACE_EXECUTED).lba), 2);
	assert_int_equal(le64toh(complete_record(rig, 4).lba), 4);
	assert_int_equal(le32toh(complete_record(rig, 3).execution), 3);
	assert_int_equal(le32toh(complete_record(rig, 3).completion), 2);
	assert_int_equal(le32toh(complete_record(rig, 4).execution), 4);
	assert_int_equal(le32toh(complete_record(rig, 4).completion), 3);
	rig_close(rig);
}

/* What is no trace of this LUN in this form is replaced. */
static void replaces_what_does_not_fit(void **state)
{
	static const struct {
		off_t at;
		const char *bytes;
		size_t len;
	} damage[] = {
		{ 0, "memzbcXX", 8 }, { 8, "\2", 1 }, { 16, "\x20", 1 }, { 20, "\x11", 1 },
		{ 56, "\xee\xee\xee\xee\xee\xee\xee", 7 }, { 80, "\1", 1 },
	};
	struct rig *rig = rig_open(&rig_geo, &tracing);
	char path[120];

	(void)state;
	trace_path(rig, path, sizeof(path));
	for (size_t i = 0; i <= ARRAY_SIZE(damage); i++) {
		submit_read(rig, 1, 1);
		rig_forget(rig);
		memzbc_device_close(rig->device);
		if (i < ARRAY_SIZE(damage)) {
			int fd = open(path, O_WRONLY);

			assert_int_equal(pwrite(fd, damage[i].bytes, damage[i].len, damage[i].at),
					 damage[i].len);
			close(fd);
		} else {
			assert_return_code(truncate(path, 100), 0);
		}
		rig_reopen(rig);
		assert_int_equal(le64toh(header_of(rig).arrivals), 0);
	}
	rig_close(rig);
}

static uint64_t standing_clock(void *arg)
{
	(void)arg;
	return SECOND;
}

static void ignore_completion(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status)
{
	(void)arg;
	(void)tag;
	(void)cmd;
	assert_int_equal(status, SAM_STAT_GOOD);
}

static void ignore_deadline(void *arg, uint64_t deadline)
{
	(void)arg;
	(void)deadline;
}

static struct memzbc_device *open_named(struct dev *dev, const char *backstore)
{
	static const struct memzbc_device_ops ops = {
		.now = standing_clock, .complete = ignore_completion, .arm = ignore_deadline,
	};
	const struct memzbc_config cfg = *memzbc_lun_config(dev->lun);
	const struct memzbc_lun_params params = {
		.cfg = &cfg, .state_dir = dev->dir, .token = dev->token, .backstore = backstore,
	};
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_device *device;

	dev_stop(dev);
	assert_int_equal(memzbc_device_open(&params, &ops, NULL, &device, reason), 0);
	return device;
}

/* The transport's tag, the LUN's name, and a write that an earlier process had executed. */
static void tag_name_resent(void **state)
{
	struct dev *dev = dev_open_geo(&rig_geo, "trace=16");
	static uint8_t data[4096], sense[MEMZBC_SENSE_SIZE];
	struct iovec iov = { data, sizeof(data) };
	const struct cdb cdb = cdb_lba(WRITE_16, 2 * 2048, 8);
	struct memzbc_cmd cmd = {
		.cdb = cdb.b, .iov = &iov, .iov_cnt = 1, .sense = sense, .tag = 0xabcd,
	};
	struct rig rig = { .dev = dev };
	struct memzbc_device *device;
	struct memzbc_trace_record r;

	(void)state;
	assert_int_equal(memzbc_lun_execute(dev->lun, &cmd), SAM_STAT_GOOD);
	assert_false(cmd.resent);
	device = open_named(dev, "user_3/z0");
	memzbc_device_submit(device, &cmd, NULL);
	r = complete_record(&rig, 1);
	assert_int_equal(le16toh(r.tag), 0xabcd);
	assert_int_equal(le16toh(r.flags), MEMZBC_TRACE_RESENT);
	assert_string_equal(header_of(&rig).backstore, "user_3/z0");
	memzbc_device_close(device);
	dev_close(dev);
}

/* A record read while it may be written is whole, or known not to be. Returns whether it was. */
static bool check_record(const struct memzbc_trace_record *record)
{
	uint64_t sequence = __atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE);
	struct memzbc_trace_record copy;
	uint64_t number = sequence >> 2;

	memcpy(&copy, record, sizeof(copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!(sequence & 3) || __atomic_load_n(&record->sequence, __ATOMIC_RELAXED) != sequence)
		return false;
	if (copy.lba != number % 1000 || copy.blocks != number % 7 + 1 ||
	    copy.execution != number || copy.completion != number)
		_exit(1);
	return true;
}

/* In a child: has seen @wanted whole records, none of them the one before. */
static void read_records(const struct memzbc_trace_record *record, int wanted)
{
	uint64_t last = 0;

	while (wanted > 0) {
		uint64_t sequence = record->sequence;

		if (check_record(record) && sequence != last)
			wanted--;
		last = sequence;
	}
	_exit(0);
}

/* A ring of one record, so that it changes all the time. */
static void read_while_written(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ .trace = 1 });
	struct reader r = reader_open(rig);
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		read_records(r.records, 5000);
	for (uint64_t n = 1; waitpid(pid, &status, WNOHANG) == 0; n++) {
		submit_read(rig, n % 1000, n % 7 + 1);
		if (n % 100 == 0)
			rig_forget(rig);
	}
	assert_int_equal(status, 0);
	reader_close(&r);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(geometry),
		cmocka_unit_test(fields),
		cmocka_unit_test(held),
		cmocka_unit_test(reordered),
		cmocka_unit_test(delayed),
		cmocka_unit_test(ring),
		cmocka_unit_test(overtaken_by_the_ring),
		cmocka_unit_test(on_and_off),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(survives),
		cmocka_unit_test(replaces_what_does_not_fit),
		cmocka_unit_test(tag_name_resent),
		cmocka_unit_test(read_while_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * zoned-writer: sends requests to one or more zones of a disk in an order of choice, many at a
 * time, and says what became of each, as one line of JSON a fact:
 *	{"request": I, "lba": L, "errno": E}	in the order in which they came back; E is 0 if good
 *	{"late": "errors" | "end"}		why the missing requests were sent when they were
 *	{"verify": I, "lba": L, "good": B}	whether the blocks hold what request I wrote
 *	{"zone": START, "type": T, "wp": L}	from REPORT ZONES, L null where there is no pointer
 *	{"end": true}				nothing is outstanding any more
 * LBAs are in logical blocks. Linux's native AIO is used by its system calls: one io_submit() is a
 * batch that reaches the block layer in exactly this order.
 */
#include "zoned-options.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <linux/blkzoned.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <scsi/sg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECTOR 512
#define WRITE_16 0x8a
#define SENSE_MAX 32
#define SG_TIMEOUT_MS 60000
#define POLL_NS 1000000

static int disk_fd;
static size_t block_size;
static size_t request_size;
static uint8_t *data;			/* of all requests, one after the other */
static int result[REQUESTS_MAX];	/* errno, once a request has come back */
static atomic_uint_fast64_t next_in_order;
static pthread_barrier_t start_line;

static uint64_t lba_of(uint64_t request)
{
	return opt.start + request % opt.zones * opt.stride +
	       request / opt.zones * opt.blocks;
}

/* Every eight bytes depend on where they are, so a block in the wrong place is found out. */
static void fill(uint8_t *buffer, uint64_t request)
{
	uint64_t first = lba_of(request) * block_size / sizeof(uint64_t);
	size_t i;

	for (i = 0; i < request_size / sizeof(uint64_t); i++) {
		uint64_t word = mix(mix(opt.salt) ^ (first + i));

		memcpy(buffer + i * sizeof(word), &word, sizeof(word));
	}
}

static void report(uint64_t request, int error)
{
	result[request] = error;
	printf("{\"request\": %" PRIu64 ", \"lba\": %" PRIu64 ", \"errno\": %d}\n", request,
	       lba_of(request), error);
}

static void submit(aio_context_t context, const uint64_t *requests, uint64_t count)
{
	struct iocb *pointers[REQUESTS_MAX];
	struct iocb *blocks = calloc(count, sizeof(*blocks));
	uint64_t done = 0, i;

	if (!blocks)
		err(USAGE, "calloc");
	for (i = 0; i < count; i++) {
		blocks[i].aio_data = requests[i];
		blocks[i].aio_lio_opcode = opt.op == OP_READ ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
		blocks[i].aio_fildes = (uint32_t)disk_fd;
		blocks[i].aio_buf = (uintptr_t)(data + requests[i] * request_size);
		blocks[i].aio_nbytes = request_size;
		blocks[i].aio_offset = (int64_t)(lba_of(requests[i]) * block_size);
		pointers[i] = &blocks[i];
	}
	while (done < count) {
		long n = syscall(SYS_io_submit, context, count - done, pointers + done);

		if (n < 0) {
			/* The block layer of some kernels refuses a request right here. */
			report(requests[done], errno);
			n = 1;
		}
		done += (uint64_t)n;
	}
	free(blocks);
}

/* Takes what has come back; waits for all of it without a timeout. */
static uint64_t reap(aio_context_t context, uint64_t outstanding, struct timespec *timeout)
{
	struct io_event events[64];
	uint64_t back = 0;
	long n, i;

	while (back < outstanding) {
		n = syscall(SYS_io_getevents, context, 1L, 64L, events, timeout);
		if (n < 0)
			err(USAGE, "io_getevents");
		if (n == 0)
			break;
		for (i = 0; i < n; i++) {
			long long res = events[i].res;
			int error = res < 0 ? (int)-res : (size_t)res == request_size ? 0 : EIO;

			report(events[i].data, error);
		}
		back += (uint64_t)n;
	}
	return back;
}

static uint64_t refused(const uint64_t *requests, uint64_t count)
{
	uint64_t n = 0, i;

	for (i = 0; i < count; i++)
		n += result[requests[i]] >= 0;
	return n;
}

static aio_context_t new_context(void)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, REQUESTS_MAX, &context))
		err(USAGE, "io_setup");
	return context;
}

static uint64_t watched(void)
{
	char text[32] = "";
	FILE *file = fopen(opt.watch, "r");

	if (!file || !fgets(text, sizeof(text), file))
		err(USAGE, "%s", opt.watch);
	fclose(file);
	return strtoull(text, NULL, 0);
}

/* The holes, late: the others shall have met their absence by then, as often as asked. */
static void send_late(aio_context_t context, uint64_t before, uint64_t outstanding)
{
	struct timespec poll = { .tv_nsec = POLL_NS };
	const uint64_t *holes = opt.order + opt.sent_at_once;
	uint64_t count = opt.count - opt.sent_at_once;

	while (outstanding && watched() - before < opt.growth)
		outstanding -= reap(context, outstanding, &poll);
	printf("{\"late\": \"%s\"}\n", outstanding ? "errors" : "end");
	submit(context, holes, count);
	reap(context, outstanding + count - refused(holes, count), NULL);
}

static void run_alone(void)
{
	aio_context_t context = new_context();
	uint64_t before = opt.watch ? watched() : 0;
	uint64_t outstanding, i;

	for (i = 0; i < opt.sent_at_once; i += opt.batch) {
		uint64_t left = opt.sent_at_once - i;

		submit(context, opt.order + i, left < opt.batch ? left : opt.batch);
	}
	outstanding = opt.sent_at_once - refused(opt.order, opt.sent_at_once);
	if (opt.watch)
		send_late(context, before, outstanding);
	else
		reap(context, outstanding, NULL);
}

static void *thread(void *number)
{
	aio_context_t context = new_context();
	uint64_t own[REQUESTS_MAX], mine = 0, i;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((uintptr_t)number % (uintptr_t)sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(USAGE, "sched_setaffinity");
	pthread_barrier_wait(&start_line);
	while ((i = atomic_fetch_add(&next_in_order, 1)) < opt.sent_at_once) {
		own[mine] = opt.order[i];
		submit(context, &own[mine++], 1);
	}
	reap(context, mine - refused(own, mine), NULL);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS_MAX];
	uintptr_t i;

	pthread_barrier_init(&start_line, NULL, (unsigned int)opt.threads);
	for (i = 0; i < opt.threads; i++) {
		errno = pthread_create(&threads[i], NULL, thread, (void *)i);
		if (errno)
			err(USAGE, "pthread_create");
	}
	for (i = 0; i < opt.threads; i++)
		pthread_join(threads[i], NULL);
}

static void put_be(uint8_t *at, uint64_t value, int bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

/* One WRITE(16) past the block layer, with the sense key, ASC and ASCQ that it ends with. */
static void sg_write(int fd, uint64_t request)
{
	uint8_t cdb[16] = { WRITE_16 }, sense[SENSE_MAX] = { 0 };
	struct sg_io_hdr io = {
		.interface_id = 'S', .dxfer_direction = SG_DXFER_TO_DEV, .cmd_len = sizeof(cdb),
		.mx_sb_len = sizeof(sense), .dxfer_len = (unsigned int)request_size,
		.dxferp = data + request * request_size, .cmdp = cdb, .sbp = sense,
		.timeout = SG_TIMEOUT_MS,
	};
	bool fixed;

	put_be(cdb + 2, lba_of(request), 8);
	put_be(cdb + 10, opt.blocks, 4);
	if (ioctl(fd, SG_IO, &io))
		err(USAGE, "SG_IO");
	result[request] = (io.info & SG_INFO_OK_MASK) == SG_INFO_OK ? 0 : EIO;
	fixed = (sense[0] & 0x7e) == 0x70;
	printf("{\"request\": %" PRIu64 ", \"lba\": %" PRIu64 ", \"errno\": %d, \"status\": %u, "
	       "\"sense\": \"%x/%02x/%02x\"}\n", request, lba_of(request), result[request],
	       io.status, sense[fixed ? 2 : 1] & 0xf, sense[fixed ? 12 : 2],
	       sense[fixed ? 13 : 3]);
}

static void run_sg(void)
{
	int fd = open(opt.sg, O_RDWR);
	uint64_t i;

	if (fd < 0)
		err(USAGE, "%s", opt.sg);
	for (i = 0; i < opt.sent_at_once; i++)
		sg_write(fd, opt.order[i]);
	close(fd);
}

/* Reads back what was written, or should have been: whether all of it is there. */
static bool verify(void)
{
	uint8_t *wanted = malloc(request_size);
	bool all = true;
	uint64_t i;

	if (!wanted)
		err(USAGE, "malloc");
	for (i = 0; i < opt.count; i++) {
		bool good;

		if (opt.op != OP_VERIFY && result[i] != 0)
			continue;
		fill(wanted, i);
		good = pread(disk_fd, data, request_size, (off_t)(lba_of(i) * block_size)) ==
			(ssize_t)request_size && !memcmp(data, wanted, request_size);
		printf("{\"verify\": %" PRIu64 ", \"lba\": %" PRIu64 ", \"good\": %s}\n", i,
		       lba_of(i), good ? "true" : "false");
		all = all && good;
	}
	free(wanted);
	return all;
}

static void report_zone(uint64_t lba)
{
	union {
		struct blk_zone_report report;
		char room[sizeof(struct blk_zone_report) + sizeof(struct blk_zone)];
	} got = { .report = { .sector = lba * block_size / SECTOR, .nr_zones = 1 } };
	const struct blk_zone *zone = got.report.zones;
	char pointer[24] = "null";

	if (ioctl(disk_fd, BLKREPORTZONE, &got))
		err(USAGE, "BLKREPORTZONE");
	if (zone->type != BLK_ZONE_TYPE_CONVENTIONAL)
		snprintf(pointer, sizeof(pointer), "%" PRIu64,
			 (uint64_t)zone->wp * SECTOR / block_size);
	printf("{\"zone\": %" PRIu64 ", \"type\": %u, \"wp\": %s}\n",
	       (uint64_t)zone->start * SECTOR / block_size, zone->type, pointer);
}

static void prepare(void)
{
	int size;
	uint64_t i;

	disk_fd = open(opt.disk, O_RDWR | O_DIRECT);
	if (disk_fd < 0 || ioctl(disk_fd, BLKSSZGET, &size))
		err(USAGE, "%s", opt.disk);
	block_size = (size_t)size;
	request_size = block_size * opt.blocks;
	if (posix_memalign((void **)&data, 4096, request_size * opt.count))
		errx(USAGE, "no memory");
	for (i = 0; i < opt.count; i++) {
		fill(data + i * request_size, i);
		result[i] = -1;
	}
}

static bool all_sent_are_good(void)
{
	uint64_t sent = opt.watch ? opt.count : opt.sent_at_once, i;

	for (i = 0; i < sent; i++)
		if (result[opt.order[i]])
			return false;
	return true;
}

int main(int argc, char **argv)
{
	bool good = true;
	uint64_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse_options(argc, argv);
	prepare();
	if (opt.op == OP_SG_WRITE)
		run_sg();
	else if (opt.op != OP_VERIFY && opt.threads > 1)
		run_threads();
	else if (opt.op != OP_VERIFY)
		run_alone();
	if (opt.op != OP_VERIFY)
		good = all_sent_are_good();
	if (opt.verify || opt.op == OP_VERIFY)
		good = verify() && good;
	for (i = 0; i < opt.zones; i++)
		report_zone(opt.start + i * opt.stride);
	puts("{\"end\": true}");
	return good ? 0 : 1;
}

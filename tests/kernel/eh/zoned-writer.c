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
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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

#define REQUESTS_MAX 4096
#define THREADS_MAX 64
#define SECTOR 512
#define WRITE_16 0x8a
#define SENSE_MAX 32
#define SG_TIMEOUT_MS 60000
#define POLL_NS 1000000
#define USAGE 2

enum operation { OP_WRITE, OP_READ, OP_VERIFY, OP_SG_WRITE };

static const char *const operations[] = { "write", "read", "verify", "sg-write", NULL };

static struct {
	const char *disk;
	const char *sg;
	enum operation op;
	uint64_t start;
	uint64_t count;
	uint64_t blocks;	/* a request */
	uint64_t zones;		/* requests go to so many zones in turn */
	uint64_t stride;	/* blocks from one of these zones to the next */
	uint64_t salt;		/* of the data */
	uint64_t batch;		/* requests in one io_submit(); 0: all */
	uint64_t threads;
	bool verify;
	const char *watch;	/* the holes are sent when the number in this file ... */
	uint64_t growth;	/* ... has grown by so much */
} opt = { .count = 1, .blocks = 1, .zones = 1, .threads = 1 };

static int disk_fd;
static size_t block_size;
static size_t request_size;
static uint8_t *data;			/* of all requests, one after the other */
static uint64_t order[REQUESTS_MAX];	/* request numbers as they are sent, the holes last */
static uint64_t sent_at_once;		/* of these, all but the holes */
static bool hole[REQUESTS_MAX];
static int result[REQUESTS_MAX];	/* errno, once a request has come back */
static atomic_uint_fast64_t next_in_order;
static pthread_barrier_t start_line;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

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
	const uint64_t *holes = order + sent_at_once;
	uint64_t count = opt.count - sent_at_once;

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

	for (i = 0; i < sent_at_once; i += opt.batch) {
		uint64_t left = sent_at_once - i;

		submit(context, order + i, left < opt.batch ? left : opt.batch);
	}
	outstanding = sent_at_once - refused(order, sent_at_once);
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
	while ((i = atomic_fetch_add(&next_in_order, 1)) < sent_at_once) {
		own[mine] = order[i];
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
	for (i = 0; i < sent_at_once; i++)
		sg_write(fd, order[i]);
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

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || value < min || value > max)
		errx(USAGE, "'%s': not a number from %" PRIu64 " to %" PRIu64, text, min, max);
	return value;
}

/* A list such as 3,1,2 of request numbers; returns how many. */
static uint64_t list(char *text, uint64_t *numbers)
{
	uint64_t n = 0;
	char *save, *word;

	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (n == REQUESTS_MAX)
			errx(USAGE, "more than %d numbers", REQUESTS_MAX);
		numbers[n++] = number(word, 0, opt.count - 1);
	}
	return n;
}

/* Fisher and Yates. */
static void shuffle(uint64_t seed)
{
	uint64_t i, j, swapped;

	for (i = opt.count - 1; i > 0; i--) {
		j = mix(seed * REQUESTS_MAX + i) % (i + 1);
		swapped = order[i];
		order[i] = order[j];
		order[j] = swapped;
	}
}

static void set_order(char *text)
{
	uint64_t i;

	for (i = 0; i < opt.count; i++)
		order[i] = !strcmp(text, "reversed") ? opt.count - 1 - i : i;
	if (!strncmp(text, "shuffle:", 8))
		shuffle(number(text + 8, 0, UINT32_MAX));
	else if (!strncmp(text, "list:", 5)) {
		bool seen[REQUESTS_MAX] = { false };

		if (list(text + 5, order) != opt.count)
			errx(USAGE, "--order list: not %" PRIu64 " numbers", opt.count);
		for (i = 0; i < opt.count; i++) {
			if (seen[order[i]])
				errx(USAGE, "--order list: %" PRIu64 " twice", order[i]);
			seen[order[i]] = true;
		}
	} else if (strcmp(text, "reversed") && strcmp(text, "sequential"))
		errx(USAGE, "--order %s: not sequential, reversed, shuffle:SEED or list:I,J,...",
		     text);
}

/* Moves the holes behind the others, which keep their order. */
static void set_holes(char *text)
{
	uint64_t numbers[REQUESTS_MAX], kept[REQUESTS_MAX], held, n = 0, i;

	held = text ? list(text, numbers) : 0;
	for (i = 0; i < held; i++)
		hole[numbers[i]] = true;
	for (i = 0; i < opt.count; i++)
		if (!hole[order[i]])
			kept[n++] = order[i];
	sent_at_once = n;
	for (i = 0; i < opt.count; i++)
		if (hole[order[i]])
			kept[n++] = order[i];
	memcpy(order, kept, n * sizeof(*order));
}

static void set_late(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		errx(USAGE, "--late %s: not FILE:NUMBER", text);
	*colon = '\0';
	opt.watch = text;
	opt.growth = number(colon + 1, 1, UINT32_MAX);
}

static enum operation operation(const char *text)
{
	int i;

	for (i = 0; operations[i]; i++)
		if (!strcmp(text, operations[i]))
			return (enum operation)i;
	errx(USAGE, "--op %s: not write, read, verify or sg-write", text);
}

static const char help[] =
"Usage: zoned-writer DISK [OPTION...]\n"
"  --op OP         write (the default), read, verify (reads, and compares with what a\n"
"                  run of the same options would have written), sg-write (WRITE(16))\n"
"  --sg NODE       generic node of the disk, for sg-write\n"
"  --start LBA     of the first request, in logical blocks (0)\n"
"  --count N       requests (1)\n"
"  --blocks N      a request (1)\n"
"  --zones N       request I goes to zone I modulo N, counted from --start's (1)\n"
"  --stride N      blocks from one of these zones to the next\n"
"  --order ORDER   sequential (the default), reversed, shuffle:SEED, list:I,J,...\n"
"  --batch N       requests in one io_submit(): all\n"
"  --threads N     threads, each on a CPU, that take requests in turn, one at a time (1)\n"
"  --holes I,J     requests that are not sent\n"
"  --late FILE:N   they are sent after all: when the number in FILE has grown by N, or\n"
"                  when all others have come back\n"
"  --salt N        of the data that is written (0)\n"
"  --verify        read back what was written without an error\n"
"Exit status: 0 all good, 1 a request failed or data is wrong, 2 could not run.\n";

enum { O_OP = 1, O_SG, O_START, O_COUNT, O_BLOCKS, O_ZONES, O_STRIDE, O_ORDER, O_BATCH, O_THREADS,
       O_HOLES, O_LATE, O_SALT, O_VERIFY, O_HELP };

static const struct option long_options[] = {
	{ "op", required_argument, NULL, O_OP },
	{ "sg", required_argument, NULL, O_SG },
	{ "start", required_argument, NULL, O_START },
	{ "count", required_argument, NULL, O_COUNT },
	{ "blocks", required_argument, NULL, O_BLOCKS },
	{ "zones", required_argument, NULL, O_ZONES },
	{ "stride", required_argument, NULL, O_STRIDE },
	{ "order", required_argument, NULL, O_ORDER },
	{ "batch", required_argument, NULL, O_BATCH },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "holes", required_argument, NULL, O_HOLES },
	{ "late", required_argument, NULL, O_LATE },
	{ "salt", required_argument, NULL, O_SALT },
	{ "verify", no_argument, NULL, O_VERIFY },
	{ "help", no_argument, NULL, O_HELP },
	{ NULL, 0, NULL, 0 },
};

static void take_number(int option, const char *text)
{
	switch (option) {
	case O_START: opt.start = number(text, 0, INT64_MAX); break;
	case O_COUNT: opt.count = number(text, 1, REQUESTS_MAX); break;
	case O_BLOCKS: opt.blocks = number(text, 1, REQUESTS_MAX); break;
	case O_ZONES: opt.zones = number(text, 1, REQUESTS_MAX); break;
	case O_STRIDE: opt.stride = number(text, 1, UINT32_MAX); break;
	case O_BATCH: opt.batch = number(text, 1, REQUESTS_MAX); break;
	case O_THREADS: opt.threads = number(text, 1, THREADS_MAX); break;
	case O_SALT: opt.salt = number(text, 0, UINT64_MAX); break;
	}
}

static void parse(int argc, char **argv)
{
	char sequential[] = "sequential", *sequence = sequential, *holes = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case O_OP: opt.op = operation(optarg); break;
		case O_SG: opt.sg = optarg; break;
		case O_ORDER: sequence = optarg; break;
		case O_HOLES: holes = optarg; break;
		case O_LATE: set_late(optarg); break;
		case O_VERIFY: opt.verify = true; break;
		case O_HELP: fputs(help, stdout); exit(0);
		case '?': exit(USAGE);
		default: take_number(option, optarg);
		}
	}
	if (optind + 1 != argc)
		errx(USAGE, "wanted one DISK (see --help)");
	if (opt.op == OP_SG_WRITE && !opt.sg)
		errx(USAGE, "--op sg-write needs --sg");
	if (opt.watch && (!holes || opt.threads > 1))
		errx(USAGE, "--late needs --holes and one thread");
	opt.disk = argv[optind];
	if (!opt.batch)
		opt.batch = opt.count;
	set_order(sequence);
	set_holes(holes);
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
	uint64_t sent = opt.watch ? opt.count : sent_at_once, i;

	for (i = 0; i < sent; i++)
		if (result[order[i]])
			return false;
	return true;
}

int main(int argc, char **argv)
{
	bool good = true;
	uint64_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
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

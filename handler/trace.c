// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Each change of a record is bracketed by its sequence number, so that a reader in another process
 * sees a record as a whole or knows that it does not.
 */
#include "trace.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <memzbc/scsi.h>

#include "macros.h"

struct trace {
	struct memzbc_trace_header *header;
	struct memzbc_trace_record *records;
	size_t size;
	uint32_t count;
	uint64_t base;		/* number of the command whose request.arrival is 0 */
	uint64_t executions, completions;
};

static uint64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void describe(const struct memzbc_device *dev, struct memzbc_trace_header *header,
		     uint32_t count)
{
	const struct memzbc_config *cfg = &dev->lun->cfg;

	memset(header, 0, sizeof(*header));
	header->version = htole32(MEMZBC_TRACE_VERSION);
	header->header_size = htole32(MEMZBC_TRACE_HEADER_SIZE);
	header->record_size = htole32(sizeof(struct memzbc_trace_record));
	header->count = htole32(count);
	header->token = htole64(dev->lun->store.table->token);
	header->capacity = htole64(cfg->capacity);
	header->zone_size = htole64(cfg->zone_size);
	header->zone_cap = htole64(cfg->zone_cap);
	header->conv = htole64(cfg->conv);
	header->conv_end = htole64(cfg->conv_end);
	header->lba_size = htole32(cfg->lba_size);
	header->pblk_size = htole32(cfg->pblk_size);
	memcpy(header->backstore, dev->lun->backstore, sizeof(header->backstore));
}

/* Whether an earlier process left a trace that can be continued. */
static bool fits(const struct memzbc_trace_header *header, const struct memzbc_trace_header *wanted)
{
	struct memzbc_trace_header changing = *header;

	if (memcmp(header->magic, MEMZBC_TRACE_MAGIC, sizeof(header->magic)) != 0)
		return false;
	memset(changing.magic, 0, sizeof(changing.magic));
	changing.arrivals = changing.executions = changing.completions = 0;
	changing.first = changing.clock = changing.realtime = 0;
	return !memcmp(&changing, wanted, sizeof(changing));
}

static int map(struct trace *trace, int fd)
{
	void *at = mmap(NULL, trace->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	trace->header = at;
	trace->records = (void *)((char *)at + MEMZBC_TRACE_HEADER_SIZE);
	return 0;
}

static void unmap(struct trace *trace)
{
	if (trace->header)
		munmap(trace->header, trace->size);
	trace->header = NULL;
}

/* Maps the trace if there is one to be continued. */
static void continue_old(struct trace *trace, int dir, const struct memzbc_trace_header *wanted)
{
	int fd = openat(dir, MEMZBC_TRACE_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)trace->size)
		map(trace, fd);
	close(fd);
	if (trace->header && !fits(trace->header, wanted))
		unmap(trace);
}

/*
 * Takes the place of the old file, if there is one, when nothing can fail any more. Whoever reads
 * the old one sees that it has no name now. Returns 0 with the trace mapped, or -errno.
 */
static int create(struct trace *trace, int dir, const struct memzbc_trace_header *wanted)
{
	int fd = openat(dir, MEMZBC_TRACE_NEW_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = store_allocate(fd, trace->size);
	if (!err)
		err = map(trace, fd);
	close(fd);
	if (trace->header) {
		*trace->header = *wanted;
		if (renameat(dir, MEMZBC_TRACE_NEW_FILE, dir, MEMZBC_TRACE_FILE) == 0)
			return 0;
		err = -errno;
		unmap(trace);
	}
	unlinkat(dir, MEMZBC_TRACE_NEW_FILE, 0);
	return err;
}

static void begin(struct trace *trace, const struct memzbc_device *dev)
{
	struct memzbc_trace_header *header = trace->header;
	uint64_t first = le64toh(header->arrivals) + 1;

	trace->base = first - dev->arrivals;
	trace->executions = le64toh(header->executions);
	trace->completions = le64toh(header->completions);
	header->first = htole64(first);
	header->clock = htole64(dev->ops->now(dev->arg));
	header->realtime = htole64(realtime());
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, MEMZBC_TRACE_MAGIC, sizeof(header->magic));
}

int trace_open(const struct memzbc_device *dev, uint32_t count, struct trace **out)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int dir = dev->lun->store.dir_fd;
	struct memzbc_trace_header wanted;
	int err = 0;

	if (!trace)
		return -ENOMEM;
	trace->count = count;
	trace->size = MEMZBC_TRACE_HEADER_SIZE + (size_t)count * sizeof(*trace->records);
	describe(dev, &wanted, count);
	continue_old(trace, dir, &wanted);
	if (!trace->header)
		err = create(trace, dir, &wanted);
	if (!trace->header) {
		free(trace);
		return err;
	}
	begin(trace, dev);
	*out = trace;
	return 0;
}

void trace_close(struct trace *trace)
{
	if (trace)
		unmap(trace);
	free(trace);
}

void trace_remove(const struct memzbc_device *dev)
{
	unlinkat(dev->lun->store.dir_fd, MEMZBC_TRACE_FILE, 0);
}

uint32_t trace_count(const struct trace *trace)
{
	return trace ? trace->count : 0;
}

static _Atomic uint64_t *sequence_of(struct memzbc_trace_record *record)
{
	return (_Atomic uint64_t *)&record->sequence;
}

static void fill(struct memzbc_trace_record *record, const struct request *rq)
{
	bool has_range = rq->info.has_range;

	record->arrived = htole64(rq->arrived);
	record->completed = htole64(rq->completed);
	record->lba = has_range ? htole64(rq->info.x.lba) : MEMZBC_TRACE_NO_LBA;
	record->write_pointer = htole64(rq->write_pointer);
	record->blocks = has_range ? htole32((uint32_t)rq->info.x.blocks) : 0;
	record->execution = htole32(rq->execution);
	record->completion = htole32(rq->completion);
	record->tag = htole16(rq->cmd.tag);
	record->flags = htole16(rq->flags);
	record->opcode = rq->cmd.cdb[0];
	record->service_action = rq->cmd.cdb[1] & SERVICE_ACTION_MASK;
	record->status = rq->status;
	record->sense_key = rq->sense_key;
	record->asc = (uint8_t)(rq->asc >> 8);
	record->ascq = (uint8_t)rq->asc;
	record->reordered = rq->reorder_ending;
	record->held = rq->hold_ending;
}

void trace_write(struct memzbc_device *dev, const struct request *rq, enum memzbc_trace_state state)
{
	struct trace *trace = dev->trace;
	uint64_t number = trace->base + rq->arrival, last = le64toh(trace->header->arrivals);
	struct memzbc_trace_record *record = &trace->records[number % trace->count];

	/* One that arrived before the trace began, or whose record is another's by now. */
	if (number < le64toh(trace->header->first) || number + trace->count <= last)
		return;
	atomic_store_explicit(sequence_of(record), 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	fill(record, rq);
	atomic_store_explicit(sequence_of(record), htole64(number << 2 | state),
			      memory_order_release);
	if (number > last)
		trace->header->arrivals = htole64(number);
}

void trace_executing(struct memzbc_device *dev, struct request *rq)
{
	if (rq->zone.slot != NO_SLOT)
		rq->write_pointer = zone_write_pointer(dev->lun, &rq->zone);
	rq->execution = (uint32_t)++dev->trace->executions;
	dev->trace->header->executions = htole64(dev->trace->executions);
}

void trace_completed(struct memzbc_device *dev, struct request *rq, uint64_t now)
{
	rq->completed = now;
	rq->completion = (uint32_t)++dev->trace->completions;
	dev->trace->header->completions = htole64(dev->trace->completions);
	trace_write(dev, rq, MEMZBC_TRACE_COMPLETE);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

/* Where no command can start: there was none before. */
#define NO_LBA UINT64_MAX

struct stats *stats_new(const struct memzbc_device *dev)
{
	struct stats *stats = calloc(1, sizeof(*stats));

	if (!stats)
		return NULL;
	stats->since = dev->ops->now(dev->arg);
	stats->reads.next = stats->writes.next = NO_LBA;
	stats->reordered.count = dev->reordered.count;
	stats->held.count = dev->held.count;
	stats->next_write = calloc(dev->lun->geo.slots, sizeof(*stats->next_write));
	if (stats->next_write)
		return stats;
	free(stats);
	return NULL;
}

void stats_free(struct stats *stats)
{
	if (stats)
		free(stats->next_write);
	free(stats);
}

static void histogram_add(struct stats_histogram *histogram, uint64_t value)
{
	histogram->count[63 - __builtin_clzll(value | 1)]++;
	if (histogram->max < value)
		histogram->max = value;
}

static void count_sequence(struct stats_sequence *sequence, const struct extent *x)
{
	if (x->blocks == 0)
		return;
	sequence->commands++;
	sequence->sequential += x->lba == sequence->next;
	sequence->next = x->lba + x->blocks;
}

/* A write to an SWR zone. */
static void count_order(struct memzbc_device *dev, const struct request *rq)
{
	uint64_t *next = &dev->stats->next_write[rq->zone.slot];
	uint64_t expected = *next ? *next : zone_written_end(dev->lun, &rq->zone);

	dev->stats->out_of_order += rq->info.x.lba != expected;
	*next = rq->info.x.lba + rq->info.x.blocks;
}

/* The next write of @count slots from @first on is expected at the write pointer. */
static void forget_order(struct memzbc_device *dev, uint32_t first, uint32_t count)
{
	uint64_t *next = dev->stats->next_write;
	uint32_t slots = dev->lun->geo.slots;

	memset(&next[first], 0, (count < slots - first ? count : slots - first) * sizeof(*next));
}

static void forget_reset(struct memzbc_device *dev, const struct request *rq)
{
	uint32_t count = get_be16(rq->cmd.cdb + ZBC_OUT_COUNT_BYTE);

	if (!rq->info.has_range)
		forget_order(dev, 0, UINT32_MAX);
	else if (rq->zone.slot != NO_SLOT)
		forget_order(dev, rq->zone.slot, count ? count : 1);
}

void stats_zones_moved(struct memzbc_device *dev, uint32_t slot)
{
	if (slot == NO_SLOT)
		forget_order(dev, 0, UINT32_MAX);
	else
		forget_order(dev, slot, 1);
}

void stats_arrived(struct memzbc_device *dev, const struct request *rq)
{
	const struct command *command = rq->info.command;
	struct stats *stats = dev->stats;

	histogram_add(&stats->outstanding, dev->outstanding);
	if (!command)
		return;
	if (command->execute == sbc_read)
		count_sequence(&stats->reads, &rq->info.x);
	if (command->execute == sbc_write)
		count_sequence(&stats->writes, &rq->info.x);
	if (command->class == MEMZBC_CLASS_WRITE && rq->zone.slot != NO_SLOT &&
	    rq->zone.type == ZONE_TYPE_SWR && rq->info.x.blocks > 0)
		count_order(dev, rq);
	if (command->execute == zbc_reset_write_pointer)
		forget_reset(dev, rq);
}

static void count_sense(struct stats *stats, uint8_t key, uint16_t asc)
{
	struct stats_sense *sense = stats->senses;
	const struct stats_sense *end = sense + stats->senses_used;

	while (sense < end && (sense->key != key || sense->asc != asc))
		sense++;
	if (sense == &stats->senses[STATS_SENSES]) {
		stats->senses_other++;
		return;
	}
	if (sense == end)
		*sense = (struct stats_sense){ .key = key, .asc = asc };
	stats->senses_used += sense == end;
	sense->count++;
}

static void count_command(struct memzbc_device *dev, const struct request *rq)
{
	size_t index = rq->info.command ? (size_t)(rq->info.command - command_table) : COMMANDS;
	struct stats_command *command = &dev->stats->commands[index];

	command->commands++;
	command->errors += rq->status != SAM_STAT_GOOD;
	if (moves_data(rq))
		command->bytes += rq->moved * dev->lun->cfg.lba_size;
}

void stats_completed(struct memzbc_device *dev, const struct request *rq, uint64_t now)
{
	struct stats *stats = dev->stats;

	count_command(dev, rq);
	stats->statuses[rq->status]++;
	stats->resent += rq->cmd.resent;
	if (rq->status == SAM_STAT_CHECK_CONDITION)
		count_sense(stats, rq->sense_key, rq->asc);
	histogram_add(&stats->latency, now - rq->arrived);
	stats->latency_sum += now - rq->arrived;
}

void memzbc_device_stats_reset(struct memzbc_device *dev)
{
	struct table *table = dev->lun->store.table;
	struct stats *stats = dev->stats;

	zones_reset_statistics(dev->lun);
	memset(table->errors, 0, sizeof(table->errors));
	if (!stats)
		return;
	*stats = (struct stats){
		.since = dev->ops->now(dev->arg),
		.reads.next = stats->reads.next,
		.writes.next = stats->writes.next,
		.outstanding.max = dev->outstanding,
		/* Those that are kept now will end, too. */
		.reordered.count = dev->reordered.count,
		.held.count = dev->held.count,
		.next_write = stats->next_write,
	};
}

struct memzbc_stats *memzbc_device_stats(struct memzbc_device *dev)
{
	struct memzbc_stats *copy = calloc(1, sizeof(*copy));
	const struct memzbc_lun *lun = dev->lun;

	if (!copy)
		return NULL;
	copy->counting = dev->stats;
	if (dev->stats) {
		copy->stats = *dev->stats;
		copy->stats.next_write = NULL;
		copy->elapsed = dev->ops->now(dev->arg) - dev->stats->since;
	}
	copy->outstanding = dev->outstanding;
	copy->reordered = dev->reordered.count;
	copy->held = dev->held.count;
	copy->zones = lun->store.table->stats;
	memcpy(copy->zones_now, lun->zones.count, sizeof(copy->zones_now));
	memcpy(copy->transitions, lun->zones.transitions, sizeof(copy->transitions));
	copy->memory = store_memory(&lun->store);
	copy->memory_max = lun->store.mem;
	return copy;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * What the device tells statistics and trace, which know nothing of each other.
 */
#include <errno.h>

#include <memzbc/scsi.h>

#include "stats.h"
#include "trace.h"

/* The trace gets to know a command when it is kept or, if it never is, when it is complete. */
void observe_arrived(struct memzbc_device *dev, struct request *rq)
{
	if (dev->stats)
		stats_arrived(dev, rq);
}

static void read_sense(struct request *rq)
{
	if (rq->status == SAM_STAT_CHECK_CONDITION)
		sense_read(rq->cmd.sense, &rq->sense_key, &rq->asc);
}

/* Only what waits after its execution has a status already. */
void observe_kept(struct memzbc_device *dev, struct request *rq)
{
	struct stats *stats = dev->stats;

	switch (rq->stage) {
	case STAGE_REORDER:
		rq->flags |= MEMZBC_TRACE_REORDERED;
		if (stats)
			stats->reordered.count++;
		break;
	case STAGE_HOLD:
		rq->flags |= MEMZBC_TRACE_HELD;
		if (stats)
			stats->held.count++;
		break;
	default:
		read_sense(rq);
		break;
	}
	if (dev->trace)
		trace_write(dev, rq, rq->stage == STAGE_ANSWER ? MEMZBC_TRACE_EXECUTED
							       : MEMZBC_TRACE_ARRIVED);
}

void observe_released(struct memzbc_device *dev, struct request *rq, enum memzbc_ending ending)
{
	struct stats *stats = dev->stats;

	switch (rq->stage) {
	case STAGE_REORDER:
		rq->reorder_ending = ending;
		if (stats)
			stats->reordered.ended[ending]++;
		break;
	case STAGE_HOLD:
		rq->hold_ending = ending;
		if (stats)
			stats->held.ended[ending]++;
		break;
	default:
		break;
	}
}

void observe_executing(struct memzbc_device *dev, struct request *rq,
		       const struct memzbc_error_rule *rule)
{
	if (rule) {
		rq->flags |= MEMZBC_TRACE_INJECTED;
		if (rule->kind == MEMZBC_ERROR_DROP)
			rq->flags |= MEMZBC_TRACE_DROPPED;
		if (dev->stats)
			dev->stats->injected[rule->kind]++;
	}
	if (dev->trace)
		trace_executing(dev, rq);
}

void observe_answered(struct memzbc_device *dev, struct request *rq)
{
	uint64_t now;

	if (!dev->stats && !dev->trace)
		return;
	now = dev->ops->now(dev->arg);
	read_sense(rq);
	if (rq->cmd.resent)
		rq->flags |= MEMZBC_TRACE_RESENT;
	if (dev->stats)
		stats_completed(dev, rq, now);
	if (dev->trace)
		trace_completed(dev, rq, now);
}

void observe_zones_moved(struct memzbc_device *dev, uint32_t slot)
{
	if (dev->stats)
		stats_zones_moved(dev, slot);
}

int observe_set(struct memzbc_device *dev, const struct memzbc_faults *faults)
{
	bool other_trace = trace_count(dev->trace) != faults->trace;
	struct stats *stats = dev->stats;
	struct trace *trace = NULL;
	int err;

	if (faults->stats && !stats) {
		stats = stats_new(dev);
		if (!stats)
			return -ENOMEM;
	}
	if (other_trace && faults->trace) {
		err = trace_open(dev, faults->trace, &trace);
		if (err) {
			if (!dev->stats)
				stats_free(stats);
			return err;
		}
	}
	if (!faults->stats) {
		stats_free(stats);
		stats = NULL;
	}
	dev->stats = stats;
	if (other_trace) {
		trace_close(dev->trace);
		dev->trace = trace;
	}
	if (!faults->trace)
		trace_remove(dev);
	return 0;
}

void observe_end(struct memzbc_device *dev)
{
	stats_free(dev->stats);
	trace_close(dev->trace);
}

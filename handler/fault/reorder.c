// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * reorder: a write is held back until later writes of its zone were executed. Nothing is faked: the
 * write that overtakes meets the write pointer where it is, and gets what it deserves.
 */
#include <memzbc/scsi.h>

#include "stage.h"

static bool may_be_reordered(const struct memzbc_device *dev, const struct request *rq)
{
	if (rq->info.class != MEMZBC_CLASS_WRITE || rq->zone.slot == NO_SLOT)
		return false;
	return rq->zone.type == ZONE_TYPE_SWR ||
	       (rq->zone.type == ZONE_TYPE_CONVENTIONAL && dev->faults.reorder_conv);
}

bool reorder_takes(struct memzbc_device *dev, struct request *rq)
{
	const struct memzbc_faults *faults = &dev->faults;

	if (!faults->reorder || !may_be_reordered(dev, rq))
		return false;
	if (!prng_one_in(&dev->reorder_prng, faults->reorder))
		return false;
	device_keep(dev, rq, STAGE_REORDER, dev->ops->now(dev->arg) + faults->reorder_time);
	return true;
}

/* Those who have waited long enough go on, in the order of arrival. */
void reorder_write_executed(struct memzbc_device *dev, const struct request *write)
{
	struct request *rq, *next;

	for (rq = dev->reordered.first; rq; rq = next) {
		next = rq->next;
		if (rq->zone.slot != write->zone.slot || rq->arrival > write->arrival)
			continue;
		if (++rq->waited_for < dev->faults.reorder_depth)
			continue;
		device_release(dev, rq, MEMZBC_ENDING_DEPTH);
		device_admit(dev, rq);
	}
}

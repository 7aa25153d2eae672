// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * hold: a write that starts above the write pointer of its zone is kept until the pointer arrives,
 * for a bounded time and number of attempts. When they run out it is executed all the same, and
 * fails. Only writes that could succeed are kept.
 */
#include <memzbc/scsi.h>

#include "stage.h"

static uint32_t kept_in_zone(const struct memzbc_device *dev, uint32_t slot)
{
	uint32_t count = 0;

	for (const struct request *rq = dev->held.first; rq; rq = rq->next)
		count += rq->zone.slot == slot;
	return count;
}

static bool can_succeed_later(const struct memzbc_device *dev, const struct request *rq)
{
	const struct zone *z = &rq->zone;
	uint32_t pblk = dev->lun->geo.pblk;
	uint64_t lba = rq->info.x.lba, end = lba + rq->info.x.blocks;

	switch (zone_condition(dev->lun, z)) {
	case ZONE_EMPTY:
	case ZONE_IMP_OPEN:
	case ZONE_EXP_OPEN:
	case ZONE_CLOSED:
		break;
	default:
		return false;
	}
	return end > lba && lba > zone_written_end(dev->lun, z) && end <= zone_end(z) &&
	       lba % pblk == 0 && end % pblk == 0;
}

bool hold_takes(struct memzbc_device *dev, struct request *rq)
{
	const struct memzbc_faults *faults = &dev->faults;

	if (!faults->hold || rq->info.class != MEMZBC_CLASS_WRITE ||
	    rq->zone.slot == NO_SLOT || rq->zone.type != ZONE_TYPE_SWR)
		return false;
	if (!can_succeed_later(dev, rq) || kept_in_zone(dev, rq->zone.slot) >= faults->hold)
		return false;
	rq->waited_for = 0;
	device_keep(dev, rq, STAGE_HOLD, dev->ops->now(dev->arg) + faults->hold_time);
	return true;
}

/* Why it need not wait any longer, or NONE. */
static enum memzbc_ending ending_of(struct memzbc_device *dev, struct request *rq, bool write)
{
	uint32_t attempts = dev->faults.hold_attempts;

	if (zone_write_pointer(dev->lun, &rq->zone) == rq->info.x.lba)
		return MEMZBC_ENDING_POINTER;
	if (!can_succeed_later(dev, rq))
		return MEMZBC_ENDING_PASSED;
	if (write && attempts && ++rq->waited_for >= attempts)
		return MEMZBC_ENDING_ATTEMPTS;
	return MEMZBC_ENDING_NONE;
}

/* All that the write pointer has reached, or that need not wait any longer. */
void hold_wake(struct memzbc_device *dev, uint32_t slot, bool write)
{
	enum memzbc_ending ending;
	struct request *rq, *next;

	for (rq = dev->held.first; rq; rq = next) {
		next = rq->next;
		if (slot != NO_SLOT && rq->zone.slot != slot)
			continue;
		ending = ending_of(dev, rq, write);
		if (ending == MEMZBC_ENDING_NONE)
			continue;
		device_release(dev, rq, ending);
		device_execute(dev, rq);
	}
}

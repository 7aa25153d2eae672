// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * delay, rate and seek: how long the answer to a command takes, from its arrival. The command
 * itself is executed when it arrives, and the answers of commands overlap.
 */
#include <math.h>

#include "../macros.h"
#include "stage.h"

/* LIO gives a command up after 30 s, and a daemon that stops waits for every answer. */
#define ANSWER_MAX (25 * NS_PER_S)

/*
 * An arm accelerates half of the way and brakes the other half: the time goes with the square root
 * of the distance, up to dev->faults.seek for the whole LBA space.
 */
static uint64_t seek_time(struct memzbc_device *dev, const struct request *rq)
{
	uint64_t lba = rq->info.x.lba, head = dev->head;
	uint64_t distance = lba > head ? lba - head : head - lba;
	double share = (double)distance / (double)dev->lun->geo.capacity;

	dev->head = lba + rq->moved;
	return (uint64_t)(sqrt(share) * (double)dev->faults.seek);
}

static uint64_t transfer_time(uint64_t bytes, uint64_t rate)
{
	unsigned __int128 ns = (unsigned __int128)bytes * NS_PER_S / rate;

	return ns < ANSWER_MAX ? (uint64_t)ns : ANSWER_MAX;
}

uint64_t delay_of(struct memzbc_device *dev, const struct request *rq)
{
	const struct memzbc_faults *faults = &dev->faults;
	uint64_t ns = faults->delay[rq->info.class];

	if (!moves_data(rq) || !rq->moved)
		return ns;
	if (faults->rate) {
		uint64_t bytes = rq->moved * dev->lun->cfg.lba_size;

		ns += transfer_time(bytes, faults->rate);
	}
	if (faults->seek)
		ns += seek_time(dev, rq);
	return ns < ANSWER_MAX ? ns : ANSWER_MAX;
}

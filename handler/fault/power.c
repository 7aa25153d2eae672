// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * cache: writes are executed as ever, and remembered in the order of execution with what it takes
 * to undo them, until they are durable. A loss of power undoes the newest. What is remembered
 * belongs to the process: when it dies, all writes are durable.
 *
 * A write to a sequential zone is undone by its write pointer, one to conventional zones by the
 * data that it overwrote.
 */
#include <errno.h>
#include <stdlib.h>

#include <memzbc/bytes.h>
#include <memzbc/operate.h>
#include <memzbc/scsi.h>

#include "stage.h"

#define ROOM_FIRST 64

/* A write that is not durable yet. */
struct undo {
	uint64_t pos, len;	/* what it wrote, bytes on the medium; len 0: it is durable */
	uint32_t slot;		/* its sequential zone, or NO_SLOT */
	uint64_t pointer;	/* where the write pointer was, blocks from the zone's start */
	uint8_t *data;		/* what the medium held; NULL in a sequential zone */
};

/* A ring of entries, oldest first; neither the first nor the last is durable. */
struct power {
	struct undo *ring;
	uint32_t first, count, room;	/* @room is a power of two, or 0 */
	uint64_t bytes;		/* written by all of them */
};

static struct undo *entry(const struct power *power, uint32_t i)
{
	return &power->ring[(power->first + i) & (power->room - 1)];
}

/* The write is durable now. */
static void settle(struct power *power, struct undo *undo)
{
	power->bytes -= undo->len;
	undo->len = 0;
	free(undo->data);
	undo->data = NULL;
}

static void trim(struct power *power)
{
	while (power->count && !entry(power, power->count - 1)->len)
		power->count--;
	while (power->count && !entry(power, 0)->len) {
		power->first++;
		power->count--;
	}
}

static void settle_all(struct power *power)
{
	for (uint32_t i = 0; i < power->count; i++)
		settle(power, entry(power, i));
	power->count = 0;
}

static struct memzbc_cmd buffer_of(struct iovec *iov, uint8_t *data, uint64_t len)
{
	*iov = (struct iovec){ .iov_base = data, .iov_len = len };
	return (struct memzbc_cmd){ .iov = iov, .iov_cnt = 1 };
}

/*
 * [@pos, @end) is durable, which is a part of what @undo wrote to conventional zones: from now on
 * undoing leaves there what is there.
 */
static void settle_part(struct memzbc_device *dev, struct undo *undo, uint64_t pos, uint64_t end)
{
	struct iovec iov;
	struct memzbc_cmd buffer = buffer_of(&iov, undo->data, undo->len);
	uint64_t undo_end = undo->pos + undo->len;

	if (pos < undo->pos)
		pos = undo->pos;
	if (end > undo_end)
		end = undo_end;
	if (end - pos == undo->len ||
	    store_read(&dev->lun->store, pos, &buffer, pos - undo->pos, end - pos))
		settle(dev->power, undo);
}

/* [@pos, @end) of the medium is durable. */
static void settle_range(struct memzbc_device *dev, uint64_t pos, uint64_t end)
{
	struct power *power = dev->power;

	for (uint32_t i = 0; i < power->count; i++) {
		struct undo *undo = entry(power, i);
		struct zone z;

		if (!undo->len || undo->pos >= end)
			continue;
		if (undo->slot == NO_SLOT) {
			if (undo->pos + undo->len > pos)
				settle_part(dev, undo, pos, end);
			continue;
		}
		/* What lies below durable blocks of a sequential zone has to be there, too. */
		z = geometry_slot_zone(&dev->lun->geo, undo->slot);
		if (zone_end(&z) * dev->lun->cfg.lba_size > pos)
			settle(power, undo);
	}
	trim(power);
}

/* Room for one more; entries that are durable are dropped, so that they do not add up. */
static bool make_room(struct power *power)
{
	uint32_t room = power->room ? power->room : ROOM_FIRST, live = 0;
	struct undo *ring;

	if (power->count < power->room)
		return true;
	for (uint32_t i = 0; i < power->count; i++)
		live += entry(power, i)->len > 0;
	if (live >= room / 2)
		room *= 2;
	ring = malloc(room * sizeof(*ring));
	if (!ring)
		return false;
	live = 0;
	for (uint32_t i = 0; i < power->count; i++)
		if (entry(power, i)->len)
			ring[live++] = *entry(power, i);
	free(power->ring);
	*power = (struct power){ .ring = ring, .room = room, .count = live, .bytes = power->bytes };
	return true;
}

/* The oldest writes become durable until the others have no more than @bytes. */
static void make_fit(struct power *power, uint64_t bytes)
{
	while (power->count && power->bytes > bytes) {
		settle(power, entry(power, 0));
		trim(power);
	}
}

/* A full cache writes its oldest data to the medium; one that is too small holds nothing. */
static void remember(struct memzbc_device *dev, const struct undo *undo)
{
	struct power *power = dev->power;
	uint64_t cache = dev->faults.cache;

	make_fit(power, undo->len < cache ? cache - undo->len : 0);
	if (undo->len > cache || !make_room(power)) {
		free(undo->data);
		settle_all(power);
		return;
	}
	*entry(power, power->count++) = *undo;
	power->bytes += undo->len;
}

static bool is_durable(const struct memzbc_device *dev, const uint8_t *cdb)
{
	switch (cdb[0]) {
	case WRITE_10:
	case WRITE_12:
	case WRITE_16:
		if (cdb[1] & RW_FUA)
			return true;
		break;
	}
	return !mode_write_cache(dev->lun);
}

static uint8_t write_sequential(struct memzbc_device *dev, struct memzbc_cmd *cmd,
				const struct zone *z, struct undo *undo)
{
	uint8_t status;

	undo->slot = z->slot;
	undo->pointer = zone_pointer_offset(dev->lun, z);
	status = memzbc_lun_execute(dev->lun, cmd);
	if (status != SAM_STAT_GOOD)
		return status;
	if (is_durable(dev, cmd->cdb))
		settle_range(dev, undo->pos, undo->pos + undo->len);
	else if (zone_pointer_offset(dev->lun, z) != undo->pointer)
		remember(dev, undo);
	return status;
}

static uint8_t write_conventional(struct memzbc_device *dev, struct memzbc_cmd *cmd,
				  struct undo *undo)
{
	bool durable = is_durable(dev, cmd->cdb);
	struct iovec iov;
	struct memzbc_cmd buffer;
	uint8_t status = command_check(dev->lun, cmd);

	if (status != SAM_STAT_GOOD)
		return status;
	undo->slot = NO_SLOT;
	if (!durable && undo->len <= dev->faults.cache)
		undo->data = malloc(undo->len);
	buffer = buffer_of(&iov, undo->data, undo->len);
	if (undo->data && store_read(&dev->lun->store, undo->pos, &buffer, 0, undo->len)) {
		free(undo->data);
		undo->data = NULL;
	}
	status = memzbc_lun_execute(dev->lun, cmd);
	if (status != SAM_STAT_GOOD)
		free(undo->data);
	else if (undo->data)
		remember(dev, undo);
	else if (durable)
		settle_range(dev, undo->pos, undo->pos + undo->len);
	else
		settle_all(dev->power);
	return status;
}

static uint8_t execute_write(struct memzbc_device *dev, struct memzbc_cmd *cmd,
			     const struct extent *x)
{
	const struct memzbc_lun *lun = dev->lun;
	struct undo undo = {
		.pos = x->lba * lun->cfg.lba_size,
		.len = x->blocks * lun->cfg.lba_size,
	};
	struct zone z;

	/* What writes nothing, or is refused, needs no look at zones. */
	if (!x->blocks || x->lba >= lun->geo.capacity || x->blocks > lun->geo.capacity - x->lba)
		return memzbc_lun_execute(dev->lun, cmd);
	z = geometry_zone(&lun->geo, x->lba);
	if (z.type == ZONE_TYPE_SWR)
		return write_sequential(dev, cmd, &z, &undo);
	return write_conventional(dev, cmd, &undo);
}

/* All of the slots from @first to below @end. */
static void settle_slots(struct memzbc_device *dev, uint32_t first, uint32_t end)
{
	uint64_t slot_size = dev->lun->geo.zone_size * dev->lun->cfg.lba_size;

	settle_range(dev, first * slot_size, end * slot_size);
}

static void settle_managed(struct memzbc_device *dev, const uint8_t *cdb, const struct extent *x)
{
	const struct geometry *geo = &dev->lun->geo;
	uint8_t action = cdb[1] & SERVICE_ACTION_MASK;
	uint32_t count = get_be16(&cdb[ZBC_OUT_COUNT_BYTE]), slot;

	if (action != SA_RESET_WRITE_POINTER && action != SA_FINISH_ZONE)
		return;
	if (cdb[ZBC_OUT_ALL_BYTE] & ZBC_OUT_ALL) {
		settle_slots(dev, geo->first_seq, geo->end_seq);
		return;
	}
	slot = geometry_zone(geo, x->lba).slot;
	settle_slots(dev, slot, slot + (count ? count : 1));
}

static void settle_synchronized(struct memzbc_device *dev, const struct extent *x)
{
	uint64_t capacity = dev->lun->geo.capacity;
	uint64_t end = x->blocks ? x->lba + x->blocks : capacity;

	settle_range(dev, x->lba * dev->lun->cfg.lba_size, end * dev->lun->cfg.lba_size);
}

uint8_t power_execute(struct memzbc_device *dev, struct memzbc_cmd *cmd)
{
	struct command_info info;
	uint8_t status;

	if (!dev->power)
		return memzbc_lun_execute(dev->lun, cmd);
	info = command_info(cmd->cdb);
	if (info.class == MEMZBC_CLASS_WRITE)
		return execute_write(dev, cmd, &info.x);
	status = memzbc_lun_execute(dev->lun, cmd);
	if (status != SAM_STAT_GOOD)
		return status;
	if (info.class == MEMZBC_CLASS_ZONE)
		settle_managed(dev, cmd->cdb, &info.x);
	else if (info.class == MEMZBC_CLASS_SYNC)
		settle_synchronized(dev, &info.x);
	else if (dev->lun->store.table->stopped || !mode_write_cache(dev->lun))
		settle_all(dev->power);
	return status;
}

int power_begin(struct memzbc_device *dev)
{
	if (!dev->power)
		dev->power = calloc(1, sizeof(*dev->power));
	return dev->power ? 0 : -ENOMEM;
}

void power_limit(struct memzbc_device *dev, uint64_t bytes)
{
	if (!bytes)
		power_end(dev);
	else
		make_fit(dev->power, bytes);
}

void power_end(struct memzbc_device *dev)
{
	if (!dev->power)
		return;
	settle_all(dev->power);
	free(dev->power->ring);
	free(dev->power);
	dev->power = NULL;
}

/* Returns whether the write is undone: memory for what it replaced may be lacking. */
static bool undo_conventional(struct memzbc_lun *lun, const struct undo *undo)
{
	struct iovec iov;
	struct memzbc_cmd buffer = buffer_of(&iov, undo->data, undo->len);

	if (all_zero(undo->data, undo->len))
		return !store_discard(&lun->store, undo->pos, undo->len);
	return !store_reserve(&lun->store, undo->pos, undo->len) &&
	       !store_write(&lun->store, undo->pos, &buffer, 0, undo->len);
}

static bool undo_write(struct memzbc_lun *lun, const struct undo *undo)
{
	struct zone z;

	if (undo->slot == NO_SLOT)
		return undo_conventional(lun, undo);
	z = geometry_slot_zone(&lun->geo, undo->slot);
	zone_move(lun, &z, zone_resting_condition(&z, undo->pointer), undo->pointer);
	return true;
}

struct memzbc_power_loss memzbc_device_power_loss(struct memzbc_device *dev, uint64_t count)
{
	struct power *power = dev->power;
	struct memzbc_power_loss loss = { 0 };

	while (power && power->count && loss.writes < count) {
		struct undo *last = entry(power, power->count - 1);

		if (undo_write(dev->lun, last)) {
			loss.writes++;
			loss.bytes += last->len;
		}
		settle(power, last);
		trim(power);
	}
	if (power)
		settle_all(power);
	zones_close_all(dev->lun);
	zones_settle(dev->lun);
	device_zones_moved(dev, NO_SLOT);
	return loss;
}

int memzbc_device_set_zone(struct memzbc_device *dev, uint32_t zone,
			   enum memzbc_zone_change change, uint64_t pointer, char *reason)
{
	int err = memzbc_lun_set_zone(dev->lun, zone, change, pointer, reason);

	if (err)
		return err;
	if (dev->power)
		settle_slots(dev, zone, zone + 1);
	device_zones_moved(dev, zone);
	return 0;
}

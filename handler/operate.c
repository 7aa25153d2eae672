// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <memzbc/operate.h>

#include <inttypes.h>

#include <memzbc/scsi.h>

#include "model.h"
#include "text.h"

static int check_type(const struct zone *z, enum memzbc_zone_change change, char *reason)
{
	bool conventional = z->type == ZONE_TYPE_CONVENTIONAL;

	switch (change) {
	case MEMZBC_ZONE_READ_ONLY:
	case MEMZBC_ZONE_OFFLINE:
		return 0;
	case MEMZBC_ZONE_NOT_WP:
		if (conventional)
			return 0;
		return refuse(reason, "zone %" PRIu32 " has a write pointer; accepted: empty, "
			      "closed, full, readonly, offline", z->slot);
	default:
		if (!conventional)
			return 0;
		return refuse(reason, "zone %" PRIu32 " is conventional; accepted: readonly, "
			      "offline, notwp", z->slot);
	}
}

static int check_pointer(const struct memzbc_lun *lun, const struct zone *z,
			 enum memzbc_zone_change change, uint64_t pointer, char *reason)
{
	uint32_t step = lun->geo.pblk;

	if (pointer == MEMZBC_POINTER_KEPT) {
		if (change != MEMZBC_ZONE_POINTER)
			return 0;
		return refuse(reason, "no condition and no write pointer");
	}
	if (change != MEMZBC_ZONE_POINTER && change != MEMZBC_ZONE_CLOSED)
		return refuse(reason, "a write pointer goes with closed, or alone");
	if (pointer > z->len || pointer % step)
		return refuse(reason, "zone %" PRIu32 ": write pointer at block %" PRIu64
			      " of the zone; accepted: 0 to %" PRIu64 ", multiples of %" PRIu32,
			      z->slot, pointer, z->len, step);
	return 0;
}

int memzbc_lun_check_zone(const struct memzbc_lun *lun, uint32_t zone,
			  enum memzbc_zone_change change, uint64_t pointer, char *reason)
{
	struct zone z;
	int err;

	if (zone >= lun->geo.slots)
		return refuse(reason, "zone %" PRIu32 "; accepted: 0 to %" PRIu32, zone,
			      lun->geo.slots - 1);
	z = geometry_slot_zone(&lun->geo, zone);
	err = check_type(&z, change, reason);
	return err ? err : check_pointer(lun, &z, change, pointer, reason);
}

/* What becomes of a zone whose write pointer alone moves. */
static uint8_t condition_at(uint8_t now, const struct zone *z, uint64_t offset)
{
	switch (now) {
	case ZONE_READ_ONLY:
	case ZONE_OFFLINE:
		return now;
	case ZONE_IMP_OPEN:
	case ZONE_EXP_OPEN:
		return offset == z->len ? ZONE_FULL : now;
	default:
		return zone_resting_condition(z, offset);
	}
}

static void set_sequential(struct memzbc_lun *lun, const struct zone *z,
			   enum memzbc_zone_change change, uint64_t pointer)
{
	uint64_t offset = pointer == MEMZBC_POINTER_KEPT ? zone_pointer_offset(lun, z) : pointer;
	uint8_t condition;

	switch (change) {
	case MEMZBC_ZONE_EMPTY:
		offset = 0;
		condition = ZONE_EMPTY;
		break;
	case MEMZBC_ZONE_FULL:
		offset = z->len;
		condition = ZONE_FULL;
		break;
	case MEMZBC_ZONE_READ_ONLY:
		condition = ZONE_READ_ONLY;
		break;
	case MEMZBC_ZONE_OFFLINE:
		condition = ZONE_OFFLINE;
		break;
	case MEMZBC_ZONE_POINTER:
		condition = condition_at(zone_condition(lun, z), z, offset);
		break;
	default:
		condition = zone_resting_condition(z, offset);
		break;
	}
	zone_move(lun, z, condition, offset);
	zones_settle(lun);
}

static void set_conventional(struct memzbc_lun *lun, const struct zone *z,
			     enum memzbc_zone_change change)
{
	uint8_t condition = change == MEMZBC_ZONE_READ_ONLY ? ZONE_READ_ONLY :
			    change == MEMZBC_ZONE_OFFLINE ? ZONE_OFFLINE : ZONE_NOT_WP;

	zone_set_conventional(lun, z, condition);
}

int memzbc_lun_set_zone(struct memzbc_lun *lun, uint32_t zone, enum memzbc_zone_change change,
			uint64_t pointer, char *reason)
{
	int err = memzbc_lun_check_zone(lun, zone, change, pointer, reason);
	struct zone z;

	if (err)
		return err;
	z = geometry_slot_zone(&lun->geo, zone);
	if (z.type == ZONE_TYPE_CONVENTIONAL)
		set_conventional(lun, &z, change);
	else
		set_sequential(lun, &z, change, pointer);
	return 0;
}

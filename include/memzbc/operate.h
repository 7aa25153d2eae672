/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What happens to a LUN without a command: zones go bad, or are set up by an operator, and the
 * power fails.
 */
#ifndef MEMZBC_OPERATE_H
#define MEMZBC_OPERATE_H

#include <stdint.h>

#include <memzbc/device.h>
#include <memzbc/lun.h>

/* What a zone is to become. */
enum memzbc_zone_change {
	MEMZBC_ZONE_EMPTY,
	MEMZBC_ZONE_CLOSED,
	MEMZBC_ZONE_FULL,
	MEMZBC_ZONE_READ_ONLY,
	MEMZBC_ZONE_OFFLINE,
	MEMZBC_ZONE_NOT_WP,	/* a conventional zone: usable again */
	MEMZBC_ZONE_POINTER,	/* only the write pointer moves */
};

/* No write pointer is given. */
#define MEMZBC_POINTER_KEPT UINT64_MAX

/**
 * memzbc_lun_check_zone() - whether memzbc_lun_set_zone() would take its arguments
 * @lun: the LUN; only what never changes of it is looked at
 *
 * Return: 0, or -EINVAL with @reason set.
 */
int memzbc_lun_check_zone(const struct memzbc_lun *lun, uint32_t zone,
			  enum memzbc_zone_change change, uint64_t pointer, char *reason);

/**
 * memzbc_lun_set_zone() - change a zone, as a failing drive or an operator would
 * @lun: the LUN
 * @zone: number of the zone, counted from 0; gap zones do not count
 * @change: what it becomes
 * @pointer: logical blocks between the start of the zone and its write pointer, a multiple of the
 *	physical block; with CLOSED and POINTER only, which needs it. Otherwise MEMZBC_POINTER_KEPT
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * A sequential zone can go from any condition to any other:
 *  EMPTY	the data are discarded, as by RESET WRITE POINTER
 *  CLOSED	keeps its data below the write pointer, which stays, or becomes @pointer. With the
 *		pointer at its start it becomes EMPTY, with the pointer at its end FULL. So a zone
 *		that was READ ONLY or OFFLINE comes back as it was
 *  FULL	as by FINISH ZONE: what was not written reads as zeros
 *  READ ONLY, OFFLINE	  data and write pointer stay, and are neither shown nor, OFFLINE, read
 *  POINTER	an open zone stays open unless @pointer is its end; a zone in another condition
 *		becomes EMPTY, CLOSED or FULL by @pointer, but READ ONLY and OFFLINE stay
 * A write pointer that goes back discards what is above it. Blocks that it newly covers read as
 * zeros. Conventional zones become READ ONLY, OFFLINE or NOT WRITE POINTER, and keep their data.
 *
 * Return: 0, or -EINVAL with @reason set and nothing changed.
 */
int memzbc_lun_set_zone(struct memzbc_lun *lun, uint32_t zone, enum memzbc_zone_change change,
			uint64_t pointer, char *reason);

/**
 * memzbc_device_set_zone() - the same for the LUN of a device
 * @dev: the device
 *
 * Commands that wait for the write pointer see it where it is now. What the volatile cache (key
 * cache) holds of the zone becomes durable first.
 *
 * Return: as memzbc_lun_set_zone().
 */
int memzbc_device_set_zone(struct memzbc_device *dev, uint32_t zone,
			   enum memzbc_zone_change change, uint64_t pointer, char *reason);

/* What a loss of power took away. */
struct memzbc_power_loss {
	uint64_t writes;	/* commands whose effect vanished */
	uint64_t bytes;		/* that they had written */
};

/**
 * memzbc_device_power_loss() - the power fails and comes back
 * @dev: the device
 * @count: how many writes vanish at most, UINT64_MAX for all
 *
 * The volatile cache of key cache holds the writes that were executed since it was on, were not
 * followed by a SYNCHRONIZE CACHE or a write with FUA of the same blocks, and did not have FUA
 * themselves, as long as WCE is one. Of these the newest @count vanish, the newest first: the
 * blocks hold what they held before, and write pointers go back. All other writes are durable from
 * then on. Open zones become CLOSED, or EMPTY if nothing of them was written. Mode pages stay, and
 * so do commands on their way.
 *
 * Return: what vanished.
 */
struct memzbc_power_loss memzbc_device_power_loss(struct memzbc_device *dev, uint64_t count);

#endif

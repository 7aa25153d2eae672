// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The rules that reads and writes must obey, ZBC-2 4.4 and 4.5. Nothing here changes anything but
 * the counters of violated rules.
 */
#include <memzbc/scsi.h>

#include "model.h"

uint8_t zone_check_range(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x)
{
	uint64_t capacity = lun->geo.capacity;

	if (x->lba < capacity && x->blocks <= capacity - x->lba)
		return SAM_STAT_GOOD;
	return sense_set_info(lun, cmd, ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE,
			      x->lba < capacity ? capacity : x->lba);
}

uint8_t zone_check_available(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct zone *z,
			     bool modify)
{
	switch (zone_condition(lun, z)) {
	case ZONE_OFFLINE:
		return sense_set_info(lun, cmd, DATA_PROTECT, ASC_ZONE_OFFLINE, z->start);
	case ZONE_READ_ONLY:
		if (modify)
			return sense_set_info(lun, cmd, DATA_PROTECT, ASC_ZONE_READ_ONLY,
					      z->start);
		return SAM_STAT_GOOD;
	default:
		return SAM_STAT_GOOD;
	}
}

static uint8_t read_violation(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t asc,
			      uint64_t info)
{
	lun->store.table->stats.read_rule_violations++;
	return sense_set_info(lun, cmd, ILLEGAL_REQUEST, asc, info);
}

static uint8_t write_violation(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t asc,
			       uint64_t info)
{
	lun->store.table->stats.write_rule_violations++;
	return sense_set_info(lun, cmd, ILLEGAL_REQUEST, asc, info);
}

static uint8_t gap_access(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct zone *z)
{
	return sense_set_info(lun, cmd, ILLEGAL_REQUEST, ASC_GAP_ZONE, z->start);
}

/* What URSWRZ=0 adds, for the part of a read that begins at @lba in @z. */
static uint8_t check_restricted_read(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
				     const struct zone *z, uint64_t lba, uint64_t end)
{
	uint64_t written = zone_written_end(lun, z);

	if (z->type != ZONE_TYPE_SWR)
		return SAM_STAT_GOOD;
	if (end > zone_end(z))
		return read_violation(lun, cmd, ASC_READ_BOUNDARY, zone_end(z));
	if (zone_condition(lun, z) == ZONE_READ_ONLY)
		return SAM_STAT_GOOD;
	if (lba >= written || end > written)
		return read_violation(lun, cmd, ASC_READ_INVALID_DATA,
				      lba > written ? lba : written);
	return SAM_STAT_GOOD;
}

uint8_t zone_check_read(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x)
{
	bool restricted = !lun->cfg.urswrz;
	uint64_t end = x->lba + x->blocks;
	uint8_t first_type = 0;
	uint64_t lba = x->lba;
	uint8_t status;

	do {
		struct zone z = geometry_zone(&lun->geo, lba);

		if (z.type == ZONE_TYPE_GAP && restricted)
			return gap_access(lun, cmd, &z);
		status = zone_check_available(lun, cmd, &z, false);
		if (status != SAM_STAT_GOOD)
			return status;
		if (lba == x->lba)
			first_type = z.type;
		else if (z.type != first_type)
			return read_violation(lun, cmd, ASC_READ_BOUNDARY, z.start);
		if (restricted) {
			status = check_restricted_read(lun, cmd, &z, lba, end);
			if (status != SAM_STAT_GOOD)
				return status;
		}
		lba = zone_end(&z);
	} while (lba < end);
	return SAM_STAT_GOOD;
}

static bool needs_resources(const struct memzbc_lun *lun, const struct zone *z)
{
	uint8_t condition = zone_condition(lun, z);

	return condition == ZONE_EMPTY || condition == ZONE_CLOSED;
}

static uint8_t check_swr_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			       const struct extent *x, const struct zone *z, uint16_t opcode,
			       bool *again)
{
	uint64_t end = x->lba + x->blocks;
	uint64_t wp = zone_written_end(lun, z);

	if (end > zone_end(z))
		return write_violation(lun, cmd, ASC_WRITE_BOUNDARY, zone_end(z));
	if (end <= wp && resend_expected(lun, x, opcode)) {
		*again = true;
		return SAM_STAT_GOOD;
	}
	if (zone_condition(lun, z) == ZONE_FULL) {
		lun->store.table->stats.write_rule_violations++;
		return sense_invalid_cdb(lun, cmd, x->lba_byte, NO_BIT);
	}
	if (x->lba != wp || end % lun->geo.pblk != 0)
		return write_violation(lun, cmd, ASC_UNALIGNED_WRITE, wp);
	if (needs_resources(lun, z) && !zones_can_open(lun, 1))
		return sense_set(lun, cmd, DATA_PROTECT, ASC_INSUFFICIENT_ZONE_RESOURCES);
	return SAM_STAT_GOOD;
}

static uint8_t check_conventional_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
					const struct extent *x, struct zone z)
{
	uint64_t end = x->lba + x->blocks;
	uint8_t status;

	while (zone_end(&z) < end) {
		z = geometry_zone(&lun->geo, zone_end(&z));
		if (z.type != ZONE_TYPE_CONVENTIONAL)
			return write_violation(lun, cmd, ASC_WRITE_BOUNDARY, z.start);
		status = zone_check_available(lun, cmd, &z, true);
		if (status != SAM_STAT_GOOD)
			return status;
	}
	return SAM_STAT_GOOD;
}

uint8_t zone_check_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
			 uint16_t opcode, bool *again)
{
	struct zone z = geometry_zone(&lun->geo, x->lba);
	uint8_t status;

	*again = false;
	if (z.type == ZONE_TYPE_GAP)
		return gap_access(lun, cmd, &z);
	status = zone_check_available(lun, cmd, &z, true);
	if (status != SAM_STAT_GOOD)
		return status;
	if (z.type == ZONE_TYPE_CONVENTIONAL)
		return check_conventional_write(lun, cmd, x, z);
	return check_swr_write(lun, cmd, x, &z, opcode, again);
}

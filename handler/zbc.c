// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Zone commands, ZBC-2 5.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

/* Fields of the CDBs */
#define ZONE_ID_BYTE 2
#define OPTIONS_BYTE 14
#define OPTIONS_MASK 0x3f	/* byte 14 of REPORT ZONES */

/* One zone management command: what it does, and to which zones. */
struct operation {
	void (*apply)(struct memzbc_lun *lun, const struct zone *z);
	uint32_t all;		/* bit per ZONE CONDITION that takes part when ALL is one */
	uint32_t needs_slot;	/* bit per ZONE CONDITION that needs open-zone resources */
	bool each_needs_slot;	/* every such zone keeps its resources */
};

#define BIT(condition) (1u << (condition))

static const struct operation op_open = {
	.apply = zone_open,
	.all = BIT(ZONE_CLOSED),
	.needs_slot = BIT(ZONE_EMPTY) | BIT(ZONE_CLOSED) | BIT(ZONE_IMP_OPEN),
	.each_needs_slot = true,
};

static const struct operation op_close = {
	.apply = zone_close,
	.all = BIT(ZONE_IMP_OPEN) | BIT(ZONE_EXP_OPEN),
};

static const struct operation op_finish = {
	.apply = zone_finish,
	.all = BIT(ZONE_IMP_OPEN) | BIT(ZONE_EXP_OPEN) | BIT(ZONE_CLOSED),
	.needs_slot = BIT(ZONE_EMPTY) | BIT(ZONE_CLOSED),
};

static const struct operation op_reset = {
	.apply = zone_reset,
	.all = BIT(ZONE_IMP_OPEN) | BIT(ZONE_EXP_OPEN) | BIT(ZONE_CLOSED) | BIT(ZONE_FULL),
};

static bool has_condition(const struct memzbc_lun *lun, const struct zone *z, uint32_t conditions)
{
	return conditions & BIT(zone_condition(lun, z));
}

static uint8_t no_resources(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			    const struct operation *op)
{
	if (op == &op_open)
		lun->store.table->stats.failed_exp_opens++;
	return sense_set(lun, cmd, DATA_PROTECT, ASC_INSUFFICIENT_ZONE_RESOURCES);
}

/* ALL=1: ZONE ID and ZONE COUNT are ignored, and so are zones that cannot take part. */
static uint8_t operate_on_all(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			      const struct operation *op)
{
	const struct geometry *geo = &lun->geo;

	if (op->each_needs_slot && !zones_can_open(lun, lun->zones.count[ZONE_CLOSED]))
		return no_resources(lun, cmd, op);
	for (uint32_t slot = geo->first_seq; slot < geo->end_seq; slot++) {
		struct zone z = geometry_slot_zone(geo, slot);

		if (has_condition(lun, &z, op->all))
			op->apply(lun, &z);
	}
	zones_settle(lun);
	return SAM_STAT_GOOD;
}

/* A zone that a command with ALL=0 names: ZBC-2 5.1, in the order of checks. */
static uint8_t check_target(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct zone *z)
{
	if (z->type == ZONE_TYPE_GAP)
		return sense_set_info(lun, cmd, ILLEGAL_REQUEST, ASC_GAP_ZONE, z->start);
	if (z->type == ZONE_TYPE_CONVENTIONAL)
		return sense_invalid_cdb(lun, cmd, ZONE_ID_BYTE, NO_BIT);
	return zone_check_available(lun, cmd, z, true);
}

/* All zones from @first on are fit for @op; nothing has changed if one is not. */
static uint8_t check_targets(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			     const struct operation *op, struct zone z, uint32_t count)
{
	uint32_t needed = 0;
	uint8_t status;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0) {
			if (zone_end(&z) >= lun->geo.capacity)
				return sense_invalid_cdb(lun, cmd, ZBC_OUT_COUNT_BYTE, NO_BIT);
			z = geometry_zone(&lun->geo, zone_end(&z));
		}
		status = check_target(lun, cmd, &z);
		if (status != SAM_STAT_GOOD)
			return status;
		if (has_condition(lun, &z, op->needs_slot))
			needed++;
	}
	if (needed > 0 && !zones_can_open(lun, op->each_needs_slot ? needed : 1))
		return no_resources(lun, cmd, op);
	return SAM_STAT_GOOD;
}

static uint8_t operate(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct operation *op)
{
	struct extent id = { .lba = get_be64(&cmd->cdb[ZONE_ID_BYTE]), .blocks = 1 };
	uint32_t count = get_be16(&cmd->cdb[ZBC_OUT_COUNT_BYTE]);
	uint8_t status;
	struct zone z;

	if (cmd->cdb[ZBC_OUT_ALL_BYTE] & ZBC_OUT_ALL)
		return operate_on_all(lun, cmd, op);
	if (count == 0)
		count = 1;
	status = zone_check_range(lun, cmd, &id);
	if (status != SAM_STAT_GOOD)
		return status;
	z = geometry_zone(&lun->geo, id.lba);
	if (z.start != id.lba)
		return sense_invalid_cdb(lun, cmd, ZONE_ID_BYTE, NO_BIT);
	status = check_targets(lun, cmd, op, z, count);
	if (status != SAM_STAT_GOOD)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		struct zone target = geometry_slot_zone(&lun->geo, z.slot + i);

		op->apply(lun, &target);
	}
	zones_settle(lun);
	return SAM_STAT_GOOD;
}

uint8_t zbc_open_zone(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return operate(lun, cmd, &op_open);
}

uint8_t zbc_close_zone(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return operate(lun, cmd, &op_close);
}

uint8_t zbc_finish_zone(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return operate(lun, cmd, &op_finish);
}

uint8_t zbc_reset_write_pointer(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return operate(lun, cmd, &op_reset);
}

/* The conditions that a REPORTING OPTION selects, by bit; 0 for options without any zone here. */
static bool selected_conditions(uint8_t option, uint32_t *conditions)
{
	switch (option) {
	case REPORT_ALL:
	case REPORT_ALL_BUT_GAP:
		*conditions = UINT32_MAX;
		return true;
	case REPORT_EMPTY:
	case REPORT_IMP_OPEN:
	case REPORT_EXP_OPEN:
	case REPORT_CLOSED:
		*conditions = BIT(option);
		return true;
	case REPORT_FULL:
		*conditions = BIT(ZONE_FULL);
		return true;
	case REPORT_READ_ONLY:
		*conditions = BIT(ZONE_READ_ONLY);
		return true;
	case REPORT_OFFLINE:
		*conditions = BIT(ZONE_OFFLINE);
		return true;
	case REPORT_NOT_WP:
		*conditions = BIT(ZONE_NOT_WP);
		return true;
	case REPORT_INACTIVE:
	case REPORT_RESET_RECOMMENDED:
	case REPORT_NON_SEQ:
		*conditions = 0;
		return true;
	default:
		return false;
	}
}

static void fill_descriptor(const struct memzbc_lun *lun, const struct zone *z, uint8_t *desc)
{
	memset(desc, 0, ZONE_DESC_LEN);
	desc[0] = z->type;
	desc[1] = (uint8_t)(zone_condition(lun, z) << 4);
	put_be64(&desc[8], z->len);
	put_be64(&desc[16], z->start);
	put_be64(&desc[24], zone_write_pointer(lun, z));
}

/* A zone list on its way to the initiator, through the scratch buffer. */
struct zone_list {
	uint64_t limit;		/* bytes that may be sent, header included */
	uint64_t sent;		/* bytes sent, header included */
	uint64_t matching;	/* zones found */
	size_t filled;		/* bytes in the scratch buffer */
};

static void list_flush(struct memzbc_lun *lun, struct memzbc_cmd *cmd, struct zone_list *list)
{
	uint64_t room = list->limit > list->sent ? list->limit - list->sent : 0;
	uint64_t len = list->filled < room ? list->filled : room;

	iov_copy_in(cmd, list->sent, lun->scratch, len);
	list->sent += len;
	list->filled = 0;
}

static void list_add(struct memzbc_lun *lun, struct memzbc_cmd *cmd, struct zone_list *list,
		     const struct zone *z)
{
	list->matching++;
	if (list->sent + list->filled >= list->limit)
		return;
	fill_descriptor(lun, z, lun->scratch + list->filled);
	list->filled += ZONE_DESC_LEN;
	if (list->filled == SCRATCH_SIZE)
		list_flush(lun, cmd, list);
}

static void list_zones(struct memzbc_lun *lun, struct memzbc_cmd *cmd, struct zone_list *list,
		       uint64_t lba)
{
	uint8_t options = cmd->cdb[OPTIONS_BYTE];
	bool gaps = (options & OPTIONS_MASK) != REPORT_ALL_BUT_GAP;
	uint64_t room = list->limit / ZONE_DESC_LEN;
	uint32_t conditions;

	selected_conditions(options & OPTIONS_MASK, &conditions);
	while (lba < lun->geo.capacity) {
		struct zone z = geometry_zone(&lun->geo, lba);

		lba = zone_end(&z);
		if (!has_condition(lun, &z, conditions) || (z.type == ZONE_TYPE_GAP && !gaps))
			continue;
		/* PARTIAL: only descriptors that fit behind the header count. */
		if (options & REPORT_PARTIAL && list->matching + 1 >= room)
			break;
		list_add(lun, cmd, list, &z);
	}
	list_flush(lun, cmd, list);
}

/* Bytes of a report of every zone. */
static uint64_t longest_list(const struct geometry *geo)
{
	uint64_t zones = geometry_has_gaps(geo) ? 2ull * geo->slots : geo->slots;

	return (1 + zones) * ZONE_DESC_LEN;
}

uint8_t zbc_report_zones(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct extent start = { .lba = get_be64(&cmd->cdb[2]), .blocks = 1 };
	uint64_t alloc = get_be32(&cmd->cdb[10]), size = iov_bytes(cmd);
	struct zone_list list = { .limit = alloc, .sent = ZONE_DESC_LEN };
	uint8_t header[ZONE_DESC_LEN] = { 0 };
	uint32_t conditions;
	uint8_t status = zone_check_range(lun, cmd, &start);

	if (status != SAM_STAT_GOOD)
		return status;
	if (!selected_conditions(cmd->cdb[OPTIONS_BYTE] & OPTIONS_MASK, &conditions))
		return sense_invalid_cdb(lun, cmd, OPTIONS_BYTE, 5);
	if (size < list.limit && size < longest_list(&lun->geo))
		return sense_set(lun, cmd, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
	list_zones(lun, cmd, &list, start.lba);
	put_be32(&header[0], (uint32_t)(list.matching * ZONE_DESC_LEN));
	put_be64(&header[8], lun->geo.capacity - 1);
	if (geometry_has_gaps(&lun->geo))
		put_be64(&header[16], lun->geo.zone_size);
	iov_copy_in(cmd, 0, header, alloc < sizeof(header) ? alloc : sizeof(header));
	if (list.sent > alloc)
		list.sent = alloc;
	iov_zero(cmd, list.sent, size - list.sent);
	return SAM_STAT_GOOD;
}

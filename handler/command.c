// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

/* Bytes of the usage masks: groups of fields that recur. */
#define B4 0xff, 0xff, 0xff, 0xff
#define B8 B4, B4
#define DPO_BYTCHK 0x16		/* byte 1 of VERIFY */
#define GROUP 0x3f		/* GROUP NUMBER; accepted, without effect */

#define NO_SA NO_SERVICE_ACTION
#define MEDIUM COMMAND_MEDIUM
#define WRITES (COMMAND_MEDIUM | COMMAND_WRITES)

#define C_READ MEMZBC_CLASS_READ
#define C_WRITE MEMZBC_CLASS_WRITE
#define C_ZONE MEMZBC_CLASS_ZONE
#define C_SYNC MEMZBC_CLASS_SYNC
#define C_OTHER MEMZBC_CLASS_OTHER

/* Zone management: ZONE ID, ZONE COUNT, ALL. */
#define ZONE_OUT_USAGE { ZBC_OUT, 0, B8, 0, 0, 0xff, 0xff, 0x01, 0 }

/* In ascending order of opcode and service action, as REPORT SUPPORTED OPERATION CODES lists. */
const struct command command_table[COMMANDS] = {
	{ TEST_UNIT_READY, NO_SA, 6, MEDIUM, C_OTHER, { 0 }, spc_test_unit_ready },
	{ REQUEST_SENSE, NO_SA, 6, 0, C_OTHER, { 0, 0x01, 0, 0, 0xff, 0 }, spc_request_sense },
	{ READ_6, NO_SA, 6, MEDIUM, C_READ, { 0, 0x1f, 0xff, 0xff, 0xff, 0 }, sbc_read },
	{ WRITE_6, NO_SA, 6, WRITES, C_WRITE, { 0, 0x1f, 0xff, 0xff, 0xff, 0 }, sbc_write },
	{ INQUIRY, NO_SA, 6, 0, C_OTHER, { 0, 0x01, 0xff, 0xff, 0xff, 0 }, spc_inquiry },
	{ MODE_SELECT_6, NO_SA, 6, 0, C_OTHER, { 0, 0x11, 0, 0, 0xff, 0 }, spc_mode_select6 },
	{ MODE_SENSE_6, NO_SA, 6, 0, C_OTHER, { 0, 0x08, 0xff, 0xff, 0xff, 0 }, spc_mode_sense6 },
	{ START_STOP_UNIT, NO_SA, 6, 0, C_OTHER, { 0, 0x01, 0, 0, 0x05, 0 }, sbc_start_stop_unit },
	{ READ_CAPACITY_10, NO_SA, 10, MEDIUM, C_OTHER, { 0 }, sbc_read_capacity10 },
	{ READ_10, NO_SA, 10, MEDIUM, C_READ, { 0, RW_DPO_FUA, B4, GROUP, 0xff, 0xff, 0 },
	  sbc_read },
	{ WRITE_10, NO_SA, 10, WRITES, C_WRITE, { 0, RW_DPO_FUA, B4, GROUP, 0xff, 0xff, 0 },
	  sbc_write },
	{ VERIFY_10, NO_SA, 10, MEDIUM, C_READ, { 0, DPO_BYTCHK, B4, GROUP, 0xff, 0xff, 0 },
	  sbc_verify },
	{ SYNCHRONIZE_CACHE_10, NO_SA, 10, MEDIUM, C_SYNC, { 0, 0x02, B4, GROUP, 0xff, 0xff, 0 },
	  sbc_synchronize_cache },
	{ WRITE_SAME_10, NO_SA, 10, WRITES, C_WRITE, { 0, 0, B4, GROUP, 0xff, 0xff, 0 },
	  sbc_write_same },
	{ LOG_SENSE, NO_SA, 10, 0, C_OTHER, { 0, 0x01, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0 },
	  spc_log_sense },
	{ MODE_SELECT_10, NO_SA, 10, 0, C_OTHER, { 0, 0x11, 0, 0, 0, 0, 0, 0xff, 0xff, 0 },
	  spc_mode_select10 },
	{ MODE_SENSE_10, NO_SA, 10, 0, C_OTHER, { 0, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0 },
	  spc_mode_sense10 },
	{ READ_16, NO_SA, 16, MEDIUM, C_READ, { 0, RW_DPO_FUA, B8, B4, GROUP, 0 }, sbc_read },
	{ WRITE_16, NO_SA, 16, WRITES, C_WRITE, { 0, RW_DPO_FUA, B8, B4, GROUP, 0 }, sbc_write },
	{ VERIFY_16, NO_SA, 16, MEDIUM, C_READ, { 0, DPO_BYTCHK, B8, B4, GROUP, 0 }, sbc_verify },
	{ SYNCHRONIZE_CACHE_16, NO_SA, 16, MEDIUM, C_SYNC, { 0, 0x02, B8, B4, GROUP, 0 },
	  sbc_synchronize_cache },
	{ WRITE_SAME_16, NO_SA, 16, WRITES, C_WRITE, { 0, 0x01, B8, B4, GROUP, 0 },
	  sbc_write_same },
	{ ZBC_OUT, SA_CLOSE_ZONE, 16, WRITES, C_ZONE, ZONE_OUT_USAGE, zbc_close_zone },
	{ ZBC_OUT, SA_FINISH_ZONE, 16, WRITES, C_ZONE, ZONE_OUT_USAGE, zbc_finish_zone },
	{ ZBC_OUT, SA_OPEN_ZONE, 16, WRITES, C_ZONE, ZONE_OUT_USAGE, zbc_open_zone },
	{ ZBC_OUT, SA_RESET_WRITE_POINTER, 16, WRITES, C_ZONE, ZONE_OUT_USAGE,
	  zbc_reset_write_pointer },
	{ ZBC_IN, SA_REPORT_ZONES, 16, MEDIUM, C_OTHER, { 0, 0, B8, B4, 0xbf, 0 },
	  zbc_report_zones },
	{ SERVICE_ACTION_IN_16, SA_READ_CAPACITY_16, 16, MEDIUM, C_OTHER,
	  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, B4, 0, 0 }, sbc_read_capacity16 },
	{ REPORT_LUNS, NO_SA, 12, 0, C_OTHER, { 0, 0, 0xff, 0, 0, 0, B4, 0, 0 }, spc_report_luns },
	{ MAINTENANCE_IN, SA_REPORT_OPCODES, 12, 0, C_OTHER,
	  { 0, 0, 0x87, 0xff, 0xff, 0xff, B4, 0, 0 }, spc_report_opcodes },
	{ MAINTENANCE_IN, SA_REPORT_TMFS, 12, 0, C_OTHER, { 0, 0, 0x80, 0, 0, 0, B4, 0, 0 },
	  spc_report_tmfs },
	{ READ_12, NO_SA, 12, MEDIUM, C_READ, { 0, RW_DPO_FUA, B4, B4, GROUP, 0 }, sbc_read },
	{ WRITE_12, NO_SA, 12, WRITES, C_WRITE, { 0, RW_DPO_FUA, B4, B4, GROUP, 0 }, sbc_write },
	{ VERIFY_12, NO_SA, 12, MEDIUM, C_READ, { 0, DPO_BYTCHK, B4, B4, GROUP, 0 }, sbc_verify },
};

/* Index of an opcode's first entry, plus one; 0 for an opcode without any. */
static uint8_t first_entry[256];

__attribute__((constructor)) static void index_command_table(void)
{
	for (size_t i = COMMANDS; i > 0; i--)
		first_entry[command_table[i - 1].opcode] = (uint8_t)i;
}

/* NULL with *@known: the opcode exists, the service action does not. */
static const struct command *find_command(const uint8_t *cdb, bool *known)
{
	size_t i = first_entry[cdb[0]];

	*known = i > 0;
	for (; i > 0 && i <= COMMANDS && command_table[i - 1].opcode == cdb[0]; i++) {
		const struct command *c = &command_table[i - 1];

		if (c->service_action == NO_SERVICE_ACTION ||
		    c->service_action == (cdb[1] & SERVICE_ACTION_MASK))
			return c;
	}
	return NULL;
}

uint8_t command_cdb_len(const uint8_t *cdb)
{
	bool known;
	const struct command *c = find_command(cdb, &known);

	return c ? c->cdb_len : 0;
}

struct command_info command_info(const uint8_t *cdb)
{
	bool known;
	const struct command *c = find_command(cdb, &known);
	struct command_info info = {
		.command = c, .class = c ? c->class : MEMZBC_CLASS_OTHER,
	};

	switch (info.class) {
	case MEMZBC_CLASS_OTHER:
		break;
	case MEMZBC_CLASS_ZONE:
		info.has_range = !(cdb[ZBC_OUT_ALL_BYTE] & ZBC_OUT_ALL);
		info.x = (struct extent){ .lba = get_be64(&cdb[2]), .blocks = 1 };
		break;
	default:
		info.has_range = true;
		info.x = cdb_range(cdb).x;
		break;
	}
	return info;
}

/*
 * Bits of byte 1 that are nobody's to refuse. SCSI-2 had the LUN in the upper three, and Linux puts
 * it there in the first INQUIRY to a target, before it can know that the target is newer.
 */
static uint8_t tolerated(const struct command *c)
{
	if (c->service_action != NO_SERVICE_ACTION)
		return SERVICE_ACTION_MASK;
	return c->opcode == INQUIRY ? 0xe0 : 0;
}

/* Any bit that the command does not evaluate must be zero: SPC-5 4.2.5. */
static uint8_t check_reserved(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			      const struct command *c)
{
	for (uint8_t i = 1; i < c->cdb_len; i++) {
		uint8_t usage = c->usage[i];

		if (i == 1)
			usage |= tolerated(c);
		if (cmd->cdb[i] & ~usage) {
			unsigned int bits = (unsigned int)(cmd->cdb[i] & ~usage);

			return sense_invalid_cdb(lun, cmd, i, 31 - __builtin_clz(bits));
		}
	}
	return SAM_STAT_GOOD;
}

/* Executes the command, or, if @check, only checks it. */
static uint8_t dispatch(struct memzbc_lun *lun, struct memzbc_cmd *cmd, bool check)
{
	bool known;
	const struct command *c = find_command(cmd->cdb, &known);
	uint8_t status;

	cmd->receipt = NO_RECEIPT;
	cmd->resent = false;
	if (!known)
		return sense_set(lun, cmd, ILLEGAL_REQUEST, ASC_INVALID_OPCODE);
	if (!c)
		return sense_invalid_cdb(lun, cmd, 1, 4);
	status = check_reserved(lun, cmd, c);
	if (status != SAM_STAT_GOOD)
		return status;
	if (c->flags & COMMAND_MEDIUM && lun->store.table->stopped)
		return sense_set(lun, cmd, NOT_READY, ASC_INITIALIZING_CMD_REQUIRED);
	if (c->flags & COMMAND_WRITES && mode_write_protected(lun))
		return sense_set(lun, cmd, DATA_PROTECT, ASC_SOFTWARE_WRITE_PROTECTED);
	return check ? sbc_check(lun, cmd, c) : c->execute(lun, cmd);
}

uint8_t command_check(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return dispatch(lun, cmd, true);
}

uint8_t memzbc_lun_execute(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return dispatch(lun, cmd, false);
}

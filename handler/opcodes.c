// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * REPORT SUPPORTED OPERATION CODES, from the command table, and REPORT SUPPORTED TASK MANAGEMENT
 * FUNCTIONS.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

#define ALLOC_MIN 4	/* a smaller ALLOCATION LENGTH is an error in both commands */
#define TIMEOUTS_LEN 12

/* A command timeouts descriptor that names no times. */
static size_t put_timeouts(uint8_t *data)
{
	memset(data, 0, TIMEOUTS_LEN);
	put_be16(data, TIMEOUTS_LEN - 2);
	return TIMEOUTS_LEN;
}

static size_t put_command(uint8_t *desc, const struct command *c, bool timeouts)
{
	memset(desc, 0, 8);
	desc[0] = c->opcode;
	if (c->service_action != NO_SERVICE_ACTION) {
		put_be16(&desc[2], (uint16_t)c->service_action);
		desc[5] |= RSOC_DESC_SERVACTV;
	}
	put_be16(&desc[6], c->cdb_len);
	if (!timeouts)
		return 8;
	desc[5] |= RSOC_DESC_CTDP;
	return 8 + put_timeouts(&desc[8]);
}

static uint8_t report_all(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint32_t alloc)
{
	uint8_t *data = lun->scratch;
	size_t len = 4;

	for (size_t i = 0; i < COMMANDS; i++)
		len += put_command(data + len, &command_table[i], cmd->cdb[2] & RSOC_RCTD);
	put_be32(data, (uint32_t)(len - 4));
	return reply(lun, cmd, data, len, alloc);
}

static uint8_t report_one(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct command *c,
			  uint32_t alloc)
{
	uint8_t data[4 + CDB_LEN_MAX + TIMEOUTS_LEN] = { 0 };
	size_t len = 4;

	if (!c) {
		data[1] = RSOC_NOT_SUPPORTED;
		return reply(lun, cmd, data, len, alloc);
	}
	data[1] = RSOC_SUPPORTED;
	put_be16(&data[2], c->cdb_len);
	memcpy(data + len, c->usage, c->cdb_len);
	data[4] = c->opcode;
	if (c->service_action != NO_SERVICE_ACTION)
		data[5] |= (uint8_t)c->service_action;
	len += c->cdb_len;
	if (cmd->cdb[2] & RSOC_RCTD) {
		data[1] |= RSOC_ONE_CTDP;
		len += put_timeouts(data + len);
	}
	return reply(lun, cmd, data, len, alloc);
}

/* The first command with this opcode, or NULL. */
static const struct command *find_opcode(uint8_t opcode)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (command_table[i].opcode == opcode)
			return &command_table[i];
	return NULL;
}

static const struct command *find_action(uint8_t opcode, int action)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (command_table[i].opcode == opcode && command_table[i].service_action == action)
			return &command_table[i];
	return NULL;
}

uint8_t spc_report_opcodes(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t option = cmd->cdb[2] & RSOC_OPTIONS_MASK, opcode = cmd->cdb[3];
	uint16_t action = get_be16(&cmd->cdb[4]);
	uint32_t alloc = get_be32(&cmd->cdb[6]);
	const struct command *c = find_opcode(opcode);
	bool has_actions = c && c->service_action != NO_SERVICE_ACTION;

	if (option > RSOC_EITHER || (option == RSOC_OPCODE && has_actions))
		return sense_invalid_cdb(lun, cmd, 2, 2);
	if (option == RSOC_SERVICE_ACTION && c && !has_actions)
		return sense_invalid_cdb(lun, cmd, 4, NO_BIT);
	if (alloc < ALLOC_MIN)
		return sense_invalid_cdb(lun, cmd, 6, NO_BIT);
	if (option == RSOC_ALL)
		return report_all(lun, cmd, alloc);
	if (has_actions)
		c = find_action(opcode, action);
	else if (option == RSOC_EITHER && action)
		c = NULL;
	return report_one(lun, cmd, c, alloc);
}

/* LIO executes these two without asking the logical unit, and no others. */
uint8_t spc_report_tmfs(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t data[16] = { RSTMF_ATS | RSTMF_LURS };
	bool extended = cmd->cdb[2] & RSTMF_REPD;
	uint32_t alloc = get_be32(&cmd->cdb[6]);

	if (alloc < ALLOC_MIN)
		return sense_invalid_cdb(lun, cmd, 6, NO_BIT);
	if (extended)
		data[3] = 12;
	return reply(lun, cmd, data, extended ? 16 : 4, alloc);
}

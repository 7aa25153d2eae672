// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Identity and state of the logical unit: INQUIRY, REPORT LUNS, REQUEST SENSE, TEST UNIT READY.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "macros.h"
#include "model.h"

/* The dispatcher has checked that the unit is ready. */
uint8_t spc_test_unit_ready(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	(void)lun;
	(void)cmd;
	return SAM_STAT_GOOD;
}

uint8_t spc_request_sense(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	bool stopped = lun->store.table->stopped;
	uint8_t sense[MEMZBC_SENSE_SIZE];
	size_t len = sense_format_key(sense, cmd->cdb[1] & REQUEST_SENSE_DESC,
				      stopped ? NOT_READY : NO_SENSE,
				      stopped ? ASC_INITIALIZING_CMD_REQUIRED : ASC_NONE);

	return reply(lun, cmd, sense, len, cmd->cdb[4]);
}

void put_text(uint8_t *field, size_t size, const char *text)
{
	size_t len = strlen(text);

	memset(field, ' ', size);
	memcpy(field, text, len < size ? len : size);
}

/* PRODUCT REVISION LEVEL has four characters: MAJOR.MINOR of the version. */
static void put_revision(uint8_t *field)
{
	char revision[] = MEMZBC_VERSION;
	char *patch = strrchr(revision, '.');

	if (patch)
		*patch = '\0';
	put_text(field, 4, revision);
}

static uint8_t standard_inquiry(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	static const uint16_t version_descriptors[] = {
		0x00c0, /* SAM-6 */
		0x05c0, /* SPC-5 */
		0x0600, /* SBC-4 */
		0x0660, /* ZBC-2 */
	};
	uint8_t data[INQUIRY_LEN] = {
		[0] = PDT_ZBC,
		[2] = INQUIRY_VERSION_SPC5,
		[3] = INQUIRY_HISUP | INQUIRY_RESPONSE_FORMAT,
		[4] = INQUIRY_LEN - 5,
		[7] = INQUIRY_CMDQUE,
	};

	put_text(&data[8], 8, MEMZBC_VENDOR);
	put_text(&data[16], 16, "zoned disk");
	put_revision(&data[32]);
	for (size_t i = 0; i < ARRAY_SIZE(version_descriptors); i++)
		put_be16(&data[58 + 2 * i], version_descriptors[i]);
	return reply(lun, cmd, data, sizeof(data), get_be16(&cmd->cdb[3]));
}

uint8_t spc_inquiry(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	if (cmd->cdb[1] & INQUIRY_EVPD)
		return vpd_inquiry(lun, cmd, cmd->cdb[2]);
	if (cmd->cdb[2])
		return sense_invalid_cdb(lun, cmd, 2, NO_BIT);
	return standard_inquiry(lun, cmd);
}

/* This target has one logical unit, LUN 0, and no well known ones. */
uint8_t spc_report_luns(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t data[16] = { 0 };
	uint32_t list_len = cmd->cdb[2] == REPORT_LUNS_WELL_KNOWN ? 0 : 8;

	if (cmd->cdb[2] > REPORT_LUNS_BOTH)
		return sense_invalid_cdb(lun, cmd, 2, NO_BIT);
	put_be32(data, list_len);
	return reply(lun, cmd, data, 8 + list_len, get_be32(&cmd->cdb[6]));
}

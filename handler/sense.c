// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

#define SKS_LEN 3

/* What one error has to say; a format shows as much of it as it can. */
struct sense {
	uint8_t key;
	uint16_t asc;
	bool has_info;
	uint64_t info;
	uint8_t sks[SKS_LEN];	/* SENSE KEY SPECIFIC, with SKSV where it counts */
};

/* SPC-5 4.4.3. INFORMATION has 32 bits: a larger value is left out rather than cut. */
static size_t sense_fixed(uint8_t *buf, const struct sense *s)
{
	buf[0] = SENSE_FIXED_CURRENT;
	if (s->has_info && s->info <= UINT32_MAX) {
		buf[0] |= SENSE_VALID;
		put_be32(&buf[3], (uint32_t)s->info);
	}
	buf[2] = s->key;
	buf[7] = SENSE_FIXED_LEN - 8;
	put_be16(&buf[12], s->asc);
	memcpy(&buf[15], s->sks, SKS_LEN);
	return SENSE_FIXED_LEN;
}

/* SPC-5 4.4.2. */
static size_t sense_descriptor(uint8_t *buf, const struct sense *s)
{
	uint8_t *desc = buf + SENSE_DESC_HEADER_LEN;

	buf[0] = SENSE_DESC_CURRENT;
	buf[1] = s->key;
	put_be16(&buf[2], s->asc);
	if (s->has_info) {
		desc[0] = SENSE_DESC_INFORMATION;
		desc[1] = 10;
		desc[2] = SENSE_VALID;
		put_be64(&desc[4], s->info);
		desc += 12;
	}
	if (s->sks[0] & SKS_SKSV) {
		desc[0] = SENSE_DESC_KEY_SPECIFIC;
		desc[1] = 6;
		memcpy(&desc[4], s->sks, SKS_LEN);
		desc += 8;
	}
	buf[7] = (uint8_t)(desc - buf - SENSE_DESC_HEADER_LEN);
	return (size_t)(desc - buf);
}

static size_t sense_format(uint8_t *buf, const struct sense *s, bool desc)
{
	memset(buf, 0, MEMZBC_SENSE_SIZE);
	return desc ? sense_descriptor(buf, s) : sense_fixed(buf, s);
}

static uint8_t sense_report(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct sense *s)
{
	if (s->key == MEDIUM_ERROR)
		log_medium_error(lun, cmd->cdb);
	sense_format(cmd->sense, s, mode_d_sense(lun));
	return SAM_STAT_CHECK_CONDITION;
}

uint8_t sense_set(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t key, uint16_t asc)
{
	return sense_report(lun, cmd, &(struct sense){ .key = key, .asc = asc });
}

uint8_t sense_set_info(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t key, uint16_t asc,
		       uint64_t info)
{
	return sense_report(lun, cmd, &(struct sense){ .key = key, .asc = asc,
						       .has_info = true, .info = info });
}

static uint8_t sense_field(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t asc, uint8_t cd,
			   uint16_t byte, int bit)
{
	struct sense s = { .key = ILLEGAL_REQUEST, .asc = asc };

	s.sks[0] = SKS_SKSV | cd;
	if (bit != NO_BIT)
		s.sks[0] |= (uint8_t)(SKS_BPV | bit);
	put_be16(&s.sks[1], byte);
	return sense_report(lun, cmd, &s);
}

uint8_t sense_invalid_cdb(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t byte, int bit)
{
	return sense_field(lun, cmd, ASC_INVALID_FIELD_IN_CDB, SKS_CD, byte, bit);
}

uint8_t sense_invalid_param(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t byte, int bit)
{
	return sense_field(lun, cmd, ASC_INVALID_FIELD_IN_PARAM, 0, byte, bit);
}

/* Response code 70h or 72h: what this file writes. */
void sense_read(const uint8_t *sense, uint8_t *key, uint16_t *asc)
{
	bool desc = sense[0] == SENSE_DESC_CURRENT;

	*key = sense[desc ? 1 : 2];
	*asc = get_be16(&sense[desc ? 2 : 12]);
}

size_t sense_format_key(uint8_t *buf, bool desc, uint8_t key, uint16_t asc)
{
	return sense_format(buf, &(struct sense){ .key = key, .asc = asc }, desc);
}

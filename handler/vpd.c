// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Vital product data: the EVPD=1 part of INQUIRY.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "macros.h"
#include "model.h"

#define VPD_HEADER_LEN 4
#define VPD_PAGE_MAX 256

/* Designation descriptors of page 83h */
#define DESIGNATOR_HEADER_LEN 4
#define CODE_SET_BINARY 1
#define CODE_SET_ASCII 2
#define DESIGNATOR_T10_VENDOR_ID 1
#define DESIGNATOR_NAA 3
#define NAA_LEN 16

/* Writes what follows the header, into zeroed memory, and returns its length. */
typedef uint16_t page_fn(struct memzbc_lun *lun, uint8_t *data);

/*
 * The unit serial number, at most MEMZBC_SERIAL_MAX characters. One that comes from outside is
 * kept; while there is none, the token stands for it.
 */
static void unit_serial(struct memzbc_lun *lun, char *serial)
{
	const struct memzbc_lun_params *params = &lun->params;

	if (!lun->serial[0] && params->serial && params->serial(params->serial_arg, lun->serial))
		lun->serial[0] = '\0';
	if (lun->serial[0])
		memcpy(serial, lun->serial, sizeof(lun->serial));
	else
		snprintf(serial, sizeof(lun->serial), "%016" PRIx64, params->token);
}

static uint16_t page_unit_serial(struct memzbc_lun *lun, uint8_t *data)
{
	char serial[MEMZBC_SERIAL_MAX + 1];
	size_t len;

	unit_serial(lun, serial);
	len = strlen(serial);
	memcpy(data, serial, len);
	return (uint16_t)len;
}

static uint8_t hex_value(char c)
{
	return (uint8_t)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

/*
 * NAA IEEE Registered Extended as LIO makes it for its other backstores: OpenFabrics' company
 * identifier 001405h, then the hexadecimal digits of the serial number, as many as fit.
 */
static uint8_t *put_naa(uint8_t *desc, const char *serial)
{
	uint8_t *naa = desc + DESIGNATOR_HEADER_LEN;
	unsigned int nibble = 7;

	desc[0] = CODE_SET_BINARY;
	desc[1] = DESIGNATOR_NAA;
	desc[3] = NAA_LEN;
	put_be32(naa, 0x60014050);
	for (; *serial && nibble < 2 * NAA_LEN; serial++) {
		if (!isxdigit((unsigned char)*serial))
			continue;
		naa[nibble / 2] |= (uint8_t)(hex_value(*serial) << (nibble % 2 ? 0 : 4));
		nibble++;
	}
	return naa + NAA_LEN;
}

static uint8_t *put_t10_vendor_id(uint8_t *desc, const char *serial)
{
	size_t len = strlen(serial);
	uint8_t *id = desc + DESIGNATOR_HEADER_LEN;

	desc[0] = CODE_SET_ASCII;
	desc[1] = DESIGNATOR_T10_VENDOR_ID;
	desc[3] = (uint8_t)(8 + len);
	put_text(id, 8, MEMZBC_VENDOR);
	put_text(id + 8, len, serial);
	return id + 8 + len;
}

static uint16_t page_device_id(struct memzbc_lun *lun, uint8_t *data)
{
	char serial[MEMZBC_SERIAL_MAX + 1];
	uint8_t *end;

	unit_serial(lun, serial);
	end = put_naa(data, serial);
	end = put_t10_vendor_id(end, serial);
	return (uint16_t)(end - data);
}

static uint16_t page_block_limits(struct memzbc_lun *lun, uint8_t *data)
{
	data[0] = BLOCK_LIMITS_WSNZ;
	put_be16(&data[2], (uint16_t)lun->geo.pblk);	/* OPTIMAL TRANSFER LENGTH GRANULARITY */
	put_be32(&data[4], lun->params.max_transfer);
	put_be64(&data[32], WRITE_SAME_MAX_BYTES / lun->cfg.lba_size);
	return 0x3c;
}

/* ZONED must be zero with this peripheral device type. */
static uint16_t page_block_characteristics(struct memzbc_lun *lun, uint8_t *data)
{
	(void)lun;
	put_be16(&data[0], NON_ROTATING_MEDIUM);
	return 0x3c;
}

/* Fully provisioned, as READ CAPACITY(16) says with LBPME=0: there is nothing to add. */
static uint16_t page_lb_provisioning(struct memzbc_lun *lun, uint8_t *data)
{
	(void)lun;
	(void)data;
	return 4;
}

/*
 * Constant zone lengths allow for a smaller last zone. Gap zones break them, and leave the distance
 * of the zones' starts as what is constant.
 */
static uint16_t page_zoned_characteristics(struct memzbc_lun *lun, uint8_t *data)
{
	data[0] = lun->cfg.urswrz ? ZONED_URSWRZ : 0;
	put_be32(&data[4], UINT32_MAX);	/* sequential write preferred zones: not reported */
	put_be32(&data[8], UINT32_MAX);
	put_be32(&data[12], zones_max_open(lun));
	if (geometry_has_gaps(&lun->geo)) {
		data[19] = ZONE_ALIGN_CONSTANT_START;
		put_be64(&data[20], lun->geo.zone_size);
	} else {
		data[19] = ZONE_ALIGN_CONSTANT_LENGTH;
	}
	return 0x3c;
}

static page_fn page_supported;

/* In ascending order of the page codes. */
static const struct page {
	uint8_t code;
	page_fn *fill;
} pages[] = {
	{ VPD_SUPPORTED_PAGES, page_supported },
	{ VPD_UNIT_SERIAL, page_unit_serial },
	{ VPD_DEVICE_ID, page_device_id },
	{ VPD_BLOCK_LIMITS, page_block_limits },
	{ VPD_BLOCK_CHARACTERISTICS, page_block_characteristics },
	{ VPD_LB_PROVISIONING, page_lb_provisioning },
	{ VPD_ZONED_CHARACTERISTICS, page_zoned_characteristics },
};

#define PAGES ARRAY_SIZE(pages)

static uint16_t page_supported(struct memzbc_lun *lun, uint8_t *data)
{
	(void)lun;
	for (size_t i = 0; i < PAGES; i++)
		data[i] = pages[i].code;
	return PAGES;
}

uint8_t vpd_inquiry(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t page)
{
	uint8_t data[VPD_PAGE_MAX] = { PDT_ZBC, page };

	for (size_t i = 0; i < PAGES; i++) {
		uint16_t len;

		if (pages[i].code != page)
			continue;
		len = pages[i].fill(lun, &data[VPD_HEADER_LEN]);
		put_be16(&data[2], len);
		return reply(lun, cmd, data, VPD_HEADER_LEN + len, get_be16(&cmd->cdb[3]));
	}
	return sense_invalid_cdb(lun, cmd, 2, NO_BIT);
}

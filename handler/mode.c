// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Mode pages: MODE SENSE and MODE SELECT.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

/* Where the pages begin, one behind the other, in each of the arrays below and in the table. */
enum {
	RW_RECOVERY = 0,
	CACHING = RW_RECOVERY + 12,
	CONTROL = CACHING + 20,
	EXCEPTIONS = CONTROL + 12,
	PAGES_LEN = EXCEPTIONS + 12,
};

_Static_assert(PAGES_LEN <= MODE_STATE_SIZE, "the table must hold all pages");

/* Default values. WCE: data that are not synchronized may be lost with the machine's memory. */
static const uint8_t presets[PAGES_LEN] = {
	[RW_RECOVERY] = MODE_RW_RECOVERY, 10, MODE_AWRE | MODE_ARRE,
	[CACHING] = MODE_CACHING, 18, MODE_WCE,
	[CONTROL] = MODE_CONTROL, 10, MODE_GLTSD,
	[EXCEPTIONS] = MODE_INFORMATIONAL_EXCEPTIONS, 10, MODE_DEXCPT,
};

static const uint8_t changeable[PAGES_LEN] = {
	[CACHING + 2] = MODE_WCE,
	[CONTROL + 2] = MODE_D_SENSE,
	[CONTROL + 4] = MODE_SWP,
};

/*
 * Where fields begin: a bit is set for the most significant bit of each field, which is what a
 * field pointer names. A byte without any goes on with the field before.
 */
static const uint8_t fields[PAGES_LEN] = {
	[RW_RECOVERY + 2] = 0xff, 0x80, 0x80, 0x80, 0x80, 0xd2, 0x80, 0x80, 0x80, 0x00,
	[CACHING + 2] = 0xff, 0x88, 0x80, 0x00, 0x80, 0x00, 0x80, 0x00, 0x80, 0x00,
	[CACHING + 12] = 0xf5, 0x80, 0x80, 0x00, 0x80, 0x80, 0x00, 0x00,
	[CONTROL + 2] = 0x9f, 0x8d, 0xec, 0xfc, 0x80, 0x80, 0x80, 0x00, 0x80, 0x00,
	[EXCEPTIONS + 2] = 0xff, 0x88, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00,
};

/* A mode parameter header, of the 6-byte or the 10-byte commands. */
struct header {
	uint8_t len;
	uint8_t width;		/* bytes of its two length fields; MODE DATA LENGTH is at 0 */
	uint8_t device;		/* offset of DEVICE-SPECIFIC PARAMETER */
	uint8_t longlba;	/* offset of LONGLBA, or 0 */
	uint8_t desc_len;	/* offset of BLOCK DESCRIPTOR LENGTH */
	uint8_t accepted[8];	/* bits that MODE SELECT takes, of each byte */
};

/* WP has no meaning in MODE SELECT, but comes back from initiators that change what they read. */
static const struct header header6 = {
	.len = 4, .width = 1, .device = 2, .desc_len = 3,
	.accepted = { 0, 0, MODE_WP | MODE_DPOFUA, 0xff },
};
static const struct header header10 = {
	.len = 8, .width = 2, .device = 3, .longlba = 4, .desc_len = 6,
	.accepted = { 0, 0, 0, MODE_WP | MODE_DPOFUA, MODE_LONGLBA, 0, 0xff, 0xff },
};

#define SHORT_DESC_LEN 8
#define LONG_DESC_LEN 16

static uint8_t *current(const struct memzbc_lun *lun)
{
	return lun->store.table->mode_pages;
}

void mode_set_defaults(struct memzbc_lun *lun)
{
	memcpy(current(lun), presets, PAGES_LEN);
}

bool mode_d_sense(const struct memzbc_lun *lun)
{
	return current(lun)[CONTROL + 2] & MODE_D_SENSE;
}

bool mode_write_cache(const struct memzbc_lun *lun)
{
	return current(lun)[CACHING + 2] & MODE_WCE;
}

bool mode_write_protected(const struct memzbc_lun *lun)
{
	return current(lun)[CONTROL + 4] & MODE_SWP;
}

static uint8_t page_len(int page)
{
	return (uint8_t)(presets[page + 1] + 2);
}

/* Offset of the page with this PAGE CODE, or -1. */
static int find_page(uint8_t code)
{
	for (int page = 0; page < PAGES_LEN; page += page_len(page))
		if (presets[page] == code)
			return page;
	return -1;
}

static uint8_t put_page(const struct memzbc_lun *lun, uint8_t *data, int page, uint8_t pc)
{
	const uint8_t *values = pc == MODE_PC_CHANGEABLE ? changeable :
				pc == MODE_PC_DEFAULT ? presets : current(lun);

	memcpy(data, &values[page], page_len(page));
	memcpy(data, &presets[page], 2);
	return page_len(page);
}

static uint8_t put_block_descriptor(const struct memzbc_lun *lun, uint8_t *data, bool longlba)
{
	uint64_t blocks = lun->cfg.capacity;

	if (longlba) {
		put_be64(data, blocks);
		put_be32(&data[12], lun->cfg.lba_size);
		return LONG_DESC_LEN;
	}
	put_be32(data, blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks);
	put_be24(&data[5], lun->cfg.lba_size);
	return SHORT_DESC_LEN;
}

static uint8_t check_mode_sense(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t page = cmd->cdb[2] & MODE_ALL_PAGES, subpage = cmd->cdb[3];

	if (cmd->cdb[2] >> 6 == MODE_PC_SAVED)
		return sense_set(lun, cmd, ILLEGAL_REQUEST, ASC_SAVING_NOT_SUPPORTED);
	if (page != MODE_ALL_PAGES && find_page(page) < 0)
		return sense_invalid_cdb(lun, cmd, 2, 5);
	if (subpage != 0 && subpage != MODE_ALL_SUBPAGES)
		return sense_invalid_cdb(lun, cmd, 3, NO_BIT);
	return SAM_STAT_GOOD;
}

static uint8_t mode_sense(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct header *h,
			  uint16_t alloc)
{
	uint8_t data[sizeof(h->accepted) + LONG_DESC_LEN + PAGES_LEN] = { 0 };
	uint8_t code = cmd->cdb[2] & MODE_ALL_PAGES, len = h->len;
	bool longlba = cmd->cdb[1] & MODE_SENSE_LLBAA;
	uint8_t status = check_mode_sense(lun, cmd);

	if (status != SAM_STAT_GOOD)
		return status;
	if (!(cmd->cdb[1] & MODE_SENSE_DBD)) {
		len += put_block_descriptor(lun, &data[len], longlba);
		if (longlba)
			data[h->longlba] = MODE_LONGLBA;
	}
	/* No length reaches 256: the last byte of each field is enough. */
	data[h->desc_len + h->width - 1] = (uint8_t)(len - h->len);
	for (int page = 0; page < PAGES_LEN; page += page_len(page))
		if (code == MODE_ALL_PAGES || code == presets[page])
			len += put_page(lun, &data[len], page, cmd->cdb[2] >> 6);
	data[h->width - 1] = (uint8_t)(len - h->width);
	data[h->device] = MODE_DPOFUA | (mode_write_protected(lun) ? MODE_WP : 0);
	return reply(lun, cmd, data, len, alloc);
}

uint8_t spc_mode_sense6(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return mode_sense(lun, cmd, &header6, cmd->cdb[4]);
}

uint8_t spc_mode_sense10(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return mode_sense(lun, cmd, &header10, get_be16(&cmd->cdb[7]));
}

/* A MODE SELECT on its way through its parameter list. */
struct select {
	struct memzbc_lun *lun;
	struct memzbc_cmd *cmd;
	const uint8_t *list;
	uint16_t len;
	uint16_t at;			/* what comes before has been checked */
	uint8_t pages[PAGES_LEN];	/* current values to be */
};

static uint8_t refuse(const struct select *s, unsigned int byte, int bit)
{
	return sense_invalid_param(s->lun, s->cmd, (uint16_t)byte, bit);
}

static uint8_t refuse_length(const struct select *s)
{
	return sense_set(s->lun, s->cmd, ILLEGAL_REQUEST, ASC_PARAM_LIST_LENGTH);
}

/* The block descriptor at s->at must name the block length and the capacity that are. */
static uint8_t select_block_descriptor(struct select *s, bool longlba)
{
	const uint8_t *d = s->list + s->at;
	uint64_t most = longlba ? UINT64_MAX : UINT32_MAX;
	uint64_t blocks = longlba ? get_be64(d) : get_be32(d);
	uint64_t capacity = s->lun->cfg.capacity < most ? s->lun->cfg.capacity : most;

	/* 0: as it is; all ones: as many as there are */
	if (blocks != 0 && blocks != most && blocks != capacity)
		return refuse(s, s->at, NO_BIT);
	if (longlba ? get_be32(&d[8]) : d[4])
		return refuse(s, s->at + (longlba ? 8u : 4u), NO_BIT);
	if ((longlba ? get_be32(&d[12]) : get_be24(&d[5])) != s->lun->cfg.lba_size)
		return refuse(s, s->at + (longlba ? 12u : 5u), NO_BIT);
	s->at += longlba ? LONG_DESC_LEN : SHORT_DESC_LEN;
	return SAM_STAT_GOOD;
}

static uint8_t select_header(struct select *s, const struct header *h)
{
	bool longlba;
	uint16_t desc_len;

	if (s->len < h->len)
		return refuse_length(s);
	for (unsigned int i = 0; i < h->len; i++)
		if (s->list[i] & ~h->accepted[i])
			return refuse(s, i < h->width ? 0 : i, NO_BIT);
	longlba = h->longlba && s->list[h->longlba] & MODE_LONGLBA;
	desc_len = h->width == 2 ? get_be16(&s->list[h->desc_len]) : s->list[h->desc_len];
	if (desc_len && desc_len != (longlba ? LONG_DESC_LEN : SHORT_DESC_LEN))
		return refuse(s, h->desc_len, NO_BIT);
	if (s->len < h->len + desc_len)
		return refuse_length(s);
	s->at = h->len;
	return desc_len ? select_block_descriptor(s, longlba) : SAM_STAT_GOOD;
}

/* Byte @i of the page at s->at may not be changed in the bits of @diff. */
static uint8_t refuse_field(const struct select *s, int page, int i, uint8_t diff)
{
	int bit = 31 - __builtin_clz(diff);

	/* Byte 2 begins a field in each page. */
	for (; i > 2 && !(fields[page + i] >> bit); i--)
		bit = 0;
	bit += __builtin_ctz(fields[page + i] >> bit);
	return refuse(s, s->at + (unsigned int)i, bit);
}

static uint8_t select_page(struct select *s)
{
	const uint8_t *p = s->list + s->at;
	uint16_t left = (uint16_t)(s->len - s->at);
	int page;

	if (left < 2)
		return refuse_length(s);
	if (p[0] & (MODE_PS | MODE_SPF))
		return refuse(s, s->at, p[0] & MODE_PS ? 7 : 6);
	page = find_page(p[0]);
	if (page < 0)
		return refuse(s, s->at, 5);
	if (p[1] != presets[page + 1])
		return refuse(s, s->at + 1u, NO_BIT);
	if (left < page_len(page))
		return refuse_length(s);
	for (int i = 2; i < page_len(page); i++) {
		uint8_t diff = (uint8_t)((p[i] ^ s->pages[page + i]) & ~changeable[page + i]);

		if (diff)
			return refuse_field(s, page, i, diff);
	}
	memcpy(&s->pages[page], p, page_len(page));
	s->at += page_len(page);
	return SAM_STAT_GOOD;
}

static uint8_t mode_select(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct header *h,
			   uint16_t len)
{
	struct select s = { .lun = lun, .cmd = cmd, .list = lun->scratch, .len = len };
	uint8_t status;

	if (!(cmd->cdb[1] & MODE_SELECT_PF))
		return sense_invalid_cdb(lun, cmd, 1, 4);
	if (cmd->cdb[1] & MODE_SELECT_SP)
		return sense_invalid_cdb(lun, cmd, 1, 0);
	if (iov_bytes(cmd) < len)
		return sense_set(lun, cmd, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
	if (!len)
		return SAM_STAT_GOOD;
	iov_copy_out(cmd, 0, lun->scratch, len);
	memcpy(s.pages, current(lun), PAGES_LEN);
	status = select_header(&s, h);
	while (status == SAM_STAT_GOOD && s.at < s.len)
		status = select_page(&s);
	if (status == SAM_STAT_GOOD)
		memcpy(current(lun), s.pages, PAGES_LEN);
	return status;
}

uint8_t spc_mode_select6(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return mode_select(lun, cmd, &header6, cmd->cdb[4]);
}

uint8_t spc_mode_select10(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return mode_select(lun, cmd, &header10, get_be16(&cmd->cdb[7]));
}

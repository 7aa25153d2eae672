// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Log pages: LOG SENSE.
 */
#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

#define LOG_HEADER_LEN 4
#define LOG_PARAM_LEN 12
#define LOG_DATA_MAX 128
#define LAST_STATISTIC 0x000a	/* largest parameter code of page 14h/01h */

/* Writes the list of pages, or the parameters from code @pointer on; returns the length. */
typedef uint16_t page_fn(const struct memzbc_lun *lun, uint8_t *data, uint16_t pointer);

/* Zoned block device statistics: those that SWR zones have. */
static const struct {
	uint16_t code;
	uint16_t offset;	/* in struct zone_statistics */
} statistics[] = {
	{ 0x0000, offsetof(struct zone_statistics, max_open) },
	{ 0x0001, offsetof(struct zone_statistics, max_exp_open) },
	{ 0x0002, offsetof(struct zone_statistics, max_imp_open) },
	{ 0x0003, offsetof(struct zone_statistics, min_empty) },
	{ 0x0005, offsetof(struct zone_statistics, emptied) },
	{ 0x0008, offsetof(struct zone_statistics, failed_exp_opens) },
	{ 0x0009, offsetof(struct zone_statistics, read_rule_violations) },
	{ LAST_STATISTIC, offsetof(struct zone_statistics, write_rule_violations) },
};

#define STATISTICS (sizeof(statistics) / sizeof(statistics[0]))

_Static_assert(LOG_HEADER_LEN + STATISTICS * LOG_PARAM_LEN <= LOG_DATA_MAX, "all must fit");

static uint16_t page_statistics(const struct memzbc_lun *lun, uint8_t *data, uint16_t pointer)
{
	const char *stats = (const char *)&lun->store.table->stats;
	uint8_t *param = data;

	for (size_t i = 0; i < STATISTICS; i++) {
		if (statistics[i].code < pointer)
			continue;
		put_be16(param, statistics[i].code);
		param[2] = LOG_BINARY_LIST;
		param[3] = LOG_PARAM_LEN - 4;
		put_be32(&param[8], *(const uint32_t *)(const void *)
				    (stats + statistics[i].offset));
		param += LOG_PARAM_LEN;
	}
	return (uint16_t)(param - data);
}

static page_fn page_supported, page_supported_subpages;

/* In ascending order of page and subpage codes. */
static const struct page {
	uint8_t code;
	uint8_t subpage;
	uint16_t last_param;	/* largest parameter code */
	page_fn *fill;
} pages[] = {
	{ LOG_SUPPORTED_PAGES, 0, 0, page_supported },
	{ LOG_SUPPORTED_PAGES, LOG_SUBPAGE_ALL, 0, page_supported_subpages },
	{ LOG_ZONED_STATISTICS, LOG_SUBPAGE_ZONED_STATISTICS, LAST_STATISTIC, page_statistics },
};

#define PAGES (sizeof(pages) / sizeof(pages[0]))

/* Pages that LOG SENSE finds without a subpage code. */
static uint16_t page_supported(const struct memzbc_lun *lun, uint8_t *data, uint16_t pointer)
{
	uint16_t len = 0;

	(void)lun;
	(void)pointer;
	for (size_t i = 0; i < PAGES; i++)
		if (!pages[i].subpage)
			data[len++] = pages[i].code;
	return len;
}

static uint16_t page_supported_subpages(const struct memzbc_lun *lun, uint8_t *data,
					uint16_t pointer)
{
	(void)lun;
	(void)pointer;
	for (size_t i = 0; i < PAGES; i++) {
		data[2 * i] = pages[i].code;
		data[2 * i + 1] = pages[i].subpage;
	}
	return 2 * PAGES;
}

/* NULL with *@known: the page exists, the subpage does not. */
static const struct page *find_page(uint8_t code, uint8_t subpage, bool *known)
{
	*known = false;
	for (size_t i = 0; i < PAGES; i++) {
		*known |= pages[i].code == code;
		if (pages[i].code == code && pages[i].subpage == subpage)
			return &pages[i];
	}
	return NULL;
}

/* PC makes no difference: it is for data counters, and these are list parameters. */
uint8_t spc_log_sense(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t data[LOG_DATA_MAX] = { 0 };
	uint8_t code = cmd->cdb[2] & 0x3f, subpage = cmd->cdb[3];
	uint16_t pointer = get_be16(&cmd->cdb[5]), len;
	bool known;
	const struct page *page = find_page(code, subpage, &known);

	if (cmd->cdb[1] & LOG_SENSE_SP)
		return sense_invalid_cdb(lun, cmd, 1, 0);
	if (!known)
		return sense_invalid_cdb(lun, cmd, 2, 5);
	if (!page)
		return sense_invalid_cdb(lun, cmd, 3, NO_BIT);
	if (pointer > page->last_param)
		return sense_invalid_cdb(lun, cmd, 5, NO_BIT);
	len = page->fill(lun, &data[LOG_HEADER_LEN], pointer);
	data[0] = subpage ? LOG_SPF | code : code;
	data[1] = subpage;
	put_be16(&data[2], len);
	return reply(lun, cmd, data, LOG_HEADER_LEN + len, get_be16(&cmd->cdb[7]));
}

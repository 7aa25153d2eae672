// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Log pages: LOG SENSE.
 */
#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "macros.h"
#include "model.h"

#define LOG_HEADER_LEN 4
#define LOG_PARAM_LEN 12	/* of every parameter there is */
#define LOG_DATA_MAX 128
#define LAST_STATISTIC 0x000a	/* largest parameter code of page 14h/01h */

struct page;

/* What LOG SENSE asks for. */
struct ask {
	const struct page *page;
	uint8_t pc;		/* page control */
	uint16_t pointer;	/* parameters from this code on */
};

/* Writes the list of pages, or the parameters; returns the length. */
typedef uint16_t page_fn(const struct memzbc_lun *lun, uint8_t *data, const struct ask *ask);

/* All parameters that there are have a value of 8 bytes. */
static uint8_t *put_parameter(uint8_t *param, uint16_t code, uint8_t control, uint64_t value)
{
	put_be16(param, code);
	param[2] = control;
	param[3] = LOG_PARAM_LEN - 4;
	put_be64(&param[4], value);
	return param + LOG_PARAM_LEN;
}

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

#define STATISTICS ARRAY_SIZE(statistics)

_Static_assert(LOG_HEADER_LEN + STATISTICS * LOG_PARAM_LEN <= LOG_DATA_MAX, "all must fit");

/* PC makes no difference: it is for data counters, and these are list parameters of 32 bits. */
static uint16_t page_statistics(const struct memzbc_lun *lun, uint8_t *data, const struct ask *ask)
{
	const char *stats = (const char *)&lun->store.table->stats;
	uint8_t *param = data;

	for (size_t i = 0; i < STATISTICS; i++)
		if (statistics[i].code >= ask->pointer)
			param = put_parameter(param, statistics[i].code, LOG_BINARY_LIST,
					      *(const uint32_t *)(const void *)
					      (stats + statistics[i].offset));
	return (uint16_t)(param - data);
}

static page_fn page_supported, page_supported_subpages, page_errors;

/* In ascending order of page and subpage codes. */
static const struct page {
	page_fn *fill;
	uint16_t last_param;	/* largest parameter code */
	uint8_t code, subpage;
	uint8_t counter;	/* of an error counter page */
} pages[] = {
	{ page_supported, 0, LOG_SUPPORTED_PAGES, 0, 0 },
	{ page_supported_subpages, 0, LOG_SUPPORTED_PAGES, LOG_SUBPAGE_ALL, 0 },
	{ page_errors, LOG_UNCORRECTED_ERRORS, LOG_WRITE_ERRORS, 0, ERRORS_WRITE },
	{ page_errors, LOG_UNCORRECTED_ERRORS, LOG_READ_ERRORS, 0, ERRORS_READ },
	{ page_errors, LOG_UNCORRECTED_ERRORS, LOG_VERIFY_ERRORS, 0, ERRORS_VERIFY },
	{ page_statistics, LAST_STATISTIC, LOG_ZONED_STATISTICS, LOG_SUBPAGE_ZONED_STATISTICS, 0 },
};

#define PAGES ARRAY_SIZE(pages)

/* Pages that LOG SENSE finds without a subpage code. */
static uint16_t page_supported(const struct memzbc_lun *lun, uint8_t *data, const struct ask *ask)
{
	uint16_t len = 0;

	(void)lun;
	(void)ask;
	for (size_t i = 0; i < PAGES; i++)
		if (!pages[i].subpage)
			data[len++] = pages[i].code;
	return len;
}

static uint16_t page_supported_subpages(const struct memzbc_lun *lun, uint8_t *data,
					const struct ask *ask)
{
	(void)lun;
	(void)ask;
	for (size_t i = 0; i < PAGES; i++) {
		data[2 * i] = pages[i].code;
		data[2 * i + 1] = pages[i].subpage;
	}
	return 2 * PAGES;
}

/* Nothing is ever corrected, so there are no counters of that. By default they are zero. */
static uint16_t page_errors(const struct memzbc_lun *lun, uint8_t *data, const struct ask *ask)
{
	struct error_counters errors = lun->store.table->errors[ask->page->counter];
	uint8_t *param = data;

	if (ask->pc == LOG_PC_DEFAULT_CUMULATIVE)
		errors = (struct error_counters){ 0 };
	if (ask->pointer <= LOG_BYTES_PROCESSED)
		param = put_parameter(param, LOG_BYTES_PROCESSED, LOG_DATA_COUNTER, errors.bytes);
	param = put_parameter(param, LOG_UNCORRECTED_ERRORS, LOG_DATA_COUNTER, errors.uncorrected);
	return (uint16_t)(param - data);
}

void log_medium_error(struct memzbc_lun *lun, const uint8_t *cdb)
{
	struct error_counters *errors = lun->store.table->errors;
	const struct command_info info = command_info(cdb);

	switch (info.class) {
	case MEMZBC_CLASS_WRITE:
		errors[ERRORS_WRITE].uncorrected++;
		break;
	case MEMZBC_CLASS_READ:
		if (info.command->execute == sbc_verify)
			errors[ERRORS_VERIFY].uncorrected++;
		else
			errors[ERRORS_READ].uncorrected++;
		break;
	default:
		break;
	}
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

/* Data counters have cumulative values, and no thresholds. */
static bool has_no_such_values(const struct ask *ask)
{
	return ask->page->fill == page_errors && ask->pc != LOG_PC_CUMULATIVE &&
	       ask->pc != LOG_PC_DEFAULT_CUMULATIVE;
}

uint8_t spc_log_sense(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t data[LOG_DATA_MAX] = { 0 };
	uint8_t code = cmd->cdb[2] & 0x3f, subpage = cmd->cdb[3];
	bool known;
	const struct ask ask = {
		.page = find_page(code, subpage, &known),
		.pc = cmd->cdb[2] >> 6,
		.pointer = get_be16(&cmd->cdb[5]),
	};
	uint16_t len;

	if (cmd->cdb[1] & LOG_SENSE_SP)
		return sense_invalid_cdb(lun, cmd, 1, 0);
	if (!known)
		return sense_invalid_cdb(lun, cmd, 2, 5);
	if (!ask.page)
		return sense_invalid_cdb(lun, cmd, 3, NO_BIT);
	if (has_no_such_values(&ask))
		return sense_invalid_cdb(lun, cmd, 2, 7);
	if (ask.pointer > ask.page->last_param)
		return sense_invalid_cdb(lun, cmd, 5, NO_BIT);
	len = ask.page->fill(lun, &data[LOG_HEADER_LEN], &ask);
	data[0] = subpage ? LOG_SPF | code : code;
	data[1] = subpage;
	put_be16(&data[2], len);
	return reply(lun, cmd, data, LOG_HEADER_LEN + len, get_be16(&cmd->cdb[7]));
}

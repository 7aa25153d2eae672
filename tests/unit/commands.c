// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Commands that many tests send, with data that tell block and generation. */
#include "harness.h"

void pattern(const struct dev *dev, void *buf, uint64_t lba, uint64_t blocks, uint32_t generation)
{
	uint64_t *words = buf;
	size_t per_block = dev->lba_size / sizeof(*words);

	if (!generation) {
		memset(buf, 0, blocks * dev->lba_size);
		return;
	}
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t word = (lba + i + 1) * 0x9e3779b97f4a7c15 ^ (uint64_t)generation << 17;

		for (size_t k = 0; k < per_block; k++)
			*words++ = word += 0xd1342543de82ef95;
	}
}

uint8_t write_with(struct dev *dev, uint8_t opcode, uint64_t lba, uint64_t blocks,
		   uint32_t generation)
{
	size_t len = blocks * dev->lba_size;
	void *data = malloc(len + 1);
	uint8_t status;

	pattern(dev, data, lba, blocks, generation);
	status = run_out(dev, cdb_lba(opcode, lba, blocks), data, len);
	free(data);
	return status;
}

uint8_t write_blocks(struct dev *dev, uint64_t lba, uint64_t blocks, uint32_t generation)
{
	return write_with(dev, WRITE_16, lba, blocks, generation);
}

uint8_t read_blocks(struct dev *dev, uint64_t lba, uint64_t blocks)
{
	return run_in(dev, cdb_lba(READ_16, lba, blocks), blocks * dev->lba_size);
}

uint8_t zone_action(struct dev *dev, uint8_t action, uint64_t zone_id)
{
	return run_none(dev, cdb_zone(action, zone_id));
}

uint8_t zone_action_all(struct dev *dev, uint8_t action)
{
	return run_none(dev, cdb_zone_all(action));
}

static struct zone_desc parse_zone(struct dev *dev, const uint8_t *d)
{
	struct zone_desc zone = {
		.type = d[0],
		.cond = d[1] >> 4,
		.flags = d[1] & 0xf,
		.len = get_be64(d + 8),
		.start = get_be64(d + 16),
		.wp = get_be64(d + 24),
	};

	for (unsigned int i = 0; i < ZONE_DESC_LEN; i++)
		if (d[i] && ((i >= 2 && i < 8) || i >= 32))
			fail_dev(dev, __FILE__, __LINE__, "zone descriptor byte %u is set", i);
	return zone;
}

static void parse_report(struct dev *dev, size_t alloc)
{
	const uint8_t *d = dev->in;
	struct zone_report *report = &dev->report;
	size_t returned;

	report->count = 0;
	if (alloc < ZONE_DESC_LEN)
		return;
	report->list_len = get_be32(d);
	report->same = d[4];
	report->max_lba = get_be64(d + 8);
	report->granularity = get_be64(d + 16);
	for (unsigned int i = 0; i < ZONE_DESC_LEN; i++)
		if (d[i] && ((i >= 5 && i < 8) || i >= 24))
			fail_dev(dev, __FILE__, __LINE__, "REPORT ZONES byte %u is set", i);
	returned = ZONE_DESC_LEN + (size_t)report->list_len;
	if (returned > alloc)
		returned = alloc;
	report->count = (uint32_t)(returned / ZONE_DESC_LEN - 1);
	report->zones = realloc(report->zones, (report->count + 1) * sizeof(*report->zones));
	for (uint32_t i = 0; i < report->count; i++)
		report->zones[i] = parse_zone(dev, d + (size_t)(i + 1) * ZONE_DESC_LEN);
}

uint8_t report_zones(struct dev *dev, uint64_t lba, uint8_t options, uint32_t alloc)
{
	if (run_in(dev, cdb_report_zones(lba, options, alloc), alloc) == SAM_STAT_GOOD)
		parse_report(dev, alloc);
	return dev->status;
}

struct zone_desc zone_at(struct dev *dev, uint64_t lba)
{
	expect_good(dev, report_zones(dev, lba, REPORT_PARTIAL, 2 * ZONE_DESC_LEN));
	expect_eq(dev, dev->report.count, 1);
	expect_true(dev, dev->report.zones[0].start <= lba);
	expect_true(dev, lba - dev->report.zones[0].start < dev->report.zones[0].len);
	return dev->report.zones[0];
}

size_t mode_page(struct dev *dev, uint8_t page, uint8_t pc)
{
	struct cdb cdb = { .b = { MODE_SENSE_10, 0x08, (uint8_t)(pc << 6 | page) } };
	size_t at;

	put_be16(cdb.b + 7, 252);
	expect_good(dev, run_in(dev, cdb, 252));
	at = 8u + get_be16(dev->in + 6);
	expect_eq(dev, dev->in[at] & 0x3f, page);
	return at;
}

void set_d_sense(struct dev *dev, bool on)
{
	struct cdb cdb = { .b = { MODE_SELECT_10, 0x10 } };
	uint8_t list[8 + 12] = { 0 };
	size_t at = mode_page(dev, MODE_CONTROL, MODE_PC_CURRENT);

	memcpy(list + 8, dev->in + at, 12);
	list[8] &= 0x3f;	/* PS is reserved here */
	list[10] = (uint8_t)((list[10] & ~4) | (on ? 4 : 0));
	put_be16(cdb.b + 7, sizeof(list));
	expect_good(dev, run_out(dev, cdb, list, sizeof(list)));
}

void fill_zone(struct dev *dev, uint64_t start, uint64_t blocks, uint32_t generation)
{
	const uint64_t step = 256;	/* a multiple of the physical block */

	for (uint64_t done = 0; done < blocks; done += step) {
		uint64_t n = blocks - done < step ? blocks - done : step;

		expect_good(dev, write_blocks(dev, start + done, n, generation));
	}
}

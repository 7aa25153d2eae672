// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* REPORT ZONES: what it lists, where it begins, and where ALLOCATION LENGTH cuts it. */
#include <stdio.h>

#include "harness.h"

#define ALL_BYTES (64u * ZONE_DESC_LEN)		/* more than any list of the matrix */

/* The zones that the geometry must have, as after a format, in ascending order. */
struct expected {
	struct zone_desc zones[64];
	uint32_t count;
};

static void add_expected(struct expected *e, uint8_t type, uint64_t start, uint64_t len)
{
	bool swr = type == ZONE_TYPE_SWR;

	if (len)
		e->zones[e->count++] = (struct zone_desc){
			.type = type, .cond = swr ? ZONE_EMPTY : ZONE_NOT_WP,
			.len = len, .start = start, .wp = swr ? start : NO_WRITE_POINTER,
		};
}

static struct expected expected_zones(const struct geo *g)
{
	struct expected e = { .count = 0 };

	for (uint32_t slot = 0; slot < geo_slots(g); slot++) {
		uint64_t start = geo_start(g, slot), len = geo_len(g, slot);

		add_expected(&e, geo_is_conv(g, slot) ? ZONE_TYPE_CONVENTIONAL : ZONE_TYPE_SWR,
			     start, len);
		add_expected(&e, ZONE_TYPE_GAP, start + len, geo_gap(g, slot));
	}
	return e;
}

static void expect_desc(struct dev *dev, const struct zone_desc *a, const struct zone_desc *b)
{
	expect_eq(dev, a->type, b->type);
	expect_eq(dev, a->cond, b->cond);
	expect_eq(dev, a->flags, b->flags);
	expect_eq(dev, a->len, b->len);
	expect_eq(dev, a->start, b->start);
	expect_eq(dev, a->wp, b->wp);
}

/* What SAME claims must hold for the list. */
static void expect_same_is_true(struct dev *dev)
{
	const struct zone_report *r = &dev->report;

	expect_true(dev, r->same <= 3);
	for (uint32_t i = 1; r->same && i < r->count; i++) {
		const struct zone_desc *z = &r->zones[i];
		bool last = i + 1 == r->count;

		expect_true(dev, r->same == 3 || z->type == r->zones[0].type);
		expect_true(dev, (r->same == 2 && last) || z->len == r->zones[0].len);
	}
}

static void all_zones(struct dev *dev)
{
	struct expected e = expected_zones(dev->geo);

	expect_good(dev, report_zones(dev, 0, 0, ALL_BYTES));
	expect_eq(dev, dev->report.list_len, e.count * ZONE_DESC_LEN);
	expect_eq(dev, dev->report.max_lba, dev->capacity - 1);
	expect_eq(dev, dev->report.granularity,
		  geo_has_gaps(dev->geo) ? dev->geo->zone_size : 0);
	expect_eq(dev, dev->report.count, e.count);
	expect_same_is_true(dev);
	for (uint32_t i = 0; i < e.count; i++)
		expect_desc(dev, &dev->report.zones[i], &e.zones[i]);
}

/* From any LBA: the zone that contains it comes first. */
static void from_inside_a_zone(struct dev *dev)
{
	struct expected e = expected_zones(dev->geo);

	for (uint32_t i = 0; i < e.count; i++) {
		const struct zone_desc *z = &e.zones[i];
		const uint64_t lbas[] = { z->start, z->start + 1, z->start + z->len / 2,
					  z->start + z->len - 1 };

		for (size_t k = 0; k < ARRAY_SIZE(lbas); k++) {
			expect_good(dev, report_zones(dev, lbas[k], 0, ALL_BYTES));
			expect_eq(dev, dev->report.count, e.count - i);
			expect_eq(dev, dev->report.list_len, (e.count - i) * ZONE_DESC_LEN);
			expect_desc(dev, &dev->report.zones[0], z);
			expect_desc(dev, &dev->report.zones[dev->report.count - 1],
				    &e.zones[e.count - 1]);
		}
	}
}

static void beyond_the_medium(struct dev *dev)
{
	const uint64_t lbas[] = { dev->capacity, dev->capacity + 1, 1ull << 32, INT64_MAX,
				  UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(lbas); i++) {
		expect_sense(dev, report_zones(dev, lbas[i], 0, ALL_BYTES), ILLEGAL_REQUEST,
			     ASC_LBA_OUT_OF_RANGE);
		expect_sense(dev, report_zones(dev, lbas[i], REPORT_PARTIAL, 0), ILLEGAL_REQUEST,
			     ASC_LBA_OUT_OF_RANGE);
	}
	expect_good(dev, report_zones(dev, dev->capacity - 1, 0, ALL_BYTES));
	expect_eq(dev, dev->report.count, 1);
}

static void reserved_options(struct dev *dev)
{
	for (unsigned int option = 0x09; option < 0x3e; option++) {
		if (option == 0x10 || option == 0x11)
			continue;
		expect_invalid_cdb(dev, report_zones(dev, 0, (uint8_t)option, ALL_BYTES), 14, 5);
		expect_invalid_cdb(dev, report_zones(dev, 0, (uint8_t)(0x80 | option), ALL_BYTES),
				   14, 5);
	}
	expect_invalid_cdb(dev, report_zones(dev, 0, 0x40, ALL_BYTES), 14, 6);
}

static bool option_selects(uint8_t option, const struct zone_desc *z)
{
	switch (option) {
	case 0x00:
		return true;
	case 0x01:
	case 0x02:
	case 0x03:
	case 0x04:
		return z->cond == option;
	case 0x05:
		return z->cond == 0xe;
	case 0x3e:
		return z->type != 0x5;
	case 0x3f:
		return z->cond == 0x0;
	default:	/* READ ONLY, OFFLINE, INACTIVE, RESET, NON_SEQ: no zone is that here */
		return false;
	}
}

static const uint8_t options[] = {
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x10, 0x11, 0x3e, 0x3f,
};

/* One zone in each state, and what is left EMPTY. */
static void make_every_state(struct dev *dev)
{
	for (uint32_t state = 0; state < ZS_STATES; state++)
		make_zone(dev, dev->geo->conv + state, state);
}

/* The list of @option from @from on, out of the list of all zones. */
static struct expected select_zones(const struct zone_desc *all, uint32_t count, uint8_t option,
				    uint32_t from)
{
	struct expected e = { .count = 0 };

	for (uint32_t i = from; i < count; i++)
		if (option_selects(option, &all[i]))
			e.zones[e.count++] = all[i];
	return e;
}

static void every_option(struct dev *dev)
{
	struct zone_desc all[64];
	uint32_t count;

	make_every_state(dev);
	expect_good(dev, report_zones(dev, 0, 0, ALL_BYTES));
	count = dev->report.count;
	memcpy(all, dev->report.zones, count * sizeof(all[0]));
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		for (uint32_t from = 0; from < count; from += 3) {
			struct expected e = select_zones(all, count, options[i], from);

			expect_good(dev, report_zones(dev, all[from].start, options[i],
						      ALL_BYTES));
			expect_eq(dev, dev->report.list_len, e.count * ZONE_DESC_LEN);
			expect_same_is_true(dev);
			for (uint32_t k = 0; k < e.count; k++)
				expect_desc(dev, &dev->report.zones[k], &e.zones[k]);
			expect_good(dev, report_zones(dev, all[from].start,
						      0x80 | options[i], ALL_BYTES));
			expect_eq(dev, dev->report.list_len, e.count * ZONE_DESC_LEN);
		}
	}
}

/* The write pointers and conditions of every state, as the descriptor has them. */
static void every_state(struct dev *dev)
{
	make_every_state(dev);
	expect_good(dev, report_zones(dev, 0, 0x02, ALL_BYTES));
	expect_eq(dev, dev->report.count, 3);	/* written, unwritten, last block free */
	expect_good(dev, report_zones(dev, 0, 0x03, ALL_BYTES));
	expect_eq(dev, dev->report.count, 2);
	expect_good(dev, report_zones(dev, 0, 0x04, ALL_BYTES));
	expect_eq(dev, dev->report.count, 2);
	expect_good(dev, report_zones(dev, 0, 0x05, ALL_BYTES));
	expect_eq(dev, dev->report.count, 2);
	for (uint32_t state = 0; state < ZS_STATES; state++) {
		uint32_t slot = dev->geo->conv + state;
		struct zone_desc zone = zone_at(dev, geo_start(dev->geo, slot));

		expect_state(dev, slot, state);
		expect_eq(dev, zone.flags, 0);
		if (zone.cond == ZONE_IMP_OPEN || zone.cond == ZONE_EXP_OPEN)
			expect_true(dev, zone.wp >= zone.start && zone.wp < zone.start + zone.len);
		if (zone.cond == ZONE_CLOSED)
			expect_true(dev, zone.wp > zone.start && zone.wp < zone.start + zone.len);
	}
}

/* The first @alloc bytes of the whole list, with the length that PARTIAL asks for. */
static void check_cut(struct dev *dev, const uint8_t *whole, uint32_t whole_len, uint8_t opts,
		      uint32_t alloc)
{
	uint8_t want[4096];
	uint32_t fit = alloc < 64 ? 0 : alloc / 64 - 1, listed = whole_len / 64 - 1;
	uint32_t n = alloc < whole_len ? alloc : whole_len;

	memcpy(want, whole, whole_len);
	if (opts & 0x80 && fit < listed)
		put_be32(want, fit * 64);
	expect_good(dev, report_zones(dev, 0, opts, alloc));
	/* PARTIAL may leave out a descriptor that does not fit. */
	if (opts & 0x80 && fit < listed && n >= 64)
		n = 64 + fit * 64;
	if (memcmp(dev->in, want, n))
		fail_dev(dev, __FILE__, __LINE__, "ALLOCATION LENGTH %u: other bytes", alloc);
}

static void ragged_lengths(struct dev *dev)
{
	uint8_t whole[4096];

	make_every_state(dev);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		uint32_t len;

		expect_good(dev, report_zones(dev, 0, options[i], sizeof(whole)));
		len = 64 + dev->report.list_len;
		memcpy(whole, dev->in, len);
		for (uint32_t alloc = 0; alloc < len + 70;
		     alloc += 1 + (uint32_t)random_below(20)) {
			check_cut(dev, whole, len, options[i], alloc);
			check_cut(dev, whole, len, options[i] | 0x80, alloc);
		}
		for (uint32_t edge = 64; edge <= len + 64; edge += 64)
			for (uint32_t alloc = edge - 1; alloc <= edge + 1; alloc++) {
				check_cut(dev, whole, len, options[i], alloc);
				check_cut(dev, whole, len, options[i] | 0x80, alloc);
			}
	}
}

/* The buffer, not the ALLOCATION LENGTH, which would cut silently. */
static void short_buffer(struct dev *dev)
{
	dev->short_by = 1;
	expect_sense(dev, report_zones(dev, 0, 0, 2 * ZONE_DESC_LEN), HARDWARE_ERROR,
		     ASC_INTERNAL_TARGET_FAILURE);
	dev->short_by = 2 * ZONE_DESC_LEN;
	expect_sense(dev, report_zones(dev, 0, 0, 2 * ZONE_DESC_LEN), HARDWARE_ERROR,
		     ASC_INTERNAL_TARGET_FAILURE);
	dev->short_by = 1;
	expect_sense(dev, report_zones(dev, 0, REPORT_PARTIAL, 2 * ZONE_DESC_LEN),
		     HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
}

/* Reporting is no access: nothing changes. */
static void changes_nothing(struct dev *dev)
{
	struct snapshot *snap;

	make_every_state(dev);
	snap = snapshot_take(dev);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		expect_good(dev, report_zones(dev, 0, options[i], ALL_BYTES));
	snapshot_compare(dev, snap, "REPORT ZONES", __FILE__, __LINE__);
}

/* C13: option 3Eh with and without gap zones. */
static void c13(void **state)
{
	struct dev *dev = dev_open("zone_size=64M/conv=4/max_open=8", 4ull << 30, 512);

	(void)state;
	expect_good(dev, report_zones(dev, 0, 0x3e, 0x1040));
	expect_eq(dev, dev->report.list_len, 64 * 64);
	expect_eq(dev, dev->report.count, 64);
	expect_eq(dev, dev->report.granularity, 0);
	dev_close(dev);

	dev = dev_open("zone_size=128M/zone_cap=108M/conv=2/lba=4096", 16ull * 128 << 20, 4096);
	expect_good(dev, report_zones(dev, 0, 0x3e, 0x1040));
	expect_eq(dev, dev->report.count, 16);
	for (uint32_t i = 0; i < 16; i++)
		expect_true(dev, dev->report.zones[i].type != 5);
	expect_eq(dev, dev->report.granularity, 0x8000);
	expect_good(dev, report_zones(dev, 0, 0, 0x1040));
	expect_eq(dev, dev->report.count, 16 + 14);
	expect_eq(dev, dev->report.zones[3].type, 5);
	expect_eq(dev, dev->report.zones[3].start, 2 * 0x8000 + 0x6c00);
	expect_eq(dev, dev->report.zones[3].len, 0x1400);
	dev_close(dev);
}

/* C14: the start is the capacity; a reserved option. */
static void c14(void **state)
{
	struct dev *dev = dev_open("zone_size=96M/conv=4/lba=4096", 6ull << 30, 4096);

	(void)state;
	expect_sense(dev, report_zones(dev, 0x180000, 0, 0x1040), 0x5, 0x2100);
	expect_sense(dev, report_zones(dev, 0, 0x20, 0x1040), 0x5, 0x2400);
	expect_true(dev, dev->sense.sksv && dev->sense.in_cdb);
	expect_eq(dev, dev->sense.byte, 14);
	dev_close(dev);
}

/* C21: zone sizes that are no power of two: start and last LBA of every zone. */
static void probe_sizes(const char *config, uint64_t zone_size)
{
	struct dev *dev = dev_open(config, 64 * zone_size * 4096, 4096);

	for (uint64_t i = 0; i < 64; i++) {
		uint64_t start = i * zone_size, last = start + zone_size - 1;

		expect_eq(dev, zone_at(dev, start).start, start);
		expect_eq(dev, zone_at(dev, last).start, start);
		expect_eq(dev, zone_at(dev, last).len, zone_size);
	}
	for (uint64_t i = 4; i < 64; i++)
		expect_good(dev, write_blocks(dev, i * zone_size, 1, 7));
	if (zone_size > 1) {
		uint64_t start = 63 * zone_size;

		fill_zone(dev, start + 1, zone_size - 2, 7);
		expect_zone(dev, start, ZONE_IMP_OPEN, start + zone_size - 1);
		expect_good(dev, write_blocks(dev, start + zone_size - 1, 1, 7));
		expect_data(dev, start + zone_size - 2, 2, 7);
	}
	expect_zone(dev, 63 * zone_size, ZONE_FULL, 64 * zone_size);
	dev_close(dev);
}

static void c21(void **state)
{
	char config[64];

	(void)state;
	probe_sizes("zone_size=4096/conv=4/lba=4096", 1);
	snprintf(config, sizeof(config), "zone_size=%d/conv=4/lba=4096", 4097 * 4096);
	probe_sizes(config, 4097);
	probe_sizes("zone_size=96M/conv=4/lba=4096", 0x6000);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "all zones", all_zones, NULL },
		{ "from inside a zone", from_inside_a_zone, NULL },
		{ "beyond the medium", beyond_the_medium, NULL },
		{ "reserved options", reserved_options, NULL },
		{ "every option", every_option, NULL },
		{ "every state", every_state, NULL },
		{ "ragged lengths", ragged_lengths, NULL },
		{ "short buffer", short_buffer, NULL },
		{ "changes nothing", changes_nothing, NULL },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c13),
		cmocka_unit_test(c14),
		cmocka_unit_test(c21),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       run_matrix("report zones", matrix, ARRAY_SIZE(matrix));
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Zones that change without a command: conditions, write pointers, data, counters and resends. */
#include <memzbc/operate.h>

#include "harness.h"
#include "model.h"

#define SLOT 5u			/* the zone that most tests change */
#define OTHER 6u

static const enum memzbc_zone_change changes[] = {
	MEMZBC_ZONE_EMPTY, MEMZBC_ZONE_CLOSED, MEMZBC_ZONE_FULL, MEMZBC_ZONE_READ_ONLY,
	MEMZBC_ZONE_OFFLINE,
};

/* Takes a change, which must be accepted. */
static void set(struct dev *dev, uint32_t slot, enum memzbc_zone_change change, uint64_t pointer)
{
	char reason[MEMZBC_REASON_SIZE] = "";

	if (memzbc_lun_set_zone(dev->lun, slot, change, pointer, reason))
		fail_dev(dev, __FILE__, __LINE__, "zone %u: %s", slot, reason);
}

static void change(struct dev *dev, uint32_t slot, enum memzbc_zone_change to)
{
	set(dev, slot, to, MEMZBC_POINTER_KEPT);
}

static uint64_t start_of(const struct dev *dev, uint32_t slot)
{
	return geo_start(dev->geo, slot);
}

static uint64_t end_of(const struct dev *dev, uint32_t slot)
{
	return start_of(dev, slot) + geo_len(dev->geo, slot);
}

/* What REPORT ZONES shows after a change of a zone whose write pointer was at @wp. */
static void expect_changed(struct dev *dev, enum memzbc_zone_change to, uint64_t wp)
{
	uint64_t start = start_of(dev, SLOT), end = end_of(dev, SLOT);

	switch (to) {
	case MEMZBC_ZONE_EMPTY:
		expect_zone(dev, start, ZONE_EMPTY, start);
		break;
	case MEMZBC_ZONE_FULL:
		expect_zone(dev, start, ZONE_FULL, end);
		break;
	case MEMZBC_ZONE_READ_ONLY:
		expect_zone(dev, start, ZONE_READ_ONLY, NO_WRITE_POINTER);
		break;
	case MEMZBC_ZONE_OFFLINE:
		expect_zone(dev, start, ZONE_OFFLINE, NO_WRITE_POINTER);
		break;
	default:
		expect_zone(dev, start, wp == start ? ZONE_EMPTY :
			    wp == end ? ZONE_FULL : ZONE_CLOSED, wp);
		break;
	}
}

/* Every state of a zone to every condition, and from READ ONLY and OFFLINE to every other. */
static void any_zone_becomes_anything(struct dev *dev)
{
	for (int state = 0; state < ZS_STATES; state++) {
		for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
			for (size_t k = 0; k < ARRAY_SIZE(changes); k++) {
				uint64_t wp = make_zone(dev, SLOT, (enum zone_state)state);

				change(dev, SLOT, changes[i]);
				expect_changed(dev, changes[i], wp);
				if (changes[i] == MEMZBC_ZONE_EMPTY)
					wp = start_of(dev, SLOT);
				if (changes[i] == MEMZBC_ZONE_FULL)
					wp = end_of(dev, SLOT);
				change(dev, SLOT, changes[k]);
				expect_changed(dev, changes[k], wp);
				change(dev, SLOT, MEMZBC_ZONE_EMPTY);
				expect_zone(dev, start_of(dev, SLOT), ZONE_EMPTY,
					    start_of(dev, SLOT));
			}
		}
	}
}

static void data_stay_below_the_pointer(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT), len = geo_len(dev->geo, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	fill_zone(dev, start, 4 * pblk, 9);
	change(dev, SLOT, MEMZBC_ZONE_READ_ONLY);
	expect_data(dev, start, 4 * pblk, 9);
	expect_refused(dev, write_blocks(dev, start + 4 * pblk, pblk, 1), DATA_PROTECT,
		       ASC_ZONE_READ_ONLY);
	change(dev, SLOT, MEMZBC_ZONE_OFFLINE);
	expect_sense(dev, read_blocks(dev, start, 1), DATA_PROTECT, ASC_ZONE_OFFLINE);
	expect_sense(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start), DATA_PROTECT,
		     ASC_ZONE_OFFLINE);
	change(dev, SLOT, MEMZBC_ZONE_CLOSED);
	expect_zone(dev, start, ZONE_CLOSED, start + 4 * pblk);
	expect_data(dev, start, 4 * pblk, 9);
	expect_good(dev, write_blocks(dev, start + 4 * pblk, pblk, 10));
	change(dev, SLOT, MEMZBC_ZONE_FULL);
	expect_data(dev, start, 4 * pblk, 9);
	expect_data(dev, start + 4 * pblk, pblk, 10);
	expect_data(dev, start + 5 * pblk, len - 5 * pblk, 0);
	change(dev, SLOT, MEMZBC_ZONE_EMPTY);
	expect_data(dev, start, len, 0);
}

static void emptied_zone_gives_its_memory_back(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT), before = dev_memory(dev);

	fill_zone(dev, start, geo_len(dev->geo, SLOT), 9);
	expect_true(dev, dev_memory(dev) > before);
	change(dev, SLOT, MEMZBC_ZONE_EMPTY);
	expect_eq(dev, dev_memory(dev), before);
}

static void pointer_goes_back_and_forth(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT), len = geo_len(dev->geo, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	fill_zone(dev, start, 6 * pblk, 9);
	set(dev, SLOT, MEMZBC_ZONE_POINTER, 2 * pblk);
	expect_zone(dev, start, ZONE_IMP_OPEN, start + 2 * pblk);
	expect_data(dev, start, 2 * pblk, 9);
	expect_data(dev, start + 2 * pblk, len - 2 * pblk, 0);
	/* What was above it does not come back. */
	set(dev, SLOT, MEMZBC_ZONE_POINTER, 5 * pblk);
	expect_data(dev, start, 2 * pblk, 9);
	expect_data(dev, start + 2 * pblk, len - 2 * pblk, 0);
	expect_sense(dev, write_blocks(dev, start + 6 * pblk, pblk, 1), ILLEGAL_REQUEST,
		     ASC_UNALIGNED_WRITE);
	expect_good(dev, write_blocks(dev, start + 5 * pblk, pblk, 10));
	expect_zone(dev, start, ZONE_IMP_OPEN, start + 6 * pblk);
}

/* Where a write pointer alone takes a zone, by its state. */
static void condition_follows_the_pointer(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT), len = geo_len(dev->geo, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	for (int state = 0; state < ZS_STATES; state++) {
		uint8_t now = state_condition((enum zone_state)state);
		bool open = now == ZONE_IMP_OPEN || now == ZONE_EXP_OPEN;

		make_zone(dev, SLOT, (enum zone_state)state);
		set(dev, SLOT, MEMZBC_ZONE_POINTER, 2 * pblk);
		expect_zone(dev, start, open ? now : ZONE_CLOSED, start + 2 * pblk);
		set(dev, SLOT, MEMZBC_ZONE_POINTER, 0);
		expect_zone(dev, start, open ? now : ZONE_EMPTY, start);
		set(dev, SLOT, MEMZBC_ZONE_POINTER, len);
		expect_zone(dev, start, ZONE_FULL, start + len);
		set(dev, SLOT, MEMZBC_ZONE_CLOSED, pblk);
		expect_zone(dev, start, ZONE_CLOSED, start + pblk);
		set(dev, SLOT, MEMZBC_ZONE_CLOSED, len);
		expect_zone(dev, start, ZONE_FULL, start + len);
		set(dev, SLOT, MEMZBC_ZONE_CLOSED, 0);
		expect_zone(dev, start, ZONE_EMPTY, start);
	}
}

static void hidden_pointer_moves(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	fill_zone(dev, start, 4 * pblk, 9);
	change(dev, SLOT, MEMZBC_ZONE_OFFLINE);
	set(dev, SLOT, MEMZBC_ZONE_POINTER, 3 * pblk);
	expect_zone(dev, start, ZONE_OFFLINE, NO_WRITE_POINTER);
	change(dev, SLOT, MEMZBC_ZONE_CLOSED);
	expect_zone(dev, start, ZONE_CLOSED, start + 3 * pblk);
	expect_data(dev, start, 3 * pblk, 9);
	expect_data(dev, start + 3 * pblk, pblk, 0);
}

static void conventional_zones_fail_and_recover(struct dev *dev)
{
	uint32_t slot = 0;

	expect_good(dev, write_blocks(dev, 0, 8, 9));
	change(dev, slot, MEMZBC_ZONE_READ_ONLY);
	expect_zone(dev, 0, ZONE_READ_ONLY, NO_WRITE_POINTER);
	expect_data(dev, 0, 8, 9);
	expect_refused(dev, write_blocks(dev, 0, 8, 1), DATA_PROTECT, ASC_ZONE_READ_ONLY);
	change(dev, slot, MEMZBC_ZONE_OFFLINE);
	expect_zone(dev, 0, ZONE_OFFLINE, NO_WRITE_POINTER);
	expect_sense(dev, read_blocks(dev, 0, 8), DATA_PROTECT, ASC_ZONE_OFFLINE);
	expect_sense(dev, write_blocks(dev, 0, 8, 1), DATA_PROTECT, ASC_ZONE_OFFLINE);
	dev_reopen(dev);
	expect_zone(dev, 0, ZONE_OFFLINE, NO_WRITE_POINTER);
	change(dev, slot, MEMZBC_ZONE_NOT_WP);
	expect_zone(dev, 0, ZONE_NOT_WP, NO_WRITE_POINTER);
	expect_data(dev, 0, 8, 9);
	expect_good(dev, write_blocks(dev, 0, 8, 10));
}

static void expect_listed(struct dev *dev, uint8_t option, uint32_t slot)
{
	expect_good(dev, report_zones(dev, 0, option, 4096));
	expect_eq(dev, dev->report.count, 1);
	expect_eq(dev, dev->report.zones[0].start, start_of(dev, slot));
}

/* Of ALL, zones that cannot take part are skipped; each condition lists its zone. */
static void failed_zones_are_listed_and_left_alone(struct dev *dev)
{
	fill_zone(dev, start_of(dev, SLOT), geo_pblk(dev->geo), 9);
	change(dev, SLOT, MEMZBC_ZONE_READ_ONLY);
	change(dev, OTHER, MEMZBC_ZONE_OFFLINE);
	expect_listed(dev, REPORT_READ_ONLY, SLOT);
	expect_listed(dev, REPORT_OFFLINE, OTHER);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	expect_good(dev, zone_action_all(dev, SA_FINISH_ZONE));
	expect_good(dev, zone_action_all(dev, SA_OPEN_ZONE));
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	expect_listed(dev, REPORT_READ_ONLY, SLOT);
	expect_listed(dev, REPORT_OFFLINE, OTHER);
}

/* Open zones by condition, as the limit on them shows: max_open is 2. */
static void open_zones_are_counted(struct dev *dev)
{
	uint64_t third = start_of(dev, OTHER + 1);

	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, start_of(dev, SLOT)));
	expect_good(dev, zone_action(dev, SA_OPEN_ZONE, start_of(dev, OTHER)));
	expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, third), DATA_PROTECT,
		     ASC_INSUFFICIENT_ZONE_RESOURCES);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		change(dev, SLOT, changes[i]);
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, third));
		expect_good(dev, zone_action(dev, SA_CLOSE_ZONE, third));
		change(dev, SLOT, MEMZBC_ZONE_EMPTY);
		expect_good(dev, zone_action(dev, SA_OPEN_ZONE, start_of(dev, SLOT)));
		expect_sense(dev, zone_action(dev, SA_OPEN_ZONE, third), DATA_PROTECT,
			     ASC_INSUFFICIENT_ZONE_RESOURCES);
	}
}

/* What the log page of zoned device statistics shows. */
static void minima_are_counted(struct dev *dev)
{
	const struct zone_statistics *stats = &dev->lun->store.table->stats;
	uint32_t before = stats->min_empty;

	change(dev, SLOT, MEMZBC_ZONE_OFFLINE);
	change(dev, OTHER, MEMZBC_ZONE_FULL);
	expect_eq(dev, stats->min_empty, before - 2);
	change(dev, SLOT, MEMZBC_ZONE_EMPTY);
	expect_eq(dev, stats->min_empty, before - 2);
}

/* Changes at random keep the order of implicitly opened zones whole: the limit holds. */
static void limit_holds_whatever_changes(struct dev *dev)
{
	uint32_t pblk = geo_pblk(dev->geo), first = dev->geo->conv;
	uint32_t count = geo_slots(dev->geo) - first - dev->geo->conv_end - 1;

	for (int i = 0; i < 500; i++) {
		uint32_t slot = first + (uint32_t)random_below(count);
		struct zone_desc z = zone_at(dev, start_of(dev, slot));
		size_t c = random_below(ARRAY_SIZE(changes));

		if (random_below(3) == 0)
			change(dev, slot, changes[c]);
		else if (random_below(2))
			set(dev, slot, MEMZBC_ZONE_POINTER, random_below(4) * pblk);
		else if (z.cond <= ZONE_CLOSED && z.wp < z.start + z.len)
			expect_good(dev, write_blocks(dev, z.wp, pblk, 1));
		expect_good(dev, report_zones(dev, 0, REPORT_IMP_OPEN, 4096));
		expect_true(dev, dev->report.count <= 2);
	}
}

static void survives_a_reopen(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	fill_zone(dev, start, 4 * pblk, 9);
	change(dev, SLOT, MEMZBC_ZONE_OFFLINE);
	change(dev, OTHER, MEMZBC_ZONE_FULL);
	dev_reopen(dev);
	expect_zone(dev, start, ZONE_OFFLINE, NO_WRITE_POINTER);
	expect_zone(dev, start_of(dev, OTHER), ZONE_FULL, end_of(dev, OTHER));
	change(dev, SLOT, MEMZBC_ZONE_CLOSED);
	expect_data(dev, start, 4 * pblk, 9);
}

/* A write that was executed and not acknowledged comes again: not done when the pointer is back. */
static void resend_is_forgotten_when_the_pointer_goes_back(struct dev *dev)
{
	uint64_t start = start_of(dev, SLOT);
	uint32_t pblk = geo_pblk(dev->geo);

	dev->unacknowledged = true;
	fill_zone(dev, start, 2 * pblk, 9);
	expect_good(dev, write_blocks(dev, start + 2 * pblk, pblk, 9));
	dev_reopen(dev);
	set(dev, SLOT, MEMZBC_ZONE_POINTER, pblk);
	set(dev, SLOT, MEMZBC_ZONE_POINTER, 4 * pblk);
	expect_sense(dev, write_blocks(dev, start + 2 * pblk, pblk, 9), ILLEGAL_REQUEST,
		     ASC_UNALIGNED_WRITE);
}

static void expect_wrong(struct dev *dev, uint32_t slot, enum memzbc_zone_change to,
			 uint64_t pointer, const char *word)
{
	char reason[MEMZBC_REASON_SIZE] = "";

	if (!memzbc_lun_check_zone(dev->lun, slot, to, pointer, reason) ||
	    !memzbc_lun_set_zone(dev->lun, slot, to, pointer, reason))
		fail_dev(dev, __FILE__, __LINE__, "change %d of zone %u to %llu was taken", to,
			 slot, (unsigned long long)pointer);
	if (!strstr(reason, word))
		fail_dev(dev, __FILE__, __LINE__, "no '%s' in '%s'", word, reason);
}

static void wrong_changes_are_refused(struct dev *dev)
{
	uint64_t len = geo_len(dev->geo, SLOT);
	uint32_t pblk = geo_pblk(dev->geo), slots = geo_slots(dev->geo);
	struct snapshot *snap = snapshot_take(dev);

	expect_wrong(dev, slots, MEMZBC_ZONE_FULL, MEMZBC_POINTER_KEPT, "accepted: 0 to ");
	expect_wrong(dev, UINT32_MAX, MEMZBC_ZONE_FULL, MEMZBC_POINTER_KEPT, "accepted: 0 to ");
	expect_wrong(dev, 0, MEMZBC_ZONE_EMPTY, MEMZBC_POINTER_KEPT, "conventional");
	expect_wrong(dev, 0, MEMZBC_ZONE_POINTER, pblk, "conventional");
	expect_wrong(dev, SLOT, MEMZBC_ZONE_NOT_WP, MEMZBC_POINTER_KEPT, "has a write pointer");
	expect_wrong(dev, SLOT, MEMZBC_ZONE_POINTER, MEMZBC_POINTER_KEPT, "no write pointer");
	expect_wrong(dev, SLOT, MEMZBC_ZONE_POINTER, len + pblk, "0 to ");
	expect_wrong(dev, SLOT, MEMZBC_ZONE_FULL, pblk, "closed");
	if (pblk > 1)
		expect_wrong(dev, SLOT, MEMZBC_ZONE_POINTER, 1, "multiples of ");
	snapshot_compare(dev, snap, "wrong changes", __FILE__, __LINE__);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "any_zone_becomes_anything", any_zone_becomes_anything, NULL },
		{ "data_stay_below_the_pointer", data_stay_below_the_pointer, NULL },
		{ "emptied_zone_gives_its_memory_back", emptied_zone_gives_its_memory_back, NULL },
		{ "pointer_goes_back_and_forth", pointer_goes_back_and_forth, NULL },
		{ "condition_follows_the_pointer", condition_follows_the_pointer, NULL },
		{ "hidden_pointer_moves", hidden_pointer_moves, NULL },
		{ "conventional_zones_fail_and_recover",
		  conventional_zones_fail_and_recover, NULL },
		{ "failed_zones_are_listed_and_left_alone",
		  failed_zones_are_listed_and_left_alone, NULL },
		{ "open_zones_are_counted", open_zones_are_counted, "max_open=2" },
		{ "minima_are_counted", minima_are_counted, NULL },
		{ "limit_holds_whatever_changes", limit_holds_whatever_changes, "max_open=2" },
		{ "survives_a_reopen", survives_a_reopen, NULL },
		{ "resend_is_forgotten_when_the_pointer_goes_back",
		  resend_is_forgotten_when_the_pointer_goes_back, NULL },
		{ "wrong_changes_are_refused", wrong_changes_are_refused, NULL },
	};

	return run_matrix("set-zone", tests, ARRAY_SIZE(tests));
}

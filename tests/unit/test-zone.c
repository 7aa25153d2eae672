// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The state machine of sequential write required zones: every state, every event. */
#include "harness.h"

enum event {
	EV_OPEN, EV_CLOSE, EV_FINISH, EV_RESET,
	EV_OPEN_ALL, EV_CLOSE_ALL, EV_FINISH_ALL, EV_RESET_ALL,
	EV_WRITE,	/* one physical block at the write pointer */
	EV_WRITE_REST,	/* from the write pointer to the zone's end */
	EV_WRITE_NONE,	/* length 0 at the write pointer */
	EVENTS
};

enum wp {
	WP_START, WP_KEPT, WP_NEXT /* one physical block on */, WP_END
};

/* What becomes of the zone; key 0 is GOOD. */
struct outcome {
	uint8_t cond;
	enum wp wp;
	uint8_t key;
	uint16_t asc;
};

#define EMPTY { ZONE_EMPTY, WP_START, 0, 0 }
#define IMP { ZONE_IMP_OPEN, WP_KEPT, 0, 0 }
#define EXP { ZONE_EXP_OPEN, WP_KEPT, 0, 0 }
#define CLOSED { ZONE_CLOSED, WP_KEPT, 0, 0 }
#define FULL { ZONE_FULL, WP_END, 0, 0 }
#define IMP_NEXT { ZONE_IMP_OPEN, WP_NEXT, 0, 0 }
#define EXP_NEXT { ZONE_EXP_OPEN, WP_NEXT, 0, 0 }
#define REFUSED { ZONE_FULL, WP_END, ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB }

/* clang-format off */
static const struct outcome outcomes[ZS_STATES][EVENTS] = {
	/* OPEN    CLOSE   FINISH  RESET   with ALL=1: same order       WRITE     rest  none */
	[ZS_EMPTY] =
	{ EXP,     EMPTY,  FULL,   EMPTY,  EMPTY, EMPTY,  EMPTY, EMPTY,  IMP_NEXT, FULL, IMP },
	[ZS_IMP_OPEN] =
	{ EXP,     CLOSED, FULL,   EMPTY,  IMP,   CLOSED, FULL,  EMPTY,  IMP_NEXT, FULL, IMP },
	[ZS_IMP_UNWRITTEN] =
	{ EXP,     EMPTY,  FULL,   EMPTY,  IMP,   EMPTY,  FULL,  EMPTY,  IMP_NEXT, FULL, IMP },
	[ZS_EXP_OPEN] =
	{ EXP,     CLOSED, FULL,   EMPTY,  EXP,   CLOSED, FULL,  EMPTY,  EXP_NEXT, FULL, EXP },
	[ZS_EXP_UNWRITTEN] =
	{ EXP,     EMPTY,  FULL,   EMPTY,  EXP,   EMPTY,  FULL,  EMPTY,  EXP_NEXT, FULL, EXP },
	[ZS_CLOSED] =
	{ EXP,     CLOSED, FULL,   EMPTY,  EXP,   CLOSED, FULL,  EMPTY,  IMP_NEXT, FULL, IMP },
	[ZS_FULL] =
	{ FULL,    FULL,   FULL,   EMPTY,  FULL,  FULL,   FULL,  EMPTY,  REFUSED,
	  REFUSED, REFUSED },
	[ZS_FINISHED] =
	{ FULL,    FULL,   FULL,   EMPTY,  FULL,  FULL,   FULL,  EMPTY,  REFUSED,
	  REFUSED, REFUSED },
	[ZS_IMP_LAST] =
	{ EXP,     CLOSED, FULL,   EMPTY,  IMP,   CLOSED, FULL,  EMPTY,  FULL,     FULL, IMP },
	[ZS_CLOSED_LAST] =
	{ EXP,     CLOSED, FULL,   EMPTY,  EXP,   CLOSED, FULL,  EMPTY,  FULL,     FULL, IMP },
};
/* clang-format on */

static const uint8_t actions[] = {
	SA_OPEN_ZONE, SA_CLOSE_ZONE, SA_FINISH_ZONE, SA_RESET_WRITE_POINTER,
};

static uint8_t do_event(struct dev *dev, enum event event, uint32_t slot, uint64_t wp)
{
	uint64_t start = geo_start(dev->geo, slot), end = start + geo_len(dev->geo, slot);
	uint32_t pblk = geo_pblk(dev->geo);

	if (event <= EV_RESET)
		return zone_action(dev, actions[event], start);
	if (event <= EV_RESET_ALL)
		return zone_action_all(dev, actions[event - EV_OPEN_ALL]);
	if (wp == end)	/* FULL: there is no write pointer to aim at */
		wp = end - pblk;
	if (event == EV_WRITE)
		return write_blocks(dev, wp, pblk, ZS_GENERATION);
	if (event == EV_WRITE_REST)
		return write_blocks(dev, wp, end - wp, ZS_GENERATION);
	return write_blocks(dev, wp, 0, 0);
}

static uint64_t wp_after(const struct dev *dev, enum wp rule, uint32_t slot, uint64_t wp)
{
	switch (rule) {
	case WP_START:
		return geo_start(dev->geo, slot);
	case WP_KEPT:
		return wp;
	case WP_NEXT:
		return wp + geo_pblk(dev->geo);
	default:
		return geo_start(dev->geo, slot) + geo_len(dev->geo, slot);
	}
}

static void check_transition(struct dev *dev, uint32_t slot, enum zone_state state,
			     enum event event)
{
	const struct outcome *to = &outcomes[state][event];
	uint64_t wp = make_zone(dev, slot, state);
	uint8_t status = do_event(dev, event, slot, wp);

	if (status != (to->key ? SAM_STAT_CHECK_CONDITION : SAM_STAT_GOOD) ||
	    dev->sense.key != to->key || dev->sense.asc != to->asc)
		fail_dev(dev, __FILE__, __LINE__, "slot %u, %s, event %d", slot,
			 zone_state_names[state], event);
	expect_zone(dev, geo_start(dev->geo, slot), to->cond, wp_after(dev, to->wp, slot, wp));
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, geo_start(dev->geo, slot)));
}

/* The first slot with a SWR zone, and the last one, which is smaller in some geometries. */
static uint32_t first_seq(const struct dev *dev)
{
	return dev->geo->conv;
}

static uint32_t last_seq(const struct dev *dev)
{
	return geo_slots(dev->geo) - dev->geo->conv_end - 1;
}

static void every_transition(struct dev *dev)
{
	const uint32_t slots[] = { first_seq(dev), last_seq(dev) };
	struct zone_desc before = zone_at(dev, geo_start(dev->geo, first_seq(dev) + 1));

	for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
		for (int state = 0; state < ZS_STATES; state++)
			for (int event = 0; event < EVENTS; event++)
				check_transition(dev, slots[i], state, event);
	expect_zone(dev, before.start, before.cond, before.wp);
}

/* One zone in each state, and then a command with ALL=1. */
static void check_all(struct dev *dev, enum event event, struct cdb cdb)
{
	uint64_t wp[ZS_STATES];
	uint32_t first = first_seq(dev);

	for (int state = 0; state < ZS_STATES; state++)
		wp[state] = make_zone(dev, first + (uint32_t)state, state);
	expect_good(dev, run_none(dev, cdb));
	for (int state = 0; state < ZS_STATES; state++) {
		const struct outcome *to = &outcomes[state][event];
		uint32_t slot = first + (uint32_t)state;

		expect_zone(dev, geo_start(dev->geo, slot), to->cond,
			    wp_after(dev, to->wp, slot, wp[state]));
	}
	for (uint32_t slot = 0; slot < geo_slots(dev->geo); slot++)
		if (geo_is_conv(dev->geo, slot))
			expect_zone(dev, geo_start(dev->geo, slot), ZONE_NOT_WP,
				    NO_WRITE_POINTER);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
}

/* ALL=1: neither ZONE ID nor ZONE COUNT is looked at. */
static void all_zones(struct dev *dev)
{
	for (int i = 0; i < 4; i++) {
		const uint64_t ids[] = { 0, 1, dev->capacity, dev->capacity + 1, UINT64_MAX };

		for (size_t k = 0; k < ARRAY_SIZE(ids); k++) {
			struct cdb cdb = cdb_with(cdb_zone(actions[i], ids[k]), 14, 1);

			check_all(dev, EV_OPEN_ALL + i, cdb);
			check_all(dev, EV_OPEN_ALL + i, cdb_with(cdb, 13, 3));
		}
	}
}

/* A write that FINISH or RESET cut off must not shine through, nor what was there before. */
static void reset_forgets_data(struct dev *dev)
{
	uint32_t slot = last_seq(dev);
	uint64_t start = geo_start(dev->geo, slot), len = geo_len(dev->geo, slot);
	uint32_t pblk = geo_pblk(dev->geo);

	make_zone(dev, slot, ZS_FULL);
	expect_data(dev, start, len, ZS_GENERATION);
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, start));
	expect_data(dev, start, len, 0);
	expect_good(dev, write_blocks(dev, start, pblk, 5));
	expect_data(dev, start, pblk, 5);
	expect_data(dev, start + pblk, len - pblk, 0);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, start));
	expect_data(dev, start, pblk, 5);
	expect_data(dev, start + pblk, len - pblk, 0);
}

static void wrong_zone_ids(struct dev *dev)
{
	const struct geo *g = dev->geo;

	make_zone(dev, first_seq(dev), ZS_IMP_OPEN);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const uint64_t beyond[] = { dev->capacity, dev->capacity + 1, UINT64_MAX };

		for (size_t k = 0; k < ARRAY_SIZE(beyond); k++)
			expect_refused(dev, zone_action(dev, actions[i], beyond[k]),
				       ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
		for (uint32_t slot = 0; slot < geo_slots(g); slot++) {
			uint64_t start = geo_start(g, slot), len = geo_len(g, slot);

			expect_refused(dev, zone_action(dev, actions[i], start + 1),
				       ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
			expect_invalid_cdb(dev, zone_action(dev, actions[i], start + len - 1), 2,
					   -1);
			if (geo_is_conv(g, slot))
				expect_refused(dev, zone_action(dev, actions[i], start),
					       ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
			if (!geo_gap(g, slot))
				continue;
			expect_refused(dev, zone_action(dev, actions[i], start + len),
				       ILLEGAL_REQUEST, ASC_GAP_ZONE);
			expect_refused(dev, zone_action(dev, actions[i], start + len + 1),
				       ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
		}
	}
}

/* ZONE COUNT 0 and 1 are one zone. */
static void zone_count_of_one(struct dev *dev)
{
	uint32_t slot = first_seq(dev);

	for (uint16_t count = 0; count < 2; count++) {
		for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
			struct cdb cdb = cdb_zone_count(actions[i], geo_start(dev->geo, slot),
							count);

			make_zone(dev, slot, ZS_IMP_OPEN);
			make_zone(dev, slot + 1, ZS_IMP_OPEN);
			expect_good(dev, run_none(dev, cdb));
			expect_eq(dev, zone_at(dev, geo_start(dev->geo, slot)).cond,
				  outcomes[ZS_IMP_OPEN][i].cond);
			expect_state(dev, slot + 1, ZS_IMP_OPEN);
			expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
		}
	}
}

/* Several zones, in every state. */
static void zone_count_of_many(struct dev *dev)
{
	uint32_t first = first_seq(dev);
	uint64_t wp[ZS_STATES];

	if (geo_has_gaps(dev->geo))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		struct cdb cdb = cdb_zone_count(actions[i], geo_start(dev->geo, first),
						ZS_STATES - 2);

		for (int state = 0; state < ZS_STATES; state++)
			wp[state] = make_zone(dev, first + (uint32_t)state, state);
		expect_good(dev, run_none(dev, cdb));
		for (int state = 0; state < ZS_STATES - 2; state++) {
			const struct outcome *to = &outcomes[state][i];
			uint32_t slot = first + (uint32_t)state;

			expect_zone(dev, geo_start(dev->geo, slot), to->cond,
				    wp_after(dev, to->wp, slot, wp[state]));
		}
		expect_state(dev, first + ZS_STATES - 2, ZS_STATES - 2);
		expect_state(dev, first + ZS_STATES - 1, ZS_STATES - 1);
		expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	}
}

/* A range that holds a zone which cannot take part, or leaves the medium, changes nothing. */
static void zone_count_too_far(struct dev *dev)
{
	const struct geo *g = dev->geo;
	uint32_t last = last_seq(dev);
	uint16_t asc = geo_has_gaps(g) ? ASC_GAP_ZONE : ASC_INVALID_FIELD_IN_CDB;

	make_zone(dev, last - 1, ZS_IMP_OPEN);
	make_zone(dev, last, ZS_EXP_OPEN);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		expect_refused(dev, run_none(dev, cdb_zone_count(actions[i],
								 geo_start(g, last - 1), 3)),
			       ILLEGAL_REQUEST, asc);
		expect_refused(dev, run_none(dev, cdb_zone_count(actions[i],
								 geo_start(g, last - 1), 0xffff)),
			       ILLEGAL_REQUEST, asc);
		/* From the last conventional zone into the first sequential one. */
		expect_refused(dev, run_none(dev, cdb_zone_count(actions[i],
								 geo_start(g, g->conv - 1), 2)),
			       ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	}
}

static void unknown_service_actions(struct dev *dev)
{
	uint64_t start = geo_start(dev->geo, first_seq(dev));

	for (uint8_t action = 0; action < 0x20; action++) {
		if (action >= SA_CLOSE_ZONE && action <= SA_RESET_WRITE_POINTER)
			continue;
		expect_invalid_cdb(dev, zone_action(dev, action, start), 1, 4);
	}
}

/* Fills a zone block by block: the conditions on the way, and the data at the end. */
static void fill_block_by_block(struct dev *dev)
{
	uint32_t slot = last_seq(dev), pblk = geo_pblk(dev->geo);
	uint64_t start = geo_start(dev->geo, slot), len = geo_len(dev->geo, slot);

	for (uint64_t done = 0; done < len; done += pblk) {
		expect_zone(dev, start, done ? ZONE_IMP_OPEN : ZONE_EMPTY, start + done);
		expect_good(dev, write_blocks(dev, start + done, pblk, 9));
	}
	expect_zone(dev, start, ZONE_FULL, start + len);
	expect_data(dev, start, len, 9);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "every transition", every_transition, NULL },
		{ "every transition, URSWRZ=0", every_transition, "urswrz=0" },
		{ "ALL=1", all_zones, "max_open=0" },
		{ "RESET WRITE POINTER forgets data", reset_forgets_data, NULL },
		{ "wrong ZONE ID", wrong_zone_ids, NULL },
		{ "ZONE COUNT 0 and 1", zone_count_of_one, NULL },
		{ "ZONE COUNT of many", zone_count_of_many, NULL },
		{ "ZONE COUNT too far", zone_count_too_far, NULL },
		{ "unknown service actions", unknown_service_actions, NULL },
		{ "fill block by block", fill_block_by_block, NULL },
	};

	return run_matrix("zone", matrix, ARRAY_SIZE(matrix));
}

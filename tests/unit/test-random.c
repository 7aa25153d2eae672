// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Random commands against the reference: status, sense, zones and data must be the same. Run with
 * MEMZBC_TEST_SEED=N for other commands than those of seed 1.
 */
#include "reference.h"

#define COMMANDS 1200		/* for each geometry and setting */
#define CHECK_ALL 100		/* commands between two comparisons of everything */

struct run {
	struct dev *dev;
	struct ref *ref;
	uint32_t generation;
};

static uint64_t random_slot(const struct run *r)
{
	return random_below(geo_slots(r->ref->geo));
}

/* LBAs where something can go wrong: write pointers, zone ends, ends of the unit. */
static uint64_t random_lba(const struct run *r)
{
	const struct geo *g = r->ref->geo;
	uint32_t slot = (uint32_t)random_slot(r);
	uint64_t start = geo_start(g, slot);

	switch (random_below(16)) {
	case 0:
		return start;
	case 1:
		return start + geo_len(g, slot) - 1 - random_below(3);
	case 2:
		return start + geo_len(g, slot);	/* a gap, the next zone, or the capacity */
	case 3:
		return r->ref->zones[slot].wp + random_below(5) - 2;
	case 4:
		return random_below(g->capacity + 3);
	case 5:
		return random_below(8) ? start : UINT64_MAX - random_below(20);
	default:
		return r->ref->zones[slot].wp;
	}
}

static uint64_t random_blocks(const struct run *r, uint64_t lba)
{
	uint32_t pblk = geo_pblk(r->ref->geo);

	switch (random_below(12)) {
	case 0:
		return lba < r->ref->geo->capacity ? random_below(3) : 1;
	case 1:
		return random_below(2 * r->ref->geo->zone_size);
	case 2:	/* to the end of the zone */
		if (lba < r->ref->geo->capacity)
			return ref_place(r->ref, lba).end - lba;
		return 1;
	case 3:
		return random_below(3 * pblk);
	default:
		return (1 + random_below(4)) * pblk;
	}
}

/* LBA = capacity with length 0 may be GOOD or not. */
static bool is_free_choice(const struct run *r, uint64_t lba, uint64_t blocks)
{
	return lba == r->ref->geo->capacity && blocks == 0;
}

static bool is_write(uint8_t opcode)
{
	return opcode == WRITE_6 || opcode == WRITE_10 || opcode == WRITE_12 ||
	       opcode == WRITE_16 || opcode == WRITE_SAME_10 || opcode == WRITE_SAME_16;
}

static bool is_read(uint8_t opcode)
{
	return opcode == READ_6 || opcode == READ_10 || opcode == READ_12 || opcode == READ_16 ||
	       opcode == VERIFY_10 || opcode == VERIFY_12 || opcode == VERIFY_16;
}

static void expect_verdict(struct run *r, uint8_t status, struct verdict v)
{
	struct dev *dev = r->dev;
	const struct sense *s = &dev->sense;
	uint8_t opcode = dev->cdb.b[0];

	if (status != (v.key ? SAM_STAT_CHECK_CONDITION : SAM_STAT_GOOD) || s->key != v.key ||
	    s->asc != v.asc)
		fail_dev(dev, __FILE__, __LINE__, "expected sense %x/%02x/%02x", v.key,
			 v.asc >> 8, v.asc & 0xff);
	if (v.unaligned)
		expect_info_(dev, v.info, "write", __FILE__, __LINE__);
	/* C31: who may be told what */
	if (s->asc == ASC_UNALIGNED_WRITE || s->asc == ASC_WRITE_BOUNDARY)
		expect_true(dev, is_write(opcode));
	if (s->asc == ASC_READ_INVALID_DATA || s->asc == ASC_READ_BOUNDARY)
		expect_true(dev, is_read(opcode));
}

/* An opcode of the kind whose fields hold the LBA and the length. */
static uint8_t pick_opcode(const uint8_t opcodes[4], uint64_t lba, uint64_t blocks)
{
	unsigned int i = (unsigned int)random_below(4);

	if (lba > UINT32_MAX)
		return opcodes[3];
	if (i == 0 && (lba > 0x1fffff || blocks == 0 || blocks > 255))
		return opcodes[1];
	return opcodes[i];
}

static const uint8_t reads[4] = { READ_6, READ_10, READ_12, READ_16 };
static const uint8_t writes[4] = { WRITE_6, WRITE_10, WRITE_12, WRITE_16 };
static const uint8_t verifies[4] = { VERIFY_10, VERIFY_10, VERIFY_12, VERIFY_16 };

static void compare_data(struct run *r, uint64_t lba, uint64_t blocks)
{
	size_t len = blocks * r->dev->lba_size;
	uint8_t *want = malloc(len + 1);
	bool same;

	ref_data(r->ref, r->dev, want, lba, blocks);
	same = !memcmp(want, r->dev->in, len);
	free(want);
	if (!same)
		fail_dev(r->dev, __FILE__, __LINE__, "other data");
}

static void do_read(struct run *r)
{
	uint64_t lba = random_lba(r), blocks = random_blocks(r, lba);
	struct cdb cdb = cdb_lba(pick_opcode(reads, lba, blocks), lba, blocks);
	struct verdict verdict;

	if (is_free_choice(r, lba, blocks))
		return;
	verdict = ref_read(r->ref, lba, blocks);
	expect_verdict(r, run_in(r->dev, cdb, blocks * r->dev->lba_size), verdict);
	if (!verdict.key)
		compare_data(r, lba, blocks);
}

static void do_verify(struct run *r)
{
	uint64_t lba = random_lba(r), blocks = 1 + random_below(8);
	struct cdb cdb = cdb_lba(pick_opcode(verifies, lba, blocks), lba, blocks);
	struct verdict verdict = ref_read(r->ref, lba, blocks);
	uint8_t data[8 * 4096] = { 0 };

	cdb.b[1] = 1 << 1;	/* BYTCHK 01b */
	if (!verdict.key) {
		ref_data(r->ref, r->dev, data, lba, blocks);
		if (random_below(4) == 0) {
			data[random_below(blocks * r->dev->lba_size)] ^= 0x10;
			verdict = (struct verdict){ MISCOMPARE, 0x1d00, false, 0 };
		}
	}
	expect_verdict(r, run_out(r->dev, cdb, data, blocks * r->dev->lba_size), verdict);
}

static void do_write(struct run *r)
{
	uint64_t lba = random_lba(r), blocks = random_blocks(r, lba);
	uint32_t generation = ++r->generation;

	if (is_free_choice(r, lba, blocks))
		return;
	expect_verdict(r, write_with(r->dev, pick_opcode(writes, lba, blocks), lba, blocks,
				     generation),
		       ref_write(r->ref, lba, blocks, generation, false));
}

static void do_write_same(struct run *r)
{
	uint64_t lba = random_lba(r), blocks = random_blocks(r, lba);
	uint32_t generation = random_below(3) ? ++r->generation : 0;
	uint8_t opcode = lba > UINT32_MAX || random_below(2) ? WRITE_SAME_16 : WRITE_SAME_10;
	struct cdb cdb = cdb_lba(opcode, lba, blocks);
	bool ndob = opcode == WRITE_SAME_16 && !generation && random_below(2);
	uint8_t block[4096];
	uint8_t status;

	if (blocks == 0)
		return;
	pattern(r->dev, block, 0, 1, generation);
	if (ndob)
		status = run_none(r->dev, cdb_with(cdb, 1, 1));
	else
		status = run_out(r->dev, cdb, block, r->dev->lba_size);
	expect_verdict(r, status, ref_write(r->ref, lba, blocks, generation, true));
}

static uint8_t random_action(void)
{
	/* CLOSE, FINISH, OPEN, RESET; too many FINISH and RESET would leave little to see */
	static const uint8_t actions[] = { 1, 1, 2, 3, 3, 3, 4 };

	return actions[random_below(sizeof(actions))];
}

static void do_zone_action(struct run *r)
{
	uint64_t id = random_below(4) ? geo_start(r->ref->geo, (uint32_t)random_slot(r)) :
					random_lba(r);
	uint16_t count = random_below(5) ? 0 : (uint16_t)random_below(5);
	uint8_t action = random_action();

	expect_verdict(r, run_none(r->dev, cdb_zone_count(action, id, count)),
		       ref_zone_action(r->ref, action, id, count));
}

static void do_zone_action_all(struct run *r)
{
	uint8_t action = random_action();

	if (random_below(4))
		action = SA_CLOSE_ZONE;
	expect_verdict(r, zone_action_all(r->dev, action), ref_zone_action_all(r->ref, action));
}

static bool selects(uint8_t option, const struct zone_desc *z)
{
	if (option == 0x3e)
		return z->type != ZONE_TYPE_GAP;
	if (option == 0x3f)
		return z->cond == ZONE_NOT_WP;
	if (option == 5)
		return z->cond == ZONE_FULL;
	return option == 0 || (option < 5 && z->cond == option);
}

/* Compares the list with the reference from @lba on. */
static void compare_report(struct run *r, uint64_t lba, uint8_t option)
{
	struct dev *dev = r->dev;
	uint32_t n = 0;

	expect_verdict(r, report_zones(dev, lba, option, 64 * 64), (struct verdict){ 0 });
	while (lba < dev->capacity) {
		struct place at = ref_place(r->ref, lba);
		struct zone_desc want = ref_desc(r->ref, &at), *have;

		lba = at.end;
		if (!selects(option, &want))
			continue;
		expect_true(dev, n < dev->report.count);
		have = &dev->report.zones[n++];
		if (have->type != want.type || have->cond != want.cond || have->flags ||
		    have->len != want.len || have->start != want.start || have->wp != want.wp)
			fail_dev(dev, __FILE__, __LINE__,
				 "zone %llx: condition %x, write pointer %llx; not %x, %llx",
				 (unsigned long long)want.start, want.cond,
				 (unsigned long long)want.wp, have->cond,
				 (unsigned long long)have->wp);
	}
	expect_eq(dev, dev->report.count, n);
	expect_eq(dev, dev->report.list_len, n * 64);
}

static void do_report(struct run *r)
{
	static const uint8_t options[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x11, 0x3e, 0x3f, 0x09, 0x20,
	};
	uint8_t option = options[random_below(sizeof(options))];
	uint64_t lba = random_lba(r);

	if (option == 0x09 || option == 0x20)
		expect_verdict(r, report_zones(r->dev, 0, option, 64),
			       (struct verdict){ 0x5, 0x2400, false, 0 });
	else if (lba >= r->dev->capacity)
		expect_verdict(r, report_zones(r->dev, lba, option, 64),
			       (struct verdict){ 0x5, 0x2100, false, 0 });
	else
		compare_report(r, lba, option);
}

static void compare_everything(struct run *r)
{
	uint64_t lba = 0;

	compare_report(r, 0, 0);
	while (lba < r->dev->capacity) {
		struct place at = ref_place(r->ref, lba);
		uint64_t blocks = at.end - at.start;

		if (!r->ref->urswrz && at.type == ZONE_TYPE_SWR)
			blocks = r->ref->zones[at.slot].wp - at.start;
		if (blocks && (r->ref->urswrz || at.type != ZONE_TYPE_GAP)) {
			expect_good(r->dev, read_blocks(r->dev, at.start, blocks));
			compare_data(r, at.start, blocks);
		}
		lba = at.end;
	}
}

static void do_other(struct run *r)
{
	uint64_t lba = random_lba(r), blocks = random_below(9);

	switch (random_below(4)) {
	case 0:
		set_d_sense(r->dev, random_below(2));
		break;
	case 1:
		dev_reopen(r->dev);
		break;
	case 2:
		expect_good(r->dev, run_none(r->dev, (struct cdb){ .b = { TEST_UNIT_READY } }));
		break;
	default:
		if (is_free_choice(r, lba, blocks))
			break;
		run_none(r->dev, cdb_lba(SYNCHRONIZE_CACHE_16, lba, blocks));
		expect_eq(r->dev, r->dev->status == SAM_STAT_GOOD,
			  lba < r->dev->capacity && lba + blocks <= r->dev->capacity);
	}
}

static void random_command(struct run *r)
{
	uint64_t dice = random_below(100);

	if (dice < 45)
		do_write(r);
	else if (dice < 52)
		do_write_same(r);
	else if (dice < 70)
		do_read(r);
	else if (dice < 75)
		do_verify(r);
	else if (dice < 90)
		do_zone_action(r);
	else if (dice < 92)
		do_zone_action_all(r);
	else if (dice < 97)
		do_report(r);
	else
		do_other(r);
}

static void random_commands(struct dev *dev, bool urswrz, uint32_t max_open)
{
	struct run r = { .dev = dev, .ref = ref_new(dev->geo, urswrz, max_open) };

	for (int i = 1; i <= COMMANDS; i++) {
		random_command(&r);
		if (i % CHECK_ALL == 0)
			compare_everything(&r);
	}
	ref_free(r.ref);
}

static void unrestricted(struct dev *dev)
{
	random_commands(dev, true, 3);
}

static void one_zone(struct dev *dev)
{
	random_commands(dev, true, 1);
}

static void restricted(struct dev *dev)
{
	random_commands(dev, false, 5);
}

static void no_limit(struct dev *dev)
{
	random_commands(dev, false, UINT32_MAX);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "URSWRZ=1, 3 open zones", unrestricted, "urswrz=1/max_open=3" },
		{ "URSWRZ=1, 1 open zone", one_zone, "urswrz=1/max_open=1" },
		{ "URSWRZ=0, 5 open zones", restricted, "urswrz=0/max_open=5" },
		{ "URSWRZ=0, no limit", no_limit, "urswrz=0/max_open=0" },
	};

	return run_matrix("random", matrix, ARRAY_SIZE(matrix));
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "reference.h"

static const struct verdict good;

static struct verdict illegal(uint16_t asc)
{
	return (struct verdict){ .key = ILLEGAL_REQUEST, .asc = asc };
}

static struct verdict no_resources(void)
{
	return (struct verdict){ .key = DATA_PROTECT, .asc = ASC_INSUFFICIENT_ZONE_RESOURCES };
}

struct place ref_place(const struct ref *ref, uint64_t lba)
{
	const struct geo *g = ref->geo;
	uint32_t slot = (uint32_t)(lba / g->zone_size);
	uint64_t start = geo_start(g, slot), end = start + geo_len(g, slot);

	if (lba >= end)
		return (struct place){ slot, ZONE_TYPE_GAP, end, end + geo_gap(g, slot) };
	return (struct place){ slot, geo_is_conv(g, slot) ? ZONE_TYPE_CONVENTIONAL : ZONE_TYPE_SWR,
			       start, end };
}

struct ref *ref_new(const struct geo *geo, bool urswrz, uint32_t max_open)
{
	struct ref *ref = calloc(1, sizeof(*ref));

	ref->geo = geo;
	ref->urswrz = urswrz;
	ref->max_open = max_open;
	ref->zones = calloc(geo_slots(geo), sizeof(*ref->zones));
	ref->blocks = calloc(geo->capacity, sizeof(*ref->blocks));
	for (uint32_t slot = 0; slot < geo_slots(geo); slot++)
		ref->zones[slot] = (struct ref_zone){
			.cond = geo_is_conv(geo, slot) ? ZONE_NOT_WP : ZONE_EMPTY,
			.wp = geo_start(geo, slot),
		};
	return ref;
}

void ref_free(struct ref *ref)
{
	free(ref->zones);
	free(ref->blocks);
	free(ref);
}

struct zone_desc ref_desc(const struct ref *ref, const struct place *at)
{
	const struct ref_zone *z = &ref->zones[at->slot];
	struct zone_desc desc = {
		.type = at->type, .cond = ZONE_NOT_WP,
		.len = at->end - at->start, .start = at->start, .wp = NO_WRITE_POINTER,
	};

	if (at->type == ZONE_TYPE_SWR) {
		desc.cond = z->cond;
		desc.wp = z->wp;
	}
	return desc;
}

static bool in_range(const struct ref *ref, uint64_t lba, uint64_t blocks)
{
	uint64_t capacity = ref->geo->capacity;

	return lba < capacity && blocks <= capacity && lba + blocks <= capacity;
}

struct verdict ref_read(const struct ref *ref, uint64_t lba, uint64_t blocks)
{
	uint64_t last = blocks ? lba + blocks - 1 : lba;
	struct place first;

	if (!in_range(ref, lba, blocks))
		return illegal(ASC_LBA_OUT_OF_RANGE);
	first = ref_place(ref, lba);
	while (lba <= last) {
		struct place at = ref_place(ref, lba);

		if (at.type == ZONE_TYPE_GAP && !ref->urswrz)
			return illegal(ASC_GAP_ZONE);
		if (at.type != first.type)
			return illegal(ASC_READ_BOUNDARY);
		if (at.type == ZONE_TYPE_SWR && !ref->urswrz) {
			if (last >= at.end)
				return illegal(ASC_READ_BOUNDARY);
			if (last >= ref->zones[at.slot].wp)
				return illegal(ASC_READ_INVALID_DATA);
		}
		lba = at.end;
	}
	return good;
}

void ref_data(const struct ref *ref, const struct dev *dev, uint8_t *buf, uint64_t lba,
	      uint64_t blocks)
{
	for (uint64_t i = 0; i < blocks; i++) {
		const struct ref_block *b = &ref->blocks[lba + i];

		pattern(dev, buf + i * dev->lba_size, b->lba, 1, b->generation);
	}
}

static uint32_t count_open(const struct ref *ref, uint8_t cond)
{
	uint32_t n = 0;

	for (uint32_t slot = 0; slot < geo_slots(ref->geo); slot++)
		n += ref->zones[slot].cond == cond;
	return n;
}

static bool can_open(const struct ref *ref, uint32_t count)
{
	return count_open(ref, ZONE_EXP_OPEN) + (uint64_t)count <= ref->max_open;
}

static void close_zone(const struct ref *ref, uint32_t slot)
{
	struct ref_zone *z = &ref->zones[slot];

	z->cond = z->wp > geo_start(ref->geo, slot) ? ZONE_CLOSED : ZONE_EMPTY;
}

/* Close the least recently written implicitly opened zones that are too many. */
static void settle(struct ref *ref)
{
	while ((uint64_t)count_open(ref, ZONE_EXP_OPEN) + count_open(ref, ZONE_IMP_OPEN) >
	       ref->max_open) {
		uint32_t victim = UINT32_MAX;

		for (uint32_t slot = 0; slot < geo_slots(ref->geo); slot++)
			if (ref->zones[slot].cond == ZONE_IMP_OPEN &&
			    (victim == UINT32_MAX ||
			     ref->zones[slot].written_at < ref->zones[victim].written_at))
				victim = slot;
		close_zone(ref, victim);
	}
}

static struct verdict judge_write(const struct ref *ref, uint64_t lba, uint64_t blocks)
{
	struct place at = ref_place(ref, lba);
	uint32_t pblk = geo_pblk(ref->geo);
	uint64_t end = lba + blocks;
	struct ref_zone *z = &ref->zones[at.slot];

	if (at.type == ZONE_TYPE_GAP)
		return illegal(ASC_GAP_ZONE);
	if (at.type == ZONE_TYPE_CONVENTIONAL) {
		for (uint64_t i = lba; i < end; i++)
			if (ref_place(ref, i).type != ZONE_TYPE_CONVENTIONAL)
				return illegal(ASC_WRITE_BOUNDARY);
		return good;
	}
	if (end > at.end)
		return illegal(ASC_WRITE_BOUNDARY);
	if (z->cond == ZONE_FULL)
		return illegal(ASC_INVALID_FIELD_IN_CDB);
	if (lba != z->wp || end % pblk)
		return (struct verdict){ ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE, true, z->wp };
	if ((z->cond == ZONE_EMPTY || z->cond == ZONE_CLOSED) && !can_open(ref, 1))
		return no_resources();
	return good;
}

struct verdict ref_write(struct ref *ref, uint64_t lba, uint64_t blocks, uint32_t generation,
			 bool same)
{
	struct verdict verdict;
	struct ref_zone *z;
	struct place at;

	if (!in_range(ref, lba, blocks))
		return illegal(ASC_LBA_OUT_OF_RANGE);
	verdict = judge_write(ref, lba, blocks);
	if (verdict.key)
		return verdict;
	for (uint64_t i = 0; i < blocks; i++)
		ref->blocks[lba + i] = (struct ref_block){ same ? 0 : lba + i, generation };
	at = ref_place(ref, lba);
	z = &ref->zones[at.slot];
	if (at.type != ZONE_TYPE_SWR)
		return good;
	z->wp += blocks;
	z->written_at = ++ref->now;
	if (z->wp == at.end)
		z->cond = ZONE_FULL;
	else if (z->cond != ZONE_EXP_OPEN)
		z->cond = ZONE_IMP_OPEN;
	settle(ref);
	return good;
}

static void reset_zone(struct ref *ref, uint32_t slot)
{
	uint64_t start = geo_start(ref->geo, slot);

	ref->zones[slot].cond = ZONE_EMPTY;
	ref->zones[slot].wp = start;
	for (uint64_t i = 0; i < geo_len(ref->geo, slot); i++)
		ref->blocks[start + i] = (struct ref_block){ 0, 0 };
}

static void act(struct ref *ref, uint8_t action, uint32_t slot)
{
	struct ref_zone *z = &ref->zones[slot];
	bool open = z->cond == ZONE_IMP_OPEN || z->cond == ZONE_EXP_OPEN;

	switch (action) {
	case SA_OPEN_ZONE:
		if (z->cond != ZONE_FULL)
			z->cond = ZONE_EXP_OPEN;
		break;
	case SA_CLOSE_ZONE:
		if (open)
			close_zone(ref, slot);
		break;
	case SA_FINISH_ZONE:
		z->cond = ZONE_FULL;
		z->wp = geo_start(ref->geo, slot) + geo_len(ref->geo, slot);
		break;
	default:
		reset_zone(ref, slot);
	}
}

/* Whether one more zone for OPEN or FINISH needs resources. */
static bool needs_slot(uint8_t action, uint8_t cond)
{
	if (action == SA_OPEN_ZONE)
		return cond == ZONE_EMPTY || cond == ZONE_CLOSED || cond == ZONE_IMP_OPEN;
	return action == SA_FINISH_ZONE && (cond == ZONE_EMPTY || cond == ZONE_CLOSED);
}

struct verdict ref_zone_action(struct ref *ref, uint8_t action, uint64_t id, uint16_t count)
{
	uint64_t lba = id;
	uint32_t needed = 0;
	struct place at;

	if (!in_range(ref, id, 1))
		return illegal(ASC_LBA_OUT_OF_RANGE);
	if (ref_place(ref, id).start != id)
		return illegal(ASC_INVALID_FIELD_IN_CDB);
	if (count == 0)
		count = 1;
	for (uint16_t i = 0; i < count; i++, lba = at.end) {
		if (lba >= ref->geo->capacity)
			return illegal(ASC_INVALID_FIELD_IN_CDB);
		at = ref_place(ref, lba);
		if (at.type == ZONE_TYPE_GAP)
			return illegal(ASC_GAP_ZONE);
		if (at.type == ZONE_TYPE_CONVENTIONAL)
			return illegal(ASC_INVALID_FIELD_IN_CDB);
		needed += needs_slot(action, ref->zones[at.slot].cond);
	}
	if (action == SA_FINISH_ZONE && needed > 1)
		needed = 1;	/* one after another */
	if (needed && !can_open(ref, needed))
		return no_resources();
	for (uint32_t slot = ref_place(ref, id).slot; count > 0; slot++, count--)
		act(ref, action, slot);
	settle(ref);
	return good;
}

struct verdict ref_zone_action_all(struct ref *ref, uint8_t action)
{
	if (action == SA_OPEN_ZONE && !can_open(ref, count_open(ref, ZONE_CLOSED)))
		return no_resources();
	for (uint32_t slot = 0; slot < geo_slots(ref->geo); slot++) {
		uint8_t cond = ref->zones[slot].cond;
		bool skip = cond == ZONE_NOT_WP;

		if (action == SA_OPEN_ZONE)
			skip |= cond != ZONE_CLOSED;
		if (action == SA_FINISH_ZONE)
			skip |= cond == ZONE_EMPTY;
		if (!skip)
			act(ref, action, slot);
	}
	settle(ref);
	return good;
}

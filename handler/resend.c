// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Both lists live in the table, where they outlive the process. Each change is ordered so that
 * dying in the middle of it leaves an entry in both lists, or out of use, but never one too few.
 */
#include <memzbc/scsi.h>

#include "model.h"

static bool same_write(const struct resend *r, const struct extent *x, uint16_t opcode)
{
	return !r->settled && r->lba == x->lba && r->blocks == x->blocks && r->opcode == opcode;
}

static struct resend *executed(struct table *t, uint32_t index)
{
	return &t->executed[index % MEMZBC_UNACKNOWLEDGED_MAX];
}

static uint32_t load(const _Atomic uint32_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(_Atomic uint32_t *value, uint32_t to)
{
	atomic_store_explicit(value, to, memory_order_release);
}

void resend_executed(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
		     uint16_t opcode)
{
	struct table *t = lun->store.table;
	uint32_t head = load(&t->executed_head);

	if (head - load(&t->executed_tail) == MEMZBC_UNACKNOWLEDGED_MAX)
		store(&t->executed_tail, load(&t->executed_tail) + 1);
	*executed(t, head) = (struct resend){
		.lba = x->lba, .blocks = (uint32_t)x->blocks, .opcode = opcode,
	};
	store(&t->executed_head, head + 1);
	cmd->receipt = head + 1;
}

void memzbc_lun_acknowledge(struct memzbc_lun *lun, uint32_t receipt)
{
	struct table *t = lun->store.table;
	uint32_t head = load(&t->executed_head), tail = load(&t->executed_tail);

	/* Not a write to an SWR zone, or one of so long ago that its entry is another's. */
	if (receipt == NO_RECEIPT || receipt - 1 - tail >= head - tail)
		return;
	executed(t, receipt - 1)->settled = 1;
	while (tail != head && executed(t, tail)->settled)
		tail++;
	store(&t->executed_tail, tail);
}

void memzbc_lun_acknowledged(struct memzbc_lun *lun)
{
	struct table *t = lun->store.table;

	store(&t->executed_tail, load(&t->executed_head));
}

/* Index of the entry, or the number of entries if there is none. */
static uint32_t find_expected(const struct table *t, const struct extent *x, uint16_t opcode)
{
	uint32_t n = load(&t->expected_count), i = 0;

	while (i < n && !same_write(&t->expected[i], x, opcode))
		i++;
	return i;
}

/* One store takes the entry out; its place is used again by put_expected(). */
static void remove_expected(struct table *t, uint32_t i)
{
	uint32_t n = load(&t->expected_count);

	t->expected[i].settled = 1;
	while (n > 0 && t->expected[n - 1].settled)
		n--;
	store(&t->expected_count, n);
}

/* The first place from @i on that is not in use. */
static uint32_t free_place(const struct table *t, uint32_t i)
{
	uint32_t n = load(&t->expected_count);

	while (i < n && !t->expected[i].settled)
		i++;
	return i;
}

static void put_expected(struct table *t, uint32_t i, const struct resend *r)
{
	t->expected[i] = (struct resend){
		.lba = r->lba, .blocks = r->blocks, .opcode = r->opcode, .settled = 1,
	};
	atomic_signal_fence(memory_order_release);
	t->expected[i].settled = 0;
	if (i == load(&t->expected_count))
		store(&t->expected_count, i + 1);
}

bool resend_expected(const struct memzbc_lun *lun, const struct extent *x, uint16_t opcode)
{
	const struct table *t = lun->store.table;

	return find_expected(t, x, opcode) < load(&t->expected_count);
}

void resend_taken(struct memzbc_lun *lun, const struct extent *x, uint16_t opcode)
{
	struct table *t = lun->store.table;

	remove_expected(t, find_expected(t, x, opcode));
}

static bool in_zone(const struct resend *r, const struct zone *z)
{
	return r->lba >= z->start && r->lba < zone_end(z);
}

void resend_forget(struct memzbc_lun *lun, const struct zone *z)
{
	struct table *t = lun->store.table;

	for (uint32_t i = load(&t->executed_tail); i != load(&t->executed_head); i++)
		if (in_zone(executed(t, i), z))
			executed(t, i)->settled = 1;
	for (uint32_t i = load(&t->expected_count); i > 0; i--)
		if (in_zone(&t->expected[i - 1], z))
			remove_expected(t, i - 1);
}

static bool is_sound(const struct memzbc_lun *lun, const struct resend *r)
{
	uint64_t capacity = lun->geo.capacity;

	return r->settled || (r->lba < capacity && r->blocks <= capacity - r->lba);
}

bool resends_are_sound(const struct memzbc_lun *lun)
{
	struct table *t = lun->store.table;
	uint32_t head = load(&t->executed_head), tail = load(&t->executed_tail);
	uint32_t expected = load(&t->expected_count);

	if (head - tail > MEMZBC_UNACKNOWLEDGED_MAX || expected > RESENDS_MAX)
		return false;
	for (; tail != head; tail++)
		if (!is_sound(lun, executed(t, tail)))
			return false;
	while (expected > 0 && is_sound(lun, &t->expected[expected - 1]))
		expected--;
	return expected == 0;
}

/* The write pointer moves last: a write that it does not cover was not executed. */
static bool was_executed(const struct memzbc_lun *lun, const struct resend *r)
{
	struct zone z = geometry_zone(&lun->geo, r->lba);

	return r->lba + r->blocks <= zone_written_end(lun, &z);
}

void resend_reopen(struct memzbc_lun *lun)
{
	struct table *t = lun->store.table;
	uint32_t place = 0;

	for (uint32_t i = load(&t->executed_tail); i != load(&t->executed_head); i++) {
		const struct resend *r = executed(t, i);
		struct extent x = { .lba = r->lba, .blocks = r->blocks };

		/* It is in both lists when the process died while it took a resend, or here. */
		if (r->settled || !was_executed(lun, r) || resend_expected(lun, &x, r->opcode))
			continue;
		place = free_place(t, place);
		if (place < RESENDS_MAX)
			put_expected(t, place, r);
	}
	memzbc_lun_acknowledged(lun);
}

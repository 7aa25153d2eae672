// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Both lists live in the table, where they outlive the process. Each change is ordered so that
 * dying in the middle of it leaves an entry too many, never one too few: an entry too many is a
 * write of exactly this LBA and length that would be taken once.
 */
#include <memzbc/scsi.h>

#include "model.h"

static bool same_write(const struct resend *r, const struct extent *x, uint32_t opcode)
{
	return r->lba == x->lba && r->blocks == x->blocks && r->opcode == opcode;
}

void resend_executed(struct memzbc_lun *lun, const struct extent *x, uint32_t opcode)
{
	struct table *t = lun->store.table;
	uint32_t n = atomic_load_explicit(&t->executed_count, memory_order_relaxed);

	t->executed[n % MEMZBC_UNACKNOWLEDGED_MAX] = (struct resend){
		.lba = x->lba, .blocks = (uint32_t)x->blocks, .opcode = opcode,
	};
	atomic_store_explicit(&t->executed_count, n + 1, memory_order_release);
}

void memzbc_lun_acknowledged(struct memzbc_lun *lun)
{
	atomic_store_explicit(&lun->store.table->executed_count, 0, memory_order_release);
}

/* Index of the entry, or the number of entries if there is none. */
static uint32_t find_expected(const struct table *t, const struct extent *x, uint32_t opcode)
{
	uint32_t n = atomic_load_explicit(&t->expected_count, memory_order_relaxed);
	uint32_t i = 0;

	while (i < n && !same_write(&t->expected[i], x, opcode))
		i++;
	return i;
}

static void remove_entry(struct resend *list, _Atomic uint32_t *count, uint32_t i)
{
	uint32_t last = atomic_load_explicit(count, memory_order_relaxed) - 1;

	list[i] = list[last];
	atomic_store_explicit(count, last, memory_order_release);
}

bool resend_expected(const struct memzbc_lun *lun, const struct extent *x, uint32_t opcode)
{
	const struct table *t = lun->store.table;

	return find_expected(t, x, opcode) <
	       atomic_load_explicit(&t->expected_count, memory_order_relaxed);
}

void resend_taken(struct memzbc_lun *lun, const struct extent *x, uint32_t opcode)
{
	struct table *t = lun->store.table;

	remove_entry(t->expected, &t->expected_count, find_expected(t, x, opcode));
}

static void forget_in(struct resend *list, _Atomic uint32_t *count, const struct zone *z)
{
	for (uint32_t i = atomic_load_explicit(count, memory_order_relaxed); i > 0; i--)
		if (list[i - 1].lba >= z->start && list[i - 1].lba < zone_end(z))
			remove_entry(list, count, i - 1);
}

void resend_forget(struct memzbc_lun *lun, const struct zone *z)
{
	struct table *t = lun->store.table;

	if (atomic_load_explicit(&t->executed_count, memory_order_relaxed) >
	    MEMZBC_UNACKNOWLEDGED_MAX)
		atomic_store_explicit(&t->executed_count, MEMZBC_UNACKNOWLEDGED_MAX,
				      memory_order_release);
	forget_in(t->executed, &t->executed_count, z);
	forget_in(t->expected, &t->expected_count, z);
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
	uint32_t executed = atomic_load_explicit(&t->executed_count, memory_order_relaxed);
	uint32_t n = atomic_load_explicit(&t->expected_count, memory_order_relaxed);

	if (executed > MEMZBC_UNACKNOWLEDGED_MAX)
		executed = MEMZBC_UNACKNOWLEDGED_MAX;
	for (uint32_t i = 0; i < executed && n < RESENDS_MAX; i++) {
		if (!was_executed(lun, &t->executed[i]))
			continue;
		t->expected[n++] = t->executed[i];
		atomic_store_explicit(&t->expected_count, n, memory_order_release);
	}
	memzbc_lun_acknowledged(lun);
}

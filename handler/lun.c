// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static void format(struct memzbc_lun *lun)
{
	zones_format(lun);
	mode_set_defaults(lun);
	store_publish(&lun->store);
}

/*
 * What lies above a write pointer comes from a write or a reset that the process did not live to
 * finish: nobody can read it, and its memory is wanted back.
 */
static int discard_unwritten(struct memzbc_lun *lun)
{
	const struct geometry *geo = &lun->geo;
	uint64_t from = geo->first_seq * geo->zone_size;
	uint64_t block = lun->cfg.lba_size;
	int err = 0;

	/* One call for each run of blocks between written ones, however many zones it spans. */
	for (uint32_t slot = geo->first_seq; slot < geo->end_seq && !err; slot++) {
		struct zone z = geometry_slot_zone(geo, slot);
		uint64_t written = zone_written_end(lun, &z);

		if (written == z.start)
			continue;
		err = store_discard(&lun->store, from * block, (z.start - from) * block);
		from = written;
	}
	if (!err && geo->first_seq < geo->end_seq) {
		struct zone last = geometry_slot_zone(geo, geo->end_seq - 1);

		err = store_discard(&lun->store, from * block, (zone_end(&last) - from) * block);
	}
	return err;
}

static int take_over(struct memzbc_lun *lun, const char *dir, char *reason)
{
	if (!zones_are_sound(lun))
		return store_refuse(dir, "zones", reason);
	if (!resends_are_sound(lun))
		return store_refuse(dir, "writes that were not acknowledged", reason);
	lun->cfg.faults = *store_faults(&lun->store);
	resend_reopen(lun);
	return 0;
}

static int set_up(struct memzbc_lun *lun, bool fresh, char *reason)
{
	int err = fresh ? 0 : discard_unwritten(lun);

	if (!err)
		err = zones_init(lun);
	if (err)
		snprintf(reason, MEMZBC_REASON_SIZE, "cannot set up the zones: %s", strerror(-err));
	return err;
}

static int open_state(struct memzbc_lun *lun, const struct memzbc_lun_params *params, char *reason)
{
	bool fresh;
	int err = store_open(&lun->store, params, lun->geo.slots, &fresh, reason);

	if (err)
		return err;
	if (fresh)
		format(lun);
	else
		err = take_over(lun, params->state_dir, reason);
	return err ? err : set_up(lun, fresh, reason);
}

int memzbc_lun_open(const struct memzbc_lun_params *params, struct memzbc_lun **out, char *reason)
{
	struct memzbc_lun *lun = calloc(1, sizeof(*lun));
	int err;

	if (!lun) {
		snprintf(reason, MEMZBC_REASON_SIZE, "no memory for the LUN");
		return -ENOMEM;
	}
	lun->store.data_fd = lun->store.dir_fd = -1;
	lun->cfg = *params->cfg;
	lun->params = *params;
	lun->params.cfg = &lun->cfg;
	lun->params.state_dir = NULL;
	lun->params.backstore = NULL;
	if (params->backstore)
		snprintf(lun->backstore, sizeof(lun->backstore), "%s", params->backstore);
	lun->scratch = malloc(SCRATCH_SIZE);
	geometry_init(&lun->geo, &lun->cfg);
	if (lun->scratch) {
		err = open_state(lun, params, reason);
	} else {
		snprintf(reason, MEMZBC_REASON_SIZE, "no memory for the LUN");
		err = -ENOMEM;
	}
	if (err) {
		memzbc_lun_close(lun);
		return err;
	}
	*out = lun;
	return 0;
}

void memzbc_lun_close(struct memzbc_lun *lun)
{
	if (!lun)
		return;
	zones_free(lun);
	store_close(&lun->store);
	free(lun->scratch);
	free(lun);
}

const struct memzbc_config *memzbc_lun_config(const struct memzbc_lun *lun)
{
	return &lun->cfg;
}

void lun_set_faults(struct memzbc_lun *lun, const struct memzbc_faults *faults)
{
	lun->cfg.faults = *faults;
	store_set_faults(&lun->store, faults);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * error: commands that fail as a rule says. A command that fails halfway is executed as the shorter
 * one that its good blocks make, so that data and write pointer are those of a real partial write.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "stage.h"

/* What a command is about: all blocks of the zones that it changes, up to the end with ALL. */
static struct extent extent_of(const struct memzbc_device *dev, const struct request *rq)
{
	struct extent x = rq->info.x;
	uint64_t zone_size = dev->lun->geo.zone_size;
	uint32_t zones;

	switch (rq->info.class) {
	case MEMZBC_CLASS_SYNC:
		if (x.blocks == 0)
			x.blocks = UINT64_MAX - x.lba;
		break;
	case MEMZBC_CLASS_ZONE:
		if (!rq->info.has_range)
			return (struct extent){ .blocks = UINT64_MAX };
		zones = get_be16(rq->cmd.cdb + ZBC_OUT_COUNT_BYTE);
		x.lba -= x.lba % zone_size;
		x.blocks = (zones ? zones : 1) * zone_size;
		break;
	default:
		break;
	}
	return x;
}

static bool touches(const struct memzbc_device *dev, const struct memzbc_error_rule *rule,
		    const struct request *rq)
{
	struct extent x;

	if (!rule->has_range)
		return true;
	x = extent_of(dev, rq);
	return x.blocks > 0 && x.lba <= rule->last &&
	       (rule->first <= x.lba || rule->first - x.lba < x.blocks);
}

static bool matches(const struct memzbc_device *dev, const struct memzbc_error_rule *rule,
		    const struct request *rq)
{
	const uint8_t *cdb = rq->cmd.cdb;

	if (!(rule->classes & 1u << rq->info.class))
		return false;
	if (rule->opcode >= 0 && cdb[0] != rule->opcode)
		return false;
	if (rule->service_action >= 0 && (cdb[1] & SERVICE_ACTION_MASK) != rule->service_action)
		return false;
	/* What is no longer than the part that is done is done. */
	if (rule->kind == MEMZBC_ERROR_PARTIAL && moves_data(rq) &&
	    rq->info.x.blocks <= rule->blocks)
		return false;
	return touches(dev, rule, rq);
}

static bool fails_halfway(const struct memzbc_error_rule *rule, const struct request *rq)
{
	return (rule->kind == MEMZBC_ERROR_MEDIUM || rule->kind == MEMZBC_ERROR_PARTIAL) &&
	       moves_data(rq);
}

/* What the LUN refuses is not executed, not even in part: there is nothing to fail halfway. */
static bool is_refused(const struct memzbc_device *dev, const struct request *rq)
{
	uint8_t sense[MEMZBC_SENSE_SIZE];
	struct memzbc_cmd cmd = rq->cmd;

	cmd.sense = sense;
	return command_check(dev->lun, &cmd) != SAM_STAT_GOOD;
}

/* For DROP, time is when the answer comes; for all others, how long the rule holds. */
static bool expired(const struct memzbc_device *dev, const struct memzbc_error_rule *rule)
{
	return rule->kind != MEMZBC_ERROR_DROP && rule->time &&
	       dev->ops->now(dev->arg) - dev->faults_since >= rule->time;
}

const struct memzbc_error_rule *error_hits(struct memzbc_device *dev, const struct request *rq)
{
	for (uint32_t i = 0; i < dev->faults.error_rules; i++) {
		const struct memzbc_error_rule *rule = &dev->faults.error[i];

		if (!dev->error_left[i] || !matches(dev, rule, rq) || expired(dev, rule))
			continue;
		if (fails_halfway(rule, rq) && is_refused(dev, rq))
			continue;
		if (prng_next(&dev->error_prng[i]) % MEMZBC_PROBABILITY_SURE >= rule->probability)
			continue;
		if (dev->error_left[i] != UINT64_MAX)
			dev->error_left[i]--;
		return rule;
	}
	return NULL;
}

/* Blocks of the command before the first that fails. */
static uint64_t good_blocks(const struct memzbc_device *dev, const struct request *rq,
			    const struct memzbc_error_rule *rule)
{
	uint64_t good = 0;

	if (rule->kind == MEMZBC_ERROR_PARTIAL)
		good = rule->blocks;
	else if (rule->has_range && rule->first > rq->info.x.lba)
		good = rule->first - rq->info.x.lba;
	/* A sequential zone is written in whole physical blocks, from the start of one. */
	if (rq->info.class == MEMZBC_CLASS_WRITE && rq->zone.slot != NO_SLOT &&
	    rq->zone.type == ZONE_TYPE_SWR)
		good -= good % dev->lun->geo.pblk;
	return good;
}

/* The same command for its first @blocks. */
static void shorten(uint8_t *cdb, uint64_t blocks)
{
	uint8_t *field = cdb + cdb_range(cdb).blocks_byte;

	switch (cdb[0] >> 5) {
	case 0:
		*field = (uint8_t)blocks;
		break;
	case 1:
	case 2:
		put_be16(field, (uint16_t)blocks);
		break;
	default:
		put_be32(field, (uint32_t)blocks);
		break;
	}
}

/* error_hits() has checked the whole command, so that it is refused before any transfer. */
static uint8_t fail_halfway(struct memzbc_device *dev, struct request *rq,
			    const struct memzbc_error_rule *rule)
{
	bool write = rq->info.class == MEMZBC_CLASS_WRITE;
	uint64_t good = good_blocks(dev, rq, rule);
	struct memzbc_cmd cmd = rq->cmd;
	uint8_t cdb[CDB_LEN_MAX];
	uint8_t status;

	if (good > 0) {
		memcpy(cdb, rq->cmd.cdb, command_cdb_len(rq->cmd.cdb));
		shorten(cdb, good);
		cmd.cdb = cdb;
		status = power_execute(dev, &cmd);
		rq->cmd.receipt = cmd.receipt;
		rq->cmd.resent = cmd.resent;
		if (status != SAM_STAT_GOOD)
			return status;
		rq->moved = good;
	}
	return sense_set_info(dev->lun, &rq->cmd, MEDIUM_ERROR,
			      write ? ASC_WRITE_ERROR : ASC_UNRECOVERED_READ_ERROR,
			      rq->info.x.lba + good);
}

uint8_t error_execute(struct memzbc_device *dev, struct request *rq,
		      const struct memzbc_error_rule *rule)
{
	if (fails_halfway(rule, rq))
		return fail_halfway(dev, rq, rule);
	switch (rule->kind) {
	case MEMZBC_ERROR_MEDIUM:
	case MEMZBC_ERROR_PARTIAL:
		return sense_set(dev->lun, &rq->cmd, MEDIUM_ERROR, ASC_WRITE_ERROR);
	case MEMZBC_ERROR_SENSE:
		return sense_set(dev->lun, &rq->cmd, rule->key, rule->asc);
	case MEMZBC_ERROR_STATUS:
		return rule->status;
	default:
		return power_execute(dev, &rq->cmd);
	}
}

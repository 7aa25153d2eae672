// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * error: commands that fail as a rule says. A command that fails halfway is executed as the shorter
 * one that its good blocks make, so that data and write pointer are those of a real partial write.
 */
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "stage.h"

static bool touches(const struct memzbc_error_rule *rule, const struct command_info *info)
{
	uint64_t blocks = info->x.blocks;

	if (!rule->has_range)
		return true;
	/* SYNCHRONIZE CACHE: up to the end. */
	if (info->class == MEMZBC_CLASS_SYNC && blocks == 0)
		blocks = UINT64_MAX - info->x.lba;
	return info->has_range && blocks > 0 && info->x.lba <= rule->last &&
	       info->x.lba + (blocks - 1) >= rule->first;
}

static bool matches(const struct memzbc_error_rule *rule, const struct request *rq)
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
	return touches(rule, &rq->info);
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

		if (!dev->error_left[i] || !matches(rule, rq) || expired(dev, rule))
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

/* All checks of the whole command precede any transfer. */
static uint8_t fail_halfway(struct memzbc_device *dev, struct request *rq,
			    const struct memzbc_error_rule *rule)
{
	bool write = rq->info.class == MEMZBC_CLASS_WRITE;
	uint64_t good = good_blocks(dev, rq, rule);
	struct memzbc_cmd cmd = rq->cmd;
	uint8_t cdb[CDB_LEN_MAX];
	uint8_t status = command_check(dev->lun, &rq->cmd);

	if (status != SAM_STAT_GOOD)
		return status;
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
	switch (rule->kind) {
	case MEMZBC_ERROR_MEDIUM:
	case MEMZBC_ERROR_PARTIAL:
		if (moves_data(rq))
			return fail_halfway(dev, rq, rule);
		return sense_set(dev->lun, &rq->cmd, MEDIUM_ERROR, ASC_WRITE_ERROR);
	case MEMZBC_ERROR_SENSE:
		return sense_set(dev->lun, &rq->cmd, rule->key, rule->asc);
	case MEMZBC_ERROR_STATUS:
		return rule->status;
	default:
		return power_execute(dev, &rq->cmd);
	}
}

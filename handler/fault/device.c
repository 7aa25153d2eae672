// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memzbc/scsi.h>

#include "stage.h"

/* Different sequences from one seed. */
#define SEED_REORDER 0x1d872b41a5u
#define SEED_ERROR 0x2545f4914fu

uint64_t prng_next(struct prng *prng)
{
	uint64_t z = prng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

bool prng_one_in(struct prng *prng, uint32_t n)
{
	return prng_next(prng) % n == 0;
}

void list_append(struct request_list *list, struct request *rq)
{
	rq->next = NULL;
	rq->prev = list->last;
	if (list->last)
		list->last->next = rq;
	else
		list->first = rq;
	list->last = rq;
	list->count++;
}

void list_remove(struct request_list *list, struct request *rq)
{
	if (rq->prev)
		rq->prev->next = rq->next;
	else
		list->first = rq->next;
	if (rq->next)
		rq->next->prev = rq->prev;
	else
		list->last = rq->prev;
	list->count--;
}

static struct request_list *stage_list(struct memzbc_device *dev, enum stage stage)
{
	switch (stage) {
	case STAGE_REORDER:
		return &dev->reordered;
	case STAGE_HOLD:
		return &dev->held;
	case STAGE_ANSWER:
		return &dev->answers;
	default:
		return NULL;
	}
}

void device_keep(struct memzbc_device *dev, struct request *rq, enum stage stage,
		 uint64_t deadline)
{
	struct request_list *list = stage_list(dev, stage);

	rq->stage = stage;
	if (list)
		list_append(list, rq);
	timers_add(&dev->timers, rq, deadline);
	observe_kept(dev, rq);
}

void device_release(struct memzbc_device *dev, struct request *rq, enum memzbc_ending ending)
{
	struct request_list *list = stage_list(dev, rq->stage);

	observe_released(dev, rq, ending);
	if (list)
		list_remove(list, rq);
	timers_remove(&dev->timers, rq);
	rq->stage = STAGE_NONE;
}

/* The answer goes out. */
static void complete(struct memzbc_device *dev, struct request *rq)
{
	dev->outstanding--;
	observe_answered(dev, rq);
	dev->ops->complete(dev->arg, rq->tag, &rq->cmd, rq->status);
}

/* The answer goes out, and the request is free. */
static void answer(struct memzbc_device *dev, struct request *rq)
{
	complete(dev, rq);
	rq->next = dev->spare;
	dev->spare = rq;
}

void device_admit(struct memzbc_device *dev, struct request *rq)
{
	rq->forced = false;
	list_append(&dev->ready, rq);
}

void device_execute(struct memzbc_device *dev, struct request *rq)
{
	rq->forced = true;
	list_append(&dev->ready, rq);
}

/* Those who waited for what @rq did. */
static void wake(struct memzbc_device *dev, const struct request *rq)
{
	/* It may have been for several zones, or all. */
	if (rq->info.class == MEMZBC_CLASS_ZONE)
		hold_wake(dev, NO_SLOT, false);
	if (rq->info.class != MEMZBC_CLASS_WRITE || rq->zone.slot == NO_SLOT ||
	    rq->zone.type == ZONE_TYPE_GAP)
		return;
	reorder_write_executed(dev, rq);
	hold_wake(dev, rq->zone.slot, true);
}

/* By the model, or as @rule says. */
static void get_status(struct memzbc_device *dev, struct request *rq,
		       const struct memzbc_error_rule *rule)
{
	observe_executing(dev, rq, rule);
	if (rule)
		rq->status = error_execute(dev, rq, rule);
	else
		rq->status = power_execute(dev, &rq->cmd);
	if (rq->status == SAM_STAT_GOOD)
		rq->moved = rq->info.x.blocks;
}

/*
 * What a delay counts from: the time that the execution takes is part of it. The stages that keep a
 * command before have their own times.
 */
static uint64_t service_begins(struct memzbc_device *dev, const struct request *rq)
{
	bool kept = rq->flags & (MEMZBC_TRACE_REORDERED | MEMZBC_TRACE_HELD);

	return kept ? dev->ops->now(dev->arg) : rq->arrived;
}

static void execute(struct memzbc_device *dev, struct request *rq)
{
	const struct memzbc_error_rule *rule = error_hits(dev, rq);
	uint64_t since = service_begins(dev, rq), ns;

	get_status(dev, rq, rule);
	ns = delay_of(dev, rq);
	rq->dropped = rule && rule->kind == MEMZBC_ERROR_DROP;
	if (rq->dropped && ns < rule->time)
		ns = rule->time;
	wake(dev, rq);
	if (ns)
		device_keep(dev, rq, STAGE_ANSWER, since + ns);
	else
		answer(dev, rq);
}

/*
 * What is ready, until nothing is: each execution may make others ready. A loop and no recursion,
 * so that the stack does not grow with the number of commands held.
 */
static void run_ready(struct memzbc_device *dev)
{
	struct request *rq;

	while ((rq = dev->ready.first)) {
		list_remove(&dev->ready, rq);
		if (rq->forced || !hold_takes(dev, rq))
			execute(dev, rq);
	}
}

static void arm(struct memzbc_device *dev)
{
	const struct request *first = timers_first(&dev->timers);
	uint64_t deadline = first ? first->deadline : MEMZBC_NEVER;

	if (deadline == dev->armed)
		return;
	dev->armed = deadline;
	dev->ops->arm(dev->arg, deadline);
}

void device_zones_moved(struct memzbc_device *dev, uint32_t slot)
{
	observe_zones_moved(dev, slot);
	hold_wake(dev, slot, false);
	run_ready(dev);
	arm(dev);
}

/* NULL: no memory to hold a command with. */
static struct request *new_request(struct memzbc_device *dev)
{
	struct request *rq = dev->spare;

	if (timers_reserve(&dev->timers, dev->outstanding + 1))
		return NULL;
	if (rq)
		dev->spare = rq->next;
	else
		rq = malloc(sizeof(*rq));
	return rq;
}

static void arrive(struct memzbc_device *dev, struct request *rq, struct memzbc_cmd *cmd,
		   void *tag)
{
	*rq = (struct request){
		.cmd = *cmd,
		.tag = tag,
		.arrival = dev->arrivals++,
		.arrived = dev->ops->now(dev->arg),
		.deadline = MEMZBC_NEVER,
		.write_pointer = NO_WRITE_POINTER,
		.info = command_info(cmd->cdb),
		.zone.slot = NO_SLOT,
	};
	rq->cmd.receipt = NO_RECEIPT;
	if (rq->info.has_range && rq->info.x.lba < dev->lun->geo.capacity)
		rq->zone = geometry_zone(&dev->lun->geo, rq->info.x.lba);
	dev->outstanding++;
	observe_arrived(dev, rq);
}

/* There is no stage to pass, or no memory to be kept in. */
static void pass_stages_by(struct memzbc_device *dev, struct memzbc_cmd *cmd, void *tag)
{
	struct request rq;

	arrive(dev, &rq, cmd, tag);
	get_status(dev, &rq, NULL);
	complete(dev, &rq);
}

void memzbc_device_submit_active(struct memzbc_device *dev, struct memzbc_cmd *cmd, void *tag)
{
	struct request *rq = dev->staged ? new_request(dev) : NULL;

	if (!rq) {
		pass_stages_by(dev, cmd, tag);
		return;
	}
	arrive(dev, rq, cmd, tag);
	if (!reorder_takes(dev, rq))
		device_admit(dev, rq);
	run_ready(dev);
	arm(dev);
}

/* Its time is over: the request goes on. */
static void expire(struct memzbc_device *dev, struct request *rq, enum memzbc_ending ending)
{
	enum stage stage = rq->stage;

	device_release(dev, rq, ending);
	switch (stage) {
	case STAGE_REORDER:
		device_admit(dev, rq);
		break;
	case STAGE_HOLD:
		device_execute(dev, rq);
		break;
	default:
		answer(dev, rq);
		break;
	}
	run_ready(dev);
}

void memzbc_device_run(struct memzbc_device *dev)
{
	uint64_t now = dev->ops->now(dev->arg);
	struct request *rq;

	while ((rq = timers_first(&dev->timers)) && rq->deadline <= now)
		expire(dev, rq, MEMZBC_ENDING_TIME);
	arm(dev);
}

static void release_list(struct memzbc_device *dev, const struct request_list *list,
			 enum memzbc_ending ending)
{
	while (list->first)
		expire(dev, list->first, ending);
}

void memzbc_device_drain(struct memzbc_device *dev)
{
	/* First what was held back for others, so that it may still reach those who wait for it. */
	release_list(dev, &dev->reordered, MEMZBC_ENDING_DRAINED);
	release_list(dev, &dev->held, MEMZBC_ENDING_DRAINED);
	while (dev->timers.count)
		expire(dev, timers_first(&dev->timers), MEMZBC_ENDING_DRAINED);
	arm(dev);
}

uint32_t memzbc_device_held(const struct memzbc_device *dev)
{
	return dev->outstanding;
}

static bool any_delay(const struct memzbc_faults *faults)
{
	for (int class = 0; class < MEMZBC_CLASSES; class++)
		if (faults->delay[class])
			return true;
	return faults->rate || faults->seek;
}

static bool any_drop(const struct memzbc_faults *faults)
{
	for (uint32_t i = 0; i < faults->error_rules; i++)
		if (faults->error[i].kind == MEMZBC_ERROR_DROP)
			return true;
	return false;
}

/* Answers that only wait because of what is now off. */
static void release_answers(struct memzbc_device *dev)
{
	bool delay = any_delay(&dev->faults), drop = any_drop(&dev->faults);
	struct request *rq, *next;

	for (rq = dev->answers.first; rq; rq = next) {
		next = rq->next;
		if (rq->dropped ? !drop : !delay)
			expire(dev, rq, MEMZBC_ENDING_SETTINGS);
	}
}

/* What can fail, with nothing changed then. */
static int take_memory(struct memzbc_device *dev, const struct memzbc_faults *faults)
{
	int err = faults->cache ? power_begin(dev) : 0;

	if (!err)
		err = observe_set(dev, faults);
	if (err && !dev->faults.cache)
		power_end(dev);
	return err;
}

int memzbc_device_set_faults(struct memzbc_device *dev, const struct memzbc_faults *faults,
			     char *reason)
{
	int err = take_memory(dev, faults);

	if (err) {
		snprintf(reason, MEMZBC_REASON_SIZE,
			 "cannot set up trace, statistics and cache: %s", strerror(-err));
		return err;
	}
	power_limit(dev, faults->cache);
	lun_set_faults(dev->lun, faults);
	dev->faults = *faults;
	dev->faults_since = dev->ops->now(dev->arg);
	dev->reorder_prng.state = faults->seed ^ SEED_REORDER;
	for (uint32_t i = 0; i < faults->error_rules; i++) {
		dev->error_prng[i].state = (faults->seed ^ SEED_ERROR) + i;
		dev->error_left[i] = faults->error[i].count;
	}
	dev->staged = faults->reorder || faults->hold || any_delay(faults) || faults->error_rules;
	dev->active = dev->staged || faults->cache || faults->trace || faults->stats;
	if (!faults->reorder)
		release_list(dev, &dev->reordered, MEMZBC_ENDING_SETTINGS);
	if (!faults->hold)
		release_list(dev, &dev->held, MEMZBC_ENDING_SETTINGS);
	release_answers(dev);
	arm(dev);
	return 0;
}

struct memzbc_lun *memzbc_device_lun(struct memzbc_device *dev)
{
	return dev->lun;
}

const struct memzbc_faults *memzbc_device_faults(const struct memzbc_device *dev)
{
	return &dev->faults;
}

int memzbc_device_open(const struct memzbc_lun_params *params,
		       const struct memzbc_device_ops *ops, void *arg,
		       struct memzbc_device **out, char *reason)
{
	struct memzbc_device *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev) {
		snprintf(reason, MEMZBC_REASON_SIZE, "no memory for the LUN");
		return -ENOMEM;
	}
	dev->ops = ops;
	dev->arg = arg;
	dev->armed = MEMZBC_NEVER;
	err = memzbc_lun_open(params, &dev->lun, reason);
	if (!err)
		err = memzbc_device_set_faults(dev, &dev->lun->cfg.faults, reason);
	if (err) {
		memzbc_device_close(dev);
		return err;
	}
	*out = dev;
	return 0;
}

void memzbc_device_close(struct memzbc_device *dev)
{
	struct request *rq;

	if (!dev)
		return;
	while ((rq = dev->spare)) {
		dev->spare = rq->next;
		free(rq);
	}
	free(dev->timers.heap);
	power_end(dev);
	observe_end(dev);
	memzbc_lun_close(dev->lun);
	free(dev);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The error strategy: what becomes of the failed commands of a host.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/list_sort.h>
#include <linux/module.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#include "memzbc_eh.h"
#include "exported.h"

/* Only the error handler thread of the host counts. */
static void memzbc_eh_count(struct memzbc_eh_lun *lun,
			    enum memzbc_eh_counter counter)
{
	WRITE_ONCE(lun->counters[counter], lun->counters[counter] + 1);
}

/* Is this command here because of memzbc_eh_check_sense()? */
static bool memzbc_eh_is_ours(const struct scsi_cmnd *scmd)
{
	struct scsi_sense_hdr sshdr;

	return scmd->device->handler == &memzbc_eh_handler &&
	       host_byte(scmd->result) == DID_OK &&
	       scsi_status_is_check_condition(scmd->result) &&
	       scsi_command_normalize_sense(scmd, &sshdr) &&
	       memzbc_eh_is_unaligned_write(&sshdr);
}

/*
 * A write whose place among others matters. Not so with an I/O scheduler, which
 * sends one write to a zone at a time: one that is retried would keep its zone
 * locked, and the write that it waits for would never get through. The
 * scheduler cannot change while a request is outstanding.
 */
static bool memzbc_eh_is_sequential_write(struct request *rq)
{
	return req_op(rq) == REQ_OP_WRITE && !rq->q->elevator &&
	       blk_rq_zone_is_seq(rq);
}

/*
 * How many retries a write may have. Each round takes at least one write of a
 * reordered batch forward, and no batch is larger than the queue. scsi_cmnd has
 * one counter for retries of all kinds, so some are left for others.
 */
static int memzbc_eh_allowed(const struct memzbc_eh_lun *lun,
			     const struct request *rq)
{
	return READ_ONCE(lun->max_rounds) ?:
	       SD_MAX_RETRIES + rq->q->nr_requests;
}

/*
 * Decide about a command of ours, and count the decision. A retry itself is
 * counted in scsi_cmnd.retries where it is done, by scsi_eh_flush_done_q().
 */
static bool memzbc_eh_may_retry(struct memzbc_eh_lun *lun,
				struct scsi_cmnd *scmd)
{
	struct request *rq = scsi_cmd_to_rq(scmd);

	if (!memzbc_eh_is_sequential_write(rq) ||
	    (rq->cmd_flags & REQ_FAILFAST_MASK)) {
		memzbc_eh_count(lun, MEMZBC_EH_DECLINED);
		return false;
	}
	scmd->allowed = memzbc_eh_allowed(lun, rq);
	if (scmd->retries >= scmd->allowed) {
		memzbc_eh_count(lun, MEMZBC_EH_EXHAUSTED);
		return false;
	}
	return true;
}

/*
 * Let a command of ours end as it would have without us: the SCSI core looks at
 * the sense data again and notes the kind of error, and no retry is left.
 */
static void memzbc_eh_give_up(struct memzbc_eh_lun *lun,
			      struct scsi_cmnd *scmd)
{
	WRITE_ONCE(lun->default_sense, true);
	scsi_check_sense(scmd);
	WRITE_ONCE(lun->default_sense, false);
	if (scmd->allowed == SCSI_CMD_RETRIES_NO_LIMIT)
		scmd->allowed = 0;
	scmd->retries = scmd->allowed;
}

/*
 * Take our commands off the list of failed ones. What stays on it goes on to
 * resets, and that must not happen because of a write out of order.
 */
static void memzbc_eh_take(struct list_head *work_q, struct list_head *retry_q,
			   struct list_head *done_q)
{
	struct scsi_cmnd *scmd, *next;

	list_for_each_entry_safe(scmd, next, work_q, eh_entry) {
		struct memzbc_eh_lun *lun = scmd->device->handler_data;

		if (!memzbc_eh_is_ours(scmd))
			continue;
		if (memzbc_eh_may_retry(lun, scmd)) {
			scsi_eh_finish_cmd(scmd, retry_q);
		} else {
			memzbc_eh_give_up(lun, scmd);
			scsi_eh_finish_cmd(scmd, done_q);
		}
	}
}

static int memzbc_eh_compare(struct request *a, struct request *b)
{
	return blk_rq_pos(a) > blk_rq_pos(b);
}

static int memzbc_eh_compare_cmnd(void *priv, const struct list_head *a,
				  const struct list_head *b)
{
	struct scsi_cmnd *scmd_a = list_entry(a, struct scsi_cmnd, eh_entry);
	struct scsi_cmnd *scmd_b = list_entry(b, struct scsi_cmnd, eh_entry);

	return memzbc_eh_compare(scsi_cmd_to_rq(scmd_a),
				 scsi_cmd_to_rq(scmd_b));
}

static int memzbc_eh_compare_rq(void *priv, const struct list_head *a,
				const struct list_head *b)
{
	return memzbc_eh_compare(list_entry(a, struct request, queuelist),
				 list_entry(b, struct request, queuelist));
}

/*
 * Put the sequential writes that wait for a hardware queue in order, and ahead
 * of all others. New ones in the software queues join those on the dispatch
 * list: they may be what these wait for. The queue is quiesced, so none is on
 * its way between a list and the driver, and nobody cares that the lists are
 * short of them for a moment.
 */
static void memzbc_eh_order_dispatch(struct blk_mq_hw_ctx *hctx)
{
	struct request *rq, *next;
	LIST_HEAD(writes);
	LIST_HEAD(new);

	blk_mq_flush_busy_ctxs(hctx, &new);

	spin_lock(&hctx->lock);
	list_splice_tail(&new, &hctx->dispatch);
	list_for_each_entry_safe(rq, next, &hctx->dispatch, queuelist) {
		if (memzbc_eh_is_sequential_write(rq))
			list_move_tail(&rq->queuelist, &writes);
	}
	list_sort(NULL, &writes, memzbc_eh_compare_rq);
	list_splice(&writes, &hctx->dispatch);
	spin_unlock(&hctx->lock);
}

/*
 * Resubmit writes of one LUN, sorted. The block layer of 6.1 requeues at the
 * head and moves what is there to the dispatch lists from a work item that may
 * run at any time, in the middle of the flush too: the result is descending or
 * worse. So hold the queue until all are on the dispatch lists, and sort these.
 */
static void memzbc_eh_resubmit(struct scsi_device *sdev,
			       struct list_head *batch)
{
	struct request_queue *q = sdev->request_queue;
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	blk_mq_quiesce_queue(q);
	scsi_eh_flush_done_q(batch);
	flush_delayed_work(&q->requeue_work);
	queue_for_each_hw_ctx(q, hctx, i)
		memzbc_eh_order_dispatch(hctx);
	/* The requeue asks for a pause as of a busy LUN; this one is not. */
	atomic_set(&sdev->device_blocked, 0);
	blk_mq_unquiesce_queue(q);
}

/* Resubmit writes of all LUNs of the host, each LUN by itself and sorted. */
static void memzbc_eh_retry(struct list_head *retry_q)
{
	struct memzbc_eh_lun *lun;
	struct scsi_cmnd *scmd, *next;
	struct scsi_device *sdev;
	LIST_HEAD(batch);

	while (!list_empty(retry_q)) {
		sdev = list_first_entry(retry_q, struct scsi_cmnd,
					eh_entry)->device;
		lun = sdev->handler_data;
		memzbc_eh_count(lun, MEMZBC_EH_ROUNDS);
		list_for_each_entry_safe(scmd, next, retry_q, eh_entry) {
			if (scmd->device != sdev)
				continue;
			memzbc_eh_count(lun, MEMZBC_EH_RETRIED);
			list_move_tail(&scmd->eh_entry, &batch);
		}
		list_sort(NULL, &batch, memzbc_eh_compare_cmnd);
		/* The LUN may be removed when its last command is done. */
		get_device(&sdev->sdev_gendev);
		memzbc_eh_resubmit(sdev, &batch);
		put_device(&sdev->sdev_gendev);
	}
}

/* eh_strategy_handler of hosts with a LUN that has the handler. */
void memzbc_eh_strategy(struct Scsi_Host *shost)
{
	unsigned long flags;
	LIST_HEAD(work_q);
	LIST_HEAD(retry_q);
	LIST_HEAD(done_q);

	__module_get(THIS_MODULE);

	spin_lock_irqsave(shost->host_lock, flags);
	list_splice_init(&shost->eh_cmd_q, &work_q);
	spin_unlock_irqrestore(shost->host_lock, flags);

	scsi_eh_get_sense(&work_q, &done_q);
	memzbc_eh_take(&work_q, &retry_q, &done_q);
	if (!list_empty(&work_q))
		scsi_eh_ready_devs(shost, &work_q, &done_q);

	spin_lock_irqsave(shost->host_lock, flags);
	if (shost->eh_deadline != -1)
		shost->last_reset = 0;
	spin_unlock_irqrestore(shost->host_lock, flags);

	scsi_eh_flush_done_q(&done_q);
	memzbc_eh_retry(&retry_q);

	module_put(THIS_MODULE);
}

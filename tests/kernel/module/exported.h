/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the SCSI core and the block layer export to modules or store where these
 * see it, and keep in headers of drivers/scsi and block, which linux-headers
 * does not have.
 */
#ifndef MEMZBC_EH_EXPORTED_H
#define MEMZBC_EH_EXPORTED_H

struct Scsi_Host;
struct blk_mq_hw_ctx;
struct list_head;

int scsi_eh_get_sense(struct list_head *work_q, struct list_head *done_q);
void scsi_eh_ready_devs(struct Scsi_Host *shost, struct list_head *work_q,
			struct list_head *done_q);
void blk_mq_flush_busy_ctxs(struct blk_mq_hw_ctx *hctx,
			    struct list_head *list);

/* scsi_cmnd.allowed of sd's commands */
#define SD_MAX_RETRIES 5
/* the same where max_retries of the disk is -1 */
#define SCSI_CMD_RETRIES_NO_LIMIT -1

#endif /* MEMZBC_EH_EXPORTED_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <libtcmu_log.h>
#include <tcmur_device.h>

#include "states.h"
#include "uio.h"

struct fake fake;

/* ---- the daemon ---- */

int tcmur_register_handler(struct tcmur_handler *handler)
{
	fake.handler = handler;
	return handler->init ? handler->init() : 0;
}

void *tcmur_dev_get_private(struct tcmu_device *dev)
{
	(void)dev;
	return fake.private;
}

void tcmur_dev_set_private(struct tcmu_device *dev, void *priv)
{
	(void)dev;
	fake.private = priv;
}

/* As libtcmu: one allocation, hm_private behind a CDB of 6 to 16 bytes, nothing initialised. */
struct tcmulib_cmd *tcmulib_get_next_command(struct tcmu_device *dev, int hm_cmd_size)
{
	const size_t cdb_len = 6 + fake.taken % 11;
	struct tcmulib_cmd *cmd;
	size_t size;

	(void)dev;
	if (fake.taken == fake.queued)
		return NULL;
	size = sizeof(*cmd) + sizeof(struct iovec) + cdb_len + (size_t)hm_cmd_size;
	cmd = malloc(size);
	assert_non_null(cmd);
	memset(cmd, 0xa5, size);
	cmd->cmd_id = (uint16_t)fake.taken++;
	cmd->iovec = (struct iovec *)(cmd + 1);
	cmd->iov_cnt = 1;
	cmd->cdb = (uint8_t *)(cmd->iovec + 1);
	memset(cmd->cdb, 0, cdb_len);
	memcpy(cmd->cdb, &cmd->cmd_id, sizeof(cmd->cmd_id));
	cmd->hm_private = cmd->cdb + cdb_len;
	return cmd;
}

static void note_cancel_state(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_setcancelstate(before, NULL);
	fake.cancellable |= before == PTHREAD_CANCEL_ENABLE;
}

struct tcmu_cmd_entry *ring_entry(uint32_t offset)
{
	return (struct tcmu_cmd_entry *)(fake.shared.bytes + RING_OFFSET + offset);
}

char *tcmu_dev_get_memory_info(struct tcmu_device *dev, void **base, size_t *len, off_t *offset)
{
	(void)dev, (void)len, (void)offset;
	if (fake.no_ring)
		return NULL;
	*base = &fake.shared;
	return strdup("/dev/uio7");
}

static void advance_tail(const struct tcmu_cmd_entry *entry)
{
	struct tcmu_mailbox *mb = &fake.shared.mailbox;

	mb->cmd_tail = (mb->cmd_tail + tcmu_hdr_get_len(entry->hdr.len_op)) % mb->cmdr_size;
}

static uint8_t status_of(int result)
{
	switch (result) {
	case TCMU_STS_OK:
		return SAM_STAT_GOOD;
	case TCMU_STS_NO_RESOURCE:
		return SAM_STAT_TASK_SET_FULL;
	case TCMU_STS_BUSY:
		return SAM_STAT_BUSY;
	default:
		return SAM_STAT_CHECK_CONDITION;
	}
}

/* Entries that are no command are passed over; the next one takes whatever command completes. */
static void fill_entry(const struct tcmulib_cmd *cmd, int result)
{
	struct tcmu_cmd_entry *entry = ring_entry(fake.shared.mailbox.cmd_tail);

	while (tcmu_hdr_get_op(entry->hdr.len_op) != TCMU_OP_CMD) {
		advance_tail(entry);
		entry = ring_entry(fake.shared.mailbox.cmd_tail);
	}
	entry->hdr.cmd_id = cmd->cmd_id;
	entry->rsp.scsi_status = status_of(result);
	advance_tail(entry);
}

void tcmulib_command_complete(struct tcmu_device *dev, struct tcmulib_cmd *cmd, int result)
{
	(void)dev;
	note_cancel_state();
	fake.completions[cmd->cmd_id]++;
	fake.completed_result[cmd->cmd_id] = result;
	fake.order[fake.completed++] = cmd->cmd_id;
	memcpy(fake.last_sense, cmd->sense_buf, sizeof(fake.last_sense));
	if (fake.shared.mailbox.cmdr_size)
		fill_entry(cmd, result);
	free(cmd);
}

void tcmulib_processing_complete(struct tcmu_device *dev)
{
	(void)dev;
	note_cancel_state();
	fake.announcements++;
	fake.completed_at_announcement = fake.completed;
}

const char *tcmu_dev_get_uio_name(struct tcmu_device *dev)
{
	(void)dev;
	return "uio7";
}

char *tcmu_dev_get_cfgstring(struct tcmu_device *dev)
{
	(void)dev;
	return fake.cfgstring;
}

uint64_t tcmu_dev_get_num_lbas(struct tcmu_device *dev)
{
	(void)dev;
	return 8ull << 21;
}

uint32_t tcmu_dev_get_block_size(struct tcmu_device *dev)
{
	(void)dev;
	return 512;
}

uint32_t tcmu_dev_get_max_xfer_len(struct tcmu_device *dev)
{
	(void)dev;
	return 2048;
}

char *tcmu_cfgfs_dev_get_wwn(struct tcmu_device *dev)
{
	(void)dev;
	return fake.wwn ? strdup(fake.wwn) : NULL;
}

void tcmu_err_message(struct tcmu_device *dev, const char *funcname, int linenr, const char *fmt,
		      ...)
{
	va_list args;

	(void)dev, (void)funcname, (void)linenr;
	va_start(args, fmt);
	vsnprintf(fake.log, sizeof(fake.log), fmt, args);
	va_end(args);
}

void tcmu_warn_message(struct tcmu_device *dev, const char *funcname, int linenr, const char *fmt,
		       ...)
{
	va_list args;

	(void)dev, (void)funcname, (void)linenr;
	va_start(args, fmt);
	vsnprintf(fake.log, sizeof(fake.log), fmt, args);
	va_end(args);
}

void tcmu_info_message(struct tcmu_device *dev, const char *funcname, int linenr, const char *fmt,
		       ...)
{
	(void)dev, (void)funcname, (void)linenr, (void)fmt;
}

/* ---- the model and its states ---- */

int memzbc_device_open(const struct memzbc_lun_params *params,
		       const struct memzbc_device_ops *ops, void *arg,
		       struct memzbc_device **dev, char *reason)
{
	fake.params = *params;
	fake.cfg = *params->cfg;
	fake.ops = ops;
	fake.ops_arg = arg;
	snprintf(reason, MEMZBC_REASON_SIZE, "the model's reason");
	fake.front.active = true;
	if (fake.open_result == 0)
		*dev = (struct memzbc_device *)&fake;
	return fake.open_result;
}

void memzbc_device_close(struct memzbc_device *dev)
{
	if (!dev)
		return;
	assert_ptr_equal(dev, &fake);
	fake.model_closed++;
}

struct memzbc_lun *memzbc_device_lun(struct memzbc_device *dev)
{
	assert_ptr_equal(dev, &fake);
	return (struct memzbc_lun *)&fake;
}

static void complete_executed(uint16_t id, const struct memzbc_cmd *cmd, void *tag)
{
	if (fake.status[id] == SAM_STAT_CHECK_CONDITION)
		memset(cmd->sense, 0x5e, MEMZBC_SENSE_SIZE);
	fake.ops->complete(fake.ops_arg, tag, cmd, fake.status[id]);
}

void memzbc_device_submit_active(struct memzbc_device *dev, struct memzbc_cmd *cmd, void *tag)
{
	uint16_t id;

	assert_ptr_equal(dev, &fake);
	assert_int_equal(cmd->iov_cnt, 1);
	memcpy(&id, cmd->cdb, sizeof(id));
	assert_int_equal(id, fake.executed);
	assert_int_equal(cmd->tag, id);
	fake.executed++;
	cmd->receipt = id + 1u;
	if (!fake.hold[id]) {
		complete_executed(id, cmd, tag);
		return;
	}
	fake.held[fake.held_count] = *cmd;
	fake.held_tag[fake.held_count++] = tag;
	if (fake.held_count == 1)
		fake.ops->arm(fake.ops_arg, fake.ops->now(fake.ops_arg) + HELD_FOR);
}

/* All that is held is due at once. */
void memzbc_device_run(struct memzbc_device *dev)
{
	unsigned int count = fake.held_count;

	assert_ptr_equal(dev, &fake);
	fake.held_count = 0;
	fake.ops->arm(fake.ops_arg, MEMZBC_NEVER);
	for (unsigned int i = 0; i < count; i++)
		complete_executed((uint16_t)(fake.held[i].receipt - 1), &fake.held[i],
				  fake.held_tag[i]);
}

void memzbc_device_drain(struct memzbc_device *dev)
{
	if (fake.held_count)
		memzbc_device_run(dev);
}

uint8_t memzbc_lun_execute(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	(void)lun, (void)cmd;
	fail_msg("the device is active");
	return SAM_STAT_GOOD;
}

void memzbc_lun_acknowledge(struct memzbc_lun *lun, uint32_t receipt)
{
	assert_ptr_equal(lun, &fake);
	/* Not before the kernel has the answers to all that was completed; each of them once. */
	assert_int_equal(fake.completed_at_announcement, fake.completed);
	assert_int_equal(fake.acks[receipt - 1], 0);
	fake.acks[receipt - 1]++;
	fake.acknowledged++;
}

const struct memzbc_config *memzbc_lun_config(const struct memzbc_lun *lun)
{
	assert_ptr_equal(lun, &fake);
	return &fake.cfg;
}

/* A command that was held goes on. */
int memzbc_device_set_faults(struct memzbc_device *dev, const struct memzbc_faults *faults,
			     char *reason)
{
	if (fake.faults_result) {
		snprintf(reason, MEMZBC_REASON_SIZE, "refused by the fake");
		return fake.faults_result;
	}
	fake.cfg.faults = *faults;
	fake.faults_set++;
	memzbc_device_drain(dev);
	return 0;
}

/* ---- the control sockets ---- */

int memzbc_control_start(const char *dir, unsigned int idle_ms, char *reason)
{
	(void)idle_ms, (void)reason;
	fake.control_dir = dir;
	return 0;
}

void memzbc_control_stop(void)
{
	fake.control_dir = NULL;
}

int memzbc_control_add(const struct memzbc_control_params *params,
		       struct memzbc_control_lun **lun, char *reason)
{
	snprintf(reason, MEMZBC_REASON_SIZE, "no socket for you");
	*lun = NULL;
	if (fake.control_result < 0)
		return fake.control_result;
	fake.control = *params;
	strcpy(fake.control_name, params->name);
	strcpy(fake.control_backstore, params->backstore);
	fake.controls++;
	*lun = (struct memzbc_control_lun *)&fake;
	return 0;
}

void memzbc_control_remove(struct memzbc_control_lun *lun)
{
	if (!lun)
		return;
	assert_ptr_equal(lun, &fake);
	assert_int_equal(fake.model_closed, 0);
	fake.controls--;
}

int uio_backstore(const char *uio, char *backstore)
{
	snprintf(backstore, MEMZBC_BACKSTORE_SIZE, "user_3/lun of %s", uio);
	return fake.uio_result;
}

int states_locate(const char *uio, char *path, uint64_t *token, char *reason)
{
	(void)reason;
	snprintf(path, STATES_PATH_SIZE, "/state/of/%s", uio);
	*token = 4711;
	return 0;
}

int states_start(void (*log)(const char *line))
{
	(void)log;
	return fake.states_result;
}

void states_closed(void)
{
	fake.states_closed++;
}

void states_stop(void)
{
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The kernel's headers and the C library's both define it. */
#define iovec linux_iovec
#include <linux/target_core_user.h>
#undef iovec

#include <libtcmu.h>
#include <libtcmu_common.h>

#include <memzbc/scsi.h>

struct tcmu_mailbox *ring_of(struct tcmu_device *dev)
{
	void *base = NULL;
	char *name = tcmu_dev_get_memory_info(dev, &base, NULL, NULL);

	free(name);
	return name ? base : NULL;
}

/* Returns false for a status that libtcmu has no name for. */
static bool tcmu_status(uint8_t status, int *result)
{
	switch (status) {
	case SAM_STAT_GOOD:
		*result = TCMU_STS_OK;
		return true;
	case SAM_STAT_CHECK_CONDITION:
		*result = TCMU_STS_PASSTHROUGH_ERR;
		return true;
	case SAM_STAT_BUSY:
		*result = TCMU_STS_BUSY;
		return true;
	case SAM_STAT_TASK_SET_FULL:
		*result = TCMU_STS_NO_RESOURCE;
		return true;
	default:
		*result = TCMU_STS_HW_ERR;
		return false;
	}
}

/* libtcmu has filled the first entry of a command from @tail on. */
static void replace_status(struct tcmu_mailbox *ring, uint32_t tail, uint8_t status)
{
	struct tcmu_cmd_entry *entry;

	for (;;) {
		entry = (struct tcmu_cmd_entry *)((char *)ring + ring->cmdr_off + tail);
		if (tcmu_hdr_get_op(entry->hdr.len_op) == TCMU_OP_CMD)
			break;
		tail = (tail + tcmu_hdr_get_len(entry->hdr.len_op)) % ring->cmdr_size;
	}
	entry->rsp.scsi_status = status;
}

void ring_complete(struct tcmu_device *dev, struct tcmu_mailbox *ring, struct tcmulib_cmd *cmd,
		   uint8_t status)
{
	uint32_t tail = ring ? ring->cmd_tail : 0;
	int result;
	bool named = tcmu_status(status, &result);

	/* Statuses that carry no sense data are all alike but for their number. */
	if (!named && ring)
		result = TCMU_STS_BUSY;
	tcmulib_command_complete(dev, cmd, result);
	if (!named && ring)
		replace_status(ring, tail, status);
}

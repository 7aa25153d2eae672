/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The ring that LIO shares with libtcmu: answers that libtcmu alone cannot give.
 */
#ifndef MEMZBC_RING_H
#define MEMZBC_RING_H

#include <stdint.h>

struct tcmu_device;
struct tcmu_mailbox;
struct tcmulib_cmd;

/* The ring of a device, which stays where it is until the device is closed; NULL if not known. */
struct tcmu_mailbox *ring_of(struct tcmu_device *dev);

/*
 * tcmulib_command_complete() with any SAM status; @ring may be NULL, statuses that libtcmu does not
 * have become HARDWARE ERROR then. The kernel looks when tcmulib_processing_complete() is called:
 * not before this returns.
 */
void ring_complete(struct tcmu_device *dev, struct tcmu_mailbox *ring, struct tcmulib_cmd *cmd,
		   uint8_t status);

#endif

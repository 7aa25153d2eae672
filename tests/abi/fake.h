/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A daemon that behaves as tcmu-runner 1.5.4 does, and a device model, states and control sockets
 * that do as they are told: what surrounds the plugin.
 */
#ifndef MEMZBC_TESTS_FAKE_H
#define MEMZBC_TESTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The kernel's headers and the C library's both define it. */
#define iovec linux_iovec
#include <linux/target_core_user.h>
#undef iovec

#include <libtcmu.h>
#include <libtcmu_common.h>
#include <tcmu-runner.h>

#include <memzbc/config.h>
#include <memzbc/control.h>
#include <memzbc/device.h>
#include <memzbc/scsi.h>

#define RING 1024
#define RING_OFFSET 128 /* of the ring of entries in the shared memory */
#define RING_BYTES 4096
#define HELD_FOR 20000000 /* nanoseconds */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* What the fake daemon, device and model saw. */
struct fake {
	struct memzbc_device_front front; /* first: it is the device, too */
	struct tcmur_handler *handler;
	void *private;
	char cfgstring[300];
	unsigned int queued, taken; /* ring entries put in and taken out */
	int completed_result[RING]; /* by command id */
	unsigned int completions[RING];
	unsigned int order[RING], completed;
	uint8_t last_sense[SENSE_BUFFERSIZE];
	unsigned int announcements, completed_at_announcement;
	unsigned int acks[RING], acknowledged; /* by receipt; in all */
	const struct memzbc_device_ops *ops;
	void *ops_arg;
	bool hold[RING]; /* by command id */
	struct memzbc_cmd held[RING];
	void *held_tag[RING];
	unsigned int held_count;
	bool cancellable; /* in a completion or an announcement */
	char log[512];
	const char *wwn;
	uint8_t status[RING]; /* what the model answers */
	unsigned int executed;
	struct memzbc_lun_params params;
	int open_result;
	unsigned int model_closed, states_closed;
	struct memzbc_config cfg; /* in force */
	unsigned int faults_set;
	int faults_result;
	struct memzbc_control_params control;
	char control_name[MEMZBC_BACKSTORE_SIZE], control_backstore[MEMZBC_BACKSTORE_SIZE];
	const char *control_dir;
	int control_result, uio_result, states_result;
	unsigned int controls; /* now */
	bool no_ring;
	/* Memory shared with the kernel; its ring is used if it has a size. */
	union {
		struct tcmu_mailbox mailbox;
		char bytes[RING_OFFSET + RING_BYTES];
	} shared;
};

extern struct fake fake;

/* The entry at an offset in the ring. */
struct tcmu_cmd_entry *ring_entry(uint32_t offset);

#endif

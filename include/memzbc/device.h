/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A LUN with the stages before it, which can hold, delay and fail commands: what the plugin hands
 * its commands to. With all faults and observation off it costs a test and a call.
 *
 * Not thread-safe: the caller serialises all calls on one device, and the callbacks come from
 * within them. Time is the caller's (ops->now), so that tests run on a virtual clock.
 */
#ifndef MEMZBC_DEVICE_H
#define MEMZBC_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <memzbc/faults.h>
#include <memzbc/lun.h>

struct memzbc_device;

/* A deadline that never comes. */
#define MEMZBC_NEVER UINT64_MAX

struct memzbc_device_ops {
	/* Nanoseconds on a clock that never goes back. */
	uint64_t (*now)(void *arg);
	/*
	 * The command that was submitted with @tag is done. @cmd is the device's copy, with the
	 * receipt; it must be acknowledged (memzbc_lun_acknowledge) when the initiator has the
	 * answer.
	 */
	void (*complete)(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status);
	/* memzbc_device_run() is to be called at @deadline; replaces the deadline before. */
	void (*arm)(void *arg, uint64_t deadline);
};

/**
 * memzbc_device_open() - open a LUN with its stages
 * @params: as for memzbc_lun_open(); the faults of its config apply unless an earlier process has
 *	changed them
 * @ops: callbacks; kept
 * @arg: first argument of the callbacks
 * @dev: out: the device
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * Return: 0, or -errno with @reason set.
 */
int memzbc_device_open(const struct memzbc_lun_params *params,
		       const struct memzbc_device_ops *ops, void *arg,
		       struct memzbc_device **dev, char *reason);

/**
 * memzbc_device_close() - close a device
 * @dev: the device, or NULL; no command may be held any more, see memzbc_device_drain()
 */
void memzbc_device_close(struct memzbc_device *dev);

/*
 * What a device begins with, so that memzbc_device_submit() costs next to nothing when there is
 * nothing to do but to execute. For its use only.
 */
struct memzbc_device_front {
	struct memzbc_lun *lun;
	const struct memzbc_device_ops *ops;
	void *arg;
	bool active;	/* a fault, statistics or the trace is on */
};

/* memzbc_device_submit(), when something is on. */
void memzbc_device_submit_active(struct memzbc_device *dev, struct memzbc_cmd *cmd, void *tag);

/**
 * memzbc_device_submit() - a command arrives
 * @dev: the device
 * @cmd: the command. The structure is copied if need be; what it points to stays the device's until
 *	the command completes.
 * @tag: returned with the completion
 *
 * Completes through ops->complete(), often before it returns, exactly once.
 */
static inline void memzbc_device_submit(struct memzbc_device *dev, struct memzbc_cmd *cmd,
					void *tag)
{
	const struct memzbc_device_front *front = (const struct memzbc_device_front *)dev;

	if (front->active)
		memzbc_device_submit_active(dev, cmd, tag);
	else
		front->ops->complete(front->arg, tag, cmd, memzbc_lun_execute(front->lun, cmd));
}

/**
 * memzbc_device_run() - do what is due
 * @dev: the device
 */
void memzbc_device_run(struct memzbc_device *dev);

/**
 * memzbc_device_drain() - execute and complete all that is held, now
 * @dev: the device
 */
void memzbc_device_drain(struct memzbc_device *dev);

/**
 * memzbc_device_held() - commands that arrived and are not complete
 * @dev: the device
 */
uint32_t memzbc_device_held(const struct memzbc_device *dev);

/**
 * memzbc_device_set_faults() - replace all faults at once
 * @dev: the device
 * @faults: the new ones; copied
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * Commands that a stage holds which is now off go on at once. Random sequences and counts start
 * anew. The faults outlive the process, as the LUN's state does.
 *
 * Return: 0, or -errno with @reason set and nothing changed: there is no memory for the trace, in
 * the state directory, or for statistics or the cache.
 */
int memzbc_device_set_faults(struct memzbc_device *dev, const struct memzbc_faults *faults,
			     char *reason);

/**
 * memzbc_device_lun() - the LUN of a device
 * @dev: the device
 */
struct memzbc_lun *memzbc_device_lun(struct memzbc_device *dev);

/**
 * memzbc_device_faults() - the faults in force
 * @dev: the device
 */
const struct memzbc_faults *memzbc_device_faults(const struct memzbc_device *dev);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Where the states of this machine's LUNs are, and who frees them.
 *
 * A state belongs to one uio device, that is, to one creation of a LUN in LIO. It outlives the
 * daemon, but not that device: a thread removes the states whose device is gone.
 */
#ifndef MEMZBC_STATES_H
#define MEMZBC_STATES_H

#include <stdint.h>

/* Tests put it elsewhere. */
#ifndef STATES_ROOT
#define STATES_ROOT "/dev/shm/memzbc"
#endif
#define STATES_PATH_SIZE 128

/**
 * states_locate() - the state directory of a uio device
 * @uio: name of the device, such as "uio3"
 * @path: out: the directory, STATES_PATH_SIZE bytes; its parent exists afterwards
 * @token: out: tells this device from all others that have had its name since the machine booted
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * Return: 0, or -errno with @reason set.
 */
int states_locate(const char *uio, char *path, uint64_t *token, char *reason);

/**
 * states_start() - start the thread that frees the states of deleted LUNs
 * @log: gets a line, without newline, for each state freed or not; from the thread
 *
 * What was left behind while no such thread ran is freed first.
 *
 * Return: 0, or -errno.
 */
int states_start(void (*log)(const char *line));

/**
 * states_closed() - a LUN was closed, and perhaps deleted
 *
 * Its state is freed when its device disappears within STATES_WATCH_SECONDS. Never blocks.
 */
void states_closed(void);

/**
 * states_stop() - look once more, and end the thread
 */
void states_stop(void);

/* How long a closed LUN's device is given to disappear; LIO does it within milliseconds. */
#define STATES_WATCH_SECONDS 10

#endif

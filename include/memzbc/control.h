/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The control sockets: how a LUN is looked at and changed while initiators use it.
 *
 * Each LUN has a stream socket in MEMZBC_CONTROL_DIR that only root can connect to: NAME.sock, with
 * every byte of the name but letters, digits, '_', '-' and '.' (not in front) written as %XX. Where
 * LIO has backstores of one name in several HBAs, the first that is opened has NAME.sock and the
 * others have NAME@user_N.sock, N being the number of the HBA; "version" tells which it is.
 *
 * A request is one line of words separated by blanks, ended by a newline (a carriage return before
 * it is ignored), of MEMZBC_CONTROL_LINE_MAX bytes at most. The answer is one line of JSON in
 * ASCII: {"ok":true,...} or {"ok":false,"error":"..."}. Requests are answered in order; a client
 * may send several before it reads. The requests of protocol 1, which may get more members in their
 * answers:
 *
 *  version		"protocol", "version" of memzbc, "name", "backstore" ("user_N/NAME")
 *  help		"requests": usage and meaning of each
 *  config		"config": the settings in force as a config string, without what is set at
 *			creation; "zones"; "capacity", "zone_size" and "zone_cap" in logical
 *			blocks; "lba_size" in bytes
 *  get [KEY...]	"settings": the keys that may change at any time, or those named; sizes in
 *			bytes, times and rules as text
 *  set KEY=VALUE...	changes them, all or none; "settings" as get
 *  zone FIRST[-LAST] CONDITION
 *  zone FIRST[-LAST] wp=BLOCKS
 *  zone FIRST[-LAST] closed wp=BLOCKS
 *			makes zones empty, closed, full, readonly, offline or notwp, or moves their
 *			write pointers, see memzbc_lun_set_zone(); "zones": how many. All are judged
 *			before the first is changed; commands are executed between two of them
 *  stats		"stats": counters, see memzbc/observe.h
 *  reset-stats		sets them to zero
 *  trace		"trace": path of the file with the last commands, null if there is none
 *  power-loss [COUNT]	the power fails, see memzbc_device_power_loss(); "writes" and "bytes" that
 *			vanished
 *
 * A connection is closed after a line that is too long, after MEMZBC_CONTROL_IDLE_MS in which it
 * did not complete a request or did not take the answer, and when the LUN goes away. Of more than
 * MEMZBC_CONTROL_CLIENTS_MAX connections the new ones are refused.
 */
#ifndef MEMZBC_CONTROL_H
#define MEMZBC_CONTROL_H

#include <memzbc/device.h>

#define MEMZBC_CONTROL_DIR "/run/memzbc"
#define MEMZBC_CONTROL_PROTOCOL 1
#define MEMZBC_CONTROL_LINE_MAX 4096	/* bytes of a request, newline included */
#define MEMZBC_CONTROL_CLIENTS_MAX 16	/* of each LUN */
#define MEMZBC_CONTROL_IDLE_MS 60000

/* A LUN that is served. */
struct memzbc_control_lun;

struct memzbc_control_params {
	const char *name;	/* of the LUN, as LIO has it; kept as a copy */
	const char *backstore;	/* "user_N/NAME"; kept as a copy */
	const char *state_dir;	/* of memzbc_lun_params; kept as a copy */
	struct memzbc_device *dev;
	/* The device is the caller's alone between lock() and unlock(), for a short time. */
	void (*lock)(void *arg);
	void (*unlock)(void *arg);
	void *arg;
};

/**
 * memzbc_control_start() - start the thread that serves the sockets of all LUNs
 * @dir: directory of the sockets; made if need be, and then for root only. Kept.
 * @idle_ms: how long a client may take, or 0 for MEMZBC_CONTROL_IDLE_MS
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * Return: 0, or -errno with @reason set: there are no control sockets then.
 */
int memzbc_control_start(const char *dir, unsigned int idle_ms, char *reason);

/**
 * memzbc_control_stop() - end the thread
 *
 * There must be no LUN any more. Does nothing if there is no thread.
 */
void memzbc_control_stop(void);

/**
 * memzbc_control_add() - make the socket of a LUN
 * @params: see there
 * @lun: out: for memzbc_control_remove(); NULL on error
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * A socket that a dead process left is replaced. Never waits for clients.
 *
 * Return: 0, or -errno with @reason set.
 */
int memzbc_control_add(const struct memzbc_control_params *params,
		       struct memzbc_control_lun **lun, char *reason);

/**
 * memzbc_control_remove() - the LUN goes away, and its socket with it
 * @lun: the LUN, or NULL
 *
 * Waits for a request that is being executed, which is short; its lock() must be free.
 */
void memzbc_control_remove(struct memzbc_control_lun *lun);

#endif

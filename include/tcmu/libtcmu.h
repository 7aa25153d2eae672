/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * libtcmu, as far as a handler uses it: the ring, and requests to reconfigure.
 * See libtcmu_common.h for why these declarations exist.
 */
#ifndef TCMU_LIBTCMU_H
#define TCMU_LIBTCMU_H

#include <stdbool.h>
#include <stdint.h>

#include <libtcmu_common.h>

/* What somebody wants to change while the device exists. */
enum tcmulib_cfg_type {
	TCMULIB_CFG_DEV_CFGSTR,
	TCMULIB_CFG_DEV_SIZE,
	TCMULIB_CFG_WRITE_CACHE,
};

/* The new value; @type says which member holds it. */
struct tcmulib_cfg_info {
	enum tcmulib_cfg_type type;
	union {
		uint64_t dev_size;   /* bytes */
		char *dev_cfgstring; /* valid during the call only */
		bool write_cache;
	} data;
};

/*
 * Take the next command from the ring, or NULL when there is none (or no
 * memory). @hm_cmd_size bytes, not initialised, come with it as hm_private.
 * Not safe against another thread that does the same.
 */
struct tcmulib_cmd *tcmulib_get_next_command(struct tcmu_device *dev, int hm_cmd_size);

/*
 * Put the answer to @cmd into the ring and free @cmd. Commands may complete in
 * any order. The kernel looks at the ring when tcmulib_processing_complete()
 * is called. Not safe against another thread that does either.
 */
void tcmulib_command_complete(struct tcmu_device *dev, struct tcmulib_cmd *cmd, int result);

/*
 * Have the kernel collect the answers in the ring: when this returns, each
 * command completed before the call is acknowledged. Costs a system call.
 */
void tcmulib_processing_complete(struct tcmu_device *dev);

#endif

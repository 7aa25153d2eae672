/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What a handler plugin and the daemon tcmu-runner tell each other.
 * See libtcmu_common.h for why these declarations exist.
 *
 * A plugin is a shared object with a function `int handler_init(void)`, which
 * registers one struct tcmur_handler and returns 0.
 */
#ifndef TCMU_TCMU_RUNNER_H
#define TCMU_TCMU_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include <libtcmu_common.h>
#include <libtcmu_log.h>

struct tcmulib_cfg_info;

/* A link of the daemon's lists. */
struct list_node {
	struct list_node *next, *prev;
};

/*
 * The daemon's own state of a command that its command thread took from the
 * ring; it is lib_cmd->hm_private. Handlers read lib_cmd only.
 */
struct tcmur_cmd {
	struct tcmulib_cmd *lib_cmd;
	struct iovec *iovec;
	size_t iov_cnt;
	void *iov_base_copy;
	void *cmd_state;
	size_t requested;
	struct list_node cmds_list_entry; /* linked while tcmur_cmd_time_out is in force */
	struct timespec start_time;
	bool timed_out;
	void (*done)(struct tcmu_device *dev, struct tcmur_cmd *cmd, int ret);
};

/*
 * A handler. The daemon keeps the pointer. Any callback may be NULL. The ones
 * that return int return 0 or a negative errno, the data path ones a TCMU_STS.
 *
 * All but handle_cmd, and the data path callbacks after it, are called in the
 * daemon's main loop, which serves every LUN: they must not block.
 */
struct tcmur_handler {
	const char *name;
	const char *subtype;  /* what a configuration string starts with */
	const char *cfg_desc; /* help on the rest of it, shown by targetcli */
	void *opaque;	      /* the handler's own */

	/* @reason: of a refusal, allocated with malloc(); the daemon frees it. */
	bool (*check_config)(const char *cfgstring, char **reason);
	int (*reconfig)(struct tcmu_device *dev, struct tcmulib_cfg_info *cfg);

	/* @reopen is not set when the daemon comes back to a device of its predecessor. */
	int (*open)(struct tcmu_device *dev, bool reopen);
	/* Comes after the last command; for a deletion and for the daemon's end. */
	void (*close)(struct tcmu_device *dev);

	/* Worker threads that call the data path; 0: the command thread does. */
	int nr_threads;

	/* Each command, when read, write and flush are NULL. */
	int (*handle_cmd)(struct tcmu_device *dev, struct tcmur_cmd *cmd);

	int (*read)(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iovec,
		    size_t iov_cnt, size_t len, off_t off);
	int (*write)(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iovec,
		     size_t iov_cnt, size_t len, off_t off);
	int (*flush)(struct tcmu_device *dev, struct tcmur_cmd *cmd);
	int (*unmap)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off, uint64_t len);
	int (*writesame)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off,
			 uint64_t len, struct iovec *iovec, size_t iov_cnt);
	int (*caw)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off, uint64_t len,
		   struct iovec *iovec, size_t iov_cnt);

	/* For handlers whose storage other targets share. */
	int (*report_event)(struct tcmu_device *dev);
	int (*lock)(struct tcmu_device *dev, uint16_t tag);
	int (*unlock)(struct tcmu_device *dev);
	int (*get_lock_tag)(struct tcmu_device *dev, uint16_t *tag);
	int (*get_lock_state)(struct tcmu_device *dev);

	bool _is_dbus_handler; /* the daemon's own */

	/* The log directory changed. */
	bool (*update_logdir)(void);

	/* At registration (a failure refuses the handler); at the daemon's end. */
	int (*init)(void);
	void (*destroy)(void);
};

/* Announce a handler, from handler_init. Calls its init; not 0 on failure. */
int tcmur_register_handler(struct tcmur_handler *handler);

#endif

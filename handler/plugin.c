/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The tcmu-runner plugin: what the daemon wants of a handler, in terms of the device model.
 *
 * The daemon gets no command back: the plugin takes every command from LIO's ring and completes it
 * with libtcmu, which the daemon allows to handlers that have a handle_cmd and no read, write or
 * flush. So a command may be completed later and by any thread, in whatever order.
 *
 * Of the structures of 1.5.4 it uses the least it can, because later versions add to them: of
 * struct tcmur_cmd the first field only, and of struct tcmur_handler nothing behind handle_cmd but
 * init and destroy.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <libtcmu.h>
#include <libtcmu_common.h>
#include <libtcmu_log.h>
#include <tcmu-runner.h>
#include <tcmur_device.h>

#include <memzbc/config.h>
#include <memzbc/control.h>
#include <memzbc/device.h>
#include <memzbc/scsi.h>

#include "macros.h"
#include "ring.h"
#include "states.h"
#include "thread.h"
#include "uio.h"

/* Commands completed before the kernel is told: bounds how long the first of them waits. */
#define BATCH_MAX 256
_Static_assert(BATCH_MAX <= MEMZBC_UNACKNOWLEDGED_MAX, "the model remembers a batch");

/* The daemon cuts messages at 254 bytes, newline included, and puts names before them. */
#define LOG_LINE "%.190s\n"

/* A LUN of the daemon. */
struct plugin_lun {
	struct tcmu_device *dev;
	struct tcmu_mailbox *ring;
	struct memzbc_device *model;
	/*
	 * Of the model, and of the completion side of the ring. No other lock of ours is taken
	 * under it.
	 */
	pthread_mutex_t lock;
	uint32_t receipts[BATCH_MAX];	/* of commands completed that the kernel was not told of */
	unsigned int unannounced;	/* how many */
	pthread_t timer;	/* completes what the model has held */
	pthread_cond_t changed;	/* deadline or stopping */
	uint64_t deadline;	/* nanoseconds, or MEMZBC_NEVER */
	bool stopping;
	struct memzbc_control_lun *control;	/* NULL: it has no control socket */
	char state_dir[STATES_PATH_SIZE];
	char backstore[MEMZBC_BACKSTORE_SIZE];	/* empty: not known */
};

_Static_assert(SENSE_BUFFERSIZE == MEMZBC_SENSE_SIZE, "the model fills the ring's sense buffer");

/* Have the kernel fetch all answers. Called with the LUN's lock held. */
static void announce(struct plugin_lun *lun)
{
	if (!lun->unannounced)
		return;
	tcmulib_processing_complete(lun->dev);
	for (unsigned int i = 0; i < lun->unannounced; i++)
		memzbc_lun_acknowledge(memzbc_device_lun(lun->model), lun->receipts[i]);
	lun->unannounced = 0;
}

static uint64_t plugin_now(void *arg)
{
	struct timespec now;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Answer a command; it is gone afterwards. Called with the LUN's lock held. */
static void plugin_complete(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status)
{
	struct plugin_lun *lun = arg;

	lun->receipts[lun->unannounced++] = cmd->receipt;
	ring_complete(lun->dev, lun->ring, tag, status);
	if (lun->unannounced == BATCH_MAX)
		announce(lun);
}

/* Called with the LUN's lock held. */
static void plugin_arm(void *arg, uint64_t deadline)
{
	struct plugin_lun *lun = arg;
	bool sooner = deadline < lun->deadline;

	lun->deadline = deadline;
	if (sooner)
		pthread_cond_signal(&lun->changed);
}

static const struct memzbc_device_ops plugin_ops = {
	.now = plugin_now,
	.complete = plugin_complete,
	.arm = plugin_arm,
};

/* Wait for the deadline, or for another one. Called with the LUN's lock held. */
static void wait_for_deadline(struct plugin_lun *lun)
{
	struct timespec until = {
		.tv_sec = (time_t)(lun->deadline / NS_PER_S),
		.tv_nsec = (long)(lun->deadline % NS_PER_S),
	};

	if (lun->deadline == MEMZBC_NEVER)
		pthread_cond_wait(&lun->changed, &lun->lock);
	else
		pthread_cond_timedwait(&lun->changed, &lun->lock, &until);
}

static void *timer_thread(void *arg)
{
	struct plugin_lun *lun = arg;

	/* The kernel's usual slack of 50 us would be half of what times are to be exact to. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_mutex_lock(&lun->lock);
	while (!lun->stopping) {
		if (plugin_now(lun) < lun->deadline) {
			wait_for_deadline(lun);
			continue;
		}
		memzbc_device_run(lun->model);
		announce(lun);
	}
	pthread_mutex_unlock(&lun->lock);
	return NULL;
}

static void stop_timer(struct plugin_lun *lun)
{
	pthread_mutex_lock(&lun->lock);
	lun->stopping = true;
	pthread_cond_signal(&lun->changed);
	pthread_mutex_unlock(&lun->lock);
	pthread_join(lun->timer, NULL);
}

/* Called with the LUN's lock held. */
static void submit(struct plugin_lun *lun, struct tcmulib_cmd *ring_cmd)
{
	struct memzbc_cmd cmd = {
		.cdb = ring_cmd->cdb,
		.iov = ring_cmd->iovec,
		.iov_cnt = ring_cmd->iov_cnt,
		.sense = ring_cmd->sense_buf,
		.tag = ring_cmd->cmd_id,
	};

	memzbc_device_submit(lun->model, &cmd, ring_cmd);
}

/*
 * Whether a command looks as 1.5.4 makes it: the daemon's part in hm_private, behind the rest in
 * the same allocation. A daemon whose structures differ is told so instead of crashed.
 */
static bool command_is_sane(const struct tcmur_cmd *daemon_cmd, const struct tcmulib_cmd *ring_cmd)
{
	uintptr_t distance = (uintptr_t)daemon_cmd - (uintptr_t)ring_cmd;

	return distance >= sizeof(*ring_cmd) && distance < 1 << 20 &&
	       ring_cmd->hm_private == daemon_cmd;
}

/* The command in the daemon's part of it, which is not aligned either. */
static struct tcmulib_cmd *taken_by_daemon(const struct tcmur_cmd *daemon_cmd)
{
	struct {
		struct tcmulib_cmd *ring_cmd;
	} field;

	memcpy(&field, (const uint8_t *)daemon_cmd + offsetof(struct tcmur_cmd, lib_cmd),
	       sizeof(field));
	return field.ring_cmd;
}

/* Execute a command that the daemon took from the ring, and all that are behind it. */
static int plugin_handle_cmd(struct tcmu_device *dev, struct tcmur_cmd *daemon_cmd)
{
	struct plugin_lun *lun = tcmur_dev_get_private(dev);
	struct tcmulib_cmd *ring_cmd = taken_by_daemon(daemon_cmd);
	int cancel_state;

	if (!command_is_sane(daemon_cmd, ring_cmd)) {
		tcmu_dev_err(dev, "memzbc does not know this version of tcmu-runner\n");
		return TCMU_STS_HW_ERR;
	}

	/* The daemon ends this thread by cancellation, and each system call could be the place. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&lun->lock);
	do
		submit(lun, ring_cmd);
	while ((ring_cmd = tcmulib_get_next_command(dev, 0)));
	announce(lun);
	pthread_mutex_unlock(&lun->lock);
	pthread_setcancelstate(cancel_state, NULL);

	/* Never anything else: the daemon would complete the command a second time. */
	return TCMU_STS_ASYNC_HANDLED;
}

/*
 * The unit serial number. LIO's tools set it after they enabled the device, which is when open is
 * called, so it is asked for when an initiator wants it.
 */
static int plugin_serial(void *arg, char *serial)
{
	struct plugin_lun *lun = arg;
	char *wwn = tcmu_cfgfs_dev_get_wwn(lun->dev);
	int ret = -ENODATA;

	if (wwn && wwn[0]) {
		snprintf(serial, MEMZBC_SERIAL_MAX + 1, "%s", wwn);
		ret = 0;
	}
	free(wwn);
	return ret;
}

static void plugin_log(void *arg, const char *line)
{
	struct plugin_lun *lun = arg;

	tcmu_dev_info(lun->dev, LOG_LINE, line);
}

static void states_log(const char *line)
{
	tcmu_info(LOG_LINE, line);
}

/* Longer than any config string that is accepted. */
#define CONFIG_LINE_SIZE (MEMZBC_CONFIG_LEN_MAX + 2)

/* What is written to attribute dev_config keeps its newline, also for the daemon that is next. */
static const char *config_line(const char *string, char *line)
{
	snprintf(line, CONFIG_LINE_SIZE, "%.*s", (int)strcspn(string, "\n"), string);
	return line;
}

static int plugin_parse(struct tcmu_device *dev, const char *string, struct memzbc_config *cfg,
			char *reason)
{
	uint32_t block_size = tcmu_dev_get_block_size(dev);
	char line[CONFIG_LINE_SIZE];
	int ret = memzbc_config_parse(cfg, config_line(string, line), reason);

	if (ret < 0)
		return ret;
	return memzbc_config_complete(cfg, tcmu_dev_get_num_lbas(dev) * block_size, block_size,
				      reason);
}

static int open_model(struct plugin_lun *lun, char *reason)
{
	struct memzbc_config cfg;
	struct memzbc_lun_params params = {
		.cfg = &cfg,
		.state_dir = lun->state_dir,
		.backstore = lun->backstore,
		.max_transfer = tcmu_dev_get_max_xfer_len(lun->dev),
		.serial = plugin_serial,
		.serial_arg = lun,
		.log = plugin_log,
		.log_arg = lun,
	};
	int ret = plugin_parse(lun->dev, tcmu_dev_get_cfgstring(lun->dev), &cfg, reason);

	if (ret == 0)
		ret = states_locate(tcmu_dev_get_uio_name(lun->dev), lun->state_dir,
				    &params.token, reason);
	if (ret == 0)
		ret = memzbc_device_open(&params, &plugin_ops, lun, &lun->model, reason);
	return ret;
}

/* Called with the LUN's lock held. */
static int replace_faults(struct plugin_lun *lun, const char *string, char *reason)
{
	struct memzbc_config cfg = *memzbc_lun_config(memzbc_device_lun(lun->model));
	int ret = memzbc_config_replace(&cfg, string, reason);

	return ret ? ret : memzbc_device_set_faults(lun->model, &cfg.faults, reason);
}

static void control_lock(void *arg)
{
	struct plugin_lun *lun = arg;

	pthread_mutex_lock(&lun->lock);
}

static void control_unlock(void *arg)
{
	struct plugin_lun *lun = arg;

	announce(lun);
	pthread_mutex_unlock(&lun->lock);
}

/* A LUN works without a control socket, too. */
static void open_control(struct plugin_lun *lun)
{
	char reason[MEMZBC_REASON_SIZE] = "no control socket: LIO tells no name";
	const char *slash = strchr(lun->backstore, '/');
	int ret = -ENOENT;

	if (slash) {
		const struct memzbc_control_params params = {
			.name = slash + 1,
			.backstore = lun->backstore,
			.state_dir = lun->state_dir,
			.dev = lun->model,
			.lock = control_lock,
			.unlock = control_unlock,
			.arg = lun,
		};

		ret = memzbc_control_add(&params, &lun->control, reason);
	}
	if (ret < 0)
		tcmu_dev_warn(lun->dev, LOG_LINE, reason);
}

static void free_lun(struct plugin_lun *lun)
{
	memzbc_device_close(lun->model);
	pthread_cond_destroy(&lun->changed);
	pthread_mutex_destroy(&lun->lock);
	free(lun);
}

static struct plugin_lun *new_lun(struct tcmu_device *dev)
{
	struct plugin_lun *lun = calloc(1, sizeof(*lun));
	pthread_condattr_t attr;

	if (!lun)
		return NULL;
	lun->dev = dev;
	lun->ring = ring_of(dev);
	if (uio_backstore(tcmu_dev_get_uio_name(dev), lun->backstore) < 0)
		lun->backstore[0] = '\0';
	lun->deadline = MEMZBC_NEVER;
	pthread_mutex_init(&lun->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&lun->changed, &attr);
	pthread_condattr_destroy(&attr);
	return lun;
}

/* The daemon passes no reopen when it comes back to a LUN: the model sees it by the state. */
static int plugin_open(struct tcmu_device *dev, bool reopen)
{
	struct plugin_lun *lun = new_lun(dev);
	char reason[MEMZBC_REASON_SIZE] = "no thread for the LUN";
	int ret;

	(void)reopen;
	if (!lun)
		return -ENOMEM;
	ret = open_model(lun, reason);
	if (ret == 0)
		ret = thread_start(&lun->timer, timer_thread, lun);
	if (ret < 0) {
		tcmu_dev_err(dev, LOG_LINE, reason);
		free_lun(lun);
		return ret;
	}
	tcmur_dev_set_private(dev, lun);
	open_control(lun);
	return 0;
}

/*
 * The LUN was deleted, or the daemon ends: nothing tells which. For a deletion the kernel waits
 * until this returns, and nobody can look at its configfs.
 */
static void plugin_close(struct tcmu_device *dev)
{
	struct plugin_lun *lun = tcmur_dev_get_private(dev);

	tcmur_dev_set_private(dev, NULL);
	memzbc_control_remove(lun->control);
	stop_timer(lun);
	pthread_mutex_lock(&lun->lock);
	memzbc_device_drain(lun->model);
	announce(lun);
	pthread_mutex_unlock(&lun->lock);
	free_lun(lun);
	states_closed();
}

static bool plugin_check_config(const char *cfgstring, char **reason)
{
	struct memzbc_config cfg;
	char line[CONFIG_LINE_SIZE], text[MEMZBC_REASON_SIZE];

	if (memzbc_config_parse(&cfg, config_line(cfgstring, line), text) == 0)
		return true;
	*reason = strdup(text);
	return false;
}

static int refuse_size(struct tcmu_device *dev, uint64_t size)
{
	tcmu_dev_err(dev, "size: stays %llu bytes; %llu bytes refused: the LUN is in use\n",
		     (unsigned long long)tcmu_dev_get_num_lbas(dev) * tcmu_dev_get_block_size(dev),
		     (unsigned long long)size);
	return -EINVAL;
}

/* Attribute dev_config was written. */
static int reconfig_string(struct tcmu_device *dev, const char *string)
{
	struct plugin_lun *lun = tcmur_dev_get_private(dev);
	char line[CONFIG_LINE_SIZE], reason[MEMZBC_REASON_SIZE];
	int ret;

	control_lock(lun);
	ret = replace_faults(lun, config_line(string, line), reason);
	control_unlock(lun);
	if (ret < 0)
		tcmu_dev_err(dev, LOG_LINE, reason);
	return ret;
}

static int plugin_reconfig(struct tcmu_device *dev, struct tcmulib_cfg_info *cfg)
{
	switch (cfg->type) {
	case TCMULIB_CFG_DEV_SIZE:
		return refuse_size(dev, cfg->data.dev_size);
	case TCMULIB_CFG_DEV_CFGSTR:
		return reconfig_string(dev, cfg->data.dev_cfgstring);
	case TCMULIB_CFG_WRITE_CACHE:
		/* WCE is the initiators' (MODE SELECT); restoring a saved LIO configuration sets
		 * this attribute, and means nothing by it. */
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static char *help;

static int plugin_init(void)
{
	char reason[MEMZBC_REASON_SIZE];
	int ret = states_start(states_log);

	if (ret == 0 && memzbc_control_start(MEMZBC_CONTROL_DIR, 0, reason) < 0)
		tcmu_warn(LOG_LINE, reason);
	return ret;
}

static void plugin_destroy(void)
{
	memzbc_control_stop();
	states_stop();
	free(help);
	help = NULL;
}

/* Zeros behind the structure: a later version finds callbacks that it added not to be there. */
static struct {
	struct tcmur_handler handler;
	void *later[16]; // cppcheck-suppress unusedStructMember
} registered = {
	.handler = {
		.name = "memzbc",
		.subtype = "memzbc",
		.check_config = plugin_check_config,
		.reconfig = plugin_reconfig,
		.open = plugin_open,
		.close = plugin_close,
		.handle_cmd = plugin_handle_cmd,
		.init = plugin_init,
		.destroy = plugin_destroy,
	},
};

/**
 * handler_init() - what tcmu-runner calls when it loads the plugin
 *
 * Return: 0, or anything else to have it ignored.
 */
__attribute__((visibility("default"))) int handler_init(void);

int handler_init(void)
{
	help = memzbc_config_help();
	if (!help)
		return -ENOMEM;
	registered.handler.cfg_desc = help;
	return tcmur_register_handler(&registered.handler);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The plugin between a daemon that behaves as tcmu-runner 1.5.4 does and a device model that does
 * as it is told: each command is completed once, in order, in batches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libtcmu.h>
#include <libtcmu_common.h>
#include <libtcmu_log.h>
#include <tcmu-runner.h>
#include <tcmur_device.h>

#include <memzbc/config.h>
#include <memzbc/control.h>
#include <memzbc/device.h>
#include <memzbc/scsi.h>

#include "states.h"
#include "uio.h"

#define RING 1024
#define HELD_FOR 20000000 /* nanoseconds */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

int handler_init(void);

/* What the fake daemon, device and model saw. */
static struct {
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
	struct memzbc_control_params control;
	char control_name[MEMZBC_BACKSTORE_SIZE], control_backstore[MEMZBC_BACKSTORE_SIZE];
	const char *control_dir;
	int control_result, uio_result;
	unsigned int controls; /* now */
} fake;

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

void tcmulib_command_complete(struct tcmu_device *dev, struct tcmulib_cmd *cmd, int result)
{
	(void)dev;
	note_cancel_state();
	fake.completions[cmd->cmd_id]++;
	fake.completed_result[cmd->cmd_id] = result;
	fake.order[fake.completed++] = cmd->cmd_id;
	memcpy(fake.last_sense, cmd->sense_buf, sizeof(fake.last_sense));
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
int memzbc_device_set_faults(struct memzbc_device *dev, const struct memzbc_faults *faults)
{
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
	return 0;
}

void states_closed(void)
{
	fake.states_closed++;
}

void states_stop(void)
{
}

/* ---- the tests ---- */

static struct tcmu_device *const dev = (struct tcmu_device *)&fake;

static int load_and_open(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	strcpy(fake.cfgstring, "memzbc/zone_size=96M/conv=4");
	assert_int_equal(handler_init(), 0);
	return fake.handler->open(dev, false);
}

static int close_and_unload(void **state)
{
	(void)state;
	fake.handler->close(dev);
	fake.handler->destroy();
	return 0;
}

/* What the daemon does when the ring has an event; returns what it got for the last command. */
static int ring_event(unsigned int commands)
{
	int ret = TCMU_STS_ASYNC_HANDLED;
	struct tcmulib_cmd *cmd;

	fake.queued += commands;
	while ((cmd = tcmulib_get_next_command(dev, sizeof(struct tcmur_cmd)))) {
		struct tcmur_cmd daemon_cmd = { .lib_cmd = cmd };

		memcpy(cmd->hm_private, &daemon_cmd, sizeof(daemon_cmd));
		ret = fake.handler->handle_cmd(dev, cmd->hm_private);
	}
	return ret;
}

static void handler_is_passthrough_only(void **state)
{
	const struct tcmur_handler *h = fake.handler;

	(void)state;
	assert_string_equal(h->subtype, "memzbc");
	assert_non_null(h->handle_cmd);
	assert_null(h->read);
	assert_null(h->write);
	assert_null(h->flush);
	assert_int_equal(h->nr_threads, 0);
	assert_non_null(strstr(h->cfg_desc, "zone_size"));
}

static void batch_is_completed_in_order_and_announced_once(void **state)
{
	const unsigned int commands = 64;

	(void)state;
	assert_int_equal(ring_event(commands), TCMU_STS_ASYNC_HANDLED);
	assert_int_equal(fake.completed, commands);
	for (unsigned int i = 0; i < commands; i++) {
		assert_int_equal(fake.completions[i], 1);
		assert_int_equal(fake.order[i], i);
		assert_int_equal(fake.completed_result[i], TCMU_STS_OK);
	}
	assert_int_equal(fake.announcements, 1);
	assert_int_equal(fake.acknowledged, commands);
}

static void long_batch_is_announced_now_and_then(void **state)
{
	(void)state;
	ring_event(RING);
	assert_int_equal(fake.completed, RING);
	assert_int_equal(fake.completed_at_announcement, RING);
	assert_int_equal(fake.acknowledged, RING);
	assert_in_range(fake.announcements, 2, RING / 64);
}

static void status_becomes_tcmu_status(void **state)
{
	static const struct {
		uint8_t status;
		int result;
	} table[] = {
		{ SAM_STAT_GOOD, TCMU_STS_OK },
		{ SAM_STAT_BUSY, TCMU_STS_BUSY },
		{ SAM_STAT_TASK_SET_FULL, TCMU_STS_NO_RESOURCE },
		{ 0x40 /* TASK ABORTED: nothing that a model answers */, TCMU_STS_HW_ERR },
		{ SAM_STAT_CHECK_CONDITION, TCMU_STS_PASSTHROUGH_ERR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		fake.status[i] = table[i].status;
	ring_event(ARRAY_SIZE(table));
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(fake.completed_result[i], table[i].result);
	for (size_t i = 0; i < sizeof(fake.last_sense); i++)
		assert_int_equal(fake.last_sense[i], 0x5e);
}

/* Commands @from to below @to. */
static void hold_more(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		fake.hold[i] = true;
	assert_int_equal(ring_event(to - from), TCMU_STS_ASYNC_HANDLED);
}

static void hold_all(unsigned int commands)
{
	hold_more(0, commands);
}

static void assert_completed_once(unsigned int commands)
{
	assert_int_equal(fake.completed, commands);
	assert_int_equal(fake.completed_at_announcement, commands);
	assert_int_equal(fake.acknowledged, commands);
	for (unsigned int i = 0; i < commands; i++)
		assert_int_equal(fake.completions[i], 1);
}

static void held_commands_complete_when_their_time_comes(void **state)
{
	(void)state;
	hold_all(300);
	for (int i = 0; i < 500 && __atomic_load_n(&fake.acknowledged, __ATOMIC_ACQUIRE) < 300; i++)
		usleep(10000);
	assert_completed_once(300);
}

static void held_commands_are_completed_by_close(void **state)
{
	hold_all(10);
	close_and_unload(state);
	assert_completed_once(10);
	load_and_open(state);
}

static void thread_is_not_cancelled_between(void **state)
{
	int before;

	(void)state;
	ring_event(3);
	assert_false(fake.cancellable);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
	assert_int_equal(before, PTHREAD_CANCEL_ENABLE);
}

/* A daemon with other structures: it keeps the command, and the log says why. */
static void unknown_daemon_is_refused(void **state)
{
	struct {
		struct tcmulib_cmd cmd;
		struct tcmur_cmd daemon_cmd;
	} alloc = { .cmd.hm_private = &alloc.cmd };

	(void)state;
	alloc.daemon_cmd.lib_cmd = &alloc.cmd;
	assert_int_equal(fake.handler->handle_cmd(dev, &alloc.daemon_cmd), TCMU_STS_HW_ERR);
	alloc.daemon_cmd.lib_cmd = (struct tcmulib_cmd *)8;
	assert_int_equal(fake.handler->handle_cmd(dev, &alloc.daemon_cmd), TCMU_STS_HW_ERR);
	assert_int_equal(fake.completed, 0);
	assert_non_null(strstr(fake.log, "version of tcmu-runner"));
}

static void model_is_opened_with_what_lio_has(void **state)
{
	(void)state;
	assert_int_equal(fake.params.token, 4711);
	assert_string_equal(fake.params.backstore, "user_3/lun of uio7");
	assert_int_equal(fake.params.max_transfer, 2048);
}

static void open_fails_with_the_reason_in_the_log(void **state)
{
	(void)state;
	fake.open_result = -ENOMEM;
	assert_int_equal(fake.handler->open(dev, false), -ENOMEM);
	assert_non_null(strstr(fake.log, "the model's reason"));
	strcpy(fake.cfgstring, "memzbc/zone_sice=96M");
	assert_int_equal(fake.handler->open(dev, false), -EINVAL);
	assert_non_null(strstr(fake.log, "zone_sice"));
}

static void serial_is_asked_for_until_it_is_there(void **state)
{
	char serial[MEMZBC_SERIAL_MAX + 1];
	char longest[200];

	(void)state;
	assert_int_equal(fake.params.serial(fake.params.serial_arg, serial), -ENODATA);
	fake.wwn = "";
	assert_int_equal(fake.params.serial(fake.params.serial_arg, serial), -ENODATA);
	fake.wwn = "12345678-abcd";
	assert_int_equal(fake.params.serial(fake.params.serial_arg, serial), 0);
	assert_string_equal(serial, "12345678-abcd");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	fake.wwn = longest;
	assert_int_equal(fake.params.serial(fake.params.serial_arg, serial), 0);
	assert_int_equal(strlen(serial), MEMZBC_SERIAL_MAX);
}

static void check_config_names_the_mistake(void **state)
{
	static const struct {
		const char *string, *named;
	} wrong[] = {
		{ "memzbc/zone_sice=96M", "zone_sice" },
		{ "memzbc/conv=many", "many" },
		{ "memzbc/zone_size=96M;tcmur_cmd_time_out=30", "tcmur_cmd_time_out" },
		{ "memzbc/zone_size=96M;tcmur_cmd_time_out=30", "cmd_time_out" },
	};
	char *reason = NULL;

	(void)state;
	assert_true(fake.handler->check_config("memzbc/zone_size=96M/conv=4", &reason));
	assert_null(reason);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_false(fake.handler->check_config(wrong[i].string, &reason));
		assert_non_null(reason);
		assert_non_null(strstr(reason, wrong[i].named));
		free(reason);
	}
}

static void new_size_is_refused(void **state)
{
	struct tcmulib_cfg_info cfg = {
		.type = TCMULIB_CFG_DEV_SIZE,
		.data.dev_size = 16ull << 30,
	};

	(void)state;
	assert_int_equal(fake.handler->reconfig(dev, &cfg), -EINVAL);
	assert_non_null(strstr(fake.log, "8589934592"));
	assert_non_null(strstr(fake.log, "17179869184"));
}

/* What the kernel passes on when @string is written to attribute dev_config. */
static int reconfig(const char *string)
{
	char text[MEMZBC_CONFIG_LEN_MAX + 1];
	struct tcmulib_cfg_info cfg = {
		.type = TCMULIB_CFG_DEV_CFGSTR,
		.data.dev_cfgstring = text,
	};

	strcpy(text, string);
	return fake.handler->reconfig(dev, &cfg);
}

static void new_geometry_is_refused(void **state)
{
	(void)state;
	assert_int_equal(reconfig("memzbc/zone_size=128M/conv=4/reorder=8\n"), -EINVAL);
	assert_non_null(strstr(fake.log, "zone_size=128M"));
	assert_non_null(strstr(fake.log, "96M"));
	/* One line. */
	assert_ptr_equal(strchr(fake.log, '\n'), fake.log + strlen(fake.log) - 1);
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=5\n"), -EINVAL);
	assert_non_null(strstr(fake.log, "conv=5"));
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4/reorder=many\n"), -EINVAL);
	assert_non_null(strstr(fake.log, "many"));
	assert_int_equal(fake.faults_set, 0);
}

static void new_faults_are_taken(void **state)
{
	(void)state;
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4/reorder=8/hold=3\n"), 0);
	assert_int_equal(fake.cfg.faults.reorder, 8);
	assert_int_equal(fake.cfg.faults.hold, 3);
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4"), 0);
	assert_int_equal(fake.cfg.faults.reorder, 0);
	assert_int_equal(fake.cfg.faults.hold, 0);
	assert_int_equal(fake.faults_set, 2);
}

static void commands_that_new_faults_let_go_are_announced(void **state)
{
	(void)state;
	hold_all(10);
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4\n"), 0);
	assert_completed_once(10);
	hold_more(10, 20);
	fake.control.lock(fake.control.arg);
	memzbc_device_set_faults(fake.control.dev, &fake.cfg.faults);
	fake.control.unlock(fake.control.arg);
	assert_completed_once(20);
}

/* The kernel keeps the newline that echo wrote, and tells it to the daemon that comes next. */
static void config_with_a_newline_is_opened(void **state)
{
	char *reason = NULL;

	close_and_unload(state);
	memset(&fake, 0, sizeof(fake));
	strcpy(fake.cfgstring, "memzbc/zone_size=96M/conv=4\n");
	assert_int_equal(handler_init(), 0);
	assert_true(fake.handler->check_config(fake.cfgstring, &reason));
	assert_int_equal(fake.handler->open(dev, false), 0);
}

static void lun_has_a_control_socket_while_it_is_open(void **state)
{
	assert_string_equal(fake.control_dir, "/run/memzbc");
	assert_string_equal(fake.control_name, "lun of uio7");
	assert_string_equal(fake.control_backstore, "user_3/lun of uio7");
	assert_string_equal(fake.control.state_dir, "/state/of/uio7");
	assert_ptr_equal(fake.control.dev, &fake);
	assert_int_equal(fake.controls, 1);
	close_and_unload(state);
	assert_int_equal(fake.controls, 0);
	assert_null(fake.control_dir);
	load_and_open(state);
}

static void lun_opens_without_a_control_socket(void **state)
{
	close_and_unload(state);
	fake.control_result = -ENOSPC;
	fake.model_closed = 0;
	assert_int_equal(handler_init(), 0);
	assert_int_equal(fake.handler->open(dev, false), 0);
	assert_non_null(strstr(fake.log, "no socket for you"));
	fake.handler->close(dev);
	fake.control_result = 0;
	fake.uio_result = -EINVAL;
	assert_int_equal(fake.handler->open(dev, false), 0);
	assert_int_equal(fake.controls, 0);
}

static void write_cache_attribute_is_accepted(void **state)
{
	struct tcmulib_cfg_info cfg = { .type = TCMULIB_CFG_WRITE_CACHE };

	(void)state;
	assert_int_equal(fake.handler->reconfig(dev, &cfg), 0);
	cfg.type = (enum tcmulib_cfg_type)99;
	assert_int_equal(fake.handler->reconfig(dev, &cfg), -EOPNOTSUPP);
}

static void close_hands_the_state_over(void **state)
{
	load_and_open(state);
	close_and_unload(state);
	assert_int_equal(fake.model_closed, 1);
	assert_int_equal(fake.states_closed, 1);
	assert_null(fake.private);
}

#define WITH_LUN(f) cmocka_unit_test_setup_teardown(f, load_and_open, close_and_unload)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LUN(handler_is_passthrough_only),
		WITH_LUN(batch_is_completed_in_order_and_announced_once),
		WITH_LUN(long_batch_is_announced_now_and_then),
		WITH_LUN(status_becomes_tcmu_status),
		WITH_LUN(held_commands_complete_when_their_time_comes),
		WITH_LUN(held_commands_are_completed_by_close),
		WITH_LUN(thread_is_not_cancelled_between),
		WITH_LUN(unknown_daemon_is_refused),
		WITH_LUN(model_is_opened_with_what_lio_has),
		WITH_LUN(open_fails_with_the_reason_in_the_log),
		WITH_LUN(serial_is_asked_for_until_it_is_there),
		WITH_LUN(check_config_names_the_mistake),
		WITH_LUN(new_size_is_refused),
		WITH_LUN(new_geometry_is_refused),
		WITH_LUN(new_faults_are_taken),
		WITH_LUN(commands_that_new_faults_let_go_are_announced),
		WITH_LUN(config_with_a_newline_is_opened),
		WITH_LUN(lun_has_a_control_socket_while_it_is_open),
		WITH_LUN(lun_opens_without_a_control_socket),
		WITH_LUN(write_cache_attribute_is_accepted),
		cmocka_unit_test(close_hands_the_state_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

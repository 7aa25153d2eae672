// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The plugin between a daemon and a device model that are fakes: each command is completed once, in
 * order, in batches.
 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int handler_init(void);

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
		/* Without the ring's place libtcmu cannot be made to say it. */
		{ SAM_STAT_RESERVATION_CONFLICT, TCMU_STS_HW_ERR },
		{ SAM_STAT_CHECK_CONDITION, TCMU_STS_PASSTHROUGH_ERR },
	};

	close_and_unload(state);
	memset(&fake, 0, sizeof(fake));
	fake.no_ring = true;
	strcpy(fake.cfgstring, "memzbc/zone_size=96M/conv=4");
	assert_int_equal(handler_init(), 0);
	assert_int_equal(fake.handler->open(dev, false), 0);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		fake.status[i] = table[i].status;
	ring_event(ARRAY_SIZE(table));
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(fake.completed_result[i], table[i].result);
	for (size_t i = 0; i < sizeof(fake.last_sense); i++)
		assert_int_equal(fake.last_sense[i], 0x5e);
}

/* Entries of commands of different lengths from @start on, among others, all the ring round. */
static void lay_ring(uint32_t start)
{
	static const struct {
		enum tcmu_opcode op;
		uint32_t len;
	} entries[] = {
		{ TCMU_OP_CMD, 256 }, { TCMU_OP_PAD, 128 }, { TCMU_OP_TMR, 128 },
		{ TCMU_OP_CMD, 512 }, { TCMU_OP_CMD, 256 }, { TCMU_OP_PAD, 768 },
	};
	struct tcmu_mailbox *mb = &fake.shared.mailbox;
	uint32_t offset = start;

	mb->cmdr_off = RING_OFFSET;
	mb->cmdr_size = RING_BYTES;
	mb->cmd_tail = start;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(entries); i++) {
		struct tcmu_cmd_entry *entry = ring_entry(offset);
		size_t k = i % ARRAY_SIZE(entries);

		entry->hdr.len_op = entries[k].len | entries[k].op;
		entry->hdr.cmd_id = 999;
		offset = (offset + entries[k].len) % RING_BYTES;
	}
	mb->cmd_head = (start + RING_BYTES - 768) % RING_BYTES;
}

static void kernel_gets_any_status(void **state)
{
	static const uint8_t table[] = {
		SAM_STAT_RESERVATION_CONFLICT, SAM_STAT_GOOD, SAM_STAT_RESERVATION_CONFLICT,
		SAM_STAT_CHECK_CONDITION, 0x40 /* TASK ABORTED */, SAM_STAT_BUSY,
	};
	unsigned int found = 0;

	(void)state;
	lay_ring(2048);
	memcpy(fake.status, table, sizeof(table));
	ring_event(ARRAY_SIZE(table));
	for (uint32_t offset = 0; offset < RING_BYTES;) {
		const struct tcmu_cmd_entry *entry = ring_entry(offset);

		if (entry->hdr.cmd_id != 999) {
			assert_int_equal(entry->rsp.scsi_status, table[entry->hdr.cmd_id]);
			found++;
		} else {
			assert_int_not_equal(tcmu_hdr_get_op(entry->hdr.len_op), TCMU_OP_CMD);
			assert_int_equal(entry->rsp.scsi_status, 0);
		}
		offset += tcmu_hdr_get_len(entry->hdr.len_op);
	}
	assert_int_equal(found, ARRAY_SIZE(table));
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

static void new_faults_that_fail_are_told(void **state)
{
	(void)state;
	fake.faults_result = -ENOSPC;
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4/trace=16777216\n"), -ENOSPC);
	assert_non_null(strstr(fake.log, "refused by the fake"));
}

static void commands_that_new_faults_let_go_are_announced(void **state)
{
	char reason[MEMZBC_REASON_SIZE];

	(void)state;
	hold_all(10);
	assert_int_equal(reconfig("memzbc/zone_size=96M/conv=4\n"), 0);
	assert_completed_once(10);
	hold_more(10, 20);
	fake.control.lock(fake.control.arg);
	memzbc_device_set_faults(fake.control.dev, &fake.cfg.faults, reason);
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

/* The daemon does without a plugin that it could not start, and calls nothing to end it. */
static void plugin_that_cannot_start_leaves_no_thread(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.states_result = -EAGAIN;
	assert_int_not_equal(handler_init(), 0);
	assert_null(fake.control_dir);
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
		WITH_LUN(kernel_gets_any_status),
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
		WITH_LUN(new_faults_that_fail_are_told),
		WITH_LUN(commands_that_new_faults_let_go_are_announced),
		WITH_LUN(config_with_a_newline_is_opened),
		WITH_LUN(lun_has_a_control_socket_while_it_is_open),
		WITH_LUN(lun_opens_without_a_control_socket),
		WITH_LUN(write_cache_attribute_is_accepted),
		cmocka_unit_test(close_hands_the_state_over),
		cmocka_unit_test(plugin_that_cannot_start_leaves_no_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

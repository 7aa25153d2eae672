// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* The requests of control sockets, and where the sockets are. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control-harness.h"

static const struct memzbc_faults *faults(const struct served *served)
{
	return memzbc_device_faults(served->rig->device);
}

static void version_tells_the_lun(void **state)
{
	struct served *served = serve("z0", "user_3/z0");
	const char *answer = ask_once("z0.sock", "version");

	(void)state;
	assert_contains(answer, "{\"ok\":true,");
	assert_contains(answer, "\"protocol\":1");
	assert_contains(answer, "\"name\":\"z0\"");
	assert_contains(answer, "\"backstore\":\"user_3/z0\"");
	serve_end(served);
}

static void help_has_all_requests(void **state)
{
	static const char *const names[] = {
		"version", "help", "config", "get", "set KEY=VALUE...", "zone FIRST[-LAST] ",
		"stats", "reset-stats", "trace", "power-loss [COUNT]",
	};
	struct served *served = serve("z0", "user_0/z0");
	const char *answer = ask_once("z0.sock", "help");
	char quoted[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(quoted, sizeof(quoted), "{\"request\":\"%s", names[i]);
		assert_contains(answer, quoted);
	}
	serve_end(served);
}

static void set_changes_what_get_shows(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");

	(void)state;
	assert_contains(ask(fd, "get reorder hold_time"),
			"{\"ok\":true,\"settings\":{\"reorder\":0,\"hold_time\":\"2s\"}}");
	assert_contains(ask(fd, "set reorder=16 hold_time=5ms cache=1M"), "\"reorder\": 16,");
	assert_int_equal(faults(served)->reorder, 16);
	assert_int_equal(faults(served)->hold_time, 5000000);
	assert_int_equal(faults(served)->cache, 1 << 20);
	assert_contains(ask(fd, "get"), "\"reorder\": 16,");
	assert_contains(ask(fd, "get cache"), "\"settings\":{\"cache\":1048576}}");
	assert_contains(ask(fd, "config"), "/cache=1M/");
	assert_contains(ask(fd, "config"), "\"zones\":12,\"capacity\":24576,\"zone_size\":2048,");
	close(fd);
	serve_end(served);
}

static void set_is_all_or_nothing(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");

	(void)state;
	assert_contains(ask(fd, "set reorder=4 hold=many"), "{\"ok\":false,\"error\":\"hold=many");
	assert_contains(ask(fd, "set reorder=4 hold=1 reorder=5"), "given twice");
	assert_contains(ask(fd, "set reorder=4 zone_size=2M"), "\"zone_size=2M: ");
	assert_contains(ask(fd, "set nonsense=4"), "nonsense");
	assert_contains(ask(fd, "set"), "usage: set KEY=VALUE...");
	assert_contains(ask(fd, "get zone_size"), "'zone_size' is no key");
	assert_int_equal(faults(served)->reorder, 0);
	assert_int_equal(faults(served)->hold, 0);
	/* The value in force is no change. */
	assert_contains(ask(fd, "set reorder=4 zone_size=1M"), "{\"ok\":true");
	assert_int_equal(faults(served)->reorder, 4);
	close(fd);
	serve_end(served);
}

/* A write above the write pointer waits, until the pointer is moved there behind its back. */
static void zone_moves_a_write_pointer_to_a_write_that_waits(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	struct rig *rig = served->rig;
	uint64_t start = rig_zone(rig, 0);
	struct io *io;

	(void)state;
	assert_contains(ask_once("z0.sock", "set hold=4"), "{\"ok\":true");
	pthread_mutex_lock(&served->lock);
	io = submit_write(rig, start + 2 * STEP, STEP, 1);
	expect_pending(io);
	pthread_mutex_unlock(&served->lock);
	assert_contains(ask_once("z0.sock", "zone 2 wp=16"), "{\"ok\":true,\"zones\":1}");
	expect_io_good(io);
	expect_zone(rig->dev, start, ZONE_IMP_OPEN, start + 3 * STEP);
	serve_end(served);
}

static void zone_takes_ranges(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	struct dev *dev = served->rig->dev;

	(void)state;
	assert_contains(ask_once("z0.sock", "zone 3-5 offline"), "\"zones\":3}");
	for (uint32_t slot = 2; slot < 7; slot++)
		assert_int_equal(zone_at(dev, geo_start(dev->geo, slot)).cond,
				 slot >= 3 && slot <= 5 ? ZONE_OFFLINE : ZONE_EMPTY);
	assert_contains(ask_once("z0.sock", "zone 4 closed wp=8"), "\"zones\":1}");
	expect_zone(dev, geo_start(dev->geo, 4), ZONE_CLOSED, geo_start(dev->geo, 4) + 8);
	serve_end(served);
}

static void zone_judges_all_before_it_changes_one(void **state)
{
	static const struct {
		const char *request, *error;
	} wrong[] = {
		{ "zone 10-12 full", "zone 12; accepted: 0 to 11" },
		{ "zone 1-3 full", "zone 1 is conventional" },
		{ "zone 2-3 notwp", "zone 2 has a write pointer" },
		{ "zone 5-4 full", "5-4" },
		{ "zone 3-99999999999999999999 full", "3-99999999999999999999" },
		{ "zone all full", "'all'" },
		{ "zone -1 full", "'-1'" },
		{ "zone 2", "usage: zone" },
		{ "zone 2 open", "'open'; accepted: empty, closed, full" },
		{ "zone 2 full full", "'full'; accepted" },
		{ "zone 2 wp=8 closed", "'closed'; accepted" },
		{ "zone 2 wp=8 wp=8", "'wp=8'; accepted" },
		{ "zone 2 wp=x", "wp=x" },
		{ "zone 2 wp=", "wp=" },
		{ "zone 2 wp=7", "multiples of 8" },
		{ "zone 2 wp=2056", "0 to 2048" },
		{ "zone 2 full wp=8", "goes with closed" },
	};
	struct served *served = serve("z0", "user_0/z0");
	struct dev *dev = served->rig->dev;
	struct snapshot *snap = snapshot_take(dev);
	int fd = peer_open("z0.sock");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *answer = ask(fd, wrong[i].request);

		assert_contains(answer, "{\"ok\":false");
		assert_contains(answer, wrong[i].error);
	}
	close(fd);
	snapshot_compare(dev, snap, "wrong zone requests", __FILE__, __LINE__);
	serve_end(served);
}

static void statistics_are_shown_and_reset(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");
	const char *answer;

	(void)state;
	assert_contains(ask(fd, "set stats=1"), "{\"ok\":true");
	pthread_mutex_lock(&served->lock);
	submit_write(served->rig, rig_zone(served->rig, 0), STEP, 1);
	pthread_mutex_unlock(&served->lock);
	answer = ask(fd, "stats");
	assert_contains(answer, "{\"ok\":true,\"stats\":{");
	assert_contains(answer, "\"write\":{\"commands\":1,\"bytes\":4096,");
	assert_contains(ask(fd, "reset-stats"), "{\"ok\":true}");
	assert_contains(ask(fd, "stats"), "\"write\":{\"commands\":0,\"bytes\":0,");
	close(fd);
	serve_end(served);
}

static void trace_has_a_path_while_it_is_on(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	char path[200];

	(void)state;
	assert_contains(ask_once("z0.sock", "trace"), "\"trace\":null}");
	assert_contains(ask_once("z0.sock", "set trace=16"), "{\"ok\":true");
	snprintf(path, sizeof(path), "\"trace\":\"%s/trace\"}", served->rig->dev->dir);
	assert_contains(ask_once("z0.sock", "trace"), path);
	serve_end(served);
}

static void power_loss_undoes_writes(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	uint64_t start = rig_zone(served->rig, 0);
	int fd = peer_open("z0.sock");

	(void)state;
	assert_contains(ask(fd, "set cache=1M"), "{\"ok\":true");
	pthread_mutex_lock(&served->lock);
	for (uint64_t i = 0; i < 4; i++)
		submit_write(served->rig, start + i * STEP, STEP, 1);
	pthread_mutex_unlock(&served->lock);
	assert_contains(ask(fd, "power-loss many"), "many");
	assert_contains(ask(fd, "power-loss 1"), "{\"ok\":true,\"writes\":1,\"bytes\":4096}");
	expect_zone(served->rig->dev, start, ZONE_CLOSED, start + 3 * STEP);
	assert_contains(ask(fd, "power-loss"), "{\"ok\":true,\"writes\":0,\"bytes\":0}");
	close(fd);
	serve_end(served);
}

static void strange_requests_are_refused(void **state)
{
	static const char *const requests[] = {
		"", " ", "\t", "VERSION", "versions", "version now", "set=1", "\"", "\\", "\x7f",
		"\xff\xfe", "\x01", "help help", "%s%n", "{\"request\":\"version\"}",
	};
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		assert_contains(ask(fd, requests[i]), "{\"ok\":false,\"error\":\"");
	peer_send(fd, "ver\0sion\n", 9);
	assert_contains(peer_receive(fd), "unknown request 'ver\\u0001sion'");
	assert_contains(ask(fd, "\t version \t"), "{\"ok\":true");
	assert_contains(ask(fd, "version\r"), "{\"ok\":true");
	close(fd);
	serve_end(served);
}

static void only_this_user_can_connect(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	char path[128];
	struct stat st;

	(void)state;
	assert_int_equal(stat(control_dir(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/z0.sock", control_dir());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_int_equal(st.st_uid, geteuid());
	serve_end(served);
	assert_int_equal(stat(path, &st), -1);
}

static void make_dead_socket(const char *file)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", control_dir(), file);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
}

static void dead_socket_is_replaced(void **state)
{
	struct served *served;

	(void)state;
	make_dead_socket("z0.sock");
	served = serve("z0", "user_0/z0");
	assert_contains(ask_once("z0.sock", "version"), "{\"ok\":true");
	serve_end(served);
}

static void luns_of_one_name_have_two_sockets(void **state)
{
	struct served *first = serve("z0", "user_0/z0"), *second = serve("z0", "user_12/z0");

	(void)state;
	assert_contains(ask_once("z0.sock", "version"), "user_0/z0");
	assert_contains(ask_once("z0@user_12.sock", "version"), "user_12/z0");
	serve_stop(first);
	assert_contains(ask_once("z0@user_12.sock", "version"), "user_12/z0");
	serve_end(second);
	serve_end(first);
}

static void names_are_made_safe(void **state)
{
	static const struct {
		const char *name, *file;
	} table[] = {
		{ "My-disk_0.x", "My-disk_0.x.sock" },
		{ "..", "%2E..sock" },
		{ ".hidden", "%2Ehidden.sock" },
		{ "a b", "a%20b.sock" },
		{ "a%20b", "a%2520b.sock" },
		{ "z0@user_1", "z0%40user_1.sock" },
		{ "\xc3\xa4\n", "%C3%A4%0A.sock" },
	};
	char backstore[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct served *served;

		snprintf(backstore, sizeof(backstore), "user_0/%s", table[i].name);
		served = serve(table[i].name, backstore);
		assert_contains(ask_once(table[i].file, "version"), "{\"ok\":true");
		serve_end(served);
	}
}

static void name_that_does_not_fit_is_told(void **state)
{
	char name[200], reason[MEMZBC_REASON_SIZE];
	struct memzbc_control_lun *lun;
	const struct memzbc_control_params params = {
		.name = name, .backstore = "user_0/long", .state_dir = "/",
	};

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(memzbc_control_add(&params, &lun, reason), -ENAMETOOLONG);
	assert_null(lun);
	assert_contains(reason, "no control socket");
	memzbc_control_remove(lun);
}

static void directory_of_others_is_refused(void **state)
{
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_control_lun *lun;
	const struct memzbc_control_params params = {
		.name = "z0", .backstore = "user_0/z0", .state_dir = "/",
	};

	memzbc_control_stop();
	chmod(control_dir(), 0777);
	assert_int_equal(memzbc_control_start(control_dir(), 0, reason), -EPERM);
	assert_contains(reason, control_dir());
	assert_int_equal(memzbc_control_add(&params, &lun, reason), -ESRCH);
	memzbc_control_stop();
	rmdir(control_dir());
	control_setup(state);
}

#define SERVED(f) cmocka_unit_test_setup_teardown(f, control_setup, control_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(version_tells_the_lun),
		SERVED(help_has_all_requests),
		SERVED(set_changes_what_get_shows),
		SERVED(set_is_all_or_nothing),
		SERVED(zone_moves_a_write_pointer_to_a_write_that_waits),
		SERVED(zone_takes_ranges),
		SERVED(zone_judges_all_before_it_changes_one),
		SERVED(statistics_are_shown_and_reset),
		SERVED(trace_has_a_path_while_it_is_on),
		SERVED(power_loss_undoes_writes),
		SERVED(strange_requests_are_refused),
		SERVED(only_this_user_can_connect),
		SERVED(dead_socket_is_replaced),
		SERVED(luns_of_one_name_have_two_sockets),
		SERVED(names_are_made_safe),
		SERVED(name_that_does_not_fit_is_told),
		SERVED(directory_of_others_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

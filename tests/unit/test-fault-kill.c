// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Faults outlive the process: those in force, whenever it dies. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memzbc/device.h>

#include "fault-settings.h"
#include "store.h"

#define CONFIG "zone_size=1M/conv=2/hold=7/error=busy@n3"
#define KILLS 100

static uint64_t now(void *arg)
{
	(void)arg;
	return 0;
}

static void complete(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status)
{
	(void)arg;
	(void)tag;
	(void)cmd;
	(void)status;
}

static void arm(void *arg, uint64_t deadline)
{
	(void)arg;
	(void)deadline;
}

static const struct memzbc_device_ops ops = { .now = now, .complete = complete, .arm = arm };

/* The device of dev's state; its LUN must be closed. */
static struct memzbc_device *open_device(struct dev *dev, const char *config)
{
	struct memzbc_config cfg = completed_config(config);
	struct memzbc_lun_params params = {
		.cfg = &cfg, .state_dir = dev->dir, .token = dev->token,
	};
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_device *device;

	if (memzbc_device_open(&params, &ops, NULL, &device, reason))
		fail_dev(dev, __FILE__, __LINE__, "open: %s", reason);
	return device;
}

static void set_faults(struct memzbc_device *device, const struct memzbc_faults *faults)
{
	char reason[MEMZBC_REASON_SIZE];

	assert_int_equal(memzbc_device_set_faults(device, faults, reason), 0);
}

/* Opens and closes a device, which must have the faults. */
static void expect_stored(struct dev *dev, const char *config, const struct memzbc_faults *faults)
{
	struct memzbc_device *device = open_device(dev, config);

	expect_faults("device", memzbc_device_faults(device), faults);
	expect_faults("LUN", &memzbc_lun_config(memzbc_device_lun(device))->faults, faults);
	memzbc_device_close(device);
}

static void store_faults_of(struct dev *dev, const struct memzbc_faults *faults)
{
	struct memzbc_device *device = open_device(dev, CONFIG);

	set_faults(device, faults);
	memzbc_device_close(device);
}

static struct dev *new_state(void)
{
	struct dev *dev = dev_open(CONFIG, SETTINGS_SIZE, 512);

	dev_stop(dev);
	return dev;
}

static void config_faults_until_changed(void **state)
{
	struct memzbc_config cfg = completed_config(CONFIG);
	struct dev *dev = new_state();
	struct memzbc_faults changed;

	(void)state;
	expect_stored(dev, CONFIG, &cfg.faults);
	/* Those that the LUN was created with, not those of a later config. */
	expect_stored(dev, "zone_size=1M/conv=2/reorder=5", &cfg.faults);
	random_faults(&changed, cfg.capacity);
	store_faults_of(dev, &changed);
	expect_stored(dev, CONFIG, &changed);
	expect_stored(dev, "zone_size=1M/conv=2", &changed);
	/* Another LUN. */
	dev->token++;
	expect_stored(dev, CONFIG, &cfg.faults);
	dev_start(dev);
	dev_close(dev);
}

static void every_change_is_stored(void **state)
{
	struct dev *dev = new_state();
	struct memzbc_device *device = open_device(dev, CONFIG);
	struct memzbc_faults faults;

	(void)state;
	for (int i = 0; i < 5; i++) {
		random_faults(&faults, SETTINGS_LAST_LBA);
		set_faults(device, &faults);
		expect_faults("device", memzbc_device_faults(device), &faults);
		memzbc_device_close(device);
		device = open_device(dev, CONFIG);
		expect_faults("reopened", memzbc_device_faults(device), &faults);
	}
	memzbc_device_close(device);
	dev_start(dev);
	dev_close(dev);
}

/* Two sets of faults that differ in all they can. */
struct pair {
	struct memzbc_faults old, new;
};

static struct pair random_pair(void)
{
	struct pair pair;

	random_faults(&pair.old, SETTINGS_LAST_LBA);
	random_faults(&pair.new, SETTINGS_LAST_LBA);
	pair.old.seed = ~pair.new.seed;
	pair.old.stats = !pair.new.stats;
	return pair;
}

/* In a child process, until it is killed. */
static void change_for_ever(struct dev *dev, void *arg)
{
	const struct pair *pair = arg;
	struct memzbc_device *device;

	dev_stop(dev);
	device = open_device(dev, CONFIG);
	for (;;) {
		set_faults(device, &pair->old);
		set_faults(device, &pair->new);
	}
}

/* The seed tells which of the two it is; all else must be of the same. */
static void killed_while_changing(void **state)
{
	struct dev *dev = new_state();
	struct pair pair = random_pair();

	(void)state;
	store_faults_of(dev, &pair.old);
	for (int i = 0; i < KILLS; i++) {
		struct memzbc_device *device;
		bool old;

		dev_killed(dev, change_for_ever, &pair, 2000 + (unsigned int)(random_u64() % 3000));
		device = open_device(dev, CONFIG);
		old = memzbc_device_faults(device)->seed == pair.old.seed;
		memzbc_device_close(device);
		expect_stored(dev, CONFIG, old ? &pair.old : &pair.new);
	}
	dev_start(dev);
	dev_close(dev);
}

/* The table, as a process sees it that comes after. */
static const struct table *map_table(struct dev *dev)
{
	char path[128];
	const struct table *table;
	int fd;

	snprintf(path, sizeof(path), "%s/table", dev->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	table = mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(table, MAP_FAILED);
	return table;
}

/* A child that stops, sets the new faults when it goes on, and stops again. -1: no ptrace here. */
static pid_t start_stepped(struct dev *dev, const struct pair *pair)
{
	struct memzbc_device *device = open_device(dev, CONFIG);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		set_faults(device, &pair->new);
		raise(SIGSTOP);
		_exit(1);
	}
	memzbc_device_close(device);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status) ? pid : -1;
}

/* One instruction; false when the child has stopped by itself. */
static bool step(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return WSTOPSIG(status) == SIGTRAP;
}

/* Wherever the process is, one that comes after it finds the old faults or the new. */
static void whole_at_every_instruction(void **state)
{
	struct dev *dev = new_state();
	struct pair pair = random_pair();
	const struct table *table = map_table(dev);
	uint64_t steps = 0;
	bool changed = false;
	pid_t pid;

	(void)state;
	store_faults_of(dev, &pair.old);
	pid = start_stepped(dev, &pair);
	if (pid < 0)
		skip();
	while (step(pid)) {
		const struct memzbc_faults *faults = &table->faults[table->faults_in_force];

		changed |= faults->seed == pair.new.seed;
		expect_faults("table", faults, changed ? &pair.new : &pair.old);
		steps++;
	}
	assert_true(changed && steps > 10);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	expect_stored(dev, CONFIG, &pair.new);
	munmap((void *)table, sizeof(*table));
	dev_start(dev);
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_faults_until_changed),
		cmocka_unit_test(every_change_is_stored),
		cmocka_unit_test(killed_while_changing),
		cmocka_unit_test(whole_at_every_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

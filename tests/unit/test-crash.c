// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Dying between any two instructions of a command. The command is executed in a child process, step
 * by step; whenever its files have changed, a copy of them is opened as after a kill at that place.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "store.h"

#define STEP 8			/* logical blocks of a write */
#define ZONE 128		/* logical blocks */
#define Z(i) ((2 + (i)) * ZONE)	/* start of SWR zone @i */
#define CONFIG "zone_size=64K/conv=2/lba=512/pblk=4096/max_open=2"
#define NO_PTRACE 77		/* exit status */

/* One experiment. */
struct crash {
	void (*before)(struct dev *dev);	/* in the parent, then all is acknowledged */
	void (*unanswered)(struct dev *dev);	/* likewise, but not acknowledged; or NULL */
	void (*command)(struct dev *dev);	/* the one that is interrupted */
	void (*after)(struct dev *dev);		/* in the parent, for each state that it left */
};

/*
 * What is looked at after each step: all of the table but the far ends of its long lists, and one
 * word of each page of the data.
 */
#define LIST_WATCHED (16 * sizeof(struct resend))
#define PAGE 4096

/* The files of the child's LUN, as they are and as they were at the last look. */
struct watched {
	uint8_t *now[2], *before[2];
	size_t len[2];
};

static void watch(struct watched *w, const struct dev *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_files); i++) {
		char path[128];
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dev->dir, state_files[i]);
		fd = open(path, O_RDONLY);
		assert_true(fd >= 0 && fstat(fd, &st) == 0);
		w->len[i] = (size_t)st.st_size;
		w->now[i] = mmap(NULL, w->len[i], PROT_READ, MAP_SHARED, fd, 0);
		assert_true(w->now[i] != MAP_FAILED);
		w->before[i] = malloc(w->len[i]);
		memcpy(w->before[i], w->now[i], w->len[i]);
		close(fd);
	}
}

static void unwatch(struct watched *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_files); i++) {
		munmap(w->now[i], w->len[i]);
		free(w->before[i]);
	}
}

static bool range_changed(struct watched *w, size_t file, size_t from, size_t to)
{
	if (!memcmp(w->before[file] + from, w->now[file] + from, to - from))
		return false;
	memcpy(w->before[file] + from, w->now[file] + from, to - from);
	return true;
}

static bool has_changed(struct watched *w)
{
	const size_t executed = offsetof(struct table, executed);
	const size_t expected = offsetof(struct table, expected);
	bool changed = range_changed(w, 0, 0, executed + LIST_WATCHED);

	changed |= range_changed(w, 0, expected, expected + LIST_WATCHED);
	changed |= range_changed(w, 0, offsetof(struct table, zones), w->len[0]);
	for (size_t at = 0; at < w->len[1]; at += PAGE)
		changed |= range_changed(w, 1, at, at + sizeof(uint64_t));
	return changed;
}

static void traced_child(struct dev *dev, const struct crash *crash)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	dev_start(dev);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(NO_PTRACE);
	raise(SIGSTOP);
	crash->command(dev);
	raise(SIGSTOP);
	_exit(1);
}

static void check_copy(const struct dev *dev, const struct crash *crash)
{
	struct dev *copy = dev_copy(dev);

	crash->after(copy);
	dev_close(copy);
}

/* Steps until the child stops by itself; returns the number of states seen. */
static unsigned int step_through(struct dev *dev, const struct crash *crash, pid_t pid)
{
	unsigned int states = 1;
	struct watched w;
	int status;

	watch(&w, dev);
	check_copy(dev, crash);
	do {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			fail_dev(dev, __FILE__, __LINE__, "child ended: %x", status);
		if (has_changed(&w)) {
			check_copy(dev, crash);
			states++;
		}
	} while (WSTOPSIG(status) != SIGSTOP);
	unwatch(&w);
	return states;
}

/* Returns the number of different states in which the command can leave the files. */
static unsigned int run_crash(const struct crash *crash)
{
	struct dev *dev = dev_open(CONFIG, 512 << 10, 512);
	unsigned int states;
	int status;
	pid_t pid;

	crash->before(dev);
	dev->unacknowledged = true;
	if (crash->unanswered)
		crash->unanswered(dev);
	dev_stop(dev);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		traced_child(dev, crash);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PTRACE) {
		dev_start(dev);
		dev_close(dev);
		skip();
	}
	states = step_through(dev, crash, pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	dev_start(dev);
	crash->after(dev);
	dev_close(dev);
	return states;
}

static uint8_t write_step(struct dev *dev, uint64_t zone, unsigned int i, uint32_t generation)
{
	return write_blocks(dev, zone + (uint64_t)i * STEP, STEP, generation);
}

static uint32_t open_zones(struct dev *dev)
{
	uint32_t open;

	expect_good(dev, report_zones(dev, 0, REPORT_IMP_OPEN, 64));
	open = dev->report.list_len / 64;
	expect_good(dev, report_zones(dev, 0, REPORT_EXP_OPEN, 64));
	return open + dev->report.list_len / 64;
}

/* A write that ended at @end: either all of it is there, or nothing. */
static void expect_written_or_not(struct dev *dev, uint64_t zone, uint64_t before, uint64_t end)
{
	uint64_t wp = zone_at(dev, zone).wp;

	expect_true(dev, wp == zone + before || wp == zone + end);
	if (wp == zone + end)
		expect_data(dev, zone + before, end - before, 2);
	else
		expect_data(dev, zone + before, end - before, 0);
}

/* WRITE */
static void one_written(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(0), 0, 1));
}

static void write_second(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(0), 1, 2));
}

static void after_write(struct dev *dev)
{
	expect_written_or_not(dev, Z(0), STEP, 2 * STEP);
	/* It comes again, and is taken once. */
	expect_good(dev, write_step(dev, Z(0), 1, 2));
	expect_sense(dev, write_step(dev, Z(0), 1, 3), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_sense(dev, write_step(dev, Z(0), 0, 3), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + 2 * STEP);
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, Z(0)));
	expect_data(dev, Z(0), STEP, 1);
	expect_data(dev, Z(0) + STEP, STEP, 2);
	expect_data(dev, Z(0) + 2 * STEP, ZONE - 2 * STEP, 0);
}

static void during_a_write(void **state)
{
	static const struct crash crash = { one_written, NULL, write_second, after_write };

	(void)state;
	/* At least: data, record of the write, write pointer */
	assert_in_range(run_crash(&crash), 4, 100);
}

/* WRITE that fills the zone */
static void all_but_last_written(struct dev *dev)
{
	expect_good(dev, write_blocks(dev, Z(0), ZONE - STEP, 1));
}

static void write_last(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(0), ZONE / STEP - 1, 2));
}

static void after_last(struct dev *dev)
{
	expect_written_or_not(dev, Z(0), ZONE - STEP, ZONE);
	expect_good(dev, write_step(dev, Z(0), ZONE / STEP - 1, 2));
	expect_sense(dev, write_step(dev, Z(0), ZONE / STEP - 1, 3), ILLEGAL_REQUEST,
		     ASC_INVALID_FIELD_IN_CDB);
	expect_zone(dev, Z(0), ZONE_FULL, Z(0) + ZONE);
	expect_data(dev, Z(0) + ZONE - STEP, STEP, 2);
}

static void during_the_last_write(void **state)
{
	static const struct crash crash = { all_but_last_written, NULL, write_last, after_last };

	(void)state;
	assert_in_range(run_crash(&crash), 4, 100);
}

/* WRITE that closes another zone */
static void two_open(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(1), 0, 1));
	expect_good(dev, write_step(dev, Z(2), 0, 1));
}

static void write_first(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(0), 0, 2));
}

static void after_eviction(struct dev *dev)
{
	expect_written_or_not(dev, Z(0), 0, STEP);
	expect_true(dev, open_zones(dev) <= 2);
	expect_good(dev, write_step(dev, Z(0), 0, 2));
	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + STEP);
	expect_zone(dev, Z(1), ZONE_CLOSED, Z(1) + STEP);
	expect_zone(dev, Z(2), ZONE_IMP_OPEN, Z(2) + STEP);
	expect_sense(dev, write_step(dev, Z(0), 0, 3), ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE);
}

static void during_an_implicit_close(void **state)
{
	static const struct crash crash = { two_open, NULL, write_first, after_eviction };

	(void)state;
	assert_in_range(run_crash(&crash), 5, 100);
}

/* A resend */
static void four_unanswered(struct dev *dev)
{
	for (unsigned int i = 0; i < 4; i++)
		expect_good(dev, write_step(dev, Z(0), i, 1));
}

static void expect_refused_again(struct dev *dev)
{
	for (unsigned int i = 0; i < 4; i++)
		expect_sense(dev, write_step(dev, Z(0), i, 3), ILLEGAL_REQUEST,
			     ASC_UNALIGNED_WRITE);
}

static void nothing(struct dev *dev)
{
	(void)dev;
}

static void resend_second(struct dev *dev)
{
	expect_good(dev, write_step(dev, Z(0), 1, 1));
}

static void after_resend(struct dev *dev)
{
	static const unsigned int order[] = { 3, 1, 0, 2 };

	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + 4 * STEP);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		expect_good(dev, write_step(dev, Z(0), order[i], 1));
	expect_refused_again(dev);
	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + 4 * STEP);
	expect_data(dev, Z(0), STEP, 1);
}

static void during_a_resend(void **state)
{
	static const struct crash crash = { nothing, four_unanswered, resend_second,
					    after_resend };

	(void)state;
	assert_in_range(run_crash(&crash), 3, 100);
}

/* Opening the LUN again */
static void open_again(struct dev *dev)
{
	dev_reopen(dev);
}

static void after_open(struct dev *dev)
{
	for (unsigned int i = 4; i > 0; i--)
		expect_good(dev, write_step(dev, Z(0), i - 1, 1));
	expect_refused_again(dev);
	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + 4 * STEP);
	expect_data(dev, Z(0), 4 * STEP, 1);
}

static void write_and_open_again(struct dev *dev)
{
	four_unanswered(dev);
	open_again(dev);
}

static void after_write_and_open(struct dev *dev)
{
	uint64_t executed = (zone_at(dev, Z(0)).wp - Z(0)) / STEP;

	for (uint64_t i = executed; i > 0; i--)
		expect_good(dev, write_step(dev, Z(0), (unsigned int)i - 1, 1));
	for (uint64_t i = executed; i < 4; i++)
		expect_good(dev, write_step(dev, Z(0), (unsigned int)i, 1));
	expect_refused_again(dev);
	expect_zone(dev, Z(0), ZONE_IMP_OPEN, Z(0) + 4 * STEP);
	expect_data(dev, Z(0), 4 * STEP, 1);
}

static void during_an_open(void **state)
{
	static const struct crash again = { nothing, four_unanswered, open_again, after_open };
	static const struct crash first = { nothing, NULL, write_and_open_again,
					    after_write_and_open };

	(void)state;
	run_crash(&again);
	assert_in_range(run_crash(&first), 8, 1000);
}

/* RESET WRITE POINTER */
static void full_zone(struct dev *dev)
{
	expect_good(dev, write_blocks(dev, Z(0), ZONE, 1));
	expect_good(dev, write_step(dev, Z(1), 0, 1));
}

static void reset(struct dev *dev)
{
	expect_good(dev, zone_action(dev, SA_RESET_WRITE_POINTER, Z(0)));
}

static void after_reset(struct dev *dev)
{
	bool full = zone_at(dev, Z(0)).cond == ZONE_FULL;

	expect_zone(dev, Z(0), full ? ZONE_FULL : ZONE_EMPTY, full ? Z(0) + ZONE : Z(0));
	expect_data(dev, Z(0), ZONE, full ? 1 : 0);
	reset(dev);
	expect_data(dev, Z(0), ZONE, 0);
	expect_good(dev, write_step(dev, Z(0), 0, 2));
	expect_good(dev, zone_action(dev, SA_FINISH_ZONE, Z(0)));
	expect_data(dev, Z(0), STEP, 2);
	expect_data(dev, Z(0) + STEP, ZONE - STEP, 0);
	expect_data(dev, Z(1), STEP, 1);
}

static void during_a_reset(void **state)
{
	static const struct crash crash = { full_zone, NULL, reset, after_reset };

	(void)state;
	assert_in_range(run_crash(&crash), 3, 100);
}

/* OPEN, CLOSE and FINISH of all zones: each zone is as before or as after. */
static void two_closed(struct dev *dev)
{
	two_open(dev);
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	expect_good(dev, write_step(dev, Z(3), 0, 1));
}

static void open_close_finish(struct dev *dev)
{
	expect_good(dev, zone_action_all(dev, SA_OPEN_ZONE));
	expect_good(dev, zone_action_all(dev, SA_CLOSE_ZONE));
	expect_good(dev, zone_action_all(dev, SA_FINISH_ZONE));
}

static void after_zone_commands(struct dev *dev)
{
	expect_true(dev, open_zones(dev) <= 2);
	for (unsigned int i = 1; i < 4; i++) {
		struct zone_desc zone = zone_at(dev, Z(i));
		uint64_t wp = zone.cond == ZONE_FULL ? Z(i) + ZONE : Z(i) + STEP;

		expect_true(dev, zone.cond == ZONE_IMP_OPEN || zone.cond == ZONE_EXP_OPEN ||
					 zone.cond == ZONE_CLOSED || zone.cond == ZONE_FULL);
		expect_eq(dev, zone.wp, wp);
		expect_data(dev, Z(i), STEP, 1);
		expect_data(dev, Z(i) + STEP, ZONE - STEP, 0);
	}
	expect_zone(dev, Z(0), ZONE_EMPTY, Z(0));
	expect_good(dev, zone_action_all(dev, SA_FINISH_ZONE));
	expect_zone(dev, Z(3), ZONE_FULL, Z(3) + ZONE);
}

static void during_zone_commands(void **state)
{
	static const struct crash crash = { two_closed, NULL, open_close_finish,
					    after_zone_commands };

	(void)state;
	assert_in_range(run_crash(&crash), 9, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(during_a_write),
		cmocka_unit_test(during_the_last_write),
		cmocka_unit_test(during_an_implicit_close),
		cmocka_unit_test(during_a_resend),
		cmocka_unit_test(during_an_open),
		cmocka_unit_test(during_a_reset),
		cmocka_unit_test(during_zone_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

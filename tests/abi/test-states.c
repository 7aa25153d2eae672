/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Which states are freed, and when. The directories of sysfs and of the states are a temporary
 * directory's "uio" and "root" (see CMakeLists.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memzbc/config.h>
#include <memzbc/lun.h>

#include "states.h"
#include "uio.h"

static char home[] = "/tmp/memzbc-states-XXXXXX";
static int remove_result;
static char last_line[MEMZBC_REASON_SIZE];

int memzbc_state_remove(const char *state_dir)
{
	if (remove_result < 0)
		return remove_result;
	return rmdir(state_dir) < 0 ? -errno : 0;
}

static void note_line(const char *line)
{
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A device and its state; returns the state's directory in @path. */
static void make_lun(const char *uio, char *path)
{
	char device[64], reason[MEMZBC_REASON_SIZE];
	uint64_t token;

	snprintf(device, sizeof(device), UIO_CLASS "/%s", uio);
	assert_int_equal(mkdir(device, 0755), 0);
	assert_int_equal(states_locate(uio, path, &token, reason), 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void remove_device(const char *uio)
{
	char device[64];

	snprintf(device, sizeof(device), UIO_CLASS "/%s", uio);
	assert_int_equal(rmdir(device), 0);
}

static int in_new_directory(void **state)
{
	(void)state;
	strcpy(home + strlen(home) - 6, "XXXXXX");
	remove_result = 0;
	last_line[0] = '\0';
	return !mkdtemp(home) || chdir(home) < 0 || mkdir(UIO_CLASS, 0755) < 0;
}

static int leave_directory(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", home);
	return chdir("/") < 0 || system(command);
}

static void state_is_named_after_the_device(void **state)
{
	char first[STATES_PATH_SIZE], again[STATES_PATH_SIZE], reason[MEMZBC_REASON_SIZE];
	uint64_t token;
	struct stat st;

	(void)state;
	make_lun("uio3", first);
	assert_int_equal(stat(STATES_ROOT, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(states_locate("uio3", again, &token, reason), 0);
	assert_string_equal(first, again);
	assert_int_equal(stat(UIO_CLASS "/uio3", &st), 0);
	assert_int_equal(token, st.st_ino);
	assert_int_equal(states_locate("uio4", again, &token, reason), -ENOENT);
	assert_non_null(strstr(reason, "uio4"));
}

static void write_name(const char *text)
{
	FILE *file = fopen(UIO_CLASS "/uio5/name", "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* As the kernel writes it. The name may have anything but a slash. */
static void backstore_is_in_the_name_of_the_device(void **state)
{
	char backstore[MEMZBC_BACKSTORE_SIZE];

	(void)state;
	assert_int_equal(mkdir(UIO_CLASS "/uio5", 0755), 0);
	assert_int_equal(uio_backstore("uio5", backstore), -ENOENT);
	write_name("tcm-user/12/my disk: %s/memzbc/zone_size=96M/conv=4\n");
	assert_int_equal(uio_backstore("uio5", backstore), 0);
	assert_string_equal(backstore, "user_12/my disk: %s");
	write_name("tcm-user/0/z0\n");
	assert_int_equal(uio_backstore("uio5", backstore), 0);
	assert_string_equal(backstore, "user_0/z0");
	write_name("some other device\n");
	assert_int_equal(uio_backstore("uio5", backstore), -EINVAL);
	unlink(UIO_CLASS "/uio5/name");
	rmdir(UIO_CLASS "/uio5");
}

static void root_that_others_can_write_is_refused(void **state)
{
	char path[STATES_PATH_SIZE], reason[MEMZBC_REASON_SIZE];
	uint64_t token;

	(void)state;
	assert_int_equal(mkdir(UIO_CLASS "/uio0", 0755), 0);
	assert_int_equal(mkdir(STATES_ROOT, 0700), 0);
	assert_int_equal(chmod(STATES_ROOT, 0777), 0);
	assert_int_equal(states_locate("uio0", path, &token, reason), -EPERM);
	assert_non_null(strstr(reason, STATES_ROOT));
	assert_int_equal(rmdir(STATES_ROOT), 0);
	assert_int_equal(symlink(UIO_CLASS, STATES_ROOT), 0);
	assert_int_equal(states_locate("uio0", path, &token, reason), -EPERM);
}

static void leftovers_are_freed_at_start_and_nothing_else(void **state)
{
	char kept[STATES_PATH_SIZE], gone[STATES_PATH_SIZE], reused[STATES_PATH_SIZE];

	(void)state;
	make_lun("uio0", kept);
	make_lun("uio1", gone);
	remove_device("uio1");
	make_lun("uio2", reused);
	/* The directory's successor exists before it goes, so that it has another inode. */
	assert_int_equal(mkdir(UIO_CLASS "/next", 0755), 0);
	remove_device("uio2");
	assert_int_equal(rename(UIO_CLASS "/next", UIO_CLASS "/uio2"), 0);
	assert_int_equal(mkdir(STATES_ROOT "/uio9", 0700), 0);
	assert_int_equal(mkdir(STATES_ROOT "/uio9-12x", 0700), 0);
	assert_int_equal(mkdir(STATES_ROOT "/mine-12", 0700), 0);

	assert_int_equal(states_start(note_line), 0);
	states_stop();
	assert_true(exists(kept));
	assert_false(exists(gone));
	assert_false(exists(reused));
	assert_true(exists(STATES_ROOT "/uio9"));
	assert_true(exists(STATES_ROOT "/uio9-12x"));
	assert_true(exists(STATES_ROOT "/mine-12"));
}

/* The order of a deletion: the plugin's close first, then LIO removes the device. */
static void deleted_lun_is_freed_soon_after_close(void **state)
{
	char path[STATES_PATH_SIZE];

	(void)state;
	make_lun("uio0", path);
	assert_int_equal(states_start(note_line), 0);
	states_closed();
	usleep(300000);
	remove_device("uio0");
	for (int i = 0; i < 50 && exists(path); i++)
		usleep(100000);
	assert_false(exists(path));
	states_stop();
	assert_non_null(strstr(last_line, path));
}

static void failure_to_free_is_logged(void **state)
{
	char path[STATES_PATH_SIZE];

	(void)state;
	make_lun("uio0", path);
	remove_device("uio0");
	remove_result = -ENOTEMPTY;
	assert_int_equal(states_start(note_line), 0);
	states_stop();
	assert_non_null(strstr(last_line, path));
	assert_non_null(strstr(last_line, strerror(ENOTEMPTY)));
}

#define IN_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, in_new_directory, leave_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(state_is_named_after_the_device),
		IN_DIRECTORY(backstore_is_in_the_name_of_the_device),
		IN_DIRECTORY(root_that_others_can_write_is_refused),
		IN_DIRECTORY(leftovers_are_freed_at_start_and_nothing_else),
		IN_DIRECTORY(deleted_lun_is_freed_soon_after_close),
		IN_DIRECTORY(failure_to_free_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

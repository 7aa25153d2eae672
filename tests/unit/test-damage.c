// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * A state that is not as an earlier process can have left it is refused, rather than half believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "store.h"

/* Opening what an earlier process left must be refused, with a reason that names the place. */
static void expect_damaged(struct dev *dev, const char *what)
{
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;
	struct memzbc_lun_params params = {
		.cfg = &cfg, .state_dir = dev->dir, .token = dev->token,
	};

	assert_int_equal(memzbc_config_parse(&cfg, dev->config, reason), 0);
	assert_int_equal(memzbc_config_complete(&cfg, dev->size, dev->block_size, reason), 0);
	if (memzbc_lun_open(&params, &dev->lun, reason) != -EINVAL)
		fail_dev(dev, __FILE__, __LINE__, "opened with %s", what);
	if (!strstr(reason, dev->dir) || !strstr(reason, "damaged"))
		fail_dev(dev, __FILE__, __LINE__, "%s: the reason is: %s", what, reason);
	dev->lun = NULL;
	assert_int_equal(memzbc_state_remove(dev->dir), 0);
	dev_start(dev);
	dev_close(dev);
}

/* With a rule, and a write that was not acknowledged. */
static struct dev *dev_stopped(const char *file, char *path, size_t size)
{
	struct dev *dev = dev_open_geo(geo_matrix, "error=busy");

	dev->unacknowledged = true;
	make_zone(dev, dev->geo->conv, ZS_IMP_OPEN);
	dev_stop(dev);
	snprintf(path, size, "%s/%s", dev->dir, file);
	return dev;
}

#define ZONE_OF(condition, offset) ((uint64_t)(condition) << 60 | (offset))

/* A number in the table that the model would go by is checked first. */
static void damaged_numbers(void **state)
{
#define FIELD(name) #name, offsetof(struct table, name), sizeof(((struct table *)NULL)->name)
	const uint64_t conv = geo_matrix->conv, len = geo_len(geo_matrix, geo_matrix->conv);
	const struct {
		const char *name;
		size_t at, size;
		uint64_t value;
	} damage[] = {
		{ FIELD(faults_in_force), 2 }, { FIELD(faults_in_force), UINT32_MAX },
		{ FIELD(faults[0].error_rules), MEMZBC_ERROR_RULES_MAX + 1 },
		{ FIELD(faults[0].error[0].kind), MEMZBC_ERROR_KINDS },
		{ FIELD(executed_head), UINT32_MAX },
		{ FIELD(executed_tail), MEMZBC_UNACKNOWLEDGED_MAX },
		{ FIELD(expected_count), RESENDS_MAX + 1 },
		{ FIELD(executed[0].lba), UINT64_MAX }, { FIELD(executed[0].blocks), UINT32_MAX },
		{ "no condition", offsetof(struct table, zones[conv].state), 8, ZONE_OF(5, 0) },
		{ "not WP", offsetof(struct table, zones[conv].state), 8, ZONE_OF(0, 0) },
		{ "pointer", offsetof(struct table, zones[conv].state), 8,
		  ZONE_OF(ZONE_CLOSED, len + 1) },
		{ "conventional", offsetof(struct table, zones[0].state), 8,
		  ZONE_OF(ZONE_EMPTY, 0) },
		{ "conventional pointer", offsetof(struct table, zones[0].state), 8,
		  ZONE_OF(ZONE_NOT_WP, 8) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damage); i++) {
		char path[128];
		struct dev *dev = dev_stopped("table", path, sizeof(path));
		int fd = open(path, O_WRONLY);

		assert_int_equal(pwrite(fd, &damage[i].value, damage[i].size, (off_t)damage[i].at),
				 damage[i].size);
		close(fd);
		expect_damaged(dev, damage[i].name);
	}
}

/* The files that belong to a table that is ours have the lengths that it says. */
static void damaged_files(void **state)
{
	static const struct {
		const char *file;
		int by;
	} damage[] = {
		{ "table", -1 }, { "table", 1 }, { "data", -1 }, { "data", 4096 }, { "data", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damage); i++) {
		char path[128];
		struct dev *dev = dev_stopped(damage[i].file, path, sizeof(path));
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		if (damage[i].by)
			assert_int_equal(truncate(path, st.st_size + damage[i].by), 0);
		else
			assert_int_equal(unlink(path), 0);
		expect_damaged(dev, damage[i].file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_numbers),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

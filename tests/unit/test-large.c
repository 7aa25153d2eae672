// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* 20 TB in 74,500 zones: opened at once, with a few MiB. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define MIB (1ull << 20)

static uint64_t resident_bytes(void)
{
	unsigned long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		if (fscanf(f, "%lu %lu", &size, &resident) != 2)
			resident = 0;
		fclose(f);
	}
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void large_unit(void **state)
{
	const uint64_t zones = 74500, zone_blocks = 256 * MIB / 512;
	uint64_t resident = resident_bytes(), last = (zones - 1) * zone_blocks;
	double began = seconds(), took;
	struct dev *dev = dev_open("zone_size=256M/conv=745", zones * 256 * MIB, 512);

	(void)state;
	took = seconds() - began;
	if (took > 2)
		fail_dev(dev, __FILE__, __LINE__, "opening took %.1f s", took);
	expect_true(dev, resident_bytes() - resident < 16 * MIB);
	expect_true(dev, dev_memory(dev) < 8 * MIB);
	expect_good(dev, report_zones(dev, 0, 0, 64));
	expect_eq(dev, dev->report.list_len, zones * 64);
	expect_eq(dev, dev->report.max_lba, zones * zone_blocks - 1);
	expect_good(dev, report_zones(dev, last, 0, 128));
	expect_eq(dev, dev->report.list_len, 64);
	expect_eq(dev, dev->report.zones[0].start, last);
	expect_good(dev, write_blocks(dev, last, 8, 1));
	expect_good(dev, write_blocks(dev, zone_blocks * 745, 8, 2));
	expect_data(dev, last, 8, 1);
	expect_data(dev, last + 8, 64, 0);
	expect_good(dev, write_blocks(dev, 744 * zone_blocks - 1, 2, 3));
	expect_data(dev, 744 * zone_blocks - 1, 2, 3);
	dev_acknowledge(dev);
	began = seconds();
	dev_reopen(dev);
	took = seconds() - began;
	if (took > 2)
		fail_dev(dev, __FILE__, __LINE__, "reopening took %.1f s", took);
	expect_zone(dev, last, ZONE_IMP_OPEN, last + 8);
	expect_zone(dev, zone_blocks * 745, ZONE_IMP_OPEN, zone_blocks * 745 + 8);
	expect_data(dev, last, 8, 1);
	expect_good(dev, zone_action_all(dev, SA_RESET_WRITE_POINTER));
	expect_zone(dev, last, ZONE_EMPTY, last);
	dev_close(dev);
}

/* The whole list of many zones in one command, 4.5 MiB. */
static void report_of_large_unit(void **state)
{
	const uint64_t zones = 74500, zone_blocks = 256 * MIB / 4096;
	struct dev *dev = dev_open("zone_size=256M/conv=745/lba=4096", zones * 256 * MIB, 4096);

	(void)state;
	expect_good(dev, report_zones(dev, 0, 0, (uint32_t)(zones + 1) * 64));
	expect_eq(dev, dev->report.count, zones);
	for (uint32_t i = 0; i < zones; i++) {
		expect_eq(dev, dev->report.zones[i].start, i * zone_blocks);
		expect_eq(dev, dev->report.zones[i].len, zone_blocks);
		expect_eq(dev, dev->report.zones[i].type, i < 745 ? 1 : 2);
	}
	dev_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_unit),
		cmocka_unit_test(report_of_large_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

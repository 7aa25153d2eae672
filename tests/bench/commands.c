// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * commands WAY OPERATION COUNT: executes COUNT commands of 4 KiB, for an instruction count.
 *
 * WAY is "model" (the LUN alone, as if there were no stages), "off" (a device with all faults,
 * statistics and the trace off), "stats", "trace" or "both". OPERATION is "read" or "write".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memzbc/bytes.h>
#include <memzbc/device.h>
#include <memzbc/scsi.h>

#define BLOCK 4096
#define ZONE_BLOCKS 65536
#define SIZE (4ull << 30)
#define CONFIG "lba=4096/zone_size=256M/conv=1"
#define TRACE 65536
#define READ_BLOCKS 1000

static char base[] = "/dev/shm/memzbc-bench-XXXXXX";
static char dir[sizeof(base) + 4];

static void fail(const char *what)
{
	fprintf(stderr, "commands: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint64_t now(void *arg)
{
	return ++*(uint64_t *)arg;
}

static void arm(void *arg, uint64_t deadline)
{
	(void)arg;
	(void)deadline;
}

/* Out of line, as the plugin's is. */
__attribute__((noinline))
static void complete(void *arg, void *tag, const struct memzbc_cmd *cmd, uint8_t status)
{
	(void)arg;
	memzbc_lun_acknowledge(tag, cmd->receipt);
	if (status != SAM_STAT_GOOD)
		fail("a command failed");
}

static void one_command(struct memzbc_device *dev, bool through_device, uint8_t opcode,
			uint64_t lba)
{
	struct memzbc_lun *lun = memzbc_device_lun(dev);
	static uint8_t data[BLOCK], sense[MEMZBC_SENSE_SIZE];
	const struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	uint8_t cdb[16] = { opcode };
	struct memzbc_cmd cmd = { .cdb = cdb, .iov = &iov, .iov_cnt = 1, .sense = sense };

	put_be64(&cdb[2], lba);
	put_be32(&cdb[10], 1);
	if (through_device)
		memzbc_device_submit(dev, &cmd, lun);
	else
		complete(NULL, lun, &cmd, memzbc_lun_execute(lun, &cmd));
}

/* Blocks of the sequential zones in order, or those of the first @READ_BLOCKS over and over. */
static void run(struct memzbc_device *dev, bool through_device, bool write, uint64_t count)
{
	if (!write)
		run(dev, through_device, true, READ_BLOCKS);
	for (uint64_t i = 0; i < count; i++)
		one_command(dev, through_device, write ? WRITE_16 : READ_16,
			    ZONE_BLOCKS + (write ? i : i % READ_BLOCKS));
}

static struct memzbc_device *open_device(const char *way, uint64_t *clock)
{
	static const struct memzbc_device_ops ops = {
		.now = now, .complete = complete, .arm = arm,
	};
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;
	struct memzbc_lun_params params = { .cfg = &cfg, .state_dir = dir, .token = 1 };
	struct memzbc_device *dev;
	bool both = !strcmp(way, "both");

	if (memzbc_config_parse(&cfg, CONFIG, reason) ||
	    memzbc_config_complete(&cfg, SIZE, BLOCK, reason))
		fail(reason);
	cfg.faults = (struct memzbc_faults){
		.stats = both || !strcmp(way, "stats"),
		.trace = both || !strcmp(way, "trace") ? TRACE : 0,
	};
	if (memzbc_device_open(&params, &ops, clock, &dev, reason))
		fail(reason);
	return dev;
}

int main(int argc, char **argv)
{
	uint64_t clock = 0;
	struct memzbc_device *dev;

	if (argc != 4)
		fail("usage: commands model|off|stats|trace|both read|write COUNT");
	if (!mkdtemp(base))
		fail("no temporary directory");
	snprintf(dir, sizeof(dir), "%s/lun", base);
	dev = open_device(argv[1], &clock);
	run(dev, strcmp(argv[1], "model") != 0, !strcmp(argv[2], "write"),
	    strtoull(argv[3], NULL, 10));
	memzbc_device_close(dev);
	memzbc_state_remove(dir);
	rmdir(base);
	return EXIT_SUCCESS;
}

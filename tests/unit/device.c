// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* LUNs in temporary state directories, and processes that are killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Outside the state directory's file system nothing is tested: the model is meant for a tmpfs. */
#define BASE_TEMPLATE "/dev/shm/memzbc-unit-XXXXXX"

const char *const state_files[2] = { "table", "data" };

void dev_start(struct dev *dev)
{
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;
	struct memzbc_lun_params params = {
		.cfg = &cfg,
		.state_dir = dev->dir,
		.token = dev->token,
		.max_transfer = dev->max_transfer,
	};

	if (memzbc_config_parse(&cfg, dev->config, reason) ||
	    memzbc_config_complete(&cfg, dev->size, dev->block_size, reason))
		fail_dev(dev, __FILE__, __LINE__, "config: %s", reason);
	dev->lba_size = cfg.lba_size;
	dev->capacity = cfg.capacity;
	if (memzbc_lun_open(&params, &dev->lun, reason))
		fail_dev(dev, __FILE__, __LINE__, "open: %s", reason);
}

void dev_stop(struct dev *dev)
{
	memzbc_lun_close(dev->lun);
	dev->lun = NULL;
}

void dev_reopen(struct dev *dev)
{
	dev_stop(dev);
	dev_start(dev);
}

void dev_acknowledge(struct dev *dev)
{
	memzbc_lun_acknowledged(dev->lun);
}

/* Of tests that failed before dev_close(). */
static struct dev *open_devs;

static void remove_leftovers(void)
{
	for (struct dev *dev = open_devs; dev; dev = dev->next) {
		memzbc_lun_close(dev->lun);
		memzbc_state_remove(dev->dir);
		umount2(dev->base, MNT_DETACH);	/* a test may have mounted something */
		rmdir(dev->base);
	}
}

static void unlist(const struct dev *dev)
{
	struct dev **at = &open_devs;

	while (*at && *at != dev)
		at = &(*at)->next;
	if (*at)
		*at = dev->next;
}

static struct dev *dev_new(uint64_t size, uint32_t block_size)
{
	static bool registered;
	struct dev *dev = calloc(1, sizeof(*dev));

	if (!registered)
		atexit(remove_leftovers);
	registered = true;
	dev->size = size;
	dev->block_size = block_size;
	dev->token = random_u64();
	strcpy(dev->base, BASE_TEMPLATE);
	if (!mkdtemp(dev->base))
		fail_dev(NULL, __FILE__, __LINE__, "%s: %s", dev->base, strerror(errno));
	snprintf(dev->dir, sizeof(dev->dir), "%s/lun", dev->base);
	dev->next = open_devs;
	open_devs = dev;
	return dev;
}

struct dev *dev_open(const char *config, uint64_t size, uint32_t block_size)
{
	struct dev *dev = dev_new(size, block_size);

	snprintf(dev->config, sizeof(dev->config), "%s", config);
	dev_start(dev);
	return dev;
}

struct dev *dev_open_geo(const struct geo *geo, const char *extra)
{
	struct dev *dev = dev_new(geo->capacity * geo->lba_size, geo->lba_size);

	dev->geo = geo;
	snprintf(dev->config, sizeof(dev->config),
		 "lba=%u/pblk=%u/zone_size=%llu/zone_cap=%llu/conv=%u/conv_end=%u%s%s",
		 geo->lba_size, geo->pblk_size,
		 (unsigned long long)geo->zone_size * geo->lba_size,
		 (unsigned long long)geo->zone_cap * geo->lba_size, geo->conv, geo->conv_end,
		 extra ? "/" : "", extra ? extra : "");
	dev_start(dev);
	return dev;
}

void dev_close(struct dev *dev)
{
	int removed, rmdir_base;

	unlist(dev);
	dev_stop(dev);
	removed = memzbc_state_remove(dev->dir);
	rmdir_base = rmdir(dev->base);
	free(dev->in);
	free(dev->report.zones);
	free(dev);
	if (removed || rmdir_base)
		fail_dev(NULL, __FILE__, __LINE__, "state is left: memzbc_state_remove %d",
			 removed);
}

/* In the child: a failed assertion must not run on into the parent's remaining tests. */
static void child(struct dev *dev, void (*fn)(struct dev *dev, void *arg), void *arg)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	dev_start(dev);
	fn(dev, arg);
	kill(getpid(), SIGKILL);
	_exit(1);
}

void dev_killed(struct dev *dev, void (*fn)(struct dev *dev, void *arg), void *arg,
		unsigned int usec)
{
	int status;
	pid_t pid;

	if (dev->lun)
		dev_stop(dev);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail_dev(dev, __FILE__, __LINE__, "fork: %s", strerror(errno));
	if (pid == 0)
		child(dev, fn, arg);
	if (usec) {
		usleep(usec);
		kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_dev(dev, __FILE__, __LINE__, "child ended with status %x", status);
}

static void copy_state_file(const struct dev *from, const struct dev *to, const char *name)
{
	char path[128];
	struct stat st;
	int in, out;

	snprintf(path, sizeof(path), "%s/%s", from->dir, name);
	in = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "%s/%s", to->dir, name);
	out = open(path, O_WRONLY | O_CREAT, 0600);
	if (in < 0 || out < 0 || fstat(in, &st) < 0 ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		fail_dev(NULL, __FILE__, __LINE__, "cannot copy %s: %s", path, strerror(errno));
	close(in);
	close(out);
}

struct dev *dev_copy(const struct dev *dev)
{
	struct dev *copy = dev_new(dev->size, dev->block_size);

	copy->geo = dev->geo;
	copy->token = dev->token;
	copy->unacknowledged = dev->unacknowledged;
	memcpy(copy->config, dev->config, sizeof(copy->config));
	if (mkdir(copy->dir, 0700) < 0)
		fail_dev(NULL, __FILE__, __LINE__, "%s: %s", copy->dir, strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(state_files); i++)
		copy_state_file(dev, copy, state_files[i]);
	dev_start(copy);
	return copy;
}

uint64_t dev_memory(const struct dev *dev)
{
	DIR *dir = opendir(dev->dir);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(dirfd(dir), entry->d_name, &st, 0) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (dir)
		closedir(dir);
	return bytes;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * State directories are named uioN-TOKEN, so that the name alone tells whether the device that a
 * state belongs to is still there, however little else was written of it.
 */
#include "states.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memzbc/config.h>
#include <memzbc/lun.h>

#include "private.h"
#include "thread.h"
#include "uio.h"

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned int looks; /* one a second, until it is 0 */
	bool stop;
	void (*log)(const char *line);
} collector = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
};

int states_locate(const char *uio, char *path, uint64_t *token, char *reason)
{
	int ret = uio_token(uio, token);

	if (ret < 0) {
		snprintf(reason, MEMZBC_REASON_SIZE, "cannot find %s/%.64s: %s", UIO_CLASS,
			 uio, strerror(-ret));
		return ret;
	}
	snprintf(path, STATES_PATH_SIZE, STATES_ROOT "/%.64s-%" PRIu64, uio, *token);
	return private_directory(STATES_ROOT, reason);
}

/* Whether the device that a state directory is named after is gone; not for other names. */
static bool device_is_gone(const char *name)
{
	char uio[32];
	uint64_t token, now;
	int end = -1;
	int ret;

	if (sscanf(name, "%31[a-z0-9]-%" SCNu64 "%n", uio, &token, &end) != 2 || end < 0 ||
	    name[end] || strncmp(uio, "uio", 3) != 0)
		return false;
	ret = uio_token(uio, &now);
	return ret == -ENOENT || (ret == 0 && now != token);
}

static void collect_one(const char *name, void (*log)(const char *line))
{
	char path[STATES_PATH_SIZE];
	char line[MEMZBC_REASON_SIZE];
	int ret;

	if (!device_is_gone(name) ||
	    snprintf(path, sizeof(path), STATES_ROOT "/%s", name) >= (int)sizeof(path))
		return;
	ret = memzbc_state_remove(path);
	if (ret < 0)
		snprintf(line, sizeof(line), "cannot remove %s, the state of a deleted LUN: %s",
			 path, strerror(-ret));
	else
		snprintf(line, sizeof(line), "freed %s, the state of a deleted LUN", path);
	log(line);
}

static void collect(void (*log)(const char *line))
{
	DIR *dir = opendir(STATES_ROOT);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		collect_one(entry->d_name, log);
	closedir(dir);
}

/* Wait until there is something to look for, then a second, so that LIO gets done. */
static bool wait_for_work(void)
{
	struct timespec next;
	bool stop;

	pthread_mutex_lock(&collector.lock);
	while (!collector.stop && !collector.looks)
		pthread_cond_wait(&collector.wake, &collector.lock);
	clock_gettime(CLOCK_MONOTONIC, &next);
	next.tv_sec++;
	while (!collector.stop && pthread_cond_clockwait(&collector.wake, &collector.lock,
							 CLOCK_MONOTONIC, &next) != ETIMEDOUT)
		;
	if (collector.looks)
		collector.looks--;
	stop = collector.stop;
	pthread_mutex_unlock(&collector.lock);
	return !stop;
}

static void *collector_thread(void *arg)
{
	(void)arg;
	collect(collector.log);
	while (wait_for_work())
		collect(collector.log);
	collect(collector.log);
	return NULL;
}

int states_start(void (*log)(const char *line))
{
	collector.log = log;
	collector.stop = false;
	return thread_start(&collector.thread, collector_thread, NULL);
}

void states_closed(void)
{
	pthread_mutex_lock(&collector.lock);
	collector.looks = STATES_WATCH_SECONDS;
	pthread_cond_signal(&collector.wake);
	pthread_mutex_unlock(&collector.lock);
}

void states_stop(void)
{
	pthread_mutex_lock(&collector.lock);
	collector.stop = true;
	pthread_cond_signal(&collector.wake);
	pthread_mutex_unlock(&collector.lock);
	pthread_join(collector.thread, NULL);
}

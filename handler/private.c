// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memzbc/config.h>

/* Where everyone may create names, as in /dev/shm, what is not ours is not trusted. */
int private_directory(const char *path, char *reason)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		int err = errno;

		snprintf(reason, MEMZBC_REASON_SIZE, "cannot create %.128s: %s", path,
			 strerror(err));
		return -err;
	}
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH))) {
		snprintf(reason, MEMZBC_REASON_SIZE,
			 "%.128s is not a directory that only this user can write: remove it",
			 path);
		return -EPERM;
	}
	return 0;
}

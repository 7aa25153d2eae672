// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "uio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 128

static int device_path(const char *uio, const char *file, char *path)
{
	return snprintf(path, PATH_SIZE, UIO_CLASS "/%s%s", uio, file) < PATH_SIZE ? 0
										  : -ENAMETOOLONG;
}

/*
 * A device's directory in sysfs gets an inode number that no other one had since the machine
 * booted; the number N of uioN comes back as soon as it is free.
 */
int uio_token(const char *uio, uint64_t *token)
{
	char path[PATH_SIZE];
	struct stat st;
	int err = device_path(uio, "", path);

	if (err)
		return err;
	if (stat(path, &st) < 0)
		return -errno;
	*token = st.st_ino;
	return 0;
}

/* The kernel writes "tcm-user/N/NAME/CONFIG". */
int uio_backstore(const char *uio, char *backstore)
{
	char path[PATH_SIZE], hba[12], name[256];
	FILE *file;
	int err = device_path(uio, "/name", path);
	int found;

	if (err)
		return err;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	found = fscanf(file, "tcm-user/%11[0-9]/%255[^/\n]", hba, name);
	fclose(file);
	if (found != 2)
		return -EINVAL;
	snprintf(backstore, MEMZBC_BACKSTORE_SIZE, "user_%s/%s", hba, name);
	return 0;
}

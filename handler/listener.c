// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "listener.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memzbc/control.h>

#define BACKLOG MEMZBC_CONTROL_CLIENTS_MAX

static bool is_plain(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || (c == '.' && !first);
}

/* Two names never give the same: a '%' is no plain character. Returns false if it does not fit. */
static bool encode(const char *name, char *to, size_t size)
{
	size_t len = 0;

	for (const char *c = name; *c; c++) {
		bool plain = is_plain(*c, c == name);

		if (len + 4 > size)
			return false;
		if (plain)
			to[len++] = *c;
		else
			len += (size_t)snprintf(to + len, size - len, "%%%02X", (unsigned char)*c);
	}
	to[len] = '\0';
	return true;
}

/* Whether somebody listens. A full queue is somebody, too. */
static bool is_alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool alive;

	if (fd < 0)
		return true; /* it may be */
	alive = connect(fd, (const void *)address, sizeof(*address)) == 0 || errno == EAGAIN;
	close(fd);
	return alive;
}

static int bind_path(int fd, const struct sockaddr_un *address)
{
	if (bind(fd, (const void *)address, sizeof(*address)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (is_alive(address))
		return -EADDRINUSE;
	/* Left by a process that died. */
	if (unlink(address->sun_path) < 0 ||
	    bind(fd, (const void *)address, sizeof(*address)) < 0)
		return -errno;
	return 0;
}

/* Nobody can connect before listen(), so the mode comes in time. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, path, strlen(path) + 1);
	err = bind_path(fd, &address);
	if (!err && (chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0)) {
		err = -errno;
		unlink(path);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int listen_in(const char *dir, const char *file, const char *hba, char *path)
{
	if (snprintf(path, LISTENER_PATH_SIZE, "%s/%s%s%s.sock", dir, file, *hba ? "@" : "",
		     hba) >= (int)LISTENER_PATH_SIZE)
		return -ENAMETOOLONG;
	return listen_at(path);
}

int listener_open(const char *dir, const char *name, const char *backstore, char *path,
		  char *reason)
{
	char file[LISTENER_PATH_SIZE], hba[16];
	int ret = -ENAMETOOLONG;

	snprintf(hba, sizeof(hba), "%.*s", (int)strcspn(backstore, "/"), backstore);
	if (encode(name, file, sizeof(file)))
		ret = listen_in(dir, file, "", path);
	if (ret == -EADDRINUSE)
		ret = listen_in(dir, file, hba, path);
	if (ret < 0)
		snprintf(reason, MEMZBC_REASON_SIZE, "no control socket in %s: %s", dir,
			 strerror(-ret));
	return ret;
}

void listener_close(int fd, const char *path)
{
	unlink(path);
	close(fd);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The listening socket of a LUN: its name in the file system, and how a dead one is replaced.
 */
#ifndef MEMZBC_LISTENER_H
#define MEMZBC_LISTENER_H

#include <sys/un.h>

#define LISTENER_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

/*
 * Listens at @dir/NAME.sock, or at @dir/NAME@user_N.sock if another living socket has that name;
 * memzbc/control.h tells what NAME is. @path: out, LISTENER_PATH_SIZE bytes. Returns a
 * non-blocking file descriptor, or -errno with @reason set.
 */
int listener_open(const char *dir, const char *name, const char *backstore, char *path,
		  char *reason);
void listener_close(int fd, const char *path);

#endif

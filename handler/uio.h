/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What sysfs says of the uio device that LIO makes for each LUN.
 */
#ifndef MEMZBC_UIO_H
#define MEMZBC_UIO_H

#include <stdint.h>

#include <memzbc/lun.h>

/* Tests put it elsewhere. */
#ifndef UIO_CLASS
#define UIO_CLASS "/sys/class/uio"
#endif

/**
 * uio_token() - what tells a device from all others since the machine booted
 * @uio: name of the device, such as "uio3"
 * @token: out
 *
 * Return: 0, or -errno.
 */
int uio_token(const char *uio, uint64_t *token);

/**
 * uio_backstore() - the backstore that a device belongs to
 * @uio: name of the device
 * @backstore: out: "user_N/NAME", its directory in configfs; MEMZBC_BACKSTORE_SIZE bytes
 *
 * Return: 0, or -errno.
 */
int uio_backstore(const char *uio, char *backstore);

#endif

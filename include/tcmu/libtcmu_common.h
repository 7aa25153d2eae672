/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The part of tcmu-runner 1.5.4's plugin ABI that its library and its daemon
 * share: commands, their status codes, and what a handler may ask of a device.
 *
 * The headers in this directory declare what memzbc uses and no more, in our
 * own words, because Debian packages the daemon without its headers. They bear
 * the names of the originals, so that a system that has those can use them
 * instead. tests/abi compares every declaration with Debian's source package.
 */
#ifndef TCMU_LIBTCMU_COMMON_H
#define TCMU_LIBTCMU_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Opaque: one LUN as the daemon sees it. */
struct tcmu_device;

/* How a command ended; libtcmu turns it into a SCSI status and, mostly, sense data. */
enum {
	TCMU_STS_ASYNC_HANDLED = -2, /* the handler completes the command itself */
	TCMU_STS_NOT_HANDLED = -1,   /* 5/20/00 */
	TCMU_STS_OK = 0,	     /* GOOD */
	TCMU_STS_NO_RESOURCE = 1,    /* TASK SET FULL */
	TCMU_STS_PASSTHROUGH_ERR = 2, /* CHECK CONDITION, sense_buf as the handler filled it */
	TCMU_STS_BUSY = 3,	      /* BUSY */
	TCMU_STS_HW_ERR = 13,	      /* 4/44/00 */
};

/* Bytes of sense data that travel in a ring entry. */
#define SENSE_BUFFERSIZE 96

/* A command taken from the ring. One allocation; completing the command frees it. */
struct tcmulib_cmd {
	uint16_t cmd_id;	/* which entry of the ring it answers */
	uint8_t *cdb;		/* as many bytes as its operation code's group has */
	struct iovec *iovec;	/* the data buffer, in memory shared with the kernel */
	size_t iov_cnt;
	uint8_t sense_buf[SENSE_BUFFERSIZE]; /* not initialised by libtcmu */
	void *hm_private;	/* the bytes asked for when the command was taken */
};

/* "uioN": the name of the device's directory in /sys/class/uio. */
const char *tcmu_dev_get_uio_name(struct tcmu_device *dev);

/* The configuration string, subtype and '/' included. Belongs to the device. */
char *tcmu_dev_get_cfgstring(struct tcmu_device *dev);

/* The capacity, in blocks of tcmu_dev_get_block_size() bytes. */
uint64_t tcmu_dev_get_num_lbas(struct tcmu_device *dev);

/* LIO's hw_block_size, in bytes. */
uint32_t tcmu_dev_get_block_size(struct tcmu_device *dev);

/* LIO's hw_max_sectors, in blocks. */
uint32_t tcmu_dev_get_max_xfer_len(struct tcmu_device *dev);

/*
 * Where the memory shared with the kernel is: @base gets its address, and @len and @offset, each of
 * which may be NULL, its length and place in the device's file. It begins with the mailbox of
 * <linux/target_core_user.h>. Returns the file's name, which the caller frees; NULL on an error.
 */
char *tcmu_dev_get_memory_info(struct tcmu_device *dev, void **base, size_t *len, off_t *offset);

/*
 * The unit serial number that LIO has for the device, read from configfs at
 * each call; empty when none was set. The caller frees it. NULL on an error,
 * which is logged.
 */
char *tcmu_cfgfs_dev_get_wwn(struct tcmu_device *dev);

#endif

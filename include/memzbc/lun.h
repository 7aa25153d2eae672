/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The device model: a logical unit that executes SCSI commands.
 *
 * It knows nothing of tcmu-runner. A LUN is not thread-safe: the caller
 * serialises all calls on one LUN. Different LUNs are independent.
 */
#ifndef MEMZBC_LUN_H
#define MEMZBC_LUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <memzbc/config.h>

/* Size of a sense buffer, what the initiators and LIO keep of it. */
#define MEMZBC_SENSE_SIZE 96

/* Longest unit serial number that is shown (VPD page 80h), without NUL. */
#define MEMZBC_SERIAL_MAX 64

/*
 * Writes that may be executed and not acknowledged at any one time: a power of two. Of more than
 * these, the oldest would not be known after a reopen when they come again.
 */
#define MEMZBC_UNACKNOWLEDGED_MAX 16384

/* Longest name of a backstore, with NUL. */
#define MEMZBC_BACKSTORE_SIZE 280

struct memzbc_lun;

/*
 * A command on its way through the model. The caller owns all memory.
 */
struct memzbc_cmd {
	const uint8_t *cdb;	/* as many bytes as the opcode's group has */
	const struct iovec *iov;	/* Data-In or Data-Out buffer, may be split anywhere */
	size_t iov_cnt;
	uint8_t *sense;		/* MEMZBC_SENSE_SIZE bytes, written with CHECK CONDITION only */
	uint16_t tag;		/* what the transport calls it: for the trace */
	bool resent;		/* out: a write that an earlier process had executed already */
	uint32_t receipt;	/* out: for memzbc_lun_acknowledge() */
};

/*
 * What a LUN is opened with.
 */
struct memzbc_lun_params {
	const struct memzbc_config *cfg;	/* completed; copied */
	const char *backstore;	/* "user_N/NAME" of LIO, for the trace; copied; NULL: none */
	const char *state_dir;	/* directory in a tmpfs that holds, or will hold, the LUN's state */
	uint64_t token;		/* names this creation of the LUN; another's state is discarded */
	uint32_t max_transfer;	/* MAXIMUM TRANSFER LENGTH, logical blocks; 0 = no limit */
	/*
	 * Asks for the unit serial number, ASCII, when the first INQUIRY needs it. Writes at most
	 * MEMZBC_SERIAL_MAX characters and a NUL into @serial and returns 0, or returns -errno
	 * while there is none (it is asked again then). NULL: the token serves as serial number.
	 */
	int (*serial)(void *arg, char *serial);
	void *serial_arg;
	/* A line for the log, without newline. NULL: none. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/**
 * memzbc_lun_open() - create a LUN, or reopen one that outlived its process
 * @params: see there; the structure itself is not kept
 * @lun: out: the LUN
 * @reason: out: on error, one line; MEMZBC_REASON_SIZE bytes
 *
 * Creates @params->state_dir when it does not exist. A state that an earlier process left there
 * under the same token is taken over with all acknowledged writes; its geometry must be that of
 * the config, and its faults replace those of the config. Commands that had been executed and not
 * acknowledged are expected to come again.
 *
 * Return: 0, or -errno with @reason set.
 */
int memzbc_lun_open(const struct memzbc_lun_params *params, struct memzbc_lun **lun, char *reason);

/**
 * memzbc_lun_close() - close a LUN; its state stays in state_dir
 * @lun: the LUN, or NULL; invalid afterwards
 */
void memzbc_lun_close(struct memzbc_lun *lun);

/**
 * memzbc_lun_execute() - execute one command
 * @lun: the LUN
 * @cmd: the command
 *
 * Data-In beyond what the command returns is zeroed. A command that does not end with GOOD has
 * changed nothing, and wrote no Data-In.
 *
 * Return: SAM status; with CHECK CONDITION, @cmd->sense holds the sense data.
 */
uint8_t memzbc_lun_execute(struct memzbc_lun *lun, struct memzbc_cmd *cmd);

/**
 * memzbc_lun_acknowledge() - a command that was executed has been answered
 * @lun: the LUN
 * @receipt: of the command
 *
 * The initiator will not send this command again after a reopen.
 */
void memzbc_lun_acknowledge(struct memzbc_lun *lun, uint32_t receipt);

/**
 * memzbc_lun_acknowledged() - every command executed so far has been answered
 * @lun: the LUN
 */
void memzbc_lun_acknowledged(struct memzbc_lun *lun);

/**
 * memzbc_lun_config() - the config of an open LUN
 * @lun: the LUN
 *
 * Return: the config, valid until the LUN is closed.
 */
const struct memzbc_config *memzbc_lun_config(const struct memzbc_lun *lun);

/**
 * memzbc_state_token() - whose state a directory holds
 * @state_dir: a state directory
 * @token: out: the token it was created with
 *
 * Return: 0, or -errno when there is no readable state.
 */
int memzbc_state_token(const char *state_dir, uint64_t *token);

/**
 * memzbc_state_remove() - free the memory of a LUN that is gone for good
 * @state_dir: its state directory; removed with all the state in it
 *
 * The LUN must be closed. Other files in the directory are left alone.
 *
 * Return: 0, or -errno.
 */
int memzbc_state_remove(const char *state_dir);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the files of the device model share: the LUN, and the interfaces of
 * sense.c, iov.c, mode.c and the functions behind the command table.
 */
#ifndef MEMZBC_MODEL_H
#define MEMZBC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <memzbc/faults.h>
#include <memzbc/lun.h>

#include "geometry.h"
#include "store.h"
#include "zone.h"

struct memzbc_lun {
	struct memzbc_config cfg;
	struct geometry geo;
	struct store store;	/* data and the table that outlives the process */
	struct zones zones;	/* counters and the order of implicitly opened zones */
	char serial[MEMZBC_SERIAL_MAX + 1];	/* empty: not asked for yet */
	char backstore[MEMZBC_BACKSTORE_SIZE];
	uint8_t *scratch;	/* SCRATCH_SIZE bytes, for comparing and for patterns */
	struct memzbc_lun_params params;	/* state_dir and backstore are NULL */
};

/* lun.c: faults in force from now on, also after a reopen. */
void lun_set_faults(struct memzbc_lun *lun, const struct memzbc_faults *faults);

/* T10 VENDOR IDENTIFICATION */
#define MEMZBC_VENDOR "MEMZBC"

#define CDB_LEN_MAX 16	/* of the commands in the table */

#define SCRATCH_SIZE 65536	/* a multiple of every block size */

/* MAXIMUM WRITE SAME LENGTH, in bytes: bounds the time that one command takes. */
#define WRITE_SAME_MAX_BYTES (32u << 20)

/*
 * Resends (resend.c): SWR writes that had been executed when the process died, and not
 * acknowledged, come a second time, below the write pointer. @opcode is WRITE_16 or WRITE_SAME_16,
 * for all commands of their kind.
 */

/* memzbc_cmd.receipt of what need not be acknowledged. */
#define NO_RECEIPT 0

/* To be called between storing the data and moving the write pointer. */
void resend_executed(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
		     uint16_t opcode);
/* True if the write is expected; @x must end at or below the write pointer. */
bool resend_expected(const struct memzbc_lun *lun, const struct extent *x, uint16_t opcode);
/* The expected write has come. */
void resend_taken(struct memzbc_lun *lun, const struct extent *x, uint16_t opcode);
/* The zone is reset. */
void resend_forget(struct memzbc_lun *lun, const struct zone *z);
/* Whether the table, which an earlier process left, has possible entries only. */
bool resends_are_sound(const struct memzbc_lun *lun);
/* After a reopen: what was executed and not acknowledged is expected from now on. */
void resend_reopen(struct memzbc_lun *lun);

/*
 * A command of the command table (command.c). The usage mask has a bit set for every bit of the CDB
 * that the function evaluates, beginning with the opcode; the dispatcher refuses all others, and
 * REPORT SUPPORTED OPERATION CODES shows it. In byte 1 of a command with a service action the mask
 * has only the bits beside the service action.
 */
typedef uint8_t command_fn(struct memzbc_lun *lun, struct memzbc_cmd *cmd);

struct command {
	uint8_t opcode;
	int16_t service_action;	/* or NO_SERVICE_ACTION */
	uint8_t cdb_len;
	uint8_t flags;		/* COMMAND_... */
	uint8_t class;		/* enum memzbc_class */
	uint8_t usage[CDB_LEN_MAX];	/* byte 0 is the opcode's and not looked at */
	command_fn *execute;
};

/* The LBA and length of a CDB, and where they stand in it. */
struct cdb_range {
	struct extent x;
	uint8_t blocks_byte;
};

/* Of READ, WRITE, VERIFY, WRITE SAME and SYNCHRONIZE CACHE (sbc.c). */
struct cdb_range cdb_range(const uint8_t *cdb);

/* What a CDB is about, without a look at whether it is right. */
struct command_info {
	const struct command *command;	/* NULL if it is not supported */
	enum memzbc_class class;
	bool has_range;		/* @x is valid; ZONE ID and one block for zone management */
	struct extent x;
};

struct command_info command_info(const uint8_t *cdb);
/*
 * What a READ, VERIFY, WRITE or WRITE SAME would be told before it has any effect: GOOD if nothing
 * but memory or the medium can make it fail. Other commands may still be refused.
 */
uint8_t command_check(struct memzbc_lun *lun, struct memzbc_cmd *cmd);
/* Length of the CDB; 0 for a command that is not supported. */
uint8_t command_cdb_len(const uint8_t *cdb);

#define NO_SERVICE_ACTION (-1)
#define COMMAND_MEDIUM	1	/* needs a logical unit that is ready */
#define COMMAND_WRITES	2	/* refused while software write protected */

/* The table, for REPORT SUPPORTED OPERATION CODES and for the statistics. */
#define COMMANDS 34
extern const struct command command_table[COMMANDS];

/* spc.c, vpd.c, mode.c, log.c, opcodes.c */
command_fn spc_test_unit_ready, spc_request_sense, spc_inquiry, spc_report_luns;
command_fn spc_mode_sense6, spc_mode_sense10, spc_mode_select6, spc_mode_select10;
command_fn spc_log_sense, spc_report_opcodes, spc_report_tmfs;
/* sbc.c */
command_fn sbc_read_capacity10, sbc_read_capacity16, sbc_start_stop_unit;
command_fn sbc_read, sbc_write, sbc_verify, sbc_write_same, sbc_synchronize_cache;
/* For command_check(): what the function behind @c checks by itself. */
uint8_t sbc_check(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct command *c);
/* zbc.c */
command_fn zbc_report_zones, zbc_close_zone, zbc_finish_zone, zbc_open_zone;
command_fn zbc_reset_write_pointer;

/* An ASCII field of INQUIRY data (spc.c): left-aligned, padded with blanks, cut to its size. */
void put_text(uint8_t *field, size_t size, const char *text);
/* EVPD=1 part of INQUIRY (vpd.c): @page is the PAGE CODE. */
uint8_t vpd_inquiry(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t page);

/*
 * Sense (sense.c). All write cmd->sense in the format that D_SENSE selects and return CHECK
 * CONDITION, so that a function ends with "return sense_...(...)".
 */

/* @asc is ASC << 8 | ASCQ, from scsi.h. */
uint8_t sense_set(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t key, uint16_t asc);
/* With INFORMATION; fixed format leaves it out (VALID=0) when it does not fit 32 bits. */
uint8_t sense_set_info(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint8_t key, uint16_t asc,
		       uint64_t info);
/* INVALID FIELD IN CDB / IN PARAMETER LIST; @bit is 0..7, or NO_BIT for a whole field. */
#define NO_BIT (-1)
uint8_t sense_invalid_cdb(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t byte, int bit);
uint8_t sense_invalid_param(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint16_t byte, int bit);
/*
 * Sense data as the parameter data of REQUEST SENSE, descriptor format if @desc. @buf holds
 * MEMZBC_SENSE_SIZE bytes. Returns the number of bytes used.
 */
size_t sense_format_key(uint8_t *buf, bool desc, uint8_t key, uint16_t asc);
/* The key and the ASC and ASCQ of sense data that a command ended with. */
void sense_read(const uint8_t *sense, uint8_t *key, uint16_t *asc);

/*
 * The data buffer (iov.c). Offsets and lengths in bytes. The callers check the length first:
 * iov_bytes() is the whole, and the functions touch nothing beyond it.
 */
uint64_t iov_bytes(const struct memzbc_cmd *cmd);
void iov_zero(const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len);
void iov_copy_in(const struct memzbc_cmd *cmd, uint64_t offset, const void *from, uint64_t len);
void iov_copy_out(const struct memzbc_cmd *cmd, uint64_t offset, void *to, uint64_t len);
bool all_zero(const uint8_t *buf, size_t len);
/* The beginning of the range as at most @max pieces in @vec; returns their number. */
size_t iov_slice(const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len, struct iovec *vec,
		 size_t max);
/*
 * The Data-In of a command with an ALLOCATION LENGTH: sends min(@len, @alloc) bytes of @data and
 * zeroes the rest of the buffer. Returns GOOD; a buffer shorter than min(@len, @alloc) is
 * INTERNAL TARGET FAILURE, and nothing is written.
 */
uint8_t reply(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const void *data, uint64_t len,
	      uint64_t alloc);

/* A command ended with MEDIUM ERROR: for the error counter log pages (log.c). */
void log_medium_error(struct memzbc_lun *lun, const uint8_t *cdb);

/*
 * Mode pages (mode.c). The current values live in the table of the LUN, so that they survive the
 * process as the zones do.
 */
void mode_set_defaults(struct memzbc_lun *lun);
bool mode_d_sense(const struct memzbc_lun *lun);
/* WCE of the caching mode page: writes may be volatile. */
bool mode_write_cache(const struct memzbc_lun *lun);
/* SWP of the control mode page: writes end with 7/27/02. */
bool mode_write_protected(const struct memzbc_lun *lun);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The memory behind a LUN: two files in a tmpfs, which outlive the process.
 *
 * "data" is sparse and as long as the capacity. It is read and written with system calls rather
 * than through a mapping: a full tmpfs is then an error code and no SIGBUS, and reading a hole
 * takes no memory.
 *
 * "table" is mapped, and allocated in full when it is created. Every change of a zone is one
 * 64-bit store, so a process that dies between two instructions leaves it consistent.
 */
#ifndef MEMZBC_STORE_H
#define MEMZBC_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <memzbc/lun.h>

/* Resends that are remembered: more than LIO's command ring can hold. */
#define RESENDS_MAX 65536

/* The trace while it is being made (trace.c). */
#define MEMZBC_TRACE_NEW_FILE "trace.new"

/* Bytes of the mode pages' current values (mode.c lays them out). */
#define MODE_STATE_SIZE 64

/* The state of a zone: ZONE CONDITION in bits 63:60, write pointer in bits 55:0, relative to the
 * zone's start. One word, so that both change at once. */
struct zone_entry {
	_Atomic uint64_t state;
	uint64_t last_write;	/* write_stamp of the last write; orders implicit closes */
};

/* A write to an SWR zone that was executed, and perhaps not acknowledged. */
struct resend {
	uint64_t lba;
	uint32_t blocks;
	uint16_t opcode;	/* WRITE_16 or WRITE_SAME_16 stand for all of their kind */
	uint16_t settled;	/* acknowledged, or forgotten: will not come again */
};

/* Counters of log page 14h/01h. */
struct zone_statistics {
	uint32_t max_open;
	uint32_t max_exp_open;
	uint32_t max_imp_open;
	uint32_t min_empty;
	uint32_t emptied;
	uint32_t failed_exp_opens;
	uint32_t read_rule_violations;
	uint32_t write_rule_violations;
};

/* Counters of log pages 02h, 03h and 05h. */
enum {
	ERRORS_WRITE, ERRORS_READ, ERRORS_VERIFY, ERROR_COUNTERS
};

struct error_counters {
	uint64_t bytes;		/* that commands have written, read or verified */
	uint64_t uncorrected;	/* commands that ended with MEDIUM ERROR */
};

struct table {
	uint64_t magic;		/* written last, when the table is complete */
	uint32_t version;
	uint32_t slots;
	uint64_t token;
	struct memzbc_config cfg;	/* at creation; its geometry must be met again */
	struct memzbc_faults faults[2];	/* one in force, the other free to be written */
	_Atomic uint32_t faults_in_force;	/* which */
	uint64_t write_stamp;
	struct zone_statistics stats;
	struct error_counters errors[ERROR_COUNTERS];
	uint8_t mode_pages[MODE_STATE_SIZE];
	uint8_t stopped;	/* by START STOP UNIT */
	/* A ring: entries from tail to below head, modulo its size, are not all settled. */
	_Atomic uint32_t executed_head;
	_Atomic uint32_t executed_tail;
	_Atomic uint32_t expected_count;	/* resends expected since a reopen */
	struct resend executed[MEMZBC_UNACKNOWLEDGED_MAX];
	struct resend expected[RESENDS_MAX];
	struct zone_entry zones[];
};

struct store {
	int dir_fd;		/* the state directory */
	int data_fd;
	struct table *table;
	size_t table_size;
	uint64_t mem;		/* budget, bytes */
	uint64_t charged;	/* upper bound of the memory in use, bytes */
	uint64_t page;		/* the tmpfs allocates in units of this, bytes */
};

/* Opens or creates; *@fresh tells which. A fresh table is zeroed but for its identity: the caller
 * fills it and calls store_publish(). Returns 0 or -errno with @reason set. */
int store_open(struct store *store, const struct memzbc_lun_params *params, uint32_t slots,
	       bool *fresh, char *reason);
void store_publish(struct store *store);
/* What an earlier process left in @dir cannot be true: writes a reason, and returns -EINVAL. */
int store_refuse(const char *dir, const char *what, char *reason);
void store_close(struct store *store);

/* The faults in force, which outlive the process. A process that dies leaves the old or the new. */
const struct memzbc_faults *store_faults(const struct store *store);
void store_set_faults(struct store *store, const struct memzbc_faults *faults);

/* Memory that the data take, bytes. */
uint64_t store_memory(const struct store *store);
/* Make @fd a file of @len bytes that has all its memory. Returns 0 or -errno. */
int store_allocate(int fd, uint64_t len);

/* Read @len bytes at @pos into the buffer of @cmd at @offset. Returns 0 or -errno. */
int store_read(struct store *store, uint64_t pos, const struct memzbc_cmd *cmd, uint64_t offset,
	       uint64_t len);
/*
 * Have memory for a write of @len bytes at @pos. Returns 0, -ENOSPC if the budget or the tmpfs is
 * exhausted, or -errno; the medium holds what it did before.
 */
int store_reserve(struct store *store, uint64_t pos, uint64_t len);
/* Write a range that was reserved. Returns 0 or -errno. */
int store_write(struct store *store, uint64_t pos, const struct memzbc_cmd *cmd, uint64_t offset,
		uint64_t len);
/* Make @len bytes at @pos zeros, and give back the memory. Returns 0 or -errno. */
int store_discard(struct store *store, uint64_t pos, uint64_t len);

#endif

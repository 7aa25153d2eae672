/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What a device has seen: counters, and a file with the last commands.
 */
#ifndef MEMZBC_OBSERVE_H
#define MEMZBC_OBSERVE_H

#include <stdint.h>
#include <stdio.h>

#include <memzbc/device.h>

/* Why a stage gave a command up that it had kept. Values are part of the trace file's format. */
enum memzbc_ending {
	MEMZBC_ENDING_NONE,	/* it was not kept, or still is */
	MEMZBC_ENDING_POINTER,	/* hold: the write pointer arrived */
	MEMZBC_ENDING_PASSED,	/* hold: the write pointer passed it, or the zone is not writable */
	MEMZBC_ENDING_ATTEMPTS,	/* hold: as many writes as were allowed were executed meanwhile */
	MEMZBC_ENDING_DEPTH,	/* reorder: as many writes as were wanted have overtaken it */
	MEMZBC_ENDING_TIME,	/* its time was over */
	MEMZBC_ENDING_DRAINED,	/* the device was drained */
	MEMZBC_ENDING_SETTINGS,	/* the stage was turned off */
	MEMZBC_ENDINGS,
};

/* Counters as they were at one time. */
struct memzbc_stats;

/**
 * memzbc_device_stats() - take the counters
 * @dev: the device
 *
 * Takes microseconds: what takes longer, memzbc_stats_json(), needs no device.
 *
 * Return: a copy, to be freed with free(), or NULL without memory.
 */
struct memzbc_stats *memzbc_device_stats(struct memzbc_device *dev);

/**
 * memzbc_stats_json() - print counters as one JSON object, on one line
 * @stats: from memzbc_device_stats()
 * @out: where to
 *
 * Latencies in nanoseconds, memory in bytes. Histograms are lists of {"from", "to", "count"}
 * without empty classes, both bounds included.
 */
void memzbc_stats_json(const struct memzbc_stats *stats, FILE *out);

/**
 * memzbc_device_stats_reset() - all counters of events become 0, all maxima what is now
 * @dev: the device
 *
 * Those of the log pages, too.
 */
void memzbc_device_stats_reset(struct memzbc_device *dev);

/*
 * The trace: a file "trace" in the LUN's state directory, with a header and a ring of records, all
 * little-endian. It is meant to be read while it is written, and outlives the process.
 *
 * Command number N, counted from 1, has record N modulo @count, until command N + @count comes.
 * A record is whole if its @sequence was the same before and after it was read, and its lowest two
 * bits are not 0.
 */
#define MEMZBC_TRACE_FILE "trace"
#define MEMZBC_TRACE_MAGIC "memzbcTR"
#define MEMZBC_TRACE_VERSION 1
#define MEMZBC_TRACE_HEADER_SIZE 4096

struct memzbc_trace_header {
	char magic[8];		/* written last */
	uint32_t version;
	uint32_t header_size;	/* bytes before the first record */
	uint32_t record_size;	/* bytes */
	uint32_t count;		/* records in the ring */
	uint64_t arrivals;	/* number of the last command that has a record, or 0 */
	uint64_t executions;	/* commands executed */
	uint64_t completions;	/* commands answered */
	/* Number of the first command of the process that writes: older ones get no answer more. */
	uint64_t first;
	uint64_t token;		/* of memzbc_lun_params */
	uint64_t clock;		/* a time on the clock of the records, and the same */
	uint64_t realtime;	/* in nanoseconds since 1970 */
	uint64_t capacity;	/* logical blocks, as are the following two */
	uint64_t zone_size;
	uint64_t zone_cap;
	uint64_t conv;		/* conventional zones at the start */
	uint64_t conv_end;	/* and at the end */
	uint32_t lba_size;	/* bytes */
	uint32_t pblk_size;	/* bytes */
	char backstore[MEMZBC_BACKSTORE_SIZE];	/* of memzbc_lun_params; NUL-terminated */
};

/* The lowest two bits of memzbc_trace_record.sequence; the others are the command's number. */
enum memzbc_trace_state {
	MEMZBC_TRACE_WRITING,	/* the record is being written */
	MEMZBC_TRACE_ARRIVED,	/* and perhaps kept; nothing is known that comes of execution */
	MEMZBC_TRACE_EXECUTED,	/* the answer waits */
	MEMZBC_TRACE_COMPLETE,
};

/* memzbc_trace_record.flags */
#define MEMZBC_TRACE_HELD 0x01	/* above the write pointer, kept until it arrived */
#define MEMZBC_TRACE_REORDERED 0x02	/* kept until others had overtaken it */
#define MEMZBC_TRACE_INJECTED 0x04	/* a rule of key error hit it */
#define MEMZBC_TRACE_DROPPED 0x08	/* a rule said to answer long after */
#define MEMZBC_TRACE_RESENT 0x10	/* executed by an earlier process, and taken once more */

#define MEMZBC_TRACE_NO_LBA UINT64_MAX

struct memzbc_trace_record {
	uint64_t sequence;	/* command number << 2 | enum memzbc_trace_state */
	uint64_t arrived;	/* nanoseconds */
	uint64_t completed;	/* nanoseconds; 0 until complete */
	uint64_t lba;		/* MEMZBC_TRACE_NO_LBA for a command that names none */
	uint64_t write_pointer;	/* of the zone of @lba before execution; all ones if it has none */
	uint32_t blocks;
	uint32_t execution;	/* number in the order of execution, from 1; lowest 32 bits */
	uint32_t completion;	/* the same of completion */
	uint16_t tag;		/* memzbc_cmd.tag */
	uint16_t flags;
	uint8_t opcode;
	uint8_t service_action;	/* byte 1 bits 4:0 of the CDB */
	uint8_t status;
	uint8_t sense_key;	/* 0 unless CHECK CONDITION, as the following two */
	uint8_t asc;
	uint8_t ascq;
	uint8_t reordered;	/* enum memzbc_ending */
	uint8_t held;		/* enum memzbc_ending */
};

_Static_assert(sizeof(struct memzbc_trace_record) == 64, "fixed layout");
_Static_assert(sizeof(struct memzbc_trace_header) <= MEMZBC_TRACE_HEADER_SIZE, "fixed layout");

#endif

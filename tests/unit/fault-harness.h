/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A device with its stages on a virtual clock, for the tests of what reorders, holds, delays and
 * fails commands.
 *
 * Time stands still unless rig_run_until() moves it, and memzbc_device_run() is called at armed
 * deadlines only, as by a timer that fires once: nothing polls. Whatever the device was lent with a
 * command is taken away when it completes, so that a sanitizer sees late accesses. For every
 * command it is checked that
 *  - it completes once, with the tag and the buffers it was submitted with,
 *  - Data-Out is not changed, and the sense buffer written with CHECK CONDITION only,
 *  - it has a receipt only if something was executed.
 */
#ifndef MEMZBC_TESTS_FAULT_HARNESS_H
#define MEMZBC_TESTS_FAULT_HARNESS_H

#include <memzbc/device.h>

#include "harness.h"

#define US 1000ull
#define MS (1000 * US)
#define SECOND (1000 * MS)

/* Logical blocks of all writes, unless a test says otherwise: one physical block of rig_geo. */
#define STEP 8u

#define HOUR (3600 * SECOND)

struct rig;

/* A command that was submitted. */
struct io {
	struct rig *rig;
	struct cdb cdb;
	uint64_t lba, blocks;	/* 0, 0 if it has none */
	uint32_t generation;	/* of a write's data */
	bool in;		/* Data-In, rather than Data-Out */
	uint64_t submitted, completed;	/* time */
	uint32_t order;		/* of completion, from 1; 0: not complete */
	uint32_t before;	/* commands that were complete when it was submitted */
	uint8_t status;
	uint32_t receipt;
	uint8_t sense[MEMZBC_SENSE_SIZE];
	uint8_t *data;		/* as sent, or received */
	size_t len;
	/* Lent to the device until it completes */
	uint8_t *lent_cdb, *lent_data, *lent_sense;
	struct iovec *lent_iov;
	struct io *next;
};

struct rig {
	struct dev *dev;	/* its commands reach the LUN behind the stages' back */
	struct memzbc_device *device;
	uint64_t now;
	uint64_t step;		/* what the clock goes on by whenever the device looks at it */
	uint64_t armed;
	uint32_t completed;	/* commands */
	uint32_t submitted;
	struct io *ios;		/* the latest first */
	/* Called for each completion, or NULL. */
	void (*done)(struct io *io, void *arg);
	void *done_arg;
};

/* 512e: 12 zones of 2,048 blocks, the first two conventional. */
extern const struct geo rig_geo;
/* The same with gap zones behind the sequential ones, and 4 KiB blocks. */
extern const struct geo rig_geo_gaps;

/* Start of the SWR zone number @i, from 0. */
uint64_t rig_zone(const struct rig *rig, uint32_t i);

struct rig *rig_open(const struct geo *geo, const struct memzbc_faults *faults);
/* With hold on. */
struct rig *rig_open_holding(uint32_t writes, uint64_t time);
/* With one rule of error. */
struct rig *rig_open_failing(const struct geo *geo, struct memzbc_error_rule rule);
/* All commands must be complete, and no deadline armed. */
void rig_close(struct rig *rig);
/* The device, which the test has closed, with a new process, so to say. */
void rig_reopen(struct rig *rig);
void rig_set(struct rig *rig, const struct memzbc_faults *faults);
void rig_run_until(struct rig *rig, uint64_t time);
void rig_run_for(struct rig *rig, uint64_t time);
/* Until no deadline is armed. */
void rig_run(struct rig *rig);
void rig_drain(struct rig *rig);
/* Forget the commands so far, which must be complete. */
void rig_forget(struct rig *rig);

/* Fields of a rule that are left 0 say: all commands, always. */
struct memzbc_error_rule rig_rule(struct memzbc_error_rule rule);
#define RULE(...) rig_rule((struct memzbc_error_rule){ __VA_ARGS__ })
#define MEDIUM_RULE(from, to, ...) \
	RULE(.kind = MEMZBC_ERROR_MEDIUM, .has_range = true, .first = (from), .last = (to), \
	     ##__VA_ARGS__)
#define SENSE_RULE(...) \
	RULE(.kind = MEMZBC_ERROR_SENSE, .key = HARDWARE_ERROR, \
	     .asc = ASC_INTERNAL_TARGET_FAILURE, ##__VA_ARGS__)
#define expect_hit(call) expect_io_sense(call, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE)
/* Probabilities and counts of rules */
#define SURE 1000000
#define ALWAYS UINT64_MAX
/* Bits of memzbc_error_rule.classes */
#define C_READ (1u << MEMZBC_CLASS_READ)
#define C_WRITE (1u << MEMZBC_CLASS_WRITE)
#define C_ZONE (1u << MEMZBC_CLASS_ZONE)

/* A command, with its Data-Out of @len bytes at @data; or, if @data is NULL, Data-In. */
struct io *submit(struct rig *rig, struct cdb cdb, const void *data, size_t len);
struct io *submit_write(struct rig *rig, uint64_t lba, uint64_t blocks, uint32_t generation);
/* The same with any WRITE opcode. */
struct io *submit_write_with(struct rig *rig, uint8_t opcode, uint64_t lba, uint64_t blocks,
			     uint32_t generation);
struct io *submit_read(struct rig *rig, uint64_t lba, uint64_t blocks);
struct io *submit_zone(struct rig *rig, uint8_t action, uint64_t zone_id);

/*
 * The status of a command, which must be complete; cdb, status and sense become those of rig->dev,
 * so that expect_good(), expect_sense() and expect_info() can be used.
 */
#define io_status(io) io_status_(io, __FILE__, __LINE__)
uint8_t io_status_(struct io *io, const char *file, int line);

#define expect_pending(io) expect_pending_(io, __FILE__, __LINE__)
void expect_pending_(struct io *io, const char *file, int line);
/* Complete at @time, and not before. */
#define expect_at(io, time) expect_at_(io, time, __FILE__, __LINE__)
void expect_at_(struct io *io, uint64_t time, const char *file, int line);

/* @call: a struct io *, evaluated once. */
#define with_io(call, expect, ...) \
	do { \
		struct io *io_ = (call); \
		expect(io_->rig->dev, io_status(io_), ##__VA_ARGS__); \
	} while (0)
#define expect_io_good(call) with_io(call, expect_good)
#define expect_io_sense(call, key, asc) with_io(call, expect_sense, key, asc)
#define expect_io_info(call, key, asc, value) with_io(call, expect_info, key, asc, value)
#define expect_unaligned(call, wp) \
	expect_io_info(call, ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE, wp)
/* @first completed before @second. */
#define expect_order(first, second) \
	expect_true((first)->rig->dev, (first)->order && (first)->order < (second)->order)

#endif

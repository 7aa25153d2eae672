/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the native tests share: a LUN in a temporary state directory, commands with hostile data
 * buffers, and assertions that say what the device answered.
 *
 * Every data buffer is split into random pieces, has guard bytes around each piece, and is now and
 * then longer than the CDB asks. run_*() check for every command that
 *  - nothing outside the buffer is touched, and Data-Out is not changed,
 *  - Data-In beyond what the CDB asks is zero, and untouched when the status is not GOOD,
 *  - the sense buffer is written with CHECK CONDITION only, and is well formed.
 */
#ifndef MEMZBC_TESTS_HARNESS_H
#define MEMZBC_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <memzbc/bytes.h>
#include <memzbc/config.h>
#include <memzbc/lun.h>
#include <memzbc/scsi.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CDB_MAX 32

/* A geometry in logical blocks, from which both the config string and the expectations come. */
struct geo {
	const char *name;
	uint32_t lba_size, pblk_size;	/* bytes */
	uint64_t zone_size, zone_cap;
	uint64_t capacity;
	uint32_t conv, conv_end;	/* zones */
};

struct cdb {
	uint8_t b[CDB_MAX];
};

/* Sense data, decoded. */
struct sense {
	uint8_t format;		/* SENSE_FIXED_CURRENT or SENSE_DESC_CURRENT */
	uint8_t key;
	uint16_t asc;		/* ASC << 8 | ASCQ */
	bool valid;		/* INFORMATION is there */
	uint64_t info;
	bool sksv;		/* the field pointer is there: */
	bool in_cdb;		/* C/D */
	uint16_t byte;
	int bit;		/* -1: BPV=0 */
};

struct zone_desc {
	uint8_t type;
	uint8_t cond;
	uint8_t flags;		/* byte 1, bits 3:0 */
	uint64_t len, start, wp;
};

/* REPORT ZONES parameter data. */
struct zone_report {
	uint32_t list_len;
	uint8_t same;
	uint64_t max_lba;
	uint64_t granularity;
	uint32_t count;		/* complete descriptors received */
	struct zone_desc *zones;
};

struct dev {
	struct memzbc_lun *lun;	/* NULL while closed */
	const struct geo *geo;	/* NULL when opened by dev_open() */
	char base[64];		/* temporary directory */
	char dir[80];		/* state directory in it */
	char config[256];
	uint64_t size;		/* bytes */
	uint32_t block_size;	/* what LIO would say, or 0 */
	uint32_t lba_size;	/* bytes */
	uint64_t capacity;	/* logical blocks */
	uint32_t max_transfer;
	uint64_t token;
	bool unacknowledged;	/* do not acknowledge each command */
	size_t short_by;	/* next command: the buffer is this much too short */
	/* The last command */
	struct cdb cdb;
	uint8_t status;
	uint32_t receipt;
	struct sense sense;	/* all zero with GOOD */
	uint8_t sense_bytes[MEMZBC_SENSE_SIZE];
	uint8_t *in;		/* Data-In, in_len bytes */
	size_t in_len;
	struct zone_report report;	/* of the last report_zones() */
	struct dev *next;	/* open ones */
};

/*
 * LUNs (device.c). All of these fail the test when the model refuses.
 */
struct dev *dev_open(const char *config, uint64_t size, uint32_t block_size);
/* @extra: more keys, or NULL. */
struct dev *dev_open_geo(const struct geo *geo, const char *extra);
/* Closes the LUN, and expects that removing its state leaves nothing. */
void dev_close(struct dev *dev);
/* Ends the LUN of this process, and opens it again with the same token. */
void dev_reopen(struct dev *dev);
void dev_start(struct dev *dev);
void dev_stop(struct dev *dev);
/* All commands so far. */
void dev_acknowledge(struct dev *dev);
/*
 * Runs @fn in a child process that opens the LUN and is killed with SIGKILL when @fn returns, or
 * @usec microseconds after it began if @usec is not 0. An assertion that fails in the child fails
 * the test. The LUN is closed here, without acknowledging anything, and left closed.
 */
void dev_killed(struct dev *dev, void (*fn)(struct dev *dev, void *arg), void *arg,
		unsigned int usec);
/* Opens a copy of the files of @dev as they are now, as another LUN with the same token. */
struct dev *dev_copy(const struct dev *dev);
/* The files in a state directory. */
extern const char *const state_files[2];
/* Bytes of memory that the files of the state directory occupy. */
uint64_t dev_memory(const struct dev *dev);

/*
 * Geometries (geometries.c): {512/512, 512/4096, 4096/4096} x zones of a power of two or not x
 * with gap zones or not x smaller last zone or not, and some special ones.
 */
extern const struct geo geo_matrix[];
extern const size_t geo_matrix_len;
uint32_t geo_slots(const struct geo *g);
bool geo_has_gaps(const struct geo *g);
bool geo_is_conv(const struct geo *g, uint32_t slot);
/* Start and length of a slot's conventional or SWR zone. */
uint64_t geo_start(const struct geo *g, uint32_t slot);
uint64_t geo_len(const struct geo *g, uint32_t slot);
/* Length of the gap zone behind it, or 0. */
uint64_t geo_gap(const struct geo *g, uint32_t slot);
/* Logical blocks in a physical one: the smallest write to an SWR zone. */
uint32_t geo_pblk(const struct geo *g);

/* Runs @check with LBAs and lengths that reach beyond the capacity. */
void for_ranges_beyond_the_end(struct dev *dev,
			       void (*check)(struct dev *dev, uint64_t lba, uint32_t blocks));

struct matrix_test {
	const char *name;
	void (*run)(struct dev *dev);
	const char *extra;	/* more keys of the config string, or NULL */
};

/*
 * Runs each test with each geometry, on a fresh LUN. Returns 1 if any fails, else 0: a number of
 * failures could be 256, which as an exit status is 0.
 */
int run_matrix(const char *group, const struct matrix_test *tests, size_t count);

/*
 * CDBs (cdb.c)
 */
size_t cdb_len(uint8_t opcode);
/* Any opcode with an LBA and a length: READ, WRITE, VERIFY, WRITE SAME, SYNCHRONIZE CACHE. */
struct cdb cdb_lba(uint8_t opcode, uint64_t lba, uint64_t blocks);
struct cdb cdb_zone(uint8_t action, uint64_t zone_id);
struct cdb cdb_zone_all(uint8_t action);
struct cdb cdb_zone_count(uint8_t action, uint64_t zone_id, uint16_t count);
/* @options: byte 14, PARTIAL and REPORTING OPTIONS. */
struct cdb cdb_report_zones(uint64_t lba, uint8_t options, uint32_t alloc);
/* The CDB with byte @at replaced by @value. */
struct cdb cdb_with(struct cdb cdb, unsigned int at, uint8_t value);

/*
 * Execution (execute.c). Each returns the status, and leaves the rest in @dev.
 */
uint8_t run_none(struct dev *dev, struct cdb cdb);
uint8_t run_in(struct dev *dev, struct cdb cdb, size_t len);
uint8_t run_out(struct dev *dev, struct cdb cdb, const void *data, size_t len);

/* Pseudo-random numbers of this process; MEMZBC_TEST_SEED in the environment seeds them. */
uint64_t random_u64(void);
/* 0 to @bound - 1 */
uint64_t random_below(uint64_t bound);
void shuffle(unsigned int *order, unsigned int count);
uint64_t random_seed_used(void);

/*
 * Commands (commands.c). Data are a pattern of block and generation; generation 0 is zeros.
 */
void pattern(const struct dev *dev, void *buf, uint64_t lba, uint64_t blocks, uint32_t generation);
uint8_t write_blocks(struct dev *dev, uint64_t lba, uint64_t blocks, uint32_t generation);
/* The same with any WRITE opcode. */
uint8_t write_with(struct dev *dev, uint8_t opcode, uint64_t lba, uint64_t blocks,
		   uint32_t generation);
uint8_t read_blocks(struct dev *dev, uint64_t lba, uint64_t blocks);
/* One zone. */
uint8_t zone_action(struct dev *dev, uint8_t action, uint64_t zone_id);
uint8_t zone_action_all(struct dev *dev, uint8_t action);
/* Fills dev->report from as much as was received. */
uint8_t report_zones(struct dev *dev, uint64_t lba, uint8_t options, uint32_t alloc);
/* The zone that holds @lba; fails the test when there is none. */
struct zone_desc zone_at(struct dev *dev, uint64_t lba);
/* The current values of a mode page into dev->in; returns its offset there. */
size_t mode_page(struct dev *dev, uint8_t page, uint8_t pc);
void set_d_sense(struct dev *dev, bool on);
/* Write an SWR zone up to @blocks from its start. */
void fill_zone(struct dev *dev, uint64_t start, uint64_t blocks, uint32_t generation);

/*
 * Zones in a given state (states.c). "written" is one physical block from the start.
 */
enum zone_state {
	ZS_EMPTY,
	ZS_IMP_OPEN,		/* written */
	ZS_IMP_UNWRITTEN,	/* by a WRITE of length 0 */
	ZS_EXP_OPEN,		/* written */
	ZS_EXP_UNWRITTEN,
	ZS_CLOSED,		/* written */
	ZS_FULL,		/* by writes */
	ZS_FINISHED,		/* written, then FINISH ZONE */
	ZS_IMP_LAST,		/* all written but the last physical block */
	ZS_CLOSED_LAST,
	ZS_STATES
};

#define ZS_GENERATION 77	/* of the data */

extern const char *const zone_state_names[ZS_STATES];
/* Brings an EMPTY slot of dev->geo there; returns the write pointer (the zone's end when FULL). */
uint64_t make_zone(struct dev *dev, uint32_t slot, enum zone_state state);

/* Where an access begins: counted from the start, the write pointer or the end of a zone. */
enum base { AT_START, AT_WP, AT_END };

/*
 * A read or write that begins in the first of two neighbouring slots. Offsets and lengths are in
 * physical blocks plus logical blocks.
 */
struct access_case {
	enum zone_state first, second;
	enum base base;
	int at, at_lb;
	int len, len_lb;
	uint16_t asc;		/* with ILLEGAL REQUEST; 0 is GOOD */
};

/* The first LBA of it, in @slot with its write pointer at @wp. */
uint64_t access_lba(const struct dev *dev, const struct access_case *c, uint32_t slot, uint64_t wp);
/* Its length, logical blocks. */
uint64_t access_blocks(const struct dev *dev, const struct access_case *c);

/* What REPORT ZONES must say of it. */
uint8_t state_condition(enum zone_state state);
void expect_state(struct dev *dev, uint32_t slot, enum zone_state state);

/* All zones and the readable data, to see that a refused command changed nothing. */
struct snapshot;
struct snapshot *snapshot_take(struct dev *dev);
/* Frees @snap; keeps dev->sense. */
void snapshot_compare(struct dev *dev, struct snapshot *snap, const char *call, const char *file,
		      int line);
/* expect_sense(), and no effect. */
#define expect_refused(dev, call, key, asc) \
	do { \
		struct snapshot *snap_ = snapshot_take(dev); \
		expect_sense(dev, call, key, asc); \
		snapshot_compare(dev, snap_, #call, __FILE__, __LINE__); \
	} while (0)

/*
 * Assertions (expect.c). @call is an expression of status; a failure shows its text, the CDB, the
 * sense, the geometry and the seed.
 */
#define expect_good(dev, call) expect_good_(dev, call, #call, __FILE__, __LINE__)
#define expect_sense(dev, call, key, asc) \
	expect_sense_(dev, call, key, asc, #call, __FILE__, __LINE__)
/* Also INFORMATION, with VALID=1. */
#define expect_info(dev, call, key, asc, value) \
	do { \
		expect_sense(dev, call, key, asc); \
		expect_info_(dev, value, #call, __FILE__, __LINE__); \
	} while (0)
/* INVALID FIELD IN CDB with this field pointer. */
#define expect_invalid_cdb(dev, call, at, bit) \
	do { \
		expect_sense(dev, call, ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB); \
		expect_pointer_(dev, true, at, bit, #call, __FILE__, __LINE__); \
	} while (0)
#define expect_invalid_param(dev, call, at, bit) \
	do { \
		expect_sense(dev, call, ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_PARAM); \
		expect_pointer_(dev, false, at, bit, #call, __FILE__, __LINE__); \
	} while (0)
#define expect_zone(dev, lba, cond, wp) expect_zone_(dev, lba, cond, wp, __FILE__, __LINE__)
/* Reads the blocks and compares them with the pattern of @generation. */
#define expect_data(dev, lba, blocks, generation) \
	expect_data_(dev, lba, blocks, generation, __FILE__, __LINE__)
#define expect_eq(dev, a, b) \
	expect_eq_(dev, (uint64_t)(a), (uint64_t)(b), #a, #b, __FILE__, __LINE__)
#define expect_true(dev, a) \
	do { \
		if (!(a)) \
			fail_dev(dev, __FILE__, __LINE__, "%s is false", #a); \
	} while (0)

void expect_good_(struct dev *dev, uint8_t status, const char *call, const char *file, int line);
void expect_sense_(struct dev *dev, uint8_t status, uint8_t key, uint16_t asc, const char *call,
		   const char *file, int line);
void expect_info_(struct dev *dev, uint64_t info, const char *call, const char *file, int line);
/* @bit: -1 for a field of whole bytes, where BPV may be 0 or point to bit 7. */
void expect_pointer_(struct dev *dev, bool in_cdb, unsigned int at, int bit, const char *call,
		     const char *file, int line);
void expect_zone_(struct dev *dev, uint64_t lba, uint8_t cond, uint64_t wp, const char *file,
		  int line);
void expect_data_(struct dev *dev, uint64_t lba, uint64_t blocks, uint32_t generation,
		  const char *file, int line);
void expect_eq_(struct dev *dev, uint64_t a, uint64_t b, const char *a_text, const char *b_text,
		const char *file, int line);

/* A config string and the reason with which it is refused. */
struct mistake {
	const char *string, *reason;
};

void expect_mistake(const struct mistake *m, int err, const char *reason);
/* Each of them is refused by memzbc_config_parse(). */
void expect_mistakes(const struct mistake *m, size_t count);

/* Fails the test; @dev (may be NULL) is shown with its last command. */
void fail_dev(struct dev *dev, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

/* Decodes dev->sense_bytes into dev->sense; fails the test when malformed (harness-sense.c). */
void decode_sense(struct dev *dev);

#endif

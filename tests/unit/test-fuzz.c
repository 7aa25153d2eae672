// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Random CDBs with buffers of random lengths. The harness and the sanitizers see whether anything
 * is touched beyond a buffer; a buffer that is too short must be an error.
 */
#include "harness.h"

#define COMMANDS 2500		/* for each geometry and test */
#define BUFFER_MAX 20000

/* What this unit has, so that most CDBs get past the opcode. */
static const uint8_t known[] = {
	TEST_UNIT_READY, REQUEST_SENSE, READ_6, WRITE_6, INQUIRY, MODE_SELECT_6, MODE_SENSE_6,
	START_STOP_UNIT, READ_CAPACITY_10, READ_10, WRITE_10, VERIFY_10, SYNCHRONIZE_CACHE_10,
	WRITE_SAME_10, LOG_SENSE, MODE_SELECT_10, MODE_SENSE_10, READ_16, WRITE_16, VERIFY_16,
	SYNCHRONIZE_CACHE_16, WRITE_SAME_16, ZBC_OUT, ZBC_IN, SERVICE_ACTION_IN_16, REPORT_LUNS,
	MAINTENANCE_IN, READ_12, WRITE_12, VERIFY_12,
};

static bool is_data_in(uint8_t opcode)
{
	static const uint8_t opcodes[] = {
		REQUEST_SENSE, READ_6, INQUIRY, MODE_SENSE_6, READ_CAPACITY_10, READ_10, LOG_SENSE,
		MODE_SENSE_10, READ_16, ZBC_IN, SERVICE_ACTION_IN_16, REPORT_LUNS, MAINTENANCE_IN,
		READ_12,
	};

	return memchr(opcodes, opcode, sizeof(opcodes));
}

/* TRANSFER LENGTH or ALLOCATION LENGTH, as the CDB has it. */
static uint64_t length_field(const struct cdb *cdb)
{
	const uint8_t *b = cdb->b;

	switch (b[0]) {
	case READ_6:
	case WRITE_6:
		return b[4] ? b[4] : 256;
	case INQUIRY:
		return get_be16(b + 3);
	case READ_CAPACITY_10:
		return 8;
	case REPORT_LUNS:
	case MAINTENANCE_IN:
	case READ_12:
	case WRITE_12:
	case VERIFY_12:
		return get_be32(b + 6);
	default:
		if (b[0] < 0x20)
			return b[4];
		return b[0] < 0x60 ? get_be16(b + 7) : get_be32(b + 10);
	}
}

/* Bytes of buffer that the CDB asks for, at most. */
static uint64_t bytes_asked(const struct dev *dev, const struct cdb *cdb)
{
	uint64_t field = length_field(cdb);

	switch (cdb->b[0]) {
	case READ_6:
	case READ_10:
	case READ_12:
	case READ_16:
	case WRITE_6:
	case WRITE_10:
	case WRITE_12:
	case WRITE_16:
		return field * dev->lba_size;
	case VERIFY_10:
	case VERIFY_12:
	case VERIFY_16:
		if (!field || !(cdb->b[1] & 6))
			return 0;
		return (cdb->b[1] & 6) == 6 ? dev->lba_size : field * dev->lba_size;
	case WRITE_SAME_10:
		return dev->lba_size;
	case WRITE_SAME_16:
		return cdb->b[1] & 1 ? 0 : dev->lba_size;
	default:
		return field;
	}
}

/* Commands whose buffer must be as long as the CDB asks; others may have less to send. */
static bool needs_all(uint8_t opcode)
{
	return opcode == READ_6 || opcode == READ_10 || opcode == READ_12 || opcode == READ_16 ||
	       opcode == WRITE_6 || opcode == WRITE_10 || opcode == WRITE_12 ||
	       opcode == WRITE_16 || opcode == VERIFY_10 || opcode == VERIFY_12 ||
	       opcode == VERIFY_16 || opcode == WRITE_SAME_10 || opcode == WRITE_SAME_16 ||
	       opcode == MODE_SELECT_6 || opcode == MODE_SELECT_10;
}

/* Bytes that the buffer lacks: mostly none, if it can be had. */
static uint64_t random_lack(uint64_t asked)
{
	uint64_t have = random_below(4) ? random_below(600) : random_below(BUFFER_MAX);

	if (asked <= BUFFER_MAX && random_below(4))
		return 0;
	return have < asked ? asked - have : 0;
}

static void fill_random(uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = random_below(2) ? (uint8_t)random_u64() : 0;
}

static void run(struct dev *dev, const struct cdb *cdb)
{
	uint64_t asked = bytes_asked(dev, cdb), lack = random_lack(asked);
	uint8_t data[BUFFER_MAX];
	uint8_t status;

	dev->short_by = lack;
	if (is_data_in(cdb->b[0])) {
		status = run_in(dev, *cdb, asked);
	} else {
		fill_random(data, asked - lack);
		status = run_out(dev, *cdb, data, asked);
	}
	expect_true(dev, status == SAM_STAT_GOOD || status == SAM_STAT_CHECK_CONDITION);
	if (lack && needs_all(cdb->b[0]))
		expect_true(dev, status != SAM_STAT_GOOD);
}

/* Whatever was sent, the zones are such as can be. */
static void expect_sane_zones(struct dev *dev)
{
	struct cdb start = { .b = { START_STOP_UNIT, 0, 0, 0, 1 } };
	uint64_t next = 0;

	expect_good(dev, run_none(dev, start));
	expect_good(dev, report_zones(dev, 0, 0, 64 * 64));
	for (uint32_t i = 0; i < dev->report.count; i++) {
		const struct zone_desc *z = &dev->report.zones[i];
		uint64_t end = z->start + z->len;

		expect_eq(dev, z->start, next);
		next = end;
		if (z->type != ZONE_TYPE_SWR)
			expect_true(dev, z->cond == ZONE_NOT_WP && z->wp == NO_WRITE_POINTER);
		else if (z->cond == ZONE_EMPTY || z->cond == ZONE_FULL)
			expect_eq(dev, z->wp, z->cond == ZONE_EMPTY ? z->start : end);
		else if (z->cond == ZONE_CLOSED)
			expect_true(dev, z->wp > z->start && z->wp < end);
		else
			expect_true(dev, (z->cond == ZONE_IMP_OPEN || z->cond == ZONE_EXP_OPEN) &&
						 z->wp >= z->start && z->wp < end);
	}
	expect_eq(dev, next, dev->capacity);
}

static void random_bytes(struct dev *dev)
{
	for (int i = 0; i < COMMANDS; i++) {
		struct cdb cdb;

		fill_random(cdb.b, sizeof(cdb.b));
		cdb.b[0] = random_below(4) ? known[random_below(sizeof(known))] :
					     (uint8_t)random_u64();
		run(dev, &cdb);
	}
	expect_sane_zones(dev);
}

/* An LBA of interest into any CDB. */
static void put_lba(struct dev *dev, struct cdb *cdb)
{
	uint32_t slot = (uint32_t)random_below(geo_slots(dev->geo));
	uint64_t lba = geo_start(dev->geo, slot) + (random_below(2) ? 0 : random_below(40));
	uint8_t first = cdb->b[1];

	*cdb = cdb_lba(cdb->b[0], lba, random_below(40));
	if (cdb_len(cdb->b[0]) > 6)
		cdb->b[1] = first;
}

/* CDBs that are right but for a few fields. */
static void random_fields(struct dev *dev)
{
	for (int i = 0; i < COMMANDS; i++) {
		struct cdb cdb = { .b = { known[random_below(sizeof(known))] } };
		uint64_t flips = random_below(4);

		if (cdb.b[0] == ZBC_OUT)
			cdb.b[1] = (uint8_t)(1 + random_below(4));
		if (cdb.b[0] == SERVICE_ACTION_IN_16)
			cdb.b[1] = SA_READ_CAPACITY_16;
		if (cdb.b[0] == MAINTENANCE_IN)
			cdb.b[1] = (uint8_t)(SA_REPORT_OPCODES + random_below(2));
		if (cdb.b[0] == MODE_SELECT_6 || cdb.b[0] == MODE_SELECT_10)
			cdb.b[1] = 0x10;
		if (random_below(4))
			put_lba(dev, &cdb);
		while (flips--)
			cdb.b[1 + random_below(cdb_len(cdb.b[0]) - 2)] ^=
				(uint8_t)(1 << random_below(8));
		run(dev, &cdb);
		if (i % 500 == 0)
			expect_sane_zones(dev);
	}
	expect_sane_zones(dev);
}

int main(void)
{
	static const struct matrix_test matrix[] = {
		{ "random bytes", random_bytes, "max_open=3" },
		{ "random fields", random_fields, "max_open=3" },
		{ "random fields, URSWRZ=0", random_fields, "urswrz=0" },
	};

	return run_matrix("fuzz", matrix, ARRAY_SIZE(matrix));
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Block commands, SBC-4.
 */
#include <errno.h>
#include <string.h>

#include <memzbc/bytes.h>
#include <memzbc/scsi.h>

#include "model.h"

/* BYTCHK of VERIFY, byte 1 bits 2:1 */
#define BYTCHK_SHIFT 1
#define BYTCHK_MASK 3
#define BYTCHK_NONE 0
#define BYTCHK_ALL 1
#define BYTCHK_RESERVED 2

#define NDOB 0x01		/* WRITE SAME(16) byte 1 */
#define START 0x01		/* START STOP UNIT byte 4 */

/* TRANSFER LENGTH 0 of the 6-byte commands */
#define BLOCKS_OF_ZERO_6 256

struct cdb_range cdb_range(const uint8_t *cdb)
{
	switch (cdb[0] >> 5) {
	case 0:
		return (struct cdb_range){ { get_be24(&cdb[1]) & 0x1fffff,
					     cdb[4] ? cdb[4] : BLOCKS_OF_ZERO_6, 1 }, 4 };
	case 1:
	case 2:
		return (struct cdb_range){ { get_be32(&cdb[2]), get_be16(&cdb[7]), 2 }, 7 };
	case 5:
		return (struct cdb_range){ { get_be32(&cdb[2]), get_be32(&cdb[6]), 2 }, 6 };
	default:
		return (struct cdb_range){ { get_be64(&cdb[2]), get_be32(&cdb[10]), 2 }, 10 };
	}
}

static uint64_t to_bytes(const struct memzbc_lun *lun, uint64_t blocks)
{
	return blocks * lun->cfg.lba_size;
}

/* For the error counter log pages. */
static void count_bytes(struct memzbc_lun *lun, int counter, uint64_t blocks)
{
	lun->store.table->errors[counter].bytes += to_bytes(lun, blocks);
}

static uint8_t short_buffer(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	return sense_set(lun, cmd, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
}

/* The store could not take a write. */
static uint8_t write_failed(struct memzbc_lun *lun, struct memzbc_cmd *cmd, int err, uint64_t lba)
{
	if (err == -ENOSPC)
		return sense_set(lun, cmd, DATA_PROTECT, ASC_SPACE_ALLOCATION_FAILED);
	return sense_set_info(lun, cmd, MEDIUM_ERROR, ASC_WRITE_ERROR, lba);
}

static uint8_t read_failed(struct memzbc_lun *lun, struct memzbc_cmd *cmd, uint64_t lba)
{
	return sense_set_info(lun, cmd, MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR, lba);
}

/* MAXIMUM TRANSFER LENGTH, then the range of LBAs. */
static uint8_t check_transfer(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			      const struct cdb_range *r)
{
	if (lun->params.max_transfer && r->x.blocks > lun->params.max_transfer)
		return sense_invalid_cdb(lun, cmd, r->blocks_byte, NO_BIT);
	return zone_check_range(lun, cmd, &r->x);
}

/*
 * Read checked blocks into the buffer of @cmd at @offset: zone by zone, with zeros for what was
 * never written.
 */
static int read_blocks(struct memzbc_lun *lun, const struct memzbc_cmd *cmd, uint64_t offset,
		       uint64_t lba, uint64_t blocks)
{
	uint64_t end = lba + blocks;

	while (lba < end) {
		struct zone z = geometry_zone(&lun->geo, lba);
		uint64_t stop = zone_end(&z) < end ? zone_end(&z) : end;
		uint64_t written = zone_written_end(lun, &z);
		int err;

		if (written < lba)
			written = lba;
		if (written > stop)
			written = stop;
		err = store_read(&lun->store, to_bytes(lun, lba), cmd, offset,
				 to_bytes(lun, written - lba));
		if (err)
			return err;
		offset += to_bytes(lun, written - lba);
		iov_zero(cmd, offset, to_bytes(lun, stop - written));
		offset += to_bytes(lun, stop - written);
		lba = stop;
	}
	return 0;
}

/* @size: bytes of the buffer */
static inline uint8_t check_read(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
				 const struct cdb_range *r, uint64_t size)
{
	uint8_t status = check_transfer(lun, cmd, r);

	if (status == SAM_STAT_GOOD)
		status = zone_check_read(lun, cmd, &r->x);
	if (status == SAM_STAT_GOOD && size < to_bytes(lun, r->x.blocks))
		return short_buffer(lun, cmd);
	return status;
}

uint8_t sbc_read(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct cdb_range r = cdb_range(cmd->cdb);
	uint64_t len = to_bytes(lun, r.x.blocks), size = iov_bytes(cmd);
	uint8_t status = check_read(lun, cmd, &r, size);

	if (status != SAM_STAT_GOOD)
		return status;
	if (read_blocks(lun, cmd, 0, r.x.lba, r.x.blocks))
		return read_failed(lun, cmd, r.x.lba);
	iov_zero(cmd, len, size - len);
	count_bytes(lun, ERRORS_READ, r.x.blocks);
	return SAM_STAT_GOOD;
}

/* The data are stored: move the write pointer, unless this write had moved it before. */
static void finish_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
			 uint16_t opcode, bool again)
{
	struct zone z = geometry_zone(&lun->geo, x->lba);

	count_bytes(lun, ERRORS_WRITE, x->blocks);
	if (z.type != ZONE_TYPE_SWR)
		return;
	resend_executed(lun, cmd, x, opcode);
	cmd->resent = again;
	if (again)
		resend_taken(lun, x, opcode);
	else
		zone_written(lun, &z, x->blocks);
}

static inline uint8_t check_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
				  const struct cdb_range *r, bool *again)
{
	uint8_t status = check_transfer(lun, cmd, r);

	if (status == SAM_STAT_GOOD)
		status = zone_check_write(lun, cmd, &r->x, WRITE_16, again);
	if (status == SAM_STAT_GOOD && iov_bytes(cmd) < to_bytes(lun, r->x.blocks))
		return short_buffer(lun, cmd);
	return status;
}

uint8_t sbc_write(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct cdb_range r = cdb_range(cmd->cdb);
	uint64_t pos = to_bytes(lun, r.x.lba), len = to_bytes(lun, r.x.blocks);
	bool again = false;
	uint8_t status = check_write(lun, cmd, &r, &again);
	int err;

	if (status != SAM_STAT_GOOD)
		return status;
	err = store_reserve(&lun->store, pos, len);
	if (!err)
		err = store_write(&lun->store, pos, cmd, 0, len);
	if (err)
		return write_failed(lun, cmd, err, r.x.lba);
	finish_write(lun, cmd, &r.x, WRITE_16, again);
	return SAM_STAT_GOOD;
}

/* A buffer of the model's own, in the place of an initiator's. */
struct local_buffer {
	struct iovec iov;
	struct memzbc_cmd cmd;
};

static void local_buffer_init(struct local_buffer *local, void *base, size_t len)
{
	local->iov = (struct iovec){ .iov_base = base, .iov_len = len };
	local->cmd = (struct memzbc_cmd){ .iov = &local->iov, .iov_cnt = 1 };
}

static int store_pattern(struct memzbc_lun *lun, const uint8_t *block, uint64_t pos, uint64_t len)
{
	uint32_t lba_size = lun->cfg.lba_size;
	struct local_buffer local;
	int err = store_reserve(&lun->store, pos, len);

	local_buffer_init(&local, lun->scratch, SCRATCH_SIZE);
	for (size_t i = 0; i < SCRATCH_SIZE; i += lba_size)
		memcpy(lun->scratch + i, block, lba_size);
	while (!err && len > 0) {
		uint64_t part = len < SCRATCH_SIZE ? len : SCRATCH_SIZE;

		err = store_write(&lun->store, pos, &local.cmd, 0, part);
		pos += part;
		len -= part;
	}
	return err;
}

static uint8_t check_write_same(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
				const struct cdb_range *r, bool *again)
{
	uint8_t status;

	if (r->x.blocks == 0 || to_bytes(lun, r->x.blocks) > WRITE_SAME_MAX_BYTES)
		return sense_invalid_cdb(lun, cmd, r->blocks_byte, NO_BIT);
	status = zone_check_range(lun, cmd, &r->x);
	if (status == SAM_STAT_GOOD)
		status = zone_check_write(lun, cmd, &r->x, WRITE_SAME_16, again);
	if (status == SAM_STAT_GOOD && !(cmd->cdb[1] & NDOB) && iov_bytes(cmd) < to_bytes(lun, 1))
		return short_buffer(lun, cmd);
	return status;
}

uint8_t sbc_write_same(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct cdb_range r = cdb_range(cmd->cdb);
	uint64_t pos = to_bytes(lun, r.x.lba), len = to_bytes(lun, r.x.blocks);
	uint8_t block[MEMZBC_LBA_SIZE_MAX] = { 0 };
	bool again = false;
	uint8_t status = check_write_same(lun, cmd, &r, &again);
	int err;

	if (status != SAM_STAT_GOOD)
		return status;
	if (!(cmd->cdb[1] & NDOB))
		iov_copy_out(cmd, 0, block, lun->cfg.lba_size);
	if (all_zero(block, lun->cfg.lba_size))
		err = store_discard(&lun->store, pos, len);
	else
		err = store_pattern(lun, block, pos, len);
	if (err)
		return write_failed(lun, cmd, err, r.x.lba);
	finish_write(lun, cmd, &r.x, WRITE_SAME_16, again);
	return SAM_STAT_GOOD;
}

/*
 * Compare the medium with the Data-Out buffer; BYTCHK=11b: each block with the one that was sent.
 * Returns 0, 1 with the byte offset of the first difference in the Data-Out buffer, or -errno.
 */
static int compare(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct extent *x,
		   bool one_block, uint64_t *differs)
{
	uint64_t step = lun->cfg.lba_size;
	uint8_t sent[MEMZBC_LBA_SIZE_MAX];
	struct local_buffer local;

	local_buffer_init(&local, lun->scratch, step);
	for (uint64_t i = 0; i < x->blocks; i++) {
		uint64_t offset = one_block ? 0 : i * step;
		int err = read_blocks(lun, &local.cmd, 0, x->lba + i, 1);

		if (err)
			return err;
		iov_copy_out(cmd, offset, sent, step);
		for (uint64_t k = 0; k < step; k++) {
			if (sent[k] != lun->scratch[k]) {
				*differs = offset + k;
				return 1;
			}
		}
	}
	return 0;
}

static uint8_t bytchk_of(const struct memzbc_cmd *cmd)
{
	return cmd->cdb[1] >> BYTCHK_SHIFT & BYTCHK_MASK;
}

static uint8_t check_verify(struct memzbc_lun *lun, struct memzbc_cmd *cmd,
			    const struct cdb_range *r)
{
	uint8_t bytchk = bytchk_of(cmd), status;
	uint64_t sent = bytchk == BYTCHK_ALL ? r->x.blocks : r->x.blocks > 0;

	if (bytchk == BYTCHK_RESERVED)
		return sense_invalid_cdb(lun, cmd, 1, 2);
	if (bytchk == BYTCHK_NONE)
		status = zone_check_range(lun, cmd, &r->x);
	else
		status = check_transfer(lun, cmd, r);
	if (status == SAM_STAT_GOOD)
		status = zone_check_read(lun, cmd, &r->x);
	if (status == SAM_STAT_GOOD && bytchk != BYTCHK_NONE &&
	    iov_bytes(cmd) < to_bytes(lun, sent))
		return short_buffer(lun, cmd);
	return status;
}

uint8_t sbc_verify(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct cdb_range r = cdb_range(cmd->cdb);
	uint8_t bytchk = bytchk_of(cmd), status = check_verify(lun, cmd, &r);
	uint64_t differs = 0;
	int result = 0;

	if (status != SAM_STAT_GOOD)
		return status;
	if (bytchk != BYTCHK_NONE)
		result = compare(lun, cmd, &r.x, bytchk != BYTCHK_ALL, &differs);
	if (result < 0)
		return read_failed(lun, cmd, r.x.lba);
	if (result > 0)
		return sense_set_info(lun, cmd, MISCOMPARE, ASC_MISCOMPARE_DURING_VERIFY, differs);
	count_bytes(lun, ERRORS_VERIFY, r.x.blocks);
	return SAM_STAT_GOOD;
}

uint8_t sbc_check(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const struct command *c)
{
	struct cdb_range r = cdb_range(cmd->cdb);
	bool again;

	if (c->execute == sbc_read)
		return check_read(lun, cmd, &r, iov_bytes(cmd));
	if (c->execute == sbc_verify)
		return check_verify(lun, cmd, &r);
	if (c->execute == sbc_write)
		return check_write(lun, cmd, &r, &again);
	if (c->execute == sbc_write_same)
		return check_write_same(lun, cmd, &r, &again);
	return SAM_STAT_GOOD;
}

/* All that was acknowledged is as durable as it can be; NUMBER OF BLOCKS 0: to the end. */
uint8_t sbc_synchronize_cache(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	struct cdb_range r = cdb_range(cmd->cdb);

	return zone_check_range(lun, cmd, &r.x);
}

uint8_t sbc_read_capacity10(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint64_t last = lun->geo.capacity - 1;
	uint8_t data[8];

	put_be32(&data[0], last < UINT32_MAX ? (uint32_t)last : UINT32_MAX);
	put_be32(&data[4], lun->cfg.lba_size);
	return reply(lun, cmd, data, sizeof(data), sizeof(data));
}

uint8_t sbc_read_capacity16(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	uint8_t data[32] = { 0 };

	put_be64(&data[0], lun->geo.capacity - 1);
	put_be32(&data[8], lun->cfg.lba_size);
	data[12] = RC_BASIS_LAST_LBA;
	data[13] = (uint8_t)__builtin_ctz(lun->geo.pblk);
	return reply(lun, cmd, data, sizeof(data), get_be32(&cmd->cdb[10]));
}

uint8_t sbc_start_stop_unit(struct memzbc_lun *lun, struct memzbc_cmd *cmd)
{
	lun->store.table->stopped = !(cmd->cdb[4] & START);
	return SAM_STAT_GOOD;
}

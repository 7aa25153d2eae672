// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <string.h>

#include <memzbc/scsi.h>

#include "model.h"

uint64_t iov_bytes(const struct memzbc_cmd *cmd)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cmd->iov_cnt; i++)
		sum += cmd->iov[i].iov_len;
	return sum;
}

/* What to do with a piece of the buffer; @done bytes of the range come before it. */
typedef void piece_fn(void *piece, uint64_t len, void *arg, uint64_t done);

static void iov_for_range(const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len, piece_fn *fn,
			  void *arg)
{
	uint64_t done = 0;

	for (size_t i = 0; i < cmd->iov_cnt && done < len; i++) {
		uint64_t size = cmd->iov[i].iov_len;

		if (offset >= size) {
			offset -= size;
			continue;
		}
		size -= offset;
		if (size > len - done)
			size = len - done;
		fn((uint8_t *)cmd->iov[i].iov_base + offset, size, arg, done);
		done += size;
		offset = 0;
	}
}

static void zero_piece(void *piece, uint64_t len, void *arg, uint64_t done)
{
	(void)arg;
	(void)done;
	memset(piece, 0, len);
}

static void fill_piece(void *piece, uint64_t len, void *arg, uint64_t done)
{
	const uint8_t *const *from = arg;

	memcpy(piece, *from + done, len);
}

static void take_piece(void *piece, uint64_t len, void *arg, uint64_t done)
{
	memcpy((uint8_t *)arg + done, piece, len);
}

void iov_zero(const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len)
{
	iov_for_range(cmd, offset, len, zero_piece, NULL);
}

void iov_copy_in(const struct memzbc_cmd *cmd, uint64_t offset, const void *from, uint64_t len)
{
	const uint8_t *bytes = from;

	iov_for_range(cmd, offset, len, fill_piece, &bytes);
}

void iov_copy_out(const struct memzbc_cmd *cmd, uint64_t offset, void *to, uint64_t len)
{
	iov_for_range(cmd, offset, len, take_piece, to);
}

struct slice {
	struct iovec *vec;
	size_t max;
	size_t count;
};

static void slice_piece(void *piece, uint64_t len, void *arg, uint64_t done)
{
	struct slice *s = arg;

	(void)done;
	if (s->count < s->max)
		s->vec[s->count++] = (struct iovec){ .iov_base = piece, .iov_len = len };
}

size_t iov_slice(const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len, struct iovec *vec,
		 size_t max)
{
	struct slice s = { .vec = vec, .max = max };

	iov_for_range(cmd, offset, len, slice_piece, &s);
	return s.count;
}

uint8_t reply(struct memzbc_lun *lun, struct memzbc_cmd *cmd, const void *data, uint64_t len,
	      uint64_t alloc)
{
	uint64_t size = iov_bytes(cmd);
	uint64_t sent = len < alloc ? len : alloc;

	if (size < sent)
		return sense_set(lun, cmd, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE);
	iov_copy_in(cmd, 0, data, sent);
	iov_zero(cmd, sent, size - sent);
	return SAM_STAT_GOOD;
}

bool all_zero(const uint8_t *buf, size_t len)
{
	return buf[0] == 0 && memcmp(buf, buf + 1, len - 1) == 0;
}

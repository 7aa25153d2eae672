// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Executes commands with data buffers that are split, guarded and now and then too long. */
#include "harness.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1	/* as gcc says it */
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

#define PIECES_MAX 200
#define PIECES_OFTEN 6
#define GUARD 64
#define GUARD_BYTE 0x5c
#define STALE_BYTE 0xaa		/* what Data-In buffers hold before */
#define EXTRA_MAX 4096

/* A data buffer: pieces in an arena, with guard bytes before, between and after them. */
struct buffer {
	uint8_t *arena;
	size_t arena_len;
	size_t len;		/* of all pieces */
	struct iovec iov[PIECES_MAX];
	size_t pieces;
};

static uint64_t rng_state, rng_seed;

uint64_t random_u64(void)
{
	uint64_t z;

	if (!rng_state) {
		const char *env = getenv("MEMZBC_TEST_SEED");

		rng_seed = env ? strtoull(env, NULL, 0) : 1;
		rng_state = rng_seed * 0x9e3779b97f4a7c15 + 1;
	}
	z = rng_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t random_below(uint64_t bound)
{
	return random_u64() % bound;
}

void shuffle(unsigned int *order, unsigned int count)
{
	for (unsigned int i = count; i > 1; i--) {
		unsigned int k = (unsigned int)random_below(i), swap = order[i - 1];

		order[i - 1] = order[k];
		order[k] = swap;
	}
}

uint64_t random_seed_used(void)
{
	random_u64();
	return rng_seed;
}

static size_t random_pieces(size_t len)
{
	if (!len)
		return random_below(2);
	return 1 + random_below(random_below(16) ? PIECES_OFTEN : PIECES_MAX);
}

/* Cuts @len into pieces, some of them empty. */
static void split(size_t *lens, size_t pieces, size_t len)
{
	for (size_t i = 0; i + 1 < pieces; i++) {
		lens[i] = random_below(pieces > PIECES_OFTEN ? len / 8 + 1 : len + 1);
		if (random_below(2))	/* often where blocks end */
			lens[i] = lens[i] / 512 * 512;
		len -= lens[i];
	}
	lens[pieces - 1] = len;
}

static void buffer_init(struct buffer *buf, size_t len)
{
	size_t lens[PIECES_MAX], at = GUARD;

	buf->len = len;
	buf->pieces = random_pieces(len);
	buf->arena_len = len + (buf->pieces + 1) * GUARD;
	buf->arena = malloc(buf->arena_len);
	memset(buf->arena, GUARD_BYTE, buf->arena_len);
	if (buf->pieces)
		split(lens, buf->pieces, len);
	for (size_t i = 0; i < buf->pieces; i++) {
		buf->iov[i].iov_base = buf->arena + at;
		buf->iov[i].iov_len = lens[i];
		at += lens[i] + GUARD;
	}
}

static void buffer_fill(const struct buffer *buf, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < buf->pieces; i++) {
		size_t have = len < buf->iov[i].iov_len ? len : buf->iov[i].iov_len;

		memset(buf->iov[i].iov_base, STALE_BYTE, buf->iov[i].iov_len);
		if (!have)
			continue;
		memcpy(buf->iov[i].iov_base, data, have);
		data += have;
		len -= have;
	}
}

static void buffer_gather(const struct buffer *buf, uint8_t *to)
{
	for (size_t i = 0; i < buf->pieces; i++) {
		if (buf->iov[i].iov_len)
			memcpy(to, buf->iov[i].iov_base, buf->iov[i].iov_len);
		to += buf->iov[i].iov_len;
	}
}

/* The guards are out of bounds for the sanitizer while the model runs. */
static void buffer_guard(const struct buffer *buf, bool on)
{
	if (!on) {
		ASAN_UNPOISON_MEMORY_REGION(buf->arena, buf->arena_len);
		return;
	}
	ASAN_POISON_MEMORY_REGION(buf->arena, buf->arena_len);
	for (size_t i = 0; i < buf->pieces; i++)
		ASAN_UNPOISON_MEMORY_REGION(buf->iov[i].iov_base, buf->iov[i].iov_len);
}

static bool all_bytes(const uint8_t *at, size_t len, uint8_t value)
{
	return !len || (at[0] == value && !memcmp(at, at + 1, len - 1));
}

static bool buffer_guards_hold(const struct buffer *buf)
{
	const uint8_t *at = buf->arena;

	for (size_t i = 0; i < buf->pieces; i++) {
		if (!all_bytes(at, GUARD, GUARD_BYTE))
			return false;
		at += GUARD + buf->iov[i].iov_len;
	}
	return all_bytes(at, GUARD, GUARD_BYTE);
}

static void call_model(struct dev *dev, const struct buffer *buf)
{
	size_t len = dev->cdb.b[0] == 0x7f ? 8u + dev->cdb.b[7] : cdb_len(dev->cdb.b[0]);
	uint8_t *cdb = malloc(len);
	struct iovec iov[PIECES_MAX];
	struct memzbc_cmd cmd = {
		.cdb = cdb,
		.iov = buf->pieces ? iov : NULL,
		.iov_cnt = buf->pieces,
		.sense = dev->sense_bytes,
		.receipt = (uint32_t)random_u64(),
	};

	memset(cdb, 0, len);
	memcpy(cdb, dev->cdb.b, len < CDB_MAX ? len : CDB_MAX);
	memcpy(iov, buf->iov, sizeof(iov));
	memset(dev->sense_bytes, STALE_BYTE, sizeof(dev->sense_bytes));
	buffer_guard(buf, true);
	dev->status = memzbc_lun_execute(dev->lun, &cmd);
	buffer_guard(buf, false);
	free(cdb);
	dev->receipt = cmd.receipt;
	if (!dev->unacknowledged)
		memzbc_lun_acknowledge(dev->lun, cmd.receipt);
	if (!buffer_guards_hold(buf))
		fail_dev(dev, __FILE__, __LINE__, "written outside of the data buffer");
	memset(&dev->sense, 0, sizeof(dev->sense));
	if (dev->status == SAM_STAT_CHECK_CONDITION)
		decode_sense(dev);
	else if (!all_bytes(dev->sense_bytes, sizeof(dev->sense_bytes), STALE_BYTE))
		fail_dev(dev, __FILE__, __LINE__, "sense written with status %02x", dev->status);
}

/* Length of a buffer for @len bytes of a command. */
static size_t buffer_len(struct dev *dev, size_t len)
{
	size_t short_by = dev->short_by < len ? dev->short_by : len;

	dev->short_by = 0;
	if (short_by || !len)
		return len - short_by;
	return len + (random_below(3) ? 0 : random_below(EXTRA_MAX));
}

uint8_t run_none(struct dev *dev, struct cdb cdb)
{
	return run_out(dev, cdb, NULL, 0);
}

uint8_t run_in(struct dev *dev, struct cdb cdb, size_t len)
{
	struct buffer buf;

	dev->cdb = cdb;
	buffer_init(&buf, buffer_len(dev, len));
	buffer_fill(&buf, NULL, 0);
	call_model(dev, &buf);
	dev->in = realloc(dev->in, buf.len + 1);
	dev->in_len = buf.len;
	buffer_gather(&buf, dev->in);
	free(buf.arena);
	if (dev->status != SAM_STAT_GOOD && !all_bytes(dev->in, dev->in_len, STALE_BYTE))
		fail_dev(dev, __FILE__, __LINE__, "Data-In written by a failed command");
	if (dev->status == SAM_STAT_GOOD && dev->in_len > len &&
	    !all_bytes(dev->in + len, dev->in_len - len, 0))
		fail_dev(dev, __FILE__, __LINE__, "buffer not zeroed beyond Data-In");
	return dev->status;
}

uint8_t run_out(struct dev *dev, struct cdb cdb, const void *data, size_t len)
{
	struct buffer buf;
	uint8_t *before, *after;
	bool same;

	dev->cdb = cdb;
	buffer_init(&buf, buffer_len(dev, len));
	buffer_fill(&buf, data, len);
	before = malloc(buf.len + 1);
	after = malloc(buf.len + 1);
	buffer_gather(&buf, before);
	call_model(dev, &buf);
	buffer_gather(&buf, after);
	same = !memcmp(before, after, buf.len);
	free(before);
	free(after);
	free(buf.arena);
	if (!same)
		fail_dev(dev, __FILE__, __LINE__, "Data-Out changed");
	return dev->status;
}

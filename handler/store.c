// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memzbc/observe.h>

#include "macros.h"
#include "model.h"
#include "text.h"

#define TABLE_MAGIC 0x6d656d7a62634c55ull	/* "memzbcLU" */
#define TABLE_VERSION 2u

#define TABLE_FILE "table"
#define DATA_FILE "data"

/* Pieces of a buffer in one system call. */
#define PIECES 64

/* st_blocks counts in this unit whatever the file system. */
#define STAT_BLOCK 512

static int fail(char *reason, int err, const char *what, const char *dir)
{
	snprintf(reason, MEMZBC_REASON_SIZE, "%s in %.128s: %s", what, dir, strerror(-err));
	return err;
}

/* The fixed part of a table file; zero where the file is shorter. */
struct table_head {
	uint64_t magic;
	uint32_t version;
	uint32_t slots;
	uint64_t token;
};

static struct table_head read_head(int fd)
{
	struct table_head head;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		memset(&head, 0, sizeof(head));
	return head;
}

static bool same_geometry(const struct memzbc_config *a, const struct memzbc_config *b)
{
	return a->model == b->model && a->lba_size == b->lba_size &&
	       a->pblk_size == b->pblk_size && a->zone_size == b->zone_size &&
	       a->zone_cap == b->zone_cap && a->conv == b->conv && a->conv_end == b->conv_end &&
	       a->capacity == b->capacity;
}

int store_refuse(const char *dir, const char *what, char *reason)
{
	return refuse(reason, "the state in %.128s is damaged (%s): delete the LUN", dir, what);
}

static bool faults_are_sound(const struct table *t)
{
	uint32_t in_force = atomic_load_explicit(&t->faults_in_force, memory_order_relaxed);
	const struct memzbc_faults *faults;

	if (in_force > 1)
		return false;
	faults = &t->faults[in_force];
	if (faults->error_rules > MEMZBC_ERROR_RULES_MAX)
		return false;
	for (uint32_t i = 0; i < faults->error_rules; i++)
		if (faults->error[i].kind >= MEMZBC_ERROR_KINDS)
			return false;
	return true;
}

/* An older process may have left a table that cannot be taken over. */
static int check_table(const struct table *t, const struct memzbc_lun_params *params, char *reason)
{
	if (!same_geometry(&t->cfg, params->cfg))
		return refuse(reason, "geometry cannot change while the LUN exists: it was created "
			      "with %" PRIu64 " blocks of %" PRIu32 " bytes, zones of %" PRIu64
			      " blocks", t->cfg.capacity, t->cfg.lba_size, t->cfg.zone_size);
	return faults_are_sound(t) ? 0 : store_refuse(params->state_dir, "faults", reason);
}

static int allocate(int fd, int mode, uint64_t pos, uint64_t len)
{
	while (fallocate(fd, mode, (off_t)pos, (off_t)len) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int store_allocate(int fd, uint64_t len)
{
	return allocate(fd, 0, 0, len);
}

/* Allocates in full: a write through the mapping must never meet a full tmpfs. */
static int map_table(struct store *store, int fd)
{
	int err = store_allocate(fd, store->table_size);
	void *table;

	if (err)
		return err;
	table = mmap(NULL, store->table_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED)
		return -errno;
	store->table = table;
	return 0;
}

static bool has_length(int fd, uint64_t len)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == len;
}

static int check_head(int fd, const struct table_head *head, uint32_t slots, size_t len,
		      const char *dir, char *reason)
{
	if (head->version != TABLE_VERSION || head->slots != slots)
		return refuse(reason, "the state in %.128s has version %" PRIu32 " and %" PRIu32
			      " zones, not %u and %" PRIu32, dir, head->version, head->slots,
			      TABLE_VERSION, slots);
	return has_length(fd, len) ? 0 : store_refuse(dir, "length of the zone table", reason);
}

static int open_table(struct store *store, const struct memzbc_lun_params *params,
		      uint32_t slots, bool *fresh, char *reason)
{
	int fd = openat(store->dir_fd, TABLE_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct table_head head;
	int err = 0;

	if (fd < 0)
		return fail(reason, -errno, "cannot open the zone table", params->state_dir);
	head = read_head(fd);
	*fresh = head.magic != TABLE_MAGIC || head.token != params->token;
	store->table_size = sizeof(struct table) + slots * sizeof(struct zone_entry);
	if (*fresh) {
		if (ftruncate(fd, 0) < 0)
			err = -errno;
	} else if (check_head(fd, &head, slots, store->table_size, params->state_dir, reason)) {
		close(fd);
		return -EINVAL;
	}
	if (!err)
		err = map_table(store, fd);
	close(fd);
	if (err)
		return fail(reason, err, "no memory for the zone table", params->state_dir);
	return *fresh ? 0 : check_table(store->table, params, reason);
}

uint64_t store_memory(const struct store *store)
{
	struct stat st;

	return fstat(store->data_fd, &st) < 0 ? 0 : (uint64_t)st.st_blocks * STAT_BLOCK;
}

static int create_data(struct store *store, uint64_t len, const char *dir, char *reason)
{
	store->data_fd = openat(store->dir_fd, DATA_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
				0600);
	if (store->data_fd < 0 || ftruncate(store->data_fd, (off_t)len) < 0)
		return fail(reason, -errno, "cannot create the data", dir);
	return 0;
}

static int reopen_data(struct store *store, uint64_t len, const char *dir, char *reason)
{
	store->data_fd = openat(store->dir_fd, DATA_FILE, O_RDWR | O_CLOEXEC);
	if (store->data_fd < 0 && errno != ENOENT)
		return fail(reason, -errno, "cannot open the data", dir);
	if (store->data_fd < 0 || !has_length(store->data_fd, len))
		return store_refuse(dir, "length of the data", reason);
	store->charged = store_memory(store);
	return 0;
}

static void fill_identity(struct table *t, const struct memzbc_lun_params *params, uint32_t slots)
{
	t->version = TABLE_VERSION;
	t->slots = slots;
	t->token = params->token;
	t->cfg = *params->cfg;
	t->faults[0] = params->cfg->faults;
}

int store_open(struct store *store, const struct memzbc_lun_params *params, uint32_t slots,
	       bool *fresh, char *reason)
{
	uint64_t size = params->cfg->capacity * params->cfg->lba_size;
	int err;

	*store = (struct store){
		.dir_fd = -1,
		.data_fd = -1,
		.mem = params->cfg->mem,
		.page = (uint64_t)sysconf(_SC_PAGESIZE),
	};
	if (mkdir(params->state_dir, 0700) < 0 && errno != EEXIST)
		return fail(reason, -errno, "cannot create the directory", params->state_dir);
	store->dir_fd = open(params->state_dir, O_DIRECTORY | O_CLOEXEC);
	if (store->dir_fd < 0)
		return fail(reason, -errno, "cannot open the directory", params->state_dir);
	err = open_table(store, params, slots, fresh, reason);
	if (!err)
		err = (*fresh ? create_data : reopen_data)(store, size, params->state_dir, reason);
	if (err)
		store_close(store);
	else if (*fresh)
		fill_identity(store->table, params, slots);
	return err;
}

void store_publish(struct store *store)
{
	atomic_thread_fence(memory_order_release);
	store->table->magic = TABLE_MAGIC;
}

void store_close(struct store *store)
{
	if (store->table)
		munmap(store->table, store->table_size);
	if (store->data_fd >= 0)
		close(store->data_fd);
	if (store->dir_fd >= 0)
		close(store->dir_fd);
	*store = (struct store){ .dir_fd = -1, .data_fd = -1 };
}

const struct memzbc_faults *store_faults(const struct store *store)
{
	const struct table *t = store->table;

	return &t->faults[atomic_load_explicit(&t->faults_in_force, memory_order_acquire)];
}

void store_set_faults(struct store *store, const struct memzbc_faults *faults)
{
	struct table *t = store->table;
	uint32_t other = 1 - atomic_load_explicit(&t->faults_in_force, memory_order_relaxed);

	t->faults[other] = *faults;
	atomic_store_explicit(&t->faults_in_force, other, memory_order_release);
}

typedef ssize_t transfer_fn(int fd, const struct iovec *iov, int count, off_t pos);

static int transfer(struct store *store, transfer_fn *fn, uint64_t pos,
		    const struct memzbc_cmd *cmd, uint64_t offset, uint64_t len)
{
	struct iovec vec[PIECES];

	while (len > 0) {
		size_t n = iov_slice(cmd, offset, len, vec, PIECES);
		ssize_t done = fn(store->data_fd, vec, (int)n, (off_t)pos);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		pos += (uint64_t)done;
		offset += (uint64_t)done;
		len -= (uint64_t)done;
	}
	return 0;
}

int store_read(struct store *store, uint64_t pos, const struct memzbc_cmd *cmd, uint64_t offset,
	       uint64_t len)
{
	return transfer(store, preadv, pos, cmd, offset, len);
}

int store_write(struct store *store, uint64_t pos, const struct memzbc_cmd *cmd, uint64_t offset,
		uint64_t len)
{
	return transfer(store, pwritev, pos, cmd, offset, len);
}

/* Bytes in [pos, end), both multiples of the page, that no memory backs yet. */
static uint64_t holes(const struct store *store, uint64_t pos, uint64_t end)
{
	uint64_t sum = 0;

	while (pos < end) {
		off_t data = lseek(store->data_fd, (off_t)pos, SEEK_DATA);
		uint64_t hole_end = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;

		sum += hole_end - pos;
		if (hole_end == end)
			break;
		pos = (uint64_t)lseek(store->data_fd, (off_t)hole_end, SEEK_HOLE);
	}
	return sum;
}

/*
 * store->charged counts every write as if its pages were new. Only when that reaches the budget is
 * the exact number asked for, so that the common write costs no system call here.
 */
static int charge(struct store *store, uint64_t pos, uint64_t len)
{
	uint64_t first = pos / store->page * store->page;
	uint64_t end = (pos + len + store->page - 1) / store->page * store->page;
	uint64_t need = end - first;

	if (store->charged + need > store->mem) {
		store->charged = store_memory(store);
		need = holes(store, first, end);
		if (store->charged + need > store->mem)
			return -ENOSPC;
	}
	store->charged += need;
	return 0;
}

int store_reserve(struct store *store, uint64_t pos, uint64_t len)
{
	int err;

	if (len == 0)
		return 0;
	err = charge(store, pos, len);
	return err ? err : allocate(store->data_fd, FALLOC_FL_KEEP_SIZE, pos, len);
}

int store_discard(struct store *store, uint64_t pos, uint64_t len)
{
	int err = len ? allocate(store->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 pos, len) : 0;

	if (!err)
		store->charged = store_memory(store);
	return err;
}

int memzbc_state_token(const char *state_dir, uint64_t *token)
{
	char path[PATH_MAX];
	struct table_head head;
	int fd;

	if (snprintf(path, sizeof(path), "%s/" TABLE_FILE, state_dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	head = read_head(fd);
	close(fd);
	if (head.magic != TABLE_MAGIC)
		return -ENODATA;
	*token = head.token;
	return 0;
}

static int remove_file(int dir, const char *name)
{
	return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int memzbc_state_remove(const char *state_dir)
{
	static const char *const files[] = {
		DATA_FILE, MEMZBC_TRACE_FILE, MEMZBC_TRACE_NEW_FILE, TABLE_FILE
	};
	int dir = open(state_dir, O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (dir < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int failed = remove_file(dir, files[i]);

		if (!err)
			err = failed;
	}
	close(dir);
	if (!err && rmdir(state_dir) < 0)
		err = -errno;
	return err;
}

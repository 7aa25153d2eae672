// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Assertions. */
#include <errno.h>
#include <stdio.h>

#include "harness.h"

static void print_dev(const struct dev *dev)
{
	const struct sense *s = &dev->sense;

	print_error("LUN: %s, %llu bytes; seed %llu\nlast CDB:", dev->config,
		    (unsigned long long)dev->size, (unsigned long long)random_seed_used());
	for (size_t i = 0; i < cdb_len(dev->cdb.b[0]); i++)
		print_error(" %02x", dev->cdb.b[i]);
	print_error("; status %02x", dev->status);
	if (dev->status != SAM_STAT_GOOD)
		print_error("; sense %x/%02x/%02x", s->key, s->asc >> 8, s->asc & 0xff);
	if (s->valid)
		print_error(", INFORMATION %llx", (unsigned long long)s->info);
	if (s->sksv)
		print_error(", %s byte %u bit %d", s->in_cdb ? "CDB" : "parameter list", s->byte,
			    s->bit);
	print_error("\n");
}

void fail_dev(struct dev *dev, const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_error("%s\n", text);
	if (dev)
		print_dev(dev);
	_fail(file, line);
	abort();	/* _fail() does not return, but does not say so */
}

void expect_good_(struct dev *dev, uint8_t status, const char *call, const char *file, int line)
{
	if (status != SAM_STAT_GOOD)
		fail_dev(dev, file, line, "%s: expected GOOD", call);
}

void expect_sense_(struct dev *dev, uint8_t status, uint8_t key, uint16_t asc, const char *call,
		   const char *file, int line)
{
	if (status != SAM_STAT_CHECK_CONDITION || dev->sense.key != key || dev->sense.asc != asc)
		fail_dev(dev, file, line, "%s: expected sense %x/%02x/%02x", call, key, asc >> 8,
			 asc & 0xff);
}

void expect_info_(struct dev *dev, uint64_t info, const char *call, const char *file, int line)
{
	if (!dev->sense.valid || dev->sense.info != info)
		fail_dev(dev, file, line, "%s: expected INFORMATION %llx", call,
			 (unsigned long long)info);
}

void expect_pointer_(struct dev *dev, bool in_cdb, unsigned int at, int bit, const char *call,
		     const char *file, int line)
{
	const struct sense *s = &dev->sense;
	bool bit_fits = s->bit == bit || (bit < 0 && s->bit == 7);

	if (!s->sksv || s->in_cdb != in_cdb || s->byte != at || !bit_fits)
		fail_dev(dev, file, line, "%s: expected field pointer to %s byte %u bit %d", call,
			 in_cdb ? "CDB" : "parameter list", at, bit);
}

void expect_zone_(struct dev *dev, uint64_t lba, uint8_t cond, uint64_t wp, const char *file,
		  int line)
{
	struct zone_desc zone = zone_at(dev, lba);

	if (zone.cond != cond || zone.wp != wp)
		fail_dev(dev, file, line,
			 "zone at %llx: expected condition %x, write pointer %llx; is %x, %llx",
			 (unsigned long long)lba, cond, (unsigned long long)wp, zone.cond,
			 (unsigned long long)zone.wp);
}

void expect_data_(struct dev *dev, uint64_t lba, uint64_t blocks, uint32_t generation,
		  const char *file, int line)
{
	size_t len = blocks * dev->lba_size;
	uint8_t *data = malloc(len + 1);
	size_t differs = 0;

	if (read_blocks(dev, lba, blocks) != SAM_STAT_GOOD) {
		free(data);
		fail_dev(dev, file, line, "READ: expected GOOD");
	}
	pattern(dev, data, lba, blocks, generation);
	while (differs < len && data[differs] == dev->in[differs])
		differs++;
	free(data);
	if (differs < len)
		fail_dev(dev, file, line, "LBA %llx, byte %zu of it: not of generation %u",
			 (unsigned long long)(lba + differs / dev->lba_size),
			 differs % dev->lba_size, generation);
}

void expect_eq_(struct dev *dev, uint64_t a, uint64_t b, const char *a_text, const char *b_text,
		const char *file, int line)
{
	if (a != b)
		fail_dev(dev, file, line, "%s is %llx, %s is %llx", a_text, (unsigned long long)a,
			 b_text, (unsigned long long)b);
}

void expect_mistake(const struct mistake *m, int err, const char *reason)
{
	if (err != -EINVAL || strcmp(reason, m->reason))
		fail_dev(NULL, __FILE__, __LINE__, "\"%s\": %d, \"%s\", not \"%s\"", m->string, err,
			 reason, m->reason);
}

void expect_mistakes(const struct mistake *m, size_t count)
{
	for (; count > 0; count--, m++) {
		char reason[MEMZBC_REASON_SIZE] = "(none)";
		struct memzbc_config cfg;
		int err = memzbc_config_parse(&cfg, m->string, reason);

		expect_mistake(m, err, reason);
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Decodes sense data, and fails on what is malformed: reserved bytes, lengths, stale bytes. */
#include "harness.h"

#define CHECK(dev, condition) \
	do { \
		if (!(condition)) \
			fail_dev(dev, __FILE__, __LINE__, "malformed sense: not " #condition); \
	} while (0)

static bool zeros(const uint8_t *at, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (at[i])
			return false;
	return true;
}

/* SENSE KEY SPECIFIC of ILLEGAL REQUEST */
static void decode_pointer(struct dev *dev, const uint8_t *sks)
{
	struct sense *sense = &dev->sense;

	CHECK(dev, !(sks[0] & 0x30));
	sense->sksv = sks[0] & 0x80;
	sense->bit = -1;
	if (!sense->sksv) {
		CHECK(dev, zeros(sks, 0, 3));
		return;
	}
	CHECK(dev, sense->key == ILLEGAL_REQUEST);
	sense->in_cdb = sks[0] & 0x40;
	if (sks[0] & 0x08)
		sense->bit = sks[0] & 7;
	else
		CHECK(dev, !(sks[0] & 7));
	sense->byte = get_be16(sks + 1);
}

static void decode_fixed(struct dev *dev)
{
	const uint8_t *s = dev->sense_bytes;
	struct sense *sense = &dev->sense;

	CHECK(dev, s[1] == 0);
	CHECK(dev, !(s[2] & 0xf0));	/* FILEMARK, EOM, ILI, SDAT_OVFL */
	sense->key = s[2];
	sense->valid = s[0] & 0x80;
	sense->info = get_be32(s + 3);
	CHECK(dev, sense->valid || !sense->info);
	CHECK(dev, s[7] == 10);
	CHECK(dev, zeros(s, 8, 12));
	sense->asc = get_be16(s + 12);
	CHECK(dev, s[14] == 0);
	decode_pointer(dev, s + 15);
	CHECK(dev, zeros(s, 18, MEMZBC_SENSE_SIZE));
}

static void decode_information(struct dev *dev, const uint8_t *desc)
{
	CHECK(dev, desc[1] == 0x0a && desc[2] == 0x80 && desc[3] == 0);
	dev->sense.valid = true;
	dev->sense.info = get_be64(desc + 4);
}

static void decode_sense_key_specific(struct dev *dev, const uint8_t *desc)
{
	CHECK(dev, desc[1] == 6);
	CHECK(dev, zeros(desc, 2, 4) && desc[7] == 0);
	CHECK(dev, desc[4] & 0x80);
	decode_pointer(dev, desc + 4);
}

static void decode_descriptors(struct dev *dev)
{
	const uint8_t *s = dev->sense_bytes;
	size_t end = 8u + s[7];

	dev->sense.key = s[1];
	dev->sense.asc = get_be16(s + 2);
	CHECK(dev, s[1] <= 0xf && zeros(s, 4, 7));
	CHECK(dev, end <= MEMZBC_SENSE_SIZE);
	for (size_t at = 8; at < end; at += 2u + s[at + 1]) {
		CHECK(dev, at + 2 <= end && at + 2 + s[at + 1] <= end);
		if (s[at] == 0)
			decode_information(dev, s + at);
		else if (s[at] == 2)
			decode_sense_key_specific(dev, s + at);
		else
			CHECK(dev, s[at] == 0 || s[at] == 2);
	}
	CHECK(dev, zeros(s, end, MEMZBC_SENSE_SIZE));
}

void decode_sense(struct dev *dev)
{
	dev->sense = (struct sense){ .format = dev->sense_bytes[0] & 0x7f, .bit = -1 };
	CHECK(dev, dev->sense.format == 0x70 || dev->sense_bytes[0] == 0x72);
	if (dev->sense.format == 0x70)
		decode_fixed(dev);
	else
		decode_descriptors(dev);
}

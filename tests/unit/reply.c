// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Parameter data written down as hexadecimal digits. */
#include "reply.h"

size_t hex_bytes(const char *hex, uint8_t *bytes)
{
	size_t len = 0;

	while (*(hex += strspn(hex, " "))) {
		char digits[3] = { hex[0], hex[1], '\0' };
		unsigned long repeat = 1;
		char *end;
		uint8_t byte = (uint8_t)strtoul(digits, &end, 16);

		if (end != digits + 2)
			fail_dev(NULL, __FILE__, __LINE__, "no byte at '%s'", hex);
		hex += 2;
		if (*hex == '*') {
			repeat = strtoul(hex + 1, &end, 10);
			hex = end;
		}
		if (repeat > HEX_MAX - len)
			fail_dev(NULL, __FILE__, __LINE__, "too many bytes");
		memset(bytes + len, byte, repeat);
		len += repeat;
	}
	return len;
}

static struct cdb with_alloc(struct cdb cdb, struct alloc_field field, uint64_t alloc)
{
	for (unsigned int i = 0; i < field.width; i++)
		cdb.b[field.at + i] = (uint8_t)(alloc >> 8 * (field.width - 1 - i));
	return cdb;
}

static void expect_cut(struct dev *dev, const uint8_t *want, size_t len, size_t alloc,
		       const char *file, int line)
{
	for (size_t i = 0; i < alloc; i++) {
		uint8_t byte = i < len ? want[i] : 0;

		if (dev->in[i] != byte)
			fail_dev(dev, file, line, "byte %zu of %zu is %02x, not %02x", i, len,
				 dev->in[i], byte);
	}
}

void expect_reply_(struct dev *dev, struct cdb cdb, struct alloc_field field, const char *hex,
		   const char *file, int line)
{
	uint8_t want[HEX_MAX];
	size_t len = hex_bytes(hex, want);
	size_t allocs[] = { len, 0, 1, 4, 5, len / 2, len - 1, len + 1, len + 100 };

	for (size_t i = 0; i < ARRAY_SIZE(allocs); i++) {
		if (allocs[i] < field.least || (field.width == 1 && allocs[i] > 255))
			continue;
		expect_good_(dev, run_in(dev, with_alloc(cdb, field, allocs[i]), allocs[i]),
			     "run_in", file, line);
		expect_cut(dev, want, len, allocs[i], file, line);
	}
	/* A buffer that is too short for what the CDB asks for. */
	dev->short_by = 1;
	expect_sense_(dev, run_in(dev, with_alloc(cdb, field, len), len), HARDWARE_ERROR,
		      ASC_INTERNAL_TARGET_FAILURE, "run_in", file, line);
}

uint8_t run_list(struct dev *dev, struct cdb cdb, const char *hex)
{
	uint8_t list[HEX_MAX];
	size_t len = hex_bytes(hex, list);

	return run_out(dev, cdb, list, len);
}

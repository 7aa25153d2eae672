/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Parameter data as the standards lay them out, written down as hexadecimal digits.
 */
#ifndef MEMZBC_TESTS_REPLY_H
#define MEMZBC_TESTS_REPLY_H

#include "harness.h"

#define HEX_MAX 1024

/* "00*4" repeats a byte, blanks are ignored. Returns the number of bytes, at most HEX_MAX. */
size_t hex_bytes(const char *hex, uint8_t *bytes);

/* Where a CDB has its ALLOCATION LENGTH. */
struct alloc_field {
	unsigned int at, width;
	uint32_t least;	/* that is accepted */
};

/*
 * Runs @cdb with various ALLOCATION LENGTHs, and expects the data of @hex, cut where the
 * ALLOCATION LENGTH says, with zeros behind.
 */
#define expect_reply(dev, cdb, field, hex) expect_reply_(dev, cdb, field, hex, __FILE__, __LINE__)
void expect_reply_(struct dev *dev, struct cdb cdb, struct alloc_field field, const char *hex,
		   const char *file, int line);

/* Runs a command with a parameter list of @hex, and returns its status. */
uint8_t run_list(struct dev *dev, struct cdb cdb, const char *hex);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Text of the config string: pieces of it, numbers, sizes and times, both ways.
 */
#ifndef MEMZBC_TEXT_H
#define MEMZBC_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <memzbc/config.h>

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)

/* Part of a string; none if @at is NULL. */
struct span {
	const char *at;
	size_t len;
};

/* The beginning of a span, for "%.*s" in a reason. */
#define VALUE_SHOWN 60
#define SHOWN(s) (int)((s).len < VALUE_SHOWN ? (s).len : VALUE_SHOWN), (s).at ? (s).at : ""

struct span span_of(const char *string);
bool span_is(struct span s, const char *string);
/* Cuts @prefix off *@s; false if *@s does not start with it. */
bool span_cut(struct span *s, const char *prefix);
/* Cuts the next item off *@rest, which ends after the last one with at == NULL. */
struct span next_item(struct span *rest, const char *separator);
/* Index of @word in the list @words ("a, b, c"), or -1. */
int word_index(const char *words, struct span word);
/* The word at @index, or the last one if there are fewer. */
struct span word_at(const char *words, uint64_t index);
/* Appends to the string in @text, of @size bytes; what does not fit is cut off. */
#define text_append(text, size, ...) \
	snprintf((text) + strlen(text), (size) - strlen(text), __VA_ARGS__)

static inline int refused(int length)
{
	(void)length;
	return -EINVAL;
}

/* Writes a reason, of a format and its arguments, and returns -EINVAL. */
#define refuse(reason, ...) refused(snprintf(reason, MEMZBC_REASON_SIZE, __VA_ARGS__))

/* What a reason says of a number that is well-formed and too large or too small. */
#define OUT_OF_RANGE "out of range"

/* All return NULL, or what is wrong with the text; *@value is undefined then. */
const char *parse_count(struct span text, uint64_t *value);
const char *parse_hex(struct span text, uint64_t *value);
/* Bytes; takes K, M, G and T. */
const char *parse_size(struct span text, uint64_t *value);
/* Nanoseconds of "100us", "1.5ms", "0". */
const char *parse_time(struct span text, uint64_t *value);
/* A decimal fraction in units of 1/@one, which must be a power of ten. */
const char *parse_fraction(struct span text, uint64_t one, uint64_t *value);

/* The shortest form without a fraction that parse_size() and parse_time() take. */
void print_size(FILE *out, uint64_t bytes);
void print_time(FILE *out, uint64_t ns);

#endif

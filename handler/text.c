// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "text.h"

#include <inttypes.h>
#include <string.h>

#include "macros.h"

#define NO_COUNT "no whole number"
#define NO_HEX "no hexadecimal number"
#define NO_SIZE "no number of bytes, plain or with K, M, G or T"
#define NO_TIME "no number with ns, us, ms or s"
#define NO_UNIT "no unit, one of ns, us, ms, s"
#define NO_FRACTION "no decimal number"
#define TOO_FINE "too many decimal places"

struct span span_of(const char *string)
{
	return (struct span){ string, strlen(string) };
}

bool span_is(struct span s, const char *string)
{
	return s.len == strlen(string) && !memcmp(s.at, string, s.len);
}

bool span_cut(struct span *s, const char *prefix)
{
	size_t len = strlen(prefix);

	if (s->len < len || strncmp(s->at, prefix, len) != 0)
		return false;
	s->at += len;
	s->len -= len;
	return true;
}

struct span next_item(struct span *rest, const char *separator)
{
	const char *end = memmem(rest->at, rest->len, separator, strlen(separator));
	struct span item = *rest;

	if (!end) {
		*rest = (struct span){ NULL, 0 };
		return item;
	}
	item.len = (size_t)(end - item.at);
	rest->at = end + strlen(separator);
	rest->len -= item.len + strlen(separator);
	return item;
}

int word_index(const char *words, struct span word)
{
	struct span rest = span_of(words);
	int index = 0;

	for (; rest.at; index++) {
		struct span item = next_item(&rest, ", ");

		if (item.len == word.len && !memcmp(item.at, word.at, word.len))
			return index;
	}
	return -1;
}

struct span word_at(const char *words, uint64_t index)
{
	struct span rest = span_of(words);
	struct span word = next_item(&rest, ", ");

	for (; index && rest.at; index--)
		word = next_item(&rest, ", ");
	return word;
}

/* Value of a digit, or 16. */
static unsigned int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return 16;
}

/* @malformed is what is wrong if it is no such number. */
static const char *parse_digits(struct span text, uint64_t base, const char *malformed,
				uint64_t *value)
{
	bool overflow = false;

	*value = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint64_t digit = digit_value(text.at[i]);

		if (digit >= base)
			return malformed;
		overflow |= __builtin_mul_overflow(*value, base, value);
		overflow |= __builtin_add_overflow(*value, digit, value);
	}
	if (!text.len)
		return malformed;
	return overflow ? OUT_OF_RANGE : NULL;
}

const char *parse_count(struct span text, uint64_t *value)
{
	return parse_digits(text, 10, NO_COUNT, value);
}

const char *parse_hex(struct span text, uint64_t *value)
{
	return parse_digits(text, 16, NO_HEX, value);
}

/* Bits that a suffix shifts a number by, or 0. */
static unsigned int suffix_shift(char c)
{
	static const char suffixes[] = "KkMmGgTt";
	const char *at = c ? strchr(suffixes, c) : NULL;

	return at ? (unsigned int)(at - suffixes) / 2 * 10 + 10 : 0;
}

const char *parse_size(struct span text, uint64_t *value)
{
	unsigned int shift = text.len ? suffix_shift(text.at[text.len - 1]) : 0;
	const char *wrong;

	text.len -= shift > 0;
	wrong = parse_digits(text, 10, NO_SIZE, value);
	if (!wrong && __builtin_mul_overflow(*value, 1ull << shift, value))
		return OUT_OF_RANGE;
	return wrong;
}

const char *parse_fraction(struct span text, uint64_t one, uint64_t *value)
{
	struct span rest = text;
	struct span whole = next_item(&rest, ".");
	const char *wrong = parse_digits(whole, 10, NO_FRACTION, value);
	bool overflow = __builtin_mul_overflow(*value, one, value);

	if (wrong)
		return wrong;
	if (rest.at && !rest.len)
		return NO_FRACTION;
	for (size_t i = 0; i < rest.len; i++) {
		uint64_t digit = digit_value(rest.at[i]);

		if (digit >= 10)
			return NO_FRACTION;
		if (one == 1 && digit)
			return TOO_FINE;
		if (one > 1) {
			one /= 10;
			overflow |= __builtin_add_overflow(*value, digit * one, value);
		}
	}
	return overflow ? OUT_OF_RANGE : NULL;
}

/* "s" last, because the others end with it too. */
static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = {
	{ "ns", 1 },
	{ "us", NS_PER_US },
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_S },
};

/* Cuts @suffix off *@s; false if *@s does not end with it. */
static bool cut_end(struct span *s, const char *suffix)
{
	size_t len = strlen(suffix);

	if (s->len < len || strncmp(s->at + s->len - len, suffix, len) != 0)
		return false;
	s->len -= len;
	return true;
}

const char *parse_time(struct span text, uint64_t *value)
{
	const char *wrong;
	size_t i = 0;

	while (i < ARRAY_SIZE(time_units) && !cut_end(&text, time_units[i].name))
		i++;
	wrong = parse_fraction(text, i < ARRAY_SIZE(time_units) ? time_units[i].ns : 1, value);
	if (wrong && !strcmp(wrong, NO_FRACTION))
		return NO_TIME;
	/* Nothing takes as long in any unit. */
	if (i == ARRAY_SIZE(time_units) && (wrong || *value))
		return NO_UNIT;
	return wrong;
}

void print_size(FILE *out, uint64_t bytes)
{
	static const char suffixes[] = "KMGT";
	size_t i = 0;

	while (i < strlen(suffixes) && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	fprintf(out, "%" PRIu64, bytes);
	if (i)
		fputc(suffixes[i - 1], out);
}

void print_time(FILE *out, uint64_t ns)
{
	size_t i = ARRAY_SIZE(time_units) - 1;

	if (!ns) {
		fputc('0', out);
		return;
	}
	while (ns % time_units[i].ns)
		i--;
	fprintf(out, "%" PRIu64 "%s", ns / time_units[i].ns, time_units[i].name);
}

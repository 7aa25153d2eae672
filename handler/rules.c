// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "rules.h"

#include <inttypes.h>

#include <memzbc/config.h>
#include <memzbc/scsi.h>

#include "macros.h"

/* What reasons name; keytable.c explains it. */
#define RULE_KINDS "medium, hardware, aborted, notready, busy, full, conflict, drop, " \
		   "partialBLOCKS, senseKKAAQQ"
#define RULE_PARTS "read, write, zone, sync, other, any, open, close, finish, reset, " \
		   "opXX, opXX.XX, lbaFIRST, lbaFIRST-LAST, pPROBABILITY, nCOUNT, tTIME"

#define SURE MEMZBC_PROBABILITY_SURE
/* After LIO (30 s) and the initiators (30 s for disks) have given up. */
#define DROP_TIME (60 * NS_PER_S)
/*
 * A daemon that stops waits for every answer, even one that LIO has given up, and systemd kills it
 * after 90 s.
 */
#define DROP_TIME_MAX (80 * NS_PER_S)
#define TIME_MAX (86400 * NS_PER_S)
#define SERVICE_ACTION_MAX 0x1f

#define READ (1u << MEMZBC_CLASS_READ)
#define WRITE (1u << MEMZBC_CLASS_WRITE)
/* Not the commands with which initiators find a LUN. */
#define MEDIUM (MEMZBC_CLASSES_ALL & ~(1u << MEMZBC_CLASS_OTHER))

/* KINDs; what their rules have in common. */
static const struct kind {
	const char *name;	/* the beginning, where a number follows */
	enum memzbc_error_kind kind;
	uint32_t classes;	/* unless the rule names some */
	uint8_t key;
	uint16_t asc;
	uint8_t status;
	const char *accepted;	/* where a number follows */
} kinds[] = {
	{ "medium", MEMZBC_ERROR_MEDIUM, READ | WRITE, 0, 0, 0, NULL },
	{ "hardware", MEMZBC_ERROR_SENSE, MEDIUM, HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE, 0,
	  NULL },
	{ "aborted", MEMZBC_ERROR_SENSE, MEDIUM, ABORTED_COMMAND, ASC_CRC_ERROR, 0, NULL },
	{ "notready", MEMZBC_ERROR_SENSE, MEDIUM, NOT_READY, ASC_BECOMING_READY, 0, NULL },
	{ "busy", MEMZBC_ERROR_STATUS, MEDIUM, 0, 0, SAM_STAT_BUSY, NULL },
	{ "full", MEMZBC_ERROR_STATUS, MEDIUM, 0, 0, SAM_STAT_TASK_SET_FULL, NULL },
	{ "conflict", MEMZBC_ERROR_STATUS, MEDIUM, 0, 0, SAM_STAT_RESERVATION_CONFLICT, NULL },
	{ "drop", MEMZBC_ERROR_DROP, MEDIUM, 0, 0, 0, NULL },
	{ "partial", MEMZBC_ERROR_PARTIAL, WRITE, 0, 0, 0, "partial0 to partial4294967295" },
	/* Last: it takes what none of those above is. */
	{ "sense", MEMZBC_ERROR_SENSE, MEDIUM, 0, 0, 0,
	  "sense000000 to sense0fffff: sense key, ASC and ASCQ, hexadecimal" },
};

/* In the order of enum memzbc_class. */
static const char class_words[] = "read, write, zone, sync, other";
/* In the order of the service actions of ZBC OUT, from SA_CLOSE_ZONE. */
static const char action_words[] = "close, finish, open, reset";

static const char *parse_opcode(struct memzbc_error_rule *rule, struct span text)
{
	struct span opcode = next_item(&text, ".");
	uint64_t value;

	if (opcode.len != 2 || parse_hex(opcode, &value))
		return "no operation code";
	rule->opcode = (int16_t)value;
	if (!text.at)
		return NULL;
	if (text.len != 2 || parse_hex(text, &value) || value > SERVICE_ACTION_MAX)
		return "no service action";
	rule->service_action = (int16_t)value;
	return NULL;
}

static const char *parse_lba(struct span text, uint64_t *value)
{
	if (span_cut(&text, "0x"))
		return parse_hex(text, value);
	return parse_count(text, value);
}

static const char *parse_range(struct memzbc_error_rule *rule, struct span text)
{
	const char *wrong = parse_lba(next_item(&text, "-"), &rule->first);

	rule->has_range = true;
	rule->last = rule->first;
	if (!wrong && text.at)
		wrong = parse_lba(text, &rule->last);
	if (!wrong && rule->last < rule->first)
		wrong = "ends before it starts";
	return wrong;
}

static const char *parse_probability(struct memzbc_error_rule *rule, struct span text)
{
	bool percent = text.len && text.at[text.len - 1] == '%';
	const char *wrong;
	uint64_t value;

	text.len -= percent;
	wrong = parse_fraction(text, percent ? SURE / 100 : SURE, &value);
	if (!wrong && (value < 1 || value > SURE))
		wrong = OUT_OF_RANGE;
	if (!wrong)
		rule->probability = (uint32_t)value;
	return wrong;
}

static const char *parse_times(struct memzbc_error_rule *rule, struct span text)
{
	const char *wrong = parse_count(text, &rule->count);

	/* The largest number is for ever. */
	if (!wrong && (rule->count == 0 || rule->count == UINT64_MAX))
		wrong = OUT_OF_RANGE;
	return wrong;
}

static const char *parse_duration(struct memzbc_error_rule *rule, struct span text)
{
	const char *wrong = parse_time(text, &rule->time);

	if (!wrong && (rule->time == 0 || rule->time > TIME_MAX))
		wrong = OUT_OF_RANGE;
	return wrong;
}

/* PARTs that begin with a name. */
static const struct part {
	const char *name;
	const char *accepted;
	const char *(*parse)(struct memzbc_error_rule *rule, struct span text);
} parts[] = {
	{ "op", "opXX or opXX.XX: operation code and service action, hexadecimal", parse_opcode },
	{ "lba", "lbaFIRST or lbaFIRST-LAST, decimal or hexadecimal with 0x", parse_range },
	{ "p", "p0.000001 to p1, or p0.0001% to p100%", parse_probability },
	{ "n", "n1 to n18446744073709551614", parse_times },
	{ "t", "t1ns to t86400s", parse_duration },
};
#define PART_OPCODE 0

/* The classes that a part names, or 0. */
static uint32_t classes_of(struct span part)
{
	int class = word_index(class_words, part);

	if (class >= 0)
		return 1u << class;
	return span_is(part, "any") ? MEMZBC_CLASSES_ALL : 0;
}

/* Cuts the name off. Returns the index in parts[], or -1. */
static int find_part(struct span *part)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (span_cut(part, parts[i].name))
			return (int)i;
	return -1;
}

/*
 * Returns NULL or what is wrong; *@accepted is what would not be. *@seen has a bit for each of
 * parts[] that the rule has.
 */
static const char *parse_part(struct memzbc_error_rule *rule, struct span text, uint32_t *seen,
			      const char **accepted)
{
	uint32_t classes = classes_of(text);
	int action = word_index(action_words, text);
	int part = action >= 0 ? PART_OPCODE : find_part(&text);

	*accepted = "one";
	if (classes & rule->classes)
		return "given before";
	rule->classes |= classes;
	if (classes)
		return NULL;
	if (part >= 0 && *seen & 1u << part)
		return "second of its kind";
	*accepted = part < 0 ? RULE_PARTS : parts[part].accepted;
	if (part < 0)
		return "unknown part";
	*seen |= 1u << part;
	if (action < 0)
		return parts[part].parse(rule, text);
	rule->opcode = ZBC_OUT;
	rule->service_action = (int16_t)(SA_CLOSE_ZONE + action);
	return NULL;
}

static const char *parse_sense(struct memzbc_error_rule *rule, struct span digits)
{
	uint64_t value;

	if (digits.len != 6 || parse_hex(digits, &value))
		return "no six hexadecimal digits";
	if (value >> 16 > SENSE_KEY_MAX)
		return "no sense key";
	rule->key = (uint8_t)(value >> 16);
	rule->asc = (uint16_t)value;
	return NULL;
}

static const char *parse_blocks(struct memzbc_error_rule *rule, struct span digits)
{
	uint64_t value;
	const char *wrong = parse_count(digits, &value);

	if (!wrong && value > UINT32_MAX)
		wrong = OUT_OF_RANGE;
	rule->blocks = (uint32_t)value;
	return wrong;
}

/* Returns NULL, with *@kind set, or what is wrong; *@accepted is what would not be. */
static const char *parse_kind(struct memzbc_error_rule *rule, struct span text,
			      const struct kind **kind, const char **accepted)
{
	for (*kind = kinds; *kind < kinds + ARRAY_SIZE(kinds); (*kind)++) {
		struct span number = text;

		if (!span_cut(&number, (*kind)->name))
			continue;
		rule->kind = (*kind)->kind;
		rule->key = (*kind)->key;
		rule->asc = (*kind)->asc;
		rule->status = (*kind)->status;
		*accepted = (*kind)->accepted;
		if (!*accepted && number.len)
			continue;
		if (!*accepted)
			return NULL;
		return rule->kind == MEMZBC_ERROR_SENSE ? parse_sense(rule, number)
							: parse_blocks(rule, number);
	}
	*accepted = RULE_KINDS;
	return "unknown kind";
}

/* What the rule leaves open. Returns NULL or what is wrong. */
static const char *settle(struct memzbc_error_rule *rule, const struct kind *kind)
{
	if (rule->classes && rule->opcode >= 0)
		return "a class of commands and an operation code; accepted: one of them";
	if (!rule->classes)
		rule->classes = rule->opcode >= 0 ? MEMZBC_CLASSES_ALL : kind->classes;
	if (rule->kind == MEMZBC_ERROR_DROP && !rule->time)
		rule->time = DROP_TIME;
	if (rule->kind == MEMZBC_ERROR_DROP && rule->time > DROP_TIME_MAX)
		return "an answer so late; accepted with drop: t1ns to t80s";
	return NULL;
}

/* @text is one of the rules in @whole. */
static int parse_rule(struct memzbc_error_rule *rule, struct span text, struct span whole,
		      char *reason)
{
	struct span rest = text;
	struct span item = next_item(&rest, "@");
	const char *wrong, *accepted;
	const struct kind *kind;
	uint32_t seen = 0;

	*rule = (struct memzbc_error_rule){
		.opcode = -1,
		.service_action = -1,
		.probability = SURE,
		.count = UINT64_MAX,
	};
	wrong = parse_kind(rule, item, &kind, &accepted);
	while (!wrong && rest.at) {
		item = next_item(&rest, "@");
		wrong = parse_part(rule, item, &seen, &accepted);
	}
	if (wrong)
		return refuse(reason, "error=%.*s: '%.*s': %s; accepted: %s",
			      SHOWN(text.len ? text : whole), SHOWN(item), wrong, accepted);
	wrong = settle(rule, kind);
	return wrong ? refuse(reason, "error=%.*s: %s", SHOWN(text), wrong) : 0;
}

int rules_parse(struct memzbc_faults *faults, struct span text, char *reason)
{
	struct span whole = text;
	int err = 0;

	faults->error_rules = 0;
	if (!text.len || span_is(text, "off"))
		return 0;
	while (!err && text.at) {
		struct span rule = next_item(&text, "+");

		if (faults->error_rules == MEMZBC_ERROR_RULES_MAX)
			return refuse(reason, "error: too many rules; accepted: up to "
				      TEXT(MEMZBC_ERROR_RULES_MAX));
		err = parse_rule(&faults->error[faults->error_rules++], rule, whole, reason);
	}
	return err;
}

static bool is_of_kind(const struct memzbc_error_rule *rule, const struct kind *kind)
{
	if (rule->kind != kind->kind)
		return false;
	return kind->accepted || (rule->key == kind->key && rule->asc == kind->asc &&
				      rule->status == kind->status);
}

static const struct kind *print_kind(FILE *out, const struct memzbc_error_rule *rule)
{
	const struct kind *kind = kinds;

	/* The last one takes all that is left. */
	while (kind < kinds + ARRAY_SIZE(kinds) - 1 && !is_of_kind(rule, kind))
		kind++;
	fputs(kind->name, out);
	if (kind->accepted && rule->kind == MEMZBC_ERROR_PARTIAL)
		fprintf(out, "%" PRIu32, rule->blocks);
	else if (kind->accepted)
		fprintf(out, "%02x%04x", rule->key, rule->asc);
	return kind;
}

static void print_word(FILE *out, const char *words, uint32_t index)
{
	struct span word = word_at(words, index);

	fprintf(out, "@%.*s", (int)word.len, word.at);
}

static void print_classes(FILE *out, uint32_t classes)
{
	if (classes == MEMZBC_CLASSES_ALL) {
		fputs("@any", out);
		return;
	}
	for (uint32_t class = 0; class < MEMZBC_CLASSES; class++)
		if (classes & 1u << class)
			print_word(out, class_words, class);
}

static void print_opcode(FILE *out, const struct memzbc_error_rule *rule)
{
	if (rule->opcode == ZBC_OUT && rule->service_action >= SA_CLOSE_ZONE &&
	    rule->service_action <= SA_RESET_WRITE_POINTER)
		print_word(out, action_words, (uint32_t)rule->service_action - SA_CLOSE_ZONE);
	else if (rule->service_action >= 0)
		fprintf(out, "@op%02x.%02x", (unsigned int)rule->opcode,
			(unsigned int)rule->service_action);
	else
		fprintf(out, "@op%02x", (unsigned int)rule->opcode);
}

static void print_range(FILE *out, const struct memzbc_error_rule *rule)
{
	fprintf(out, "@lba%" PRIu64, rule->first);
	if (rule->last != rule->first)
		fprintf(out, "-%" PRIu64, rule->last);
}

static void print_probability(FILE *out, uint32_t probability)
{
	int digits = 6;

	while (probability % 10 == 0) {
		probability /= 10;
		digits--;
	}
	fprintf(out, "@p0.%0*" PRIu32, digits, probability);
}

static void print_rule(FILE *out, const struct memzbc_error_rule *rule)
{
	const struct kind *kind = print_kind(out, rule);

	if (rule->opcode >= 0)
		print_opcode(out, rule);
	else if (rule->classes != kind->classes)
		print_classes(out, rule->classes);
	if (rule->has_range)
		print_range(out, rule);
	if (rule->probability != SURE)
		print_probability(out, rule->probability);
	if (rule->count != UINT64_MAX)
		fprintf(out, "@n%" PRIu64, rule->count);
	if (rule->time && !(rule->kind == MEMZBC_ERROR_DROP && rule->time == DROP_TIME)) {
		fputs("@t", out);
		print_time(out, rule->time);
	}
}

void rules_print(FILE *out, const struct memzbc_faults *faults)
{
	if (!faults->error_rules)
		fputs("off", out);
	for (uint32_t i = 0; i < faults->error_rules; i++) {
		if (i)
			fputc('+', out);
		print_rule(out, &faults->error[i]);
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Counters as JSON. Commands, statuses and sense data are told by their numbers.
 */
#include <inttypes.h>

#include <memzbc/scsi.h>

#include "stats.h"

#define U64 "%" PRIu64

static const char *const class_names[MEMZBC_CLASSES] = {
	[MEMZBC_CLASS_READ] = "read",
	[MEMZBC_CLASS_WRITE] = "write",
	[MEMZBC_CLASS_ZONE] = "zone",
	[MEMZBC_CLASS_SYNC] = "sync",
	[MEMZBC_CLASS_OTHER] = "other",
};

static const char *const condition_names[16] = {
	[ZONE_EMPTY] = "empty",
	[ZONE_IMP_OPEN] = "implicitly opened",
	[ZONE_EXP_OPEN] = "explicitly opened",
	[ZONE_CLOSED] = "closed",
	[ZONE_READ_ONLY] = "read only",
	[ZONE_FULL] = "full",
	[ZONE_OFFLINE] = "offline",
};

static const char *const ending_names[MEMZBC_ENDINGS] = {
	[MEMZBC_ENDING_POINTER] = "pointer",
	[MEMZBC_ENDING_PASSED] = "passed",
	[MEMZBC_ENDING_ATTEMPTS] = "attempts",
	[MEMZBC_ENDING_DEPTH] = "depth",
	[MEMZBC_ENDING_TIME] = "time",
	[MEMZBC_ENDING_DRAINED] = "drained",
	[MEMZBC_ENDING_SETTINGS] = "settings",
};

static const char *const injected_names[MEMZBC_ERROR_KINDS] = {
	[MEMZBC_ERROR_MEDIUM] = "medium",
	[MEMZBC_ERROR_PARTIAL] = "partial",
	[MEMZBC_ERROR_SENSE] = "sense",
	[MEMZBC_ERROR_STATUS] = "status",
	[MEMZBC_ERROR_DROP] = "drop",
};

static void print_counters(FILE *out, const struct stats_command *c)
{
	fprintf(out, "\"commands\":" U64 ",\"bytes\":" U64 ",\"errors\":" U64 "}", c->commands,
		c->bytes, c->errors);
}

static void print_classes(FILE *out, const struct stats *stats)
{
	struct stats_command sums[MEMZBC_CLASSES] = { { 0 } };

	for (int i = 0; i <= COMMANDS; i++) {
		const struct stats_command *c = &stats->commands[i];
		int class = i < COMMANDS ? command_table[i].class : MEMZBC_CLASS_OTHER;

		sums[class].commands += c->commands;
		sums[class].bytes += c->bytes;
		sums[class].errors += c->errors;
	}
	fputs(",\"classes\":{", out);
	for (int class = 0; class < MEMZBC_CLASSES; class++) {
		fprintf(out, "%s\"%s\":{", class ? "," : "", class_names[class]);
		print_counters(out, &sums[class]);
	}
	putc('}', out);
}

/* An opcode of null stands for all that are not supported. */
static void print_commands(FILE *out, const struct stats *stats)
{
	const char *before = "";

	fputs(",\"commands\":[", out);
	for (int i = 0; i <= COMMANDS; i++) {
		const struct command *c = &command_table[i];

		if (!stats->commands[i].commands)
			continue;
		fprintf(out, "%s{", before);
		before = ",";
		if (i == COMMANDS)
			fputs("\"opcode\":null,\"service_action\":null,", out);
		else if (c->service_action == NO_SERVICE_ACTION)
			fprintf(out, "\"opcode\":%d,\"service_action\":null,", c->opcode);
		else
			fprintf(out, "\"opcode\":%d,\"service_action\":%d,", c->opcode,
				c->service_action);
		print_counters(out, &stats->commands[i]);
	}
	putc(']', out);
}

static void print_statuses(FILE *out, const struct stats *stats)
{
	const char *before = "";

	fputs(",\"statuses\":[", out);
	for (int i = 0; i < 256; i++) {
		if (!stats->statuses[i])
			continue;
		fprintf(out, "%s{\"status\":%d,\"count\":" U64 "}", before, i, stats->statuses[i]);
		before = ",";
	}
	putc(']', out);
}

static uint64_t sense_count(const struct stats *stats, uint8_t key, uint16_t asc)
{
	for (uint32_t i = 0; i < stats->senses_used; i++)
		if (stats->senses[i].key == key && stats->senses[i].asc == asc)
			return stats->senses[i].count;
	return 0;
}

static void print_senses(FILE *out, const struct stats *stats)
{
	fputs(",\"senses\":[", out);
	for (uint32_t i = 0; i < stats->senses_used; i++) {
		const struct stats_sense *s = &stats->senses[i];

		fprintf(out, "%s{\"key\":%d,\"asc\":%d,\"ascq\":%d,\"count\":" U64 "}",
			i ? "," : "", s->key, s->asc >> 8, s->asc & 0xff, s->count);
	}
	fprintf(out, "],\"senses_other\":" U64, stats->senses_other);
}

static void print_sequence(FILE *out, const char *name, const struct stats_sequence *s)
{
	fprintf(out, "\"%s\":{\"commands\":" U64 ",\"sequential\":" U64 ",\"ratio\":", name,
		s->commands, s->sequential);
	if (s->commands)
		fprintf(out, "%.4f}", (double)s->sequential / (double)s->commands);
	else
		fputs("null}", out);
}

static void print_kept(FILE *out, const char *name, const struct stats_kept *kept, uint32_t now)
{
	const char *before = "";

	fprintf(out, ",\"%s\":{\"count\":" U64 ",\"now\":%" PRIu32 ",\"ended\":{", name,
		kept->count, now);
	for (int i = MEMZBC_ENDING_NONE + 1; i < MEMZBC_ENDINGS; i++) {
		if (!kept->ended[i])
			continue;
		fprintf(out, "%s\"%s\":" U64, before, ending_names[i], kept->ended[i]);
		before = ",";
	}
	fputs("}}", out);
}

static void print_injected(FILE *out, const struct stats *stats)
{
	const char *before = "";

	fputs(",\"injected\":{", out);
	for (int i = MEMZBC_ERROR_NONE + 1; i < MEMZBC_ERROR_KINDS; i++) {
		fprintf(out, "%s\"%s\":" U64, before, injected_names[i], stats->injected[i]);
		before = ",";
	}
	putc('}', out);
}

static void print_histogram(FILE *out, const struct stats_histogram *histogram)
{
	const char *before = "";

	fprintf(out, "\"max\":" U64 ",\"histogram\":[", histogram->max);
	for (int i = 0; i < STATS_CLASSES; i++) {
		uint64_t bound = UINT64_C(1) << i;

		if (!histogram->count[i])
			continue;
		fprintf(out, "%s{\"from\":" U64 ",\"to\":" U64 ",\"count\":" U64 "}", before,
			i ? bound : 0, bound - 1 + bound, histogram->count[i]);
		before = ",";
	}
	fputs("]}", out);
}

static void print_transitions(FILE *out, const struct memzbc_stats *s)
{
	const char *before = "";

	fputs(",\"transitions\":[", out);
	for (int from = 0; from < 16; from++)
		for (int to = 0; to < 16; to++) {
			if (!s->transitions[from][to])
				continue;
			fprintf(out, "%s{\"from\":\"%s\",\"to\":\"%s\",\"count\":" U64 "}", before,
				condition_names[from], condition_names[to],
				s->transitions[from][to]);
			before = ",";
		}
	putc(']', out);
}

static void print_zones(FILE *out, const struct memzbc_stats *s)
{
	const char *before = "";

	fputs(",\"zones\":{\"now\":{", out);
	for (int i = 0; i < 16; i++) {
		if (!condition_names[i])
			continue;
		fprintf(out, "%s\"%s\":%" PRIu32, before, condition_names[i], s->zones_now[i]);
		before = ",";
	}
	fprintf(out, "},\"max_open\":%" PRIu32 ",\"max_explicitly_opened\":%" PRIu32
		",\"max_implicitly_opened\":%" PRIu32 ",\"min_empty\":%" PRIu32
		",\"emptied\":%" PRIu32 ",\"failed_explicit_opens\":%" PRIu32
		",\"read_rule_violations\":%" PRIu32 ",\"write_rule_violations\":%" PRIu32,
		s->zones.max_open, s->zones.max_exp_open, s->zones.max_imp_open,
		s->zones.min_empty, s->zones.emptied, s->zones.failed_exp_opens,
		s->zones.read_rule_violations, s->zones.write_rule_violations);
	print_transitions(out, s);
	putc('}', out);
}

void memzbc_stats_json(const struct memzbc_stats *s, FILE *out)
{
	const struct stats *stats = &s->stats;
	uint64_t completed = 0;

	for (int i = 0; i < STATS_CLASSES; i++)
		completed += stats->latency.count[i];
	fprintf(out, "{\"counting\":%s,\"seconds\":%.6f", s->counting ? "true" : "false",
		(double)s->elapsed / 1e9);
	print_classes(out, stats);
	print_commands(out, stats);
	print_statuses(out, stats);
	print_senses(out, stats);
	fputs(",\"sequential\":{", out);
	print_sequence(out, "read", &stats->reads);
	putc(',', out);
	print_sequence(out, "write", &stats->writes);
	fprintf(out, "},\"writes\":{\"unaligned\":" U64 ",\"out_of_order\":" U64 ",\"resent\":" U64
		"}", sense_count(stats, ILLEGAL_REQUEST, ASC_UNALIGNED_WRITE), stats->out_of_order,
		stats->resent);
	print_kept(out, "reordered", &stats->reordered, s->reordered);
	print_kept(out, "held", &stats->held, s->held);
	print_injected(out, stats);
	fprintf(out, ",\"outstanding\":{\"now\":%" PRIu32 ",", s->outstanding);
	print_histogram(out, &stats->outstanding);
	fprintf(out, ",\"latency_ns\":{\"mean\":" U64 ",",
		completed ? stats->latency_sum / completed : 0);
	print_histogram(out, &stats->latency);
	print_zones(out, s);
	fprintf(out, ",\"memory\":{\"data\":" U64 ",\"max\":" U64 "}}", s->memory, s->memory_max);
}

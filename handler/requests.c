// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "requests.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <memzbc/config.h>
#include <memzbc/observe.h>
#include <memzbc/operate.h>

#include "json.h"
#include "keytable.h"
#include "macros.h"
#include "text.h"

#define WORDS_MAX 64
#define BLANKS " \t"

struct request {
	const struct memzbc_control_params *lun;
	const atomic_bool *stop;
	char *words[WORDS_MAX];
	size_t words_count;
	FILE *out;		/* members of the answer, each after a comma */
	char *reason;		/* MEMZBC_REASON_SIZE bytes, for an error */
};

/* Return 0, or -errno with @rq->reason set: what was printed is dropped then. */
typedef int request_fn(struct request *rq);

struct request_kind {
	const char *name;
	const char *usage;	/* what follows the name */
	const char *help;
	size_t least, most;	/* words after the name */
	request_fn *execute;
};

static void lock(const struct request *rq)
{
	rq->lun->lock(rq->lun->arg);
}

static void unlock(const struct request *rq)
{
	rq->lun->unlock(rq->lun->arg);
}

/* The config in force. Called with the LUN locked. */
static struct memzbc_config current_config(const struct request *rq)
{
	return *memzbc_lun_config(memzbc_device_lun(rq->lun->dev));
}

static struct memzbc_config locked_config(const struct request *rq)
{
	struct memzbc_config cfg;

	lock(rq);
	cfg = current_config(rq);
	unlock(rq);
	return cfg;
}

static int request_version(struct request *rq)
{
	fprintf(rq->out, ",\"protocol\":%d,\"version\":", MEMZBC_CONTROL_PROTOCOL);
	json_string(rq->out, MEMZBC_VERSION);
	fputs(",\"name\":", rq->out);
	json_string(rq->out, rq->lun->name);
	fputs(",\"backstore\":", rq->out);
	json_string(rq->out, rq->lun->backstore);
	return 0;
}

static int request_config(struct request *rq)
{
	const struct memzbc_config cfg = locked_config(rq);

	fputs(",\"config\":\"", rq->out);
	memzbc_config_print(rq->out, &cfg, false);
	fprintf(rq->out, "\",\"zones\":%" PRIu32 ",\"capacity\":%" PRIu64 ",\"zone_size\":%" PRIu64
		",\"zone_cap\":%" PRIu64 ",\"lba_size\":%" PRIu32, memzbc_config_zones(&cfg),
		cfg.capacity, cfg.zone_size, cfg.zone_cap, cfg.lba_size);
	return 0;
}

static void print_settings(struct request *rq, const struct memzbc_config *cfg)
{
	fputs(",\"settings\":", rq->out);
	memzbc_config_print(rq->out, cfg, true);
}

static int request_get(struct request *rq)
{
	const struct memzbc_config cfg = locked_config(rq);

	if (rq->words_count == 1) {
		print_settings(rq, &cfg);
		return 0;
	}
	for (size_t i = 1; i < rq->words_count; i++) {
		const struct memzbc_key *key = key_find(span_of(rq->words[i]));

		if (!key || !key_may_change(key))
			return refuse(rq->reason, "'%.60s' is no key that may change at any time",
				      rq->words[i]);
		fprintf(rq->out, "%s\"%s\":", i == 1 ? ",\"settings\":{" : ",", key->name);
		key_print(rq->out, key, &cfg, true);
	}
	putc('}', rq->out);
	return 0;
}

/* The words after the first, joined again as settings of a config string. */
static void join_settings(struct request *rq, char *settings, size_t size)
{
	settings[0] = '\0';
	for (size_t i = 1; i < rq->words_count; i++)
		text_append(settings, size, "%s%s", i > 1 ? "/" : "", rq->words[i]);
}

static int request_set(struct request *rq)
{
	char settings[MEMZBC_CONTROL_LINE_MAX];
	struct memzbc_config cfg;
	int err;

	join_settings(rq, settings, sizeof(settings));
	lock(rq);
	cfg = current_config(rq);
	err = memzbc_config_change(&cfg, settings, rq->reason);
	if (!err)
		err = memzbc_device_set_faults(rq->lun->dev, &cfg.faults, rq->reason);
	unlock(rq);
	if (!err)
		print_settings(rq, &cfg);
	return err;
}

/* One of the zones of a request: its condition in the words of the protocol. */
static const struct {
	const char *name;
	enum memzbc_zone_change change;
} zone_words[] = {
	{ "empty", MEMZBC_ZONE_EMPTY },	{ "closed", MEMZBC_ZONE_CLOSED },
	{ "full", MEMZBC_ZONE_FULL },	{ "readonly", MEMZBC_ZONE_READ_ONLY },
	{ "offline", MEMZBC_ZONE_OFFLINE }, { "notwp", MEMZBC_ZONE_NOT_WP },
};

struct zone_request {
	uint64_t first, last;
	enum memzbc_zone_change change;
	uint64_t pointer;
};

static int parse_zones(const struct request *rq, struct zone_request *z)
{
	struct span rest = span_of(rq->words[1]);
	const char *wrong = parse_count(next_item(&rest, "-"), &z->first);

	z->last = z->first;
	if (!wrong && rest.at)
		wrong = parse_count(rest, &z->last);
	if (!wrong && (z->last < z->first || z->last > UINT32_MAX))
		wrong = OUT_OF_RANGE;
	if (wrong)
		return refuse(rq->reason, "zones '%.60s': %s; accepted: a number, or "
			      "FIRST-LAST", rq->words[1], wrong);
	return 0;
}

/* A condition, a write pointer, or both. */
static int parse_change(const struct request *rq, size_t i, struct zone_request *z)
{
	struct span word = span_of(rq->words[i]);
	const char *wrong;

	if (span_cut(&word, "wp=") && z->pointer == MEMZBC_POINTER_KEPT) {
		wrong = parse_count(word, &z->pointer);
		return wrong ? refuse(rq->reason, "%.60s: %s; accepted: blocks from the start of "
				      "the zone", rq->words[i], wrong) : 0;
	}
	for (size_t w = 0; w < ARRAY_SIZE(zone_words); w++) {
		if (i == 2 && !strcmp(rq->words[i], zone_words[w].name)) {
			z->change = zone_words[w].change;
			return 0;
		}
	}
	return refuse(rq->reason, "'%.60s'; accepted: empty, closed, full, readonly, offline, "
		      "notwp, wp=BLOCKS, closed wp=BLOCKS", rq->words[i]);
}

/* A request of many zones lets commands through between two of them. */
static void pause_now_and_then(struct timespec *since)
{
	static const struct timespec nap = { .tv_nsec = 100000 };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec == since->tv_sec && now.tv_nsec - since->tv_nsec < 1000000)
		return;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, since);
}

/* What can be refused was refused before. Returns how many zones were changed. */
static uint64_t set_zones(const struct request *rq, const struct zone_request *z)
{
	struct timespec since = { 0 };
	uint64_t zone;

	for (zone = z->first; zone <= z->last && !atomic_load(rq->stop); zone++) {
		lock(rq);
		memzbc_device_set_zone(rq->lun->dev, (uint32_t)zone, z->change, z->pointer,
				       rq->reason);
		unlock(rq);
		pause_now_and_then(&since);
	}
	return zone - z->first;
}

static int request_zone(struct request *rq)
{
	const struct memzbc_lun *lun = memzbc_device_lun(rq->lun->dev);
	struct zone_request z = { .change = MEMZBC_ZONE_POINTER, .pointer = MEMZBC_POINTER_KEPT };
	int err = parse_zones(rq, &z);

	for (size_t i = 2; i < rq->words_count && !err; i++)
		err = parse_change(rq, i, &z);
	for (uint64_t zone = z.first; zone <= z.last && !err; zone++)
		err = memzbc_lun_check_zone(lun, (uint32_t)zone, z.change, z.pointer, rq->reason);
	if (!err)
		fprintf(rq->out, ",\"zones\":%" PRIu64, set_zones(rq, &z));
	return err;
}

static int request_stats(struct request *rq)
{
	struct memzbc_stats *stats;

	lock(rq);
	stats = memzbc_device_stats(rq->lun->dev);
	unlock(rq);
	if (!stats)
		return refuse(rq->reason, "no memory for a copy of the statistics");
	fputs(",\"stats\":", rq->out);
	memzbc_stats_json(stats, rq->out);
	free(stats);
	return 0;
}

static int request_reset_stats(struct request *rq)
{
	lock(rq);
	memzbc_device_stats_reset(rq->lun->dev);
	unlock(rq);
	return 0;
}

static int request_trace(struct request *rq)
{
	const struct memzbc_config cfg = locked_config(rq);
	char path[PATH_MAX];

	fputs(",\"trace\":", rq->out);
	if (!cfg.faults.trace) {
		fputs("null", rq->out);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/" MEMZBC_TRACE_FILE, rq->lun->state_dir);
	json_string(rq->out, path);
	return 0;
}

static int request_power_loss(struct request *rq)
{
	struct memzbc_power_loss loss;
	uint64_t count = UINT64_MAX;
	const char *wrong = NULL;

	if (rq->words_count > 1)
		wrong = parse_count(span_of(rq->words[1]), &count);
	if (wrong)
		return refuse(rq->reason, "count '%.60s': %s", rq->words[1], wrong);
	lock(rq);
	loss = memzbc_device_power_loss(rq->lun->dev, count);
	unlock(rq);
	fprintf(rq->out, ",\"writes\":%" PRIu64 ",\"bytes\":%" PRIu64, loss.writes, loss.bytes);
	return 0;
}

static request_fn request_help;

static const struct request_kind kinds[] = {
	{ "version", "", "which memzbc and which LUN this is", 0, 0, request_version },
	{ "help", "", "these requests", 0, 0, request_help },
	{ "config", "", "the config string in force", 0, 0, request_config },
	{ "get", "[KEY...]", "values of keys that may change at any time", 0, KEYS, request_get },
	{ "set", "KEY=VALUE...", "change them, all or none", 1, KEYS, request_set },
	{ "zone", "FIRST[-LAST] CONDITION|wp=BLOCKS|closed wp=BLOCKS",
	  "change zones, as a failing drive would", 2, 3, request_zone },
	{ "stats", "", "what the LUN has counted", 0, 0, request_stats },
	{ "reset-stats", "", "count from zero", 0, 0, request_reset_stats },
	{ "trace", "", "the file with the last commands", 0, 0, request_trace },
	{ "power-loss", "[COUNT]", "undo the COUNT newest writes that are not durable, or all", 0,
	  1, request_power_loss },
};

#define KINDS ARRAY_SIZE(kinds)

static int request_help(struct request *rq)
{
	fputs(",\"requests\":[", rq->out);
	for (size_t i = 0; i < KINDS; i++) {
		fprintf(rq->out, "%s{\"request\":\"%s%s%s\",\"help\":", i ? "," : "",
			kinds[i].name, *kinds[i].usage ? " " : "", kinds[i].usage);
		json_string(rq->out, kinds[i].help);
		putc('}', rq->out);
	}
	putc(']', rq->out);
	return 0;
}

static int refuse_request(struct request *rq)
{
	char known[MEMZBC_REASON_SIZE] = "";

	for (size_t i = 0; i < KINDS; i++)
		text_append(known, sizeof(known), "%s%s", i ? ", " : "", kinds[i].name);
	return refuse(rq->reason, "unknown request '%.60s'; accepted: %s",
		      rq->words_count ? rq->words[0] : "", known);
}

static int execute(struct request *rq)
{
	size_t args = rq->words_count - 1;

	for (size_t i = 0; i < KINDS && rq->words_count; i++) {
		if (strcmp(kinds[i].name, rq->words[0]) != 0)
			continue;
		if (args < kinds[i].least || args > kinds[i].most)
			return refuse(rq->reason, "usage: %s %s", kinds[i].name, kinds[i].usage);
		return kinds[i].execute(rq);
	}
	return refuse_request(rq);
}

static int split(struct request *rq, char *line)
{
	char *save;

	for (char *word = strtok_r(line, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (rq->words_count == WORDS_MAX)
			return refuse(rq->reason, "too many words; accepted: at most "
				      TEXT(WORDS_MAX));
		rq->words[rq->words_count++] = word;
	}
	return 0;
}

char *request_error(const char *error, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	fputs("{\"ok\":false,\"error\":", out);
	json_string(out, error);
	fputs("}\n", out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

char *request_answer(const struct memzbc_control_params *lun, char *line, const atomic_bool *stop,
		     size_t *len)
{
	char reason[MEMZBC_REASON_SIZE] = "";
	struct request rq = { .lun = lun, .stop = stop, .reason = reason };
	char *text = NULL;
	int err;

	rq.out = open_memstream(&text, len);
	if (!rq.out)
		return NULL;
	fputs("{\"ok\":true", rq.out);
	err = split(&rq, line);
	if (!err)
		err = execute(&rq);
	fputs("}\n", rq.out);
	if (fclose(rq.out) || err) {
		free(text);
		text = NULL;
	}
	return err ? request_error(reason, len) : text;
}

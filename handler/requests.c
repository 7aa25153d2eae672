// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memzbc/config.h>

#include "json.h"
#include "keytable.h"
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

static const struct memzbc_key *find_key(const char *name)
{
	for (int k = 0; k < KEYS; k++)
		if (!strcmp(config_keys[k].name, name) && key_may_change(&config_keys[k]))
			return &config_keys[k];
	return NULL;
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
		const struct memzbc_key *key = find_key(rq->words[i]);

		if (!key)
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
	size_t len = 0;

	settings[0] = '\0';
	for (size_t i = 1; i < rq->words_count; i++)
		len += (size_t)snprintf(settings + len, size - len, "%s%s", i > 1 ? "/" : "",
					rq->words[i]);
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
	if (!err) {
		err = memzbc_device_set_faults(rq->lun->dev, &cfg.faults);
		if (err)
			refuse(rq->reason, "no memory for these settings");
	}
	unlock(rq);
	if (!err)
		print_settings(rq, &cfg);
	return err;
}

static request_fn request_help;

static const struct request_kind kinds[] = {
	{ "version", "", "which memzbc and which LUN this is", 0, 0, request_version },
	{ "help", "", "these requests", 0, 0, request_help },
	{ "config", "", "the config string in force", 0, 0, request_config },
	{ "get", "[KEY...]", "values of keys that may change at any time", 0, KEYS, request_get },
	{ "set", "KEY=VALUE...", "change them, all or none", 1, KEYS, request_set },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

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
	size_t len = 0;

	for (size_t i = 0; i < KINDS; i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					kinds[i].name);
	return refuse(rq->reason, "unknown request '%.60s'; accepted: %s",
		      rq->words_count ? rq->words[0] : "", known);
}

static int execute(struct request *rq)
{
	size_t args = rq->words_count - 1;

	for (size_t i = 0; i < KINDS && rq->words_count; i++) {
		if (strcmp(kinds[i].name, rq->words[0]))
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

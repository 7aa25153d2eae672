// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * memzbc-config: what the plugin knows of config strings, for scripts and for the README.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memzbc/config.h>

#define EXIT_USAGE 2

static const char usage_text[] = "Usage: memzbc-config --json | --markdown | --help\n"
				 "       memzbc-config check STRING [SIZE_BYTES [BLOCK_SIZE]]\n";

static int usage(void)
{
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

/* A member of an object, as a JSON string. */
static void print_member(const char *name, const char *value, const char *after)
{
	printf("\"%s\": \"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		putchar(*value);
	}
	printf("\"%s", after);
}

static int print_json(void)
{
	size_t count;
	const struct memzbc_key *keys = memzbc_config_keys(&count);

	for (size_t k = 0; k < count; k++) {
		fputs(k ? ",\n {" : "[{", stdout);
		print_member("name", keys[k].name, ", ");
		print_member("unit", keys[k].unit, ", ");
		print_member("range", keys[k].range, ", ");
		print_member("default", keys[k].preset, ", ");
		print_member("when", keys[k].when, ", ");
		print_member("help", keys[k].help, "}");
	}
	puts("]");
	return EXIT_SUCCESS;
}

static int print_markdown(void)
{
	size_t count;
	const struct memzbc_key *keys = memzbc_config_keys(&count);

	puts("| key | meaning | accepted | default | may change |\n|---|---|---|---|---|");
	for (size_t k = 0; k < count; k++)
		printf("| %s | %s | %s%s%s | %s | %s |\n", keys[k].name, keys[k].help,
		       keys[k].range, *keys[k].unit ? " " : "", keys[k].unit, keys[k].preset,
		       keys[k].when);
	return EXIT_SUCCESS;
}

/* The completed config, lengths in bytes. */
static void print_config(const struct memzbc_config *cfg)
{
	printf("{\"lba_size\": %u, \"pblk_size\": %u, \"zone_size\": %" PRIu64
	       ", \"zone_cap\": %" PRIu64 ", \"zones\": %u, \"conv\": %" PRIu64
	       ", \"conv_end\": %" PRIu64 ", \"max_open\": %u, \"urswrz\": %d, \"mem\": %" PRIu64
	       "}\n",
	       cfg->lba_size, cfg->pblk_size, cfg->zone_size * cfg->lba_size,
	       cfg->zone_cap * cfg->lba_size, memzbc_config_zones(cfg), cfg->conv, cfg->conv_end,
	       cfg->max_open, cfg->urswrz, cfg->mem);
}

/* Decimal digits only. Returns whether @text is such a number. */
static bool parse_bytes(const char *text, uint64_t max, uint64_t *value)
{
	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	*value = strtoull(text, NULL, 10);
	return !errno && *value <= max;
}

static int check(int count, char **arg)
{
	char reason[MEMZBC_REASON_SIZE];
	struct memzbc_config cfg;
	uint64_t size = 0, block_size = 0;
	int err;

	if (count < 1 || count > 3 || (count > 1 && !parse_bytes(arg[1], UINT64_MAX, &size)) ||
	    (count > 2 && !parse_bytes(arg[2], UINT32_MAX, &block_size)))
		return usage();
	err = memzbc_config_parse(&cfg, arg[0], reason);
	if (!err && count > 1)
		err = memzbc_config_complete(&cfg, size, (uint32_t)block_size, reason);
	if (err) {
		fprintf(stderr, "memzbc-config: %s\n", reason);
		return EXIT_FAILURE;
	}
	if (count > 1)
		print_config(&cfg);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--json"))
		return print_json();
	if (argc == 2 && !strcmp(argv[1], "--markdown"))
		return print_markdown();
	if (argc == 2 && !strcmp(argv[1], "--help"))
		return fputs(usage_text, stdout) < 0;
	if (argc > 2 && !strcmp(argv[1], "check"))
		return check(argc - 2, argv + 2);
	return usage();
}

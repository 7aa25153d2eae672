// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control-harness.h"

#define ANSWER_MAX (1 << 20)

static char dir[] = "/tmp/memzbc-control-XXXXXX";

uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const char *control_dir(void)
{
	return dir;
}

int control_setup(void **state)
{
	char reason[MEMZBC_REASON_SIZE] = "";

	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		fail_msg("%s: %s", dir, strerror(errno));
	if (memzbc_control_start(dir, IDLE_MS, reason))
		fail_msg("start: %s", reason);
	return 0;
}

int control_teardown(void **state)
{
	(void)state;
	memzbc_control_stop();
	return rmdir(dir);
}

static void lock(void *arg)
{
	struct served *served = arg;

	pthread_mutex_lock(&served->lock);
}

static void unlock(void *arg)
{
	struct served *served = arg;

	pthread_mutex_unlock(&served->lock);
}

struct served *serve(const char *name, const char *backstore)
{
	struct served *served = calloc(1, sizeof(*served));
	char reason[MEMZBC_REASON_SIZE] = "";
	struct memzbc_config cfg;
	struct memzbc_control_params params = {
		.name = name, .backstore = backstore, .lock = lock, .unlock = unlock,
		.arg = served,
	};

	pthread_mutex_init(&served->lock, NULL);
	if (memzbc_config_parse(&cfg, "stats=0/trace=0", reason))
		fail_msg("config: %s", reason);
	served->rig = rig_open(&rig_geo, &cfg.faults);
	params.dev = served->rig->device;
	params.state_dir = served->rig->dev->dir;
	if (memzbc_control_add(&params, &served->lun, reason))
		fail_msg("add: %s", reason);
	return served;
}

void serve_stop(struct served *served)
{
	memzbc_control_remove(served->lun);
	served->lun = NULL;
}

void serve_end(struct served *served)
{
	serve_stop(served);
	rig_close(served->rig);
	pthread_mutex_destroy(&served->lock);
	free(served);
}

int peer_open(const char *file)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, file);
	if (connect(fd, (void *)&address, sizeof(address)) < 0)
		fail_msg("%s: %s", address.sun_path, strerror(errno));
	return fd;
}

void peer_send(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);

		if (sent < 0)
			fail_msg("send: %s", strerror(errno));
		text += sent;
		len -= (size_t)sent;
	}
}

/* ---- JSON ---- */

static const char *value_end(const char *at);

static const char *string_end(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if (*at < ' ' || *at > '~')
			return NULL;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u' && strspn(at + 1, "0123456789abcdef") >= 4)
			at += 4;
		else if (!*at || !strchr("\"\\/bfnrt", *at))
			return NULL;
	}
	return at + 1;
}

static const char *blanks_end(const char *at)
{
	return at + strspn(at, " ");
}

/* An object or a list, whose items are members or values. */
static const char *items_end(const char *at, char close)
{
	bool object = close == '}';

	at = blanks_end(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (object) {
			at = string_end(at);
			if (!at || *at != ':')
				return NULL;
			at = blanks_end(at + 1);
		}
		at = value_end(at);
		if (!at || (*at != ',' && *at != close))
			return NULL;
		if (*at == close)
			return at + 1;
		at = blanks_end(at + 1);
	}
}

/* Behind the value that begins at @at; NULL if there is none. */
static const char *value_end(const char *at)
{
	static const char *const words[] = { "true", "false", "null" };
	char *end;

	if (*at == '{' || *at == '[')
		return items_end(at, *at == '{' ? '}' : ']');
	if (*at == '"')
		return string_end(at);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	strtod(at, &end);
	return end == at ? NULL : end;
}

static void check_answer(const char *answer)
{
	const char *end = value_end(answer);

	if (!end || *end || (strncmp(answer, "{\"ok\":true", 10) &&
			     strncmp(answer, "{\"ok\":false,\"error\":\"", 21)))
		fail_msg("no answer: '%s'", answer);
}

/* ---- answers ---- */

static bool wait_readable(int fd, uint64_t end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now = clock_ms();

	return now < end && poll(&p, 1, (int)(end - now)) > 0;
}

const char *peer_receive(int fd)
{
	static char answer[ANSWER_MAX];
	uint64_t end = clock_ms() + LONG_MS;
	size_t len = 0;

	for (;;) {
		ssize_t got;

		if (!wait_readable(fd, end))
			fail_msg("no answer in time");
		got = recv(fd, answer + len, 1, 0);
		if (got <= 0 && len == 0)
			return NULL;
		if (got <= 0)
			fail_msg("half an answer: %.*s", (int)len, answer);
		if (answer[len] == '\n')
			break;
		len++;
		assert_true(len < sizeof(answer));
	}
	answer[len] = '\0';
	check_answer(answer);
	return answer;
}

const char *ask(int fd, const char *request)
{
	const char *answer;

	peer_send(fd, request, strlen(request));
	peer_send(fd, "\n", 1);
	answer = peer_receive(fd);
	if (!answer)
		fail_msg("no answer to '%s'", request);
	return answer;
}

const char *ask_once(const char *file, const char *request)
{
	int fd = peer_open(file);
	const char *answer = ask(fd, request);

	close(fd);
	return answer;
}

void assert_contains_(const char *text, const char *part, const char *file, int line)
{
	if (strstr(text, part))
		return;
	print_error("no '%s' in '%s'\n", part, text);
	_fail(file, line);
}

unsigned int open_files(void)
{
	DIR *files = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (readdir(files))
		count++;
	closedir(files);
	return count;
}

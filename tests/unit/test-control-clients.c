// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * Control sockets and clients that do not behave: too many, too slow, too much, and nonsense. None
 * of them keeps another client waiting, nor makes the server grow.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control-harness.h"

#define FILES_MAX 64		/* while there are too few */

/* The server has closed the connection, or does it within LONG_MS. Answers before are dropped. */
static void expect_closed(int fd)
{
	const struct timeval limit = { .tv_sec = LONG_MS / 1000 };
	char dropped[4096];
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while ((got = recv(fd, dropped, sizeof(dropped), 0)) > 0)
		;
	if (got < 0 && errno != ECONNRESET)
		fail_msg("not closed: %s", strerror(errno));
	close(fd);
}

static void expect_served(const char *file)
{
	assert_contains(ask_once(file, "version"), "{\"ok\":true");
}

/* Clients that were closed are gone. Some may still wait to be accepted, and come and go. */
static void expect_files(unsigned int wanted)
{
	uint64_t end = clock_ms() + LONG_MS;
	unsigned int files;

	while ((files = open_files()) != wanted && clock_ms() < end)
		usleep(10000);
	assert_int_equal(files, wanted);
}

static void longest_line_is_taken_and_no_longer(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	char line[MEMZBC_CONTROL_LINE_MAX + 1];
	int fd = peer_open("z0.sock");

	(void)state;
	memset(line, ' ', sizeof(line));
	memcpy(line, "version", strlen("version"));
	line[MEMZBC_CONTROL_LINE_MAX - 1] = '\n';
	peer_send(fd, line, MEMZBC_CONTROL_LINE_MAX);
	assert_contains(peer_receive(fd), "{\"ok\":true");
	line[MEMZBC_CONTROL_LINE_MAX - 1] = ' ';
	line[MEMZBC_CONTROL_LINE_MAX] = '\n';
	peer_send(fd, line, MEMZBC_CONTROL_LINE_MAX + 1);
	assert_contains(peer_receive(fd), "line too long; accepted: at most 4096 bytes");
	expect_closed(fd);
	expect_served("z0.sock");
	serve_end(served);
}

static void requests_in_one_piece_are_answered_in_order(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");
	char part[40];

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		int len = snprintf(part, sizeof(part), "set seed=%u\nget seed\n", i);

		peer_send(fd, part, (size_t)len);
	}
	/* And no more: the connection is closed when all is answered. */
	shutdown(fd, SHUT_WR);
	for (unsigned int i = 0; i < 100; i++) {
		assert_contains(peer_receive(fd), "{\"ok\":true,\"settings\":{\"seed\"");
		snprintf(part, sizeof(part), "\"settings\":{\"seed\":%u}}", i);
		assert_contains(peer_receive(fd), part);
	}
	assert_null(peer_receive(fd));
	close(fd);
	serve_end(served);
}

static void request_in_pieces_is_one(void **state)
{
	static const char request[] = "get seed\n";
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");

	(void)state;
	for (size_t i = 0; i < strlen(request); i++) {
		peer_send(fd, &request[i], 1);
		usleep(1000);
	}
	assert_contains(peer_receive(fd), "{\"ok\":true,\"settings\":{\"seed\":0}}");
	close(fd);
	serve_end(served);
}

static void request_of_a_client_that_leaves_is_executed(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	uint64_t end = clock_ms() + LONG_MS;
	int fd = peer_open("z0.sock");
	unsigned int seed = 0;

	(void)state;
	peer_send(fd, "set seed=7\nset half=", 20);
	close(fd);
	while (seed != 7 && clock_ms() < end) {
		pthread_mutex_lock(&served->lock);
		seed = (unsigned int)memzbc_device_faults(served->rig->device)->seed;
		pthread_mutex_unlock(&served->lock);
	}
	assert_int_equal(seed, 7);
	serve_end(served);
}

static void too_many_clients_are_told(void **state)
{
	struct served *served = serve("z0", "user_0/z0"), *other = serve("z1", "user_1/z1");
	unsigned int files = open_files();
	int fds[MEMZBC_CONTROL_CLIENTS_MAX], late;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = peer_open("z0.sock");
		assert_contains(ask(fds[i], "get seed"), "{\"ok\":true");
	}
	late = peer_open("z0.sock");
	assert_contains(peer_receive(late), "too many clients; accepted: at most 16 of a LUN");
	expect_closed(late);
	expect_served("z1.sock");
	close(fds[0]);
	expect_files(files + 2 * (ARRAY_SIZE(fds) - 1));
	expect_served("z0.sock");
	for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	serve_end(other);
	serve_end(served);
}

static void idle_clients_are_dropped(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int silent = peer_open("z0.sock"), half = peer_open("z0.sock");
	uint64_t start = clock_ms();

	(void)state;
	peer_send(half, "get se", 6);
	expect_closed(silent);
	expect_closed(half);
	assert_in_range(clock_ms() - start, IDLE_MS / 2, LONG_MS);
	serve_end(served);
}

/* A byte now and then does not keep a connection that never asks anything. */
static void slow_client_is_dropped(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	uint64_t end = clock_ms() + LONG_MS;
	int fd = peer_open("z0.sock");

	(void)state;
	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
		assert_true(clock_ms() < end);
		usleep(IDLE_MS * 1000 / 20);
	}
	close(fd);
	expect_served("z0.sock");
	serve_end(served);
}

static void client_that_asks_stays(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");

	(void)state;
	for (int i = 0; i < 10; i++) {
		usleep(IDLE_MS * 1000 / 4);
		assert_contains(ask(fd, "get seed"), "{\"ok\":true");
	}
	close(fd);
	serve_end(served);
}

/* Requests until the server takes no more. Returns how many bytes it took. */
static size_t send_until_full(int fd)
{
	size_t sent = 0;
	ssize_t n;

	while ((n = send(fd, "help\n", 5, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
		sent += (size_t)n;
	return sent;
}

/* It holds one answer for such a client, and reads no further. */
static void client_that_does_not_read_is_dropped(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");
	uint64_t start = clock_ms(), end = start + LONG_MS;
	size_t sent = 0;

	(void)state;
	while (clock_ms() < start + IDLE_MS / 4)
		sent += send_until_full(fd);
	assert_in_range(sent, 1, 4 << 20);
	expect_served("z0.sock");
	while (send(fd, "help\n", 5, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 || errno == EAGAIN) {
		assert_true(clock_ms() < end);
		usleep(10000);
	}
	assert_int_equal(errno, EPIPE);
	close(fd);
	expect_served("z0.sock");
	serve_end(served);
}

static void others_are_served_while_one_floods(void **state)
{
	struct served *served = serve("z0", "user_0/z0"), *other = serve("z1", "user_1/z1");
	int flood = peer_open("z0.sock"), fd = peer_open("z0.sock");
	uint64_t end = clock_ms() + IDLE_MS / 2;
	unsigned int asked = 0;
	char dropped[65536];

	(void)state;
	while (clock_ms() < end) {
		send_until_full(flood);
		while (recv(flood, dropped, sizeof(dropped), MSG_DONTWAIT) > 0)
			;
		assert_contains(ask(fd, "get seed"), "{\"ok\":true");
		expect_served("z1.sock");
		asked++;
	}
	assert_in_range(asked, 5, UINT32_MAX);
	close(flood);
	close(fd);
	serve_end(other);
	serve_end(served);
}

static void clients_lose_a_lun_that_goes(void **state)
{
	struct served *served = serve("z0", "user_0/z0"), *other = serve("z1", "user_1/z1");
	int fd = peer_open("z0.sock"), unread = peer_open("z0.sock");

	(void)state;
	assert_contains(ask(fd, "version"), "{\"ok\":true");
	send_until_full(unread);
	serve_stop(served);
	expect_closed(fd);
	expect_closed(unread);
	expect_served("z1.sock");
	serve_end(served);
	serve_end(other);
}

static pthread_barrier_t removing;

static void *remove_lun(void *arg)
{
	pthread_barrier_wait(&removing);
	serve_stop(arg);
	return NULL;
}

/* Returns a thread that is removing the LUN: on a busy machine it may be long until one runs. */
static pthread_t start_removal(struct served *served)
{
	pthread_t remover;

	assert_int_equal(pthread_barrier_init(&removing, NULL, 2), 0);
	assert_int_equal(pthread_create(&remover, NULL, remove_lun, served), 0);
	pthread_barrier_wait(&removing);
	pthread_barrier_destroy(&removing);
	usleep(50000);
	return remover;
}

/* One request waits for the LUN's lock, and other LUNs come and go meanwhile. */
static void lun_goes_when_its_request_is_through(void **state)
{
	struct served *served = serve("z0", "user_0/z0"), *other;
	int fd = peer_open("z0.sock");
	pthread_t remover;

	(void)state;
	pthread_mutex_lock(&served->lock);
	peer_send(fd, "get seed\n", 9);
	usleep(50000);
	other = serve("z1", "user_1/z1");
	serve_end(other);
	remover = start_removal(served);
	assert_non_null(served->lun);
	pthread_mutex_unlock(&served->lock);
	pthread_join(remover, NULL);
	expect_closed(fd);
	serve_end(served);
}

/* Of a long request only the step that is under way is waited for. */
static void long_request_ends_with_its_lun(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int fd = peer_open("z0.sock");
	pthread_t remover;

	(void)state;
	pthread_mutex_lock(&served->lock);
	peer_send(fd, "zone 2-11 readonly\n", 19);
	usleep(50000);
	remover = start_removal(served);
	pthread_mutex_unlock(&served->lock);
	pthread_join(remover, NULL);
	expect_zone(served->rig->dev, rig_zone(served->rig, 9), ZONE_EMPTY,
		    rig_zone(served->rig, 9));
	expect_closed(fd);
	serve_end(served);
}

static void server_waits_for_free_files(void **state)
{
	struct served *served = serve("z0", "user_0/z0");
	int hoard[FILES_MAX], fd, first = peer_open("z0.sock");
	struct rlimit before, limit;
	size_t count = 0;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = FILES_MAX;
	assert_contains(ask(first, "get seed"), "{\"ok\":true");
	setrlimit(RLIMIT_NOFILE, &limit);
	while (count < ARRAY_SIZE(hoard) && (hoard[count] = dup(0)) >= 0)
		count++;
	assert_int_equal(errno, EMFILE);
	close(hoard[--count]);
	fd = peer_open("z0.sock");	/* waits in the listener's queue */
	assert_contains(ask(first, "get seed"), "{\"ok\":true");
	while (count > 0)
		close(hoard[--count]);
	assert_contains(ask(fd, "get seed"), "{\"ok\":true");
	setrlimit(RLIMIT_NOFILE, &before);
	close(fd);
	close(first);
	serve_end(served);
}

/* What a client of the fuzzer sends: words that mean something, and bytes that do not. */
static size_t nonsense(char *buf, size_t size)
{
	static const char *const words[] = {
		"version", "help", "get", "get ", "set ", "seed=", "reorder=4 ", "error=medium.",
		"zone ", "zone 2-11 ", "full", "closed ", "wp=8", "offline", "readonly", "empty",
		"stats", "reset-stats", "trace", "power-loss ", "config", "cache=64K ",
		"18446744073", "hold=3", " ", "\t", "\n", "\n", "\n", "\r\n", "\"", "\\",
		"-", "=", "/",
	};
	size_t len = 0, wanted = random_below(16) ? random_below(80) : random_below(size - 40);

	while (len < wanted) {
		const char *word = words[random_below(ARRAY_SIZE(words))];

		if (random_below(4)) {
			memcpy(buf + len, word, strlen(word));
			len += strlen(word);
		} else {
			buf[len++] = (char)random_u64();
		}
	}
	return len;
}

static int fuzz_one(int fd)
{
	char buf[2 * MEMZBC_CONTROL_LINE_MAX];
	size_t len = nonsense(buf, sizeof(buf));

	switch (random_below(8)) {
	case 0:
		close(fd);
		return peer_open("z0.sock");
	case 1:
	case 2:
		while (recv(fd, buf, random_below(sizeof(buf)) + 1, MSG_DONTWAIT) > 0)
			;
		return fd;
	case 3:
		shutdown(fd, random_below(2) ? SHUT_WR : SHUT_RD);
		return fd;
	default:
		if (send(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN)
			return fd;
		close(fd);
		return peer_open("z0.sock");
	}
}

static void nonsense_does_no_harm(void **state)
{
	struct served *served = serve("z0", "user_0/z0"), *other = serve("z1", "user_1/z1");
	unsigned int files = open_files();
	int fds[MEMZBC_CONTROL_CLIENTS_MAX + 4];
	size_t before = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = peer_open("z0.sock");
	for (int round = 0; round < 20000; round++) {
		size_t i = random_below(ARRAY_SIZE(fds));

		fds[i] = fuzz_one(fds[i]);
		if (round == 5000)
			before = mallinfo2().uordblks;
		if (round % 1000 == 0)
			expect_served("z1.sock");
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	expect_files(files);
	/* With a sanitizer the numbers are zero. */
	assert_in_range(mallinfo2().uordblks, 0, before + (1 << 20));
	pthread_mutex_lock(&served->lock);
	rig_drain(served->rig);
	pthread_mutex_unlock(&served->lock);
	expect_served("z0.sock");
	serve_end(other);
	serve_end(served);
}

#define SERVED(f) cmocka_unit_test_setup_teardown(f, control_setup, control_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(longest_line_is_taken_and_no_longer),
		SERVED(requests_in_one_piece_are_answered_in_order),
		SERVED(request_in_pieces_is_one),
		SERVED(request_of_a_client_that_leaves_is_executed),
		SERVED(too_many_clients_are_told),
		SERVED(idle_clients_are_dropped),
		SERVED(slow_client_is_dropped),
		SERVED(client_that_asks_stays),
		SERVED(client_that_does_not_read_is_dropped),
		SERVED(others_are_served_while_one_floods),
		SERVED(clients_lose_a_lun_that_goes),
		SERVED(lun_goes_when_its_request_is_through),
		SERVED(long_request_ends_with_its_lun),
		SERVED(server_waits_for_free_files),
		SERVED(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

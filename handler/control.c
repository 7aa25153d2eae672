// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * One thread serves the control sockets of all LUNs. Its lock covers the lists of LUNs and clients
 * and is held for short moments only. A LUN's own lock and this one are never held together: a
 * request is executed without this one, and LUNs come and go without theirs.
 */
#include <memzbc/control.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "listener.h"
#include "private.h"
#include "requests.h"
#include "text.h"
#include "thread.h"

#define NEVER UINT64_MAX
#define ACCEPT_PAUSE_MS 1000	/* when there are no file descriptors left */
#define NO_MEMORY_PAUSE_MS 100

struct memzbc_control_lun {
	struct memzbc_control_lun *next;
	struct memzbc_control_params params;
	char path[LISTENER_PATH_SIZE];
	int fd;			/* listens */
	int polled;
	unsigned int clients_count;
	struct client *clients;
	atomic_bool going;	/* being removed */
};

static struct {
	pthread_t thread;
	bool running, stop;
	const char *dir;
	unsigned int idle_ms;
	int wake;		/* eventfd: something has changed */
	pthread_mutex_t lock;	/* all below, and above what is not constant */
	pthread_cond_t executed;
	struct memzbc_control_lun *luns;
	struct memzbc_control_lun *busy;	/* a request of it is being executed */
	uint64_t round;
	uint64_t changes;	/* of the list of LUNs */
	uint64_t accept_from;	/* time */
	struct pollfd *fds;
	size_t fds_count, fds_room;
} server = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.executed = PTHREAD_COND_INITIALIZER,
};

static void wake_thread(void)
{
	uint64_t one = 1;

	/* It can only fail when the counter is full, and the thread awake already. */
	if (write(server.wake, &one, sizeof(one)) < 0)
		return;
}

/* ---- clients ---- */

static void close_client(struct memzbc_control_lun *lun, struct client *client)
{
	struct client **at = &lun->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	lun->clients_count--;
	client_free(client);
}

static void refuse_client(int fd)
{
	size_t len;
	char *answer = request_error("too many clients; accepted: at most "
				     TEXT(MEMZBC_CONTROL_CLIENTS_MAX) " of a LUN", &len);

	if (answer)
		send(fd, answer, len, MSG_NOSIGNAL);
	free(answer);
	close(fd);
}

static void accept_client(struct memzbc_control_lun *lun)
{
	int fd = accept4(lun->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *client;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			server.accept_from = now_ms() + ACCEPT_PAUSE_MS;
		return;
	}
	client = NULL;
	if (lun->clients_count < MEMZBC_CONTROL_CLIENTS_MAX)
		client = client_new(fd, server.idle_ms);
	if (!client) {
		refuse_client(fd);
		return;
	}
	client->next = lun->clients;
	lun->clients = client;
	lun->clients_count++;
}

/* ---- the thread ---- */

/* A client whose turn it is in this round, and its LUN; NULL if there is none. */
static struct client *next_turn(struct memzbc_control_lun **lun)
{
	struct client *client;

	for (*lun = server.luns; *lun; *lun = (*lun)->next)
		for (client = (*lun)->clients; client && !(*lun)->going; client = client->next)
			if (client->round != server.round && !client->out &&
			    client_has_line(client))
				return client;
	return NULL;
}

static void execute(struct memzbc_control_lun *lun, struct client *client)
{
	char line[MEMZBC_CONTROL_LINE_MAX];
	size_t len;
	char *answer;

	client->round = server.round;
	client_take_line(client, line);
	server.busy = lun;
	pthread_mutex_unlock(&server.lock);
	answer = request_answer(&lun->params, line, &lun->going, &len);
	pthread_mutex_lock(&server.lock);
	server.busy = NULL;
	pthread_cond_broadcast(&server.executed);
	/* While the LUN was busy it could not be freed, nor its clients. */
	if (!client_give(client, answer, len) || client_is_through(client))
		close_client(lun, client);
}

/* One request of each client that has one. Returns whether there are more. */
static bool execute_round(void)
{
	struct memzbc_control_lun *lun;
	struct client *client;

	server.round++;
	while ((client = next_turn(&lun)))
		execute(lun, client);
	server.round++;
	return next_turn(&lun);
}

static int poll_fd(int fd, int events)
{
	server.fds[server.fds_count] = (struct pollfd){ .fd = fd, .events = (short)events };
	return (int)server.fds_count++;
}

static bool have_room(void)
{
	size_t need = 1;
	struct pollfd *fds;

	for (const struct memzbc_control_lun *lun = server.luns; lun; lun = lun->next)
		need += 1 + lun->clients_count;
	if (need <= server.fds_room)
		return true;
	fds = realloc(server.fds, need * sizeof(*fds));
	if (!fds)
		return false;
	server.fds = fds;
	server.fds_room = need;
	return true;
}

/* All that may happen next. Returns the time when something is due. */
static uint64_t collect_events(void)
{
	uint64_t due = NEVER;
	bool accepting = now_ms() >= server.accept_from;

	server.fds_count = 0;
	poll_fd(server.wake, POLLIN);
	if (!accepting)
		due = server.accept_from;
	for (struct memzbc_control_lun *lun = server.luns; lun; lun = lun->next) {
		lun->polled = poll_fd(lun->fd, accepting ? POLLIN : 0);
		for (struct client *client = lun->clients; client; client = client->next) {
			bool waits = client_has_line(client) || client->eof;
			int events = client->out ? POLLOUT : waits ? 0 : POLLIN;

			client->polled = poll_fd(client->fd, events);
			if (client->deadline < due)
				due = client->deadline;
		}
	}
	return due;
}

static bool handle_client(struct client *client, short events)
{
	if (now_ms() >= client->deadline)
		return false;
	if (events & POLLOUT && client->out && !client_send(client))
		return false;
	if (events & POLLIN && !client_receive(client))
		return false;
	/* With the other side gone, nothing else would tell that an answer cannot be sent. */
	if (events & (POLLERR | POLLHUP) && client->out)
		return false;
	return !client_is_through(client);
}

static void handle_events(void)
{
	struct client *client, *next;

	for (struct memzbc_control_lun *lun = server.luns; lun; lun = lun->next) {
		for (client = lun->clients; client; client = next) {
			next = client->next;
			if (!handle_client(client, server.fds[client->polled].revents))
				close_client(lun, client);
		}
		if (server.fds[lun->polled].revents & POLLIN)
			accept_client(lun);
	}
}

static int timeout_until(uint64_t due)
{
	uint64_t now = now_ms();

	if (due == NEVER)
		return -1;
	if (due <= now)
		return 0;
	return due - now < INT_MAX ? (int)(due - now) : INT_MAX;
}

/* What may happen next, waited for and dealt with. Called with the lock held. */
static void wait_and_handle(bool more)
{
	uint64_t due, changes = server.changes, count;
	size_t fds;
	int timeout;

	if (!have_room()) {
		pthread_mutex_unlock(&server.lock);
		poll(NULL, 0, NO_MEMORY_PAUSE_MS);
		pthread_mutex_lock(&server.lock);
		return;
	}
	due = collect_events();
	timeout = more ? 0 : timeout_until(due);
	fds = server.fds_count;
	pthread_mutex_unlock(&server.lock);
	poll(server.fds, fds, timeout);
	if (read(server.wake, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&server.lock);
	/* After a change the events may be those of other files. */
	if (changes == server.changes)
		handle_events();
}

static void *control_thread(void *arg)
{
	pthread_mutex_lock(&server.lock);
	while (!server.stop)
		wait_and_handle(execute_round());
	pthread_mutex_unlock(&server.lock);
	return arg;
}

/* ---- for the plugin ---- */

int memzbc_control_start(const char *dir, unsigned int idle_ms, char *reason)
{
	int err = private_directory(dir, reason);

	if (err)
		return err;
	server.dir = dir;
	server.idle_ms = idle_ms ? idle_ms : MEMZBC_CONTROL_IDLE_MS;
	server.stop = false;
	server.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = server.wake < 0 ? -errno : thread_start(&server.thread, control_thread, NULL);
	if (err) {
		snprintf(reason, MEMZBC_REASON_SIZE, "no thread for control sockets: %s",
			 strerror(-err));
		if (server.wake >= 0)
			close(server.wake);
		return err;
	}
	server.running = true;
	return 0;
}

void memzbc_control_stop(void)
{
	if (!server.running)
		return;
	pthread_mutex_lock(&server.lock);
	server.stop = true;
	pthread_mutex_unlock(&server.lock);
	wake_thread();
	pthread_join(server.thread, NULL);
	close(server.wake);
	free(server.fds);
	server.fds = NULL;
	server.fds_room = 0;
	server.running = false;
}

static void free_lun(struct memzbc_control_lun *lun)
{
	free((char *)lun->params.name);
	free((char *)lun->params.backstore);
	free((char *)lun->params.state_dir);
	free(lun);
}

static struct memzbc_control_lun *new_lun(const struct memzbc_control_params *params)
{
	struct memzbc_control_lun *lun = calloc(1, sizeof(*lun));

	if (!lun)
		return NULL;
	lun->params = *params;
	lun->params.name = strdup(params->name);
	lun->params.backstore = strdup(params->backstore);
	lun->params.state_dir = strdup(params->state_dir);
	if (lun->params.name && lun->params.backstore && lun->params.state_dir)
		return lun;
	free_lun(lun);
	return NULL;
}

int memzbc_control_add(const struct memzbc_control_params *params,
		       struct memzbc_control_lun **out, char *reason)
{
	struct memzbc_control_lun *lun;

	*out = NULL;
	if (!server.running) {
		snprintf(reason, MEMZBC_REASON_SIZE, "there is no thread for control sockets");
		return -ESRCH;
	}
	lun = new_lun(params);
	if (!lun) {
		snprintf(reason, MEMZBC_REASON_SIZE, "no memory for a control socket");
		return -ENOMEM;
	}
	lun->fd = listener_open(server.dir, params->name, params->backstore, lun->path, reason);
	if (lun->fd < 0) {
		int err = lun->fd;

		free_lun(lun);
		return err;
	}
	pthread_mutex_lock(&server.lock);
	lun->next = server.luns;
	server.luns = lun;
	server.changes++;
	pthread_mutex_unlock(&server.lock);
	wake_thread();
	*out = lun;
	return 0;
}

void memzbc_control_remove(struct memzbc_control_lun *lun)
{
	struct memzbc_control_lun **at = &server.luns;

	if (!lun)
		return;
	atomic_store(&lun->going, true);
	pthread_mutex_lock(&server.lock);
	while (server.busy == lun)
		pthread_cond_wait(&server.executed, &server.lock);
	while (*at != lun)
		at = &(*at)->next;
	*at = lun->next;
	server.changes++;
	while (lun->clients)
		close_client(lun, lun->clients);
	listener_close(lun->fd, lun->path);
	pthread_mutex_unlock(&server.lock);
	wake_thread();
	free_lun(lun);
}

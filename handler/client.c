// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "requests.h"
#include "text.h"

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct client *client_new(int fd, unsigned int idle_ms)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->fd = fd;
	client->idle_ms = idle_ms;
	client->deadline = now_ms() + idle_ms;
	return client;
}

void client_free(struct client *client)
{
	close(client->fd);
	free(client->out);
	free(client);
}

bool client_has_line(const struct client *client)
{
	return memchr(client->in, '\n', client->in_len);
}

void client_take_line(struct client *client, char *line)
{
	char *end = memchr(client->in, '\n', client->in_len);
	size_t len = (size_t)(end - client->in);

	memcpy(line, client->in, len);
	line[len] = '\0';
	/* A byte that would end the line early makes it one that no request is. */
	for (char *c = memchr(line, '\0', len); c; c = memchr(c, '\0', len - (size_t)(c - line)))
		*c = '\1';
	if (len > 0 && line[len - 1] == '\r')
		line[len - 1] = '\0';
	client->in_len -= len + 1;
	memmove(client->in, end + 1, client->in_len);
}

bool client_is_through(const struct client *client)
{
	return client->eof && !client->out && !client_has_line(client);
}

bool client_send(struct client *client)
{
	while (client->out_sent < client->out_len) {
		ssize_t sent = send(client->fd, client->out + client->out_sent,
				    client->out_len - client->out_sent, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR;
		client->out_sent += (size_t)sent;
	}
	free(client->out);
	client->out = NULL;
	client->deadline = now_ms() + client->idle_ms;
	return !client->last;
}

bool client_give(struct client *client, char *answer, size_t len)
{
	client->out = answer;
	client->out_len = len;
	client->out_sent = 0;
	return answer && client_send(client);
}

/* The rest of the line could be of any length, so there is no next one to find. */
static bool refuse_line(struct client *client)
{
	size_t len;
	char *answer = request_error("line too long; accepted: at most "
				     TEXT(MEMZBC_CONTROL_LINE_MAX) " bytes", &len);

	client->last = true;
	client->in_len = 0;
	return client_give(client, answer, len);
}

bool client_receive(struct client *client)
{
	ssize_t got = recv(client->fd, client->in + client->in_len,
			   sizeof(client->in) - client->in_len, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		client->eof = true;
	client->in_len += (size_t)got;
	if (client->in_len < sizeof(client->in) || client_has_line(client))
		return true;
	return refuse_line(client);
}

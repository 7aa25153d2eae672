/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A client of a control socket: the lines that it sends, and the answer that it gets.
 */
#ifndef MEMZBC_CLIENT_H
#define MEMZBC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <memzbc/control.h>

struct client {
	struct client *next;
	int fd;
	int polled;		/* index in server.fds, or -1 */
	uint64_t deadline;	/* milliseconds: closed then */
	uint64_t round;		/* when it last had a request executed */
	unsigned int idle_ms;	/* time for each request and answer */
	bool eof;		/* it sends nothing more */
	bool last;		/* to be closed once the answer is sent */
	size_t in_len;
	char in[MEMZBC_CONTROL_LINE_MAX];
	char *out;		/* the answer, or NULL; no further request until it is sent */
	size_t out_len, out_sent;
};

/* Milliseconds on a clock that never goes back. */
uint64_t now_ms(void);

/* A client on the connection @fd, which becomes its own; NULL without memory. */
struct client *client_new(int fd, unsigned int idle_ms);
void client_free(struct client *client);

/* Whether there is a whole request. */
bool client_has_line(const struct client *client);
/* Cuts the first request off into @line, of MEMZBC_CONTROL_LINE_MAX bytes. */
void client_take_line(struct client *client, char *line);
/* The client has sent all, and has all its answers. */
bool client_is_through(const struct client *client);

/*
 * All return false when the client is to be closed. Reads, while there is no whole request; sends
 * what there is of the answer; takes over @answer, which is NULL if there was no memory for it.
 */
bool client_receive(struct client *client);
bool client_send(struct client *client);
bool client_give(struct client *client, char *answer, size_t len);

#endif

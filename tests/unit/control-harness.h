/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * LUNs with control sockets in a temporary directory, and clients of theirs.
 *
 * Every answer that a client gets is checked to be a line of JSON in ASCII.
 */
#ifndef MEMZBC_TESTS_CONTROL_HARNESS_H
#define MEMZBC_TESTS_CONTROL_HARNESS_H

#include <pthread.h>

#include <memzbc/control.h>

#include "fault-harness.h"

/* How long the server waits for clients, in milliseconds, and a time that is surely longer. */
#define IDLE_MS 400
#define LONG_MS (20 * IDLE_MS)

/* A LUN that is served. */
struct served {
	struct rig *rig;
	pthread_mutex_t lock;
	struct memzbc_control_lun *lun;
};

/* Starts the server in a new directory; ends it, and expects that nothing is left there. */
int control_setup(void **state);
int control_teardown(void **state);
/* The directory. */
const char *control_dir(void);

struct served *serve(const char *name, const char *backstore);
/* Removes the LUN; serve_end() also closes its device. */
void serve_stop(struct served *served);
void serve_end(struct served *served);

/* A client of the socket @file in the directory, which must be there. */
int peer_open(const char *file);
void peer_send(int fd, const char *text, size_t len);
/*
 * The next answer without its newline, valid until the next call; NULL when the server has closed
 * the connection. Fails the test after LONG_MS.
 */
const char *peer_receive(int fd);
/* Sends @request and a newline; the answer must come. */
const char *ask(int fd, const char *request);
/* The same on a connection of its own. */
const char *ask_once(const char *file, const char *request);

#define assert_contains(text, part) assert_contains_(text, part, __FILE__, __LINE__)
void assert_contains_(const char *text, const char *part, const char *file, int line);

/* Open file descriptors of this process. */
unsigned int open_files(void);
uint64_t clock_ms(void);

#endif

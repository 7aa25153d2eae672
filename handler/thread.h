/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Threads of the plugin in a process that is the daemon's.
 */
#ifndef MEMZBC_THREAD_H
#define MEMZBC_THREAD_H

#include <pthread.h>

/* As pthread_create(), with all signals blocked: they are for the daemon's threads. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The requests of a control socket (see memzbc/control.h), without the socket.
 */
#ifndef MEMZBC_REQUESTS_H
#define MEMZBC_REQUESTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <memzbc/control.h>

/*
 * Executes the request @line, which is changed, and returns the answer with its newline, to be
 * freed; *@len is its length. NULL without memory. Gives up between two steps of a long request
 * when *@stop becomes true. The LUN's lock is taken for one short step at a time.
 */
char *request_answer(const struct memzbc_control_params *lun, char *line, const atomic_bool *stop,
		     size_t *len);
/* The answer that a request was not understood or could not be taken. */
char *request_error(const char *error, size_t *len);

#endif

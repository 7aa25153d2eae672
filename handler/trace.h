/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The trace file of a device: <memzbc/observe.h> says what is in it.
 */
#ifndef MEMZBC_TRACE_H
#define MEMZBC_TRACE_H

#include <stdint.h>

#include <memzbc/observe.h>

#include "fault/stage.h"

/*
 * Opens the trace of the LUN with @count records: the one that an earlier process left if it is as
 * long, else a new one, which replaces any other. Returns 0 or -errno.
 */
int trace_open(const struct memzbc_device *dev, uint32_t count, struct trace **trace);
/* The file stays. */
void trace_close(struct trace *trace);
/* There is to be no trace. */
void trace_remove(const struct memzbc_device *dev);
uint32_t trace_count(const struct trace *trace);

/* To be called only while dev->trace is there. */
void trace_write(struct memzbc_device *dev, const struct request *rq,
		 enum memzbc_trace_state state);
/* Before @rq is executed. */
void trace_executing(struct memzbc_device *dev, struct request *rq);
void trace_completed(struct memzbc_device *dev, struct request *rq, uint64_t now);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "stage.h"

#define ROOM_FIRST 64

int timers_reserve(struct timers *timers, uint32_t count)
{
	uint32_t room = timers->room ? 2 * timers->room : ROOM_FIRST;
	struct request **heap;

	if (count <= timers->room)
		return 0;
	heap = realloc(timers->heap, room * sizeof(struct request *));
	if (!heap)
		return -ENOMEM;
	timers->heap = heap;
	timers->room = room;
	return 0;
}

static bool before(const struct request *a, const struct request *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->arrival < b->arrival;
}

static void put(struct timers *timers, uint32_t i, struct request *rq)
{
	timers->heap[i] = rq;
	rq->timer = i;
}

static void sift_up(struct timers *timers, uint32_t i, struct request *rq)
{
	while (i > 0 && before(rq, timers->heap[(i - 1) / 2])) {
		put(timers, i, timers->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(timers, i, rq);
}

static void sift_down(struct timers *timers, uint32_t i, struct request *rq)
{
	uint32_t child;

	while ((child = 2 * i + 1) < timers->count) {
		if (child + 1 < timers->count &&
		    before(timers->heap[child + 1], timers->heap[child]))
			child++;
		if (!before(timers->heap[child], rq))
			break;
		put(timers, i, timers->heap[child]);
		i = child;
	}
	put(timers, i, rq);
}

void timers_add(struct timers *timers, struct request *rq, uint64_t deadline)
{
	rq->deadline = deadline;
	sift_up(timers, timers->count++, rq);
}

void timers_remove(struct timers *timers, struct request *rq)
{
	struct request *last = timers->heap[--timers->count];
	uint32_t i = rq->timer;

	rq->deadline = MEMZBC_NEVER;
	if (last == rq)
		return;
	if (i > 0 && before(last, timers->heap[(i - 1) / 2]))
		sift_up(timers, i, last);
	else
		sift_down(timers, i, last);
}

struct request *timers_first(const struct timers *timers)
{
	return timers->count ? timers->heap[0] : NULL;
}

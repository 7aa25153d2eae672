// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/*
 * The deadlines of a device: what is added and removed in any order comes out by deadline, and by
 * arrival where deadlines are the same.
 */
#include "fault/stage.h"
#include "harness.h"

#define REQUESTS 300

struct heap_test {
	struct timers timers;
	struct request requests[REQUESTS];
	bool in[REQUESTS];
};

static struct request *expected_first(struct heap_test *t)
{
	struct request *first = NULL;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct request *rq = &t->requests[i];

		if (!t->in[i])
			continue;
		if (!first || rq->deadline < first->deadline ||
		    (rq->deadline == first->deadline && rq->arrival < first->arrival))
			first = rq;
	}
	return first;
}

static void toggle(struct heap_test *t, uint64_t i, uint64_t deadlines)
{
	if (t->in[i]) {
		timers_remove(&t->timers, &t->requests[i]);
	} else {
		assert_int_equal(timers_reserve(&t->timers, t->timers.count + 1), 0);
		timers_add(&t->timers, &t->requests[i], random_below(deadlines));
	}
	t->in[i] = !t->in[i];
}

static void any_order(void **state)
{
	static const uint64_t deadlines[] = { 1, 3, 50, 1000000 };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(deadlines); k++) {
		struct heap_test *t = calloc(1, sizeof(*t));

		assert_null(timers_first(&t->timers));
		for (uint32_t i = 0; i < REQUESTS; i++)
			t->requests[i].arrival = i;
		for (int n = 0; n < 5000; n++) {
			toggle(t, random_below(REQUESTS), deadlines[k]);
			assert_ptr_equal(timers_first(&t->timers), expected_first(t));
		}
		while (t->timers.count) {
			struct request *first = timers_first(&t->timers);

			assert_ptr_equal(first, expected_first(t));
			toggle(t, (uint64_t)(first - t->requests), 1);
		}
		assert_null(expected_first(t));
		free(t->timers.heap);
		free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

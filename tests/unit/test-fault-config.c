// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* Keys of faults: what they mean, what they are without being named, and mistakes. */
#include "fault-settings.h"

static void refused_values(void **state)
{
	static const struct mistake cases[] = {
		{ "seed=", "seed=: no value; accepted: 0 to 18446744073709551615" },
		{ "seed=-1", "seed=-1: no whole number; accepted: 0 to 18446744073709551615" },
		{ "seed=18446744073709551616", "seed=18446744073709551616: out of range; "
					       "accepted: 0 to 18446744073709551615" },
		{ "reorder=1000001",
		  "reorder=1000001: out of range; accepted: 0 to 1000000 writes" },
		{ "reorder=on", "reorder=on: no whole number; accepted: 0 to 1000000 writes" },
		{ "reorder_depth=0",
		  "reorder_depth=0: out of range; accepted: 1 to 65535 writes" },
		{ "reorder_time=0", "reorder_time=0: out of range; accepted: 1us to 20s" },
		{ "reorder_time=999ns", "reorder_time=999ns: out of range; accepted: 1us to 20s" },
		{ "reorder_conv=2", "reorder_conv=2: unknown value; accepted: 0, 1" },
		{ "hold=65536", "hold=65536: out of range; accepted: 0 to 65535 writes" },
		{ "hold_attempts=-1",
		  "hold_attempts=-1: no whole number; accepted: 0 to 65535 writes" },
		{ "hold_time=30s", "hold_time=30s: out of range; accepted: 1us to 20s" },
		{ "delay", "delay=: no value; " ACCEPTED_TIMES },
		{ "delay=5", "delay=5: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
		{ "delay=0.5", "delay=0.5: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
		{ "delay=5m", "delay=5m: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=5Ms", "delay=5Ms: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=5sec", "delay=5sec: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=ms", "delay=ms: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=.5ms", "delay=.5ms: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=5.ms", "delay=5.ms: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=1.2.3s", "delay=1.2.3s: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=-5ms", "delay=-5ms: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=1e3us", "delay=1e3us: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay=0.5ns", "delay=0.5ns: too many decimal places; " ACCEPTED_TIMES },
		{ "delay=1.0000001ms",
		  "delay=1.0000001ms: too many decimal places; " ACCEPTED_TIMES },
		{ "delay=20.000000001s", "delay=20.000000001s: out of range; " ACCEPTED_TIMES },
		/* 2^64 + 1 s and 2^64 ns, by the digits and by the unit */
		{ "delay=18446744073709551617s",
		  "delay=18446744073709551617s: out of range; " ACCEPTED_TIMES },
		{ "delay=18446744073709551616ns",
		  "delay=18446744073709551616ns: out of range; " ACCEPTED_TIMES },
		{ "delay=18446744074s", "delay=18446744074s: out of range; " ACCEPTED_TIMES },
		{ "delay_read=21s", "delay_read=21s: out of range; " ACCEPTED_TIMES },
		{ "delay_write=x",
		  "delay_write=x: no number with ns, us, ms or s; " ACCEPTED_TIMES },
		{ "delay_zone=1", "delay_zone=1: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
		{ "delay_sync=", "delay_sync=: no value; " ACCEPTED_TIMES },
		{ "rate=fast", "rate=fast: no number of bytes, plain or with K, M, G or T; "
			       "accepted: 0 to 4194304T bytes per second" },
		{ "rate=4194305T",
		  "rate=4194305T: out of range; accepted: 0 to 4194304T bytes per second" },
		{ "seek=1", "seek=1: no unit, one of ns, us, ms, s; " ACCEPTED_TIMES },
		{ "cache=1P", "cache=1P: no number of bytes, plain or with K, M, G or T; "
			      "accepted: 0 to 4194304T bytes" },
		{ "trace=16777217",
		  "trace=16777217: out of range; accepted: 0 to 16777216 commands" },
		{ "stats=on", "stats=on: unknown value; accepted: 0, 1" },
		{ "delay=1ms/delay_read=2ms/delay=1ms", "delay: given twice" },
		{ "error=busy/error=full", "error: given twice" },
	};

	(void)state;
	expect_mistakes(cases, ARRAY_SIZE(cases));
}

#define DELAYS(r, w, z, s) .delay = { r, w, z, s, 0 }
#define DELAY(time) DELAYS(time, time, time, time)

static void values(void **state)
{
	static const struct {
		const char *string;
		struct memzbc_faults faults;
	} cases[] = {
		{ "", { DEFAULTS } },
		{ "seed=18446744073709551615", { DEFAULTS, .seed = UINT64_MAX } },
		{ "reorder=16", { DEFAULTS, .reorder = 16 } },
		{ "reorder=1000000/reorder_conv=1/seed=7",
		  { DEFAULTS, .reorder = 1000000, .reorder_conv = true, .seed = 7 } },
		{ "reorder_depth=65535/reorder_time=20s",
		  { DEFAULT_OBSERVATION, .hold_time = 2 * NS_PER_S, .reorder_depth = 65535,
		    .reorder_time = 20 * NS_PER_S } },
		{ "hold=65535/hold_attempts=65535",
		  { DEFAULTS, .hold = 65535, .hold_attempts = 65535 } },
		{ "hold=1/hold_time=1us",
		  { .reorder_depth = 1, .reorder_time = 10 * NS_PER_MS, DEFAULT_OBSERVATION,
		    .hold = 1, .hold_time = NS_PER_US } },
		{ "delay=100us", { DEFAULTS, DELAY(100 * NS_PER_US) } },
		{ "delay=1.5ms", { DEFAULTS, DELAY(1500 * NS_PER_US) } },
		{ "delay=0.000000001s", { DEFAULTS, DELAY(1) } },
		{ "delay=1.000ns", { DEFAULTS, DELAY(1) } },
		{ "delay=20s", { DEFAULTS, DELAY(20 * NS_PER_S) } },
		{ "delay=0", { DEFAULTS } },
		{ "delay=0s", { DEFAULTS } },
		{ "delay=0.0", { DEFAULTS } },
		{ "delay_read=5ms", { DEFAULTS, DELAYS(5 * NS_PER_MS, 0, 0, 0) } },
		{ "delay_write=5ms", { DEFAULTS, DELAYS(0, 5 * NS_PER_MS, 0, 0) } },
		{ "delay_zone=5ms", { DEFAULTS, DELAYS(0, 0, 5 * NS_PER_MS, 0) } },
		{ "delay_sync=5ms", { DEFAULTS, DELAYS(0, 0, 0, 5 * NS_PER_MS) } },
		{ "delay=5ms/delay_read=1ms/delay_sync=0",
		  { DEFAULTS, DELAYS(1 * NS_PER_MS, 5 * NS_PER_MS, 5 * NS_PER_MS, 0) } },
		{ "delay_sync=0/delay_read=1ms/delay=5ms",
		  { DEFAULTS, DELAYS(1 * NS_PER_MS, 5 * NS_PER_MS, 5 * NS_PER_MS, 0) } },
		{ "rate=100M", { DEFAULTS, .rate = 100 << 20 } },
		{ "rate=1", { DEFAULTS, .rate = 1 } },
		{ "seek=15ms", { DEFAULTS, .seek = 15 * NS_PER_MS } },
		{ "cache=64M", { DEFAULTS, .cache = 64 << 20 } },
		{ "trace=0/stats=0",
		  { DEFAULT_BOUNDS } },
		{ "trace=16777216",
		  { DEFAULT_BOUNDS, .stats = true,
		    .trace = 16777216 } },
		{ "error=", { DEFAULTS } },
		{ "error", { DEFAULTS } },
		{ "error=off", { DEFAULTS } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memzbc_config cfg = completed_config(cases[i].string);

		expect_faults(cases[i].string, &cfg.faults, &cases[i].faults);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_values),
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

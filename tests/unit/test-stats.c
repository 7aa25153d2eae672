// SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
/* What a device counts: sequences of commands with known counts, and the JSON that tells them. */
#include <memzbc/observe.h>
#include <memzbc/operate.h>

#include <stdio.h>

#include "fault-harness.h"
#include "reply.h"

#define Z(i) rig_zone(rig, i)

static const struct memzbc_faults counting = { .stats = true };

/* The counters as JSON; to be freed. */
static char *stats_json(struct rig *rig)
{
	struct memzbc_stats *stats = memzbc_device_stats(rig->device);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(stats);
	assert_non_null(out);
	memzbc_stats_json(stats, out);
	fclose(out);
	free(stats);
	return text;
}

/* The JSON has this text in it. */
#define expect_json(rig, text) expect_json_(rig, text, __FILE__, __LINE__)
static void expect_json_(struct rig *rig, const char *text, const char *file, int line)
{
	char *json = stats_json(rig);

	if (!strstr(json, text))
		fail_dev(rig->dev, file, line, "no %s in\n%s", text, json);
	free(json);
}

#define expect_no_json(rig, text) expect_no_json_(rig, text, __FILE__, __LINE__)
static void expect_no_json_(struct rig *rig, const char *text, const char *file, int line)
{
	char *json = stats_json(rig);

	if (strstr(json, text))
		fail_dev(rig->dev, file, line, "%s in\n%s", text, json);
	free(json);
}

static void write_steps(struct rig *rig, uint32_t zone, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		expect_io_good(submit_write(rig, Z(zone) + (uint64_t)i * STEP, STEP, 1));
}

/* Reads and writes apart, whole LUN; VERIFY, WRITE SAME and length 0 are no part of it. */
static void sequential_ratio(void **state)
{
	static const struct {
		uint64_t lba, blocks;
	} reads[] = {
		{ 0, 8 }, { 8, 8 }, { 16, 8 },	/* two follow */
		{ 100, 4 }, { 104, 4 },		/* one */
		{ 104, 4 }, { 0, 8 }, { 7, 1 },	/* none */
	};
	struct rig *rig = rig_open(&rig_geo, &counting);
	uint64_t at = 0;

	(void)state;
	expect_json(rig,
		    "\"sequential\":{\"read\":{\"commands\":0,\"sequential\":0,\"ratio\":null},"
		    "\"write\":{\"commands\":0,\"sequential\":0,\"ratio\":null}}");
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		expect_io_good(submit_read(rig, reads[i].lba, reads[i].blocks));
		/* Between two reads: each follows the other write, in a zone of its own or not */
		expect_io_good(submit_write(rig, at, STEP, 1));
		at += STEP;
		expect_io_good(submit(rig, cdb_lba(VERIFY_16, 500, 8), "", 0));
		expect_io_good(submit(rig, cdb_lba(READ_16, 700, 0), "", 0));
		expect_io_good(submit_write_with(rig, WRITE_SAME_16, 600, 8, 1));
	}
	expect_json(rig,
		    "\"sequential\":{\"read\":{\"commands\":8,\"sequential\":3,\"ratio\":0.3750},"
		    "\"write\":{\"commands\":8,\"sequential\":7,\"ratio\":0.8750}}");
	/* Two streams that alternate are not sequential, failed commands count as well. */
	memzbc_device_stats_reset(rig->device);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t zone = 0; zone < 2; zone++)
			expect_io_good(submit_write(rig, Z(zone) + (uint64_t)i * STEP, STEP, 1));
	expect_unaligned(submit_write(rig, Z(1) + 8 * STEP, STEP, 1), Z(1) + 5 * STEP);
	expect_unaligned(submit_write(rig, Z(1) + 9 * STEP, STEP, 1), Z(1) + 5 * STEP);
	expect_json(rig, "\"write\":{\"commands\":12,\"sequential\":1,\"ratio\":0.0833}}");
	rig_close(rig);
}

/* A reset does not forget where the command before ended. */
static void sequence_over_a_reset(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);

	(void)state;
	expect_io_good(submit_read(rig, 0, 8));
	memzbc_device_stats_reset(rig->device);
	expect_io_good(submit_read(rig, 8, 8));
	expect_json(rig, "\"read\":{\"commands\":1,\"sequential\":1,\"ratio\":1.0000}");
	rig_close(rig);
}

/* By arrival, whatever becomes of the writes; a reset of the zone makes a new beginning. */
static void out_of_order(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);
	struct cdb reset_two = cdb_zone_count(SA_RESET_WRITE_POINTER, Z(0), 2);

	(void)state;
	write_steps(rig, 0, 0, 2);
	submit_write(rig, Z(0) + 3 * STEP, STEP, 1);	/* not where step 1 ended */
	submit_write(rig, Z(0) + 2 * STEP, STEP, 1);	/* not where step 3 ended */
	submit_write(rig, Z(0) + 3 * STEP, STEP, 1);
	submit_write(rig, Z(1), STEP, 1);		/* another zone */
	submit_write(rig, Z(0) + 4 * STEP, STEP, 1);
	submit_write(rig, Z(0), 0, 1);			/* unaligned, but writes nothing */
	submit_write(rig, 64, STEP, 1);			/* conventional zone */
	submit_write(rig, 0, STEP, 1);
	expect_json(rig, "\"writes\":{\"unaligned\":2,\"out_of_order\":2,\"resent\":0}");
	submit_zone(rig, SA_RESET_WRITE_POINTER, Z(0));
	write_steps(rig, 0, 0, 2);
	expect_io_good(submit(rig, reset_two, "", 0));
	write_steps(rig, 0, 0, 2);
	write_steps(rig, 1, 0, 2);
	expect_io_good(submit(rig, cdb_zone_all(SA_RESET_WRITE_POINTER), "", 0));
	write_steps(rig, 0, 0, 1);
	write_steps(rig, 1, 0, 1);
	expect_json(rig, "\"writes\":{\"unaligned\":2,\"out_of_order\":2,\"resent\":0}");
	/* What happens while nothing is counted is not known: the write pointer is. */
	rig_set(rig, &(struct memzbc_faults){ .stats = false });
	write_steps(rig, 0, 1, 5);
	rig_set(rig, &counting);
	write_steps(rig, 0, 5, 6);
	expect_json(rig, "\"writes\":{\"unaligned\":0,\"out_of_order\":0,\"resent\":0}");
	rig_close(rig);
}

/* So does a write pointer that moves by itself. */
static void order_after_moves(void **state)
{
	const struct memzbc_faults cached = { .stats = true, .cache = 1 << 20 };
	struct rig *rig = rig_open(&rig_geo, &counting);
	char reason[MEMZBC_REASON_SIZE];

	(void)state;
	write_steps(rig, 0, 0, 4);
	assert_int_equal(memzbc_device_set_zone(rig->device, 2, MEMZBC_ZONE_EMPTY,
						MEMZBC_POINTER_KEPT, reason), 0);
	write_steps(rig, 0, 0, 2);
	assert_int_equal(memzbc_device_set_zone(rig->device, 2, MEMZBC_ZONE_POINTER, 8 * STEP,
						reason), 0);
	write_steps(rig, 0, 8, 9);
	rig_set(rig, &cached);
	write_steps(rig, 0, 9, 12);
	write_steps(rig, 1, 0, 2);
	assert_int_equal(memzbc_device_power_loss(rig->device, UINT64_MAX).writes, 5);
	write_steps(rig, 0, 9, 10);
	write_steps(rig, 1, 0, 1);
	expect_json(rig, "\"writes\":{\"unaligned\":0,\"out_of_order\":0,\"resent\":0}");
	rig_close(rig);
}

static void commands_and_bytes(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);

	(void)state;
	for (int i = 0; i < 3; i++)
		expect_io_good(submit_read(rig, 0, 10));
	write_steps(rig, 0, 0, 2);
	submit_write_with(rig, WRITE_10, 0, 5, 1);
	submit_write(rig, Z(0), STEP, 1);	/* unaligned: no bytes */
	submit_read(rig, rig_geo.capacity, 1);
	submit_zone(rig, SA_OPEN_ZONE, Z(1));
	submit_zone(rig, SA_OPEN_ZONE, Z(2));
	submit_zone(rig, SA_FINISH_ZONE, Z(2));
	submit(rig, cdb_lba(SYNCHRONIZE_CACHE_10, 0, 0), "", 0);
	submit(rig, (struct cdb){ { 0x42 } }, "", 0);
	submit(rig, (struct cdb){ { ZBC_OUT, 0x1f } }, "", 0);
	submit(rig, (struct cdb){ { TEST_UNIT_READY } }, "", 0);
	expect_json(rig, "\"classes\":{"
		    "\"read\":{\"commands\":4,\"bytes\":15360,\"errors\":1},"
		    "\"write\":{\"commands\":4,\"bytes\":10752,\"errors\":1},"
		    "\"zone\":{\"commands\":3,\"bytes\":0,\"errors\":0},"
		    "\"sync\":{\"commands\":1,\"bytes\":0,\"errors\":0},"
		    "\"other\":{\"commands\":3,\"bytes\":0,\"errors\":2}}");
#define OP(op, sa, n, bytes, errors) "{\"opcode\":" op ",\"service_action\":" sa \
	",\"commands\":" n ",\"bytes\":" bytes ",\"errors\":" errors "}"
	expect_json(rig, "\"commands\":[" OP("0", "null", "1", "0", "0") ","
		    OP("42", "null", "1", "2560", "0") "," OP("53", "null", "1", "0", "0") ","
		    OP("136", "null", "4", "15360", "1") "," OP("138", "null", "3", "8192", "1") ","
		    OP("148", "2", "1", "0", "0") "," OP("148", "3", "2", "0", "0") ","
		    OP("null", "null", "2", "0", "2") "]");
	expect_json(rig, "\"statuses\":[{\"status\":0,\"count\":11},{\"status\":2,\"count\":4}]");
	expect_json(rig, "\"senses\":[{\"key\":5,\"asc\":33,\"ascq\":4,\"count\":1},"
		    "{\"key\":5,\"asc\":33,\"ascq\":0,\"count\":1},"
		    "{\"key\":5,\"asc\":32,\"ascq\":0,\"count\":1},"
		    "{\"key\":5,\"asc\":36,\"ascq\":0,\"count\":1}],\"senses_other\":0");
	rig_close(rig);
}

/* Both formats of sense data, and more kinds than there is room for. */
static void senses(void **state)
{
	struct memzbc_faults faults = { .stats = true, .error_rules = 1 };
	struct rig *rig = rig_open(&rig_geo, &counting);
	char text[100];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 70; i++) {
			uint16_t asc = (uint16_t)(0x8000 + i);

			faults.error[0] = RULE(.kind = MEMZBC_ERROR_SENSE, .key = 9, .asc = asc);
			rig_set(rig, &faults);
			submit_read(rig, 0, 1);
		}
		rig_set(rig, &counting);
		set_d_sense(rig->dev, true);
	}
	for (int i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), "{\"key\":9,\"asc\":128,\"ascq\":%d,\"count\":2}", i);
		expect_json(rig, text);
	}
	expect_no_json(rig, "\"ascq\":64,");
	expect_json(rig, "\"senses_other\":12");
	rig_close(rig);
}

static void injected(void **state)
{
	struct memzbc_faults faults = {
		.stats = true, .error_rules = 5,
		.error = {
			MEDIUM_RULE(20, 20, .count = 2),
			RULE(.kind = MEMZBC_ERROR_PARTIAL, .blocks = 8, .count = 1,
			     .classes = C_WRITE),
			SENSE_RULE(.count = 3, .classes = C_ZONE),
			RULE(.kind = MEMZBC_ERROR_STATUS, .status = SAM_STAT_BUSY, .count = 1,
			     .classes = C_WRITE),
			RULE(.kind = MEMZBC_ERROR_DROP, .time = SECOND, .count = 1,
			     .classes = C_READ),
		},
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	expect_io_sense(submit_read(rig, 16, 8), MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	expect_io_sense(submit(rig, cdb_lba(VERIFY_16, 20, 1), "", 0), MEDIUM_ERROR,
			ASC_UNRECOVERED_READ_ERROR);
	expect_io_sense(submit_write(rig, Z(0), 2 * STEP, 1), MEDIUM_ERROR, ASC_WRITE_ERROR);
	for (int i = 0; i < 3; i++)
		expect_hit(submit_zone(rig, SA_OPEN_ZONE, Z(1)));
	assert_int_equal(io_status(submit_write(rig, Z(0) + STEP, STEP, 1)), SAM_STAT_BUSY);
	expect_pending(submit_read(rig, 0, 1));
	rig_run_for(rig, SECOND);
	write_steps(rig, 0, 1, 2);
	expect_json(rig, "\"injected\":{\"medium\":2,\"partial\":1,\"sense\":3,\"status\":1,"
		    "\"drop\":1}");
	/* What failed halfway did half; the log pages have it, too. */
	expect_json(rig, "\"read\":{\"commands\":3,\"bytes\":2560,\"errors\":2},"
		    "\"write\":{\"commands\":3,\"bytes\":8192,\"errors\":2}");
	expect_reply(rig->dev, ((struct cdb){ { LOG_SENSE, 0, 0x42 } }),
		     ((struct alloc_field){ .at = 7, .width = 2 }),
		     "02 00 0018 0005 00 08 0000000000002000 0006 00 08 0000000000000001");
	expect_reply(rig->dev, ((struct cdb){ { LOG_SENSE, 0, 0x43 } }),
		     ((struct alloc_field){ .at = 7, .width = 2 }),
		     "03 00 0018 0005 00 08 0000000000000a00 0006 00 08 0000000000000001");
	expect_reply(rig->dev, ((struct cdb){ { LOG_SENSE, 0, 0x45 } }),
		     ((struct alloc_field){ .at = 7, .width = 2 }),
		     "05 00 0018 0005 00 08 0000000000000000 0006 00 08 0000000000000001");
	rig_close(rig);
}

/* A write that is kept for each reason there is to give it up. */
static void held(void **state)
{
	struct memzbc_faults faults = {
		.stats = true, .hold = 4, .hold_time = MS, .hold_attempts = 2,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	submit_write(rig, Z(0) + 2 * STEP, STEP, 1);
	submit_write(rig, Z(0) + STEP, STEP, 1);
	expect_json(rig, "\"held\":{\"count\":2,\"now\":2,\"ended\":{}}");
	submit_write(rig, Z(0), STEP, 1);
	expect_json(rig, "\"held\":{\"count\":2,\"now\":0,\"ended\":{\"pointer\":2}}");
	submit_write(rig, Z(1) + STEP, STEP, 1);
	rig_run_for(rig, MS);
	expect_json(rig, "\"ended\":{\"pointer\":2,\"time\":1}}");
	submit_write(rig, Z(2) + 100 * STEP, STEP, 1);
	write_steps(rig, 2, 0, 2);
	expect_json(rig, "\"ended\":{\"pointer\":2,\"attempts\":1,\"time\":1}}");
	submit_write(rig, Z(3) + STEP, STEP, 1);
	submit_write(rig, Z(3), 2 * STEP, 1);
	submit_write(rig, Z(4) + STEP, STEP, 1);
	submit_zone(rig, SA_FINISH_ZONE, Z(4));
	expect_json(rig, "\"ended\":{\"pointer\":2,\"passed\":2,\"attempts\":1,\"time\":1}}");
	submit_write(rig, Z(5) + STEP, STEP, 1);
	rig_drain(rig);
	submit_write(rig, Z(5) + STEP, STEP, 1);
	submit_write(rig, Z(5) + 2 * STEP, STEP, 1);
	rig_set(rig, &counting);
	expect_json(rig, "\"held\":{\"count\":9,\"now\":0,\"ended\":{\"pointer\":2,\"passed\":2,"
		    "\"attempts\":1,\"time\":1,\"drained\":1,\"settings\":2}}");
	expect_json(rig, "\"unaligned\":6,");
	rig_close(rig);
}

static void reordered(void **state)
{
	struct memzbc_faults faults = {
		.stats = true, .reorder = 1, .reorder_depth = 1, .reorder_time = MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	submit_write(rig, Z(0), STEP, 1);
	expect_json(rig, "\"reordered\":{\"count\":1,\"now\":1,\"ended\":{}}");
	rig_run_for(rig, MS);
	expect_json(rig, "\"reordered\":{\"count\":1,\"now\":0,\"ended\":{\"time\":1}}");
	submit_write(rig, Z(1), STEP, 1);
	rig_drain(rig);
	submit_write(rig, Z(2), STEP, 1);
	submit_write(rig, Z(2) + STEP, STEP, 1);
	rig_set(rig, &counting);
	expect_json(rig, "\"reordered\":{\"count\":4,\"now\":0,\"ended\":{\"time\":1,"
		    "\"drained\":1,\"settings\":2}}");
	memzbc_device_stats_reset(rig->device);
	/* All but the second are held back: one of them is executed before it. */
	faults.reorder_time = SECOND;
	rig_set(rig, &faults);
	submit_write(rig, Z(3) + STEP, STEP, 1);
	faults.reorder = 1000000;
	rig_set(rig, &faults);
	submit_write(rig, Z(3), STEP, 1);
	expect_json(rig, "\"reordered\":{\"count\":1,\"now\":0,\"ended\":{\"depth\":1}}");
	rig_close(rig);
}

static void histograms(void **state)
{
	struct memzbc_faults faults = {
		.stats = true, .delay = { [MEMZBC_CLASS_READ] = MS, [MEMZBC_CLASS_WRITE] = 7 },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	for (int i = 0; i < 5; i++)
		submit_read(rig, 0, 1);
	expect_json(rig, "\"outstanding\":{\"now\":5,\"max\":5,\"histogram\":["
		    "{\"from\":0,\"to\":1,\"count\":1},{\"from\":2,\"to\":3,\"count\":2},"
		    "{\"from\":4,\"to\":7,\"count\":2}]}");
	rig_run(rig);
	submit_write(rig, 0, STEP, 1);
	rig_run(rig);
	submit(rig, (struct cdb){ { TEST_UNIT_READY } }, "", 0);
	expect_json(rig, "\"latency_ns\":{\"mean\":714286,\"max\":1000000,\"histogram\":["
		    "{\"from\":0,\"to\":1,\"count\":1},{\"from\":4,\"to\":7,\"count\":1},"
		    "{\"from\":524288,\"to\":1048575,\"count\":5}]}");
	expect_json(rig, "\"outstanding\":{\"now\":0,\"max\":5,\"histogram\":["
		    "{\"from\":0,\"to\":1,\"count\":3},");
	rig_close(rig);
}

static void zones(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);

	(void)state;
	write_steps(rig, 0, 0, 256);				/* EMPTY, IMP, FULL */
	write_steps(rig, 1, 0, 1);				/* EMPTY, IMP */
	submit_zone(rig, SA_CLOSE_ZONE, Z(1));			/* CLOSED */
	write_steps(rig, 1, 1, 2);				/* IMP */
	submit_zone(rig, SA_OPEN_ZONE, Z(1));			/* EXP */
	submit_zone(rig, SA_OPEN_ZONE, Z(2));			/* EMPTY, EXP */
	submit_zone(rig, SA_CLOSE_ZONE, Z(2));			/* EMPTY */
	submit_zone(rig, SA_OPEN_ZONE, Z(2));			/* EXP */
	submit_zone(rig, SA_FINISH_ZONE, Z(1));			/* FULL */
	submit_zone(rig, SA_RESET_WRITE_POINTER, Z(0));		/* EMPTY */
	submit_zone(rig, SA_RESET_WRITE_POINTER, Z(0));
#define T(from, to, count) "{\"from\":\"" from "\",\"to\":\"" to "\",\"count\":" count "}"
	expect_json(rig, "\"transitions\":["
		    T("empty", "implicitly opened", "2") "," T("empty", "explicitly opened", "2")
		    "," T("implicitly opened", "explicitly opened", "1") ","
		    T("implicitly opened", "closed", "1") "," T("implicitly opened", "full", "1")
		    "," T("explicitly opened", "empty", "1") "," T("explicitly opened", "full", "1")
		    "," T("closed", "implicitly opened", "1") "," T("full", "empty", "1") "]");
	expect_json(rig, "\"zones\":{\"now\":{\"empty\":8,\"implicitly opened\":0,"
		    "\"explicitly opened\":1,\"closed\":0,\"read only\":0,\"full\":1,"
		    "\"offline\":0},"
		    "\"max_open\":2,\"max_explicitly_opened\":2,\"max_implicitly_opened\":1,"
		    "\"min_empty\":7,\"emptied\":2,\"failed_explicit_opens\":0,"
		    "\"read_rule_violations\":0,\"write_rule_violations\":0,");
	submit_write(rig, Z(0) + STEP, STEP, 1);
	memzbc_device_stats_reset(rig->device);
	expect_json(rig, "\"max_open\":1,\"max_explicitly_opened\":1,\"max_implicitly_opened\":0,"
		    "\"min_empty\":8,\"emptied\":0,\"failed_explicit_opens\":0,"
		    "\"read_rule_violations\":0,\"write_rule_violations\":0,\"transitions\":[]}");
	rig_close(rig);
}

/* All that counts events, and the log pages with it. */
static void reset(void **state)
{
	struct memzbc_faults faults = {
		.stats = true, .hold = 1, .hold_time = MS, .error_rules = 1,
		.error = { MEDIUM_RULE(0, 0) },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct alloc_field alloc = { .at = 7, .width = 2 };
	char *fresh = stats_json(rig), *now;
	struct io *early;

	(void)state;
	submit_read(rig, 0, 1);
	submit_write(rig, 0, 1, 1);
	write_steps(rig, 0, 0, 1);
	submit_zone(rig, SA_RESET_WRITE_POINTER, Z(0));
	submit(rig, (struct cdb){ { 0x42 } }, "", 0);
	early = submit_write(rig, Z(1) + STEP, STEP, 1);
	expect_unaligned(submit_write(rig, Z(1) + 3 * STEP, STEP, 1), Z(1));
	rig_run(rig);
	expect_unaligned(early, Z(1));
	now = stats_json(rig);
	assert_string_not_equal(now, fresh);
	free(now);
	memzbc_device_stats_reset(rig->device);
	now = stats_json(rig);
	/* "seconds" differs, which is in front */
	assert_string_equal(strstr(now, "\"classes\""), strstr(fresh, "\"classes\""));
	assert_non_null(strstr(now, "{\"counting\":true,\"seconds\":0.000000,"));
	free(now);
	free(fresh);
	expect_reply(rig->dev, ((struct cdb){ { LOG_SENSE, 0, 0x42 } }), alloc,
		     "02 00 0018 0005 00 08 00*8 0006 00 08 00*8");
	expect_reply(rig->dev, ((struct cdb){ { LOG_SENSE, 0, 0x54, 1, 0, 0, 5 } }), alloc,
		     "54 01 0030 0005 03 08 00*8 0008 03 08 00*8 0009 03 08 00*8 000a 03 08 00*8");
	rig_run_for(rig, 1500 * MS);
	expect_json(rig, "\"seconds\":1.500000,");
	rig_close(rig);
}

/* What is kept at the time of a reset counts as kept since: it will end. */
static void reset_while_kept(void **state)
{
	const struct memzbc_faults faults = {
		.stats = true, .hold = 1, .hold_time = SECOND, .reorder = 1, .reorder_depth = 1,
		.reorder_time = MS,
	};
	struct rig *rig = rig_open(&rig_geo, &faults);
	struct io *early = submit_write(rig, Z(0) + STEP, STEP, 1);

	(void)state;
	memzbc_device_stats_reset(rig->device);
	expect_json(rig, "\"reordered\":{\"count\":1,\"now\":1,\"ended\":{}}");
	rig_run_until(rig, rig->armed);
	memzbc_device_stats_reset(rig->device);
	expect_json(rig, "\"held\":{\"count\":1,\"now\":1,\"ended\":{}}");
	rig_run(rig);
	expect_json(rig, "\"held\":{\"count\":1,\"now\":0,\"ended\":{\"time\":1}}");
	expect_unaligned(early, Z(0));
	rig_close(rig);
}

/* With stats=0, what the log pages need is counted, and nothing else. */
static void off(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &(struct memzbc_faults){ .stats = false });

	(void)state;
	write_steps(rig, 0, 0, 3);
	expect_json(rig, "{\"counting\":false,\"seconds\":0.000000,\"classes\":{\"read\":"
		    "{\"commands\":0,\"bytes\":0,\"errors\":0},\"write\":{\"commands\":0,");
	expect_json(rig, "\"implicitly opened\":1,");
	expect_json(rig, T("empty", "implicitly opened", "1"));
	memzbc_device_stats_reset(rig->device);
	expect_json(rig, "\"transitions\":[]");
	rig_close(rig);
}

static void memory(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);
	char *json, *at;
	long bytes;

	(void)state;
	expect_json(rig, "\"memory\":{\"data\":0,");
	for (int i = 0; i < 2; i++) {
		write_steps(rig, 0, 0, 256);
		json = stats_json(rig);
		at = strstr(json, "\"data\":");
		assert_non_null(at);
		bytes = strtol(at + strlen("\"data\":"), NULL, 10);
		assert_in_range(bytes, 1 << 20, (1 << 20) + 65536);
		free(json);
		submit_zone(rig, SA_RESET_WRITE_POINTER, Z(0));
	}
	expect_json(rig, "\"memory\":{\"data\":0,");
	rig_close(rig);
}

/* A write that is taken a second time because the process died before it was acknowledged. */
static void write_one(struct dev *dev, void *arg)
{
	dev->unacknowledged = true;
	expect_good(dev, write_blocks(dev, *(uint64_t *)arg, STEP, 1));
}

static void resent(void **state)
{
	struct rig *rig = rig_open(&rig_geo, &counting);
	uint64_t lba = Z(0);

	(void)state;
	memzbc_device_close(rig->device);
	rig->dev->lun = NULL;
	dev_killed(rig->dev, write_one, &lba, 0);
	rig_reopen(rig);
	rig_set(rig, &counting);
	expect_io_good(submit_write(rig, lba, STEP, 1));
	expect_unaligned(submit_write(rig, lba, STEP, 1), lba + STEP);
	expect_json(rig, "\"resent\":1}");
	rig_close(rig);
}

/* Brackets match and no member is missing, whatever has happened. */
static void well_formed(void **state)
{
	static const char *const wrong[] = { ",,", ",}", ",]", "{,", "[,", ":,", ":}", "(null)" };
	struct memzbc_faults faults = {
		.stats = true, .reorder = 3, .reorder_depth = 1, .reorder_time = MS, .hold = 3,
		.hold_time = MS, .error_rules = 1,
		.error = { SENSE_RULE(.probability = SURE / 10) },
	};
	struct rig *rig = rig_open(&rig_geo, &faults);

	(void)state;
	for (int round = 0; round < 50; round++) {
		char *json = stats_json(rig);
		int depth = 0;

		for (const char *c = json; *c; c++) {
			depth += *c == '{' || *c == '[';
			depth -= *c == '}' || *c == ']';
			if (depth <= 0)
				assert_int_equal(c[1], '\0');
			assert_true(*c >= ' ' && *c <= '~');
		}
		assert_int_equal(depth, 0);
		for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
			assert_null(strstr(json, wrong[i]));
		free(json);
		for (int i = 0; i < 20; i++) {
			submit_write(rig, random_below(12 * 256) * STEP, STEP, 1);
			submit_zone(rig, (uint8_t)(1 + random_below(4)), Z(random_below(10)));
			submit_read(rig, random_below(rig_geo.capacity), 8);
		}
		rig_run(rig);
	}
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequential_ratio),
		cmocka_unit_test(sequence_over_a_reset),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(order_after_moves),
		cmocka_unit_test(commands_and_bytes),
		cmocka_unit_test(senses),
		cmocka_unit_test(injected),
		cmocka_unit_test(held),
		cmocka_unit_test(reordered),
		cmocka_unit_test(histograms),
		cmocka_unit_test(zones),
		cmocka_unit_test(reset),
		cmocka_unit_test(reset_while_kept),
		cmocka_unit_test(off),
		cmocka_unit_test(memory),
		cmocka_unit_test(resent),
		cmocka_unit_test(well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

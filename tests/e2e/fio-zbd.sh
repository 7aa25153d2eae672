#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# fio on /dev/sdX: zones written in order by one job and by several, with verify; random reads;
# random writes over more zones than may be open; random writes to conventional zones. Zones whose
# size is a power of two, and zones with gaps.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

CONVENTIONAL=4
MAX_OPEN=4

# run_fio OPTION...: fio must end without any error. MOVED has the MiB read and written.
run_fio() {
	local -a terse
	expect_status 0 fio --name=job --filename="$DISK" --direct=1 --verify=crc32c \
		--verify_fatal=1 --group_reporting --thread --output-format=normal,terse "$@"
	IFS=';' read -r -a terse <<<"$(grep '^3;' <<<"$OUTPUT")"
	expect_eq "error of fio's jobs" 0 "${terse[4]}"
	MOVED="$((terse[5] / 1024)) read, $((terse[46] / 1024)) written"
}

# statistic NAME: print a value of the zoned block device statistics log page.
statistic() {
	sg_logs -p 0x14,1 "$SG" | sed -n "s/^  $1: //p"
}

zones_are_written_in_order() {
	run_fio --zonemode=zbd --rw=write --bs=128k --ioengine=libaio --iodepth=8 \
		--offset=${CONVENTIONAL}z --size=3z
	expect_eq "MiB" "$((3 * USABLE)) read, $((3 * USABLE)) written" "$MOVED"
	expect_zones "full zones" 3 5

	# Again: fio resets each zone first.
	run_fio --zonemode=zbd --rw=write --bs=64k --ioengine=io_uring --iodepth=4 \
		--offset=${CONVENTIONAL}z --size=1z
	expect_match "fio's resets" "; 1 zone resets" "$OUTPUT"
}

written_zones_are_read_at_random() {
	run_fio --zonemode=zbd --rw=randread --bs=32k --ioengine=io_uring --iodepth=16 --verify=0 \
		--offset=${CONVENTIONAL}z --size=3z --io_size=8M
	expect_eq "MiB" "8 read, 0 written" "$MOVED"
}

jobs_write_zones_of_their_own() {
	run_fio --zonemode=zbd --rw=write --bs=64k --ioengine=libaio --iodepth=4 --numjobs=4 \
		--offset=8z --offset_increment=1z --size=1z --io_size=3M
	expect_eq "MiB" "12 read, 12 written" "$MOVED"
}

# fio opens as many zones as the kernel lets it, which has the number from the LUN.
random_writes_keep_to_the_limit() {
	run_fio --zonemode=zbd --rw=randwrite --bs=32k --ioengine=io_uring --iodepth=8 \
		--offset=16z --size=12z --io_size=12M
	expect_eq "MiB" "12 read, 12 written" "$MOVED"
	expect_eq "most zones open so far" $MAX_OPEN "$(statistic "Maximum open zones")"

	# Told to mind no limit, it writes more zones than may be open, and the LUN closes others.
	expect_status 0 sg_reset_wp --all "$SG"
	run_fio --zonemode=zbd --ignore_zone_limits=1 --rw=write --bs=64k --ioengine=libaio \
		--iodepth=2 --numjobs=$((MAX_OPEN + 2)) --offset=16z --offset_increment=1z \
		--size=1z --io_size=1M
	expect_eq "MiB" "$((MAX_OPEN + 2)) read, $((MAX_OPEN + 2)) written" "$MOVED"
	expect_zones "implicitly open zones" $MAX_OPEN 2
	expect_zones "closed zones" 2 4
	expect_eq "most zones open so far" $MAX_OPEN "$(statistic "Maximum open zones")"
}

conventional_zones_are_written_at_random() {
	run_fio --rw=randwrite --bs=16k --ioengine=io_uring --iodepth=32 --offset=1M --size=8M
	expect_eq "MiB" "8 read, 8 written" "$MOVED"
	run_fio --zonemode=zbd --rw=randrw --bs=16k --ioengine=libaio --iodepth=8 --offset=0 \
		--size=${CONVENTIONAL}z --io_size=8M
}

# No command broke a rule on the way.
nothing_was_refused() {
	expect_eq "read rule violations" 0 "$(statistic "Read rule violations")"
	expect_eq "write rule violations" 0 "$(statistic "Write rule violations")"
	expect_eq "kernel's error messages" "" "$(dmesg | grep -E 'I/O error|Sense Key' || true)"
}

test_geometry() {
	expect_match "scheduler" '\[mq-deadline\]' "$(queue scheduler)"
	zones_are_written_in_order
	written_zones_are_read_at_random
	jobs_write_zones_of_their_own
	random_writes_keep_to_the_limit
	conventional_zones_are_written_at_random
	nothing_was_refused
}

start_daemon

note "zones of 16 MiB"
lun_create whole 512M zone_size=16M/conv=$CONVENTIONAL/max_open=$MAX_OPEN/lba=4096
USABLE=16
test_geometry
lun_delete whole

note "zones of 12 of 16 MiB, with gaps"
lun_create gaps 512M zone_size=16M/zone_cap=12M/conv=$CONVENTIONAL/max_open=$MAX_OPEN
USABLE=12
test_geometry

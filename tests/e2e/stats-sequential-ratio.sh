#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The sequential ratio that the LUN counts is the one that the kernel's own trace gives: random
# 512 KiB writes of 256 jobs, split into requests of 128 KiB, on conventional zones. And a plain
# sequential job gives nearly 1.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

TRACING=/sys/kernel/tracing
EVENT=$TRACING/events/target/target_sequencer_start

start_daemon
lun_create s 1G zone_size=64M/conv=8/lba=4096
scheduler "$DISK" none
echo 128 >"/sys/block/${DISK#/dev/}/queue/max_sectors_kb"

# run FIO-ARGUMENT...: run the job while both count. On one CPU, or the fabric's work queues would
# swap commands between the trace and the LUN.
run() {
	memzbc reset-stats s >/dev/null
	echo 16384 >"$TRACING/buffer_size_kb"
	: >"$TRACING/trace"
	echo 1 >"$EVENT/enable"
	taskset -c 0 fio --name=j --filename="$DISK" --ioengine=libaio --direct=1 --size=512M \
		--group_reporting --minimal "$@" >/dev/null
	echo 0 >"$EVENT/enable"
}

# kernel_ratio: print the ratio that the kernel's trace gives, in percent with two decimals.
kernel_ratio() {
	/usr/bin/python3 - "$TRACING/trace" <<-'END'
		import re, sys
		end, writes, sequential = None, 0, 0
		for line in open(sys.argv[1]):
		    cdb = re.search(r"CDB ((?:[0-9a-f]{2} )+)", line)
		    raw = bytes.fromhex(cdb[1]) if cdb else b""
		    if len(raw) < 14 or raw[0] != 0x8A:
		        continue
		    lba = int.from_bytes(raw[2:10], "big")
		    writes, sequential = writes + 1, sequential + (lba == end)
		    end = lba + int.from_bytes(raw[10:14], "big")
		print(f"{100 * sequential / writes:.2f} {writes}")
	END
}

compare() {
	local kernel writes device
	read -r kernel writes < <(kernel_ratio)
	device=$(stat_of s '"%.2f" % (100 * s["sequential"]["write"]["ratio"])')
	note "$1: $writes writes, sequential by the kernel's trace $kernel %, by the LUN $device %"
	expect_eq "writes that both saw" "$writes" \
		"$(stat_of s 's["sequential"]["write"]["commands"]')"
	awk -v a="$kernel" -v b="$device" 'BEGIN { exit !(a - b <= 1 && b - a <= 1) }' ||
		fail "they differ by more than 1 %"
	RATIO=${device%.*}
}

run --rw=randwrite --bs=512k --numjobs=256 --iodepth=4 --thread --io_size=2M
compare "256 jobs, random 512 KiB"
((RATIO < 95)) || fail "256 jobs did not interleave: nothing is shown"
mixed=$RATIO

run --rw=write --bs=512k --numjobs=1 --iodepth=1 --io_size=64M
compare "one job, sequential"
((RATIO >= 99 && RATIO > mixed)) || fail "a sequential job is not counted as one"

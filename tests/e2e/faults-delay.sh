#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# delay: commands overlap. Depth 16 at 5 ms would make 3,200 commands a second, depth 64 12,800, on
# a machine that takes no time itself. An emulated one does, and stays 19 to 22 % below the former
# when idle; so what it takes at depth 1 without a delay is counted in, and 15 % asserted of that.
# Each command takes its time.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

start_daemon
lun_create d 1G zone_size=64M/conv=4/lba=4096/trace=0
scheduler "$DISK" none

# reads_per_second DEPTH
reads_per_second() {
	fio --name=r --filename="$DISK" --rw=randread --bs=4k --ioengine=libaio --direct=1 \
		--iodepth="$1" --size=64M --time_based --runtime=4 --ramp_time=1 --terse-version=3 \
		--minimal | cut -d';' -f8
}

faults d delay=0
own=$((1000000 / $(reads_per_second 1)))
note "a command takes $own us without a delay"
for depth in 16 64; do
	ideal=$((depth * 200))
	faults d delay=0
	bare=$(reads_per_second "$depth")
	faults d delay_read=5ms
	delayed=$(reads_per_second "$depth")
	note "depth $depth: $bare/s without a delay, $delayed/s with 5 ms; $ideal/s is ideal"
	((delayed * 100 <= ideal * 105)) || fail "faster than the delay allows"
	if ((bare < 2 * ideal)); then
		note "this machine is too slow for a lower bound"
		continue
	fi
	least=$((depth * 850000 / (5000 + own)))
	((delayed >= least)) || fail "slower than $least/s"
done

note "64 reads of 200 ms overlap on any machine: a round takes that and the machine's own time"
faults d delay_read=200ms
delayed=$(reads_per_second 64)
least=$((64 * 750000 / (200000 + own + 64000000 / bare)))
note "$delayed/s, at least $least/s expected"
((delayed >= least)) || fail "slower than $least/s"

note "one class of commands only: reads take 200 ms, writes do not"
faults d delay=0 delay_read=200ms
memzbc reset-stats d >/dev/null
began=${EPOCHREALTIME/./}
dd if="$DISK" of=/dev/null bs=4k count=5 iflag=direct status=none
took=$((${EPOCHREALTIME/./} - began))
((took >= 1000000)) || fail "five reads of 200 ms took $took us"
began=${EPOCHREALTIME/./}
dd if=/dev/zero of="$DISK" bs=4k count=5 oflag=direct conv=notrunc status=none
took=$((${EPOCHREALTIME/./} - began))
((took < 1000000)) || fail "writes are delayed, too: $took us"

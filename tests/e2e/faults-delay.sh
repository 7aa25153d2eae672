#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# delay: commands overlap. Depth 16 at 5 ms would make 3,200 commands a second, depth 64 12,800, on
# a machine that takes no time itself; 85 % is asserted where the machine takes little, as an
# emulated one does when its host has nothing else to do. Each command takes its time.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

ROUNDS=5       # the best counts: other work on the host makes it slower only
OWN_LITTLE=600 # microseconds for a command without a delay

start_daemon
# One processor for the device, the other for fio: neither waits for the other.
taskset --all-tasks --cpu-list --pid 0 "$RUNNER" >/dev/null
lun_create d 1G zone_size=64M/conv=4/trace=0
scheduler "$DISK" none

# reads_per_second DEPTH: by a fio that takes as little time itself as it can
reads_per_second() {
	fio --name=r --filename="$DISK" --rw=randread --bs=512 --ioengine=libaio --direct=1 \
		--iodepth="$1" --size=64M --time_based --runtime=4 --ramp_time=1 --gtod_reduce=1 \
		--norandommap --cpus_allowed=1 --terse-version=3 --minimal | cut -d';' -f8
}

# best_of_rounds DEPTH ENOUGH: the best rate of some rounds, or the first that is enough
best_of_rounds() {
	local best=0 rate
	for ((round = 0; round < ROUNDS && best < $2; round++)); do
		rate=$(reads_per_second "$1")
		((rate <= best)) || best=$rate
	done
	echo "$best"
}

faults d delay=0
own=$((1000000 / $(reads_per_second 1)))
note "a command takes $own us without a delay"
for depth in 16 64; do
	ideal=$((depth * 200))
	least=$((ideal * 85 / 100))
	faults d delay=0
	bare=$(reads_per_second "$depth")
	if ((own > OWN_LITTLE)); then
		least=$((depth * 850000 / (5000 + own)))
		note "this machine is too slow for $((ideal * 85 / 100))/s: $least/s is asserted"
	fi
	faults d delay_read=5ms
	delayed=$(best_of_rounds "$depth" "$least")
	note "depth $depth: $bare/s without a delay, $delayed/s with 5 ms; $ideal/s is ideal"
	((delayed * 100 <= ideal * 105)) || fail "faster than the delay allows"
	if ((bare < 2 * ideal)); then
		note "this machine is too slow for a lower bound"
		continue
	fi
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

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# LUNs are deleted while fio keeps them busy: the deletion ends, the daemon goes on, and another LUN
# notices nothing.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

# has_written DISK COUNT: so many writes have completed.
has_written() {
	local -a counters
	read -r -a counters <"/sys/block/${1#/dev/}/stat"
	((counters[4] >= $2))
}

start_daemon
lun_create stays 256M zone_size=16M/conv=4
in_background blocks_io "$DISK"

for i in 1 2 3 4 5; do
	note "deletion $i"
	lun_create goes 256M zone_size=16M/conv=4
	fio --name=load --filename="$DISK" --direct=1 --ioengine=libaio --rw=randrw --bs=16k \
		--iodepth=32 --size=64M --allow_file_create=0 --time_based --runtime=600 \
		&>/dev/null &
	load=$!
	wait_until 60 has_written "$DISK" 100
	kill -0 "$load" || fail "no load on the LUN"
	lun_delete goes
	# Its disk is gone: fio has errors now, and that is right.
	wait_until 30 not_running "$load"
	wait "$load" && fail "fio wrote to a LUN that is not there"
	still_running
	wait_until 20 states_are 1
done

finish
kill -0 "$RUNNER" || fail "the daemon is gone"
if dmesg | grep -E 'BUG:|WARNING:|Oops|blocked for more than'; then
	fail "the kernel complains"
fi
stop_daemon
